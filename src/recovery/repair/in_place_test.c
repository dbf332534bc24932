/* Recovery in place, played with a clock of the test's own: one process is made again while the others stay, and whatever else happens
 * ends in a restart of all. */
#include "recovery/supervisor_testing.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LIMIT = 10 };

static void all_say(struct crew *w, enum sk_world_state state, enum sk_world_reason why, uint32_t epoch)
{
    for (int r = 0; r < N; r++)
        w->world[r] = SK_WORLD_WORD(state, why, epoch);
}

/* A job that has a generation, and whose ranks can be left. */
static struct crew *begin_with(const char *recovery, double repair_s)
{
    struct sk_supervisor_config c = crew_config();
    c.repair_s = repair_s;
    assert_int_equal(sk_recovery_parse(recovery, &c.assess.plan, NULL), 0);
    struct crew *w = crew_begin_with_library(&c);
    all_say(w, SK_WORLD_READY, SK_WORLD_FINE, 0);
    crew_run(w, 0.5);
    return w;
}

static struct crew *begin(void)
{
    return begin_with("process=in-place", LIMIT);
}

/* The keeper of the new process says hello, and all are back. */
static void come_back(struct crew *w, int rank, uint32_t epoch)
{
    w->id[rank] = w->order.first;
    w->alive[rank] = 2;
    all_say(w, SK_WORLD_READY, SK_WORLD_FINE, epoch);
    crew_run(w, 0.5);
}

static void one_process_is_made_again(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    assert_int_equal(w->starts, 1);
    assert_int_equal(w->kills, 0);
    assert_true(w->orders >= 3); /* one for each survivor, until it says that it has heard */
    assert_int_equal(w->order.number, 1);
    assert_int_equal(w->order.first, N);
    assert_int_equal(w->order.n_dead, 1);
    assert_int_equal(w->order.dead[0], 2);
    assert_string_equal(w->event.answer, "in-place");
    come_back(w, 2, 1);
    assert_non_null(strstr(w->said, "repaired in place"));
    int orders = w->orders, releases = w->releases;
    struct sk_message late = {.kind = SK_MSG_EXIT, .incarnation = 0, .rank = 2, .how = SK_EXIT_SIGNAL, .code = SIGKILL};
    sk_supervisor_heard(w->s, &late, w->now); /* the keeper of the dead one still waits for its answer */
    assert_int_equal(w->releases, releases + 1);
    crew_run(w, 30);
    assert_int_equal(w->orders, orders);
    assert_int_equal(w->starts, 1);
    for (int r = 0; r < N; r++)
        crew_exit(w, r, SK_EXIT_CODE, 0, 0);
    crew_run(w, 1);
    assert_int_equal(crew_exit_code(w), 0);
    crew_finish(w);
}

/* The survivors' MPI waits until the launcher of the MPI tells it of the death, which that one hears of when the keeper has ended. */
static void an_mpi_that_notices_deaths_hears_of_it_at_once(void **state)
{
    struct sk_supervisor_config c = crew_config();
    c.repair_s = LIMIT;
    c.mpi_notices = 1;
    assert_int_equal(sk_recovery_parse("process=in-place", &c.assess.plan, NULL), 0);
    struct crew *w = crew_begin_with_library(&c);
    all_say(w, SK_WORLD_READY, SK_WORLD_FINE, 0);
    crew_run(w, 0.5);
    int releases = w->releases;
    crew_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    assert_int_equal(w->order.number, 1);
    assert_int_equal(w->releases, releases + 1);
    struct sk_message late = {.kind = SK_MSG_EXIT, .incarnation = 0, .rank = 2, .how = SK_EXIT_SIGNAL, .code = SIGKILL};
    sk_supervisor_heard(w->s, &late, w->now); /* that answer was lost: the repair is not over */
    assert_int_equal(w->releases, releases + 2);
    come_back(w, 2, 1);
    assert_int_equal(w->starts, 1);
    crew_finish(w);
}

/* Two ranks on each of two hosts. */
static struct crew *begin_on_hosts(int mpi_notices)
{
    struct sk_supervisor_config c = crew_config();
    c.repair_s = LIMIT;
    c.mpi_notices = mpi_notices;
    assert_int_equal(sk_recovery_parse("network, physical, repeated, process=in-place", &c.assess.plan, NULL), 0);
    struct crew *w = crew_begin_on_hosts(&c);
    all_say(w, SK_WORLD_READY, SK_WORLD_FINE, 0);
    crew_run(w, 0.5);
    return w;
}

static void on_several_hosts_a_process_is_made_again_on_its_own(void **state)
{
    struct crew *w = begin_on_hosts(0);
    crew_exit(w, 3, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    assert_int_equal(w->order.dead[0], 3);
    assert_string_equal(w->event.node, "h1");
    assert_string_equal(w->event.answer, "in-place");
    come_back(w, 3, 1);
    assert_non_null(strstr(w->said, "repaired in place"));
    assert_int_equal(w->starts, 1);
    w->silent_host = 1; /* it is lost: all start again with the spare one */
    crew_run(w, 12);
    assert_int_equal(w->starts, 2);
    assert_string_equal(w->event.answer, "migration");
    assert_non_null(strstr(w->event.then, "h2 takes the place of h1"));
    crew_finish(w);
}

static void a_host_that_is_lost_during_a_repair(void **state)
{
    struct crew *w = begin_on_hosts(0);
    crew_exit(w, 0, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    assert_int_equal(w->order.number, 1);
    w->id[0] = w->order.first;
    w->alive[0] = 2;
    w->silent_host = 1;
    crew_run(w, LIMIT + 12);
    assert_int_equal(w->starts, 2);
    assert_int_equal(w->seat[2], 2);
    assert_int_equal(w->seat[3], 2);
    crew_finish(w);
}

static void again_and_again(void **state)
{
    struct crew *w = begin();
    for (uint32_t i = 1; i <= 5; i++) {
        int rank = (int)(i % N);
        w->at.complete_iteration += 10;
        crew_run(w, 0.5);
        crew_exit(w, rank, SK_EXIT_SIGNAL, SIGSEGV, 0);
        crew_run(w, 0.3);
        assert_int_equal(w->order.number, i);
        assert_int_equal(w->order.first, N + i - 1);
        come_back(w, rank, i);
    }
    assert_int_equal(w->starts, 1);
    assert_int_equal(w->kills, 0);
    crew_finish(w);
}

/* In each case all are killed, and the job is started once more; the history says why. */
static void restarts(struct crew *w, const char *why)
{
    crew_run(w, LIMIT + 8);
    assert_int_equal(w->starts, 2);
    assert_string_equal(w->event.answer, "restart");
    assert_non_null(strstr(w->event.then, why));
    crew_finish(w);
}

/* As when what the new process sends is taken for something else. */
static void all_wait_for_each_other(void **state)
{
    struct crew *w = begin();
    all_say(w, SK_WORLD_READY, SK_WORLD_WAITS, 0);
    crew_run(w, 20);
    assert_int_equal(w->starts, 1); /* nothing was repaired: it is the program's own affair */
    all_say(w, SK_WORLD_READY, SK_WORLD_FINE, 0);
    crew_run(w, 0.5);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    come_back(w, 1, 1);
    all_say(w, SK_WORLD_READY, SK_WORLD_WAITS, 1);
    w->world[2] = SK_WORLD_WORD(SK_WORLD_READY, SK_WORLD_FINE, 1);
    crew_run(w, 20);
    assert_int_equal(w->starts, 1); /* one of them computes */
    w->world[2] = SK_WORLD_WORD(SK_WORLD_READY, SK_WORLD_WAITS, 1);
    restarts(w, "wait for each other");
}

static void a_program_that_does_not_ask_for_it(void **state)
{
    struct crew *w = begin();
    all_say(w, SK_WORLD_OUTSIDE, SK_WORLD_FINE, 0);
    crew_run(w, 0.5);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    assert_int_equal(w->orders, 0);
    restarts(w, "does not call saikai_in_place");
}

static void a_function_that_cannot_be_repaired(void **state)
{
    struct crew *w = begin();
    w->world[3] = SK_WORLD_WORD(SK_WORLD_CANNOT, SK_WORLD_FUNCTION, 0);
    crew_run(w, 0.5);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    restarts(w, "what cannot be repaired");
}

static void a_repair_that_fails(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    w->world[0] = SK_WORLD_WORD(SK_WORLD_CANNOT, SK_WORLD_FAILED, 0);
    restarts(w, "the repair did not work");
}

/* Its keeper sees that, and the repair's limit is not waited for. */
static void a_survivor_waits_for_the_dead_inside_mpi(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    w->world[0] = SK_WORLD_WORD(SK_WORLD_CANNOT, SK_WORLD_BOUND, 0);
    crew_run(w, LIMIT / 2);
    assert_int_equal(w->starts, 2);
    restarts(w, "makes a communicator");
}

static void a_repair_that_never_ends(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, LIMIT - 1);
    assert_int_equal(w->starts, 1);
    restarts(w, "run.repair_limit");
}

/* Not for the time that a start may take, which would also be held against the host. */
static void a_repair_may_take_longer_than_a_start(void **state)
{
    enum { LONG = 100 };
    struct crew *w = begin_with("physical, process=in-place", LONG);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, LONG - 1);
    assert_int_equal(w->starts, 1);
    restarts(w, "run.repair_limit");
}

static void another_death_during_the_repair(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    crew_exit(w, 3, SK_EXIT_SIGNAL, SIGKILL, 0);
    restarts(w, "another process died during the repair");
}

static void the_new_process_dies(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    w->id[1] = w->order.first;
    w->alive[1] = 2;
    w->world[1] = 0;
    crew_run(w, 0.3);
    crew_exit(w, 1, SK_EXIT_CODE, 1, 0);
    restarts(w, "another process died during the repair");
}

/* The survivors had not told yet that they can be left. */
static void what_is_known_of_the_others_is_old(void **state)
{
    struct crew *w = begin();
    all_say(w, SK_WORLD_OUTSIDE, SK_WORLD_FINE, 0);
    crew_run(w, 0.5);
    w->world[2] = SK_WORLD_WORD(SK_WORLD_READY, SK_WORLD_FINE, 0);
    crew_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
    sk_supervisor_tick(w->s, w->now);
    assert_int_equal(w->kills, 0);
    assert_int_equal(w->orders, 0);
    all_say(w, SK_WORLD_READY, SK_WORLD_FINE, 0);
    crew_run(w, 0.5);
    assert_true(w->orders >= 3);
    come_back(w, 2, 1);
    assert_int_equal(w->starts, 1);
    crew_finish(w);
}

static void several_hosts_with_an_mpi_that_notices_deaths(void **state)
{
    struct crew *w = begin_on_hosts(1);
    int releases = w->releases;
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    assert_int_equal(w->order.dead[0], 1);
    assert_int_equal(w->releases, releases + 1);
    come_back(w, 1, 1);
    assert_int_equal(w->starts, 1);
    crew_exit(w, 0, SK_EXIT_SIGNAL, SIGKILL, 0); /* the one that is left there was made again */
    restarts(w, "needs another process of the job on the host");
}

/* Warm spares are of the start as well. */
static void a_spare_on_the_host_of_the_dead(void **state)
{
    struct sk_supervisor_config c = crew_config();
    c.repair_s = LIMIT;
    c.mpi_notices = 1;
    c.warm = 1;
    assert_int_equal(sk_recovery_parse("process=in-place", &c.assess.plan, NULL), 0);
    struct crew *w = crew_begin_on_hosts(&c);
    all_say(w, SK_WORLD_READY, SK_WORLD_FINE, 0);
    crew_run(w, 0.5);
    crew_exit(w, 0, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    assert_int_equal(w->order.number, 1);
    assert_int_equal(w->order.n_dead, 2);
    crew_finish(w);
}

/* Its keeper has waited for it. */
static void what_the_dead_had_sent_is_still_on_its_way(void **state)
{
    struct crew *w = begin_on_hosts(0);
    w->world[1] = SK_WORLD_WORD(SK_WORLD_CANNOT, SK_WORLD_UNSENT, 0);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    restarts(w, "still on its way to another host");
}

static void the_end_of_the_program(void **state)
{
    struct crew *w = begin();
    w->world[0] = SK_WORLD_WORD(SK_WORLD_OVER, SK_WORLD_FINE, 0);
    crew_run(w, 0.5);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    restarts(w, "at its end");
}

/* What is left to do takes less time than it takes to hear of the repair from all. */
static void a_program_that_ends_right_after_the_repair(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    w->id[1] = w->order.first;
    w->alive[1] = 2;
    all_say(w, SK_WORLD_READY, SK_WORLD_FINE, 1);
    w->world[0] = SK_WORLD_WORD(SK_WORLD_OVER, SK_WORLD_FINE, 1);
    w->world[2] = SK_WORLD_WORD(SK_WORLD_REPAIRING, SK_WORLD_FINE, 0);
    crew_run(w, 1);
    assert_int_equal(w->starts, 1);
    all_say(w, SK_WORLD_OVER, SK_WORLD_FINE, 1);
    crew_run(w, 0.5);
    assert_non_null(strstr(w->said, "repaired in place"));
    for (int r = 0; r < N; r++)
        crew_exit(w, r, SK_EXIT_CODE, 0, 0);
    crew_run(w, 1);
    assert_int_equal(w->starts, 1);
    assert_int_equal(crew_exit_code(w), 0);
    crew_finish(w);
}

/* It had not heard of the death. */
static void a_survivor_that_ends_before_the_repair(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    w->world[0] = SK_WORLD_WORD(SK_WORLD_OVER, SK_WORLD_FINE, 0);
    restarts(w, "at its end");
}

static void no_key_for_the_new_process(void **state)
{
    struct crew *w = begin();
    w->admit_fails = 1;
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    restarts(w, "no key today");
}

static void no_progress_between_repairs(void **state)
{
    struct crew *w = begin();
    for (uint32_t i = 1; i <= 3; i++) {
        crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
        crew_run(w, 0.3);
        assert_int_equal(w->order.number, i);
        come_back(w, 1, i);
    }
    int orders = w->orders;
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 8);
    assert_int_equal(w->orders, orders);
    assert_int_equal(w->events, 4);
    crew_finish(w);
}

/* A restart after repairs is told apart from all of them. */
static void a_restart_after_repairs(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    come_back(w, 1, 1);
    w->world[3] = SK_WORLD_WORD(SK_WORLD_CANNOT, SK_WORLD_FUNCTION, 1);
    crew_run(w, 0.5);
    crew_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 8);
    assert_int_equal(w->starts, 2);
    assert_int_equal(w->incarnation, 2);
    crew_finish(w);
}

/* Candidates are reached at this pace. */
static void get_on(struct crew *w, double seconds, double pace)
{
    for (double done = 0, end = w->now + seconds; w->now < end;) {
        crew_run(w, 0.5);
        for (done += 0.5 * pace; done >= 1; done--) {
            w->at.progress++;
            w->at.iteration++;
        }
    }
}

static struct crew *slow_after_a_repair(const struct sk_supervisor_config *c)
{
    struct sk_supervisor_config own = *c;
    own.repair_s = LIMIT;
    assert_int_equal(sk_recovery_parse("process=in-place", &own.assess.plan, NULL), 0);
    struct crew *w = crew_begin_with_library(&own);
    all_say(w, SK_WORLD_READY, SK_WORLD_FINE, 0);
    get_on(w, 20, 2);
    crew_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    come_back(w, 2, 1);
    get_on(w, 20, 1);
    return w;
}

static void complete(struct crew *w)
{
    w->at.complete_iteration = w->at.iteration;
    w->at.complete_count++;
    crew_run(w, 1);
}

/* It is saved first; what follows is no fault of anybody's, and a later one is answered by a restart as the first restart has helped. */
static void a_job_that_is_slower_since_its_repair(void **state)
{
    struct sk_supervisor_config c = crew_config();
    c.renews = 1;
    struct crew *w = slow_after_a_repair(&c);
    assert_int_equal(w->requests, N);
    assert_int_equal(w->asked, SK_REQUEST_CHECKPOINT);
    assert_int_equal(w->kills, 0);
    complete(w);
    assert_int_equal(w->starts, 2);
    assert_string_equal(w->event.fault, "slower");
    assert_string_equal(w->event.answer, "restart");
    assert_int_equal(w->past.faults, 1); /* the one that was repaired */
    all_say(w, SK_WORLD_READY, SK_WORLD_FINE, 0);
    get_on(w, 20, 2);
    assert_int_equal(w->starts, 2);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 8);
    assert_int_equal(w->starts, 3);
    assert_string_equal(w->event.answer, "restart");
    assert_non_null(strstr(w->event.then, "as fast as ever after a restart"));
    crew_finish(w);
}

/* With a spare that waits nothing is slower, and the fault is repaired. */
static void a_spare_after_that(void **state)
{
    struct sk_supervisor_config c = crew_config();
    c.renews = 1;
    c.warm = 1;
    struct crew *w = slow_after_a_repair(&c);
    complete(w);
    all_say(w, SK_WORLD_READY, SK_WORLD_FINE, 0);
    get_on(w, 20, 2);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    assert_string_equal(w->event.answer, "in-place");
    come_back(w, 1, 1);
    assert_int_equal(w->starts, 2);
    crew_finish(w);
}

static void a_job_that_may_be_slower(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = slow_after_a_repair(&c);
    complete(w);
    assert_int_equal(w->requests, 0);
    assert_int_equal(w->starts, 1);
    crew_finish(w);
}

/* A fault while the checkpoint is made: it is repaired, and what was wanted is forgotten until it pays again. */
static void a_fault_before_the_renewal(void **state)
{
    struct sk_supervisor_config c = crew_config();
    c.renews = 1;
    struct crew *w = slow_after_a_repair(&c);
    assert_int_equal(w->requests, N);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    come_back(w, 1, 2);
    complete(w);
    assert_int_equal(w->starts, 1);
    get_on(w, 20, 1);
    assert_int_equal(w->requests, 2 * N);
    complete(w);
    assert_int_equal(w->starts, 2);
    crew_finish(w);
}

static void without_the_answer_nothing_changes(void **state)
{
    struct sk_supervisor_config c = crew_config();
    c.repair_s = LIMIT;
    struct crew *w = crew_begin_with_library(&c);
    all_say(w, SK_WORLD_READY, SK_WORLD_FINE, 0);
    crew_run(w, 0.5);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 8);
    assert_int_equal(w->orders, 0);
    assert_int_equal(w->starts, 2);
    assert_string_equal(w->event.answer, "restart");
    assert_string_equal(w->event.then, "");
    crew_finish(w);
}

/* In place where it knows that it can be, else a restart. */
static int where_it_can_be(const struct saikai_loss *loss, struct saikai_treatment *each, char *why, size_t why_cap)
{
    for (uint32_t i = 0; i < loss->n_lost; i++)
        each[i].answer = loss->lost[i].in_place > 0 ? SAIKAI_ANSWER_IN_PLACE : SAIKAI_ANSWER_RESTART;
    snprintf(why, why_cap, "%u lost", loss->n_lost);
    return 0;
}

static void a_component_decides(void **state)
{
    static const struct saikai_recovery_protocol_ops ops = {1u << SAIKAI_ANSWER_IN_PLACE | 1u << SAIKAI_ANSWER_RESTART, where_it_can_be};
    static const struct saikai_component c = {SAIKAI_COMPONENT_ABI, sizeof c, SAIKAI_KIND_RECOVERY_PROTOCOL, "picky", "picky", &ops, sizeof ops};
    struct sk_supervisor_config sc = crew_config();
    sk_recovery_protocol_kind.add(&c, 0);
    sc.repair_s = LIMIT;
    assert_int_equal(sk_recovery_parse("process=picky", &sc.assess.plan, NULL), 0);
    struct crew *w = crew_begin_with_library(&sc);
    all_say(w, SK_WORLD_READY, SK_WORLD_FINE, 0);
    crew_run(w, 0.5);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.3);
    assert_int_equal(w->order.number, 1);
    assert_string_equal(w->event.answer, "in-place");
    assert_string_equal(w->event.then, "as recovery protocol picky says: 1 lost; rank 1 is made again and the others stay");
    come_back(w, 1, 1);
    assert_int_equal(w->starts, 1);
    w->world[3] = SK_WORLD_WORD(SK_WORLD_CANNOT, SK_WORLD_FUNCTION, 1);
    crew_run(w, 0.5);
    crew_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
    restarts(w, "as recovery protocol picky says: 1 lost");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_process_is_made_again),
        cmocka_unit_test(an_mpi_that_notices_deaths_hears_of_it_at_once),
        cmocka_unit_test(on_several_hosts_a_process_is_made_again_on_its_own),
        cmocka_unit_test(a_host_that_is_lost_during_a_repair),
        cmocka_unit_test(several_hosts_with_an_mpi_that_notices_deaths),
        cmocka_unit_test(a_spare_on_the_host_of_the_dead),
        cmocka_unit_test(what_the_dead_had_sent_is_still_on_its_way),
        cmocka_unit_test(again_and_again),
        cmocka_unit_test(all_wait_for_each_other),
        cmocka_unit_test(a_program_that_does_not_ask_for_it),
        cmocka_unit_test(a_function_that_cannot_be_repaired),
        cmocka_unit_test(a_repair_that_fails),
        cmocka_unit_test(a_survivor_waits_for_the_dead_inside_mpi),
        cmocka_unit_test(a_repair_that_never_ends),
        cmocka_unit_test(a_repair_may_take_longer_than_a_start),
        cmocka_unit_test(another_death_during_the_repair),
        cmocka_unit_test(the_new_process_dies),
        cmocka_unit_test(what_is_known_of_the_others_is_old),
        cmocka_unit_test(the_end_of_the_program),
        cmocka_unit_test(a_program_that_ends_right_after_the_repair),
        cmocka_unit_test(a_survivor_that_ends_before_the_repair),
        cmocka_unit_test(no_key_for_the_new_process),
        cmocka_unit_test(no_progress_between_repairs),
        cmocka_unit_test(a_restart_after_repairs),
        cmocka_unit_test(a_job_that_is_slower_since_its_repair),
        cmocka_unit_test(a_spare_after_that),
        cmocka_unit_test(a_job_that_may_be_slower),
        cmocka_unit_test(a_fault_before_the_renewal),
        cmocka_unit_test(without_the_answer_nothing_changes),
        cmocka_unit_test(a_component_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
