#include "codec/wavelet/wavelet.h"

#include "base/types.h"
#include "codec/wavelet/exact.h"
#include "codec/wavelet/lift.h"
#include "codec/wavelet/shape.h"
#include "codec/wavelet/special.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A piece: one byte of form, then
 *   EMPTY     nothing
 *   EXACT     exact.h
 *   CONSTANT  the value
 *   LIFTED    flags; shape; bound, factors, mean, weight bits; fill value, mask; exact values;
 * filters; codes */
enum { EMPTY = 0, EXACT = 1, CONSTANT = 2, LIFTED = 3 };
enum { HAS_MASK = 1, HAS_FILL = 2 };

struct job {
    const struct sk_array *a;
    const void *in;
    size_t n, size;
    const struct sk_codec_options *opt;
    double bound;
    struct special special;
    struct shape shape;
    struct lift_shape lift_shape;
    size_t *b_offset;
    uint8_t *mask;
    struct lift lift;
    double alpha, beta;
    int lowest, highest; /* exponents of most values */
};

/* As sk_array_size_bytes, for the types of this codec. */
static size_t size_of(const struct sk_array *a)
{
    size_t n, size = sk_type_size(a->type);
    return sk_dims_count(a->ndims, a->dims, &n) || n > ((size_t)1 << 40) / size ? (size_t)-1
                                                                                : n * size;
}

static size_t max_encoded(const struct sk_array *a)
{
    size_t n = size_of(a);
    return n == (size_t)-1 ? n : n + 64;
}

/* The absolute bound of a request, for max - min. A PSNR is met by an error spread evenly up to the
 * bound. */
static double bound_of(const void *arg, double range)
{
    const struct sk_codec_options *opt = arg;
    if (opt->bound.kind == SK_BOUND_ABS)
        return opt->bound.value;
    double r = opt->range > 0 ? opt->range : range;
    if (opt->bound.kind == SK_BOUND_REL)
        return opt->bound.value * r;
    if (opt->bound.kind == SK_BOUND_PSNR)
        return sqrt(3.0) * r * pow(10, -opt->bound.value / 20);
    return 0;
}

static int is_constant(const struct job *j)
{
    size_t bytes = j->n * j->size;
    return j->n > 0 && !memcmp(j->in, (const uint8_t *)j->in + j->size, bytes - j->size);
}

/* Can the arithmetic of the transform take these values? */
static int suits(const struct job *j)
{
    const struct special *s = &j->special;
    double most = j->size == sizeof(float) ? 1e36 : 1e290;
    double least = j->size == sizeof(float) ? 1e-30 : 1e-280;
    if (!(j->bound > least && j->bound < most) || j->n < 32)
        return 0;
    return s->n_masked == j->n || (s->low > -most && s->high < most);
}

static int by_place(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

static double parameter_real(const char *text, const char *key, double standard)
{
    const char *p = text ? strstr(text, key) : NULL;
    return p ? strtod(p + strlen(key), NULL) : standard;
}

static void add_exact(struct lift *l, size_t i)
{
    if (l->n_exceptions == l->cap_exceptions) {
        size_t cap = l->cap_exceptions * 2 + 256;
        size_t *p = realloc(l->exception, cap * sizeof *p);
        if (!p) {
            l->failed = 1;
            return;
        }
        l->exception = p;
        l->cap_exceptions = cap;
    }
    l->exception[l->n_exceptions++] = i;
}

/* Masked values that are not the fill value are stored exactly. */
static void add_strangers(struct job *j)
{
    for (size_t i = 0; i < j->n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, (const uint8_t *)j->in + i * j->size, j->size);
        if (j->mask[i] && !(j->special.has_fill && bits == j->special.fill))
            add_exact(&j->lift, i);
    }
}

/* Exponents that a sample of the values has, without the rarest. */
static void find_exponents(struct job *j)
{
    enum { SAMPLE = 512, BIAS = 1100 };
    uint16_t seen[2 * BIAS] = {0};
    size_t count = j->n < SAMPLE ? j->n : SAMPLE;
    for (size_t k = 0; k < count; k++) {
        size_t i = (size_t)(((double)k + 0.5) * (double)j->n / (double)count);
        double x =
            j->size == sizeof(float) ? ((const float *)j->in)[i] : ((const double *)j->in)[i];
        int e = 0;
        if (isfinite(x) && x != 0 && !(j->mask && j->mask[i])) {
            frexp(x, &e);
            seen[e + BIAS]++;
        }
    }
    j->lowest = 1;
    j->highest = 0;
    for (int e = -BIAS; e < BIAS; e++)
        if (seen[e + BIAS] > count / 128) {
            j->lowest = j->lowest > j->highest ? e : j->lowest;
            j->highest = e;
        }
}

static int encode_lifted(struct job *j, struct sk_buf *out, struct saikai_error *err)
{
    struct sk_buf head = {0}, codes_buf = {0};
    struct sk_plane_writer *codes = NULL;
    int rc = shape_make(&j->shape, &j->lift_shape, &j->b_offset, err);
    int masked = j->special.n_masked > 0;
    if (rc)
        return rc;
    if (masked) {
        j->mask = malloc(j->n);
        if (!j->mask)
            return sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
        special_mask(&j->special, j->in, j->n, j->size, j->mask);
    }
    find_exponents(j);
    if ((rc = lift_init(&j->lift, &j->lift_shape, j->size, masked, err)))
        return rc;
    lift_set_bounds(&j->lift, j->bound, j->alpha, j->beta, j->lowest, j->highest);
    j->lift.mean = j->special.mean;
    j->lift.weight_bits = 12;
    j->lift.fit = parameter_real(j->opt->parameter, "fit=", 1) > 0;
    codes = sk_plane_writer_new(j->n);
    if (!codes) {
        rc = sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
        goto out;
    }
    rc = j->size == sizeof(float) ? lift_encode_f32(&j->lift, j->in, j->mask, &head, codes, err)
                                  : lift_encode_f64(&j->lift, j->in, j->mask, &head, codes, err);
    if (rc || (rc = sk_plane_writer_finish(codes, &codes_buf, err)))
        goto out;
    sk_buf_put_u8(out, LIFTED);
    sk_buf_put_u8(out, (uint8_t)((masked ? HAS_MASK : 0) | (j->special.has_fill ? HAS_FILL : 0)));
    shape_put(&j->shape, out);
    sk_buf_put_f64(out, j->bound);
    sk_buf_put_u8(out, (uint8_t)lrint(j->alpha * 32));
    sk_buf_put_u8(out, (uint8_t)lrint(j->beta * 8));
    sk_buf_put_u16(out, (uint16_t)j->lowest);
    sk_buf_put_u16(out, (uint16_t)j->highest);
    sk_buf_put_f64(out, j->lift.mean);
    sk_buf_put_u8(out, (uint8_t)j->lift.weight_bits);
    if (masked) {
        struct sk_buf m = {0};
        rc = special_put_mask(&j->lift_shape, j->mask, &m, err);
        sk_buf_put_u64(out, j->special.fill);
        special_put_number(out, m.len);
        sk_buf_put(out, m.data, m.len);
        sk_buf_free(&m);
        add_strangers(j);
    }
    if (j->lift.n_exceptions)
        qsort(j->lift.exception, j->lift.n_exceptions, sizeof *j->lift.exception, by_place);
    special_put_exact(out, j->lift.exception, j->lift.n_exceptions, j->in, j->size);
    special_put_number(out, head.len);
    sk_buf_put(out, head.data, head.len);
    sk_buf_put(out, codes_buf.data, codes_buf.len);
    if (!rc && (!sk_buf_ok(out) || j->lift.failed))
        rc = sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
out:
    sk_plane_writer_free(codes);
    sk_buf_free(&head);
    sk_buf_free(&codes_buf);
    return rc;
}

static void job_free(struct job *j)
{
    lift_free(&j->lift);
    free(j->b_offset);
    free(j->mask);
    j->b_offset = NULL;
    j->mask = NULL;
}

/* ---- decoding ---- */

static int damaged(struct saikai_error *err, const char *what)
{
    return sk_fail(err, SAIKAI_EDAMAGED, "%s of a wavelet piece is damaged", what);
}

static void put_fill(void *out, const uint8_t *mask, size_t n, size_t size, uint64_t fill)
{
    for (size_t i = 0; i < n; i++)
        if (mask[i])
            memcpy((uint8_t *)out + i * size, &fill, size);
}

static int decode_lifted(struct job *j, struct sk_rd *in, void *out, struct saikai_error *err)
{
    unsigned flags = sk_rd_u8(in);
    if (flags > (HAS_MASK | HAS_FILL) || shape_get(&j->shape, j->n, in))
        return damaged(err, "the shape");
    double bound = sk_rd_f64(in), alpha = sk_rd_u8(in) / 32.0, beta = sk_rd_u8(in) / 8.0;
    int lowest = (int16_t)sk_rd_u16(in), highest = (int16_t)sk_rd_u16(in);
    double mean = sk_rd_f64(in);
    unsigned weight_bits = sk_rd_u8(in);
    if (in->bad || weight_bits > 24 || !(bound > 0) || !isfinite(bound) || alpha <= 0 ||
        beta <= 0 || lowest < -1200 || highest > 1200)
        return damaged(err, "the header");
    int rc = shape_make(&j->shape, &j->lift_shape, &j->b_offset, err);
    uint64_t fill = 0;
    if (!rc && flags & HAS_MASK) {
        fill = sk_rd_u64(in);
        size_t m = special_get_number(in);
        const void *p = sk_rd_bytes(in, m);
        if (!p)
            return damaged(err, "the mask");
        j->mask = malloc(j->n);
        if (!j->mask)
            return sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
        rc = special_get_mask(&j->lift_shape, p, m, j->mask, err);
    }
    struct sk_rd exact = *in;
    uint64_t n_exact = special_get_number(in);
    for (uint64_t i = 0; i < n_exact && !in->bad; i++) {
        special_get_number(in);
        sk_rd_bytes(in, j->size);
    }
    size_t head_size = special_get_number(in);
    const void *head = sk_rd_bytes(in, head_size);
    if (rc || !head)
        return rc ? rc : damaged(err, "the header");
    struct sk_rd head_rd = sk_rd_init(head, head_size);
    struct sk_plane_reader *codes = NULL;
    if ((rc = lift_init(&j->lift, &j->lift_shape, j->size, j->mask != NULL, err)))
        return rc;
    lift_set_bounds(&j->lift, bound, alpha, beta, lowest, highest);
    j->lift.mean = mean;
    j->lift.weight_bits = (int)weight_bits;
    if ((rc = sk_plane_reader_new(&codes, in->p, sk_rd_left(in), err)))
        return rc;
    rc = j->size == sizeof(float) ? lift_decode_f32(&j->lift, out, j->mask, &head_rd, codes, err)
                                  : lift_decode_f64(&j->lift, out, j->mask, &head_rd, codes, err);
    if (!rc)
        rc = sk_plane_reader_finish(codes, err);
    sk_plane_reader_free(codes);
    if (!rc && flags & HAS_FILL && j->mask)
        put_fill(out, j->mask, j->n, j->size, fill);
    return rc ? rc : special_get_exact(&exact, out, j->n, j->size, err);
}

static int decode_job(struct job *j, struct sk_rd *in, void *out, struct saikai_error *err)
{
    unsigned form = sk_rd_u8(in);
    size_t left = sk_rd_left(in);
    if (form == EMPTY && !in->bad && !j->n && !left)
        return 0;
    if (form == CONSTANT && j->n && left == j->size) {
        for (size_t i = 0; i < j->n; i++)
            memcpy((uint8_t *)out + i * j->size, in->p, j->size);
        return 0;
    }
    if (form == EXACT && j->n)
        return exact_get(in->p, left, out, j->n, j->size, err);
    if (form == LIFTED && j->n)
        return decode_lifted(j, in, out, err);
    return damaged(err, "the form");
}

static int decode(const struct sk_array *a, const void *in, size_t n, void *out,
                  struct saikai_error *err)
{
    struct job j = {.a = a, .size = sk_type_size(a->type)};
    size_t bytes = size_of(a);
    if ((a->type != SAIKAI_F32 && a->type != SAIKAI_F64) || bytes == (size_t)-1)
        return damaged(err, "the type");
    j.n = bytes / j.size;
    struct sk_rd rd = sk_rd_init(in, n);
    int rc = decode_job(&j, &rd, out, err);
    job_free(&j);
    return rc;
}

/* ---- encoding ---- */

/* Root of the mean square error of a finished piece over the values not masked; negative: it does
 * not decode. */
static double error_of(const struct job *j, const struct sk_buf *piece)
{
    double sum = 0;
    size_t used = 0;
    void *back = malloc(j->n * j->size);
    if (!back || decode(j->a, piece->data, piece->len, back, NULL)) {
        free(back);
        return -1;
    }
    for (size_t i = 0; i < j->n; i++) {
        double x, y;
        if (j->size == sizeof(float)) {
            x = ((const float *)j->in)[i];
            y = ((const float *)back)[i];
        } else {
            x = ((const double *)j->in)[i];
            y = ((const double *)back)[i];
        }
        if (isfinite(x)) {
            double d = (x - y) / j->bound;
            sum += d * d;
            used++;
        }
    }
    free(back);
    return used ? sqrt(sum / (double)used) * j->bound : 0;
}

/* Lifted pieces until one meets what was asked for. Every point within the bound is what the
 * transform promises; the mean error that a PSNR asks for can only be seen afterwards. */
static int encode_bounded(struct job *j, struct sk_buf *out, struct saikai_error *err)
{
    double wanted = j->bound / sqrt(3.0);
    for (int tries = 0; tries < 8; tries++) {
        out->len = 0;
        int rc = encode_lifted(j, out, err);
        if (rc || j->opt->bound.kind != SK_BOUND_PSNR)
            return rc;
        double got = error_of(j, out);
        if (got >= 0 && got <= wanted)
            return 0;
        j->bound *= 0.93 * (got > 0 ? wanted / got : 0.5);
        job_free(j);
        memset(&j->lift, 0, sizeof j->lift);
    }
    out->len = 0;
    return 0;
}

static int encode_job(struct job *j, struct sk_buf *out, struct saikai_error *err)
{
    if (!j->n) {
        sk_buf_put_u8(out, EMPTY);
        return 0;
    }
    if (is_constant(j)) {
        sk_buf_put_u8(out, CONSTANT);
        sk_buf_put(out, j->in, j->size);
        return 0;
    }
    if (j->opt->bound.kind != SK_BOUND_NONE) {
        special_find(&j->special, j->in, j->n, j->size, bound_of, j->opt);
        j->bound = bound_of(j->opt, j->special.max - j->special.min);
        if (suits(j)) {
            shape_choose(&j->shape, j->a, j->in, j->opt->parameter);
            j->alpha = lrint(parameter_real(j->opt->parameter, "alpha=", 1.25) * 32) / 32.0;
            j->beta = lrint(parameter_real(j->opt->parameter, "beta=", 4) * 8) / 8.0;
            int rc = encode_bounded(j, out, err);
            if (rc || (out->len && out->len < j->n * j->size * 3 / 4))
                return rc;
        }
    }
    struct sk_buf other = {0};
    sk_buf_put_u8(&other, EXACT);
    int rc = exact_put(&other, j->in, j->n, j->size, err);
    if (!rc && (!out->len || other.len < out->len)) {
        struct sk_buf swap = *out;
        *out = other;
        other = swap;
    }
    sk_buf_free(&other);
    return rc;
}

static int encode(const struct sk_array *a, const void *in, const struct sk_codec_options *opt,
                  void *out, size_t cap, size_t *out_size_bytes, struct saikai_error *err)
{
    if (a->type != SAIKAI_F32 && a->type != SAIKAI_F64)
        return sk_fail(err, SAIKAI_ENOTSUP, "the wavelet codec takes f32 and f64, not %s",
                       sk_type_name(a->type));
    if (opt->bound.kind != SK_BOUND_NONE && !(opt->bound.value >= 0 && isfinite(opt->bound.value)))
        return sk_fail(err, SAIKAI_EBOUND, "an error bound of %g: it must be a number, 0 or more",
                       opt->bound.value);
    struct job j = {.a = a, .in = in, .opt = opt, .size = sk_type_size(a->type)};
    size_t bytes = size_of(a);
    if (bytes == (size_t)-1)
        return sk_fail(err, SAIKAI_ENOTSUP, "an array too large for one piece");
    j.n = bytes / j.size;
    struct sk_buf b = {0};
    int rc = encode_job(&j, &b, err);
    if (!rc && !sk_buf_ok(&b))
        rc = sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
    if (!rc && b.len > cap)
        rc = sk_fail(err, SAIKAI_ENOSPC, "%zu bytes do not fit into %zu", b.len, cap);
    if (!rc) {
        memcpy(out, b.data, b.len);
        *out_size_bytes = b.len;
    }
    sk_buf_free(&b);
    job_free(&j);
    return rc;
}

const struct sk_codec_ops sk_codec_wavelet = {
    .abi = SK_CODEC_ABI,
    .name = "wavelet",
    .description =
        "error-bounded: interpolating wavelets, fitted to the data, context-modelled rANS",
    .types = 1u << SAIKAI_F32 | 1u << SAIKAI_F64,
    .lossy = 1,
    .max_encoded = max_encoded,
    .encode = encode,
    .decode = decode,
};
