/* One file, two files. */
#include "base/text/counted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void one_and_several(void **state)
{
    (void)state;
    assert_string_equal(sk_counted(0, "file(s)"), "0 files");
    assert_string_equal(sk_counted(1, "file(s)"), "1 file");
    assert_string_equal(sk_counted(2, "file(s)"), "2 files");
    assert_string_equal(sk_counted(1, "parit(y|ies)"), "1 parity");
    assert_string_equal(sk_counted(0, "parit(y|ies)"), "0 parities");
    assert_string_equal(sk_counted(18446744073709551615ull, "director(y|ies)"), "18446744073709551615 directories");
}

static void several_in_one_sentence(void **state)
{
    (void)state;
    char line[200];
    snprintf(line, sizeof line, "%s, %s, %s", sk_counted(1, "rank(s)"), sk_counted(3, "host(s)"), sk_counted(1, "file(s)"));
    assert_string_equal(line, "1 rank, 3 hosts, 1 file");
    for (int i = 0; i < 3 * SK_COUNTED_KEPT; i++)
        assert_string_equal(sk_counted(1, "line(s)"), "1 line");
}

static void a_long_noun_is_cut(void **state)
{
    (void)state;
    char noun[200];
    memset(noun, 'n', sizeof noun - 1);
    noun[sizeof noun - 1] = 0;
    assert_int_equal(strlen(sk_counted(18446744073709551615ull, noun)), 63);
    assert_string_equal(sk_counted(3, "sheep"), "3 sheep");
    noun[100] = '(';
    assert_int_equal(strlen(sk_counted(1, noun)), 63);
    assert_int_equal(strlen(sk_counted(2, noun)), 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_and_several),
        cmocka_unit_test(several_in_one_sentence),
        cmocka_unit_test(a_long_noun_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
