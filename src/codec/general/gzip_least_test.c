/* gzip leaves no less than is told without it, of bytes of many kinds and after others, and hardly more of what hardly repeats. */
#include "codec/general/gzip_least.h"

#include "codec/general/general.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 96 << 10, BACK = 32 << 10 };
static uint8_t data[SIZE];
static uint32_t seed;

static uint32_t chance(void)
{
    return (seed = seed * 1664525u + 1013904223u) >> 8;
}

/* What n bytes of each kind are: chance; some letters; numbers that are alike in their highest bytes; chance with zeros between; again what stood 3000, and what stood 20000
 * bytes before, in short runs between bytes of chance; one byte; some letters, and then others, for which gzip has other codes. */
enum kind { CHANCE, LETTERS, NUMBERS, ZEROS_BETWEEN, AGAIN_NEAR, AGAIN_FAR, ONE_BYTE, OTHER_LETTERS, KINDS };

static uint8_t byte_of(enum kind kind, size_t i)
{
    size_t far = kind == AGAIN_NEAR ? 3000 : 20000;
    switch (kind) {
    case LETTERS:
        return (uint8_t)('a' + chance() % 20);
    case NUMBERS:
        return (uint8_t)(i % 4 == 3 ? 0x41 : i % 4 == 2 ? 0x20 + chance() % 32 : chance());
    case ZEROS_BETWEEN:
        return i / 1000 % 5 ? (uint8_t)chance() : 0;
    case AGAIN_NEAR:
    case AGAIN_FAR: /* three or four bytes of eight */
        return i >= far && i % 8 < (kind == AGAIN_NEAR ? 3 : 4) ? data[i - far] : (uint8_t)chance();
    case ONE_BYTE:
        return 7;
    case OTHER_LETTERS:
        return (uint8_t)(i / (SIZE / 2) * 120 + chance() % 100);
    default:
        return (uint8_t)chance();
    }
}

static void gzip_leaves_no_less(void **state)
{
    (void)state;
    /* of what gzip leaves of each kind, what is told at least */
    static const double least[KINDS] = {0.99, 0.05, 0.84, 0.98, 0.7, 0.6, 0, 0.9};
    struct sk_gzip_least t = {0};
    if (sk_backend_here(SK_BACKEND_GZIP) < 0)
        skip();
    for (enum kind kind = CHANCE; kind < KINDS; kind++) {
        seed = 11;
        for (size_t i = 0; i < SIZE; i++)
            data[i] = byte_of(kind, i);
        for (size_t from = 0; from <= BACK; from += BACK) {
            double leaves = (double)sk_gzip_leaves(6, data, from, data + from, SIZE - from), told = sk_gzip_least(&t, data, from, SIZE);
            if (told > leaves || told < least[kind] * leaves)
                fail_msg("kind %d after %zu bytes: %.0f told, gzip leaves %.0f", kind, from, told, leaves);
        }
    }
    sk_gzip_least_free(&t);
}

/* What stands further back than gzip looks does not count, and three equal bytes only within 4 KiB. */
static void no_more_counts_than_gzip_sees(void **state)
{
    (void)state;
    enum { PART = 4000 };
    static const struct {
        size_t far, equal; /* of eight bytes, so many stood so far before */
        int counts;
    } cases[] = {{4000, 3, 1}, {4200, 3, 0}, {4200, 4, 1}, {32000, 4, 1}, {33000, 4, 0}};
    struct sk_gzip_least t = {0};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t from = cases[k].far;
        seed = 3;
        for (size_t i = 0; i < from + PART; i++)
            data[i] = i >= from && i % 8 < cases[k].equal ? data[i - from] : (uint8_t)chance();
        double told = sk_gzip_least(&t, data, from, from + PART), all = PART, some = all * (double)(8 - cases[k].equal) / 8, is = cases[k].counts ? some : all;
        if (told > is || told < 0.97 * is)
            fail_msg("case %zu: %.0f of %.0f bytes told", k, told, is);
    }
    sk_gzip_least_free(&t);
}

/* Three equal bytes stood near, and further back one more. */
static void the_longer_one_counts(void **state)
{
    (void)state;
    enum { FROM = 8000, NEAR = 1000 };
    struct sk_gzip_least t = {0};
    seed = 9;
    for (size_t i = 0; i < FROM + NEAR; i++)
        data[i] = i >= FROM && i % 8 < 4 ? data[i - FROM] : i >= FROM - NEAR && i < FROM && i % 8 < 3 ? data[i + NEAR - FROM] : (uint8_t)chance();
    double told = sk_gzip_least(&t, data, FROM, FROM + NEAR), is = NEAR / 2;
    if (told > is || told < 0.8 * is) /* of so few bytes not all are there */
        fail_msg("%.0f of %.0f bytes told", told, is);
    sk_gzip_least_free(&t);
}

static void few_bytes_are_told_of(void **state)
{
    (void)state;
    struct sk_gzip_least t = {0};
    static const uint8_t some[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    for (size_t n = 0; n <= sizeof some; n++)
        for (size_t from = 0; from <= n; from++)
            assert_true(sk_gzip_least(&t, some, from, n) <= (double)(n - from));
    double told = sk_gzip_least(&t, some, 0, sizeof some);
    assert_true(told > 1.9 && told < 2); /* six that none is known of, 2.6 bits each */
    sk_gzip_least_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gzip_leaves_no_less),
        cmocka_unit_test(no_more_counts_than_gzip_sees),
        cmocka_unit_test(the_longer_one_counts),
        cmocka_unit_test(few_bytes_are_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
