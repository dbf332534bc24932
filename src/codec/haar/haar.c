/* Encodes a piece by transform, quantiser and layout of the body, and decodes one with every count
 * checked. */
#include "codec/haar/haar.h"

#include "base/types.h"
#include "codec/haar/deflate.h"
#include "codec/haar/parameter.h"
#include "codec/haar/transform.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 16, VERSION = 1 };
enum { GZIP = 1, RAW = 2, BITS = 4, NONFINITE = 8, ALL_FLAGS = 15 };

/* What both directions need to know of an array. */
struct plan {
    struct sk_haar_shape shape;
    int type;
    size_t ts;          /* bytes of an element */
    size_t count, high; /* elements: all, in the high bands */
    size_t most_body;   /* bytes: a longer body is replaced by the array itself */
};

static int make_plan(const struct sk_array *a, struct plan *p, struct saikai_error *err)
{
    memset(p, 0, sizeof *p);
    if (a->type != SAIKAI_F32 && a->type != SAIKAI_F64)
        return sk_fail(err, SAIKAI_ENOTSUP, "haar: takes f32 and f64 only, not %s",
                       sk_type_name(a->type));
    if (a->ndims < 0 || a->ndims > SAIKAI_MAX_DIMS)
        return sk_fail(err, SAIKAI_ENOTSUP, "haar: %d dimensions", a->ndims);
    size_t all;
    if (sk_dims_count(a->ndims, a->dims, &all) || all > SIZE_MAX / 64)
        return sk_fail(err, SAIKAI_ENOTSUP, "haar: the array is too large");
    p->type = a->type;
    p->ts = sk_type_size(a->type);
    size_t n[3] = {1, 1, 1};
    int used = 0;
    for (int i = a->ndims - 1; i >= 0; i--) {
        if (a->dims[i] == 1)
            continue;
        if (used < 3)
            n[2 - used++] = a->dims[i];
        else
            n[0] *= a->dims[i];
    }
    memcpy(p->shape.n, n, sizeof n);
    p->count = n[0] * n[1] * n[2];
    p->high = p->count - sk_haar_low_count(&p->shape);
    p->most_body = p->count * p->ts + 2 * (p->count / 8 + 1) + 64;
    return 0;
}

static size_t max_encoded(const struct sk_array *a)
{
    struct plan p;
    return make_plan(a, &p, NULL) ? (size_t)-1 : HEADER + p.most_body;
}

static inline double get(const struct plan *p, const uint8_t *at)
{
    if (p->type == SAIKAI_F32) {
        float f;
        memcpy(&f, at, 4);
        return (double)f;
    }
    double v;
    memcpy(&v, at, 8);
    return v;
}

static inline uint8_t *put(const struct plan *p, uint8_t *at, double v)
{
    if (p->type == SAIKAI_F32) {
        float f = (float)(v > FLT_MAX ? FLT_MAX : v < -FLT_MAX ? -FLT_MAX : v);
        memcpy(at, &f, 4);
    } else {
        memcpy(at, &v, 8);
    }
    return at + p->ts;
}

static unsigned bits_for(size_t n)
{
    unsigned k = 0;
    while (((size_t)1 << k) < n)
        k++;
    return k;
}

/* ---- encoding ---- */

struct work {
    double *x, *bands;
    struct sk_haar_codes q;
    uint8_t *body;
};

static void work_free(struct work *w)
{
    free(w->x);
    free(w->bands);
    free(w->q.coded);
    free(w->q.code);
    free(w->q.table);
    free(w->body);
}

/* The array as doubles; a value that is not finite is replaced by the last finite one before it, so
 * that it does not roughen the field. Returns how many were replaced. */
static size_t widen(const struct plan *p, const uint8_t *in, double *x)
{
    size_t replaced = 0;
    double last = 0;
    for (size_t i = 0; i < p->count; i++) {
        double v = get(p, in + i * p->ts);
        if (isfinite(v)) {
            last = v;
        } else {
            v = last;
            replaced++;
        }
        x[i] = v;
    }
    return replaced;
}

static uint8_t *put_bits(uint8_t *at, const uint16_t *code, const uint8_t *coded, size_t count,
                         unsigned k)
{
    uint64_t hold = 0;
    unsigned held = 0;
    for (size_t i = 0; i < count; i++) {
        if (!coded[i])
            continue;
        hold |= (uint64_t)code[i] << held;
        for (held += k; held >= 8; held -= 8, hold >>= 8)
            *at++ = (uint8_t)hold;
    }
    if (held)
        *at++ = (uint8_t)hold;
    return at;
}

static uint8_t *put_nonfinite(const struct plan *p, const uint8_t *in, uint8_t *at)
{
    uint8_t *map = at;
    size_t map_bytes = (p->count + 7) / 8;
    memset(map, 0, map_bytes);
    at += map_bytes;
    for (size_t i = 0; i < p->count; i++)
        if (!isfinite(get(p, in + i * p->ts))) {
            map[i / 8] |= (uint8_t)(1u << i % 8);
            memcpy(at, in + i * p->ts, p->ts);
            at += p->ts;
        }
    return at;
}

/* The high bands after the table: the mixture of Fig. 6, or values first and packed codes after
 * them. */
static uint8_t *put_high(const struct plan *p, const struct work *w, const double *high,
                         const struct sk_haar_parameter *par, uint8_t *at)
{
    for (size_t i = 0; i < p->high; i++) {
        if (!w->q.coded[i])
            at = put(p, at, high[i]);
        else if (par->encoding == SK_HAAR_BYTE)
            *at++ = (uint8_t)w->q.code[i];
        else if (par->encoding == SK_HAAR_VALUE)
            at = put(p, at, w->q.table[w->q.code[i]]);
    }
    return par->encoding == SK_HAAR_BITS
               ? put_bits(at, w->q.code, w->q.coded, p->high, bits_for(par->n))
               : at;
}

/* Size of the body that layout() is going to write. */
static size_t body_size(const struct plan *p, const struct work *w,
                        const struct sk_haar_parameter *par, size_t nonfinite)
{
    size_t exact = p->high - w->q.n_coded, n = (p->high + 7) / 8;
    n += nonfinite ? (p->count + 7) / 8 + nonfinite * p->ts : 0;
    n += (p->count - p->high + exact) * p->ts;
    if (par->encoding == SK_HAAR_VALUE)
        return n + w->q.n_coded * p->ts;
    n += w->q.n_coded ? par->n * p->ts : 0;
    return n + (par->encoding == SK_HAAR_BYTE ? w->q.n_coded
                                              : (w->q.n_coded * bits_for(par->n) + 7) / 8);
}

static void layout(const struct plan *p, const struct work *w, const struct sk_haar_parameter *par,
                   const uint8_t *in, size_t nonfinite)
{
    uint8_t *at = w->body;
    size_t low = p->count - p->high, map_bytes = (p->high + 7) / 8;
    if (nonfinite)
        at = put_nonfinite(p, in, at);
    memset(at, 0, map_bytes);
    int has_codes = w->q.n_coded && par->encoding != SK_HAAR_VALUE;
    for (size_t i = 0; has_codes && i < p->high; i++)
        at[i / 8] |= (uint8_t)(w->q.coded[i] << i % 8);
    at += map_bytes;
    for (size_t i = 0; has_codes && i < par->n; i++)
        at = put(p, at, w->q.table[i]);
    for (size_t i = 0; i < low; i++)
        at = put(p, at, w->bands[i]);
    put_high(p, w, w->bands + low, par, at);
}

/* Transform, quantise and lay out the body in w->body; *flags and *n are what the header says of
 * it. */
static int make_body(const struct plan *p, const struct sk_haar_parameter *par, const uint8_t *in,
                     struct work *w, unsigned *flags, uint32_t *n, size_t *size,
                     struct saikai_error *err)
{
    size_t at_least_1 = p->count ? p->count : 1;
    w->x = malloc(at_least_1 * sizeof *w->x);
    w->bands = malloc(at_least_1 * sizeof *w->bands);
    w->q.coded = malloc(at_least_1);
    w->q.code = malloc(at_least_1 * sizeof *w->q.code);
    w->q.table = malloc(par->n * sizeof *w->q.table);
    if (!w->x || !w->bands || !w->q.coded || !w->q.code || !w->q.table)
        return sk_fail(err, SAIKAI_ENOMEM, "haar: no memory to encode %zu values", p->count);
    size_t nonfinite = widen(p, in, w->x);
    sk_haar_forward(&p->shape, w->x, w->bands);
    enum sk_haar_quantiser q = par->n < p->high ? par->quantiser : SK_HAAR_NONE;
    if (sk_haar_quantise(q, w->bands + (p->count - p->high), p->high, par->n, par->d, &w->q))
        return sk_fail(err, SAIKAI_ENOMEM, "haar: no memory to quantise %zu values", p->high);
    *size = body_size(p, w, par, nonfinite);
    if (*size > p->most_body) {
        *flags = RAW;
        *size = p->count * p->ts;
        return 0;
    }
    w->body = malloc(*size + 1);
    if (!w->body)
        return sk_fail(err, SAIKAI_ENOMEM, "haar: no memory for %zu bytes", *size);
    layout(p, w, par, in, nonfinite);
    int has_codes = w->q.n_coded && par->encoding != SK_HAAR_VALUE;
    *n = has_codes ? (uint32_t)par->n : 0;
    *flags =
        (nonfinite ? NONFINITE : 0u) | (has_codes && par->encoding == SK_HAAR_BITS ? BITS : 0u);
    return 0;
}

static int encode(const struct sk_array *a, const void *in, const struct sk_codec_options *opt,
                  void *out, size_t cap, size_t *out_size_bytes, struct saikai_error *err)
{
    struct plan p;
    struct sk_haar_parameter par;
    int rc = make_plan(a, &p, err);
    if (rc)
        return rc;
    if (opt->bound.kind != SK_BOUND_NONE)
        return sk_fail(err, SAIKAI_EBOUND,
                       "haar: keeps no error bound; use codec wavelet, or haar without a bound");
    rc = sk_haar_parameter_parse(opt->parameter, opt->level, &par, err);
    if (rc)
        return rc;
    struct work w = {0};
    unsigned flags = RAW;
    uint32_t n = 0;
    uint64_t size = 0;
    size_t packed = 0, body = 0;
    rc = p.count ? make_body(&p, &par, in, &w, &flags, &n, &body, err) : 0;
    if (rc)
        goto out;
    const void *from = flags & RAW ? in : w.body;
    uint8_t *to = out;
    if (par.gzip && body > 1 && cap > HEADER) {
        size_t room = cap - HEADER < body ? cap - HEADER : body - 1;
        rc = sk_haar_gzip(from, body, par.gzip, to + HEADER, room, &packed, err);
        if (rc)
            goto out;
    }
    if (!packed && (cap < HEADER || cap - HEADER < body)) {
        rc = sk_fail(err, SAIKAI_ENOSPC, "haar: %zu bytes do not fit in %zu", HEADER + body, cap);
        goto out;
    }
    if (packed)
        flags |= GZIP;
    else if (body)
        memcpy(to + HEADER, from, body);
    memset(to, 0, HEADER);
    to[0] = VERSION;
    to[1] = (uint8_t)flags;
    memcpy(to + 4, &n, 4);
    size = body;
    memcpy(to + 8, &size, 8);
    *out_size_bytes = HEADER + (packed ? packed : body);
out:
    work_free(&w);
    return rc;
}

/* ---- decoding ---- */

/* A walk through the body; `bad` once it asked for more than there is. */
struct walk {
    const uint8_t *at, *end;
    int bad;
};

static const uint8_t *take(struct walk *w, size_t n)
{
    if (w->bad || n > (size_t)(w->end - w->at)) {
        w->bad = 1;
        return NULL;
    }
    const uint8_t *p = w->at;
    w->at += n;
    return p;
}

static size_t ones(const uint8_t *map, size_t bits)
{
    size_t n = 0;
    for (size_t i = 0; i < bits; i++)
        n += map[i / 8] >> i % 8 & 1;
    return n;
}

static inline int bit(const uint8_t *map, size_t i)
{
    return map[i / 8] >> i % 8 & 1;
}

static int get_mixed(const struct plan *p, struct walk *w, const uint8_t *map, const uint8_t *table,
                     size_t n, double *high)
{
    for (size_t i = 0; i < p->high; i++) {
        if (!bit(map, i)) {
            const uint8_t *v = take(w, p->ts);
            if (!v)
                return -1;
            high[i] = get(p, v);
            continue;
        }
        const uint8_t *code = take(w, 1);
        if (!code || *code >= n)
            return -1;
        high[i] = get(p, table + *code * p->ts);
    }
    return 0;
}

static int get_packed(const struct plan *p, struct walk *w, const uint8_t *map,
                      const uint8_t *table, size_t n, double *high)
{
    size_t coded = ones(map, p->high);
    unsigned k = bits_for(n), held = 0;
    const uint8_t *exact = take(w, (p->high - coded) * p->ts);
    const uint8_t *codes = take(w, (coded * k + 7) / 8);
    if (!exact || !codes)
        return -1;
    uint64_t hold = 0;
    for (size_t i = 0; i < p->high; i++) {
        if (!bit(map, i)) {
            high[i] = get(p, exact);
            exact += p->ts;
            continue;
        }
        for (; held < k; held += 8)
            hold |= (uint64_t)*codes++ << held;
        size_t code = hold & (((uint64_t)1 << k) - 1);
        hold >>= k;
        held -= k;
        if (code >= n)
            return -1;
        high[i] = get(p, table + code * p->ts);
    }
    return 0;
}

static int read_body(const struct plan *p, unsigned flags, size_t n, struct walk *w, double *bands,
                     double *x, uint8_t *out)
{
    const uint8_t *odd_map = NULL, *odd = NULL;
    if (flags & NONFINITE) {
        odd_map = take(w, (p->count + 7) / 8);
        if (!odd_map)
            return -1;
        odd = take(w, ones(odd_map, p->count) * p->ts);
    }
    const uint8_t *map = take(w, (p->high + 7) / 8);
    const uint8_t *table = take(w, n * p->ts);
    size_t low = p->count - p->high;
    const uint8_t *low_values = take(w, low * p->ts);
    if (w->bad)
        return -1;
    for (size_t i = 0; i < low; i++)
        bands[i] = get(p, low_values + i * p->ts);
    int rc = flags & BITS ? get_packed(p, w, map, table, n, bands + low)
                          : get_mixed(p, w, map, table, n, bands + low);
    if (rc || w->at != w->end)
        return -1;
    sk_haar_inverse(&p->shape, bands, x);
    for (size_t i = 0; i < p->count; i++)
        put(p, out + i * p->ts, x[i]);
    for (size_t i = 0; odd_map && i < p->count; i++)
        if (bit(odd_map, i)) {
            memcpy(out + i * p->ts, odd, p->ts);
            odd += p->ts;
        }
    return 0;
}

static int check_header(const struct plan *p, const uint8_t *in, size_t size, uint32_t *n,
                        size_t *body, struct saikai_error *err)
{
    uint64_t body64 = 0;
    if (size < HEADER)
        return sk_fail(err, SAIKAI_EDAMAGED, "haar: a piece of %zu bytes is too short", size);
    if (in[0] != VERSION)
        return sk_fail(err, SAIKAI_EDAMAGED, "haar: unknown version %u of a piece", in[0]);
    memcpy(n, in + 4, 4);
    memcpy(&body64, in + 8, 8);
    unsigned flags = in[1];
    if (flags & ~(unsigned)ALL_FLAGS || in[2] || in[3] || *n > SK_HAAR_MAX_N ||
        (flags & BITS && !*n) || (!(flags & RAW) && !p->count) ||
        (flags & RAW && (flags & (BITS | NONFINITE) || *n)))
        return sk_fail(err, SAIKAI_EDAMAGED, "haar: the header of a piece is damaged");
    if (body64 > p->most_body || (flags & RAW && body64 != p->count * p->ts) ||
        (!(flags & GZIP) && body64 != size - HEADER))
        return sk_fail(err, SAIKAI_EDAMAGED, "haar: the size of a piece does not fit its array");
    *body = (size_t)body64;
    return 0;
}

static int decode(const struct sk_array *a, const void *input, size_t size, void *out,
                  struct saikai_error *err)
{
    struct plan p;
    uint32_t n = 0;
    size_t body = 0;
    const uint8_t *in = input;
    int rc = make_plan(a, &p, err);
    if (!rc)
        rc = check_header(&p, in, size, &n, &body, err);
    if (rc)
        return rc;
    unsigned flags = in[1];
    if (flags & RAW) {
        if (flags & GZIP)
            return sk_haar_gunzip(in + HEADER, size - HEADER, out, body, err);
        if (body)
            memcpy(out, in + HEADER, body);
        return 0;
    }
    uint8_t *plain = NULL;
    double *x = malloc((p.count + 1) * sizeof *x), *bands = malloc((p.count + 1) * sizeof *bands);
    const uint8_t *from = in + HEADER;
    if (flags & GZIP)
        from = plain = malloc(body + 1);
    if (!x || !bands || !from) {
        rc = sk_fail(err, SAIKAI_ENOMEM, "haar: no memory to decode %zu values", p.count);
        goto out;
    }
    if (flags & GZIP && (rc = sk_haar_gunzip(in + HEADER, size - HEADER, plain, body, err)))
        goto out;
    struct walk w = {from, from + body, 0};
    if (read_body(&p, flags, n, &w, bands, x, out))
        rc = sk_fail(err, SAIKAI_EDAMAGED, "haar: the content of a piece is damaged");
out:
    free(plain);
    free(x);
    free(bands);
    return rc;
}

const struct sk_codec_ops sk_codec_haar = {
    .abi = SK_CODEC_ABI,
    .name = "haar",
    .description = "one-level Haar wavelet, quantised, gzip (2015 paper); lossy, keeps no bound",
    .types = 1u << SAIKAI_F32 | 1u << SAIKAI_F64,
    .lossy = 1,
    .max_encoded = max_encoded,
    .encode = encode,
    .decode = decode,
};
