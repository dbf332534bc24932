/* Archives made by one process: every scheme gives every file back, and damage, failed writes,
 * crashes and files that change meanwhile never give wrong ones. */
#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "base/host/fork_testing.h"
#include "base/log.h"
#include "reader/reader.h"
#include "archive/write/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/host/open_files_testing.h"

/* ---- files of several kinds ---- */

static double smooth(int i, int arg)
{
    (void)arg;
    return 300.0 + 0.01 * i + 1e-9 * (double)(noise() % 1000);
}

static const char *const names[] = {"s/a.nc",  "s/b.nc", "s/empty",  "s/one",
                                    "s/noise", "s/text", "s/cut.nc", "s/d/deep"};
enum { FILES = sizeof names / sizeof *names };

static void make_files(void)
{
    static uint8_t buf[400000];
    size_t n;
    lcg = 1;
    n = make_netcdf(buf, 20000, smooth, 0);
    put_file(at("s/a.nc"), buf, n);
    put_file(at("s/cut.nc"), buf, n / 2);
    n = make_netcdf(buf, 3000, smooth, 0);
    put_file(at("s/b.nc"), buf, n);
    put_file(at("s/empty"), buf, 0);
    put_file(at("s/one"), "x", 1);
    for (size_t i = 0; i < sizeof buf; i++)
        buf[i] = (uint8_t)noise();
    put_file(at("s/noise"), buf, sizeof buf);
    for (size_t i = 0; i < sizeof buf; i++)
        buf[i] = (uint8_t)("checkpoint "[i % 11]);
    put_file(at("s/text"), buf, 200000);
    put_file(at("s/d/deep"), buf, 12345);
}

static int create_all(const char *out, const struct sk_archive_options *o, struct saikai_error *err)
{
    struct sk_archive_input in[FILES];
    char paths[FILES][512];
    for (int i = 0; i < FILES; i++) {
        snprintf(paths[i], sizeof paths[i], "%s", at("%s", names[i]));
        in[i] = (struct sk_archive_input){.path = paths[i], .name = names[i]};
    }
    return sk_archive_create(out, in, FILES, o, NULL, err);
}

static void check_restored(const char *archive)
{
    struct saikai_error err = {0};
    char out[512], restored[1024];
    snprintf(out, sizeof out, "%s", at("out"));
    if (sk_archive_extract(archive, out, NULL, NULL, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < FILES; i++) {
        snprintf(restored, sizeof restored, "%s/%s", out, names[i]);
        if (!same_file(at("%s", names[i]), restored))
            fail_msg("%s differs", names[i]);
    }
    sk_io_rmtree(out, NULL);
}

static char said[4096];

static void note(void *arg, int level, const char *line)
{
    (void)arg;
    size_t n = strlen(said);
    if (level <= SK_LOG_INFO)
        snprintf(said + n, sizeof said - n, "%s\n", line);
}

/* Of a file that its reader does not understand it is told why it is archived as bytes alone; of others nothing. */
static void a_file_that_cannot_be_read_is_told(void **state)
{
    (void)state;
    static uint8_t buf[100000];
    struct sk_archive_options o = {.no_sync = 1};
    char path[2][512];
    size_t n = make_netcdf(buf, 3000, smooth, 0);
    put_file(at("whole.nc"), buf, n);
    put_file(at("cut.nc"), buf, 60);
    for (int i = 0; i < 2; i++)
        snprintf(path[i], sizeof path[i], "%s", at(i ? "cut.nc" : "whole.nc"));
    struct sk_archive_input in[] = {{.path = path[0], .name = "whole.nc"}, {.path = path[1], .name = "cut.nc"}};
    said[0] = 0;
    sk_log_set(note, NULL, SK_LOG_INFO);
    int rc = sk_archive_create(at("x.ska"), in, 2, &o, NULL, NULL);
    sk_log_set(NULL, NULL, 0);
    assert_int_equal(rc, 0);
    const char *told = strstr(said, "; archived without its structure\n");
    assert_true(told && strstr(said, "cut.nc"));
    assert_null(strstr(told + 1, "; archived without its structure\n")); /* once */
    assert_null(strstr(said, "whole.nc"));
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
            if (create_all(at("x.ska"), &o, &err))
                fail_msg("scheme %d: %s", scheme, err.text);
            check_restored(at("x.ska"));
        }
}

static void threads_do_not_change_the_archive(void **state)
{
    struct saikai_error err = {0};
    struct sk_archive_options one = {.threads = 1, .unit_bytes = 1 << 18, .no_sync = 1}, five = one;
    five.threads = 5;
    make_files();
    assert_int_equal(create_all(at("1.ska"), &one, &err), 0);
    assert_int_equal(create_all(at("5.ska"), &five, &err), 0);
    assert_true(same_file(at("1.ska"), at("5.ska")));
}

/* What could not be read back is not written. */
static void names_that_lead_elsewhere_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "/a", "a/", "a//b", "a/../b", "..", "./a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sk_archive_input in = {.name = bad[i], .data = "x", .bytes = 1};
        assert_int_equal(sk_archive_create(at("bad.ska"), &in, 1, NULL, NULL, NULL), SAIKAI_EINVAL);
        assert_int_not_equal(access(at("bad.ska"), F_OK), 0);
    }
}

static void one_file_is_restored_alone(void **state)
{
    struct saikai_error err = {0};
    struct sk_extract_options o = {.only = "s/b.*", .no_sync = 1};
    make_files();
    assert_int_equal(create_all(at("x.ska"), NULL, &err), 0);
    assert_int_equal(sk_archive_extract(at("x.ska"), at("alone"), &o, NULL, &err), 0);
    assert_true(same_file(at("s/b.nc"), at("alone/s/b.nc")));
    assert_int_not_equal(access(at("alone/s/a.nc"), F_OK), 0);
    o.only = "nothing";
    assert_int_equal(sk_archive_extract(at("x.ska"), at("alone"), &o, NULL, &err), SAIKAI_ENOENT);
}

/* What is below a directory is as it was; returns the number of files there, and removes it. */
static uint64_t expect_no_wrong_file(const char *dir)
{
    char restored[1024], path[512];
    uint64_t n = 0;
    snprintf(path, sizeof path, "%s", dir);
    for (int i = 0; i < FILES; i++) {
        snprintf(restored, sizeof restored, "%s/%s", path, names[i]);
        if (access(restored, F_OK))
            continue;
        n++;
        if (!same_file(at("%s", names[i]), restored))
            fail_msg("%s differs", names[i]);
    }
    sk_io_rmtree(path, NULL);
    return n;
}

struct told {
    int blocks, files;
};

static void count_damage(void *arg, const char *file, const char *why)
{
    struct told *t = arg;
    assert_true(!file != !why);
    t->files += file != NULL;
    t->blocks += why != NULL;
}

/* One wrong byte costs the files of its block; they are told, and all others come back. */
static void damage_costs_its_block_alone(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct sk_archive_options o = {
        .scheme = SK_SCHEME_AGNOSTIC, .backend = -1, .unit_bytes = 1 << 18, .no_sync = 1};
    char sentence[64];
    void *data = NULL;
    size_t n = 0, some = 0;
    make_files();
    assert_int_equal(create_all(at("x.ska"), &o, &err), 0);
    assert_int_equal(sk_io_slurp(at("x.ska"), 1 << 28, &data, &n, &err), 0);
    for (size_t i = 40; i + 2000 < n; i += n / 9) {
        struct told told = {0};
        struct sk_extract_options x = {.no_sync = 1, .arg = &told, .damaged = count_damage};
        struct sk_archive_stats st = {0};
        ((uint8_t *)data)[i] ^= 4;
        put_file(at("bad.ska"), data, n);
        ((uint8_t *)data)[i] ^= 4;
        assert_int_equal(sk_archive_extract(at("bad.ska"), at("bad"), &x, &st, &err),
                         SAIKAI_EDAMAGED);
        uint64_t back = expect_no_wrong_file(at("bad"));
        assert_int_equal(told.blocks, 1);
        assert_int_equal(back, st.files);
        assert_int_equal(back + (uint64_t)told.files, FILES);
        assert_true(told.files > 0);
        snprintf(sentence, sizeof sentence, "%d of %d files are damaged", told.files, FILES);
        assert_ptr_equal(strstr(err.text, sentence), err.text);
        some += back >= FILES / 2;
    }
    assert_true(some >= 5);
    free(data);
}

/* Whatever byte of the archive is wrong, no wrong file comes out. */
static void damage_is_found(void **state)
{
    struct saikai_error err = {0};
    void *data = NULL;
    size_t n = 0;
    int whole = 0;
    make_files();
    assert_int_equal(create_all(at("x.ska"), NULL, &err), 0);
    assert_int_equal(sk_io_slurp(at("x.ska"), 1 << 28, &data, &n, &err), 0);
    uint8_t *p = data;
    for (size_t i = 0; i < n; i += i < 16 || i + 64 > n ? 1 : n / 97) {
        if (i >= 12 && i < 16)
            continue; /* flags: reserved */
        p[i] ^= 0x10;
        put_file(at("bad.ska"), data, n);
        p[i] ^= 0x10;
        int rc = sk_archive_extract(at("bad.ska"), at("bad"), NULL, NULL, &err);
        /* what is there twice may be wrong once */
        if (rc && rc != SAIKAI_EDAMAGED)
            fail_msg("byte %zu of %zu: %d", i, n, rc);
        whole += !rc;
        expect_no_wrong_file(at("bad"));
    }
    assert_true(whole >= 12);
    for (size_t cut = 0; cut < n; cut += n / 50 + 1) {
        put_file(at("bad.ska"), data, cut);
        int rc = sk_archive_extract(at("bad.ska"), NULL, NULL, NULL, &err);
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
    assert_int_equal(create_all(at("x.ska"), &o, &err), 0);
    put_file(at("old.ska"), "", 0);
    rename(at("x.ska"), at("old.ska"));
    for (int i = 0, done = 0; !done; i++) {
        assert_true(i < 1000);
        put_file(at("y.ska"), "old", 3);
        countdown = i + 1;
        fail_with = ENOSPC;
        sk_io_hook = failing;
        int rc = create_all(at("y.ska"), &o, &err);
        done = countdown > 0;
        sk_io_hook = NULL;
        if (done) {
            assert_int_equal(rc, 0);
            assert_true(same_file(at("y.ska"), at("old.ska")));
            break;
        }
        /* whether others build on the old one is looked for as well as can be */
        if (rc != SAIKAI_ENOSPC)
            assert_int_equal(rc, 0);
        struct stat st;
        assert_int_equal(stat(at("y.ska"), &st), 0);
        /* the rename may have happened before the directory's sync failed: then the new one is
         * whole */
        if (!rc || st.st_size != 3)
            assert_true(same_file(at("y.ska"), at("old.ska")));
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
    assert_int_equal(create_all(at("new.ska"), &o, &err), 0);
    for (int i = 0; !finished; i++) {
        int status;
        assert_true(i < 1000);
        put_file(at("y.ska"), "old", 3);
        pid_t pid = sk_testing_fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            countdown = i + 1;
            sk_io_hook = dying;
            _exit(create_all(at("y.ska"), &o, NULL) ? 1 : 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
        finished = WEXITSTATUS(status) == 0;
        died += !finished;
        struct stat st;
        assert_int_equal(stat(at("y.ska"), &st), 0);
        if (finished || st.st_size != 3)
            assert_true(same_file(at("y.ska"), at("new.ska")));
    }
    assert_true(died > 5);
}

static int parts; /* unfinished files */
static int count_part(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st, (void)type, (void)f;
    parts += strstr(path, ".saikai-part") != NULL;
    return 0;
}

static void a_failed_restore_leaves_no_file(void **state)
{
    struct saikai_error err = {0};
    make_files();
    assert_int_equal(create_all(at("x.ska"), NULL, &err), 0);
    for (int i = 0, done = 0; !done && i < 2000; i++) {
        countdown = i + 1;
        fail_with = EIO;
        sk_io_hook = failing;
        int rc = sk_archive_extract(at("x.ska"), at("out"), NULL, NULL, &err);
        done = countdown > 0;
        sk_io_hook = NULL;
        assert_int_equal(rc, done ? 0 : SAIKAI_EIO);
        for (int k = 0; k < FILES; k++) {
            char restored[1024];
            snprintf(restored, sizeof restored, "%s/%s", at("out"), names[k]);
            if (!access(restored, F_OK) && !same_file(at("%s", names[k]), restored))
                fail_msg("I/O %d: a wrong %s", i, names[k]);
        }
        parts = 0;
        nftw(at("out"), count_part, 8, FTW_PHYS);
        assert_int_equal(parts, 0);
        sk_io_rmtree(at("out"), NULL);
    }
}

static int growing(const char *op, const char *path)
{
    static const char *grown;
    if (strcmp(op, "read") == 0 && strstr(path, "s/text") && grown != path) {
        grown = path;
        int fd = open(at("s/text"), O_WRONLY | O_APPEND);
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
    sk_io_unlink(at("x.ska"), NULL);
    sk_io_hook = growing;
    int rc = create_all(at("x.ska"), NULL, &err);
    sk_io_hook = NULL;
    assert_int_equal(rc, SAIKAI_ECHANGED);
    assert_non_null(strstr(err.text, "s/text"));
    assert_int_not_equal(access(at("x.ska"), F_OK), 0);
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
    put_file(at("cut/shrinks"), file, sizeof file);
    struct sk_archive_input in = {.path = at("cut/shrinks"), .name = "shrinks"};
    struct sk_archive_options o = {.no_sync = 1};
    reads = 0;
    sk_io_hook = shrinking;
    int rc = sk_archive_create(at("cut.ska"), &in, 1, &o, NULL, &err);
    sk_io_hook = NULL;
    assert_int_equal(rc, SAIKAI_ECHANGED);
    assert_non_null(strstr(err.text, "shrinks"));
    assert_int_not_equal(access(at("cut.ska"), F_OK), 0);
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
        if (n && sk_archive_create(at("set.ska"), in, (size_t)n, &o, NULL, &err))
            fail_msg("%s: %s", sets[s], err.text);
        snprintf(out, sizeof out, "%s", at("set"));
        if (n && sk_archive_extract(at("set.ska"), out, &x, NULL, &err))
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
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(every_scheme_gives_every_file_back),
        cmocka_unit_test(a_file_that_cannot_be_read_is_told),
        cmocka_unit_test(threads_do_not_change_the_archive),
        cmocka_unit_test(names_that_lead_elsewhere_are_refused),
        cmocka_unit_test(one_file_is_restored_alone),
        cmocka_unit_test(damage_costs_its_block_alone),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(a_failed_write_leaves_the_old_archive),
        cmocka_unit_test(a_crash_leaves_a_whole_archive),
        cmocka_unit_test(a_failed_restore_leaves_no_file),
        cmocka_unit_test(a_set_that_is_still_written_is_refused),
        cmocka_unit_test(a_file_that_is_cut_while_it_is_listed_is_refused),
        cmocka_unit_test(real_sets_come_back),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
