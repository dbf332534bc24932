/* Pieces that are large enough for classes in 32 lanes and for segments: they come back, into any place, and what is cut or changed is said to be
 * damaged or is other values, within the array. */
#include "codec/lossless/lossless.h"

#include "codec/array.h"
#include "codec/samples.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLAGS = 14, WIDE = 4, SEGMENTS = 8, ALONG = 16, PREDICTED = 1, DIRECT = 2 };

struct coded {
    struct sk_array a;
    size_t bytes, n;
    uint8_t *x, *out;
};

/* Of noise 1 a walk, of noise 0 white noise of a wide range, so that exponents differ; else waves and so much noise. */
static void fill(const struct sk_array *a, double noise, void *x)
{
    uint64_t s = 99;
    double walk = 0;
    size_t n = sk_array_size_bytes(a) / (a->type == SAIKAI_F32 ? 4 : 8), row = a->ndims > 1 ? a->dims[a->ndims - 1] : n;
    for (size_t i = 0; i < n; i++) {
        double r = (double)(sk_sample_next(&s) >> 11) * 0x1p-53 - 0.5;
        walk += r;
        double v = noise == 1 ? walk : noise == 0 ? r * r * r : sin(0.01 * (double)(i % row) + 0.003 * (double)(i / row)) + noise * r;
        if (a->type == SAIKAI_F32)
            ((float *)x)[i] = (float)v;
        else
            ((double *)x)[i] = v;
    }
}

static void make(struct coded *c, const struct sk_array *a, double noise)
{
    struct saikai_error err;
    *c = (struct coded){.a = *a, .bytes = sk_array_size_bytes(a)};
    c->x = malloc(c->bytes);
    fill(a, noise, c->x);
    uint8_t *room = malloc(sk_codec_predict.max_encoded(a));
    assert_int_equal(sk_codec_predict.encode(a, c->x, NULL, room, sk_codec_predict.max_encoded(a), &c->n, &err), 0);
    c->out = malloc(c->n); /* nothing behind it */
    memcpy(c->out, room, c->n);
    free(room);
}

static void drop(struct coded *c)
{
    free(c->x);
    free(c->out);
}

static const struct {
    struct sk_array a;
    double noise;
    int mode, flags;
} cases[] = {
    {{SAIKAI_F64, 1, {70001}}, 1, PREDICTED, WIDE | SEGMENTS},
    {{SAIKAI_F64, 1, {65799}}, 1e-6, PREDICTED, WIDE | SEGMENTS | ALONG},
    {{SAIKAI_F32, 1, {150011}}, 1, PREDICTED, WIDE | SEGMENTS},
    {{SAIKAI_F32, 1, {131072}}, 0, DIRECT, WIDE},
    {{SAIKAI_F64, 1, {50021}}, 0, DIRECT, WIDE},
    {{SAIKAI_F64, 3, {20, 43, 61}}, 1e-7, PREDICTED, WIDE},
    {{SAIKAI_F32, 3, {37, 64, 65}}, 1e-2, PREDICTED, WIDE},
    {{SAIKAI_F64, 2, {3, 30011}}, 1e-7, PREDICTED, WIDE},
    {{SAIKAI_C128, 1, {40009}}, 1, PREDICTED, WIDE},
    {{SAIKAI_F64, 1, {3000}}, 1, PREDICTED, 0},
};

static void large_pieces_come_back_into_any_place(void **state)
{
    struct saikai_error err;
    struct coded c;
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        make(&c, &cases[k].a, cases[k].noise);
        if (c.out[0] != cases[k].mode || (c.out[FLAGS] & (WIDE | SEGMENTS | ALONG)) != cases[k].flags)
            fail_msg("case %zu: mode %d, flags %d", k, c.out[0], c.out[FLAGS]);
        for (size_t off = 0; off < 9; off += off < 2 ? 1 : 3) {
            uint8_t *y = malloc(c.bytes + off);
            memset(y, 0xcc, c.bytes + off);
            assert_int_equal(sk_codec_predict.decode(&c.a, c.out, c.n, y + off, &err), 0);
            assert_memory_equal(y + off, c.x, c.bytes);
            for (size_t i = 0; i < off; i++)
                assert_int_equal(y[i], 0xcc);
            free(y);
        }
        drop(&c);
    }
}

static void what_is_cut_is_damaged(void **state)
{
    struct saikai_error err;
    struct coded c;
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        make(&c, &cases[k].a, cases[k].noise);
        uint8_t *y = malloc(c.bytes);
        const size_t cuts[] = {0, 1, FLAGS, FLAGS + 1, 24, c.n / 3, c.n - 4000, c.n - 200, c.n - 65, c.n - 2, c.n - 1};
        for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
            uint8_t *some = malloc(cuts[i] + !cuts[i]);
            memcpy(some, c.out, cuts[i]);
            assert_int_equal(sk_codec_predict.decode(&c.a, some, cuts[i], y, &err), SAIKAI_EDAMAGED);
            assert_non_null(strstr(err.text, "predict"));
            free(some);
        }
        free(y);
        drop(&c);
    }
}

static void what_is_changed_stays_within_the_array(void **state)
{
    struct saikai_error err;
    struct coded c;
    uint64_t s = 3;
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        make(&c, &cases[k].a, cases[k].noise);
        uint8_t *y = malloc(c.bytes);
        for (int i = 0; i < 24; i++) {
            uint64_t r = sk_sample_next(&s);
            size_t at = i < 16 ? (size_t)i : (size_t)(r >> 20) % c.n;
            c.out[at] ^= (uint8_t)(1u << (r & 7));
            int rc = sk_codec_predict.decode(&c.a, c.out, c.n, y, &err);
            assert_true(rc == 0 || rc == SAIKAI_EDAMAGED);
            c.out[at] ^= (uint8_t)(1u << (r & 7));
        }
        free(y);
        drop(&c);
    }
}

/* Flags that no writer sets. */
static void forms_that_do_not_fit_are_damage(void **state)
{
    struct saikai_error err;
    struct coded c;
    double y[3000];
    (void)state;
    make(&c, &cases[9].a, cases[9].noise);
    for (int flags = 1; flags < 256; flags++) {
        if (flags == 2) /* its values have no prediction that overflows, and it says so */
            continue;
        uint8_t was = c.out[FLAGS];
        c.out[FLAGS] = (uint8_t)(was ^ flags);
        int rc = sk_codec_predict.decode(&c.a, c.out, c.n, y, &err);
        if (rc != SAIKAI_EDAMAGED)
            fail_msg("flags %#x: %d", c.out[FLAGS], rc);
        c.out[FLAGS] = was;
    }
    drop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_pieces_come_back_into_any_place),
        cmocka_unit_test(what_is_cut_is_damaged),
        cmocka_unit_test(what_is_changed_stays_within_the_array),
        cmocka_unit_test(forms_that_do_not_fit_are_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
