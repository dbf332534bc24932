/* The plan of an archive: which bytes of which file go into which block, before any of them is
 * compressed. */
#ifndef SK_ARCHIVE_PLAN_PLAN_H
#define SK_ARCHIVE_PLAN_PLAN_H

#include "archive/file/previous.h"
#include "archive/plan/chunks.h"
#include "archive/coding/unpack.h"
#include "reader/reader.h"

/* A family: variables that stand together in a group and have one shape (all fields of a grid), in
 * all files. Its blocks have one part per field, so that one field can be predicted from another.
 */
struct sk_family {
    uint32_t *classes; /* one per field, in order of the file */
    size_t fields;
    size_t first, members;     /* in plan.bundles */
    struct sk_recipe *recipes; /* per part, set by sampling; */
    int *order;                /* part → field */
};

/* One member of a family: the fields of one group of one file. */
struct sk_bundle {
    uint32_t file, family;
    struct sk_stencil_box box;
    size_t first; /* in plan.offsets: one offset per field */
};

struct sk_listed;
struct sk_repeats;

struct sk_ska_plan {
    struct sk_ska a; /* files, classes, and after sk_ska_plan_cut the segments, parts and blocks */
    struct sk_scan *scans;
    struct sk_chunks *chunks; /* of each file, until repeats have been found; NULL: then */
    size_t scan_cap, chunks_cap;
    struct sk_marks marks; /* in those files that this process has cut into chunks */
    uint64_t taken_bytes;  /* of these files, that stand elsewhere in them and are stored once */
    int chunked; /* 1: the files were cut into chunks by those who have them, also where `quick` says
                    not to read everything twice */
    struct sk_ska_feed *feed; /* where the files' bytes come from */
    struct sk_family *families;
    struct sk_bundle *bundles;
    uint64_t *offsets;
    size_t family_count, family_cap, bundle_count, bundle_cap, offset_count, offset_cap;
    struct sk_recipe *recipes; /* one per part */
    struct sk_archive_options opt;
    struct sk_opened *previous; /* the archive that it is to build on, NULL: none */
    int comparing;              /* blocks that are compared with previous ones at a time */
    struct sk_unpack_need seat; /* larger blocks of the previous archive are not built on */
    struct sk_take *takes;      /* of all parts that are put together of other blocks */
    struct sk_repeats *repeats; /* bytes that other blocks have; only while it is cut */
    uint64_t unit_bytes,
        bytes_unit; /* raw bytes of a block of variables, and of one of bytes without structure */
    int threads;
    int whole; /* 1: being tried as one stream, in blocks as large as can be */
    uint64_t limit; /* of an archive that is as long or longer no more is written, with SAIKAI_ENOSPC; 0: none */
    uint64_t variables, skeleton_bytes;
    uint64_t worked_bytes, work_bytes; /* of all blocks that were written, and that will be */
    /* bytes of classes of which gzip -6 left about as little of the sample as what was chosen, or
     * that were too small for one; and of those that it could not shrink */
    uint64_t near_bytes, dense_bytes;
    double sample_seconds;
};

/* Append a file, numbered as in the feed; *l is emptied on success. SAIKAI_EINVAL: its name could
 * not be restored. */
int sk_ska_plan_add(struct sk_ska_plan *p, struct sk_listed *l, struct saikai_error *err);
/* Append all files of a local feed. */
int sk_ska_plan_list(struct sk_ska_plan *p, struct sk_feed_local *feed, struct saikai_error *err);
/* Cut them into blocks by the scheme. */
int sk_ska_plan_cut(struct sk_ska_plan *p, struct saikai_error *err);
/* Back to the listed files, to be cut again. */
void sk_ska_plan_uncut(struct sk_ska_plan *p);
void sk_ska_plan_free(struct sk_ska_plan *p);

/* 1: as few bytes as can be, whatever it takes (level SK_PACK_BEST and above). */
int sk_ska_plan_strong(const struct sk_ska_plan *p);

#endif
