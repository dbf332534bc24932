/* Nodes that are called not well, and what a fault makes of that. */
#include "recovery/fault/unwell.h"

#include "recovery/fault/monitor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct sk_host host[] = {{.name = "n1"}, {.name = "n2"}, {.name = "s1", .state = SK_HOST_SPARE}, {.name = "s2", .state = SK_HOST_SPARE}};
static const struct sk_hosts hosts = {host, 4};

static int is_down(int i, char *why, size_t cap)
{
    struct saikai_node n = {.size_bytes = sizeof n, .name = host[i].name, .answers = -1, .ranks = 1,
                            .state = host[i].state == SK_HOST_SPARE ? SAIKAI_NODE_SPARE : SAIKAI_NODE_ACTIVE};
    const struct sk_monitor_ops *by;
    sk_unwell_look(&hosts);
    sk_monitors_ask(&n, &by, why, cap);
    assert_int_equal(n.down, by != NULL);
    return n.down;
}

static void a_node_leaves_for_a_spare_that_is_well(void **state)
{
    char why[100];
    (void)state;
    sk_unwell_forget_all();
    assert_int_equal(is_down(0, why, sizeof why), 0);
    assert_int_equal(sk_unwell_set("n1", "a", "its fan stands"), 1);
    assert_int_equal(sk_unwell_set("n1", "a", "its fan stands"), 0);
    assert_int_equal(is_down(0, why, sizeof why), 1);
    assert_non_null(strstr(why, "its fan stands"));
    assert_int_equal(is_down(1, why, sizeof why), 0);
    assert_int_equal(is_down(2, why, sizeof why), 0);
    sk_unwell_set("s1", "a", "its fan stands, too"); /* one is left */
    assert_int_equal(is_down(2, why, sizeof why), 1);
    assert_int_equal(is_down(0, why, sizeof why), 1);
    sk_unwell_set("s2", "b", "x");
    assert_int_equal(is_down(0, why, sizeof why), 0); /* better than none */
    sk_unwell_set("s2", "b", NULL);
    assert_int_equal(is_down(0, why, sizeof why), 1);
}

static void each_source_takes_back_its_own_word(void **state)
{
    char why[100];
    (void)state;
    sk_unwell_forget_all();
    sk_unwell_set("n1", "a", "x");
    sk_unwell_set("n1", "b", "y");
    assert_int_equal(sk_unwell_set("n1", "a", NULL), 1);
    assert_int_equal(sk_unwell_set("n1", "a", NULL), 0);
    assert_int_equal(is_down(0, why, sizeof why), 1);
    assert_int_equal(sk_unwell_set("n1", "b", NULL), 1);
    assert_int_equal(is_down(0, why, sizeof why), 0);
}

static void a_flood_of_hosts_has_an_end(void **state)
{
    char name[32], why[100];
    (void)state;
    sk_unwell_forget_all();
    sk_unwell_set("n2", "a", "x");
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "stranger%d", i);
        sk_unwell_set(name, "a", "x");
    }
    assert_int_equal(sk_unwell_set("one-more", "a", "x"), 0);
    assert_int_equal(is_down(1, why, sizeof why), 1);
    assert_int_equal(is_down(0, why, sizeof why), 0);
    sk_unwell_forget_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_leaves_for_a_spare_that_is_well),
        cmocka_unit_test(each_source_takes_back_its_own_word),
        cmocka_unit_test(a_flood_of_hosts_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
