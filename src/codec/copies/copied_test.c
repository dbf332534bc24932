/* What is told from what both sides know comes back, wherever the copies are, and takes little more than what is new; what is damaged is refused, or other bytes. */
#include "codec/copies/copies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES = 400000 };
static uint32_t seed = 1;
static uint8_t any(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint8_t)(seed >> 24);
}

static void fill(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = any();
}

/* What n bytes take; they come back. */
static size_t told(const uint8_t *known, size_t n_known, const uint8_t *in, size_t n)
{
    struct sk_buf b = {0};
    uint8_t *out = malloc(n + 1);
    assert_non_null(out);
    size_t left = 0;
    for (int thorough = 1; thorough >= 0; thorough--) {
        b.len = 0;
        assert_int_equal(sk_copies_put(known, n_known, in, n, NULL, thorough, &b, NULL), 0);
        assert_int_equal(sk_copies_get(known, n_known, b.data, b.len, out, n, NULL), 0);
        assert_true(!n || !memcmp(out, in, n));
        assert_true(!left || left < b.len + b.len / 50 + 16); /* more effort does not take more */
        left = b.len;
    }
    sk_buf_free(&b);
    free(out);
    return left;
}

static void little_is_new(void **state)
{
    (void)state;
    uint8_t *then = malloc(BYTES), *now = malloc(2 * BYTES);
    assert_true(then && now);
    fill(then, BYTES);
    memcpy(now, then, BYTES);
    assert_true(told(then, BYTES, now, BYTES) < 32);
    for (size_t i = 1000; i < BYTES; i += 1000) /* single bytes, in the same place */
        now[i] ^= any() | 1;
    assert_true(told(then, BYTES, now, BYTES) < BYTES / 1000 * 3);
    memmove(now + 500, then, BYTES); /* in front */
    fill(now, 500);
    assert_true(told(then, BYTES, now, BYTES + 500) < 600);
    memcpy(now, then + BYTES / 2, BYTES / 2); /* the halves the other way round */
    memcpy(now + BYTES / 2, then, BYTES / 2);
    assert_true(told(then, BYTES, now, BYTES) < 48);
    for (size_t i = 0; i < BYTES / 40; i++) /* records of 40 bytes in another order */
        memcpy(now + 40 * i, then + 40 * (i * 7919 % (BYTES / 40)), 40);
    assert_true(told(then, BYTES, now, BYTES) < BYTES / 40 * 5);
    free(then);
    free(now);
}

/* Lines of few words, each of which is at many places, by another column: what they take is where the line was, not where each of its words is. */
static void lines_in_another_order(void **state)
{
    (void)state;
    enum { LINES = 6000, GROUPS = 8, LINE = 64 };
    char *then = malloc(LINES * LINE), *now = malloc(LINES * LINE);
    assert_true(then && now);
    size_t n = 0, m = 0, begin[LINES + 1];
    for (int i = 0; i < LINES; i++) {
        begin[i] = n;
        n += (size_t)sprintf(then + n, "%d,group-%c,%s,%s,%d\n", i, 'a' + any() % GROUPS, any() % 2 ? "accepted" : "rejected", any() % 2 ? "yes" : "no", any() % 50);
    }
    begin[LINES] = n;
    for (char g = 'a'; g < 'a' + GROUPS; g++)
        for (int i = 0; i < LINES; i++)
            if (strchr(then + begin[i], '-')[1] == g) {
                memcpy(now + m, then + begin[i], begin[i + 1] - begin[i]);
                m += begin[i + 1] - begin[i];
            }
    assert_int_equal(m, n);
    size_t took = told((uint8_t *)then, n, (uint8_t *)now, n);
    if (took >= LINES * 2)
        fail_msg("%zu bytes for %d lines", took, LINES);
    free(then);
    free(now);
}

static void few_or_none(void **state)
{
    (void)state;
    uint8_t some[4096];
    fill(some, sizeof some);
    assert_true(told(NULL, 0, NULL, 0) < 8);
    for (size_t n = 1; n < 40; n++) {
        told(NULL, 0, some, n);
        told(some, n, some, 40 - n);
        told(some + n, 3, some, 2 * n);
    }
    assert_true(told(NULL, 0, some, sizeof some) < sizeof some + sizeof some / 16);
    memset(some, 7, sizeof some); /* copies of what is being told overlap */
    assert_true(told(NULL, 0, some, sizeof some) < 32);
    assert_true(told(some, 5, some, sizeof some) < 32);
}

/* Numbers of few values: many places begin alike, of which one is right. */
static void one_of_many_alike(void **state)
{
    (void)state;
    enum { MANY = 1200000 };
    uint8_t *then = calloc(1, MANY), *now = malloc(MANY);
    assert_true(then && now);
    for (size_t i = 0; i < MANY; i += 4)
        then[i] = any() % 50;
    memcpy(now, then + MANY / 4, MANY / 4 * 3);
    memcpy(now + MANY / 4 * 3, then, MANY / 4);
    for (size_t i = 5000; i < MANY; i += 5000)
        now[i] ^= 64;
    assert_true(told(then, MANY, now, MANY) < 6000);
    free(then);
    free(now);
}

/* Pieces tell about what all of it takes, and their finder leaves what any leaves. */
static void pieces_tell(void **state)
{
    (void)state;
    enum { MANY = 1 << 20 };
    uint8_t *then = malloc(MANY), *now = malloc(MANY);
    assert_true(then && now);
    fill(then, MANY);
    for (int some = 0; some <= 4; some += 2) { /* so many of eight bytes are new */
        struct sk_copies_finder *f;
        struct sk_buf with = {0}, without = {0};
        size_t about;
        memcpy(now, then + 4096, MANY - 4096);
        memcpy(now + MANY - 4096, then, 4096);
        for (size_t i = 0; i < MANY; i++)
            if (i % 64 < 8 * (size_t)some)
                now[i] = any();
        assert_int_equal(sk_copies_about(then, MANY, now, MANY, &f, &about, NULL), 0);
        assert_int_equal(sk_copies_put(then, MANY, now, MANY, f, 0, &with, NULL), 0);
        assert_int_equal(sk_copies_put(then, MANY, now, MANY, NULL, 0, &without, NULL), 0);
        assert_true(with.len == without.len && !memcmp(with.data, without.data, with.len));
        assert_true(about < 2 * with.len + MANY / 8 && 2 * about > with.len);
        sk_copies_done(f);
        sk_buf_free(&with);
        sk_buf_free(&without);
    }
    struct sk_copies_finder *f;
    size_t about = 1;
    assert_int_equal(sk_copies_about(then, MANY, now, 1000, &f, &about, NULL), 0);
    assert_int_equal(about, 0); /* soon told */
    sk_copies_done(f);
    sk_copies_done(NULL);
    free(then);
    free(now);
}

static void damage_is_told(void **state)
{
    (void)state;
    static uint8_t then[3000], now[3000], out[3000];
    struct sk_buf b = {0};
    fill(then, sizeof then);
    memcpy(now, then, sizeof now);
    fill(now + 700, 60);
    assert_int_equal(sk_copies_put(then, sizeof then, now, sizeof now, NULL, 0, &b, NULL), 0);
    for (size_t n = 0; n < b.len; n++)
        assert_int_equal(sk_copies_get(then, sizeof then, b.data, n, out, sizeof out, NULL), SAIKAI_EDAMAGED);
    for (size_t i = 0; i < 8 * b.len; i++) {
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
        int rc = sk_copies_get(then, sizeof then, b.data, b.len, out, sizeof out, NULL);
        assert_true(!rc || rc == SAIKAI_EDAMAGED);
        b.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    assert_int_equal(sk_copies_get(NULL, 0, b.data, b.len, out, sizeof out, NULL), SAIKAI_EDAMAGED);
    sk_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(little_is_new), cmocka_unit_test(few_or_none), cmocka_unit_test(lines_in_another_order), cmocka_unit_test(one_of_many_alike), cmocka_unit_test(pieces_tell), cmocka_unit_test(damage_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
