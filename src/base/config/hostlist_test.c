/* Host lists are expanded in all their forms and read from files. A refused one leaves the list as
 * it was. */
#include "base/config/hostlist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void expect(const struct sk_hostlist *l, const char *joined)
{
    char all[4096] = "";
    for (size_t i = 0; i < l->n; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? " " : "", l->name[i]);
    assert_string_equal(all, joined);
}

static void test_expand(void **state)
{
    (void)state;
    static const struct {
        const char *text, *names;
    } cases[] = {
        {"a", "a"},
        {"a,b  c\n", "a b c"},
        {"n[1-3]", "n1 n2 n3"},
        {"n[008-010,3]-ib", "n008-ib n009-ib n010-ib n3-ib"},
        {"r[1-2]n[1-2].site", "r1n1.site r1n2.site r2n1.site r2n2.site"},
        {"", ""},
        {" , ,", ""},
        {"a,a", "a a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_hostlist l = {0};
        assert_int_equal(sk_hostlist_expand(&l, cases[i].text, 100, NULL), 0);
        expect(&l, cases[i].names);
        sk_hostlist_free(&l);
    }
}

static void test_refusals_leave_the_list_alone(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"n[1-3", "']' is missing"},
        {"n1-3]", "']' without '['"},
        {"n[]", "nothing stands in the brackets"},
        {"n[a]", "write numbers"},
        {"n[3-1]", "from a lower to a higher"},
        {"n[1-]", "from a lower to a higher"},
        {"n[1,,2]", "write numbers"},
        {"n[1,]", "single commas"},
        {"n[1-999999999]", "more than 100 hosts"},
        {"n[1-99999999999999999999]", "from a lower"},
        {"ok n[x]", "write numbers"},
    };
    struct sk_hostlist l = {0};
    assert_int_equal(sk_hostlist_expand(&l, "first", 100, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct saikai_error err = {0};
        assert_int_equal(sk_hostlist_expand(&l, cases[i].text, 100, &err), SAIKAI_EINVAL);
        if (!strstr(err.text, cases[i].says))
            fail_msg("'%s' says '%s'", cases[i].text, err.text);
        expect(&l, "first");
    }
    char longest[400];
    memset(longest, 'x', sizeof longest);
    longest[399] = 0;
    assert_int_equal(sk_hostlist_expand(&l, longest, 100, NULL), SAIKAI_EINVAL);
    strcpy(longest + 254, "[1-20]");
    assert_int_equal(sk_hostlist_expand(&l, longest, 100, NULL), SAIKAI_EINVAL);
    expect(&l, "first");
    sk_hostlist_free(&l);
}

static void test_read(void **state)
{
    (void)state;
    char path[] = "/tmp/saikai-hosts-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");
    fputs("# the machine\nn1 slots=4\n\n  n[2-3]:8 # more\nn4\tmax_slots=2\r\n", f);
    fclose(f);
    struct sk_hostlist l = {0};
    struct saikai_error err = {0};
    assert_int_equal(sk_hostlist_read(&l, path, 100, &err), 0);
    expect(&l, "n1 n2 n3 n4");
    f = fopen(path, "w");
    fputs("n1\nn[2\n", f);
    fclose(f);
    assert_int_equal(sk_hostlist_read(&l, path, 100, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, ":2: "));
    expect(&l, "n1 n2 n3 n4");
    unlink(path);
    assert_int_equal(sk_hostlist_read(&l, path, 100, &err), SAIKAI_ENOENT);
    sk_hostlist_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expand),
        cmocka_unit_test(test_refusals_leave_the_list_alone),
        cmocka_unit_test(test_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
