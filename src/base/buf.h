/* A growing byte buffer, and little-endian encoding and decoding.
 *
 * Writers never fail half-way: when memory runs out the buffer remembers it and `sk_buf_ok` says so
 * once at the end. Readers (`struct sk_rd`) never read past the end: a short input sets `bad` and
 * yields zeros, to be checked once. */
#ifndef SK_BASE_BUF_H
#define SK_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sk_buf {
    uint8_t *data;
    size_t len, cap;
    int failed;
};

void sk_buf_free(struct sk_buf *b); /* NULL is accepted; the buffer can be used again */
/* Make room for n more bytes and count them as used; returns where they start, NULL when memory ran
 * out. */
void *sk_buf_extend(struct sk_buf *b, size_t n);
void sk_buf_put(struct sk_buf *b, const void *p, size_t n);
void sk_buf_put_u8(struct sk_buf *b, uint8_t v);
void sk_buf_put_u16(struct sk_buf *b, uint16_t v);
void sk_buf_put_u32(struct sk_buf *b, uint32_t v);
void sk_buf_put_u64(struct sk_buf *b, uint64_t v);
void sk_buf_put_f64(struct sk_buf *b, double v);
void sk_buf_put_str(struct sk_buf *b, const char *s); /* u16 length, bytes */
void sk_buf_pad(struct sk_buf *b, size_t alignment);  /* zeros up to a multiple */
void sk_buf_printf(struct sk_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline int sk_buf_ok(const struct sk_buf *b)
{
    return !b->failed;
}

struct sk_rd {
    const uint8_t *p, *end;
    int bad;
};

static inline struct sk_rd sk_rd_init(const void *p, size_t n)
{
    const uint8_t *from = p ? p : (const uint8_t *)""; /* nothing may be at no address */
    return (struct sk_rd){from, from + n, 0};
}
static inline size_t sk_rd_left(const struct sk_rd *r)
{
    return r->bad ? 0 : (size_t)(r->end - r->p);
}
/* The next n bytes, NULL (and bad) when there are fewer. */
const void *sk_rd_bytes(struct sk_rd *r, size_t n);
uint8_t sk_rd_u8(struct sk_rd *r);
uint16_t sk_rd_u16(struct sk_rd *r);
uint32_t sk_rd_u32(struct sk_rd *r);
uint64_t sk_rd_u64(struct sk_rd *r);
double sk_rd_f64(struct sk_rd *r);
/* A u16-length string into out[cap], terminated; bad when it is longer than cap - 1 or holds a zero
 * byte. */
void sk_rd_str(struct sk_rd *r, char *out, size_t cap);

#endif
