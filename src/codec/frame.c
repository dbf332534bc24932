/* Encodes the headers of a frame and of its pieces, and reads them with every field checked. */
#include "codec/frame.h"
#include "codec/array.h"

#include "base/hash.h"
#include "base/types.h"

#define MAGIC     0x31534b53u /* "SKS1" */
#define SIZE_BITS 56

void sk_frame_put_head(struct sk_buf *b, const struct sk_frame_head *h)
{
    size_t start = b->len;
    sk_buf_put_u32(b, MAGIC);
    sk_buf_put_u8(b, (uint8_t)h->array.type);
    sk_buf_put_u8(b, (uint8_t)h->array.ndims);
    sk_buf_put_u16(b, 0);
    for (int k = 0; k < (h->array.ndims ? h->array.ndims : 1); k++)
        sk_buf_put_u64(b, h->array.ndims || h->array.type == SAIKAI_U8 ? h->array.dims[k] : 1);
    sk_buf_put_u8(b, (uint8_t)h->bound.kind);
    sk_buf_put_f64(b, h->bound.value);
    sk_buf_put_f64(b, h->range);
    sk_buf_put_str(b, h->chain);
    sk_buf_put_u64(b, h->piece_bytes);
    sk_buf_put_u64(b, h->pieces);
    if (sk_buf_ok(b))
        sk_buf_put_u64(b, sk_hash64(b->data + start, b->len - start));
}

static uint64_t word_of(const struct sk_frame_piece *p)
{
    return p->size | (uint64_t)p->mode << SIZE_BITS;
}

static void put_u64(uint8_t *out, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(v >> 8 * i);
}

void sk_frame_put_piece(uint8_t out[SK_FRAME_PIECE_BYTES], const struct sk_frame_piece *p)
{
    uint64_t e;
    memcpy(&e, &p->max_error, sizeof e);
    put_u64(out, word_of(p));
    put_u64(out + 8, e);
    put_u64(out + 16, p->hash);
}

uint64_t sk_frame_piece_hash(const struct sk_frame_piece *p, uint64_t number, const void *data)
{
    uint8_t all[32];
    uint64_t e;
    memcpy(&e, &p->max_error, sizeof e);
    put_u64(all, word_of(p));
    put_u64(all + 8, e);
    put_u64(all + 16, number);
    put_u64(all + 24, sk_hash64(data, (size_t)p->size));
    return sk_hash64(all, sizeof all);
}

static int damaged(struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_EDAMAGED, "the frame's header is damaged");
}

/* The header's fields, from exactly its bytes or more; *used is how long it is. */
static int parse_head(const uint8_t *data, size_t n, struct sk_frame_head *h, size_t *used,
                      struct saikai_error *err)
{
    struct sk_rd r = sk_rd_init(data, n);
    *h = (struct sk_frame_head){0};
    if (sk_rd_u32(&r) != MAGIC)
        return sk_fail(err, SAIKAI_EFORMAT, "not a frame of encoded pieces (\"SKS1\" is missing)");
    h->array.type = sk_rd_u8(&r);
    h->array.ndims = sk_rd_u8(&r);
    int zero = sk_rd_u16(&r);
    if (r.bad || zero || !sk_type_size(h->array.type) || h->array.ndims > SAIKAI_MAX_DIMS)
        return damaged(err);
    for (int k = 0; k < (h->array.ndims ? h->array.ndims : 1); k++)
        h->array.dims[k] = (size_t)sk_rd_u64(&r);
    h->bound.kind = sk_rd_u8(&r);
    h->bound.value = sk_rd_f64(&r);
    h->range = sk_rd_f64(&r);
    sk_rd_str(&r, h->chain, sizeof h->chain);
    h->piece_bytes = sk_rd_u64(&r);
    h->pieces = sk_rd_u64(&r);
    size_t body = n - sk_rd_left(&r);
    uint64_t hash = sk_rd_u64(&r);
    if (r.bad || sk_hash64(data, body) != hash || !h->piece_bytes ||
        h->bound.kind > SK_BOUND_PSNR || sk_array_size_bytes(&h->array) == (size_t)-1)
        return damaged(err);
    *used = body + 8;
    return 0;
}

int sk_frame_get_head(sk_stream_source *source, void *arg, uint64_t *at, uint64_t n,
                      struct sk_frame_head *h, struct saikai_error *err)
{
    uint8_t data[SK_FRAME_HEAD_MAX];
    size_t got = n - *at < sizeof data ? (size_t)(n - *at) : sizeof data, used = 0;
    int rc = source(arg, *at, data, got, err);
    if (!rc)
        rc = parse_head(data, got, h, &used, err);
    *at += used;
    return rc;
}

int sk_frame_get_piece(sk_stream_source *source, void *arg, uint64_t *at, uint64_t n,
                       struct sk_frame_piece *p, struct saikai_error *err)
{
    uint8_t data[SK_FRAME_PIECE_BYTES];
    if (n - *at < sizeof data)
        return sk_fail(err, SAIKAI_EDAMAGED, "the frame is truncated");
    int rc = source(arg, *at, data, sizeof data, err);
    if (rc)
        return rc;
    struct sk_rd r = sk_rd_init(data, sizeof data);
    uint64_t word = sk_rd_u64(&r);
    p->size = word & (((uint64_t)1 << SIZE_BITS) - 1);
    p->mode = (int)(word >> SIZE_BITS);
    p->max_error = sk_rd_f64(&r);
    p->hash = sk_rd_u64(&r);
    *at += sizeof data;
    if (p->mode > SK_FRAME_EXACT)
        return sk_fail(err, SAIKAI_EDAMAGED, "the header is damaged (mode %d)", p->mode);
    if (p->size > n - *at)
        return sk_fail(err, SAIKAI_EDAMAGED, "the frame is truncated");
    return 0;
}
