/* The shelf alone: which slot serves, what is too much, and how many there are. */
#include "lib/engine/parts/shelf.h"

#include "base/file/io.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

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

/* Files of slots. */
static int files(void)
{
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static int clear(void **state)
{
    (void)state;
    for (struct sk_held *h = stock.all; h; h = h->next)
        h->stage = FREE; /* none has got a name: their files go */
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

/* What counts as one, each thing that it must be taken away in turn. */
static void test_what_is_an_old_copy(void **state)
{
    (void)state;
    struct sk_held *old = calloc(1, sizeof *old);
    assert_non_null(old);
    sk_stock_add(&stock, old);
    for (int bits = 0; bits < 8; bits++) {
        old->stage = bits & 1 ? FREE : COMMITTED;
        old->seq = bits & 2 ? 1 : 0;                                  /* of this start, in a file of its own */
        old->base = (struct sk_gen){bits & 4 ? 1 : 0, 3, 0};          /* what changed since another one */
        assert_int_equal(sk_shelf_count(&stock, SK_SLOT_FULL, 1, 1), !bits);
        assert_int_equal(sk_shelf_count(&stock, SK_SLOT_FULL, 0, 1), 0);
    }
}

/* Whatever the order of the list, which is none. */
static void test_pick_in_any_order(void **state)
{
    (void)state;
    static const size_t pages[][3] = {{2, 4, 6}, {6, 4, 2}, {4, 6, 2}, {4, 2, 6}, {2, 6, 4}, {6, 2, 4}};
    static const size_t wants[][2] = {{1, 2}, {2, 2}, {3, 4}, {4, 4}, {5, 6}, {6, 6}, {7, 6}}; /* wanted, and got */
    for (size_t o = 0; o < sizeof pages / sizeof *pages; o++) {
        for (int i = 0; i < 3; i++)
            add(SK_SLOT_FULL, pages[o][i] * PAGE, FREE);
        for (size_t i = 0; i < sizeof wants / sizeof *wants; i++)
            assert_int_equal(sk_shelf_pick(&stock, SK_SLOT_FULL, wants[i][0] * PAGE)->slot->size_bytes, wants[i][1] * PAGE);
        assert_int_equal(sk_shelf_pick(&stock, SK_SLOT_FULL, 4 * PAGE + 1)->slot->size_bytes, 6 * PAGE);
        assert_null(sk_shelf_pick(&stock, SK_SLOT_DELTA, PAGE));
        clear(state);
    }
}

static void test_any(void **state)
{
    (void)state;
    struct sk_held *old = calloc(1, sizeof *old);
    assert_non_null(old);
    sk_stock_add(&stock, old); /* without a slot */
    assert_null(sk_shelf_any(&stock, SK_SLOT_FULL));
    assert_null(sk_shelf_any(&stock, SK_SLOT_DELTA));
    struct sk_held *full = add(SK_SLOT_FULL, PAGE, FREE);
    add(SK_SLOT_FULL, PAGE, TAKEN);
    struct sk_held *delta = add(SK_SLOT_DELTA, PAGE, FREE);
    add(SK_SLOT_DELTA, PAGE, COMMITTED);
    assert_ptr_equal(sk_shelf_any(&stock, SK_SLOT_FULL), full);
    assert_ptr_equal(sk_shelf_any(&stock, SK_SLOT_DELTA), delta);
    full->stage = SUBMITTED;
    assert_null(sk_shelf_any(&stock, SK_SLOT_FULL));
}

/* f, d: free slots of a page, F, D: of two; t: one that is taken. The list is searched from the last one. */
static void test_trim_table(void **state)
{
    static const struct {
        const char *slots;
        size_t full, delta, deltas_bytes;
        const char *stay;
    } rows[] = {
        {"ff", PAGE, 0, 0, "-f"},          {"fff", PAGE, PAGE, 0, "--f"},     {"ff", 0, 0, 0, "-f"}, /* nobody has said what is wanted */
        {"f", 0, 0, 0, "f"},               {"fd", 0, 0, 0, "fd"},             {"fd", PAGE, 0, 9 * PAGE, "f-"},
        {"fd", 0, PAGE, 0, "-d"},          {"dd", PAGE, PAGE, PAGE, "-d"},    {"dd", PAGE, PAGE, 2 * PAGE - 1, "-d"},
        {"dd", PAGE, PAGE, 2 * PAGE, "dd"}, {"ddd", 0, PAGE, 2 * PAGE, "-dd"}, {"ddd", 0, PAGE, 3 * PAGE, "ddd"},
        {"Dd", 0, PAGE, 2 * PAGE, "-d"},   {"D", 0, PAGE, PAGE, "D"},         {"dtd", PAGE, PAGE, PAGE, "-td"},
        {"tt", PAGE, 0, 0, "tt"},          {"ftt", PAGE, 0, 0, "ftt"},        {"ffd", PAGE, PAGE, PAGE, "-fd"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sk_held *h[4];
        for (int k = 0; rows[i].slots[k]; k++)
            h[k] = add(strchr("dD", rows[i].slots[k]) ? SK_SLOT_DELTA : SK_SLOT_FULL, strchr("FD", rows[i].slots[k]) ? 2 * PAGE : PAGE,
                       rows[i].slots[k] == 't' ? TAKEN : FREE);
        shelf.wanted_bytes[SK_SLOT_FULL] = rows[i].full;
        shelf.wanted_bytes[SK_SLOT_DELTA] = rows[i].delta;
        sk_shelf_trim(&shelf, &stock, (double)rows[i].deltas_bytes);
        int stay = 0;
        for (int k = 0; rows[i].slots[k]; k++) {
            stay += rows[i].stay[k] != '-';
            const struct sk_held *x = stock.all;
            while (x && x != h[k])
                x = x->next;
            if (!x != (rows[i].stay[k] == '-'))
                fail_msg("row %zu: slot %d", i, k);
        }
        assert_int_equal(files(), stay);
        clear(state);
    }
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
    assert_int_equal(files(), 1);
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

/* Four generations, 1 the oldest; what is changed of the newest, and which one is found then. */
static void test_who_is_untold(void **state)
{
    static const struct {
        char what;
        int complete, told, found;
    } rows[] = {
        {'.', 0, 0, 4}, {'.', 3, 0, 4}, {'.', 4, 0, 0}, {'.', 3, 4, 0}, {'.', 2, 4, 3}, {'.', 2, 3, 4}, {'f', 0, 0, 3}, {'s', 0, 0, 3},
        {'d', 0, 0, 3}, {'a', 0, 0, 3}, {'h', 0, 0, 3}, {'l', 0, 0, 3}, {'b', 0, 0, 4}, {'o', 0, 0, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int order = 0; order < 2; order++) {
            struct sk_held *h[5];
            for (int k = 1; k <= 4; k++) {
                int n = order ? k : 5 - k;
                h[n] = add(SK_SLOT_FULL, PAGE, COMMITTED);
                h[n]->seq = n;
                h[n]->gen = (struct sk_gen){1, 10 * n, 0};
            }
            struct sk_held *x = h[4];
            struct sk_slot *slot = x->slot;
            x->stage = rows[i].what == 'f' ? FREE : rows[i].what == 's' ? SUBMITTED : COMMITTED;
            x->use = rows[i].what == 'd' ? SK_SLOT_DELTA : SK_SLOT_FULL;
            x->users.archiving = rows[i].what == 'a';
            x->users.holds = rows[i].what == 'h';
            x->users.lent = rows[i].what == 'l';
            x->slot = rows[i].what == 'o' ? NULL : slot;
            if (rows[i].what == 'b') /* on one that is not there */
                x->base = (struct sk_gen){1, 5, 0};
            stock.complete_seq = rows[i].complete;
            stock.told_seq = rows[i].told;
            const struct sk_held *found = sk_shelf_newest_untold(&stock);
            if (found != (rows[i].found ? h[rows[i].found] : NULL))
                fail_msg("row %zu: %lld", i, found ? (long long)found->seq : 0);
            x->slot = slot;
            clear(state);
        }
}

/* What ulimit -f allows, with the descriptors that are open before and after; what a slot has already is no more that it takes. */
static void test_limits(void **state)
{
    static const struct {
        size_t has, wants; /* pages; 0: no slot */
        int rc;
    } rows[] = {{0, 8, 0}, {0, 9, SAIKAI_ENOSPC}, {4, 8, 0}, {8, 8, 0}, {8, 4, 0}, {8, 1, 0}, {2, 11, SAIKAI_ENOSPC}};
    struct rlimit was, now;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    now = was;
    now.rlim_cur = 8 * PAGE;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sk_slot *slot = rows[i].has ? add(SK_SLOT_FULL, rows[i].has * PAGE, FREE)->slot : NULL;
        int before = open_files(), had = slot != NULL;
        struct saikai_error err = {0};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
        int rc = sk_shelf_take_room(&shelf, &where, 1000 + (int)i, rows[i].wants * PAGE, &slot, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
        if (rc != rows[i].rc || err.code != rc)
            fail_msg("row %zu: %d %s", i, rc, err.text);
        if (slot)
            assert_int_equal(slot->size_bytes, rc ? rows[i].has * PAGE : rows[i].wants * PAGE);
        assert_int_equal(open_files(), before + (!rc && !had));
        if (!had)
            sk_slot_free(slot, 1);
    }
}

/* Beside the bytes that are asked for it looks for 16 MiB to work with, and keeps no lock. */
static void test_room_to_work(void **state)
{
    struct rlimit was, now;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    now = was;
    now.rlim_cur = (rlim_t)100 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
    int before = open_files();
    assert_int_equal(sk_shelf_room(&shelf, &where, (uint64_t)84 << 20, NULL), 0);
    assert_int_equal(sk_shelf_room(&shelf, &where, ((uint64_t)84 << 20) + 1, NULL), SAIKAI_ENOSPC);
    assert_int_equal(sk_shelf_new(&shelf, &where, &stock, SK_SLOT_FULL, ((size_t)100 << 20) + 1, NULL), SAIKAI_ENOSPC);
    assert_null(stock.all);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    shelf.share = 1;
    for (int i = 0; i < 2; i++)
        sk_shelf_room(&shelf, &where, 1, NULL);
    shelf.share = 1e-15;
    for (int i = 0; i < 2; i++)
        sk_shelf_room(&shelf, &where, 1, NULL);
    assert_int_equal(open_files(), before);
}

static void test_names(void **state)
{
    (void)state;
    int number = shelf.number;
    for (int i = 0; i < 3; i++)
        add(SK_SLOT_FULL, PAGE, TAKEN);
    assert_int_equal(shelf.number, number + 3);
    assert_int_equal(files(), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_pick, clear),
        cmocka_unit_test_teardown(test_old, clear),
        cmocka_unit_test_teardown(test_what_is_an_old_copy, clear),
        cmocka_unit_test_teardown(test_pick_in_any_order, clear),
        cmocka_unit_test_teardown(test_any, clear),
        cmocka_unit_test_teardown(test_trim_table, clear),
        cmocka_unit_test_teardown(test_who_is_untold, clear),
        cmocka_unit_test_teardown(test_trim, clear),
        cmocka_unit_test_teardown(test_limits, clear),
        cmocka_unit_test_teardown(test_room_to_work, clear),
        cmocka_unit_test_teardown(test_names, clear),
        cmocka_unit_test_teardown(test_broken, clear),
        cmocka_unit_test_teardown(test_untold, clear),
    };
    return cmocka_run_group_tests(tests, start, end);
}
