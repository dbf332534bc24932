/* Codec "fast": lossless coding of floating point at the speed of memory.
 *
 * Differences of whole numbers in the order of the floating-point ones, along up to four axes
 * (shape.h, whole orders only, applied to the array as one long row with lags), sign folded into
 * the lowest bit, 16 values at a time in as many bits as the largest needs. The packing is vertical
 * (value i of a group goes to lane i), as in D. Lemire, L. Boytsov, "Decoding billions of integers
 * per second through vectorization" (2015), section 4, so that widths may change from group to
 * group at no cost.
 *
 * Bytes: u8 mode (RAW: then the array; LZ: an LZ4 block) | u8 flags (1 ordered: values of both
 * signs, 2 masked) | u8 orders[SK_AXES] | u64 row length of a split axis (0: none) | u64 values
 * coded | (u64 fill | mask) | u64 bytes of widths | packed words | widths. Widths: per chunk one
 * byte of shift, then one byte per group, or 128 + n for n + 1 groups of width 0. Where there is a
 * fill value, only the other values are coded, as one row. */
#include "codec/lossless/fast_kernel.h"
#include "codec/lossless/lossless.h"
#include "codec/lossless/predict/predict.h"
#include "codec/lossless/predict/words.h"
#include "codec/array.h"

#include <math.h>
#include <stdlib.h>
#ifdef HAVE_LZ4
#include <lz4.h>
#endif

enum { RAW = 0, CODED = 1, LZ = 2 };
enum { ORDERED = 1, MASKED = 2 };

#define GROUP          SK_FAST_GROUP
#define CHUNK          SK_FAST_CHUNK
#define PROBES         4
#define PROBE          256 /* values of a probe */
#define MOST_TERMS     17  /* more cost more time than they save space */
#define HARDLY_VARIES  6   /* times smaller */
#define LEAST_ROW      16
#define WELL_PREDICTED 0.2 /* share of bits left */

struct fast {
    struct sk_words l;
    struct sk_shape whole; /* the array's shape, for the mask */
    struct sk_shape shape; /* of what is coded */
    struct sk_orders orders;
    const struct sk_fast_kernel *kernel;
    size_t split;
    int flags;
    uint64_t fill;
    uint8_t *apart, *skip;
    const uint8_t *x; /* the words to code, as whole numbers */
    uint8_t *m;       /* where these had to be made */
};

static void shape_of_row(struct sk_shape *s, size_t n)
{
    struct sk_array a = {SAIKAI_U8, 1, {n}};
    sk_shape_init(s, &a);
}

/* Terms for values from `at` on, and *end, up to where they hold. No lag goes before the array's
 * start. */
static void terms_at(const struct fast *f, size_t at, struct sk_fast_terms *t, size_t *end)
{
    double c[SK_AXES][4];
    int degree[SK_AXES];
    size_t left = at; /* slower axes take first what lies before */
    *end = f->shape.total;
    for (int k = SK_AXES - 1; k >= 0; k--) {
        size_t stride = k < f->shape.axes ? f->shape.stride[k] : f->shape.total;
        unsigned want = k < f->shape.axes ? f->orders.half[k] / 2u : 0,
                 have = (unsigned)(left / stride < want ? left / stride : want);
        if (have < want && at - left + stride * (have + 1) < *end)
            *end = at - left + stride * (have + 1);
        left -= have * stride;
        degree[k] = sk_operator(2 * have, c[k]);
    }
    t->n = t->outer = 0;
    t->order = degree[0];
    t->nearest = f->shape.axes > 1 ? f->shape.stride[1] : f->shape.total;
    for (int inner = 0; inner < 2; inner++)
        for (int w = 0; w <= degree[3]; w++)
            for (int z = 0; z <= degree[2]; z++)
                for (int y = 0; y <= degree[1]; y++)
                    for (int x = 0; x <= degree[0]; x++) {
                        int same_row = !w && !z && !y;
                        if (same_row != inner || (same_row && !x))
                            continue;
                        t->lag[t->n] = (size_t)w * f->shape.stride[3] +
                                       (size_t)z * f->shape.stride[2] +
                                       (size_t)y * f->shape.stride[1] + (size_t)x;
                        t->weight[t->n++] = (int)(c[3][w] * c[2][z] * c[1][y] * c[0][x]);
                        t->outer += !same_row;
                    }
}

/* ---- choosing orders ---- */

static size_t probe_start(const struct fast *f, int i)
{
    size_t n = f->shape.total;
    size_t at = n > PROBE ? (size_t)((double)(n - PROBE) * (i + 1) / (PROBES + 1)) : 0;
    return at;
}

/* Bits of the probes. */
static double cost(const struct fast *f)
{
    uint64_t r[PROBE];
    uint8_t width[PROBE / GROUP];
    struct sk_fast_terms t;
    size_t end, n = f->shape.total < PROBE ? f->shape.total / GROUP * GROUP : PROBE;
    double bits = 0;
    for (int i = 0; i < PROBES; i++) {
        size_t at = probe_start(f, i);
        terms_at(f, at, &t, &end);
        if (t.n > MOST_TERMS)
            return INFINITY;
        uint64_t any = f->kernel->differ(f->x + at * f->l.word, n, &t, r);
        bits += f->kernel->widths(r, n, any ? (unsigned)__builtin_ctzll(any) : 0, width);
    }
    return bits;
}

/* The best of the plain orders 0 and 1 on the first axes. */
static double first_orders(struct fast *f)
{
    f->orders = (struct sk_orders){{0}};
    double best = cost(f);
    struct sk_orders now = f->orders, found = now;
    for (int k = 0; k < f->shape.axes; k++) {
        now.half[k] = 2;
        f->orders = now;
        double c = cost(f);
        if (c < best)
            best = c, found = now;
    }
    f->orders = found;
    return best;
}

/* Better orders, one step on one axis at a time. */
static double climb(struct fast *f, double best)
{
    for (int better = 1; better;) {
        better = 0;
        for (int k = 0; k < f->shape.axes; k++)
            for (int way = 2; way >= -2; way -= 4) {
                int old = f->orders.half[k], next = old + way;
                if (next < 0 || next > SK_MAX_HALVES)
                    continue;
                f->orders.half[k] = (uint8_t)next;
                double c = cost(f);
                if (c < best) {
                    best = c;
                    better = 1;
                    break;
                }
                f->orders.half[k] = (uint8_t)old;
            }
    }
    return best;
}

/* Orders, and rows within rows when they help (a divisor of the fastest axis). Returns the share of
 * bits that are left, about. */
static double search(struct fast *f)
{
    size_t nx = f->shape.n[0];
    if (f->shape.total < 2 * PROBE) {
        f->orders = (struct sk_orders){{2}};
        return 1;
    }
    double least = first_orders(f);
    struct fast best = *f;
    int tried = 0;
    for (size_t row = LEAST_ROW;
         row <= nx / LEAST_ROW && row <= 4096 && tried < 8 && f->shape.axes < SK_AXES; row++) {
        struct fast now = *f;
        if (nx % row)
            continue;
        sk_shape_split(&now.shape, row);
        now.split = row;
        double c = first_orders(&now);
        tried++;
        if (c < 0.985 * least)
            least = c, best = now;
    }
    *f = best;
    return climb(f, least) / (PROBES * PROBE / GROUP * 8 * (double)f->l.word);
}

/* ---- encoding ---- */

/* The words to code, as whole numbers in the order of their values: x itself when all have one
 * sign. */
static int load(struct fast *f, const void *x, uint64_t any)
{
    f->x = x;
    if (!(any >> (8 * f->l.word - 1)))
        return 0;
    f->flags |= ORDERED;
    if (!f->m)
        f->m = malloc(f->l.words * f->l.word);
    if (!f->m)
        return -1;
    f->kernel->to_ordered(x, f->shape.total, f->m);
    f->x = f->m;
    return 0;
}

/* Everything up to the orders. */
static int prepare(struct fast *f, const void *in)
{
    size_t bytes = f->l.words * f->l.word, n = f->l.words;
    const void *x = in;
    uint64_t any, most;
    if (f->l.components > 1) {
        f->apart = malloc(bytes);
        if (!f->apart)
            return -1;
        sk_words_transpose(in, f->apart, n / f->l.components, f->l.components, f->l.word);
        x = f->apart;
    }
    sk_shape_init(&f->whole, &f->l.array);
    f->shape = f->whole;
    sk_kernel_of(f->l.word)->survey(x, n, &any, &most);
    if (load(f, x, any))
        return -1;
    /* where a fill value stands in the way of prediction, the other values are taken out */
    if (search(f) < WELL_PREDICTED || !sk_mask_find(x, n, f->l.word, &f->fill))
        return 0;
    f->skip = malloc(n);
    if (!f->m)
        f->m = malloc(bytes);
    if (!f->skip || !f->m)
        return -1;
    f->flags |= MASKED;
    f->split = 0;
    shape_of_row(&f->shape, sk_mask_pack(x, n, f->l.word, f->fill, f->skip, f->m));
    if (load(f, f->m, any))
        return -1;
    search(f);
    return 0;
}

/* Widths of a chunk, runs of zeros together. */
static size_t put_widths(const uint8_t *width, size_t groups, unsigned shift, uint8_t *out)
{
    uint8_t *p = out;
    *p++ = (uint8_t)shift;
    for (size_t g = 0; g < groups;) {
        size_t zeros = 0;
        while (g + zeros < groups && !width[g + zeros] && zeros < 128)
            zeros++;
        if (zeros)
            *p++ = (uint8_t)(127 + zeros);
        else
            *p++ = width[g];
        g += zeros ? zeros : 1;
    }
    return (size_t)(p - out);
}

/* Differences of the last values of a segment, fewer than a group; returns the or of them. */
static uint64_t differ_rest(const struct fast *f, size_t from, size_t n,
                            const struct sk_fast_terms *t, void *r)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *x = f->x + (from + i) * f->l.word;
        uint64_t d = sk_fast_word(x, f->l.word);
        for (int k = 0; k < t->n; k++)
            d += (uint64_t)(int64_t)t->weight[k] *
                 sk_fast_word(x - t->lag[k] * f->l.word, f->l.word);
        if (f->l.word == 4)
            ((uint32_t *)r)[i] = (uint32_t)d;
        else
            ((uint64_t *)r)[i] = d;
        all |= d;
    }
    return all;
}

/* Differences of a chunk; near the start of the array the orders change within it. Returns the or
 * of them. */
static uint64_t differ(const struct fast *f, size_t at, size_t n, struct sk_fast_terms *t,
                       size_t *end, void *r)
{
    uint64_t any = 0;
    for (size_t from = at; from < at + n;) {
        if (from >= *end)
            terms_at(f, from, t, end);
        size_t stop = *end < at + n ? *end : at + n, groups = (stop - from) / GROUP * GROUP;
        uint8_t *to = (uint8_t *)r + (from - at) * f->l.word;
        any |= f->kernel->differ(f->x + from * f->l.word, groups, t, to);
        any |= differ_rest(f, from + groups, stop - from - groups, t, to + groups * f->l.word);
        from = stop;
    }
    return any;
}

/* Where coded words go, from out on; *len bytes of widths. Returns the words' bytes, or -1 when
 * both need more than `room` bytes. */
static int64_t put_chunks(const struct fast *f, uint8_t *widths, size_t *len, uint8_t *out,
                          size_t room)
{
    uint64_t r[CHUNK];
    uint8_t width[CHUNK / GROUP];
    size_t n = f->shape.total, end = 0, bytes = 0;
    struct sk_fast_terms t;
    *len = 0;
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t some = n - at < CHUNK ? n - at : CHUNK, whole = (some + GROUP - 1) / GROUP * GROUP;
        uint64_t any = differ(f, at, some, &t, &end, r);
        memset((uint8_t *)r + some * f->l.word, 0, (whole - some) * f->l.word);
        unsigned shift = any ? (unsigned)__builtin_ctzll(any) : 0;
        f->kernel->widths(r, whole, shift, width);
        *len += put_widths(width, whole / GROUP, shift, widths + *len);
        /* packing may write a group more than it needs */
        if (bytes + (sk_fast_words(whole, width, f->l.word) + GROUP) * f->l.word + *len > room)
            return -1;
        bytes += f->kernel->pack(r, whole, shift, width, out + bytes) * f->l.word;
    }
    return (int64_t)bytes;
}

static size_t max_encoded(const struct sk_array *a)
{
    size_t n = sk_array_size_bytes(a);
    return n > SIZE_MAX / 4 ? (size_t)-1 : n + 1;
}

static void put_head(const struct fast *f, struct sk_buf *b)
{
    sk_buf_put_u8(b, CODED);
    sk_buf_put_u8(b, (uint8_t)f->flags);
    sk_buf_put(b, f->orders.half, SK_AXES);
    sk_buf_put_u64(b, f->split);
    sk_buf_put_u64(b, f->shape.total);
    if (f->flags & MASKED) {
        sk_buf_put_u64(b, f->fill);
        sk_mask_put(b, &f->whole, f->skip);
    }
}

/* 1 when out holds the coded piece, 0 when it would be no smaller, -1 without memory. */
static int encode_words(struct fast *f, const void *in, uint8_t *out, size_t cap, size_t *made)
{
    struct sk_buf head = {0};
    int rc = -1;
    if (prepare(f, in))
        return -1;
    size_t n = f->shape.total;
    uint8_t *widths = malloc(n / GROUP + n / CHUNK + 64);
    put_head(f, &head);
    if (!widths || !sk_buf_ok(&head))
        goto out;
    rc = 0;
    size_t start = head.len + 8, len = 0;
    int64_t body = start < cap ? put_chunks(f, widths, &len, out + start, cap - start) : -1;
    if (body >= 0 && start + (size_t)body + len < f->l.words * f->l.word) {
        uint64_t size = len;
        memcpy(out, head.data, head.len);
        memcpy(out + head.len, &size, 8);
        memcpy(out + start + body, widths, len);
        *made = start + (size_t)body + len;
        rc = 1;
    }
out:
    sk_buf_free(&head);
    free(widths);
    return rc;
}

static void fast_free(struct fast *f)
{
    free(f->apart);
    free(f->skip);
    free(f->m);
}

/* What is packed very small is constant for the most part, and its changes may repeat: then LZ4 is
 * quick too, and may be smaller. Returns what encode_words does. */
static int try_lz(const void *in, size_t bytes, uint8_t *out, size_t *made)
{
#ifdef HAVE_LZ4
    if (*made > bytes / HARDLY_VARIES || bytes > LZ4_MAX_INPUT_SIZE)
        return 1;
    char *tmp = malloc(*made);
    if (!tmp)
        return -1;
    int n = LZ4_compress_default(in, tmp, (int)bytes, (int)*made - 1);
    if (n > 0) {
        out[0] = LZ;
        memcpy(out + 1, tmp, (size_t)n);
        *made = (size_t)n + 1;
    }
    free(tmp);
#endif
    return 1;
}

static int encode(const struct sk_array *a, const void *in, const struct sk_codec_options *opt,
                  void *out, size_t cap, size_t *out_size_bytes, struct saikai_error *err)
{
    size_t n = 0;
    struct fast f = {0};
    int rc = sk_lossless_begin(a, sk_codec_fast.name, &n, err);
    if (rc)
        return rc;
    if (cap < max_encoded(a))
        return sk_fail(err, SAIKAI_ENOSPC, "codec fast: needs room for %zu bytes, not %zu",
                       max_encoded(a), cap);
    sk_words_of(a, n, &f.l);
    if (f.l.words > SK_MOST_WORDS)
        return sk_fail(err, SAIKAI_ENOTSUP,
                       "codec fast: a piece of %zu bytes is too large; use smaller pieces", n);
    f.kernel = sk_fast_kernel_of(f.l.word);
    void *copy = NULL;
    const void *x = sk_words_aligned(in, n, f.l.word, &copy);
    rc = !x ? -1 : n ? encode_words(&f, x, out, cap, out_size_bytes) : 0;
    free(copy);
    if (rc > 0)
        rc = try_lz(in, n, out, out_size_bytes);
    fast_free(&f);
    if (rc < 0)
        return sk_fail(err, SAIKAI_ENOMEM, "codec fast: no memory for %zu bytes", n);
    if (!rc) {
        *(uint8_t *)out = RAW;
        if (n)
            memcpy((uint8_t *)out + 1, in, n);
        *out_size_bytes = n + 1;
    }
    return 0;
}

/* ---- decoding ---- */

/* 0, SAIKAI_ENOMEM, or -1: damaged. */
static int get_head(struct fast *f, struct sk_rd *r)
{
    f->flags = sk_rd_u8(r);
    const uint8_t *orders = sk_rd_bytes(r, SK_AXES);
    uint64_t split = sk_rd_u64(r), n = sk_rd_u64(r);
    if (r->bad || f->flags > (ORDERED | MASKED) || n > f->l.words)
        return -1;
    memcpy(f->orders.half, orders, SK_AXES);
    for (int k = 0; k < SK_AXES; k++)
        if (orders[k] > SK_MAX_HALVES)
            return -1;
    sk_shape_init(&f->whole, &f->l.array);
    f->shape = f->whole;
    if (f->flags & MASKED) {
        f->fill = sk_rd_u64(r);
        f->skip = malloc(f->l.words);
        int rc = f->skip ? sk_mask_get(r, &f->whole, f->skip) : SAIKAI_ENOMEM;
        if (rc)
            return rc;
        shape_of_row(&f->shape, (size_t)n);
        size_t kept = 0;
        for (size_t i = 0; i < f->l.words; i++)
            kept += !f->skip[i];
        if (kept != n)
            return -1;
    }
    if (f->shape.total != n || (split && (split > n || sk_shape_split(&f->shape, (size_t)split))))
        return -1;
    return 0;
}

/* Widths of the next chunk. */
static int get_widths(struct sk_rd *w, size_t groups, size_t word, unsigned *shift, uint8_t *width)
{
    *shift = sk_rd_u8(w);
    for (size_t g = 0; g < groups;) {
        unsigned b = sk_rd_u8(w);
        size_t zeros = b >= 128 ? b - 127u : 0;
        if (w->bad || zeros > groups - g || (!zeros && b > 8 * word))
            return -1;
        if (!zeros)
            width[g++] = (uint8_t)b;
        for (; zeros; zeros--)
            width[g++] = 0;
    }
    return w->bad || *shift >= 8 * word ? -1 : 0;
}

static int get_chunks(const struct fast *f, struct sk_rd *in, uint8_t *m)
{
    uint64_t r[CHUNK];
    uint8_t width[CHUNK / GROUP];
    size_t n = f->shape.total, end = 0;
    struct sk_fast_terms t;
    uint64_t len = sk_rd_u64(in);
    if (in->bad || len > sk_rd_left(in))
        return -1;
    in->end -= len;
    struct sk_rd w = sk_rd_init(in->end, (size_t)len);
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t some = n - at < CHUNK ? n - at : CHUNK, whole = (some + GROUP - 1) / GROUP * GROUP;
        unsigned shift;
        if (get_widths(&w, whole / GROUP, f->l.word, &shift, width))
            return -1;
        const uint8_t *from = sk_rd_bytes(in, sk_fast_words(whole, width, f->l.word) * f->l.word);
        if (!from)
            return -1;
        f->kernel->unpack(from, whole, shift, width, r);
        for (size_t i = at; i < at + some;) {
            if (i >= end)
                terms_at(f, i, &t, &end);
            size_t stop = end < at + some ? end : at + some;
            f->kernel->sum(m + i * f->l.word, stop - i, &t,
                           (const uint8_t *)r + (i - at) * f->l.word);
            i = stop;
        }
    }
    return w.p == w.end && in->p == in->end ? 0 : -1;
}

/* 0, SAIKAI_ENOMEM, or -1: damaged. */
static int decode_words(struct fast *f, const uint8_t *in, size_t n, uint8_t *out)
{
    size_t bytes = f->l.words * f->l.word;
    uint8_t *x = out, *m;
    if (in[0] == RAW && n == bytes + 1) {
        if (bytes)
            memcpy(out, in + 1, bytes);
        return 0;
    }
#ifdef HAVE_LZ4
    if (in[0] == LZ && bytes && bytes <= LZ4_MAX_INPUT_SIZE && n <= bytes)
        return LZ4_decompress_safe((const char *)in + 1, (char *)out, (int)n - 1, (int)bytes) ==
                       (int)bytes
                   ? 0
                   : -1;
#endif
    struct sk_rd r = sk_rd_init(in + 1, n - 1);
    int rc = in[0] != CODED || !bytes ? -1 : get_head(f, &r);
    if (rc)
        return rc;
    if (f->l.components > 1) {
        x = f->apart = malloc(bytes);
        if (!x)
            return SAIKAI_ENOMEM;
    }
    m = x;
    if (f->flags & MASKED) {
        m = f->m = malloc(bytes);
        if (!m)
            return SAIKAI_ENOMEM;
    }
    if (get_chunks(f, &r, m))
        return -1;
    if (f->flags & ORDERED)
        f->kernel->from_ordered(m, f->shape.total);
    if (f->flags & MASKED)
        sk_mask_unpack(m, f->l.words, f->l.word, f->fill, f->skip, x);
    if (x != out)
        sk_words_transpose(x, out, f->l.components, f->l.words / f->l.components, f->l.word);
    return 0;
}

static int decode(const struct sk_array *a, const void *in, size_t n, void *out,
                  struct saikai_error *err)
{
    size_t want = 0;
    struct fast f = {0};
    int rc = sk_lossless_begin(a, sk_codec_fast.name, &want, err);
    if (rc)
        return rc;
    if (!n)
        return sk_fail(err, SAIKAI_EDAMAGED, "codec fast: the piece is empty");
    sk_words_of(a, want, &f.l);
    f.kernel = sk_fast_kernel_of(f.l.word);
    void *copy = NULL;
    void *x = (void *)(uintptr_t)sk_words_aligned(out, want, f.l.word, &copy);
    rc = x ? decode_words(&f, in, n, x) : SAIKAI_ENOMEM;
    if (copy && !rc)
        memcpy(out, copy, want);
    free(copy);
    fast_free(&f);
    if (rc == SAIKAI_ENOMEM)
        return sk_fail(err, rc, "codec fast: no memory for %zu bytes", want);
    return rc ? sk_fail(err, SAIKAI_EDAMAGED, "codec fast: the piece does not give %zu bytes", want)
              : 0;
}

const struct sk_codec_ops sk_codec_fast = {
    .abi = SK_CODEC_ABI,
    .name = "fast",
    .description =
        "differences in up to 4 dimensions, packed; floating point at the speed of memory",
    .types = SK_TYPES_FLOAT,
    .max_encoded = max_encoded,
    .encode = encode,
    .decode = decode,
};
