/* The public functions as a program calls them: what each returns, what its error says, and how the
 * calls belong together. */
#include "lib/api/api_testing.h"

#include "backbone/keeper_page.h"
#include "base/host/fork_testing.h"
#include "base/file/io.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- begin and end ---- */

static int nothing_begun(void)
{
    double x = 0;
    long it = 7;
    size_t one = 1;
    char path[PATH_MAX];
    struct saikai_status st;
    void *data = NULL;
    static const char words[] = "saikai_init was not called";
    CHECK(!saikai_default());
    FAILS(saikai_protect("x", &x, SAIKAI_F64, 0, NULL), SAIKAI_ESTATE, words);
    FAILS(saikai_protect_array("x", &data, &one, 1, SAIKAI_F64), SAIKAI_ESTATE, words);
    FAILS(saikai_protect_stream("x", NULL, NULL, NULL), SAIKAI_ESTATE, words);
    FAILS(saikai_protect_global("x", &x, SAIKAI_F64, 1, &one, &one, (size_t[]){0}), SAIKAI_ESTATE,
          words);
    FAILS(saikai_replicated("x"), SAIKAI_ESTATE, words);
    FAILS(saikai_bound("x", SAIKAI_ABS, 1), SAIKAI_ESTATE, words);
    FAILS(saikai_set("x", "codec", "plain"), SAIKAI_ESTATE, words);
    FAILS(saikai_set_sizes("x", "halo", 1, &one), SAIKAI_ESTATE, words);
    FAILS(saikai_unprotect("x"), SAIKAI_ESTATE, words);
    FAILS(saikai_restart(&it), SAIKAI_ESTATE, words);
    FAILS(saikai_restart_from("newest", &it), SAIKAI_ESTATE, words);
    FAILS(saikai_checkpoint(1), SAIKAI_ESTATE, words);
    FAILS(saikai_checkpoint_at(1, 1), SAIKAI_ESTATE, words);
    FAILS(saikai_checkpoint_now(1), SAIKAI_ESTATE, words);
    FAILS(saikai_checkpoint_begin(1), SAIKAI_ESTATE, words);
    FAILS(saikai_checkpoint_end(1), SAIKAI_ESTATE, words);
    FAILS(saikai_file_path("f", path, sizeof path), SAIKAI_ESTATE, words);
    FAILS(saikai_restored_file("f", path, sizeof path), SAIKAI_ESTATE, words);
    FAILS(saikai_get_status(&st, sizeof st), SAIKAI_ESTATE, words);
    FAILS(saikai_wait(), SAIKAI_ESTATE, words);
    FAILS(saikai_finalize(), SAIKAI_ESTATE, words);
    FAILS(saikai_refuse("so it is"), SAIKAI_EINVAL, "so it is");
    CHECK(!saikai_should_stop() && !saikai_restored_place() && it == 7);
    CHECK(!strcmp(saikai_version(), SAIKAI_VERSION) &&
          saikai_version_number() == SAIKAI_VERSION_NUMBER);
    CHECK(!strcmp(saikai_error_name(SAIKAI_ESTATE), "ESTATE"));
    return 0;
}

static int mistakes_at_the_begin(void)
{
    int is_open = !strcmp(SAIKAI_MPI_OF_HEADER, "Open MPI");
    const char *other = is_open ? "MPICH" : "Open MPI",
               *its_library = is_open ? "MPICH Version: 4" : "Open MPI v4";
    const char *its_launcher = is_open ? "PMI_SIZE" : "OMPI_COMM_WORLD_SIZE";
    const char *own_launcher = is_open ? "OMPI_COMM_WORLD_SIZE" : "PMI_SIZE";
    const char *own = SAIKAI_MPI_OF_HEADER;
    unsetenv("PMI_SIZE");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    FAILS(saikai_open(MPI_COMM_WORLD, NULL, NULL), SAIKAI_EINVAL, "handle");
    if (api_testing_refused("schedule.model=nothing", own, SAIKAI_ECONFIG,
                            "schedule.model")) /* before anything was begun */
        return -1;
    if (api_testing_refused("", other, SAIKAI_EMPI,
                            is_open ? "link with -lsaikai_mpich" : "link with -lsaikai_openmpi"))
        return -1;
    api_testing_mpi.its_version = its_library;
    if (api_testing_refused("", own, SAIKAI_EMPI, its_library))
        return -1;
    api_testing_mpi.its_version = NULL;
    api_testing_mpi.ready = 0;
    if (api_testing_refused("", own, SAIKAI_ESTATE, "MPI_Init"))
        return -1;
    api_testing_mpi.ready = 1;
    setenv(its_launcher, "4", 1);
    if (api_testing_refused("", own, SAIKAI_EMPI, its_launcher))
        return -1;
    setenv(own_launcher, "1", 1); /* one launcher within the other */
    struct saikai *h;
    CHECK(!saikai_open(MPI_COMM_WORLD, api_testing_settings(""), &h) && !saikai_close(h));
    unsetenv(own_launcher);
    api_testing_mpi.ranks = 4; /* that launcher is right */
    CHECK(!saikai_open(MPI_COMM_WORLD, api_testing_settings(""), &h) && !saikai_close(h));
    api_testing_mpi.ranks = 1;
    setenv(its_launcher, "1", 1);
    CHECK(!saikai_open(MPI_COMM_WORLD, api_testing_settings(""), &h) && !saikai_close(h));
    unsetenv(its_launcher);
    return api_testing_refused("schedule.poll=soon", own, SAIKAI_ECONFIG, "schedule.poll");
}

static void count_one(void *arg)
{
    ++*(int *)arg;
}

/* Without a layer below that repairs anything a body runs as it is. */
static int a_body_runs(void)
{
    int n = 0;
    saikai_in_place(count_one, &n);
    CHECK(n == 1);
    return 0;
}

/* The first thing that is wrong is told, wherever it stands; what is right is taken all the same (lib.on_error of the test's settings). */
static int settings_from_several_sides(void)
{
    const char *own = SAIKAI_MPI_OF_HEADER;
    if (api_testing_refused("components.load=/nowhere/mine.so", own, SAIKAI_ECONFIG, "/nowhere/mine.so"))
        return -1;
    if (api_testing_refused("schedule.poll=soon; components.load=/nowhere/mine.so", own, SAIKAI_ECONFIG, "schedule.poll"))
        return -1;
    setenv("SAIKAI_SCHEDULE_POLL", "soon", 1);
    int rc = api_testing_refused("", own, SAIKAI_ECONFIG, "SAIKAI_SCHEDULE_POLL");
    rc = rc ? rc : api_testing_refused("schedule.model=nothing", own, SAIKAI_ECONFIG, "SAIKAI_SCHEDULE_POLL");
    rc = rc ? rc : api_testing_refused("components.load=/nowhere/mine.so", own, SAIKAI_ECONFIG, "SAIKAI_SCHEDULE_POLL");
    unsetenv("SAIKAI_SCHEDULE_POLL");
    struct saikai *h;
    CHECK(rc || (!saikai_open(MPI_COMM_WORLD, api_testing_settings(""), &h) && !saikai_close(h)));
    CHECK(!strstr(api_testing_log, "none of Saikai's"));
    setenv("SAIKAI_SCHEDULE_POL", "1ms", 1); /* mistyped: it changes nothing, and that is said */
    CHECK(rc || (!saikai_open(MPI_COMM_WORLD, api_testing_settings(""), &h) && !saikai_close(h)));
    unsetenv("SAIKAI_SCHEDULE_POL");
    CHECK(strstr(api_testing_log, "SAIKAI_SCHEDULE_POL is none of Saikai's and has no effect; did you mean SAIKAI_SCHEDULE_POLL?"));
    return rc;
}

static int signals_that_cannot_be(void)
{
    char text[400] = "schedule.signals=";
    for (int i = 0; i < 40; i++)
        strcat(text, "USR1,");
    if (api_testing_refused("schedule.signals=USR1,KILL", SAIKAI_MPI_OF_HEADER, SAIKAI_ECONFIG,
                            "schedule.signals: 'KILL' is no signal"))
        return -1;
    if (api_testing_refused("schedule.stop_signals=12", SAIKAI_MPI_OF_HEADER, SAIKAI_ECONFIG,
                            "schedule.stop_signals: '12' is no signal"))
        return -1;
    return api_testing_refused(text, SAIKAI_MPI_OF_HEADER, SAIKAI_ECONFIG, "the list is too long");
}

static void test_nothing_begun(void **state)
{
    (void)state;
    api_testing_runs(nothing_begun);
    api_testing_runs(mistakes_at_the_begin);
    api_testing_runs(settings_from_several_sides);
    api_testing_runs(a_body_runs);
    api_testing_runs(signals_that_cannot_be);
    api_testing_runs(nothing_begun);
}

static int called_twice(void)
{
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("")));
    struct saikai *h = saikai_default();
    CHECK(h);
    FAILS(saikai_init(MPI_COMM_WORLD, api_testing_settings("")), SAIKAI_ESTATE, "called before");
    CHECK(saikai_default() == h);
    CHECK(!saikai_finalize() && !saikai_default());
    FAILS(saikai_finalize(), SAIKAI_ESTATE, "saikai_init was not called");
    CHECK(!(saikai_init)(MPI_COMM_WORLD, api_testing_settings("")) &&
          !saikai_close(saikai_default()) && !saikai_default());
    return 0;
}

static int two_handles(void)
{
    struct saikai *a, *b, *again;
    double x = 1, y = 2;
    CHECK(!(saikai_open)(MPI_COMM_WORLD, api_testing_settings("log.level=warn"), &a));
    CHECK(api_testing_most_level <= 1); /* notices are not shown … */
    CHECK(!saikai_open(MPI_COMM_WORLD, api_testing_settings("job.name=other; log.level=notice"),
                       &b) &&
          a != b && !saikai_default());
    FAILS(saikai_open(MPI_COMM_WORLD, api_testing_settings(""), &again), SAIKAI_EBUSY, "job test");
    CHECK(!saikai_h_protect(a, "x", &x, SAIKAI_F64, 0, NULL) &&
          !saikai_h_protect(b, "x", &y, SAIKAI_F64, 0, NULL));
    CHECK(!saikai_h_restart(a, NULL) && !saikai_h_restart(b, NULL));
    CHECK(api_testing_most_level == 2 &&
          strstr(api_testing_log, "job other")); /* … until one wants them */
    CHECK(saikai_h_checkpoint_now(b, 5) == 1 && saikai_h_checkpoint_now(a, 1) == 1);
    y = 3;
    CHECK(!saikai_close(a)); /* the other one goes on */
    CHECK(!saikai_h_wait(b));
    struct saikai_status st;
    CHECK(!saikai_h_get_status(b, &st, sizeof st) && st.complete_iteration == 5);
    CHECK(!saikai_close(b));
    FAILS(saikai_h_wait(NULL), SAIKAI_ESTATE, "");
    return 0;
}

static int is_ours(int number)
{
    struct sigaction now;
    return !sigaction(number, NULL, &now) && (now.sa_flags & SA_SIGINFO || now.sa_handler != SIG_DFL);
}

/* Signals are the program's own again when the last handle is closed. */
static int signals_are_given_back(void)
{
    struct saikai *a, *b;
    CHECK(!is_ours(SIGUSR1) && !is_ours(SIGTERM));
    CHECK(!saikai_open(MPI_COMM_WORLD, api_testing_settings("schedule.signals=USR1; schedule.stop_signals=TERM"), &a));
    CHECK(is_ours(SIGUSR1) && is_ours(SIGTERM) && !is_ours(SIGUSR2));
    CHECK(!saikai_open(MPI_COMM_WORLD, api_testing_settings("job.name=other; schedule.signals=USR1"), &b));
    CHECK(!saikai_close(a) && is_ours(SIGUSR1));
    CHECK(!saikai_close(b) && !is_ours(SIGUSR1) && !is_ours(SIGTERM));
    return 0;
}

static void test_handles(void **state)
{
    (void)state;
    api_testing_runs(called_twice);
    api_testing_runs(two_handles);
    api_testing_runs(signals_are_given_back);
}

/* ---- an error ends the program ---- */

static int with_bad_variable(void)
{
    double x = 0;
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("lib.on_error=abort")));
    saikai_protect("x", &x, (enum saikai_type)99, 0, NULL);
    return 1;
}

static int without_mpi(void)
{
    api_testing_mpi.ready = 0;
    saikai_init(MPI_COMM_WORLD, "");
    return 1;
}

static int after_mpi(void)
{
    api_testing_mpi.over = 1;
    saikai_init(MPI_COMM_WORLD, "schedule.poll=soon");
    return 1;
}

static int with_a_store_in_use(void)
{
    struct saikai *h;
    CHECK(!saikai_open(MPI_COMM_WORLD, api_testing_settings(""), &h));
    saikai_init(MPI_COMM_WORLD, api_testing_settings("lib.on_error=abort"));
    return 1;
}

static int with_a_keeper_and_a_store_in_use(void)
{
    setenv(SK_KEEPER_FD_ENV, "999", 1); /* the keeper has to tell why, and MPI_Abort could end it */
    return with_a_store_in_use();
}

/* What a process ends with that does this, and what it wrote. */
static int end_of(int (*body)(void), char *out, size_t cap)
{
    int fd[2], status = 0;
    assert_int_equal(pipe(fd), 0);
    pid_t pid = sk_testing_fork();
    if (!pid) {
        alarm(120);
        dup2(fd[1], 2);
        close(fd[0]);
        api_testing_runs(body);
        _exit(1);
    }
    close(fd[1]);
    size_t n = 0;
    for (ssize_t k; n + 1 < cap && (k = read(fd[0], out + n, cap - 1 - n)) > 0;)
        n += (size_t)k;
    out[n] = 0;
    close(fd[0]);
    assert_true(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void ends(int (*body)(void), int code, const char *words, int says_how_to_go_on)
{
    char out[4096];
    int ended = end_of(body, out, sizeof out);
    if (ended != code || !strstr(out, words) ||
        !strstr(out, "lib.on_error=return") != !says_how_to_go_on)
        fail_msg("ended with %d: %s", ended, out);
}

static void test_errors_end_the_program(void **state)
{
    (void)state;
    ends(with_bad_variable, API_TESTING_ABORT(SAIKAI_EXIT_CODE),
         "saikai_protect: rank 0: variable 'x'", 1);
    ends(without_mpi, SAIKAI_EXIT_CODE, "saikai_init: rank 0: call MPI_Init", 1);
    ends(after_mpi, SAIKAI_EXIT_CODE, "saikai_init: ", 1);
    ends(with_a_store_in_use, API_TESTING_ABORT(SAIKAI_EXIT_REFUSED), "saikai_init: job ", 0); /* all ranks hear that: one tells it */
    ends(with_a_keeper_and_a_store_in_use, SAIKAI_EXIT_REFUSED, "saikai_init: job ", 0);
}

/* ---- candidates ---- */

static int candidates(void)
{
    struct saikai_status st, part;
    double x[100] = {0};
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("")) &&
          !saikai_protect("x", x, SAIKAI_F64, 1, (size_t[]){100}));
    CHECK(!saikai_get_status(&st, sizeof st) && !st.checkpoints && !st.failed &&
          st.complete_iteration == -1 && st.archived_iteration == -1 &&
          st.protected_iteration == -1 && st.advice_every == 3);
    CHECK(!saikai_restart(NULL));
    for (long it = 1; it <= 9; it++) {
        x[0] = (double)it;
        CHECK(saikai_checkpoint(it) == (it % 3 == 0));
    }
    FAILS(saikai_checkpoint_at(-1, 9), SAIKAI_EINVAL, "place -1");
    FAILS(saikai_checkpoint_at(64, 9), SAIKAI_EINVAL, "place 64");
    FAILS(saikai_checkpoint(-1), SAIKAI_EINVAL, "iteration -1");
    FAILS(saikai_checkpoint(8), SAIKAI_EINVAL, "iteration 8 at a candidate after iteration 9");
    CHECK(saikai_checkpoint_at(63, 10) == 0 && saikai_checkpoint_now(11) == 1);
    FAILS(saikai_checkpoint_now(-1), SAIKAI_EINVAL, "iteration -1");
    CHECK(!saikai_wait());
    CHECK(!saikai_get_status(&st, sizeof st) && st.checkpoints == 4 && !st.failed &&
          st.complete_iteration == 11 && st.bytes >= 800 && st.cost_seconds > 0 &&
          st.blocked_seconds >= st.cost_seconds);
    FAILS(saikai_get_status(NULL, sizeof st), SAIKAI_EINVAL, "NULL");
    memset(&part, 0x55, sizeof part);
    CHECK(!saikai_get_status(&part, 2 * sizeof(long)) && part.checkpoints == 4 && !part.failed);
    CHECK(part.complete_iteration == (long)0x5555555555555555);
    struct {
        struct saikai_status st;
        long of_later[4];
    } more;
    memset(&more, 0x55, sizeof more);
    CHECK(!saikai_get_status(&more.st, sizeof more) && more.st.complete_iteration == 11 &&
          !more.of_later[0] && !more.of_later[3]);
    CHECK(!saikai_should_stop());
    return saikai_finalize();
}

static int begun_anew(void)
{
    long it = 5;
    double x[100] = {0};
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("")) &&
          !saikai_protect("x", x, SAIKAI_F64, 1, (size_t[]){100}));
    CHECK(saikai_restart(&it) == 0 && it == 5); /* the run before came to its end */
    return saikai_finalize();
}

static int chosen(void)
{
    long it = 0;
    double x[100] = {0};
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("")) &&
          !saikai_protect("x", x, SAIKAI_F64, 1, (size_t[]){100}));
    FAILS(saikai_restart_from("17", &it), SAIKAI_ENOENT, "17");
    CHECK(strstr(api_testing_log, "saikai_restart: generation iteration 17"));
    return saikai_finalize();
}

static int stopped(void)
{
    double x[100] = {0};
    CHECK(!saikai_init(
        MPI_COMM_WORLD,
        api_testing_settings("schedule.stop_signals=TERM sigusr2; schedule.every=1000")));
    CHECK(!saikai_protect("x", x, SAIKAI_F64, 1, (size_t[]){100}) && !saikai_restart(NULL));
    long it = 0, saves = 0;
    while (!saikai_should_stop() && it < 5000) {
        x[7] = (double)++it;
        if (it == 5)
            raise(SIGUSR2);
        int rc = saikai_checkpoint(it);
        CHECK(rc >= 0);
        saves += rc;
        usleep(1000);
    }
    CHECK(it < 5000 && saves == 1 && saikai_should_stop() == 1);
    x[0] = (double)it;
    return saikai_finalize();
}

static int goes_on(void)
{
    long it = 0;
    double x[100] = {0};
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("")) &&
          !saikai_protect("x", x, SAIKAI_F64, 1, (size_t[]){100}));
    CHECK(saikai_restart_from(NULL, &it) == 1 && it >= 5 && x[7] == (double)it && x[0] == 0);
    FAILS(saikai_checkpoint(it - 1), SAIKAI_EINVAL, "restored iteration");
    return saikai_finalize();
}

static void test_candidates(void **state)
{
    (void)state;
    api_testing_runs(candidates);
    api_testing_runs(begun_anew);
    api_testing_runs(chosen);
    api_testing_runs(stopped);
    api_testing_runs(goes_on);
}

/* ---- files of the program ---- */

static int put_file(const char *name, const char *text)
{
    char path[PATH_MAX];
    CHECK(!saikai_file_path(name, path, sizeof path));
    CHECK(!sk_io_replace(path, text, strlen(text), NULL));
    return 0;
}

static int files(void)
{
    char path[PATH_MAX];
    struct saikai_status st;
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("")) && !saikai_restart(NULL));
    FAILS(saikai_file_path("one", path, sizeof path), SAIKAI_ESTATE, "between");
    FAILS(saikai_checkpoint_end(1), SAIKAI_ESTATE, "saikai_checkpoint_begin");
    CHECK(saikai_checkpoint_begin(1) == 0);
    FAILS(saikai_checkpoint_end(1), SAIKAI_ESTATE, "saikai_checkpoint_begin");
    CHECK(saikai_checkpoint_begin(3) == 1 && !put_file("one", "first") &&
          !put_file("two", "second"));
    FAILS(saikai_file_path(NULL, path, sizeof path), SAIKAI_EINVAL, "plain file name");
    FAILS(saikai_file_path("a/b", path, sizeof path), SAIKAI_EINVAL, "a/b");
    FAILS(saikai_file_path("one", path, 5), SAIKAI_EINVAL, "");
    FAILS(saikai_checkpoint(4), SAIKAI_ESTATE, "saikai_checkpoint_end is missing");
    CHECK(!saikai_checkpoint_end(1) && !saikai_wait());
    CHECK(saikai_checkpoint_begin(6) == 1 && !put_file("one", "not valid"));
    FAILS(saikai_checkpoint_end(0), SAIKAI_ESTATE, "not valid");
    CHECK(saikai_wait() < 0);
    CHECK(!saikai_get_status(&st, sizeof st) && st.checkpoints == 2 && st.failed == 1 &&
          st.complete_iteration == 3);
    FAILS(saikai_checkpoint_begin(-1), SAIKAI_EINVAL, "iteration -1");
    saikai_finalize();
    return 0;
}

static int files_back(void)
{
    char path[PATH_MAX], text[16] = "";
    long it = 0;
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("restart.mode=always")) &&
          saikai_restart(&it) == 1 && it == 3);
    CHECK(!saikai_restored_file("two", path, sizeof path));
    FILE *f = fopen(path, "r");
    CHECK(f && fread(text, 1, sizeof text, f) == 6 && !strcmp(text, "second"));
    fclose(f);
    FAILS(saikai_restored_file("three", path, sizeof path), SAIKAI_ENOENT, "three");
    FAILS(saikai_restored_file(NULL, path, sizeof path), SAIKAI_ENOENT, "");
    FAILS(saikai_restored_file("..", path, sizeof path), SAIKAI_ENOENT, "..");
    CHECK(!saikai_restored_file("two", path, sizeof path) && !saikai_finalize() &&
          access(path, F_OK));
    return 0;
}

static void test_files(void **state)
{
    (void)state;
    api_testing_runs(files);
    api_testing_runs(files_back);
}

/* ---- events ---- */

static int events(void)
{
    struct saikai_event e;
    struct {
        struct saikai_event e;
        long of_later[2];
    } more;
    static const char *const fields[] = {"residual=1e-9", "step=4", NULL};
    FAILS(saikai_event_publish("done", SAIKAI_EVENT_INFO, NULL), SAIKAI_ESTATE, "saikai_init was not called");
    FAILS(saikai_event_next(NULL, 0, &e, sizeof e), SAIKAI_ESTATE, "saikai_init was not called");
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("")));
    FAILS(saikai_event_next("space=app", 0, NULL, sizeof e), SAIKAI_EINVAL, "out is NULL");
    FAILS(saikai_event_publish(NULL, SAIKAI_EVENT_INFO, NULL), SAIKAI_EINVAL, "");
    FAILS(saikai_event_publish("app.Loud", SAIKAI_EVENT_INFO, NULL), SAIKAI_EINVAL, "Loud");
    FAILS(saikai_event_publish("quiet", SAIKAI_EVENT_INFO, (const char *[]){"noequals", NULL}), SAIKAI_EINVAL, "noequals");
    FAILS(saikai_event_next("space>app", 0, &e, sizeof e), SAIKAI_EINVAL, "space");
    CHECK(saikai_event_next("space=app", 0, &e, sizeof e) == 0); /* from here on … */
    CHECK(!saikai_event_publish("converged", SAIKAI_EVENT_WARNING, fields));
    CHECK(saikai_event_next("space=app", 30, &e, sizeof e) == 1);
    CHECK(!strcmp(e.space, "app") && !strcmp(e.name, "converged") && e.severity == SAIKAI_EVENT_WARNING && e.rank == 0 && e.n_fields == 2);
    CHECK(!strcmp(e.job, "test") && !strcmp(e.field[0].key, "residual") && !strcmp(e.field[1].value, "4"));
    CHECK(saikai_event_next("space=app", 0, &e, sizeof e) == 0); /* … each is given once */
    CHECK(!saikai_event_publish("app.again", SAIKAI_EVENT_DEBUG, NULL));
    memset(&more, 0x55, sizeof more);
    CHECK(saikai_event_next("space=app", 30, &more.e, sizeof more) == 1 && !strcmp(more.e.name, "again") && !more.of_later[0] && !more.of_later[1]);
    CHECK(!saikai_event_publish("third", SAIKAI_EVENT_INFO, NULL));
    memset(&e, 0x55, sizeof e);
    CHECK(saikai_event_next("space=app", 30, &e, offsetof(struct saikai_event, severity)) == 1 && !strcmp(e.name, "third"));
    CHECK(e.severity == 0x55555555); /* no more is written than was asked for */
    return saikai_finalize();
}

static int events_of_nowhere(void)
{
    struct saikai_event e;
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("store.prefix=none")));
    FAILS(saikai_event_publish("done", SAIKAI_EVENT_INFO, NULL), SAIKAI_ENOENT, "store.prefix");
    FAILS(saikai_event_next("", 0, &e, sizeof e), SAIKAI_ENOENT, "store.prefix");
    return saikai_finalize();
}

static void test_events(void **state)
{
    (void)state;
    api_testing_runs(events);
    api_testing_runs(events_of_nowhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_begun, api_testing_make_dir,
                                        api_testing_remove_dir),
        cmocka_unit_test_setup_teardown(test_handles, api_testing_make_dir, api_testing_remove_dir),
        cmocka_unit_test_setup_teardown(test_errors_end_the_program, api_testing_make_dir,
                                        api_testing_remove_dir),
        cmocka_unit_test_setup_teardown(test_candidates, api_testing_make_dir,
                                        api_testing_remove_dir),
        cmocka_unit_test_setup_teardown(test_files, api_testing_make_dir, api_testing_remove_dir),
        cmocka_unit_test_setup_teardown(test_events, api_testing_make_dir, api_testing_remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
