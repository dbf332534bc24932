/* Encode, lose, rebuild: the whole way on files of small jobs. */
#include "redundancy/testing.h"

#include "base/hash.h"
#include "base/file/io.h"
#include "redundancy/code/cost.h"
#include "group/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void sizes_that_differ(struct job *j)
{
    static const uint64_t size[] = {0, 1, 5000, 1024, 70001, 1023, 40960, 3};
    for (int i = 0; i < j->nodes; i++)
        j->size[i][0] = size[i % 8];
}

/* All sets of at most m lost nodes. */
static void lose_every_combination(struct job *j)
{
    job_write(j);
    assert_int_equal(job_encode(j), 0);
    assert_true(job_all_intact(j));
    int m = j->coding.parity;
    for (unsigned set = 0; set < 1u << j->nodes; set++) {
        if (__builtin_popcount(set) > m)
            continue;
        for (int i = 0; i < j->nodes; i++)
            if (set >> i & 1)
                job_lose(j, i);
        int rc = job_rebuild(j);
        if (rc)
            print_error("set %x: %s\n", set, j->err[0].text);
        assert_int_equal(rc, 0);
        assert_true(job_all_intact(j));
        int parity_there = 1;
        for (int i = 0; i < j->nodes; i++) {
            char path[400];
            job_parity_path(j, i, path);
            FILE *f = fopen(path, "rb");
            parity_there &= f != NULL;
            if (f)
                fclose(f);
        }
        assert_true(parity_there);
    }
}

static void test_xor(void **state)
{
    struct job j;
    job_make(&j, "xor", 4, 1, 20000);
    lose_every_combination(&j);
    job_remove(&j);
}

static void test_every_scheme_and_form(void **state)
{
    static const struct {
        const char *scheme;
        int nodes, parity, placement;
    } cases[] = {
        {"xor", 2, 1, SK_SPREAD},     {"xor", 5, 1, SK_SPREAD},     {"xor", 4, 1, SK_DEDICATED},
        {"partner", 2, 1, SK_SPREAD}, {"partner", 5, 2, SK_SPREAD}, {"rs", 4, 2, SK_SPREAD},
        {"rs", 6, 2, SK_SPREAD},      {"rs", 6, 2, SK_DEDICATED},   {"rs", 6, 3, SK_SPREAD},
        {"rs", 7, 4, SK_SPREAD},      {"rs", 7, 3, SK_DEDICATED}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int f = 0; sk_transfer_at(f); f++) {
            struct job j;
            job_make(&j, cases[c].scheme, cases[c].nodes, cases[c].parity, 30001);
            j.coding.placement = cases[c].placement;
            j.coding.form = j.form = sk_transfer_at(f)->name;
            if (f % 2)
                sizes_that_differ(&j);
            lose_every_combination(&j);
            job_remove(&j);
        }
}

/* After a restart every rank runs on the next node, or on the node from the other end. */
static void test_permuted_hosts(void **state)
{
    for (int way = 0; way < 2; way++)
        for (int lost = -1; lost < 5; lost++) {
            struct job j;
            job_make(&j, "rs", 5, 2, 30001);
            sizes_that_differ(&j);
            job_write(&j);
            assert_int_equal(job_encode(&j), 0);
            for (int i = 0; i < 5; i++)
                j.node_of[i] = way ? 4 - i : (i + 1) % 5;
            if (lost >= 0)
                job_lose(&j, lost);
            assert_int_equal(job_rebuild(&j), 0);
            assert_true(job_claims_intact(&j));
            job_remove(&j);
        }
}

/* Two nodes are gone for good: their ranks go on on spare nodes, or on nodes that have a rank
 * already. */
static void test_spares_and_crowding(void **state)
{
    for (int way = 0; way < 3; way++) {
        struct job j;
        job_make(&j, "rs", 6, 2, 50000);
        sizes_that_differ(&j);
        job_write(&j);
        assert_int_equal(job_encode(&j), 0);
        job_lose(&j, 1);
        job_lose(&j, 4);
        if (way == 0) { /* spares */
            j.node_of[1] = 6;
            j.node_of[4] = 7;
        } else if (way == 1) { /* four processes; two of them go on as two ranks */
            static const int node[] = {0, 2, 3, 5}, by[] = {0, 3, 1, 2, 3, 3};
            j.processes = 4;
            memcpy(j.node_of, node, sizeof node);
            memcpy(j.claimed_by, by, sizeof by);
        } else { /* one process more than ranks: it only gives what its node has */
            j.processes = 7;
            j.node_of[1] = 8;
            j.node_of[4] = 9;
            j.node_of[0] = 10;
            j.node_of[6] = 0;
        }
        assert_int_equal(job_rebuild(&j), 0);
        assert_true(job_claims_intact(&j));
        assert_int_equal(j.rebuilt[0].lost_data, 2);
        assert_int_equal(j.rebuilt[0].lost_parity, 2);
        job_remove(&j);
    }
}

/* Ranks that nobody claims are no trouble, lost or not. */
static void test_unclaimed(void **state)
{
    struct job j;
    job_make(&j, "rs", 5, 2, 9000);
    job_write(&j);
    assert_int_equal(job_encode(&j), 0);
    job_lose(&j, 0);
    job_lose(&j, 2);
    j.claimed_by[0] = j.claimed_by[1] = -1;
    assert_int_equal(job_rebuild(&j), 0);
    assert_true(job_claims_intact(&j));
    job_remove(&j);
}

static void test_too_much_lost(void **state)
{
    for (int m = 1; m <= 3; m++)
        for (int dedicated = 0; dedicated < 2; dedicated++) {
            struct job j;
            job_make(&j, m == 1 ? "xor" : "rs", 6, m, 9000);
            j.coding.placement = dedicated ? SK_DEDICATED : SK_SPREAD;
            job_write(&j);
            assert_int_equal(job_encode(&j), 0);
            for (int i = 0; i <= m; i++)
                job_lose(&j, i);
            assert_int_equal(job_rebuild(&j), SAIKAI_ELOST);
            for (int p = 0; p < 6; p++) {
                assert_int_equal(j.rc[p], SAIKAI_ELOST);
                assert_non_null(strstr(j.err[p].text, "generation 7"));
                assert_non_null(strstr(j.err[p].text, "alpha rank 0, beta rank 1"));
            }
            job_remove(&j);
        }
    struct job j;
    job_make(&j, "xor", 3, 1, 900);
    job_write(&j);
    assert_int_equal(job_rebuild(&j), SAIKAI_ENOENT); /* never protected */
    job_remove(&j);
}

/* Partner copies survive more than m losses when they are not neighbours. */
static void test_partner_losses_apart(void **state)
{
    struct job j;
    job_make(&j, "partner", 6, 1, 12345);
    job_write(&j);
    assert_int_equal(job_encode(&j), 0);
    for (int i = 0; i < 6; i += 2)
        job_lose(&j, i);
    assert_int_equal(job_rebuild(&j), 0);
    assert_true(job_claims_intact(&j));
    job_lose(&j, 2);
    job_lose(&j, 3);
    assert_int_equal(job_rebuild(&j), SAIKAI_ELOST);
    job_remove(&j);
}

static void several_files(struct job *j)
{
    j->files = 4;
    for (int i = 0; i < j->nodes; i++)
        for (int f = 0; f < 4; f++)
            j->size[i][f] = (uint64_t)((i * 7919 + f * 104729) % 5000) * (f != i % 4);
}

static void test_several_files(void **state)
{
    for (int mode = 0; mode < 2; mode++) {
        struct job j;
        job_make(&j, "rs", 5, 2, 0);
        several_files(&j);
        j.mode = mode ? SK_FILES_COPY : SK_FILES_MAP;
        lose_every_combination(&j);
        job_remove(&j);
    }
}

static void test_slices(void **state)
{
    for (int f = 0; sk_transfer_at(f); f++) {
        struct job j;
        job_make(&j, "rs", 5, 2, 40000);
        j.coding.form = sk_transfer_at(f)->name;
        j.step = 2;
        j.coding.window = f % 2 ? 2 : 0;
        sizes_that_differ(&j);
        lose_every_combination(&j);
        job_remove(&j);
    }
}

static void test_nothing_but_empty_files(void **state)
{
    struct job j;
    job_make(&j, "rs", 4, 2, 0);
    lose_every_combination(&j);
    job_remove(&j);
}

static void test_full_size_groups(void **state)
{
    struct job j;
    job_make(&j, "rs", SK_MAX_MEMBERS, 4, 3000);
    j.coding.block = 64;
    job_write(&j);
    assert_int_equal(job_encode(&j), 0);
    static const int lost[] = {0, 9, 10, 35};
    for (int i = 0; i < 4; i++)
        job_lose(&j, lost[i]);
    assert_int_equal(job_rebuild(&j), 0);
    assert_true(job_claims_intact(&j));
    job_remove(&j);
}

static void test_bad_input(void **state)
{
    struct job j;
    job_make(&j, "rs", 4, 2, 3000);
    job_write(&j);
    j.coding.scheme = "rs7";
    assert_int_equal(job_encode(&j), SAIKAI_EINVAL);
    j.coding.scheme = "rs";
    j.coding.parity = 5;
    assert_int_equal(job_encode(&j), SAIKAI_EINVAL);
    j.coding.parity = 4;
    assert_int_equal(job_encode(&j), SAIKAI_EINVAL);
    j.coding.parity = 2;
    j.coding.form = "ring";
    assert_int_equal(job_encode(&j), SAIKAI_EINVAL);
    assert_non_null(strstr(j.err[0].text, "pipeline"));
    j.coding.form = NULL;
    j.coding.block = 100;
    assert_int_equal(job_encode(&j), SAIKAI_EINVAL);
    j.coding.block = 1024;
    j.disagree = 1;
    assert_int_equal(job_encode(&j), SAIKAI_EINVAL);
    assert_non_null(strstr(j.err[0].text, "ranks 0 and 1"));
    j.disagree = 0;
    j.coding.scheme = NULL;
    assert_int_equal(job_encode(&j), SAIKAI_EINVAL);
    j.coding.scheme = "rs";
    j.coding.block = 0;
    job_lose_data(&j, 2); /* one rank has no file: all hear of it */
    assert_int_equal(job_encode(&j), SAIKAI_ENOENT);
    for (int i = 0; i < 4; i++)
        assert_int_not_equal(j.rc[i], 0);
    assert_non_null(strstr(j.err[0].text, "node2"));
    job_remove(&j);
}

/* Bytes that each member sends, against the lower bound of the form: every stripe of k full blocks
 * needs so many. */
static void test_bytes_on_links(void **state)
{
    static const struct {
        const char *form;
        double most_of_member, total; /* blocks per stripe: of the busiest link's end, of all */
    } cases[] = {{"pipeline", 2 * 6 + 1, 2 * 6 + 1},
                 {"fanin", 0, 2 * 5 + 2},
                 {"broadcast", 0, 2 * 6},
                 {"gather", 0, 6 + 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct job j;
        job_make(&j, "rs", 8, 2, 6 * 1024 * 40);
        j.coding.form = cases[c].form;
        job_write(&j);
        assert_int_equal(job_encode(&j), 0);
        uint64_t total = 0, stripes = j.encoded[0].stripes, most = 0;
        assert_true(stripes == 8 * 40);
        for (int i = 0; i < 8; i++) {
            total += j.encoded[i].sent_bytes;
            for (int k = 0; k < 8; k++)
                most = j.encoded[i].sent_to[k] > most ? j.encoded[i].sent_to[k] : most;
        }
        assert_true((double)total <= 1.05 * cases[c].total * 1024 * (double)stripes);
        /* a pipeline uses the link to the right-hand neighbour only, all of them alike */
        if (cases[c].most_of_member > 0)
            assert_true((double)most <=
                        1.05 * cases[c].most_of_member / 8 * 1024 * (double)stripes);
        job_remove(&j);
    }
}

/* One large member among empty ones: nothing but its own bytes travels, m times. */
static void test_zeros_are_not_sent(void **state)
{
    for (int f = 0; sk_transfer_at(f); f++) {
        struct job j;
        job_make(&j, "rs", 6, 2, 0);
        j.size[3][0] = 100 * 1024 + 17;
        j.coding.form = sk_transfer_at(f)->name;
        job_write(&j);
        assert_int_equal(job_encode(&j), 0);
        uint64_t total = 0;
        for (int i = 0; i < 6; i++)
            total += j.encoded[i].sent_bytes;
        assert_true(total <= 3 * (100 * 1024 + 17));
        job_lose(&j, 3);
        assert_int_equal(job_rebuild(&j), 0);
        assert_true(job_claims_intact(&j));
        job_remove(&j);
    }
}

/* The format and the matrices: files of this kind are on disks already. */
static void test_format_stays(void **state)
{
    static const struct {
        const char *scheme;
        int parity, placement;
        uint64_t hash; /* of the parity files of all nodes, one after the other */
    } cases[] = {{"partner", 1, SK_SPREAD, 0xc7db892163387417u},
                 {"xor", 1, SK_SPREAD, 0xf0a14aac35d50f56u},
                 {"rs", 3, SK_SPREAD, 0x521579e16ef341d0u},
                 {"rs", 2, SK_DEDICATED, 0xd7be320f6f4f416fu}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct job j;
        job_make(&j, cases[c].scheme, 6, cases[c].parity, 0);
        j.coding.placement = cases[c].placement;
        several_files(&j);
        job_write(&j);
        for (int i = 0; i < 6; i++)
            for (int f = 0; f < j.files; f++) {
                char path[400];
                job_data_path(&j, i, f, path);
                assert_int_equal(chmod(path, 0640), 0);
            }
        assert_int_equal(job_encode(&j), 0);
        struct sk_hasher *h = sk_hasher_new();
        for (int i = 0; i < 6; i++) {
            char path[400];
            void *data;
            size_t n;
            job_parity_path(&j, i, path);
            assert_int_equal(sk_io_slurp(path, 1 << 20, &data, &n, NULL), 0);
            sk_hasher_add(h, data, n);
            free(data);
        }
        if (sk_hasher_value(h) != cases[c].hash)
            print_error("%s: 0x%llx\n", cases[c].scheme, (unsigned long long)sk_hasher_value(h));
        assert_true(sk_hasher_value(h) == cases[c].hash);
        sk_hasher_free(h);
        job_remove(&j);
    }
}

static int measure_costs(struct sk_group *g, void *arg)
{
    struct sk_link_costs mine, *all = arg;
    int rc = sk_link_costs_measure(g, &mine, NULL);
    all[g->rank] = mine;
    return rc;
}

/* Measured figures are positive and the same on all ranks; the choice follows from them as it
 * should. */
static void test_choice_of_form(void **state)
{
    struct sk_link_costs c[4];
    assert_int_equal(sk_loop_run(4, measure_costs, c), 0);
    assert_true(c[0].latency > 0 && c[0].bandwidth > 0 && c[0].add_rate > 0);
    for (int i = 1; i < 4; i++)
        assert_memory_equal(&c[i], &c[0], sizeof c[0]);
    const struct sk_link_costs slow = {20e-6, 125e6, 10e9}, fast = {1e-6, 25e9, 10e9};
    /* fixed coding nodes and much data: only the pipeline loads all links alike */
    assert_string_equal(sk_transfer_choose(&slow, 32, 2, 0, 8000, 65536)->name, "pipeline");
    assert_string_equal(sk_transfer_choose(&fast, 8, 2, 0, 8000, 65536)->name, "pipeline");
    /* one stripe through many nodes with a slow start: few hops win */
    const struct sk_link_costs far = {5e-3, 1e9, 10e9};
    assert_string_not_equal(sk_transfer_choose(&far, 32, 2, 0, 1, 4096)->name, "pipeline");
    /* parity everywhere: the least volume wins where links are the limit */
    assert_string_equal(sk_transfer_choose(&slow, 6, 2, 1, 8000, 65536)->name, "gather");
}

int main(void)
{
    umask(022);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xor),
        cmocka_unit_test(test_every_scheme_and_form),
        cmocka_unit_test(test_permuted_hosts),
        cmocka_unit_test(test_spares_and_crowding),
        cmocka_unit_test(test_unclaimed),
        cmocka_unit_test(test_too_much_lost),
        cmocka_unit_test(test_partner_losses_apart),
        cmocka_unit_test(test_several_files),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_nothing_but_empty_files),
        cmocka_unit_test(test_full_size_groups),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_bytes_on_links),
        cmocka_unit_test(test_zeros_are_not_sent),
        cmocka_unit_test(test_format_stays),
        cmocka_unit_test(test_choice_of_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
