/* The course of a process: what a new one is held against. */
#include "world/log/course.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static struct sk_course course;
static struct sk_course_count now;

static void go(uint64_t sends, uint64_t receives)
{
    now.sends += sends;
    now.receives += receives;
}

/* A program that sends so much before its loop, and two messages in each turn of it. */
static void start(uint64_t before_loop, int turns)
{
    memset(&now, 0, sizeof now);
    go(7, 9); /* the set-up */
    sk_course_begin(&course, now);
    sk_course_set_mark(&course, 0, now);
    go(before_loop, before_loop);
    for (int i = 1; i <= turns; i++) {
        go(2, 2);
        sk_course_candidate(&course, now);
        if (i % 10 == 0)
            sk_course_set_mark(&course, i, now);
    }
}

static int takes(int64_t key, uint64_t sends, uint64_t receives)
{
    struct sk_course_check k = sk_course_check_of(&course, key);
    return sk_course_is_right(&k, (struct sk_course_count){sends, receives});
}

static void what_was_passed_must_be_the_same(void **state)
{
    (void)state;
    start(0, 25);
    assert_true(takes(10, 2, 2) && takes(20, 2, 2) && takes(0, 2, 2));
    assert_true(!takes(10, 3, 2) && !takes(10, 2, 3) && !takes(20, 4, 4) && !takes(0, 0, 0));
    start(4, 25);
    assert_true(takes(10, 2, 2) && takes(0, 6, 6)); /* from its beginning it does again all that it did */
    assert_true(!takes(10, 6, 6));
}

static void what_was_not_passed_is_held_against_the_first_start(void **state)
{
    (void)state;
    start(0, 20); /* it died behind the generation, before the next candidate */
    assert_true(takes(20, 2, 2) && takes(20, 5, 1)); /* as much as in each turn: there is nothing before the loop */
    start(4, 20);
    assert_true(takes(20, 2, 2) && !takes(20, 6, 6));
    start(4, 1);
    sk_course_set_mark(&course, 1, now);
    assert_true(takes(1, 2, 2) && !takes(1, 6, 6));
    start(0, 1);
    sk_course_set_mark(&course, 1, now);
    assert_true(!takes(1, 2, 2)); /* there was no turn to tell: little is lost */
    start(4, 0);
    assert_true(takes(0, 0, 0) && takes(0, 6, 6)); /* it had come nowhere */
}

static void old_generations_are_not_known(void **state)
{
    (void)state;
    start(0, 10 * (SK_COURSE_MARKS + 5));
    assert_true(!sk_course_check_of(&course, 10).known && sk_course_check_of(&course, 60).known);
    assert_true(takes(10, 9, 9));
    sk_course_set_mark(&course, 100, now); /* the same again: the newer counts */
    go(5, 5);
    sk_course_candidate(&course, now);
    assert_true(takes(100, 5, 5) && !takes(100, 2, 2));
}

static void turns_need_not_be_alike(void **state)
{
    (void)state;
    start(0, 0);
    for (uint64_t i = 1; i <= 9; i++) {
        go(i % 3, i % 2);
        sk_course_candidate(&course, now);
    }
    sk_course_set_mark(&course, 9, now);
    assert_true(takes(9, 1, 1) && takes(9, 8, 8)); /* as it began, and as some turns are */
    start(0, 0);
    for (uint64_t i = 1; i <= 9; i++) {
        go(i == 1 ? 9 : i % 3, i % 2);
        sk_course_candidate(&course, now);
    }
    sk_course_set_mark(&course, 9, now);
    assert_true(!takes(9, 9, 1) && takes(9, 9, 0));
}

static void the_next_one_can_be_checked_as_well(void **state)
{
    (void)state;
    for (uint64_t before_loop = 0; before_loop < 2; before_loop++) {
        start(before_loop, 20);
        struct sk_course_check k = sk_course_check_of(&course, 20);
        memset(&now, 0, sizeof now);
        sk_course_inherit(&course, &k, now);
        sk_course_set_mark(&course, 20, now);
        assert_true(takes(20, 2, 2) && takes(20, 9, 9) && takes(20, 3, 3) == !before_loop);
        go(2, 2);
        sk_course_candidate(&course, now);
        assert_true(takes(20, 2, 2) && !takes(20, 3, 3) && !takes(20, 9, 9));
    }
    start(0, 0);
    struct sk_course_check k = sk_course_check_of(&course, 0);
    sk_course_inherit(&course, &k, now);
    sk_course_set_mark(&course, 0, now);
    assert_true(takes(0, 0, 0) && takes(0, 3, 3));
    const struct sk_course_check nothing = {.known = 2};
    assert_true(sk_course_is_right(&nothing, (struct sk_course_count){0, 0}) && sk_course_is_right(&nothing, (struct sk_course_count){5, 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_passed_must_be_the_same),
        cmocka_unit_test(what_was_not_passed_is_held_against_the_first_start),
        cmocka_unit_test(old_generations_are_not_known),
        cmocka_unit_test(turns_need_not_be_alike),
        cmocka_unit_test(the_next_one_can_be_checked_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
