/* The codec's two functions: blocks are quantised, predicted and packed one after the other, and held against the bound. */
#include "codec/quick/quick.h"

#include "base/buf.h"
#include "base/types.h"
#include "codec/array.h"
#include "codec/quality/measure.h"
#include "codec/quick/piece.h"

#include <math.h>
#include <string.h>

/* Some elements of a block, one bit each. */
struct marks {
    uint64_t word[QUICK_BLOCK / 64];
};

struct coder {
    const struct quick_kernel *kernel;
    struct quick_head head;
    struct quick_lags lags;
    struct quick_window window;
    size_t size; /* of a value */
};

static size_t max_encoded(const struct sk_array *a)
{
    size_t n = sk_array_size_bytes(a);
    return n == (size_t)-1 ? n : QUICK_HEAD_BYTES + n + n / (QUICK_BLOCK * sizeof(float)) + 1;
}

static size_t blocks_of(size_t n)
{
    return n / QUICK_BLOCK + (n % QUICK_BLOCK != 0);
}

static uint64_t bits_of(const uint8_t *x, size_t size)
{
    uint64_t v8;
    uint32_t v4;
    if (size == sizeof v4) {
        memcpy(&v4, x, sizeof v4);
        return v4;
    }
    memcpy(&v8, x, sizeof v8);
    return v8;
}

static void put_bits(uint8_t *x, size_t size, uint64_t bits)
{
    uint32_t few = (uint32_t)bits;
    if (size == sizeof few)
        memcpy(x, &few, sizeof few);
    else
        memcpy(x, &bits, sizeof bits);
}

static uint8_t *put(uint8_t *to, const void *from, size_t n)
{
    memcpy(to, from, n);
    return to + n;
}

/* What is predicted of q[0]. */
static int32_t predicted(const int32_t *q, const struct quick_lags *l)
{
    const uint32_t *p = (const uint32_t *)q, *up = p - l->row, *back = p - l->plane, *both = back - l->row;
    if (!l->before)
        return 0;
    uint32_t v = p[-1];
    if (l->row)
        v += up[0] - up[-1];
    if (l->plane)
        v += back[0] - back[-1] - (both[0] - both[-1]);
    return (int32_t)v;
}

/* ---- encoding ---- */

/* Values of a block, and which of them are to be kept as they are. */
struct block {
    const uint8_t *x;
    size_t n; /* fewer than a block at the end of the array */
    struct marks exact;
    size_t n_exact, n_fill;
};

/* All values are the fill value. */
static int is_filled(const struct coder *c, const struct block *b)
{
    size_t i = 0;
    while (i < b->n && bits_of(b->x + i * c->size, c->size) == c->head.fill)
        i++;
    return i == b->n;
}

/* Marks the values of a block, at x, that miss the bound, or are no numbers. */
static void find_exact(const struct coder *c, struct block *b, const void *x)
{
    uint8_t miss[QUICK_BLOCK];
    if (c->size == sizeof(float))
        c->kernel->misses_f32(x, c->window.next, &c->head.scale, miss);
    else
        c->kernel->misses_f64(x, c->window.next, &c->head.scale, miss);
    memset(miss + b->n, 0, QUICK_BLOCK - b->n);
    b->n_exact = b->n_fill = 0;
    b->exact = (struct marks){{0}};
    for (size_t i = 0; i < QUICK_BLOCK; i += 8) { /* a product that brings the lowest bits of eight bytes together */
        uint64_t bits = (bits_of(miss + i, 8) * 0x0102040810204080u) >> 56;
        b->exact.word[i / 64] |= bits << i % 64;
        b->n_exact += (size_t)__builtin_popcountll(bits);
    }
    for (size_t k = 0; k < QUICK_BLOCK / 64; k++)
        for (uint64_t left = b->exact.word[k]; left; left &= left - 1)
            b->n_fill += bits_of(b->x + (64 * k + (unsigned)__builtin_ctzll(left)) * c->size, c->size) == c->head.fill;
}

/* What is kept as it is, or is not there, counts as what was predicted. */
static void predict_exact(const struct coder *c, const struct block *b)
{
    int32_t *q = c->window.next;
    struct marks these = b->exact;
    for (size_t i = b->n; i < QUICK_BLOCK; i++)
        these.word[i / 64] |= (uint64_t)1 << i % 64;
    for (size_t k = 0; k < QUICK_BLOCK / 64; k++)
        for (uint64_t left = these.word[k]; left; left &= left - 1) {
            int32_t *at = q + 64 * k + (unsigned)__builtin_ctzll(left);
            *at = predicted(at, &c->lags);
        }
}

/* All of the block counts as what was predicted. */
static void predict_all(const struct coder *c)
{
    const uint32_t nothing[QUICK_BLOCK] = {0};
    c->kernel->sum(nothing, &c->lags, c->window.next);
}

static unsigned residuals(const struct coder *c, uint32_t *folded)
{
    uint32_t all = c->kernel->differ(c->window.next, &c->lags, folded);
    return all ? 32u - (unsigned)__builtin_clz(all) : 0;
}

/* A block that is kept as it is. */
static uint8_t *put_kept_block(const struct coder *c, const struct block *b, int filled, uint8_t *kind, uint8_t *to)
{
    predict_all(c);
    *kind = filled ? QUICK_ALL_FILL : QUICK_ALL_EXACT;
    return filled ? to : put(to, b->x, b->n * c->size);
}

/* A block with values that are kept, or one that is not full; returns where the next one begins. */
static uint8_t *put_odd_block(const struct coder *c, struct block *b, const void *x, uint8_t *kind, uint8_t *to)
{
    uint32_t folded[QUICK_BLOCK];
    find_exact(c, b, x);
    predict_exact(c, b);
    unsigned width = residuals(c, folded);
    int fills = b->n_exact && b->n_fill == b->n_exact;
    size_t bytes = 16 * width + (b->n_exact ? QUICK_BITMAP_BYTES : 0) + (fills ? 0 : b->n_exact * c->size);
    if (bytes >= b->n * c->size)
        return put_kept_block(c, b, 0, kind, to);
    *kind = (uint8_t)(width | (b->n_exact ? fills ? QUICK_FILL : QUICK_EXACT : 0));
    if (b->n_exact)
        to = put(to, &b->exact, sizeof b->exact); /* little-endian, as this machine is */
    c->kernel->pack(folded, width, to);
    to += 16 * width;
    for (size_t k = 0; k < QUICK_BLOCK / 64 && !fills; k++)
        for (uint64_t left = b->exact.word[k]; left; left &= left - 1)
            to = put(to, b->x + (64 * k + (unsigned)__builtin_ctzll(left)) * c->size, c->size);
    return to;
}

static uint8_t *put_block(const struct coder *c, struct block *b, uint8_t *kind, uint8_t *to)
{
    const struct quick_scale *s = &c->head.scale;
    double copy[QUICK_BLOCK] = {0}; /* of a block that is not full */
    const void *x = b->x;
    if (b->n < QUICK_BLOCK)
        x = memcpy(copy, b->x, b->n * c->size);
    int missed = c->size == sizeof(float) ? c->kernel->quantise_f32(x, s, c->window.next)
                                          : c->kernel->quantise_f64(x, s, c->window.next);
    if (missed && is_filled(c, b))
        return put_kept_block(c, b, 1, kind, to);
    if (missed || b->n < QUICK_BLOCK)
        return put_odd_block(c, b, x, kind, to);
    uint32_t folded[QUICK_BLOCK];
    unsigned width = residuals(c, folded);
    if (16 * width >= QUICK_BLOCK * c->size)
        return put_kept_block(c, b, 0, kind, to);
    *kind = (uint8_t)width;
    c->kernel->pack(folded, width, to);
    return to + 16 * width;
}

/* The absolute bound asked for. */
static double bound_of(const struct sk_array *a, const void *in, size_t bytes, const struct sk_codec_options *opt)
{
    const struct sk_bound *b = &opt->bound;
    if (b->kind == SK_BOUND_ABS)
        return b->value;
    double range = opt->range > 0 ? opt->range : sk_measure_range(a->type, in, bytes, 1);
    range = range > 0 ? range : 0; /* negative: no value is finite */
    return b->kind == SK_BOUND_REL ? b->value * range : range * pow(10, -b->value / 20);
}

static int refuse(const struct sk_array *a, const struct sk_codec_options *opt, size_t bytes, size_t cap, struct saikai_error *err)
{
    if (a->type != SAIKAI_F32 && a->type != SAIKAI_F64)
        return sk_fail(err, SAIKAI_ENOTSUP, "the codec %s takes f32 and f64, not %s", sk_codec_quick.name, sk_type_name(a->type));
    if (opt->bound.kind == SK_BOUND_NONE)
        return sk_fail(err, SAIKAI_EBOUND, "the codec %s is for error bounds, and none was given", sk_codec_quick.name);
    if (!(opt->bound.value >= 0 && isfinite(opt->bound.value)))
        return sk_fail(err, SAIKAI_EBOUND, "an error bound of %g: it must be a number, 0 or more", opt->bound.value);
    if (bytes == (size_t)-1 || max_encoded(a) > cap)
        return sk_fail(err, SAIKAI_ENOSPC, "%zu bytes are too few for a piece of this array", cap);
    return 0;
}

static uint8_t *put_head(const struct quick_head *h, uint8_t *to)
{
    *to++ = QUICK_VERSION;
    *to++ = (uint8_t)h->prediction;
    to = put(to, &h->scale.step, 8);
    to = put(to, &h->scale.centre, 8);
    return put(to, &h->fill, 8);
}

static int encode(const struct sk_array *a, const void *in, const struct sk_codec_options *opt, void *out, size_t cap,
                  size_t *out_size_bytes, struct saikai_error *err)
{
    size_t bytes = sk_array_size_bytes(a);
    int rc = refuse(a, opt, bytes, cap, err);
    if (rc)
        return rc;
    struct coder c = {.kernel = sk_quick_kernel(), .size = sk_type_size(a->type)};
    size_t n = bytes / c.size, blocks = blocks_of(n);
    c.head.scale.bound = bound_of(a, in, bytes, opt);
    sk_quick_head_choose(&c.head, a, in, n);
    sk_quick_lags(a, c.head.prediction, &c.lags);
    if (sk_quick_window_new(&c.window, &c.lags))
        return sk_fail(err, SAIKAI_ENOMEM, "out of memory for the codec %s", sk_codec_quick.name);
    uint8_t *kinds = put_head(&c.head, out), *to = kinds + blocks;
    for (size_t k = 0; k < blocks; k++) {
        size_t at = k * QUICK_BLOCK;
        struct block b = {.x = (const uint8_t *)in + at * c.size, .n = n - at < QUICK_BLOCK ? n - at : QUICK_BLOCK};
        to = put_block(&c, &b, kinds + k, to);
        sk_quick_window_advance(&c.window);
    }
    sk_quick_window_free(&c.window);
    *out_size_bytes = (size_t)(to - (uint8_t *)out);
    return 0;
}

/* ---- decoding ---- */

static int get_head(struct quick_head *h, struct sk_rd *in)
{
    int version = sk_rd_u8(in);
    h->prediction = sk_rd_u8(in);
    h->scale.step = sk_rd_f64(in);
    h->scale.centre = sk_rd_f64(in);
    h->fill = sk_rd_u64(in);
    return in->bad || version != QUICK_VERSION || h->prediction >= QUICK_PREDICTIONS ? -1 : 0;
}

/* Puts what was kept in its places. -1: there is too little of it, or it has no place. */
static int get_exact(const struct coder *c, const struct marks *exact, unsigned kind, struct sk_rd *in, uint8_t *x, size_t n)
{
    for (size_t k = 0; k < QUICK_BLOCK / 64; k++)
        for (uint64_t left = exact->word[k]; left; left &= left - 1) {
            size_t i = 64 * k + (unsigned)__builtin_ctzll(left);
            const void *p = kind & QUICK_EXACT ? sk_rd_bytes(in, c->size) : &c->head.fill;
            if (!p || i >= n)
                return -1;
            put_bits(x + i * c->size, c->size, bits_of(p, c->size));
        }
    return 0;
}

/* A block in which all are exact. */
static int get_kept_block(const struct coder *c, unsigned kind, struct sk_rd *in, uint8_t *x, size_t n)
{
    predict_all(c);
    if (kind == QUICK_ALL_EXACT) {
        const void *p = sk_rd_bytes(in, n * c->size);
        if (p)
            memcpy(x, p, n * c->size);
        return p ? 0 : -1;
    }
    for (size_t i = 0; i < n; i++)
        put_bits(x + i * c->size, c->size, c->head.fill);
    return 0;
}

static int get_block(const struct coder *c, unsigned kind, struct sk_rd *in, uint8_t *x, size_t n)
{
    uint32_t folded[QUICK_BLOCK];
    struct marks exact;
    double copy[QUICK_BLOCK];
    unsigned width = kind & QUICK_WIDTH, odd = kind & (QUICK_EXACT | QUICK_FILL);
    if (kind >= QUICK_ALL_FILL)
        return get_kept_block(c, kind, in, x, n);
    const void *bitmap = odd ? sk_rd_bytes(in, sizeof exact) : NULL;
    const uint8_t *packed = sk_rd_bytes(in, 16 * (size_t)width);
    if (width >= QUICK_WIDTHS || odd == (QUICK_EXACT | QUICK_FILL) || (odd && !bitmap) || !packed)
        return -1;
    c->kernel->unpack(packed, width, folded);
    c->kernel->sum(folded, &c->lags, c->window.next);
    void *to = n < QUICK_BLOCK ? (void *)copy : x;
    if (c->size == sizeof(float))
        c->kernel->restore_f32(c->window.next, &c->head.scale, to);
    else
        c->kernel->restore_f64(c->window.next, &c->head.scale, to);
    if (n < QUICK_BLOCK)
        memcpy(x, copy, n * c->size);
    if (!odd)
        return 0;
    memcpy(&exact, bitmap, sizeof exact);
    return get_exact(c, &exact, kind, in, x, n);
}

static int decode(const struct sk_array *a, const void *in, size_t size, void *out, struct saikai_error *err)
{
    struct coder c = {.kernel = sk_quick_kernel(), .size = sk_type_size(a->type)};
    struct sk_rd rd = sk_rd_init(in, size);
    size_t bytes = sk_array_size_bytes(a);
    if ((a->type != SAIKAI_F32 && a->type != SAIKAI_F64) || bytes == (size_t)-1)
        return sk_fail(err, SAIKAI_EDAMAGED, "the codec %s holds f32 and f64 only", sk_codec_quick.name);
    size_t n = bytes / c.size, blocks = blocks_of(n);
    int bad = get_head(&c.head, &rd) || sk_quick_lags(a, c.head.prediction, &c.lags);
    const uint8_t *kinds = bad ? NULL : sk_rd_bytes(&rd, blocks);
    if (!kinds)
        return sk_fail(err, SAIKAI_EDAMAGED, "the head of a %s piece is damaged", sk_codec_quick.name);
    if (sk_quick_window_new(&c.window, &c.lags))
        return sk_fail(err, SAIKAI_ENOMEM, "out of memory for the codec %s", sk_codec_quick.name);
    for (size_t k = 0; !bad && k < blocks; k++) {
        size_t at = k * QUICK_BLOCK, left = n - at;
        bad = get_block(&c, kinds[k], &rd, (uint8_t *)out + at * c.size, left < QUICK_BLOCK ? left : QUICK_BLOCK);
        sk_quick_window_advance(&c.window);
    }
    sk_quick_window_free(&c.window);
    if (bad || sk_rd_left(&rd))
        return sk_fail(err, SAIKAI_EDAMAGED, "the blocks of a %s piece are damaged", sk_codec_quick.name);
    return 0;
}

const struct sk_codec_ops sk_codec_quick = {
    .abi = SK_CODEC_ABI,
    .name = "quick",
    .description = "error-bounded at the speed of memory: predicted whole numbers, packed by blocks",
    .types = 1u << SAIKAI_F32 | 1u << SAIKAI_F64,
    .lossy = 1,
    .max_encoded = max_encoded,
    .encode = encode,
    .decode = decode,
};
