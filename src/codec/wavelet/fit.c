/* Solves the normal equations, held near weights that are given, and says what error a solution
 * leaves. */
#include "codec/wavelet/fit.h"

#include <math.h>

int sk_fit_solve(int n, fit_gram gram, const double *prior, double draw, double *x)
{
    double c[FIT_MOST][FIT_MOST], ridge = 0;
    for (int i = 0; i < n; i++)
        ridge += gram[i][i] * draw;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double s = gram[i][j] + (i == j ? ridge + 1e-300 : 0);
            for (int k = 0; k < j; k++)
                s -= c[i][k] * c[j][k];
            if (i == j && !(s > 0))
                return -1;
            c[i][j] = i == j ? sqrt(s) : s / c[j][j];
        }
    for (int i = 0; i < n; i++) {
        double s = gram[i][n] + ridge * prior[i];
        for (int k = 0; k < i; k++)
            s -= c[i][k] * x[k];
        x[i] = s / c[i][i];
    }
    for (int i = n; i-- > 0;) {
        double s = x[i];
        for (int k = i + 1; k < n; k++)
            s -= c[k][i] * x[k];
        x[i] = s / c[i][i];
    }
    for (int i = 0; i < n; i++)
        if (!(fabs(x[i]) < 15))
            return -1;
    return 0;
}

double sk_fit_energy(int n, fit_gram gram, const double *x)
{
    double s = gram[n][n];
    for (int i = 0; i < n; i++) {
        s -= 2 * x[i] * gram[i][n];
        for (int j = 0; j < n; j++)
            s += x[i] * x[j] * gram[i][j];
    }
    return s > 0 ? s : 0;
}
