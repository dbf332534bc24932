/* Sessions that go on with another number of ranks, and the files of the ranks before: wherever they are, lost, damaged, in another
 * form; and what becomes of them. */
#include "lib/restart/reshape_testing.h"
#include "lib/whole/session_testing.h"

#include "archive/read/content.h"
#include "base/file/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static struct reshape_cut slabs(int ranks)
{
    return (struct reshape_cut){3, {11, 6, 5}, {ranks, 1, 1}, 0, 0};
}

static void test_lost_and_damaged_files(void **state)
{
    (void)state;
    reshape_start((struct reshape_run){
        .cut = slabs(4), .until = 35, .config = "store.keep_local=3; store.keep_prefix=3"});
    world_damage(reshape_local(), 1, 30, 3, 200); /* one copy of one: the other one */
    reshape_start(
        (struct reshape_run){.cut = slabs(3), .until = 31, .expect = 1, .expect_from = 30});
    world_expect("rank-000003.skc", 1);
    world_damage("prefix", 1, 30,
                 3, 200); /* both: older, for every rank, also those that do not need it */
    reshape_start(
        (struct reshape_run){.cut = slabs(2), .until = 21, .expect = 1, .expect_from = 20});
    world_expect("is damaged: trying the next older one", 1);
    reshape_remove_copies(1, 20, 1); /* missing: it is not complete */
    reshape_start(
        (struct reshape_run){.cut = slabs(5), .until = 11, .expect = 1, .expect_from = 10});
    world_damage(reshape_local(), 1, 10, 0, 200);
    world_damage("prefix", 1, 10, 0, 200);
    reshape_start((struct reshape_run){
        .cut = slabs(5), .expect = SAIKAI_EDAMAGED, .expect_text = "restart.mode=never"});
    reshape_start((struct reshape_run){
        .cut = slabs(4), .expect = SAIKAI_EDAMAGED, .expect_text = "restart.mode=never"});
}

static void test_without_the_node_local_copies(void **state)
{
    (void)state;
    reshape_start((struct reshape_run){.cut = slabs(4), .until = 25});
    world_lose("local0");
    reshape_start(
        (struct reshape_run){.cut = slabs(6), .until = 25, .expect = 1, .expect_from = 20});
}

static void test_from_archives_alone(void **state)
{
    (void)state;
    static const char config[] = "store.archive=aggregate; far.writers=2; codec.threads=1";
    static const int ranks[] = {4, 3, 5, 4};
    int64_t from = 0;
    for (int i = 0; i < 4; i++, from += 20) {
        reshape_start((struct reshape_run){.cut = slabs(ranks[i]),
                                           .config = config,
                                           .until = from + 25,
                                           .expect = from > 0,
                                           .expect_from = from});
        world_lose("local0");
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
    snprintf(path, sizeof path, "%s/%s", world.dir, root);
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
    snprintf(path, sizeof path, "%s/%s/slot-0001-000004-7.tmp", world.dir, reshape_local());
    assert_int_equal(sk_io_replace(path, "left by a killed rank", 21, NULL), 0);
    /* until there is something newer, all of it stays */
    reshape_start((struct reshape_run){
        .cut = slabs(2), .until = 29, .config = keep, .expect = 1, .expect_from = 20});
    assert_int_equal(count_files("prefix", 0), 5);
    assert_int_equal(count_files(reshape_local(), 0), 5);
    assert_int_equal(access(path, F_OK), -1);
    reshape_start((struct reshape_run){
        .cut = slabs(2), .until = 35, .config = keep, .expect = 1, .expect_from = 20});
    assert_int_equal(count_files("prefix", 0), 2);
    assert_int_equal(count_files(reshape_local(), 0), 2);
    reshape_start((struct reshape_run){.cut = slabs(6),
                                       .until = 45,
                                       .config = "store.keep_prefix=2",
                                       .expect = 1,
                                       .expect_from = 30});
    assert_int_equal(count_files("prefix", 0), 2 + 6); /* both */
    assert_int_equal(count_files(reshape_local(), 0), 6);
    reshape_start((struct reshape_run){.cut = slabs(1),
                                       .until = 55,
                                       .config = "store.keep_prefix=2",
                                       .expect = 1,
                                       .expect_from = 40});
    assert_int_equal(count_files("prefix", 1),
                     5); /* the generation before the last is kept with all of its ranks */
    assert_int_equal(count_files(reshape_local(), 1), 0);
    reshape_start((struct reshape_run){.cut = slabs(1),
                                       .until = 65,
                                       .config = "store.keep_prefix=2",
                                       .expect = 1,
                                       .expect_from = 50});
    assert_int_equal(count_files("prefix", 1), 0);
    reshape_start((struct reshape_run){
        .cut = slabs(4), .until = 66, .expect = 1, .expect_from = 60, .finish = 1});
    assert_int_equal(count_files(reshape_local(), 0), 0);
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
    world_damage(reshape_local(), 2, 30, 1, 200);
    world_damage("prefix", 2, 30, 1, 200);
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
    reshape_remove_dir(NULL);
    reshape_begin_dir(NULL);
    reshape_start((struct reshape_run){.cut = slabs(4), .until = 25, .config = config});
    world_lose("local0");
}

static void second_archive(char path[160])
{
    snprintf(path, 160, "%s/prefix/gen-0001-000000000020-0/set-000001.2-of-2.ska", world.dir);
}

static void go_back(int ranks, const char *config)
{
    reshape_start((struct reshape_run){
        .cut = slabs(ranks), .config = config, .until = 15, .expect = 1, .expect_from = 10});
    world_expect("resuming from iteration 10", 1);
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
        world_expect("generation gen-0001-000000000020-0 of iteration 20 is out of reach: it was "
                     "written by 4 ranks, and of 1 of them (rank 2) no file is on these nodes or "
                     "in a prefix: it was not finished, or is lost; going back to iteration 10, 10 "
                     "iterations are lost",
                     1);
        write_two(archives);
        second_archive(path);
        assert_int_equal(unlink(path), 0);
        go_back(ranks[i], archives);
        world_expect("generation gen-0001-000000000020-0 of iteration 20 is out of reach: it was "
                     "written by 4 ranks, and of 2 of them (rank 2 …) no file",
                     1);
        world_expect("set-000001.2-of-2.ska: No such file", 1);
        world_expect("going back to iteration 10, 10 iterations are lost", 1);
    }
}

static void test_newest_damaged(void **state)
{
    (void)state;
    char path[160];
    static const int ranks[] = {4, 3, 6};
    for (int i = 0; i < 3; i++) {
        write_two("");
        world_damage("prefix", 1, 20, 2, 200);
        go_back(ranks[i], "");
        world_expect("gen-0001-000000000020-0/rank-000002.skc: chunk 0", 1);
        world_expect("generation of iteration 20 is damaged: trying the next older one", 1);
        write_two(archives);
        second_archive(path);
        int fd = open(path, O_RDWR);
        assert_int_equal(pwrite(fd, "damage", 6, 100), 6);
        close(fd);
        go_back(ranks[i], archives);
        world_expect("gen-0001-000000000020-0/set-000001.2-of-2.ska: ", 1);
        world_expect("generation of iteration 20 is damaged: trying the next older one", 1);
    }
}

/* Nothing is said when nothing is lost. */
static void test_nothing_out_of_reach(void **state)
{
    (void)state;
    write_two(archives);
    reshape_start((struct reshape_run){
        .cut = slabs(3), .config = archives, .until = 35, .expect = 1, .expect_from = 20});
    world_expect("out of reach", 0);
    reshape_start((struct reshape_run){
        .cut = slabs(3), .config = archives, .until = 35, .expect = 1, .expect_from = 30});
    world_expect("out of reach", 0);
}

/* ---- one form after the other ---- */

static int open_files(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* What is in the prefix, newest first: "f20 a10". All of it is whole. */
static const char *forms_in_prefix(void)
{
    static char text[200];
    char root[80];
    struct sk_gen_list l;
    snprintf(root, sizeof root, "%s/prefix", world.dir);
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
        reshape_start((struct reshape_run){.cut = slabs(step[i].ranks),
                                           .config = step[i].config,
                                           .until = step[i].until,
                                           .expect = from > 0,
                                           .expect_from = from});
        int before = open_files();
        assert_string_equal(forms_in_prefix(), step[i].expect);
        assert_true(open_files() <= before); /* whoever looks leaves nothing open */
        from = step[i].until - 5;
        world_lose("local0");
    }
}

/* Of none of its files can be read how many ranks wrote the newest one: it is not guessed, and the one before is taken. */
static void test_no_file_tells_how_many_ranks(void **state)
{
    (void)state;
    reshape_start((struct reshape_run){.cut = slabs(4), .until = 35});
    for (int rank = 0; rank < 4; rank++) {
        world_damage(reshape_local(), 1, 30, rank, 8);
        world_damage("prefix", 1, 30, rank, 8);
    }
    reshape_start((struct reshape_run){.cut = slabs(3), .until = 25, .expect = 1, .expect_from = 20});
    world_expect("generation of iteration 30 is damaged: trying the next older one", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, reshape_begin_dir, reshape_remove_dir)
        TEST(test_lost_and_damaged_files),
        TEST(test_without_the_node_local_copies),
        TEST(test_from_archives_alone),
        TEST(test_several_nodes),
        TEST(test_never_a_silent_fresh_start),
        TEST(test_protected_nodes),
        TEST(test_files_of_ranks_that_are_no_more),
        TEST(test_crossing_between),
        TEST(test_newest_out_of_reach),
        TEST(test_newest_damaged),
        TEST(test_no_file_tells_how_many_ranks),
        TEST(test_nothing_out_of_reach),
        TEST(test_the_form_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
