/* A job whose nodes are directories: whichever of them are lost, what was protected comes back on
 * the nodes there are then, bit for bit; and what cannot come back is told, never guessed. */
#include "lib/whole/local_testing.h"
#include "lib/whole/survive_testing.h"

#include "base/file/io.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* Six ranks on six nodes; iterations 10 and 20 are protected, 25 is where the job dies. */
static struct survive_run six(const char *config)
{
    return (struct survive_run){
        .ranks = 6, .node_of = {0, 1, 2, 3, 4, 5}, .config = config, .until = 25, .protects = 20};
}

static void again(struct survive_run *r, int64_t from, int64_t until)
{
    r->from = from;
    r->until = r->protects = until;
    r->unprotected = 0;
    assert_int_equal(survive_start(r), 0);
}

static void fresh_directory(void)
{
    assert_int_equal(survive_finish(NULL), 0);
    assert_int_equal(survive_begin(NULL), 0);
}

static void every_pair(const char *config, int changes)
{
    for (int a = 0; a < 6; a++)
        for (int b = a; b < 6; b++) {
            struct survive_run r = six(config);
            r.changes = changes;
            assert_int_equal(survive_start(&r), 0);
            assert_int_equal(survive_builds_on(0, 0, 20), changes ? 10 : 0);
            survive_lose(a);
            survive_lose(b);
            r.node_of[a] = 6;
            r.node_of[b] = a == b ? 6 : 7;
            again(&r, 20, 20); /* goes on, on spares, and is protected again */
            survive_says("resuming from iteration 20 (protected copy)");
            char made[96];
            int files = (1 + (a != b)) * (changes ? 2 : 1); /* changes: of the generation and of the one that it builds on */
            snprintf(made, sizeof made, "files of %d ranks and %d parity files computed anew, 0 moved", files, files);
            survive_says(made);
            survive_lose((a + 1) % 6);
            survive_lose((b + 2) % 6);
            r.node_of[(a + 1) % 6] = 8;
            r.node_of[(b + 2) % 6] = 9;
            r.finalize = 1;
            again(&r, 20, 40);
            fresh_directory();
        }
}

static void test_any_two_of_six_by_a_thread(void **state)
{
    (void)state;
    every_pair(NULL, 0);
}

static void test_any_two_of_six_in_slices(void **state)
{
    (void)state;
    every_pair("redundancy.helper=slices", 0);
}

/* Checkpoints that build on others need all that those protect. */
static void test_increments(void **state)
{
    (void)state;
    every_pair("redundancy.helper=slices; capture.tracker=hash", 20);
    /* a longer lineage, of which the last ones were never protected */
    struct survive_run r =
        six("capture.tracker=hash; capture.max_deltas=30; redundancy.helper=slices");
    r.changes = 5;
    r.until = 95;
    r.unprotected = 80;
    r.protects = 0;
    assert_int_equal(survive_start(&r), 0);
    assert_int_equal(survive_builds_on(1, 1, 70), 60);
    survive_lose(2);
    survive_lose(3);
    r.node_of[2] = 6;
    r.node_of[3] = 7;
    r.from = -1;
    r.until = 100;
    r.unprotected = 0;
    assert_int_equal(survive_start(&r), 0);
    assert_true(r.found >= 70 && r.found <= 90);
}

static void test_other_schemes(void **state)
{
    static const struct {
        const char *config;
        int losses;
    } t[] = {{"redundancy.scheme=partner", 1},
             {"redundancy.scheme=partner; redundancy.parity=2", 2},
             {"redundancy.scheme=xor; redundancy.group=3", 2}, /* one of each group */
             {"redundancy.parity=3; redundancy.form=fanin; redundancy.block=512", 3},
             {"redundancy.parity=1; redundancy.form=broadcast", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct survive_run r = six(t[i].config);
        assert_int_equal(survive_start(&r), 0);
        for (int k = 0; k < t[i].losses; k++) {
            survive_lose(k + 1);
            r.node_of[k + 1] = 6 + k;
        }
        again(&r, 20, 30);
        fresh_directory();
    }
}

/* Four nodes with two ranks each, one of each group; what is left runs anywhere. */
static void test_several_ranks_per_node(void **state)
{
    (void)state;
    struct survive_run r = {.ranks = 8,
                            .node_of = {0, 0, 1, 1, 2, 2, 3, 3},
                            .until = 25,
                            .protects = 20,
                            .config = "redundancy.group=4; redundancy.parity=2"};
    assert_int_equal(survive_start(&r), 0);
    survive_lose(0);
    survive_lose(2);
    memcpy(r.node_of, (int[]){1, 1, 1, 1, 3, 3, 3, 3},
           8 * sizeof(int)); /* no spares: more ranks per node */
    again(&r, 20, 30);
    survive_says("files of 4 ranks and 4 parity files computed anew");
    memcpy(r.node_of, (int[]){3, 1, 3, 1, 3, 1, 3, 1},
           8 * sizeof(int)); /* all there, but elsewhere */
    again(&r, 30, 40);
    survive_says("files of 0 ranks and 0 parity files computed anew, 8 moved"); /* with their parity, of four ranks */
    memcpy(r.node_of, (int[]){0, 1, 2, 3, 4, 5, 6, 7},
           8 * sizeof(int)); /* on new nodes alone nothing is left */
    survive_lose(1);
    survive_lose(3);
    survive_lose(0);
    survive_lose(2);
    again(&r, 0, 20);
}

static void test_three_of_six(void **state)
{
    (void)state;
    struct survive_run r = six(NULL);
    assert_int_equal(survive_start(&r), 0);
    for (int k = 0; k < 3; k++) {
        survive_lose(2 * k);
        r.node_of[2 * k] = 6 + k;
    }
    again(&r, 0, 20);
    survive_says("the protected generation of iteration 20 cannot be given back: 3 of 6 members of "
                 "group 0 are lost and "
                 "rs can give back 2");
    survive_says("starting fresh");
}

/* One of the three is lost for good, but there is an older generation in the prefix. */
static void test_three_of_six_with_a_copy(void **state)
{
    (void)state;
    struct survive_run r = six("store.archive_every=1; redundancy.helper=slices");
    r.until = 12;
    r.protects = 10;
    assert_int_equal(survive_start(&r),
                     0); /* 10 is archived by the way, or not: then this start does it */
    r.config = "store.archive_every=1; store.archive_last=yes; redundancy.helper=slices; "
               "restart.mode=always";
    r.finalize = 1;
    again(&r, 10, 20);
    r.config = "redundancy.helper=slices; restart.mode=always";
    r.finalize = 0;
    again(&r, 20, 30);
    for (int k = 0; k < 3; k++) {
        survive_lose(k);
        r.node_of[k] = 6 + k;
    }
    again(&r, 20, 40);
    survive_says("3 of 6 members of group 0 are lost");
    survive_says("resuming from iteration 20 (copy in the prefix)");
}

/* ---- pieces that are there and cannot be read ---- */

static const char *unreadable; /* a part of their paths */
static atomic_long unreadable_times;

static int read_error(const char *op, const char *path)
{
    int hit = unreadable && !strcmp(op, "open") && strstr(path, unreadable) && strstr(path, "/parity-");
    return hit && atomic_fetch_sub(&unreadable_times, 1) > 0 ? EIO : 0;
}

static void make_unreadable(const char *part, long times)
{
    unreadable = part;
    atomic_store(&unreadable_times, times);
    sk_io_hook = part ? read_error : NULL;
}

/* Two nodes are lost, and what the others have is needed. */
static void lose_two(struct survive_run *r)
{
    for (int k = 4; k < 6; k++) {
        survive_lose(k);
        r->node_of[k] = k + 2;
    }
}

static void test_an_error_that_passes_costs_nothing(void **state)
{
    (void)state;
    struct survive_run r = six("redundancy.helper=slices");
    assert_int_equal(survive_start(&r), 0);
    lose_two(&r);
    make_unreadable("000000000020-0", 4);
    again(&r, 20, 30);
    assert_true(atomic_load(&unreadable_times) <= 0);
    make_unreadable(NULL, 0);
}

/* Nothing older is there: an error, and not a fresh start; and all comes back when it can be read. */
static void test_an_error_that_stays_is_no_loss(void **state)
{
    (void)state;
    struct survive_run r = six("redundancy.helper=slices");
    assert_int_equal(survive_start(&r), 0);
    lose_two(&r);
    make_unreadable("000000000020-0", LONG_MAX);
    r.expect = SAIKAI_EIO;
    r.from = -1;
    r.until = r.protects = 0;
    assert_int_equal(survive_start(&r), 0);
    survive_says("pieces could not be read (input/output error)");
    survive_says("the protected generation of iteration 20 cannot be given back: ");
    assert_non_null(strstr(r.said, "the protected generation of iteration 20 cannot be given back now: "));
    assert_non_null(strstr(r.said, "pieces could not be read"));
    assert_null(strstr(r.said, ": generation ")); /* people know iterations, and not the numbers of the rooms below */
    make_unreadable(NULL, 0);
    r.expect = 0;
    again(&r, 20, 30);
}

/* An older one is in the prefix: the start goes on from there, and what it could not read stays. */
static void test_what_could_not_be_read_stays(void **state)
{
    (void)state;
    struct survive_run r = six("store.archive_every=1; store.archive_last=yes; redundancy.helper=slices");
    char base[96], root[200], path[PATH_MAX];
    r.until = 20;
    r.finalize = 1;
    assert_int_equal(survive_start(&r), 0);
    r.config = "redundancy.helper=slices; restart.mode=always";
    r.finalize = 0;
    again(&r, 20, 30);
    lose_two(&r);
    make_unreadable("gen-0002-000000000030-0", LONG_MAX);
    again(&r, 20, 50);
    survive_says("this start removes nothing of earlier ones");
    make_unreadable(NULL, 0);
    for (int node = 0; node < 4; node++) {
        snprintf(base, sizeof base, "%s/node%d", survive_dir, node);
        local_testing_root(root, sizeof root, base, 0);
        assert_int_equal(sk_gen_file(root, (struct sk_gen){2, 30, 0}, node, path, sizeof path, NULL), 0);
        assert_int_equal(access(path, F_OK), 0);
        assert_int_equal(sk_parity_set_path(root, (struct sk_parity_set){{2, 30, 0}, 2}, node, path, sizeof path, NULL), 0);
        assert_int_equal(access(path, F_OK), 0);
    }
    again(&r, 50, 60); /* and go when they could */
    assert_int_not_equal(access(path, F_OK), 0);
}

/* Whatever bits flip, the right data come back as long as each group has two good pieces too many;
 * and never wrong ones. */
static void test_flipped_bits(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int round = 0; round < 60; round++) {
        struct survive_run r = six("redundancy.helper=slices");
        int bad[6] = {0}, damaged = 0;
        r.until = 20;
        assert_int_equal(survive_start(&r), 0);
        int flips = 1 + rand_r(&seed) % 4;
        for (int k = 0; k < flips; k++) {
            int rank = rand_r(&seed) % 6, parity = rand_r(&seed) % 2;
            assert_true(survive_flip(rank, rank, parity, rand_r(&seed)));
            damaged += !bad[rank]++;
        }
        r.from = -1;
        r.protects = 0;
        r.may_fail = damaged > 2;               /* and then it says so */
        assert_int_equal(survive_start(&r), 0); /* wrong data would be an error */
        /* the generation before may still be there: nobody has waited for its retirement */
        assert_true(r.found == 20 || (damaged > 2 && (r.found == -2 || r.found == 10)));
        fresh_directory();
    }
}

/* The last generation was not protected when the nodes were lost: the one before is, and counts. */
static void test_newest_is_not_protected(void **state)
{
    (void)state;
    struct survive_run r = six("redundancy.interval=1h");
    r.until = 35;
    r.unprotected = 20;
    r.protects = 10;
    assert_int_equal(survive_start(&r), 0);
    survive_lose(4);
    r.node_of[4] = 6;
    again(&r, 10, 10);
    /* without a loss the newest local one is taken, and then protected */
    r.until = 35;
    r.unprotected = 11;
    r.protects = 0;
    assert_int_equal(survive_start(&r), 0);
    again(&r, 30, 30);
    survive_says("resuming from iteration 30 (node-local copy)");
    /* what was protected stays until that is done */
    r.until = 32;
    r.unprotected = 31;
    r.protects = 0;
    assert_int_equal(survive_start(&r), 0);
    survive_lose(3);
    r.node_of[3] = 7;
    again(&r, 30, 30);
}

/* No failure needs more than a local generation: one is protected, whose cost is then known. Where
 * nodes are lost often, all are. */
static void test_protects_as_often_as_the_model_says(void **state)
{
    (void)state;
    struct survive_run r =
        six("redundancy.interval=auto; failure.local_share=1; failure.beyond_share=0");
    r.until = 65;
    r.unprotected = 20;
    r.protects = 10;
    assert_int_equal(survive_start(&r), 0);
    fresh_directory();
    r = six("redundancy.interval=auto; failure.local_share=0; failure.mtbf=60s");
    r.until = 65;
    r.unprotected = 20;
    r.protects = 0;
    assert_int_equal(survive_start(&r), 0);
    survive_lose(4);
    r.node_of[4] = 6;
    r.from = -1;
    r.until = 65;
    assert_int_equal(survive_start(&r), 0);
    assert_true(r.found >= 10);
}

/* Nothing is shared: what the job remembers of its starts is on the nodes, too. */
static void test_without_a_prefix(void **state)
{
    (void)state;
    struct survive_run r = six("store.prefix=none; redundancy.helper=slices");
    assert_int_equal(survive_start(&r), 0);
    survive_lose(0);
    survive_lose(5);
    r.node_of[0] = 6;
    r.node_of[5] = 7;
    again(&r, 20, 30);
    survive_lose(6);
    r.node_of[0] = 8;
    again(&r, 30, 40);
}

/* Nothing is protected, and the ranks change nodes: all is there, and nobody has his own; or a node is lost, and all is. */
static void test_on_each_others_nodes(void **state)
{
    (void)state;
    struct survive_run r = {.ranks = 3, .node_of = {0, 1, 2}, .until = 25, .config = "redundancy.scheme=none"};
    assert_int_equal(survive_start(&r), 0);
    r.node_of[0] = 1;
    r.node_of[1] = 0;
    r.until = 5;
    assert_int_equal(survive_start(&r), 0);
    survive_says("of iteration 20 is out of reach: its 3 files lie in the node-local directories of other nodes than those of the ranks that "
                 "need them; there is no older one");
    for (int lost = 1; lost < 3; lost++) {
        fresh_directory();
        r = (struct survive_run){.ranks = 3, .node_of = {0, 1, 2}, .until = 25, .config = "redundancy.scheme=none"};
        assert_int_equal(survive_start(&r), 0);
        for (int i = 0; i < lost; i++) {
            survive_lose(2 - i);
            r.node_of[2 - i] = 3 + i;
        }
        r.until = 5;
        assert_int_equal(survive_start(&r), 0);
        survive_says(lost == 1 ? "it was written by 3 ranks, and of 1 of them (rank 2) no file is on these nodes or in a prefix: it was not finished, "
                                 "or is lost; there is no older one"
                               : "it was written by 3 ranks, and of 2 of them (rank 1 …) no file is on these nodes");
    }
}

static void test_what_cannot_be_protected_runs(void **state)
{
    (void)state;
    struct survive_run r = {
        .ranks = 3, .node_of = {0, 1, 2}, .until = 20, .config = "redundancy.domain=host"};
    assert_int_equal(survive_start(&r), 0); /* one host: nothing is said, by default */
    assert_null(strstr(survive_log, "protected"));
    fresh_directory();
    r.config = "redundancy.domain=host; redundancy.scheme=rs";
    assert_int_equal(survive_start(&r), 0);
    survive_says("checkpoints are not protected against the loss of a node: no redundancy groups "
                 "of 3 or more");
    fresh_directory();
    r.config = "redundancy.parity=3"; /* of three ranks */
    r.protects = 20;
    assert_int_equal(survive_start(&r), 0);
    survive_says("survive the loss of 2 of each group only");
    fresh_directory();
    r.config = "redundancy.scheme=none";
    r.protects = 0;
    assert_int_equal(survive_start(&r), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_on_each_others_nodes, survive_begin, survive_finish),
        cmocka_unit_test_setup_teardown(test_any_two_of_six_by_a_thread, survive_begin,
                                        survive_finish),
        cmocka_unit_test_setup_teardown(test_any_two_of_six_in_slices, survive_begin,
                                        survive_finish),
        cmocka_unit_test_setup_teardown(test_increments, survive_begin, survive_finish),
        cmocka_unit_test_setup_teardown(test_other_schemes, survive_begin, survive_finish),
        cmocka_unit_test_setup_teardown(test_several_ranks_per_node, survive_begin, survive_finish),
        cmocka_unit_test_setup_teardown(test_three_of_six, survive_begin, survive_finish),
        cmocka_unit_test_setup_teardown(test_three_of_six_with_a_copy, survive_begin,
                                        survive_finish),
        cmocka_unit_test_setup_teardown(test_an_error_that_passes_costs_nothing, survive_begin, survive_finish),
        cmocka_unit_test_setup_teardown(test_an_error_that_stays_is_no_loss, survive_begin, survive_finish),
        cmocka_unit_test_setup_teardown(test_what_could_not_be_read_stays, survive_begin, survive_finish),
        cmocka_unit_test_setup_teardown(test_flipped_bits, survive_begin, survive_finish),
        cmocka_unit_test_setup_teardown(test_protects_as_often_as_the_model_says, survive_begin,
                                        survive_finish),
        cmocka_unit_test_setup_teardown(test_newest_is_not_protected, survive_begin,
                                        survive_finish),
        cmocka_unit_test_setup_teardown(test_without_a_prefix, survive_begin, survive_finish),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_protected_runs, survive_begin,
                                        survive_finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
