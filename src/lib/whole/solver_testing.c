/* The solver of the tests of sessions: its state after an iteration depends on every iteration before. */
#include "lib/whole/solver_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void step(double *u, size_t n, int rank, int64_t it)
{
    for (size_t i = 0; i < n; i++)
        u[i] = u[i] * 0.75 + (double)(it * 3 + rank) + (double)i * 1e-3;
}

static void start_values(double *u, size_t n, int rank)
{
    for (size_t i = 0; i < n; i++)
        u[i] = rank + (double)i;
}

static int within(const double *a, const double *b, size_t n, double tolerance)
{
    double low = b[0], high = b[0], worst = 0;
    for (size_t i = 0; i < n; i++) {
        low = b[i] < low ? b[i] : low;
        high = b[i] > high ? b[i] : high;
        double e = a[i] > b[i] ? a[i] - b[i] : b[i] - a[i];
        worst = e > worst ? e : worst;
    }
    return tolerance > 0 ? worst <= tolerance * (high - low) : !memcmp(a, b, n * sizeof *a);
}

struct sk_config *solver_config(const char *more)
{
    return world_config("schedule.every=10; %s", more ? more : "");
}

static int iterate(struct sk_session *s, const struct solve *r, double *u, size_t n, int64_t from)
{
    struct saikai_error err = {0};
    for (int64_t it = from; it < r->until; it++) {
        step(u, n, s->g->rank, it);
        int rc = sk_session_candidate(s, 0, it + 1, &err);
        if (r->halts && s->ending.halted)
            break;
        CHECK(rc >= 0);
        if (rc && r->settle)
            CHECK(!world_settle(s, it + 1));
        if (r->body)
            CHECK(!r->body(s, it + 1));
    }
    return 0;
}

static int program(struct sk_group *g, void *arg)
{
    const struct solve *r = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    size_t n = r->cells ? r->cells : SOLVER_CELLS;
    double *u = malloc(n * sizeof *u), *expect = malloc(n * sizeof *u);
    CHECK(u && expect && !world_session(g, solver_config(r->config), &s, &err));
    start_values(u, n, g->rank);
    CHECK(!world_protect(s, u, n, &err));
    int restored = 0;
    int64_t from = 0;
    int rc = sk_session_restart(s, &restored, &from, &err);
    if (r->expect < 0) {
        CHECK(rc == r->expect || rc == SAIKAI_EPEER);
        if (r->expect_text)
            CHECK(strstr(err.text, r->expect_text));
    } else {
        CHECK(!rc && restored == r->expect && from == r->expect_from);
        start_values(expect, n, g->rank);
        for (int64_t it = 0; it < from; it++)
            step(expect, n, g->rank, it);
        CHECK(within(u, expect, n, r->tolerance));
        memcpy(u, expect, n * sizeof *u);
        rc = iterate(s, r, u, n, from);
        if (rc)
            return rc;
    }
    free(u);
    free(expect);
    return world_leave(s, 0, !r->crash && r->expect >= 0);
}

void solve(int ranks, struct solve r)
{
    world_start(ranks, program, &r);
}

int solver_begin(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-session-XXXXXX", SK_LOG_DEBUG);
}

int solver_end(void **state)
{
    (void)state;
    return world_end();
}
