/* What is made of Slurm's environment and of what its tools print, with tools of our own in their places. */
#include "recovery/launch/slurm.h"

#include "base/clock.h"
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

static void tool(const char *name, const char *script)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", script);
    fclose(f);
    assert_int_equal(chmod(path, 0755), 0);
}

static int begin(void **state)
{
    char path[256];
    (void)state;
    strcpy(dir, "/tmp/saikai-slurm-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", dir);
    setenv("PATH", path, 1);
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_JOB_END_TIME");
    return 0;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static void an_allocation_may_have_several_hosts(void **state)
{
    (void)state;
    unsetenv("SLURM_NNODES");
    setenv("SLURM_JOB_NUM_NODES", "3", 1);
    assert_int_equal(sk_slurm_has_several(), 0); /* and no allocation */
    setenv("SLURM_JOB_ID", "7", 1);
    assert_int_equal(sk_slurm_has_several(), 1);
    setenv("SLURM_JOB_NUM_NODES", "1", 1);
    setenv("SLURM_NNODES", "3", 1);
    assert_int_equal(sk_slurm_has_several(), 0);
    unsetenv("SLURM_JOB_NUM_NODES");
    assert_int_equal(sk_slurm_has_several(), 1);
    unsetenv("SLURM_NNODES");
    assert_int_equal(sk_slurm_has_several(), 0);
}

static void spans_are_read_as_slurm_prints_them(void **state)
{
    (void)state;
    assert_true(sk_slurm_span("0:45\n") == 45);
    assert_true(sk_slurm_span("2:00") == 120);
    assert_true(sk_slurm_span("1:02:03\n") == 3723);
    assert_true(sk_slurm_span("2-01:02:03\n") == 2 * 86400 + 3723);
    const char *const none[] = {"", "\n", "UNLIMITED\n", "INVALID\n", "NOT_SET", "1-", "1-2", "1-2:3", "1-2-3:4:5", "1:2:3:4", "-1:00", "1:", "1:x", "5 s"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_true(sk_slurm_span(none[i]) == -1);
}

static void nothing_is_known_outside_of_an_allocation(void **state)
{
    (void)state;
    tool("squeue", "echo 1:00");
    assert_false(sk_slurm_present());
    assert_true(sk_slurm_time_left() == 0);
}

static void the_environment_goes_before_the_tool(void **state)
{
    char text[32];
    (void)state;
    tool("squeue", "echo 1:00");
    setenv("SLURM_JOB_ID", "7", 1);
    snprintf(text, sizeof text, "%lld", (long long)sk_wall_ms() / 1000 + 5000);
    setenv("SLURM_JOB_END_TIME", text, 1);
    double left = sk_slurm_time_left();
    assert_true(left > 4000 && left <= 5000);
    setenv("SLURM_JOB_END_TIME", "1000", 1); /* over since long: still a limit */
    assert_true(sk_slurm_time_left() == 1);
}

static void the_tool_is_asked_where_the_environment_says_nothing(void **state)
{
    (void)state;
    assert_true(setenv("SLURM_JOB_ID", "7", 1) == 0);
    tool("squeue", "[ \"$*\" = '--noheader --jobs=7 --format=%L' ] && echo 1-00:00:10");
    assert_true(sk_slurm_time_left() == 86410);
    tool("squeue", "echo 0:00"); /* just over */
    assert_true(sk_slurm_time_left() == 1);
    tool("squeue", "echo UNLIMITED");
    assert_true(sk_slurm_time_left() == 0);
    tool("squeue", "echo slurm_load_jobs error >&2; exit 1");
    assert_true(sk_slurm_time_left() == 0);
    tool("squeue", "touch \"$(dirname \"$0\")/asked\"; echo 1:00");
    setenv("SLURM_JOB_ID", "7;8", 1); /* not what Slurm writes: it does not reach a shell */
    assert_true(sk_slurm_time_left() == 0);
    char path[128];
    snprintf(path, sizeof path, "%s/asked", dir);
    assert_int_equal(access(path, F_OK), -1);
}

static void the_hosts_are_those_of_the_allocation(void **state)
{
    struct sk_hosts h = {0};
    struct saikai_error err = {0};
    (void)state;
    tool("scontrol", "[ \"$*\" = 'show hostnames' ] && printf 'n1\\nn2\\n\\n'");
    assert_int_equal(sk_slurm_hosts(&h, &err), 0);
    assert_int_equal(h.n, 2);
    assert_string_equal(h.host[1].name, "n2");
    sk_hosts_free(&h);
    tool("scontrol", "exit 1");
    h = (struct sk_hosts){0};
    assert_int_equal(sk_slurm_hosts(&h, &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "--hosts"));
    sk_hosts_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_allocation_may_have_several_hosts, begin, end),
        cmocka_unit_test(spans_are_read_as_slurm_prints_them),
        cmocka_unit_test_setup_teardown(nothing_is_known_outside_of_an_allocation, begin, end),
        cmocka_unit_test_setup_teardown(the_environment_goes_before_the_tool, begin, end),
        cmocka_unit_test_setup_teardown(the_tool_is_asked_where_the_environment_says_nothing, begin, end),
        cmocka_unit_test_setup_teardown(the_hosts_are_those_of_the_allocation, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
