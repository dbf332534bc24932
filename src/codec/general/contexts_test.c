/* Contexts are those that suit what bytes are, and the same wherever these lie. */
#include "codec/general/contexts.h"

#include "codec/general/general.h"
#include "codec/general/strong.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES = 96 << 10 };
static uint8_t data[BYTES + 16];
static uint32_t seed;

static uint32_t noise(void)
{
    return (seed = seed * 1664525u + 1013904223u) >> 8;
}

static size_t text(uint8_t *to)
{
    static const char *const words[] = {"the", "pressure", "of", "a", "cell", "at", "step", "is", "below", "what", "was", "seen", "before", "and", "residual", "falls"};
    size_t n = 0;
    while (n + 40 < BYTES)
        n += (size_t)sprintf((char *)to + n, "%s %s %u\n", words[noise() % 16], words[noise() % 16], noise() % 1000);
    return n;
}

static size_t doubles(uint8_t *to)
{
    for (size_t i = 0; i < BYTES / 8; i++) {
        double v = 300 + sin((double)i * 0.01) + (double)(noise() % 4096) * 1e-6;
        memcpy(to + 8 * i, &v, 8);
    }
    return BYTES;
}

static size_t singles(uint8_t *to)
{
    for (size_t i = 0; i < BYTES / 4; i++) {
        float v = (float)(2 + cos((double)i * 0.003) + (double)(noise() % 256) * 1e-4);
        memcpy(to + 4 * i, &v, 4);
    }
    return BYTES;
}

static size_t samples(uint8_t *to)
{
    for (size_t i = 0; i < BYTES / 2; i++) {
        int16_t v = (int16_t)(9000 * sin((double)i * 0.02) + noise() % 64);
        memcpy(to + 2 * i, &v, 2);
    }
    return BYTES;
}

static struct sk_lzma_contexts of(size_t (*make)(uint8_t *to))
{
    seed = 7;
    return sk_contexts_choose(data, make(data));
}

static void numbers_go_by_place_and_text_by_the_byte_before(void **state)
{
    (void)state;
    struct sk_lzma_contexts c = of(text);
    assert_true(c.lc >= 3 && c.lp == 0);
    c = of(doubles);
    assert_true(c.lp >= 3 && c.pb >= 3);
    c = of(singles);
    assert_true(c.lp >= 2 && c.pb >= 2);
    c = of(samples);
    assert_true(c.lp >= 1);
}

/* Neither where bytes lie nor what lies behind them matters, and any number of them will do. */
static void only_the_bytes_matter(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 2, 3, 4, 15, 16, 17, 4096, 16 << 10, (16 << 10) + 1, 70001, BYTES};
    seed = 9;
    doubles(data);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        size_t n = lengths[k];
        uint8_t *exact = malloc(n + 1);
        assert_non_null(exact);
        memcpy(exact + 1, data, n);
        struct sk_lzma_contexts a = sk_contexts_choose(data, n), b = sk_contexts_choose(exact + 1, n);
        assert_memory_equal(&a, &b, sizeof a);
        assert_true(a.lc + a.lp <= 4 && a.pb <= 4);
        free(exact);
    }
}

/* What is chosen is what leaves the least, or nearly: text in the contexts of numbers, and numbers in those of text, take at least a few percent more. */
static void lzma_leaves_as_much_as_it_should(void **state)
{
    (void)state;
    static uint8_t out[2 * BYTES], back[BYTES];
    static const struct {
        size_t (*make)(uint8_t *to);
        double most; /* of the bytes */
    } kinds[] = {{text, 0.245}, {doubles, 0.67}, {singles, 0.655}, {samples, 0.61}};
    if (sk_backend_here(SK_BACKEND_LZMA) < 0)
        skip();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        seed = 7;
        size_t n = kinds[k].make(data), got = sk_strong_pack(9, data, n, out, sizeof out);
        assert_true(got > 0 && (double)got < kinds[k].most * (double)n);
        assert_int_equal(sk_strong_unpack(out, got, back, n), 0);
        assert_memory_equal(back, data, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_go_by_place_and_text_by_the_byte_before),
        cmocka_unit_test(only_the_bytes_matter),
        cmocka_unit_test(lzma_leaves_as_much_as_it_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
