/* What encoder and decoder of file differences share. */
#ifndef SK_CAPTURE_FILEDIFF_FORMAT_H
#define SK_CAPTURE_FILEDIFF_FORMAT_H

#include "base/hash.h"
#include "capture/filediff.h"

#define SK_FD_HEAD_BYTES 32u
#define SK_FD_TAIL_BYTES 16u
#define SK_FD_VERSION    1
#define SK_FD_BUFFER     ((size_t)256 << 10)

static inline void sk_fd_put64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static inline uint64_t sk_fd_get64(const uint8_t *p)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

/* XXH3 of [0, n) of a source; buffer: SK_FD_BUFFER bytes. */
int sk_fd_hash(const struct sk_source *s, uint64_t n, uint8_t *buffer, uint64_t *hash,
               struct saikai_error *err);

#endif
