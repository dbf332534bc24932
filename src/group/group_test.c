/* Groups of threads: collectives, messages, splits, verdicts, several requests at once, and patient
 * groups that can be told to stop waiting. */
#include "group/patient.h"
#include "group/loop.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x))                                                                                  \
            return -1000 - __LINE__;                                                               \
    } while (0)

static int collectives(struct sk_group *g, void *arg)
{
    (void)arg;
    int64_t v[2] = {g->rank, -g->rank};
    CHECK(!sk_group_allreduce(g, v, 2, SK_OP_MIN));
    CHECK(v[0] == 0 && v[1] == -(g->size - 1));
    v[0] = 1;
    CHECK(!sk_group_allreduce(g, v, 1, SK_OP_SUM) && v[0] == g->size);
    char name[8] = "";
    if (g->rank == 1)
        strcpy(name, "root");
    CHECK(!sk_group_bcast(g, name, sizeof name, 1) && !strcmp(name, "root"));
    int all[16], mine = g->rank * 3;
    CHECK(!sk_group_allgather(g, &mine, all, sizeof mine));
    for (int i = 0; i < g->size; i++)
        CHECK(all[i] == 3 * i);
    return sk_group_barrier(g);
}

static int nonblocking_reduce(struct sk_group *g, void *arg)
{
    (void)arg;
    for (int round = 0; round < 100; round++) {
        int64_t v = g->rank + round;
        struct sk_request *r = NULL;
        CHECK(!sk_group_iallreduce(g, &v, 1, SK_OP_MAX, &r));
        int done = 0;
        for (int spin = 0; spin < 3 && !done; spin++)
            CHECK(!sk_group_test(g, &r, &done));
        CHECK(!sk_group_wait(g, &r));
        CHECK(!r && v == g->size - 1 + round);
    }
    return 0;
}

static int ring(struct sk_group *g, void *arg)
{
    (void)arg;
    struct sk_request *s = NULL, *r = NULL;
    int next = (g->rank + 1) % g->size, last = (g->rank + g->size - 1) % g->size, got[2];
    for (int i = 0; i < 50; i++) {
        int a = g->rank * 100 + i, b = a + 50;
        CHECK(!sk_group_isend(g, &a, sizeof a, next, 1, &s) && !sk_group_wait(g, &s));
        CHECK(!sk_group_isend(g, &b, sizeof b, next, 2, &s) && !sk_group_wait(g, &s));
    }
    for (int i = 0; i < 50; i++) { /* tags are matched, order is kept */
        CHECK(!sk_group_irecv(g, &got[1], sizeof(int), last, 2, &r) && !sk_group_wait(g, &r));
        CHECK(!sk_group_irecv(g, &got[0], sizeof(int), last, 1, &r) && !sk_group_wait(g, &r));
        CHECK(got[0] == last * 100 + i && got[1] == got[0] + 50);
    }
    char small;
    CHECK(!sk_group_isend(g, got, sizeof got, next, 3, &s) && !sk_group_wait(g, &s));
    CHECK(!sk_group_irecv(g, &small, 1, last, 3, &r) && sk_group_wait(g, &r) == SAIKAI_EINVAL);
    return 0;
}

static int splits(struct sk_group *g, void *arg)
{
    (void)arg;
    struct sk_group *half = NULL, *none = (void *)g;
    CHECK(!sk_group_split(g, g->rank % 2, -g->rank, &half));
    CHECK(half->size == g->size / 2 && half->rank == half->size - 1 - g->rank / 2);
    int64_t v = g->rank;
    CHECK(!sk_group_allreduce(half, &v, 1, SK_OP_MIN) && v == g->rank % 2);
    sk_group_free(half);
    CHECK(!sk_group_split(g, -1, 0, &none) && !none);
    return 0;
}

static int verdicts(struct sk_group *g, void *arg)
{
    (void)arg;
    struct saikai_error err = {0};
    CHECK(!sk_group_verdict(g, 0, &err));
    int code = g->rank >= 2 ? sk_fail(&err, SAIKAI_EIO, "disk %d is gone", g->rank) : 0;
    code = sk_group_verdict(g, code, &err);
    if (g->rank >= 2) {
        CHECK(code == SAIKAI_EIO);
    } else {
        CHECK(code == SAIKAI_EPEER);
        CHECK(!strcmp(err.text, "rank 2: disk 2 is gone"));
    }
    return 0;
}

static int odd_sizes(struct sk_group *g, void *arg)
{
    (void)arg;
    char big[5000];
    for (int root = 0; root < g->size; root++) {
        memset(big, g->rank == root ? 'a' + root : 0, sizeof big);
        CHECK(!sk_group_bcast(g, big, sizeof big, root));
        for (size_t i = 0; i < sizeof big; i++)
            CHECK(big[i] == 'a' + root);
    }
    int64_t in[3] = {g->rank, 7, -g->rank}, all[3 * 16];
    CHECK(!sk_group_allgather(g, in, all, sizeof in));
    for (int i = 0; i < g->size; i++)
        CHECK(all[3 * i] == i && all[3 * i + 1] == 7 && all[3 * i + 2] == -i);
    CHECK(!sk_group_allgather(g, NULL, NULL, 0));
    return sk_group_barrier(g);
}

static void run(void **state)
{
    assert_int_equal(sk_loop_run(4, (int (*)(struct sk_group *, void *))*state, NULL), 0);
}

/* Several requests at once: what has come is ended, the rest stays open; waiting ends with the first. */
static int some(struct sk_group *g, void *arg)
{
    enum { EACH = 3 };
    int64_t in[4 * EACH], out[4 * EACH];
    struct sk_request *req[4 * EACH + 1] = {NULL}, **list[4 * EACH + 1] = {NULL};
    int ended = -1, open = 0, n = g->size * EACH;
    (void)arg;
    for (int i = 0; i <= n; i++)
        list[i] = &req[i];
    CHECK(!sk_group_some(g, list, n + 1, 1, &ended) && !ended); /* none is open: nothing to wait for */
    for (int i = 0; i < n; i++)
        CHECK(!sk_group_irecv(g, &in[i], sizeof in[i], i / EACH, i % EACH, &req[i]));
    CHECK(!sk_group_some(g, list, n + 1, 0, &ended) && !ended); /* nobody has sent */
    CHECK(!sk_group_barrier(g));
    for (int i = 0; i < n; i++) {
        struct sk_request *send = NULL;
        out[i] = 100 * g->rank + i % EACH;
        CHECK(!sk_group_isend(g, &out[i], sizeof out[i], i / EACH, i % EACH, &send));
        CHECK(!sk_group_wait(g, &send));
    }
    for (int total = 0; total < n; total += ended) {
        CHECK(!sk_group_some(g, list, n + 1, 1, &ended) && ended > 0);
        open = 0;
        for (int i = 0; i < n; i++)
            open += req[i] != NULL;
        CHECK(open == n - total - ended);
    }
    for (int i = 0; i < n; i++)
        CHECK(in[i] == 100 * (i / EACH) + i % EACH);
    return sk_group_barrier(g);
}

/* A group that has only test: some is made of it. */
static int some_of_tests(struct sk_group *g, void *arg)
{
    struct sk_group_ops ops = *g->ops;
    const struct sk_group_ops *own = g->ops;
    ops.some = NULL;
    g->ops = &ops;
    int rc = some(g, arg);
    g->ops = own;
    return rc;
}

/* The same through a patient group, of other sizes, too. */
static int patiently(struct sk_group *g, void *arg)
{
    static int (*const tests[])(struct sk_group *, void *) = {collectives, nonblocking_reduce, ring,
                                                              splits,      verdicts,           odd_sizes, some};
    (void)arg;
    struct sk_group *own, *p;
    CHECK(!sk_group_dup(g, &own) && !sk_group_patient(own, NULL, &p, NULL));
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof tests / sizeof *tests; i++)
        if (g->size == 4 || tests[i] == odd_sizes)
            rc = tests[i](p, NULL);
    sk_group_free(p);
    return rc;
}

static void test_patient(void **state)
{
    (void)state;
    for (int n = 1; n <= 9; n++)
        assert_int_equal(sk_loop_run(n, patiently, NULL), 0);
}

/* Rank 0 never comes: the others wait until they are told to stop, and say so then and later. */
static int given_up(struct sk_group *g, void *arg)
{
    struct sk_group *own, *p, *half;
    atomic_int *stop = arg;
    CHECK(!sk_group_dup(g, &own) && !sk_group_patient(own, stop, &p, NULL) && !sk_group_dup(p, &half));
    int64_t v = 1;
    char text[40] = "";
    if (g->rank) {
        CHECK(sk_group_allreduce(p, &v, 1, SK_OP_MAX) == SAIKAI_EPEER && v == 1);
        CHECK(sk_group_barrier(p) == SAIKAI_EPEER);
        CHECK(sk_group_bcast(half, text, sizeof text, 0) == SAIKAI_EPEER);
        CHECK(sk_group_allgather(half, &v, text, sizeof v) == SAIKAI_EPEER);
    } else {
        sk_sleep(0.02);
        atomic_store(stop, 1);
    }
    sk_group_free(half);
    sk_group_free(p);
    return 0;
}

static void test_given_up(void **state)
{
    (void)state;
    atomic_int stop = 0;
    assert_int_equal(sk_loop_run(3, given_up, &stop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patient),
        cmocka_unit_test(test_given_up),
        {"odd sizes", run, NULL, NULL, (void *)odd_sizes},
        {"collectives", run, NULL, NULL, (void *)collectives},
        {"nonblocking reduce", run, NULL, NULL, (void *)nonblocking_reduce},
        {"ring", run, NULL, NULL, (void *)ring},
        {"some", run, NULL, NULL, (void *)some},
        {"some, made of tests", run, NULL, NULL, (void *)some_of_tests},
        {"splits", run, NULL, NULL, (void *)splits},
        {"verdicts", run, NULL, NULL, (void *)verdicts},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
