/* Events of chance: what is told again after a mark, marks on the way, a ring that turns round, and bytes of any kind. */
#include "world/log/outcomes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS = 64 };

static struct sk_outcomes_log new_log(void)
{
    struct sk_outcomes_log l = {.ring = calloc(1, SK_OUTCOMES_BYTES(WORDS)), .words = WORDS};
    assert_non_null(l.ring);
    sk_outcomes_clear(&l);
    return l;
}

static void end(struct sk_outcomes_log *l)
{
    free(l->match);
    free(l->back);
    free(l->ring);
}

/* What a process is told that goes on from this mark. */
static struct sk_outcomes_log go_on(const struct sk_outcomes_log *before, int64_t key)
{
    uint64_t word[WORDS];
    struct sk_outcomes_log l = new_log();
    size_t n = sk_outcomes_since(before->ring, WORDS, key, NULL);
    assert_in_range(n, 1, WORDS);
    assert_int_equal(sk_outcomes_since(before->ring, WORDS, key, word), n);
    assert_int_equal(sk_outcomes_load(&l, word, n), 0);
    return l;
}

static void happen(struct sk_outcomes_log *l, int call, int n, int a, int b)
{
    assert_int_equal(sk_outcomes_add(l, call, n, (int[]){a, b}), 0);
}

static void told(struct sk_outcomes_log *l, int call, int n, int a, int b)
{
    int got[2] = {-5, -5};
    assert_int_equal(sk_outcomes_tell(l, call, got, 2), n);
    if (n > 0)
        assert_int_equal(got[0], a);
    if (n > 1)
        assert_int_equal(got[1], b);
}

static void receive(struct sk_outcomes_log *l, int source, int tag)
{
    assert_int_equal(sk_outcomes_match(l, l->wild++, source, tag), 0);
}

static void received(struct sk_outcomes_log *l, int source, int tag)
{
    int s = -1, t = -1;
    assert_int_equal(sk_outcomes_tell_match(l, l->wild++, &s, &t), source >= 0);
    if (source >= 0) {
        assert_int_equal(s, source);
        assert_int_equal(t, tag);
    }
}

/* The next receive that can be taken back is: 1, it was too late: 0, or nobody tried: -1. */
static void take_back(struct sk_outcomes_log *l, int taken)
{
    uint64_t number = l->begun++;
    if (taken >= 0)
        assert_int_equal(sk_outcomes_back(l, number, taken), 0);
}

static void taken_back(struct sk_outcomes_log *l, int taken)
{
    assert_int_equal(sk_outcomes_tell_back(l, l->begun++), taken);
}

static void it_is_told_again(void **state)
{
    struct sk_outcomes_log l = new_log();
    sk_outcomes_mark(&l, 1);
    receive(&l, 9, 9);
    happen(&l, 7, 1, 5, 0);
    sk_outcomes_mark(&l, 10);
    happen(&l, 1, -1, 0, 0);
    happen(&l, 1, -1, 0, 0);
    happen(&l, 2, -1, 0, 0);
    receive(&l, 3, 4);
    happen(&l, 2, 2, 8, 6);
    happen(&l, 1, 0, 0, 0);
    receive(&l, 1, 0);
    struct sk_outcomes_log m = go_on(&l, 10);
    assert_false(sk_outcomes_is_told(&m));
    received(&m, 3, 4);
    told(&m, 1, SK_OUTCOMES_NONE, 0, 0);
    told(&m, 1, SK_OUTCOMES_NONE, 0, 0);
    told(&m, 1, SK_OUTCOMES_OTHER, 0, 0);
    told(&m, 2, SK_OUTCOMES_NONE, 0, 0);
    told(&m, 2, 2, 8, 6);
    received(&m, 1, 0);
    received(&m, -1, 0);
    assert_false(sk_outcomes_is_told(&m));
    told(&m, 1, 0, 0, 0);
    told(&m, 1, SK_OUTCOMES_OVER, 0, 0);
    assert_true(sk_outcomes_is_told(&m));
    struct sk_outcomes_log n = go_on(&m, 10); /* and to a third process */
    told(&n, 1, SK_OUTCOMES_NONE, 0, 0);
    end(&l);
    end(&m);
    end(&n);
}

/* The second process passes a generation before it is told all. A third one goes on from there, or from the one before. */
static void a_mark_on_the_way(void **state)
{
    struct sk_outcomes_log l = new_log();
    sk_outcomes_mark(&l, 1);
    receive(&l, 2, 2);
    for (int i = 0; i < 5; i++)
        happen(&l, 1, -1, 0, 0);
    receive(&l, 3, 3);
    happen(&l, 1, 1, 4, 0);
    struct sk_outcomes_log m = go_on(&l, 1);
    received(&m, 2, 2);
    told(&m, 1, SK_OUTCOMES_NONE, 0, 0);
    told(&m, 1, SK_OUTCOMES_NONE, 0, 0);
    sk_outcomes_mark(&m, 2);
    told(&m, 1, SK_OUTCOMES_NONE, 0, 0);
    struct sk_outcomes_log from[] = {go_on(&m, 2), go_on(&m, 1)};
    for (int i = 0; i < 2; i++) {
        struct sk_outcomes_log *n = &from[i];
        if (i)
            received(n, 2, 2);
        for (int k = 0; k < (i ? 5 : 3); k++)
            told(n, 1, SK_OUTCOMES_NONE, 0, 0);
        received(n, 3, 3);
        told(n, 1, 1, 4, 0);
        told(n, 1, SK_OUTCOMES_OVER, 0, 0);
        end(n);
    }
    told(&m, 1, SK_OUTCOMES_NONE, 0, 0);
    told(&m, 1, SK_OUTCOMES_NONE, 0, 0);
    told(&m, 1, 1, 4, 0);
    received(&m, 3, 3);
    assert_true(sk_outcomes_is_told(&m));
    end(&l);
    end(&m);
}

/* Whether a receive was taken back is known when it is begun, whatever was told in between, and in whichever order they were taken back. */
static void a_receive_is_taken_back(void **state)
{
    struct sk_outcomes_log l = new_log();
    sk_outcomes_mark(&l, 1);
    take_back(&l, 1);
    happen(&l, 1, -1, 0, 0);
    sk_outcomes_mark(&l, 2);
    l.begun += 3;
    assert_int_equal(sk_outcomes_back(&l, l.begun - 1, 1), 0);
    happen(&l, 1, -1, 0, 0);
    assert_int_equal(sk_outcomes_back(&l, l.begun - 3, 0), 0);
    happen(&l, 1, -1, 0, 0);
    receive(&l, 3, 4);
    take_back(&l, -1);
    take_back(&l, 1);
    happen(&l, 2, 1, 8, 0);
    struct sk_outcomes_log m = go_on(&l, 2);
    taken_back(&m, 0);
    taken_back(&m, -1);
    told(&m, 1, SK_OUTCOMES_NONE, 0, 0);
    assert_int_equal(sk_outcomes_mark(&m, 3), 0); /* what was taken back of those that are still to come goes with it */
    taken_back(&m, 1);
    received(&m, 3, 4);
    taken_back(&m, -1);
    told(&m, 1, SK_OUTCOMES_NONE, 0, 0);
    told(&m, 2, 1, 8, 0);
    assert_false(sk_outcomes_is_told(&m));
    taken_back(&m, 1);
    assert_true(sk_outcomes_is_told(&m));
    taken_back(&m, -1);
    struct sk_outcomes_log n = go_on(&m, 3);
    taken_back(&n, 1);
    taken_back(&n, -1);
    taken_back(&n, 1);
    end(&l);
    end(&m);
    end(&n);
}

static void the_ring_turns(void **state)
{
    struct sk_outcomes_log l = new_log();
    sk_outcomes_mark(&l, 0);
    for (int64_t key = 1; key < 50; key++) {
        for (int i = 0; i < 5; i++)
            happen(&l, 1, 1, (int)key, 0);
        receive(&l, (int)key, (int)key % 7);
        assert_int_equal(sk_outcomes_mark(&l, key), 0);
        happen(&l, 1, 1, (int)key + 1, 0);
        struct sk_outcomes_log m = go_on(&l, key - 1);
        received(&m, (int)key, (int)key % 7);
        end(&m);
        sk_outcomes_cut(&l, key);
        sk_outcomes_cut(&l, -7); /* nobody knows it */
        assert_int_equal(sk_outcomes_used(&l), 7);
    }
    assert_int_equal(sk_outcomes_back(&l, 0, 1), 0);
    for (int i = 0; i < WORDS; i++)
        sk_outcomes_add(&l, 1, 1, &i);
    assert_int_equal(sk_outcomes_add(&l, 1, 1, (int[]){1}), -1); /* it is full */
    assert_int_equal(sk_outcomes_back(&l, 0, 0), -1);
    assert_int_equal(sk_outcomes_match(&l, 0, 0, 0), -1);
    assert_int_equal(sk_outcomes_mark(&l, 99), -1);
    assert_int_equal(sk_outcomes_since(l.ring, WORDS, 49, NULL), WORDS);
    end(&l);
}

/* Whatever stands there, it is refused or told, and nothing else is read. */
static void anything_may_stand_there(void **state)
{
    uint64_t seed = 1, word[WORDS];
    for (int turn = 0; turn < 20000; turn++) {
        struct sk_outcomes_log l = new_log();
        size_t n = turn % WORDS + 1;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            word[i] = seed >> 60 < 9 ? (seed >> 40) % 6 + 1 + ((seed >> 50 & 3) << 16) : seed >> (seed >> 33 & 63);
        }
        if (turn % 4) {
            word[0] = 4;
            word[2 % n] = turn % 3 ? 0 : word[2 % n];
            word[4 % n] = 0;
        }
        if (!sk_outcomes_load(&l, word, n)) {
            int got[WORDS], s, t;
            for (int k = 0; k < WORDS && sk_outcomes_tell(&l, (int)(seed & 1), got, WORDS) > SK_OUTCOMES_OVER; k++)
                sk_outcomes_tell_match(&l, (uint64_t)k, &s, &t), sk_outcomes_tell_back(&l, (uint64_t)k);
        }
        memcpy(l.ring->word, word, n * sizeof *word);
        l.ring->tail = n;
        sk_outcomes_since(l.ring, WORDS, (int64_t)word[1 % n], word);
        end(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_told_again),
        cmocka_unit_test(a_mark_on_the_way),
        cmocka_unit_test(a_receive_is_taken_back),
        cmocka_unit_test(the_ring_turns),
        cmocka_unit_test(anything_may_stand_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
