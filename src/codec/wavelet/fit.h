/* Least squares with few unknowns. Pure. */
#ifndef SK_CODEC_WAVELET_FIT_H
#define SK_CODEC_WAVELET_FIT_H

#include <stddef.h>
#include <string.h>

enum { FIT_MOST = 16 };

/* gram[i][j], i, j <= n: products of the n regressors and, in place n, the target; symmetric. */
typedef double fit_gram[FIT_MOST + 1][FIT_MOST + 1];

/* Weights x[0, n) that minimise the residual, drawn to prior[] with this part of the regressors' energy; -1 when there are
 * none. */
int sk_fit_solve(int n, fit_gram gram, const double *prior, double draw, double *x);
/* Energy of the residual with weights x. */
double sk_fit_energy(int n, fit_gram gram, const double *x);

/* Columns of a batch of points: regressors, then the target. */
enum { FIT_POINTS = 256 };
typedef double fit_batch[FIT_MOST + 1][FIT_POINTS];

/* Sums of products of two columns with two others. Four rows of each are added up in places of their
 * own. */
static inline __attribute__((always_inline)) void fit_dots(const double *a0, const double *a1,
                                                           const double *b0, const double *b1,
                                                           size_t n, double sum[4])
{
    typedef double four __attribute__((vector_size(32)));
    four s[4] = {{0}}, x0, x1, y0, y1;
    for (size_t i = 0; i < n; i += 4) {
        memcpy(&x0, a0 + i, sizeof x0);
        memcpy(&x1, a1 + i, sizeof x1);
        memcpy(&y0, b0 + i, sizeof y0);
        memcpy(&y1, b1 + i, sizeof y1);
        s[0] += x0 * y0;
        s[1] += x0 * y1;
        s[2] += x1 * y0;
        s[3] += x1 * y1;
    }
    for (int k = 0; k < 4; k++)
        sum[k] = (s[k][0] + s[k][1]) + (s[k][2] + s[k][3]);
}

/* Add the products of the first `columns` columns of n points to the lower half of gram. Changes
 * what is behind the n-th point. Here, so that it is compiled for the instruction set of its
 * user. */
static inline __attribute__((always_inline)) void fit_add(fit_batch z, int columns, size_t n,
                                                          fit_gram gram)
{
    for (int g = 0; g < columns; g++)
        for (size_t i = n; i % 4; i++)
            z[g][i] = 0;
    for (int g = 0; g < columns; g += 2)
        for (int h = 0; h <= g; h += 2) {
            int g1 = g + 1 < columns ? g + 1 : g, h1 = h + 1 < columns ? h + 1 : h;
            double sum[4];
            fit_dots(z[g], z[g1], z[h], z[h1], n, sum);
            gram[g][h] += sum[0];
            if (h1 > h && h1 <= g)
                gram[g][h1] += sum[1];
            if (g1 > g) {
                gram[g1][h] += sum[2];
                if (h1 > h)
                    gram[g1][h1] += sum[3];
            }
        }
}

#endif
