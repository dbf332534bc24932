/* Blocks of an archive read, decoded and compared with the stored hashes. */
#ifndef SK_ARCHIVE_UNPACK_H
#define SK_ARCHIVE_UNPACK_H

#include "archive/part.h"
#include "archive/ska.h"

/* Working memory of one thread, and the block it holds; zeroed is empty. */
struct sk_unpacked {
    struct sk_coder coder;
    struct sk_buf stored, raw;
    struct sk_part *parts;      /* of the block, in order */
    struct sk_earlier *earlier; /* what the archive builds on, once it was needed */
};
void sk_unpacked_free(struct sk_unpacked *u);

/* Read and decode block i of the archive that is open as fd: of the same one each time. Fails with
 * SAIKAI_EDAMAGED, SAIKAI_EIO, SAIKAI_ENOMEM, and SAIKAI_ENOENT when the archive that it builds on
 * is not beside it. */
int sk_unpack_block(struct sk_unpacked *u, int fd, const char *path, const struct sk_ska *a,
                    size_t i, struct saikai_error *err);

/* For each segment of the block just unpacked whose file and class are wanted (NULL: all), in
 * order: compare it with its hash, then call take. */
int sk_unpack_each(const struct sk_unpacked *u, const char *path, const struct sk_ska *a, size_t i,
                   const uint8_t *wanted, const uint8_t *classes,
                   int (*take)(void *arg, const struct sk_ska_segment *s, const uint8_t *data,
                               size_t n, struct saikai_error *err),
                   void *arg, struct saikai_error *err);

#endif
