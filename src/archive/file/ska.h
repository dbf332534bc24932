/* The `.ska` archive: what it holds, in memory and on disk. Byte by byte in docs/format-ska.md.
 *
 * A file of the archive is cut into segments; a part is a run of segments of one class, a block a
 * few parts that are encoded together and need nothing outside the block. The segments of a file
 * tile it without gap or overlap, which is checked when an index is read: putting all of them back
 * gives the file. */
#ifndef SK_ARCHIVE_FILE_SKA_H
#define SK_ARCHIVE_FILE_SKA_H

#include "codec/residual/stencil.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/id.h"

#include <stddef.h>
#include <stdint.h>

struct sk_ska_file {
    char *name; /* relative, no ".." */
    uint64_t size_bytes;
    uint32_t mode;
    int64_t mtime_ns;
    uint32_t origin; /* rank + 1 that gave it, 0: archived without ranks */
};

/* What is no file with bytes of its own. Stored in archives: never renumbered. */
enum sk_entry_kind { SK_ENTRY_DIRECTORY = 1, SK_ENTRY_SYMLINK = 2, SK_ENTRY_HARD_LINK = 3 };
struct sk_ska_entry {
    char *name, *target; /* target: where a symbolic link leads; of a hard link: a file's name */
    int kind;
    uint32_t mode;
    int64_t mtime_ns;
};

/* Parts of a file that are there twice and of which one was damaged when it was read. */
enum { SK_SKA_HEADER_DAMAGED = 1, SK_SKA_INDEX_DAMAGED = 2, SK_SKA_TRAILER_DAMAGED = 4 };

/* A class of similar variables: Group/Variable_Type_Class (key.h). */
struct sk_ska_class {
    char *key;
    int type, big_endian, fields;
};

struct sk_ska_segment {
    uint32_t file;
    uint64_t offset;
    struct sk_stencil_box box; /* in elements of the class's type */
    uint64_t hash;     /* XXH3 of its bytes */
};

struct sk_ska_part {
    uint32_t class, first, count; /* segments */
    uint64_t size_bytes;          /* raw; set by sk_ska_close_part and by the reader */
};

struct sk_ska_block {
    uint32_t first, count;                           /* parts */
    uint64_t offset, stored_bytes, size_bytes, hash; /* hash of the stored bytes */
    uint32_t previous; /* number + 1 of the block of the previous archive it builds on, 0: none */
    uint32_t own;      /* the same of a block of this archive, which has none itself; not both */
};

struct sk_ska {
    struct sk_ska_file *files;
    struct sk_ska_entry *entries;
    struct sk_ska_class *classes;
    struct sk_ska_segment *segments;
    struct sk_ska_part *parts;
    struct sk_ska_block *blocks;
    /* the archive that this one builds on: its name in the same directory (NULL: none), the hash of
     * its index, and how many there are in a row */
    char *previous;
    struct sk_id store; /* that the files are of, all zero: of none, or an archive of version 1 or 2 */
    uint64_t previous_hash;
    uint32_t depth;
    uint64_t hash; /* of the stored index; set by sk_ska_read */
    int needs;     /* the version that knows the forms of all its parts; 0: the oldest that is written */
    int damage;    /* set by sk_ska_read: what was damaged, and made good by its other copy */
    size_t entry_count, entry_cap;
    size_t file_count, class_count, segment_count, part_count, block_count;
    size_t file_cap, class_cap, segment_cap, part_cap, block_cap;
    uint32_t *class_table; /* their numbers plus 1 by a hash, 0: free; a file may have as many classes as there are files */
    size_t class_slots;
};

void sk_ska_free(struct sk_ska *a);
/* Forget all but the files. */
void sk_ska_clear_blocks(struct sk_ska *a);

/* The index of a class, -1: there is none like it. */
int64_t sk_ska_find_class(const struct sk_ska *a, const struct sk_ska_class *c);
/* Append; the index of the new one, or SAIKAI_ENOMEM. Strings are copied. */
int sk_ska_add_file(struct sk_ska *a, const struct sk_ska_file *f);
int sk_ska_add_entry(struct sk_ska *a, const struct sk_ska_entry *e);
int sk_ska_add_class(struct sk_ska *a,
                     const struct sk_ska_class *c); /* the existing one if key, type … agree */
/* Forget those from number `first` on, which nothing uses. SAIKAI_ENOMEM: they are forgotten, and none can be added. */
int sk_ska_drop_classes(struct sk_ska *a, size_t first);
int sk_ska_add_segment(struct sk_ska *a, const struct sk_ska_segment *s);
int sk_ska_add_part(struct sk_ska *a, uint32_t class_index); /* first = the next segment */
int sk_ska_add_block(struct sk_ska *a);                      /* first = the next part */
/* Count the segments added since into the last part, the parts since into the last block. */
void sk_ska_close_part(struct sk_ska *a);
void sk_ska_close_block(struct sk_ska *a);

uint64_t sk_ska_segment_bytes(const struct sk_ska *a, const struct sk_ska_part *p,
                              const struct sk_ska_segment *s);

enum { SK_SKA_HEADER_BYTES = 16, SK_SKA_TRAILER_BYTES = 48, SK_SKA_VERSION = 11 };
/* The versions that are written: the first of them, those that know numbers as text, rows, both with labels and wide, and all of them after those of
 * another archive, the one whose index comes after another archive's, the one that knows steps, and the one that knows copies. */
enum { SK_SKA_PLAIN = 4, SK_SKA_TEXT = 5, SK_SKA_ROWS = 6, SK_SKA_WIDE = 7, SK_SKA_AFTER = 8, SK_SKA_INDEX_AFTER = 9, SK_SKA_FRAMES = 10, SK_SKA_COPIES = 11 };
#define SK_SKA_STREAM "bytes" /* the class of archives that are one stream of all their files */

#define SK_SKA_MAX_INDEX  ((uint64_t)1 << 30) /* bytes of an unpacked index */
#define SK_SKA_MAX_BLOCK  ((uint64_t)1 << 28) /* raw bytes of a block */
#define SK_SKA_MAX_STORED (SK_SKA_MAX_BLOCK * 2)

#define SK_SKA_MAX_DEPTH 32 /* archives that build on each other in a row */

enum { SK_SKA_MAX_NAME = 4096 }; /* bytes of a file's name and its end */
/* 1: a name that may be created below a directory: relative, no empty, "." or ".." component. */
int sk_ska_safe_name(const char *name);

/* The version that an archive is written as: the oldest one that has all that is in it. */
static inline int sk_ska_version(const struct sk_ska *a)
{
    return a->needs ? a->needs : SK_SKA_PLAIN;
}
void sk_ska_put_header(struct sk_buf *out, int version);
/* Index and trailer, both twice, to be written at index_offset. previous: the path of the archive that this one builds on, NULL: none. Where the
 * index takes much of the archive, it may be told from that one's; then a->needs, and with it the version in the header, is SK_SKA_INDEX_AFTER.
 * 0, SAIKAI_ENOMEM. */
int sk_ska_put_index(struct sk_buf *out, struct sk_ska *a, uint64_t index_offset, const char *previous, struct saikai_error *err);

/* 1: these first bytes of a file are those of an archive. */
int sk_ska_begins(const void *data, size_t n);
/* Read the index of an open archive; `path` for messages, and to find the archive beside it after whose index it may come. Hostile input. Fails with
 * SAIKAI_EFORMAT (not an archive, newer version), SAIKAI_EDAMAGED, SAIKAI_ENOENT (that other one is missing), SAIKAI_EIO, SAIKAI_ENOMEM. */
int sk_ska_read(int fd, const char *path, struct sk_ska *a, struct saikai_error *err);
/* The same by its path; to be freed with sk_ska_free. Fails as well as opening it does. */
int sk_archive_open(const char *path, struct sk_ska *a, struct saikai_error *err);
/* SAIKAI_EDAMAGED, with both ids: the archive is of a store, and that is none of these (count 0: any may be). */
int sk_ska_check_store(const struct sk_ska *a, const char *path, const struct sk_id *stores, int count,
                       struct saikai_error *err);
/* Look at both copies of what is there twice: SAIKAI_EDAMAGED when one of them is wrong, although
 * the archive can be read; SAIKAI_EIO. */
int sk_ska_check_ends(int fd, const char *path, const struct sk_ska *a, struct saikai_error *err);
/* The same from the bytes of a raw (unpacked) index, and these bytes: for tests. */
void sk_ska_put_raw_index(struct sk_buf *out, const struct sk_ska *a);
int sk_ska_parse(const void *index, size_t n, int version, uint64_t data_end, struct sk_ska *a,
                 struct saikai_error *err);

#endif
