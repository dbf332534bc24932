/* Fields that are all but constant, except in a few places where boxes that lie evenly are not: by default a plan is chosen that suits these places. */
#include "codec/wavelet/tests/within.h"

enum { NZ = 40, NY = 64, NX = 100, N = NZ * NY * NX };
static const struct sk_array a = {SAIKAI_F64, 3, {NZ, NY, NX}};

/* By default, at most `most` times what the better of interpolation and prediction from before takes. */
static void expect(const double *in, double bound, double most)
{
    size_t chosen = bytes_within(&a, in, N, bound, NULL), box = bytes_within(&a, in, N, bound, "plan=0"), before = bytes_within(&a, in, N, bound, "plan=1"), least = box < before ? box : before;
    if ((double)chosen > most * (double)least)
        fail_msg("bound %g: %zu bytes, interpolated %zu, from before %zu", bound, chosen, box, before);
}

/* A flame: cold on one side, hot on the other, and in between a few cells. It begins at `at` of each row, and leans along the other axes. */
static void front(double *in, double at, double along_y, double along_z)
{
    for (size_t i = 0; i < N; i++) {
        double x = (double)(i % NX), y = (double)(i / NX % NY), z = (double)(i / NX / NY);
        in[i] = 300 + 1700 / (1 + exp(-(x - at - along_y * y - along_z * z) / 0.6));
    }
}

static void a_front_that_is_predicted_from_before(void **unused)
{
    (void)unused;
    double *in = malloc(N * sizeof *in);
    assert_non_null(in);
    front(in, 10, 0.3, 0);
    expect(in, 200, 1.05); /* 1.8 times, where boxes that lie evenly say it */
    free(in);
}

/* With the longer reach, which neither of the two has. */
static void a_front_that_is_interpolated(void **unused)
{
    (void)unused;
    double *in = malloc(N * sizeof *in);
    assert_non_null(in);
    front(in, 28, 0.3, 0.2);
    expect(in, 200, 0.9); /* 1 */
    free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_front_that_is_predicted_from_before), cmocka_unit_test(a_front_that_is_interpolated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
