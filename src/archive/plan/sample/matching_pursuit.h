/* Orthogonal matching pursuit on a few hundred points: which few features sum up to a target. */
#ifndef SK_ARCHIVE_SAMPLE_MATCHING_PURSUIT_H
#define SK_ARCHIVE_SAMPLE_MATCHING_PURSUIT_H

enum { SK_MATCHING_POINTS = 160, SK_MATCHING_FEATURES = 64, SK_MATCHING_TERMS = 5 };

/* features[j] points to n values, already divided by the target: their sum should be 1 everywhere.
 */
struct sk_matching_pursuit {
    int n, count;
    const double *feature[SK_MATCHING_FEATURES];
    /* results after each step */
    int terms, chosen[SK_MATCHING_TERMS];
    double rest; /* root mean square of 1 - sum */
    double q[SK_MATCHING_TERMS][SK_MATCHING_POINTS], r[SK_MATCHING_TERMS][SK_MATCHING_TERMS],
        qb[SK_MATCHING_TERMS];
    double residual[SK_MATCHING_POINTS];
    /* each feature without what the chosen terms hold, and the squares of its length before */
    double work[SK_MATCHING_FEATURES][SK_MATCHING_POINTS], length[SK_MATCHING_FEATURES];
};

/* Begin with no terms. */
void sk_matching_pursuit_start(struct sk_matching_pursuit *p);
/* Add feature j (-1: the one that explains most of what is left). 0, or -1 when none does. */
int sk_matching_pursuit_step(struct sk_matching_pursuit *p, int j);
/* The coefficients of the chosen terms; those within 1e-9 of a sixteenth become it. */
void sk_matching_pursuit_solve(const struct sk_matching_pursuit *p, double c[SK_MATCHING_TERMS]);

/* Solve the normal equations a w = b of least squares by Cholesky's method; w replaces b. Only the
 * lower half of a is read. -1: they are singular. */
enum { SK_NORMAL = 7 };
int sk_normal_solve(double a[SK_NORMAL][SK_NORMAL], double b[SK_NORMAL]);

#endif
