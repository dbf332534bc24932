/* Arrays of whole numbers through "predict": every type and extreme comes back, of what follows rules little is left, and damage is told. */
#include "codec/lossless/lossless.h"

#include "base/types.h"
#include "codec/array.h"
#include "codec/chooser.h"
#include "codec/samples.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct task {
    struct sk_array a;
    uint8_t *x, *out, *back;
    size_t bytes, room, made;
};

static struct task begin(const struct sk_array *a)
{
    struct task t = {.a = *a, .bytes = sk_array_size_bytes(a), .room = sk_codec_predict.max_encoded(a)};
    t.x = malloc(t.bytes + 8);
    t.out = malloc(t.room);
    t.back = malloc(t.bytes + 8);
    assert_true(t.x && t.out && t.back);
    return t;
}

static void end(struct task *t)
{
    free(t->x);
    free(t->out);
    free(t->back);
}

static void put(struct task *t, size_t i, uint64_t v)
{
    memcpy(t->x + i * sk_type_size(t->a.type), &v, sk_type_size(t->a.type)); /* little-endian */
}

/* Bytes that the array takes. */
static size_t comes_back(struct task *t)
{
    struct saikai_error err = {0};
    assert_int_equal(sk_codec_predict.encode(&t->a, t->x, NULL, t->out, t->room, &t->made, &err), 0);
    memset(t->back, 0x55, t->bytes);
    assert_int_equal(sk_codec_predict.decode(&t->a, t->out, t->made, t->back, &err), 0);
    assert_memory_equal(t->x, t->back, t->bytes);
    assert_true(t->made <= t->bytes + 1);
    return t->made;
}

static const int types[] = {SAIKAI_U8, SAIKAI_I8, SAIKAI_U16, SAIKAI_I16, SAIKAI_U32, SAIKAI_I32, SAIKAI_U64, SAIKAI_I64};
enum { N_TYPES = sizeof types / sizeof *types };

/* Of a few kinds, small and large, with and without what is far from all others. */
static uint64_t number(int kind, size_t i, uint64_t *s)
{
    const uint64_t r = sk_sample_next(s);
    switch (kind) {
    case 0:
        return (uint64_t)(int64_t)(100 * sin((double)i * 0.01));
    case 1:
        return r;
    case 2:
        return i % 97 ? (r >> 60) : (uint64_t)1 << 63;
    case 3:
        return i * 1000 + 7;
    case 4:
        return r >> 63 ? UINT64_MAX : 0;
    case 5:
        return (uint64_t)INT64_MIN + i;
    case 6:
        return (r >> 14) - ((uint64_t)1 << 49);
    case 7:
        return 5;
    default:
        return 1700000000000000000u + i * 1000000 + (r >> 54);
    }
}

static void every_type_and_extreme_comes_back(void **state)
{
    static const size_t counts[] = {1, 2, 23, 63, 1000, 5003};
    uint64_t s = 99;
    for (int t = 0; t < N_TYPES; t++)
        for (int kind = 0; kind < 9; kind++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                struct task k = begin(&(struct sk_array){types[t], 1, {counts[c]}});
                for (size_t i = 0; i < counts[c]; i++)
                    put(&k, i, number(kind, i, &s));
                comes_back(&k);
                end(&k);
            }
}

static void shapes_and_places_in_memory_come_back(void **state)
{
    static const struct sk_array shapes[] = {{0, 2, {40, 50}}, {0, 3, {10, 20, 3}}, {0, 4, {3, 4, 5, 60}}, {0, 0, {5000}}, {0, 2, {0, 7}}};
    uint64_t s = 7;
    for (int t = 0; t < N_TYPES; t++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            struct sk_array a = shapes[k];
            struct saikai_error err = {0};
            a.type = types[t];
            struct task j = begin(&a);
            for (size_t i = 0; i < j.bytes / sk_type_size(a.type); i++)
                put(&j, i, number(0, i, &s));
            comes_back(&j);
            memmove(j.x + 1, j.x, j.bytes); /* on no word's boundary */
            assert_int_equal(sk_codec_predict.encode(&a, j.x + 1, NULL, j.out, j.room, &j.made, &err), 0);
            assert_int_equal(sk_codec_predict.decode(&a, j.out, j.made, j.back + 1, &err), 0);
            assert_memory_equal(j.x + 1, j.back + 1, j.bytes);
            end(&j);
        }
}

static double field(size_t i)
{
    double x = (double)(i % 200), y = (double)(i / 200);
    return 1000 * (sin(x * 0.031) * cos(y * 0.023) + 0.3 * sin(x * 0.11 + y * 0.07));
}

static void what_follows_rules_takes_little(void **state)
{
    enum { N = 40000 };
    uint64_t s = 5, now = 1700000000000000000u;
    struct task f = begin(&(struct sk_array){SAIKAI_I32, 2, {200, 200}}), t = begin(&(struct sk_array){SAIKAI_I64, 1, {N}}),
                m = begin(&(struct sk_array){SAIKAI_I64, 1, {N}});
    for (size_t i = 0; i < N; i++) {
        put(&f, i, (uint64_t)(int64_t)rint(field(i)));
        now += 1000000 + (sk_sample_next(&s) >> 54);
        put(&t, i, now);
        put(&m, i, (uint64_t)(int64_t)rint(field(i)) * 86400 + 3);
    }
    /* shuffled bytes by zstd take 70 000, 105 000 and 90 000 and more */
    assert_true(comes_back(&f) < 35000);
    assert_true(comes_back(&t) < 70000);
    assert_true(comes_back(&m) < 35000);
    assert_string_equal(sk_default_chain(SAIKAI_I32), "predict");
    end(&f);
    end(&t);
    end(&m);
}

static void damage_is_told_or_gives_other_numbers(void **state)
{
    uint64_t s = 11;
    for (int kind = 0; kind < 9; kind++) {
        struct task t = begin(&(struct sk_array){SAIKAI_I32, 2, {30, 40}});
        for (size_t i = 0; i < 1200; i++)
            put(&t, i, number(kind, i, &s));
        size_t n = comes_back(&t);
        for (size_t cut = 0; cut < n; cut++) {
            uint8_t *some = malloc(cut + 1);
            assert_non_null(some);
            memcpy(some, t.out, cut);
            assert_int_equal(sk_codec_predict.decode(&t.a, some, cut, t.back, NULL), SAIKAI_EDAMAGED);
            free(some);
        }
        for (size_t at = 0; at < n; at++)
            for (int bit = 0; bit < 8; bit++) {
                t.out[at] ^= (uint8_t)(1 << bit);
                int rc = sk_codec_predict.decode(&t.a, t.out, n, t.back, NULL);
                assert_true(!rc || rc == SAIKAI_EDAMAGED);
                t.out[at] ^= (uint8_t)(1 << bit);
            }
        end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_extreme_comes_back),
        cmocka_unit_test(shapes_and_places_in_memory_come_back),
        cmocka_unit_test(what_follows_rules_takes_little),
        cmocka_unit_test(damage_is_told_or_gives_other_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
