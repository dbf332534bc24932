/* The shelf alone: which slot serves, what is too much, and how many there are. */
#include "lib/engine/parts/shelf.h"

#include "base/file/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

enum { PAGE = 4096 };

static char dir[] = "/tmp/shelf-XXXXXX";
static struct sk_where where = {.local_root = dir, .incarnation = 1, .nranks = 1};
static struct sk_stock stock;
static struct sk_shelf shelf;

static struct sk_held *add(enum sk_slot_use use, size_t bytes, enum stage stage)
{
    assert_int_equal(sk_shelf_new(&shelf, &where, &stock, use, bytes, NULL), 0);
    stock.all->stage = stage;
    return stock.all;
}

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

static int clear(void **state)
{
    (void)state;
    sk_stock_drop_all(&stock);
    stock = (struct sk_stock){0};
    shelf = (struct sk_shelf){.number = shelf.number};
    return 0;
}

static void test_pick(void **state)
{
    (void)state;
    assert_null(sk_shelf_pick(&stock, SK_SLOT_FULL, PAGE));
    struct sk_held *two = add(SK_SLOT_FULL, 2 * PAGE, FREE), *six = add(SK_SLOT_FULL, 6 * PAGE, FREE),
                   *four = add(SK_SLOT_FULL, 4 * PAGE, FREE);
    add(SK_SLOT_FULL, 3 * PAGE, SUBMITTED);
    add(SK_SLOT_DELTA, 3 * PAGE, FREE);
    assert_ptr_equal(sk_shelf_pick(&stock, SK_SLOT_FULL, 4 * PAGE), four); /* exactly */
    assert_ptr_equal(sk_shelf_pick(&stock, SK_SLOT_FULL, 3 * PAGE), four); /* the smallest that is larger */
    assert_ptr_equal(sk_shelf_pick(&stock, SK_SLOT_FULL, 5 * PAGE), six);
    assert_ptr_equal(sk_shelf_pick(&stock, SK_SLOT_FULL, 9 * PAGE), six); /* the largest is made larger */
    assert_ptr_equal(sk_shelf_pick(&stock, SK_SLOT_FULL, 1), two);
    assert_int_equal(sk_shelf_count(&stock, SK_SLOT_FULL, 0, 0), 4);
    six->stage = COMMITTED;
    assert_int_equal(sk_shelf_count(&stock, SK_SLOT_FULL, 0, 0), 3);
    assert_int_equal(sk_shelf_count(&stock, SK_SLOT_FULL, 1, 0), 4);
    assert_int_equal(sk_shelf_count(&stock, SK_SLOT_DELTA, 1, 1), 1);
}

/* One that an earlier start left counts as a slot that will come free, when it may go. */
static void test_old(void **state)
{
    (void)state;
    struct sk_held *old = calloc(1, sizeof *old);
    assert_non_null(old);
    old->stage = COMMITTED;
    old->gen = (struct sk_gen){1, 5, 0};
    sk_stock_add(&stock, old);
    assert_int_equal(sk_shelf_count(&stock, SK_SLOT_FULL, 1, 1), 1);
    assert_int_equal(sk_shelf_count(&stock, SK_SLOT_FULL, 1, 0), 0);
    assert_int_equal(sk_shelf_count(&stock, SK_SLOT_DELTA, 1, 1), 0);
}

static void test_trim(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        add(SK_SLOT_FULL, 2 * PAGE, FREE);
        add(SK_SLOT_DELTA, PAGE, FREE);
    }
    shelf.wanted_bytes[SK_SLOT_FULL] = shelf.wanted_bytes[SK_SLOT_DELTA] = PAGE;
    sk_shelf_trim(&shelf, &stock, 2 * PAGE);
    assert_int_equal(sk_shelf_count(&stock, SK_SLOT_FULL, 0, 0), 1);
    assert_int_equal(sk_shelf_count(&stock, SK_SLOT_DELTA, 0, 0), 2);
    shelf.wanted_bytes[SK_SLOT_DELTA] = 0; /* no deltas are made any more */
    sk_shelf_trim(&shelf, &stock, 2 * PAGE);
    assert_int_equal(sk_shelf_count(&stock, SK_SLOT_FULL, 0, 0), 1);
    assert_int_equal(sk_shelf_count(&stock, SK_SLOT_DELTA, 0, 0), 0);
}

static void test_broken(void **state)
{
    (void)state;
    struct sk_held *good = add(SK_SLOT_FULL, PAGE, FREE), *cut = add(SK_SLOT_FULL, PAGE, FREE);
    assert_int_equal(truncate(cut->slot->tmp_path, 10), 0);
    sk_shelf_drop_broken(&stock);
    assert_ptr_equal(stock.all, good);
    assert_null(good->next);
}

static void test_untold(void **state)
{
    (void)state;
    struct sk_held *h[4];
    for (int i = 0; i < 4; i++) {
        h[i] = add(SK_SLOT_FULL, PAGE, COMMITTED);
        h[i]->seq = i + 1;
        h[i]->gen = (struct sk_gen){1, 10 * (i + 1), 0};
    }
    stock.complete_seq = 1;
    assert_ptr_equal(sk_shelf_newest_untold(&stock), h[3]);
    stock.told_seq = 4;
    assert_ptr_equal(sk_shelf_newest_untold(&stock), h[2]);
    h[3]->base = h[2]->gen;
    assert_ptr_equal(sk_shelf_newest_untold(&stock), h[1]);
    h[1]->users.holds = 1;
    assert_null(sk_shelf_newest_untold(&stock));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_pick, clear),
        cmocka_unit_test_teardown(test_old, clear),
        cmocka_unit_test_teardown(test_trim, clear),
        cmocka_unit_test_teardown(test_broken, clear),
        cmocka_unit_test_teardown(test_untold, clear),
    };
    return cmocka_run_group_tests(tests, start, end);
}
