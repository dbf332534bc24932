/* What a process that is killed leaves is taken away by its heir, whatever signals that gets; what one leaves that ends by itself stays. */
#include "recovery/launch/heir.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64], before[512];

static int set_up(void **state)
{
    strcpy(dir, "/tmp/saikai-heir-XXXXXX");
    return mkdtemp(dir) && getcwd(before, sizeof before) && !chdir(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return chdir(before) || system(command) ? -1 : 0;
}

static void make(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static int is_there(const char *path)
{
    return !access(path, F_OK);
}

/* The one child of a process. */
static pid_t child_of(pid_t pid)
{
    char path[64];
    int child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "r");
    if (f) {
        if (fscanf(f, "%d", &child) != 1)
            child = 0;
        fclose(f);
    }
    return child;
}

/* A process with an heir that knows of files, of which some are there. It says through the pipe that all is told, and waits to be killed. */
static pid_t start(int said)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    char at[128];
    struct sk_heir *h = sk_heir_new();
    if (!h)
        _exit(1);
    for (int i = 0; i < 100; i++) { /* of which it need not know any more */
        char name[16];
        snprintf(name, sizeof name, "old-%d", i);
        sk_heir_tell(h, dir, name);
        sk_sleep(0.0002);
    }
    sk_heir_tell(h, dir, "here");
    snprintf(at, sizeof at, "%s/a/not/there", dir);
    sk_heir_tell(h, at, "above");
    sk_heir_tell(h, "a/b//c", "relative");
    sk_heir_tell(h, ".", "dot");
    if (write(said, "x", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void expect_taken_away(int with_signals)
{
    static const char *const mine[] = {"here", "a/above", "a/b/relative", "dot"}, *const others[] = {"other", "a/here", "a/b/c"};
    int said[2], state = 0;
    char c;
    assert_int_equal(mkdir("a", 0700) | mkdir("a/b", 0700), 0);
    for (int i = 0; i < 4; i++)
        make(mine[i]);
    for (int i = 0; i < 3; i++)
        make(others[i]);
    assert_int_equal(pipe(said), 0); /* the heir inherits both ends, and must let go of them */
    pid_t pid = start(said[1]), heir;
    close(said[1]);
    assert_int_equal(read(said[0], &c, 1), 1);
    assert_true((heir = child_of(pid)) > 0);
    if (with_signals) {
        static const int sent[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGPIPE, SIGTSTP};
        for (size_t i = 0; i < sizeof sent / sizeof *sent; i++)
            kill(heir, sent[i]);
    }
    for (int i = 0; i < 4; i++)
        assert_true(is_there(mine[i]));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &state, 0), pid);
    assert_int_equal(read(said[0], &c, 1), 0);
    close(said[0]);
    assert_int_equal(waitpid(heir, &state, 0), heir); /* it came to us */
    assert_true(WIFEXITED(state) && !WEXITSTATUS(state));
    for (int i = 0; i < 4; i++)
        assert_false(is_there(mine[i]));
    for (int i = 0; i < 3; i++)
        assert_true(is_there(others[i]));
}

static void what_is_left_by_one_that_is_killed_is_taken_away(void **state)
{
    expect_taken_away(0);
}

static void signals_do_not_end_it(void **state)
{
    expect_taken_away(1);
}

/* A launcher that hangs: it does not end by SIGTERM, nor do those of its group. */
static void what_does_not_end_by_itself_is_killed(void **state)
{
    int said[2], status;
    pid_t leader = 0, pid;
    assert_int_equal(pipe(said), 0);
    pid = fork();
    if (!pid) {
        struct sk_heir *h = sk_heir_new();
        if (!(leader = fork())) {
            setpgid(0, 0);
            close_range((unsigned)said[1] + 1, ~0U, 0); /* as exec does it with what is the heir's */
            signal(SIGTERM, SIG_IGN);
            if (!fork() || write(said[1], &leader, 1) == 1)
                for (;;)
                    pause();
            _exit(1);
        }
        setpgid(leader, leader);
        sk_heir_tell_group(h, leader);
        if (write(said[1], &leader, sizeof leader) != (ssize_t)sizeof leader)
            _exit(1);
        for (;;)
            pause();
    }
    char all[1 + sizeof leader];
    close(said[1]);
    for (size_t n = 0, k; n < sizeof all; n += k)
        assert_true((ssize_t)(k = (size_t)read(said[0], all + n, sizeof all - n)) > 0);
    kill(pid, SIGKILL);
    assert_int_equal(read(said[0], all, 1), 0); /* all of them have let go of it */
    close(said[0]);
    for (int i = 0; i < 4; i++) /* it, its heir, and the two of the group, which have come to us */
        assert_true(waitpid(-1, &status, 0) > 0);
    assert_int_equal(waitpid(-1, &status, 0), -1);
}

static void who_ends_in_order_keeps_its_files(void **state)
{
    struct sk_heir *h = sk_heir_new();
    assert_non_null(h);
    make("here");
    sk_heir_tell(h, dir, "here");
    sk_heir_free(h);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_true(is_there("here"));
}

static void one_that_was_killed_itself_disturbs_nobody(void **state)
{
    struct sk_heir *h = sk_heir_new();
    assert_non_null(h);
    kill(child_of(getpid()), SIGKILL);
    for (int i = 0; i < 100; i++)
        sk_heir_tell(h, dir, "here");
    sk_heir_free(h);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    sk_heir_tell(NULL, dir, "here");
    sk_heir_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_left_by_one_that_is_killed_is_taken_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(signals_do_not_end_it, set_up, tear_down),
        cmocka_unit_test(what_does_not_end_by_itself_is_killed),
        cmocka_unit_test_setup_teardown(who_ends_in_order_keeps_its_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_was_killed_itself_disturbs_nobody, set_up, tear_down),
    };
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
