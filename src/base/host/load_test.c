/* Libraries that are loaded late: once, with all that they must have, and told when they are not there. */
#include "base/host/load.h"

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct {
    double (*cos)(double);
    double (*sqrt)(double);
} table;

static const struct sk_late_symbol both[] = {{"cos", 0}, {"sqrt", sizeof table.cos}}, one_of_two[] = {{"cos", 0}, {"no_such_function", 8}};

static void what_is_there_is_loaded(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_late_library l = {"mathematics", "libm.so.6", "libc6", both, 2, &table, NULL};
    assert_int_equal(sk_late_load(&l, &err), 0);
    assert_true(table.cos(0) == 1 && table.sqrt(9) == 3);
    void *handle = l.handle;
    memset(&table, 0, sizeof table);
    assert_int_equal(sk_late_load(&l, &err), 0);
    assert_ptr_equal(l.handle, handle);
    assert_null(table.cos); /* once is enough */
}

static void what_is_not_there_is_told(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_late_library none = {"the library of nothing", "libnothing-here.so.7", "libnothing7", both, 2, &table, NULL};
    struct sk_late_library other = {"another mathematics", "libm.so.6", "libother", one_of_two, 2, &table, NULL};
    memset(&table, 0, sizeof table);
    assert_int_equal(sk_late_load(&none, &err), SAIKAI_ENOTSUP);
    assert_true(strstr(err.text, "the library of nothing cannot be loaded") && strstr(err.text, "libnothing-here.so.7") &&
                strstr(err.text, "install libnothing7"));
    assert_int_equal(sk_late_load(&other, &err), SAIKAI_ENOTSUP);
    assert_true(strstr(err.text, "no_such_function") && strstr(err.text, "install libother"));
    assert_true(!table.cos && !other.handle && !none.handle);
    assert_int_equal(sk_late_load(&other, NULL), SAIKAI_ENOTSUP); /* nobody wants to know why */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_loaded),
        cmocka_unit_test(what_is_not_there_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
