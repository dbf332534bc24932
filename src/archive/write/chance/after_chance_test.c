/* What pieces of a part say of it after the one below: of numbers that moved on a little, of such that are all new, and of a block of several parts. */
#include "archive/write/chance/after_chance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/near_testing.h"

enum { VALUES = 200000 };
static double now[VALUES], then[VALUES];
static uint32_t seed = 3;

static double uneven(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / (1 << 24) - 0.5;
}

/* Pieces of `values` numbers, of which a part takes `share` alone as predictions, after others that differ by so much. */
static struct sk_after_chance look(size_t values, double differs, double share)
{
    const struct sk_recipe r = {.form = SK_FORM_PREDICT, .backend = SK_BACKEND_ZSTD, .share = share};
    struct sk_ska_segment s = {.box = {1, 1, values}};
    struct sk_part p = {.type = SAIKAI_F64, .segments = &s, .count = 1, .raw = (uint8_t *)now, .size_bytes = 8 * values, .native = 1}, below = p;
    const struct sk_part *previous = &below;
    uint64_t place = 0;
    struct sk_after_room w = {.places = &place};
    below.raw = (uint8_t *)then;
    for (size_t i = 0; i < values; i++) {
        then[i] = 1 + uneven() + 1e-9 * uneven();
        now[i] = then[i] + differs * (uneven() + 1e-9 * uneven());
    }
    struct sk_after_chance c = sk_after_look(&w, &p, &r, 1, &previous);
    assert_null(w.coder.previous);
    assert_null(w.coder.places);
    sk_coder_free(&w.coder);
    sk_buf_free(&w.piece);
    return c;
}

static void pieces_tell(void **state)
{
    (void)state;
    struct sk_after_chance little = look(VALUES, 1e-9, 0.8), all = look(VALUES, 1, 0.8), few = look(5000, 1e-9, 0.8), some = look(12000, 1e-9, 0.8);
    assert_true(little.alone_bytes == 0.8 * 8 * VALUES);
    assert_true(little.bytes > 0.2 * 8 * VALUES && little.bytes < 0.5 * 8 * VALUES);
    assert_true(sk_after_is_clear(&little));
    assert_true(all.bytes > 0.75 * 8 * VALUES);
    assert_false(sk_after_is_clear(&all));
    assert_true(few.bytes == 0); /* too few to ask */
    assert_false(sk_after_is_clear(&few));
    assert_true(some.bytes > 0 && sk_after_is_clear(&some));
}

static void a_block_needs_to_save_enough(void **state)
{
    (void)state;
    static const struct sk_recipe r = {.form = SK_FORM_PREDICT};
    static const struct {
        double alone[2], after[2]; /* after 0: nobody knows, -1: there is nothing below */
        int too_little;
    } blocks[] = {{{100, 100}, {99, 99}, 1},  {{100, 100}, {80, 99}, 0}, {{100, 100}, {98, 98}, 0}, {{100, 100}, {99, 98.5}, 1}, {{100, 900}, {50, 900}, 0},
                  {{100, 4000}, {50, -1}, 1}, {{100, 100}, {50, -1}, 0}, {{100, 0}, {99, 99}, 0},   {{100, 100}, {99, 0}, 0},  {{100, 100}, {300, 89}, 0}, {{100, 100}, {300, 98}, 1}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        struct sk_after_chance c[2];
        for (int k = 0; k < 2; k++)
            c[k] = (struct sk_after_chance){.alone = &r, .alone_bytes = blocks[i].alone[k], .numbers = blocks[i].after[k] >= 0, .bytes = blocks[i].after[k] > 0 ? blocks[i].after[k] : 0};
        if (sk_after_saves_too_little(c, 2) != blocks[i].too_little)
            fail_msg("block %zu", i);
    }
}

static void what_is_clear(void **state)
{
    (void)state;
    static const struct {
        int form;
        double after;
        int clear, hopeless; /* 1000 bytes alone, of 2000 */
    } parts[] = {{SK_FORM_PREDICT, 965, 1, 0}, {SK_FORM_PREDICT, 975, 0, 0}, {SK_FORM_PREDICT, 1015, 0, 0}, {SK_FORM_PREDICT, 1025, 0, 1}, {SK_FORM_ROWS, 915, 1, 0},
                 {SK_FORM_ROWS, 925, 0, 0},    {SK_FORM_ROWS, 1195, 0, 0},   {SK_FORM_ROWS, 1205, 0, 1},    {SK_FORM_PREDICT, 0, 0, 0}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct sk_recipe r = {.form = parts[i].form};
        const struct sk_after_chance c = {.alone = &r, .alone_bytes = 1000, .numbers = 1, .bytes = parts[i].after};
        if (sk_after_is_clear(&c) != parts[i].clear || sk_after_is_hopeless(&c, 2000, 1000) != parts[i].hopeless)
            fail_msg("part %zu", i);
    }
    /* of the same pieces it takes less, whatever all of the part was thought to take */
    const struct sk_recipe rows = {.form = SK_FORM_ROWS};
    struct sk_after_chance same = {.alone = &rows, .alone_bytes = 1000, .numbers = 1, .bytes = 1100, .pieces_alone = 1150};
    assert_true(sk_after_is_clear(&same));
    same.pieces_alone = 1120;
    assert_false(sk_after_is_clear(&same));
    assert_true(sk_after_alone(&same, 550) == 1000); /* its sample says more than the pieces do */
    same.pieces_alone = 2300;
    assert_true(fabs(sk_after_alone(&same, 550) - 1150) < 1e-6);
    assert_true(sk_after_alone(&same, 1200) == 1000); /* the pieces were wrong */
    same.alone_bytes = 0;
    assert_true(sk_after_alone(&same, 1500) == 2300); /* but say more than enough, where nothing else does */
    assert_true(sk_after_alone(&same, 2200) == 0);
    same.bytes = 0;
    assert_false(sk_after_is_clear(&same));
    /* nor is it made where they take no less */
    same = (struct sk_after_chance){.alone = &rows, .alone_bytes = 1000, .numbers = 1, .bytes = 1100, .pieces_alone = 1110};
    assert_true(sk_after_is_hopeless(&same, 2000, 1000));
    same.pieces_alone = 1130;
    assert_false(sk_after_is_hopeless(&same, 2000, 1000));
    const struct sk_recipe r = {.form = SK_FORM_BYTES};
    const struct sk_after_chance nothing = {.alone = &r, .numbers = 1, .bytes = 1950};
    assert_true(sk_after_is_hopeless(&nothing, 2000, 1990)); /* finds nothing, whatever it takes alone */
}

/* What is below is looked for as it stands there. */
static void bytes_come_after_bytes(void **state)
{
    (void)state;
    const struct sk_recipe filtered = {.form = SK_FORM_BYTES, .filter = SK_FILTER_SHUFFLE8, .backend = SK_BACKEND_ZSTD, .level = 6},
                           rows = {.form = SK_FORM_ROWS, .backend = SK_BACKEND_ZSTD, .level = 5};
    struct sk_recipe by = sk_after_bytes(&filtered);
    assert_true(by.form == SK_FORM_BYTES && !by.filter && by.level == 6);
    by = sk_after_bytes(&rows);
    assert_true(by.form == SK_FORM_BYTES && !by.filter && by.backend == SK_BACKEND_ZSTD);
}

/* Rows of numbers, of which only a table for each piece is dear: pieces say more than all of the part takes alone, but less than they do alone. */
static void rows_are_held_against_themselves(void **state)
{
    (void)state;
    enum { ROW = 4 };
    const struct sk_recipe r = {.form = SK_FORM_ROWS, .backend = SK_BACKEND_ZSTD, .level = 5, .share = 0.3};
    struct sk_ska_segment s = {.box = {1, 1, sizeof now}};
    struct sk_part p = {.type = SAIKAI_U8, .segments = &s, .count = 1, .raw = (uint8_t *)now, .size_bytes = sizeof now, .native = 1}, below = p;
    const struct sk_part *previous = &below;
    uint64_t place = 0;
    below.raw = (uint8_t *)then;
    for (int moved = 0; moved < 2; moved++) {
        struct sk_after_room w = {.places = &place};
        for (size_t i = 0; i < VALUES; i++) {
            then[i] = 1 + uneven() + 1e-9 * uneven();
            now[i] = i % ROW ? 1 + uneven() + 1e-9 * uneven() : moved ? then[i] : 1 + uneven() + 1e-9 * uneven();
        }
        struct sk_after_chance c = sk_after_look(&w, &p, &r, 1, &previous);
        assert_true(c.bytes > c.alone_bytes && c.pieces_alone > 0.5 * sizeof now);
        assert_int_equal(sk_after_is_clear(&c), moved);
        assert_null(w.coder.previous);
        sk_coder_free(&w.coder);
        sk_buf_free(&w.piece);
    }
}

/* One part in 25 of what does not shrink is below, at another place: it is found, and nothing where there is nothing, or too little to save anything. */
static void what_repeats_is_found(void **state)
{
    (void)state;
    enum { BYTES = 2 << 20, SAME = BYTES / 25 };
    uint8_t *a = malloc(BYTES), *b = malloc(BYTES);
    assert_true(a && b);
    for (size_t i = 0; i < BYTES; i++) {
        uneven();
        a[i] = (uint8_t)(seed >> 24);
        uneven();
        b[i] = (uint8_t)(seed >> 24);
    }
    struct sk_part p = {.type = SAIKAI_U8, .raw = a, .size_bytes = BYTES}, below = {.type = SAIKAI_U8, .raw = b, .size_bytes = BYTES};
    assert_true(sk_after_repeats(&p, &below) == 0);
    memset(a, 7, BYTES / 2); /* fill is no repeat */
    memset(b, 7, BYTES / 2);
    assert_true(sk_after_repeats(&p, &below) == 0);
    memcpy(a + BYTES / 4 * 3, b + BYTES - SAME - 3, SAME / 8);
    assert_near(sk_after_repeats(&p, &below), 1.0 / 200, 0.002);
    memcpy(a + BYTES / 4 * 3, b + BYTES - SAME - 3, SAME);
    assert_near(sk_after_repeats(&p, &below), 1.0 / 25, 0.002);
    below.size_bytes = 7;
    assert_true(sk_after_repeats(&p, &below) == 1); /* too few to ask */
    free(a);
    free(b);
}

/* Numbers that are all below, at other places, are found whatever their count is: places that are asked are those of numbers. */
static void numbers_are_found_whole(void **state)
{
    (void)state;
    enum { MOST = 40013, AWAY = 321 };
    double *a = malloc((MOST + AWAY) * sizeof *a);
    assert_non_null(a);
    for (size_t i = 0; i < MOST + AWAY; i++)
        a[i] = 1 + uneven() + 1e-9 * uneven();
    for (size_t n = MOST - 300; n <= MOST; n += 100) {
        struct sk_part p = {.type = SAIKAI_F64, .raw = (uint8_t *)(a + AWAY), .size_bytes = n * sizeof *a}, below = {.type = SAIKAI_F64, .raw = (uint8_t *)a, .size_bytes = (n + AWAY) * sizeof *a};
        assert_true(sk_after_repeats(&p, &below) > 0.95);
    }
    free(a);
}

/* Numbers behind some that are new are in the place of none of those below, but as bytes they are there: they need not be made alone, nor by columns. Where all
 * are new, they must be. */
static void numbers_that_moved_are_bytes(void **state)
{
    (void)state;
    enum { NEW = 777 };
    const struct sk_recipe r = {.form = SK_FORM_PREDICT, .backend = SK_BACKEND_ZSTD, .share = 0.9};
    struct sk_ska_segment s = {.box = {1, 1, VALUES}};
    struct sk_part p = {.type = SAIKAI_F64, .segments = &s, .count = 1, .raw = (uint8_t *)now, .size_bytes = sizeof now, .native = 1}, below = p;
    const struct sk_part *previous = &below;
    uint64_t place = 0;
    struct sk_after_room w = {.places = &place};
    below.raw = (uint8_t *)then;
    for (int all_new = 0; all_new < 2; all_new++) {
        for (size_t i = 0; i < VALUES; i++) {
            then[i] = uneven() + 1e-9 * uneven();
            now[i] = i < NEW || all_new ? uneven() + 1e-9 * uneven() : then[i - NEW];
        }
        struct sk_after_chance c = sk_after_look(&w, &p, &r, 1, &previous);
        assert_int_equal(sk_after_is_plain(&c, 0), !all_new);
        assert_int_equal(sk_after_is_plain(&c, 1), !all_new);
        assert_int_equal(sk_after_is_clear(&c), 0);
        assert_int_equal(sk_after_saves_too_little(&c, 1), all_new);
        assert_int_equal(sk_after_bytes(&r).form, SK_FORM_BYTES);
    }
    sk_coder_free(&w.coder);
    sk_buf_free(&w.piece);
}

/* Rows in another order are bytes that are below, and not in their place; what is in its place, or is nowhere there, has not moved. */
static void rows_that_moved_are_found(void **state)
{
    (void)state;
    enum { ROW = 48, ROWS = 40000, BYTES = ROW * ROWS };
    uint8_t *a = malloc(BYTES), *b = malloc(BYTES);
    struct sk_ska_segment all = {.box = {1, 1, BYTES}};
    uint64_t place = 0;
    struct sk_after_room w = {.places = &place};
    assert_true(a && b);
    for (size_t i = 0; i < BYTES; i++) {
        uneven();
        b[i] = (uint8_t)(seed >> 24);
    }
    struct sk_part p = {.type = SAIKAI_U8, .raw = a, .size_bytes = BYTES, .segments = &all, .count = 1}, below = {.type = SAIKAI_U8, .raw = b, .size_bytes = BYTES};
    memcpy(a, b, BYTES);
    assert_int_equal(sk_after_moved(&w, &p, &below), 0);
    for (size_t i = 0; i + 11 < ROWS; i += 20) { /* one in ten */
        memcpy(a + i * ROW, b + (i + 11) * ROW, ROW);
        memcpy(a + (i + 11) * ROW, b + i * ROW, ROW);
    }
    assert_int_equal(sk_after_moved(&w, &p, &below), 1);
    for (size_t i = 0; i < ROWS; i += 5) /* and one in five is new */
        for (size_t k = 0; k < ROW; k++)
            a[i * ROW + k] = (uint8_t)(a[i * ROW + k] * 7 + 1);
    assert_int_equal(sk_after_moved(&w, &p, &below), 0);
    p.size_bytes = all.box.nx = 100;
    assert_int_equal(sk_after_moved(&w, &p, &below), 0);
    free(a);
    free(b);
}

/* Of what has been compressed one piece is enough, and of text and of filtered bytes the same pieces are made alone, too. */
static void pieces_of_other_forms(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20 };
    uint8_t *a = malloc(BYTES), *b = malloc(BYTES);
    assert_true(a && b);
    for (int text = 0; text < 3; text++) {
        const struct sk_recipe r = {.form = text == 2 ? SK_FORM_TEXT : SK_FORM_BYTES, .backend = SK_BACKEND_ZSTD, .level = 3, .filter = text == 1 ? SK_FILTER_SHUFFLE8 : 0};
        struct sk_ska_segment s = {.box = {1, 1, BYTES}};
        struct sk_part p = {.type = SAIKAI_U8, .segments = &s, .count = 1, .raw = a, .size_bytes = BYTES, .native = 1}, below = p;
        const struct sk_part *previous = &below;
        uint64_t place = 0;
        struct sk_after_room w = {.places = &place};
        below.raw = b;
        for (size_t i = 0; i < BYTES; i += 16) {
            double x = uneven() + 1e-8 * uneven(), y = x * (1 + 1e-3 * uneven());
            char one[20];
            memcpy(a + i, &x, 8);
            memcpy(a + i + 8, &y, 8);
            memcpy(b + i, &y, 8);
            memcpy(b + i + 8, &x, 8);
            for (int k = 0; k < 16 && !text; k++) {
                uneven();
                a[i + k] = (uint8_t)(seed >> 24);
            }
            if (text == 2) {
                memcpy(a + i, one, (size_t)snprintf(one, sizeof one, "%15.11f\n", x));
                memcpy(b + i, one, (size_t)snprintf(one, sizeof one, "%15.11f\n", y));
            }
        }
        struct sk_after_chance c = sk_after_look(&w, &p, &r, 1, &previous);
        if (text ? c.pieces_alone <= 0 || !sk_after_is_clear(&c) : c.pieces_alone > 0 || sk_after_is_clear(&c) || !sk_after_is_hopeless(&c, BYTES, BYTES))
            fail_msg("%d: %g of %g", text, c.bytes, c.pieces_alone);
        sk_coder_free(&w.coder);
        sk_buf_free(&w.piece);
    }
    free(a);
    free(b);
}

/* Lines of which so many of a hundred are below, at other places, and whose first bytes tell nothing. */
static void lines_that_are_below(void **state)
{
    (void)state;
    enum { LINES = 20000, LINE = 40 };
    char *a = malloc(LINES * LINE + 1), *b = malloc(LINES * LINE + 1);
    assert_true(a && b);
    for (int share = 0; share <= 100; share += 25) {
        for (int i = 0; i < LINES; i++) {
            double x = uneven() + 1e-8 * uneven(), y = uneven() + 1e-8 * uneven();
            snprintf(a + LINE * i, LINE + 1, "x = %-35.14f\n", x);
            snprintf(b + LINE * ((i + 1234) % LINES), LINE + 1, "x = %-35.14f\n", i % 100 < share ? x : y);
        }
        struct sk_part p = {.type = SAIKAI_U8, .raw = (uint8_t *)a, .size_bytes = LINES * LINE}, below = {.type = SAIKAI_U8, .raw = (uint8_t *)b, .size_bytes = LINES * LINE};
        double same = sk_after_same_lines(&p, &below);
        if (fabs(same - share / 100.0) > 0.06 || (share % 100 == 0 && fabs(same - share / 100.0) > 1e-9))
            fail_msg("%d of 100: %g", share, same);
        b[LINES * LINE - 1] = ' '; /* the last one may go on, and is one all the same */
        assert_true(fabs(sk_after_same_lines(&p, &below) - same) < 0.002);
    }
    memset(a, 'x', LINES * LINE);
    struct sk_part p = {.type = SAIKAI_U8, .raw = (uint8_t *)a, .size_bytes = LINES * LINE}, below = p;
    assert_true(sk_after_same_lines(&p, &below) == 1); /* nobody knows */
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_tell), cmocka_unit_test(a_block_needs_to_save_enough), cmocka_unit_test(what_is_clear), cmocka_unit_test(bytes_come_after_bytes),
                                       cmocka_unit_test(rows_are_held_against_themselves), cmocka_unit_test(what_repeats_is_found), cmocka_unit_test(rows_that_moved_are_found), cmocka_unit_test(numbers_are_found_whole), cmocka_unit_test(numbers_that_moved_are_bytes),
                                       cmocka_unit_test(pieces_of_other_forms), cmocka_unit_test(lines_that_are_below)};
    return sk_backend_here(SK_BACKEND_ZSTD) < 0 ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
