/* A hub and a keeper on a machine with far more to do than it has processors: each of the two gets a short turn now and then, never both at
 * the same time. With the default node timeout they find each other, and do not lose each other, however many turns a connection takes. */
#include "backbone/events.h"

#include "base/clock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* Turn and pause; as many words in a row are waited for. */
static const double turn_s = 0.02, pause_s = 0.18;
enum { WORDS = 8 };

static const uint8_t job[SK_KEY_BYTES] = {7};

static void hear(int settings)
{
    struct sk_link_settings s = {.rank_env = "X", .key_file = "/none", .heartbeat_ms = 100, .node_timeout_ms = 4000, .orphan_timeout_ms = 60000};
    struct sk_hub *h;
    uint64_t last = 0;
    if (sk_hub_open("127.0.0.1", 4, job, &h, NULL) || sk_hub_admit(h, 0, 2, NULL) || sk_hub_settings(h, &s, NULL) ||
        write(settings, &s, sizeof s) != (ssize_t)sizeof s)
        _exit(1);
    for (int words = 0; words < WORDS;) {
        struct sk_message m;
        sk_hub_wait(h, NULL, 0, 1);
        while (sk_hub_receive(h, &m)) {
            words = m.serial == last + 1 ? words + 1 : 1; /* a connection that is lost takes words with it */
            last = m.serial;
            sk_hub_send(h, &(struct sk_message){.kind = SK_MSG_HEARD, .rank = m.rank});
        }
    }
    _exit(0);
}

static void speak(int settings)
{
    struct sk_link_settings s;
    struct sk_link *l;
    if (read(settings, &s, sizeof s) != (ssize_t)sizeof s || sk_link_open(&s, 0, job, &l, NULL))
        _exit(1);
    for (double next = sk_now();;) {
        struct sk_message m = {.kind = SK_MSG_BEAT};
        double now = sk_now();
        if (now >= next) {
            sk_link_send(l, &m);
            next = now + s.heartbeat_ms / 1000.0;
        }
        sk_link_wait(l, NULL, 0, next > now ? next - now : 0);
        while (sk_link_receive(l, &m))
            ;
    }
}

static pid_t start(void (*what)(int), int fd)
{
    pid_t pid = fork();
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        what(fd);
    }
    assert_true(pid > 0);
    return pid;
}

static void ends_that_seldom_get_a_processor_find_each_other(void **state)
{
    (void)state;
    int fd[2], status = -1, ended = 0;
    assert_int_equal(pipe(fd), 0);
    pid_t who[2] = {start(hear, fd[1]), start(speak, fd[0])};
    for (double end = sk_now() + 120; !ended && sk_now() < end;)
        for (int i = 0; i < 2 && !ended; i++) {
            kill(who[i], SIGCONT);
            sk_sleep(turn_s);
            kill(who[i], SIGSTOP);
            sk_sleep(pause_s);
            ended = waitpid(who[0], &status, WNOHANG) == who[0];
        }
    kill(who[1], SIGKILL);
    assert_int_equal(waitpid(who[1], NULL, 0), who[1]);
    if (!ended) {
        kill(who[0], SIGKILL);
        waitpid(who[0], NULL, 0);
    }
    close(fd[0]);
    close(fd[1]);
    assert_true(ended);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_that_seldom_get_a_processor_find_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
