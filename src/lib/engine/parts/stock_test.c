/* The stock alone: finding generations, which of them takes a name, and what builds on what. */
#include "lib/engine/parts/stock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static struct sk_gen gen(int64_t iteration)
{
    return (struct sk_gen){1, iteration, 0};
}

/* A committed generation, on base when that is not 0. */
static struct sk_held *put(struct sk_stock *s, int64_t seq, int64_t iteration, int64_t base)
{
    struct sk_held *h = calloc(1, sizeof *h);
    assert_non_null(h);
    h->stage = COMMITTED;
    h->seq = seq;
    h->gen = gen(iteration);
    h->base = base ? gen(base) : (struct sk_gen){0};
    sk_stock_committed(s, h);
    sk_stock_add(s, h);
    return h;
}

static void test_finding(void **state)
{
    (void)state;
    struct sk_stock s = {0};
    assert_null(sk_stock_find(&s, 1));
    assert_null(sk_stock_newest(&s));
    struct sk_held *b = put(&s, 2, 20, 0), *a = put(&s, 1, 10, 0);
    assert_int_equal(s.committed_seq, 2); /* the newest, whatever the order */
    assert_ptr_equal(sk_stock_find(&s, 1), a);
    assert_ptr_equal(sk_stock_at(&s, gen(20)), b);
    assert_ptr_equal(sk_stock_newest(&s), b);
    b->place = FAR; /* in the prefix alone: not by its name here, but by its number */
    assert_null(sk_stock_at(&s, gen(20)));
    assert_ptr_equal(sk_stock_find(&s, 2), b);
    assert_true(sk_stock_has(&s, sk_gen_key(gen(20))));
    assert_ptr_equal(sk_stock_newest(&s), a);
    b->stage = FREE;
    assert_null(sk_stock_find(&s, 2));
    assert_false(sk_stock_has(&s, sk_gen_key(gen(20))));
    sk_stock_drop_all(&s);
    assert_null(s.all);
}

static void test_waiting(void **state)
{
    (void)state;
    struct sk_stock s = {0};
    for (int seq = 1; seq <= 4; seq++)
        put(&s, seq, 10 * seq, 0)->stage = seq == 1 ? COMMITTED : SUBMITTED;
    assert_int_equal(sk_stock_next(&s)->seq, 2);
    sk_stock_next(&s)->stage = COMMITTED;
    assert_int_equal(sk_stock_next(&s)->seq, 3);
    sk_stock_drop(&s, sk_stock_next(&s), 0);
    sk_stock_drop(&s, sk_stock_next(&s), 0);
    assert_null(sk_stock_next(&s));
    assert_non_null(sk_stock_find(&s, 2));
    sk_stock_drop_all(&s);
}

/* Two checkpoints at one iteration have one name: the later one has it. */
static void test_names(void **state)
{
    (void)state;
    struct sk_stock s = {0};
    struct sk_held *first = put(&s, 1, 10, 0), *other = put(&s, 2, 20, 0), *second = put(&s, 3, 10, 0);
    assert_true(first->replaced);
    assert_false(other->replaced);
    assert_false(second->replaced);
    assert_ptr_equal(sk_stock_at(&s, gen(10)), second);
    sk_stock_drop_all(&s);
}

static void test_lineages(void **state)
{
    (void)state;
    struct sk_stock s = {0};
    struct sk_held *full = put(&s, 1, 10, 0), *mid = put(&s, 2, 20, 10), *top = put(&s, 3, 30, 20), *other = put(&s, 4, 40, 0);
    assert_true(sk_stock_builds_on(&s, top, full));
    assert_true(sk_stock_builds_on(&s, top, top));
    assert_false(sk_stock_builds_on(&s, other, full));
    assert_false(sk_stock_builds_on(&s, full, mid));
    assert_false(sk_stock_is_spoiled(&s, top));
    full->health.damaged = 1;
    assert_true(sk_stock_is_spoiled(&s, top));
    assert_true(sk_stock_is_spoiled(&s, full));
    assert_false(sk_stock_is_spoiled(&s, other));
    full->health.damaged = 0;
    sk_stock_drop(&s, mid, 0); /* what it builds on is gone */
    assert_true(sk_stock_is_spoiled(&s, top));
    sk_stock_drop_all(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finding),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_lineages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
