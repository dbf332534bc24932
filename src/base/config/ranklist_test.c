/* Lists of ranks name what they say, and what is no list of these ranks is refused with a reason. */
#include "base/config/ranklist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { N = 8 };

static void names(const char *text, const char *wanted)
{
    struct saikai_error err = {0};
    char named[N + 1], shown[N + 1] = "";
    int some = 0;
    named[N] = 77;
    int n = sk_ranklist_parse(text, N, named, &err);
    if (n < 0)
        fail_msg("%s", err.text);
    for (int r = 0; r < N; r++) {
        shown[r] = named[r] ? 'x' : '.';
        some += named[r];
    }
    assert_string_equal(shown, wanted);
    assert_int_equal(n, some);
    assert_int_equal(named[N], 77);
}

static void lists_name_what_they_say(void **state)
{
    names("0", "x.......");
    names("0,4-7", "x...xxxx");
    names("7", ".......x");
    names(" 2 - 3 ,\t5", "..xx.x..");
    names("5,1,5,0-1", "xx...x..");
    names("3-3", "...x....");
    names("007", ".......x");
    names("0-7", "xxxxxxxx");
}

static void none_is_all(void **state)
{
    names("", "xxxxxxxx");
    names(" \t", "xxxxxxxx");
}

static void refused(const char *text, const char *why)
{
    struct saikai_error err = {0};
    char named[N];
    assert_int_equal(sk_ranklist_parse(text, N, named, &err), SAIKAI_EINVAL);
    if (!strstr(err.text, why) || !strstr(err.text, "'"))
        fail_msg("'%s': %s", text, err.text);
}

static void what_is_no_list_is_refused(void **state)
{
    static const char *const bad[] = {",", "1,", ",1", "1,,2", "a", "1 2", "3-1", "-1", "1-", "1--2", "0x1", "1;2", "[0-3]", "99999999999", "1-99999999999", "1.5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(bad[i], "is no list of ranks");
    refused("8", "names rank 8, and the ranks are 0 to 7");
    refused("0,6-9", "names rank 9");
    refused("999999999", "names rank 999999999");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_name_what_they_say),
        cmocka_unit_test(none_is_all),
        cmocka_unit_test(what_is_no_list_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
