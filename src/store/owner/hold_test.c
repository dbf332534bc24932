/* Holds of node-local directories: shared by the ranks of a job, refused to all others as long as one of them lives, removed by the last. */
#include "store/owner/hold.h"

#include "base/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

static char dir[64];

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-hold-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

/* Several hold a directory together, whoever comes anew gets it when all have gone, and the last one removes it. */
static void test_hold(void **state)
{
    (void)state;
    char path[128];
    static const char *const none[] = {NULL};
    struct sk_hold *a, *b, *c;
    snprintf(path, sizeof path, "%s/node", dir);
    assert_int_equal(sk_hold_join(path, &b, NULL), SAIKAI_ENOENT);
    mode_t old = umask(0);
    assert_int_equal(sk_hold_first(path, 0, &a, NULL), 0);
    umask(old);
    struct stat st;
    char file[160];
    snprintf(file, sizeof file, "%s/%s", path, SK_HOLD_FILE);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600); /* nobody else's */
    assert_int_equal(sk_hold_join(path, &b, NULL), 0);
    assert_int_equal(sk_hold_first(path, 0, &c, NULL), SAIKAI_EBUSY);
    assert_int_equal(sk_hold_alone(path, &c, NULL), SAIKAI_EBUSY);
    sk_hold_release(a, NULL);
    assert_int_equal(sk_hold_first(path, 0.05, &c, NULL), SAIKAI_EBUSY); /* one of them lives yet */
    sk_hold_release(b, NULL);
    assert_int_equal(sk_hold_alone(path, &c, NULL), 0);
    assert_int_equal(sk_hold_first(path, 0, &a, NULL), SAIKAI_EBUSY);
    sk_hold_release(c, none);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(sk_hold_first(path, 0, &a, NULL), 0);
    assert_int_equal(sk_hold_join(path, &b, NULL), 0);
    sk_hold_release(a, none);
    assert_int_equal(access(path, F_OK), 0);
    sk_hold_release(b, none);
    assert_int_equal(access(path, F_OK), -1);
}

static int opens, vanishes; /* the first so many times that a lock is opened its directory is gone */

static int gone(const char *op, const char *path)
{
    size_t n = strlen(path), m = strlen("/" SK_HOLD_FILE);
    if (strcmp(op, "open") || n < m || strcmp(path + n - m, "/" SK_HOLD_FILE))
        return 0;
    return opens++ < vanishes ? ENOENT : 0;
}

/* Others remove the directory just when it is made: it is tried again, a hundred times. And what somebody has alone nobody joins. */
static void test_hold_of_what_others_remove(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    struct saikai_error err = {0};
    struct sk_hold *a = NULL, *b = NULL;
    char path[128];
    snprintf(path, sizeof path, "%s/node", dir);
    sk_io_hook = gone;
    vanishes = 1000;
    int rc = sk_hold_first(path, 0, &a, &err);
    int tries = opens;
    opens = 0;
    vanishes = 100;
    int later = sk_hold_first(path, 0, &a, NULL);
    sk_io_hook = NULL;
    assert_true(rc == SAIKAI_ENOENT && tries == 101 && strstr(err.text, path));
    assert_int_equal(later, 0);
    sk_hold_release(a, none);
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    assert_int_equal(sk_hold_alone(path, &a, NULL), 0);
    assert_int_equal(sk_hold_join(path, &b, &err), SAIKAI_EBUSY);
    assert_non_null(strstr(err.text, "is in use by another job"));
    sk_hold_release(a, none);
}

static void put(const char *path, const char *name)
{
    char file[160];
    snprintf(file, sizeof file, "%s/%s", path, name);
    assert_int_equal(sk_io_replace(file, "x", 1, NULL), 0);
}

static int has(const char *path, const char *name)
{
    char file[160];
    snprintf(file, sizeof file, "%s/%s", path, name);
    return !access(file, F_OK);
}

/* The last one takes along what it is told to, and nothing of others: not their files, nor a lock that they have made anew. */
static void test_what_the_last_one_takes_along(void **state)
{
    (void)state;
    static const char *const last[] = {"a", "b", "none", NULL};
    struct sk_hold *h, *other;
    char path[128];
    snprintf(path, sizeof path, "%s/node", dir);
    assert_int_equal(sk_hold_first(path, 0, &h, NULL), 0);
    assert_int_equal(sk_hold_join(path, &other, NULL), 0);
    put(path, "a");
    put(path, "b");
    put(path, "c");
    sk_hold_release(h, last);
    assert_true(has(path, "a") && has(path, "b") && has(path, SK_HOLD_FILE));
    sk_hold_release(other, last);
    assert_true(!has(path, "a") && !has(path, "b") && has(path, "c") && !has(path, SK_HOLD_FILE));
    assert_int_equal(sk_hold_first(path, 0, &h, NULL), 0);
    put(path, SK_HOLD_FILE); /* by somebody who found none there */
    assert_int_equal(sk_hold_first(path, 0, &other, NULL), 0);
    sk_hold_release(h, last);
    assert_true(has(path, SK_HOLD_FILE) && has(path, "c"));
    assert_int_equal(sk_hold_alone(path, &h, NULL), SAIKAI_EBUSY);
    sk_hold_release(other, NULL);
    assert_true(has(path, SK_HOLD_FILE));
    sk_hold_release(NULL, last);
}

/* A forked process that lives on when its program has gone holds nothing: the next start gets in at once. */
static void test_a_forked_process_holds_nothing(void **state)
{
    (void)state;
    struct sk_hold *h = NULL, *next = NULL;
    int ends[2], runs[2];
    char path[128], byte = 0;
    snprintf(path, sizeof path, "%s/node", dir);
    assert_int_equal(sk_hold_first(path, 0, &h, NULL), 0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(runs), 0);
    pid_t pid = fork();
    if (!pid) {
        close(ends[1]);
        if (write(runs[1], "r", 1) != 1) /* fork() has returned here */
            _exit(1);
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1); /* until the test has seen what it looks for, or ended */
    }
    assert_true(pid > 0);
    close(ends[0]);
    close(runs[1]);
    int ran = (int)read(runs[0], &byte, 1);
    close(runs[0]);
    int while_it_lives = sk_hold_first(path, 0, &next, NULL);
    sk_hold_release(h, NULL);
    int after = sk_hold_first(path, 0, &next, NULL);
    close(ends[1]);
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(ran, 1);
    assert_int_equal(while_it_lives, SAIKAI_EBUSY);
    assert_int_equal(after, 0);
    sk_hold_release(next, NULL);
}

/* A program closes all descriptors: the lock is gone with them, is taken again when somebody asks, and is not while another has it. */
static void test_a_lock_that_the_program_closed(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_hold *h = NULL, *other = NULL;
    int before[256];
    char path[128];
    snprintf(path, sizeof path, "%s/node", dir);
    for (int fd = 0; fd < 256; fd++)
        before[fd] = fcntl(fd, F_GETFD) >= 0;
    assert_int_equal(sk_hold_first(path, 0, &h, NULL), 0);
    assert_int_equal(sk_hold_renew(h, &err), 0);
    for (int fd = 0; fd < 256; fd++)
        if (!before[fd])
            close(fd);
    assert_int_equal(sk_hold_alone(path, &other, NULL), 0); /* nobody has it */
    assert_int_equal(sk_hold_renew(h, &err), SAIKAI_EBUSY);
    assert_non_null(strstr(err.text, path));
    sk_hold_release(other, NULL);
    assert_int_equal(sk_hold_renew(h, &err), 0);
    assert_int_equal(sk_hold_alone(path, &other, NULL), SAIKAI_EBUSY);
    sk_hold_release(h, NULL);
    assert_int_equal(sk_hold_alone(path, &other, NULL), 0);
    sk_hold_release(other, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(test_hold, begin, end),
        cmocka_unit_test_setup_teardown(test_hold_of_what_others_remove, begin, end),
        cmocka_unit_test_setup_teardown(test_what_the_last_one_takes_along, begin, end),
        cmocka_unit_test_setup_teardown(test_a_forked_process_holds_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_a_lock_that_the_program_closed, begin, end),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
