/* Stores an array byte plane by byte plane through zstd, or plainly where that is no smaller. */
#include "codec/wavelet/exact.h"

#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ZSTD
#include "codec/general/zstd_code.h"
#endif

enum { PLAIN = 0, SHUFFLED_ZSTD = 1 };

#ifdef HAVE_ZSTD
static int put_zstd(struct sk_buf *out, const uint8_t *in, size_t n, size_t size)
{
    size_t bytes = n * size, room = ZSTD_compressBound(bytes), start = out->len;
    uint8_t *planes = malloc(bytes ? bytes : 1);
    uint8_t *to = planes ? sk_buf_extend(out, room + 1) : NULL;
    size_t got = 0;
    if (to) {
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < size; k++)
                planes[k * n + i] = in[i * size + k];
        *to = SHUFFLED_ZSTD;
        got = ZSTD_compress(to + 1, room, planes, bytes, 3);
    }
    free(planes);
    int ok = to && !ZSTD_isError(got) && got < bytes;
    out->len = ok ? start + 1 + got : start;
    return ok;
}
#endif

int sk_exact_put(struct sk_buf *out, const void *in, size_t n, size_t size, struct saikai_error *err)
{
#ifdef HAVE_ZSTD
    if (put_zstd(out, in, n, size))
        return 0;
#endif
    sk_buf_put_u8(out, PLAIN);
    sk_buf_put(out, in, n * size);
    return sk_buf_ok(out) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "out of memory for an exact piece");
}

static int get_zstd(const uint8_t *in, size_t in_size, uint8_t *out, size_t n, size_t size,
                    struct saikai_error *err)
{
#ifdef HAVE_ZSTD
    size_t bytes = n * size;
    uint8_t *planes = malloc(bytes ? bytes : 1);
    if (!planes)
        return sk_fail(err, SAIKAI_ENOMEM, "out of memory for an exact piece");
    size_t got = ZSTD_decompress(planes, bytes, in, in_size);
    int ok = got == bytes;
    for (size_t i = 0; ok && i < n; i++)
        for (size_t k = 0; k < size; k++)
            out[i * size + k] = planes[k * n + i];
    free(planes);
    if (!ok && sk_zstd_code(got) == SAIKAI_ENOMEM)
        return sk_fail(err, SAIKAI_ENOMEM, "out of memory for an exact piece");
    return ok ? 0 : sk_fail(err, SAIKAI_EDAMAGED, "an exact piece is damaged");
#else
    return sk_fail(err, SAIKAI_ENOTSUP, "an exact piece needs zstd, which this build is without");
#endif
}

int sk_exact_get(const void *in, size_t in_size, void *out, size_t n, size_t size,
              struct saikai_error *err)
{
    const uint8_t *p = in;
    if (in_size && p[0] == SHUFFLED_ZSTD)
        return get_zstd(p + 1, in_size - 1, out, n, size, err);
    if (!in_size || p[0] != PLAIN || in_size - 1 != n * size)
        return sk_fail(err, SAIKAI_EDAMAGED, "an exact piece is damaged");
    memcpy(out, p + 1, n * size);
    return 0;
}
