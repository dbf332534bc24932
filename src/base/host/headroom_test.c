/* Limits of memory, found in made-up /proc and control groups of both versions. */
#include "base/host/fork_testing.h"
#include "base/host/headroom.h"

#include "base/file/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char root[64];

static void put(const char *name, const char *text)
{
    char path[512], dir[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(sk_io_mkdirs(dir, NULL), 0);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int make(void **state)
{
    (void)state;
    strcpy(root, "/tmp/saikai-memory-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    sk_headroom_look_below(root);
    put("/proc/meminfo", "MemTotal:       64000000 kB\nMemFree:  1 kB\nMemAvailable:   32000000 kB\n");
    put("/proc/self/statm", "1000 1 1 1 1 1 1\n");
    return 0;
}

static int clear(void **state)
{
    (void)state;
    sk_headroom_look_below("");
    return sk_io_rmtree(root, NULL);
}

static void expect(uint64_t bytes, const char *limit)
{
    struct sk_headroom r;
    sk_headroom_look(&r);
    if (r.bytes != bytes || !strstr(r.limit, limit))
        fail_msg("%llu bytes by '%s', not %llu by '%s'", (unsigned long long)r.bytes, r.limit, (unsigned long long)bytes, limit);
}

static void test_system(void **state)
{
    (void)state;
    expect((32000000ull - 1000000) << 10, "available memory");
}

static const uint64_t mib = 1 << 20;

static void test_version_2(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "1:name=systemd:/x\n0::/job/step\n");
    put("/proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/job/step/memory.max", "max\n");
    put("/sys/fs/cgroup/job/step/memory.current", "1000\n");
    expect((32000000ull - 1000000) << 10, "available memory");
    /* a limit further up; files that can be dropped count as free, tmpfs (shmem) does not */
    put("/sys/fs/cgroup/job/memory.max", "1073741824\n");
    put("/sys/fs/cgroup/job/memory.current", "536870912\n");
    put("/sys/fs/cgroup/job/memory.stat", "anon 1\nshmem 99999999\ninactive_file 104857600\nactive_file 20971520\n");
    expect((512 + 100 + 10 - 16) * mib, "memory.max of control group /job");
    /* the lower one is nearer */
    put("/sys/fs/cgroup/job/step/memory.max", "268435456\n");
    put("/sys/fs/cgroup/job/step/memory.current", "104857600\n");
    put("/sys/fs/cgroup/job/step/memory.stat", "inactive_file 0\n");
    expect((256 - 100 - 8) * mib, "memory.max of control group /job/step");
    put("/sys/fs/cgroup/job/step/memory.high", "209715200\n");
    expect((200 - 100 - 8) * mib, "memory.high of control group /job/step");
    put("/sys/fs/cgroup/job/step/memory.current", "209715199\n");
    expect(0, "memory.high");
}

static void test_version_1(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "9:cpu:/a\n4:memory:/docker/abc/job\n0::/\n");
    put("/proc/self/mountinfo", "31 1 0:20 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                                "35 1 0:32 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
                                "36 1 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "5\n");
    expect((32000000ull - 1000000) << 10, "available memory");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "471859200\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "262144000\n");
    put("/sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 10485760\ntotal_active_file 0\n");
    expect((450 - 250 + 10 - 8) * mib, "memory.limit_in_bytes of control group /");
    /* what names a group that is not shown here is looked for at the top */
    put("/proc/self/cgroup", "4:memory:/elsewhere\n");
    expect((450 - 250 + 10 - 8) * mib, "memory.limit_in_bytes");
}

/* Nothing of it is there, or it is nonsense: what is known counts. */
static void test_nonsense(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "::\n0::\n4:memory\n");
    put("/proc/self/mountinfo", " - cgroup2\n30 1\n - cgroup cgroup memory\n");
    expect((32000000ull - 1000000) << 10, "available memory");
    put("/proc/meminfo", "x\n");
    expect(UINT64_MAX, "");
}

static void test_ulimit(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizer needs more addresses than the limit leaves */
#endif
    struct sk_headroom r;
    struct rlimit l;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    assert_true(sk_headroom_largest_file() == (l.rlim_cur == RLIM_INFINITY ? UINT64_MAX : l.rlim_cur));
    pid_t child = sk_testing_fork();
    if (!child) {
        l = (struct rlimit){200 * mib, 200 * mib};
        setrlimit(RLIMIT_FSIZE, &l);
        int ok = sk_headroom_largest_file() == 200 * mib;
        setrlimit(RLIMIT_AS, &(struct rlimit){1 << 30, 1 << 30});
        sk_headroom_look(&r); /* 1000 pages are in use, they say */
        ok &= r.bytes == (1 << 30) - 1000 * (uint64_t)sysconf(_SC_PAGESIZE) - 8 * mib && strstr(r.limit, "ulimit -v");
        put("/proc/self/status", "Name:\tx\nVmData:\t  102400 kB\n");
        setrlimit(RLIMIT_DATA, &(struct rlimit){300 * mib, 300 * mib});
        sk_headroom_look(&r);
        ok &= r.bytes == (300 - 100 - 8) * mib && strstr(r.limit, "ulimit -d");
        sk_headroom_look_for("/dev/shm", &r); /* what is mapped of files there does not count */
        ok &= !strstr(r.limit, "ulimit -d");
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    sk_headroom_look_for("/", &r);
    assert_true(r.bytes < UINT64_MAX);
    assert_non_null(strstr(r.limit, "free space of /"));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_system), TEST(test_version_2), TEST(test_version_1), TEST(test_nonsense),
                                       TEST(test_ulimit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
