/* Leases of stores: one holder at a time, dead ones are replaced, living ones are not. */
#include "base/clock.h"
#include "base/host/fork_testing.h"
#include "base/file/io.h"
#include "store/owner/job.h"
#include "store/owner/lease.h"
#include "store/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"
#include "store/owner/lease_testing.h"

/* A process of its own that takes the lease, says so, and lives until it is killed. */
static pid_t holder(void)
{
    int p[2];
    char c;
    assert_int_equal(pipe(p), 0);
    pid_t pid = sk_testing_fork();
    if (!pid) {
        struct sk_lease *l;
        c = take(30, &l, NULL) ? 'n' : 'y';
        if (write(p[1], &c, 1) == 1)
            pause();
        _exit(0);
    }
    close(p[1]);
    assert_int_equal(read(p[0], &c, 1), 1);
    assert_int_equal(c, 'y');
    close(p[0]);
    return pid;
}

static void test_one_holder(void **state)
{
    (void)state;
    struct sk_lease *l, *other;
    struct saikai_error err = {0};
    struct sk_owner o;
    pid_t pid = holder();
    char text[32];
    assert_int_equal(take(30, &l, &err), SAIKAI_EBUSY);
    snprintf(text, sizeof text, "process %d", (int)pid);
    assert_non_null(strstr(err.text, text)); /* names the owner, since when, and what to do */
    assert_non_null(strstr(err.text, "since 20"));
    assert_non_null(strstr(err.text, "job.name"));
    assert_int_equal(sk_lease_look(dir, 30, &o), 1);
    kill(pid, SIGKILL);
    double before = sk_now();
    while (sk_life_goes_on(&o.life) > 0)
        sk_sleep(0.001);
    assert_int_equal(take(30, &l, &err), 0); /* at once, while it is not even waited for */
    assert_true(sk_now() - before < 20);
    waitpid(pid, NULL, 0);
    assert_int_equal(take(30, &other, &err), SAIKAI_EBUSY); /* nor twice by one process */
    sk_lease_release(l);
    assert_int_equal(sk_lease_look(dir, 30, &o), 0);
    assert_int_equal(take(30, &l, &err), 0);
    sk_lease_release(l);
}

/* A holder on another host counts as dead when it is silent for the timeout, by the clock of the file system. */
static void test_silent_elsewhere(void **state)
{
    (void)state;
    struct sk_owner o = elsewhere();
    struct sk_lease *l;
    struct saikai_error err = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/" SK_LEASE_FILE, dir);
    write_lease(&o);
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){{1000, 0}, {1000, 0}}, 0), 0);
    assert_int_equal(take(3600, &l, &err), 0); /* old: at once */
    sk_lease_release(l);
    o = elsewhere();
    write_lease(&o);
    double before = sk_now();
    assert_int_equal(take(0.5, &l, &err), 0); /* fresh: after the timeout */
    assert_true(sk_now() - before > 0.4);
    sk_lease_release(l);
}

static void test_lively_elsewhere(void **state)
{
    (void)state;
    struct sk_owner o = elsewhere();
    struct sk_lease *l;
    struct saikai_error err = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/" SK_LEASE_FILE, dir);
    write_lease(&o);
    pid_t pid = sk_testing_fork();
    for (int i = 0; !pid && i < 600; i++) {
        utimensat(AT_FDCWD, path, NULL, 0);
        sk_sleep(0.1);
    }
    if (!pid)
        _exit(0);
    assert_int_equal(take(10, &l, &err), SAIKAI_EBUSY);
    assert_non_null(strstr(err.text, "far-away"));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* `saikai run` vouches for the ends of its own earlier starts; between two of them nobody else gets in. */
static void test_under_a_launcher(void **state)
{
    (void)state;
    char above[SK_LIFE_TEXT + 24];
    struct sk_owner before, after, other;
    struct saikai_error err = {0};
    struct sk_lease *l;
    sk_owner_above(42, above);
    sk_owner_self("job", above, 0, &before);
    before.store = job.store;
    assert_int_equal(before.run, 42);
    strcpy(before.life.place, "elsewhere/1");
    write_lease(&before);
    sk_owner_self("job", above, 1, &after);
    after.store = job.store;
    assert_int_equal(sk_lease_take(dir, &after, 3600, &l, &err), 0);
    sk_lease_release(l);
    before.life = self().life;
    before.life.pid = 0x3fffff; /* nobody */
    write_lease(&before);
    other = self();
    assert_int_equal(sk_lease_take(dir, &other, 3600, &l, &err), SAIKAI_EBUSY);
    assert_non_null(strstr(err.text, "about to be started again"));
}

/* Eight come at once, in rounds: one gets it, seven are refused; also when all find a dead holder's. */
static void test_races(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        pid_t pid[8];
        int won = 0, status, go[2], done[2];
        struct sk_owner dead = self();
        dead.life.started++;
        if (round % 2)
            write_lease(&dead);
        assert_int_equal(pipe(go) | pipe(done), 0);
        for (int i = 0; i < 8; i++)
            if (!(pid[i] = sk_testing_fork())) {
                struct sk_lease *l = NULL;
                char c;
                close(go[1]);
                close(done[1]);
                if (read(go[0], &c, 1) < 0)
                    _exit(9);
                int rc = take(30, &l, NULL);
                if (rc != SAIKAI_EBUSY && rc)
                    _exit(8);
                if (!rc && read(done[0], &c, 1) < 0) /* nobody leaves before all have tried */
                    _exit(9);
                sk_lease_release(l);
                _exit(!rc);
            }
        close(go[1]);
        int left = 8;
        for (int n = 0; n < 7; n++, left--) { /* the refused ones end by themselves */
            assert_true(wait(&status) > 0);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
            won += WEXITSTATUS(status);
        }
        close(done[1]);
        assert_true(wait(&status) > 0);
        won += WEXITSTATUS(status);
        assert_int_equal(won, 1);
        assert_int_equal(left, 1);
        close(go[0]);
        close(done[0]);
    }
}

/* What was copied with a directory, is damaged, or was left by a session that is no more, holds nothing. */
static void test_nobodys(void **state)
{
    (void)state;
    struct sk_owner o = self();
    struct sk_lease *l;
    char path[128];
    o.store = sk_id_random();
    write_lease(&o);
    assert_int_equal(take(3600, &l, NULL), 0);
    sk_lease_release(l);
    o = self();
    write_lease(&o);
    assert_int_equal(take(3600, &l, NULL), 0);
    sk_lease_release(l);
    snprintf(path, sizeof path, "%s/" SK_LEASE_FILE, dir);
    assert_int_equal(sk_io_replace(path, "saikai-lease 1\nno", 17, NULL), 0);
    assert_int_equal(take(3600, &l, NULL), 0);
    sk_lease_release(l);
}

static int is_lost_soon(struct sk_lease *l)
{
    for (double end = sk_now() + 60; !sk_lease_is_lost(l) && sk_now() < end;)
        sk_sleep(0.01);
    return sk_lease_is_lost(l);
}

static void test_taken_over(void **state)
{
    (void)state;
    struct sk_lease *l;
    struct sk_owner o = elsewhere();
    assert_int_equal(take(0.06, &l, NULL), 0);
    assert_int_equal(sk_lease_is_lost(l), 0);
    write_lease(&o);
    assert_int_equal(is_lost_soon(l), 1);
    sk_lease_release(l);
    struct sk_owner now;
    assert_int_equal(sk_lease_look(dir, 3600, &now), 1); /* it stays the other one's */
    assert_true(sk_id_same(now.token, o.token));
}

/* Whoever writes looks first: the loss is known at once, however seldom the lease is renewed, and by every process. */
static void test_look_before_writing(void **state)
{
    (void)state;
    struct sk_lease *l;
    struct sk_owner o = elsewhere();
    struct saikai_error err = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/" SK_LEASE_FILE, dir);
    assert_int_equal(take(3600, &l, NULL), 0);
    assert_int_equal(sk_lease_check(dir, sk_lease_token(l), 0, &err), 0);
    assert_int_equal(unlink(path), 0); /* it is made again */
    assert_int_equal(sk_lease_check(dir, sk_lease_token(l), 20, &err), 0);
    write_lease(&o);
    assert_int_equal(sk_lease_check(dir, sk_lease_token(l), 20, &err), SAIKAI_EBUSY);
    assert_non_null(strstr(err.text, "far-away"));
    assert_int_equal(sk_lease_is_lost(l), 1);
    assert_int_equal(sk_lease_check(dir, sk_id_random(), 0, &err), SAIKAI_EBUSY); /* as another process sees it */
    assert_non_null(strstr(err.text, "far-away"));
    sk_lease_release(l);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(sk_lease_check(dir, sk_id_random(), 0, &err), SAIKAI_ENOENT);
    assert_int_equal(sk_lease_check(dir, (struct sk_id){{0}}, 0, &err), 0); /* nobody was to hold it */
}

/* While this one was stopped, a later start of the job came and went. */
static void test_come_and_gone(void **state)
{
    (void)state;
    struct sk_lease *l;
    struct sk_state st = {.incarnation = 3, .first_incarnation = 1};
    struct saikai_error err = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/" SK_LEASE_FILE, dir);
    assert_int_equal(take(3600, &l, NULL), 0);
    sk_lease_begun(l, 2);
    assert_int_equal(sk_state_save(dir, &st, NULL), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(sk_lease_check(dir, sk_lease_token(l), 20, &err), SAIKAI_EBUSY);
    assert_non_null(strstr(err.text, "later start"));
    sk_lease_release(l);
    assert_int_equal(access(path, F_OK), -1);
}

/* Somebody removes the store of a job that runs, or a purge what is old in it: what the job makes again is its own store, and no other's. */
static void test_removed_meanwhile(void **state)
{
    (void)state;
    struct sk_lease *l;
    struct sk_job found;
    struct saikai_error err = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/" SK_JOB_FILE, dir);
    assert_int_equal(take(3600, &l, NULL), 0);
    sk_lease_of(l, &job);
    assert_int_equal(sk_io_rmtree(dir, NULL), 0);
    assert_int_equal(mkdir(dir, 0700), 0); /* by whatever writes there next */
    if (sk_lease_check(dir, sk_lease_token(l), 60, &err))
        fail_msg("%s", err.text);
    assert_int_equal(sk_job_load(dir, &found, NULL), 0);
    assert_true(sk_id_same(found.store, job.store) && !strcmp(found.name, job.name) && !strcmp(found.place, dir));
    sk_lease_release(l);
    assert_int_equal(take(0.6, &l, NULL), 0); /* renewed each 0.1 s */
    sk_lease_of(l, &job);
    assert_int_equal(unlink(path), 0);
    for (double until = sk_now() + 60; sk_job_load(dir, &found, NULL) && sk_now() < until;)
        sk_sleep(0.02);
    assert_int_equal(sk_job_load(dir, &found, NULL), 0);
    assert_true(sk_id_same(found.store, job.store));
    assert_int_equal(sk_lease_is_lost(l), 0);
    sk_lease_release(l);
}

/* It was removed, and another job has begun there and ended meanwhile: nothing is written there. */
static void test_removed_and_taken(void **state)
{
    (void)state;
    struct sk_lease *l;
    struct sk_job other = {.name = "other", .store = sk_id_random()};
    struct saikai_error err = {0};
    assert_int_equal(take(3600, &l, NULL), 0);
    sk_lease_of(l, &job);
    assert_int_equal(sk_io_rmtree(dir, NULL), 0);
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(sk_job_claim(dir, &other, NULL), 0);
    assert_int_equal(sk_lease_check(dir, sk_lease_token(l), 60, &err), SAIKAI_EBUSY);
    assert_non_null(strstr(err.text, "is by now the store of job other"));
    sk_lease_release(l);
    assert_int_equal(access(lease_path(), F_OK), -1);
}

static int later(struct sk_lease **l)
{
    struct sk_owner o = self();
    return sk_lease_take_later(dir, &o, 30, &job, l, NULL);
}

/* A prefix that was away: taken when it is free by then, also when nobody had it before; lost when somebody else has it. */
static void test_later(void **state)
{
    (void)state;
    struct sk_lease *l;
    struct sk_owner o = elsewhere();
    struct saikai_error err = {0};
    struct sk_job found, other = job;
    char path[128];
    snprintf(path, sizeof path, "%s/" SK_JOB_FILE, dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(later(&l), 0);
    assert_int_equal(sk_lease_check(dir, sk_lease_token(l), 20, &err), 0);
    assert_int_equal(sk_job_load(dir, &found, NULL), 0);
    assert_true(sk_id_same(found.store, job.store));
    sk_lease_release(l);
    assert_int_equal(sk_lease_look(dir, 30, &o), 0); /* given back */
    pid_t pid = holder();
    assert_int_equal(later(&l), 0);
    assert_int_equal(is_lost_soon(l), 1);
    assert_int_equal(sk_lease_check(dir, sk_lease_token(l), 20, &err), SAIKAI_EBUSY);
    sk_lease_release(l);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    o = elsewhere(); /* only that it renews it tells that it lives */
    write_lease(&o);
    assert_int_equal(later(&l), 0);
    assert_int_equal(sk_lease_check(dir, sk_lease_token(l), 0.2, &err), SAIKAI_EBUSY);
    assert_int_equal(sk_lease_is_lost(l), 0);
    write_lease(&o);
    assert_int_equal(is_lost_soon(l), 1);
    sk_lease_release(l);
    other.store = sk_id_random(); /* begun anew meanwhile */
    assert_int_equal(sk_job_replace(dir, &other, NULL), 0);
    assert_int_equal(later(&l), 0);
    assert_int_equal(is_lost_soon(l), 1);
    sk_lease_release(l);
}

static const char *bad_op;
static _Atomic int bad_code;

static int fail_at_the_lease(const char *op, const char *path)
{
    return strstr(path, SK_LEASE_FILE) && !strcmp(op, bad_op) ? bad_code : 0;
}

/* What a dead holder left cannot be replaced now: nothing is taken, and nothing is lost; it is taken when the disk has room again. */
static void test_not_now(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        int code;
    } cases[] = {{"open", ENOSPC}, {"write", ENOSPC}, {"rename", EIO}, {"write", EIO}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_owner dead = self();
        struct sk_lease *l;
        struct saikai_error err = {0};
        write_lease(&dead); /* by this process, which has none of that token */
        bad_op = cases[i].op;
        bad_code = cases[i].code;
        sk_io_hook = fail_at_the_lease;
        assert_int_equal(take(0.6, &l, NULL), 0);
        assert_int_equal(sk_lease_check(dir, sk_lease_token(l), 0.3, &err), SAIKAI_EBUSY);
        assert_int_equal(sk_lease_is_lost(l), 0);
        sk_io_hook = NULL;
        int rc = sk_lease_check(dir, sk_lease_token(l), 60, &err);
        if (rc)
            fail_msg("%s: %s", cases[i].op, err.text);
        assert_int_equal(sk_lease_is_lost(l), 0);
        sk_lease_release(l);
        assert_int_equal(access(lease_path(), F_OK), -1);
    }
}

/* What is posted with a lease that somebody else has, from the beginning or by now, is written by nobody. */
static void test_posts_need_the_store(void **state)
{
    (void)state;
    struct sk_lease *l;
    struct sk_owner o = elsewhere();
    char path[128];
    snprintf(path, sizeof path, "%s/posted", dir);
    write_lease(&o);
    assert_int_equal(later(&l), 0);
    assert_int_equal(sk_lease_post(l, path, 0, "text", 4), 0);
    assert_int_equal(sk_lease_check(dir, sk_lease_token(l), 0.2, NULL), SAIKAI_EBUSY);
    assert_int_equal(sk_lease_is_lost(l), 0);
    sk_lease_release(l);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(sk_io_unlink(lease_path(), NULL), 0);
    assert_int_equal(take(3600, &l, NULL), 0);
    write_lease(&o);
    assert_int_equal(sk_lease_post(l, path, 0, "text", 4), 0); /* who writes it looks at the lease before */
    assert_int_equal(is_lost_soon(l), 1);
    sk_lease_release(l);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(sk_io_unlink(lease_path(), NULL), 0);
    assert_int_equal(take(3600, &l, NULL), 0);
    assert_int_equal(sk_lease_post(l, path, 0, "text", 4), 0);
    sk_lease_release(l);
    assert_int_equal(access(path, F_OK), 0);
}

/* A directory whose name is too long for a path: it is said, and nothing of a lease stays in memory. */
static void test_no_path(void **state)
{
    (void)state;
    static char deep[PATH_MAX + 1];
    struct sk_owner o = self();
    struct sk_lease *l = NULL;
    struct saikai_error err;
    size_t before = 0;
    memset(deep, 'd', PATH_MAX);
    for (size_t n = PATH_MAX; n >= PATH_MAX - 2; n--) { /* the directory itself, and the file in it */
        deep[n] = 0;
        for (int i = 0; i < 100; i++) {
            if (i == 10)
                before = mallinfo2().uordblks;
            memset(&err, 0, sizeof err);
            int rc = i % 2 ? sk_lease_take(deep, &o, 30, &l, &err) : sk_lease_take_later(deep, &o, 30, &job, &l, &err);
            assert_int_not_equal(rc, 0);
            assert_int_equal(err.code, rc);
            assert_null(l);
        }
        assert_true(mallinfo2().uordblks < before + 20 * PATH_MAX);
    }
}

static int no_space(const char *op, const char *path)
{
    (void)path;
    return !strcmp(op, "open") || !strcmp(op, "write") ? EROFS : 0;
}

/* Where nothing can be written, nobody is kept from reading. */
static void test_read_only(void **state)
{
    (void)state;
    struct sk_lease *l = NULL;
    sk_io_hook = no_space;
    int rc = take(30, &l, NULL);
    sk_io_hook = NULL;
    assert_int_equal(rc, 0);
    sk_lease_release(l);
}

static void test_claims(void **state)
{
    (void)state;
    struct sk_job found, other = job;
    strcpy(other.name, "other");
    assert_int_equal(sk_job_claim(dir, &other, NULL), SAIKAI_EEXIST);
    assert_int_equal(sk_job_load(dir, &found, NULL), 0);
    assert_string_equal(found.name, "job");
    assert_true(sk_id_same(found.store, job.store));
    assert_false(sk_job_accepts(&found, (struct sk_id){{0}}));
    assert_false(sk_job_accepts(&found, sk_id_random()));
    found.former[found.former_count++] = other.store = sk_id_random();
    found.adopted = 1;
    assert_int_equal(sk_job_replace(dir, &found, NULL), 0);
    assert_int_equal(sk_job_load(dir, &found, NULL), 0);
    assert_true(sk_job_accepts(&found, other.store) && sk_job_accepts(&found, (struct sk_id){{0}}));
    assert_false(sk_job_name_ok("") || sk_job_name_ok("a/b") || sk_job_name_ok(".x") || sk_job_name_ok("a b"));
}

/* Over parts of MPI_COMM_WORLD, each of which begins under the same name: what is wrong is said, and not that the job runs already. */
static void parts_of_one_start(void **state)
{
    (void)state;
    struct sk_owner first = self(), second = self(), later = self();
    struct sk_lease *a = NULL, *b = NULL;
    struct saikai_error err = {0};
    first.run = second.run = 77;
    first.start = second.start = later.start = 3;
    later.run = 78; /* of another `saikai run` */
    assert_int_equal(sk_lease_take(dir, &first, 30, &a, &err), 0);
    assert_int_equal(sk_lease_take(dir, &second, 30, &b, &err), SAIKAI_EBUSY);
    assert_non_null(strstr(err.text, "is in use by another part of this start of job job: host "));
    assert_non_null(strstr(err.text, "MPI_COMM_WORLD"));
    assert_int_equal(sk_lease_take(dir, &later, 30, &b, &err), SAIKAI_EBUSY);
    assert_non_null(strstr(err.text, "is running already"));
    sk_lease_release(a);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(test_one_holder, begin, end),
        cmocka_unit_test_setup_teardown(parts_of_one_start, begin, end),
        cmocka_unit_test_setup_teardown(test_silent_elsewhere, begin, end),
        cmocka_unit_test_setup_teardown(test_lively_elsewhere, begin, end),
        cmocka_unit_test_setup_teardown(test_under_a_launcher, begin, end),
        cmocka_unit_test_setup_teardown(test_races, begin, end),
        cmocka_unit_test_setup_teardown(test_nobodys, begin, end),
        cmocka_unit_test_setup_teardown(test_taken_over, begin, end),
        cmocka_unit_test_setup_teardown(test_look_before_writing, begin, end),
        cmocka_unit_test_setup_teardown(test_come_and_gone, begin, end),
        cmocka_unit_test_setup_teardown(test_removed_meanwhile, begin, end),
        cmocka_unit_test_setup_teardown(test_removed_and_taken, begin, end),
        cmocka_unit_test_setup_teardown(test_later, begin, end),
        cmocka_unit_test_setup_teardown(test_not_now, begin, end),
        cmocka_unit_test_setup_teardown(test_posts_need_the_store, begin, end),
        cmocka_unit_test_setup_teardown(test_no_path, begin, end),
        cmocka_unit_test_setup_teardown(test_read_only, begin, end),
        cmocka_unit_test_setup_teardown(test_claims, begin, end),
        cmocka_unit_test(no_file_is_left_open),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
