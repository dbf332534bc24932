/* Least squares with few unknowns. Pure. */
#ifndef SK_CODEC_WAVELET_FIT_H
#define SK_CODEC_WAVELET_FIT_H

#include <stddef.h>

enum { FIT_MOST = 16 };

/* gram[i][j], i, j <= n: products of the n regressors and, in place n, the target; symmetric. */
typedef double fit_gram[FIT_MOST + 1][FIT_MOST + 1];

/* Weights x[0, n) that minimise the residual, drawn slightly to prior[]; -1 when there are none. */
int fit_solve(int n, fit_gram gram, const double *prior, double *x);
/* Energy of the residual with weights x. */
double fit_energy(int n, fit_gram gram, const double *x);
/* Sum of a[i] b[i]. */
double fit_dot(const double *a, const double *b, size_t n);

#endif
