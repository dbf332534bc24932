/* Damage in the local directory while the program runs: it is noticed, said and healed, and a restart goes back at most one
 * interval. */
#include "lib/engine/heal/heal_testing.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "store/form/lineage.h"
#include "store/holdings.h"

#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

/* The engine's newest generation of this rank builds on nothing. */
static int is_full(struct sk_session *s)
{
    struct sk_gen base = {0};
    struct sk_ledger_entry e;
    return !sk_ledger_find(s->levels.ledger, sk_ledger_count(s->levels.ledger), &e, NULL) &&
           !sk_lineage_base(s->place.local_root, e.gen, s->g->rank, &base, NULL) && !base.incarnation;
}

/* ---- without a scrub: found when the lineage is folded ---- */

static _Atomic int64_t full_at;

static int flip_the_base(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    char path[256];
    heal_path(path, HEAL_EVERY, 1);
    if (it == 2 * HEAL_EVERY + 5 && s->g->rank == 1)
        CHECK(!is_full(s) && heal_flip(path, 1000));
    if (it > 2 * HEAL_EVERY + 5 && s->g->rank == 1 && !full_at && is_full(s)) /* it may come before the next one that is due */
        full_at = it;
    return 0;
}

static void test_a_base_that_cannot_be_folded_is_replaced(void **state)
{
    (void)state;
    full_at = 0;
    heal_start((struct heal_run){.until = 30 * HEAL_EVERY + 3, .from = -1, .config = "", .body = flip_the_base});
    world_expect("rank 1: generation gen-0001-000000000010-0 is damaged in memory: ", 1);
    world_expect("rank-000001.skc: chunk 0 (variable 'u'", 1);
    world_expect("the next checkpoint is made soon and in full", 1);
    assert_true(full_at > 0 && full_at <= 8 * HEAL_EVERY);
    heal_start((struct heal_run){.until = 0, .from = 30 * HEAL_EVERY, .config = ""});
}

/* ---- with a scrub: found although nobody reads it ---- */

/* Candidates at which nothing is due, until the log says it: collective. */
static int wait_until(struct sk_session *s, int64_t it, const char *text)
{
    struct saikai_error err = {0};
    double begun = sk_now();
    for (int64_t seen = 0; !seen;) {
        seen = world_says(text);
        CHECK(!sk_group_allreduce(s->g, &seen, 1, SK_OP_MIN));
        CHECK(sk_now() - begun < HEAL_LONGEST_WAIT);
        int due = sk_session_due(s, 1, it, &err);
        CHECK(due >= 0);
        if (due) {
            CHECK(!sk_session_capture(s, 1, it, &err));
            CHECK(!sk_session_wait(s, &err));
        }
        sk_sleep(0.002);
    }
    return 0;
}

/* More candidates, until one more generation was captured and is complete. */
static int wait_for_capture(struct sk_session *s, int64_t it, int64_t seq)
{
    struct saikai_error err = {0};
    double begun = sk_now();
    while (sk_ledger_count(s->levels.ledger) == seq) {
        int due = sk_session_due(s, 2, it, &err);
        CHECK(due >= 0);
        CHECK(sk_now() - begun < HEAL_LONGEST_WAIT);
        if (due)
            CHECK(!sk_session_capture(s, 2, it, &err));
        sk_sleep(0.001);
    }
    CHECK(!sk_session_wait(s, &err));
    CHECK(sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE) == sk_ledger_count(s->levels.ledger));
    return 0;
}

static int damage_and_wait_for_a_full_one(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    char path[256];
    if (it != 2 * HEAL_EVERY + 5)
        return 0;
    CHECK(!sk_group_barrier(s->g));
    int64_t seq = sk_ledger_count(s->levels.ledger);
    heal_path(path, HEAL_EVERY, 1);
    if (s->g->rank == 1)
        CHECK(heal_flip(path, 1000));
    CHECK(!wait_until(s, it, "the next checkpoint is made soon and in full"));
    CHECK(!wait_for_capture(s, it, seq));
    CHECK(s->g->rank != 1 || is_full(s));
    return 0;
}

static void test_a_flipped_byte_is_found_while_nobody_reads(void **state)
{
    (void)state;
    heal_start((struct heal_run){.until = 2 * HEAL_EVERY + 6, .from = -1, .config = HEAL_SCRUB, .body = damage_and_wait_for_a_full_one});
    heal_start((struct heal_run){.until = 0, .from = 2 * HEAL_EVERY + 5, .config = ""}); /* nothing is lost */
}

static int cut_and_wait(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    char path[256];
    if (it != 2 * HEAL_EVERY + 5)
        return 0;
    CHECK(!sk_group_barrier(s->g));
    int64_t seq = sk_ledger_count(s->levels.ledger);
    heal_path(path, HEAL_EVERY, 0);
    if (s->g->rank == 0)
        CHECK(!truncate(path, 5000));
    CHECK(!wait_until(s, it, "the next checkpoint is made soon and in full"));
    CHECK(!wait_for_capture(s, it, seq));
    return 0;
}

static void test_a_file_that_was_cut_is_replaced(void **state)
{
    (void)state; /* and its slot is not written to any more: that would be a signal */
    heal_start((struct heal_run){.until = 12 * HEAL_EVERY + 6, .from = -1, .config = HEAL_SCRUB, .body = cut_and_wait});
    heal_start((struct heal_run){.until = 0, .from = 12 * HEAL_EVERY, .config = ""});
}

static int remove_and_wait(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    char path[256];
    if (it != 2 * HEAL_EVERY + 5)
        return 0;
    CHECK(!sk_group_barrier(s->g));
    heal_path(path, HEAL_EVERY, 0);
    if (s->g->rank == 0)
        CHECK(!unlink(path));
    CHECK(!wait_until(s, it, "it is written anew from memory"));
    CHECK(!access(path, F_OK));
    return 0;
}

static void test_a_file_that_was_removed_is_written_anew(void **state)
{
    (void)state;
    heal_start((struct heal_run){.until = 2 * HEAL_EVERY + 6, .from = -1, .config = HEAL_SCRUB, .body = remove_and_wait});
    heal_start((struct heal_run){.until = 0, .from = 2 * HEAL_EVERY, .config = ""});
}

/* Candidates until the first generation is in the prefix, which is learnt at the same one by all ranks. */
static int wait_until_archived(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    double begun = sk_now();
    while (sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED) < 1) {
        sk_engine_drain(s->levels.engine);
        CHECK(!sk_session_due(s, 1, it, &err));
        CHECK(sk_now() - begun < HEAL_LONGEST_WAIT);
        sk_sleep(0.001);
    }
    return 0;
}

static int flip_and_wait_for_the_prefix(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    char path[256];
    if (it != HEAL_EVERY + 5)
        return 0;
    CHECK(!wait_until_archived(s, it));
    CHECK(!sk_group_barrier(s->g));
    heal_path(path, HEAL_EVERY, 1);
    if (s->g->rank == 1)
        CHECK(heal_flip(path, 3000));
    CHECK(!wait_until(s, it, "it is written anew from the copy in the prefix"));
    CHECK(sk_ledger_count(s->levels.ledger) == 1); /* no other was needed */
    return 0;
}

static void test_a_copy_in_the_prefix_heals(void **state)
{
    (void)state;
    char prefix[128];
    snprintf(prefix, sizeof prefix, HEAL_SCRUB "store.prefix=%s/prefix", world.dir);
    heal_start((struct heal_run){.until = 5 * HEAL_EVERY + 6, .from = -1, .config = prefix, .body = flip_and_wait_for_the_prefix});
    snprintf(prefix, sizeof prefix, "store.prefix=%s/prefix", world.dir);
    heal_start((struct heal_run){.until = 0, .from = 5 * HEAL_EVERY, .config = prefix});
    world_expect("(node-local copy)", 1);
}

/* The prefix answers no more: the file is not healed from there, and nothing waits for it. */
static atomic_int hanging;
static char hangs_in[128];

static int hang(const char *op, const char *path)
{
    (void)op;
    while (atomic_load(&hanging) && !strncmp(path, hangs_in, strlen(hangs_in)))
        sk_sleep(0.002);
    return 0;
}

static int flip_while_it_hangs(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    char path[256];
    if (it != HEAL_EVERY + 5)
        return 0;
    CHECK(!wait_until_archived(s, it));
    CHECK(!sk_group_barrier(s->g));
    atomic_store(&hanging, 1);
    heal_path(path, HEAL_EVERY, 1);
    if (s->g->rank == 1)
        CHECK(heal_flip(path, 3000));
    CHECK(!wait_until(s, it, "the next checkpoint is made soon and in full"));
    return 0;
}

static void test_a_prefix_that_hangs_heals_nothing(void **state)
{
    (void)state;
    char config[256];
    snprintf(hangs_in, sizeof hangs_in, "%s/prefix", world.dir);
    snprintf(config, sizeof config, HEAL_SCRUB "store.prefix=%s; store.prefix_timeout=50ms; store.final_wait=100ms", hangs_in);
    sk_io_hook = hang;
    heal_start((struct heal_run){.until = 3 * HEAL_EVERY + 1, .from = -1, .config = config, .body = flip_while_it_hangs});
    atomic_store(&hanging, 0);
    heal_start((struct heal_run){.until = 0, .from = 3 * HEAL_EVERY, .config = config});
    double begun = sk_now();
    while (sk_io_rmtree(hangs_in, NULL) && sk_now() - begun < HEAL_LONGEST_WAIT) /* what hung ends there */
        sk_sleep(0.01);
    /* the hook stays: a thread that hung may look at it once more, and nothing hangs by it now */
}

/* What is done to the parity file: a byte flipped there (from its end: below 0), or … */
enum { REMOVED = 1 << 30, CUT };
static off_t spoil_at;

static int spoil(const char *path)
{
    struct stat sb;
    if (stat(path, &sb))
        return -1;
    return spoil_at == REMOVED ? unlink(path) : spoil_at == CUT ? truncate(path, sb.st_size - 64) : !heal_flip(path, spoil_at < 0 ? sb.st_size + spoil_at : spoil_at);
}

static int wait_until_protected(struct sk_session *s, int64_t it, int64_t seq)
{
    struct saikai_error err = {0};
    double begun = sk_now();
    while (sk_ledger_newest(s->levels.ledger, SK_LEDGER_PROTECTED) < seq) { /* learnt at the same candidate by all ranks */
        CHECK(!sk_session_due(s, 3, it, &err));
        CHECK(sk_now() - begun < HEAL_LONGEST_WAIT);
        sk_sleep(0.001);
    }
    return 0;
}

/* Parity of the full generation, which the deltas after it build on: they have sets of their own, and need it. */
static int spoil_parity(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    struct sk_ledger_entry e;
    char path[PATH_MAX];
    if (it == HEAL_EVERY + 5)
        CHECK(!wait_until_protected(s, it, 1));
    if (it != 2 * HEAL_EVERY + 5)
        return 0;
    CHECK(!wait_until_protected(s, it, 2));
    CHECK(!sk_group_barrier(s->g));
    CHECK(!sk_ledger_find(s->levels.ledger, 1, &e, &err));
    CHECK(!sk_parity_set_path(s->place.local_root, (struct sk_parity_set){e.gen, s->who.incarnation}, s->g->rank, path, sizeof path, &err));
    CHECK(!access(path, F_OK) && !is_full(s));
    if (s->g->rank == 1)
        CHECK(!spoil(path));
    CHECK(!wait_until(s, it, "and protected anew"));
    sk_sleep(0.2); /* it is looked at again, and still damaged */
    const char *told = strstr(world.said, "and protected anew");
    CHECK(told && !strstr(told + 1, "and protected anew"));
    CHECK(!sk_group_barrier(s->g));
    if (sk_ledger_count(s->levels.ledger) == 2)
        CHECK(!wait_for_capture(s, it, 2));
    CHECK(!wait_until_protected(s, it, 3));
    CHECK(!is_full(s) && access(path, F_OK)); /* nothing depends on it any more */
    return 0;
}

static void test_parity_that_flipped_or_went_is_made_again(void **state)
{
    struct heal_run r = {.until = 2 * HEAL_EVERY + 6, .from = -1, .body = spoil_parity, .config = HEAL_SCRUB "redundancy.domain=process; redundancy.scheme=xor; redundancy.interval=1ms"};
    static const struct {
        off_t at;
        const char *says;
    } cases[] = {{4096 + 100, "parity-000001-0001.skp: parity block 0 is damaged"}, {-1, "parity-000001-0001.skp: its table is damaged"},
                 {64, "parity-000001-0001.skp"}, {CUT, "parity-000001-0001.skp"}, {REMOVED, "parity-000001-0001.skp"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spoil_at = cases[i].at;
        heal_start(r);
        world_expect(cases[i].says, 1);
        heal_end(state);
        heal_begin(state);
    }
}

/* Slots that wait for the next checkpoint. */
static int break_slots(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    int n = 0;
    if (it % HEAL_EVERY != 5 || s->g->rank)
        return 0;
    DIR *d = opendir(s->place.local_root);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[PATH_MAX];
        if (strncmp(e->d_name, "slot-", 5) || strncmp(e->d_name + 10, "000000", 6))
            continue;
        CHECK(!sk_io_path(path, sizeof path, &err, "%s/%s", s->place.local_root, e->d_name));
        CHECK(it % (2 * HEAL_EVERY) == 5 ? !truncate(path, 10) : !unlink(path));
        n++;
    }
    if (d)
        closedir(d);
    CHECK(it < 3 * HEAL_EVERY || n);
    return 0;
}

static void test_slots_that_were_cut_or_removed(void **state)
{
    (void)state;
    heal_start((struct heal_run){.until = 8 * HEAL_EVERY + 1, .from = -1, .config = "capture.tracker=full", .body = break_slots});
    heal_start((struct heal_run){.until = 0, .from = 8 * HEAL_EVERY, .config = ""});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, heal_begin, heal_end)
        TEST(test_a_base_that_cannot_be_folded_is_replaced),
        cmocka_unit_test(remember_open_files),
        TEST(test_a_flipped_byte_is_found_while_nobody_reads),
        TEST(test_a_file_that_was_cut_is_replaced),
        TEST(test_a_file_that_was_removed_is_written_anew),
        TEST(test_a_copy_in_the_prefix_heals),
        TEST(test_a_prefix_that_hangs_heals_nothing),
        TEST(test_parity_that_flipped_or_went_is_made_again),
        TEST(test_slots_that_were_cut_or_removed),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
