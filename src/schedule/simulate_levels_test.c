/* The simulation of several levels against jobs that were played by hand, with failures that come when the test says. */
#include "schedule/simulate_levels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/near_testing.h"

enum { MOST = 4 };

struct failure {
    double gap; /* seconds since the one before; 0: none comes any more */
    int level;
};

static struct script {
    struct failure f[MOST];
    int at, closed;
} script;

static void *open_script(const struct sk_fleet *fleet, uint64_t seed)
{
    (void)seed;
    assert_true(fleet->nodes == 2 || fleet->nodes == 3);
    script.at = 0;
    return &script;
}

static double next_of_script(void *source, uint64_t *node)
{
    struct script *s = source;
    if (s->at == MOST || !(s->f[s->at].gap > 0))
        return INFINITY;
    *node = (uint64_t)s->f[s->at].level;
    return s->f[s->at++].gap;
}

static void close_script(void *source)
{
    ((struct script *)source)->closed++;
}

static const struct sk_failures_ops scripted = {"script", "", open_script, next_of_script, close_script};

/* The time of the first of two runs; the second one is calm. */
static double played(const struct sk_levels_simulation *s, double calm)
{
    struct sk_levels_simulation_result out;
    struct saikai_error err = {0};
    uint64_t seen[3] = {0};
    int before = script.closed;
    if (sk_levels_simulate(s, &out, &err))
        fail_msg("%s", err.text);
    assert_int_equal(script.closed, before + 1);
    for (int i = 0; i < MOST && script.f[i].gap > 0; i++)
        seen[script.f[i].level]++;
    for (int k = 0; k < s->n; k++)
        assert_int_equal(out.failures[k], seen[k]);
    double work = ceil(s->work / s->interval) * s->interval, wall = 2 * work * (1 + out.overhead) - calm;
    /* of two runs, half of what they differ by */
    assert_near(out.overhead_error, fabs(wall - calm) / work / 2, 1e-7);
    return wall;
}

/* Seven intervals of 100 s; a checkpoint costs 2 s, each second one 3 s more: they are made at 102, 207, 309, 414, 516, 621 and 723 s. A
 * restart takes 5 s from the first level, 10 s from the second one. */
static void test_two_levels(void **state)
{
    (void)state;
    static const struct {
        double late; /* until a checkpoint is safe on the second level */
        struct failure f[MOST];
        double wall;
    } cases[] = {
        {0, {{0, 0}}, 723},
        {0, {{100, 0}}, 105 + 723}, /* nothing is there yet */
        {0, {{100, 1}}, 110 + 723},
        {0, {{206, 0}}, 211 + 621}, /* while the second checkpoint is made */
        {0, {{207, 0}}, 212 + 516}, /* it is just made */
        {0, {{250, 0}}, 255 + 516},
        {0, {{350, 0}}, 355 + 414},
        {0, {{350, 1}}, 360 + 516}, /* the third one is lost */
        {0, {{722, 0}}, 727 + 102},
        {0, {{722, 1}}, 732 + 102},
        {0, {{723, 0}}, 5 + 723},                   /* at the end: it is the next run's first */
        {0, {{725, 0}}, 7 + 723},
        {0, {{250, 0}, {3, 1}}, 263 + 516},         /* a worse one while it restarts */
        {0, {{350, 1}, {8, 0}}, 368 + 516},         /* a lighter one: the worse restart is begun anew */
        {0, {{250, 1}, {10, 0}}, 265 + 516},        /* just after the restart */
        {0, {{250, 1}, {9, 0}, {9, 0}}, 278 + 516},
        {0, {{350, 1}, {20, 0}}, 375 + 516},        /* what the first level had before is not there any more */
        {0, {{150, 0}, {200, 0}}, 355 + 516},       /* the second is made at 260 after the first failure */
        {100, {{300, 1}}, 310 + 723},               /* the second one has not come there yet */
        {100, {{306, 1}}, 316 + 723},
        {100, {{307, 1}}, 317 + 516},
        {100, {{310, 1}}, 320 + 516},
        {100, {{300, 0}}, 305 + 516},
        {100, {{300, 0}, {6, 1}}, 316 + 723},
        {100, {{300, 0}, {8, 1}}, 318 + 516},       /* it came there behind the failure of the first level */
        {100, {{300, 1}, {8, 1}}, 318 + 723},       /* what the second one's failure has stopped never comes */
        {100, {{303, 0}, {4, 1}}, 317 + 516},       /* it comes while the job restarts */
        /* The checkpoints are made at 260, 362, 467; that of 260 comes at 555 and that of 467, for which there was no room, is sent again after
         * the failure at 560: at 860 it is there. */
        {295, {{150, 0}, {410, 0}, {299, 1}}, 869 + 516},
        {295, {{150, 0}, {410, 0}, {300, 1}}, 870 + 309},
        {295, {{150, 0}, {410, 0}, {301, 1}}, 871 + 309},
    };
    const int64_t every[2] = {1, 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_level l[2] = {{0, 2, 2, 5}, {0, 3, 5 + cases[i].late, 10}};
        struct sk_levels_simulation s = {.levels = l, .n = 2, .interval = 100, .every = every, .work = 650, .failures = &scripted, .runs = 2,
                                         .max_failures = 10};
        script = (struct script){.at = 0};
        memcpy(script.f, cases[i].f, sizeof script.f);
        double wall = played(&s, 723);
        if (fabs(wall - cases[i].wall) > 1e-9)
            fail_msg("case %zu: %g s, expected %g s", i, wall, cases[i].wall);
    }
}

/* What nothing disturbs is taken in one step, and ends where single steps end: before the failure, and with the work. */
static void test_long_calms(void **state)
{
    (void)state;
    struct sk_level l[2] = {{0, 2, 2, 5}, {0, 3, 5, 10}};
    const int64_t every[2] = {1, 2};
    struct sk_levels_simulation s = {.levels = l, .n = 2, .interval = 100, .every = every, .work = 2000, .failures = &scripted, .runs = 2,
                                     .max_failures = 10};
    const double calm = 20 * 102 + 10 * 3;
    for (int at = 1; at < 20; at++) { /* as many are made, and 50 s of the next one are computed */
        double safe = at * 102 + at / 2 * 3, time = safe + 50, in_pairs = at / 2 * 207;
        script = (struct script){.f = {{time, 0}}};
        assert_near(played(&s, calm), time + 5 + calm - safe, 1e-9);
        script = (struct script){.f = {{time, 1}}};
        assert_near(played(&s, calm), time + 10 + calm - in_pairs, 1e-9);
    }
    s.work = 2100; /* one more, that no pattern holds */
    script = (struct script){.f = {{0, 0}}};
    assert_near(played(&s, calm + 102), calm + 102, 1e-9);
}

/* Of three levels the highest has each fourth: its failure leaves that one, and each level below has it again. */
static void test_three_levels(void **state)
{
    (void)state;
    static const struct {
        struct failure f[MOST];
        double wall;
    } cases[] = {
        {{{0, 0}}, 848},
        {{{600, 0}}, 605 + 848 - 526}, /* five are made: 102, 207, 309, 424, 526 */
        {{{600, 1}}, 610 + 848 - 424},
        {{{700, 1}}, 710 + 848 - 631}, /* six */
        {{{700, 2}}, 720 + 848 - 424},
        {{{400, 2}}, 420 + 848},
        {{{400, 1}}, 410 + 848 - 207},
        {{{700, 2}, {30, 1}}, 740 + 848 - 424},
        {{{700, 2}, {30, 0}}, 735 + 848 - 424},
        {{{700, 2}, {150, 1}}, 860 + 848 - 424},                    /* the fifth after it is made at 822 */
        {{{700, 2}, {150, 0}}, 855 + 848 - 526},
        {{{700, 2}, {15, 1}, {15, 0}}, 750 + 848 - 424},            /* the worst restart is begun anew, twice */
    };
    struct sk_level l[3] = {{0, 2, 2, 5}, {0, 3, 5, 10}, {0, 10, 15, 20}};
    const int64_t every[3] = {1, 2, 4};
    struct sk_levels_simulation s = {.levels = l, .n = 3, .interval = 100, .every = every, .work = 800, .failures = &scripted, .runs = 2,
                                     .max_failures = 10};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        script = (struct script){.at = 0};
        memcpy(script.f, cases[i].f, sizeof script.f);
        double wall = played(&s, 848);
        if (fabs(wall - cases[i].wall) > 1e-9)
            fail_msg("case %zu: %g s, expected %g s", i, wall, cases[i].wall);
    }
}

/* As many failures as it may have are played, one more is too many; none is drawn that is not needed. */
static void test_the_most_failures(void **state)
{
    (void)state;
    struct sk_level l[2] = {{0, 2, 2, 5}, {0, 3, 5, 10}};
    const int64_t every[2] = {1, 2};
    struct sk_levels_simulation s = {.levels = l, .n = 2, .interval = 100, .every = every, .work = 650, .failures = &scripted, .runs = 2,
                                     .max_failures = 3};
    struct sk_levels_simulation_result out = {.overhead = 42};
    struct saikai_error err = {0};
    script = (struct script){.f = {{10, 0}, {2, 0}, {40, 1}}};
    assert_near(played(&s, 723), 62 + 723, 1e-9);
    s.max_failures = 2;
    assert_int_equal(sk_levels_simulate(&s, &out, &err), SAIKAI_ELOST);
    assert_non_null(strstr(err.text, "3 failures in 1 runs"));
    assert_true(out.overhead == 42);
    assert_int_equal(script.closed, 2);
}

/* What no job can be is told before anything is played; one that never ends is given up. */
static void test_what_cannot_be_simulated(void **state)
{
    (void)state;
    struct sk_level l[3] = {{1e-5, 2, 2, 5}, {1e-6, 3, 5, 10}, {1e-7, 10, 15, 20}};
    int64_t every[3] = {1, 2, 4};
    const struct sk_levels_simulation good = {.levels = l, .n = 3, .interval = 100, .every = every, .work = 4000, .seed = 1, .runs = 2, .max_failures = 1000};
    struct sk_levels_simulation s = good;
    struct sk_levels_simulation_result out = {.overhead = 42};
    struct saikai_error err = {0};
    for (int i = 0; i < 7; i++) {
        s = good;
        s.n = i == 0 ? 0 : i == 1 ? SK_LEVELS_MOST + 1 : s.n;
        s.interval = i == 2 ? 0 : i == 3 ? NAN : s.interval;
        s.work = i == 4 ? 0 : i == 5 ? -1 : s.work;
        s.runs = i == 6 ? 1 : s.runs;
        assert_int_equal(sk_levels_simulate(&s, &out, &err), SAIKAI_EINVAL);
        assert_non_null(strstr(err.text, "a simulation needs levels"));
    }
    static const int64_t wrong[][3] = {{0, 2, 4}, {1, 0, 4}, {1, 2, 3}, {2, 3, 6}, {1, 2, -4}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        s = good;
        s.every = wrong[i];
        assert_int_equal(sk_levels_simulate(&s, &out, &err), SAIKAI_EINVAL);
        assert_non_null(strstr(err.text, "each a multiple"));
    }
    s = good;
    l[1].latency_seconds = 401; /* two of its intervals are 400 s */
    assert_int_equal(sk_levels_simulate(&s, &out, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "level 1: it is not safe before the next is made"));
    l[1].latency_seconds = 400;
    assert_true(out.overhead == 42);
    assert_int_equal(sk_levels_simulate(&s, &out, &err), 0);
    assert_true(out.overhead >= (2 + 1.5 + 2.5) / 100 * (1 - 1e-9));
    l[0].rate = 1; /* every second, and 102 s are needed */
    assert_int_equal(sk_levels_simulate(&s, &out, &err), SAIKAI_ELOST);
    assert_non_null(strstr(err.text, "the job gets nowhere: 1001 failures in 1 runs"));
}

/* Nothing fails: the time is that of the work and of the checkpoints, to the last one. */
static void test_played_without_failures(void **state)
{
    (void)state;
    struct sk_level l[2] = {{0, 2, 2, 5}, {0, 3, 5, 10}};
    const int64_t every[2] = {1, 2};
    struct sk_levels_simulation s = {.levels = l, .n = 2, .interval = 100, .every = every, .work = 650, .runs = 3, .max_failures = 10};
    struct sk_levels_simulation_result out = {.overhead = 42};
    assert_int_equal(sk_levels_simulate(&s, &out, NULL), 0);
    assert_near(out.overhead, (7 * 2 + 3 * 3) / 700.0, 1e-12); /* seven whole intervals */
    assert_true(out.overhead_error < 1e-9 && out.failures[0] == 0 && out.failures[1] == 0);
}

/* Failures of each level come at its rate, and what is on its way to a higher level when a lower one fails still comes there: latencies
 * of almost two intervals make little difference then. */
static void test_what_is_under_way_comes_there(void **state)
{
    (void)state;
    struct sk_level l[2] = {{1e-3, 1, 1, 5}, {1e-5, 4, 5, 20}};
    const int64_t every[2] = {1, 3};
    struct sk_levels_simulation s = {.levels = l, .n = 2, .interval = 60, .every = every, .work = 60 * 30000, .seed = 5, .runs = 20, .max_failures = 100000000};
    struct sk_levels_simulation_result near, far;
    assert_int_equal(sk_levels_simulate(&s, &near, NULL), 0);
    double seconds = s.work * s.runs * (1 + near.overhead);
    assert_near((double)near.failures[0] / seconds * 1e3, 1, 0.05);
    assert_near((double)near.failures[1] / seconds * 1e5, 1, 0.25);
    l[1].latency_seconds = 300;
    assert_int_equal(sk_levels_simulate(&s, &far, NULL), 0);
    /* each failure of the node loses 300 s more on the average: 3 ‰ of the time */
    assert_near(far.overhead - near.overhead, 3e-3, 2e-3 + 3 * (near.overhead_error + far.overhead_error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_levels),
        cmocka_unit_test(test_long_calms),
        cmocka_unit_test(test_three_levels),
        cmocka_unit_test(test_the_most_failures),
        cmocka_unit_test(test_what_cannot_be_simulated),
        cmocka_unit_test(test_played_without_failures),
        cmocka_unit_test(test_what_is_under_way_comes_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
