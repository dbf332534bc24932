/* The difference of two files, for checkpoints that other programs write: what of the new file is
 * already in the old one, at whatever place, and the bytes that are not.
 *
 * Blocks of the old file are indexed by a rolling hash (Karp and Rabin, 1987), the new file is
 * scanned with it byte by byte, and matches are extended both ways, as rsync (Tridgell and
 * Mackerras, 1996) and xdelta do; since checkpoints of one program mostly keep their layout, the
 * place where the last match would go on is tried first. Both files are streamed: memory is bounded
 * by the index and some buffers, whatever the sizes.
 *
 * Layout, little-endian:
 *
 *   offset  size
 *        0     4  "SKFD"
 *        4     2  version, 1
 *        6     2  zero
 *        8     8  size of the old file
 *       16     8  XXH3-64 of the old file
 *       24     8  size of the new file
 *       32        operations (below), until the new file is complete
 *  end - 16    8  XXH3-64 of the new file
 *  end - 8     8  XXH3-64 of everything before
 *
 * Numbers have 7 bits per byte, the lowest first; the highest bit says that more follow. An
 * operation begins with a number n:
 *
 * - n even: insert n / 2 bytes (at least one), which follow.
 *
 * - n odd: copy (n - 1) / 2 bytes of the old file. A second number z tells from where: at distance
 *   d from the end of the range copied last (at first: from 0), with z = 2 d for d >= 0 and
 *   z = -2 d - 1 for d < 0. */
#ifndef SK_CAPTURE_FILEDIFF_H
#define SK_CAPTURE_FILEDIFF_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* A file or a piece of memory to read from, at any place. */
struct sk_source {
    /* Exactly n bytes from `at`, which lie within size_bytes. */
    int (*read)(void *arg, uint64_t at, void *to, size_t n, struct saikai_error *err);
    void *arg;
    uint64_t size_bytes;
};
typedef int sk_put_fn(void *arg, const void *data, size_t n, struct saikai_error *err);

struct sk_filediff_options {
    size_t block_bytes; /* of the index, a power of two from 16 to 64 KiB; 0: 32. It grows until the
                           index fits. */
    size_t index_bytes; /* most memory for the index; 0: 16 MiB; at least 64 KiB */
};

struct sk_filediff_stats {
    uint64_t old_bytes, new_bytes, diff_bytes;
    uint64_t copied_bytes, copies; /* of the new file, found in the old one */
};

/* Write the difference that makes `fresh` of `old`. opt and stats may be NULL. SAIKAI_EINVAL,
 * SAIKAI_ENOMEM, or what read and put return. */
int sk_filediff_encode(const struct sk_source *old, const struct sk_source *fresh,
                       const struct sk_filediff_options *opt, sk_put_fn *put, void *arg,
                       struct sk_filediff_stats *stats, struct saikai_error *err);
/* Write the new file. Any bytes of diff give the right file, SAIKAI_EFORMAT (no difference, or a
 * later version), SAIKAI_EINVAL (made of another old file) or SAIKAI_EDAMAGED; what was put before
 * a failure is to be thrown away. */
int sk_filediff_decode(const struct sk_source *old, const struct sk_source *diff, sk_put_fn *put,
                       void *arg, struct saikai_error *err);

/* The same for files: the result appears under its name when it is complete and synced, not before.
 */
int sk_filediff_create(const char *old_path, const char *new_path, const char *diff_path,
                       const struct sk_filediff_options *opt, struct sk_filediff_stats *stats,
                       struct saikai_error *err);
int sk_filediff_apply(const char *old_path, const char *diff_path, const char *new_path,
                      struct saikai_error *err);

/* A source over memory. */
struct sk_bytes {
    const uint8_t *data;
    size_t n;
};
struct sk_source sk_source_memory(struct sk_bytes *b);

#endif
