/* Levels as a kind: a made-up one that has little in its table, what those of the library say, and agreeing on the newest. */
#include "lib/levels/level.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* A storage that keeps numbers. */
struct box {
    int64_t came[4], retired;
    int count;
};

static void bring(void *l, struct sk_gen gen, int64_t seq, int anew)
{
    struct box *b = l;
    (void)gen;
    (void)anew;
    b->came[b->count++] = seq;
}

static void tell(void *l, int64_t word[SK_LEVEL_WORDS])
{
    struct box *b = l;
    sk_level_tell_newest(word, b->count ? b->came[b->count - 1] : 0, 1);
}

static void hear(void *l, const int64_t least[SK_LEVEL_WORDS], struct sk_level_heard *h)
{
    (void)l;
    sk_level_hear_newest(least, h);
}

static void retire(void *l, int64_t seq)
{
    ((struct box *)l)->retired = seq;
}

static const struct sk_level_ops box_ops = {
    .name = "box", .about = "numbers", .bring = bring, .tell = tell, .hear = hear, .retire = retire};

/* The least of what two ranks say, as the exchange makes it. */
static void least_of(const struct sk_open_level *a, const struct sk_open_level *b, int64_t word[SK_LEVEL_WORDS])
{
    int64_t other[SK_LEVEL_WORDS];
    sk_level_tell(a, word);
    sk_level_tell(b, other);
    for (int i = 0; i < SK_LEVEL_WORDS; i++)
        word[i] = other[i] < word[i] ? other[i] : word[i];
}

static void test_two_ranks(void **state)
{
    (void)state;
    struct box box[2] = {{.count = 0}};
    struct sk_open_level l[2] = {{&box_ops, &box[0]}, {&box_ops, &box[1]}};
    struct sk_level_heard h;
    int64_t word[SK_LEVEL_WORDS];
    least_of(&l[0], &l[1], word);
    sk_level_hear(&l[0], word, &h);
    assert_false(h.arrived);
    assert_true(h.idle && h.was_idle);
    sk_level_bring(&l[0], (struct sk_gen){1, 10, 0}, 1, 0);
    least_of(&l[0], &l[1], word);
    sk_level_hear(&l[0], word, &h);
    assert_false(h.arrived); /* one of them has it not */
    sk_level_bring(&l[1], (struct sk_gen){1, 10, 0}, 1, 0);
    least_of(&l[0], &l[1], word);
    sk_level_hear(&l[1], word, &h);
    assert_true(h.arrived);
    assert_int_equal(h.seq, 1);
    sk_level_retire(&l[1], h.seq);
    assert_int_equal(box[1].retired, 1);
    sk_level_bring(&l[0], (struct sk_gen){1, 20, 0}, 2, 0);
    least_of(&l[0], &l[1], word); /* they are at different ones: nothing new for all */
    sk_level_hear(&l[0], word, &h);
    assert_false(h.arrived);
}

static void test_busy(void **state)
{
    (void)state;
    struct sk_level_heard h;
    int64_t word[SK_LEVEL_WORDS];
    sk_level_tell_newest(word, 3, 0);
    sk_level_hear_newest(word, &h);
    assert_true(h.arrived);
    assert_int_equal(h.seq, 3);
    assert_false(h.idle || h.was_idle);
}

/* What a table does not have has no effect, and neither has what is not there at all. */
static void test_nothing(void **state)
{
    (void)state;
    static const struct sk_level_ops empty = {.name = "empty", .about = "nothing"};
    struct sk_open_level l[2] = {{0}, {&empty, &l}};
    for (int i = 0; i < 2; i++) {
        struct sk_level_heard h = {.arrived = 1};
        struct sk_level_cost c = {.seconds = 1};
        int64_t word[SK_LEVEL_WORDS] = {7, 7, 7};
        sk_level_bring(&l[i], (struct sk_gen){1, 10, 0}, 1, 0);
        sk_level_adopt(&l[i], (struct sk_gen){1, 10, 0}, 0);
        sk_level_retire(&l[i], 1);
        sk_level_slice(&l[i]);
        assert_false(sk_level_wants_slices(&l[i]));
        assert_true(sk_level_wait(&l[i], 0));
        sk_level_drain(&l[i], &h);
        assert_false(h.arrived);
        sk_level_tell(&l[i], word);
        assert_true(word[0] == 0 && word[1] == 0 && word[2] == 1);
        h.arrived = 1;
        sk_level_hear(&l[i], word, &h);
        assert_true(!h.arrived && h.idle && h.was_idle);
        sk_level_cost(&l[i], &c);
        assert_true(c.seconds == 0);
        assert_false(sk_level_give_up(&l[i]));
        assert_null(l[i].ops);
        sk_level_close(&l[i]);
    }
}

/* Whoever restores looks through all of them. */
static void test_forms(void **state)
{
    (void)state;
    int count = 0, to_any = 0;
    for (const struct sk_level_ops *f; (f = sk_level_far_at(count)); count++) {
        assert_non_null(f->open);
        assert_non_null(f->bring);
        assert_non_null(f->list); /* else a generation that is there alone would be lost */
        to_any += f->to_any;
        assert_int_equal(sk_kind_form(&sk_far_kind, f->name), count);
    }
    assert_true(count >= 2);
    assert_int_equal(to_any, 1);
    assert_null(sk_level_far_at(-1));
    assert_non_null(sk_level_local.list);
    for (int k = 0; k < SK_LEVELS; k++) {
        const struct sk_level_trait *t = &sk_level_traits[k];
        assert_true(t->done > t->begun);
        assert_true((t->cadence >= 0) == (t->interval != NULL)); /* how often is asked in one way only */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_ranks), cmocka_unit_test(test_busy), cmocka_unit_test(test_nothing), cmocka_unit_test(test_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
