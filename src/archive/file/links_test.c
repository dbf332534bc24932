/* What is restored goes below the directory that was asked for, whatever links an archive, or somebody else, has put there. */
#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "archive/write/testing.h"

#include <sys/stat.h>

#include "base/host/open_files_testing.h"

enum { MTIME = 1000000000 };

/* Files with their names as contents, and what else is in the archive. */
static void make(const char *archive, const char *const *names, size_t count, struct sk_ska_entry *entries, size_t n)
{
    struct sk_archive_input in[4];
    struct sk_archive_options o = {.entries = entries, .entry_count = n, .no_sync = 1, .threads = 1};
    struct saikai_error err = {0};
    for (size_t i = 0; i < count; i++)
        in[i] = (struct sk_archive_input){.name = names[i], .data = names[i], .bytes = strlen(names[i])};
    if (sk_archive_create(archive, in, count, &o, NULL, &err))
        fail_msg("%s", err.text);
}

static void extract_refused(const char *archive, const char *says)
{
    struct saikai_error err = {0};
    assert_int_equal(sk_archive_extract(archive, at("out"), NULL, NULL, &err), SAIKAI_EEXIST);
    if (!strstr(err.text, says) || !strstr(err.text, "restore elsewhere"))
        fail_msg("%s", err.text);
}

static void extract_good(const char *archive)
{
    struct saikai_error err = {0};
    if (sk_archive_extract(archive, at("out"), NULL, NULL, &err))
        fail_msg("%s", err.text);
}

static void somewhere_else(void)
{
    sk_io_rmtree(at("else"), NULL);
    sk_io_rmtree(at("out"), NULL);
    put_file(at("else/theirs"), "theirs", 6);
    put_file(at("else/sub/theirs"), "theirs", 6);
    assert_int_equal(chmod(at("else"), 0711), 0);
}

static void nothing_came_there(void)
{
    void *data;
    size_t n;
    struct stat st;
    assert_int_equal(count_files(at("else")), 2);
    assert_int_equal(count_files(at("else/sub")), 1);
    assert_int_equal(stat(at("else"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0711);
    assert_int_not_equal(st.st_mtim.tv_sec, MTIME);
    assert_int_equal(stat(at("else/theirs"), &st), 0);
    assert_int_equal(st.st_nlink, 1);
    assert_int_equal(sk_io_slurp(at("else/theirs"), 100, &data, &n, NULL), 0);
    assert_int_equal(n, 6);
    assert_memory_equal(data, "theirs", 6);
    free(data);
}

/* An archive leaves a link, and the next one has files, links and directories below it. */
static void an_archive_before_leads_nowhere(void **state)
{
    (void)state;
    static const char *const file[] = {"d/x"}, *const deep[] = {"d/sub/theirs"}, *const other[] = {"file"};
    struct sk_ska_entry link = {"d", (char *)(uintptr_t)at("else"), SK_ENTRY_SYMLINK, 0777, 0};
    struct sk_ska_entry through[] = {{"d/link", "x", SK_ENTRY_SYMLINK, 0777, 0}}, hard[] = {{"d/hard", "file", SK_ENTRY_HARD_LINK, 0, 0}};
    struct sk_ska_entry directory[] = {{"d", NULL, SK_ENTRY_DIRECTORY, 0700, (int64_t)MTIME * 1000000000}},
                        below[] = {{"d/sub/new", NULL, SK_ENTRY_DIRECTORY, 0700, 0}};
    make(at("link.ska"), NULL, 0, &link, 1);
    make(at("1.ska"), file, 1, NULL, 0);
    make(at("2.ska"), deep, 1, NULL, 0);
    make(at("3.ska"), other, 1, through, 1);
    make(at("4.ska"), other, 1, hard, 1);
    make(at("5.ska"), other, 1, directory, 1);
    make(at("6.ska"), other, 1, below, 1);
    for (int i = 1; i <= 6; i++) {
        somewhere_else();
        extract_good(at("link.ska"));
        extract_refused(at("%d.ska", i), "/out/d is a link");
        nothing_came_there();
        assert_int_equal(unlink(at("out/d")), 0);
        extract_good(at("%d.ska", i));
    }
    sk_io_rmtree(at("out"), NULL);
}

/* All in one archive: links come last, and one does not lead the next one. */
static void an_archive_does_not_lead_itself(void **state)
{
    (void)state;
    static const char *const names[] = {"file"};
    struct sk_ska_entry entries[] = {{"d", (char *)(uintptr_t)at("else"), SK_ENTRY_SYMLINK, 0777, 0}, {"d/link", "x", SK_ENTRY_SYMLINK, 0777, 0}};
    somewhere_else();
    make(at("self.ska"), names, 1, entries, 2);
    extract_refused(at("self.ska"), "/out/d is a link");
    nothing_came_there();
    sk_io_rmtree(at("out"), NULL);
}

/* Somebody puts a link in the place of each temporary file right before it is made. */
static int planted;
static int plant(const char *op, const char *path)
{
    struct stat st;
    if (!strcmp(op, "open") && strstr(path, ".saikai-part") && lstat(path, &st))
        planted += !symlink(at("else/theirs"), path);
    return 0;
}

/* A link in the place of a temporary file goes; of a file it stays, and nothing is restored. */
static void links_in_the_place_of_files(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b/c"};
    struct stat st;
    make(at("x.ska"), names, 2, NULL, 0);
    for (int i = 0; i < 2; i++) {
        somewhere_else();
        sk_io_mkdirs(at("out/b"), NULL);
        planted = 0;
        sk_io_hook = plant;
        extract_good(at("x.ska"));
        sk_io_hook = NULL;
        assert_int_equal(planted, 2);
        nothing_came_there();
        assert_int_equal(lstat(at("out/%s", names[i]), &st), 0);
        assert_true(S_ISREG(st.st_mode));
        assert_int_equal(count_files(at("out")) + count_files(at("out/b")), 2 + 1); /* one is the directory */
        assert_int_equal(unlink(at("out/%s", names[i])), 0);
        assert_int_equal(symlink(at("else/theirs"), at("out/%s", names[i])), 0);
        extract_refused(at("x.ska"), "it is a link");
        nothing_came_there();
        assert_int_equal(unlink(at("out/%s", names[i])), 0);
    }
    sk_io_rmtree(at("out"), NULL);
}

/* Somebody puts a link in the place of a directory while files are written: what was refused leaves no temporary file either. */
static void put_link(void)
{
    rename(at("out/b"), at("moved"));
    if (symlink(at("else"), at("out/b")))
        fail_msg("no link");
}
static int swap_hook(const char *op, const char *path)
{
    static int done;
    if (done || strcmp(op, "write") || !strstr(path, "/out/b/"))
        return 0;
    done = 1;
    put_link();
    return 0;
}
static void links_that_come_meanwhile(void **state)
{
    (void)state;
    static const char *const names[] = {"b/c"};
    make(at("x.ska"), names, 1, NULL, 0);
    somewhere_else();
    sk_io_hook = swap_hook;
    extract_refused(at("x.ska"), "/out/b is a link");
    sk_io_hook = NULL;
    nothing_came_there();
    sk_io_rmtree(at("out"), NULL);
}

/* The directory that was asked for, and those above it, may be links: whoever runs it has named them. */
static void the_directory_itself_may_be_a_link(void **state)
{
    (void)state;
    static const char *const names[] = {"b/c"};
    make(at("x.ska"), names, 1, NULL, 0);
    sk_io_rmtree(at("out"), NULL);
    sk_io_mkdirs(at("real"), NULL);
    assert_int_equal(symlink(at("real"), at("out")), 0);
    extract_good(at("x.ska"));
    assert_int_equal(access(at("real/b/c"), F_OK), 0);
    assert_int_equal(unlink(at("out")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(an_archive_before_leads_nowhere),
        cmocka_unit_test(an_archive_does_not_lead_itself),
        cmocka_unit_test(links_in_the_place_of_files),
        cmocka_unit_test(links_that_come_meanwhile),
        cmocka_unit_test(the_directory_itself_may_be_a_link),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
