/* In a start's first moments not all is heard yet that is so: a fault waits for the missing words, when they can change what is done about it. */
#include "recovery/supervisor_testing.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { LIMIT = 10, SPARE = N };

static void say(struct crew *w, int rank, enum sk_world_state state)
{
    w->world[rank] = SK_WORLD_WORD(state, SK_WORLD_FINE, 0);
}

/* Two starts of the job have begun, and of the second one nobody is heard so far; a spare is among its processes. */
static struct crew *begin_again(void)
{
    struct sk_supervisor_config c = crew_config();
    c.repair_s = LIMIT;
    c.warm = 1;
    assert_int_equal(sk_recovery_parse("process=in-place", &c.assess.plan, NULL), 0);
    struct crew *w = crew_begin_with_library(&c);
    crew_exit(w, 0, SK_EXIT_SIGNAL, SIGSEGV, 0);
    for (int i = 0; i < 100 && w->starts < 2; i++)
        crew_run(w, 0.05);
    assert_int_equal(w->starts, 2);
    w->kills = w->orders = 0;
    return w;
}

/* All but the last one have told where they are; and one of them dies. */
static struct crew *one_dies_before_all_are_heard(enum sk_world_state at)
{
    struct crew *w = begin_again();
    w->alive[N - 1] = 0;
    for (int r = 0; r < N; r++)
        say(w, r, SK_WORLD_READY);
    crew_run(w, 0.2);
    say(w, 1, at);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    return w;
}

static void a_rank_that_is_not_heard_yet_is_waited_for(void **state)
{
    struct crew *w = one_dies_before_all_are_heard(SK_WORLD_READY);
    crew_run(w, 3);
    assert_int_equal(w->kills, 0);
    assert_int_equal(w->orders, 0);
    w->alive[N - 1] = 2; /* its hello and a beat come */
    crew_run(w, 0.3);
    assert_int_equal(w->kills, 0);
    assert_true(w->orders >= N - 1);
    assert_string_equal(w->event.answer, "in-place");
    crew_finish(w);
}

static void but_not_for_ever(void **state)
{
    struct crew *w = one_dies_before_all_are_heard(SK_WORLD_READY);
    crew_run(w, 3 + LIMIT);
    assert_int_equal(w->starts, 3);
    assert_string_equal(w->event.answer, "restart");
    assert_non_null(strstr(w->event.then, "not all ranks had started"));
    crew_finish(w);
}

/* Where the dead one could not have been left nothing that others say can help. */
static void nor_where_it_does_not_matter(void **state)
{
    struct crew *w = one_dies_before_all_are_heard(SK_WORLD_OUTSIDE);
    crew_run(w, 0.3);
    assert_true(w->kills > 0);
    assert_int_equal(w->orders, 0);
    crew_finish(w);
}

static void tell_of_spare(struct crew *w, enum sk_message_kind kind, uint32_t how, uint32_t code, uint32_t ended)
{
    struct sk_message m = {.kind = kind, .incarnation = w->incarnation, .rank = SPARE, .host = "h0", .how = how, .code = code, .ended = ended};
    sk_supervisor_heard(w->s, &m, w->now);
}

/* All others wait for it in MPI_Init. */
static void a_spare_that_dies_while_it_is_needed(void **state)
{
    struct crew *w = begin_again();
    crew_run(w, 0.5);
    tell_of_spare(w, SK_MSG_HELLO, 0, 0, 0);
    assert_int_equal(sk_supervisor_warm(w->s), 1);
    int releases = w->releases;
    tell_of_spare(w, SK_MSG_EXIT, SK_EXIT_SIGNAL, SIGKILL, 0);
    assert_int_equal(w->releases, releases + 1); /* its keeper may go */
    crew_run(w, 0.5);
    assert_int_equal(w->kills, 0); /* a rank may have died before it */
    crew_run(w, 8);
    assert_int_equal(w->starts, 3);
    assert_int_equal(sk_supervisor_warm(w->s), 0);
    assert_string_equal(w->event.answer, "restart");
    assert_non_null(strstr(w->said, "a warm spare was killed by signal 9 (Killed) in MPI_Init, where all ranks wait for it"));
    crew_run(w, 30);
    assert_int_equal(w->starts, 3);
    crew_finish(w);
}

/* Its keeper is killed: that is silence, as long as no rank is seen to have come out of MPI_Init. */
static void a_spare_whose_keeper_dies_while_it_is_needed(void **state)
{
    static const struct {
        enum sk_world_state rank;
        int starts, stopped;
    } jobs[] = {{SK_WORLD_NONE, 3, 0}, {SK_WORLD_OUTSIDE, 2, 0}, {SK_WORLD_READY, 2, 0}, {SK_WORLD_NONE, 2, 1}};
    (void)state;
    for (size_t k = 0; k < 2 * sizeof jobs / sizeof *jobs; k++) {
        size_t i = k / 2;
        int never = k % 2; /* it dies before it has said anything */
        struct crew *w = begin_again();
        w->at.state = SK_KEEPER_NONE;
        w->at.progress = 0;
        for (int n = 0; n < (never ? 0 : 200); n++) { /* as long as it speaks, nothing is wrong */
            crew_run(w, 0.5);
            tell_of_spare(w, n ? SK_MSG_BEAT : SK_MSG_HELLO, 0, 0, 0);
        }
        assert_int_equal(w->starts, 2);
        if (jobs[i].rank != SK_WORLD_NONE)
            say(w, 2, jobs[i].rank);
        if (jobs[i].stopped) { /* `saikai run` itself: nobody was listened to */
            crew_run(w, 4);
            w->now += 100;
            crew_run(w, 0.1);
            tell_of_spare(w, SK_MSG_BEAT, 0, 0, 0);
            crew_run(w, 4);
        } else {
            crew_run(w, never ? 90 : 30);
        }
        if (w->starts != jobs[i].starts)
            fail_msg("case %zu: %d starts; %s", i, w->starts, w->said);
        if (jobs[i].starts == 3) {
            assert_int_equal(sk_supervisor_warm(w->s), 0);
            assert_string_equal(w->event.answer, "restart");
            if (!strstr(w->said, "the keeper of a warm spare has been silent for 9."))
                fail_msg("%s", w->said);
        }
        crew_finish(w);
    }
}

/* The program's own fault, which its spare has as well, comes first, whoever is heard first. */
static void a_spare_that_ends_as_the_ranks_do(void **state)
{
    struct crew *w = begin_again();
    crew_run(w, 0.5);
    tell_of_spare(w, SK_MSG_EXIT, SK_EXIT_CODE, 3, 0);
    crew_run(w, 0.5);
    for (int r = 0; r < N; r++)
        crew_exit(w, r, SK_EXIT_CODE, 3, 0);
    crew_run(w, 8);
    assert_int_equal(w->starts, 3);
    assert_null(strstr(w->said, "a warm spare"));
    assert_non_null(strstr(w->said, "exited with code 3"));
    assert_int_equal(sk_supervisor_warm(w->s), 1);
    crew_finish(w);
}

/* One that has not come to MPI at all, one that the MPI's launcher has ended, one whose program cannot be executed, as that of the ranks, and one of another start. */
static void a_spare_that_nobody_waits_for(void **state)
{
    struct crew *w = begin_again();
    crew_run(w, 0.5);
    tell_of_spare(w, SK_MSG_EXIT, SK_EXIT_CODE, 0, 0);
    tell_of_spare(w, SK_MSG_EXIT, SK_EXIT_SIGNAL, SIGTERM, 1);
    tell_of_spare(w, SK_MSG_EXIT, SK_EXIT_NO_START, 2, 0);
    w->incarnation--;
    tell_of_spare(w, SK_MSG_EXIT, SK_EXIT_SIGNAL, SIGKILL, 0);
    int kills = w->kills;
    tell_of_spare(w, SK_MSG_BEAT, 0, 0, 0);
    assert_int_equal(w->kills, kills + 1); /* it has outlived its start */
    w->incarnation++;
    crew_run(w, 5);
    assert_int_equal(w->starts, 2);
    assert_int_equal(w->kills, kills + 1);
    crew_finish(w);
}

/* Whoever is made again reports neither as a rank nor as a spare. */
static void a_repair_beside_a_spare(void **state)
{
    struct crew *w = begin_again();
    for (int r = 0; r < N; r++)
        say(w, r, SK_WORLD_READY);
    crew_run(w, 0.5);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    assert_int_equal(w->order.first, N + 1);
    w->id[1] = w->order.first;
    w->alive[1] = 2;
    for (int r = 0; r < N; r++)
        w->world[r] = SK_WORLD_WORD(SK_WORLD_READY, SK_WORLD_FINE, 1);
    crew_run(w, 0.5);
    assert_non_null(strstr(w->said, "repaired in place"));
    assert_int_equal(w->starts, 2);
    crew_finish(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_is_not_heard_yet_is_waited_for),
        cmocka_unit_test(but_not_for_ever),
        cmocka_unit_test(nor_where_it_does_not_matter),
        cmocka_unit_test(a_spare_that_dies_while_it_is_needed),
        cmocka_unit_test(a_spare_whose_keeper_dies_while_it_is_needed),
        cmocka_unit_test(a_spare_that_ends_as_the_ranks_do),
        cmocka_unit_test(a_spare_that_nobody_waits_for),
        cmocka_unit_test(a_repair_beside_a_spare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
