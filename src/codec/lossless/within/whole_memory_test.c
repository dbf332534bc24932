/* Whole numbers, and small pieces that are packed, where memory runs out at any place: SAIKAI_ENOMEM and a sentence, or they come back. */
#include "base/host/no_memory_testing.h"
#include "base/types.h"
#include "codec/array.h"
#include "codec/lossless/lossless.h"
#include "codec/lossless/within/packed.h"
#include "codec/samples.h"

#include <math.h>

struct task {
    struct sk_array a;
    uint8_t *x, *y, *out;
    size_t bytes, room, made;
};

static int code(void *arg, struct saikai_error *err)
{
    struct task *t = arg;
    return sk_codec_predict.encode(&t->a, t->x, NULL, t->out, t->room, &t->made, err);
}

static int decode(void *arg, struct saikai_error *err)
{
    struct task *t = arg;
    memset(t->y, 0xa5, t->bytes);
    return sk_codec_predict.decode(&t->a, t->out, t->made, t->y, err);
}

static void it_is_as_it_was(void *arg)
{
    struct task *t = arg;
    assert_memory_equal(t->x, t->y, t->bytes);
}

/* What was coded with less memory can be read. */
static void it_can_be_read(void *arg)
{
    no_memory.on = 0;
    assert_int_equal(decode(arg, NULL), 0);
    it_is_as_it_was(arg);
}

enum { SMOOTH, FAR, TIMES, RECORDS, RANDOM, STEADY, KINDS };

static uint64_t number(int kind, size_t i, uint64_t *s)
{
    switch (kind) {
    case SMOOTH:
        return (uint64_t)(int64_t)rint(1000 * sin((double)i * 0.003));
    case FAR: /* double precision */
        return (uint64_t)(int64_t)rint(1e13 * sin((double)i * 0.003));
    case TIMES:
        return 1700000000000000000u + i * 1000000 + (sk_sample_next(s) >> 54);
    case RECORDS:
        return i % 91 * i % 91 * 31;
    case RANDOM:
        return sk_sample_next(s);
    default:
        return 1000 * i;
    }
}

static struct task begin(int type, int kind)
{
    struct task t = {.a = {type, 2, {40, 150}}};
    uint64_t s = 3;
    t.bytes = sk_array_size_bytes(&t.a);
    t.room = sk_codec_predict.max_encoded(&t.a);
    t.x = malloc(t.bytes);
    t.y = malloc(t.bytes);
    t.out = malloc(t.room);
    assert_true(t.x && t.y && t.out);
    for (size_t i = 0; i < t.bytes / sk_type_size(type); i++) {
        uint64_t v = number(kind, i, &s);
        memcpy(t.x + i * sk_type_size(type), &v, sk_type_size(type)); /* little-endian */
    }
    return t;
}

static void end(struct task *t)
{
    free(t->x);
    free(t->y);
    free(t->out);
}

static void memory_that_is_out_is_no_damage(void **state)
{
    static const int types[] = {SAIKAI_U8, SAIKAI_I16, SAIKAI_I32, SAIKAI_I64};
    int missed[2] = {0}, packed = 0;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int kind = 0; kind < KINDS; kind++) {
            struct task k = begin(types[t], kind);
            missed[0] += no_memory_sweep(code, it_can_be_read, NULL, &k);
            assert_int_equal(code(&k, NULL), 0);
            packed += k.out[0] == SK_PACKED;
            missed[1] += no_memory_sweep(decode, it_is_as_it_was, NULL, &k);
            end(&k);
        }
    assert_true(missed[0] > 20 && missed[1] > 20);
#ifdef HAVE_ZSTD
    assert_true(packed > 0);
#endif
}

/* Each cut and each turned bit of a packed piece. */
static void damage_of_what_is_packed_is_told(void **state)
{
    struct task t = begin(SAIKAI_I64, STEADY);
    assert_int_equal(code(&t, NULL), 0);
    const size_t n = t.made;
    for (size_t cut = 0; cut < n; cut++) {
        uint8_t *some = malloc(cut + 1);
        assert_non_null(some);
        memcpy(some, t.out, cut);
        assert_int_equal(sk_codec_predict.decode(&t.a, some, cut, t.y, NULL), SAIKAI_EDAMAGED);
        free(some);
    }
    for (size_t bit = 0; bit < 8 * n; bit++) {
        t.out[bit / 8] ^= (uint8_t)(1 << bit % 8);
        int rc = sk_codec_predict.decode(&t.a, t.out, n, t.y, NULL);
        assert_true(!rc || rc == SAIKAI_EDAMAGED);
        t.out[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_that_is_out_is_no_damage), cmocka_unit_test(damage_of_what_is_packed_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
