/* What a job hears from its launcher, and tells it: by the page that both have (backbone/keeper_page.h). All ranks share one here. */
#include "lib/whole/session_testing.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/host/fork_testing.h"
#include "group/loop.h"
#include "lib/run/events.h"
#include "lib/run/requests.h"
#include "lib/run/stop.h"
#include "world/hooks/hooks.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 2, CELLS = 500 };

static struct sk_keeper_page *page;
static int page_fd;
static _Atomic int cuts, begun, completed;
static _Atomic int64_t cut_at, begun_at, completed_at;

struct start {
    int (*body)(struct sk_group *g, struct sk_session *s);
    const char *config;
    int64_t from;
    int halts, finishes;
};

static int program(struct sk_group *g, void *arg)
{
    const struct start *p = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS] = {0};
    int restored = 0;
    int64_t from = 0;
    CHECK(!world_session(g, world_config("schedule.first=no; schedule.every=10; redundancy.scheme=none; %s", p->config ? p->config : ""), &s, &err));
    CHECK(!world_protect(s, u, CELLS, &err) && !sk_session_restart(s, &restored, &from, &err) && from == p->from);
    return world_leave(s, p->body(g, s), p->finishes);
}

static void run(struct start p)
{
    world_start(N, program, &p);
    sk_requests_remove();
}

static int make_page(void **state)
{
    char number[16];
    (void)state;
    cuts = begun = completed = 0;
    if (world_begin("/tmp/saikai-page-XXXXXX", SK_LOG_DEBUG) || sk_keeper_page_make(0, 0, &page_fd, &page, NULL))
        return -1;
    snprintf(number, sizeof number, "%d", page_fd);
    return setenv(SK_KEEPER_FD_ENV, number, 1);
}

static int remove_page(void **state)
{
    (void)state;
    unsetenv(SK_KEEPER_FD_ENV);
    sk_keeper_page_unmap(page);
    close(page_fd);
    return world_end();
}

/* ---- what the launcher knows ---- */

static double close_to(double a, double b)
{
    return fabs(a - b) < 1e-6 * fabs(b);
}

static int has_heard_of_past_starts(struct sk_group *g, struct sk_session *s)
{
    struct saikai_error err = {0};
    (void)g;
    CHECK(s->measured.suffered.faults == 3 && s->measured.suffered.seconds == 5 && s->measured.suffered.last_candidates == 77);
    CHECK(s->measured.program_rate == 0 && s->measured.shape == 1);
    CHECK(close_to(s->measured.host_rate, 2.0 / 1000)); /* one rate for each host, and both ranks are on one */
    CHECK(close_to(s->measured.advice.policy.rate, s->measured.host_rate + sk_suffered_rate(500, &s->measured.suffered)));
    return 0;
}

static int has_heard_what_was_learnt(struct sk_group *g, struct sk_session *s)
{
    struct saikai_error err = {0};
    (void)g;
    CHECK(s->measured.suffered.faults == 6 && s->measured.suffered.seconds == 9000 && s->measured.suffered.last_candidates == 77);
    CHECK(close_to(s->measured.host_rate, 0.25) && close_to(s->measured.program_rate, 0.5));
    CHECK(close_to(s->measured.advice.policy.rate, 0.75));
    CHECK(close_to(s->measured.shape, 0.5));
    return 0;
}

/* Long after the last fault fewer are expected than on average, by the shape that was learnt. */
static int follows_the_learnt_shape(struct sk_group *g, struct sk_session *s)
{
    struct saikai_error err = {0};
    CHECK(close_to(s->measured.shape, 0.5) && close_to(s->measured.advice.policy.rate, 0.75));
    for (int64_t i = 0; i < 100000 && close_to(s->measured.advice.policy.rate, 0.75); i++)
        CHECK(sk_session_candidate(s, 0, i, &err) >= 0 && !sk_group_barrier(g));
    CHECK(!close_to(s->measured.advice.policy.rate, 0.75));
    return 0;
}

static int believes_what_is_configured(struct sk_group *g, struct sk_session *s)
{
    struct saikai_error err = {0};
    (void)g;
    CHECK(close_to(s->measured.shape, 0.8));
    return 0;
}

static void what_was_suffered_before(void **state)
{
    (void)state;
    static const char config[] = "failure.mtbf=500s; failure.program_mtbf=500s";
    page->past_faults = 3;
    page->past_ms = 5000;
    page->past_candidates = 77;
    page->host_rate = 0.25f; /* is not looked at without that of the program */
    page->own_faults = 6;
    page->own_seconds = 9000;
    page->shape = 0.5f;
    run((struct start){.body = has_heard_of_past_starts, .config = config});
    page->program_rate = 0.5f;
    run((struct start){.body = has_heard_what_was_learnt, .config = config});
    run((struct start){.body = believes_what_is_configured, .config = "failure.shape=0.8"});
    run((struct start){.body = follows_the_learnt_shape,
                       .config = "schedule.model=weibull; schedule.every=0; schedule.first=yes; schedule.poll=1ms; schedule.threshold=0.01", .finishes = 1});
}

/* ---- what it is told ---- */

/* Stands for the layer between program and MPI (world/world.h), which keeps no messages from before a complete generation. */
void saikai_world_cut(int64_t key)
{
    cuts++;
    cut_at = key;
}

/* Stand for the hooks of a protocol (world/hooks/hooks.h), which hear when a generation is begun and when it is complete. */
void saikai_hooks_generation(int64_t key)
{
    begun++;
    begun_at = key;
}

void saikai_hooks_complete(int64_t key)
{
    completed++;
    completed_at = key;
}

static int saves(struct sk_group *g, struct sk_session *s)
{
    struct saikai_error err = {0};
    CHECK(!sk_group_barrier(g) && atomic_load(&page->state) == SK_KEEPER_INITIALISED);
    CHECK(atomic_load(&page->complete_count) == 0 && atomic_load(&page->restored_iteration) == -1);
    CHECK(sk_session_candidate(s, 0, 10, &err) == 1 && !sk_group_barrier(g) && begun == N);
    CHECK(!sk_session_wait(s, &err) && !sk_group_barrier(g) && begun == N && sk_gen_of_key(begun_at).iteration == 10);
    CHECK(atomic_load(&page->complete_iteration) == 10 && atomic_load(&page->complete_count) >= 1);
    CHECK(!world_settle(s, 10) && !sk_group_barrier(g));
    CHECK(cuts == N && sk_gen_of_key(cut_at).iteration == 10); /* once a rank, wherever else it goes */
    CHECK(completed == N && completed_at == cut_at && begun_at == cut_at);
    return 0;
}

static int goes_on(struct sk_group *g, struct sk_session *s)
{
    struct saikai_error err = {0};
    CHECK(!sk_group_barrier(g) && atomic_load(&page->restored_iteration) == 10);
    uint64_t before = atomic_load(&page->progress);
    CHECK(!sk_group_barrier(g));
    CHECK(sk_session_files_begin(s, 13, &err) == 0); /* a candidate, although nothing is due */
    CHECK(!sk_group_barrier(g));
    CHECK(atomic_load(&page->iteration) == 13 && atomic_load(&page->progress) > before);
    CHECK(!sk_group_barrier(g));
    sk_session_progress(s, 14);
    CHECK(!sk_group_barrier(g) && atomic_load(&page->iteration) == 14);
    return 0;
}

static void how_far_it_is(void **state)
{
    (void)state;
    run((struct start){.body = saves});
    run((struct start){.body = goes_on, .from = 10, .finishes = 1});
    assert_int_equal(atomic_load(&page->state), SK_KEEPER_FINALIZED);
}

/* The launcher starts again what it started: also after the end, and whatever the configuration says. */
static int nothing(struct sk_group *g, struct sk_session *s)
{
    (void)g;
    (void)s;
    return 0;
}

static int begins_anew(struct sk_group *g, struct sk_session *s)
{
    struct saikai_error err = {0};
    CHECK(g->rank || *s->who.fresh_why);
    return 0;
}

static void a_restart_resumes(void **state)
{
    (void)state;
    run((struct start){.body = saves});
    page->incarnation = 1;
    run((struct start){.body = nothing, .config = "restart.mode=never", .from = 10, .finishes = 1});
    run((struct start){.body = nothing, .from = 10, .finishes = 1}); /* it had come to its end */
    page->incarnation = 0;
    run((struct start){.body = begins_anew});
    world_expect("the last run finished", 1);
}

/* ---- somebody else has the store ---- */

/* Who has the store sees who wanted it, once: the first one was told not to tell. */
static int hears_of_it(struct sk_session *s)
{
    struct saikai_error err = {0};
    struct saikai_event e;
    char pid[24];
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    CHECK(sk_session_next_event(s, "name=refused", 30, &e, sizeof e, &err) == 1);
    CHECK(e.severity == SAIKAI_EVENT_WARNING && !strcmp(e.space, "mw") && !strcmp(e.job, s->who.job.name) && !strcmp(e.host, s->place.host));
    CHECK(e.n_fields == 3 && !strcmp(e.field[0].key, "pid") && !strcmp(e.field[0].value, pid) && !strcmp(e.field[1].key, "user") && *e.field[1].value);
    CHECK(!strcmp(e.field[2].key, "what") && strstr(e.field[2].value, "is running already"));
    CHECK(sk_session_next_event(s, "name=refused", 0, &e, sizeof e, &err) == 0);
    return 0;
}

static int comes_second(struct sk_group *g, struct sk_session *s)
{
    struct saikai_error err = {0};
    struct sk_session *second = NULL;
    CHECK(world_session(g, world_config("schedule.every=10; events.least=error"), &second, &err) == SAIKAI_EBUSY && !second);
    CHECK(world_session(g, world_config("schedule.every=10"), &second, &err) == SAIKAI_EBUSY && !second);
    CHECK(!sk_group_barrier(g));
    CHECK(atomic_load(&s->page->state) == SK_KEEPER_REFUSED);
    int64_t heard = g->rank ? 0 : hears_of_it(s); /* all ranks end together, whatever it is */
    CHECK(!sk_group_allreduce(g, &heard, 1, SK_OP_MIN) && !heard);
    return 0;
}

static void it_is_refused(void **state)
{
    (void)state;
    run((struct start){.body = comes_second});
}

/* ---- what it asks for ---- */

static _Atomic int handled; /* by whichever thread gets the signal */
/* One that cannot begin, and ends of it, does use the library; one that goes on without it does not. */
static int cannot_begin(struct sk_group *g, void *arg)
{
    const struct start *p = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    CHECK(world_session(g, world_config("store.prefix=/dev/null/none; %s", p->config), &s, &err) < 0);
    return 0;
}

static void it_cannot_begin(void **state)
{
    (void)state;
    world_start(N, cannot_begin, &(struct start){.config = "lib.on_error=return"});
    assert_int_equal(atomic_load(&page->state), SK_KEEPER_UNABLE); /* for the launcher no use of it, but for how soon it ends */
    atomic_store(&page->state, SK_KEEPER_NONE);
    page->incarnation = 1;
    world_start(N, cannot_begin, &(struct start){.config = "lib.on_error=return"});
    assert_int_equal(atomic_load(&page->state), SK_KEEPER_NONE);
    world_start(N, cannot_begin, &(struct start){.config = "lib.on_error=abort"});
    assert_int_equal(atomic_load(&page->state), SK_KEEPER_INITIALISED);
}

static int trouble;

static int cannot_make(const char *op, const char *path)
{
    return !strcmp(op, "mkdir") && strstr(path, "/none") ? trouble : 0;
}

/* What another start would meet again is said to the launcher by the first one: a later one may have met a file server's fault, and other
 * reasons pass. */
static void it_could_not_begin_again_either(void **state)
{
    (void)state;
    static const struct {
        int trouble, incarnation, state;
        const char *config;
    } starts[] = {
        {EACCES, 0, SK_KEEPER_UNABLE, "lib.on_error=return"},        {EIO, 0, SK_KEEPER_INITIALISED, "lib.on_error=abort"},
        {EACCES, 1, SK_KEEPER_INITIALISED, "lib.on_error=abort"},    {EACCES, 0, SK_KEEPER_HOPELESS, "lib.on_error=abort"},
        {EPERM, 0, SK_KEEPER_HOPELESS, "lib.on_error=abort"},        {ENOTDIR, 0, SK_KEEPER_HOPELESS, "lib.on_error=abort"},
        {0, 0, SK_KEEPER_HOPELESS, "lib.on_error=abort; store.mode=x"}, {EIO, 0, SK_KEEPER_NONE, "lib.on_error=return"},
    };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        trouble = starts[i].trouble;
        atomic_store(&page->state, SK_KEEPER_NONE);
        page->incarnation = (uint32_t)starts[i].incarnation;
        sk_io_hook = cannot_make;
        world_start(N, cannot_begin, &(struct start){.config = starts[i].config});
        sk_io_hook = NULL;
        if (atomic_load(&page->state) != (uint32_t)starts[i].state)
            fail_msg("start %zu: state %u", i, (unsigned)atomic_load(&page->state));
    }
}

/* A program with another size of its array than the generation has. */
static int does_not_fit(struct sk_group *g, void *arg)
{
    const struct start *p = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS + 1] = {0};
    int restored = 0;
    int64_t from = 0;
    CHECK(!world_session(g, world_config("redundancy.scheme=none; %s", p->config), &s, &err) && !world_protect(s, u, CELLS + 1, &err));
    CHECK(sk_session_restart(s, &restored, &from, &err) == SAIKAI_ECHANGED);
    return world_leave(s, 0, 0);
}

/* Neither would the next start fit; one that goes on without its state is the program's affair, and one after a fault may follow an odd
 * start. */
static void what_does_not_fit_never_does(void **state)
{
    (void)state;
    run((struct start){.body = saves});
    world_start(N, does_not_fit, &(struct start){.config = "lib.on_error=return"});
    assert_int_not_equal(atomic_load(&page->state), SK_KEEPER_HOPELESS);
    page->incarnation = 1;
    world_start(N, does_not_fit, &(struct start){.config = "lib.on_error=abort"});
    assert_int_not_equal(atomic_load(&page->state), SK_KEEPER_HOPELESS);
    page->incarnation = 0;
    world_start(N, does_not_fit, &(struct start){.config = "lib.on_error=abort"});
    assert_int_equal(atomic_load(&page->state), SK_KEEPER_HOPELESS);
}

/* The newest iteration of which all ranks have their files there, 0: none. */
static int64_t newest_whole(const char *root)
{
    struct sk_gen_list l;
    char path[256];
    int64_t newest = 0;
    snprintf(path, sizeof path, "%s/%s", world.dir, root);
    if (sk_gen_scan(path, -1, &l, NULL))
        return 0;
    for (size_t i = 0; !newest && i < l.count; i++) { /* newest first */
        int n = 0;
        for (int rank = 0; rank < N; rank++)
            n += world_has(root, (int)l.gen[i].incarnation, l.gen[i].iteration, rank);
        newest = n == N ? l.gen[i].iteration : 0;
    }
    sk_gen_list_free(&l);
    return newest;
}

static _Atomic int too_early, is_over;
static sem_t asked, looked;

/* Directories are looked at by a thread of its own, as a handler must not. */
static void *look_when_asked(void *unused)
{
    (void)unused;
    for (;;) {
        while (sem_wait(&asked))
            continue;
        if (is_over)
            return NULL;
        int64_t safe = newest_whole("prefix");
        too_early += safe < 20 || safe < newest_whole(world_local());
        sem_post(&looked);
    }
}

static void own_handler(int number)
{
    sem_post(&asked);
    while (sem_wait(&looked))
        continue;
    handled += number;
}

static _Atomic int ends;
static void count_end(void)
{
    ends++;
}

/* The launcher hands a signal on; candidates until all ranks have come to the end, at the same one. */
static int is_told(struct sk_group *g, struct sk_session *s, int number)
{
    struct saikai_error err = {0};
    int64_t over = 0;
    CHECK(!sk_group_barrier(g));
    if (!g->rank)
        atomic_store(&page->requests, SK_REQUEST_CHECKPOINT | SK_REQUEST_STOP | SK_REQUEST_END | (uint32_t)number << SK_REQUEST_SIGNAL);
    double end = sk_now() + 60;
    for (int64_t it = 21; !over && sk_now() < end; it++) {
        int rc = sk_session_candidate(s, 0, it, &err);
        CHECK(rc >= 0 || s->ending.halted);
        sk_sleep(0.0005);
        over = s->ending.halted || handled;
        CHECK(!sk_group_allreduce(g, &over, 1, SK_OP_MAX));
    }
    CHECK(over && s->ending.stop_agreed && sk_requests_reason() == number);
    return 0;
}

static int ends_by_sigint(struct sk_group *g, struct sk_session *s)
{
    struct saikai_error err = {0};
    CHECK(!is_told(g, s, SIGINT));
    CHECK(s->ending.halted && sk_session_candidate(s, 0, 5000, &err) == SAIKAI_ESTATE);
    CHECK(strstr(err.text, "at its end, as a signal asked for"));
    return 0;
}

static int is_left_to_its_handler(struct sk_group *g, struct sk_session *s)
{
    struct saikai_error err = {0};
    CHECK(!is_told(g, s, SIGUSR1));
    CHECK(!s->ending.halted);
    return 0;
}

static void a_signal_is_handed_on(void **state)
{
    (void)state;
    sk_stop_hook = count_end;
    ends = 0;
    run((struct start){.body = ends_by_sigint, .config = "schedule.every=100000"});
    assert_int_equal(ends, N);
    world_expect("SIGINT: iteration ", 1);
    world_expect("is saved in the prefix, and the program ends", 1);
    /* the program has a handler of its own, to which the signal has not come yet: it gets it when all is saved */
    pthread_t looker;
    sem_init(&asked, 0, 0);
    sem_init(&looked, 0, 0);
    assert_int_equal(pthread_create(&looker, NULL, look_when_asked, NULL), 0);
    signal(SIGUSR1, own_handler);
    world_anew();
    ends = 0;
    run((struct start){.body = is_left_to_its_handler, .config = "schedule.every=100000; store.archive_every=100000"});
    assert_int_equal(handled % SIGUSR1, 0);
    assert_int_equal(too_early, 0);
    assert_true(handled >= SIGUSR1 && handled <= N * SIGUSR1); /* once for each rank, which are one process here */
    assert_int_equal(ends, 0);
    world_expect("is saved in", 0);
    signal(SIGUSR1, SIG_DFL);
    is_over = 1;
    sem_post(&asked);
    pthread_join(looker, NULL);
    sk_stop_hook = NULL;
}

/* ---- the end itself: processes of their own ---- */

static int is_told_to_end(struct sk_group *g, struct sk_session *s)
{
    struct saikai_error err = {0};
    double end = sk_now() + 60;
    for (int64_t it = 1; sk_now() < end; it++) {
        if (it == 20)
            raise(SIGTERM);
        CHECK(sk_session_candidate(s, 0, it, &err) >= 0);
        sk_sleep(0.0005);
    }
    CHECK(!g); /* nobody comes here */
    return 0;
}

enum { LEFT = 9 };

static void leave(int number)
{
    (void)number;
    _exit(LEFT);
}

static pid_t begin_one(void)
{
    struct start p = {.body = is_told_to_end, .config = "schedule.every=100000"};
    pid_t pid = sk_testing_fork();
    if (!pid) {
        alarm(100);
        signal(SIGUSR2, leave);
        _exit(sk_loop_run(1, program, &p) ? 1 : 2);
    }
    assert_true(pid > 0);
    return pid;
}

static int saved_by_now(struct sk_group *g, void *from)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS];
    int restored = 0;
    CHECK(!world_session(g, world_config("redundancy.scheme=none"), &s, &err) && !world_protect(s, u, CELLS, &err));
    CHECK(!sk_session_restart(s, &restored, from, &err) && restored);
    return world_leave(s, 0, 0);
}

/* Without a launcher by the signal itself, when all is saved; with one it is the launcher that ends it, when it is told so. */
static void it_ends_when_all_is_saved(void **state)
{
    (void)state;
    int64_t from = 0;
    int status = 0;
    for (int launched = 0; launched < 2; launched++) {
        char number[16];
        world_anew();
        snprintf(number, sizeof number, "%d", page_fd);
        if (launched)
            setenv(SK_KEEPER_FD_ENV, number, 1);
        else
            unsetenv(SK_KEEPER_FD_ENV);
        pid_t pid = begin_one();
        for (double end = sk_now() + 60; launched && atomic_load(&page->state) != SK_KEEPER_STOPPED && sk_now() < end;)
            sk_sleep(0.01);
        if (launched) {
            assert_int_equal(atomic_load(&page->state), SK_KEEPER_STOPPED);
            assert_int_equal(waitpid(pid, &status, WNOHANG), 0); /* it waits */
            kill(pid, SIGUSR2);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(launched ? WIFEXITED(status) && WEXITSTATUS(status) == LEFT : WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        unsetenv(SK_KEEPER_FD_ENV);
        world_start(1, saved_by_now, &from);
        assert_true(from >= 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_suffered_before, make_page, remove_page),
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(how_far_it_is, make_page, remove_page),
        cmocka_unit_test_setup_teardown(a_restart_resumes, make_page, remove_page),
        cmocka_unit_test_setup_teardown(it_is_refused, make_page, remove_page),
        cmocka_unit_test_setup_teardown(it_cannot_begin, make_page, remove_page),
        cmocka_unit_test_setup_teardown(it_could_not_begin_again_either, make_page, remove_page),
        cmocka_unit_test_setup_teardown(what_does_not_fit_never_does, make_page, remove_page),
        cmocka_unit_test_setup_teardown(a_signal_is_handed_on, make_page, remove_page),
        cmocka_unit_test_setup_teardown(it_ends_when_all_is_saved, make_page, remove_page),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
