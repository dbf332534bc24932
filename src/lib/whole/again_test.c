/* What was restored is read once more into the same variables, as a repair in place has it: by ranks whose parts are those of the files, or
 * others on some or all of them; and what that comes to when there is nothing to read, or it was damaged meanwhile. */
#include "lib/whole/session_testing.h"

#include "lib/restart/restore.h"
#include "lib/run/requests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { MOST = 4, CELLS = 9000, IT = 10 };

struct start {
    int ranks;
    size_t cuts[MOST + 1]; /* rank r has the cells from cuts[r] to cuts[r + 1] */
    int damage;            /* 1: the file of the last rank, before it is read again */
};

static double value(size_t cell)
{
    return 3 * (double)cell + 7;
}

static int are_right(const double *u, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++)
        if (u[i - from] != value(i))
            return 0;
    return 1;
}

static int begin(struct sk_group *g, const struct start *p, struct sk_session **s, double *u, int *restored, struct saikai_error *err)
{
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {p->cuts[g->rank + 1] - p->cuts[g->rank]}, .data = u,
                       .scope = SK_SKC_GLOBAL, .tile = {.global = {CELLS}, .offset = {p->cuts[g->rank]}}};
    int64_t from = 0;
    int rc = world_session(g, world_config("store.local=none; schedule.first=no; schedule.every=10"), s, err);
    rc = rc ? rc : sk_vars_put(&(*s)->vars, &v, err);
    return rc ? rc : sk_session_restart(*s, restored, &from, err);
}

static int saves(struct sk_group *g, void *arg)
{
    const struct start *p = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    static double all[MOST][CELLS];
    double *u = all[g->rank];
    int restored = 0;
    CHECK(!begin(g, p, &s, u, &restored, &err) && !restored);
    int rc = sk_session_restore_again(s, &err);
    CHECK(rc < 0 && err.code == rc && strstr(err.text, "nothing was restored"));
    for (size_t i = p->cuts[g->rank]; i < p->cuts[g->rank + 1]; i++)
        u[i - p->cuts[g->rank]] = value(i);
    CHECK(sk_session_candidate(s, 0, IT, &err) == 1 && !sk_session_wait(s, &err));
    return world_leave(s, 0, 0);
}

static int restores_twice(struct sk_group *g, void *arg)
{
    const struct start *p = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    static double all[MOST][CELLS];
    double *u = all[g->rank];
    int restored = 0;
    size_t from = p->cuts[g->rank], end = p->cuts[g->rank + 1];
    CHECK(!begin(g, p, &s, u, &restored, &err) && restored && are_right(u, from, end));
    memset(u, 0x55, sizeof all[0]);
    CHECK(!sk_group_barrier(g));
    if (p->damage && !g->rank)
        world_damage("prefix", 1, IT, g->size - 1, 6000);
    CHECK(!sk_group_barrier(g));
    int rc = sk_session_restore_again(s, &err);
    if (p->damage)
        CHECK(rc == (g->rank == g->size - 1 ? SAIKAI_EDAMAGED : SAIKAI_EPEER) && strstr(err.text, "is damaged"));
    else
        CHECK(!rc && are_right(u, from, end));
    for (size_t i = end - from; i < CELLS; i++)
        CHECK(!memcmp(&u[i], "\x55\x55\x55\x55\x55\x55\x55\x55", sizeof *u));
    return world_leave(s, 0, 0);
}

static void it_is_read_again(void **state)
{
    (void)state;
    static const struct start three = {3, {0, 3000, 6000, CELLS}, 0},
                              others[] = {{3, {0, 3000, 6000, CELLS}, 0},      /* the same parts */
                                          {3, {0, 3000, 7000, CELLS}, 0},      /* the first rank's is the same */
                                          {3, {0, 1000, 2000, CELLS}, 0},      /* none is */
                                          {2, {0, 3000, CELLS}, 0},            /* fewer ranks */
                                          {4, {0, 3000, 6000, 6001, CELLS}, 0}, /* more */
                                          {3, {0, 3000, 6000, CELLS}, 1}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        world_anew();
        world_start(three.ranks, saves, (void *)&three);
        world_start(others[i].ranks, restores_twice, (void *)&others[i]);
        sk_requests_remove();
    }
}

static int setup(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-again-XXXXXX", SK_LOG_WARN);
}

static int teardown(void **state)
{
    (void)state;
    return world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_read_again, setup, teardown),
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
