/* How much finer the bounds of coarser levels are follows from the data: bytes beside those of one factor for all, and the bound holds. */
#include "codec/wavelet/tests/within.h"

static uint64_t state;

/* Between -1 and 1. */
static double noise(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-52 - 1;
}

/* What is chosen takes at most `most` times the bytes of a quarter for each level. */
static void expect(const struct sk_array *a, const double *in, size_t n, double bound, double most)
{
    size_t chosen = bytes_within(a, in, n, bound, NULL), usual = bytes_within(a, in, n, bound, "alpha=1.25");
    if ((double)chosen > most * (double)usual)
        fail_msg("%d dimensions: %zu bytes, a quarter for each level %zu", a->ndims, chosen, usual);
}

/* Tremors: each comes of pushes that nothing foretells, and fades. */
static void of_tremors_along_a_line(void **unused)
{
    (void)unused;
    enum { N = 1 << 17, EACH = 8192 };
    const struct sk_array a = {SAIKAI_F64, 1, {N}};
    double *in = malloc(N * sizeof *in), x = 0, v = 0;
    assert_non_null(in);
    state = 7;
    for (size_t i = 0; i < N; i++) {
        v += -0.3 * x - 0.1 * v + noise();
        x += v;
        in[i] = x * exp(-(double)(i % EACH) / 1500);
    }
    expect(&a, in, N, 0.1, 0.95);
    free(in);
}

static void of_noise_in_a_plane(void **unused)
{
    (void)unused;
    enum { SIDE = 400 };
    const struct sk_array a = {SAIKAI_F64, 2, {SIDE, SIDE}};
    double *in = malloc(SIDE * SIDE * sizeof *in);
    assert_non_null(in);
    state = 7;
    for (size_t i = 0; i < SIDE * SIDE; i++)
        in[i] = 20 * sin(0.01 * (double)(i % SIDE)) + 20 * cos(0.013 * (double)(i / SIDE)) + noise() + noise();
    expect(&a, in, SIDE * SIDE, 0.4, 0.98);
    free(in);
}

/* Nothing is lost where a quarter was right. */
static void of_a_smooth_box(void **unused)
{
    (void)unused;
    enum { SIDE = 64 };
    const struct sk_array a = {SAIKAI_F64, 3, {SIDE, SIDE, SIDE}};
    double *in = malloc(SIDE * SIDE * SIDE * sizeof *in);
    assert_non_null(in);
    for (size_t i = 0; i < SIDE * SIDE * SIDE; i++) {
        double x = (double)(i % SIDE), y = (double)(i / SIDE % SIDE), z = (double)(i / SIDE / SIDE);
        in[i] = sin(0.2 * x + 0.05 * y * sin(0.1 * z)) + cos(0.17 * y - 0.11 * x) * sin(0.23 * z);
    }
    expect(&a, in, SIDE * SIDE * SIDE, 1e-3, 1.02);
    expect(&a, in, SIDE * SIDE * SIDE, 1e-5, 1.02);
    free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_tremors_along_a_line), cmocka_unit_test(of_noise_in_a_plane), cmocka_unit_test(of_a_smooth_box)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
