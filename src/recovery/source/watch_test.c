/* Processes of sources: what they say is heard, and one that hangs, crashes, floods or prints nonsense is said once and disturbs nobody. */
#include "recovery/source/watch.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/log.h"
#include "recovery/fault/unwell.h"
#include "recovery/source/source.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64], said[4000];
static int n_said;
static struct sk_host host[] = {{.name = "n1"}, {.name = "s1", .state = SK_HOST_SPARE}};
static struct sk_hosts hosts = {host, 2};
static struct sk_config *config;

static void note(void *arg, int level, const char *line)
{
    size_t n = strlen(said);
    (void)arg;
    (void)level;
    snprintf(said + n, sizeof said - n, "%s\n", line);
    n_said++;
}

static void set(const char *key, const char *value)
{
    assert_int_equal(sk_config_set(config, key, value, SK_FROM_API, "test", NULL), 0);
}

/* What a component might do. */
static int hang(const char *const *names, saikai_tell_event *tell, void *to, char *why, size_t cap)
{
    (void)names, (void)tell, (void)to, (void)why, (void)cap;
    while (pause())
        continue;
    return 0;
}

static int crash(const char *const *names, saikai_tell_event *tell, void *to, char *why, size_t cap)
{
    (void)names, (void)tell, (void)to, (void)why, (void)cap;
    raise(SIGKILL);
    return 0;
}

static int flood(const char *const *names, saikai_tell_event *tell, void *to, char *why, size_t cap)
{
    static const char *const unwell[] = {"node=unwell", "why=it shakes", NULL}, *const odd[] = {"no field", NULL};
    (void)why, (void)cap;
    for (int i = 0; i < 3000; i++) {
        tell(to, "hw.shaking", SAIKAI_EVENT_WARNING, names[0], NULL);
        tell(to, "hw.shaking", SAIKAI_EVENT_ERROR, names[0], unwell);
        if (!tell(to, "no name", SAIKAI_EVENT_ERROR, names[0], NULL) || !tell(to, "hw.x", 99, NULL, NULL) || !tell(to, NULL, 0, NULL, odd) ||
            !tell(to, "hw.x", 0, NULL, odd))
            raise(SIGKILL);
    }
    return 0;
}

static int complain(const char *const *names, saikai_tell_event *tell, void *to, char *why, size_t cap)
{
    (void)names, (void)tell, (void)to;
    snprintf(why, cap, "there is no weather");
    return -1;
}

static const struct saikai_event_source_ops tables[] = {{hang}, {crash}, {flood}, {complain}};
static const char *const names[] = {"test-hang", "test-crash", "test-flood", "test-fail"};

static int begin_all(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const struct saikai_component c = {.name = names[i], .description = "", .ops = &tables[i]};
        sk_source_kind.add(&c, i);
    }
    return 0;
}

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-watch-XXXXXX");
    if (!mkdtemp(dir) || !(config = sk_config_new()))
        return -1;
    set("events.every", "100ms");
    set("store.prefix", "none");
    *said = 0;
    n_said = 0;
    sk_log_set(note, NULL, SK_LOG_NOTICE);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sk_log_set(NULL, NULL, 0);
    sk_config_free(config);
    return sk_io_rmtree(dir, NULL);
}

static struct sk_watch *watch(const char *sources)
{
    struct sk_watch *w = NULL;
    struct saikai_error err = {0};
    set("events.sources", sources);
    assert_int_equal(sk_watch_new(config, &hosts, 0, NULL, 1, &w, &err), 0);
    return w;
}

/* Until a line with these words was said. */
static void until_said(struct sk_watch *w, const char *words)
{
    for (double stop = sk_now() + 60; !strstr(said, words) && sk_now() < stop; sk_sleep(0.01))
        sk_watch_tick(w, sk_now());
    if (!strstr(said, words))
        fail_msg("not said: %s, but: %s", words, said);
}

static void no_source_is_no_process(void **state)
{
    (void)state;
    assert_null(watch("none"));
    sk_watch_tick(NULL, sk_now());
    sk_watch_free(NULL);
    struct saikai_error err = {0};
    struct sk_watch *w = NULL;
    set("events.sources", "weather");
    assert_int_equal(sk_watch_new(config, &hosts, 0, NULL, 1, &w, &err), SAIKAI_ECONFIG);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void a_host_is_not_well_and_is_well_again(void **state)
{
    char command[400], file[100], why[100];
    struct saikai_node node = {.name = "s1", .state = SAIKAI_NODE_SPARE};
    (void)state;
    snprintf(file, sizeof file, "%s/broken", dir);
    snprintf(command, sizeof command, "[ ! -e %s ] || { echo its fan stands; exit 1; }", file);
    set("events.health", command);
    fclose(fopen(file, "w"));
    struct sk_watch *w = watch("health");
    assert_non_null(w);
    until_said(w, "node s1 is not well: its fan stands");
    assert_int_equal(sk_unwell_is_down(&node, why, sizeof why), 1);
    assert_int_equal(unlink(file), 0);
    until_said(w, "node s1 is well again");
    assert_int_equal(sk_unwell_is_down(&node, why, sizeof why), 0);
    sk_watch_free(w);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static int count(const char *words)
{
    int n = 0;
    for (const char *p = said; (p = strstr(p, words)); p++)
        n++;
    return n;
}

static void what_goes_wrong_is_said_once(void **state)
{
    (void)state;
    set("events.limit", "100ms");
    struct sk_watch *w = watch("test-hang test-crash test-flood test-fail");
    until_said(w, "the source of events test-crash has ended by itself");
    until_said(w, "nothing was heard of the source of events test-hang");
    until_said(w, "node n1 is not well: it shakes (source of events test-flood)");
    int before = n_said;
    for (double stop = sk_now() + 1.5; sk_now() < stop; sk_sleep(0.01))
        sk_watch_tick(w, sk_now());
    assert_int_equal(count("nothing was heard of the source of events test-hang"), 1);
    assert_int_equal(count("the source of events test-crash has ended"), 1);
    assert_int_equal(count("it shakes"), 1);
    assert_true(n_said <= before + 2); /* on a machine that is very busy the others may count as silent, also one that ends later */
    double from = sk_now();
    sk_watch_free(w);
    assert_true(sk_now() - from < 30);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void a_command_of_a_source_ends_with_it(void **state)
{
    char command[400], file[100], text[32] = "";
    (void)state;
    snprintf(file, sizeof file, "%s/pid", dir);
    snprintf(command, sizeof command, "echo $$ >%s.new; mv %s.new %s; sleep 600 & wait", file, file, file);
    set("events.health", command);
    set("events.limit", "600s");
    struct sk_watch *w = watch("health");
    for (int i = 0; i < 6000 && access(file, R_OK); i++)
        sk_sleep(0.01);
    FILE *f = fopen(file, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof text, f));
    fclose(f);
    pid_t pid = (pid_t)atoi(text);
    assert_int_equal(kill(pid, 0), 0);
    sk_watch_free(w);
    char path[64], what[8] = "R";
    for (int i = 0; i < 6000 && *what && *what != 'Z'; i++) {
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        f = fopen(path, "r");
        if (!f || fscanf(f, "%*d %*s %7s", what) != 1)
            *what = 0;
        if (f)
            fclose(f);
        sk_sleep(0.01);
    }
    assert_true(!*what || *what == 'Z');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_source_is_no_process, begin, end),
        cmocka_unit_test_setup_teardown(a_host_is_not_well_and_is_well_again, begin, end),
        cmocka_unit_test_setup_teardown(what_goes_wrong_is_said_once, begin, end),
        cmocka_unit_test_setup_teardown(a_command_of_a_source_ends_with_it, begin, end),
    };
    return cmocka_run_group_tests(tests, begin_all, NULL);
}
