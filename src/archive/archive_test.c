#include "archive/archive.h"
#include "archive/reader.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char base[256];

static const char *in_base(const char *name)
{
    static char path[64][512];
    static int turn;
    char *p = path[turn++ % 64];
    snprintf(p, sizeof path[0], "%s/%s", base, name);
    return p;
}

static void put_file(const char *name, const void *data, size_t n)
{
    struct saikai_error err = {0};
    char dir[512];
    snprintf(dir, sizeof dir, "%s", in_base(name));
    *strrchr(dir, '/') = 0;
    assert_int_equal(sk_io_mkdirs(dir, &err), 0);
    assert_int_equal(sk_io_replace(in_base(name), data, n, &err), 0);
}

static int same_file(const char *a, const char *b)
{
    void *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    int same = !sk_io_slurp(a, (size_t)1 << 30, &x, &n, NULL) &&
               !sk_io_slurp(b, (size_t)1 << 30, &y, &m, NULL) && n == m && !memcmp(x, y, n);
    free(x);
    free(y);
    return same;
}

static int setup(void **state)
{
    snprintf(base, sizeof base, "%s/sk-archive-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    return mkdtemp(base) ? 0 : -1;
}

static int teardown(void **state)
{
    sk_io_hook = NULL;
    return sk_io_rmtree(base, NULL);
}

/* ---- files of several kinds ---- */

static uint32_t lcg = 1;
static uint32_t noise(void)
{
    return (lcg = lcg * 1664525u + 1013904223u) >> 8;
}

static void put_be(uint8_t **p, uint64_t v, int n)
{
    for (int i = n - 1; i >= 0; i--)
        *(*p)++ = (uint8_t)(v >> 8 * i);
}

static double smooth(int i)
{
    return 300.0 + 0.01 * i + 1e-9 * (double)(noise() % 1000);
}

/* A CDF-1 file: dimension x of n, one double variable v(x). */
static size_t make_netcdf(uint8_t *out, int n)
{
    uint8_t *p = out;
    memcpy(p, "CDF\1", 4);
    p += 4;
    put_be(&p, 0, 4);
    put_be(&p, 10, 4);
    put_be(&p, 1, 4);
    put_be(&p, 1, 4);
    memcpy(p, "x\0\0\0", 4);
    p += 4;
    put_be(&p, (uint64_t)n, 4);
    put_be(&p, 0, 8);
    put_be(&p, 11, 4);
    put_be(&p, 1, 4);
    put_be(&p, 1, 4);
    memcpy(p, "v\0\0\0", 4);
    p += 4;
    put_be(&p, 1, 4);
    put_be(&p, 0, 4);
    put_be(&p, 0, 8);
    put_be(&p, 6, 4);
    put_be(&p, (uint64_t)n * 8, 4);
    put_be(&p, (uint64_t)(p - out) + 4, 4);
    for (int i = 0; i < n; i++) {
        double v = smooth(i);
        uint64_t b;
        memcpy(&b, &v, 8);
        put_be(&p, b, 8);
    }
    return (size_t)(p - out);
}

static const char *const names[] = {"s/a.nc",  "s/b.nc", "s/empty",  "s/one",
                                    "s/noise", "s/text", "s/cut.nc", "s/d/deep"};
enum { FILES = sizeof names / sizeof *names };

static void make_files(void)
{
    static uint8_t buf[400000];
    size_t n;
    lcg = 1;
    n = make_netcdf(buf, 20000);
    put_file("s/a.nc", buf, n);
    put_file("s/cut.nc", buf, n / 2);
    n = make_netcdf(buf, 3000);
    put_file("s/b.nc", buf, n);
    put_file("s/empty", buf, 0);
    put_file("s/one", "x", 1);
    for (size_t i = 0; i < sizeof buf; i++)
        buf[i] = (uint8_t)noise();
    put_file("s/noise", buf, sizeof buf);
    for (size_t i = 0; i < sizeof buf; i++)
        buf[i] = (uint8_t)("checkpoint "[i % 11]);
    put_file("s/text", buf, 200000);
    put_file("s/d/deep", buf, 12345);
}

static int create_all(const char *out, const struct sk_archive_options *o, struct saikai_error *err)
{
    struct sk_archive_input in[FILES];
    char paths[FILES][512];
    for (int i = 0; i < FILES; i++) {
        snprintf(paths[i], sizeof paths[i], "%s", in_base(names[i]));
        in[i] = (struct sk_archive_input){.path = paths[i], .name = names[i]};
    }
    return sk_archive_create(out, in, FILES, o, NULL, err);
}

static void check_restored(const char *archive)
{
    struct saikai_error err = {0};
    char out[512], restored[1024];
    snprintf(out, sizeof out, "%s", in_base("out"));
    if (sk_archive_extract(archive, out, NULL, NULL, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < FILES; i++) {
        snprintf(restored, sizeof restored, "%s/%s", out, names[i]);
        if (!same_file(in_base(names[i]), restored))
            fail_msg("%s differs", names[i]);
    }
    sk_io_rmtree(out, NULL);
}

static void every_scheme_gives_every_file_back(void **state)
{
    make_files();
    for (int scheme = SK_SCHEME_AUTO; scheme <= SK_SCHEME_AWARE_BLOCK; scheme++)
        for (int small = 0; small < 2; small++) {
            struct saikai_error err = {0};
            struct sk_archive_options o = {.scheme = scheme, .no_sync = 1};
            if (small) {
                o.memory_bytes = 1; /* the least there is */
                o.merge_bytes = 100;
                o.threads = 3;
            }
            if (create_all(in_base("x.ska"), &o, &err))
                fail_msg("scheme %d: %s", scheme, err.text);
            check_restored(in_base("x.ska"));
        }
}

static void threads_do_not_change_the_archive(void **state)
{
    struct saikai_error err = {0};
    struct sk_archive_options one = {.threads = 1, .unit_bytes = 1 << 18, .no_sync = 1}, five = one;
    five.threads = 5;
    make_files();
    assert_int_equal(create_all(in_base("1.ska"), &one, &err), 0);
    assert_int_equal(create_all(in_base("5.ska"), &five, &err), 0);
    assert_true(same_file(in_base("1.ska"), in_base("5.ska")));
}

static void one_file_is_restored_alone(void **state)
{
    struct saikai_error err = {0};
    struct sk_extract_options o = {.only = "s/b.*", .no_sync = 1};
    make_files();
    assert_int_equal(create_all(in_base("x.ska"), NULL, &err), 0);
    assert_int_equal(sk_archive_extract(in_base("x.ska"), in_base("alone"), &o, NULL, &err), 0);
    assert_true(same_file(in_base("s/b.nc"), in_base("alone/s/b.nc")));
    assert_int_not_equal(access(in_base("alone/s/a.nc"), F_OK), 0);
    o.only = "nothing";
    assert_int_equal(sk_archive_extract(in_base("x.ska"), in_base("alone"), &o, NULL, &err),
                     SAIKAI_ENOENT);
}

/* Whatever byte of the archive is wrong, no wrong file comes out. */
static void damage_is_found(void **state)
{
    struct saikai_error err = {0};
    void *data = NULL;
    size_t n = 0;
    make_files();
    assert_int_equal(create_all(in_base("x.ska"), NULL, &err), 0);
    assert_int_equal(sk_io_slurp(in_base("x.ska"), 1 << 28, &data, &n, &err), 0);
    uint8_t *p = data;
    for (size_t at = 0; at < n; at += at < 16 || at + 64 > n ? 1 : n / 97) {
        if (at >= 12 && at < 16)
            continue; /* flags: reserved */
        p[at] ^= 0x10;
        put_file("bad.ska", data, n);
        p[at] ^= 0x10;
        int rc = sk_archive_extract(in_base("bad.ska"), in_base("bad"), NULL, NULL, &err);
        if (rc != SAIKAI_EDAMAGED && rc != SAIKAI_EFORMAT)
            fail_msg("byte %zu of %zu: %d", at, n, rc);
        assert_int_not_equal(access(in_base("bad/s/a.nc"), F_OK), 0);
    }
    for (size_t cut = 0; cut < n; cut += n / 50 + 1) {
        put_file("bad.ska", data, cut);
        int rc = sk_archive_extract(in_base("bad.ska"), NULL, NULL, NULL, &err);
        assert_true(rc == SAIKAI_EDAMAGED || rc == SAIKAI_EFORMAT);
    }
    free(data);
}

/* ---- failing I/O ---- */

static long countdown;
static int fail_with;

static int failing(const char *op, const char *path)
{
    if (strstr(path, ".ska") || strstr(path, "/out") || strstr(path, ".tmp"))
        return __atomic_sub_fetch(&countdown, 1, __ATOMIC_RELAXED) == 0 ? fail_with : 0;
    return 0;
}

static void a_failed_write_leaves_the_old_archive(void **state)
{
    struct saikai_error err = {0};
    struct sk_archive_options o = {.unit_bytes = 1 << 18};
    make_files();
    assert_int_equal(create_all(in_base("x.ska"), &o, &err), 0);
    put_file("old.ska", "", 0);
    rename(in_base("x.ska"), in_base("old.ska"));
    for (int i = 0, done = 0; !done; i++) {
        assert_true(i < 1000);
        put_file("y.ska", "old", 3);
        countdown = i + 1;
        fail_with = ENOSPC;
        sk_io_hook = failing;
        int rc = create_all(in_base("y.ska"), &o, &err);
        done = countdown > 0;
        sk_io_hook = NULL;
        if (done) {
            assert_int_equal(rc, 0);
            assert_true(same_file(in_base("y.ska"), in_base("old.ska")));
            break;
        }
        assert_int_equal(rc, SAIKAI_ENOSPC);
        struct stat st;
        assert_int_equal(stat(in_base("y.ska"), &st), 0);
        /* the rename may have happened before the directory's sync failed: then the new one is
         * whole */
        if (st.st_size != 3)
            assert_true(same_file(in_base("y.ska"), in_base("old.ska")));
        DIR *d = opendir(base);
        for (struct dirent *e; (e = readdir(d));)
            assert_null(strstr(e->d_name, ".tmp"));
        closedir(d);
    }
}

static int dying(const char *op, const char *path)
{
    if (strstr(path, ".ska") && __atomic_sub_fetch(&countdown, 1, __ATOMIC_RELAXED) == 0)
        _exit(9);
    return 0;
}

/* The process dies at its n-th operation on the archive, for every n: the archive is the old or the
 * new one, whole. */
static void a_crash_leaves_a_whole_archive(void **state)
{
    struct saikai_error err = {0};
    struct sk_archive_options o = {.unit_bytes = 1 << 18};
    int finished = 0, died = 0;
    make_files();
    assert_int_equal(create_all(in_base("new.ska"), &o, &err), 0);
    for (int i = 0; !finished; i++) {
        int status;
        assert_true(i < 1000);
        put_file("y.ska", "old", 3);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            countdown = i + 1;
            sk_io_hook = dying;
            _exit(create_all(in_base("y.ska"), &o, NULL) ? 1 : 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
        finished = WEXITSTATUS(status) == 0;
        died += !finished;
        struct stat st;
        assert_int_equal(stat(in_base("y.ska"), &st), 0);
        if (finished || st.st_size != 3)
            assert_true(same_file(in_base("y.ska"), in_base("new.ska")));
    }
    assert_true(died > 5);
}

static void a_failed_restore_leaves_no_file(void **state)
{
    struct saikai_error err = {0};
    make_files();
    assert_int_equal(create_all(in_base("x.ska"), NULL, &err), 0);
    for (int i = 0, done = 0; !done && i < 2000; i++) {
        countdown = i + 1;
        fail_with = EIO;
        sk_io_hook = failing;
        int rc = sk_archive_extract(in_base("x.ska"), in_base("out"), NULL, NULL, &err);
        done = countdown > 0;
        sk_io_hook = NULL;
        assert_int_equal(rc, done ? 0 : SAIKAI_EIO);
        for (int k = 0; k < FILES; k++) {
            char restored[1024];
            snprintf(restored, sizeof restored, "%s/%s", in_base("out"), names[k]);
            if (!access(restored, F_OK) && !same_file(in_base(names[k]), restored))
                fail_msg("I/O %d: a wrong %s", i, names[k]);
            snprintf(restored, sizeof restored, "%s/%s.saikai-part", in_base("out"), names[k]);
            assert_int_not_equal(access(restored, F_OK), 0);
        }
        sk_io_rmtree(in_base("out"), NULL);
    }
}

static int growing(const char *op, const char *path)
{
    static const char *grown;
    if (strcmp(op, "read") == 0 && strstr(path, "s/text") && grown != path) {
        grown = path;
        int fd = open(in_base("s/text"), O_WRONLY | O_APPEND);
        if (fd >= 0) {
            (void)!write(fd, "more", 4);
            close(fd);
        }
    }
    return 0;
}

static void a_set_that_is_still_written_is_refused(void **state)
{
    struct saikai_error err = {0};
    make_files();
    sk_io_unlink(in_base("x.ska"), NULL);
    sk_io_hook = growing;
    int rc = create_all(in_base("x.ska"), NULL, &err);
    sk_io_hook = NULL;
    assert_int_equal(rc, SAIKAI_ECHANGED);
    assert_non_null(strstr(err.text, "s/text"));
    assert_int_not_equal(access(in_base("x.ska"), F_OK), 0);
}

static int reads;
static int shrinking(const char *op, const char *path)
{
    if (!strcmp(op, "read") && strstr(path, "shrinks") && ++reads == 2)
        assert_int_equal(truncate(path, 100), 0);
    return 0;
}

/* Its reader finds the end of the file where there was none: an error, no signal. */
static void a_file_that_is_cut_while_it_is_listed_is_refused(void **state)
{
    (void)state;
    enum { RECORDS = 20, BYTES = 10000 };
    struct saikai_error err = {0};
    static uint8_t file[RECORDS * (BYTES + 8)];
    uint32_t n = BYTES;
    for (uint8_t *p = file; p < file + sizeof file; p += BYTES + 8) {
        memcpy(p, &n, 4);
        memcpy(p + 4 + BYTES, &n, 4);
    }
    put_file("cut/shrinks", file, sizeof file);
    struct sk_archive_input in = {.path = in_base("cut/shrinks"), .name = "shrinks"};
    struct sk_archive_options o = {.no_sync = 1};
    reads = 0;
    sk_io_hook = shrinking;
    int rc = sk_archive_create(in_base("cut.ska"), &in, 1, &o, NULL, &err);
    sk_io_hook = NULL;
    assert_int_equal(rc, SAIKAI_ECHANGED);
    assert_non_null(strstr(err.text, "shrinks"));
    assert_int_not_equal(access(in_base("cut.ska"), F_OK), 0);
}

/* ---- archives that build on each other ---- */

enum { SERIES_BYTES = 1500000 };

/* Bytes that no compressor shrinks, of which a few change from set to set. */
static void make_series(int set)
{
    static uint8_t file[SERIES_BYTES];
    static uint32_t words[SERIES_BYTES / 4];
    char name[32];
    if (!words[0])
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            words[i] = noise();
    memcpy(file, words, sizeof file);
    for (size_t i = 0; i < sizeof file; i += 5000)
        file[i] = (uint8_t)(i / 5000 * 7 + (size_t)set);
    snprintf(name, sizeof name, "series/set%d", set);
    put_file(name, file, sizeof file);
}

static uint64_t create_series(int set, const char *earlier, int chain, struct saikai_error *err,
                              int *rc)
{
    char name[32], out[32];
    snprintf(name, sizeof name, "series/set%d", set);
    snprintf(out, sizeof out, "series/%d.ska", set);
    struct sk_archive_input in = {.path = in_base(name), .name = "state"};
    struct sk_archive_options o = {.no_sync = 1, .earlier = earlier, .chain = chain};
    struct sk_archive_stats st = {0};
    *rc = sk_archive_create(in_base(out), &in, 1, &o, &st, err);
    return st.stored_bytes;
}

static void a_series_builds_on_the_set_before(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    int rc;
    for (int i = 0; i < 4; i++)
        make_series(i);
    uint64_t alone = create_series(0, NULL, 0, &err, &rc);
    assert_true(rc == 0 && alone > SERIES_BYTES / 2);
    assert_true(create_series(1, in_base("series/0.ska"), 2, &err, &rc) < alone / 20);
    assert_true(create_series(2, in_base("series/1.ska"), 2, &err, &rc) < alone / 20);
    /* the third in a row stands alone again */
    assert_true(create_series(3, in_base("series/2.ska"), 2, &err, &rc) > alone / 2);
    for (int i = 0; i < 4; i++) {
        char name[32], archive[32];
        snprintf(name, sizeof name, "series/set%d", i);
        snprintf(archive, sizeof archive, "series/%d.ska", i);
        if (sk_archive_extract(in_base(archive), in_base("back"), NULL, NULL, &err))
            fail_msg("%s", err.text);
        assert_true(same_file(in_base(name), in_base("back/state")));
    }
}

static void a_series_with_a_gap_is_an_error(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    int rc;
    assert_int_equal(rename(in_base("series/0.ska"), in_base("series/gone")), 0);
    assert_int_equal(sk_archive_extract(in_base("series/2.ska"), NULL, NULL, NULL, &err),
                     SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "0.ska"));
    /* another archive of that name is not taken for it */
    make_series(0);
    assert_int_equal(sk_io_rename(in_base("series/3.ska"), in_base("series/0.ska"), &err), 0);
    assert_int_equal(sk_archive_extract(in_base("series/2.ska"), NULL, NULL, NULL, &err),
                     SAIKAI_EDAMAGED);
    assert_int_equal(rename(in_base("series/gone"), in_base("series/0.ska")), 0);
    assert_int_equal(sk_archive_extract(in_base("series/2.ska"), NULL, NULL, NULL, &err), 0);
    /* only an archive beside the new one will do */
    put_file("elsewhere/x", "x", 1);
    assert_int_equal(link(in_base("series/0.ska"), in_base("elsewhere/0.ska")), 0);
    create_series(1, in_base("elsewhere/0.ska"), 0, &err, &rc);
    assert_int_equal(rc, SAIKAI_EINVAL);
    create_series(1, in_base("series/1.ska"), 0, &err, &rc);
    assert_int_equal(rc, SAIKAI_EINVAL);
    create_series(1, in_base("series/missing.ska"), 0, &err, &rc);
    assert_int_equal(rc, SAIKAI_ENOENT);
}

/* ---- real checkpoints ---- */

static void list_tree(const char *dir, char (*list)[512], int *n, int max)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && *n < max && (e = readdir(d));) {
        char path[512];
        struct stat st;
        if (e->d_name[0] == '.' ||
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= (int)sizeof path)
            continue;
        if (stat(path, &st))
            continue;
        if (S_ISDIR(st.st_mode))
            list_tree(path, list, n, max);
        else
            memcpy(list[(*n)++], path, sizeof path);
    }
    if (d)
        closedir(d);
}

static void real_sets_come_back(void **state)
{
    static const char *const sets[] = {"enzo_collapse_np16", "nicam_gl05", "mitgcm_cs32_np12",
                                       "lammps_lj_np4_mpich", "ramses_sedov3d_np16"};
    static char list[512][512];
    const char *data = getenv("SAIKAI_DATA");
    int total = 0;
    for (int s = 0; data && *data && s < 5; s++) {
        struct saikai_error err = {0};
        struct sk_archive_input in[512];
        struct sk_archive_options o = {.memory_bytes = 64 << 20, .no_sync = 1};
        struct sk_extract_options x = {.no_sync = 1, .memory_bytes = 64 << 20};
        char dir[512], out[512];
        int n = 0;
        snprintf(dir, sizeof dir, "%s/checkpoints/%s", data, sets[s]);
        list_tree(dir, list, &n, 512);
        for (int i = 0; i < n; i++)
            in[i] = (struct sk_archive_input){.path = list[i], .name = list[i] + strlen(dir) + 1};
        total += n;
        if (n && sk_archive_create(in_base("set.ska"), in, (size_t)n, &o, NULL, &err))
            fail_msg("%s: %s", sets[s], err.text);
        snprintf(out, sizeof out, "%s", in_base("set"));
        if (n && sk_archive_extract(in_base("set.ska"), out, &x, NULL, &err))
            fail_msg("%s: %s", sets[s], err.text);
        for (int i = 0; i < n; i++) {
            char restored[1024];
            snprintf(restored, sizeof restored, "%s/%s", out, in[i].name);
            if (!same_file(in[i].path, restored))
                fail_msg("%s differs", in[i].path);
        }
        sk_io_rmtree(out, NULL);
    }
    if (!total)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scheme_gives_every_file_back),
        cmocka_unit_test(threads_do_not_change_the_archive),
        cmocka_unit_test(one_file_is_restored_alone),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(a_failed_write_leaves_the_old_archive),
        cmocka_unit_test(a_crash_leaves_a_whole_archive),
        cmocka_unit_test(a_failed_restore_leaves_no_file),
        cmocka_unit_test(a_set_that_is_still_written_is_refused),
        cmocka_unit_test(a_series_builds_on_the_set_before),
        cmocka_unit_test(a_series_with_a_gap_is_an_error),
        cmocka_unit_test(a_file_that_is_cut_while_it_is_listed_is_refused),
        cmocka_unit_test(real_sets_come_back),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
