/* What all ranks agree on at a start: its number, its run, how many nodes there are and how often they fail, whoever found it out. Ranks are
 * threads that believe to be on several hosts. */
#include "lib/whole/session_testing.h"

#include "base/file/io.h"
#include "lib/start/hold_local.h"
#include "lib/start/start.h"
#include "lib/start/tries.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 4 };

static const char *const hosts[N] = {"b", "a", "b", "c"};

struct start {
    const char *config;
    uint32_t incarnation, first;
    double rate;
    int rc;
    const char *why;
};

static int has_state(const struct sk_session *s)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/state", s->place.local_root);
    return !access(path, F_OK);
}

static int look(struct sk_group *g, const struct start *p, struct sk_session *s)
{
    struct saikai_error err = {0};
    static const int ranks_here[N] = {2, 1, 2, 1};
    char prefix[128];
    snprintf(prefix, sizeof prefix, "%s/prefix", world.dir);
    CHECK(s->who.incarnation == p->incarnation && s->who.first_incarnation == p->first);
    CHECK(s->place.node_ranks == ranks_here[g->rank] && s->place.nodes == (g->rank ? 0 : 3));
    CHECK(!strcmp(s->place.prefix_root, prefix) && !s->place.prefix_away && s->place.hold && !g->rank == (s->place.lease != NULL));
    CHECK(!strcmp(s->who.job.name, "test") && !sk_id_none(s->who.job.store) && !s->who.unread_before);
    CHECK(fabs(s->measured.host_rate - p->rate) < 1e-9 && s->measured.program_rate == 0 && s->measured.shape == 1);
    CHECK(s->measured.advice.policy.rate == s->measured.rate && s->measured.rate >= s->measured.host_rate);
    int64_t run = (int64_t)(s->who.run_id >> 1), token, v[4];
    memcpy(&token, &s->place.lease_token, sizeof token);
    token = (int64_t)((uint64_t)token >> 1);
    v[0] = run, v[1] = -run, v[2] = token, v[3] = -token;
    CHECK(!sk_group_allreduce(g, v, 4, SK_OP_MIN) && v[0] == -v[1] && v[2] == -v[3] && run && token);
    /* the first rank of each node has a copy of the state */
    CHECK(has_state(s) == (g->rank != 2));
    return 0;
}

static int agrees(struct sk_group *g, void *arg)
{
    const struct start *p = arg;
    struct saikai_error err = {0};
    struct sk_session *s = calloc(1, sizeof *s);
    CHECK(s);
    s->g = g;
    s->config = world_config("store.local=%s/local%d; failure.mtbf=5000s; failure.rates=%s/rates; %s", world.dir, g->rank, world.dir, p->config);
    strcpy(s->place.host, hosts[g->rank]);
    sk_measured_start(&s->measured);
    CHECK(!sk_patience_new(0, &s->place.patience, &err));
    int rc = sk_start_agree(s, "program", &err);
    int bad = p->rc ? rc >= 0 || (!g->rank && (rc != p->rc || !strstr(err.text, p->why))) : rc || look(g, p, s);
    if (bad)
        fprintf(stderr, "rank %d: %d '%s', %g\n", g->rank, rc, err.text, s->measured.host_rate);
    bad |= sk_group_barrier(g);
    sk_tries_disarm(s);
    sk_local_release(s, 0);
    sk_lease_release(s->place.lease);
    sk_patience_free(s->place.patience);
    sk_config_free(s->config);
    free(s);
    return bad ? -1 : 0;
}

static void rates_are(const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/rates", world.dir);
    assert_int_equal(sk_io_replace(path, text, strlen(text), NULL), 0);
}

static void all_ranks_agree(void **state)
{
    (void)state;
    struct start p = {.config = "", .incarnation = 1, .first = 1, .rate = 0.75 + 1.0 / 5000};
    rates_are("a 0.25/s\nb 0.5/s\nx 9/s\n");
    world_start(N, agrees, &p);
    p.incarnation = 2;
    world_start(N, agrees, &p);
    p = (struct start){.config = "restart.mode=never; failure.mtbf=0s", .incarnation = 3, .first = 3, .rate = 0.75}; /* who is not named never fails */
    world_start(N, agrees, &p);
    p = (struct start){.config = "", .incarnation = 4, .first = 3, .rate = 0.75 + 1.0 / 5000};
    world_start(N, agrees, &p);
}

/* Rank 0 finds what is wrong, and no rank begins. */
static void what_one_finds_all_hear(void **state)
{
    (void)state;
    struct start p = {.config = "", .rc = SAIKAI_ECONFIG, .why = "rates"};
    rates_are("a soon\n");
    world_start(N, agrees, &p);
    p = (struct start){.config = "job.name=a/b", .rc = SAIKAI_ECONFIG, .why = "job.name 'a/b' is no plain name"};
    world_start(N, agrees, &p);
    rates_are("");
    p = (struct start){.config = "", .incarnation = 1, .first = 1, .rate = 3.0 / 5000};
    world_start(N, agrees, &p);
}

static int setup(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-agree-XXXXXX", SK_LOG_WARN);
}

static int teardown(void **state)
{
    (void)state;
    return world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_ranks_agree, setup, teardown),
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(what_one_finds_all_hear, setup, teardown),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
