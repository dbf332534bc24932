/* Bounds of every kind are parsed and printed back, and bad ones refused. */
#include "codec/quality/bound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void bounds_parse_and_format_back(void **state)
{
    static const struct {
        const char *text;
        int kind;
        double value;
    } good[] = {{"exact", SK_BOUND_NONE, 0},
                {"abs:0.25", SK_BOUND_ABS, 0.25},
                {"rel:0.001", SK_BOUND_REL, 1e-3},
                {"psnr:80", SK_BOUND_PSNR, 80},
                {"abs:1e-300", SK_BOUND_ABS, 1e-300}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct sk_bound b = {7, 7};
        char out[48];
        assert_int_equal(sk_bound_parse(good[i].text, &b, NULL), 0);
        assert_int_equal(b.kind, good[i].kind);
        assert_true(b.value == good[i].value);
        assert_string_equal(sk_bound_format(out, sizeof out, &b), good[i].text);
    }
    struct sk_bound third = {SK_BOUND_REL, 1.0 / 3}, back;
    char out[48];
    assert_int_equal(sk_bound_parse(sk_bound_format(out, sizeof out, &third), &back, NULL), 0);
    assert_true(back.value == third.value);
}

static void bad_bounds_are_refused(void **state)
{
    static const char *const bad[] = {"",           "rel",    "rel:",    "rel:-1",
                                      "rel:0",      "rel:1e", "rel:inf", "rel:nan",
                                      "relative:1", "1e-3",   "abs 1",   "psnr:80dB"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sk_bound b = {7, 7};
        struct saikai_error err = {0};
        assert_int_equal(sk_bound_parse(bad[i], &b, &err), SAIKAI_EINVAL);
        assert_int_equal(b.kind, 7);
        assert_non_null(strstr(err.text, bad[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_parse_and_format_back),
        cmocka_unit_test(bad_bounds_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
