/* The supervisor against a world with a clock of its own: keepers that beat, die, fall silent or
 * obey, and what it does about them. */
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

static void a_job_that_ends_well_ends_with_zero(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    for (int r = 0; r < N; r++)
        crew_exit(w, r, SK_EXIT_CODE, 0, 0);
    assert_int_equal(w->releases, N); /* each may leave at once */
    sk_supervisor_launcher_ended(w->s, 0, 137 << 8, w->now);
    crew_run(w, 1);
    assert_int_equal(crew_exit_code(w), 0);
    assert_int_equal(w->starts, 1);
    assert_string_equal(w->said, "");
    crew_finish(w);
}

static void a_killed_rank_restarts_the_job_at_once(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    w->at.state = SK_KEEPER_INITIALISED;
    w->at.complete_iteration = 40;
    w->at.complete_count = 4;
    crew_run(w, 0.5);
    double died = w->now;
    crew_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
    assert_int_equal(w->releases, 0); /* it has to wait for the others */
    crew_run(w, 1);
    assert_int_equal(w->starts, 2);
    assert_int_equal(w->incarnation, 1);
    assert_true(w->started_at[1] - died <= 0.11);
    assert_int_equal(w->abandoned, 1);
    assert_int_equal(w->releases, N);
    assert_non_null(strstr(w->said, "rank 2 on h1 was killed by signal 9"));
    assert_non_null(strstr(w->said, "restart 1, from iteration 40"));
    crew_finish(w);
}

/* Another job has the store: nothing is tried again, also when the ranks die in another way than by their own exit. */
static void a_refused_job_ends_at_once(void **state)
{
    for (int killed = 0; killed < 2; killed++) {
        struct sk_supervisor_config c = crew_config();
        struct crew *w = crew_begin(&c);
        int code = -1;
        crew_run(w, 0.2);
        w->at.state = SK_KEEPER_REFUSED;
        crew_run(w, 0.2);
        crew_exit(w, 0, killed ? SK_EXIT_SIGNAL : SK_EXIT_CODE, killed ? SIGKILL : SK_RUN_REFUSED, 0);
        crew_run(w, 2);
        assert_int_equal(w->starts, 1);
        assert_true(sk_supervisor_ended(w->s, &code));
        assert_int_equal(code, SK_RUN_REFUSED);
        assert_non_null(strstr(w->said, "belongs to a job that is running"));
        assert_int_equal(w->events, 0); /* the history is that job's */
        crew_finish(w);
    }
}

/* Its library says that it could not begin another time either: nothing is tried again, and the code is the program's. */
static void a_hopeless_job_ends_at_once(void **state)
{
    (void)state;
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    int code = -1;
    crew_run(w, 0.2);
    w->at.state = SK_KEEPER_HOPELESS;
    crew_run(w, 0.2);
    crew_exit(w, 0, SK_EXIT_CODE, 70, 0);
    crew_run(w, 2);
    assert_int_equal(w->starts, 1);
    assert_true(sk_supervisor_ended(w->s, &code));
    assert_int_equal(code, 70);
    assert_non_null(strstr(w->said, "it would fail again for the reason said above"));
    assert_int_equal(w->events, 0); /* the directory that it could not begin in may be somebody else's */
    crew_finish(w);
}

/* A program that is told so, and ends of it, would do it again; one that goes on without the library dies of other things. */
static void unable_to_begin(void **state)
{
    static const struct {
        double seconds; /* that it lives */
        uint32_t how, code, then;
        int starts;
    } lives[] = {
        {0.2, SK_EXIT_CODE, 3, SK_KEEPER_UNABLE, 1},
        {0.2, SK_EXIT_SIGNAL, SIGKILL, SK_KEEPER_UNABLE, 2},
        {4, SK_EXIT_CODE, 3, SK_KEEPER_UNABLE, 2},
        {0.2, SK_EXIT_CODE, 3, SK_KEEPER_INITIALISED, 2}, /* it has begun after all */
    };
    (void)state;
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        struct sk_supervisor_config c = crew_config();
        struct crew *w = crew_begin(&c);
        int code = -1;
        w->at.state = SK_KEEPER_UNABLE;
        crew_run(w, lives[i].seconds);
        w->at.state = lives[i].then;
        crew_run(w, 0.6);
        crew_exit(w, 0, lives[i].how, lives[i].code, 0);
        crew_run(w, 2);
        assert_int_equal(w->starts, lives[i].starts);
        assert_int_equal(sk_supervisor_ended(w->s, &code), lives[i].starts == 1);
        assert_true(lives[i].starts > 1 || (code == 3 && strstr(w->said, "it would fail again for the reason said above")));
        crew_finish(w);
    }
}

/* … unless other starts execute another command, which may begin where this one could not. */
static void hopeless_with_another_command(void **state)
{
    struct sk_supervisor_config c = crew_config();
    (void)state;
    c.then = 1;
    struct crew *w = crew_begin(&c);
    crew_run(w, 0.2);
    w->at.state = SK_KEEPER_HOPELESS;
    crew_run(w, 0.2);
    crew_exit(w, 0, SK_EXIT_CODE, 70, 0);
    crew_run(w, 2);
    assert_int_equal(w->starts, 2);
    assert_null(strstr(w->said, "it would fail again"));
    crew_finish(w);
}

static void a_start_is_told_what_went_before(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    w->at.state = SK_KEEPER_INITIALISED;
    assert_true(!w->past.faults && !w->past.ms && !w->past.last_candidates);
    for (int i = 0; i < 2; i++) {
        w->at.progress = (uint64_t)(70 - 30 * i);
        w->at.complete_count = 1;
        crew_run(w, 2);
        crew_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
        crew_run(w, 1);
        assert_int_equal(w->starts, 2 + i);
        assert_int_equal(w->past.faults, 1 + i);
        assert_true(w->past.ms > 2900 + 2800 * (uint64_t)i && w->past.ms < 3200 + 3200 * (uint64_t)i);
        assert_int_equal(w->past.last_candidates, 70 - 30 * i);
    }
    w->at.progress = 0; /* dies in its set-up: that tells nothing about how far it gets */
    crew_run(w, 0.2);
    crew_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 1);
    assert_int_equal(w->past.faults, 3);
    assert_int_equal(w->past.last_candidates, 40);
    crew_finish(w);
}

static void the_next_start_is_told_how_this_one_ended(void **state)
{
    (void)state;
    static const struct {
        int how, code, last_end;
    } deaths[] = {
        {SK_EXIT_SIGNAL, SIGSEGV, SK_LAST_END_BY_ITSELF},
        {SK_EXIT_CODE, 3, SK_LAST_END_BY_ITSELF},
        {SK_EXIT_SIGNAL, SIGTERM, SK_LAST_END_FROM_OUTSIDE},
        {SK_EXIT_SIGNAL, SIGKILL, SK_LAST_END_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof deaths / sizeof *deaths; i++) {
        struct sk_supervisor_config c = crew_config();
        struct crew *w = crew_begin(&c);
        assert_int_equal(sk_supervisor_last_end(w->s), SK_LAST_END_UNKNOWN);
        w->at.complete_count = 1;
        crew_run(w, 0.5);
        crew_exit(w, 2, deaths[i].how, deaths[i].code, 0);
        crew_run(w, 1);
        assert_int_equal(w->starts, 2);
        assert_int_equal(sk_supervisor_last_end(w->s), deaths[i].last_end);
        crew_finish(w);
    }
}

static void no_start_before_all_are_gone(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    w->obeys = 0;
    crew_exit(w, 0, SK_EXIT_SIGNAL, SIGSEGV, 0);
    crew_run(w, 2);
    assert_int_equal(w->starts, 1);
    assert_true(w->kills > 3 * 10); /* the order is repeated, in case it was lost */
    w->obeys = 1;
    crew_run(w, 0.3);
    assert_int_equal(w->starts, 2);
    crew_finish(w);
}

static void ranks_that_do_not_die_hold_the_job_for_the_grace_time_only(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    w->obeys = 0;
    double died = w->now;
    crew_exit(w, 0, SK_EXIT_SIGNAL, SIGSEGV, 0);
    crew_run(w, 7);
    assert_int_equal(w->starts, 2);
    assert_true(w->started_at[1] - died > 4.9 && w->started_at[1] - died < 5.3);
    crew_finish(w);
}

static void a_lost_host_is_replaced_by_a_spare(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    w->silent_host = 1;
    double lost = w->now;
    crew_run(w, 6);
    assert_int_equal(w->starts, 2);
    assert_true(w->started_at[1] - lost <= 5);
    static const int want[N] = {0, 0, 2, 2};
    assert_memory_equal(w->seat, want, sizeof want);
    assert_non_null(strstr(w->said, "h2 takes the place of h1"));
    crew_finish(w);
}

static void a_host_that_answers_no_more_is_replaced_whatever_was_noticed_first(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    w->silent_host = 1;
    crew_exit(w, 0, SK_EXIT_CODE, 17,
             0); /* its MPI noticed the loss of the peer before us, and the launcher, too */
    sk_supervisor_launcher_ended(w->s, 0, 0, w->now);
    crew_run(w, 1);
    assert_int_equal(w->starts, 2);
    static const int want[N] = {0, 0, 2, 2};
    assert_memory_equal(w->seat, want, sizeof want);
    crew_finish(w);
}

static void a_dead_spare_is_not_used(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    w->mute_host = 2;
    w->silent_host = 1;
    crew_run(w, 6);
    assert_int_equal(w->starts, 2);
    static const int want[N] = {0, 0, 0, 0};
    assert_memory_equal(w->seat, want, sizeof want);
    assert_non_null(strstr(w->said, "spare host h2 does not answer"));
    crew_finish(w);
}

static void hosts_that_never_answered_are_not_suspected(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin_with(&c, 1); /* a firewall */
    crew_exit(w, 0, SK_EXIT_CODE, 17, 0);
    crew_run(w, 1);
    assert_int_equal(w->starts, 2);
    static const int want[N] = {0, 0, 1, 1};
    assert_memory_equal(w->seat, want, sizeof want);
    crew_finish(w);
}

static void an_outage_of_three_seconds_is_not_fenced(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    w->silent_host = 1;
    crew_run(w, 3.4);
    w->silent_host = -1;
    crew_run(w, 10);
    assert_int_equal(w->starts, 1);
    assert_int_equal(w->kills, 0);
    crew_finish(w);
}

static void what_comes_back_from_an_earlier_start_is_told_to_leave(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    w->silent_host = 1;
    crew_run(w, 6);
    int kills = w->kills;
    struct sk_message m = {.kind = SK_MSG_HELLO, .incarnation = 0, .rank = 3, .host = "h1"};
    sk_supervisor_heard(w->s, &m, w->now);
    assert_int_equal(w->kills, kills + 1);
    m.kind = SK_MSG_EXIT;
    int releases = w->releases;
    sk_supervisor_heard(w->s, &m, w->now);
    assert_int_equal(w->releases, releases + 1);
    /* Its host is a spare from now on: it takes the place of the next one that is lost. */
    w->silent_host = 2;
    crew_run(w, 6);
    assert_int_equal(w->starts, 3);
    static const int want[N] = {0, 0, 1, 1};
    assert_memory_equal(w->seat, want, sizeof want);
    crew_finish(w);
}

static void a_fault_that_repeats_without_progress_ends_the_job(void **state)
{
    struct sk_supervisor_config c = crew_config();
    c.backoff_s = 2;
    c.assess.repeated_faults = 0; /* else the spare would be tried first */
    struct crew *w = crew_begin(&c);
    w->at.state = SK_KEEPER_INITIALISED;
    for (int i = 0; i < 3; i++) {
        crew_exit(w, 1, SK_EXIT_CODE, 3, 0);
        crew_run(w, 4);
    }
    assert_int_equal(crew_exit_code(w), 3);
    assert_int_equal(w->starts, 3);
    assert_true(w->started_at[1] - w->started_at[0] < 1.5); /* the first restart does not wait */
    assert_true(w->started_at[2] - w->started_at[1] > 5.9); /* the second does, for two seconds */
    assert_non_null(strstr(w->said, "run.no_progress"));
    crew_finish(w);
}

/* Kills from outside may follow each other by chance: it takes twice as many of them, alone or mixed with the program's own. */
static void kills_in_a_row_end_the_job_later(void **state)
{
    static const struct {
        int deaths, own; /* which of them, from 0, is the program's; -1: none */
    } cases[] = {{6, -1}, {6, 2}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct sk_supervisor_config c = crew_config();
        c.backoff_s = 0.1;
        c.assess.repeated_faults = 0;
        struct crew *w = crew_begin(&c);
        w->at.state = SK_KEEPER_INITIALISED;
        int n = 0;
        for (; n < 20 && crew_exit_code(w) < 0; n++) {
            crew_exit(w, 1, n == cases[k].own ? SK_EXIT_CODE : SK_EXIT_SIGNAL, n == cases[k].own ? 3 : 9, 0);
            crew_run(w, 8);
        }
        assert_int_equal(n, cases[k].deaths);
        assert_int_equal(crew_exit_code(w), 137);
        assert_non_null(strstr(w->said, "run.no_progress"));
        crew_finish(w);
    }
    (void)state;
}

/* A start that dies right after a checkpoint is complete has not told of it: the next one goes on from there. */
static void what_the_next_start_goes_on_from_is_progress(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    w->at.state = SK_KEEPER_INITIALISED;
    for (int i = 0; i < 8; i++) {
        w->at.restored_iteration = 10 * i;
        crew_run(w, 0.5);
        crew_exit(w, 1, SK_EXIT_SIGNAL, SIGBUS, 0);
        crew_run(w, 1);
        assert_int_equal(crew_exit_code(w), -1);
    }
    for (int i = 0; i < 2; i++) { /* and from the same one again is none */
        crew_exit(w, 1, SK_EXIT_SIGNAL, SIGBUS, 0);
        crew_run(w, 5);
    }
    assert_int_equal(crew_exit_code(w), 128 + SIGBUS);
    crew_finish(w);
}

static void progress_makes_faults_count_anew(void **state)
{
    struct sk_supervisor_config c = crew_config();
    c.retries = 7;
    struct crew *w = crew_begin(&c);
    w->at.state = SK_KEEPER_INITIALISED;
    for (int i = 0; i < 8; i++) {
        w->at.complete_iteration += 10;
        w->at.complete_count = 1;
        crew_run(w, 0.2);
        crew_exit(w, 1, SK_EXIT_SIGNAL, SIGBUS, 0);
        crew_run(w, 1);
    }
    assert_int_equal(w->starts, 8);
    assert_int_equal(crew_exit_code(w), 128 + SIGBUS);
    assert_non_null(strstr(w->said, "run.retries"));
    crew_finish(w);
}

static void a_program_that_cannot_be_executed_is_not_tried_again(void **state)
{
    static const struct {
        int error, code;
    } cases[] = {{ENOENT, 127}, {EACCES, 126}};
    for (int i = 0; i < 2; i++) {
        struct sk_supervisor_config c = crew_config();
        struct crew *w = crew_begin(&c);
        for (int r = 0; r < N; r++)
            crew_exit(w, r, SK_EXIT_NO_START, (uint32_t)cases[i].error, 0);
        crew_run(w, 2);
        assert_int_equal(w->starts, 1);
        assert_int_equal(crew_exit_code(w), cases[i].code);
        crew_finish(w);
    }
}

static void a_launcher_that_fails_before_any_rank_started_ends_the_job(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = calloc(1, sizeof *w);
    struct sk_hosts h = {0};
    assert_int_equal(sk_hosts_add(&h, "h0", 0, NULL), 0);
    w->s = sk_supervisor_new(&c, &crew_ops, w, &h, calloc(N, sizeof(int)));
    w->now = 10;
    sk_supervisor_start(w->s, 10);
    sk_supervisor_launcher_ended(w->s, 0, 1 << 8, 10.1);
    for (w->now = 10.1; w->now < 13; w->now += 0.05)
        sk_supervisor_tick(w->s, w->now);
    assert_int_equal(crew_exit_code(w), SK_RUN_FAILED);
    assert_int_equal(w->starts, 1);
    crew_finish(w);
}

static void a_launcher_that_cannot_be_started_ends_the_job(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    w->start_fails = 1;
    crew_exit(w, 0, SK_EXIT_SIGNAL, SIGSEGV, 0);
    crew_run(w, 1);
    assert_int_equal(crew_exit_code(w), SK_RUN_FAILED);
    assert_non_null(strstr(w->said, "no launcher today"));
    crew_finish(w);
}

/* It may have files of its own: as long as it lives for a while each time, it is started again. */
static void a_program_without_the_library_may_be_getting_on(void **state)
{
    struct sk_supervisor_config c = crew_config();
    c.retries = 9;
    struct crew *w = crew_begin(&c);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(crew_exit_code(w), -1);
        crew_run(w, 4);
        crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
        crew_run(w, 0.5);
    }
    assert_int_equal(w->starts, 10);
    assert_int_equal(crew_exit_code(w), 128 + SIGKILL);
    assert_non_null(strstr(w->said, "run.retries"));
    assert_non_null(strstr(w->said, "restart 1, from whatever the program itself has kept"));
    crew_finish(w);
}

static void what_is_computed_again_is_said(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin_with_library(&c);
    w->at.iteration = 61;
    crew_run(w, 2);
    crew_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 1);
    assert_non_null(strstr(w->said, "restart 1, from iteration 40 or the newest generation that is whole (21 iterations, 2."));
    crew_finish(w);
}

static void nothing_is_restarted_after_the_end_of_the_time_slot(void **state)
{
    struct sk_supervisor_config c = crew_config();
    c.deadline = 1003;
    struct crew *w = crew_begin(&c);
    crew_run(w, 3);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 1);
    assert_int_equal(w->starts, 1);
    assert_int_equal(crew_exit_code(w), 128 + SIGKILL);
    crew_finish(w);
}

static void strangers_are_ignored(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    struct sk_message m = {.kind = SK_MSG_EXIT, .rank = N, .code = 1};
    sk_supervisor_heard(w->s, &m, w->now);
    m = (struct sk_message){.kind = SK_MSG_EXIT, .incarnation = 9, .rank = 0, .code = 1};
    sk_supervisor_heard(w->s, &m, w->now);
    m = (struct sk_message){.kind = SK_MSG_KILL, .rank = 0};
    sk_supervisor_heard(w->s, &m, w->now);
    crew_run(w, 1);
    assert_int_equal(w->starts, 1);
    assert_int_equal(crew_exit_code(w), -1);
    crew_finish(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_ends_well_ends_with_zero),
        cmocka_unit_test(a_killed_rank_restarts_the_job_at_once),
        cmocka_unit_test(a_refused_job_ends_at_once),
        cmocka_unit_test(unable_to_begin),
        cmocka_unit_test(a_hopeless_job_ends_at_once),
        cmocka_unit_test(hopeless_with_another_command),
        cmocka_unit_test(a_start_is_told_what_went_before),
        cmocka_unit_test(the_next_start_is_told_how_this_one_ended),
        cmocka_unit_test(no_start_before_all_are_gone),
        cmocka_unit_test(ranks_that_do_not_die_hold_the_job_for_the_grace_time_only),
        cmocka_unit_test(a_lost_host_is_replaced_by_a_spare),
        cmocka_unit_test(a_host_that_answers_no_more_is_replaced_whatever_was_noticed_first),
        cmocka_unit_test(a_dead_spare_is_not_used),
        cmocka_unit_test(hosts_that_never_answered_are_not_suspected),
        cmocka_unit_test(an_outage_of_three_seconds_is_not_fenced),
        cmocka_unit_test(what_comes_back_from_an_earlier_start_is_told_to_leave),
        cmocka_unit_test(a_fault_that_repeats_without_progress_ends_the_job),
        cmocka_unit_test(kills_in_a_row_end_the_job_later),
        cmocka_unit_test(what_the_next_start_goes_on_from_is_progress),
        cmocka_unit_test(progress_makes_faults_count_anew),
        cmocka_unit_test(a_program_that_cannot_be_executed_is_not_tried_again),
        cmocka_unit_test(a_launcher_that_fails_before_any_rank_started_ends_the_job),
        cmocka_unit_test(a_launcher_that_cannot_be_started_ends_the_job),
        cmocka_unit_test(a_program_without_the_library_may_be_getting_on),
        cmocka_unit_test(what_is_computed_again_is_said),
        cmocka_unit_test(nothing_is_restarted_after_the_end_of_the_time_slot),
        cmocka_unit_test(strangers_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
