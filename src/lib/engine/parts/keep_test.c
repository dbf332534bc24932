/* What stays, alone: rules over records, without a file. */
#include "lib/engine/parts/keep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { THIS = 3,
       MOST = 8 };

static struct sk_held held[MOST];
static struct sk_slot slots[MOST];
static struct sk_stock stock;
static struct sk_keep keep;

/* Committed generations of this start at iterations 10, 20 …, numbered 1, 2 …, each with a slot and on nothing. */
static int set_up(void **state)
{
    (void)state;
    struct sk_engine_config c = {.keep_local = 1, .keep_prefix = 1, .incarnation = THIS, .prefix_root = "prefix"};
    memset(held, 0, sizeof held);
    memset(slots, 0, sizeof slots);
    stock = (struct sk_stock){0};
    sk_keep_set(&keep, &c);
    for (int i = 0; i < MOST; i++) {
        held[i] = (struct sk_held){.stage = COMMITTED, .slot = &slots[i], .seq = i + 1, .gen = {THIS, 10 * (i + 1), 0}};
        sk_stock_committed(&stock, &held[i]);
        sk_stock_add(&stock, &held[i]);
    }
    return 0;
}

/* Which go, in their order, as digits of their numbers. */
static const char *gone(int all_new)
{
    static char text[MOST + 1];
    struct sk_held *h, was[MOST];
    int n = 0;
    memcpy(was, held, sizeof held);
    while (n < MOST && (h = sk_keep_unneeded(&keep, &stock, all_new))) {
        text[n++] = (char)('1' + (h - held));
        h->stage = FREE; /* no generation any more */
        h->base = (struct sk_gen){0};
    }
    text[n] = 0;
    memcpy(held, was, sizeof held);
    return text;
}

static void test_counts(void **state)
{
    (void)state;
    stock.complete_seq = 5;
    assert_string_equal(gone(1), "1234"); /* the newest complete one stays, and what may become complete */
    assert_string_equal(gone(0), "123467");
    stock.told_seq = 7; /* the ranks are about to learn of it */
    assert_string_equal(gone(0), "12346");
    keep.keep_local = 3;
    assert_string_equal(gone(1), "12");
    stock.complete_seq = 0;
    assert_string_equal(gone(1), "");
}

static void test_users(void **state)
{
    (void)state;
    stock.complete_seq = MOST;
    assert_string_equal(gone(1), "1234567");
    assert_int_equal(sk_keep_held_back(&keep, &stock), 0);
    held[1].users.holds = 1;
    held[3].users.lent = 2;
    held[5].users.archiving = 1;
    assert_string_equal(gone(1), "1357");
    assert_int_equal(sk_keep_held_back(&keep, &stock), 2); /* what is archived needs its slot in any case */
}

/* What others build on stays with them, and goes after them. */
static void test_lineages(void **state)
{
    (void)state;
    stock.complete_seq = MOST;
    for (int i = 5; i < MOST; i++)
        held[i].base = held[i - 1].gen; /* 8 on 7 on 6 on 5 */
    assert_string_equal(gone(1), "1234");
    for (int i = 5; i < MOST; i++)
        held[i].base = (struct sk_gen){0};
    held[1].base = held[0].gen;
    held[2].base = held[1].gen;
    assert_string_equal(gone(1), "3214567");
}

/* The newest complete one that can be read stays, and not a newer one that cannot. */
static void test_damaged(void **state)
{
    (void)state;
    stock.complete_seq = MOST;
    held[7].health.damaged = 1;
    held[6].base = held[0].gen;
    held[0].health.damaged = 1;
    assert_non_null(sk_keep_unneeded(&keep, &stock, 1));
    for (int i = 0; i < MOST; i++)
        assert_int_equal(held[i].kept, i == 5);
}

static void test_earlier(void **state)
{
    (void)state;
    stock.complete_seq = MOST;
    held[0].gen.incarnation = held[1].gen.incarnation = 1;
    held[0].seq = held[1].seq = 0;
    assert_string_equal(gone(1), "1234567");
    keep.earlier = SK_EARLIER_STAY;
    assert_string_equal(gone(1), "34567");
    assert_false(sk_keep_earlier_may_go(&keep, &stock));
    keep.earlier = SK_EARLIER_RESUMED;
    assert_true(sk_keep_earlier_may_go(&keep, &stock));
    keep.spare_before = 2; /* could not be read: nothing takes its place yet */
    assert_string_equal(gone(1), "34567");
    keep.any_archived = 1;
    assert_string_equal(gone(1), "1234567");
    keep.earlier = SK_EARLIER_UNUSED;
    assert_true(sk_keep_earlier_may_go(&keep, &stock));
    keep.any_archived = 0;
    assert_false(sk_keep_earlier_may_go(&keep, &stock)); /* complete, and not archived */
    keep.has_prefix = 0;
    assert_true(sk_keep_earlier_may_go(&keep, &stock));
}

/* One character for each generation, the oldest first.
 * marks: . committed, f a free slot, s submitted, h held, l lent, a being archived, r its name is another one's, R and held, d damaged,
 *        1 of an earlier start, 2 of an earlier start and its number is 0, as all such that were adopted have it
 * bases: the number of what it builds on
 * gone: those that go when all that may become complete stay, and those that go when room is wanted; in their order
 * back: slots that are only held back */
struct rule {
    const char *what, *marks, *bases;
    int keep_local, complete, told;
    const char *gone, *gone_for_room;
    int back;
};

static const struct rule rules[] = {
    {"none is complete", "........", "........", 1, 0, 0, "", "1234567", 0},
    {"the oldest is complete", "........", "........", 1, 1, 0, "", "234567", 0},
    {"the second is", "........", "........", 1, 2, 0, "1", "134567", 0},
    {"all but the newest are", "........", "........", 1, 7, 0, "123456", "123456", 0},
    {"all are", "........", "........", 1, 8, 0, "1234567", "1234567", 0},
    {"two stay", "........", "........", 2, 8, 0, "123456", "123456", 0},
    {"as many as there are stay", "........", "........", 8, 8, 0, "", "", 0},
    {"one less than there are", "........", "........", 7, 8, 0, "1", "1", 0},
    {"more than there are", "........", "........", 9, 8, 0, "", "", 0},
    {"more than are complete", "........", "........", 4, 3, 0, "", "4567", 0},
    {"the ranks hear of one", "........", "........", 1, 2, 5, "1", "13467", 0},
    {"they heard of an older one", "........", "........", 1, 4, 3, "123", "123567", 0},
    {"of the newest", "........", "........", 1, 4, 8, "123", "123567", 0},
    {"held, lent, archived", ".h.l.a..", "........", 1, 8, 0, "1357", "1357", 2},
    {"held, and stays in any case", ".......h", "........", 1, 8, 0, "1234567", "1234567", 0},
    {"held, and may become complete", "......h.", "........", 1, 3, 0, "12", "12456", 0},
    {"free slots are no generations", "f....ff.", "........", 2, 8, 0, "234", "234", 0},
    {"nor is what is submitted", "......ss", "........", 2, 8, 0, "1234", "1234", 0},
    {"a name that is another one's does not count", "......r.", "........", 2, 8, 0, "123457", "123457", 0},
    {"whether or not it is complete", "......r.", "........", 2, 5, 0, "1237", "12367", 0},
    {"but it stays while it is held", "..r...R.", "........", 1, 8, 0, "123456", "123456", 1},
    {"a damaged one does not count", ".......d", "........", 1, 8, 0, "1234568", "1234568", 0},
    {"before one that is whole", "......dd", "........", 2, 8, 0, "123478", "123478", 0},
    {"as long as there is one", "dddddddd", "........", 1, 8, 0, "1234567", "1234567", 0},
    {"what builds on a damaged one is no better", "......d.", ".......7", 1, 8, 0, "1234587", "1234587", 0},
    {"a newer one may still heal it", ".......d", "........", 1, 7, 0, "123456", "123456", 0},
    {"on others", "........", "....4567", 1, 8, 0, "123", "123", 0},
    {"on one that is older by far", "........", ".......1", 1, 8, 0, "234567", "234567", 0},
    {"of which none is needed", "........", ".123....", 1, 8, 0, "4321567", "4321567", 0},
    {"two on one", "........", ".11.....", 1, 8, 0, "2314567", "2314567", 0},
    {"one of them held", ".h......", ".11.....", 1, 8, 0, "34567", "34567", 2},
    {"held, with all below it", "...h....", ".123....", 1, 8, 0, "567", "567", 4},
    {"archived, with all below it", "...a....", ".123....", 1, 8, 0, "567", "567", 0},
    {"complete, with one below that is not the newest", "........", "......5.", 1, 7, 0, "12346", "12346", 0},
    {"on one that is not there", "f.......", ".1......", 1, 8, 0, "234567", "234567", 0},
    {"earlier starts", "11......", "........", 1, 8, 0, "1234567", "1234567", 0},
    {"of which nothing of this one is complete", "22......", "........", 1, 0, 0, "1", "134567", 0},
    {"two of them stay", "22......", "........", 2, 0, 0, "", "34567", 0},
    {"on an earlier one", "22......", "..2.....", 1, 8, 0, "1324567", "1324567", 0},
};

static void apply(const struct rule *r, const char *order)
{
    set_up(NULL);
    stock.all = NULL;
    for (int i = 0; i < MOST; i++)
        sk_stock_add(&stock, &held[order[i] - '1']); /* in no order */
    for (int i = 0; i < MOST; i++) {
        struct sk_held *h = &held[i];
        h->stage = r->marks[i] == 'f' ? FREE : r->marks[i] == 's' ? SUBMITTED : COMMITTED;
        h->users.holds = strchr("hR", r->marks[i]) != NULL;
        h->users.lent = r->marks[i] == 'l';
        h->users.archiving = r->marks[i] == 'a';
        h->replaced = strchr("rR", r->marks[i]) != NULL;
        h->health.damaged = r->marks[i] == 'd';
        if (strchr("12", r->marks[i]))
            h->gen.incarnation = THIS - 1;
        if (r->marks[i] == '2') {
            h->seq = 0;
            h->slot = NULL;
        }
    }
    for (int i = 0; i < MOST; i++)
        if (r->bases[i] >= '1' && r->bases[i] <= '8')
            held[i].base = held[r->bases[i] - '1'].gen;
    keep.keep_local = r->keep_local;
    stock.complete_seq = r->complete;
    stock.told_seq = r->told;
}

static void test_rules(void **state)
{
    (void)state;
    static const char *const orders[] = {"12345678", "87654321", "51738264"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        for (int o = 0; o < 3; o++) {
            const struct rule *r = &rules[i];
            apply(r, orders[o]);
            if (strcmp(gone(1), r->gone))
                fail_msg("%s (%s): %s go, not %s", r->what, orders[o], gone(1), r->gone);
            if (strcmp(gone(0), r->gone_for_room))
                fail_msg("%s (%s): %s go for room, not %s", r->what, orders[o], gone(0), r->gone_for_room);
            if (sk_keep_held_back(&keep, &stock) != r->back)
                fail_msg("%s (%s): %d are held back, not %d", r->what, orders[o], sk_keep_held_back(&keep, &stock), r->back);
        }
}

/* What an earlier start left: when it may go, by what there is of this one. */
static void test_earlier_table(void **state)
{
    (void)state;
    static const struct {
        enum sk_earlier earlier;
        int has_prefix, any_archived, complete;
        uint32_t spare_before;
        int may_go, spares[4]; /* of starts 0, 1, 2, 3 */
    } rows[] = {
        {SK_EARLIER_UNUSED, 1, 0, 0, 0, 0, {0}},            {SK_EARLIER_UNUSED, 1, 0, 5, 0, 0, {0}},
        {SK_EARLIER_UNUSED, 1, 1, 5, 0, 1, {0}},            {SK_EARLIER_UNUSED, 0, 0, 0, 0, 0, {0}},
        {SK_EARLIER_UNUSED, 0, 0, 1, 0, 1, {0}},            {SK_EARLIER_UNUSED, 0, 1, 0, 0, 0, {0}},
        {SK_EARLIER_RESUMED, 1, 0, 0, 0, 1, {0}},           {SK_EARLIER_RESUMED, 1, 0, 0, 2, 1, {1, 1, 0, 0}},
        {SK_EARLIER_RESUMED, 1, 0, 5, 3, 1, {1, 1, 1, 0}},  {SK_EARLIER_RESUMED, 1, 1, 5, 3, 1, {0}},
        {SK_EARLIER_RESUMED, 0, 0, 1, 3, 1, {0}},           {SK_EARLIER_RESUMED, 0, 0, 0, 1, 1, {1, 0, 0, 0}},
        {SK_EARLIER_STAY, 1, 1, 5, 0, 0, {0}},              {SK_EARLIER_STAY, 0, 1, 5, 0, 0, {0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        keep.earlier = rows[i].earlier;
        keep.has_prefix = rows[i].has_prefix;
        keep.any_archived = rows[i].any_archived;
        keep.spare_before = rows[i].spare_before;
        stock.complete_seq = rows[i].complete;
        if (sk_keep_earlier_may_go(&keep, &stock) != rows[i].may_go)
            fail_msg("row %zu: may go", i);
        for (uint32_t start = 0; start < 4; start++)
            if (sk_keep_spares(&keep, &stock, (struct sk_gen){start, 10, 0}) != rows[i].spares[start])
                fail_msg("row %zu: spares start %u", i, start);
    }
}

static void test_as_it_begins(void **state)
{
    (void)state;
    for (int rank = 0; rank < 3; rank++) {
        struct sk_engine_config c = {.keep_local = 2, .keep_prefix = 5, .incarnation = 4, .finished_from = 3, .rank = rank,
                                     .prefix_root = rank == 1 ? NULL : "prefix"};
        sk_keep_set(&keep, &c);
        assert_int_equal(keep.keep_local, 2);
        assert_int_equal(keep.keep_prefix, 5);
        assert_int_equal(keep.has_prefix, rank != 1);
        assert_int_equal(keep.incarnation, 4);
        assert_int_equal(keep.finished_from, 3);
        assert_int_equal(keep.earlier, SK_EARLIER_UNUSED);
        assert_true(keep.strays_local); /* files of ranks that there are no more: each rank looks in its node's directory … */
        assert_int_equal(keep.strays_prefix, rank == 0); /* … and one in the prefix, which is everybody's */
    }
}

static void test_when(void **state)
{
    (void)state;
    assert_false(sk_keep_is_due(&keep, &stock));
    sk_keep_again(&keep);
    assert_true(sk_keep_is_due(&keep, &stock)); /* also when nothing is complete yet */
    keep.retired_seq = 0;
    stock.complete_seq = 2;
    assert_true(sk_keep_is_due(&keep, &stock));
    keep.retired_seq = 2;
    assert_false(sk_keep_is_due(&keep, &stock));
    sk_keep_again(&keep);
    assert_true(sk_keep_is_due(&keep, &stock));
    assert_false(sk_keep_prunes(&keep));
    keep.pruned_request = 1;
    assert_true(sk_keep_prunes(&keep));
    keep.pruned_seq = 1;
    assert_false(sk_keep_prunes(&keep));
    keep.pruned_request = 2;
    assert_true(sk_keep_prunes(&keep));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_counts, set_up),
        cmocka_unit_test_setup(test_users, set_up),
        cmocka_unit_test_setup(test_lineages, set_up),
        cmocka_unit_test_setup(test_damaged, set_up),
        cmocka_unit_test_setup(test_earlier, set_up),
        cmocka_unit_test(test_rules),
        cmocka_unit_test_setup(test_earlier_table, set_up),
        cmocka_unit_test(test_as_it_begins),
        cmocka_unit_test_setup(test_when, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
