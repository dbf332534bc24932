/* Slots of an engine without its threads: which one is captured into, when there is one more, what has to go for it, and what is kept
 * ready. */
#include "lib/engine/slots.h"

#include "base/file/io.h"
#include "lib/engine/engine_parts.h"
#include "lib/engine/retention.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { PAGE = 4096, THIS = 3, MOST = 8 };

static char dir[] = "/tmp/slots-XXXXXX";
static struct sk_engine *e;
static struct sk_held *made[MOST]; /* in the order of the marks */

static int start(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static int set_up(void **state)
{
    (void)state;
    struct sk_engine_config c = {.local_root = dir, .incarnation = THIS, .nranks = 1, .keep_local = 1, .keep_prefix = 1};
    e = calloc(1, sizeof *e);
    assert_non_null(e);
    sk_keep_set(&e->keep, &c);
    sk_threads_set(&e->threads);
    e->keep.strays_local = 0;
    return sk_where_set(&e->where, &c);
}

static int tear_down(void **state)
{
    (void)state;
    struct sk_gen_list l;
    sk_io_hook = NULL;
    assert_int_equal(sk_gen_scan(dir, -1, &l, NULL), 0);
    for (size_t i = 0; i < l.count; i++)
        assert_int_equal(sk_gen_remove_all(dir, l.gen[i], NULL), 0);
    sk_gen_list_free(&l);
    sk_engine_free_parts(e);
    e = NULL;
    return 0;
}

static struct sk_gen gen_of(int i)
{
    return (struct sk_gen){THIS, 10 * (i + 1), 0};
}

static int has_file(int i)
{
    return sk_where_has_file(&e->where, gen_of(i));
}

/* What an earlier start left: a file without a slot, adopted. */
static struct sk_held *put_old(int i)
{
    struct sk_held *h = calloc(1, sizeof *h);
    assert_non_null(h);
    *h = (struct sk_held){.stage = COMMITTED, .gen = {THIS - 1, 10 * (i + 1), 0}};
    sk_stock_add(&e->stock, h);
    char path[128];
    assert_int_equal(sk_io_path(path, sizeof path, NULL, "%s/old.tmp", dir), 0);
    assert_int_equal(sk_io_replace(path, "x", 1, NULL), 0);
    assert_int_equal(sk_gen_commit(dir, h->gen, 0, path, 0, NULL), 0);
    return h;
}

/* One character for each slot: c a generation (their numbers grow), h held, a being archived, f free, t taken, s submitted; D the
 * same as f, d as t, e as c, of a slot for deltas; o an old file. */
static void put(const char *marks)
{
    memset(made, 0, sizeof made);
    for (int i = 0; marks[i]; i++) {
        if (marks[i] == 'o') {
            made[i] = put_old(i);
            continue;
        }
        enum sk_slot_use use = strchr("dDe", marks[i]) ? SK_SLOT_DELTA : SK_SLOT_FULL;
        assert_int_equal(sk_shelf_new(&e->shelf, &e->where, &e->stock, use, PAGE, NULL), 0);
        struct sk_held *h = made[i] = e->stock.all;
        h->seq = i + 1;
        h->stage = strchr("fD", marks[i]) ? FREE : marks[i] == 's' ? SUBMITTED : strchr("td", marks[i]) ? TAKEN : COMMITTED;
        if (h->stage != COMMITTED)
            continue;
        h->gen = gen_of(i);
        h->users.holds = marks[i] == 'h';
        h->users.archiving = marks[i] == 'a';
        assert_int_equal(sk_slot_commit(h->slot, dir, h->gen, 0, 0, NULL), 0);
        sk_stock_committed(&e->stock, h);
    }
}

static int count(void)
{
    int n = 0;
    for (const struct sk_held *h = e->stock.all; h; h = h->next)
        n++;
    return n;
}

static void set_counts(int keep_local, int complete, int told)
{
    e->keep.keep_local = keep_local;
    e->stock.complete_seq = e->keep.retired_seq = complete; /* retention has been done */
    e->stock.told_seq = told;
}

/* got: the slot that is captured into, a digit of its place in the marks, or n for one more. gone: generations whose files go. */
struct want {
    const char *what, *marks;
    enum sk_slot_use use;
    int keep_local, complete, told;
    char got;
    const char *gone;
};

static const struct want wants[] = {
    {"the first", "", SK_SLOT_FULL, 1, 0, 0, 'n', ""},
    {"a free one", "cf", SK_SLOT_FULL, 1, 1, 0, '2', ""},
    {"not one of the other use", "cD", SK_SLOT_FULL, 1, 1, 0, 'n', ""},
    {"nor one of this", "cf", SK_SLOT_DELTA, 1, 1, 0, 'n', ""},
    {"one that is taken", "t", SK_SLOT_FULL, 1, 0, 0, 'n', ""},
    {"a second one", "c", SK_SLOT_FULL, 1, 1, 0, 'n', ""},
    {"a third one, beside the newest and what is kept", "cc", SK_SLOT_FULL, 1, 1, 0, 'n', ""},
    {"no fourth one", "ccc", SK_SLOT_FULL, 1, 3, 0, '1', "1"},
    {"but as many more as are kept", "ccc", SK_SLOT_FULL, 2, 3, 0, 'n', ""},
    {"and no more", "cccc", SK_SLOT_FULL, 2, 4, 0, '1', "1"},
    {"between the newest complete and the newest", "ccc", SK_SLOT_FULL, 1, 1, 0, '2', "2"},
    {"the oldest of these", "cccc", SK_SLOT_FULL, 1, 1, 0, '2', "2"},
    {"one of which the ranks hear stays", "ccc", SK_SLOT_FULL, 1, 1, 2, 'n', ""},
    {"and takes one slot only", "cccc", SK_SLOT_FULL, 1, 1, 2, '3', "3"},
    {"it is complete", "ccc", SK_SLOT_FULL, 1, 2, 2, '1', "1"},
    {"it is the newest", "ccc", SK_SLOT_FULL, 1, 1, 3, '2', "2"},
    {"a held one is beside the count", "hcc", SK_SLOT_FULL, 1, 3, 0, 'n', ""},
    {"also when two are", "hhccc", SK_SLOT_FULL, 1, 5, 0, '3', "3"},
    {"all of it is needed: the newest makes room", "aac", SK_SLOT_FULL, 1, 1, 0, '3', "3"},
    {"unless the ranks hear of it", "aac", SK_SLOT_FULL, 1, 1, 3, 'n', ""},
    {"or it is complete", "aac", SK_SLOT_FULL, 1, 3, 0, 'n', ""},
    {"taken ones count", "ttt", SK_SLOT_FULL, 1, 0, 0, 'n', ""},
    {"and so an old one goes for it", "cct", SK_SLOT_FULL, 1, 2, 0, '1', "1"},
    {"two deltas may be on their way", "ccdd", SK_SLOT_DELTA, 1, 2, 0, 'n', ""},
    {"those that are generations are beside", "ceee", SK_SLOT_DELTA, 3, 4, 0, 'n', ""},
    {"a third one, too, and then what is not needed goes", "ccddd", SK_SLOT_DELTA, 1, 2, 0, 'n', "1"},
};

static void test_acquire(void **state)
{
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        const struct want *w = &wants[i];
        struct sk_slot *slot = NULL;
        set_up(state);
        put(w->marks);
        set_counts(w->keep_local, w->complete, w->told);
        int before = count();
        if (sk_engine_acquire(e, w->use, PAGE - 100, &slot, NULL))
            fail_msg("%s: no slot", w->what);
        struct sk_held *h = sk_stock_of_slot(&e->stock, slot);
        int is_new = count() == before + 1;
        if (is_new != (w->got == 'n') || (!is_new && h != made[w->got - '1']))
            fail_msg("%s: not %c", w->what, w->got);
        assert_int_equal(h->stage, TAKEN);
        assert_int_equal(h->size_bytes, PAGE - 100);
        assert_int_equal(h->use, w->use);
        for (int k = 0; w->marks[k]; k++)
            if (strchr("chae", w->marks[k]) && has_file(k) != !strchr(w->gone, '1' + k))
                fail_msg("%s: generation %d", w->what, k + 1);
        sk_engine_give_back(e, slot);
        assert_int_equal(h->stage, FREE);
        tear_down(state);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    struct sk_slot *small, *same, *large;
    put("fff");
    assert_int_equal(sk_engine_acquire(e, SK_SLOT_FULL, PAGE, &same, NULL), 0);
    assert_int_equal(same->size_bytes, PAGE);
    assert_int_equal(sk_engine_acquire(e, SK_SLOT_FULL, PAGE + 1, &large, NULL), 0);
    assert_int_equal(large->size_bytes, PAGE + 1);
    assert_int_equal(sk_engine_acquire(e, SK_SLOT_FULL, 1, &small, NULL), 0);
    assert_int_equal(small->size_bytes, PAGE); /* the committer cuts it */
    assert_int_equal(count(), 3);
    sk_engine_give_back(e, small);
    assert_int_equal(truncate(small->tmp_path, 10), 0); /* somebody did: it is not written to */
    assert_int_equal(sk_engine_acquire(e, SK_SLOT_FULL, 1, &small, NULL), 0);
    assert_int_equal(count(), 3);
    assert_true(sk_slot_is_whole(small));
}

/* What was a generation a moment ago is looked at as well. */
static void test_a_retired_one_that_somebody_cut(void **state)
{
    (void)state;
    struct sk_slot *slot;
    char path[128];
    put("ccc");
    set_counts(1, 3, 0);
    assert_int_equal(sk_gen_file(dir, gen_of(0), 0, path, sizeof path, NULL), 0);
    assert_int_equal(truncate(path, 10), 0);
    assert_int_equal(sk_engine_acquire(e, SK_SLOT_FULL, PAGE, &slot, NULL), 0);
    assert_true(sk_slot_is_whole(slot));
    assert_false(has_file(0));
}

/* ---- waiting ---- */

static void *take_one(void *arg)
{
    struct sk_slot *slot = NULL;
    (void)arg;
    return sk_engine_acquire(e, SK_SLOT_FULL, PAGE, &slot, NULL) ? NULL : slot;
}

/* As long as a slot is being made ready, old ones have yet to go, or something is with the committer when all others are needed,
 * nothing is taken and nothing made. */
static void test_waits(void **state)
{
    static const struct {
        const char *what, *marks;
        int preparing, prepare, due, busy;
    } rows[] = {
        {"one is being made", "f", 1, 0, 0, 0},   {"one will be made", "f", 0, 1, 0, 0},  {"old ones will go", "f", 0, 0, 1, 0},
        {"the committer has one", "aac", 0, 0, 0, 1}, {"one waits for it", "aas", 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pthread_t thread;
        void *slot = NULL;
        set_up(state);
        put(rows[i].marks);
        set_counts(1, 1, rows[i].busy ? 3 : 0);
        int is_free = rows[i].marks[0] == 'f';
        made[0]->stage = is_free ? TAKEN : made[0]->stage; /* else it would be taken without a look at the rest */
        e->shelf.preparing = rows[i].preparing;
        e->shelf.prepare = rows[i].prepare;
        e->keep.retired_seq = rows[i].due ? 0 : 1;
        e->sealing.busy = rows[i].busy;
        int before = count();
        assert_int_equal(pthread_create(&thread, NULL, take_one, NULL), 0);
        usleep(20000); /* whether or not it has come there yet */
        sk_threads_lock(&e->threads);
        int changed = count() != before, gone = 0;
        for (int k = 0; rows[i].marks[k]; k++)
            gone += strchr("ac", rows[i].marks[k]) && !has_file(k);
        e->shelf.preparing = e->shelf.prepare = e->sealing.busy = 0;
        e->keep.retired_seq = 1;
        struct sk_held *h = made[is_free ? 0 : 2];
        h->stage = FREE;
        sk_threads_tell_and_unlock(&e->threads);
        assert_int_equal(pthread_join(thread, &slot), 0);
        if (changed || gone || slot != h->slot)
            fail_msg("%s: it did not wait", rows[i].what);
        tear_down(state);
    }
}

/* ---- no room ---- */

static int failures_left;

/* Files of slots, and records that should have one. */
static int slot_files(void)
{
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (const struct dirent *x; (x = readdir(d));)
        n += !strncmp(x->d_name, "slot-", 5);
    closedir(d);
    return n;
}

static int without_a_generation(void)
{
    int n = 0;
    for (const struct sk_held *h = e->stock.all; h; h = h->next)
        n += h->stage != COMMITTED;
    return n;
}

static int fail_first(const char *op, const char *path)
{
    if (strcmp(op, "open") || !strstr(path, "slot-") || !failures_left)
        return 0;
    failures_left--;
    return ENOSPC;
}

/* As often as it fails, something of use to somebody else goes: a free slot of the other use, then what is not needed; nothing that
 * is. */
static void test_no_room(void **state)
{
    static const struct {
        const char *marks;
        enum sk_slot_use use;
        int keep_local, complete, failures, rc, slots;
        const char *gone;
    } rows[] = {
        {"ccD", SK_SLOT_FULL, 1, 2, 0, 0, 4, ""},  {"ccD", SK_SLOT_FULL, 1, 2, 1, 0, 3, ""}, {"ccD", SK_SLOT_FULL, 1, 2, 2, 0, 2, "1"},
        {"ccf", SK_SLOT_DELTA, 1, 2, 1, 0, 3, ""}, {"cD", SK_SLOT_FULL, 1, 1, 1, 0, 2, ""},
        {"cD", SK_SLOT_FULL, 1, 1, 2, SAIKAI_ENOSPC, 1, ""},
        {"c", SK_SLOT_FULL, 1, 1, 1, SAIKAI_ENOSPC, 1, ""},
        {"ccc", SK_SLOT_FULL, 2, 1, 1, 0, 3, "2"}, /* one that was never complete, and will not be needed */
        {"ccc", SK_SLOT_FULL, 2, 3, 1, 0, 3, "1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sk_slot *slot = NULL;
        struct saikai_error err = {0};
        set_up(state);
        put(rows[i].marks);
        set_counts(rows[i].keep_local, rows[i].complete, 0);
        failures_left = rows[i].failures;
        sk_io_hook = fail_first;
        int rc = sk_engine_acquire(e, rows[i].use, PAGE, &slot, &err);
        sk_io_hook = NULL;
        if (rc != rows[i].rc || count() != rows[i].slots)
            fail_msg("row %zu: %d, %d slots", i, rc, count());
        for (int k = 0; rows[i].marks[k] == 'c'; k++)
            if (has_file(k) != !strchr(rows[i].gone, '1' + k))
                fail_msg("row %zu: generation %d", i, k + 1);
        assert_int_equal(slot_files(), without_a_generation());
        assert_int_equal(slot != NULL, !rc);
        assert_true(!rc || err.code == rc);
        tear_down(state);
    }
}

/* ---- ready before they are wanted ---- */

static void test_prepare(void **state)
{
    static const struct {
        const char *what, *marks;
        int keep_local, full, delta, slots, largest_delta;
    } rows[] = {
        {"nothing is wanted", "", 1, 0, 0, 0, 0},
        {"a full one", "", 1, PAGE, 0, 1, 0},
        {"both", "", 1, PAGE, PAGE, 2, PAGE},
        {"it is there", "f", 1, PAGE, 0, 1, 0},
        {"a full one that is too small is made larger when it is taken", "f", 1, 2 * PAGE, 0, 1, 0},
        {"one for deltas now", "D", 1, 0, 2 * PAGE, 1, 2 * PAGE},
        {"and never smaller", "D", 1, 0, PAGE / 2, 1, PAGE},
        {"another one for deltas, when those are in use", "d", 1, 0, PAGE, 2, PAGE},
        {"one more than is kept", "c", 1, PAGE, 0, 2, 0},
        {"is enough", "cc", 1, PAGE, 0, 2, 0},
        {"two are kept", "cc", 2, PAGE, 0, 3, 0},
        {"and one more", "ccc", 2, PAGE, 0, 3, 0},
        {"held ones count beside", "hcc", 1, PAGE, 0, 3, 0},
        {"as many as are", "hc", 1, PAGE, 0, 3, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        set_up(state);
        put(rows[i].marks);
        set_counts(rows[i].keep_local, (int)strlen(rows[i].marks), 0);
        sk_engine_expect(e, (size_t)rows[i].full, (size_t)rows[i].delta);
        assert_true(e->shelf.prepare);
        for (int twice = 0; twice < 2; twice++) {
            sk_threads_lock(&e->threads);
            sk_engine_prepare_slots(e);
            sk_threads_unlock(&e->threads);
            assert_false(e->shelf.prepare);
            assert_false(e->shelf.preparing);
            if (count() != rows[i].slots)
                fail_msg("%s: %d slots, not %d", rows[i].what, count(), rows[i].slots);
        }
        size_t largest = 0;
        for (const struct sk_held *h = e->stock.all; h; h = h->next) {
            assert_true(h->seq || h->stage == FREE); /* one that was made has no number */
            if (h->use == SK_SLOT_DELTA && h->slot->size_bytes > largest)
                largest = h->slot->size_bytes;
        }
        assert_int_equal(largest, rows[i].largest_delta);
        assert_true(rows[i].marks[0] != 'D' || made[0]->stage == FREE);
        tear_down(state);
    }
}

/* One that somebody cut is not ready, and names are not given twice. */
static void test_prepare_anew(void **state)
{
    (void)state;
    put("f");
    assert_int_equal(truncate(made[0]->slot->tmp_path, 10), 0);
    sk_engine_expect(e, PAGE, PAGE);
    sk_threads_lock(&e->threads);
    sk_engine_prepare_slots(e);
    sk_threads_unlock(&e->threads);
    assert_int_equal(count(), 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(sk_shelf_new(&e->shelf, &e->where, &e->stock, SK_SLOT_FULL, PAGE, NULL), 0);
    for (const struct sk_held *h = e->stock.all; h; h = h->next) {
        assert_true(sk_slot_is_whole(h->slot));
        for (const struct sk_held *k = h->next; k; k = k->next)
            assert_string_not_equal(h->slot->tmp_path, k->slot->tmp_path);
    }
}

static void test_prepare_without_room(void **state)
{
    (void)state;
    put("D");
    sk_engine_expect(e, PAGE, PAGE);
    failures_left = 1;
    sk_io_hook = fail_first;
    sk_threads_lock(&e->threads);
    sk_engine_prepare_slots(e);
    sk_threads_unlock(&e->threads);
    sk_io_hook = NULL;
    assert_int_equal(failures_left, 0);
    assert_int_equal(count(), 1); /* whoever needs it will be told */
    assert_int_equal(made[0]->stage, FREE);
}

/* Old copies count as slots that come free, when they may go. */
static void test_old_ones(void **state)
{
    (void)state;
    struct sk_slot *slot;
    put("ooo");
    e->keep.earlier = SK_EARLIER_STAY;
    assert_int_equal(sk_engine_acquire(e, SK_SLOT_FULL, PAGE, &slot, NULL), 0);
    assert_int_equal(count(), 4);
    for (int i = 0; i < 3; i++)
        assert_true(sk_where_has_file(&e->where, (struct sk_gen){THIS - 1, 10 * (i + 1), 0}));
    tear_down(state);
    set_up(state);
    put("ooo");
    e->keep.earlier = SK_EARLIER_RESUMED;
    assert_int_equal(sk_engine_acquire(e, SK_SLOT_FULL, PAGE, &slot, NULL), 0);
    assert_int_equal(count(), 3);
    assert_false(sk_where_has_file(&e->where, (struct sk_gen){THIS - 1, 10, 0}));
    assert_true(sk_where_has_file(&e->where, (struct sk_gen){THIS - 1, 20, 0}));
}

/* ---- given up ---- */

static void test_retire(void **state)
{
    static const struct {
        const char *what;
        int replaced, has_slot, is_removed;
        int slots, file, stale;
    } rows[] = {
        {"its slot is free again", 0, 1, 0, 1, 0, 1},
        {"a file of its own goes", 0, 0, 0, 0, 0, 1},
        {"the name is another one's", 1, 1, 0, 0, 1, 0},
        {"also without a slot", 1, 0, 0, 0, 1, 0},
        {"somebody removed it", 0, 1, 1, 0, 0, 1},
        {"also without a slot", 0, 0, 1, 0, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        set_up(state);
        put(rows[i].has_slot ? "c" : "o");
        struct sk_held *h = made[0];
        struct sk_gen gen = h->gen;
        h->base = gen_of(5);
        h->replaced = rows[i].replaced;
        if (rows[i].is_removed)
            assert_int_equal(sk_gen_remove_all(dir, gen, NULL), 0);
        struct saikai_error err = {0};
        if (sk_engine_retire(e, h, &err))
            fail_msg("%s: %s", rows[i].what, err.text);
        if (count() != rows[i].slots || sk_where_has_file(&e->where, gen) != rows[i].file || e->healing.list_stale != rows[i].stale)
            fail_msg("%s: %d slots, file %d, stale %d", rows[i].what, count(), sk_where_has_file(&e->where, gen), e->healing.list_stale);
        if (rows[i].slots) {
            assert_int_equal(h->stage, FREE);
            assert_int_equal(h->base.incarnation, 0);
            assert_int_equal(access(h->slot->tmp_path, F_OK), 0);
        }
        tear_down(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(test_acquire),
        cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_retired_one_that_somebody_cut, set_up, tear_down),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_prepare),
        cmocka_unit_test_setup_teardown(test_prepare_anew, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prepare_without_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_old_ones, set_up, tear_down),
        cmocka_unit_test(test_retire),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, start, end);
}
