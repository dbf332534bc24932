/* Leases where something is odd: what lies in their place cannot be read, no thread can be started, there is nothing to lock, the store is away. */
#include "base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/no_threads_testing.h"
#include "base/host/open_files_testing.h"
#include "store/owner/lease_testing.h"

/* What stands in place of a lease cannot be read: nothing is taken and nothing is lost, and it is taken when that has gone. */
static void test_unreadable(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct sk_lease *l;
        struct sk_owner o;
        struct saikai_error err = {0};
        assert_int_equal(i ? mkdir(lease_path(), 0700) : symlink(SK_LEASE_FILE, lease_path()), 0); /* one that leads to itself */
        assert_int_equal(take(0.6, &l, NULL), 0);
        assert_int_equal(sk_lease_check(dir, sk_lease_token(l), 0.3, &err), SAIKAI_EIO);
        assert_non_null(strstr(err.text, lease_path()));
        assert_int_equal(sk_lease_look(dir, 30, &o), 0);
        assert_int_equal(sk_lease_is_lost(l), 0);
        assert_int_equal(i ? rmdir(lease_path()) : unlink(lease_path()), 0);
        if (sk_lease_check(dir, sk_lease_token(l), 60, &err))
            fail_msg("%s", err.text);
        sk_lease_release(l);
        assert_int_equal(access(lease_path(), F_OK), -1);
    }
}

/* No thread can renew it: then it is not taken, and nobody else is kept out. */
static void test_no_threads(void **state)
{
    (void)state;
    struct sk_lease *l = NULL;
    struct sk_owner o = self();
    struct saikai_error err = {0}, later = {0};
    no_threads(1);
    int rc = take(30, &l, &err), rc_later = sk_lease_take_later(dir, &o, 30, &job, &l, &later);
    no_threads(0);
    assert_true(rc < 0 && rc_later < 0 && err.code == rc && later.code == rc_later);
    assert_null(l);
    assert_true(strstr(err.text, "cannot start the thread that renews") && strstr(err.text, lease_path()));
    assert_non_null(strstr(later.text, lease_path()));
    assert_int_equal(access(lease_path(), F_OK), -1);
}

static int files_in_dir(void)
{
    DIR *d = opendir(dir);
    int n = 0;
    for (struct dirent *e; (e = readdir(d));)
        n += *e->d_name != '.';
    closedir(d);
    return n;
}

static double seconds_since(struct timespec t)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)(now.tv_sec - t.tv_sec) + 1e-9 * (double)(now.tv_nsec - t.tv_nsec);
}

/* How long somebody elsewhere has been silent is told to a part of a second, and leaves nothing behind. */
static void test_ages(void **state)
{
    (void)state;
    struct sk_owner o = elsewhere(), found;
    write_lease(&o);
    for (int i = 0; i < 10; i++) {
        struct timespec then;
        clock_gettime(CLOCK_REALTIME, &then);
        then.tv_sec -= then.tv_nsec < i * 100000000 ? 11 : 10;
        then.tv_nsec += (then.tv_nsec < i * 100000000 ? 1000000000 : 0) - i * 100000000;
        assert_int_equal(utimensat(AT_FDCWD, lease_path(), (struct timespec[]){then, then}, 0), 0);
        assert_int_equal(sk_lease_look(dir, 9.95 + i * 0.1, &found), 0); /* a file system's clock may be behind by a tick */
        assert_true(sk_id_same(found.token, o.token));
        double limit = seconds_since(then) + 0.3;
        int lives = sk_lease_look(dir, limit, &found);
        if (seconds_since(then) < limit) /* it was looked at in time */
            assert_int_equal(lives, 1);
    }
    assert_int_equal(files_in_dir(), 2); /* the job's and the lease */
}

/* Where there is no file to lock it is done without, and no other file suffers. */
static void test_nothing_to_lock(void **state)
{
    (void)state;
    char path[128];
    struct sk_lease *l;
    struct stat sb;
    snprintf(path, sizeof path, "%s/" SK_JOB_FILE, dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(open("/dev/null", O_RDONLY), 0);
    assert_int_equal(take(3600, &l, NULL), 0);
    assert_int_equal(access(lease_path(), F_OK), 0);
    sk_lease_release(l);
    assert_int_equal(access(lease_path(), F_OK), -1);
    assert_int_equal(fstat(0, &sb), 0);
    close(0);
    assert_true(!sk_lease_is_lost(NULL) && sk_id_none(sk_lease_token(NULL)));
    sk_lease_begun(NULL, 1);
    sk_lease_release(NULL);
}

/* The store is away when its lease is looked at: nothing is made, and nothing is lost. */
static void test_away(void **state)
{
    (void)state;
    struct sk_lease *l;
    struct saikai_error err = {0};
    char other[80];
    snprintf(other, sizeof other, "%s-away", dir);
    assert_int_equal(take(3600, &l, NULL), 0);
    assert_int_equal(rename(dir, other), 0);
    assert_int_equal(sk_lease_check(dir, sk_lease_token(l), 0.2, &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "who may write in"));
    assert_int_equal(sk_lease_is_lost(l), 0);
    assert_int_equal(access(dir, F_OK), -1);
    assert_int_equal(rename(other, dir), 0);
    assert_int_equal(sk_lease_check(dir, sk_lease_token(l), 20, &err), 0);
    sk_lease_release(l);
}

static int signals;
static void on_signal(int number)
{
    (void)number;
    signals++;
}

/* Signals are the program's: the thread that renews a lease takes none, and the program's threads have theirs as before. */
static void test_signals(void **state)
{
    (void)state;
    struct sk_lease *l;
    sigset_t one, now;
    struct timespec soon = {60, 0};
    void (*before)(int) = signal(SIGUSR1, on_signal);
    assert_int_equal(take(0.06, &l, NULL), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    assert_false(sigismember(&now, SIGUSR1) || sigismember(&now, SIGTERM));
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    kill(getpid(), SIGUSR1);
    sk_sleep(0.03); /* it is renewed meanwhile */
    assert_int_equal(signals, 0);
    assert_int_equal(sigtimedwait(&one, NULL, &soon), SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    signal(SIGUSR1, before);
    sk_lease_release(l);
}

/* A place that a node only remembered becomes the job's: it says so, and where it is. */
static void test_claimed_later(void **state)
{
    (void)state;
    struct sk_lease *l;
    struct sk_owner o = self();
    static struct sk_job remembered, found;
    struct stat sb;
    char path[128];
    snprintf(path, sizeof path, "%s/" SK_JOB_FILE, dir);
    assert_int_equal(unlink(path), 0);
    remembered = job;
    remembered.unclaimed = 1;
    strcpy(remembered.place, "/elsewhere");
    assert_int_equal(sk_lease_take_later(dir, &o, 30, &remembered, &l, NULL), 0);
    assert_int_equal(sk_lease_check(dir, sk_lease_token(l), 20, NULL), 0);
    assert_int_equal(sk_job_load(dir, &found, NULL), 0);
    assert_int_equal(stat(dir, &sb), 0);
    assert_true(!found.unclaimed && !strcmp(found.place, dir) && found.inode == sb.st_ino && sk_id_same(found.store, job.store));
    sk_lease_release(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(test_unreadable, begin, end),
        cmocka_unit_test_setup_teardown(test_no_threads, begin, end),
        cmocka_unit_test_setup_teardown(test_ages, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing_to_lock, begin, end),
        cmocka_unit_test_setup_teardown(test_away, begin, end),
        cmocka_unit_test_setup_teardown(test_signals, begin, end),
        cmocka_unit_test_setup_teardown(test_claimed_later, begin, end),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
