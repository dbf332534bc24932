/* The shape of the tree for many numbers of hosts, and what services are told when they come, go and come back. */
#include "backbone/frame/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int depth_of(int n, int arity, int i)
{
    int depth = 1;
    while ((i = sk_tree_above(n, arity, i)) >= 0)
        depth++;
    return depth;
}

/* Nobody, and not the launcher, has more below it than the arity; whoever is above has the smaller number; the ways are as short as a
 * tree of that arity allows; and who is below a host has numbers in a row with it. */
static void check_shape(int n, int arity)
{
    int *below = calloc((size_t)n + 1, sizeof *below), *last = calloc((size_t)n, sizeof *last), deepest = 0, levels = 0;
    long room = 0, level = 1;
    while (room < n) {
        level *= arity;
        room += level;
        levels++;
    }
    for (int i = 0; i < n; i++) {
        int above = sk_tree_above(n, arity, i), depth = depth_of(n, arity, i);
        assert_true(above >= -1 && above < i);
        below[above + 1]++;
        deepest = depth > deepest ? depth : deepest;
        last[i] = i;
        for (int a = above; a >= 0; a = sk_tree_above(n, arity, a)) {
            assert_int_equal(last[a], i - 1);
            last[a] = i;
        }
    }
    for (int i = 0; i <= n; i++)
        assert_true(below[i] <= arity);
    for (int i = 0; i < n; i++)
        assert_int_equal(sk_tree_is_above(n, arity, i), below[i + 1] > 0);
    assert_true(deepest <= levels + 1);
    free(below);
    free(last);
}

static void every_shape_is_a_tree_of_its_arity(void **state)
{
    (void)state;
    for (int arity = SK_TREE_LEAST; arity < 9; arity++)
        for (int n = 1; n < 300; n++)
            check_shape(n, arity);
    check_shape(1500, 32);
    check_shape(10000, 60);
    check_shape(10000, 2);
}

static void few_others_listen_where_two_levels_suffice(void **state)
{
    (void)state;
    int listeners = 0;
    for (int i = 0; i < 100; i++) {
        listeners += sk_tree_is_above(100, 32, i);
        assert_true(depth_of(100, 32, i) <= 2);
    }
    assert_int_equal(listeners, 3);
    for (int i = 0; i < 32; i++)
        assert_int_equal(sk_tree_above(32, 32, i), -1);
}

/* With two of seven hosts below each: 0 has 1 and 2 below it. */
static void who_is_above_listens_before_others_are_sent_there(void **state)
{
    (void)state;
    struct sk_tree *t = sk_tree_new(2);
    struct sk_message m;
    int n = 7, child = 1;
    while (sk_tree_above(n, 2, child) != 0)
        child++;
    assert_false(sk_tree_spoke(t, 0, 1, &m)); /* nobody knows where it is */
    sk_tree_sits(t, 0, 0, n);
    sk_tree_sits(t, 5, child, n);
    sk_tree_sits(t, 6, n, n); /* there is no such host */
    assert_true(sk_tree_knows(t, 5) && !sk_tree_knows(t, 6) && !sk_tree_knows(t, 1) && !sk_tree_knows(t, 1 << 20));
    assert_true(sk_tree_spoke(t, 0, 1, &m));
    assert_int_equal(m.kind, SK_MSG_RELAY);
    assert_false(sk_tree_spoke(t, 0, 1.5, &m)); /* it is being done */
    assert_true(sk_tree_spoke(t, 0, 4, &m) && m.kind == SK_MSG_RELAY); /* the word may be lost */
    if (sk_tree_is_above(n, 2, child)) {
        assert_true(sk_tree_spoke(t, 5, 4, &m) && m.kind == SK_MSG_RELAY);
        sk_tree_listens(t, 5, "tcp://b:2", 75);
    }
    assert_false(sk_tree_spoke(t, 5, 5, &m)); /* there is no place to go to yet */
    sk_tree_listens(t, 0, "tcp://a:1", 70);
    assert_false(sk_tree_spoke(t, 0, 10, &m)); /* nobody is above it */
    assert_true(sk_tree_spoke(t, 5, 10, &m));
    assert_int_equal(m.kind, SK_MSG_PARENT);
    assert_string_equal(m.host, "tcp://a:1");
    assert_int_equal(m.number, 70);
    sk_tree_free(t);
}

/* A service that comes back to the launcher is sent to the same place again after a while, and ever more seldom; to another one at once. */
static void who_comes_back_is_not_sent_to_and_fro(void **state)
{
    (void)state;
    struct sk_tree *t = sk_tree_new(2);
    struct sk_message m;
    int n = 7, child = n - 1, above = sk_tree_above(n, 2, child), told = 0;
    assert_true(above >= 0 && !sk_tree_is_above(n, 2, child));
    sk_tree_sits(t, 1, above, n);
    sk_tree_sits(t, 2, child, n);
    sk_tree_listens(t, 1, "tcp://a:1", 71);
    for (int beat = 0; beat < 2000; beat++)
        told += sk_tree_spoke(t, 2, 100 + 0.5 * beat, &m);
    assert_in_range(told, 5, 8);
    sk_tree_sits(t, 3, above, n); /* its service was killed, and there is another one, which is asked to listen first */
    assert_false(sk_tree_spoke(t, 2, 1e6, &m));
    assert_true(sk_tree_spoke(t, 3, 1100, &m) && m.kind == SK_MSG_RELAY);
    sk_tree_listens(t, 3, "tcp://a:9", 73);
    assert_true(sk_tree_spoke(t, 2, 1100, &m));
    assert_string_equal(m.host, "tcp://a:9");
    sk_tree_listens(t, 3, "", 73); /* it cannot be reached: who is below stays */
    assert_false(sk_tree_spoke(t, 2, 9000, &m));
    sk_tree_free(t);
}

/* Once for each service that others speak for; not for one that is still above, and not for strangers. */
static void who_speaks_through_another_is_told_once(void **state)
{
    (void)state;
    struct sk_tree *t = sk_tree_new(2);
    sk_tree_sits(t, 0, 0, 7);
    sk_tree_sits(t, 1, 1, 7);
    assert_false(sk_tree_went(t, 0, 0));
    assert_false(sk_tree_went(t, 5, 0));
    assert_true(sk_tree_went(t, 1, 0));
    assert_false(sk_tree_went(t, 1, 0));
    sk_tree_sits(t, 2, 1, 7); /* its node has a new one */
    assert_true(sk_tree_went(t, 2, 0));
    sk_tree_free(t);
}

static void few_hosts_are_no_tree(void **state)
{
    (void)state;
    struct sk_tree *t = sk_tree_new(4);
    struct sk_message m;
    for (int i = 0; i < 4; i++)
        sk_tree_sits(t, i, i, 4);
    for (int i = 0; i < 4; i++)
        assert_false(sk_tree_spoke(t, i, 10, &m));
    sk_tree_free(t);
    sk_tree_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_is_a_tree_of_its_arity),
        cmocka_unit_test(few_others_listen_where_two_levels_suffice),
        cmocka_unit_test(who_is_above_listens_before_others_are_sent_there),
        cmocka_unit_test(who_comes_back_is_not_sent_to_and_fro),
        cmocka_unit_test(who_speaks_through_another_is_told_once),
        cmocka_unit_test(few_hosts_are_no_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
