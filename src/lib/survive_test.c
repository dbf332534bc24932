/* A job whose nodes are directories: whichever of them are lost, what was protected comes back on
 * the nodes there are then, bit for bit; and what cannot come back is told, never guessed. */
#include "lib/session.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { MOST = 8, CELLS = 3000 };

static char dir[64], last_log[8192];

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d, rank %d: %s: %s\n", __LINE__, g->rank, #x, err.text);        \
            return -1000 - __LINE__;                                                               \
        }                                                                                          \
    } while (0)

/* One start of the little program on some nodes. */
struct run {
    int ranks, node_of[MOST]; /* node of each rank */
    const char *config;
    int64_t from;  /* iteration that must be restored, 0: a fresh start */
    int64_t until; /* iterations to reach; a checkpoint at every tenth */
    int64_t
        unprotected; /* from this iteration on nothing waits for the protection (0: always wait) */
    int finalize;
    int64_t protects; /* what must be protected at the end, 0: nothing to be checked */
};

static void log_line(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    size_t n = strlen(last_log);
    snprintf(last_log + n, sizeof last_log - n, "%s\n", line);
}

static struct sk_config *configure(const struct run *r, int rank)
{
    struct sk_config *c = sk_config_new();
    char text[700];
    snprintf(text, sizeof text,
             "store.prefix=%s/prefix; store.local=%s/node%d; schedule.poll=1ms; schedule.signals=; "
             "job.name=test; "
             "store.fsync=no; schedule.every=10; schedule.first=no; redundancy.domain=process; "
             "store.archive_every=0; "
             "store.archive_last=no; %s",
             dir, dir, r->node_of[rank], r->config ? r->config : "");
    assert_int_equal(sk_config_set_all(c, text, SK_FROM_API, NULL), 0);
    return c;
}

/* Different for each rank, iteration and cell; ranks have parts of different sizes. */
static size_t cells_of(int rank)
{
    return CELLS + 217 * (size_t)(rank % 5);
}

static void values(double *u, int rank, int64_t it)
{
    for (size_t i = 0; i < cells_of(rank); i++)
        u[i] = (double)(it * 1000 + rank) + (double)i * 1e-4;
}

/* Candidates at which nothing is due, until the checkpoint of this iteration is protected. */
static int wait_for_protection(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    struct sk_group *g = s->g;
    CHECK(!sk_session_wait(s, &err));
    for (int i = 0; i < 20000 && !(s->protected_any && s->protected_iteration >= it); i++) {
        CHECK(sk_session_due(s, 1, it, &err) == 0);
        sk_sleep(50e-6); /* a thread may be at work */
    }
    CHECK(s->protected_any && s->protected_iteration >= it);
    return 0;
}

static int go(struct sk_session *s, const struct run *r, double *u)
{
    struct saikai_error err = {0};
    struct sk_group *g = s->g;
    if (r->from && r->until == r->from &&
        s->protector) /* made whole again while the program runs */
        CHECK(!wait_for_protection(s, r->from));
    for (int64_t it = r->from + 1; it <= r->until; it++) {
        values(u, g->rank, it);
        int rc = sk_session_candidate(s, 0, it, &err);
        CHECK(rc >= 0);
        if (!rc)
            continue;
        if (!s->protector || (r->unprotected && it >= r->unprotected))
            CHECK(!sk_session_wait(s, &err));
        else
            CHECK(!wait_for_protection(s, it));
    }
    if (r->protects)
        CHECK(s->protected_any && s->protected_iteration == r->protects);
    return 0;
}

static int program(struct sk_group *g, void *arg)
{
    const struct run *r = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct sk_group *own;
    size_t n = cells_of(g->rank);
    double *u = malloc(n * sizeof *u), *expect = malloc(n * sizeof *u);
    CHECK(u && expect && !sk_group_dup(g, &own));
    CHECK(!sk_session_new(own, configure(r, g->rank), "program", &s, &err));
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {n}, .data = u};
    CHECK(!sk_vars_put(&s->vars, &v, &err));
    int restored = 0;
    int64_t from = 0;
    CHECK(!sk_session_restart(s, &restored, &from, &err));
    CHECK(from == r->from && restored == (r->from != 0));
    values(expect, g->rank, from);
    CHECK(!restored || !memcmp(u, expect, n * sizeof *u));
    int rc = go(s, r, u);
    if (r->finalize)
        CHECK(!sk_session_finalize(s, &err));
    else
        sk_session_abandon(s);
    free(u);
    free(expect);
    return rc;
}

static int start(const struct run *r)
{
    last_log[0] = 0;
    int rc = sk_loop_run(r->ranks, program, (void *)r);
    if (rc)
        fprintf(stderr, "%s", last_log);
    return rc;
}

static void say(const char *text)
{
    if (!strstr(last_log, text))
        fail_msg("'%s' is not in the log:\n%s", text, last_log);
}

static void lose(int node)
{
    char path[200];
    snprintf(path, sizeof path, "%s/node%d", dir, node);
    assert_int_equal(sk_io_rmtree(path, NULL), 0);
}

/* Six ranks on six nodes; iterations 10 and 20 are protected, 25 is where the job dies. */
static struct run six(const char *config)
{
    return (struct run){
        .ranks = 6, .node_of = {0, 1, 2, 3, 4, 5}, .config = config, .until = 25, .protects = 20};
}

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/dev/shm/saikai-survive-XXXXXX");
    if (!mkdtemp(dir)) {
        strcpy(dir, "/tmp/saikai-survive-XXXXXX");
        if (!mkdtemp(dir))
            return -1;
    }
    sk_log_set(log_line, NULL, SK_LOG_INFO);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

/* ---- */

static void every_pair(const char *config)
{
    for (int a = 0; a < 6; a++)
        for (int b = a; b < 6; b++) {
            struct run r = six(config);
            assert_int_equal(start(&r), 0);
            lose(a);
            lose(b);
            r.from = r.until = r.protects = 20; /* goes on, on spares, and is protected again */
            r.node_of[a] = 6;
            r.node_of[b] = a == b ? 6 : 7;
            assert_int_equal(start(&r), 0);
            say("resuming from iteration 20 (protected copy)");
            /* what was made whole survives the next loss */
            lose((a + 1) % 6);
            lose((b + 2) % 6);
            r.node_of[(a + 1) % 6] = 8;
            r.node_of[(b + 2) % 6] = 9;
            r.until = 40;
            r.protects = 40;
            r.finalize = 1;
            assert_int_equal(start(&r), 0);
            finish(NULL);
            begin(NULL);
        }
}

static void test_any_two_of_six_by_a_thread(void **state)
{
    (void)state;
    every_pair(NULL);
}

static void test_any_two_of_six_in_slices(void **state)
{
    (void)state;
    every_pair("redundancy.helper=slices");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_any_two_of_six_by_a_thread, begin, finish),
        cmocka_unit_test_setup_teardown(test_any_two_of_six_in_slices, begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
