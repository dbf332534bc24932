/* Variants for different instruction sets write and read the same bits. */
#include "codec/wavelet/kernel/causal.h"
#include "codec/wavelet/kernel/lift.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NZ = 17, NY = 26, NX = 41, N = NZ * NY * NX };

static const size_t no_offset[1] = {0};
static const struct lift_shape shape = {1, {NZ, NY, NX}, {NY * NX, NX, 1}, no_offset, 7};

struct written {
    struct sk_buf head, codes;
};

static void fill(float *f, double *d)
{
    uint32_t noise = 12345;
    for (size_t i = 0; i < N; i++) {
        noise = noise * 1664525u + 1013904223u;
        d[i] = sin(0.05 * (double)(i % NX)) * cos(0.09 * (double)(i / NX)) + (noise >> 8) * 1e-9;
        f[i] = (float)d[i];
    }
}

static void set_up(struct lift *l, size_t size)
{
    assert_int_equal(sk_lift_init(l, &shape, size, 0, 3, NULL), 0);
    sk_lift_set_bounds(l, 1e-4, 1.25, 4, 0, 1);
    l->mean = 0.25;
    l->fine = 1;
    l->fit = 1;
}

/* The few points that the piece stores as they are: their type rounds a miss of the whole bound up. */
static void stored_exactly(char exact[N], const struct lift *l)
{
    assert_true(l->n_exceptions < 4);
    for (size_t i = 0; i < l->n_exceptions; i++)
        exact[l->exception[i]] = 1;
}

static void finish(struct sk_plane_writer *codes, struct written *w)
{
    assert_int_equal(sk_plane_writer_finish(codes, &w->codes, NULL), 0);
    sk_plane_writer_free(codes);
}

static void compare(const struct written *w, int n)
{
    for (int i = 1; i < n; i++) {
        assert_int_equal(w[0].head.len, w[i].head.len);
        assert_int_equal(w[0].codes.len, w[i].codes.len);
        assert_memory_equal(w[0].head.data, w[i].head.data, w[0].head.len);
        assert_memory_equal(w[0].codes.data, w[i].codes.data, w[0].codes.len);
    }
}

static void release(struct written *w, int n)
{
    for (int i = 0; i < n; i++) {
        sk_buf_free(&w[i].head);
        sk_buf_free(&w[i].codes);
    }
}

enum { VARIANTS = 2 };

/* How many of these this processor has: for any, for AVX2. */
static int variants(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2") ? 2 : 1;
#else
    return 1;
#endif
}

#ifdef __x86_64__
#define EACH_VARIANT(name) {name, name##_avx2}
#else
#define EACH_VARIANT(name) {name, name}
#endif

#define DEFINE_LIFT_TEST(T, SUFFIX)                                                                \
    static void test_lift_##SUFFIX(void **unused)                                                  \
    {                                                                                              \
        static float f[N];                                                                         \
        static double d[N];                                                                        \
        static T out[VARIANTS][N];                                                                 \
        static char exact[N];                                                                      \
        int (*const encode[])(struct lift *, const T *, const uint8_t *, struct sk_buf *, struct sk_plane_writer *, struct saikai_error *) = \
            EACH_VARIANT(sk_lift_encode_##SUFFIX);                                                 \
        int (*const decode[])(struct lift *, T *, const uint8_t *, struct sk_rd *, struct sk_plane_reader *, struct saikai_error *) = \
            EACH_VARIANT(sk_lift_decode_##SUFFIX);                                                 \
        struct written w[VARIANTS] = {0};                                                          \
        int n = variants();                                                                        \
        fill(f, d);                                                                                \
        const T *in =                                                                              \
            sizeof(T) == sizeof(float) ? (const T *)(const void *)f : (const T *)(const void *)d;  \
        for (int i = 0; i < n; i++) {                                                              \
            struct lift l;                                                                         \
            struct sk_plane_writer *codes = sk_plane_writer_new(N);                                \
            set_up(&l, sizeof(T));                                                                 \
            assert_int_equal(encode[i](&l, in, NULL, &w[i].head, codes, NULL), 0);                 \
            stored_exactly(exact, &l);                                                             \
            finish(codes, &w[i]);                                                                  \
            sk_lift_free(&l);                                                                      \
        }                                                                                          \
        compare(w, n);                                                                             \
        for (int i = 0; i < n; i++) {                                                              \
            struct lift l;                                                                         \
            struct sk_plane_reader *codes;                                                         \
            struct sk_rd head = sk_rd_init(w[0].head.data, w[0].head.len);                         \
            set_up(&l, sizeof(T));                                                                 \
            assert_int_equal(sk_plane_reader_new(&codes, w[0].codes.data, w[0].codes.len, NULL),   \
                             0);                                                                   \
            assert_int_equal(decode[i](&l, out[i], NULL, &head, codes, NULL), 0);                  \
            sk_plane_reader_free(codes);                                                           \
            sk_lift_free(&l);                                                                      \
            assert_memory_equal(out[0], out[i], sizeof out[0]);                                    \
        }                                                                                          \
        for (size_t k = 0; k < N; k++)                                                             \
            assert_true(exact[k] || fabs((double)out[0][k] - (double)in[k]) <= 1e-4);              \
        release(w, n);                                                                             \
    }
DEFINE_LIFT_TEST(float, f32)
DEFINE_LIFT_TEST(double, f64)

static void set_up_causal(struct causal *c, double bound)
{
    assert_int_equal(sk_causal_init(c, &shape, sizeof(double), 0, NULL), 0);
    c->bound = bound;
    c->step = 2 * bound;
    c->base = -1;
}

static void check_causal(double bound, int narrow)
{
    static float f[N];
    static double d[N], out[2][N];
    struct written w[2] = {0};
    int n = variants();
    fill(f, d);
    for (int i = 0; i < n; i++) {
        struct causal c;
        struct sk_plane_writer *codes = sk_plane_writer_new(N);
        set_up_causal(&c, bound);
        assert_int_equal(
            (i ? sk_causal_encode_avx2 : sk_causal_encode_plain)(&c, d, NULL, &w[i].head, codes, NULL),
            0);
        finish(codes, &w[i]);
        assert_int_equal(c.bits < 17, narrow);
        sk_causal_free(&c);
    }
    compare(w, n);
    for (int i = 0; i < n; i++) {
        struct causal c;
        struct sk_plane_reader *codes;
        struct sk_rd head = sk_rd_init(w[0].head.data, w[0].head.len);
        set_up_causal(&c, bound);
        assert_int_equal(sk_plane_reader_new(&codes, w[0].codes.data, w[0].codes.len, NULL), 0);
        assert_int_equal(
            (i ? sk_causal_decode_avx2 : sk_causal_decode_plain)(&c, out[i], NULL, &head, codes, NULL),
            0);
        sk_plane_reader_free(codes);
        sk_causal_free(&c);
        assert_memory_equal(out[0], out[i], sizeof out[0]);
    }
    for (size_t k = 0; k < N; k++)
        assert_true(fabs(out[0][k] - d[k]) <= bound * (1 + 1e-6)); /* exceptions are left out */
    release(w, n);
}

/* Sums in 32 bits, and those that need more. */
static void test_causal(void **unused)
{
    check_causal(1e-4, 1);
    check_causal(1e-7, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lift_f32),
        cmocka_unit_test(test_lift_f64),
        cmocka_unit_test(test_causal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
