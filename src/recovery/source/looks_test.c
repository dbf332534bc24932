/* Each source that is built in, with programs and databases of our own in the places of those that it asks. */
#include "recovery/source/source.h"

#include "base/file/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64];
static struct sk_host host[] = {{.name = "n1"}, {.name = "n2"}, {.name = "n3", .state = SK_HOST_SPARE}};
static struct sk_hosts hosts = {host, 3};
static struct sk_source_view view;
static struct sk_config *config;
static struct sk_teller *teller;
static void *own; /* the source's state: stays, as in its process */
static const struct sk_source_ops *looks;

static void file(const char *name, int mode, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(path, (mode_t)mode), 0);
}

static void set(const char *key, const char *fmt, ...)
{
    char value[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(value, sizeof value, fmt, ap);
    va_end(ap);
    assert_int_equal(sk_config_set(config, key, value, SK_FROM_API, "test", NULL), 0);
}

static int begin(void **state)
{
    char path[256];
    (void)state;
    strcpy(dir, "/tmp/saikai-looks-XXXXXX");
    if (!mkdtemp(dir) || !(config = sk_config_new()))
        return -1;
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", dir);
    setenv("PATH", path, 1);
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_JOB_NODELIST");
    view = (struct sk_source_view){config, &hosts, 1, NULL};
    own = NULL;
    looks = NULL;
    teller = sk_teller_new("test", "none", 0, -1);
    return !teller;
}

static int end(void **state)
{
    (void)state;
    if (looks)
        sk_source_end(looks, own);
    sk_teller_free(teller);
    sk_config_free(config);
    return sk_io_rmtree(dir, NULL);
}

/* The events of one more look, as "name host severity" with the value of a field, and spaces between them. */
static const char *look(const struct sk_source_ops *s, const char *field, int expected)
{
    static char text[2000];
    struct saikai_error err = {0};
    struct saikai_event e;
    int before = sk_teller_waiting(teller, -1, &e);
    looks = s;
    assert_int_equal(sk_source_look(s, &view, &own, teller, &err), expected);
    assert_true(!expected || *err.text);
    *text = 0;
    for (int i = before; i < sk_teller_waiting(teller, i, &e); i++) {
        const char *value = sk_event_field(&e, field);
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s%s.%s %s %s %s", n ? "; " : "", e.space, e.name, e.host, sk_severity_name(e.severity), value ? value : "-");
    }
    return text;
}

static void what_there_is_to_look_at(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(sk_source_wanted(sk_source_at(i), &view, NULL), sk_source_at(i) == &sk_source_ras && !access("/var/lib/rasdaemon/ras-mc_event.db", R_OK));
    set("events.health", "true");
    set("events.rasdaemon", "%s/x.db", dir);
    setenv("SLURM_JOB_ID", "1", 1);
    setenv("SLURM_JOB_NODELIST", "n[1-3]", 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(sk_source_wanted(sk_source_at(i), &view, NULL), 1);
    set("events.sources", "none");
    for (int i = 0; i < 3; i++)
        assert_int_equal(sk_source_wanted(sk_source_at(i), &view, NULL), 0);
    set("events.sources", "%s, %s", sk_source_slurm.name, sk_source_health.name);
    assert_int_equal(sk_source_wanted(&sk_source_ras, &view, NULL), 0);
    assert_int_equal(sk_source_wanted(&sk_source_slurm, &view, NULL), 1);
    assert_int_equal(sk_source_wanted(&sk_source_health, &view, NULL), 1);
    struct saikai_error err = {0};
    set("events.sources", "weather");
    assert_int_equal(sk_source_wanted(&sk_source_health, &view, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "weather"));
}

/* By a remote shell of our own: AGENT HOST SCRIPT */
static void each_host_is_checked(void **state)
{
    (void)state;
    file("agent", 0755, "#!/bin/sh\n[ ! -e $0.lost.$1 ] || { echo no route to $1 >&2; exit 255; }\nHOST=$1 exec /bin/sh -c \"$2\"\n");
    file("check", 0755, "#!/bin/sh\ncat $(dirname $0)/$HOST.says 2>/dev/null\nexit $(cat $(dirname $0)/$HOST.code 2>/dev/null || echo 0)\n");
    set("run.agent", "%s/agent", dir);
    set("events.health", "%s/check 'it'\"'\"'s'", dir);
    assert_string_equal(look(&sk_source_health, "why", 0), "");
    file("n2.code", 0644, "1");
    file("n2.says", 0644, "event warning fan-slow fan=3\nthe fan stands\n");
    assert_string_equal(look(&sk_source_health, "why", 0),
                        "hw.fan-slow n2 warning -; hw.health n2 error the fan stands; hw.notice n2 warning -");
    assert_string_equal(look(&sk_source_health, "why", 0), "");
    file("n3.says", 0644, "event fatal gpu-gone gpu=0\n"); /* a spare: nothing is to be saved for it */
    file("n2.says", 0644, "event warning fan-slow fan=4\n");
    assert_string_equal(look(&sk_source_health, "node", 0), "hw.fan-slow n2 warning -; hw.gpu-gone n3 fatal -; hw.health n3 error unwell");
    file("n2.code", 0644, "0");
    assert_string_equal(look(&sk_source_health, "node", 0), "hw.health n2 info well");
    /* what cannot be checked is not unwell */
    file("agent.lost.n1", 0644, "");
    assert_string_equal(look(&sk_source_health, "node", SAIKAI_EIO), "");
    assert_int_equal(unlink(strcat(strcpy((char[128]){0}, dir), "/agent.lost.n1")), 0);
    file("n1.code", 0644, "127");
    assert_string_equal(look(&sk_source_health, "node", SAIKAI_EIO), "");
    file("n1.code", 0644, "0");
    file("n1.says", 0644, "event loud x\n");
    assert_string_equal(look(&sk_source_health, "node", SAIKAI_EINVAL), "");
}

static void a_check_that_hangs_says_nothing_of_the_host(void **state)
{
    (void)state;
    view.told_hosts = 0;
    hosts.n = 1;
    set("events.limit", "1");
    set("events.health", "sleep 600");
    assert_string_equal(look(&sk_source_health, "node", SAIKAI_ETIMEDOUT), "");
    set("events.limit", "60");
    set("events.health", "exit 4");
    assert_string_equal(look(&sk_source_health, "why", 0), "hw.health n1 error exit code 4 of the health check; hw.notice n1 warning -");
    set("events.health", "/nowhere/check");
    assert_string_equal(look(&sk_source_health, "node", SAIKAI_EIO), "");
    hosts.n = 3;
}

static void slurm_tells_of_its_nodes(void **state)
{
    (void)state;
    setenv("SLURM_JOB_ID", "1", 1);
    setenv("SLURM_JOB_NODELIST", "n[1-3]", 1);
    file("scontrol", 0755, "#!/bin/sh\n[ \"$*\" = '--oneliner show node n[1-3]' ] || exit 9\ncat $(dirname $0)/nodes\n");
    file("nodes", 0644, "NodeName=n1 State=ALLOCATED\nNodeName=n2 State=ALLOCATED\nNodeName=n3 State=ALLOCATED\n");
    assert_string_equal(look(&sk_source_slurm, "state", 0), "");
    file("nodes", 0644, "NodeName=n1 State=ALLOCATED+DRAIN Reason=dimm 3 [root@x]\nNodeName=n2 State=ALLOCATED\nNodeName=n3 State=IDLE+FAIL Reason=gone\n");
    assert_string_equal(look(&sk_source_slurm, "state", 0),
                        "hw.node-state n1 warning DRAIN; hw.notice n1 warning -; hw.node-state n3 error FAIL");
    assert_string_equal(look(&sk_source_slurm, "state", 0), "");
    file("nodes", 0644, "NodeName=n1 State=ALLOCATED\nNodeName=n2 State=ALLOCATED\nNodeName=n3 State=IDLE Reason=gone\n");
    assert_string_equal(look(&sk_source_slurm, "node", 0), "hw.node-state n1 info -; hw.node-state n3 info well");
    file("nodes", 0644, "slurm_load_node error: Unable to contact slurm controller\n");
    assert_string_equal(look(&sk_source_slurm, "node", SAIKAI_EIO), "");
    file("scontrol", 0755, "#!/bin/sh\nhead -c 200000 /dev/urandom\n");
    assert_string_equal(look(&sk_source_slurm, "node", SAIKAI_EIO), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_there_is_to_look_at, begin, end),
        cmocka_unit_test_setup_teardown(each_host_is_checked, begin, end),
        cmocka_unit_test_setup_teardown(a_check_that_hangs_says_nothing_of_the_host, begin, end),
        cmocka_unit_test_setup_teardown(slurm_tells_of_its_nodes, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
