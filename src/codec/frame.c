/* Encodes the headers of a frame and of its pieces, and reads them with every field checked. */
#include "codec/frame.h"
#include "codec/array.h"

#include "base/hash.h"
#include "base/types.h"

#include <math.h>

#define MAGIC     0x31534b53u /* "SKS1" */
#define SHORT     0x32534b53u /* "SKS2" */
#define LOSSLESS  0x33534b53u /* "SKS3" */
#define SIZE_BITS 56

enum { LONG_PIECE = 24, MODE_BITS = 2, MEASURED = 1 << MODE_BITS, SHORT_BITS = MODE_BITS + 1 };
/* Above the modes: with the checksum of the values; in the short form a mode of its own, for pieces of the codec "predict" alone. */
enum { WITH_CONTENT = 4, SHORT_WITH_CONTENT = SK_FRAME_EXACT | SK_FRAME_RAW };

/* A number by sevens of bits, the lowest first; returns the bytes it took. */
static size_t number(uint8_t *out, uint64_t v)
{
    size_t n = 0;
    for (; v >= 128; v >>= 7)
        out[n++] = (uint8_t)(v | 128);
    out[n++] = (uint8_t)v;
    return n;
}

static void put_number(struct sk_buf *b, uint64_t v)
{
    uint8_t bytes[10];
    sk_buf_put(b, bytes, number(bytes, v));
}

static uint64_t get_number(struct sk_rd *r)
{
    uint64_t v = 0;
    for (unsigned k = 0; k < 64; k += 7) {
        uint8_t byte = sk_rd_u8(r);
        if (k == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 127) << k;
        if (byte < 128)
            return v;
    }
    r->bad = 1;
    return 0;
}

static void put_short_head(struct sk_buf *b, const struct sk_frame_head *h)
{
    size_t start = b->len, name = strlen(h->chain);
    sk_buf_put_u32(b, h->form == SK_FRAME_LOSSLESS ? LOSSLESS : SHORT);
    sk_buf_put_u8(b, (uint8_t)h->array.type);
    sk_buf_put_u8(b, (uint8_t)h->array.ndims);
    for (int k = 0; k < h->array.ndims; k++)
        put_number(b, h->array.dims[k]);
    if (h->form != SK_FRAME_LOSSLESS) {
        sk_buf_put_u8(b, (uint8_t)h->bound.kind);
        sk_buf_put_f64(b, h->bound.value);
        sk_buf_put_f64(b, h->range);
    }
    sk_buf_put_u8(b, (uint8_t)name);
    sk_buf_put(b, h->chain, name);
    put_number(b, h->piece_bytes);
    put_number(b, h->pieces);
    if (sk_buf_ok(b))
        sk_buf_put_u32(b, (uint32_t)sk_hash64(b->data + start, b->len - start));
}

/* Bytes without dimensions, which are as many as their one dimension says, are in the first form alone. */
enum sk_frame_form sk_frame_form_of(const struct sk_array *a, int lossless, const struct sk_bound *b)
{
    if (b->kind != SK_BOUND_NONE)
        return SK_FRAME_BOUNDED;
    return lossless && (a->ndims || a->type != SAIKAI_U8) ? SK_FRAME_LOSSLESS : SK_FRAME_LONG;
}

void sk_frame_put_head(struct sk_buf *b, const struct sk_frame_head *h)
{
    size_t start = b->len;
    if (h->form != SK_FRAME_LONG) {
        put_short_head(b, h);
        return;
    }
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
    return p->size | (uint64_t)(p->mode | (p->has_content ? WITH_CONTENT : 0)) << SIZE_BITS;
}

/* The field behind it. */
static uint64_t second_of(const struct sk_frame_piece *p)
{
    uint64_t e;
    memcpy(&e, &p->max_error, sizeof e);
    return p->has_content ? p->content : e;
}

static void put_u64(uint8_t *out, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(v >> 8 * i);
}

/* Without loss: what is not raw has the checksum of its values. */
static size_t put_lossless(uint8_t *out, const struct sk_frame_piece *p)
{
    const int raw = p->mode == SK_FRAME_RAW;
    size_t n = number(out, p->size << 1 | (uint64_t)raw);
    if (!raw)
        put_u64(out + n, p->content);
    n += raw ? 0 : 8;
    put_u64(out + n, p->hash);
    return n + 8;
}

size_t sk_frame_put_piece(uint8_t out[SK_FRAME_PIECE_MOST], const struct sk_frame_piece *p,
                          enum sk_frame_form form)
{
    size_t n = 8;
    const int is_short = form == SK_FRAME_BOUNDED;
    int measured = !is_short || p->has_content || p->max_error == p->max_error;
    if (form == SK_FRAME_LOSSLESS)
        return put_lossless(out, p);
    if (is_short)
        n = number(out, p->size << SHORT_BITS | (uint64_t)(measured ? MEASURED : 0) |
                            (uint64_t)(p->has_content ? SHORT_WITH_CONTENT : p->mode));
    else
        put_u64(out, word_of(p));
    if (measured)
        put_u64(out + n, second_of(p));
    n += measured ? 8 : 0;
    put_u64(out + n, p->hash);
    return n + 8;
}

uint64_t sk_frame_piece_hash(const struct sk_frame_piece *p, uint64_t number, const void *data)
{
    uint8_t all[32];
    put_u64(all, word_of(p));
    put_u64(all + 8, second_of(p));
    put_u64(all + 16, number);
    put_u64(all + 24, sk_hash64(data, (size_t)p->size));
    return sk_hash64(all, sizeof all);
}

static int damaged(struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_EDAMAGED, "the frame's header is damaged");
}

static void parse_long(struct sk_rd *r, struct sk_frame_head *h)
{
    r->bad |= sk_rd_u16(r) != 0;
    for (int k = 0; k < (h->array.ndims ? h->array.ndims : 1); k++)
        h->array.dims[k] = (size_t)sk_rd_u64(r);
    h->bound.kind = sk_rd_u8(r);
    h->bound.value = sk_rd_f64(r);
    h->range = sk_rd_f64(r);
    sk_rd_str(r, h->chain, sizeof h->chain);
    h->piece_bytes = sk_rd_u64(r);
    h->pieces = sk_rd_u64(r);
}

static void parse_short(struct sk_rd *r, struct sk_frame_head *h)
{
    for (int k = 0; k < h->array.ndims; k++)
        h->array.dims[k] = (size_t)get_number(r);
    h->array.dims[0] = h->array.ndims ? h->array.dims[0] : 1;
    if (h->form != SK_FRAME_LOSSLESS) {
        h->bound.kind = sk_rd_u8(r);
        h->bound.value = sk_rd_f64(r);
        h->range = sk_rd_f64(r);
    }
    size_t name = sk_rd_u8(r);
    const void *chain = name < sizeof h->chain ? sk_rd_bytes(r, name) : NULL;
    if (!chain || memchr(chain, 0, name))
        r->bad = 1;
    else
        memcpy(h->chain, chain, name);
    h->piece_bytes = get_number(r);
    h->pieces = get_number(r);
}

/* The header's fields, from exactly its bytes or more; *used is how long it is. */
static int parse_head(const uint8_t *data, size_t n, struct sk_frame_head *h, size_t *used,
                      struct saikai_error *err)
{
    struct sk_rd r = sk_rd_init(data, n);
    *h = (struct sk_frame_head){0};
    uint32_t magic = sk_rd_u32(&r);
    if (magic != MAGIC && magic != SHORT && magic != LOSSLESS)
        return sk_fail(err, SAIKAI_EFORMAT,
                       "not a frame of encoded pieces (\"SKS1\", \"SKS2\" or \"SKS3\" is missing)");
    h->form = magic == MAGIC ? SK_FRAME_LONG : magic == SHORT ? SK_FRAME_BOUNDED : SK_FRAME_LOSSLESS;
    h->array.type = sk_rd_u8(&r);
    h->array.ndims = sk_rd_u8(&r);
    if (r.bad || !sk_type_size(h->array.type) || h->array.ndims > SAIKAI_MAX_DIMS)
        return damaged(err);
    (h->form ? parse_short : parse_long)(&r, h);
    size_t body = n - sk_rd_left(&r);
    uint64_t hash = r.bad ? 0 : sk_hash64(data, body);
    uint64_t kept = h->form ? sk_rd_u32(&r) : sk_rd_u64(&r);
    if (r.bad || (h->form ? (uint32_t)hash : hash) != kept || !h->piece_bytes ||
        h->bound.kind > SK_BOUND_PSNR || sk_array_size_bytes(&h->array) == (size_t)-1)
        return damaged(err);
    *used = n - sk_rd_left(&r);
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

static void parse_lossless_piece(struct sk_rd *r, struct sk_frame_piece *p)
{
    uint64_t word = get_number(r);
    *p = (struct sk_frame_piece){.size = word >> 1, .mode = word & 1 ? SK_FRAME_RAW : SK_FRAME_CHAIN, .has_content = !(word & 1)};
    p->content = p->has_content ? sk_rd_u64(r) : 0;
    p->hash = sk_rd_u64(r);
}

static void parse_piece(struct sk_rd *r, int is_short, struct sk_frame_piece *p)
{
    uint64_t word = is_short ? get_number(r) : sk_rd_u64(r);
    p->size = is_short ? word >> SHORT_BITS : word & (((uint64_t)1 << SIZE_BITS) - 1);
    p->mode = (int)(is_short ? word & (MEASURED - 1) : word >> SIZE_BITS);
    p->has_content = is_short ? p->mode == SHORT_WITH_CONTENT && word & MEASURED : p->mode / WITH_CONTENT == 1;
    p->mode = !p->has_content ? p->mode : is_short ? SK_FRAME_EXACT : p->mode % WITH_CONTENT;
    p->content = p->has_content ? sk_rd_u64(r) : 0;
    p->max_error = p->has_content ? 0 : !is_short || word & MEASURED ? sk_rd_f64(r) : NAN;
    p->hash = sk_rd_u64(r);
}

int sk_frame_get_piece(sk_stream_source *source, void *arg, uint64_t *at, uint64_t n, enum sk_frame_form form,
                       struct sk_frame_piece *p, struct saikai_error *err)
{
    uint8_t data[SK_FRAME_PIECE_MOST];
    size_t most = form ? sizeof data : LONG_PIECE, got = n - *at < most ? (size_t)(n - *at) : most;
    if (got < (form ? SK_FRAME_PIECE_LEAST : LONG_PIECE))
        return sk_fail(err, SAIKAI_EDAMAGED, "the frame is truncated");
    int rc = source(arg, *at, data, got, err);
    if (rc)
        return rc;
    struct sk_rd r = sk_rd_init(data, got);
    if (form == SK_FRAME_LOSSLESS)
        parse_lossless_piece(&r, p);
    else
        parse_piece(&r, form == SK_FRAME_BOUNDED, p);
    *at += got - sk_rd_left(&r);
    if (r.bad)
        return sk_fail(err, SAIKAI_EDAMAGED, "the frame is truncated");
    if (p->mode > SK_FRAME_EXACT)
        return sk_fail(err, SAIKAI_EDAMAGED, "the header is damaged (mode %d)", p->mode);
    if (p->size > n - *at)
        return sk_fail(err, SAIKAI_EDAMAGED, "the frame is truncated");
    return 0;
}
