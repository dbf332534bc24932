/* What a piece's values are known by before it is coded: their extremes, what is not finite, and the fill value, counted and looked for in
 * vectors, are those that looking at one value after the other finds, wherever they stand. */
#include "codec/wavelet/special.h"

#include "codec/wavelet/mask/mask.h"
#include "codec/wavelet/wavelet.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

enum { MOST = 1500 };
static double of[MOST];
static float narrow[MOST];

/* Numbers around 3 with a fill value here and there; what is not finite, too, when `strange`. */
static size_t fill_in(int strange, double fill)
{
    size_t n = 20 + next() % (MOST - 20);
    for (size_t i = 0; i < n; i++) {
        of[i] = 3 + (double)(next() % 1000) / 4096;
        of[i] = next() % 9 == 0 ? fill : of[i];
        if (strange && next() % 11 == 0)
            of[i] = next() % 3 == 0 ? NAN : next() % 2 ? INFINITY : -INFINITY;
        narrow[i] = (float)of[i];
        of[i] = narrow[i]; /* the same numbers in both types */
    }
    return n;
}

static double bound_of(const void *arg, double range)
{
    (void)arg;
    return 1e-4 * range;
}

static void check(size_t n, size_t size, double fill)
{
    const void *in = size == sizeof *narrow ? (const void *)narrow : of;
    struct special s;
    double min = INFINITY, max = -INFINITY, low = INFINITY, high = -INFINITY;
    size_t masked = 0, filled = 0;
    sk_special_find(&s, in, n, size, 0, bound_of, NULL);
    for (size_t i = 0; i < n; i++) {
        int strange = !isfinite(of[i]), is_fill = s.has_fill && of[i] == fill;
        masked += strange || is_fill;
        filled += is_fill;
        min = !strange && of[i] < min ? of[i] : min;
        max = !strange && of[i] > max ? of[i] : max;
        low = !strange && !is_fill && of[i] < low ? of[i] : low;
        high = !strange && !is_fill && of[i] > high ? of[i] : high;
    }
    assert_true(s.has_fill);
    assert_int_equal(s.n_masked, masked);
    assert_int_equal(s.n_filled, filled);
    assert_true(s.min == min && s.max == max && s.low == low && s.high == high);
}

static void extremes_are_those_of_all_values(void **unused)
{
    for (int round = 0; round < 400; round++) {
        double fill = (double)(float)(round & 1 ? 1e20 : -9999);
        size_t n = fill_in(round % 4 > 1, fill);
        of[1] = of[n / 2] = of[n - 1] = narrow[1] = narrow[n / 2] = narrow[n - 1] = (float)fill;
        check(n, sizeof *narrow, fill);
        check(n, sizeof *of, fill);
    }
}

static void the_next_value_inwards_is_found(void **unused)
{
    for (int round = 0; round < 400; round++) {
        double fill = (double)(float)(round & 1 ? 1e20 : -9999);
        size_t n = fill_in(0, fill), there = 0;
        double low = INFINITY, high = -INFINITY;
        of[next() % n] = of[next() % n] = fill;
        for (size_t i = 0; i < n; i++) {
            narrow[i] = (float)of[i];
            there += of[i] == fill;
            low = of[i] != fill && of[i] < low ? of[i] : low;
            high = of[i] != fill && of[i] > high ? of[i] : high;
        }
        for (int k = 0; k < 2; k++) {
            const void *in = k ? (const void *)narrow : of;
            double from = fill < low ? fill : low, to = fill > high ? fill : high, found = 0;
            int rc = sk_fill_find(in, n, k ? sizeof *narrow : sizeof *of, &from, &to, &found);
            assert_int_equal(rc, there > 1);
            assert_true(!rc || (found == fill && from == low && to == high));
        }
    }
}

enum { NZ = 6, NY = 36, NX = 50, FIELD = NZ * NY * NX, FIELDS = 12, FAR = 4, FAR_FIELDS = 2 };
static double fields[FIELDS * FIELD];

/* Fields behind each other, each 0 where land is: near 0, far from it, near it again. */
static void make_fields(void)
{
    const double from[FIELDS] = {[FAR] = 35, [FAR + 1] = 12}, size[FIELDS] = {0.02, 0.01, 0.03, 0.002, 1, 3, 0.01, 0.03, 0, 0.02, 0.01, 0.04};
    for (size_t i = 0; i < FIELDS * FIELD; i++) {
        double x = (double)(i % NX), y = (double)(i / NX % NY), z = (double)(i / (NX * NY) % NZ);
        int land = sin(0.13 * x) + cos(0.21 * y) + 0.3 * sin(x * y) > 1.2 - 0.1 * z;
        fields[i] = land ? 0 : from[i / FIELD] + size[i / FIELD] * sin(0.15 * x + 0.1 * y - 0.3 * z);
    }
}

static size_t coded(const struct sk_array *a, const double *in, double bound, double *out)
{
    struct sk_codec_options opt = {.bound = {SK_BOUND_ABS, bound}};
    struct saikai_error err = {0};
    size_t cap = sk_codec_wavelet.max_encoded(a), size = 0;
    void *code = malloc(cap);
    assert_non_null(code);
    assert_int_equal(sk_codec_wavelet.encode(a, in, &opt, code, cap, &size, &err), 0);
    assert_int_equal(sk_codec_wavelet.decode(a, code, size, out, &err), 0);
    free(code);
    return size;
}

/* Land is 0 in all of several fields in one array, and masked where that is worth it: in those that are far from 0. All in one array take about what they do apart. */
static void a_fill_value_of_some_planes_is_masked_there(void **unused)
{
    enum { FROM = FAR * FIELD, TO = FROM + FAR_FIELDS * FIELD };
    static double back[FIELDS * FIELD];
    static uint8_t mask[FIELDS * FIELD];
    struct sk_array a = {.type = SAIKAI_F64, .ndims = 3, .dims = {FIELDS * NZ, NY, NX}}, one = a;
    struct special s;
    one.dims[0] = NZ;
    make_fields();
    fields[5] = NAN; /* where nothing else is masked */
    sk_special_find(&s, fields, FIELDS * FIELD, sizeof *fields, NY * NX, bound_of, NULL);
    sk_special_mask(&s, fields, FIELDS * FIELD, sizeof *fields, mask);
    assert_true(s.has_fill && s.n_stretches && s.n_masked == s.n_filled + 1 && s.low < 0);
    size_t masked = 0;
    for (size_t i = 0; i < FIELDS * FIELD; i++) {
        int far = i >= FROM && i < TO;
        assert_true(i == 5 || !mask[i] || fields[i] == 0);
        assert_true(!far || fields[i] != 0 || mask[i]);
        masked += mask[i];
    }
    assert_int_equal(masked, s.n_masked);
    for (double bound = 1e-2; bound > 1e-5; bound /= 10) {
        size_t all = coded(&a, fields, bound, back), apart = 0;
        for (size_t i = 0; i < FIELDS * FIELD; i++)
            assert_true(fields[i] == fields[i] ? fabs(back[i] - fields[i]) <= bound : !memcmp(&back[i], &fields[i], sizeof *back));
        for (size_t k = 0; k < FIELDS; k++)
            apart += coded(&one, fields + k * FIELD, bound, back);
        if (10 * all > 11 * apart)
            fail_msg("%zu bytes of fields in one array, %zu of these apart within %g", all, apart, bound);
    }
}

enum { PLANES = 40, HIGH = 33, WIDE = 70, PLANE = HIGH * WIDE, SORTS = 7 };

/* Planes of a few sorts in any order: some of runs that come again, some that are like none. */
static void make_planes(uint8_t *mask)
{
    for (size_t p = 0, from = 0; p < PLANES; p++) {
        from = next() % 5 == 0 ? next() % (p + 1) : from + 1;
        if (from < p && next() % 9) {
            memcpy(mask + p * PLANE, mask + from * PLANE, PLANE);
            continue;
        }
        size_t edge = next() % WIDE;
        for (size_t i = 0; i < PLANE; i++)
            mask[p * PLANE + i] = i % WIDE + i / WIDE % SORTS < edge;
    }
}

static void planes_of_a_mask_that_come_again_are_named(void **unused)
{
    static uint8_t mask[PLANES * PLANE], back[PLANES * PLANE];
    size_t offset[2] = {0, PLANES / 2 * PLANE};
    struct lift_shape shape = {.nb = 2, .n = {PLANES / 2, HIGH, WIDE}, .stride = {PLANE, WIDE, 1}, .b_offset = offset};
    struct saikai_error err;
    for (int round = 0; round < 60; round++) {
        struct sk_buf out = {0};
        enum mask_form form;
        make_planes(mask);
        assert_int_equal(sk_piece_mask_put(&shape, mask, &out, &form, &err), 0);
        assert_int_equal(form, MASK_REPEATS);
        memset(back, 2, sizeof back);
        assert_int_equal(sk_piece_mask_get(&shape, form, out.data, out.len, back, &err), 0);
        assert_memory_equal(back, mask, sizeof mask);
        for (int k = 0; k < 40; k++) { /* damaged: refused, or another mask */
            uint8_t *at = out.data + (k % 2 ? next() % out.len : next() % 12), was = *at;
            *at ^= (uint8_t)(1 + next() % 255);
            sk_piece_mask_get(&shape, form, out.data, out.len, back, &err);
            *at = was;
            sk_piece_mask_get(&shape, form, out.data, next() % out.len, back, &err);
        }
        sk_buf_free(&out);
    }
}

/* Land that is the same in several fields costs little more than in one. */
static void masks_of_several_fields_are_coded_once(void **unused)
{
    enum { LEVELS = 6, N = LEVELS * PLANE };
    static uint8_t mask[4 * N];
    size_t none = 0, bytes[2];
    struct saikai_error err;
    for (size_t i = 0; i < N; i++) {
        double x = (double)(i % WIDE), y = (double)(i / WIDE % HIGH), z = (double)(i / PLANE);
        mask[i] = sin(0.13 * x) + cos(0.21 * y) + 0.3 * sin(x * y) > 1.2 - 0.1 * z;
    }
    for (size_t k = 1; k < 4; k++)
        memcpy(mask + k * N, mask, N);
    for (size_t times = 1; times <= 4; times += 3) {
        struct lift_shape shape = {.nb = 1, .n = {times * LEVELS, HIGH, WIDE}, .stride = {PLANE, WIDE, 1}, .b_offset = &none};
        struct sk_buf out = {0};
        enum mask_form form;
        assert_int_equal(sk_piece_mask_put(&shape, mask, &out, &form, &err), 0);
        assert_int_equal(form, times > 1 ? MASK_REPEATS : MASK_BILEVEL);
        bytes[times > 1] = out.len;
        sk_buf_free(&out);
    }
    if (bytes[1] > bytes[0] + 8)
        fail_msg("%zu bytes of a mask, %zu of four times the same", bytes[0], bytes[1]);
}

/* A fill value costs no error, so that it is no part of the mean either: over half of a field, it left the other half 3 decibels short. */
static void fill_values_are_out_of_a_psnr(void **unused)
{
    enum { N = WIDE * WIDE };
    const struct sk_array a = {SAIKAI_F64, 2, {WIDE, WIDE}};
    double *in = malloc(N * sizeof *in), *back = malloc(N * sizeof *in);
    size_t cap = sk_codec_wavelet.max_encoded(&a), size;
    void *code = malloc(cap);
    (void)unused;
    assert_true(in && back && code);
    for (int asked = 40; asked <= 80; asked += 20) {
        struct sk_codec_options opt = {.bound = {SK_BOUND_PSNR, asked}};
        double low = INFINITY, high = -INFINITY, square = 0, used = 0;
        for (size_t i = 0; i < N; i++) {
            double x = (double)(i % WIDE) / WIDE, y = (double)(i / WIDE) / WIDE;
            in[i] = x + 0.3 * sin(5 * y) > 0.5 ? 1e20 : sin(9 * x * y) + 0.01 * (double)(next() % 1000) / 1000;
        }
        assert_int_equal(sk_codec_wavelet.encode(&a, in, &opt, code, cap, &size, NULL), 0);
        assert_int_equal(sk_codec_wavelet.decode(&a, code, size, back, NULL), 0);
        for (size_t i = 0; i < N; i++) {
            if (in[i] == 1e20) {
                assert_true(back[i] == 1e20);
                continue;
            }
            low = fmin(low, in[i]);
            high = fmax(high, in[i]);
            square += (in[i] - back[i]) * (in[i] - back[i]);
            used++;
        }
        double got = 20 * log10((high - low) / sqrt(square / used));
        if (!(got >= asked && got <= asked + 0.5))
            fail_msg("psnr %d asked for, %.3f given", asked, got);
    }
    free(in);
    free(back);
    free(code);
}

/* A coast that moves little from plane to plane takes little of a mask: it is masked where values lie twenty bounds from land, and not where they lie within one. */
static void a_coast_that_moves_slowly_is_cheap(void **unused)
{
    (void)unused;
    enum { STACK = 24, ROWS = 60, ROW = 80, N = STACK * ROWS * ROW };
    struct sk_fill_stretch r[SK_FILL_STRETCHES];
    double *x = malloc(N * sizeof *x);
    assert_non_null(x);
    for (int far = 0; far < 2; far++) {
        for (int i = 0; i < N; i++) {
            int z = i / (ROWS * ROW), dy = i / ROW % ROWS - ROWS / 2, dx = i % ROW - ROW / 2, reach = 12 + z / 4;
            x[i] = dx * dx + dy * dy < reach * reach ? 0 : (far ? 20 : 0.5) + 0.1 * sin(0.3 * dx + 0.2 * z) * cos(0.25 * dy);
        }
        int count = sk_fill_stretches(x, N, sizeof *x, ROWS * ROW, 0, 1, r);
        size_t masked = 0;
        for (int k = 0; k < count; k++)
            masked += r[k].to - r[k].from;
        assert_true(far ? masked > N * 3 / 4 : masked == 0);
    }
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_coast_that_moves_slowly_is_cheap),
        cmocka_unit_test(fill_values_are_out_of_a_psnr),
        cmocka_unit_test(extremes_are_those_of_all_values),
        cmocka_unit_test(the_next_value_inwards_is_found),
        cmocka_unit_test(a_fill_value_of_some_planes_is_masked_there),
        cmocka_unit_test(planes_of_a_mask_that_come_again_are_named),
        cmocka_unit_test(masks_of_several_fields_are_coded_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
