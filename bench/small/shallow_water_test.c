/* The simulation keeps its mass and stays finite, its disturbance grows, and a copied state goes on
 * with the same bits. */
#include "shallow_water.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { N = 48 };

static double total(const double *f)
{
    double t = 0;
    for (int i = 0; i < N * N; i++)
        t += f[i];
    return t;
}

static void mass_is_conserved_and_nothing_blows_up(void **state)
{
    struct shallow_water s;
    assert_int_equal(shallow_water_new(&s, N), 0);
    double before = total(s.field[0]);
    for (int i = 0; i < 400; i++)
        shallow_water_step(&s);
    assert_true(fabs(total(s.field[0]) / before - 1) < 1e-12);
    for (int i = 0; i < N * N; i++)
        assert_true(s.field[0][i] > 100 && s.field[0][i] < 3000);
    shallow_water_free(&s);
}

static void the_disturbance_sets_the_other_velocity_in_motion(void **state)
{
    struct shallow_water s;
    double most = 0;
    assert_int_equal(shallow_water_new(&s, N), 0);
    for (int i = 0; i < 50; i++)
        shallow_water_step(&s);
    for (int i = 0; i < N * N; i++)
        most = fmax(most, fabs(s.field[2][i]));
    assert_true(most > 0.01);
    shallow_water_free(&s);
}

static void a_copied_state_goes_on_with_the_same_bits(void **state)
{
    struct shallow_water a, b;
    assert_int_equal(shallow_water_new(&a, N), 0);
    assert_int_equal(shallow_water_new(&b, N), 0);
    for (int i = 0; i < 30; i++)
        shallow_water_step(&a);
    memcpy(b.field[0], a.field[0], 3 * N * N * sizeof(double));
    for (int i = 0; i < 30; i++) {
        shallow_water_step(&a);
        shallow_water_step(&b);
    }
    assert_memory_equal(a.field[0], b.field[0], 3 * N * N * sizeof(double));
    shallow_water_free(&a);
    shallow_water_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mass_is_conserved_and_nothing_blows_up),
        cmocka_unit_test(the_disturbance_sets_the_other_velocity_in_motion),
        cmocka_unit_test(a_copied_state_goes_on_with_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
