/* The end of a process is seen by what it told of itself, also of one that is dead already; one elsewhere is not looked for. */
#include "daemon/above.h"

#include "store/owner/owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(char text[SK_LIFE_TEXT + 24])
{
    int said[2];
    assert_int_equal(pipe(said), 0);
    pid_t pid = fork();
    if (!pid) {
        char own[SK_LIFE_TEXT + 24] = "";
        sk_owner_above(7, own);
        if (write(said[1], own, sizeof own) != (ssize_t)sizeof own)
            _exit(1);
        for (;;)
            pause();
    }
    close(said[1]);
    assert_int_equal(read(said[0], text, SK_LIFE_TEXT + 24), SK_LIFE_TEXT + 24);
    close(said[0]);
    return pid;
}

static int has_ended(int fd, int patience_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, patience_ms) == 1;
}

static void its_end_is_seen(void **state)
{
    char text[SK_LIFE_TEXT + 24];
    pid_t pid = start(text);
    int fd = sk_above_open(text), again;
    assert_true(fd >= 0);
    assert_false(has_ended(fd, 0));
    kill(pid, SIGKILL);
    assert_true(has_ended(fd, 60000));
    close(fd);
    again = sk_above_open(text); /* dead, and not waited for */
    assert_true(again >= 0 && has_ended(again, 60000));
    close(again);
    waitpid(pid, NULL, 0);
    again = sk_above_open(text); /* gone */
    assert_true(again >= 0 && has_ended(again, 60000));
    close(again);
}

static void what_is_elsewhere_or_nothing_is_not_looked_for(void **state)
{
    char text[SK_LIFE_TEXT + 24];
    snprintf(text, sizeof text, "0000000000000007 elsewhere/4026531836 %d 5", (int)getpid());
    assert_int_equal(sk_above_open(text), -1);
    assert_int_equal(sk_above_open(NULL), -1);
    assert_int_equal(sk_above_open(""), -1);
    assert_int_equal(sk_above_open("0000000000000007 "), -1);
    assert_int_equal(sk_above_open("1 2 3"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_end_is_seen),
        cmocka_unit_test(what_is_elsewhere_or_nothing_is_not_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
