/* Sessions that go on with another number of ranks, or cut their arrays in another way: every rank
 * gets exactly its part, whoever wrote it; and what cannot be is said. */
#include "lib/data/attributes.h"
#include "lib/restart/reshape_testing.h"
#include "lib/whole/session_testing.h"

#include "base/file/io.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

static struct reshape_cut slabs(int ranks)
{
    return (struct reshape_cut){3, {11, 6, 5}, {ranks, 1, 1}, 0, 0};
}

static void test_many_shapes(void **state)
{
    (void)state;
    static const struct reshape_cut cuts[][4] = {
        {{1, {1000}, {4}, 0, 0},
         {1, {1000}, {3}, 0, 2},
         {1, {1000}, {8}, 0, 0},
         {1, {1000}, {1}, 0, 1}},
        {{2, {17, 23}, {2, 2}, 0, 1},
         {2, {17, 23}, {1, 3}, 0, 0},
         {2, {17, 23}, {4, 2}, 0, 2},
         {2, {17, 23}, {7, 1}, 0, 1}},
        {{3, {9, 8, 7}, {2, 1, 2}, 0, 1},
         {3, {9, 8, 7}, {3, 1, 1}, 0, 0},
         {3, {9, 8, 7}, {2, 2, 2}, 0, 2},
         {3, {9, 8, 7}, {1, 1, 5}, 0, 1}},
        /* tiles larger than a chunk; ranks without any; more ranks than rows */
        {{2, {400, 1000}, {2, 2}, 0, 0},
         {2, {400, 1000}, {3, 1}, 5, 3},
         {2, {400, 1000}, {1, 2}, 0, 1},
         {2, {400, 1000}, {1, 1}, 3, 0}},
        {{1, {3}, {3}, 0, 0}, {1, {3}, {7}, 0, 1}, {1, {3}, {1}, 4, 0}, {1, {3}, {2}, 0, 0}},
    };
    static const char *const configs[] = {
        "", "codec.chains=*=shuffle+zstd", "store.local=none", "store.prefix=none",
        "codec.chains=u=predict; store.keep_local=3; store.keep_prefix=1"};
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        reshape_remove_dir(NULL);
        reshape_begin_dir(NULL);
        reshape_start((struct reshape_run){.config = configs[k], .cut = cuts[k][0], .until = 25});
        for (int i = 1; i < 9; i++)
            reshape_start((struct reshape_run){.config = configs[k],
                                               .cut = cuts[k][i % 4],
                                               .until = 25 + 10 * i,
                                               .expect = 1,
                                               .expect_from = 10 + 10 * i});
        world_expect("written by", 1);
    }
}

static unsigned seed = 7;

static int below(int n)
{
    return rand_r(&seed) % n;
}

/* A random way to cut the same array. */
static struct reshape_cut random_cut(const struct reshape_cut *array)
{
    struct reshape_cut k = *array;
    int tiles = 1;
    for (int d = 0; d < k.ndims; d++) {
        k.grid[d] = 1 + below(8 / tiles < 4 ? 8 / tiles : 4);
        tiles *= k.grid[d];
    }
    k.halo = (size_t)below(3);
    k.ranks = below(4) ? 0 : tiles + 1;
    return k;
}

static struct reshape_cut random_array(void)
{
    struct reshape_cut k = {.ndims = 1 + below(3)};
    for (int d = 0; d < k.ndims; d++)
        k.global[d] = 1 + (size_t)below(below(4) ? 12 : 60);
    return k;
}

static const char *random_config(void)
{
    static const char *const configs[] = {
        "store.keep_local=2; store.prefix=none",
        "store.keep_local=2; store.prefix=none; codec.chains=u=shuffle+zstd",
        "store.keep_local=2; store.prefix=none; codec.chains=*=predict",
        "store.keep_prefix=2; store.local=none"};
    return configs[below(4)];
}

static void test_random_cuts(void **state)
{
    (void)state;
    for (int k = 0; k < 40; k++) {
        struct reshape_cut array = random_array();
        const char *config = random_config();
        reshape_remove_dir(NULL);
        reshape_begin_dir(NULL);
        reshape_start(
            (struct reshape_run){.config = config, .cut = random_cut(&array), .until = 15});
        reshape_start((struct reshape_run){.config = config,
                                           .cut = random_cut(&array),
                                           .until = 25,
                                           .expect = 1,
                                           .expect_from = 10});
        reshape_start((struct reshape_run){.config = config,
                                           .cut = random_cut(&array),
                                           .until = 25,
                                           .expect = 1,
                                           .expect_from = 20});
    }
}

/* A byte of a file is another one, or the file is shorter: never wrong data. */
static void spoil(const char *root)
{
    char path[256];
    int rank = 0, n;
    for (n = 0; n < 20; n++) {
        world_path(path, root, 1, 20, n);
        if (access(path, F_OK))
            break;
    }
    rank = below(n);
    world_path(path, root, 1, below(2) ? 20 : 10, rank);
    int fd = open(path, O_RDWR);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    assert_true(size > 0);
    off_t at = (off_t)below((int)size);
    uint8_t b;
    assert_int_equal(pread(fd, &b, 1, at), 1);
    b ^= (uint8_t)(1 << below(8));
    if (below(5))
        assert_int_equal(pwrite(fd, &b, 1, at), 1);
    else
        assert_int_equal(ftruncate(fd, at), 0);
    close(fd);
}

static void test_random_damage(void **state)
{
    (void)state;
    for (int k = 0; k < 60; k++) {
        struct reshape_cut array = random_array();
        const char *config = random_config();
        reshape_remove_dir(NULL);
        reshape_begin_dir(NULL);
        reshape_start(
            (struct reshape_run){.config = config, .cut = random_cut(&array), .until = 25});
        for (int times = below(3); times >= 0; times--)
            spoil(strstr(config, "store.local=none") ? "prefix" : reshape_local());
        reshape_start((struct reshape_run){
            .config = config, .cut = random_cut(&array), .expect = 1, .any = 1});
    }
}

static void test_other_tiles_of_as_many_ranks(void **state)
{
    (void)state;
    struct reshape_cut a = {2, {12, 10}, {4, 1}, 0, 0}, b = {2, {12, 10}, {2, 2}, 0, 1};
    reshape_start((struct reshape_run){.cut = a, .until = 15});
    reshape_start((struct reshape_run){.cut = b, .until = 25, .expect = 1, .expect_from = 10});
    reshape_start((struct reshape_run){.cut = b, .until = 35, .expect = 1, .expect_from = 20});
    reshape_start((struct reshape_run){.cut = a, .until = 15, .expect = 1, .expect_from = 30});
}

static void test_lossy_within_bounds(void **state)
{
    (void)state;
    struct reshape_cut a = {2, {300, 200}, {2, 2}, 0, 0}, b = {2, {300, 200}, {3, 1}, 0, 1};
    reshape_start((struct reshape_run){.config = "codec.bounds=u=abs:0.5", .cut = a, .until = 15});
    reshape_start((struct reshape_run){
        .cut = b, .until = 15, .expect = 1, .expect_from = 10, .tolerance = 0.5});
}

static void test_what_cannot_be(void **state)
{
    (void)state;
    reshape_start((struct reshape_run){.cut = slabs(3), .until = 15, .odd = PRIVATE});
    reshape_start((struct reshape_run){.cut = slabs(4),
                                       .odd = PRIVATE,
                                       .expect = SAIKAI_ERANKS,
                                       .expect_text = "('own' is neither"});
    reshape_start((struct reshape_run){.cut = slabs(4),
                                       .odd = FORGOTTEN,
                                       .expect = SAIKAI_ERANKS,
                                       .expect_text = "('step' is neither"});
    reshape_start((struct reshape_run){.cut = slabs(2),
                                       .odd = PRIVATE,
                                       .expect = SAIKAI_ERANKS,
                                       .expect_text = "start it with 3"});
    reshape_start((struct reshape_run){
        .cut = {3, {12, 6, 5}, {2, 1, 1}, 0, 0},
        .expect = SAIKAI_ECHANGED,
        .expect_text = "the global array of 'u' is f64 [0:12, 0:6, 0:5] in this "
                       "program but f64 [0:11, 0:6, 0:5]"});
    reshape_start(
        (struct reshape_run){.cut = {2, {11, 30}, {2, 1}, 0, 0}, .expect = SAIKAI_ECHANGED});
    reshape_start((struct reshape_run){.cut = slabs(2),
                                       .odd = DISAGREE,
                                       .expect = SAIKAI_EINVAL,
                                       .expect_text = "rank 1 protects other"});
    for (int i = 0; i < 3; i++) /* none of this has used the generation up; what nobody wants any
                                   more is no obstacle */
        reshape_start(
            (struct reshape_run){.cut = slabs(4), .until = 11, .expect = 1, .expect_from = 10});
    world_expect("a variable 'own' that this program does not protect", 1);
}

/* A file that came here from another job, of the same rank, iteration and shape: it is not taken for a part of this one. */
static void test_a_part_of_another_job(void **state)
{
    (void)state;
    struct reshape_run three = {.config = "store.keep_local=2; store.prefix=none", .cut = slabs(3), .until = 25}, two = three;
    char path[256];
    void *data;
    size_t n;
    reshape_start(three);
    world_path(path, reshape_local(), 1, 20, 1);
    assert_int_equal(sk_io_slurp(path, 1 << 20, &data, &n, NULL), 0);
    reshape_remove_dir(NULL);
    reshape_begin_dir(NULL);
    reshape_start(three);
    world_path(path, reshape_local(), 1, 20, 1);
    assert_int_equal(sk_io_replace(path, data, n, NULL), 0);
    free(data);
    two.cut = slabs(2);
    two.until = 0;
    two.expect = 1;
    two.expect_from = 10;
    reshape_start(two);
    world_expect("is of another store, not of job", 1);
}

static void test_unequal_copies(void **state)
{
    (void)state;
    reshape_start((struct reshape_run){.cut = slabs(3), .until = 15, .odd = UNEQUAL});
    reshape_start((struct reshape_run){
        .cut = slabs(2),
        .expect = SAIKAI_ERANKS,
        .expect_text = "variable 'step' is said to be the same on all ranks, but rank 2"});
}

static void test_files_of_the_program(void **state)
{
    (void)state;
    reshape_start((struct reshape_run){.cut = slabs(3), .until = 15, .odd = WITH_FILES});
    reshape_start((struct reshape_run){.cut = slabs(2),
                                       .expect = SAIKAI_ERANKS,
                                       .expect_text = "'table.dat', which belongs to one rank"});
    reshape_start(
        (struct reshape_run){.cut = slabs(3), .until = 15, .expect = 1, .expect_from = 10});
}

static void test_gap(void **state)
{
    (void)state;
    reshape_start((struct reshape_run){.cut = slabs(4), .until = 15, .odd = HOLE});
    world_expect("parts of 'u' leave [10:11, 0:6, 0:5] of the global array to nobody", 1);
    reshape_start((struct reshape_run){
        .cut = slabs(3),
        .expect = SAIKAI_ERANKS,
        .expect_text = "in gen-0001-000000000010-0 no rank saved [10:11, 0:6, 0:5] of "
                       "the global array of 'u'"});
    reshape_start((struct reshape_run){.cut = slabs(3),
                                       .odd = HOLE,
                                       .until = 11,
                                       .expect = 1,
                                       .expect_from = 10}); /* the same hole */
    reshape_start((struct reshape_run){
        .cut = slabs(4), .odd = HOLE, .until = 11, .expect = 1, .expect_from = 10});
}

static void test_overlap(void **state)
{
    (void)state;
    struct reshape_run read = {
        .cut = {1, {10}, {1}, 0, 0}, .expect = 1, .expect_from = 10, .odd = OVERLAPPED};
    reshape_start((struct reshape_run){
        .cut = {1, {10}, {2}, 0, 0}, .until = 15, .odd = OVERLAP, .tolerance = 0.25});
    reshape_start(read);
    read.cut.grid[0] = 5;
    reshape_start(read);
}

static void test_a_halo_without_gaps(void **state)
{
    (void)state;
    double memory[6][5];
    struct sk_vars l = {0};
    struct saikai_error err = {0};
    struct sk_var v = {.name = "u",
                       .type = SAIKAI_F64,
                       .ndims = 2,
                       .dims = {4, 5},
                       .data = memory,
                       .scope = SK_SKC_GLOBAL,
                       .tile = {{8, 5}, {4, 0}}};
    assert_int_equal(sk_var_set_halo(&v, (size_t[]){1, 0}, (size_t[]){1, 0}, &err), 0);
    assert_int_equal(sk_vars_put(&l, &v, &err), 0);
    assert_int_equal(l.v[0].layout.strided, 0); /* planes around planes: one piece of memory */
    assert_ptr_equal(l.v[0].data, memory[1]);
    v.data = memory;
    v.dims[1] = 4;
    assert_int_equal(sk_var_set_halo(&v, (size_t[]){1, 1}, (size_t[]){1, 0}, &err), 0);
    assert_int_equal(sk_vars_put(&l, &v, &err), 0);
    assert_int_equal(l.v[0].layout.strided, 1);
    assert_ptr_equal(l.v[0].data, &memory[1][1]);
    assert_int_equal(sk_attribute_set(&l, "u", "replicated", "yes", &err), SAIKAI_EINVAL);
    v.tile.offset[0] = 5;
    assert_int_equal(sk_vars_put(&l, &v, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(
        err.text, "in dimension 0 its block of 4 at offset 5 ends behind the global array of 8"));
    sk_vars_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, reshape_begin_dir, reshape_remove_dir)
        TEST(test_many_shapes),
        cmocka_unit_test(remember_open_files),
        TEST(test_random_cuts),
        TEST(test_random_damage),
        TEST(test_other_tiles_of_as_many_ranks),
        TEST(test_lossy_within_bounds),
        TEST(test_what_cannot_be),
        TEST(test_a_part_of_another_job),
        TEST(test_unequal_copies),
        TEST(test_files_of_the_program),
        TEST(test_gap),
        TEST(test_overlap),
        TEST(test_a_halo_without_gaps),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
