/* The loop that all arrays go through, and so in vectors: of most stretches nothing more is to be looked at. */
#include "codec/spikes/lines.h"

#include "base/types.h"

#include <math.h>
#include <string.h>

enum { LONG = 32, SHORTEST = 8, VECTOR = 32 };

int sk_lines_choose(struct sk_lines *l, const struct sk_array *a)
{
    int best = -1;
    for (int i = a->ndims - 1; i >= 0; i--) {
        if (best < 0 || (a->dims[best] < LONG && a->dims[i] > a->dims[best]))
            best = i;
    }
    if (best < 0 || a->dims[best] < SHORTEST)
        return -1;
    *l = (struct sk_lines){.axis = best, .stride = 1, .length = a->dims[best]};
    for (int i = best + 1; i < a->ndims; i++)
        l->stride *= a->dims[i];
    return 0;
}

/* How far the greatest distance must be above the mean: above what noise has, below what one spike, which is in the mean, has. */
static const double outstanding = 6;

#define INLINE static inline __attribute__((always_inline))
#define STRANGE(U, v) ((some_##U)(((some_##U)(v) & exponent) == exponent) | (some_##U)((some_##U)(v) == fills))
/* strange: values that are not finite, or the fill value, are to be looked for. */
#define DEFINE_STANDS_OUT(F, U, EXPONENT)                                                                                                            \
    typedef F some_##F __attribute__((vector_size(VECTOR)));                                                                                         \
    typedef U some_##U __attribute__((vector_size(VECTOR)));                                                                                         \
    INLINE int stands_out_##F(const F *x, ptrdiff_t stride, size_t n, double least, int strange, U fill)                                             \
    {                                                                                                                                                \
        enum { EACH = VECTOR / sizeof(F) };                                                                                                          \
        const some_##U no_sign = ((some_##U){0} - 1) >> 1, fills = (some_##U){0} + fill, exponent = (some_##U){0} + (EXPONENT);                      \
        some_##F sum = {0}, most = {0};                                                                                                              \
        F sums = 0, greatest = 0;                                                                                                                    \
        for (size_t i = 0; i < n; i += EACH) {                                                                                                       \
            const F *p = x + (i + EACH <= n || n < EACH ? i : n - EACH); /* some are looked at twice */                                              \
            some_##F before = {0}, here = {0}, after = {0};                                                                                          \
            size_t bytes = (n < EACH ? n : EACH) * sizeof *p;                                                                                        \
            if (n >= EACH)                                                                                                                           \
                bytes = sizeof here;                                                                                                                 \
            memcpy(&before, p - stride, bytes);                                                                                                      \
            memcpy(&here, p, bytes);                                                                                                                 \
            memcpy(&after, p + stride, bytes);                                                                                                       \
            some_##U d = (some_##U)(here - (F)0.5 * (before + after)) & no_sign;                                                                     \
            if (strange)                                                                                                                             \
                d &= ~(STRANGE(U, before) | STRANGE(U, here) | STRANGE(U, after));                                                                   \
            some_##U more = (some_##U)((some_##F)d > most);                                                                                          \
            sum += (some_##F)d;                                                                                                                      \
            most = (some_##F)((d & more) | ((some_##U)most & ~more));                                                                                \
        }                                                                                                                                            \
        for (size_t k = 0; k < EACH; k++) {                                                                                                          \
            sums += sum[k];                                                                                                                          \
            greatest = most[k] > greatest ? most[k] : greatest;                                                                                      \
        }                                                                                                                                            \
        return (double)greatest * (double)n > outstanding * (double)sums && (double)greatest > least;                                                \
    }
DEFINE_STANDS_OUT(float, uint32_t, 0x7f800000u)
DEFINE_STANDS_OUT(double, uint64_t, 0x7ff0000000000000u)

#define DEFINE_VARIANT(SUFFIX, ATTRIBUTE)                                                                                                            \
    ATTRIBUTE static int stands_out_##SUFFIX(const void *values, size_t from, const struct sk_lines *l, size_t n, size_t size, double least)         \
    {                                                                                                                                                \
        ptrdiff_t stride = (ptrdiff_t)l->stride;                                                                                                     \
        uint64_t fill = l->fill ? *l->fill : size == sizeof(float) ? 0x7f800000u : 0x7ff0000000000000u;                                              \
        const float *narrow = (const float *)values + from;                                                                                          \
        const double *wide = (const double *)values + from;                                                                                          \
        if (size == sizeof(float))                                                                                                                   \
            return l->has_strange ? stands_out_float(narrow, stride, n, least, 1, (uint32_t)fill) : stands_out_float(narrow, stride, n, least, 0, 0);\
        return l->has_strange ? stands_out_double(wide, stride, n, least, 1, fill) : stands_out_double(wide, stride, n, least, 0, 0);                \
    }
DEFINE_VARIANT(plain, )
#ifdef __x86_64__
DEFINE_VARIANT(avx2, __attribute__((target("avx2"))))
#define FOR_PROCESSOR(f) (__builtin_cpu_supports("avx2") ? f##_avx2 : f##_plain)
#else
#define FOR_PROCESSOR(f) f##_plain
#endif

int sk_lines_stands_out(const struct sk_lines *l, const void *values, size_t size, size_t from, size_t to, double least)
{
    return FOR_PROCESSOR(stands_out)(values, from, l, to - from, size, least);
}
