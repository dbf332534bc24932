/* Measures on a sample along which dimensions neighbours predict each other, and finds grids that
 * were flattened to one dimension. */
#include "codec/wavelet/shape.h"

#include "base/types.h"
#include "codec/wavelet/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The text after "key=" in "a=1,b=2", NULL: not there. */
static const char *parameter(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *p = text; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(p, key, n) && p[n] == '=')
            return p + n + 1;
    return NULL;
}

/* ---- looking at a sample ---- */

enum { PROBES = 512, SAMPLE_SIDE = 20 };

struct probe {
    const void *in;
    size_t n, size;
    const struct special *special;
    double bound;
};

static int usable(const struct probe *p, size_t i, double *x)
{
    if (p->size == sizeof(float)) {
        float f;
        uint32_t bits;
        memcpy(&f, (const float *)p->in + i, sizeof f);
        memcpy(&bits, &f, sizeof bits);
        *x = f;
        return isfinite(f) && !(p->special->has_fill && bits == p->special->fill);
    }
    uint64_t bits;
    memcpy(x, (const double *)p->in + i, sizeof *x);
    memcpy(&bits, x, sizeof bits);
    return isfinite(*x) && !(p->special->has_fill && bits == p->special->fill);
}

/* Bits that a value costs beyond the first when it is predicted from its neighbours at `lag`
 * elements on both sides, along a dimension of `count` points of this stride: the mean of log2(1 +
 * |residual| / bound). */
static double bits_along(const struct probe *p, size_t stride, size_t count, size_t lag, int probes)
{
    const double large = 1e100;
    double bits = 0, product = 1; /* one logarithm for many factors */
    int used = 0;
    uint64_t random = 0x9e3779b97f4a7c15u;
    for (int k = 0; k < probes; k++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t i = (size_t)(((double)k + (double)(random >> 40) * 0x1p-24) * (double)p->n / probes);
        size_t at = i / stride % count;
        double x, a, b;
        if (at < lag || at + lag >= count || !usable(p, i, &x) ||
            !usable(p, i - lag * stride, &a) || !usable(p, i + lag * stride, &b))
            continue;
        double factor = 1 + fabs(x - 0.5 * a - 0.5 * b) / p->bound;
        product *= factor < large ? factor : 1;
        if (factor >= large)
            bits += log2(factor);
        if (product >= large) {
            bits += log2(product);
            product = 1;
        }
        used++;
    }
    bits += log2(product);
    return used * 8 > probes ? bits / used : -1;
}

/* A bound fine enough to see structure: a fraction of the usual step between neighbours when that
 * is less than the bound. */
static double fine_bound(const struct probe *p)
{
    double logs = 0;
    int used = 0;
    for (int k = 0; k < PROBES; k++) {
        size_t i = (size_t)(((double)k + 0.5) * (double)(p->n - 1) / PROBES);
        double x, y;
        if (p->n > 1 && usable(p, i, &x) && usable(p, i + 1, &y) && x != y) {
            logs += log(fabs(x - y));
            used++;
        }
    }
    double step = used ? exp(logs / used) / 8 : p->bound;
    return step < p->bound ? step : p->bound;
}

/* The next divisor of n after b < n: up to the root by trying, above it as the partner of one below. */
static size_t next_divisor(size_t n, size_t b)
{
    for (b++; b <= n / b; b++)
        if (n % b == 0)
            return b;
    for (size_t d = n / b; d > 1; d--)
        if (n % d == 0)
            return n / d;
    return n;
}

/* Replace dimension d of the shape by two when the points that a divisor of it apart are like
 * neighbours: a grid that was flattened. Returns whether it did. */
static int unfold(struct shape *s, int d, size_t stride, const struct probe *p)
{
    size_t n = s->dims[d], best = 0;
    if (n < 36 || s->n_dims >= SHAPE_DIMS)
        return 0;
    double beside = bits_along(p, stride, n, 1, PROBES), least = beside;
    for (size_t b = next_divisor(n, 3); b <= n / 4; b = next_divisor(n, b)) {
        double apart = bits_along(p, stride, n, b, PROBES / 4);
        if (apart < 0 || apart > least)
            continue;
        apart = bits_along(p, stride, n, b, PROBES);
        double between = bits_along(p, stride, n, b / 2, PROBES);
        if (apart >= 0 && apart < 0.97 * least && apart + 0.25 < between) {
            least = apart;
            best = b;
        }
    }
    if (!best)
        return 0;
    memmove(&s->dims[d + 2], &s->dims[d + 1], (size_t)(s->n_dims - d - 1) * sizeof *s->dims);
    s->dims[d] = n / best;
    s->dims[d + 1] = best;
    s->n_dims++;
    return 1;
}

static void unfold_all(struct shape *s, const struct probe *p)
{
    size_t stride = 1;
    for (int d = s->n_dims; d-- > 0;) {
        while (unfold(s, d, stride, p))
            stride *= s->dims[d + 1];
        stride *= s->dims[d];
    }
}

/* For ordering: dimensions too short to predict along come last. */
static double worth(double bits)
{
    return bits < 0 ? 1e300 : bits;
}

/* Rows of a few values, as the coordinates of particles are, take longer to walk through than to code: the longest axis becomes the row. */
static void lie_along_the_longest(struct shape *s)
{
    enum { SHORT = 8 };
    int last = LIFT_AXES - 1, longest = last;
    for (int a = 0; a < last; a++)
        if (s->axis[a] >= 0 && s->dims[s->axis[a]] > s->dims[s->axis[longest]])
            longest = a;
    if (s->axis[last] < 0 || s->dims[s->axis[last]] >= SHORT || s->dims[s->axis[longest]] < SHORT * s->dims[s->axis[last]])
        return;
    int d = s->axis[last];
    s->axis[last] = s->axis[longest];
    s->axis[longest] = d;
}

/* The three dimensions along which the values are predicted best are the axes, in their order. When
 * one of them is far worse than the best, it is in doubt whether to predict along it. */
static void choose_axes(struct shape *s, const struct probe *p, const char *text)
{
    double bits[SHAPE_DIMS], least = -1;
    size_t stride = 1;
    for (int d = s->n_dims; d-- > 0;) {
        bits[d] = s->dims[d] >= 5 ? bits_along(p, stride, s->dims[d], 1, PROBES) : -1;
        if (bits[d] >= 0 && (least < 0 || bits[d] < least))
            least = bits[d];
        stride *= s->dims[d];
    }
    s->bits = least;
    int rank[SHAPE_DIMS];
    for (int d = 0; d < s->n_dims; d++) {
        rank[d] = 0;
        for (int o = 0; o < s->n_dims; o++)
            rank[d] +=
                worth(bits[o]) < worth(bits[d]) || (worth(bits[o]) == worth(bits[d]) && o > d);
    }
    int taken = 0;
    for (int d = s->n_dims; d-- > 0;)
        if (s->n_dims <= LIFT_AXES || rank[d] < LIFT_AXES)
            s->axis[LIFT_AXES - 1 - taken++] = d;
    while (taken < LIFT_AXES)
        s->axis[LIFT_AXES - 1 - taken++] = -1;
    lie_along_the_longest(s);
    double most = -1;
    for (int a = 0; a < LIFT_AXES; a++) {
        int d = s->axis[a];
        if (d < 0 || bits[d] < 0)
            continue;
        s->active |= 1u << a;
        if (bits[d] > most) {
            most = bits[d];
            s->doubtful = 1u << a;
        }
    }
    if (most < 1.5 * least + 0.01 || s->active == s->doubtful)
        s->doubtful = 0;
    const char *active = parameter(text, "active");
    if (active) {
        s->active = (unsigned)strtoul(active, NULL, 10) & 7;
        s->doubtful = 0;
    }
}

void sk_shape_sample(const struct lift_shape *whole, size_t most, int boxes, struct lift_shape *out,
                  size_t *b_offset)
{
    *out = *whole;
    out->nb = (size_t)boxes;
    out->b_offset = b_offset;
    while (out->n[0] * out->n[1] * out->n[2] > most) {
        /* the outermost axis is where unlike things often lie side by side: keep much of it */
        int longest = out->n[1] > out->n[2] ? 1 : 2;
        if (out->n[longest] <= SAMPLE_SIDE && out->n[0] > out->n[longest])
            longest = 0;
        if (out->n[longest] < 5)
            break;
        out->n[longest] = out->n[longest] * 4 / 5;
    }
    for (int k = 0; k < boxes; k++) {
        b_offset[k] = whole->b_offset[(2 * (size_t)k + 1) * whole->nb / (2 * (size_t)boxes)];
        for (int a = 0; a < LIFT_AXES; a++) {
            /* each axis at another fraction of its room */
            size_t room = whole->n[a] - out->n[a], part = (size_t)(3 * k + 2 * a + 1) % 7;
            b_offset[k] += room * part / 6 * whole->stride[a];
        }
    }
}

/* ---- where values are hard to predict ---- */

static double number_at(const struct shape_values *v, size_t i)
{
    return v->size == sizeof(float) ? (double)((const float *)v->x)[i] : ((const double *)v->x)[i];
}

/* How hard a box of this size at element `from` is to predict: what a part of its values, far enough from each other to see waves, miss the middle of their neighbours
 * along the rows by, beside the bound. */
static double hardness(const struct lift_shape *box, const struct shape_values *v, size_t from)
{
    enum { LAG = 4, EVERY = 3 };
    size_t lag = box->n[2] > 4 * LAG ? LAG : 1, s = box->stride[2];
    double sum = 0;
    for (size_t z = 0; z < box->n[0]; z += box->n[0] > EVERY ? EVERY : 1)
        for (size_t y = z % EVERY; y < box->n[1]; y += box->n[1] > EVERY ? EVERY : 1)
            for (size_t x = lag; x + lag < box->n[2]; x += EVERY) {
                size_t i = from + z * box->stride[0] + y * box->stride[1] + x * s, a = i - lag * s, b = i + lag * s;
                if (v->mask && (v->mask[i] || v->mask[a] || v->mask[b]))
                    continue;
                double d = fabs(number_at(v, i) - 0.5 * number_at(v, a) - 0.5 * number_at(v, b));
                sum += d / (d + v->bound);
            }
    return sum;
}

/* Places where a box may lie: side by side along each axis, in some of the separate boxes. */
struct places {
    size_t along[LIFT_AXES], nb, n;
};

static struct places places_of(const struct lift_shape *whole, const struct lift_shape *box)
{
    enum { MOST_PLACES = 2048 };
    struct places p = {.n = 1};
    for (int a = 0; a < LIFT_AXES; a++) {
        p.along[a] = whole->n[a] / box->n[a];
        p.n *= p.along[a];
    }
    p.nb = whole->nb;
    if (p.nb > MOST_PLACES / p.n)
        p.nb = p.n < MOST_PLACES ? MOST_PLACES / p.n : 1;
    p.n = p.n > MOST_PLACES ? 0 : p.n * p.nb;
    return p;
}

static size_t place_at(const struct places *p, const struct lift_shape *whole, const struct lift_shape *box, size_t i)
{
    size_t at = 0;
    for (int a = LIFT_AXES - 1; a >= 0; a--) {
        if (p->along[a] > 1)
            at += i % p->along[a] * (whole->n[a] - box->n[a]) / (p->along[a] - 1) * whole->stride[a];
        i /= p->along[a];
    }
    return at + whole->b_offset[i * whole->nb / p->nb];
}

double sk_shape_sample_busy(const struct lift_shape *whole, const struct shape_values *v, struct lift_shape *out, size_t *b_offset)
{
    struct places p = places_of(whole, out);
    size_t boxes = out->nb, k = 0;
    double sum = 0, so_far = 0, before = 0, chosen = 0, *hard = malloc((p.n + 1) * sizeof *hard);
    if (!hard || p.n <= 2 * boxes || boxes > SHAPE_BUSY_BOXES) {
        free(hard);
        return 1;
    }
    for (size_t b = 0; b < boxes; b++)
        before += hardness(out, v, b_offset[b]);
    for (size_t i = 0; i < p.n; i++)
        sum += hard[i] = hardness(out, v, place_at(&p, whole, out, i));
    for (size_t i = 0; i < p.n && k < boxes; i++) { /* the places at which the sum passes by equal parts of it; each but once */
        so_far += hard[i];
        if (so_far * (double)boxes < ((double)k + 0.5) * sum && p.n - i > boxes - k)
            continue;
        b_offset[k++] = place_at(&p, whole, out, i);
        chosen += hard[i];
    }
    free(hard);
    return before > 0 ? chosen / before : sum > 0 ? INFINITY : 1;
}

/* "fold=AxBxC" in place of the array's own dimensions, when the product is the same. */
static int fold_given(const char *text, size_t n, size_t dims[SAIKAI_MAX_DIMS])
{
    const char *fold = parameter(text, "fold");
    char copy[128];
    size_t k = fold ? strcspn(fold, ",") : 0, product;
    if (!k || k >= sizeof copy)
        return 0;
    memcpy(copy, fold, k);
    copy[k] = 0;
    int m = sk_dims_parse(copy, dims);
    return m > 0 && !sk_dims_count(m, dims, &product) && product == n ? m : 0;
}

void sk_shape_choose(struct shape *s, const struct sk_array *a, const void *in,
                  const struct special *special, double bound, const char *text)
{
    size_t dims[SAIKAI_MAX_DIMS], count = 1;
    memset(s, 0, sizeof *s);
    for (int i = 0; i < a->ndims; i++)
        count *= a->dims[i];
    int given = fold_given(text, count, dims), n = given ? given : a->ndims;
    for (int i = 0; i < n; i++)
        if ((given ? dims : a->dims)[i] != 1)
            s->dims[s->n_dims++] = (given ? dims : a->dims)[i];
    if (!s->n_dims)
        s->dims[s->n_dims++] = 1;
    struct probe p = {in, count, sk_type_size(a->type), special, bound};
    if (!given) {
        struct probe fine = p;
        fine.bound = fine_bound(&p);
        unfold_all(s, &fine);
    }
    choose_axes(s, &p, text);
}

void sk_shape_put(const struct shape *s, struct sk_buf *out)
{
    sk_buf_put_u8(out, (uint8_t)(s->n_dims | s->active << 4));
    for (int i = 0; i < s->n_dims; i++)
        sk_special_put_number(out, s->dims[i]);
    sk_buf_put_u16(out,
                   (uint16_t)((s->axis[0] + 1) | (s->axis[1] + 1) << 4 | (s->axis[2] + 1) << 8));
}

int sk_shape_get(struct shape *s, size_t n, struct sk_rd *in)
{
    memset(s, 0, sizeof *s);
    unsigned head = sk_rd_u8(in);
    size_t product = 1;
    s->n_dims = head & 15;
    s->active = head >> 4;
    if (s->n_dims < 1 || s->n_dims > SHAPE_DIMS || s->active > 7)
        return -1;
    for (int i = 0; i < s->n_dims; i++) {
        s->dims[i] = sk_special_get_number(in);
        if (!s->dims[i] || __builtin_mul_overflow(product, s->dims[i], &product))
            return -1;
    }
    unsigned axes = sk_rd_u16(in), seen = 0;
    for (int a = 0; a < LIFT_AXES; a++) {
        s->axis[a] = (int)(axes >> 4 * a & 15) - 1;
        if (s->axis[a] >= s->n_dims || (s->axis[a] >= 0 && seen >> s->axis[a] & 1))
            return -1;
        if (s->axis[a] >= 0)
            seen |= 1u << s->axis[a];
    }
    return in->bad || product != n || axes >> 12 ? -1 : 0;
}

int sk_shape_make(const struct shape *s, struct lift_shape *out, size_t **b_offset,
               struct saikai_error *err)
{
    size_t stride[SHAPE_DIMS], others[SHAPE_DIMS], k = 1;
    int n_others = 0;
    for (int i = s->n_dims; i-- > 0;) {
        stride[i] = k;
        k *= s->dims[i];
    }
    memset(out, 0, sizeof *out);
    out->nb = 1;
    out->active = s->active;
    for (int a = 0; a < LIFT_AXES; a++) {
        out->n[a] = s->axis[a] < 0 ? 1 : s->dims[s->axis[a]];
        out->stride[a] = s->axis[a] < 0 ? 0 : stride[s->axis[a]];
    }
    for (int i = 0; i < s->n_dims; i++)
        if (i != s->axis[0] && i != s->axis[1] && i != s->axis[2]) {
            others[n_others++] = (size_t)i;
            out->nb *= s->dims[i];
        }
    size_t *b = malloc(out->nb * sizeof *b);
    if (!b)
        return sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
    for (size_t i = 0; i < out->nb; i++) {
        b[i] = 0;
        size_t rest = i;
        for (int o = n_others; o-- > 0;) {
            b[i] += rest % s->dims[others[o]] * stride[others[o]];
            rest /= s->dims[others[o]];
        }
    }
    out->b_offset = *b_offset = b;
    return 0;
}
