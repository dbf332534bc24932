/* Power cuts: two runs of a job are recorded, with their checkpoints, copies or archives in the prefix, what is removed there, and the
 * state file; then the power is cut after each operation. Of what was not synced by then, some or all may be on the disk
 * (powercut_disk.h). A start on each such disk finds a generation that is whole and has the right data: the one that was last said to
 * be archived, or a newer one; never wrong data, never an error in its place. */
#include "lib/session/session.h"

#include "base/host/fork_testing.h"
#include "base/file/io.h"
#include "base/log.h"
#include "base/sweep.h"
#include "capture/dirty.h"
#include "lib/restart/restart.h"
#include "lib/run/candidate.h"
#include "lib/whole/powercut_disk.h"
#include "group/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { RANKS = 2, CELLS = 3000, MANY_CELLS = 24576, BLOCK = 512, RANDOM = 2, MOST_STATES = 1 << 16, FINISHED = -1, DONE = -2 };

struct kind {
    const char *name;
    int cells; /* MANY_CELLS: few of them change, so that only changes are saved */
    const char *places, *config;
    const char *without; /* what the power cut takes with it */
};

#define APART "store.prefix=%s/prefix; store.local=%s/local; "
static const struct kind files = {"files", CELLS, APART, "", "local"};
static const struct kind beside = {"files, node-local disk stays", CELLS, APART, "store.keep_prefix=1; ", NULL};
static const struct kind alone = {"prefix alone", CELLS, "store.prefix=%s/a/new/prefix; store.local=none; ", "store.keep_local=1; ", NULL};
static const struct kind deltas = {"deltas", MANY_CELLS, APART, "capture.max_deltas=1; store.keep_prefix=1; ", "local"};
static const struct kind coded = {"deltas, coded, prefix alone", MANY_CELLS, "store.prefix=%s/prefix; store.local=none; ",
                                  "codec.chains=c=zstd; capture.max_deltas=1; ", NULL};
static const struct kind archives = {"archives", CELLS, APART,
                                     "store.archive=aggregate; far.writers=2; codec.threads=1; store.keep_prefix=1; ", "local"};
static const struct kind archived_deltas = {"archives of deltas", MANY_CELLS, APART,
                                            "store.archive=aggregate; codec.threads=1; ", "local"};
static const struct kind *kind;

static char dir[64];

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

/* One start of the job; in memory that parent and child share. */
struct start {
    int64_t last; /* iteration; the first one is ten after the restored one */
    int finalize;
    int64_t restored; /* out; 0: none */
    enum { OK, ERROR, WRONG } result;
    char text[512];
};

/* Until the newest checkpoint is where it shall be in the end; 1: it is said to be there. */
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
    return !rc && (!apart || sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED) ==
                              sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE));
}

static struct sk_config *configure(void)
{
    char text[640], places[256];
    struct saikai_error err = {0};
    struct sk_config *c = sk_config_new();
    snprintf(places, sizeof places, kind->places, dir, dir);
    snprintf(text, sizeof text,
             "%s job.name=sweep; schedule.signals=; schedule.poll=1ms; schedule.every=10; schedule.first=no; "
             "restart.tries=1000; %s", places, kind->config);
    if (sk_config_set_all(c, text, SK_FROM_API, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return c;
}

static int is_right(const double *u, const double *few, int rank, int64_t it)
{
    double *expect = calloc((size_t)kind->cells, sizeof *expect);
    values(expect, rank * kind->cells, kind->cells, it);
    int right = !memcmp(u, expect, (size_t)kind->cells * sizeof *u);
    for (int i = 0; i < 7; i++)
        right &= few[i] == (double)it;
    free(expect);
    return right;
}

static int program(struct sk_group *g, void *arg)
{
    struct start *p = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct sk_group *own = NULL;
    double *u = calloc((size_t)kind->cells, sizeof *u), few[7] = {0};
    int restored = 0, rc = sk_group_dup(g, &own);
    int64_t from = 0;
    if (!rc)
        rc = sk_session_new(own, configure(), "program", &s, &err);
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {(size_t)kind->cells}, .data = u};
    struct sk_var c_var = {.name = "c", .type = SAIKAI_F64, .ndims = 1, .dims = {7}, .data = few};
    if (!rc)
        rc = sk_vars_put(&s->vars, &v, &err);
    if (!rc)
        rc = sk_vars_put(&s->vars, &c_var, &err);
    if (!rc)
        rc = sk_session_restart(s, &restored, &from, &err);
    int wrong = !rc && restored && !is_right(u, few, g->rank, from);
    if (g->rank == 0 || wrong) {
        p->restored = from;
        p->result = wrong ? WRONG : rc ? ERROR : OK;
        snprintf(p->text, sizeof p->text, "%s", err.text);
    }
    for (int64_t it = from + 10; !rc && it <= p->last; it += 10) {
        values(u, g->rank * kind->cells, kind->cells, it);
        for (int i = 0; i < 7; i++)
            few[i] = (double)it;
        sk_session_candidate(s, 0, it, &err);
        if (settle(s, it, &err) && g->rank == 0)
            powercut_mark(it);
    }
    if (!rc && p->finalize && g->rank == 0)
        powercut_mark(FINISHED);
    if (!rc && p->finalize)
        rc = sk_session_finalize(s, &err);
    else if (s)
        sk_session_abandon(s);
    if (!rc && p->finalize && g->rank == 0)
        powercut_mark(DONE);
    free(u);
    return rc;
}

/* In a process of its own, which dies without more. */
static void run(struct start *p, struct powercut_log *log)
{
    pid_t pid = sk_testing_fork();
    if (pid == 0) {
        alarm(300);
        if (log)
            powercut_record_begin(log, dir);
        sk_loop_run(RANKS, program, p);
        _exit(0);
    }
    int status = 0;
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status))
        fail_msg("%s: a start ended by signal %d", kind->name, WTERMSIG(status));
}

static void empty_dir(void)
{
    assert_int_equal(sk_io_rmtree(dir, NULL), 0);
    assert_int_equal(sk_io_mkdirs(dir, NULL), 0);
}

struct sweep {
    struct powercut_log *log;
    struct powercut_disk *disk;
    struct start *start;
    uint64_t *seen;
    long states, starts, newer;
    int64_t archived, reached; /* said to be archived; begun */
    int finishing;
};

/* Whether this state was looked at before; the answer may be another one when more was said to be archived meanwhile. */
static int is_known(struct sweep *w, uint64_t hash)
{
    hash = (hash ^ (uint64_t)(w->archived + w->finishing)) * 0x9e3779b97f4a7c15u | 1;
    for (size_t i = hash >> 40;; i++) {
        uint64_t *at = &w->seen[i % MOST_STATES];
        if (*at == hash)
            return 1;
        if (*at)
            continue;
        assert_true(++w->states < MOST_STATES / 2);
        *at = hash;
        return 0;
    }
}

/* Start on what is left, and now and then go on from there. */
static void look(struct sweep *w, long cut, const struct powercut_choice *c)
{
    uint64_t hash;
    assert_int_equal(powercut_disk_write(w->disk, c, NULL, &hash), 0);
    if (is_known(w, hash))
        return;
    empty_dir();
    assert_int_equal(powercut_disk_write(w->disk, c, dir, &hash), 0);
    int go_on = w->starts++ % 8 == 0;
    *w->start = (struct start){.last = 0};
    run(w->start, NULL);
    int64_t found = w->start->restored;
    int begun_anew = found == 0 && (w->archived == 0 || w->finishing);
    /* nothing was promised yet: a node-local file that is not whole may be told */
    int told = w->start->result == ERROR && !w->archived && !c->without;
    if ((w->start->result != OK && !told) || (found < w->archived && !begun_anew) || found % 10)
        fail_msg("%s: power cut after operation %ld (names %d, data %d, seed %llu): %lld was archived, %lld found: %s%s",
                 kind->name, cut, c->names, c->data, (unsigned long long)c->seed, (long long)w->archived, (long long)found,
                 w->start->result == WRONG ? "wrong data " : "", w->start->text);
    w->newer += found > w->archived;
    if (!go_on || told)
        return;
    int64_t last = found + 20;
    *w->start = (struct start){.last = last};
    run(w->start, NULL);
    *w->start = (struct start){.last = 0};
    run(w->start, NULL);
    if (w->start->result != OK || w->start->restored != last)
        fail_msg("%s: power cut after operation %ld (names %d, data %d, seed %llu): went on to %lld, and %lld found: %s",
                 kind->name, cut, c->names, c->data, (unsigned long long)c->seed, (long long)last,
                 (long long)w->start->restored, w->start->text);
}

static void look_at_all(struct sweep *w, long cut)
{
    static const struct {
        enum powercut_names names;
        enum powercut_data data;
    } choices[] = {{POWERCUT_NO_NAMES, POWERCUT_SYNCED_DATA},  {POWERCUT_ALL_NAMES, POWERCUT_ALL_DATA},
                   {POWERCUT_ALL_NAMES, POWERCUT_SYNCED_DATA}, {POWERCUT_ALL_NAMES, POWERCUT_NO_BLOCKS},
                   {POWERCUT_ALL_NAMES, POWERCUT_SOME_BLOCKS}, {POWERCUT_NO_NAMES, POWERCUT_SOME_BLOCKS}};
    struct powercut_choice c = {.without = kind->without, .coming = w->log->event + cut, .coming_count = w->log->count - cut};
    int n = sizeof choices / sizeof *choices;
    for (int i = 0; i < n + RANDOM; i++) {
        c.names = i < n ? choices[i].names : POWERCUT_SOME_NAMES;
        c.data = i < n ? choices[i].data : POWERCUT_ANY_DATA;
        c.seed = (uint64_t)cut * 64 + (uint64_t)i;
        look(w, cut, &c);
    }
}

/* What was recorded is all that was done: played back, it gives what is there. */
static void compare(struct sweep *w)
{
    char other[80], command[256];
    uint64_t hash;
    struct powercut_disk *d = powercut_disk_new();
    for (long i = 0; i < w->log->count; i++)
        if (powercut_disk_apply(d, &w->log->event[i]))
            fail_msg("operation %ld (%d) cannot be played back", i, w->log->event[i].op);
    snprintf(other, sizeof other, "%s-played", dir);
    assert_int_equal(sk_io_mkdirs(other, NULL), 0);
    struct powercut_choice c = {.names = POWERCUT_ALL_NAMES, .data = POWERCUT_ALL_DATA};
    assert_int_equal(powercut_disk_write(d, &c, other, &hash), 0);
    snprintf(command, sizeof command, "diff -r %s %s", dir, other);
    assert_int_equal(system(command), 0);
    assert_int_equal(sk_io_rmtree(other, NULL), 0);
    powercut_disk_free(d);
}

static void record(struct sweep *w)
{
    static const struct start starts[] = {{.last = 30}, {.last = 60}, {.last = 80, .finalize = 1}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        *w->start = starts[i];
        run(w->start, w->log);
        assert_int_equal(w->start->result, OK);
        assert_int_equal(w->start->restored, i * 30);
        assert_false(w->log->full);
        compare(w);
    }
}

static void sweep(const struct kind *what)
{
    kind = what;
    strcpy(dir, "/dev/shm/saikai-powercut-XXXXXX"); /* thousands of starts: rather in memory */
    if (!mkdtemp(dir)) {
        strcpy(dir, "/tmp/saikai-powercut-XXXXXX");
        assert_non_null(mkdtemp(dir));
    }
    struct sweep w = {.log = powercut_log_new(20000, (size_t)1 << 30), .disk = powercut_disk_new(),
                      .seen = calloc(MOST_STATES, sizeof *w.seen)};
    w.start = mmap(NULL, sizeof *w.start, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(w.log && w.disk && w.seen && w.start != MAP_FAILED);
    record(&w);
    long stride = sk_sweep_stride(67, 211), cuts = 0;
    for (long i = 0; i < w.log->count; i++) {
        const struct powercut_event *e = &w.log->event[i];
        assert_int_equal(powercut_disk_apply(w.disk, e), 0);
        if (e->op == POWERCUT_MARK) {
            w.archived = e->at > 0 ? e->at : w.archived;
            w.finishing |= e->at < 0;
        }
        if (i % stride && e->op != POWERCUT_MARK)
            continue;
        cuts++;
        look_at_all(&w, i + 1);
    }
    printf("%s: %ld operations, %ld power cuts, %ld different disks, a newer generation on %ld\n", kind->name, w.log->count,
           cuts, w.states, w.newer);
    assert_true(w.log->count > 100 && w.archived == 80 && w.states > 20);
    assert_int_equal(sk_io_rmtree(dir, NULL), 0);
    munmap(w.start, sizeof *w.start);
    powercut_log_free(w.log);
    powercut_disk_free(w.disk);
    free(w.seen);
}

static void test_files(void **state)
{
    (void)state;
    sweep(&files);
}

static void test_files_and_a_node_local_disk(void **state)
{
    (void)state;
    sweep(&beside);
}

static void test_prefix_alone(void **state)
{
    (void)state;
    sweep(&alone);
}

static void test_deltas(void **state)
{
    (void)state;
    sweep(&deltas);
}

static void test_coded_deltas(void **state)
{
    (void)state;
    sweep(&coded);
}

static void test_archives(void **state)
{
    (void)state;
    sweep(&archives);
}

static void test_archives_of_deltas(void **state)
{
    (void)state;
    sweep(&archived_deltas);
}

int main(void)
{
    struct sk_dirty *tried = NULL; /* here, and not in each of the thousands of processes */
    sk_dirty_close(sk_dirty_open(NULL, &tried, NULL) ? NULL : tried);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),       cmocka_unit_test(test_files_and_a_node_local_disk),
        cmocka_unit_test(test_prefix_alone), cmocka_unit_test(test_deltas),
        cmocka_unit_test(test_coded_deltas), cmocka_unit_test(test_archives),
        cmocka_unit_test(test_archives_of_deltas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
