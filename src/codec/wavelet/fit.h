/* Least squares with few unknowns. Pure. */
#ifndef SK_CODEC_WAVELET_FIT_H
#define SK_CODEC_WAVELET_FIT_H

#include <stddef.h>
#include <string.h>

enum { FIT_MOST = 16 };

/* gram[i][j], i, j <= n: products of the n regressors and, in place n, the target; symmetric. */
typedef double fit_gram[FIT_MOST + 1][FIT_MOST + 1];

/* Weights x[0, n) that minimise the residual, drawn slightly to prior[]; -1 when there are none. */
int sk_fit_solve(int n, fit_gram gram, const double *prior, double *x);
/* Energy of the residual with weights x. */
double sk_fit_energy(int n, fit_gram gram, const double *x);

/* Sum of a[i] b[i]. Here, so that it is compiled for the instruction set of its user. */
static inline double fit_dot(const double *a, const double *b, size_t n)
{
    typedef double four __attribute__((vector_size(32)));
    four s0 = {0, 0, 0, 0}, s1 = s0, x, y;
    double sum = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        s0 += x * y;
        memcpy(&x, a + i + 4, sizeof x);
        memcpy(&y, b + i + 4, sizeof y);
        s1 += x * y;
    }
    for (; i < n; i++)
        sum += a[i] * b[i];
    s0 += s1;
    return sum + ((s0[0] + s0[1]) + (s0[2] + s0[3]));
}

#endif
