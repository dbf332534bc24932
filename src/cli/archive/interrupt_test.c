/* An archive that is made or restored and interrupted, before any operation of it: it ends by the signal, and nothing unfinished is left. */
#include "cli/archive/interrupt.h"

#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "base/clock.h"
#include "base/file/io.h"
#include "base/file/passing.h"
#include "cli/archive/archive_variable.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/saikai-interrupt-XXXXXX", path[4096];

static const char *at(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static atomic_int operations;
static int moment, number;

/* Just before a directory is made the signal comes, which does not keep it from being made. */
static int interrupt_directory(const char *op, const char *name)
{
    if (!strcmp(op, "mkdir") && !strncmp(name, dir, sizeof dir - 1)) {
        kill(getpid(), number);
        sk_sleep(0.0001);
    }
    return 0;
}

/* Before operation `moment` the signal comes, and the operation hangs: nothing but the signal ends the process. */
static int interrupt(const char *op, const char *name)
{
    (void)op;
    if (strncmp(name, dir, sizeof dir - 1) || atomic_fetch_add(&operations, 1) != moment)
        return 0;
    kill(getpid(), number);
    sleep(120);
    _exit(99);
}

static int make(void)
{
    char a[4096], b[4096], out[4096];
    snprintf(a, sizeof a, "%s/a", dir);
    snprintf(b, sizeof b, "%s/b", dir);
    snprintf(out, sizeof out, "%s/x.ska", dir);
    struct sk_archive_input in[] = {{.path = a, .name = "a"}, {.path = b, .name = "sub/b"}};
    return sk_archive_create(out, in, 2, &(struct sk_archive_options){.threads = 2}, NULL, NULL);
}

static int restore(void)
{
    char from[4096], to[4096];
    snprintf(from, sizeof from, "%s/kept.ska", dir);
    snprintf(to, sizeof to, "%s/out", dir);
    return sk_archive_extract(from, to, &(struct sk_extract_options){.threads = 2, .sweeps = 1}, NULL, NULL);
}

/* Of a variable that is not there, when all that would hold it has been restored. */
static int restore_variable(void)
{
    char from[4096], to[4096];
    struct cli cli = {.command = "archive extract"};
    snprintf(from, sizeof from, "%s/kept.ska", dir);
    snprintf(to, sizeof to, "%s/variable.h5", dir);
    return cli_archive_extract_variable(&cli, from, "none", to, &(struct sk_extract_options){.threads = 2}, 1, sk_archive_extract) == CLI_OK;
}

/* How the process ended. */
static int run_with(int (*hook)(const char *, const char *), int (*what)(void), int when, int sig)
{
    int status = 0;
    pid_t pid = fork();
    if (!pid) {
        struct cli_interrupt i;
        moment = when;
        number = sig;
        sk_io_hook = hook;
        cli_interrupt_begin(&i);
        int rc = what();
        cli_interrupt_end(&i);
        _exit(rc ? 1 : 0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static int unfinished(const char *name)
{
    DIR *d = opendir(name);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        n += strstr(e->d_name, ".tmp") || strstr(e->d_name, ".saikai-part") || strstr(e->d_name, ".saikai-extract");
    if (d)
        closedir(d);
    return n;
}

static void file_of(const char *name, unsigned seed)
{
    uint8_t bytes[30000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
    assert_int_equal(sk_io_replace(at(name), bytes, sizeof bytes, NULL), 0);
}

/* Before operation `moment` the signal comes, and the operation goes on when all was let go of: it must make nothing any more. */
static atomic_int let_go, known;
static struct sk_passing last; /* what was told first is let go of last */

static void note_let_go(void *arg)
{
    (void)arg;
    atomic_store(&let_go, 1);
    sk_sleep(0.02); /* for one that would make something now: it is then seen more surely, and nothing else hangs on it */
}

static int interrupt_and_go_on(const char *op, const char *name)
{
    (void)op;
    if (!atomic_exchange(&known, 1)) {
        last = (struct sk_passing){.drop = note_let_go};
        sk_passing_hold();
        sk_passing_begin(&last);
        sk_passing_release();
    }
    if (strncmp(name, dir, sizeof dir - 1) || atomic_fetch_add(&operations, 1) != moment)
        return 0;
    kill(getpid(), number);
    for (int i = 0; i < 60000 && !atomic_load(&let_go); i++)
        sk_sleep(0.001);
    return 0;
}

/* At each operation until there are no more; how many there were. */
static int at_each(int (*hook)(const char *, const char *), int (*what)(void))
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (int when = 0;; when++) {
        char sub[4096];
        int sig = numbers[when % 3], status = run_with(hook, what, when, sig);
        snprintf(sub, sizeof sub, "%s/out/sub", dir);
        if (unfinished(dir) || unfinished(at("out")) || unfinished(sub))
            fail_msg("interrupted before operation %d, something unfinished is left", when);
        if (WIFEXITED(status)) {
            assert_int_equal(WEXITSTATUS(status), 0);
            return when;
        }
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), sig);
    }
}

static void nothing_unfinished_is_left(void **state)
{
    (void)state;
    assert_true(at_each(interrupt, make) > 5);
    assert_true(at_each(interrupt, restore) > 8);
    assert_true(at_each(interrupt, restore_variable) > 8);
}

/* The operation that was about to be done is done when all has been let go of: what passes is not made anew. */
static void nothing_is_made_anew(void **state)
{
    (void)state;
    assert_true(at_each(interrupt_and_go_on, restore_variable) > 8);
}

/* Whether it is made before or after what is unfinished is let go of is chance. */
static void no_directory_is_left(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        int status = run_with(interrupt_directory, restore_variable, 0, SIGTERM);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGTERM);
        if (unfinished(dir))
            fail_msg("interrupted when it made a directory, %d times right before, it left something unfinished", i);
    }
}

/* What is ignored stays so. */
static void what_is_ignored(void **state)
{
    (void)state;
    struct cli_interrupt i;
    void (*was)(int) = signal(SIGINT, SIG_IGN);
    cli_interrupt_begin(&i);
    assert_int_equal(kill(getpid(), SIGINT), 0);
    cli_interrupt_end(&i);
    signal(SIGINT, was);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    file_of("a", 1);
    file_of("b", 2);
    char kept[4096];
    snprintf(kept, sizeof kept, "%s/kept.ska", dir);
    return make() || rename(at("x.ska"), kept);
}

static int tear_down(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_unfinished_is_left), cmocka_unit_test(nothing_is_made_anew), cmocka_unit_test(no_directory_is_left),
                                       cmocka_unit_test(what_is_ignored)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
