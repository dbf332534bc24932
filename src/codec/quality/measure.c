/* Extremes of an array and largest differences of two, in loops that become vectors, by several
 * threads where there is much. */
#include "codec/quality/measure.h"

#include "codec/team.h"
#include "codec/wavelet/fill.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

enum { LANES = 32 };

/* Comparisons with NaN are false and so skip it; Inf is kept out by the two limits, which are looked at one by one only where there is some.
 * By lanes, which vectorises. */
#define RANGE(T, LIMIT)                                                                            \
    static inline __attribute__((always_inline)) void add_##T(const T v[LANES], int some_are_infinite, T lo[LANES], T hi[LANES]) \
    {                                                                                              \
        for (int k = 0; k < LANES; k++) {                                                          \
            T down = !some_are_infinite || v[k] >= -(LIMIT) ? v[k] : lo[k];                        \
            T up = !some_are_infinite || v[k] <= (LIMIT) ? v[k] : hi[k];                           \
            lo[k] = down < lo[k] ? down : lo[k];                                                   \
            hi[k] = up > hi[k] ? up : hi[k];                                                       \
        }                                                                                          \
    }                                                                                              \
    static inline __attribute__((always_inline)) void some_##T(const T *x, size_t n, int some_are_infinite, T lo[LANES], T hi[LANES]) \
    {                                                                                              \
        size_t i = 0;                                                                              \
        for (int k = 0; k < LANES; k++) {                                                          \
            lo[k] = INFINITY;                                                                      \
            hi[k] = -INFINITY;                                                                     \
        }                                                                                          \
        for (; i + LANES <= n; i += LANES)                                                         \
            add_##T(x + i, some_are_infinite, lo, hi);                                             \
        if (i < n) {                                                                               \
            T few[LANES];                                                                          \
            for (size_t k = 0; k < LANES; k++)                                                     \
                few[k] = x[i + k < n ? i + k : i];                                                 \
            add_##T(few, some_are_infinite, lo, hi);                                               \
        }                                                                                          \
    }                                                                                              \
    static inline __attribute__((always_inline)) void range_##T(const T *x, size_t n, double *low, \
                                                                double *high)                      \
    {                                                                                              \
        T lo[LANES], hi[LANES];                                                                    \
        int infinite = 0;                                                                          \
        some_##T(x, n, 0, lo, hi);                                                                 \
        for (int k = 0; k < LANES; k++)                                                            \
            infinite |= lo[k] < -(LIMIT) || hi[k] > (LIMIT);                                       \
        if (infinite)                                                                              \
            some_##T(x, n, 1, lo, hi);                                                             \
        for (int k = 0; k < LANES; k++) {                                                          \
            *low = (double)lo[k] < *low ? (double)lo[k] : *low;                                    \
            *high = (double)hi[k] > *high ? (double)hi[k] : *high;                                 \
        }                                                                                          \
    }

#define ERROR(T, W)                                                                                \
    static double error_##T(const T *x, const T *y, size_t n)                                      \
    {                                                                                              \
        double most = 0;                                                                           \
        for (size_t i = 0; i < n; i++) {                                                           \
            W a, b;                                                                                \
            memcpy(&a, x + i, sizeof a);                                                           \
            memcpy(&b, y + i, sizeof b);                                                           \
            if (a == b)                                                                            \
                continue;                                                                          \
            double e = fabs((double)x[i] - (double)y[i]);                                          \
            if (!(isfinite(x[i]) && isfinite(y[i])))                                               \
                return INFINITY;                                                                   \
            most = e > most ? e : most;                                                            \
        }                                                                                          \
        return most;                                                                               \
    }

RANGE(float, 3.402823466e+38f)
RANGE(double, 1.7976931348623157e+308)
ERROR(float, uint32_t)
ERROR(double, uint64_t)

static inline __attribute__((always_inline)) void
extremes(int type, const void *data, size_t n_bytes, double *low, double *high)
{
    if (type == SAIKAI_F32 || type == SAIKAI_C64)
        range_float(data, n_bytes / sizeof(float), low, high);
    else
        range_double(data, n_bytes / sizeof(double), low, high);
}

static void extremes_plain(int type, const void *data, size_t n_bytes, double *low, double *high)
{
    extremes(type, data, n_bytes, low, high);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void extremes_avx2(int type, const void *data,
                                                          size_t n_bytes, double *low, double *high)
{
    extremes(type, data, n_bytes, low, high);
}
#endif

void sk_measure_extremes(int type, const void *data, size_t n_bytes, double *low, double *high)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        extremes_avx2(type, data, n_bytes, low, high);
        return;
    }
#endif
    extremes_plain(type, data, n_bytes, low, high);
}

/* Extremes of an array by several threads. */
struct scan {
    int type;
    const uint8_t *data;
    size_t n_bytes, next;
    double low, high;
    pthread_mutex_t lock;
};

static void scan_some(void *arg)
{
    enum { PART = 2 << 20 };
    struct scan *s = arg;
    double low = INFINITY, high = -INFINITY;
    pthread_mutex_lock(&s->lock);
    while (s->next < s->n_bytes) {
        size_t at = s->next, n = s->n_bytes - at < PART ? s->n_bytes - at : PART;
        s->next += n;
        pthread_mutex_unlock(&s->lock);
        sk_measure_extremes(s->type, s->data + at, n, &low, &high);
        pthread_mutex_lock(&s->lock);
    }
    s->low = low < s->low ? low : s->low;
    s->high = high > s->high ? high : s->high;
    pthread_mutex_unlock(&s->lock);
}

double sk_measure_range(int type, const void *data, size_t n_bytes, int threads)
{
    const size_t worth = 8 << 20; /* bytes that a thread takes longer for than to be made */
    struct scan s = {type, data, n_bytes, 0, INFINITY, -INFINITY, PTHREAD_MUTEX_INITIALIZER};
    sk_team_run(sk_team_size(threads, n_bytes / worth), scan_some, &s);
    if (!(s.high >= s.low))
        return 0;
    size_t size = type == SAIKAI_F32 || type == SAIKAI_C64 ? sizeof(float) : sizeof(double);
    double range = sk_fill_range(data, n_bytes / size, size, s.low, s.high);
    return range < DBL_MAX ? range : DBL_MAX;
}

double sk_measure_error(int type, const void *x, const void *y, size_t n_bytes)
{
    if (type == SAIKAI_F32 || type == SAIKAI_C64)
        return error_float(x, y, n_bytes / sizeof(float));
    return error_double(x, y, n_bytes / sizeof(double));
}
