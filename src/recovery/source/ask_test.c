/* Commands that fail, hang, print without end or leave something behind. */
#include "recovery/source/ask.h"

#include "base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <cmocka.h>

#define SHELL(text) ((char *[]){"/bin/sh", "-c", text, NULL})

static void all_ends_are_told(void **state)
{
    (void)state;
    struct sk_asked a[] = {
        {.argv = SHELL("echo one; echo two >&2; exit 3")},
        {.argv = SHELL("kill -SEGV $$")},
        {.argv = (char *[]){"/nowhere/at-all", NULL}},
        {.argv = SHELL("cat; echo read")},
    };
    sk_ask(a, 4, 60);
    assert_int_equal(a[0].end, SK_ASKED_ENDED);
    assert_int_equal(a[0].code, 3);
    assert_string_equal(a[0].output, "one\ntwo\n");
    assert_int_equal(a[1].end, SK_ASKED_KILLED);
    assert_int_equal(a[1].code, SIGSEGV);
    assert_int_equal(a[2].end, SK_ASKED_ENDED);
    assert_int_equal(a[2].code, 127);
    assert_string_equal(a[3].output, "read\n");
    sk_asked_free(a, 4);
}

static void what_hangs_is_ended(void **state)
{
    struct sk_asked a[2] = {{.argv = SHELL("trap '' TERM; echo begun; sleep 600 & wait")}, {.argv = SHELL("echo well")}};
    (void)state;
    double before = sk_now();
    sk_ask(a, 2, 4);
    assert_true(sk_now() - before >= 4);
    assert_int_equal(a[0].end, SK_ASKED_TOO_LONG);
    assert_int_equal(a[1].end, SK_ASKED_ENDED);
    assert_string_equal(a[1].output, "well\n");
    sk_asked_free(a, 2);
}

static void much_is_cut(void **state)
{
    struct sk_asked a = {.argv = SHELL("head -c 1000000 /dev/zero | tr '\\0' x; exit 5")};
    (void)state;
    sk_ask(&a, 1, 60);
    assert_int_equal(a.end, SK_ASKED_ENDED);
    assert_int_equal(a.code, 5);
    assert_int_equal(a.n, SK_ASK_OUTPUT);
    assert_int_equal(strlen(a.output), SK_ASK_OUTPUT);
    sk_asked_free(&a, 1);
}

/* It holds the pipe for long: nobody waits for that. */
static void what_is_left_behind_goes(void **state)
{
    struct sk_asked a = {.argv = SHELL("sleep 600 & echo $!")};
    (void)state;
    double before = sk_now();
    sk_ask(&a, 1, 300);
    assert_true(sk_now() - before < 300);
    assert_int_equal(a.end, SK_ASKED_ENDED);
    pid_t left = (pid_t)atoi(a.output);
    assert_true(left > 1);
    char path[64], name[64] = "";
    for (int i = 0; i < 3000; i++) { /* killed it is, and collected by whoever does that */
        snprintf(path, sizeof path, "/proc/%d/stat", (int)left);
        FILE *f = fopen(path, "r");
        *name = 0;
        if (f && fscanf(f, "%*d %*s %63s", name) != 1)
            *name = 0;
        if (f)
            fclose(f);
        if (!*name || *name == 'Z')
            break;
        sk_sleep(0.01);
    }
    assert_true(!*name || *name == 'Z');
    sk_asked_free(&a, 1);
}

static void many_take_turns(void **state)
{
    enum { N = 3 * SK_ASK_AT_ONCE + 1 };
    static struct sk_asked a[N];
    char **there = SHELL("exit 7"), **nowhere = (char *[]){"/nowhere", NULL};
    (void)state;
    for (int i = 0; i < N; i++)
        a[i].argv = i % 5 ? there : nowhere;
    sk_ask(a, N, 60);
    for (int i = 0; i < N; i++)
        assert_int_equal(a[i].code, i % 5 ? 7 : 127);
    sk_asked_free(a, N);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ends_are_told),
        cmocka_unit_test(what_hangs_is_ended),
        cmocka_unit_test(much_is_cut),
        cmocka_unit_test(what_is_left_behind_goes),
        cmocka_unit_test(many_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
