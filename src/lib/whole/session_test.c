/* Sessions of several ranks in one process: what is restored is what was saved, whatever happens to the files between. */
#include "lib/whole/local_testing.h"
#include "lib/session/session.h"

#include "archive/file/ska.h"
#include "base/clock.h"
#include "base/file/io.h"
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

enum { N = 3, CELLS = 5000 };

static char dir[64], last_log[16384];

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, err.text);                          \
            return -1000 - __LINE__;                                                               \
        }                                                                                          \
    } while (0)

/* What one run of the little program does. */
struct run {
    const char *config;
    int64_t until;       /* iterations to reach */
    int crash;           /* 1: leave without finalize, as a killed process does */
    int expect;          /* result of restart: 1, 0 or an error */
    int64_t expect_from; /* iteration restored */
    const char *expect_text;
    int settle; /* wait after each candidate until the generation is complete and archived */
    size_t cells;
    double tolerance; /* relative to the range of values; 0: exact */
    int (*body)(struct sk_session *s, int64_t it);
    int halts; /* the session may come to its end as a signal asked for */
};

static void log_line(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    size_t n = strlen(last_log);
    snprintf(last_log + n, sizeof last_log - n, "%s\n", line);
}

static struct sk_config *configure(const char *more)
{
    struct sk_config *c = sk_config_new();
    char text[768];
    snprintf(text, sizeof text,
             "store.prefix=%s/prefix; store.local=%s/local; schedule.poll=1ms; schedule.signals=; job.name=test; "
             "store.fsync=no; schedule.every=10; %s",
             dir, dir, more ? more : "");
    assert_int_equal(sk_config_set_all(c, text, SK_FROM_API, NULL), 0);
    return c;
}

/* State after `it` iterations depends on every iteration before. */
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

static int wait_for_archive(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    CHECK(!sk_session_wait(s, &err));
    /* exchanges at further candidates start the copy and learn of its end: at the same candidate on all ranks */
    int apart = sk_place_is_apart(&s->place);
    while (apart && sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED) < sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE)) {
        sk_engine_drain(s->levels.engine);
        CHECK(sk_session_due(s, 1, it, &err) == 0);
    }
    sk_engine_drain(s->levels.engine);
    return 0;
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

static int program(struct sk_group *g, void *arg)
{
    const struct run *r = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    size_t n = r->cells ? r->cells : CELLS;
    double *u = malloc(n * sizeof *u), *expect = malloc(n * sizeof *u);
    struct sk_group *own;
    CHECK(u && expect && !sk_group_dup(g, &own));
    CHECK(!sk_session_new(own, configure(r->config), "program", &s, &err));
    start_values(u, n, g->rank);
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {n}, .data = u};
    CHECK(!sk_vars_put(&s->vars, &v, &err));
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
        for (int64_t it = from; it < r->until; it++) {
            step(u, n, g->rank, it);
            rc = sk_session_candidate(s, 0, it + 1, &err);
            if (r->halts && s->ending.halted)
                break;
            CHECK(rc >= 0);
            if (rc && r->settle)
                CHECK(!wait_for_archive(s, it + 1));
            if (r->body)
                CHECK(!r->body(s, it + 1));
        }
    }
    free(u);
    free(expect);
    if (r->crash || r->expect < 0) {
        sk_group_barrier(g); /* rank 0 gives the lease back, and the others may still be removing what is old */
        sk_session_abandon(s);
        return 0;
    }
    return sk_session_finalize(s, &err);
}

static void run(int ranks, struct run r)
{
    last_log[0] = 0;
    int rc = sk_loop_run(ranks, program, &r);
    if (rc)
        fail_msg("run ended with %d (line %d)", rc, -1000 - rc);
}

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-session-XXXXXX");
    sk_log_set(log_line, NULL, SK_LOG_DEBUG);
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static void path_of(char *path, const char *root, int incarnation, int64_t it, int rank)
{
    snprintf(path, 256, "%s/%s/gen-%04d-%012lld-0/rank-%06d.skc", dir, root, incarnation, (long long)it, rank);
}

static char local[128];
static const char *local_root(void)
{
    char base[128];
    snprintf(base, sizeof base, "%s/local", dir);
    return local_testing_root(local, sizeof local, base, strlen(dir) + 1);
}

static void damage(const char *root, int incarnation, int64_t it, int rank)
{
    char path[256];
    path_of(path, root, incarnation, it, rank);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "damage", 6, 1000), 6);
    close(fd);
}

static void expect_log(const char *text)
{
    if (!strstr(last_log, text))
        fail_msg("the log does not say '%s':\n%s", text, last_log);
}

/* ---- tests ---- */

static void test_crash_and_resume(void **state)
{
    (void)state;
    run(N, (struct run){.until = 35, .crash = 1, .settle = 1});
    run(N, (struct run){.until = 57, .crash = 1, .expect = 1, .expect_from = 30, .settle = 1});
    expect_log("node-local copy");
    run(N, (struct run){.until = 60, .expect = 1, .expect_from = 50});
    /* finished: the next one begins anew, unless told otherwise */
    run(N, (struct run){.until = 25, .crash = 1, .settle = 1});
    run(N, (struct run){.until = 30, .expect = 1, .expect_from = 20});
}

static void test_always_resumes_a_finished_run(void **state)
{
    (void)state;
    run(N, (struct run){.until = 30, .settle = 1});
    run(N, (struct run){.config = "restart.mode=always", .until = 40, .expect = 1, .expect_from = 30, .settle = 1});
    run(N, (struct run){.config = "restart.mode=never", .until = 10, .crash = 1});
}

static void test_lost_local_directory(void **state)
{
    (void)state;
    char path[128];
    run(N, (struct run){.until = 35, .crash = 1, .settle = 1});
    snprintf(path, sizeof path, "%s/local", dir);
    assert_int_equal(sk_io_rmtree(path, NULL), 0);
    run(N, (struct run){.until = 35, .crash = 1, .expect = 1, .expect_from = 30});
    expect_log("copy in the prefix");
}

static void test_damaged_copies(void **state)
{
    (void)state;
    run(N, (struct run){.until = 35, .crash = 1, .settle = 1});
    damage(local_root(), 1, 30, 1); /* one copy of one rank: the other copy */
    run(N, (struct run){.until = 31, .crash = 1, .expect = 1, .expect_from = 30});
    expect_log("trying the copy in the prefix");
    expect_log("variable 'u'");
    damage("prefix", 1, 30, 1); /* both: the older generation */
    run(N, (struct run){.until = 21, .crash = 1, .expect = 1, .expect_from = 20});
    expect_log("is damaged: trying the next older one");
    damage("prefix", 1, 20, 0); /* nothing is left: never a silent fresh start */
    run(N, (struct run){.expect = SAIKAI_EDAMAGED, .expect_text = "restart.mode=never"});
    run(N, (struct run){.config = "restart.mode=never", .until = 5, .crash = 1});
}

static void test_incomplete_generation(void **state)
{
    (void)state;
    char path[256];
    run(N, (struct run){.until = 35, .crash = 1, .settle = 1});
    path_of(path, local_root(), 1, 30, 2);
    assert_int_equal(unlink(path), 0);
    path_of(path, "prefix", 1, 30, 2);
    assert_int_equal(unlink(path), 0);
    run(N, (struct run){.until = 20, .crash = 1, .expect = 1, .expect_from = 20});
}

static void test_wrong_rank_count(void **state)
{
    (void)state;
    run(N, (struct run){.until = 15, .crash = 1, .settle = 1});
    run(N + 1, (struct run){.expect = SAIKAI_ERANKS, .expect_text = "start it with 3"});
    run(N - 1, (struct run){.expect = SAIKAI_ERANKS, .expect_text = "start it with 3"});
    run(N, (struct run){.until = 15, .crash = 1, .expect = 1, .expect_from = 10});
}

static void test_changed_variable(void **state)
{
    (void)state;
    run(N, (struct run){.until = 15, .crash = 1, .settle = 1});
    for (int i = 0; i < 3; i++) /* does not use the generation up */
        run(N, (struct run){.expect = SAIKAI_ECHANGED, .cells = CELLS + 1, .expect_text = "variable 'u' is f64 5001"});
    run(N, (struct run){.until = 15, .crash = 1, .expect = 1, .expect_from = 10});
}

static void die_before_a_candidate(int64_t from, int times)
{
    for (int i = 0; i < times; i++)
        run(N, (struct run){.until = 0, .crash = 1, .expect = 1, .expect_from = from});
}

static void test_not_for_ever(void **state)
{
    (void)state;
    struct sk_state st;
    struct sk_gen g = {1, 30, 0};
    char root[80];
    snprintf(root, sizeof root, "%s/prefix", dir);
    run(N, (struct run){.until = 35, .crash = 1, .settle = 1});
    die_before_a_candidate(30, 4); /* nobody knows why: each counts half */
    die_before_a_candidate(20, 1);
    expect_log("4 starts died after reading it");
    expect_log("restart.tries is 2");
    expect_log("saikai mark --good gen-0001-000000000030-0 ");
    /* one that reaches a candidate is good again */
    run(N, (struct run){.until = 21, .crash = 1, .expect = 1, .expect_from = 20});
    die_before_a_candidate(20, 4);
    /* all are used up: an error that says what to do, not a fresh start */
    run(N, (struct run){.expect = SAIKAI_EDAMAGED, .expect_text = "saikai mark --good GENERATION"});
    assert_int_equal(sk_state_load(root, &st, NULL), 0);
    assert_int_equal(sk_state_mark(&st, g, 0, NULL), 0);
    assert_int_equal(sk_state_save(root, &st, NULL), 0);
    run(N, (struct run){.until = 31, .crash = 1, .expect = 1, .expect_from = 30});
}

static void test_other_files_are_tried_again(void **state)
{
    (void)state;
    char path[256];
    run(N, (struct run){.until = 35, .crash = 1, .settle = 1});
    die_before_a_candidate(30, 4);
    struct timespec now[2] = {{2000, 0}, {2000, 0}};
    path_of(path, "prefix", 1, 30, 1); /* somebody put another file there */
    assert_int_equal(utimensat(AT_FDCWD, path, now, 0), 0);
    die_before_a_candidate(30, 4);
    die_before_a_candidate(20, 1);
}

/* Every rank of a start was told to end: as if by ^C. */
static void stop_all(int start)
{
    for (int r = 0; r < N; r++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s/stopped-%04d-%06d", dir, local_root(), start, r);
        assert_int_equal(sk_io_replace(path, "", 0, NULL), 0);
    }
}

static void test_an_order_to_end_does_not_count(void **state)
{
    (void)state;
    run(N, (struct run){.until = 35, .crash = 1, .settle = 1});
    for (int start = 2; start < 10; start++) {
        die_before_a_candidate(30, 1);
        stop_all(start);
    }
    die_before_a_candidate(30, 1);
    stop_all(4); /* that was another start */
    die_before_a_candidate(30, 3);
    die_before_a_candidate(20, 1);
}

static int reads_that_fail;
static int fail_reads(const char *op, const char *path)
{
    return !strcmp(op, "read") && strstr(path, "000000000030-0/rank-000001.skc") && reads_that_fail > 0 && reads_that_fail--
               ? EIO
               : 0;
}

static void test_a_read_error_is_tried_again_and_never_counts(void **state)
{
    (void)state;
    run(N, (struct run){.until = 35, .crash = 1, .settle = 1});
    reads_that_fail = 2; /* and is gone */
    sk_io_hook = fail_reads;
    run(N, (struct run){.until = 31, .crash = 1, .expect = 1, .expect_from = 30});
    expect_log("trying again in");
    assert_null(strstr(last_log, "trying the copy in the prefix"));
    for (int i = 0; i < 3; i++) { /* stays: an older generation, and nothing is said against this one */
        reads_that_fail = 1000;
        run(N, (struct run){.until = 21, .crash = 1, .expect = 1, .expect_from = 20});
        expect_log("trying the copy in the prefix");
    }
    sk_io_hook = NULL;
    run(N, (struct run){.until = 31, .crash = 1, .expect = 1, .expect_from = 30});
}

static void test_dates_do_not_matter(void **state)
{
    (void)state;
    char path[256];
    run(N, (struct run){.until = 35, .crash = 1, .settle = 1});
    for (int r = 0; r < N; r++) { /* as if the clock had gone back between the generations */
        struct timespec past[2] = {{1000, 0}, {1000, 0}};
        path_of(path, "prefix", 1, 30, r);
        assert_int_equal(utimensat(AT_FDCWD, path, past, 0), 0);
        path_of(path, local_root(), 1, 30, r);
        assert_int_equal(utimensat(AT_FDCWD, path, past, 0), 0);
    }
    run(N, (struct run){.until = 31, .crash = 1, .expect = 1, .expect_from = 30});
}

static int count_generations(const char *root)
{
    char path[128];
    struct sk_gen_list l;
    snprintf(path, sizeof path, "%s/%s", dir, root);
    assert_int_equal(sk_gen_scan(path, -1, &l, NULL), 0);
    int n = (int)l.count;
    sk_gen_list_free(&l);
    return n;
}

static void test_retention(void **state)
{
    (void)state;
    run(N, (struct run){.until = 105, .crash = 1, .settle = 1, .config = "store.keep_prefix=3"});
    assert_int_equal(count_generations("prefix"), 3);
    assert_int_equal(count_generations(local_root()), 1);
    run(N, (struct run){.until = 205, .crash = 1, .settle = 1, .config = "store.keep_prefix=1", .expect = 1,
                        .expect_from = 100});
    assert_int_equal(count_generations("prefix"), 1);
    assert_int_equal(count_generations(local_root()), 1);
}

static void test_keeps_as_many_as_it_was_told(void **state)
{
    (void)state;
    run(N, (struct run){.until = 305, .crash = 1, .settle = 1, .config = "store.keep_prefix=25"});
    assert_int_equal(count_generations("prefix"), 25);
    run(N, (struct run){.until = 405, .crash = 1, .settle = 1, .config = "store.keep_prefix=25", .expect = 1,
                        .expect_from = 300});
    assert_int_equal(count_generations("prefix"), 25);
    /* in one directory for both, too */
    const char *one = "store.local=none; store.keep_prefix=20; restart.mode=never";
    run(N, (struct run){.until = 305, .crash = 1, .settle = 1, .config = one});
    assert_int_equal(count_generations("prefix"), 20);
    run(N, (struct run){.until = 315, .crash = 1, .settle = 1, .config = "store.local=none; store.keep_prefix=20", .expect = 1,
                        .expect_from = 300});
    assert_int_equal(count_generations("prefix"), 20);
}

static int the_first_stays_the_archived_one(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    CHECK(!sk_session_wait(s, &err));
    if (it == 1)
        CHECK(!wait_for_archive(s, it));
    CHECK(sk_ledger_iteration(s->levels.ledger, SK_LEDGER_ARCHIVED) == 1);
    CHECK(sk_ledger_iteration(s->levels.ledger, SK_LEDGER_COMPLETE) == (it < 10 ? 1 : it - it % 10));
    return 0;
}

static void test_only_what_is_archived_is_told_to_be(void **state)
{
    (void)state;
    run(N, (struct run){.until = 400, .crash = 1, .body = the_first_stays_the_archived_one,
                        .config = "store.archive_every=1000000"});
}

static void test_every_iteration_without_a_pause(void **state)
{
    (void)state;
    run(N, (struct run){.until = 400, .crash = 1, .config = "schedule.every=1", .cells = 200000});
    /* whatever the ranks had committed when they died: at least one generation is whole */
    struct run r = {.config = "schedule.every=1", .cells = 200000, .expect = 1, .crash = 1};
    struct sk_gen_list l;
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, local_root());
    assert_int_equal(sk_gen_scan(path, -1, &l, NULL), 0);
    assert_true(l.count >= 1 && l.count <= 40); /* of 400: how many, the slowest rank and the copy to the prefix decide */
    r.until = r.expect_from = l.gen[0].iteration; /* the ranks finish what they captured before they leave */
    sk_gen_list_free(&l);
    run(N, r);
}

/* What is saved in the prefix alone is there at once; what is saved without one never is. */
static int status_is(struct sk_session *s, int64_t complete, int64_t archived)
{
    struct saikai_error err = {0};
    struct saikai_status st;
    sk_session_status(s, &st, sizeof st);
    CHECK(st.complete_iteration == complete && st.archived_iteration == archived);
    return 0;
}

static int all_in_prefix(struct sk_session *s, int64_t it)
{
    return it < 10 ? 0 : status_is(s, it - it % 10, it - it % 10);
}

static int none_in_prefix(struct sk_session *s, int64_t it)
{
    return it < 10 ? 0 : status_is(s, it - it % 10, -1);
}

static void test_prefix_only_and_local_only(void **state)
{
    (void)state;
    run(N, (struct run){.until = 35, .crash = 1, .settle = 1, .config = "store.local=none", .body = all_in_prefix});
    assert_int_equal(count_generations("prefix"), 2);
    run(N, (struct run){.until = 35, .config = "store.local=none", .expect = 1, .expect_from = 30});
    run(N, (struct run){.until = 35, .crash = 1, .settle = 1, .config = "store.prefix=none", .body = none_in_prefix});
    run(N, (struct run){.until = 35, .crash = 1, .config = "store.prefix=none", .expect = 1, .expect_from = 30});
}

static int full_disk(const char *op, const char *path)
{
    return !strcmp(op, "truncate") && strstr(path, "slot-") ? ENOSPC : 0;
}

static int fill_disk_after_20(struct sk_session *s, int64_t it)
{
    (void)s;
    if (it == 20)
        sk_io_hook = full_disk;
    return 0;
}

static void test_full_disk_keeps_the_old_generation(void **state)
{
    (void)state;
    /* other sizes need other slots: the program goes on although nothing can be saved any more */
    run(1, (struct run){.until = 25, .crash = 1, .settle = 1, .body = fill_disk_after_20});
    sk_io_hook = NULL;
    run(1, (struct run){.until = 25, .crash = 1, .expect = 1, .expect_from = 20});
}

static uint64_t bytes_in(const char *root, int incarnation, int64_t it, int rank, const char *codec)
{
    char path[256];
    struct sk_container *c = NULL;
    path_of(path, root, incarnation, it, rank);
    assert_int_equal(sk_container_open(path, &c, NULL), 0);
    assert_string_equal(sk_skc_find(c->index, "u")->codec, codec);
    uint64_t n = c->trailer.file_bytes;
    sk_container_close(c);
    return n;
}

static void test_coded_variables(void **state)
{
    (void)state;
    /* by pattern, exact */
    run(N, (struct run){.until = 35, .crash = 1, .settle = 1, .config = "codec.chains=x=gzip, u*=shuffle+zstd"});
    assert_true(bytes_in("prefix", 1, 30, 0, "shuffle+zstd") < CELLS * 8);
    run(N, (struct run){.until = 45, .crash = 1, .settle = 1, .expect = 1, .expect_from = 30,
                        .config = "codec.bounds=*=rel:1e-3"});
    assert_int_equal(count_generations(local_root()), 1);
    assert_int_equal(count_generations("prefix"), 2);
    /* bounded, and much smaller */
    assert_true(bytes_in("prefix", 2, 40, 0, "wavelet") < CELLS * 2);
    run(N, (struct run){.until = 41, .crash = 1, .settle = 1, .expect = 1, .expect_from = 40, .tolerance = 1e-3});
    run(N, (struct run){.until = 55, .crash = 1, .settle = 1, .expect = 1, .expect_from = 40, .tolerance = 1e-3,
                        .config = "codec.chains=*=auto"});
    run(N, (struct run){.until = 60, .crash = 1, .expect = 1, .expect_from = 50});
}

static void test_nonsense_about_codecs(void **state)
{
    (void)state;
    static const char *const bad[] = {"codec.chains=u", "codec.chains=u=fastest", "codec.bounds=u=rel:-1",
                                      "codec.bounds=u=", "codec.bounds==abs:1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sk_config *c = configure(bad[i]);
        struct sk_coding_policy *p = NULL;
        struct saikai_error err = {0};
        assert_int_equal(sk_coding_policy_new(c, &p, &err), SAIKAI_ECONFIG);
        assert_non_null(strstr(err.text, "codec."));
        sk_config_free(c);
    }
    /* integers are never lossy */
    struct sk_config *c = configure("codec.bounds=*=rel:0.1");
    struct sk_coding_policy *p = NULL;
    struct sk_wish w;
    assert_int_equal(sk_coding_policy_new(c, &p, NULL), 0);
    assert_int_equal(sk_coding_wish(p, "n", SAIKAI_I32, (struct sk_bound){0}, "", &w), 0);
    assert_int_equal(sk_coding_wish(p, "n", SAIKAI_F32, (struct sk_bound){0}, "", &w), 1);
    assert_int_equal(w.bound.kind, SK_BOUND_REL);
    assert_int_equal(sk_coding_wish(p, "n", SAIKAI_F32, (struct sk_bound){SK_BOUND_ABS, 2}, "", &w), 1);
    assert_int_equal(w.bound.kind, SK_BOUND_ABS);
    sk_coding_policy_free(p);
    sk_config_free(c);
}

static int raise_request(struct sk_session *s, int64_t it)
{
    if (it == 33 && s->g->rank == 1) /* only one rank is told */
        raise(SIGUSR2);
    sk_sleep(0.0005); /* the ranks exchange something every few iterations */
    return 0;
}

static int stop_is_agreed(struct sk_session *s, int64_t it)
{
    if (it == 33 && s->g->rank == 1)
        raise(SIGUSR2);
    sk_sleep(0.0005);
    if (it == 400 && !s->ending.stop_agreed)
        return -1;
    return 0;
}

static void test_signal_requests_a_checkpoint(void **state)
{
    (void)state;
    run(N, (struct run){.until = 400, .crash = 1, .settle = 1, .body = raise_request,
                        .config = "schedule.every=1000; schedule.first=no; schedule.signals=USR2"});
    struct sk_gen_list l;
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, local_root());
    assert_int_equal(sk_gen_scan(path, 0, &l, NULL), 0);
    assert_int_equal(l.count, 1);
    assert_true(l.gen[0].iteration > 33 && l.gen[0].iteration < 399);
    sk_gen_list_free(&l);
    sk_requests_remove();
    run(N, (struct run){.until = 400, .body = stop_is_agreed,
                        .config = "restart.mode=never; schedule.every=1000; schedule.stop_signals=USR2"});
    sk_requests_remove();
}

/* ---- a signal that is to end the program ---- */

static atomic_int ends, last_saved;

static void count_end(void)
{
    atomic_fetch_add(&ends, 1);
}

static int note_saved(struct sk_session *s, int64_t it)
{
    (void)it;
    struct sk_ledger_entry e;
    if (!sk_ledger_find(s->levels.ledger, sk_ledger_count(s->levels.ledger), &e, NULL))
        atomic_store(&last_saved, (int)e.gen.iteration);
    return 0;
}

static int terminated(struct sk_session *s, int64_t it)
{
    if (it == 33 && s->g->rank == 1)
        raise(SIGTERM);
    sk_sleep(0.0005);
    return note_saved(s, it) || it == 2000; /* long over */
}

static int terminated_but_asks(struct sk_session *s, int64_t it)
{
    s->ending.asked = 1;
    return terminated(s, it) && it < 2000;
}

static void test_a_signal_ends_a_program_that_never_asks(void **state)
{
    (void)state;
    static const char *const config = "schedule.every=100000; schedule.first=no; store.keep_prefix=1";
    sk_stop_hook = count_end;
    ends = last_saved = 0;
    run(N, (struct run){.config = config, .until = 2000, .crash = 1, .halts = 1, .body = terminated});
    assert_int_equal(ends, N);
    assert_true(last_saved > 33);
    expect_log("SIGTERM: iteration");
    expect_log("is saved in the prefix");
    sk_requests_remove();
    sk_stop_hook = NULL;
    assert_int_equal(count_generations(local_root()), 0); /* the nodes' memory is given back */
    run(N, (struct run){.config = config, .until = last_saved + 5, .crash = 1, .expect = 1, .expect_from = last_saved});
    sk_requests_remove();
}

static void test_a_program_that_asks_is_left_to_itself(void **state)
{
    (void)state;
    sk_stop_hook = count_end;
    ends = 0;
    run(N, (struct run){.config = "schedule.every=100000; schedule.first=no", .until = 500, .crash = 1,
                        .body = terminated_but_asks});
    assert_int_equal(ends, 0);
    assert_true(last_saved > 33);
    sk_requests_remove();
    sk_stop_hook = NULL;
}

static volatile sig_atomic_t own_handler_ran;
static void own_handler(int n)
{
    own_handler_ran = n;
}

static int ends_by_its_own_handler(struct sk_session *s, int64_t it)
{
    if (it == 33 && s->g->rank == 1)
        raise(SIGTERM);
    sk_sleep(0.0005);
    return note_saved(s, it);
}

/* A handler of the program's own gets its signal; what is saved is only more than before, and the run does not count as finished. */
static void test_a_handler_of_the_program_is_left_alone(void **state)
{
    (void)state;
    static const char *const config = "schedule.every=100000; schedule.first=no; store.archive_last=yes";
    void (*before)(int) = signal(SIGTERM, own_handler);
    sk_stop_hook = count_end;
    ends = own_handler_ran = last_saved = 0;
    run(N, (struct run){.config = config, .until = 500, .body = ends_by_its_own_handler});
    assert_int_equal(own_handler_ran, SIGTERM);
    assert_int_equal(ends, 0);
    sk_requests_remove();
    sk_stop_hook = NULL;
    run(N, (struct run){.config = config, .until = 501, .expect = 1, .expect_from = last_saved});
    sk_requests_remove();
    signal(SIGTERM, before);
}

/* ---- archives in the prefix in place of each rank's file ---- */

static const char *const aggregated = "store.archive=aggregate; far.writers=2; codec.threads=1; far.memory=16MiB";

static void lose_local(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/local", dir);
    assert_int_equal(sk_io_rmtree(path, NULL), 0);
}

static int in_prefix(int incarnation, int64_t it, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/prefix/gen-%04d-%012lld-0/%s", dir, incarnation, (long long)it, name);
    return !access(path, F_OK);
}

/* The archives of generation 30 say which store they are of. */
static void check_whose(void)
{
    char path[256], root[96];
    struct sk_ska a = {0};
    struct sk_job j;
    snprintf(root, sizeof root, "%s/prefix", dir);
    snprintf(path, sizeof path, "%s/gen-0001-000000000030-0/set-000001.2-of-2.ska", root);
    assert_int_equal(sk_job_load(root, &j, NULL), 0);
    assert_int_equal(sk_archive_open(path, &a, NULL), 0);
    assert_false(sk_id_none(a.store));
    assert_true(sk_id_same(a.store, j.store));
    sk_ska_free(&a);
}

static void test_archives_alone_bring_back(void **state)
{
    (void)state;
    run(N, (struct run){.config = aggregated, .until = 35, .crash = 1, .settle = 1});
    assert_true(in_prefix(1, 30, "set-000001.1-of-2.ska") && in_prefix(1, 30, "set-000001.2-of-2.ska"));
    assert_false(in_prefix(1, 30, "rank-000000.skc"));
    check_whose();
    assert_true(in_prefix(1, 20, "set-000001.1-of-2.ska")); /* store.keep_prefix */
    assert_false(in_prefix(1, 10, "set-000001.1-of-2.ska"));
    lose_local();
    run(N, (struct run){.config = aggregated, .until = 57, .crash = 1, .expect = 1, .expect_from = 30, .settle = 1});
    assert_false(in_prefix(1, 30, "set-000001.1-of-2.ska"));
    /* whoever restarts need not write archives */
    lose_local();
    run(N, (struct run){.until = 60, .crash = 1, .expect = 1, .expect_from = 50, .settle = 1});
}

static void test_archive_replaces_what_is_damaged_or_gone(void **state)
{
    (void)state;
    char path[256];
    run(N, (struct run){.config = aggregated, .until = 35, .crash = 1, .settle = 1});
    damage(local_root(), 1, 30, 1);
    path_of(path, local_root(), 1, 30, 2);
    assert_int_equal(unlink(path), 0);
    run(N, (struct run){.config = aggregated, .until = 35, .crash = 1, .expect = 1, .expect_from = 30});
    lose_local();
    snprintf(path, sizeof path, "%s/prefix/gen-0001-%012d-0/set-000001.2-of-2.ska", dir, 30);
    int fd = open(path, O_RDWR);
    assert_int_equal(pwrite(fd, "damage", 6, 500), 6);
    close(fd);
    run(N, (struct run){.config = aggregated, .until = 25, .crash = 1, .expect = 1, .expect_from = 20});
    expect_log("2-of-2");
    lose_local();
    run(N + 1, (struct run){.config = aggregated, .expect = SAIKAI_ERANKS, .expect_text = "was written by 3 ranks"});
}

static void test_a_finished_run_leaves_an_archive(void **state)
{
    (void)state;
    run(N, (struct run){.config = aggregated, .until = 34});
    assert_true(in_prefix(1, 30, "set-000001.2-of-2.ska"));
    run(N, (struct run){.config = "store.archive=aggregate; restart.mode=always", .until = 40, .expect = 1,
                        .expect_from = 30});
}

static int fail_archives(const char *op, const char *path)
{
    return !strcmp(op, "write") && strstr(path, ".1-of-2.ska") ? ENOSPC : 0;
}

static int settle_local(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    (void)it;
    CHECK(!sk_session_wait(s, &err));
    while (!sk_route_wait(&s->levels.route, 1))
        ;
    return 0;
}

static void test_full_prefix_keeps_the_archives_before(void **state)
{
    (void)state;
    run(N, (struct run){.config = aggregated, .until = 25, .crash = 1, .settle = 1});
    sk_io_hook = fail_archives;
    run(N, (struct run){.config = aggregated, .until = 48, .crash = 1, .expect = 1, .expect_from = 20,
                        .body = settle_local});
    sk_io_hook = NULL;
    expect_log("is not archived");
    assert_true(in_prefix(1, 20, "set-000001.1-of-2.ska") && in_prefix(1, 20, "set-000001.2-of-2.ska"));
    assert_false(in_prefix(2, 40, "set-000001.2-of-2.ska"));
    lose_local();
    run(N, (struct run){.config = aggregated, .until = 30, .crash = 1, .expect = 1, .expect_from = 20});
}

/* A file is damaged after it was committed and before it is archived. */
static int damage_twenty(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    CHECK(!sk_session_wait(s, &err));
    if (it == 20 && s->g->rank == 1)
        damage(local_root(), 1, 20, 1);
    while (sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVING) < sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE))
        CHECK(sk_session_due(s, 1, it, &err) == 0);
    while (!sk_route_wait(&s->levels.route, 1))
        ;
    return 0;
}

static void test_what_is_damaged_is_not_archived(void **state)
{
    (void)state;
    run(N, (struct run){.config = aggregated, .until = 20, .crash = 1, .body = damage_twenty});
    expect_log("generation gen-0001-000000000020-0 is not archived");
    expect_log("rank-000001.skc: chunk 0");
    assert_true(in_prefix(1, 10, "set-000001.2-of-2.ska"));
    assert_false(in_prefix(1, 20, "set-000001.1-of-2.ska") || in_prefix(1, 20, "set-000001.2-of-2.ska"));
    lose_local();
    run(N, (struct run){.config = aggregated, .until = 11, .crash = 1, .expect = 1, .expect_from = 10});
}

/* ---- the model chooses how often to archive ---- */

static int slowly(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    sk_sleep(0.001);
    return it % 10 ? 0 : sk_session_wait(s, &err);
}

static int only_the_first_is_archived(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    CHECK(!slowly(s, it));
    CHECK(it < 90 || (sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE) >= 8 &&
                      sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVING) == 1));
    return 0;
}

static int several_are_archived(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    CHECK(!slowly(s, it));
    double begun = sk_now();
    /* where a copy takes long, the model wants the next one late: learnt at the same candidate on all ranks */
    while (it >= 590 && (sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVING) <= 1 || sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED) <= 1)) {
        int due = sk_session_due(s, 1, it, &err);
        CHECK(due >= 0);
        if (due)
            CHECK(!sk_session_capture(s, 1, it, &err));
        CHECK(!slowly(s, 1) && sk_now() - begun < 60);
    }
    CHECK(it < 590 || s->measured.advice.policy.planned > 0); /* it has chosen the interval, too, and told every rank */
    return 0;
}

static void test_archives_as_often_as_the_model_says(void **state)
{
    (void)state;
    /* no failure needs more than a local generation: one copy is made, whose cost is then known */
    run(N, (struct run){.until = 95, .crash = 1, .body = only_the_first_is_archived,
                        .config = "store.archive_interval=auto; failure.local_share=1; failure.beyond_share=0"});
    lose_local();
    run(N, (struct run){.until = 595, .expect = 1, .expect_from = 1, .body = several_are_archived,
                        .config = "store.archive_interval=auto; failure.local_share=0; failure.mtbf=60s; "
                                  "restart.tries=9"});
}

/* ---- nothing but the defaults ---- */

static int a_millisecond(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    (void)it;
    sk_sleep(0.001);
    return sk_ledger_count(s->levels.ledger) > sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE) ? sk_session_wait(s, &err) : 0;
}

/* After the resume, too, checkpoints go on: each start gets further than the one before. */
static void go_on(const char *config, int starts)
{
    int64_t from = 0;
    for (int i = 0; i < starts; i++) {
        struct sk_gen_list l;
        char path[128];
        run(N, (struct run){.config = config, .until = from + 300, .crash = 1, .expect = i > 0, .expect_from = from,
                            .body = a_millisecond});
        snprintf(path, sizeof path, "%s/%s", dir, local_root());
        assert_int_equal(sk_gen_scan(path, -1, &l, NULL), 0);
        assert_true(l.count >= 1);
        if (l.gen[0].iteration <= from)
            fail_msg("start %d: nothing was saved between iteration %lld and %lld", i, (long long)from,
                     (long long)from + 300);
        from = l.gen[0].iteration;
        sk_gen_list_free(&l);
    }
}

static void test_the_model_goes_on_after_a_restart(void **state)
{
    (void)state;
    go_on("schedule.every=0", 4);
}

static void test_a_fixed_interval_goes_on_after_a_restart(void **state)
{
    (void)state;
    go_on("schedule.every=0; schedule.interval=50ms", 4);
    go_on("schedule.every=0; schedule.interval=50ms; schedule.first=no; restart.mode=never", 1);
}

static int nothing_before_the_third(struct sk_session *s, int64_t it)
{
    (void)it;
    return s->clock.tick <= 2 && s->capture.checkpoints ? -1 : a_millisecond(s, it);
}

/* A state from which the program dies at once must not take the place of the one before. */
static void test_no_checkpoint_right_after_a_restart(void **state)
{
    (void)state;
    run(N, (struct run){.until = 35, .crash = 1, .settle = 1});
    for (int i = 0; i < 4; i++)
        run(N, (struct run){.config = "schedule.every=0", .until = 32, .crash = 1, .expect = 1, .expect_from = 30,
                            .body = nothing_before_the_third});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
        TEST(test_crash_and_resume),
        TEST(test_always_resumes_a_finished_run),
        TEST(test_lost_local_directory),
        TEST(test_archives_alone_bring_back),
        TEST(test_archive_replaces_what_is_damaged_or_gone),
        TEST(test_a_finished_run_leaves_an_archive),
        TEST(test_full_prefix_keeps_the_archives_before),
        TEST(test_what_is_damaged_is_not_archived),
        TEST(test_damaged_copies),
        TEST(test_incomplete_generation),
        TEST(test_wrong_rank_count),
        TEST(test_changed_variable),
        TEST(test_not_for_ever),
        TEST(test_other_files_are_tried_again),
        TEST(test_an_order_to_end_does_not_count),
        TEST(test_a_read_error_is_tried_again_and_never_counts),
        TEST(test_dates_do_not_matter),
        TEST(test_retention),
        TEST(test_keeps_as_many_as_it_was_told),
        TEST(test_only_what_is_archived_is_told_to_be),
        TEST(test_every_iteration_without_a_pause),
        TEST(test_prefix_only_and_local_only),
        TEST(test_full_disk_keeps_the_old_generation),
        TEST(test_coded_variables),
        TEST(test_nonsense_about_codecs),
        TEST(test_signal_requests_a_checkpoint),
        TEST(test_a_signal_ends_a_program_that_never_asks),
        TEST(test_a_program_that_asks_is_left_to_itself),
        TEST(test_a_handler_of_the_program_is_left_alone),
        TEST(test_the_model_goes_on_after_a_restart),
        TEST(test_a_fixed_interval_goes_on_after_a_restart),
        TEST(test_no_checkpoint_right_after_a_restart),
        TEST(test_archives_as_often_as_the_model_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
