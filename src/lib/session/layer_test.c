/* What a session tells the layer between program and MPI at its candidates, and how it heeds what that answers (world/world.h). The layer is
 * this test. */
#include "lib/whole/session_testing.h"

#include "lib/run/requests.h"

#include "world/hooks/hooks.h"
#include "world/world.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { CELLS = 100 };

/* ---- the layer; there is one rank ---- */

static struct {
    int logged, pressed, goes_on;
    uint64_t pace;
    int candidates, asked_pressed; /* how often it was called */
    int64_t marked, cut, iteration; /* what it was told last */
    uint64_t position;
} layer;

void saikai_world_candidate(void)
{
    layer.candidates++;
}

int saikai_world_is_logged(void)
{
    return layer.logged;
}

int saikai_world_is_pressed(void)
{
    layer.asked_pressed++;
    return layer.pressed;
}

int saikai_world_goes_on(void)
{
    return layer.goes_on;
}

uint64_t saikai_world_pace(uint64_t candidate)
{
    return layer.pace ? layer.pace : UINT64_MAX - candidate;
}

void saikai_world_mark(int64_t key, uint64_t position)
{
    layer.marked = key;
    layer.position = position;
}

void saikai_world_cut(int64_t key)
{
    layer.cut = key;
}

void saikai_world_iteration(int64_t iteration)
{
    layer.iteration = iteration;
}

/* ---- the hooks of a component's protocol ---- */

static struct {
    int64_t saved, complete;
    int times;
} hooks;

void saikai_hooks_generation(int64_t key)
{
    hooks.saved = key;
    hooks.times++;
}

void saikai_hooks_complete(int64_t key)
{
    hooks.complete = key;
}

/* ---- programs ---- */

static const char *config;
static double u[CELLS];

static int with_session(struct sk_group *g, int (*body)(struct sk_session *s))
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    int restored;
    int64_t at;
    memset(&layer, 0, sizeof layer);
    memset(&hooks, 0, sizeof hooks);
    CHECK(!world_session(g, world_config("schedule.first=no; schedule.every=10; redundancy.scheme=none; %s", config), &s, &err));
    CHECK(!world_protect(s, u, CELLS, &err) && !sk_session_restart(s, &restored, &at, &err));
    int rc = body(s);
    return world_leave(s, rc, 1);
}

static int candidates(struct sk_session *s, int64_t from, int64_t to)
{
    struct saikai_error err = {0};
    for (int64_t it = from; it <= to; it++)
        CHECK(sk_session_candidate(s, 0, it, &err) == (it % 10 == 0));
    return 0;
}

static int marks(struct sk_session *s)
{
    struct saikai_error err = {0};
    if (candidates(s, 1, 9))
        return -1;
    CHECK(layer.candidates == 9 && !layer.marked && !layer.cut && !layer.iteration);
    if (candidates(s, 10, 12))
        return -1;
    const int64_t key = sk_gen_key((struct sk_gen){1, 10, 0});
    CHECK(layer.marked == key && layer.position == 10); /* the tenth candidate */
    CHECK(hooks.saved == key && hooks.times == 1);
    CHECK(!sk_session_wait(s, &err) && layer.cut == key && hooks.complete == key);
    CHECK(layer.candidates == 12);
    return 0;
}

static int run_body(struct sk_group *g, void *arg)
{
    return with_session(g, (int (*)(struct sk_session *))arg);
}

static void generations_are_told(void **state)
{
    (void)state;
    config = "store.prefix=none";
    world_start(1, run_body, (void *)marks);
}

/* Of so many candidates, at how many the next one could be passed over. */
static int sleeps_of(struct sk_session *s, int64_t from, int64_t count)
{
    struct saikai_error err = {0};
    int n = 0;
    for (int64_t it = from; it < from + count; it++) {
        if (sk_session_candidate(s, 0, it, &err) < 0)
            return -1;
        n += s->clock.next_tick > s->clock.tick + 1;
    }
    return n;
}

static int is_slow(struct sk_session *s)
{
    struct saikai_error err = {0};
    CHECK(sleeps_of(s, 1, 100) > 10);
    CHECK(s->agreement.span > 5);
    layer.logged = 1;
    CHECK(sleeps_of(s, 101, 50) == 0); /* it is told of each */
    layer.logged = 0;
    layer.pressed = layer.goes_on = 1;
    CHECK(sleeps_of(s, 151, 50) == 0);
    return 0;
}

static int has_little_memory(struct sk_session *s)
{
    struct saikai_error err = {0};
    layer.pace = 3; /* for the messages of so many candidates */
    CHECK(sleeps_of(s, 1, 100) >= 0 && s->agreement.span == 3);
    return 0;
}

static void candidates_are_not_passed_over_when_it_looks_at_each(void **state)
{
    (void)state;
    config = "store.prefix=none; schedule.poll=1000s";
    world_start(1, run_body, (void *)is_slow);
    world_start(1, run_body, (void *)has_little_memory);
}

static int waits(struct sk_session *s)
{
    struct saikai_error err = {0};
    double before = s->measured.paused;
    if (candidates(s, 1, 1))
        return -1;
    CHECK(layer.asked_pressed >= 1 && layer.asked_pressed <= 3 && s->measured.paused < before + 0.001);
    layer.asked_pressed = 0;
    layer.pressed = 1;
    if (candidates(s, 2, 2))
        return -1;
    CHECK(layer.asked_pressed >= 20 && layer.asked_pressed <= 25); /* for the others, and no longer */
    CHECK(s->measured.paused >= before + 0.02);                    /* the program is not to blame for that */
    layer.asked_pressed = 0;
    layer.goes_on = 1; /* the others are gone: nobody waits for them */
    if (candidates(s, 3, 3))
        return -1;
    CHECK(layer.asked_pressed >= 2 && layer.asked_pressed <= 5);
    return 0;
}

static void under_pressure_it_waits_a_little(void **state)
{
    (void)state;
    config = "store.prefix=none; schedule.poll=1000s";
    world_start(1, run_body, (void *)waits);
}

static int silently(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_group *own;
    struct sk_session *s = NULL;
    int restored = 7;
    int64_t at = 7;
    (void)arg;
    memset(&layer, 0, sizeof layer);
    CHECK(!sk_group_dup(g, &own) && !sk_session_new_silent(own, world_config("schedule.every=1; schedule.signals=USR1"), &s, &err));
    CHECK(!world_protect(s, u, CELLS, &err) && !sk_session_restart(s, &restored, &at, &err) && !restored);
    raise(SIGUSR1); /* it asks for a checkpoint, and would end the program */
    for (int64_t it = 1; it <= 20; it++)
        CHECK(sk_session_candidate(s, 0, it, &err) == 0 && layer.iteration == it);
    CHECK(!layer.marked && !layer.cut);
    struct saikai_status st;
    memset(&st, 1, sizeof st);
    sk_session_status(s, &st, sizeof st);
    CHECK(st.complete_iteration == -1 && st.archived_iteration == -1 && st.protected_iteration == -1 && st.checkpoints == 0 && st.failed == 0);
    memset(&st, 1, sizeof st);
    sk_session_status(s, &st, offsetof(struct saikai_status, protected_iteration)); /* of a program that knows less of it */
    CHECK(st.archived_iteration == -1 && st.checkpoints == 0 && ((char *)&st.protected_iteration)[0] == 1);
    int rc = world_leave(s, 0, 1);
    sk_requests_remove();
    return rc;
}

static void where_it_is_silent_it_tells_iterations(void **state)
{
    (void)state;
    world_start(1, silently, NULL);
    assert_int_equal(world_generations("prefix"), 0);
}

static int make_dir(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-layer-XXXXXX", SK_LOG_ERROR);
}

static int remove_dir(void **state)
{
    (void)state;
    return world_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
        TEST(generations_are_told),
        cmocka_unit_test(remember_open_files), /* the first session leaves open what all share */
        TEST(candidates_are_not_passed_over_when_it_looks_at_each),
        TEST(under_pressure_it_waits_a_little),
        TEST(where_it_is_silent_it_tells_iterations),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
