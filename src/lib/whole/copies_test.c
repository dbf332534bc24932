/* How much a job holds in the local directory, at any time and after any sequence of kills: never more than documented. */
#include "lib/whole/session_testing.h"

#include "base/clock.h"
#include "base/host/fork_testing.h"
#include "base/file/io.h"
#include "base/log.h"
#include "group/loop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { N = 2, CELLS = 64 << 10, BYTES = CELLS * 8, STARTS = 14 };

/* What README says: keep_local and three more; usually one less at any one time. */
enum { COPIES = 1 + 3 };

static char local[96], prefix[96];

/* ---- measuring: at every operation of the I/O layer ---- */

static pthread_mutex_t measure_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t most;
static atomic_int hang;
static atomic_int slow, listed; /* it answers until each rank has listed the directory so often in this start */

/* A file that was seen. Ranks rename and remove files meanwhile: what is counted was there, all of it at once, in the moment between
 * the look and the second one. */
struct seen {
    char path[256];
    ino_t number;
    off_t size;
};
enum { MOST_SEEN = 256 };

static size_t look(const char *root, struct seen *seen, size_t n)
{
    DIR *d = opendir(root);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat sb;
        char path[256];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
            snprintf(path, sizeof path, "%s/%s", root, e->d_name) >= (int)sizeof path || lstat(path, &sb))
            continue;
        if (S_ISDIR(sb.st_mode)) {
            n = look(path, seen, n);
        } else if (n < MOST_SEEN) {
            seen[n] = (struct seen){.number = sb.st_ino, .size = sb.st_size};
            strcpy(seen[n++].path, path);
        }
    }
    if (d)
        closedir(d);
    return n;
}

static void measure(void)
{
    static struct seen seen[MOST_SEEN];
    uint64_t now = 0;
    pthread_mutex_lock(&measure_lock);
    size_t n = look(local, seen, 0);
    for (size_t i = 0; i < n; i++) {
        struct stat sb;
        if (!lstat(seen[i].path, &sb) && sb.st_ino == seen[i].number)
            now += (uint64_t)(sb.st_size < seen[i].size ? sb.st_size : seen[i].size);
    }
    most = now > most ? now : most;
    pthread_mutex_unlock(&measure_lock);
}

/* What is killed does nothing more: every operation fails from then on, of all ranks. */
enum when { NONE, IN_COMMIT, IN_RESTART, IN_COPY };
static atomic_int killing;
static atomic_long left; /* operations of this kind that still work */

static int is_met(const char *op, const char *path)
{
    int far = !strncmp(path, prefix, strlen(prefix));
    switch (atomic_load(&killing)) {
    case IN_COMMIT: return !far && (!strcmp(op, "rename") || !strcmp(op, "truncate") || strstr(path, "slot-") != NULL);
    case IN_RESTART: return !strcmp(op, "read") || !strcmp(op, "open") || !strcmp(op, "unlink");
    case IN_COPY: return far;
    default: return 0;
    }
}

static int hook(const char *op, const char *path)
{
    int far = !strncmp(path, prefix, strlen(prefix));
    measure();
    if (far && atomic_load(&slow) && !strcmp(op, "opendir") && atomic_fetch_add(&listed, 1) >= atomic_load(&slow) * N)
        sk_sleep(0.6); /* longer than anybody waits for it */
    if (atomic_load(&killing) && (atomic_load(&left) <= 0 || (is_met(op, path) && atomic_fetch_sub(&left, 1) <= 1)))
        return EIO;
    while (far && atomic_load(&hang))
        sk_sleep(0.001);
    return 0;
}

/* ---- the program ---- */

struct run {
    const char *config;
    int captures;   /* until it is killed */
    int settle;     /* 1: each is learnt to be complete first */
    int at_restart; /* 1: killed right after the restart */
    enum when kill; /* … or from some operation of this kind on nothing works any more */
    long kill_at;
};

/* 1: a start took as long as a prefix is waited for where it is silent at times, so it may have been silent at a restart, too. */
static atomic_int held_up;
enum { PATIENCE_MS = 500 };

static int program(struct sk_group *g, void *arg)
{
    const struct run *r = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double *u = malloc(BYTES), begun = sk_now();
    /* Where the prefix always answers, a machine that is busy must not look as if it did not. */
    const char *patience = atomic_load(&hang)   ? "50ms; store.final_wait=100ms"
                           : atomic_load(&slow) ? "500ms; store.final_wait=1s" /* PATIENCE_MS */
                                                : "20s; store.final_wait=20s";
    struct sk_config *c = world_config("schedule.every=1; store.prefix_timeout=%s; %s", patience, r->config);
    if (!u || world_session(g, c, &s, &err)) {
        free(u);
        return r->kill ? 0 : -1;
    }
    for (size_t i = 0; i < CELLS; i++)
        u[i] = (double)i + g->rank;
    int restored, rc = world_protect(s, u, CELLS, &err);
    int64_t it = 0;
    if (!rc)
        rc = sk_session_restart(s, &restored, &it, &err);
    if (sk_now() - begun > PATIENCE_MS * 1e-3)
        atomic_store(&held_up, 1);
    measure();
    for (int n = 0; !rc && !r->at_restart && n < r->captures;) {
        for (size_t i = 0; i < CELLS; i += n % 2 ? 97 : 1)
            u[i] += 1;
        int done = sk_session_candidate(s, 0, ++it, &err);
        measure();
        n += done != 0; /* of what is killed some ranks fail, and the others are not to wait for them */
        int waited = r->settle ? sk_session_wait(s, &err) : 0;
        rc = r->kill ? 0 : done < 0 ? done : waited;
    }
    if (rc && !r->kill)
        fprintf(stderr, "%s\n", err.text);
    if (r->kill)
        rc = 0;
    sk_session_abandon(s);
    measure();
    free(u);
    return rc;
}

static void expect_at_most(const char *what, double copies)
{
    double seen = (double)most / (N * (double)BYTES);
    printf("%s: %.2f copies at most\n", what, seen);
    if (seen > copies * 1.02)
        fail_msg("%s: %.2f copies of the data in the local directory, %.2f are documented", what, seen, copies);
    assert_true(seen > 0.9);
}

/* Kills in a row: after the first captures, before the ranks know of any, right after the restart. */
static void kill_starts(const char *config, int starts)
{
    for (int k = 0; k < starts; k++) {
        atomic_store(&listed, 0);
        struct run r = {.config = config, .captures = 1 + k % 5, .settle = k % 3 == 2, .at_restart = k % 7 == 5};
        assert_int_equal(sk_loop_run(N, program, &r), 0);
    }
}

static void kill_often(const char *what, const char *config, int starts, double copies)
{
    most = 0;
    kill_starts(config, starts);
    expect_at_most(what, copies);
}

/* Kills at some operation of a kind, one after the other, each further than the one before. */
static void kill_at(const char *what, enum when kind, const char *config, double copies)
{
    struct run good = {.config = config, .captures = 3, .settle = 1};
    most = 0;
    for (int k = 0; k < 5; k++) { /* an error of the device is waited for */
        if (k % 3 == 0)
            assert_int_equal(sk_loop_run(N, program, &good), 0);
        struct run r = {.config = config, .captures = 4, .settle = k % 2, .kill = kind};
        atomic_store(&left, 1 + 11 * k);
        atomic_store(&killing, kind);
        assert_int_equal(sk_loop_run(N, program, &r), 0);
        atomic_store(&killing, NONE);
    }
    assert_int_equal(sk_loop_run(N, program, &good), 0);
    expect_at_most(what, copies);
}

static int make_dir(void **state)
{
    (void)state;
    if (world_begin("/tmp/saikai-copies-XXXXXX", SK_LOG_WARN))
        return -1;
    snprintf(prefix, sizeof prefix, "%s/prefix", world.dir);
    snprintf(local, sizeof local, "%s/local", world.dir);
    atomic_store(&hang, 0);
    atomic_store(&slow, 0);
    sk_io_hook = hook;
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    double since = sk_now();
    int rc;
    atomic_store(&hang, 0);
    atomic_store(&slow, 0);
    while ((rc = world_end()) && sk_now() - since < 60) /* what hung still makes files there, and ends */
        sk_sleep(0.01);
    while (sk_testing_threads() > SK_TESTING_OWN_THREADS && sk_now() - since < 60) /* and may still ask the hook */
        sk_sleep(0.01);
    sk_io_hook = NULL;
    return rc;
}

static void test_full_ones(void **state)
{
    (void)state;
    kill_often("in full", "capture.tracker=full", STARTS, COPIES);
}

static void test_defaults(void **state)
{
    (void)state;
    kill_often("by default", "", STARTS, COPIES + 1); /* beside, changes take as much as one in full at most */
}

static void test_without_archives(void **state)
{
    (void)state;
    kill_often("without copies to the prefix", "capture.tracker=full; store.archive_every=0", STARTS, COPIES);
}

static void test_coded(void **state)
{
    (void)state;
    kill_often("coded", "codec.chains=*=zstd", STARTS, COPIES + 1);
}

static void test_more_kept(void **state)
{
    (void)state;
    kill_often("two kept", "capture.tracker=full; store.keep_local=2", STARTS, COPIES + 1);
}

static void test_hanging_prefix(void **state)
{
    (void)state;
    struct run first = {.config = "capture.tracker=full", .captures = 2, .settle = 1};
    most = 0;
    assert_int_equal(sk_loop_run(N, program, &first), 0);
    atomic_store(&hang, 1);
    kill_often("with a prefix that hangs", "capture.tracker=full", STARTS, COPIES + 1); /* and what the start went on from */
}

static void test_slow_prefix(void **state)
{
    (void)state;
    atomic_store(&slow, 5);
    atomic_store(&held_up, 0);
    most = 0;
    kill_starts("capture.tracker=full", STARTS);
    expect_at_most("with a prefix that is silent when the ranks look at what may go", atomic_load(&held_up) ? 2 * COPIES : COPIES);
}

/* What could not be read stays, but not of ever more starts. */
static void test_silent_at_restarts(void **state)
{
    (void)state;
    atomic_store(&slow, 4);
    kill_often("with a prefix that is silent at each restart", "capture.tracker=full", STARTS, 2 * COPIES);
}

static void test_killed_in_commits(void **state)
{
    (void)state;
    kill_at("killed in commits", IN_COMMIT, "capture.tracker=full", COPIES);
    kill_at("killed in commits of changes", IN_COMMIT, "", COPIES + 1);
}

static void test_killed_in_restarts(void **state)
{
    (void)state;
    kill_at("killed in restarts", IN_RESTART, "capture.tracker=full", COPIES);
}

static void test_killed_in_copies(void **state)
{
    (void)state;
    kill_at("killed in copies to the prefix", IN_COPY, "capture.tracker=full", COPIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_full_ones, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_defaults, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_without_archives, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_coded, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_more_kept, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_hanging_prefix, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_slow_prefix, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_silent_at_restarts, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_killed_in_commits, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_killed_in_restarts, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_killed_in_copies, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
