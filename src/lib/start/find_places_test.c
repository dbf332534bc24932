/* Where a start is to save to: the prefix as an absolute path, also where it cannot be made, the newest start that is found in it, and the
 * directory on the node. */
#include "lib/start/places.h"

#include "base/file/io.h"
#include "base/log.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

static char dir[64], said[4096];
static struct sk_group group = {.size = 2};
static struct sk_session s;
static struct sk_start st;
static struct saikai_error err;

static void note(void *arg, int level, const char *line)
{
    (void)arg;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%d %s\n", level, line);
}

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-find-places-XXXXXX");
    sk_log_set(note, NULL, SK_LOG_WARN);
    if (!mkdtemp(dir) || chdir(dir) || !getcwd(dir, sizeof dir))
        return -1;
    group.rank = 0;
    s = (struct sk_session){.g = &group};
    return sk_patience_new(0, &s.place.patience, NULL);
}

static int teardown(void **state)
{
    (void)state;
    sk_io_hook = NULL;
    sk_patience_free(s.place.patience);
    return chdir("/") || sk_io_rmtree(dir, NULL);
}

static void configure(const char *prefix, const char *local)
{
    sk_config_free(s.config);
    s.config = sk_config_new();
    assert_int_equal(sk_config_set(s.config, "store.prefix", prefix, SK_FROM_API, "", &err), 0);
    assert_int_equal(sk_config_set(s.config, "store.local", local, SK_FROM_API, "", &err), 0);
    *said = 0;
    err = (struct saikai_error){0};
}

static int find(const char *prefix)
{
    configure(prefix, "none");
    memset(&st, 0, sizeof st);
    int rc = sk_places_find_prefix(&s, &st, &err);
    sk_config_free(s.config);
    s.config = NULL;
    return rc;
}

/* The path below the test's folder. */
static void expect(const char *below)
{
    char whole[128];
    snprintf(whole, sizeof whole, "%s/%s", dir, below);
    if (strcmp(st.prefix, whole))
        fail_msg("'%s' in place of '%s'; %d '%s'", st.prefix, whole, err.code, err.text);
}

static int trouble;

static int cannot_make(const char *op, const char *path)
{
    return !strcmp(op, "mkdir") && access(path, F_OK) ? trouble : 0;
}

static void it_is_made_and_absolute(void **state)
{
    (void)state;
    char path[128];
    assert_int_equal(find("none"), 0);
    assert_true(!*st.prefix && sk_path_is_none("none") && !sk_path_is_none("./none") && !sk_path_is_none(""));
    assert_int_equal(find("here/and/there"), 0);
    expect("here/and/there");
    assert_true(!access("here/and/there", F_OK) && !*said);
    assert_int_equal(symlink("here", "link"), 0);
    assert_int_equal(find("link/and/"), 0);
    expect("here/and");
    snprintf(path, sizeof path, "%s/here", dir);
    assert_int_equal(find(path), 0);
    expect("here");
    assert_int_equal(sk_io_replace("file", "", 0, NULL), 0);
    assert_true(find("file") < 0 && !*st.prefix && strstr(err.text, "file"));
    assert_true(find("file/below") < 0 && !*st.prefix && err.sys_errno == ENOTDIR);
}

/* What cannot be made now has its name all the same, however it was written. */
static void it_has_a_name_before_it_can_be_made(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"here", "here"}, {"./here", "here"}, {"here/", "here"}, {"./here//", "here"}, {"a/b", "a/b"}, {".hidden", ".hidden"}};
    static const int passing[] = {ENOSPC, EDQUOT, EROFS};
    char path[128];
    sk_io_hook = cannot_make;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        trouble = passing[i % 3];
        assert_int_equal(find(names[i][0]), 0);
        expect(names[i][1]);
        assert_true(said[0] == '1' && strstr(said, "; going on without it until it can be made\n"));
        trouble = EIO; /* nobody knows what is there */
        assert_int_equal(find(names[i][0]), SAIKAI_EIO);
        expect(names[i][1]);
        assert_true(!*said && err.code == SAIKAI_EIO);
    }
    trouble = ENOSPC;
    snprintf(path, sizeof path, "%s/there/", dir);
    assert_int_equal(find(path), 0);
    expect("there");
    sk_io_hook = NULL;
    assert_int_equal(find("here"), 0);
    sk_io_hook = cannot_make; /* which is there by now */
    assert_int_equal(find("here"), 0);
    expect("here");
    assert_string_equal(said, "");
}

static void too_long_a_name(void **state)
{
    (void)state;
    static char name[PATH_MAX + 100];
    memset(name, 'n', sizeof name - 1);
    for (size_t i = 0; i < sizeof name - 1; i += 100)
        name[i] = '/';
    name[PATH_MAX - 100] = 0;
    trouble = EIO;
    sk_io_hook = cannot_make;
    assert_true(find(name) < 0);
}

static void put(const char *below, uint32_t start, int rank)
{
    char path[192];
    snprintf(path, sizeof path, "%s/%s/gen-%04u-000000000010-0", dir, below, start);
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    snprintf(path + strlen(path), sizeof path - strlen(path), "/rank-%06d.skc", rank);
    assert_int_equal(sk_io_replace(path, "x", 1, NULL), 0);
}

static int cannot_list(const char *op, const char *path)
{
    (void)path;
    return !strcmp(op, "opendir") ? EIO : 0;
}

/* Rank 0 looks at the files of all ranks, the others at their own. */
static void the_newest_start_in_it(void **state)
{
    (void)state;
    int64_t newest = 2;
    snprintf(s.place.prefix_root, sizeof s.place.prefix_root, "%s/prefix", dir);
    assert_true(!sk_places_scan_prefix(&s, &newest, &err) && newest == 2);
    put("prefix", 3, 1);
    put("prefix", 7, 5);
    assert_true(!sk_places_scan_prefix(&s, &newest, &err) && newest == 7);
    newest = 9;
    assert_true(!sk_places_scan_prefix(&s, &newest, &err) && newest == 9); /* it has been seen elsewhere */
    group.rank = 1;
    newest = 0;
    assert_true(!sk_places_scan_prefix(&s, &newest, &err) && newest == 3);
    sk_io_hook = cannot_list;
    newest = 1;
    assert_int_equal(sk_places_scan_prefix(&s, &newest, &err), SAIKAI_EIO);
    assert_true(newest == 1 && strstr(err.text, s.place.prefix_root));
}

static int make_local(const char *local, const char *prefix, const char *old)
{
    configure("none", local);
    s.place.local_root[0] = s.place.prefix_root[0] = 0;
    memset(&st, 0, sizeof st);
    strcpy(st.prefix, prefix);
    strcpy(st.local, "job-1");
    strcpy(st.old_local, old);
    int rc = sk_places_make_local(&s, &st, &err);
    sk_config_free(s.config);
    s.config = NULL;
    return rc;
}

static int no_new_name(const char *op, const char *path)
{
    (void)path;
    return !strcmp(op, "rename") ? EIO : 0;
}

static void the_directory_on_the_node(void **state)
{
    (void)state;
    char root[128], path[160];
    snprintf(root, sizeof root, "%s/node/saikai-%ld/job-1", dir, (long)geteuid());
    assert_int_equal(make_local("none", "", ""), SAIKAI_ECONFIG);
    assert_string_equal(err.text, "store.local and store.prefix are both 'none': there is nowhere to save to");
    assert_int_equal(make_local("none", "/far", ""), 0);
    assert_true(!strcmp(s.place.local_root, "/far") && !strcmp(s.place.prefix_root, "/far"));
    assert_int_equal(make_local("node", "/far", ""), 0);
    assert_string_equal(s.place.local_root, root);
    assert_string_equal(s.place.prefix_root, "/far");
    assert_int_equal(access(root, F_OK), 0);
    assert_int_equal(make_local("node", "", "old"), 0); /* there is nothing old */
    assert_string_equal(s.place.prefix_root, "");
    /* what an older version left has another name from now on, or it is said why not */
    snprintf(path, sizeof path, "%s/node/saikai-%ld/old/file", dir, (long)geteuid());
    assert_int_equal(rmdir(root), 0);
    *strrchr(path, '/') = 0;
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    strcat(path, "/file");
    assert_int_equal(sk_io_replace(path, "", 0, NULL), 0);
    sk_io_hook = no_new_name;
    assert_int_equal(make_local("node", "", "old"), SAIKAI_EIO);
    assert_true(err.code == SAIKAI_EIO && strstr(err.text, "/job-1"));
    sk_io_hook = NULL;
    assert_int_equal(make_local("node", "", "old"), 0);
    strcat(root, "/file");
    assert_true(!access(root, F_OK) && access(path, F_OK));
    assert_int_equal(sk_io_replace("file", "", 0, NULL), 0);
    assert_true(make_local("file/below", "/far", "") < 0 && err.code && strstr(err.text, "file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(it_is_made_and_absolute),
        cmocka_unit_test(remember_open_files),
        TEST(it_has_a_name_before_it_can_be_made), TEST(too_long_a_name), TEST(the_newest_start_in_it), TEST(the_directory_on_the_node),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
