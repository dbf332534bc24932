/* Groups of different failure domains, whatever the shape of the job. */
#include "redundancy/domains.h"
#include "group/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char names[512][16];
static const char *domain[512];

/* Each group has distinct domains and distinct places 0 … size - 1; sizes differ by at most one. */
static void check(const struct sk_grouping *v, int ranks)
{
    int smallest = ranks, largest = 0;
    for (int g = 0; g < v->groups; g++) {
        int size = 0, places = 0;
        for (int a = 0; a < ranks; a++) {
            if (v->group[a] != g)
                continue;
            size++;
            places += v->place[a];
            for (int b = 0; b < a; b++)
                if (v->group[b] == g)
                    assert_string_not_equal(domain[a], domain[b]);
        }
        assert_int_equal(places, size * (size - 1) / 2);
        smallest = size < smallest ? size : smallest;
        largest = size > largest ? size : largest;
    }
    assert_true(largest - smallest <= 1);
}

static void test_shapes(void **state)
{
    for (int nodes = 2; nodes <= 12; nodes++)
        for (int per_node = 1; per_node <= 5; per_node++)
            for (int members = 2; members <= 8; members++)
                for (int round_robin = 0; round_robin < 2; round_robin++) {
                    int ranks = nodes * per_node;
                    for (int r = 0; r < ranks; r++) {
                        snprintf(names[r], sizeof names[r], "n%d",
                                 round_robin ? r % nodes : r / per_node);
                        domain[r] = names[r];
                    }
                    struct sk_grouping v, again;
                    assert_int_equal(sk_grouping_make(domain, ranks, members, 2, &v, NULL), 0);
                    check(&v, ranks);
                    for (int g = 0, size; g < v.groups; g++) {
                        size = 0;
                        for (int r = 0; r < ranks; r++)
                            size += v.group[r] == g;
                        assert_true(size <= members + (members == 2 || ranks < 2 * members));
                    }
                    assert_int_equal(sk_grouping_make(domain, ranks, members, 2, &again, NULL), 0);
                    assert_memory_equal(v.group, again.group, sizeof(int) * (size_t)ranks);
                    sk_grouping_free(&v);
                    sk_grouping_free(&again);
                }
}

/* One node with far more ranks than the others: groups get smaller, never unsafe; too small is
 * said. */
static void test_uneven(void **state)
{
    for (int r = 0; r < 20; r++) {
        snprintf(names[r], sizeof names[r], "n%d", r < 6 ? 0 : r - 5);
        domain[r] = names[r];
    }
    struct sk_grouping v;
    struct saikai_error err = {0};
    assert_int_equal(sk_grouping_make(domain, 20, 8, 2, &v, &err), 0);
    assert_int_equal(v.groups, 6);
    check(&v, 20);
    sk_grouping_free(&v);
    assert_int_equal(sk_grouping_make(domain, 20, 8, 4, &v, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "up to 6 ranks on one"));
    for (int r = 0; r < 4; r++)
        domain[r] = "same";
    assert_int_equal(sk_grouping_make(domain, 4, 4, 2, &v, &err), SAIKAI_EINVAL);
}

/* What is the matter, and what to do. */
static void test_too_few(void **state)
{
    (void)state;
    struct sk_grouping v;
    const char *one[] = {"a", "b", "c"};
    struct saikai_error err = {0};
    assert_int_equal(sk_grouping_make(one, 1, 1, 3, &v, &err), SAIKAI_EINVAL);
    assert_string_equal(err.text, "redundancy needs 3 or more nodes for this parity, and there is 1: start one process on each of more nodes");
    err = (struct saikai_error){0};
    assert_int_equal(sk_grouping_make(one, 2, 2, 3, &v, &err), SAIKAI_EINVAL);
    assert_string_equal(err.text,
                        "redundancy needs 3 or more nodes for this parity, and there are 2: start one process on each of more nodes, or use less parity");
    err = (struct saikai_error){0};
    assert_int_equal(sk_grouping_make(one, 3, 2, 3, &v, &err), SAIKAI_EINVAL);
    assert_string_equal(err.text, "redundancy groups of 2 members are too small for this parity, which needs 3: use larger groups or less parity");
}

static void test_rules(void **state)
{
    char out[SK_MAX_HOST], path[] = "/tmp/sk-domains-XXXXXX", rule[64];
    struct saikai_error err = {0};
    assert_int_equal(sk_domain_of(NULL, "r1n2", out, &err), 0);
    assert_string_equal(out, "r1n2");
    assert_int_equal(sk_domain_of("regex:^(r[0-9]+)", "r12n3", out, &err), 0);
    assert_string_equal(out, "r12");
    assert_int_equal(sk_domain_of("regex:^r[0-9]+", "r12n3", out, &err), 0);
    assert_string_equal(out, "r12");
    assert_int_equal(sk_domain_of("regex:^(r[0-9]+)", "login", out, &err), 0);
    assert_string_equal(out, "login");
    assert_int_equal(sk_domain_of("regex:^(r[0-9", "login", out, &err), SAIKAI_ECONFIG);
    assert_int_equal(sk_domain_of("racks", "login", out, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "regex:EXPRESSION"));
    int fd = mkstemp(path);
    const char text[] = "# power\nn[0-3] left # first row\n\nn* right\n";
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    snprintf(rule, sizeof rule, "file:%s", path);
    assert_int_equal(sk_domain_of(rule, "n2", out, &err), 0);
    assert_string_equal(out, "left");
    assert_int_equal(sk_domain_of(rule, "n7", out, &err), 0);
    assert_string_equal(out, "right");
    assert_int_equal(sk_domain_of(rule, "x", out, &err), 0);
    assert_string_equal(out, "x");
    assert_int_equal(write(fd, "lonely\n", 7), 7);
    close(fd);
    assert_int_equal(sk_domain_of(rule, "x", out, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, ":5:"));
    unlink(path);
    assert_int_equal(sk_domain_of(rule, "x", out, &err), SAIKAI_ENOENT);
    assert_int_equal(sk_domain_of("hwloc:nonsense", "x", out, &err) == 0, 0);
}

static int split_rank(struct sk_group *g, void *arg)
{
    char host[32];
    struct sk_group *mine = NULL;
    int number = -1, sum = g->rank / 2;
    snprintf(host, sizeof host, "node%d", g->rank / 2);
    int rc = sk_grouping_split(g, host, "host", 4, 3, &mine, &number, NULL);
    if (rc)
        return rc;
    int hosts[8] = {0};
    rc = sk_group_allgather(mine, &sum, hosts, sizeof sum);
    for (int i = 0; i < mine->size; i++)
        for (int k = 0; k < i; k++)
            if (hosts[i] == hosts[k])
                rc = SAIKAI_EINTERNAL;
    if (mine->size != 4 || number < 0 || number > 1)
        rc = SAIKAI_EINTERNAL;
    sk_group_free(mine);
    return rc;
}

static int cannot_split(struct sk_group *g, void *arg)
{
    struct sk_group *mine = NULL;
    int number;
    return sk_grouping_split(g, "one-host", NULL, 4, 2, &mine, &number, NULL) ? 0
                                                                              : SAIKAI_EINTERNAL;
}

static void test_split(void **state)
{
    assert_int_equal(sk_loop_run(8, split_rank, NULL), 0);
    assert_int_equal(sk_loop_run(3, cannot_split, NULL), 0);
}

static void test_usual_size(void **state)
{
    assert_int_equal(sk_grouping_members(0, 1, 100), 8);
    assert_int_equal(sk_grouping_members(0, 2, 100), 9);
    assert_int_equal(sk_grouping_members(0, 2, 4), 4);
    assert_int_equal(sk_grouping_members(6, 2, 100), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),     cmocka_unit_test(test_uneven), cmocka_unit_test(test_too_few),
        cmocka_unit_test(test_rules),      cmocka_unit_test(test_split),
        cmocka_unit_test(test_usual_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
