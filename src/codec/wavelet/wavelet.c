/* The codec's two functions: bounds become absolute ones, pieces get the form that suits their
 * values, and a bound on the mean error is checked by decoding. */
#include "codec/wavelet/wavelet.h"

#include "base/types.h"
#include "codec/entropy/scratch.h"
#include "codec/spikes/find.h"
#include "codec/spikes/list.h"
#include "codec/spikes/smooth.h"
#include "codec/wavelet/centre.h"
#include "codec/wavelet/exact.h"
#include "codec/wavelet/piece.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static int is_constant(const struct piece *j)
{
    size_t bytes = j->n * j->size;
    return j->n > 0 && !memcmp(j->in, (const uint8_t *)j->in + j->size, bytes - j->size);
}

/* Can the arithmetic of the transform take these values, after scaling? */
static int suits(const struct piece *j)
{
    const struct special *s = &j->special;
    double most = j->size == sizeof(float) ? 3.4e38 : 1.79e308;
    double least = j->size == sizeof(float) ? 0x1p-140 : 0x1p-1060;
    double greatest = s->n_masked == j->n ? 0 : fmax(fabs(s->low), fabs(s->high));
    if (!(j->bound > least && j->bound < most) || j->n < 32)
        return 0;
    return greatest + j->bound < most && j->bound > greatest * 1e-20;
}

/* What a piece may hold: another form inside it, or isolated values, which a part has not, nor has what is left of them. */
enum depth { WHOLE, REST, PART };

static int decode_any(const struct sk_array *a, const void *in, size_t n, void *out, enum depth depth,
                      struct saikai_error *err);

static int decode_centred(const struct sk_array *a, struct sk_rd *in, void *out,
                          struct saikai_error *err)
{
    struct sk_array means = sk_centre_array(a);
    size_t bytes = size_of(&means), n = sk_special_get_number(in);
    const void *p = sk_rd_bytes(in, n);
    if (!p)
        return sk_fail(err, SAIKAI_EDAMAGED, "the mean of a wavelet piece is damaged");
    void *mean = sk_scratch_take(bytes + 1);
    if (!mean)
        return sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
    int rc = decode_any(&means, p, n, mean, PART, err);
    if (!rc)
        rc = decode_any(a, in->p, sk_rd_left(in), out, PART, err);
    if (!rc)
        sk_centre_add(a, mean, out);
    sk_scratch_give(mean);
    return rc;
}

/* Hostile input. */
static int decode_spikes(const struct sk_array *a, struct sk_rd *in, void *out, struct saikai_error *err)
{
    size_t n, size = sk_special_get_number(in);
    const void *list = sk_rd_bytes(in, size);
    if (!list || sk_dims_count(a->ndims, a->dims, &n))
        return sk_fail(err, SAIKAI_EDAMAGED, "the isolated values of a wavelet piece are damaged");
    int rc = decode_any(a, in->p, sk_rd_left(in), out, REST, err);
    return rc ? rc : sk_spikes_get(list, size, out, n, sk_type_size(a->type), err);
}

static int decode_any(const struct sk_array *a, const void *in, size_t n, void *out, enum depth depth,
                      struct saikai_error *err)
{
    struct piece j = {.a = a, .size = sk_type_size(a->type)};
    size_t bytes = size_of(a);
    if ((a->type != SAIKAI_F32 && a->type != SAIKAI_F64) || bytes == (size_t)-1)
        return sk_fail(err, SAIKAI_EDAMAGED, "the wavelet codec holds f32 and f64 only");
    j.n = bytes / j.size;
    struct sk_rd rd = sk_rd_init(in, n);
    if (n && *(const uint8_t *)in == PIECE_CENTRED && depth < PART && j.n && a->ndims > 1) {
        sk_rd_u8(&rd);
        return decode_centred(a, &rd, out, err);
    }
    if (n && *(const uint8_t *)in == PIECE_SPIKES && depth == WHOLE && j.n) {
        sk_rd_u8(&rd);
        return decode_spikes(a, &rd, out, err);
    }
    int rc = sk_piece_read(&j, &rd, out, err);
    sk_piece_free(&j);
    return rc;
}

static int decode(const struct sk_array *a, const void *in, size_t n, void *out,
                  struct saikai_error *err)
{
    return decode_any(a, in, n, out, WHOLE, err);
}

/* Root of the mean square error of a finished piece over all numbers of the field: a fill value outside of its range is none, a common value
 * that is masked is one. Negative: it does not decode. */
static double error_of(const struct piece *j, const struct sk_buf *piece)
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
        if (isfinite(x) && !(j->special.far_fill && j->mask && j->mask[i])) {
            double d = (x - y) / j->bound;
            sum += d * d;
            used++;
        }
    }
    free(back);
    return used ? sqrt(sum / (double)used) * j->bound : 0;
}

/* The next bound to try when the last one gave a mean error of `got`; good and bad are the largest
 * one that was small enough and the smallest that was not, 0: none yet. Errors do not always grow
 * with the bound: what halving does not find may lie anywhere near. */
static double next_bound(double last, double got, double wanted, double good, double bad, int tries)
{
    enum { HALVING = 8 };
    if (good > 0 && bad > 0)
        return sqrt(good * bad) * (tries < HALVING ? 1 : 0.9 + 0.021 * (tries - HALVING));
    double f = got > 0 ? 0.98 * wanted / got : good > 0 ? 4 : 0.5;
    return last * (f < 0.25 ? 0.25 : f > 4 ? 4 : f);
}

/* A piece whose mean error is what a PSNR asks for, or little less. Every point within a bound is
 * what the transform promises; the mean can only be seen afterwards. Empty when none is found. */
static int encode_psnr(struct piece *j, struct sk_buf *out, struct saikai_error *err)
{
    enum { MOST_TRIES = 20 };
    const double close = 0.946; /* 0.48 dB */
    double wanted = j->bound / sqrt(3.0), most = -1, good = 0, bad = 0;
    struct sk_buf next = {0};
    int rc = 0;
    for (int tries = 0; !rc && tries < MOST_TRIES; tries++) {
        next.len = 0;
        rc = sk_piece_predict(j, &next, err);
        double got = rc ? -1 : error_of(j, &next), tried = j->bound;
        int enough = got >= 0 && got <= wanted;
        if (enough && got > most) {
            struct sk_buf swap = *out;
            *out = next;
            next = swap;
            most = got;
        }
        if (enough)
            good = tried > good ? tried : good;
        else
            bad = bad == 0 || tried < bad ? tried : bad;
        sk_piece_free(j);
        j->keep_plan = 1; /* another plan's error is another one */
        if ((enough && got >= close * wanted) || tried > j->special.high - j->special.low)
            break;
        j->bound = next_bound(tried, got, wanted, good, bad, tries);
    }
    sk_buf_free(&next);
    return rc;
}

static int encode_bounded(struct piece *j, struct sk_buf *out, struct saikai_error *err)
{
    return j->opt->bound.kind == SK_BOUND_PSNR ? encode_psnr(j, out, err)
                                               : sk_piece_predict(j, out, err);
}

static int encode_job(struct piece *j, struct sk_buf *out, struct saikai_error *err);

static int encode_part(const struct piece *whole, const struct sk_array *a, const void *in,
                       double bound, struct sk_buf *out, struct saikai_error *err)
{
    struct sk_codec_options opt = {.bound = {SK_BOUND_ABS, bound},
                                   .parameter = whole->opt->parameter};
    struct piece j = {.a = a, .in = in, .opt = &opt, .size = whole->size, .is_part = 1, .effort = whole->effort};
    j.n = size_of(a) / j.size;
    int rc = encode_job(&j, out, err);
    if (!rc && !sk_buf_ok(out))
        rc = sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
    sk_piece_free(&j);
    return rc;
}

/* The mean along the slowest dimension, and the rest within `bound`. */
static int encode_centred(const struct piece *j, double bound, struct sk_buf *out,
                          struct saikai_error *err)
{
    struct sk_array means = sk_centre_array(j->a);
    struct sk_buf part = {0};
    void *mean = sk_scratch_take(size_of(&means)), *rest = sk_scratch_take(j->n * j->size);
    int rc = mean && rest ? 0 : sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
    if (!rc) {
        sk_centre_mean(j->a, j->in, mean);
        rc = encode_part(j, &means, mean, CENTRE_MEAN_BOUND * bound, &part, err);
    }
    if (!rc)
        rc = decode_any(&means, part.data, part.len, mean, PART, err);
    if (!rc) {
        sk_buf_put_u8(out, PIECE_CENTRED);
        sk_special_put_number(out, part.len);
        sk_buf_put(out, part.data, part.len);
        sk_centre_subtract(j->a, j->in, mean, rest);
        part.len = 0;
        rc = encode_part(j, j->a, rest, bound, &part, err);
        sk_buf_put(out, part.data, part.len);
    }
    sk_scratch_give(mean);
    sk_scratch_give(rest);
    sk_buf_free(&part);
    return rc;
}

static const uint64_t *fill_of(const struct piece *j)
{
    return j->special.has_fill ? &j->special.fill : NULL;
}

/* The piece that is left when isolated values are out: copy of the array, in their places what stands around them. A mean error of the rest
 * leaves room for theirs. */
static int encode_rest(const struct piece *whole, const struct sk_spikes *s, const void *copy, struct sk_buf *out, struct saikai_error *err)
{
    struct sk_codec_options opt = *whole->opt;
    struct piece j = {.a = whole->a, .in = copy, .n = whole->n, .opt = &opt, .size = whole->size, .is_rest = 1, .effort = whole->effort};
    opt.bound = (struct sk_bound){SK_BOUND_ABS, whole->bound};
    if (whole->opt->bound.kind == SK_BOUND_PSNR) {
        const struct special *p = &whole->special;
        opt.range = whole->opt->range > 0 ? whole->opt->range : p->far_fill ? p->high - p->low : p->max - p->min;
        opt.bound = whole->opt->bound;
        opt.bound.value -= 10 * log10(1 - (double)s->n / (double)(whole->n - p->n_masked));
    }
    int rc = encode_job(&j, out, err);
    if (!rc && !sk_buf_ok(out))
        rc = sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
    sk_piece_free(&j);
    return rc;
}

/* Isolated values, of which there are some, and what is left without them. */
static int encode_spikes(const struct piece *j, const struct sk_spikes *spikes, struct sk_buf *out, struct saikai_error *err)
{
    struct sk_buf rest = {0}, list = {0};
    int mean = j->opt->bound.kind == SK_BOUND_PSNR;
    void *copy = sk_scratch_take(j->n * j->size);
    int rc = copy ? 0 : sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
    if (!rc) {
        memcpy(copy, j->in, j->n * j->size);
        sk_spikes_smooth(spikes, j->a, copy, fill_of(j));
        rc = encode_rest(j, spikes, copy, &rest, err);
    }
    if (!rc)
        rc = decode_any(j->a, rest.data, rest.len, copy, REST, err);
    if (!rc)
        rc = sk_spikes_put(spikes, j->in, copy, j->size, mean ? j->bound / sqrt(3.0) : j->bound, &list, err);
    if (!rc) {
        sk_buf_put_u8(out, PIECE_SPIKES);
        sk_special_put_number(out, list.len);
        sk_buf_put(out, list.data, list.len);
        sk_buf_put(out, rest.data, rest.len);
    }
    sk_scratch_give(copy);
    sk_buf_free(&list);
    sk_buf_free(&rest);
    return rc;
}

/* The bound of a centred piece's rest, 0: not to be centred. */
static double bound_centred(const struct piece *j)
{
    double asked = sk_piece_parameter(j, "centre=", -1);
    if (j->is_part || asked == 0 || j->opt->bound.kind == SK_BOUND_PSNR)
        return 0;
    return sk_centre_bound(j->a, j->in, &j->special, j->bound);
}

/* Values of a plane; 0: there are no planes. */
static size_t plane_of(const struct sk_array *a)
{
    return a->ndims > 2 ? a->dims[a->ndims - 1] * a->dims[a->ndims - 2] : a->ndims == 2 ? a->dims[1] : 0;
}

/* Within the bound, around the means of places or by a shape that suits. Nothing is appended where arithmetic does not suit. */
static int encode_field(struct piece *j, struct sk_buf *out, struct saikai_error *err)
{
    double rest = bound_centred(j);
    if (rest > 0)
        return encode_centred(j, rest, out, err);
    sk_shape_choose(&j->shape, j->a, j->in, &j->special, j->bound, j->opt->parameter);
    return encode_bounded(j, out, err);
}

static void keep_shorter(struct sk_buf *best, struct sk_buf *other)
{
    if (other->len && (!best->len || other->len < best->len)) {
        struct sk_buf swap = *best;
        *best = *other;
        *other = swap;
    }
    sk_buf_free(other);
}

/* Is what so many isolated values spoil more than a small part of so many bytes? If not, and time counts, one way is as good as the other. */
static int is_much(const struct piece *j, const struct sk_spikes *s, size_t bytes)
{
    enum { SPOILT = 64 /* bytes by one, if many */, SHARE = 64 };
    return j->effort > PIECE_SWIFT || s->n * SPOILT > bytes / SHARE;
}

/* The same, isolated values taken out where that is shorter. Where there are many, that is likely, as they also mislead what chooses a plan. */
static int encode_within(struct piece *j, struct sk_buf *out, struct saikai_error *err)
{
    enum { FEW = 1 << 15 };
    struct sk_spikes spikes = {0};
    struct sk_buf taken = {0};
    const double bound = j->bound; /* which a mean error changes */
    int rc = 0, many;
    if (!j->is_part && !j->is_rest && sk_piece_parameter(j, "spikes=", -1) != 0)
        sk_spikes_find(&spikes, j->a, j->in, bound, fill_of(j), j->special.n_masked > 0);
    many = spikes.n > j->n / FEW;
    if (many)
        rc = encode_spikes(j, &spikes, &taken, err);
    if (!rc && (!many || is_much(j, &spikes, taken.len)))
        rc = encode_field(j, out, err);
    j->bound = bound;
    if (!rc && spikes.n && !many && is_much(j, &spikes, out->len))
        rc = encode_spikes(j, &spikes, &taken, err);
    keep_shorter(out, &taken);
    sk_spikes_free(&spikes);
    return rc;
}

/* With a bound, within it; exactly, when that leaves three quarters of the bytes or more and this is shorter, or there is no bound. */
static int encode_job(struct piece *j, struct sk_buf *out, struct saikai_error *err)
{
    if (!j->n) {
        sk_buf_put_u8(out, PIECE_EMPTY);
        return 0;
    }
    if (is_constant(j)) {
        sk_buf_put_u8(out, PIECE_CONSTANT);
        sk_buf_put(out, j->in, j->size);
        return 0;
    }
    if (j->opt->bound.kind != SK_BOUND_NONE) {
        sk_special_find(&j->special, j->in, j->n, j->size, plane_of(j->a), bound_of, j->opt);
        const struct special *s = &j->special;
        j->bound = bound_of(j->opt, s->far_fill ? s->high - s->low : s->max - s->min);
        int rc = suits(j) ? encode_within(j, out, err) : 0;
        if (rc || (out->len && out->len < j->n * j->size * 3 / 4))
            return rc;
    }
    struct sk_buf other = {0};
    sk_buf_put_u8(&other, PIECE_EXACT);
    int rc = sk_exact_put(&other, j->in, j->n, j->size, err);
    keep_shorter(out, &other);
    return rc;
}

static enum piece_effort effort_of(int level)
{
    return level >= PIECE_BEST_LEVEL ? PIECE_BEST : level >= PIECE_THRIFTY_LEVEL ? PIECE_THRIFTY : PIECE_SWIFT;
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
    struct piece j = {.a = a, .in = in, .opt = opt, .size = sk_type_size(a->type), .effort = effort_of(opt->level)};
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
    sk_piece_free(&j);
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
