/* Encode: protect one generation of a group's files.
 *
 * Each rank of the group is one member: the files it gives are its data, and it keeps one parity
 * file. The group is made of different failure domains (domains.h). Data files must be complete and
 * stay as they are until the end.
 *
 * The work is cut into three, so that a helper thread (with a group of its own) can do it, or the
 * application in slices: begin and finish are collective and block; step is local and can be called
 * any number of times, also none. */
#ifndef SK_REDUNDANCY_ENCODE_H
#define SK_REDUNDANCY_ENCODE_H

#include "redundancy/code/form.h"
#include "redundancy/set/files.h"
#include "group/group.h"

/* How to protect: equal on all ranks of the group. A zeroed struct with a scheme and parity is
 * valid. */
struct sk_encoding {
    const char *scheme; /* one of sk_scheme_kind */
    int parity;         /* m: losses that the group survives */
    enum sk_placement placement;
    const char *form; /* one of sk_transfer_kind; NULL or "auto": by the model */
    const struct sk_link_costs *costs; /* for "auto"; NULL: those of a common cluster */
    uint32_t block; /* bytes, a multiple of 64; 0: 64 to 256 KiB, less for small data */
    int window;     /* stripes received at once; 0: 4, more if small; 2 is double buffering */
};

struct sk_encode_params {
    struct sk_encoding coding;
    uint64_t generation, group; /* equal on all ranks; group numbers the groups of a job */
    struct sk_id store;         /* that the files are of; all zero: of none */
    uint32_t rank;              /* of the job */
    const char *host;           /* for messages; NULL: unknown */
    int files;
    const char *const *path;
    const char *const *name; /* relative names for the record; NULL: last components of the paths */
    const struct sk_source *source; /* [files]: what is in memory already, or NULL */
    enum sk_files_mode mode;
    const char *parity_path;
    const char *recycle_path; /* a parity file no longer needed (parity_file.h), or NULL */
    struct sk_kept_maps
        *kept;   /* mappings of parity files from one generation to the next, or NULL */
    int no_sync; /* 1: do not wait for the disk (tmpfs) */
};

struct sk_encode_result {
    const char *form;
    uint32_t block;
    uint64_t stripes, data_bytes, parity_bytes; /* of this member */
    uint64_t sent_bytes;                        /* by this member to others, coding only */
    uint64_t sent_to[SK_MAX_MEMBERS];           /* the same by receiver */
    double seconds;                             /* from begin to the end of finish */
};

struct sk_encode;

/* Collective, blocking: exchange sizes, make the parity files. Either all ranks get 0 and a job, or
 * all a negative code and none (SAIKAI_EINVAL, SAIKAI_ENOENT, SAIKAI_ENOSPC, SAIKAI_EIO,
 * SAIKAI_ENOMEM, SAIKAI_EPEER). */
int sk_encode_begin(struct sk_group *g, const struct sk_encode_params *p, struct sk_encode **out,
                    struct saikai_error *err);
/* Local, does not block: up to so many stripes further; *done = 1: only finish remains. A negative
 * code means that the group failed: only sk_encode_free is left. */
int sk_encode_step(struct sk_encode *e, uint64_t stripes, int *done);
/* Collective, blocking: do the rest, sync, agree, name the parity files. After a failure, on
 * whatever rank, all ranks get a negative code and what protected older generations is untouched.
 * The job remains to be freed. */
int sk_encode_finish(struct sk_encode *e, struct sk_encode_result *result,
                     struct saikai_error *err);
/* Local: 1 when the group failed in the middle. Transfers may then be under way for ever: memory
 * that was lent (sk_source) must stay mapped, as this job's own does. */
int sk_encode_abandoned(const struct sk_encode *e);
/* Local. Also in the middle, when the group failed or all ranks give up. */
void sk_encode_free(struct sk_encode *e);

/* All three. */
int sk_encode(struct sk_group *g, const struct sk_encode_params *p, struct sk_encode_result *result,
              struct saikai_error *err);

#endif
