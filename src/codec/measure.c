#include "codec/measure.h"

#include <math.h>
#include <string.h>

/* Comparisons with NaN are false and so skip it; Inf is kept out by the two limits. */
#define RANGE(T, LIMIT)                                                                            \
    static double range_##T(const T *x, size_t n)                                                  \
    {                                                                                              \
        T lo = INFINITY, hi = -INFINITY;                                                           \
        for (size_t i = 0; i < n; i++) {                                                           \
            T v = x[i];                                                                            \
            lo = v < lo && v >= -LIMIT ? v : lo;                                                   \
            hi = v > hi && v <= LIMIT ? v : hi;                                                    \
        }                                                                                          \
        return hi >= lo ? (double)hi - (double)lo : 0;                                             \
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

double sk_measure_range(int type, const void *data, size_t n_bytes)
{
    if (type == SAIKAI_F32 || type == SAIKAI_C64)
        return range_float(data, n_bytes / sizeof(float));
    return range_double(data, n_bytes / sizeof(double));
}

double sk_measure_error(int type, const void *x, const void *y, size_t n_bytes)
{
    if (type == SAIKAI_F32 || type == SAIKAI_C64)
        return error_float(x, y, n_bytes / sizeof(float));
    return error_double(x, y, n_bytes / sizeof(double));
}
