#include "group/group.h"

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

static void run(void **state)
{
    assert_int_equal(sk_loop_run(4, (int (*)(struct sk_group *, void *))*state, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"collectives", run, NULL, NULL, (void *)collectives},
        {"nonblocking reduce", run, NULL, NULL, (void *)nonblocking_reduce},
        {"ring", run, NULL, NULL, (void *)ring},
        {"splits", run, NULL, NULL, (void *)splits},
        {"verdicts", run, NULL, NULL, (void *)verdicts},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
