/* Finds fill values and what is not finite, and codes the exact values. */
#include "codec/wavelet/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 1024, SLOTS = 4096, PAIRS = 8192 };

static double value_of(uint64_t bits, size_t size)
{
    float f;
    double d;
    if (size == sizeof f) {
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* The pattern that occurs most in a sample, when it is at least one in fifty. */
static int commonest(const void *in, size_t n, size_t size, uint64_t *pattern)
{
    uint64_t key[SLOTS];
    uint16_t seen[SLOTS] = {0}, best = 0;
    size_t count = n < SAMPLE ? n : SAMPLE;
    for (size_t k = 0; k < count; k++) {
        uint64_t v = sk_fill_bits_at(in, (size_t)(((double)k + 0.5) * (double)n / (double)count), size);
        size_t slot = (size_t)(v * 0x9e3779b97f4a7c15u >> 32) % SLOTS;
        while (seen[slot] && key[slot] != v)
            slot = (slot + 1) % SLOTS;
        key[slot] = v;
        if (++seen[slot] > best) {
            best = seen[slot];
            *pattern = v;
        }
    }
    return best >= 4 && best * 50u >= count;
}

/* Does a fill value stand out: are many steps to it from its neighbours far larger than those
 * between the others? */
static int stands_out(const void *in, size_t n, size_t size, uint64_t fill, double bound)
{
    double f = value_of(fill, size), step = 0;
    size_t jumps = 0, large = 0, steps = 0, stride = n / PAIRS + 1;
    if (!isfinite(f))
        return 1;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i + 1 < n; i += stride) {
            uint64_t a = sk_fill_bits_at(in, i, size), b = sk_fill_bits_at(in, i + 1, size);
            double x = value_of(a, size), y = value_of(b, size), d = fabs(x - y);
            if (!isfinite(x) || !isfinite(y))
                continue;
            if ((a == fill) != (b == fill)) {
                jumps += pass;
                large += pass && d > 4 * bound && d > 4 * step;
            } else if (a != fill && !pass) {
                step += d;
                steps++;
            }
        }
        step = steps && !pass ? step / (double)steps : step;
    }
    return large * 5 > jumps;
}

enum { WIDE = 16, SOME = 32 };

/* Extremes by lanes, in vectors; a value that is not finite shows in its exponent. */
struct extremes {
    double min, max, low, high;
    size_t masked, filled;
};

/* Where m is all ones a, else b. */
#define CHOSEN(m, a, b) (((m) & (a)) | (~(m) & (b)))

#define DEFINE_ALL_FINITE(F, U, EXPONENT)                                                          \
    typedef F some_##F __attribute__((vector_size(SOME)));                                         \
    typedef U some_##U __attribute__((vector_size(SOME)));                                         \
    /* Returns whether all are finite; only min and max are set. */                                \
    INLINE int all_finite_##F(struct extremes *e, const F *in, size_t n)                           \
    {                                                                                              \
        enum { EACH = SOME / sizeof(F), PARTS = WIDE / EACH };                                     \
        some_##U low[PARTS], high[PARTS], strange[PARTS], exponent = (some_##U){0} + (EXPONENT);   \
        F first[EACH], least[WIDE], most[WIDE];                                                    \
        for (int k = 0; k < EACH; k++)                                                             \
            first[k] = in[0];                                                                      \
        for (int k = 0; k < PARTS; k++) {                                                          \
            memcpy(&low[k], first, sizeof low[k]);                                                 \
            high[k] = low[k];                                                                      \
            strange[k] = (some_##U){0};                                                            \
        }                                                                                          \
        for (size_t i = 0; i < n; i += WIDE) {                                                     \
            const F *p = in + (i + WIDE <= n ? i : n - WIDE);                                      \
            for (int k = 0; k < PARTS; k++) {                                                      \
                some_##U v;                                                                        \
                memcpy(&v, p + k * EACH, sizeof v);                                                \
                strange[k] |= (some_##U)((v & exponent) == exponent);                              \
                low[k] = CHOSEN((some_##U)((some_##F)v < (some_##F)low[k]), v, low[k]);            \
                high[k] = CHOSEN((some_##U)((some_##F)v > (some_##F)high[k]), v, high[k]);         \
            }                                                                                      \
        }                                                                                          \
        memcpy(least, low, sizeof least);                                                          \
        memcpy(most, high, sizeof most);                                                           \
        e->min = least[0];                                                                         \
        e->max = most[0];                                                                          \
        U any = 0;                                                                                 \
        for (int k = 0; k < WIDE; k++) {                                                           \
            e->min = least[k] < e->min ? least[k] : e->min;                                        \
            e->max = most[k] > e->max ? most[k] : e->max;                                          \
            any |= strange[k / EACH][k % EACH];                                                    \
        }                                                                                          \
        return !any;                                                                               \
    }
#define DEFINE_SCAN(F, U, EXPONENT)                                                                \
    /* Extremes of the finite values and of those not masked: e grows by n values, a part of a vector at the end. */ \
    INLINE void scan_##F(struct extremes *e, const F *in, size_t n, int has_fill, U fill)          \
    {                                                                                              \
        enum { EACH = SOME / sizeof(F) };                                                          \
        const some_##F inf = (some_##F){0} + (F)INFINITY, minus = -inf;                            \
        const some_##U exponent = (some_##U){0} + (EXPONENT), its = (some_##U){0} + fill,          \
                       given = (some_##U){0} - (U)(has_fill != 0);                                 \
        some_##F min = inf, max = minus, low = inf, high = minus;                                  \
        some_##U masked = {0}, filled = {0};                                                       \
        for (size_t i = 0; i < n; i += EACH) {                                                     \
            some_##U v, there = (some_##U){0} - 1;                                                 \
            size_t left = n - i < EACH ? n - i : EACH;                                             \
            if (left < EACH) {                                                                     \
                v = there = (some_##U){0};                                                         \
                memcpy(&v, in + i, left * sizeof *in);                                             \
                for (size_t k = 0; k < left; k++)                                                  \
                    there[k] = (U)-1;                                                              \
            } else {                                                                               \
                memcpy(&v, in + i, sizeof v);                                                      \
            }                                                                                      \
            some_##U strange = ((some_##U)((v & exponent) == exponent)) | ~there,                  \
                     is_fill = (some_##U)(v == its) & given & there, out = strange | is_fill;      \
            some_##U a = CHOSEN(strange, (some_##U)inf, v), z = CHOSEN(strange, (some_##U)minus, v), \
                     b = CHOSEN(out, (some_##U)inf, v), y = CHOSEN(out, (some_##U)minus, v);       \
            min = (some_##F)CHOSEN((some_##U)((some_##F)a < min), a, (some_##U)min);               \
            max = (some_##F)CHOSEN((some_##U)((some_##F)z > max), z, (some_##U)max);               \
            low = (some_##F)CHOSEN((some_##U)((some_##F)b < low), b, (some_##U)low);               \
            high = (some_##F)CHOSEN((some_##U)((some_##F)y > high), y, (some_##U)high);            \
            masked -= out & there;                                                                 \
            filled -= is_fill;                                                                     \
        }                                                                                          \
        for (size_t k = 0; k < EACH; k++) {                                                        \
            e->min = min[k] < e->min ? min[k] : e->min;                                            \
            e->max = max[k] > e->max ? max[k] : e->max;                                            \
            e->low = low[k] < e->low ? low[k] : e->low;                                            \
            e->high = high[k] > e->high ? high[k] : e->high;                                       \
            e->masked += (size_t)masked[k];                                                        \
            e->filled += (size_t)filled[k];                                                        \
        }                                                                                          \
    }                                                                                              \
    INLINE void mask_##F(const F *in, size_t n, int has_fill, U fill, uint8_t *mask)               \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            U bits;                                                                                \
            memcpy(&bits, in + i, sizeof bits);                                                    \
            mask[i] = (uint8_t)(((bits & (EXPONENT)) == (EXPONENT)) |                              \
                                ((has_fill != 0) & (bits == fill)));                               \
        }                                                                                          \
    }
#define INLINE static inline __attribute__((always_inline))
DEFINE_ALL_FINITE(float, uint32_t, 0x7f800000u)
DEFINE_ALL_FINITE(double, uint64_t, 0x7ff0000000000000u)
DEFINE_SCAN(float, uint32_t, 0x7f800000u)
DEFINE_SCAN(double, uint64_t, 0x7ff0000000000000u)

/* The three for one instruction set. */
#define DEFINE_VARIANT(SUFFIX, ATTRIBUTE)                                                          \
    ATTRIBUTE static int all_finite_##SUFFIX(struct extremes *e, const void *in, size_t n,         \
                                             size_t size)                                          \
    {                                                                                              \
        return size == sizeof(float) ? all_finite_float(e, in, n) : all_finite_double(e, in, n);   \
    }                                                                                              \
    ATTRIBUTE static void scan_##SUFFIX(struct extremes *e, const void *in, size_t n, size_t size, \
                                        int has_fill, uint64_t fill)                               \
    {                                                                                              \
        const size_t part = (size_t)1 << 24; /* lanes of floats count in 32 bits */               \
        *e = (struct extremes){INFINITY, -INFINITY, INFINITY, -INFINITY, 0, 0};                    \
        for (size_t i = 0; i < n; i += part)                                                       \
            if (size == sizeof(float))                                                             \
                scan_float(e, (const float *)in + i, n - i < part ? n - i : part, has_fill, (uint32_t)fill); \
            else                                                                                   \
                scan_double(e, (const double *)in + i, n - i < part ? n - i : part, has_fill, fill); \
    }                                                                                              \
    ATTRIBUTE static void mask_##SUFFIX(const void *in, size_t n, size_t size, int has_fill,       \
                                        uint64_t fill, uint8_t *mask)                              \
    {                                                                                              \
        if (size == sizeof(float))                                                                 \
            mask_float(in, n, has_fill, (uint32_t)fill, mask);                                     \
        else                                                                                       \
            mask_double(in, n, has_fill, fill, mask);                                              \
    }
DEFINE_VARIANT(plain, )
#ifdef __x86_64__
DEFINE_VARIANT(avx2, __attribute__((target("avx2"))))
#define FOR_PROCESSOR(f) (__builtin_cpu_supports("avx2") ? f##_avx2 : f##_plain)
#else
#define FOR_PROCESSOR(f) f##_plain
#endif

static double mean_of_sample(const struct special *s, const void *in, size_t n, size_t size)
{
    double sum = 0, used = 0;
    size_t step = n / (4 * SAMPLE) + 1;
    for (size_t i = 0; i < n; i += step) {
        uint64_t bits = sk_fill_bits_at(in, i, size);
        double x = value_of(bits, size);
        if (isfinite(x) && !(s->has_fill && bits == s->fill)) {
            sum += x / (4 * SAMPLE);
            used++;
        }
    }
    return used > 0 ? sum * (4 * SAMPLE / used) : s->n_masked < n ? s->low : 0;
}

static void scan(struct special *s, const void *in, size_t n, size_t size)
{
    struct extremes e = {0};
    if (!s->has_fill && n >= WIDE && FOR_PROCESSOR(all_finite)(&e, in, n, size)) {
        e.low = e.min;
        e.high = e.max;
    } else {
        FOR_PROCESSOR(scan)(&e, in, n, size, s->has_fill, s->fill);
    }
    s->min = e.min;
    s->max = e.max;
    s->low = e.low;
    s->high = e.high;
    s->n_masked = e.masked;
    s->n_filled = e.filled;
    s->mean = mean_of_sample(s, in, n, size);
}

/* A fill value that is masked in some stretches only is a value like others elsewhere. */
static void scan_stretches(struct special *s, const void *in, size_t size)
{
    for (int k = 0; k < s->n_stretches; k++) {
        const struct sk_fill_stretch *r = &s->stretch[k];
        struct extremes e;
        FOR_PROCESSOR(scan)(&e, (const uint8_t *)in + r->from * size, r->to - r->from, size, 1, s->fill);
        s->n_filled += e.filled;
    }
    s->n_masked += s->n_filled;
}

void sk_special_find(struct special *s, const void *in, size_t n, size_t size, size_t plane,
                  double (*bound_of)(const void *arg, double range), const void *arg)
{
    memset(s, 0, sizeof *s);
    scan(s, in, n, size);
    double low = s->min, high = s->max, fill;
    if (sk_fill_find(in, n, size, &low, &high, &fill)) {
        float f = (float)fill;
        s->fill = 0;
        memcpy(&s->fill, size == sizeof f ? (void *)&f : (void *)&fill, size);
        s->far_fill = 1;
    } else {
        double bound = bound_of(arg, s->max - s->min);
        if (!commonest(in, n, size, &s->fill))
            return;
        if (!stands_out(in, n, size, s->fill, bound)) {
            s->n_stretches = sk_fill_stretches(in, n, size, plane, s->fill, bound, s->stretch);
            scan_stretches(s, in, size);
            s->has_fill = s->n_filled > 0;
            return;
        }
    }
    s->has_fill = 1;
    scan(s, in, n, size);
}

void sk_special_mask(const struct special *s, const void *in, size_t n, size_t size, uint8_t *mask)
{
    FOR_PROCESSOR(mask)(in, n, size, s->has_fill && !s->n_stretches, s->fill, mask);
    for (int k = 0; s->has_fill && k < s->n_stretches; k++) {
        const struct sk_fill_stretch *r = &s->stretch[k];
        FOR_PROCESSOR(mask)((const uint8_t *)in + r->from * size, r->to - r->from, size, 1, s->fill, mask + r->from);
    }
}

/* ---- exact values ---- */

void sk_special_put_number(struct sk_buf *out, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        sk_buf_put_u8(out, (uint8_t)(v | 128));
    sk_buf_put_u8(out, (uint8_t)v);
}

uint64_t sk_special_get_number(struct sk_rd *in)
{
    uint64_t v = 0;
    for (unsigned k = 0; k < 64; k += 7) {
        uint8_t b = sk_rd_u8(in);
        v |= (uint64_t)(b & 127) << k;
        if (b < 128)
            return v;
    }
    in->bad = 1;
    return 0;
}

void sk_special_put_exact(struct sk_buf *out, const size_t *element, size_t count, const void *in,
                       size_t size)
{
    sk_special_put_number(out, count);
    for (size_t i = 0, last = 0; i < count; i++) {
        sk_special_put_number(out, element[i] - last);
        sk_buf_put(out, (const uint8_t *)in + element[i] * size, size);
        last = element[i];
    }
}

int sk_special_get_exact(struct sk_rd *in, void *out, size_t n, size_t size, struct saikai_error *err)
{
    uint64_t count = sk_special_get_number(in), at = 0;
    for (uint64_t i = 0; i < count && !in->bad; i++) {
        uint64_t d = sk_special_get_number(in);
        const void *bits = sk_rd_bytes(in, size);
        if (!bits || d >= n - at)
            return sk_fail(err, SAIKAI_EDAMAGED, "the exact values of a wavelet piece are damaged");
        at += d;
        memcpy((uint8_t *)out + at * size, bits, size);
    }
    return in->bad
               ? sk_fail(err, SAIKAI_EDAMAGED, "the exact values of a wavelet piece are damaged")
               : 0;
}
