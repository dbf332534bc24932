/* Listing a local directory: what is ours, in which order, and removing it. */
#include "store/holdings.h"

#include "base/file/io.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

static char dir[64];

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-holdings-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int finish(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static void put(const char *path)
{
    char full[PATH_MAX], *slash;
    snprintf(full, sizeof full, "%s/%s", dir, path);
    slash = strrchr(full, '/');
    *slash = 0;
    assert_int_equal(sk_io_mkdirs(full, NULL), 0);
    *slash = '/';
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fclose(f);
}

static int there(const char *path)
{
    char full[PATH_MAX];
    snprintf(full, sizeof full, "%s/%s", dir, path);
    return !access(full, F_OK);
}

static void test_names_and_order(void **state)
{
    char path[PATH_MAX];
    struct sk_parity_set set = {{1, 20, 0}, 3};
    (void)state;
    assert_int_equal(sk_parity_set_path("/r", set, 12, path, sizeof path, NULL), 0);
    assert_string_equal(path, "/r/gen-0001-000000000020-0/parity-000012-0003.skp");
    put("gen-0001-000000000020-0/parity-000012-0003.skp");
    put("gen-0001-000000000020-0/parity-000002-0001.skp");
    put("gen-0001-000000000020-0/rank-000012.skc");
    put("gen-0002-000000000010-0/rank-000001.skc");
    put("gen-0001-000000000030-1/parity-000000-0001.skp");
    /* not ours, or not finished */
    put("gen-0001-000000000020-0/parity-000012-0003.skp.new");
    put("gen-0001-000000000020-0/rank-000012.skc.rebuilding");
    put("gen-0001-000000000020-0/parity-000012-0000.skp");
    put("gen-0001-000000000020-0/parity--00012-0001.skp");
    put("gen-1-20-0/rank-000000.skc");
    put("slot-0001-000000-0.tmp");
    struct sk_holdings h;
    assert_int_equal(sk_holdings_scan(dir, &h, NULL), 0);
    static const struct sk_holding_entry want[] = {{{2, 10, 0}, 1, 0},
                                                   {{1, 30, 1}, 0, 1},
                                                   {{1, 20, 0}, 12, 3},
                                                   {{1, 20, 0}, 2, 1},
                                                   {{1, 20, 0}, 12, 0}};
    assert_int_equal(h.count, 5);
    for (size_t i = 0; i < h.count; i++) {
        assert_int_equal(sk_gen_key(h.entry[i].gen), sk_gen_key(want[i].gen));
        assert_int_equal(h.entry[i].rank, want[i].rank);
        assert_int_equal(h.entry[i].coder, want[i].coder);
    }
    sk_holdings_free(&h);
}

static void test_remove(void **state)
{
    struct sk_holding_entry data = {{1, 20, 0}, 1, 0}, parity = {{1, 20, 0}, 1, 2};
    (void)state;
    put("gen-0001-000000000020-0/rank-000001.skc");
    put("gen-0001-000000000020-0/parity-000001-0002.skp");
    assert_int_equal(sk_holdings_remove(dir, &data, NULL), 0);
    assert_true(there("gen-0001-000000000020-0/parity-000001-0002.skp"));
    assert_int_equal(sk_holdings_remove(dir, &parity, NULL), 0);
    assert_false(there("gen-0001-000000000020-0"));
    assert_int_equal(sk_holdings_remove(dir, &parity, NULL), 0);
    /* of a rank, with its spare file; and of ranks beyond the last one */
    put("gen-0001-000000000020-0/rank-000001.skc");
    put("gen-0001-000000000020-0/rank-000002.skc");
    put("gen-0001-000000000020-0/parity-000009-0002.skp");
    put("spare-000001.skp");
    put("spare-000002.skp");
    sk_holdings_remove_rank(dir, 1, 4);
    assert_true(there("gen-0001-000000000020-0/rank-000002.skc") && there("spare-000002.skp"));
    assert_false(there("gen-0001-000000000020-0/rank-000001.skc"));
    assert_false(there("gen-0001-000000000020-0/parity-000009-0002.skp"));
    assert_false(there("spare-000001.skp"));
}

/* More than one page of the list holds, in order of ranks within each set. */
static void test_many(void **state)
{
    struct sk_holdings h;
    (void)state;
    for (int i = 0; i < 50; i++) {
        char path[64];
        snprintf(path, sizeof path, "gen-0001-000000000020-0/rank-%06d.skc", i * 7 % 50);
        put(path);
        snprintf(path, sizeof path, "gen-0001-000000000020-0/parity-%06d-0002.skp", i * 11 % 50);
        put(path);
    }
    assert_int_equal(sk_holdings_scan(dir, &h, NULL), 0);
    assert_int_equal(h.count, 100);
    for (int i = 0; i < 100; i++)
        assert_true(h.entry[i].rank == i % 50 && h.entry[i].coder == (i < 50 ? 2 : 0));
    sk_holdings_free(&h);
    assert_true(!h.entry && !h.count);
}

/* No directory at all: it is said, and nothing is removed. */
static void test_no_directory(void **state)
{
    struct sk_holdings h;
    struct saikai_error err = {0};
    char path[PATH_MAX + 8], file[128];
    struct sk_holding_entry data = {{1, 20, 0}, 1, 0}, parity = {{1, 20, 0}, 1, 2};
    (void)state;
    put("file");
    snprintf(file, sizeof file, "%s/file", dir);
    assert_int_equal(sk_holdings_scan(file, &h, &err), SAIKAI_EIO);
    assert_non_null(strstr(err.text, file));
    sk_holdings_remove_rank(file, 1, 4);
    assert_true(there("file"));
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[PATH_MAX - 2] = 0;
    assert_int_equal(sk_holdings_remove(path, &data, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_holdings_remove(path, &parity, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_parity_spare_path(path, 1, file, sizeof file, &err), SAIKAI_EINVAL);
}

static void test_nothing(void **state)
{
    struct sk_holdings h = {0};
    (void)state;
    assert_int_equal(sk_holdings_scan("/nowhere/at/all", &h, NULL), 0);
    assert_int_equal(h.count, 0);
    sk_holdings_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(test_names_and_order, begin, finish),
        cmocka_unit_test_setup_teardown(test_remove, begin, finish),
        cmocka_unit_test_setup_teardown(test_many, begin, finish),
        cmocka_unit_test_setup_teardown(test_no_directory, begin, finish),
        cmocka_unit_test_setup_teardown(test_nothing, begin, finish),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
