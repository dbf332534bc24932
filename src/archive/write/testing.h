/* What the tests of archives share: a directory of their own, files in it, failing and deadly I/O.
 */
#ifndef SK_ARCHIVE_WRITE_TESTING_H
#define SK_ARCHIVE_WRITE_TESTING_H

#include "base/buf.h"
#include "base/file/io.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TESTING __attribute__((unused)) static

static char base[256];

TESTING int setup(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "%s/sk-archive-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    return mkdtemp(base) ? 0 : -1;
}

TESTING int teardown(void **state)
{
    (void)state;
    sk_io_hook = NULL;
    return sk_io_rmtree(base, NULL);
}

/* A path below the directory; the last 64 of a thread are good. */
TESTING const char *at(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
TESTING const char *at(const char *fmt, ...)
{
    static _Thread_local char path[64][512];
    static _Thread_local int turn;
    char *p = path[turn++ % 64];
    va_list args;
    int n = snprintf(p, sizeof path[0], "%s/", base);
    va_start(args, fmt);
    vsnprintf(p + n, sizeof path[0] - (size_t)n, fmt, args);
    va_end(args);
    return p;
}

TESTING void put_file(const char *path, const void *data, size_t n)
{
    struct saikai_error err = {0};
    char dir[512];
    snprintf(dir, sizeof dir, "%s", path);
    *strrchr(dir, '/') = 0;
    assert_int_equal(sk_io_mkdirs(dir, &err), 0);
    assert_int_equal(sk_io_replace(path, data, n, &err), 0);
}

TESTING int same_file(const char *a, const char *b)
{
    void *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    int same = !sk_io_slurp(a, (size_t)1 << 30, &x, &n, NULL) &&
               !sk_io_slurp(b, (size_t)1 << 30, &y, &m, NULL) && n == m && !memcmp(x, y, n);
    free(x);
    free(y);
    return same;
}

TESTING int count_files(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

TESTING uint32_t lcg = 1;
TESTING uint32_t noise(void)
{
    return (lcg = lcg * 1664525u + 1013904223u) >> 8;
}

/* A CDF-1 file: dimension x of n, one double variable v(x). */
TESTING size_t make_netcdf(uint8_t *out, int n, double (*value)(int i, int arg), int arg)
{
    static const uint8_t head[] = {'C', 'D', 'F', 1, 0, 0, 0, 0, 0, 0,  0,
                                   10,  0,   0,   0, 1, 0, 0, 0, 1, 'x'};
    struct sk_buf b = {0};
    sk_buf_put(&b, head, sizeof head);
    sk_buf_pad(&b, 4);
    const uint32_t words[] = {(uint32_t)n,     0, 0, 11, 1, 1, 'v' << 24, 1, 0, 0, 0, 6,
                              (uint32_t)n * 8, 0};
    for (int i = 0; i < 14; i++) {
        uint32_t w = i == 13 ? (uint32_t)b.len + 4 : words[i];
        for (int k = 24; k >= 0; k -= 8)
            sk_buf_put_u8(&b, (uint8_t)(w >> k));
    }
    for (int i = 0; i < n; i++) {
        double v = value(i, arg);
        uint64_t u;
        memcpy(&u, &v, 8);
        for (int k = 56; k >= 0; k -= 8)
            sk_buf_put_u8(&b, (uint8_t)(u >> k));
    }
    memcpy(out, b.data, b.len);
    size_t len = b.len;
    sk_buf_free(&b);
    return len;
}

/* ---- I/O that fails or kills ---- */

static struct {
    const char *path; /* that contain it */
    long left;        /* operations until it happens */
    int fail_with;    /* errno; 0: the process ends with 42 */
} bad_io;

TESTING int bad_io_hook(const char *op, const char *path)
{
    (void)op;
    if (!strstr(path, bad_io.path) || __atomic_sub_fetch(&bad_io.left, 1, __ATOMIC_RELAXED))
        return 0;
    if (!bad_io.fail_with)
        _exit(42);
    return bad_io.fail_with;
}

/* The n-th operation on a path that contains this. */
TESTING void bad_io_at(const char *path, long n, int fail_with)
{
    bad_io.path = path;
    bad_io.left = n;
    bad_io.fail_with = fail_with;
    sk_io_hook = bad_io_hook;
}

#endif
