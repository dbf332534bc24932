/* The crash sweep: a run dies at its N-th input or output operation, for every N from the first to the last one of two
 * checkpoints, their copies to the prefix and the end of the run. Whenever it dies, the next start finds the old or the
 * new generation, whole and with the right data; and never a generation that was complete before is gone. */
#include "lib/session/session.h"

#include "base/host/fork_testing.h"
#include "base/file/io.h"
#include "base/log.h"
#include "base/sweep.h"
#include "capture/dirty.h"
#include "group/loop.h"
#include "lib/restart/restart.h"
#include "lib/run/candidate.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { RANKS = 2, CELLS = 3000, MANY_CELLS = 24576, BLOCK = 512, DIED = 42 };

/* What kind of checkpoints a sweep makes. */
struct kind {
    int cells; /* MANY_CELLS: few of them change, so that only changes are saved */
    const char *config;
    int64_t last; /* iteration; the first one after the complete generation of iteration 10 is 20 */
    /* ranks that write the first generation, that die, that look afterwards: then they all share one global array of
     * RANKS * cells values; 0: RANKS each time, and each rank has its own */
    int before, during, after;
    int lose_local; /* 1: only what is in the prefix is left */
};
static const struct kind full = {.cells = CELLS, .config = "", .last = 30};
static const struct kind deltas = {.cells = MANY_CELLS, .config = "", .last = 50};
static const struct kind folded = {.cells = MANY_CELLS, .config = "; capture.max_deltas=1; store.keep_local=2", .last = 60};
static const struct kind coded = {.cells = MANY_CELLS, .config = "; codec.chains=c=zstd; capture.max_deltas=2", .last = 50};
static const struct kind fewer = {CELLS, "", 30, 3, 2, 4, 0};
static const struct kind more = {MANY_CELLS, "", 40, 1, 2, 1, 0};
static const struct kind archives = {
    .cells = CELLS, .config = "; store.archive=aggregate; far.writers=2; codec.threads=1", .last = 30, .lose_local = 1};
static const struct kind archived_deltas = {
    .cells = MANY_CELLS, .config = "; store.archive=aggregate; codec.threads=1", .last = 30, .lose_local = 1};
static const struct kind *kind = &full;

static char dir[64];
static atomic_long operations;
static long die_at;
static int error_instead; /* errno to return from then on, instead of dying */

static int hook(const char *op, const char *path)
{
    (void)op;
    (void)path;
    long n = atomic_fetch_add(&operations, 1);
    if (n < die_at)
        return 0;
    if (error_instead)
        return n == die_at ? error_instead : 0;
    _exit(DIED);
}

/* The first of a rank's values in the global array. */
static int first_of(int rank, int size)
{
    return kind->before ? RANKS * kind->cells * rank / size : rank * kind->cells;
}

/* Values first … first + n - 1. All of them change, or one block in eight: each one at iterations of its own. */
static void values(double *u, int first, int n, int64_t it)
{
    for (int i = 0; i < n; i++) {
        int place = first + i;
        int64_t at = kind->cells == CELLS ? it : it - (it / 10 + place / BLOCK) % 8 * 10;
        double v = (double)(at * 1000) + place * 1e-4;
        if (u[i] != v)
            u[i] = v;
    }
}

struct plan {
    int ranks;
    int64_t first, last; /* iterations to checkpoint */
    int finalize;
    int64_t restored; /* out: iteration found, 0: none; -1: wrong data, -2: error */
};

static int settle(struct sk_session *s, int64_t it, struct saikai_error *err)
{
    int rc = sk_session_wait(s, err), apart = sk_place_is_apart(&s->place);
    for (int i = 0; !rc && apart && i < 1000 &&
                                              sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED) < sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE); i++) {
        sk_engine_drain(s->levels.engine);
        while (!sk_level_wait(&s->levels.at[SK_LEVEL_FAR], 1))
            ;
        rc = sk_session_due(s, 1, it, err);
    }
    sk_engine_drain(s->levels.engine);
    return rc;
}

static int program(struct sk_group *g, void *arg)
{
    struct plan *p = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct sk_config *c = sk_config_new();
    struct sk_group *own = NULL;
    char text[512];
    int first = first_of(g->rank, g->size), n = first_of(g->rank + 1, g->size) - first;
    double *u = calloc((size_t)n, sizeof *u), *expect = calloc((size_t)n, sizeof *u), few[7];
    snprintf(text, sizeof text,
             "store.prefix=%s/prefix; store.local=%s/local; job.name=sweep; schedule.signals=; schedule.poll=1ms; "
             "schedule.every=10; schedule.first=no; restart.tries=1000%s",
             dir, dir, kind->config);
    if (!u || !expect || sk_group_dup(g, &own) || sk_config_set_all(c, text, SK_FROM_API, &err))
        return -1;
    if (sk_session_new(own, c, "program", &s, &err)) {
        free(u);
        free(expect);
        return 0; /* an injected error: nothing was begun, nothing is lost */
    }
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {(size_t)n}, .data = u};
    struct sk_var c_var = {.name = "c", .type = SAIKAI_F64, .ndims = 1, .dims = {7}, .data = few};
    if (kind->before) {
        v.scope = SK_SKC_GLOBAL;
        v.tile = (struct sk_skc_tile){{(uint64_t)(RANKS * kind->cells)}, {(uint64_t)first}};
        c_var.scope = SK_SKC_REPLICATED;
    }
    int restored = 0;
    int64_t from = 0;
    int rc = sk_vars_put(&s->vars, &v, &err);
    if (!rc)
        rc = sk_vars_put(&s->vars, &c_var, &err);
    if (!rc)
        rc = sk_session_restart(s, &restored, &from, &err);
    if (g->rank == 0)
        p->restored = rc ? -2 : from;
    if (!rc && restored) {
        values(expect, first, n, from);
        for (int i = 0; i < 7; i++)
            if (few[i] != (double)from)
                p->restored = -1;
        if (memcmp(u, expect, (size_t)n * sizeof *u))
            p->restored = -1;
    }
    if (!rc) {
        for (int64_t it = p->first; it <= p->last; it += 10) {
            values(u, first, n, it);
            for (int i = 0; i < 7; i++)
                few[i] = (double)it;
            sk_session_candidate(s, 0, it, &err);
            settle(s, it, &err);
        }
    }
    free(u);
    free(expect);
    if (p->finalize)
        sk_session_finalize(s, &err);
    else
        sk_session_abandon(s);
    return 0;
}

/* In a process of its own; returns its exit status. */
static int run_child(struct plan *p, long at, int with_errno)
{
    pid_t pid = sk_testing_fork();
    if (pid == 0) {
        alarm(300);
        die_at = at;
        error_instead = with_errno;
        if (at >= 0)
            sk_io_hook = hook;
        sk_loop_run(p->ranks, program, p);
        _exit(p->restored == -1 ? 1 : atomic_load(&operations) > at && at >= 0 ? 2 : 0);
    }
    int status = 0;
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status))
        fail_msg("operation %ld: ended by signal %d", at, WTERMSIG(status));
    return WEXITSTATUS(status);
}

static int64_t look(void)
{
    struct plan p = {.ranks = kind->before ? kind->after : RANKS, .first = 1, .last = 0};
    assert_int_equal(sk_loop_run(p.ranks, program, &p), 0);
    return p.restored;
}

static void begin(void)
{
    strcpy(dir, "/dev/shm/saikai-crash-XXXXXX"); /* hundreds of runs: rather in memory */
    if (!mkdtemp(dir)) {
        strcpy(dir, "/tmp/saikai-crash-XXXXXX");
        assert_non_null(mkdtemp(dir));
    }
    struct plan p = {.ranks = kind->before ? kind->before : RANKS, .first = 10, .last = 10};
    assert_int_equal(run_child(&p, -1, 0), 0);
    assert_int_equal(look(), 10);
}

/* Back to where `begin` came to: a copy of the directory is there sooner than the same done again.
 */
static void again(void)
{
    char command[256];
    snprintf(command, sizeof command,
             "[ -d %s-first ] || mv %s %s-first; rm -rf %s; cp -a %s-first %s", dir, dir, dir, dir,
             dir, dir);
    assert_int_equal(system(command), 0);
}

static void end(void)
{
    char first[80];
    snprintf(first, sizeof first, "%s-first", dir);
    assert_int_equal(sk_io_rmtree(first, NULL), 0);
    assert_int_equal(sk_io_rmtree(dir, NULL), 0);
}

static void lose_local(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/local", dir);
    assert_int_equal(sk_io_rmtree(path, NULL), 0);
}

static void sweep(const struct kind *what, int with_errno, int finalize)
{
    kind = what;
    long n = 0, newer = 0, stride = sk_sweep_stride(17, 29);
    begin();
    for (int finished = 0; !finished; n += stride) {
        again();
        struct plan p = {.ranks = kind->before ? kind->during : RANKS, .first = 20, .last = kind->last, .finalize = finalize};
        int rc = run_child(&p, n, with_errno);
        finished = rc == 0;
        if (rc == 1)
            fail_msg("operation %ld: wrong data was restored", n);
        if (kind->lose_local)
            lose_local();
        int64_t found = look();
        /* a finished run begins anew, by design */
        if ((found < 10 || found > kind->last || found % 10) && !(finalize && found == 0))
            fail_msg("operation %ld: found %lld afterwards", n, (long long)found);
        newer += found > 10 ? stride : 0;
        assert_true(n < 2000);
    }
    printf("%ld operations; after %ld of them a newer generation counts\n", n - 1, newer);
    end();
    assert_true(n > 40 && newer > 5);
    assert_true(newer < n || stride > 11); /* few looks may miss all the moments at which it is the older one */
}

static void test_die_at_every_operation(void **state)
{
    (void)state;
    sweep(&full, 0, 0);
}

static void test_die_at_every_operation_with_finalize(void **state)
{
    (void)state;
    sweep(&full, 0, 1);
}

static void test_every_operation_fails_once_by_full_disk(void **state)
{
    (void)state;
    sweep(&full, ENOSPC, 0);
}

static void test_every_operation_fails_once_by_io_error(void **state)
{
    (void)state;
    sweep(&full, EIO, 0);
}

static void test_die_among_deltas(void **state)
{
    (void)state;
    sweep(&deltas, 0, 0);
}

static void test_die_while_deltas_become_full(void **state)
{
    (void)state;
    sweep(&folded, 0, 0);
}

static void test_die_among_deltas_with_coded_variables(void **state)
{
    (void)state;
    sweep(&coded, 0, 1);
}

static void test_every_operation_of_deltas_fails_once(void **state)
{
    (void)state;
    sweep(&folded, ENOSPC, 0);
    sweep(&coded, EIO, 0);
}

/* 3 ranks wrote the first generation, 2 resume from it and die, 4 look: at whatever moment of the change, the one or the
 * other generation is there for any number of ranks. */
static void test_die_while_the_number_of_ranks_changes(void **state)
{
    (void)state;
    sweep(&fewer, 0, 0);
    sweep(&more, 0, 1);
}

static void test_every_operation_of_a_change_of_ranks_fails_once(void **state)
{
    (void)state;
    sweep(&fewer, EIO, 0);
}

static void test_archives_alone_are_whole_whenever_it_dies(void **state)
{
    (void)state;
    sweep(&archives, 0, 0);
    sweep(&archived_deltas, 0, 0);
}

static void test_every_operation_of_archiving_fails_once(void **state)
{
    (void)state;
    sweep(&archives, ENOSPC, 0);
}

int main(void)
{
    struct sk_dirty *tried = NULL; /* here, and not in each of the thousands of processes */
    sk_dirty_close(sk_dirty_open(NULL, &tried, NULL) ? NULL : tried);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_die_at_every_operation),
        cmocka_unit_test(test_die_at_every_operation_with_finalize),
        cmocka_unit_test(test_every_operation_fails_once_by_full_disk),
        cmocka_unit_test(test_every_operation_fails_once_by_io_error),
        cmocka_unit_test(test_die_among_deltas),
        cmocka_unit_test(test_die_while_deltas_become_full),
        cmocka_unit_test(test_die_among_deltas_with_coded_variables),
        cmocka_unit_test(test_every_operation_of_deltas_fails_once),
        cmocka_unit_test(test_die_while_the_number_of_ranks_changes),
        cmocka_unit_test(test_every_operation_of_a_change_of_ranks_fails_once),
        cmocka_unit_test(test_archives_alone_are_whole_whenever_it_dies),
        cmocka_unit_test(test_every_operation_of_archiving_fails_once),
    };
    sk_sweep_report(sk_sweep_stride(17, 29));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
