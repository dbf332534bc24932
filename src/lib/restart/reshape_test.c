/* Sessions that go on with another number of ranks, or cut their arrays in another way: every rank
 * gets exactly its part, whoever wrote it and wherever the files are; and what cannot be is said.
 */
#include "lib/data/attributes.h"
#include "lib/restart/reshape_testing.h"

#include "archive/local/content.h"

#include "base/file/io.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct reshape_cut slabs(int ranks)
{
    return (struct reshape_cut){3, {11, 6, 5}, {ranks, 1, 1}, 0, 0};
}

/* ---- tests ---- */

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
        reshape_says("written by");
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
        reshape_path_of(path, root, 1, 20, n);
        if (access(path, F_OK))
            break;
    }
    rank = below(n);
    reshape_path_of(path, root, 1, below(2) ? 20 : 10, rank);
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
            spoil(strstr(config, "store.local=none") ? "prefix" : reshape_local_root());
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

static void test_lost_and_damaged_files(void **state)
{
    (void)state;
    reshape_start((struct reshape_run){
        .cut = slabs(4), .until = 35, .config = "store.keep_local=3; store.keep_prefix=3"});
    reshape_damage(reshape_local_root(), 1, 30, 3); /* one copy of one: the other one */
    reshape_start(
        (struct reshape_run){.cut = slabs(3), .until = 31, .expect = 1, .expect_from = 30});
    reshape_says("rank-000003.skc");
    reshape_damage("prefix", 1, 30,
                   3); /* both: older, for every rank, also those that do not need it */
    reshape_start(
        (struct reshape_run){.cut = slabs(2), .until = 21, .expect = 1, .expect_from = 20});
    reshape_says("is damaged: trying the next older one");
    reshape_remove_copies(1, 20, 1); /* missing: it is not complete */
    reshape_start(
        (struct reshape_run){.cut = slabs(5), .until = 11, .expect = 1, .expect_from = 10});
    reshape_damage(reshape_local_root(), 1, 10, 0);
    reshape_damage("prefix", 1, 10, 0);
    reshape_start((struct reshape_run){
        .cut = slabs(5), .expect = SAIKAI_EDAMAGED, .expect_text = "restart.mode=never"});
    reshape_start((struct reshape_run){
        .cut = slabs(4), .expect = SAIKAI_EDAMAGED, .expect_text = "restart.mode=never"});
}

static void test_without_the_node_local_copies(void **state)
{
    (void)state;
    char path[128];
    reshape_start((struct reshape_run){.cut = slabs(4), .until = 25});
    snprintf(path, sizeof path, "%s/local0", reshape_dir);
    assert_int_equal(sk_io_rmtree(path, NULL), 0);
    reshape_start(
        (struct reshape_run){.cut = slabs(6), .until = 25, .expect = 1, .expect_from = 20});
}

static void test_from_archives_alone(void **state)
{
    (void)state;
    static const char config[] = "store.archive=aggregate; far.writers=2; codec.threads=1";
    char path[128];
    static const int ranks[] = {4, 3, 5, 4};
    int64_t from = 0;
    for (int i = 0; i < 4; i++, from += 20) {
        reshape_start((struct reshape_run){.cut = slabs(ranks[i]),
                                           .config = config,
                                           .until = from + 25,
                                           .expect = from > 0,
                                           .expect_from = from});
        snprintf(path, sizeof path, "%s/local0", reshape_dir);
        assert_int_equal(sk_io_rmtree(path, NULL), 0);
    }
}

static void test_several_nodes(void **state)
{
    (void)state;
    reshape_start((struct reshape_run){
        .cut = slabs(4), .until = 25, .nodes = 2, .config = "store.prefix=none"});
    reshape_start((struct reshape_run){.cut = slabs(3),
                                       .nodes = 2,
                                       .config = "store.prefix=none",
                                       .expect = SAIKAI_ERANKS,
                                       .expect_text = "several nodes: start once with 4 ranks"});
    reshape_start((struct reshape_run){.cut = slabs(4),
                                       .until = 30,
                                       .nodes = 2,
                                       .expect = 1,
                                       .expect_from = 20,
                                       .config = "store.prefix=none"});
    reshape_remove_dir(NULL);
    reshape_begin_dir(NULL);
    reshape_start((struct reshape_run){.cut = slabs(4), .until = 25, .nodes = 2});
    reshape_start((struct reshape_run){.cut = slabs(3),
                                       .until = 35,
                                       .nodes = 2,
                                       .expect = 1,
                                       .expect_from = 20}); /* by the prefix */
    reshape_start((struct reshape_run){
        .cut = slabs(5), .until = 35, .nodes = 3, .expect = 1, .expect_from = 30});
}

static void test_never_a_silent_fresh_start(void **state)
{
    (void)state;
    reshape_start((struct reshape_run){.cut = slabs(4), .until = 15});
    reshape_remove_copies(1, 10, 2);
    reshape_start((struct reshape_run){
        .cut = slabs(3),
        .expect = SAIKAI_ERANKS,
        .expect_text =
            "gen-0001-000000000010-0 was written by 4 ranks, and of 1 of them (rank 2) no file"});
    reshape_start(
        (struct reshape_run){.cut = slabs(3), .until = 15, .config = "restart.mode=never"});
    reshape_start(
        (struct reshape_run){.cut = slabs(2), .until = 15, .expect = 1, .expect_from = 10});
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
    reshape_says("a variable 'own' that this program does not protect");
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
    reshape_says("parts of 'u' leave [10:11, 0:6, 0:5] of the global array to nobody");
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
    assert_int_equal(l.v[0].strided, 0); /* planes around planes: one piece of memory */
    assert_ptr_equal(l.v[0].data, memory[1]);
    v.data = memory;
    v.dims[1] = 4;
    assert_int_equal(sk_var_set_halo(&v, (size_t[]){1, 1}, (size_t[]){1, 0}, &err), 0);
    assert_int_equal(sk_vars_put(&l, &v, &err), 0);
    assert_int_equal(l.v[0].strided, 1);
    assert_ptr_equal(l.v[0].data, &memory[1][1]);
    assert_int_equal(sk_attribute_set(&l, "u", "replicated", "yes", &err), SAIKAI_EINVAL);
    v.tile.offset[0] = 5;
    assert_int_equal(sk_vars_put(&l, &v, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(
        err.text, "in dimension 0 its block of 4 at offset 5 ends behind the global array of 8"));
    sk_vars_free(&l);
}

/* Each rank on a node of its own, protected by parities of others; what is lost is not what another
 * number of ranks can read, and it is said; the prefix has it. */
static void test_protected_nodes(void **state)
{
    (void)state;
    const char *alone = "store.prefix=none; redundancy.scheme=xor; redundancy.group=2";
    const char *both = "redundancy.scheme=xor; redundancy.group=2; redundancy.helper=slices";
    reshape_start((struct reshape_run){.cut = slabs(4), .until = 25, .nodes = 4, .config = alone});
    reshape_start((struct reshape_run){.cut = slabs(3),
                                       .nodes = 4,
                                       .config = alone,
                                       .expect = SAIKAI_ERANKS,
                                       .expect_text = "(rank 3) no file"});
    reshape_remove_dir(NULL);
    reshape_begin_dir(NULL);
    reshape_start((struct reshape_run){.cut = slabs(4), .until = 25, .nodes = 4, .config = both});
    reshape_start((struct reshape_run){
        .cut = slabs(3), .until = 35, .nodes = 4, .config = both, .expect = 1, .expect_from = 20});
    reshape_start((struct reshape_run){
        .cut = slabs(6), .until = 45, .nodes = 3, .config = both, .expect = 1, .expect_from = 30});
    reshape_start((struct reshape_run){
        .cut = slabs(6), .until = 55, .nodes = 3, .config = both, .expect = 1, .expect_from = 40});
}

/* ---- what becomes of the files ---- */

static int count_files(const char *root, int ranks_from)
{
    char path[128];
    struct sk_gen_list l;
    int n = 0;
    snprintf(path, sizeof path, "%s/%s", reshape_dir, root);
    assert_int_equal(sk_gen_scan(path, -1, &l, NULL), 0);
    for (size_t i = 0; i < l.count; i++) {
        int *ranks;
        size_t count;
        assert_int_equal(sk_gen_ranks(path, l.gen[i], &ranks, &count, NULL), 0);
        for (size_t k = 0; k < count; k++)
            n += ranks[k] >= ranks_from;
        free(ranks);
    }
    sk_gen_list_free(&l);
    return n;
}

static void test_files_of_ranks_that_are_no_more(void **state)
{
    (void)state;
    const char *keep = "store.keep_prefix=1";
    char path[160];
    reshape_start((struct reshape_run){.cut = slabs(5), .until = 25, .config = keep});
    assert_int_equal(count_files("prefix", 0), 5);
    snprintf(path, sizeof path, "%s/%s/slot-0001-000004-7.tmp", reshape_dir, reshape_local_root());
    assert_int_equal(sk_io_replace(path, "left by a killed rank", 21, NULL), 0);
    /* until there is something newer, all of it stays */
    reshape_start((struct reshape_run){
        .cut = slabs(2), .until = 29, .config = keep, .expect = 1, .expect_from = 20});
    assert_int_equal(count_files("prefix", 0), 5);
    assert_int_equal(count_files(reshape_local_root(), 0), 5);
    assert_int_equal(access(path, F_OK), -1);
    reshape_start((struct reshape_run){
        .cut = slabs(2), .until = 35, .config = keep, .expect = 1, .expect_from = 20});
    assert_int_equal(count_files("prefix", 0), 2);
    assert_int_equal(count_files(reshape_local_root(), 0), 2);
    reshape_start((struct reshape_run){.cut = slabs(6),
                                       .until = 45,
                                       .config = "store.keep_prefix=2",
                                       .expect = 1,
                                       .expect_from = 30});
    assert_int_equal(count_files("prefix", 0), 2 + 6); /* both */
    assert_int_equal(count_files(reshape_local_root(), 0), 6);
    reshape_start((struct reshape_run){.cut = slabs(1),
                                       .until = 55,
                                       .config = "store.keep_prefix=2",
                                       .expect = 1,
                                       .expect_from = 40});
    assert_int_equal(count_files("prefix", 1),
                     5); /* the generation before the last is kept with all of its ranks */
    assert_int_equal(count_files(reshape_local_root(), 1), 0);
    reshape_start((struct reshape_run){.cut = slabs(1),
                                       .until = 65,
                                       .config = "store.keep_prefix=2",
                                       .expect = 1,
                                       .expect_from = 50});
    assert_int_equal(count_files("prefix", 1), 0);
    reshape_start((struct reshape_run){
        .cut = slabs(4), .until = 66, .expect = 1, .expect_from = 60, .finish = 1});
    assert_int_equal(count_files(reshape_local_root(), 0), 0);
}

static void test_crossing_between(void **state)
{
    (void)state;
    /* 4 wrote 10 and 20; 3 resumed, and its 30 is damaged: 3 ranks go back to what 4 wrote */
    reshape_start(
        (struct reshape_run){.cut = slabs(4), .until = 25, .config = "store.keep_local=2"});
    reshape_start((struct reshape_run){.cut = slabs(3),
                                       .until = 35,
                                       .config = "store.keep_local=2",
                                       .expect = 1,
                                       .expect_from = 20});
    reshape_damage(reshape_local_root(), 2, 30, 1);
    reshape_damage("prefix", 2, 30, 1);
    reshape_start((struct reshape_run){.cut = slabs(3),
                                       .until = 35,
                                       .config = "store.keep_local=2",
                                       .expect = 1,
                                       .expect_from = 20});
    reshape_start(
        (struct reshape_run){.cut = slabs(2), .until = 35, .expect = 1, .expect_from = 30});
}

/* ---- an older generation than the newest is taken, and it is said why ---- */

static const char archives[] = "store.archive=aggregate; far.writers=2; codec.threads=1";

/* Four ranks wrote 10 and 20; everything is in the prefix, nothing on the node any more. */
static void write_two(const char *config)
{
    char path[128];
    reshape_remove_dir(NULL);
    reshape_begin_dir(NULL);
    reshape_start((struct reshape_run){.cut = slabs(4), .until = 25, .config = config});
    snprintf(path, sizeof path, "%s/local0", reshape_dir);
    assert_int_equal(sk_io_rmtree(path, NULL), 0);
}

static void second_archive(char path[160])
{
    snprintf(path, 160, "%s/prefix/gen-0001-000000000020-0/set-000001.2-of-2.ska", reshape_dir);
}

static void go_back(int ranks, const char *config)
{
    reshape_start((struct reshape_run){
        .cut = slabs(ranks), .config = config, .until = 15, .expect = 1, .expect_from = 10});
    reshape_says("resuming from iteration 10");
}

/* The same words for as many ranks and for others. */
static void test_newest_out_of_reach(void **state)
{
    (void)state;
    char path[160];
    static const int ranks[] = {4, 3, 6};
    for (int i = 0; i < 3; i++) {
        write_two("");
        reshape_remove_copies(1, 20, 2);
        go_back(ranks[i], "");
        reshape_says("generation gen-0001-000000000020-0 of iteration 20 is out of reach: it was "
                     "written by 4 ranks, and of 1 of them (rank 2) no file is on these nodes or "
                     "in a prefix: it was not finished, or is lost; going back to iteration 10, 10 "
                     "iterations are lost");
        write_two(archives);
        second_archive(path);
        assert_int_equal(unlink(path), 0);
        go_back(ranks[i], archives);
        reshape_says("generation gen-0001-000000000020-0 of iteration 20 is out of reach: it was "
                     "written by 4 ranks, and of 2 of them (rank 2 …) no file");
        reshape_says("set-000001.2-of-2.ska: No such file");
        reshape_says("going back to iteration 10, 10 iterations are lost");
    }
}

static void test_newest_damaged(void **state)
{
    (void)state;
    char path[160];
    static const int ranks[] = {4, 3, 6};
    for (int i = 0; i < 3; i++) {
        write_two("");
        reshape_damage("prefix", 1, 20, 2);
        go_back(ranks[i], "");
        reshape_says("gen-0001-000000000020-0/rank-000002.skc: chunk 0");
        reshape_says("generation of iteration 20 is damaged: trying the next older one");
        write_two(archives);
        second_archive(path);
        int fd = open(path, O_RDWR);
        assert_int_equal(pwrite(fd, "damage", 6, 100), 6);
        close(fd);
        go_back(ranks[i], archives);
        reshape_says("gen-0001-000000000020-0/set-000001.2-of-2.ska: ");
        reshape_says("generation of iteration 20 is damaged: trying the next older one");
    }
}

/* Nothing is said when nothing is lost. */
static void test_nothing_out_of_reach(void **state)
{
    (void)state;
    write_two(archives);
    reshape_start((struct reshape_run){
        .cut = slabs(3), .config = archives, .until = 35, .expect = 1, .expect_from = 20});
    assert_null(strstr(reshape_log, "out of reach"));
    reshape_start((struct reshape_run){
        .cut = slabs(3), .config = archives, .until = 35, .expect = 1, .expect_from = 30});
    assert_null(strstr(reshape_log, "out of reach"));
}

/* ---- one form after the other ---- */

/* What is in the prefix, newest first: "f20 a10". All of it is whole. */
static const char *forms_in_prefix(void)
{
    static char text[200];
    char root[80];
    struct sk_gen_list l;
    snprintf(root, sizeof root, "%s/prefix", reshape_dir);
    assert_int_equal(sk_content_scan(root, &l, NULL), 0);
    *text = 0;
    for (size_t i = 0; i < l.count; i++) {
        struct sk_content *c = NULL;
        assert_int_equal(sk_content_load(root, l.gen[i], 0, &c, NULL), 0);
        assert_true(c->complete);
        snprintf(text + strlen(text), 40, "%s%c%lld", i ? " " : "", "?fab"[c->forms],
                 (long long)l.gen[i].iteration);
        sk_content_free(c);
    }
    sk_gen_list_free(&l);
    return text;
}

static void test_the_form_changes(void **state)
{
    (void)state;
    static const char keep_files[] = "store.keep_prefix=2; store.archive=files";
    static const char keep_archives[] =
        "store.keep_prefix=2; store.archive=aggregate; codec.threads=1";
    static const struct {
        const char *config;
        int ranks;
        int64_t until;
        const char *expect;
    } step[] = {
        {keep_archives, 3, 25, "a20 a10"},
        {keep_files, 3, 35, "f30 b20"},
        {keep_files, 3, 45, "f40 f30"},
        {keep_archives, 3, 55, "a50 f40"},
        {keep_archives, 3, 75, "a70 a60"},
        {keep_files, 2, 85, "f80 b70"}, /* put back for two ranks */
        {keep_files, 2, 95, "f90 f80"},
        {keep_archives, 4, 105, "a100 f90"},
    };
    int64_t from = 0;
    for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
        char path[128];
        reshape_start((struct reshape_run){.cut = slabs(step[i].ranks),
                                           .config = step[i].config,
                                           .until = step[i].until,
                                           .expect = from > 0,
                                           .expect_from = from});
        assert_string_equal(forms_in_prefix(), step[i].expect);
        from = step[i].until - 5;
        snprintf(path, sizeof path, "%s/local0", reshape_dir);
        assert_int_equal(sk_io_rmtree(path, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, reshape_begin_dir, reshape_remove_dir)
        TEST(test_many_shapes),
        TEST(test_random_cuts),
        TEST(test_random_damage),
        TEST(test_other_tiles_of_as_many_ranks),
        TEST(test_lossy_within_bounds),
        TEST(test_lost_and_damaged_files),
        TEST(test_without_the_node_local_copies),
        TEST(test_from_archives_alone),
        TEST(test_several_nodes),
        TEST(test_never_a_silent_fresh_start),
        TEST(test_what_cannot_be),
        TEST(test_unequal_copies),
        TEST(test_files_of_the_program),
        TEST(test_gap),
        TEST(test_overlap),
        TEST(test_a_halo_without_gaps),
        TEST(test_protected_nodes),
        TEST(test_files_of_ranks_that_are_no_more),
        TEST(test_crossing_between),
        TEST(test_newest_out_of_reach),
        TEST(test_newest_damaged),
        TEST(test_nothing_out_of_reach),
        TEST(test_the_form_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
