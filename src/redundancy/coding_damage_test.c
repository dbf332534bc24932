/* Damage never gives wrong data: bits flipped in data and in parity, files cut, swapped and
 * replaced by old ones. */
#include "redundancy/testing.h"

#include "base/file/io.h"
#include "base/log.h"
#include "redundancy/set/parity_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void start(struct job *j, const char *scheme, int nodes, int m)
{
    job_make(j, scheme, nodes, m, 10000);
    for (int i = 0; i < nodes; i++)
        j->size[i][0] = 9000 + 777 * (uint64_t)i;
    job_write(j);
    assert_int_equal(job_encode(j), 0);
}

static long size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return (long)st.st_size;
}

/* All bytes of the header and the record, and every region after them: padding, blocks, table. */
static void test_flips_in_parity(void **state)
{
    struct job j;
    char path[400];
    start(&j, "rs", 5, 2);
    job_parity_path(&j, 1, path);
    long n = size_of(path);
    for (long at = 0; at < n; at += at < 600 ? 1 : 61) {
        job_flip(path, at);
        job_lose(&j, 3); /* one loss beside it: both must come back */
        assert_int_equal(job_rebuild(&j), 0);
        assert_true(job_claims_intact(&j));
        assert_int_equal(j.rebuilt[0].lost_parity, 2);
        assert_int_equal(j.rebuilt[0].lost_data, 1);
    }
    job_remove(&j);
}

static void test_flips_in_data(void **state)
{
    struct job j;
    char path[400];
    start(&j, "rs", 5, 2);
    job_data_path(&j, 2, 0, path);
    long n = size_of(path);
    for (long at = 0; at < n; at += 31) {
        job_flip(path, at);
        job_lose_parity(&j, 2); /* not even its own parity file knows it */
        job_lose(&j, 4);
        assert_int_equal(job_rebuild(&j), 0);
        assert_true(job_claims_intact(&j));
        assert_int_equal(j.rebuilt[0].lost_data, 2);
    }
    job_remove(&j);
}

/* One flip more than the code can bear: refused, whatever is flipped, and the good files stay as
 * they are. */
static void test_one_flip_too_many(void **state)
{
    for (int kind = 0; kind < 3; kind++) {
        struct job j;
        char path[400], dir[400], parity[400];
        start(&j, "xor", 4, 1);
        job_lose(&j, 0);
        if (kind == 1)
            job_parity_path(&j, 2, path);
        else
            job_data_path(&j, 2, 0, path);
        job_flip(path, kind == 2 ? -1 : 5000);
        assert_int_equal(job_rebuild(&j), SAIKAI_ELOST);
        assert_int_equal(access(path, F_OK), 0);
        job_claim_paths(&j, 0, dir, parity);
        assert_false(job_intact(&j, dir, 0));
        char made[420];
        snprintf(made, sizeof made, "%s/part0.bin", dir);
        assert_int_not_equal(access(made, F_OK), 0);
        job_claim_paths(&j, 1, dir, parity);
        assert_true(job_intact(&j, dir, 1));
        job_remove(&j);
    }
}

static void test_cut_and_long_files(void **state)
{
    struct job j;
    char path[400];
    start(&j, "rs", 5, 2);
    static const long lengths[] = {0, 1, 15, 23, 47, 4095, 4096, 5000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        job_parity_path(&j, 1, path);
        assert_int_equal(truncate(path, lengths[i]), 0);
        job_data_path(&j, 3, 0, path);
        assert_int_equal(truncate(path, lengths[i]), 0);
        assert_int_equal(job_rebuild(&j), 0);
        assert_true(job_claims_intact(&j));
    }
    job_parity_path(&j, 1, path);
    assert_int_equal(truncate(path, size_of(path) + 1), 0);
    job_data_path(&j, 3, 0, path);
    assert_int_equal(truncate(path, size_of(path) + 1), 0);
    assert_int_equal(job_rebuild(&j), 0);
    assert_true(job_claims_intact(&j));
    job_remove(&j);
}

static struct sk_id id_of(uint8_t first)
{
    return (struct sk_id){{first, 7, 7}};
}

static struct sk_id store_in(const char *path)
{
    struct sk_parity_header h = {0};
    struct sk_parity_file *f = NULL;
    assert_int_equal(sk_parity_open(path, &h, &f, NULL), 0);
    struct sk_id id = h.store;
    sk_parity_header_free(&h);
    sk_parity_file_free(f);
    return id;
}

static char last_line[600];

static void take_line(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    if (strstr(line, "is not used"))
        snprintf(last_line, sizeof last_line, "%s", line);
}

/* A parity file says whose it is; one of another store counts as lost, and is made anew. */
static void test_parity_of_another_store(void **state)
{
    struct job j;
    char path[400], mine[SK_ID_TEXT], other[SK_ID_TEXT];
    start(&j, "rs", 5, 2);
    j.store = id_of(1);
    assert_int_equal(job_encode(&j), 0);
    job_parity_path(&j, 1, path);
    assert_true(sk_id_same(store_in(path), id_of(1)));
    job_lose_data(&j, 0);
    j.store = id_of(2);
    sk_log_set(take_line, NULL, SK_LOG_WARN);
    assert_int_equal(job_rebuild(&j), SAIKAI_ENOENT);
    sk_log_set(sk_log_stderr, NULL, SK_LOG_WARN);
    assert_non_null(strstr(last_line, sk_id_print(id_of(1), mine)));
    assert_non_null(strstr(last_line, sk_id_print(id_of(2), other)));
    j.store = id_of(1);
    job_lose_parity(&j, 2); /* what is made again says it, too */
    assert_int_equal(job_rebuild(&j), 0);
    assert_true(job_claims_intact(&j));
    job_parity_path(&j, 2, path);
    assert_true(sk_id_same(store_in(path), id_of(1)));
    job_remove(&j);
}

/* Files that each version wrote: tests/golden/skp. */
static void test_versions(void **state)
{
    static const char *const names[] = {"v1-xor", "v1-rs", "v2-xor"};
    for (int i = 0; i < 3; i++) {
        char path[600];
        struct sk_parity_header h = {0};
        struct sk_parity_file *f = NULL;
        snprintf(path, sizeof path, "%s/%s.skp", SAIKAI_GOLDEN_SKP, names[i]);
        assert_int_equal(sk_parity_open(path, &h, &f, NULL), 0);
        assert_int_equal(h.record.code.members, i == 1 ? 6 : 4);
        assert_int_equal(h.record.generation, i == 1 ? 3 : 2);
        assert_string_equal(h.record.member[0].part[0].name, "part.skc");
        assert_true(i < 2 ? sk_id_none(h.store) : sk_id_same(h.store, id_of(0x5a)));
        sk_parity_header_free(&h);
        sk_parity_file_free(f);
    }
}

/* Parity of another generation, or of another member, under the right name. */
static void test_wrong_parity_file(void **state)
{
    struct job j;
    char a[400], b[400], old[420];
    start(&j, "rs", 5, 2);
    job_parity_path(&j, 0, a);
    snprintf(old, sizeof old, "%s.old", a);
    assert_int_equal(rename(a, old), 0);
    j.generation = 8;
    job_write(&j);
    assert_int_equal(job_encode(&j), 0);
    job_parity_path(&j, 0, a);
    assert_int_equal(rename(old, a), 0);
    assert_int_equal(job_rebuild(&j), 0);
    assert_int_equal(j.rebuilt[0].lost_parity, 1);
    assert_true(job_claims_intact(&j));
    job_parity_path(&j, 1, b); /* two members changed places: a move puts it right */
    snprintf(old, sizeof old, "%s.old", a);
    assert_int_equal(rename(a, old), 0);
    assert_int_equal(rename(b, a), 0);
    assert_int_equal(rename(old, b), 0);
    assert_int_equal(job_rebuild(&j), 0);
    assert_true(job_claims_intact(&j));
    job_remove(&j);
}

/* Sets of random damage: either everything comes back right, or the loss is told. */
static void test_random_damage(void **state)
{
    srand(11);
    int back = 0, told = 0;
    for (int round = 0; round < 60; round++) {
        struct job j;
        start(&j, "rs", 6, 2);
        for (int k = rand() % 5; k >= 0; k--) {
            char path[400];
            int node = rand() % 6;
            if (rand() % 2)
                job_parity_path(&j, node, path);
            else
                job_data_path(&j, node, 0, path);
            if (rand() % 4)
                job_flip(path, rand() % size_of(path));
            else
                assert_int_equal(truncate(path, rand() % (size_of(path) + 1)), 0);
        }
        int rc = job_rebuild(&j);
        assert_true(rc == 0 || rc == SAIKAI_ELOST);
        if (!rc)
            assert_true(job_claims_intact(&j));
        back += !rc;
        told += rc != 0;
        job_remove(&j);
    }
    assert_true(back > 10 && told > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flips_in_parity),   cmocka_unit_test(test_flips_in_data),
        cmocka_unit_test(test_one_flip_too_many), cmocka_unit_test(test_cut_and_long_files),
        cmocka_unit_test(test_parity_of_another_store),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_wrong_parity_file), cmocka_unit_test(test_random_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
