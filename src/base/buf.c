/* The buffer's growth, and the little-endian writers and readers. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Saikai's encoders assume a little-endian machine"
#endif

void sk_buf_free(struct sk_buf *b)
{
    if (!b)
        return;
    free(b->data);
    *b = (struct sk_buf){0};
}

void *sk_buf_extend(struct sk_buf *b, size_t n)
{
    if (b->failed)
        return NULL;
    size_t need;
    if (__builtin_add_overflow(b->len, n, &need)) {
        b->failed = 1;
        return NULL;
    }
    if (need > b->cap || !b->data) {
        size_t cap = b->cap + b->cap / 2;
        if (cap < need)
            cap = need;
        if (cap < 64)
            cap = 64;
        uint8_t *p = realloc(b->data, cap);
        if (!p) {
            b->failed = 1;
            return NULL;
        }
        b->data = p;
        b->cap = cap;
    }
    void *at = b->data + b->len;
    b->len = need;
    return at;
}

void sk_buf_put(struct sk_buf *b, const void *p, size_t n)
{
    void *at = sk_buf_extend(b, n);
    if (at && n)
        memcpy(at, p, n);
}

void sk_buf_put_u8(struct sk_buf *b, uint8_t v)
{
    sk_buf_put(b, &v, 1);
}

void sk_buf_put_u16(struct sk_buf *b, uint16_t v)
{
    sk_buf_put(b, &v, 2);
}

void sk_buf_put_u32(struct sk_buf *b, uint32_t v)
{
    sk_buf_put(b, &v, 4);
}

void sk_buf_put_u64(struct sk_buf *b, uint64_t v)
{
    sk_buf_put(b, &v, 8);
}

void sk_buf_put_f64(struct sk_buf *b, double v)
{
    sk_buf_put(b, &v, 8);
}

void sk_buf_put_str(struct sk_buf *b, const char *s)
{
    size_t n = strlen(s);
    if (n > UINT16_MAX) {
        b->failed = 1;
        return;
    }
    sk_buf_put_u16(b, (uint16_t)n);
    sk_buf_put(b, s, n);
}

void sk_buf_pad(struct sk_buf *b, size_t alignment)
{
    size_t over = b->len % alignment;
    if (!over)
        return;
    void *at = sk_buf_extend(b, alignment - over);
    if (at)
        memset(at, 0, alignment - over);
}

void sk_buf_printf(struct sk_buf *b, const char *fmt, ...)
{
    va_list ap, ap2;
    va_start(ap, fmt);
    va_copy(ap2, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *at = n < 0 ? NULL : sk_buf_extend(b, (size_t)n + 1);
    if (at) {
        vsnprintf(at, (size_t)n + 1, fmt, ap2);
        b->len--; /* the zero stays behind the text but is not part of it */
    } else {
        b->failed = 1;
    }
    va_end(ap2);
}

const void *sk_rd_bytes(struct sk_rd *r, size_t n)
{
    if (r->bad || (size_t)(r->end - r->p) < n) {
        r->bad = 1;
        return NULL;
    }
    const void *at = r->p;
    r->p += n;
    return at;
}

#define READER(name, type)                                                                         \
    type name(struct sk_rd *r)                                                                     \
    {                                                                                              \
        type v = 0;                                                                                \
        const void *at = sk_rd_bytes(r, sizeof v);                                                 \
        if (at)                                                                                    \
            memcpy(&v, at, sizeof v);                                                              \
        return v;                                                                                  \
    }
READER(sk_rd_u8, uint8_t)
READER(sk_rd_u16, uint16_t)
READER(sk_rd_u32, uint32_t)
READER(sk_rd_u64, uint64_t)
READER(sk_rd_f64, double)

void sk_rd_str(struct sk_rd *r, char *out, size_t cap)
{
    size_t n = sk_rd_u16(r);
    const char *at = n < cap ? sk_rd_bytes(r, n) : NULL;
    if (!at || memchr(at, 0, n)) {
        r->bad = 1;
        out[0] = 0;
        return;
    }
    memcpy(out, at, n);
    out[n] = 0;
}
