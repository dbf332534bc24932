/* An encode that gets its files as memory with known checksums, and keeps the mappings of parity
 * files: it gives what it would give from the files, and what is not as it was said to be is found
 * by the rebuild. */
#include "redundancy/testing.h"

#include "redundancy/set/parity_file.h"
#include "redundancy/set/kept_maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void make(struct job *j, const char *scheme, int m)
{
    job_make(j, scheme, 5, m, 30000);
    j->files = 2;
    for (int i = 0; i < j->nodes; i++) {
        j->size[i][0] = 20000 + 777 * (uint64_t)i;
        j->size[i][1] = i == 2 ? 0 : 5000; /* an empty file cannot be mapped */
    }
    j->lend = 1;
    job_write(j);
}

static void lose_and_rebuild(struct job *j, int m)
{
    for (int i = 0; i < m; i++)
        job_lose(j, 1 + 2 * i);
    assert_int_equal(job_rebuild(j), 0);
    assert_true(job_claims_intact(j));
    assert_int_equal(j->rebuilt[0].lost_data, m);
}

static void test_comes_back(void **state)
{
    for (int i = 0; i < 3; i++) {
        static const char *const scheme[] = {"partner", "xor", "rs"};
        struct job j;
        make(&j, scheme[i], i == 2 ? 2 : 1);
        j.step = i == 2;
        assert_int_equal(job_encode(&j), 0);
        lose_and_rebuild(&j, i == 2 ? 2 : 1);
        job_remove(&j);
    }
}

/* What one rank says of its file is not so. Nothing else is touched by that, and the file counts as
 * damaged: as one loss; lost itself, it cannot be had back, and no other bytes are given out for
 * it. */
static void says_wrong(int fault)
{
    struct job j;
    char path[400];
    make(&j, "rs", 2);
    j.lend_fault = fault;
    assert_int_equal(job_encode(&j), 0);
    job_lose(&j, 0);
    j.claimed_by[1] = -1; /* nobody wants that one */
    assert_int_equal(job_rebuild(&j), 0);
    assert_true(job_claims_intact(&j));
    j.claimed_by[1] = 1;
    assert_int_equal(job_rebuild(&j), SAIKAI_EDAMAGED);
    job_lose(&j, 1);
    assert_int_equal(job_rebuild(&j), SAIKAI_EDAMAGED);
    job_data_path(&j, 1, 0, path);
    assert_int_not_equal(access(path, F_OK), 0);
    job_remove(&j);
}

static void test_wrong_checksum(void **state)
{
    says_wrong(LEND_WRONG_HASH);
}

static void test_changed_before_it_is_coded(void **state)
{
    says_wrong(LEND_CHANGED);
}

/* The parity still knows what was coded. */
static void test_changed_after_it_was_coded(void **state)
{
    struct job j;
    char path[400];
    make(&j, "xor", 1);
    assert_int_equal(job_encode(&j), 0);
    job_data_path(&j, 3, 0, path);
    job_flip(path, 12345);
    assert_int_equal(job_rebuild(&j), 0);
    assert_true(job_claims_intact(&j));
    assert_int_equal(j.rebuilt[0].lost_data, 1);
    job_remove(&j);
}

static void test_another_size(void **state)
{
    struct job j;
    make(&j, "xor", 1);
    j.lend_fault = LEND_SHORT;
    assert_int_equal(job_encode(&j), SAIKAI_EINVAL);
    assert_non_null(strstr(j.err[1].text, "in memory"));
    assert_int_equal(j.rc[0], SAIKAI_EPEER);
    job_remove(&j);
}

/* Files take turns, as in a session: one is written over while the other one protects. Their sizes
 * change, too. */
static void test_kept_mappings(void **state)
{
    struct job j;
    struct sk_kept_maps *kept[MAX_NODES] = {NULL};
    make(&j, "rs", 2);
    j.kept = kept;
    for (int i = 0; i < j.nodes; i++)
        assert_non_null(kept[i] = sk_kept_maps_new());
    for (j.generation = 1; j.generation < 12; j.generation++) {
        for (int i = 0; i < j.nodes; i++)
            j.size[i][0] =
                (j.generation % 4 == 3 ? 40000 : 20000) - 100 * j.generation * (uint64_t)i;
        j.recycle = j.generation > 2 ? j.generation - 2 : 0;
        job_write(&j);
        assert_int_equal(job_encode(&j), 0);
        if (j.generation % 3)
            continue;
        lose_and_rebuild(&j, 2); /* new parity files in the place of some that are mapped */
        for (int i = 0; i < j.nodes; i++)
            sk_kept_maps_trim(kept[i]);
    }
    for (int i = 0; i < j.nodes; i++)
        sk_kept_maps_free(kept[i]);
    job_remove(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comes_back),
        cmocka_unit_test(test_wrong_checksum),
        cmocka_unit_test(test_changed_before_it_is_coded),
        cmocka_unit_test(test_changed_after_it_was_coded),
        cmocka_unit_test(test_another_size),
        cmocka_unit_test(test_kept_mappings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
