/* Many restored files, which are synced together: all have their names in the end, also with few descriptors, none before all of them are on
 * the disk, and after a failure nothing stays open or unfinished. */
#include "archive/read/extract.h"
#include "archive/write/create.h"
#include "archive/write/testing.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/host/open_files_testing.h"

enum { FILES = 150 };
static char name[FILES][16];

static void make(void)
{
    struct sk_archive_input in[FILES];
    for (int i = 0; i < FILES; i++) {
        snprintf(name[i], sizeof name[i], "many/%d", i);
        in[i] = (struct sk_archive_input){.name = name[i], .data = name[i], .bytes = strlen(name[i])};
    }
    assert_int_equal(sk_archive_create(at("many.ska"), in, FILES, &(struct sk_archive_options){.no_sync = 1, .threads = 1}, NULL, NULL), 0);
}

static int extract(void)
{
    return sk_archive_extract(at("many.ska"), at("out"), &(struct sk_extract_options){.threads = 1}, NULL, NULL);
}

static int limit(rlim_t descriptors)
{
    struct rlimit l;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
    int was = (int)l.rlim_cur;
    l.rlim_cur = descriptors;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
    return was;
}

static void all_get_their_names(void **state)
{
    (void)state;
    make();
    for (int few = 0; few < 2; few++) {
        int was = few ? limit(20) : 0, rc = extract();
        if (few)
            limit((rlim_t)was);
        assert_int_equal(rc, 0);
        assert_int_equal(count_files(at("out/many")), FILES);
        for (int i = 0; i < FILES; i++) {
            void *back;
            size_t n;
            assert_int_equal(sk_io_slurp(at("out/%s", name[i]), 100, &back, &n, NULL), 0);
            assert_int_equal(n, strlen(name[i]));
            assert_memory_equal(back, name[i], n);
            free(back);
        }
        sk_io_rmtree(at("out"), NULL);
    }
}

static atomic_int syncs, named, too_early; /* readers' threads open files, too */
static int note_order(const char *op, const char *path)
{
    if (strncmp(path, base, strlen(base)))
        return 0;
    named += !strcmp(op, "rename");
    too_early += !strcmp(op, "rename") && !syncs;
    syncs += !strcmp(op, "fsync");
    return 0;
}

/* Together, and not one after another; before they are named, and once more. */
static void they_are_on_the_disk_first(void **state)
{
    (void)state;
    make();
    syncs = 0;
    named = 0;
    too_early = 0;
    sk_io_hook = note_order;
    int rc = extract();
    sk_io_hook = NULL;
    assert_int_equal(rc, 0);
    assert_int_equal(named, FILES);
    assert_int_equal(too_early, 0);
    assert_int_equal(syncs, 2);
    sk_io_rmtree(at("out"), NULL);
}

static atomic_int countdown, renamed;
static const char *which;
static int fail_at(const char *op, const char *path)
{
    (void)path;
    renamed += !strcmp(op, "rename");
    return !strcmp(op, which) && !--countdown ? EIO : 0;
}

static void a_failure_leaves_what_has_its_name(void **state)
{
    (void)state;
    static const char *const ops[] = {"fsync", "rename"};
    make();
    for (int k = 0; k < 2; k++)
        for (int i = 1; i <= (k ? FILES : 2); i += k ? 7 : 1) {
            which = ops[k];
            countdown = i;
            renamed = 0;
            sk_io_hook = fail_at;
            int rc = extract();
            sk_io_hook = NULL;
            assert_int_equal(rc, SAIKAI_EIO);
            assert_int_equal(count_files(at("out/many")), renamed - k); /* no unfinished one beside them */
            sk_io_rmtree(at("out"), NULL);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(all_get_their_names),
        cmocka_unit_test(they_are_on_the_disk_first),
        cmocka_unit_test(a_failure_leaves_what_has_its_name),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
