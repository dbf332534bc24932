/* Orthogonal matching pursuit on a few hundred points: which few features sum up to a target. */
#ifndef SK_ARCHIVE_PLAN_PURSUIT_H
#define SK_ARCHIVE_PLAN_PURSUIT_H

enum { SK_PURSUIT_POINTS = 160, SK_PURSUIT_FEATURES = 64, SK_PURSUIT_TERMS = 5 };

/* features[j] points to n values, already divided by the target: their sum should be 1 everywhere.
 */
struct sk_pursuit {
    int n, count;
    const double *feature[SK_PURSUIT_FEATURES];
    /* results after each step */
    int terms, chosen[SK_PURSUIT_TERMS];
    double rest; /* root mean square of 1 - sum */
    double q[SK_PURSUIT_TERMS][SK_PURSUIT_POINTS], r[SK_PURSUIT_TERMS][SK_PURSUIT_TERMS],
        qb[SK_PURSUIT_TERMS];
    double residual[SK_PURSUIT_POINTS];
    /* each feature without what the chosen terms hold, and the squares of its length before */
    double work[SK_PURSUIT_FEATURES][SK_PURSUIT_POINTS], length[SK_PURSUIT_FEATURES];
};

/* Begin with no terms. */
void sk_pursuit_start(struct sk_pursuit *p);
/* Add feature j (-1: the one that explains most of what is left). 0, or -1 when none does. */
int sk_pursuit_step(struct sk_pursuit *p, int j);
/* The coefficients of the chosen terms; those within 1e-9 of a sixteenth become it. */
void sk_pursuit_solve(const struct sk_pursuit *p, double c[SK_PURSUIT_TERMS]);

/* Solve the normal equations a w = b of least squares by Cholesky's method; w replaces b. Only the
 * lower half of a is read. -1: they are singular. */
enum { SK_NORMAL = 7 };
int sk_normal_solve(double a[SK_NORMAL][SK_NORMAL], double b[SK_NORMAL]);

#endif
