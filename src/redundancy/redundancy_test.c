/* Encode, lose, rebuild: the whole way on files of small jobs. */
#include "redundancy/testing.h"

#include "base/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        for (int f = 0; sk_form_at(f); f++) {
            struct job j;
            job_make(&j, cases[c].scheme, cases[c].nodes, cases[c].parity, 30001);
            j.coding.placement = cases[c].placement;
            j.coding.form = j.form = sk_form_at(f)->name;
            if (f % 2)
                sizes_that_differ(&j);
            lose_every_combination(&j);
            job_remove(&j);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xor),
        cmocka_unit_test(test_every_scheme_and_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
