/* The exchange of the ranks over a group in one process: agreed ticks, results that all share, and spans. */
#include "lib/session/agreement.h"

#include "group/group.h"
#include "group/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { TICKS = 60 };

struct heard {
    int count;
    uint64_t tick[TICKS];
    int64_t least[TICKS], most[TICKS];
};
static struct heard heard[4];

/* Each rank says its tick and rank; what it hears and when is noted. */
static int talk(struct sk_group *g, void *arg)
{
    struct sk_agreement x;
    struct heard *h = &heard[g->rank];
    double tick_s = *(double *)arg;
    sk_agreement_start(&x);
    memset(h, 0, sizeof *h);
    for (uint64_t tick = 1; tick <= TICKS; tick++) {
        int rc = sk_agreement_take(&x, g, tick, NULL);
        if (rc < 0)
            return rc;
        if (rc) {
            h->tick[h->count] = tick;
            h->least[h->count] = x.values[SK_POLL_LEVELS];
            h->most[h->count++] = -x.values[SK_POLL_LEVELS + 1];
            sk_agreement_plan(&x, tick, tick_s, 1);
        }
        if (!sk_agreement_is_due(&x, tick)) {
            if ((rc = sk_agreement_progress(&x, g)))
                return rc;
            continue;
        }
        int64_t mine = (int64_t)(100 * tick) + g->rank;
        memset(x.values, 0, sizeof x.values);
        x.values[SK_POLL_LEVELS] = mine;
        x.values[SK_POLL_LEVELS + 1] = -mine;
        if ((rc = sk_agreement_post(&x, g, tick, NULL)) || sk_agreement_next(&x) != tick + x.span)
            return rc ? rc : -1000;
    }
    sk_agreement_end(&x, g);
    return x.request ? -1001 : 0;
}

static void run(double tick_s)
{
    assert_int_equal(sk_loop_run(4, talk, &tick_s), 0);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(heard[r].count, heard[0].count);
        for (int i = 0; i < heard[r].count; i++) {
            assert_int_equal(heard[r].tick[i], heard[0].tick[i]); /* at the same place in the program */
            uint64_t said = i ? heard[r].tick[i - 1] : 1;
            assert_int_equal(heard[r].least[i], 100 * (int64_t)said);
            assert_int_equal(heard[r].most[i], 100 * (int64_t)said + 3);
        }
    }
}

static void test_all_hear_the_same(void **state)
{
    (void)state;
    run(0.1); /* ten ticks in a second: the span grows at most fourfold at a time */
    const uint64_t expect[] = {2, 6, 16, 26, 36, 46, 56};
    assert_int_equal(heard[0].count, 7);
    for (int i = 0; i < 7; i++)
        assert_int_equal(heard[0].tick[i], expect[i]);
}

static void test_slow_ticks(void **state)
{
    (void)state;
    run(5); /* one tick is longer than a poll is to be */
    assert_int_equal(heard[0].count, TICKS - 1);
}

static void test_nothing_measured(void **state)
{
    (void)state;
    run(0); /* ticks too short to be measured: twice as many each time, but for the first exchange */
    assert_int_equal(heard[0].tick[0], 2);
    assert_int_equal(heard[0].tick[1], 3);
    assert_int_equal(heard[0].tick[2], 5);
    assert_int_equal(heard[0].tick[3], 9);
    assert_int_equal(heard[0].tick[4], 17);
}

static uint64_t planned(uint64_t span, uint64_t tick, double tick_s)
{
    struct sk_agreement x;
    sk_agreement_start(&x);
    x.span = span;
    sk_agreement_plan(&x, tick, tick_s, 1);
    return x.span;
}

/* As many ticks as fill a poll, no more than four times as many as before, and never more than all ranks can count. */
static void test_spans(void **state)
{
    (void)state;
    const uint64_t most = 1 << 24;
    assert_int_equal(planned(10, 9, 0.25), 4);
    assert_int_equal(planned(10, 9, 1), 1);
    assert_int_equal(planned(10, 9, 3), 1);
    assert_int_equal(planned(10, 9, 1. / 39), 39);
    assert_int_equal(planned(10, 9, 1. / 64), 40);
    assert_int_equal(planned(3, 9, 1e-9), 12);
    assert_int_equal(planned(most / 4 - 1, 9, 1e-9), most - 4);
    assert_int_equal(planned(most / 4, 9, 1e-9), most);
    assert_int_equal(planned(most, 9, 1e-9), most);
    assert_int_equal(planned(most, 9, 0), most);
    assert_int_equal(planned(10, 9, 0), 20);
    assert_int_equal(planned(10, 3, 0), 20);
    assert_int_equal(planned(10, 2, 0), 10);
    assert_int_equal(planned(10, 2, 0.5), 2);
    struct sk_agreement x = {.span = 10};
    static const uint64_t shorter[][2] = {{11, 10}, {10, 10}, {9, 9}, {1, 1}, {0, 1}};
    for (size_t i = 0; i < sizeof shorter / sizeof *shorter; i++) {
        sk_agreement_shorten(&x, shorter[i][0]);
        assert_int_equal(x.span, shorter[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_hear_the_same),
        cmocka_unit_test(test_slow_ticks),
        cmocka_unit_test(test_nothing_measured),
        cmocka_unit_test(test_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
