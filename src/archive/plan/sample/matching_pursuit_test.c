/* The pursuit against brute force: each step takes the feature after which the least is left, what is left is what its coefficients
 * leave, and what is no feature is none. */
#include "archive/plan/sample/matching_pursuit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { N = 37, FEATURES = 9 };

static double feature[FEATURES][N];
static struct sk_matching_pursuit p;

static double random_of(uint64_t *x)
{
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return (double)(*x >> 11) / (double)(1ull << 53);
}

static void begin(uint64_t seed)
{
    p.n = N;
    p.count = FEATURES;
    for (int j = 0; j < FEATURES; j++) {
        for (int i = 0; i < N; i++)
            feature[j][i] = (0.2 + j) * (random_of(&seed) - 0.4);
        p.feature[j] = feature[j];
    }
}

/* What the best sum of these features leaves of 1 (root mean square), by Gauss's elimination of the normal equations. */
static double left_by(const int *of, int terms, double *c)
{
    double a[SK_MATCHING_TERMS][SK_MATCHING_TERMS + 1] = {{0}}, sum = 0;
    for (int k = 0; k < terms; k++)
        for (int i = 0; i < N; i++) {
            for (int l = 0; l < terms; l++)
                a[k][l] += feature[of[k]][i] * feature[of[l]][i];
            a[k][terms] += feature[of[k]][i];
        }
    for (int k = 0; k < terms; k++)
        for (int r = k + 1; r < terms; r++) {
            double f = a[r][k] / a[k][k];
            for (int l = k; l <= terms; l++)
                a[r][l] -= f * a[k][l];
        }
    for (int k = terms; k-- > 0;) {
        c[k] = a[k][terms];
        for (int l = k + 1; l < terms; l++)
            c[k] -= a[k][l] * c[l];
        c[k] /= a[k][k];
    }
    for (int i = 0; i < N; i++) {
        double v = 1;
        for (int k = 0; k < terms; k++)
            v -= c[k] * feature[of[k]][i];
        sum += v * v;
    }
    return sqrt(sum / N);
}

static void each_step_leaves_the_least(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 60; seed++) {
        int of[SK_MATCHING_TERMS] = {0};
        double c[SK_MATCHING_TERMS], mine[SK_MATCHING_TERMS];
        begin(seed * 977);
        sk_matching_pursuit_start(&p);
        assert_true(p.terms == 0 && p.rest == 1);
        for (int k = 0; k < SK_MATCHING_TERMS; k++) {
            int told = seed % 2 && !k ? (int)(seed % FEATURES) : -1; /* the first one is given, or found as all are */
            double least = INFINITY;
            for (int j = 0; j < FEATURES; j++) {
                int used = told >= 0 && j != told;
                for (int i = 0; i < k; i++)
                    used |= p.chosen[i] == j;
                of[k] = j;
                if (!used)
                    least = fmin(least, left_by(of, k + 1, mine));
            }
            assert_int_equal(sk_matching_pursuit_step(&p, told), 0);
            assert_int_equal(p.terms, k + 1);
            of[k] = p.chosen[k];
            double left = left_by(of, k + 1, mine);
            if (fabs(left - least) > 1e-9 || fabs(p.rest - left) > 1e-9)
                fail_msg("seed %d, term %d: %.12g is left, %.12g could be; it says %.12g", (int)seed, k, left, least, p.rest);
            sk_matching_pursuit_solve(&p, c);
            for (int i = 0; i <= k; i++)
                assert_true(fabs(c[i] - mine[i]) < 1e-8 * (1 + fabs(mine[i])));
        }
        assert_int_equal(sk_matching_pursuit_step(&p, -1), -1); /* no more than so many */
        assert_int_equal(p.terms, SK_MATCHING_TERMS);
    }
}

/* 1 = 2 f0 + f3/16 - 3 f5 + 0.3 f6: the first three come out exactly. */
static void simple_coefficients_are_exact(void **state)
{
    (void)state;
    double c[SK_MATCHING_TERMS];
    begin(5);
    for (int i = 0; i < N; i++)
        feature[5][i] = (2 * feature[0][i] + feature[3][i] / 16 + 0.3 * feature[6][i] - 1) / 3;
    sk_matching_pursuit_start(&p);
    static const int of[] = {0, 3, 6, 5};
    for (int k = 0; k < 4; k++)
        assert_int_equal(sk_matching_pursuit_step(&p, of[k]), 0);
    assert_true(p.rest < 1e-12);
    sk_matching_pursuit_solve(&p, c);
    assert_true(c[0] == 2 && c[1] == 1.0 / 16 && c[3] == -3 && fabs(c[2] - 0.3) < 1e-12);
    for (int i = 0; i < N; i++) /* a coefficient of one and a little stays what it is */
        feature[1][i] = 1 / (1 + 1e-6);
    sk_matching_pursuit_start(&p);
    assert_int_equal(sk_matching_pursuit_step(&p, 1), 0);
    sk_matching_pursuit_solve(&p, c);
    assert_true(fabs(c[0] - (1 + 1e-6)) < 1e-12);
}

static void what_adds_nothing_is_not_taken(void **state)
{
    (void)state;
    begin(11);
    for (int i = 0; i < N; i++) {
        feature[2][i] = 0;
        feature[7][i] = i == 3 ? NAN : 1;
        feature[8][i] = i == 5 ? INFINITY : 1;
    }
    sk_matching_pursuit_start(&p);
    assert_int_equal(sk_matching_pursuit_step(&p, 2), -1);
    assert_int_equal(sk_matching_pursuit_step(&p, 7), -1);
    assert_int_equal(sk_matching_pursuit_step(&p, 8), -1);
    assert_int_equal(p.terms, 0);
    for (int k = 0; k < SK_MATCHING_TERMS; k++) {
        assert_int_equal(sk_matching_pursuit_step(&p, -1), 0);
        assert_true(p.chosen[k] != 2 && p.chosen[k] != 7 && p.chosen[k] != 8);
    }
    /* all are of one direction: there is one term, and no other to be found */
    begin(13);
    for (int j = 1; j < FEATURES; j++)
        for (int i = 0; i < N; i++)
            feature[j][i] = feature[0][i] * (j % 2 ? 4 : -0.5);
    sk_matching_pursuit_start(&p);
    assert_int_equal(sk_matching_pursuit_step(&p, -1), 0);
    assert_int_equal(sk_matching_pursuit_step(&p, -1), -1);
    assert_int_equal(p.terms, 1);
    p.count = 0;
    sk_matching_pursuit_start(&p);
    assert_int_equal(sk_matching_pursuit_step(&p, -1), -1);
}

static void normal_equations_are_solved(void **state)
{
    (void)state;
    for (uint64_t seed = 3; seed < 40; seed++) {
        uint64_t x = seed * 7919;
        double g[12][SK_NORMAL], a[SK_NORMAL][SK_NORMAL], full[SK_NORMAL][SK_NORMAL] = {{0}}, b[SK_NORMAL], w[SK_NORMAL];
        for (int r = 0; r < 12; r++)
            for (int k = 0; k < SK_NORMAL; k++)
                g[r][k] = random_of(&x) - 0.5;
        for (int k = 0; k < SK_NORMAL; k++) {
            w[k] = b[k] = random_of(&x) - 0.5;
            for (int l = 0; l < SK_NORMAL; l++) {
                for (int r = 0; r < 12; r++)
                    full[k][l] += g[r][k] * g[r][l];
                a[k][l] = l > k ? NAN : full[k][l]; /* the upper half is not looked at */
            }
        }
        assert_int_equal(sk_normal_solve(a, w), 0);
        for (int k = 0; k < SK_NORMAL; k++) {
            double v = -b[k];
            for (int l = 0; l < SK_NORMAL; l++)
                v += full[k][l] * w[l];
            assert_true(fabs(v) < 1e-9);
        }
    }
    double none[SK_NORMAL][SK_NORMAL] = {{0}}, w[SK_NORMAL] = {1};
    assert_int_equal(sk_normal_solve(none, w), -1);
    for (int k = 0; k < SK_NORMAL; k++)
        none[k][k] = k == 5 ? -1 : 1;
    assert_int_equal(sk_normal_solve(none, w), -1);
    none[5][5] = NAN;
    assert_int_equal(sk_normal_solve(none, w), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_leaves_the_least),
        cmocka_unit_test(simple_coefficients_are_exact),
        cmocka_unit_test(what_adds_nothing_is_not_taken),
        cmocka_unit_test(normal_equations_are_solved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
