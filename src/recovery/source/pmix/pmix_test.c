/* The source pmix beside a launcher of ours, which is a program called prte, with a libpmix of ours (pmix_testing.c), which can do what a real
 * one is not asked for. This process is `saikai run`: the source and the launcher are its children. */
#include "recovery/source/source.h"

#include "base/clock.h"
#include "base/file/io.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64], mpirun[96], prte[96], fake[512];
static struct sk_host host[] = {{.name = "n1"}, {.name = "n2"}, {.name = "n3", .state = SK_HOST_SPARE}};
static struct sk_hosts hosts = {host, 3};
static struct sk_source_view view;
static struct sk_config *config;
static pid_t launcher;

static void set(const char *key, const char *value)
{
    assert_int_equal(sk_config_set(config, key, value, SK_FROM_API, "test", NULL), 0);
}

static void copy(const char *from, const char *to)
{
    char command[400];
    snprintf(command, sizeof command, "cp '%s' '%s' && chmod 755 '%s'", from, to, to);
    assert_int_equal(system(command), 0);
}

static pid_t launch(const char *program)
{
    pid_t pid = fork();
    if (!pid) {
        execl(program, program, "1000", (char *)NULL);
        _exit(1);
    }
    assert_true(pid > 0);
    char number[16];
    snprintf(number, sizeof number, "%d", (int)pid);
    setenv("FAKE_PMIX_SERVER", number, 1);
    return pid;
}

static void stop(pid_t *pid)
{
    if (*pid > 0) {
        kill(*pid, SIGKILL);
        waitpid(*pid, NULL, 0);
    }
    *pid = 0;
}

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-pmix-XXXXXX");
    if (!mkdtemp(dir) || !(config = sk_config_new()))
        return -1;
    snprintf(mpirun, sizeof mpirun, "%s/mpirun", dir);
    snprintf(prte, sizeof prte, "%s/prte", dir);
    copy("/bin/sleep", mpirun);
    copy("/bin/sleep", prte);
    view = (struct sk_source_view){config, &hosts, 1, mpirun};
    set("events.pmix", fake);
    set("events.limit", "100");
    setenv("PMIX_NAMESPACE", "somebody-elses", 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    stop(&launcher);
    sk_config_free(config);
    return sk_io_rmtree(dir, NULL);
}

static void print_events(FILE *f, const struct sk_teller *t)
{
    static const char *const fields[] = {"event", "proc", "status", "node", "message"};
    struct saikai_event e;
    for (int i = 0; i < sk_teller_waiting(t, i, &e); i++) {
        fprintf(f, "%s.%s %s %s", e.space, e.name, sk_severity_name(e.severity), *e.host ? e.host : "-");
        for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
            if (sk_event_field(&e, fields[k]))
                fprintf(f, " %s=%s", fields[k], sk_event_field(&e, fields[k]));
        fprintf(f, "%s\n", e.deadline_ms ? " deadline" : "");
    }
}

/* What the process of the source tells until it has told so many events, or for a moment after the first error: its events, a line each,
 * and that error. */
static const char *hear(int n_events)
{
    static char text[4000];
    int p[2];
    assert_int_equal(pipe(p), 0);
    pid_t pid = fork();
    if (!pid) {
        struct sk_teller *t = sk_teller_new("pmix", "none", 0, -1);
        struct saikai_event e;
        FILE *f = fdopen(p[1], "w");
        void *own = NULL;
        double until = sk_now() + 150;
        char error[500] = "";
        close(p[0]);
        while (sk_now() < until && sk_teller_waiting(t, -1, &e) < n_events) {
            struct saikai_error err = {0};
            if (sk_source_look(&sk_source_pmix, &view, &own, t, &err) && !*error) {
                snprintf(error, sizeof error, "%s\n", err.text);
                until = sk_now() + 1;
            }
            sk_sleep(0.02);
        }
        print_events(f, t);
        fputs(error, f);
        fclose(f);
        sk_source_end(&sk_source_pmix, own);
        _exit(0);
    }
    close(p[1]);
    size_t n = 0;
    ssize_t got;
    while ((got = read(p[0], text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = 0;
    close(p[0]);
    waitpid(pid, NULL, 0);
    return text;
}

static void launchers_that_tell(void **state)
{
    char hydra[128], *path = strdup(getenv("PATH"));
    (void)state;
    set("events.pmix", "auto");
    assert_int_equal(sk_source_wanted(&sk_source_pmix, &view, NULL), 1);
    set("events.pmix", "none");
    assert_int_equal(sk_source_wanted(&sk_source_pmix, &view, NULL), 0);
    set("events.pmix", "auto");
    snprintf(hydra, sizeof hydra, "%s/mpiexec.hydra", dir);
    copy("/bin/sleep", hydra);
    view.launcher = hydra;
    assert_int_equal(sk_source_wanted(&sk_source_pmix, &view, NULL), 0);
    view.launcher = NULL;
    assert_int_equal(sk_source_wanted(&sk_source_pmix, &view, NULL), 0);
    view.launcher = mpirun;
    setenv("PATH", "/nowhere", 1);
    unlink(prte); /* Open MPI 4 */
    assert_int_equal(sk_source_wanted(&sk_source_pmix, &view, NULL), 0);
    launcher = launch(mpirun);
    assert_non_null(strstr(hear(1), "is not the mpirun of an Open MPI 5"));
    setenv("PATH", path, 1);
    free(path);
}

static void a_rank_that_ends_the_job(void **state)
{
    (void)state;
    launcher = launch(prte);
    setenv("FAKE_PMIX", "killed", 1);
    assert_string_equal(hear(1), "mw.pmix error - event=PMIX_EVENT_JOB_END proc=2 status=137\n");
    setenv("FAKE_PMIX", "lost", 1);
    assert_string_equal(hear(1), "mw.pmix warning - event=PMIX_ERR_LOST_CONNECTION\n");
}

static void an_end_without_a_fault_is_not_told(void **state)
{
    (void)state;
    launcher = launch(prte);
    setenv("FAKE_PMIX", "well", 1);
    assert_string_equal(hear(1), "mw.pmix warning - event=PMIX_MONITOR_HEARTBEAT_ALERT proc=2\n");
}

static void nodes(void **state)
{
    (void)state;
    launcher = launch(prte);
    setenv("FAKE_PMIX", "node", 1);
    assert_string_equal(hear(5), "hw.pmix error n2 event=PMIX_EVENT_NODE_DOWN node=unwell message=power supply\n"
                                 "hw.notice warning n2\n"
                                 "hw.pmix warning n3 event=PMIX_EVENT_NODE_OFFLINE\n" /* a spare: nothing is to be saved for it */
                                 "hw.pmix error elsewhere event=PMIX_EVENT_NODE_DOWN node=unwell\n"
                                 "mw.pmix warning - event=PMIX_ERR_LOST_CONNECTION\n");
}

static void a_notice_has_its_deadline(void **state)
{
    (void)state;
    launcher = launch(prte);
    setenv("FAKE_PMIX", "save", 1);
    assert_string_equal(hear(1), "mw.notice warning - event=PMIX_JCTRL_PREEMPT_ALERT deadline\n");
}

static void a_new_launcher_is_listened_to(void **state)
{
    (void)state;
    pid_t other = launch(prte); /* which has no server */
    launcher = launch(prte);
    setenv("FAKE_PMIX", "killed", 1);
    assert_string_equal(hear(1), "mw.pmix error - event=PMIX_EVENT_JOB_END proc=2 status=137\n");
    stop(&other);
}

static void a_library_that_fails(void **state)
{
    (void)state;
    launcher = launch(prte);
    setenv("FAKE_PMIX", "old", 1);
    assert_string_equal(hear(1), "versions 4 and 5 of PMIx are known here, and libpmix is PMIx 3.2.3 (events.pmix)\n");
    set("events.limit", "1");
    setenv("FAKE_PMIX", "hang", 1);
    assert_string_equal(hear(1), "libpmix does not answer within events.limit (events.pmix)\n");
    setenv("FAKE_PMIX", "crash", 1);
    assert_string_equal(hear(1), "libpmix does not answer within events.limit (events.pmix)\n");
    set("events.limit", "5");
    setenv("FAKE_PMIX_SERVER", "1", 1);
    setenv("FAKE_PMIX", "killed", 1);
    assert_string_equal(hear(1), "the launcher's PMIx server cannot be reached: PMIX_ERR_NOT_FOUND (events.pmix)\n");
    set("events.pmix", "/nowhere/libpmix.so.2");
    const char *said = hear(1);
    assert_non_null(strstr(said, "libpmix is not there: /nowhere/libpmix.so.2"));
    assert_non_null(strstr(said, "(events.pmix)"));
    set("events.pmix", "libc.so.6");
    assert_string_equal(hear(1), "libpmix has no function PMIx_tool_init (events.pmix)\n");
}

static void a_flood_is_bounded(void **state)
{
    (void)state;
    launcher = launch(prte);
    setenv("FAKE_PMIX", "flood", 1);
    const char *said = hear(SK_TELLER_BURST);
    int lines = 0;
    for (const char *p = said; (p = strchr(p, '\n')); p++)
        lines++;
    assert_int_equal(lines, SK_TELLER_BURST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(launchers_that_tell, begin, end),
        cmocka_unit_test_setup_teardown(a_rank_that_ends_the_job, begin, end),
        cmocka_unit_test_setup_teardown(an_end_without_a_fault_is_not_told, begin, end),
        cmocka_unit_test_setup_teardown(nodes, begin, end),
        cmocka_unit_test_setup_teardown(a_notice_has_its_deadline, begin, end),
        cmocka_unit_test_setup_teardown(a_new_launcher_is_listened_to, begin, end),
        cmocka_unit_test_setup_teardown(a_library_that_fails, begin, end),
        cmocka_unit_test_setup_teardown(a_flood_is_bounded, begin, end),
    };
    snprintf(fake, sizeof fake, "%s", getenv("FAKE_PMIX_LIBRARY") ? getenv("FAKE_PMIX_LIBRARY") : "");
    return *fake ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
