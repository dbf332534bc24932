/* The scheme `auto` must never lose to plain files through gzip -6, whatever is in them. */
#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "codec/general/general.h"

#include "base/file/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES = 4, SMALL = 50000, LARGE = 420000, LARGER = 1500000 };

static uint32_t seed;
static uint32_t noise(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static void put_word(uint8_t *p, size_t i, uint32_t v)
{
    memcpy(p + 4 * i, &v, 4);
}

/* Words of a small vocabulary: what a dictionary coder is made for. */
static void text(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t word = noise() % 500, length = 2 + word % 7;
        for (uint32_t k = 0; k < length && i < n; k++)
            p[i++] = (uint8_t)('a' + (word * 7919u + k * k * 31u) % 26);
        if (i < n)
            p[i++] = ' ';
    }
}
static void sparse(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n / 4; i++)
        put_word(p, i, noise() % 20 ? 0 : noise() % 100000);
}
static void two_letters(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)('A' + noise() % 2);
}
static void skewed(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(__builtin_ctz(noise() | 1u << 20) * 3);
}
static void random_bytes(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)noise();
}
static void constant(uint8_t *p, size_t n)
{
    memset(p, 7, n);
}
static void counting(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n / 4; i++)
        put_word(p, i, (uint32_t)i * 3);
}
static void repeated_records(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i % 120 < 100 ? (i % 120) * 37 : noise() % 4);
}
/* What stands at the beginning is not what follows. */
static void late_text(uint8_t *p, size_t n)
{
    counting(p, n / 5 / 4 * 4);
    text(p + n / 5, n - n / 5);
}
/* Fortran records of text: known records, but no numbers in them. */
static void records_of_text(uint8_t *p, size_t n)
{
    for (size_t i = 0; i + 8 < n;) {
        uint32_t length = n - i - 8 < 8000 ? (uint32_t)(n - i - 8) : 8000;
        memcpy(p + i, &length, 4);
        text(p + i + 4, length);
        memcpy(p + i + 4 + length, &length, 4);
        i += length + 8;
    }
}
/* Fortran records of doubles that take few values. */
static void records_of_few(uint8_t *p, size_t n)
{
    static const double few[] = {0.1, 2.25, 1e9, -3.3};
    for (size_t i = 0; i + 8 < n;) {
        uint32_t length = n - i - 8 < 8000 ? (uint32_t)(n - i - 8) : 8000;
        memcpy(p + i, &length, 4);
        for (uint32_t k = 0; k + 8 <= length; k += 8)
            memcpy(p + i + 4 + k, &few[noise() % 4], 8);
        memcpy(p + i + 4 + length, &length, 4);
        i += length + 8;
    }
}

/* Nothing that a compressor finds beside what it does. */
static void half_noise(uint8_t *p, size_t n)
{
    text(p, n / 2);
    random_bytes(p + n / 2, n - n / 2);
}
/* The same again, farther back than gzip looks. */
static void far_repeats(uint8_t *p, size_t n)
{
    enum { FAR = 60000 };
    random_bytes(p, n < FAR ? n : FAR);
    for (size_t i = FAR; i < n; i++)
        p[i] = p[i - FAR];
}
static void doubles(uint8_t *p, size_t n)
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        double v = 1.0 + (double)i * 1e-6 + (double)(noise() % 1000) * 1e-9;
        memcpy(p + i, &v, 8);
    }
}
static void almost_random(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(noise() % 250);
}

static const struct {
    const char *name;
    void (*fill)(uint8_t *p, size_t n);
} kinds[] = {{"text", text},
             {"sparse integers", sparse},
             {"two letters", two_letters},
             {"skewed", skewed},
             {"random", random_bytes},
             {"constant", constant},
             {"counting", counting},
             {"repeated records", repeated_records},
             {"late text", late_text},
             {"records of text", records_of_text},
             {"records of few values", records_of_few},
             {"half noise", half_noise},
             {"far repeats", far_repeats},
             {"doubles", doubles},
             {"almost random", almost_random}};

/* Bytes of the archive of FILES files in memory; they must come back. */
static uint64_t size_of(const struct sk_archive_input *in, const struct sk_archive_options *o)
{
    char out[64];
    struct saikai_error err = {0};
    struct sk_archive_stats st;
    snprintf(out, sizeof out, "/tmp/never-worse.%ld.ska", (long)getpid());
    if (sk_archive_create(out, in, FILES, o, &st, &err))
        fail_msg("%s", err.text);
    if (sk_archive_extract(out, NULL, NULL, NULL, &err))
        fail_msg("%s", err.text);
    unlink(out);
    return st.stored_bytes;
}

static void compare(size_t n)
{
    struct sk_archive_input in[FILES];
    char name[FILES][16];
    struct sk_archive_options automatic = {.no_sync = 1},
                              gzip = {.scheme = SK_SCHEME_AGNOSTIC, .no_sync = 1};
    gzip.backend = sk_backend_parse("gzip");
    if (gzip.backend < 0)
        skip();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        seed = 1;
        for (int i = 0; i < FILES; i++) {
            uint8_t *p = calloc(1, n);
            assert_non_null(p);
            kinds[k].fill(p, n);
            snprintf(name[i], sizeof name[i], "rank.%d", i);
            in[i] = (struct sk_archive_input){.name = name[i], .data = p, .bytes = n};
        }
        uint64_t ours = size_of(in, &automatic), plain = size_of(in, &gzip);
        if (ours > plain)
            fail_msg("%s, %zu bytes: %llu bytes, gzip %llu", kinds[k].name, n,
                     (unsigned long long)ours, (unsigned long long)plain);
        for (int i = 0; i < FILES; i++)
            free((void *)(uintptr_t)in[i].data);
    }
}

static void small_sets_are_never_larger(void **state)
{
    (void)state;
    compare(SMALL);
    compare(5);
}

static void large_sets_are_never_larger(void **state)
{
    (void)state;
    compare(LARGE);
    compare(LARGER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_sets_are_never_larger),
        cmocka_unit_test(large_sets_are_never_larger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
