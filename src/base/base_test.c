/* The basics: errors, buffers, element types, hashes, and file operations that fail at every
 * step. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/file/io.h"
#include "base/types.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-base-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static void test_error_keeps_errno(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    assert_int_equal(sk_fail_errno(&err, ENOSPC, "cannot write %s", "x"), SAIKAI_ENOSPC);
    assert_int_equal(err.sys_errno, ENOSPC);
    assert_string_equal(err.text, "cannot write x: No space left on device");
    sk_error_prefix(&err, "rank %d", 3);
    assert_string_equal(err.text, "rank 3: cannot write x: No space left on device");
    assert_string_equal(sk_error_name(SAIKAI_EDAMAGED), "EDAMAGED");
    assert_string_equal(sk_error_text(-9999), "unknown error");
    assert_int_equal(sk_fail(NULL, SAIKAI_EINVAL, "nobody listens"), SAIKAI_EINVAL);
}

static void test_buf_round_trip(void **state)
{
    (void)state;
    struct sk_buf b = {0};
    sk_buf_put_u8(&b, 7);
    sk_buf_put_u64(&b, 0x0123456789abcdefu);
    sk_buf_put_str(&b, "temperature");
    sk_buf_put_f64(&b, -0.5);
    sk_buf_pad(&b, 64);
    assert_true(sk_buf_ok(&b));
    assert_int_equal(b.len % 64, 0);
    struct sk_rd r = sk_rd_init(b.data, b.len);
    char name[32];
    assert_int_equal(sk_rd_u8(&r), 7);
    assert_true(sk_rd_u64(&r) == 0x0123456789abcdefu);
    sk_rd_str(&r, name, sizeof name);
    assert_string_equal(name, "temperature");
    assert_float_equal(sk_rd_f64(&r), -0.5, 0);
    assert_false(r.bad);
    /* past the end: zeros and bad, for good */
    assert_null(sk_rd_bytes(&r, 1000));
    assert_int_equal(sk_rd_u8(&r), 0);
    assert_true(r.bad);
    r = sk_rd_init(b.data + 9, b.len - 9);
    sk_rd_str(&r, name, 5); /* does not fit */
    assert_true(r.bad);
    sk_buf_free(&b);
}

static void test_types(void **state)
{
    (void)state;
    size_t dims[SAIKAI_MAX_DIMS], n;
    assert_int_equal(sk_type_size(SAIKAI_C128), 16);
    assert_int_equal(sk_type_size(99), 0);
    assert_int_equal(sk_type_parse("double"), SAIKAI_F64);
    assert_int_equal(sk_type_parse("quad"), 0);
    for (int t = 1; sk_type_size(t); t++)
        assert_int_equal(sk_type_parse(sk_type_name(t)), t);
    assert_int_equal(sk_dims_parse("84x34x34", dims), 3);
    assert_int_equal(dims[0], 84);
    assert_int_equal(sk_dims_parse("84x", dims), -1);
    assert_int_equal(sk_dims_parse("1x2x3x4x5x6x7x8x9", dims), -1);
    assert_int_equal(sk_dims_count(2, (size_t[]){(size_t)1 << 40, (size_t)1 << 40}, &n), -1);
}

static void test_replace_and_slurp(void **state)
{
    (void)state;
    char path[128];
    void *data;
    size_t n;
    struct saikai_error err = {0};
    snprintf(path, sizeof path, "%s/a/b/file", dir);
    assert_int_equal(sk_io_replace(path, "x", 1, &err), SAIKAI_ENOENT);
    snprintf(path, sizeof path, "%s/a/b", dir);
    assert_int_equal(sk_io_mkdirs(path, &err), 0);
    assert_int_equal(sk_io_mkdirs(path, &err), 0);
    snprintf(path, sizeof path, "%s/a/b/file", dir);
    assert_int_equal(sk_io_replace(path, "old", 3, &err), 0);
    assert_int_equal(sk_io_replace(path, "newer", 5, &err), 0);
    assert_int_equal(sk_io_slurp(path, 100, &data, &n, &err), 0);
    assert_int_equal(n, 5);
    assert_string_equal(data, "newer");
    free(data);
    assert_int_equal(sk_io_slurp(path, 4, &data, &n, &err), SAIKAI_EFORMAT);
    snprintf(path, sizeof path, "%s/a/b/file/c", dir);
    assert_int_equal(sk_io_mkdirs(path, &err), SAIKAI_EIO);
    assert_non_null(strstr(err.text, "a/b/file"));
    assert_true(err.sys_errno == ENOTDIR && strstr(err.text, "a file of that name is there"));
}

/* A link into nowhere is named with what it leads to; one to a directory is that directory. */
static void directories_behind_links(void **state)
{
    (void)state;
    char link[128], to[128], below[160], expected[400];
    struct saikai_error err = {0};
    snprintf(link, sizeof link, "%s/link", dir);
    snprintf(to, sizeof to, "%s/nowhere", dir);
    snprintf(below, sizeof below, "%s/below", link);
    assert_int_equal(symlink(to, link), 0);
    snprintf(expected, sizeof expected, "%s is a symbolic link to %s, which is not there", link, to);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sk_io_mkdirs(i ? below : link, &err), SAIKAI_EIO);
        assert_true(err.sys_errno == ENOTDIR && strstr(err.text, expected));
    }
    assert_int_equal(mkdir(to, 0700), 0);
    assert_int_equal(sk_io_mkdirs(below, &err), 0);
}

static int fail_at;
static int failing_hook(const char *op, const char *path)
{
    (void)op;
    (void)path;
    return fail_at-- == 0 ? EIO : 0;
}

static void test_replace_fails_at_every_step(void **state)
{
    (void)state;
    char path[128];
    void *data;
    size_t n;
    snprintf(path, sizeof path, "%s/swept", dir);
    assert_int_equal(sk_io_replace(path, "old", 3, NULL), 0);
    sk_io_hook = failing_hook;
    int rc, steps = 0;
    do {
        fail_at = steps++;
        rc = sk_io_replace(path, "new", 3, NULL);
        fail_at = -1;
        assert_int_equal(sk_io_slurp(path, 100, &data, &n, NULL), 0);
        assert_true(!strcmp(data, "old") || !strcmp(data, "new"));
        free(data);
        assert_true(steps < 50);
    } while (rc);
    sk_io_hook = NULL;
    assert_true(steps > 4);
}

static void test_short_read_is_said(void **state)
{
    (void)state;
    char path[128], out[8];
    struct saikai_error err = {0};
    snprintf(path, sizeof path, "%s/short", dir);
    assert_int_equal(sk_io_replace(path, "1234", 4, NULL), 0);
    int fd = sk_io_open(path, O_RDONLY, 0, &err);
    assert_true(fd >= 0);
    assert_int_equal(sk_io_pread(fd, path, out, 8, 0, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "truncated: 4 bytes missing"));
    close(fd);
}

static void test_reserve_says_when_the_disk_is_full(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/reserved", dir);
    int fd = sk_io_open(path, O_RDWR | O_CREAT, 0600, NULL);
    assert_true(fd >= 0);
    assert_int_equal(sk_io_reserve(fd, path, 1 << 20, NULL), 0);
    off_t size = 0;
    assert_int_equal(sk_io_size(fd, path, &size, NULL), 0);
    assert_int_equal(size, 1 << 20);
    void *p;
    assert_int_equal(sk_io_map(fd, path, 1 << 20, 1, &p, NULL), 0);
    memset(p, 1, 1 << 20);
    munmap(p, 1 << 20);
    struct saikai_error err = {0};
    assert_true(sk_io_reserve(fd, path, (off_t)1 << 60, &err) < 0);
    assert_non_null(strstr(err.text, path));
    close(fd);
}

static void test_rmtree_does_not_follow_links(void **state)
{
    (void)state;
    char path[128], kept[128], tree[128];
    snprintf(tree, sizeof tree, "%s/tree/sub", dir);
    assert_int_equal(sk_io_mkdirs(tree, NULL), 0);
    snprintf(kept, sizeof kept, "%s/kept", dir);
    assert_int_equal(sk_io_mkdirs(kept, NULL), 0);
    snprintf(path, sizeof path, "%s/tree/sub/link", dir);
    assert_int_equal(symlink(kept, path), 0);
    snprintf(tree, sizeof tree, "%s/tree", dir);
    assert_int_equal(sk_io_rmtree(tree, NULL), 0);
    assert_int_equal(access(tree, F_OK), -1);
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(sk_io_rmtree(tree, NULL), 0);
}

static void test_hash_in_parts(void **state)
{
    char data[5000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7 + i / 256);
    struct sk_hasher *h = sk_hasher_new();
    assert_non_null(h);
    for (size_t part = 1; part < sizeof data; part = part * 3 + 1) {
        sk_hasher_reset(h);
        for (size_t at = 0; at < sizeof data; at += part)
            sk_hasher_add(h, data + at, sizeof data - at < part ? sizeof data - at : part);
        assert_true(sk_hasher_value(h) == sk_hash64(data, sizeof data));
    }
    sk_hasher_free(h);
    sk_hasher_free(NULL);
}

static void test_hash_is_xxh3(void **state)
{
    (void)state;
    assert_true(sk_hash64("", 0) == 0x2d06800538d394c2u); /* published value of XXH3_64bits("") */
}

/* A moment of the monotonic clock, and a proper one: its nanoseconds are fewer than a second's. */
static void test_a_moment_from_now(void **state)
{
    (void)state;
    static const double after[] = {0, 0.25, 0.999999, 1, 12.5};
    for (int i = 0; i < 50; i++) {
        double seconds = after[i % 5] + i * 0.037, before = sk_now();
        struct timespec t = sk_clock_after(seconds);
        double at = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
        assert_true(t.tv_nsec >= 0 && t.tv_nsec < 1000000000);
        assert_true(at >= before + seconds - 1e-6 && at <= sk_now() + seconds + 1e-6);
    }
    for (int i = 0; i < 3; i++) { /* limits that mean "never": a wait that would be over at once has its caller spin */
        struct timespec t = sk_clock_after((double[]){1e12, 1e20, INFINITY}[i]);
        assert_true(t.tv_sec > sk_now() + 9e8 && t.tv_nsec >= 0 && t.tv_nsec < 1000000000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_keeps_errno),
        cmocka_unit_test(test_buf_round_trip),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_replace_and_slurp),
        cmocka_unit_test(directories_behind_links),
        cmocka_unit_test(test_replace_fails_at_every_step),
        cmocka_unit_test(test_short_read_is_said),
        cmocka_unit_test(test_reserve_says_when_the_disk_is_full),
        cmocka_unit_test(test_rmtree_does_not_follow_links),
        cmocka_unit_test(test_a_moment_from_now),
        cmocka_unit_test(test_hash_is_xxh3),
        cmocka_unit_test(test_hash_in_parts),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
