/* What a terminal would obey is shown by what it is; what people wrote in their own script stays; what does not fit ends at a
 * whole character; the arguments of one printf do not share memory. */
#include "base/text/shown.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void test_kept(void **state)
{
    (void)state;
    static const char *const as_they_are[] = {"", "rho", "a b\\c\"'", "Dichte \xc3\xbc \xe5\xaf\x86\xe5\xba\xa6 \xf0\x9f\x8c\x8a", "\xc2\xa0"};
    for (size_t i = 0; i < sizeof as_they_are / sizeof *as_they_are; i++)
        assert_ptr_equal(sk_shown(as_they_are[i]), as_they_are[i]);
    assert_null(sk_shown(NULL));
}

static void test_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"\033[31mred\033[0m", "\\x1b[31mred\\x1b[0m"},
        {"two\nlines\tand\rback\b\a\x7f", "two\\nlines\\tand\\rback\\x08\\x07\\x7f"},
        {"csi \xc2\x9b" "2J", "csi \\xc2\\x9b2J"},          /* C1: what ESC [ is in one character */
        {"bare \x9b" "2J", "bare \\x9b2J"},                 /* the same on a terminal of bytes */
        {"latin \xe9t\xe9", "latin \\xe9t\\xe9"},
        {"cut \xe5\xaf", "cut \\xe5\\xaf"},
        {"turned \xe2\x80\xae" "cba", "turned \\xe2\\x80\\xae" "cba"}, /* right to left from here */
        {"line \xe2\x80\xa8sep", "line \\xe2\\x80\\xa8sep"},
        {"no\xe2\x80\x8bthing\xef\xbb\xbf", "no\\xe2\\x80\\x8bthing\\xef\\xbb\\xbf"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(sk_shown(cases[i].text), cases[i].shown);
        assert_ptr_equal(sk_shown(cases[i].shown), cases[i].shown); /* twice is as good as once */
    }
}

static void test_every_byte(void **state)
{
    (void)state;
    for (int c = 1; c < 256; c++) {
        const char text[] = {(char)c, 0};
        const char *shown = sk_shown(text);
        for (const char *p = shown; *p; p++)
            assert_true(*p >= ' ' && *p < 127);
        assert_int_equal(strlen(shown) == 1, c >= ' ' && c < 127);
    }
}

static void test_room(void **state)
{
    (void)state;
    char out[12];
    memset(out, '#', sizeof out);
    assert_int_equal(sk_shown_into(out, 6, "ab\033cd"), 8);
    assert_string_equal(out, "ab"); /* \x1b does not fit, and nothing is put behind what is missing */
    assert_int_equal(out[6], '#');
    assert_int_equal(sk_shown_into(out, 7, "ab\033cd"), 8);
    assert_string_equal(out, "ab\\x1b");
    assert_int_equal(sk_shown_into(out, 3, "a\xc3\xbc"), 3);
    assert_string_equal(out, "a");
    assert_int_equal(sk_shown_into(out, 1, "abc"), 3);
    assert_string_equal(out, "");
    assert_int_equal(sk_shown_into(NULL, 0, "\n"), 2);
}

static void test_many_of_one_printf(void **state)
{
    (void)state;
    const char *at[SK_SHOWN_KEPT];
    char text[] = "\0330", want[] = "\\x1b0";
    for (int i = 0; i < SK_SHOWN_KEPT; i++) {
        text[1] = (char)('a' + i);
        at[i] = sk_shown(text);
    }
    for (int i = 0; i < SK_SHOWN_KEPT; i++) {
        want[4] = (char)('a' + i);
        assert_string_equal(at[i], want);
    }
}

static void *elsewhere(void *arg)
{
    const char *mine = sk_shown("\033there");
    for (int i = 0; i < SK_SHOWN_KEPT - 1; i++)
        sk_shown("\033more");
    *(int *)arg = !strcmp(mine, "\\x1bthere");
    return NULL;
}

/* What another thread shows takes nothing from this one, and its memory goes with it (address sanitizer). */
static void test_threads(void **state)
{
    (void)state;
    const char *mine = sk_shown("\033here");
    for (int i = 0, good = 0; i < SK_SHOWN_KEPT; i++, good = 0) {
        pthread_t t;
        assert_int_equal(pthread_create(&t, NULL, elsewhere, &good), 0);
        pthread_join(t, NULL);
        assert_int_equal(good, 1);
    }
    assert_string_equal(mine, "\\x1bhere");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept), cmocka_unit_test(test_escaped), cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_room), cmocka_unit_test(test_many_of_one_printf), cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
