/* A prefix that is full, read-only, gone or does not answer, at every phase of a job: the job ends right, and goes on from
 * what was whole. Ranks are threads; faults come from the I/O layer's hook, for paths in the prefix alone. */
#include "lib/levels/aggregator.h"
#include "lib/whole/local_testing.h"
#include "lib/session/session.h"

#include "base/clock.h"
#include "base/host/headroom.h"
#include "base/host/fork_testing.h"
#include "base/file/io.h"
#include "base/log.h"
#include "base/sweep.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <cmocka.h>

enum { N = 2, CELLS = 3000 };

static char dir[64], prefix[80], last_log[65536];

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, err.text);                          \
            return -1000 - __LINE__;                                                               \
        }                                                                                          \
    } while (0)

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void log_line(void *arg, int level, const char *line)
{
    (void)arg;
    if (level > SK_LOG_INFO)
        return;
    pthread_mutex_lock(&log_lock);
    size_t n = strlen(last_log);
    snprintf(last_log + n, sizeof last_log - n, "%s\n", line);
    pthread_mutex_unlock(&log_lock);
}

/* ---- faults of the prefix ---- */

static struct {
    atomic_long first, last; /* operations that are disturbed, counted from 1 */
    atomic_long count;
    atomic_int error;    /* they fail so; 0: they hang … */
    double seconds;      /* … for so long after the first of them, or … */
    atomic_int released; /* … until the test says */
    atomic_int off;      /* nothing is counted */
    atomic_int slow_ms;  /* each operation takes so long */
    atomic_int archives; /* only archives are disturbed */
    pthread_mutex_t lock;
    double until;
} fault = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int changes_something(const char *op, const char *path)
{
    if (!strcmp(op, "open"))
        return strstr(path, ".tmp") != NULL;
    return strcmp(op, "read") && strcmp(op, "opendir") && strcmp(op, "mmap") && strcmp(op, "unlink");
}

static int hook(const char *op, const char *path)
{
    pthread_mutex_lock(&fault.lock);
    int elsewhere = strncmp(path, prefix, strlen(prefix)) != 0;
    pthread_mutex_unlock(&fault.lock);
    if (atomic_load(&fault.off) || elsewhere)
        return 0;
    if (atomic_load(&fault.archives) && !strstr(path, ".ska"))
        return 0;
    sk_sleep(atomic_load(&fault.slow_ms) * 1e-3);
    long n = atomic_fetch_add(&fault.count, 1) + 1;
    int error = atomic_load(&fault.error);
    if (n < atomic_load(&fault.first) || n > atomic_load(&fault.last))
        return 0;
    if (error)
        return error == EIO || changes_something(op, path) ? error : 0;
    pthread_mutex_lock(&fault.lock);
    if (fault.until <= 0)
        fault.until = sk_now() + fault.seconds;
    double until = fault.until;
    pthread_mutex_unlock(&fault.lock);
    while (sk_now() < until && !atomic_load(&fault.released))
        sk_sleep(0.002);
    return 0;
}

/* Operations first … last of the prefix fail with error, or hang for so many seconds. */
static void disturb(long first, long last, int error, double seconds)
{
    atomic_store(&fault.count, 0);
    atomic_store(&fault.released, 0);
    atomic_store(&fault.error, error);
    pthread_mutex_lock(&fault.lock);
    fault.seconds = seconds;
    fault.until = 0;
    pthread_mutex_unlock(&fault.lock);
    atomic_store(&fault.last, last);
    atomic_store(&fault.first, first);
}

static void heal(void)
{
    atomic_store(&fault.first, LONG_MAX);
    atomic_store(&fault.released, 1);
}

/* ---- the program ---- */

struct run {
    const char *config;
    int64_t until;
    int crash;           /* 1: leave without finalize, as a killed process does */
    int64_t expect_from; /* iteration restored, 0: a fresh start, negative: saikai_init or restart fail */
    void (*at)(int64_t it); /* on rank 0, before each candidate */
    int may_fail;           /* checkpoints */
    int unsaved;            /* checkpoints fail */
    int hangs;              /* it will hang after a while */
    int may_not_restart;    /* it goes on from there or fails with a sentence, which is then logged */
};

/* Short times only where the prefix hangs: what works, or fails at once, is slow on a busy machine and is not to be taken for that. */
static struct sk_config *configure(const struct run *r)
{
    int hangs = r->hangs || (atomic_load(&fault.first) != LONG_MAX && !atomic_load(&fault.error));
    struct sk_config *c = sk_config_new();
    char text[768];
    snprintf(text, sizeof text,
             "store.prefix=%s; store.local=%s/local; schedule.poll=1ms; schedule.signals=; job.name=test; "
             "store.fsync=no; schedule.every=10; store.prefix_timeout=%s; store.final_wait=%s; %s",
             prefix, dir, hangs ? "30ms" : "20s", atomic_load(&fault.first) != LONG_MAX || r->hangs ? "150ms" : "20s",
             r->config ? r->config : "");
    assert_int_equal(sk_config_set_all(c, text, SK_FROM_API, NULL), 0);
    return c;
}

static void step(double *u, int rank, int64_t it)
{
    for (size_t i = 0; i < CELLS; i++)
        u[i] = u[i] * 0.75 + (double)(it * 3 + rank) + (double)i * 1e-3;
}

static int compute(struct sk_session *s, double *u, int64_t from, const struct run *r)
{
    struct saikai_error err = {0};
    for (int64_t it = from; it < r->until; it++) {
        step(u, s->g->rank, it);
        sk_sleep(0.0005); /* the ranks agree on something every millisecond, or every few iterations */
        if (r->at && !s->g->rank)
            r->at(it + 1);
        int rc = sk_session_candidate(s, 0, it + 1, &err);
        if (r->unsaved)
            continue;
        CHECK(rc >= 0 || r->may_fail);
        if (rc > 0) { /* learn that it is complete, without waiting for the prefix */
            double since = sk_now();
            struct sk_engine_status st;
            do
                sk_engine_status(s->levels.engine, &st);
            while (st.committed_seq < sk_ledger_count(s->levels.ledger) && sk_now() - since < 20);
            CHECK(st.committed_seq == sk_ledger_count(s->levels.ledger));
        }
    }
    return 0;
}

static int program(struct sk_group *g, void *arg)
{
    const struct run *r = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS], right[CELLS];
    struct sk_group *own;
    CHECK(!sk_group_dup(g, &own));
    int rc = sk_session_new(own, configure(r), "program", &s, &err);
    if (rc && r->expect_from < 0)
        return 0;
    CHECK(!rc);
    for (size_t i = 0; i < CELLS; i++)
        right[i] = u[i] = g->rank + (double)i;
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {CELLS}, .data = u};
    CHECK(!sk_vars_put(&s->vars, &v, &err));
    int restored = 0;
    int64_t from = 0;
    rc = sk_session_restart(s, &restored, &from, &err);
    if (rc && (r->expect_from < 0 || r->may_not_restart)) {
        log_line(NULL, SK_LOG_ERROR, err.text);
        sk_session_abandon(s);
        return 0;
    }
    CHECK(!rc && from == r->expect_from && restored == (from > 0));
    for (int64_t it = 0; it < from; it++)
        step(right, g->rank, it);
    CHECK(!memcmp(u, right, sizeof u));
    if ((rc = compute(s, u, from, r)))
        return rc;
    for (int64_t it = from; it < r->until; it++)
        step(right, g->rank, it);
    CHECK(!memcmp(u, right, sizeof u));
    if (r->crash) {
        sk_session_abandon(s);
        return 0;
    }
    return sk_session_finalize(s, &err);
}

static void run(struct run r)
{
    pthread_mutex_lock(&log_lock); /* what was left behind by the run before may say something */
    last_log[0] = 0;
    pthread_mutex_unlock(&log_lock);
    int rc = sk_loop_run(N, program, &r);
    if (rc)
        fail_msg("run ended with %d (line %d); the log:\n%s", rc, -1000 - rc, last_log);
}

static int logged(const char *text)
{
    pthread_mutex_lock(&log_lock);
    int found = strstr(last_log, text) != NULL;
    pthread_mutex_unlock(&log_lock);
    return found;
}

static void expect_log(const char *text)
{
    if (!logged(text))
        fail_msg("the log does not say '%s':\n%s", text, last_log);
}

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-prefix-XXXXXX");
    sk_log_set(log_line, NULL, SK_LOG_INFO);
    if (!mkdtemp(dir))
        return -1;
    pthread_mutex_lock(&fault.lock);
    snprintf(prefix, sizeof prefix, "%s/prefix", dir);
    pthread_mutex_unlock(&fault.lock);
    heal();
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    double since = sk_now();
    int rc;
    heal();
    while ((rc = sk_io_rmtree(dir, NULL)) && sk_now() - since < 20) /* what hung may still end there */
        sk_sleep(0.01);
    return rc;
}

static void begin_afresh(void)
{
    heal();
    char local[96];
    double since = sk_now();
    snprintf(local, sizeof local, "%s/local", dir);
    assert_int_equal(sk_io_rmtree(local, NULL), 0);
    while (sk_io_rmtree(prefix, NULL) && sk_now() - since < 20) /* what hung may still end there */
        sk_sleep(0.01);
}

/* ---- tests ---- */

/* From the first start on: three starts, the last one ends. */
static void stays_broken(int error)
{
    run((struct run){.until = 5, .crash = 1});
    disturb(1, LONG_MAX, error, 0);
    run((struct run){.until = 35, .crash = 1, .expect_from = 1});
    run((struct run){.until = 57, .crash = 1, .expect_from = 30});
    expect_log("going on with what is in");
    run((struct run){.until = 60, .expect_from = 50});
    expect_log("is not in the prefix: its files stay in");
}

static void test_full(void **state)
{
    (void)state;
    disturb(1, LONG_MAX, ENOSPC, 0); /* not even its directory can be made */
    run((struct run){.until = 35, .crash = 1});
    run((struct run){.until = 57, .crash = 1, .expect_from = 30});
    run((struct run){.until = 60, .expect_from = 50});
    expect_log("is not in the prefix: its files stay in");
    begin_afresh();
    stays_broken(ENOSPC);
}

static void test_read_only(void **state)
{
    (void)state;
    stays_broken(EROFS);
}

static void test_gone(void **state)
{
    (void)state;
    stays_broken(EIO);
}

/* What a thread says that has its own pace. */
static void wait_for_log(const char *text)
{
    int found = 0;
    for (double since = sk_now(); !found && sk_now() - since < 60; sk_sleep(0.002)) {
        pthread_mutex_lock(&log_lock);
        found = strstr(last_log, text) != NULL;
        pthread_mutex_unlock(&log_lock);
    }
}

static void comes_back(int64_t it)
{
    if (it == 25)
        heal();
}

static const char *const patient = "store.prefix_timeout=1s; store.final_wait=20s";

static void test_comes_back(void **state)
{
    (void)state;
    run((struct run){.until = 5, .crash = 1});
    disturb(1, LONG_MAX, ENOSPC, 0);
    run((struct run){.config = "store.final_wait=20s", .until = 400, .expect_from = 1, .at = comes_back});
    expect_log("No space left");
    expect_log("takes files again");
    expect_log("is back");
    run((struct run){.config = "restart.mode=always; store.local=none", .until = 410, .expect_from = 400});
}

/* What it hangs in is left alone; it never ends while the job runs. */
static void test_never_answers(void **state)
{
    (void)state;
    run((struct run){.until = 35, .crash = 1});
    disturb(1, LONG_MAX, 0, 1e6);
    double begun = sk_now();
    run((struct run){.until = 57, .crash = 1, .expect_from = 30});
    expect_log("does not answer");
    expect_log("going on with what is in");
    run((struct run){.until = 60, .expect_from = 50});
    expect_log("is not in the prefix: its files stay in");
    assert_true(sk_now() - begun < 60);
    heal();
    run((struct run){.until = 10, .crash = 1});
}

static void hang_now(int64_t it)
{
    if (it == 15)
        disturb(1, LONG_MAX, 0, 1e6);
}

static void test_stops_to_answer_between_checkpoints(void **state)
{
    (void)state;
    run((struct run){.until = 60, .at = hang_now, .hangs = 1});
    expect_log("is not in the prefix: its files stay in");
    heal();
    run((struct run){.config = "restart.mode=always", .until = 70, .expect_from = 60});
}

/* The same while archives of all ranks are made there: the end does not wait for them, and the next start has what is in memory. */
static void test_silent_while_it_is_archived(void **state)
{
    (void)state;
    double begun = sk_now();
    run((struct run){.config = "store.archive=aggregate; store.prefix_timeout=500ms", .until = 60, .at = hang_now, .hangs = 1});
    expect_log("what is being archived there is given up");
    expect_log("is not in the prefix: its files stay in");
    assert_true(sk_now() - begun < 60);
    heal();
    run((struct run){.config = "store.archive=aggregate; restart.mode=always", .until = 70, .expect_from = 60});
}

static void slow_now(int64_t it)
{
    if (it == 59)
        atomic_store(&fault.slow_ms, 100);
}

/* What takes longer than store.final_wait, but moves, is waited for. */
static void test_slow_while_it_is_archived(void **state)
{
    (void)state;
    run((struct run){.config = "store.archive=aggregate; store.final_wait=1500ms", .until = 60, .at = slow_now});
    atomic_store(&fault.slow_ms, 0);
    assert_false(logged("given up"));
    run((struct run){.config = "store.archive=aggregate; restart.mode=always; store.local=none", .until = 61, .expect_from = 60});
}

/* Nothing is on the nodes, and the prefix falls silent for good at any moment of reading its archives: an error, and the next start
 * that can read them goes on from them. What is silent for a while is waited for. */
static void test_silent_while_archives_are_read(void **state)
{
    (void)state;
    static const char config[] = "store.archive=aggregate; restart.mode=always; restart.tries=1000"; /* their marks stay in the prefix */
    char local[96];
    int moments = 0;
    run((struct run){.config = config, .until = 30});
    snprintf(local, sizeof local, "%s/local", dir);
    atomic_store(&fault.archives, 1);
    for (long k = 1;; k += 3) {
        assert_int_equal(sk_io_rmtree(local, NULL), 0);
        disturb(k, LONG_MAX, 0, 1e6);
        double begun = sk_now();
        run((struct run){.config = config, .until = 30, .crash = 1, .expect_from = 30, .may_not_restart = 1});
        assert_true(sk_now() - begun < 60);
        int reached = atomic_load(&fault.count) >= k;
        heal();
        if (!reached)
            break;
        if (logged("resuming from")) /* that was read, and what is only looked at is not waited for */
            continue;
        moments++;
        expect_log("is in archives there alone: waiting");
        expect_log("complete generations in");
        expect_log("cannot be read now");
    }
    assert_true(moments > 3);
    assert_int_equal(sk_io_rmtree(local, NULL), 0);
    disturb(2, LONG_MAX, 0, 0.3);
    run((struct run){.config = "store.archive=aggregate; restart.mode=always; restart.tries=1000; store.final_wait=20s",
                     .until = 40,
                     .expect_from = 30});
    atomic_store(&fault.archives, 0);
}

static void wait_for_archives(int64_t it)
{
    double since = sk_now();
    while (it > 30 && !sk_archived(prefix, (struct sk_gen){1, 30, 0}) && sk_now() - since < 1)
        sk_sleep(0.01);
}

/* The same where an older one is whole on the nodes. */
static void test_silent_archives_of_a_newer_one(void **state)
{
    (void)state;
    static const char config[] = "store.archive=aggregate; restart.mode=always; store.keep_local=2";
    char path[256], base[96], root[192];
    run((struct run){.config = config, .until = 39, .crash = 1, .at = wait_for_archives});
    snprintf(base, sizeof base, "%s/local", dir);
    for (int r = 0; r < N; r++) {
        snprintf(path, sizeof path, "%s/gen-0001-000000000030-0/rank-%06d.skc", local_testing_root(root, sizeof root, base, 0), r);
        assert_int_equal(unlink(path), 0);
    }
    atomic_store(&fault.archives, 1);
    disturb(1, LONG_MAX, 0, 1e6);
    /* only the archives are silent: what else is looked at there answers, however late on a busy machine */
    run((struct run){.config = "store.archive=aggregate; restart.mode=always; store.keep_local=2; store.prefix_timeout=10s",
                     .until = 25, .crash = 1, .expect_from = 20});
    expect_log("this start removes nothing of earlier ones");
    heal();
    atomic_store(&fault.archives, 0);
    run((struct run){.config = config, .until = 40, .expect_from = 30});
}

/* ---- another job has the store ---- */

static char other_lease[2048]; /* of a process that lives */

static pid_t begin_other(void)
{
    struct sk_owner o;
    struct sk_buf b = {0};
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = sk_testing_fork();
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sk_owner_self("test", NULL, 0, &o);
        int rc = write(ready[1], &o, sizeof o) == sizeof o;
        while (rc)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &o, sizeof o), sizeof o);
    close(ready[0]);
    close(ready[1]);
    struct sk_job j;
    atomic_store(&fault.off, 1);
    if (!sk_job_load(prefix, &j, NULL))
        o.store = j.store;
    atomic_store(&fault.off, 0);
    strcpy(o.host, "far-away");
    assert_int_equal(sk_owner_encode(&o, &b, NULL), 0);
    snprintf(other_lease, sizeof other_lease, "%.*s", (int)b.len, (const char *)b.data);
    sk_buf_free(&b);
    return pid;
}

static void end_other(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* With plain calls, as a process on another node does it. */
static void take_over(int64_t it)
{
    char path[128], tmp[128];
    if (it != 2) /* the first one */
        return;
    snprintf(path, sizeof path, "%s/lease", prefix);
    snprintf(tmp, sizeof tmp, "%s/lease.new", prefix);
    FILE *f = fopen(tmp, "w");
    assert_true(f && fputs(other_lease, f) >= 0 && !fclose(f) && !rename(tmp, path));
}

static int generations(void)
{
    struct sk_gen_list l = {0};
    atomic_store(&fault.off, 1);
    int rc = sk_gen_scan(prefix, -1, &l, NULL), n = (int)l.count;
    atomic_store(&fault.off, 0);
    sk_gen_list_free(&l);
    return rc ? rc : n;
}

static void test_taken_over(void **state)
{
    (void)state;
    struct sk_state before, after;
    run((struct run){.until = 5, .crash = 1}); /* the store is there */
    pid_t pid = begin_other();
    int had = generations();
    assert_int_equal(sk_state_load(prefix, &before, NULL), 0);
    run((struct run){.until = 65, .at = take_over, .expect_from = 1});
    expect_log("was taken over");
    expect_log("by host far-away, process");
    expect_log("the job goes on, and its checkpoints stay in");
    expect_log("is another job's: what this one saved last (iteration 60) stays in");
    assert_int_equal(generations(), had);
    assert_int_equal(sk_state_load(prefix, &after, NULL), 0);
    assert_int_equal(after.incarnation, before.incarnation + 1); /* from before it was lost */
    assert_int_equal(after.finished, 0);
    run((struct run){.until = 70, .expect_from = -1}); /* as long as that one runs */
    end_other(pid);
    run((struct run){.until = 70, .expect_from = 60});
}

static void test_taken_over_without_local(void **state)
{
    (void)state;
    run((struct run){.config = "store.local=none", .until = 5, .crash = 1});
    pid_t pid = begin_other();
    int had = generations();
    run((struct run){.config = "store.local=none", .until = 65, .at = take_over, .expect_from = 1, .unsaved = 1});
    expect_log("by host far-away, process");
    expect_log("is not saved any more");
    expect_log("iteration 60 is not saved");
    assert_int_equal(generations(), had);
    end_other(pid);
}

static void is_held(int64_t it)
{
    struct sk_owner o;
    comes_back(it);
    if (it == 400)
        wait_for_log("is in use by this job from now on");
    if (it == 400)
        assert_true(sk_lease_look(prefix, 30, &o) && o.life.pid == getpid());
}

/* A start while the prefix does not answer has no lease: it takes it as soon as it can. */
static void test_holds_it_later(void **state)
{
    (void)state;
    run((struct run){.until = 5, .crash = 1});
    disturb(1, LONG_MAX, 0, 1e6);
    run((struct run){.config = patient, .until = 401, .expect_from = 1, .at = is_held});
    expect_log("is in use by this job from now on");
    run((struct run){.config = "restart.mode=always; store.local=none", .until = 410, .expect_from = 400});
}

static void take_over_then_answer(int64_t it)
{
    take_over(it);
    comes_back(it);
    if (it == 60)
        wait_for_log("is in use by now by");
}

static void test_taken_while_it_was_away(void **state)
{
    (void)state;
    run((struct run){.until = 5, .crash = 1});
    pid_t pid = begin_other();
    int had = generations();
    disturb(1, LONG_MAX, 0, 1e6);
    run((struct run){.until = 65, .expect_from = 1, .at = take_over_then_answer});
    expect_log("is in use by now by host far-away, process");
    expect_log("the job goes on, and its checkpoints stay in");
    assert_int_equal(generations(), had);
    end_other(pid);
}

/* By rank 0, at candidates after iteration 30: gives the ranks time to agree on its copy, and the copy time to arrive. */
static void wait_for_archive(int64_t it)
{
    char path[N][256];
    double since = sk_now();
    for (int r = 0; r < N; r++)
        snprintf(path[r], sizeof path[r], "%s/gen-0001-000000000030-0/rank-%06d.skc", prefix, r);
    while (it > 30 && (access(path[0], F_OK) || access(path[1], F_OK)) && sk_now() - since < 1)
        sk_sleep(0.01);
}

/* What a start that lost its store names all the same, in the instant after its look: a generation of its own, its state. Neither
 * takes the place of anything of the new owner's. */
static void test_what_comes_late(void **state)
{
    (void)state;
    struct sk_state late, now;
    char path[N][256];
    void *data[N];
    size_t n[N];
    run((struct run){.config = "schedule.every=30", .until = 59, .crash = 1, .at = wait_for_archive});
    assert_int_equal(sk_state_load(prefix, &late, NULL), 0);
    for (int r = 0; r < N; r++) {
        snprintf(path[r], sizeof path[r], "%s/gen-0001-000000000030-0/rank-%06d.skc", prefix, r);
        assert_int_equal(sk_io_slurp(path[r], 1 << 20, &data[r], &n[r], NULL), 0);
    }
    run((struct run){.until = 75, .expect_from = 30});
    assert_int_equal(sk_state_save(prefix, &late, NULL), 0);
    for (int r = 0; r < N; r++) {
        char *slash = strrchr(path[r], '/');
        *slash = 0;
        assert_int_equal(sk_io_mkdirs(path[r], NULL), 0);
        *slash = '/';
        assert_int_equal(sk_io_replace(path[r], data[r], n[r], NULL), 0);
        free(data[r]);
    }
    run((struct run){.config = "restart.mode=always", .until = 80, .crash = 1, .expect_from = 70});
    assert_int_equal(sk_state_load(prefix, &now, NULL), 0);
    assert_int_equal(now.incarnation, 3); /* a number that no start had, though the state did not tell */
}

/* A start that knows nothing of the job waits for the prefix, and does not begin anew what is there. */
static void test_unknown_waits(void **state)
{
    (void)state;
    run((struct run){.until = 30});
    disturb(1, LONG_MAX, 0, 1.5); /* much longer than 30 ms, whoever is late */
    run((struct run){.config = "restart.mode=always", .until = 40, .expect_from = 30});
    expect_log("nothing is known of this job without it: waiting");
    char local[96];
    snprintf(local, sizeof local, "%s/local", dir);
    assert_int_equal(sk_io_rmtree(local, NULL), 0);
    disturb(1, LONG_MAX, EIO, 0);
    run((struct run){.config = "restart.mode=always", .until = 40, .expect_from = -1});
}

/* Nothing whole on the nodes: the generation in the prefix is waited for. */
static void test_restart_needs_the_prefix(void **state)
{
    (void)state;
    char path[256];
    run((struct run){.config = "schedule.every=30", .until = 59, .crash = 1, .at = wait_for_archive});
    char base[96], root[192];
    snprintf(base, sizeof base, "%s/local", dir);
    snprintf(path, sizeof path, "%s/gen-0001-000000000030-0/rank-000001.skc", local_testing_root(root, sizeof root, base, 0));
    assert_int_equal(unlink(path), 0);
    disturb(3, LONG_MAX, 0, 0.4); /* rank 0 makes its directory, and somebody lists it */
    run((struct run){.config = "store.final_wait=20s", .until = 40, .expect_from = 30});
}

/* Nothing is on the nodes, and the prefix is silent for longer than anybody waits for one answer. */
static void test_restart_waits_where_it_must(void **state)
{
    (void)state;
    char local[96];
    run((struct run){.until = 30});
    snprintf(local, sizeof local, "%s/local", dir);
    assert_int_equal(sk_io_rmtree(local, NULL), 0);
    disturb(60, LONG_MAX, 0, 0.5); /* while it is read */
    run((struct run){.config = "restart.mode=always; store.final_wait=20s", .until = 40, .expect_from = 30});
}

static void hang_while_it_is_written(int64_t it)
{
    if (it == 20)
        disturb(4, LONG_MAX, 0, 1e6);
}

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/root%s", dir, name);
    *strrchr(path, '/') = 0;
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    snprintf(path, sizeof path, "%s/root%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* There is no room on the nodes: the checkpoint that is being written when the prefix falls silent is not saved, and the program
 * goes on. */
static void test_silent_while_it_is_written_directly(void **state)
{
    (void)state;
    char local[] = "/dev/shm/saikai-prefix-XXXXXX", root[96], config[128];
    struct statfs fs;
    if (statfs("/dev/shm", &fs) || fs.f_type != 0x01021994 || !mkdtemp(local))
        skip();
    put("/proc/self/cgroup", "0::/\n");
    put("/proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/memory.current", "104857600\n");
    put("/sys/fs/cgroup/memory.max", "104857600\n");
    snprintf(root, sizeof root, "%s/root", dir);
    snprintf(config, sizeof config, "store.local=%s", local);
    sk_headroom_look_below(root);
    run((struct run){.config = config, .until = 15, .crash = 1});
    double begun = sk_now();
    run((struct run){.config = config, .until = 45, .crash = 1, .expect_from = 10, .at = hang_while_it_is_written, .may_fail = 1, .hangs = 1});
    expect_log("does not answer");
    assert_true(sk_now() - begun < 60);
    heal();
    run((struct run){.config = config, .until = 50, .expect_from = 10});
    sk_headroom_look_below("");
    assert_int_equal(sk_io_rmtree(local, NULL), 0);
}

/* One operation, or all from one on, disturbed: in a job that is killed once and goes on. */
static long sweep(long stride, int error, double seconds)
{
    long k = 1;
    for (;; k += stride) {
        begin_afresh();
        disturb(k, error ? k + 3 : LONG_MAX, error, seconds);
        run((struct run){.until = 35, .crash = 1});
        run((struct run){.until = 60, .expect_from = 30});
        long n = atomic_load(&fault.count);
        heal();
        if (k > n)
            return n;
    }
}

static void test_every_operation(void **state)
{
    (void)state;
    long stride = sk_sweep_stride(11, 37), n = sweep(stride, ENOSPC, 0);
    n += sweep(stride, EROFS, 0);
    n += sweep(stride, 0, 0.1); /* of which 30 ms are waited for at the start */
    printf("%ld operations in the prefix\n", n);
    assert_true(n > 60);
    sk_sweep_report(stride);
}

int main(int argc, char **argv)
{
    sk_io_hook = hook; /* for good: threads that hang outlive their test */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_full, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_read_only, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_gone, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_comes_back, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_never_answers, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_taken_over, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_taken_over_without_local, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_holds_it_later, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_taken_while_it_was_away, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_stops_to_answer_between_checkpoints, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_silent_while_it_is_archived, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_slow_while_it_is_archived, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_silent_while_archives_are_read, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_silent_archives_of_a_newer_one, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_what_comes_late, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_unknown_waits, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_restart_needs_the_prefix, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_restart_waits_where_it_must, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_silent_while_it_is_written_directly, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_every_operation, make_dir, remove_dir),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
