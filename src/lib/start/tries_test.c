/* Restarts that came to nothing: the marks that a rank leaves when it is told to end, what is counted against a generation, and what is
 * passed over then. */
#include "lib/start/tries.h"

#include "base/file/io.h"
#include "base/file/patience.h"
#include "base/host/fork_testing.h"
#include "base/log.h"
#include "group/loop.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 2, FINE = 42 };

static char dir[64], said[8192];

static void note(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    size_t n = strlen(said);
    snprintf(said + n, sizeof said - n, "%s\n", line);
}

static int make_dir(void **state)
{
    (void)state;
    said[0] = 0;
    strcpy(dir, "/tmp/saikai-tries-XXXXXX");
    sk_log_set(note, NULL, SK_LOG_INFO);
    return !mkdtemp(dir);
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static void set(struct sk_session *s, struct sk_group *g, uint32_t incarnation)
{
    *s = (struct sk_session){.g = g};
    snprintf(s->place.local_root, sizeof s->place.local_root, "%s", dir);
    s->who.incarnation = s->who.state.incarnation = incarnation;
}

static void put(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(sk_io_replace(path, "", 0, NULL), 0);
}

static int has(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return !access(path, F_OK);
}

/* ---- marks ---- */

/* The newest of this rank counts; others', and what only looks like one, is left alone. */
static void marks_are_found_and_removed(void **state)
{
    (void)state;
    struct sk_group g = {.rank = 1, .size = 2};
    struct sk_session s;
    set(&s, &g, 9);
    assert_int_equal(sk_tries_marked(&s), 0);
    put("stopped-0003-000001");
    put("stopped-0007-000001");
    put("stopped-0005-000001");
    put("stopped-0008-000000");
    put("stopped-0009-000001.tmp");
    put("stopped-0009");
    assert_int_equal(sk_tries_marked(&s), 7);
    sk_tries_clear_marks(&s);
    assert_int_equal(sk_tries_marked(&s), 0);
    assert_true(has("stopped-0008-000000") && has("stopped-0009-000001.tmp") && has("stopped-0009"));
    assert_false(has("stopped-0003-000001") || has("stopped-0005-000001") || has("stopped-0007-000001"));
    strcpy(s.place.local_root, "/nowhere");
    assert_int_equal(sk_tries_marked(&s), 0);
}

static volatile sig_atomic_t heard;
static struct sk_session one, two;
static struct sk_keeper_page page;

static void hear(int n)
{
    heard += n;
    errno = EXDEV;
}

static void hear_more(int n, siginfo_t *info, void *context)
{
    heard += info && context ? n : 0;
}

static int dies_armed(void)
{
    sk_tries_arm(&one);
    sk_tries_arm(&one); /* once is enough */
    raise(SIGTERM);
    return 1;
}

static int two_sessions(void)
{
    sk_tries_arm(&one);
    sk_tries_arm(&two);
    sk_tries_disarm(&one);
    raise(SIGINT);
    return 1;
}

static int dies_after_it_was_disarmed(void)
{
    sk_tries_arm(&one);
    sk_tries_disarm(&one);
    raise(SIGXCPU);
    return 1;
}

static int has_its_own_handler(void)
{
    struct sigaction more = {.sa_sigaction = hear_more, .sa_flags = SA_SIGINFO}, now;
    signal(SIGTERM, hear);
    sigaction(SIGQUIT, &more, NULL);
    sk_tries_arm(&one);
    errno = EDOM;
    raise(SIGTERM);
    if (heard != SIGTERM || errno != EDOM) /* what was interrupted finds its errno again */
        return 1;
    raise(SIGQUIT);
    if (heard != SIGTERM + SIGQUIT || !has("stopped-0004-000000"))
        return 2;
    sk_tries_disarm(&one);
    if (sigaction(SIGTERM, NULL, &now) || now.sa_handler != hear || sigaction(SIGQUIT, NULL, &now) || now.sa_sigaction != hear_more)
        return 3;
    return FINE;
}

static int ignores_them(void)
{
    signal(SIGHUP, SIG_IGN);
    sk_tries_arm(&one);
    raise(SIGHUP);
    return has("stopped-0004-000000") ? 1 : FINE;
}

/* A handler that the program puts in place of ours stays. */
static int puts_its_own_in_place(void)
{
    struct sigaction now;
    sk_tries_arm(&one);
    signal(SIGTERM, hear);
    sk_tries_disarm(&one);
    return sigaction(SIGTERM, NULL, &now) || now.sa_handler != hear || sigaction(SIGINT, NULL, &now) || now.sa_handler != SIG_DFL ? 1 : FINE;
}

static int tells_the_launcher(void)
{
    char path[128];
    one.page = &page;
    snprintf(path, sizeof path, "%s/stopped-0004-000000", dir);
    sk_tries_arm(&one);
    if (strcmp(page.stop_mark, path))
        return 1;
    sk_tries_disarm(&two); /* another one */
    if (!*page.stop_mark)
        return 2;
    sk_tries_disarm(&one);
    return *page.stop_mark ? 3 : FINE;
}

static void signals_leave_marks(void **state)
{
    (void)state;
    static struct sk_group first = {.size = 2}, second = {.rank = 1, .size = 2};
    static const struct {
        int (*child)(void);
        int end, marks_one, marks_two;
    } cases[] = {{dies_armed, -SIGTERM, 1, 0}, {two_sessions, -SIGINT, 0, 1}, {dies_after_it_was_disarmed, -SIGXCPU, 0, 0}, {has_its_own_handler, FINE, 1, 0},
                 {ignores_them, FINE, 0, 0}, {puts_its_own_in_place, FINE, 0, 0}, {tells_the_launcher, FINE, 0, 0}};
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXCPU};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], SIG_DFL); /* a job in the background begins with some of them ignored */
    set(&one, &first, 4);
    set(&two, &second, 5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = 0;
        pid_t pid = sk_testing_fork();
        if (!pid) {
            alarm(120);
            _exit(cases[i].child());
        }
        assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
        int end = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
        if (end != cases[i].end || has("stopped-0004-000000") != cases[i].marks_one || has("stopped-0005-000001") != cases[i].marks_two)
            fail_msg("case %zu ended with %d, marks %d %d", i, end, has("stopped-0004-000000"), has("stopped-0005-000001"));
        sk_tries_clear_marks(&one);
        sk_tries_clear_marks(&two);
    }
}

/* ---- counting ---- */

/* What the start before noted, judged by how it ended and by the marks. */
static void judged(int last_end, int64_t marked, int deaths, int unexplained)
{
    struct sk_group g = {.size = 1};
    struct sk_session s;
    struct sk_keeper_page p = {.last_end = (uint32_t)last_end};
    struct sk_gen gen = {3, 70, 0};
    set(&s, &g, 6);
    s.page = last_end >= 0 ? &p : NULL;
    s.who.state.trying = (struct sk_tried){.gen = gen, .files = 11};
    s.who.state.trying_start = 5;
    said[0] = 0;
    sk_tries_judge(&s, marked);
    const struct sk_tried *t = sk_state_tried(&s.who.state, gen);
    if ((t ? t->deaths : 0) != deaths || (t ? t->unexplained : 0) != unexplained)
        fail_msg("end %d, mark %lld: %d and %d", last_end, (long long)marked, t ? t->deaths : 0, t ? t->unexplained : 0);
    assert_true(!t || t->files == 11);
    assert_true(!s.who.state.trying.gen.incarnation && !s.who.state.trying_start); /* judged once */
    assert_int_equal(strstr(said, "iteration 70") != NULL, deaths + unexplained);
    assert_int_equal(strstr(said, "died by itself") != NULL, deaths);
}

static void how_a_start_ended_decides(void **state)
{
    (void)state;
    judged(SK_LAST_END_BY_ITSELF, 0, 1, 0);
    judged(SK_LAST_END_BY_ITSELF, 5, 1, 0); /* the launcher knows better than a mark */
    judged(SK_LAST_END_FROM_OUTSIDE, 0, 0, 0);
    judged(SK_LAST_END_UNKNOWN, 5, 0, 0); /* all ranks were told to end */
    judged(SK_LAST_END_UNKNOWN, 4, 0, 1); /* but in an earlier start */
    judged(-1, 5, 0, 0); /* without a launcher */
    judged(-1, 0, 0, 1);
    struct sk_group g = {.size = 1};
    struct sk_session s;
    set(&s, &g, 6);
    sk_tries_judge(&s, 0); /* nothing was noted */
    assert_int_equal(s.who.state.tried_count, 0);
}

struct asked {
    int tries, deaths, unexplained, bad, file; /* given */
    int allowed;
    uint64_t files; /* what the generation's files were like when starts died */
    const char *prefix;
};

static const struct sk_gen asked_for = {3, 70, 0};

static int ask(struct sk_group *g, void *arg)
{
    struct asked *a = arg;
    struct sk_session s;
    struct saikai_error err = {0};
    char number[8];
    int allowed = -1;
    set(&s, g, 6);
    snprintf(number, sizeof number, "%d", a->tries);
    s.config = sk_config_new();
    int rc = sk_config_set(s.config, "restart.tries", number, SK_FROM_API, "", &err);
    for (int i = 0; i < a->deaths + a->unexplained; i++)
        sk_state_count(&s.who.state, asked_for, a->files, i < a->deaths);
    if (a->prefix)
        snprintf(s.place.prefix_root, sizeof s.place.prefix_root, "%s/%s", dir, a->prefix);
    rc = rc ? rc : sk_patience_new(0, &s.place.patience, &err);
    rc = rc ? rc : a->bad ? sk_state_mark(&s.who.state, asked_for, 1, &err) : 0;
    rc = rc ? rc : sk_tries_may(&s, asked_for, &allowed, &err);
    sk_tries_disarm(&s);
    sk_config_free(s.config);
    sk_patience_free(s.place.patience);
    int64_t v[2] = {allowed, -allowed};
    if (rc || sk_group_allreduce(g, v, 2, SK_OP_MIN) || v[0] != -v[1])
        return -1;
    if (g->rank == 0)
        a->allowed = allowed;
    return 0;
}

static void what_may_be_tried(void **state)
{
    (void)state;
    static const struct {
        struct asked a;
        const char *says;
    } cases[] = {
        {{.tries = 2, .allowed = 1}, NULL},
        {{.tries = 2, .deaths = 1, .allowed = 1}, NULL},
        {{.tries = 2, .deaths = 2}, "2 starts died after reading it (restart.tries is 2)"},
        {{.tries = 2, .deaths = 1, .unexplained = 1, .allowed = 1}, NULL}, /* these count half */
        {{.tries = 2, .deaths = 1, .unexplained = 2}, "3 starts died after reading it, some of them nobody knows why"},
        {{.tries = 9, .bad = 1}, "is marked bad and passed over; 'saikai mark --good"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct asked a = cases[i].a;
        struct sk_state now;
        said[0] = 0;
        sk_io_rmtree(dir, NULL);
        sk_io_mkdirs(dir, NULL);
        assert_int_equal(sk_loop_run(N, ask, &a), 0);
        if (a.allowed != cases[i].a.allowed || (cases[i].says && !strstr(said, cases[i].says)))
            fail_msg("case %zu: %d '%s'", i, a.allowed, said);
        assert_int_equal(strstr(said, "iteration 70") != NULL, !a.allowed);
        assert_int_equal(sk_state_load(dir, &now, NULL), 0); /* what is tried is noted before it is */
        assert_int_equal(now.trying.gen.iteration == asked_for.iteration, a.allowed);
        assert_int_equal(now.trying_start, a.allowed ? 6 : 0);
    }
}

/* What its files are like now, as the ranks together see them. */
static uint64_t files_now(struct asked how)
{
    struct sk_state now;
    char root[128];
    how.tries = 2;
    assert_int_equal(sk_loop_run(N, ask, &how), 0);
    snprintf(root, sizeof root, "%s%s%s", dir, how.prefix ? "/" : "", how.prefix ? how.prefix : "");
    assert_true(how.allowed && !sk_state_load(root, &now, NULL));
    return now.trying.files;
}

static int is_tried(struct asked how)
{
    how.tries = how.deaths = 2;
    assert_int_equal(sk_loop_run(N, ask, &how), 0);
    return how.allowed;
}

static void put_part(const char *below, int rank, const char *text)
{
    char path[192];
    snprintf(path, sizeof path, "%s/%sgen-0003-000000000070-0", dir, below);
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    snprintf(path + strlen(path), sizeof path - strlen(path), "/rank-%06d.skc", rank);
    assert_int_equal(sk_io_replace(path, text, strlen(text), NULL), 0);
}

/* Deaths count against these files: what was written anew since, by any rank or in the other place, may be tried again. */
static void other_files_are_tried_again(void **state)
{
    (void)state;
    struct asked how = {0}, far = {.prefix = "prefix"};
    char path[128];
    snprintf(path, sizeof path, "%s/prefix", dir);
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    assert_int_equal(files_now(how), 0);
    put_part("", 0, "first");
    uint64_t first = files_now(how);
    assert_true(first && first == files_now(how) && first <= 0xffffffffff);
    put_part("", 1, "first");
    uint64_t both = files_now(how);
    assert_true(both && both != first && both != 2 * first);
    how.files = both;
    assert_false(is_tried(how));
    how.files = first;
    assert_true(is_tried(how));
    how.files = both;
    put_part("", 1, "second!");
    assert_true(is_tried(how));
    uint64_t near = files_now(far), now = files_now(how);
    assert_true(near == now);
    put_part("prefix/", 0, "first");
    uint64_t far_too = files_now(far);
    assert_true(far_too != near && files_now(how) == now);
    far.files = far_too;
    assert_false(is_tried(far));
    put_part("prefix/", 5, "first"); /* there is no such rank */
    assert_false(is_tried(far));
}

/* A candidate that is reached clears the generation; an end that says nothing only takes the note back. */
static void the_end_of_a_try(void **state)
{
    (void)state;
    struct sk_group g = {.size = 2};
    struct sk_session s;
    struct sk_state now;
    for (int good = 0; good < 2; good++) {
        set(&s, &g, 6);
        s.who.state.trying = (struct sk_tried){.gen = asked_for};
        s.who.state.trying_start = 6;
        sk_state_count(&s.who.state, asked_for, 0, 1);
        assert_int_equal(sk_state_save(dir, &s.who.state, NULL), 0);
        g.rank = 1;
        sk_tries_end(&s, asked_for, good); /* is rank 0's affair */
        assert_int_equal(s.who.state.trying_start, 6);
        g.rank = 0;
        sk_tries_end(&s, asked_for, good);
        assert_int_equal(sk_state_load(dir, &now, NULL), 0);
        assert_true(!now.trying.gen.incarnation && !now.trying_start);
        assert_int_equal(sk_state_tried(&now, asked_for) == NULL, good);
    }
    /* what was marked by hand while the job ran stays */
    assert_int_equal(sk_state_mark(&now, (struct sk_gen){2, 50, 0}, 1, NULL), 0);
    assert_int_equal(sk_state_save(dir, &now, NULL), 0);
    s.who.state.trying = (struct sk_tried){.gen = asked_for};
    sk_tries_end(&s, asked_for, 0);
    assert_int_equal(sk_state_load(dir, &now, NULL), 0);
    assert_true(sk_state_tried(&now, (struct sk_gen){2, 50, 0}) && sk_state_tried(&now, (struct sk_gen){2, 50, 0})->bad);
    /* but not that of another start */
    now.incarnation = 7;
    assert_int_equal(sk_state_save(dir, &now, NULL), 0);
    s.who.state.tried_count = 0;
    sk_tries_refresh(&s);
    assert_int_equal(s.who.state.tried_count, 0);
    now.incarnation = 6;
    assert_int_equal(sk_state_save(dir, &now, NULL), 0);
    sk_tries_refresh(&s);
    assert_int_equal(s.who.state.tried_count, now.tried_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(marks_are_found_and_removed, make_dir, remove_dir),
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(signals_leave_marks, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(how_a_start_ended_decides, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_may_be_tried, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(other_files_are_tried_again, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_end_of_a_try, make_dir, remove_dir),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
