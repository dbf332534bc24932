/* Directories and files of a user stay private in a shared place: names taken by others, umask,
 * modes, what vanished, and syncing. */
#include "store/owner/private.h"

#include "base/file/io.h"
#include "base/log.h"
#include "base/file/modes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host/open_files_testing.h"

static char dir[64], logged[1024];

static void keep_log(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    snprintf(logged, sizeof logged, "%s", line);
}

static int set_up(void **state)
{
    strcpy(dir, "/tmp/saikai-private-XXXXXX");
    *logged = 0;
    sk_log_set(keep_log, NULL, SK_LOG_NOTICE);
    return mkdtemp(dir) && !chmod(dir, 01777) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];
    sk_modes_set(0);
    sk_modes_guard(NULL);
    umask(022);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static const char *nth(int i)
{
    static char path[2][256];
    static int k;
    char *p = path[k++ % 2];
    snprintf(p, 256, i ? "%s/saikai-%ld-%d" : "%s/saikai-%ld", dir, (long)geteuid(), i);
    return p;
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static void expect(int i)
{
    char got[PATH_MAX];
    struct saikai_error err = {0};
    assert_int_equal(sk_private_dir(dir, 1, got, sizeof got, &err), 0);
    assert_string_equal(got, nth(i));
    assert_int_equal(mode_of(got), 0700);
    assert_int_equal(sk_private_dir(dir, 0, got, sizeof got, &err), 0); /* a tool finds the same */
    assert_string_equal(got, nth(i));
}

static void the_plain_name_is_taken_where_it_is_free(void **state)
{
    char got[PATH_MAX];
    umask(0);
    assert_int_equal(sk_private_dir(dir, 0, got, sizeof got, NULL), SAIKAI_ENOENT);
    expect(0);
    expect(0);
    assert_int_equal(chmod(nth(0), 0755), 0); /* as an earlier version left it */
    expect(0);
    sk_modes_set(SK_MODE_GROUP); /* a job that lets its group read; what a tool leaves as it is */
    assert_int_equal(sk_private_dir(dir, 1, got, sizeof got, NULL), 0);
    assert_int_equal(mode_of(got), 0750);
    sk_modes_set(0);
    assert_int_equal(sk_private_dir(dir, 0, got, sizeof got, NULL), 0);
    assert_int_equal(mode_of(got), 0750);
    assert_string_equal(logged, "");
}

static void what_is_somebody_elses_is_left_alone(void **state)
{
    assert_int_equal(symlink("/etc", nth(0)), 0);
    close(open(nth(1), O_WRONLY | O_CREAT, 0600));
    if (!geteuid()) { /* and a directory that belongs to another user */
        assert_int_equal(mkdir(nth(2), 0777), 0);
        assert_int_equal(chown(nth(2), 65534, 65534), 0);
        expect(3);
    } else {
        expect(2);
    }
    assert_non_null(strstr(logged, "is, or was, somebody else's"));
    assert_int_equal(unlink(nth(0)), 0); /* the next start still finds what was kept */
    expect(geteuid() ? 2 : 3);
}

static void files_and_directories_are_private_whatever_the_umask_says(void **state)
{
    char path[300], file[320];
    const mode_t masks[] = {0, 022, 077, 0177};
    struct saikai_error err = {0};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        umask(masks[i]);
        sk_modes_set(SK_MODE_PRIVATE);
        snprintf(path, sizeof path, "%s/new%zu/deep/down", dir, i);
        snprintf(file, sizeof file, "%s/file", path);
        assert_int_equal(sk_io_mkdirs(path, &err), 0);
        assert_int_equal(sk_io_replace(file, "x", 1, &err), 0);
        assert_int_equal(mode_of(path), 0700);
        assert_int_equal(mode_of(file), 0600);
        *strrchr(path, '/') = 0;
        assert_int_equal(mode_of(path), 0700);
        int mode;
        assert_int_equal(sk_modes_parse("group", &mode, &err), 0);
        sk_modes_set(mode);
        assert_int_equal(sk_io_replace(file, "y", 1, &err), 0);
        assert_int_equal(mode_of(file), 0640);
        snprintf(path, sizeof path, "%s/group%zu", dir, i);
        assert_int_equal(sk_io_mkdirs(path, &err), 0);
        assert_int_equal(mode_of(path), 0750);
        sk_modes_set(02770);
        snprintf(path, sizeof path, "%s/shared%zu", dir, i);
        assert_int_equal(sk_io_mkdirs(path, &err), 0);
        assert_int_equal(mode_of(path), 02770);
    }
    umask(027);
    sk_modes_set(0); /* a tool */
    snprintf(file, sizeof file, "%s/new0/deep/file", dir);
    assert_int_equal(sk_io_replace(file, "z", 1, &err), 0);
    assert_int_equal(mode_of(file), 0640); /* by the umask, when it is new */
    assert_int_equal(chmod(file, 0600), 0);
    assert_int_equal(sk_io_replace(file, "z", 1, &err), 0);
    assert_int_equal(mode_of(file), 0600); /* as it was */
    snprintf(path, sizeof path, "%s/plain", dir);
    assert_int_equal(sk_io_mkdirs(path, &err), 0);
    assert_int_equal(mode_of(path), 0750);
}

static void modes_are_words_or_octal(void **state)
{
    struct saikai_error err = {0};
    int mode = 0;
    assert_int_equal(sk_modes_parse("private", &mode, &err), 0);
    assert_int_equal(mode, 0700);
    assert_int_equal(sk_modes_parse("2770", &mode, &err), 0);
    assert_int_equal(mode, 02770);
    const char *const bad[] = {"", "public", "0600", "0800", "-700", "0700x", "77777"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sk_modes_parse(bad[i], &mode, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "store.mode"));
}

/* All names are somebody else's: it is said what to do. */
static void no_name_is_left(void **state)
{
    char got[PATH_MAX];
    struct saikai_error err = {0};
    for (int i = 0; i < 99; i++)
        close(open(nth(i), O_WRONLY | O_CREAT, 0600));
    expect(99);
    assert_int_equal(rmdir(nth(99)), 0);
    close(open(nth(99), O_WRONLY | O_CREAT, 0600));
    assert_int_equal(sk_private_dir(dir, 1, got, sizeof got, &err), SAIKAI_EAUTH);
    assert_true(strstr(err.text, nth(99)) && strstr(err.text, "are taken by others: set store.local"));
    assert_int_equal(sk_private_dir(dir, 0, got, sizeof got, &err), SAIKAI_ENOENT);
    assert_non_null(strstr(err.text, "no directory of this user"));
}

static int no_room(const char *op, const char *path)
{
    (void)path;
    return strcmp(op, "mkdir") ? 0 : ENOSPC;
}

/* It cannot be made: it is said which key chooses the place. The group that new files get stays as it was set. */
static void it_cannot_be_made(void **state)
{
    char got[PATH_MAX];
    struct saikai_error err = {0};
    sk_io_hook = no_room;
    int rc = sk_private_dir(dir, 1, got, sizeof got, &err);
    sk_io_hook = NULL;
    assert_int_equal(rc, SAIKAI_ENOSPC);
    assert_true(strstr(err.text, nth(0)) && strstr(err.text, "(store.local)"));
    assert_int_equal(mkdir(nth(0), 0777), 0);
    assert_int_equal(chmod(nth(0), 02777), 0);
    assert_int_equal(sk_private_dir(dir, 1, got, sizeof got, &err), 0);
    assert_int_equal(mode_of(got), 02700);
}

/* What vanished while a job ran comes back as private as it was; when another was faster, nothing is
 * made in theirs. */
static void what_vanished_comes_back_private_or_not_at_all(void **state)
{
    char own[PATH_MAX], gen[PATH_MAX + 32];
    struct saikai_error err = {0};
    umask(022);
    sk_modes_set(SK_MODE_PRIVATE);
    assert_int_equal(sk_private_dir(dir, 1, own, sizeof own, &err), 0);
    snprintf(gen, sizeof gen, "%s/job/gen-1", own);
    assert_int_equal(rmdir(own), 0);
    assert_int_equal(sk_io_mkdirs(gen, &err), 0);
    assert_int_equal(mode_of(own), 0700);
    assert_int_equal(mode_of(gen), 0700);
    assert_int_equal(sk_io_rmtree(own, &err), 0);
    assert_int_equal(symlink("/tmp", own), 0);
    assert_int_equal(sk_io_mkdirs(gen, &err), SAIKAI_EAUTH);
    assert_non_null(strstr(err.text, own));
    if (!geteuid()) {
        unlink(own);
        assert_int_equal(mkdir(own, 0777), 0);
        assert_int_equal(chown(own, 65534, 65534), 0);
        assert_int_equal(sk_io_mkdirs(gen, &err), SAIKAI_EAUTH);
        assert_non_null(strstr(err.text, "user 65534"));
    }
}

/* ---- syncing ---- */

static char synced[4096];

static int note_sync(const char *op, const char *path)
{
    size_t n = strlen(synced);
    if (!strcmp(op, "fsync"))
        snprintf(synced + n, sizeof synced - n, "%s\n", path);
    return 0;
}

static void each_new_level_is_synced_into_its_parent(void **state)
{
    char path[256], expected[512];
    struct saikai_error err = {0};
    *synced = 0;
    snprintf(path, sizeof path, "%s/a/b", dir);
    sk_io_hook = note_sync;
    int rc = sk_io_mkdirs_lasting(path, &err);
    int again = sk_io_mkdirs_lasting(path, &err);
    sk_io_hook = NULL;
    assert_int_equal(rc, 0);
    assert_int_equal(again, 0);
    snprintf(expected, sizeof expected, "%s\n%s/a\n", dir, dir);
    assert_string_equal(synced, expected); /* and nothing for what was there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(the_plain_name_is_taken_where_it_is_free, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_somebody_elses_is_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_and_directories_are_private_whatever_the_umask_says,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(modes_are_words_or_octal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_name_is_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_cannot_be_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_vanished_comes_back_private_or_not_at_all, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_new_level_is_synced_into_its_parent, set_up, tear_down),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
