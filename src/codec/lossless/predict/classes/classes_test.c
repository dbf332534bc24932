/* Classes come back, and neighbours that tell something save bits. */
#include "codec/lossless/predict/classes/wide.h"

#include "codec/samples.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

/* Classes whose spread follows the row before. */
static void make(uint8_t *c, size_t n, size_t row, int kind, uint64_t seed)
{
    uint64_t s = seed;
    for (size_t i = 0; i < n; i++) {
        uint64_t r = sk_sample_next(&s) >> 20;
        int middle = kind == 0 ? 0 : kind == 1 ? 40 + (int)(i % (row + 1)) % 50 : 60;
        int v = kind == 3 ? (int)(r % 128) : middle + (int)((r & 7) + (r >> 3 & 7)) / 2 - 3;
        c[i] = (uint8_t)(kind == 4 ? 127 : v < 0 ? 0 : v > 127 ? 127 : v);
    }
}

static void classes_come_back(void **state)
{
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 63, 64, 65, 1000, 4096, 70001};
    for (size_t z = 0; z < sizeof sizes / sizeof *sizes; z++)
        for (int kind = 0; kind < 5; kind++)
            for (size_t row = 0; row < 300; row = 2 * row + 17)
                for (int masked = 0; masked < 3; masked++) { /* 2: in 32 lanes */
                    size_t n = sizes[z];
                    if (masked == 2 && n < WIDE_LEAST)
                        continue;
                    uint8_t *c = malloc(n + 1), *d = malloc(n + 1), *skip = calloc(1, n + 1);
                    struct sk_buf b = {0};
                    make(c, n, row, kind, n + 1 + row);
                    for (size_t i = 0; i < n; i++)
                        skip[i] = (i / 7) % 3 == 0;
                    struct sk_class_plane p = {.n = n, .skip = masked == 1 ? skip : NULL, .wide = masked == 2};
                    sk_class_lags(&p, row, row * 20);
                    sk_classes_encode(&p, c, &b);
                    assert_true(sk_buf_ok(&b));
                    struct sk_rd r = sk_rd_init(b.data, b.len);
                    assert_int_equal(sk_classes_decode(&p, &r, d), 0);
                    assert_int_equal(sk_rd_left(&r), 0);
                    for (size_t i = 0; i < n; i++)
                        if (masked != 1 || !skip[i])
                            assert_int_equal(c[i], d[i]);
                    /* one byte fewer is damage */
                    r = sk_rd_init(b.data, b.len - 1);
                    assert_int_equal(sk_classes_decode(&p, &r, d), -1);
                    sk_buf_free(&b);
                    free(c);
                    free(d);
                    free(skip);
                }
}

static void neighbours_save_bits(void **state)
{
    /* stripes of ten columns: west and the row before know them */
    enum { ROW = 100, N = 100 * 1000 };
    uint8_t *c = malloc(N);
    uint64_t s = 1;
    struct sk_buf b = {0};
    for (size_t i = 0; i < N; i++)
        c[i] = (uint8_t)(i >= ROW ? c[i - ROW]
                         : i % 10 ? c[i - 1]
                                  : (sk_sample_next(&s) >> 30) % 120 / 40 * 40);
    struct sk_class_plane p = {.n = N};
    sk_class_lags(&p, ROW, 0);
    sk_classes_encode(&p, c, &b);
    assert_true((double)b.len * 8 < 0.5 * sk_classes_cost(&p, c));
    sk_buf_free(&b);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_come_back),
        cmocka_unit_test(neighbours_save_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
