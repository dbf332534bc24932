/* Isolated values: found where there are some and nowhere else, and each comes back. */
#include "codec/spikes/find.h"
#include "codec/spikes/list.h"
#include "codec/spikes/smooth.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LENGTH = 4000, ROWS = 60, COLUMNS = 80 };
static const struct sk_array line = {SAIKAI_F64, 1, {LENGTH}}, plane = {SAIKAI_F32, 2, {ROWS, COLUMNS}};

static uint64_t state;

static double noise(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-52 - 1;
}

static void make_line(double *x)
{
    state = 3;
    for (size_t i = 0; i < LENGTH; i++)
        x[i] = sin(0.01 * (double)i) + 1e-4 * noise();
}

static void make_plane(float *x)
{
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)(sin(0.1 * (double)(i / COLUMNS)) * cos(0.08 * (double)(i % COLUMNS)));
}

static void expect(struct sk_spikes *s, const size_t *at, size_t n)
{
    assert_int_equal(s->n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(s->at[i], at[i]);
    sk_spikes_free(s);
}

/* One by one, beside each other, up and down, small and large. */
static void are_found_along_a_line(void **unused)
{
    (void)unused;
    static double x[LENGTH];
    static const size_t at[] = {40, 900, 901, 903, 1700, 2559, 3990};
    static const double height[] = {0.3, 5, 4, -6, -0.4, 1e4, 2};
    struct sk_spikes s;
    make_line(x);
    for (int k = 0; k < 7; k++)
        x[at[k]] += height[k];
    sk_spikes_find(&s, &line, x, 1e-3, NULL, 0);
    expect(&s, at, 7);
}

/* Beside borders, too. */
static void are_found_in_a_plane(void **unused)
{
    (void)unused;
    static float x[ROWS * COLUMNS];
    static const size_t at[] = {3 * COLUMNS + 1, 10 * COLUMNS, 30 * COLUMNS + 41, 31 * COLUMNS + 41, 50 * COLUMNS + 79};
    struct sk_spikes s;
    make_plane(x);
    for (int k = 0; k < 5; k++)
        x[at[k]] += k % 2 ? 0.5f : -3;
    sk_spikes_find(&s, &plane, x, 1e-4, NULL, 0);
    expect(&s, at, 5);
}

/* Smooth, noise, a front and a ridge across a plane, and steps at an angle. */
static void are_not_found_where_there_are_none(void **unused)
{
    (void)unused;
    static double x[LENGTH];
    static float y[ROWS * COLUMNS];
    struct sk_spikes s;
    make_line(x);
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; kind && i < LENGTH; i++)
            x[i] = kind == 1 ? noise() : (double)(i / 50 * 7 % 13);
        for (double bound = 1e-2; bound > 1e-7; bound /= 10) {
            sk_spikes_find(&s, &line, x, bound, NULL, 0);
            expect(&s, NULL, 0);
        }
    }
    for (int kind = 0; kind < 3; kind++) {
        make_plane(y);
        for (size_t i = 0; i < ROWS * COLUMNS; i++) {
            size_t r = i / COLUMNS, c = i % COLUMNS;
            y[i] += kind == 0 ? (c > 37 ? 5 : 0) : kind == 1 ? (c == 37 ? 5 : 0) : (2 * c + 4 * r > 170 ? 5 : 0);
        }
        sk_spikes_find(&s, &plane, y, 1e-4, NULL, 0);
        expect(&s, NULL, 0);
    }
}

/* A fill value is no isolated value, and says nothing of its neighbours; nor is what is not finite. */
static void are_no_fill_values(void **unused)
{
    (void)unused;
    static float x[ROWS * COLUMNS];
    const float fill = 1e20f;
    uint64_t bits = 0;
    const size_t at[] = {30 * COLUMNS + 41};
    struct sk_spikes s;
    memcpy(&bits, &fill, sizeof fill);
    make_plane(x);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        x[i] = i % COLUMNS < 20 || i % 997 == 5 ? fill : i % 1009 == 5 ? NAN : x[i];
    x[at[0]] += 0.5f;
    sk_spikes_find(&s, &plane, x, 1e-4, &bits, 1);
    assert_int_equal(s.n, 1);
    sk_spikes_smooth(&s, &plane, x, &bits);
    assert_true(fabs((double)x[at[0]] - sin(3) * cos(0.08 * 41)) < 1e-3);
    expect(&s, at, 1);
}

static void come_back(const struct sk_spikes *s, const void *in, const void *rest, size_t n, size_t size, double bound)
{
    struct sk_buf list = {0};
    struct saikai_error err;
    uint8_t *back = malloc(n * size);
    assert_non_null(back);
    assert_int_equal(sk_spikes_put(s, in, rest, size, bound, &list, &err), 0);
    memcpy(back, rest, n * size);
    assert_int_equal(sk_spikes_get(list.data, list.len, back, n, size, &err), 0);
    for (size_t i = 0, k = 0; i < n; i++) {
        int is_spike = k < s->n && s->at[k] == i;
        k += (size_t)is_spike;
        if (!is_spike)
            assert_memory_equal(back + i * size, (const uint8_t *)rest + i * size, size);
        else if (size == sizeof(float))
            assert_true(fabs((double)((const float *)in)[i] - (double)((const float *)(void *)back)[i]) <= bound);
        else
            assert_true(fabs(((const double *)in)[i] - ((const double *)(void *)back)[i]) <= bound);
    }
    /* what is cut short or damaged is refused, or gives other values; never more */
    for (size_t m = 0; m < list.len; m++) {
        sk_spikes_get(list.data, m, back, n, size, &err);
        list.data[m] ^= 0x55;
        sk_spikes_get(list.data, list.len, back, n, size, &err);
        list.data[m] ^= 0x55;
    }
    free(back);
    sk_buf_free(&list);
}

/* Near, far, too far for steps of the bound, and with bounds at the ends of what numbers can be. */
static void come_back_within_the_bound(void **unused)
{
    (void)unused;
    enum { N = 300 };
    static double wide[N], wide_rest[N];
    static float narrow[N], narrow_rest[N];
    static const double bounds[] = {1e-3, 0.11, 1e-12, 1e-310, 1.7e308};
    size_t at[N];
    struct sk_spikes s = {.at = at};
    state = 11;
    for (size_t i = 0; i < N; i++) {
        wide_rest[i] = noise();
        wide[i] = i % 4 ? noise() : noise() * pow(10, (double)(i % 300));
        narrow_rest[i] = (float)wide_rest[i];
        narrow[i] = (float)(i % 4 ? noise() : noise() * pow(10, (double)(i % 38)));
        if (i % 3)
            at[s.n++] = i;
    }
    for (int k = 0; k < 5; k++) {
        come_back(&s, wide, wide_rest, N, sizeof *wide, bounds[k]);
        come_back(&s, narrow, narrow_rest, N, sizeof *narrow, bounds[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_found_along_a_line),     cmocka_unit_test(are_found_in_a_plane), cmocka_unit_test(are_not_found_where_there_are_none),
        cmocka_unit_test(are_no_fill_values),         cmocka_unit_test(come_back_within_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
