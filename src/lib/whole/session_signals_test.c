/* When sessions save: at a signal, at the end that a signal asks for, and after a restart as before it. */
#include "lib/whole/solver_testing.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "lib/run/requests.h"
#include "lib/run/stop.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { N = 3 };

static int raise_request(struct sk_session *s, int64_t it)
{
    if (it == 33 && s->g->rank == 1) /* only one rank is told */
        raise(SIGUSR2);
    sk_sleep(0.0005); /* the ranks exchange something every few iterations */
    return 0;
}

static int stop_is_agreed(struct sk_session *s, int64_t it)
{
    if (it == 33 && s->g->rank == 1)
        raise(SIGUSR2);
    sk_sleep(0.0005);
    if (it == 400 && !s->ending.stop_agreed)
        return -1;
    return 0;
}

static void test_signal_requests_a_checkpoint(void **state)
{
    (void)state;
    solve(N, (struct solve){.until = 400, .crash = 1, .settle = 1, .body = raise_request, .config = "schedule.every=1000; schedule.first=no; schedule.signals=USR2"});
    struct sk_gen_list l;
    char path[128];
    snprintf(path, sizeof path, "%s/%s", world.dir, world_local());
    assert_int_equal(sk_gen_scan(path, 0, &l, NULL), 0);
    assert_int_equal(l.count, 1);
    assert_true(l.gen[0].iteration > 33 && l.gen[0].iteration < 399);
    sk_gen_list_free(&l);
    sk_requests_remove();
    solve(N, (struct solve){.until = 400, .body = stop_is_agreed, .config = "restart.mode=never; schedule.every=1000; schedule.stop_signals=USR2"});
    sk_requests_remove();
}

/* ---- a signal that is to end the program ---- */

static atomic_int ends, last_saved;

static void count_end(void)
{
    atomic_fetch_add(&ends, 1);
}

static int note_saved(struct sk_session *s, int64_t it)
{
    (void)it;
    struct sk_ledger_entry e;
    if (!sk_ledger_find(s->levels.ledger, sk_ledger_count(s->levels.ledger), &e, NULL))
        atomic_store(&last_saved, (int)e.gen.iteration);
    return 0;
}

static int terminated(struct sk_session *s, int64_t it)
{
    if (it == 33 && s->g->rank == 1)
        raise(SIGTERM);
    sk_sleep(0.0005);
    return note_saved(s, it) || it == 2000; /* long over */
}

static int terminated_but_asks(struct sk_session *s, int64_t it)
{
    s->ending.asked = 1;
    return terminated(s, it) && it < 2000;
}

static void test_a_signal_ends_a_program_that_never_asks(void **state)
{
    (void)state;
    static const char *const config = "schedule.every=100000; schedule.first=no; store.keep_prefix=1";
    sk_stop_hook = count_end;
    ends = last_saved = 0;
    solve(N, (struct solve){.config = config, .until = 2000, .crash = 1, .halts = 1, .body = terminated});
    assert_int_equal(ends, N);
    assert_true(last_saved > 33);
    world_expect("SIGTERM: iteration", 1);
    world_expect("is saved in the prefix", 1);
    sk_requests_remove();
    sk_stop_hook = NULL;
    assert_int_equal(world_generations(world_local()), 0); /* the nodes' memory is given back */
    solve(N, (struct solve){.config = config, .until = last_saved + 5, .crash = 1, .expect = 1, .expect_from = last_saved});
    sk_requests_remove();
}

static int no_part_of_rank_2(const char *op, const char *path)
{
    return !strcmp(op, "rename") && strstr(path, "/rank-000002.skc") ? EIO : 0;
}

/* What is to be the last checkpoint does not come to its place on one of the ranks. */
static int terminated_without_room(struct sk_session *s, int64_t it)
{
    if (it == 20 && !s->g->rank)
        sk_io_hook = no_part_of_rank_2;
    return terminated(s, it);
}

/* It ends all the same, with a word of that, and the next start goes on from the one before. */
static void test_the_last_checkpoint_may_fail(void **state)
{
    (void)state;
    sk_stop_hook = count_end;
    ends = 0;
    solve(N, (struct solve){.until = 15, .crash = 1, .settle = 1});
    solve(N, (struct solve){.config = "schedule.every=100000", .until = 2000, .crash = 1, .halts = 1, .expect = 1, .expect_from = 10, .body = terminated_without_room});
    sk_io_hook = NULL;
    assert_int_equal(ends, N);
    world_expect("SIGTERM: the last checkpoint could not be saved by all ranks; the one before stays", 1);
    world_expect("is saved in the prefix", 0);
    sk_requests_remove();
    sk_stop_hook = NULL;
    solve(N, (struct solve){.until = 12, .crash = 1, .expect = 1, .expect_from = 10});
    sk_requests_remove();
}

static void test_a_program_that_asks_is_left_to_itself(void **state)
{
    (void)state;
    sk_stop_hook = count_end;
    ends = 0;
    solve(N, (struct solve){.config = "schedule.every=100000; schedule.first=no", .until = 500, .crash = 1, .body = terminated_but_asks});
    assert_int_equal(ends, 0);
    assert_true(last_saved > 33);
    sk_requests_remove();
    sk_stop_hook = NULL;
}

static volatile sig_atomic_t own_handler_ran;
static void own_handler(int n)
{
    own_handler_ran = n;
}

static int ends_by_its_own_handler(struct sk_session *s, int64_t it)
{
    if (it == 33 && s->g->rank == 1)
        raise(SIGTERM);
    sk_sleep(0.0005);
    return note_saved(s, it);
}

/* A handler of the program's own gets its signal; what is saved is only more than before, and the run does not count as finished. */
static void test_a_handler_of_the_program_is_left_alone(void **state)
{
    (void)state;
    static const char *const config = "schedule.every=100000; schedule.first=no; store.archive_last=yes";
    void (*before)(int) = signal(SIGTERM, own_handler);
    sk_stop_hook = count_end;
    ends = own_handler_ran = last_saved = 0;
    solve(N, (struct solve){.config = config, .until = 500, .body = ends_by_its_own_handler});
    assert_int_equal(own_handler_ran, SIGTERM);
    assert_int_equal(ends, 0);
    sk_requests_remove();
    sk_stop_hook = NULL;
    solve(N, (struct solve){.config = config, .until = 501, .expect = 1, .expect_from = last_saved});
    sk_requests_remove();
    signal(SIGTERM, before);
}

/* ---- nothing but the defaults ---- */

static int a_millisecond(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    (void)it;
    sk_sleep(0.001);
    return sk_ledger_count(s->levels.ledger) > sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE) ? sk_session_wait(s, &err) : 0;
}

/* After the resume, too, checkpoints go on: each start gets further than the one before. */
static void go_on(const char *config, int starts)
{
    int64_t from = 0;
    for (int i = 0; i < starts; i++) {
        struct sk_gen_list l;
        char path[128];
        solve(N, (struct solve){.config = config, .until = from + 300, .crash = 1, .expect = i > 0, .expect_from = from, .body = a_millisecond});
        snprintf(path, sizeof path, "%s/%s", world.dir, world_local());
        assert_int_equal(sk_gen_scan(path, -1, &l, NULL), 0);
        assert_true(l.count >= 1);
        if (l.gen[0].iteration <= from)
            fail_msg("start %d: nothing was saved between iteration %lld and %lld", i, (long long)from,
                     (long long)from + 300);
        from = l.gen[0].iteration;
        sk_gen_list_free(&l);
    }
}

static void test_the_model_goes_on_after_a_restart(void **state)
{
    (void)state;
    go_on("schedule.every=0", 4);
}

static void test_a_fixed_interval_goes_on_after_a_restart(void **state)
{
    (void)state;
    go_on("schedule.every=0; schedule.interval=50ms", 4);
    go_on("schedule.every=0; schedule.interval=50ms; schedule.first=no; restart.mode=never", 1);
}

static int nothing_before_the_third(struct sk_session *s, int64_t it)
{
    (void)it;
    return s->clock.tick <= 2 && s->capture.checkpoints ? -1 : a_millisecond(s, it);
}

/* A state from which the program dies at once must not take the place of the one before. */
static void test_no_checkpoint_right_after_a_restart(void **state)
{
    (void)state;
    solve(N, (struct solve){.until = 35, .crash = 1, .settle = 1});
    for (int i = 0; i < 4; i++)
        solve(N, (struct solve){.config = "schedule.every=0", .until = 32, .crash = 1, .expect = 1, .expect_from = 30, .body = nothing_before_the_third});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, solver_begin, solver_end)
        TEST(test_signal_requests_a_checkpoint),
        TEST(test_a_signal_ends_a_program_that_never_asks),
        TEST(test_the_last_checkpoint_may_fail),
        TEST(test_a_program_that_asks_is_left_to_itself),
        TEST(test_a_handler_of_the_program_is_left_alone),
        TEST(test_the_model_goes_on_after_a_restart),
        TEST(test_a_fixed_interval_goes_on_after_a_restart),
        TEST(test_no_checkpoint_right_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
