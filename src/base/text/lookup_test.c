/* Names found by their hashes: as by looking at each, with as many comparisons for a name of many as for one of few. */
#include "base/text/lookup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct item {
    char name[24];
    int other;
};

/* So many items, found while they are added: how many names were compared. */
static unsigned long fill(struct item *v, struct sk_lookup *t, size_t count)
{
    unsigned long before = sk_lookup_compared;
    for (size_t i = 0; i < count; i++) {
        snprintf(v[i].name, sizeof v[i].name, "field_%zu", i * 7);
        assert_int_equal(sk_lookup_find(t, v, sizeof *v, i, v[i].name), -1);
        assert_int_equal(sk_lookup_add(t, v, sizeof *v), 0);
        assert_int_equal(sk_lookup_find(t, v, sizeof *v, i + 1, v[i].name), i);
    }
    return sk_lookup_compared - before;
}

static void test_twice_as_many_cost_twice_as_much(void **state)
{
    (void)state;
    enum { FEW = 10000 };
    struct item *v = calloc(2 * FEW, sizeof *v);
    struct sk_lookup t = {0};
    assert_non_null(v);
    unsigned long few = fill(v, &t, FEW);
    sk_lookup_forget(&t);
    unsigned long many = fill(v, &t, 2 * FEW);
    assert_true(few >= FEW && few < 5 * FEW);
    assert_true(many < 3 * few);
    for (size_t i = 0; i < 2 * FEW; i++)
        assert_int_equal(sk_lookup_find(&t, v, sizeof *v, 2 * FEW, v[i].name), i);
    assert_int_equal(sk_lookup_find(&t, v, sizeof *v, 2 * FEW, "field_1"), -1);
    sk_lookup_forget(&t);
    free(v);
}

/* What was not added is looked at one by one; an empty one has nothing. */
static void test_more_than_it_knows(void **state)
{
    (void)state;
    struct item v[4] = {{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}};
    struct sk_lookup t = {0};
    assert_int_equal(sk_lookup_find(&t, v, sizeof *v, 0, "a"), -1);
    assert_int_equal(sk_lookup_find(&t, v, sizeof *v, 4, "d"), 3);
    assert_int_equal(sk_lookup_add(&t, v, sizeof *v), 0);
    assert_int_equal(sk_lookup_find(&t, v, sizeof *v, 1, "a"), 0);
    assert_int_equal(sk_lookup_find(&t, v, sizeof *v, 1, "b"), -1);
    assert_int_equal(sk_lookup_find(&t, v, sizeof *v, 4, "c"), 2);
    sk_lookup_forget(&t);
    assert_int_equal(sk_lookup_find(&t, v, sizeof *v, 4, "a"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twice_as_many_cost_twice_as_much),
        cmocka_unit_test(test_more_than_it_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
