/* Part of causal_impl.h: values to numbers of the lattice and back. */

/* Rows in order; element of the array and index in the padded box of each row's first point. */
#define EACH_ROW(c)                                                                                \
    for (size_t b = 0; b < (c)->shape.nb; b++)                                                     \
        for (size_t z = 0; z < (c)->shape.n[0]; z++)                                               \
            for (size_t y = 0; y < (c)->shape.n[1]; y++)

static size_t element(const struct causal *c, size_t b, size_t z, size_t y)
{
    return c->shape.b_offset[b] + z * c->shape.stride[0] + y * c->shape.stride[1];
}

static size_t place(const struct causal *c, size_t b, size_t z, size_t y)
{
    return c->origin + b * c->sb + z * c->sz + y * c->sy;
}

static void get_mask(struct causal *c, const uint8_t *mask)
{
    if (!c->masked)
        return;
    EACH_ROW(c)
    {
        size_t e = element(c, b, z, y), at = place(c, b, z, y);
        if (c->shape.stride[2] == 1)
            memcpy(c->mask + at, mask + e, c->shape.n[2]);
        else
            for (size_t x = 0; x < c->shape.n[2]; x++)
                c->mask[at + x] = mask[e + x * c->shape.stride[2]];
    }
}

/* Are points of the row masked? Often none are, as of fields that have nothing to mask beside some that do, and it takes the shorter way. */
static int has_holes(const struct causal *c, size_t at)
{
    return c->masked && memchr(c->mask + at, 1, c->shape.n[2]) != NULL;
}

static void exception(struct causal *c, size_t e)
{
    if (c->n_exceptions == c->cap_exceptions) {
        size_t cap = c->cap_exceptions * 2 + 256;
        size_t *p = realloc(c->exception, cap * sizeof *p);
        if (!p) {
            c->failed = 1;
            return;
        }
        c->exception = p;
        c->cap_exceptions = cap;
    }
    c->exception[c->n_exceptions++] = e;
}

typedef double four __attribute__((vector_size(32)));
typedef int64_t four_bits __attribute__((vector_size(32)));
typedef int32_t four_q __attribute__((vector_size(16)));

/* Four values rounded; places of *kept stay all ones while the bound is kept. What is not a number
 * fails. */
#define DEFINE_LATTICE(T)                                                                          \
    static inline __attribute__((always_inline)) void round_four_##T(                              \
        const T *x, double base, double step, double bound, int32_t *out, four_bits *kept)         \
    {                                                                                              \
        typedef T four_of_type __attribute__((vector_size(4 * sizeof(T))));                        \
        const int64_t no_sign = INT64_MAX;                                                         \
        four_of_type in;                                                                           \
        memcpy(&in, x, sizeof in);                                                                 \
        four v = {SK_EACH_4(in, double)};                                                          \
        four r = ((v - base) * (1 / step) + MAGIC) - MAGIC;                                        \
        four_of_type y = __builtin_convertvector(base + r * step, four_of_type);                   \
        four e = (four)((four_bits)(v - (four){SK_EACH_4(y, double)}) & no_sign);              \
        *kept &= (e <= bound) & ((four)((four_bits)r & no_sign) <= (double)CAUSAL_LIMIT);          \
        four_q q = __builtin_convertvector(r, four_q);                                             \
        memcpy(out, &q, sizeof q);                                                                 \
    }                                                                                              \
    /* With care for what is out of range; nonzero when a bound is not kept. */                    \
    static int round_with_care_##T(const T *x, size_t stride, size_t n, double base, double step,  \
                                   double bound, int32_t *out)                                     \
    {                                                                                              \
        int bad = 0;                                                                               \
        for (size_t i = 0; i < n; i++) {                                                           \
            double v = (double)x[i * stride], r = (v - base) * (1 / step);                         \
            r = r < CAUSAL_LIMIT ? r : CAUSAL_LIMIT;                                               \
            r = r > -CAUSAL_LIMIT ? r : -CAUSAL_LIMIT;                                             \
            r = (r + MAGIC) - MAGIC;                                                               \
            out[i] = (int32_t)r;                                                                   \
            bad |= !(fabs(v - (double)(T)(base + r * step)) <= bound);                             \
        }                                                                                          \
        return bad;                                                                                \
    }                                                                                              \
    static int round_##T(const T *x, size_t stride, size_t n, double base, double step,            \
                         double bound, int32_t *out)                                               \
    {                                                                                              \
        four_bits kept = {-1, -1, -1, -1};                                                         \
        size_t i = 0;                                                                              \
        for (; stride == 1 && i + 4 <= n; i += 4)                                                  \
            round_four_##T(x + i, base, step, bound, out + i, &kept);                              \
        for (; i < n; i += 4) {                                                                    \
            T few[4];                                                                              \
            int32_t steps[4];                                                                      \
            for (size_t k = 0; k < 4; k++)                                                         \
                few[k] = x[(i + k < n ? i + k : n - 1) * stride];                                  \
            round_four_##T(few, base, step, bound, steps, &kept);                                  \
            memcpy(out + i, steps, (n - i < 4 ? n - i : 4) * sizeof *steps);                       \
        }                                                                                          \
        return (kept[0] & kept[1] & kept[2] & kept[3]) != -1 &&                                    \
               round_with_care_##T(x, stride, n, base, step, bound, out);                          \
    }                                                                                              \
    static void restore_##T(T *x, size_t stride, size_t n, double base, double step,               \
                            const int32_t *in)                                                     \
    {                                                                                              \
        if (stride == 1)                                                                           \
            for (size_t i = 0; i < n; i++)                                                         \
                x[i] = (T)(base + (double)in[i] * step);                                           \
        else                                                                                       \
            for (size_t i = 0; i < n; i++)                                                         \
                x[i * stride] = (T)(base + (double)in[i] * step);                                  \
    }
DEFINE_LATTICE(float)
DEFINE_LATTICE(double)

static double get(const struct causal *c, const void *in, size_t e)
{
    return c->element_size == sizeof(float) ? ((const float *)in)[e] : ((const double *)in)[e];
}

/* Points of a row whose bound is not kept are exceptions. */
static void check_row(struct causal *c, const void *in, size_t e, size_t at)
{
    int is_float = c->element_size == sizeof(float);
    for (size_t x = 0; x < c->shape.n[2]; x++) {
        size_t i = e + x * c->shape.stride[2];
        if (c->masked && c->mask[at + x])
            continue;
        double v = get(c, in, i), r = c->base + (double)c->n[at + x] * c->step;
        if (!(fabs(v - (is_float ? (double)(float)r : r)) <= c->bound))
            exception(c, i);
    }
}

/* A stretch of values gets the number of [low, high] that is nearest to that of the stretch before; returns it. */
static int32_t hold_stretch(int32_t *n, size_t count, double low, double high, int32_t before)
{
    double v = before < low ? low : before > high ? high : before;
    for (size_t x = 0; x < count; x++)
        n[x] = (int32_t)v;
    return (int32_t)v;
}

/* A row in the longest stretches that one number each is within the bound of. */
static void hold_row(struct causal *c, const void *in, size_t e, size_t at)
{
    const double most = CAUSAL_LIMIT, unit = 1 / c->step, bound = c->bound * unit;
    double low = -most, high = most; /* numbers that serve all values from `first` on */
    size_t nx = c->shape.n[2], first = 0;
    int32_t last = 0;
    while (c->masked && first < nx && c->mask[at + first]) /* nothing is before them */
        c->n[at + first++] = 0;
    for (size_t x = first; x < nx; x++) {
        if (c->masked && c->mask[at + x])
            continue;
        double v = (get(c, in, e + x * c->shape.stride[2]) - c->base) * unit;
        v = v < most ? v : most;
        v = v > -most ? v : -most;
        double least = ceil(v - bound), greatest = floor(v + bound);
        if (least > greatest)
            least = greatest = (v + MAGIC) - MAGIC;
        if (least > high || greatest < low) {
            last = hold_stretch(c->n + at + first, x - first, low, high, last);
            first = x;
            low = least;
            high = greatest;
        }
        low = least > low ? least : low;
        high = greatest < high ? greatest : high;
    }
    hold_stretch(c->n + at + first, nx - first, low, high, last);
}

/* The nearest number of each value. */
static void round_row(struct causal *c, const void *in, size_t e, size_t at, int above)
{
    size_t nx = c->shape.n[2], s = c->shape.stride[2];
    int bad = c->element_size == sizeof(float)
                  ? round_float((const float *)in + e, s, nx, c->base, c->step, c->bound, c->n + at)
                  : round_double((const double *)in + e, s, nx, c->base, c->step, c->bound, c->n + at);
    int holes = has_holes(c, at);
    for (size_t x = 0; x < nx && holes; x++)
        if (c->mask[at + x]) /* hold what came before */
            c->n[at + x] = x ? c->n[at + x - 1] : above ? c->n[at - c->sy] : 0;
    if (bad)
        check_row(c, in, e, at);
}

static void to_lattice(struct causal *c, const void *in)
{
    EACH_ROW(c)
    {
        size_t e = element(c, b, z, y), at = place(c, b, z, y);
        if (c->hold) {
            hold_row(c, in, e, at);
            check_row(c, in, e, at);
        } else {
            round_row(c, in, e, at, y > 0);
        }
    }
}

static void from_lattice(const struct causal *c, size_t at, void *out, size_t e)
{
    size_t nx = c->shape.n[2], s = c->shape.stride[2];
    if (c->element_size == sizeof(float))
        restore_float((float *)out + e, s, nx, c->base, c->step, c->n + at);
    else
        restore_double((double *)out + e, s, nx, c->base, c->step, c->n + at);
}

/* How many bits the largest number of the lattice takes. */
static int bits_of_lattice(const struct causal *c)
{
    uint32_t any = 0;
    EACH_ROW(c)
    {
        const int32_t *n = c->n + place(c, b, z, y);
        for (size_t x = 0; x < c->shape.n[2]; x++)
            any |= (uint32_t)(n[x] < 0 ? -n[x] : n[x]);
    }
    return any ? 32 - __builtin_clz(any) : 0;
}
