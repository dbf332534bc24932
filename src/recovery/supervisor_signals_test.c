/* The supervisor and the signals of users and systems: what is saved first, what ends at once, and what is passed on. */
#include "recovery/supervisor_testing.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void the_users_signal_is_passed_and_ends_the_job(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    sk_supervisor_signal(w->s, SIGTERM, 0, 0, w->now);
    assert_int_equal(w->signals, N);
    for (int r = 0; r < N; r++)
        crew_exit(w, r, SK_EXIT_SIGNAL, SIGTERM, 0);
    crew_run(w, 1);
    assert_int_equal(crew_exit_code(w), 128 + SIGTERM);
    assert_int_equal(w->starts, 1);
    crew_finish(w);
}

/* A signal that comes while the ranks are being started is for them, too, once. */
static void a_signal_before_anybody_is_heard_is_passed_on_to_each(void **state)
{
    (void)state;
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    crew_exit(w, 0, SK_EXIT_SIGNAL, SIGSEGV, 0);
    for (int i = 0; i < 100 && w->starts < 2; i++)
        crew_run(w, 0.05);
    for (int r = 0; r < N; r++)
        w->alive[r] = 0;
    sk_supervisor_signal(w->s, SIGINT, 0, 1, w->now);
    crew_run(w, 1);
    w->signals = 0; /* there is nobody who could have heard of it */
    for (int r = 0; r < N; r++) {
        w->alive[r] = 2;
        crew_run(w, 0.8);
        assert_int_equal(w->signals, r + 1);
    }
    for (int r = 0; r < N; r++)
        crew_exit(w, r, SK_EXIT_SIGNAL, SIGINT, 0);
    crew_run(w, 1);
    assert_int_equal(crew_exit_code(w), 128 + SIGINT);
    assert_int_equal(w->starts, 2);
    crew_finish(w);
}

static void a_program_that_ends_well_after_a_signal_has_its_own_code(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    sk_supervisor_signal(w->s, SIGTERM, 0, 0, w->now);
    crew_run(w, 1);
    for (int r = 0; r < N; r++)
        crew_exit(w, r, SK_EXIT_CODE, 0, 0);
    crew_run(w, 1);
    assert_int_equal(crew_exit_code(w), 0);
    crew_finish(w);
}

static void a_program_that_ignores_the_signal_is_killed(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    sk_supervisor_signal(w->s, SIGINT, 0, 0, w->now);
    crew_run(w, 4.8);
    assert_int_equal(w->kills, 0);
    crew_run(w, 1);
    assert_true(w->kills >= N);
    assert_int_equal(crew_exit_code(w), 128 + SIGINT);
    crew_finish(w);
    w = crew_begin(&c); /* a second signal does not wait */
    sk_supervisor_signal(w->s, SIGINT, 0, 0, w->now);
    crew_run(w, 0.2);
    sk_supervisor_signal(w->s, SIGINT, 0, 0, w->now);
    crew_run(w, 0.5);
    assert_int_equal(crew_exit_code(w), 128 + SIGINT);
    crew_finish(w);
}

static void a_job_is_saved_before_it_ends(void **state)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    for (int i = 0; i < 3; i++) {
        struct sk_supervisor_config c = crew_config();
        struct crew *w = crew_begin_with_library(&c);
        sk_supervisor_signal(w->s, numbers[i], 0, 1, w->now);
        assert_int_equal(w->signals, 0); /* which would kill it */
        assert_int_equal(w->requests, N);
        assert_int_equal(w->asked & SK_REQUEST_BITS,
                         SK_REQUEST_CHECKPOINT | SK_REQUEST_STOP | SK_REQUEST_END);
        assert_int_equal(w->asked >> SK_REQUEST_SIGNAL, numbers[i]);
        crew_run(w, 20);
        assert_int_equal(w->kills, 0);
        w->at.complete_iteration = 57;
        w->at.state = SK_KEEPER_STOPPED;
        crew_run(w, 1);
        assert_int_equal(crew_exit_code(w), 128 + numbers[i]);
        assert_int_equal(w->starts, 1);
        assert_non_null(strstr(w->said, "all is saved"));
        assert_non_null(strstr(w->said, "to go on from iteration 57, type:\nsaikai run -n 4 -- ./solver\n"));
        crew_finish(w);
    }
}

static void what_does_not_save_itself_in_time_is_killed(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin_with_library(&c);
    sk_supervisor_signal(w->s, SIGTERM, 0, 1, w->now);
    crew_run(w, 24.8);
    assert_int_equal(w->kills, 0);
    crew_run(w, 1);
    assert_int_equal(crew_exit_code(w), 128 + SIGTERM);
    assert_non_null(strstr(w->said, "schedule.stop_grace"));
    assert_non_null(strstr(w->said, "to go on from iteration 40"));
    crew_finish(w);
    c.stop_grace_s = 0; /* as long as it takes */
    w = crew_begin_with_library(&c);
    sk_supervisor_signal(w->s, SIGTERM, 0, 1, w->now);
    crew_run(w, 1000);
    assert_int_equal(w->kills, 0);
    sk_supervisor_signal(w->s, SIGTERM, 0, 1, w->now); /* but a second one is meant */
    crew_run(w, 0.5);
    assert_int_equal(crew_exit_code(w), 128 + SIGTERM);
    crew_finish(w);
}

static void a_signal_that_comes_twice_at_once_is_one(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin_with_library(&c);
    sk_supervisor_signal(w->s, SIGINT, 0, 1, w->now);
    sk_supervisor_signal(w->s, SIGINT, 0, 1, w->now + 0.01);
    crew_run(w, 5);
    assert_int_equal(w->kills, 0);
    sk_supervisor_signal(w->s, SIGINT, 0, 1, w->now);
    crew_run(w, 0.5);
    assert_int_equal(crew_exit_code(w), 128 + SIGINT);
    crew_finish(w);
}

static void ranks_that_heard_a_signal_themselves_end_the_job(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin_with_library(&c);
    w->at.state = SK_KEEPER_STOPPED;
    crew_run(w, 1);
    assert_int_equal(crew_exit_code(w), 128 + SIGTERM);
    assert_int_equal(w->starts, 1);
    crew_finish(w);
}

static void nothing_is_saved_before_the_first_candidate(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    w->at.state = SK_KEEPER_INITIALISED;
    crew_run(w, 0.5);
    sk_supervisor_signal(w->s, SIGTERM, 0, 1, w->now);
    assert_int_equal(w->signals, N);
    assert_int_equal(w->requests, 0);
    crew_run(w, 6);
    assert_int_equal(crew_exit_code(w), 128 + SIGTERM);
    crew_finish(w);
}

static void a_signal_while_waiting_ends_the_job_at_once(void **state)
{
    struct sk_supervisor_config c = crew_config();
    c.backoff_s = 30;
    struct crew *w = crew_begin(&c);
    for (int i = 0; i < 2; i++) {
        crew_exit(w, 1, SK_EXIT_CODE, 3, 0);
        crew_run(w, 1);
    }
    assert_int_equal(crew_exit_code(w), -1);
    sk_supervisor_signal(w->s, SIGTERM, 0, 0, w->now);
    crew_run(w, 0.1);
    assert_int_equal(crew_exit_code(w), 128 + SIGTERM);
    assert_int_equal(w->starts, 2);
    crew_finish(w);
}

static void a_checkpoint_signal_is_a_request_where_the_library_is_used(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    sk_supervisor_signal(w->s, SIGUSR1, 1, 0, w->now);
    assert_int_equal(w->signals, N); /* no library: as it came */
    w->at.state = SK_KEEPER_INITIALISED;
    crew_run(w, 0.2);
    sk_supervisor_signal(w->s, SIGUSR1, 1, 0, w->now);
    assert_int_equal(w->signals, N);
    assert_int_equal(w->requests, N);
    crew_run(w, 10);
    assert_int_equal(crew_exit_code(w), -1);
    crew_finish(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_users_signal_is_passed_and_ends_the_job),
        cmocka_unit_test(a_signal_before_anybody_is_heard_is_passed_on_to_each),
        cmocka_unit_test(a_program_that_ends_well_after_a_signal_has_its_own_code),
        cmocka_unit_test(a_program_that_ignores_the_signal_is_killed),
        cmocka_unit_test(a_job_is_saved_before_it_ends),
        cmocka_unit_test(what_does_not_save_itself_in_time_is_killed),
        cmocka_unit_test(a_signal_that_comes_twice_at_once_is_one),
        cmocka_unit_test(ranks_that_heard_a_signal_themselves_end_the_job),
        cmocka_unit_test(nothing_is_saved_before_the_first_candidate),
        cmocka_unit_test(a_signal_while_waiting_ends_the_job_at_once),
        cmocka_unit_test(a_checkpoint_signal_is_a_request_where_the_library_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
