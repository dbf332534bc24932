/* What an archive is made of, how, and what came of it. */
#ifndef SK_ARCHIVE_PLAN_OPTIONS_H
#define SK_ARCHIVE_PLAN_OPTIONS_H

#include "archive/file/ska.h"
#include "base/config/kind.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* How files are merged; the forms of sk_merge_kind in their order. */
enum sk_scheme {
    SK_SCHEME_AUTO = 0,
    SK_SCHEME_AGNOSTIC,
    SK_SCHEME_AGNOSTIC_BLOCK,
    SK_SCHEME_AWARE,
    SK_SCHEME_AWARE_BLOCK,
};
extern const struct sk_kind sk_merge_kind;
/* "auto" or a form; -1: none of them. */
int sk_scheme_parse(const char *name);
/* Whether a scheme wants to know the variables. */
int sk_scheme_looks(int scheme);

enum { SK_CHAIN = 8 };

struct sk_archive_options {
    int scheme;            /* enum sk_scheme */
    uint64_t memory_bytes; /* limit for buffers, 0: 1 GiB; at least 16 MiB are used */
    uint64_t merge_bytes;  /* length of one turn of the -block schemes, 0: 64 KiB */
    uint64_t unit_bytes; /* raw bytes of one block of the archive, 0: chosen from the memory and the
                            data */
    uint64_t
        first_bytes; /* variables below this skip the first pass, 0: 100 (the paper's choice) */
    int threads;     /* that compress, 0: one per processor */
    int backend;     /* second pass: enum sk_backend, 0: zstd, negative: none */
    int level;       /* of it, 0: chosen from the data */
    const char *codec_f64, *codec_f32,
        *codec_other; /* first pass of the aware schemes, NULL: none */
    const char
        *pattern; /* extended regular expression: what it matches in a variable's name is one and
                     the same in all names (key.h); NULL: numbers in the group's name are */
    int quick; /* 1: `auto` does not also try all files as one stream of bytes, to keep the shorter
                  archive; and one process does not look for repeats */
    int single_pass; /* 1: the aware schemes do not compress a second time what a codec has */
    int no_sync;     /* 1: do not wait for the disk */
    /* the archive of the set before, in the same directory: what resembles it is stored as what is
     * new, and the new archive cannot be read without it. NULL: none. Agnostic schemes ignore it.
     */
    const char *previous;
    /* directories and links that are to come back, too; used until the archive is written */
    const struct sk_ska_entry *entries;
    size_t entry_count;
    /* NULL, or told how many of how many bytes have been worked on; from one thread at a time */
    void (*progress)(void *arg, uint64_t done, uint64_t all);
    void *progress_arg;
    /* What becomes of an input that cannot be read, or that changes or goes away while it is read: 1: the archive is made without it,
     * 0 (and NULL): that is an error. What changed is read once more first. Called by the thread that creates the archive. */
    int (*leave_out)(void *arg, const char *path, const struct saikai_error *why);
    void *leave_arg;
    struct sk_id store; /* that the files are of, all zero: of none */
    int chain; /* how many archives may build on each other in a row, 0: SK_CHAIN; at most 32 */
};

/* The limit that they say. */
static inline uint64_t sk_memory_of(const struct sk_archive_options *o)
{
    return o->memory_bytes ? o->memory_bytes : (uint64_t)1 << 30;
}

struct sk_archive_stats {
    uint64_t files, raw_bytes, stored_bytes; /* stored: the whole archive */
    uint64_t variables, classes, skeleton_bytes;
    uint32_t depth; /* how many archives this one builds on, one below the other */
    double seconds, scan_seconds, sample_seconds;
};

/* One file to archive: where it is, and its name in the archive (relative, without ".."). With data
 * it is `bytes` bytes in memory, unchanged until the archive is written, and no file. */
struct sk_archive_input {
    const char *path, *name;
    const void *data;
    size_t bytes;
};

#endif
