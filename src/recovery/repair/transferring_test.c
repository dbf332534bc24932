/* Ranks that are two processes each, played with a clock of the test's own: the end of one is forgiven as long as its twin is there, and
 * whatever else happens ends in a restart of all. */
#include "recovery/repair/compare.h"
#include "recovery/supervisor_testing.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void all_say(struct crew *w, enum sk_world_state state, uint32_t order)
{
    for (int r = 0; r < N; r++)
        w->world[r] = SK_WORLD_WORD(state, SK_WORLD_FINE, order);
}

/* Processes 0 and 2 are rank 0, 1 and 3 are rank 1. */
static const struct sk_copies all_twice = {N / 2, N, (int[]){0, 1, 0, 1}, (int[]){2, 3}};
/* Three ranks: processes 1 and 3 are rank 1, the others are one. */
static const struct sk_copies one_twice = {N - 1, N, (int[]){0, 1, 2, 1}, (int[]){-1, 3, -1}};

static struct crew *begin_where(int hides_deaths)
{
    struct sk_supervisor_config c = crew_config();
    c.copies = &all_twice;
    c.hides_deaths = hides_deaths;
    struct crew *w = crew_begin(&c);
    all_say(w, SK_WORLD_READY, 0);
    crew_run(w, 0.5);
    return w;
}

static struct crew *begin(void)
{
    return begin_where(0);
}

static void a_twin_goes_on(void **state)
{
    struct crew *w = begin();
    w->printed = (struct sk_printed){70, 3};
    crew_exit(w, 3, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.25);
    assert_int_equal(w->starts, 1);
    assert_int_equal(w->kills, 0);
    assert_true(w->orders >= 3); /* one for each that lives */
    assert_int_equal(w->order.number, 1);
    assert_int_equal(w->order.n_dead, 1);
    assert_int_equal(w->order.dead[0], 3);
    assert_int_equal(w->order.printed[0].lines, 70); /* from where the other one's output goes on */
    assert_int_equal(w->order.printed[0].bytes, 3);
    assert_string_equal(w->event.answer, "twin");
    assert_non_null(strstr(w->event.then, "the twin of rank 1 goes on"));
    all_say(w, SK_WORLD_READY, 1);
    crew_run(w, 1);
    int orders = w->orders, releases = w->releases;
    struct sk_message late = {.kind = SK_MSG_EXIT, .incarnation = 0, .rank = 3, .how = SK_EXIT_SIGNAL, .code = SIGKILL};
    sk_supervisor_heard(w->s, &late, w->now); /* its keeper waits for its answer */
    assert_int_equal(w->releases, releases + 1);
    crew_run(w, 30);
    assert_int_equal(w->orders, orders);
    assert_int_equal(w->starts, 1);
    for (int r = 0; r < 3; r++)
        crew_exit(w, r, SK_EXIT_CODE, 0, 0);
    crew_run(w, 1);
    assert_int_equal(crew_exit_code(w), 0);
    crew_finish(w);
}

/* An MPI that would hear of a death from the end of a keeper: nobody leaves, be it for that death or at its own good end, until all have ended. */
static void an_mpi_that_must_not_hear_of_a_death_does_not(void **state)
{
    struct crew *w = begin_where(1);
    crew_exit(w, 3, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.25);
    assert_string_equal(w->event.answer, "twin");
    all_say(w, SK_WORLD_READY, 1);
    crew_run(w, 1);
    struct sk_message late = {.kind = SK_MSG_EXIT, .incarnation = 0, .rank = 3, .how = SK_EXIT_SIGNAL, .code = SIGKILL};
    sk_supervisor_heard(w->s, &late, w->now);
    crew_exit(w, 0, SK_EXIT_CODE, 0, 0);
    crew_exit(w, 1, SK_EXIT_CODE, 0, 0);
    crew_run(w, 1);
    assert_int_equal(w->releases, 0);
    crew_exit(w, 2, SK_EXIT_CODE, 0, 0);
    crew_run(w, 1);
    assert_int_equal(crew_exit_code(w), 0);
    for (late.rank = 0; late.rank < N; late.rank++) /* they ask until they are answered */
        sk_supervisor_heard(w->s, &late, w->now);
    assert_int_equal(w->releases, N);
    crew_finish(w);
}

static void two_ranks_one_after_the_other(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 0, SK_EXIT_SIGNAL, SIGSEGV, 0);
    crew_run(w, 0.2);
    crew_exit(w, 3, SK_EXIT_SIGNAL, SIGKILL, 0); /* before all have heard of the first */
    crew_run(w, 0.2);
    assert_int_equal(w->starts, 1);
    assert_int_equal(w->order.number, 2);
    assert_int_equal(w->order.n_dead, 2); /* all, in their order */
    assert_int_equal(w->order.dead[0], 0);
    assert_int_equal(w->order.dead[1], 3);
    all_say(w, SK_WORLD_READY, 2);
    crew_run(w, 1);
    crew_exit(w, 1, SK_EXIT_CODE, 0, 0);
    crew_exit(w, 2, SK_EXIT_CODE, 0, 0);
    crew_run(w, 1);
    assert_int_equal(crew_exit_code(w), 0);
    crew_finish(w);
}

/* All are killed, and the job is started once more; the history says why. */
static void restarts(struct crew *w, const char *why)
{
    crew_run(w, 8);
    assert_int_equal(w->starts, 2);
    assert_string_equal(w->event.answer, "restart");
    assert_non_null(strstr(w->event.then, why));
    crew_finish(w);
}

static void both_of_a_rank(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.2);
    all_say(w, SK_WORLD_READY, 1);
    crew_run(w, 1);
    crew_exit(w, 3, SK_EXIT_SIGNAL, SIGKILL, 0);
    restarts(w, "both processes of a rank have died");
}

static void both_at_once(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 0, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
    restarts(w, "both processes of a rank have died");
}

static void a_program_that_cannot_be_replicated(void **state)
{
    struct crew *w = begin();
    w->world[2] = SK_WORLD_WORD(SK_WORLD_CANNOT, SK_WORLD_FUNCTION, 0);
    crew_run(w, 0.5);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    assert_int_equal(w->orders, 0);
    restarts(w, "what cannot be replicated");
}

static void one_that_does_so_later(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.2);
    all_say(w, SK_WORLD_READY, 1);
    w->world[2] = SK_WORLD_WORD(SK_WORLD_CANNOT, SK_WORLD_FUNCTION, 0);
    restarts(w, "what cannot be replicated");
}

/* As when a process died while it wrote into what MPI shares. */
static void all_wait_for_each_other(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.2);
    for (int r = 0; r < N; r++)
        w->world[r] = SK_WORLD_WORD(SK_WORLD_READY, r ? SK_WORLD_WAITS : SK_WORLD_FINE, 1);
    crew_run(w, 20);
    assert_int_equal(w->starts, 1); /* one of them computes */
    w->world[0] = SK_WORLD_WORD(SK_WORLD_READY, SK_WORLD_WAITS, 1);
    restarts(w, "wait for each other");
}

static void all_wait_and_nobody_has_died(void **state)
{
    struct crew *w = begin();
    for (int r = 0; r < N; r++)
        w->world[r] = SK_WORLD_WORD(SK_WORLD_READY, SK_WORLD_WAITS, 0);
    crew_run(w, 20);
    assert_int_equal(w->starts, 1); /* it is the program's own affair */
    crew_finish(w);
}

static void a_death_before_mpi_has_begun(void **state)
{
    struct crew *w = begin();
    all_say(w, SK_WORLD_NONE, 0);
    crew_run(w, 0.5);
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    restarts(w, "through MPI_Init");
}

static void a_death_when_its_twin_is_done(void **state)
{
    struct crew *w = begin();
    crew_exit(w, 0, SK_EXIT_CODE, 0, 0);
    crew_exit(w, 1, SK_EXIT_CODE, 0, 0);
    crew_exit(w, 2, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.2);
    all_say(w, SK_WORLD_READY, 1);
    crew_exit(w, 3, SK_EXIT_CODE, 0, 0);
    crew_run(w, 1);
    assert_int_equal(w->starts, 1);
    assert_int_equal(crew_exit_code(w), 0);
    crew_finish(w);
}

/* ---- messages of twins that differ ---- */

static struct crew *begin_comparing(enum sk_compare what)
{
    struct sk_supervisor_config c = crew_config();
    c.copies = &all_twice;
    c.compare = (int)what;
    struct crew *w = crew_begin(&c);
    all_say(w, SK_WORLD_READY, 0);
    crew_run(w, 0.5);
    assert_int_equal(w->events, 0);
    return w;
}

static void a_difference_is_told_once(void **state)
{
    struct crew *w = begin_comparing(SK_COMPARE_TELL);
    w->at.differ = (struct sk_differ){.n = 1, .to = 7, .tag = 5, .number = 16, .iteration = 40};
    crew_run(w, 0.5);
    assert_int_equal(w->events, N); /* each process says so here */
    assert_non_null(strstr(w->event.what, "sent different data in message 17 to rank 7 with tag 5 at iteration 40"));
    assert_string_equal(w->event.fault, "difference");
    assert_string_equal(w->event.answer, "ignore");
    w->at.differ.n = 1000;
    crew_run(w, 20);
    assert_int_equal(w->events, N);
    assert_int_equal(w->starts, 1);
    assert_int_equal(w->kills, 0);
    assert_null(strstr(w->said, "in all"));
    for (int r = 0; r < N; r++)
        crew_exit(w, r, SK_EXIT_CODE, 0, 0);
    crew_run(w, 1);
    assert_int_equal(crew_exit_code(w), 0);
    assert_non_null(strstr(w->said, "in all 1000 messages of the two processes of rank 0 differed"));
    crew_finish(w);
}

/* Also when it is only found at the end of the program. */
static void a_difference_starts_the_job_again(void **state)
{
    struct crew *w = begin_comparing(SK_COMPARE_RESTART);
    for (int r = 1; r < N; r++)
        crew_exit(w, r, SK_EXIT_CODE, 0, 0);
    crew_run(w, 0.5);
    w->at.differ = (struct sk_differ){.n = 1, .how = SK_DIFFER_COLLECTIVE | SK_DIFFER_MISSING, .to = 1, .number = 2, .iteration = -1};
    crew_exit(w, 0, SK_EXIT_CODE, 0, 0);
    crew_run(w, 0.06);
    w->at.differ.n = 0; /* of the next start */
    restarts(w, "");
}

static void a_difference_ends_the_job(void **state)
{
    struct crew *w = begin_comparing(SK_COMPARE_GIVE_UP);
    w->at.differ = (struct sk_differ){.n = 1, .to = 1, .tag = 5, .iteration = -1};
    crew_run(w, 8);
    assert_int_equal(w->starts, 1);
    assert_int_equal(w->events, 1);
    assert_string_equal(w->event.answer, "given-up");
    assert_non_null(strstr(w->event.what, "message 1 to rank 1 with tag 5:"));
    assert_non_null(strstr(w->event.then, "run.compare=give-up"));
    assert_int_equal(crew_exit_code(w), SK_RUN_FAILED);
    crew_finish(w);
}

/* What a beat says of it is not looked at where nobody wants to know. */
static void nobody_compares(void **state)
{
    struct crew *w = begin();
    w->at.differ = (struct sk_differ){.n = 1};
    crew_run(w, 2);
    assert_int_equal(w->events, 0);
    assert_int_equal(w->starts, 1);
    crew_finish(w);
}

/* ---- ranks that are one process ---- */

static struct crew *begin_partial(void)
{
    struct sk_supervisor_config c = crew_config();
    c.copies = &one_twice;
    struct crew *w = crew_begin(&c);
    all_say(w, SK_WORLD_READY, 0);
    crew_run(w, 0.5);
    return w;
}

static void a_named_rank_has_a_twin(void **state)
{
    for (int victim = 1; victim < N; victim += 2) {
        struct crew *w = begin_partial();
        crew_exit(w, victim, SK_EXIT_SIGNAL, SIGKILL, 0);
        crew_run(w, 0.25);
        assert_int_equal(w->starts, 1);
        assert_int_equal(w->order.n_dead, 1);
        assert_int_equal(w->order.dead[0], victim);
        assert_string_equal(w->event.answer, "twin");
        assert_int_equal(w->event.rank, 1);
        assert_non_null(strstr(w->event.then, "the twin of rank 1 goes on"));
        crew_finish(w);
    }
}

static void a_rank_without_one_is_a_restart(void **state)
{
    for (int victim = 0; victim < N; victim += 2) {
        struct crew *w = begin_partial();
        crew_exit(w, victim, SK_EXIT_SIGNAL, SIGKILL, 0);
        crew_run(w, 2);
        assert_int_equal(w->orders, 0);
        assert_int_equal(w->event.rank, victim);
        restarts(w, "a rank that is one process has died");
    }
}

static void a_rank_without_one_after_a_twin_took_over(void **state)
{
    struct crew *w = begin_partial();
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 0.25);
    assert_string_equal(w->event.answer, "twin");
    all_say(w, SK_WORLD_READY, 1);
    crew_run(w, 1);
    crew_exit(w, 3, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 2);
    assert_int_equal(w->event.rank, 1); /* of the rank, and not of the process */
    restarts(w, "both processes of a rank have died");
}

/* ---- hosts ---- */

static void a_lost_host_is_left_to_the_twins(void **state)
{
    struct crew *w = begin(); /* leads on h0, twins on h1 */
    w->silent_host = 1;
    crew_run(w, 6);
    assert_int_equal(w->starts, 1);
    assert_int_equal(w->kills, 0);
    assert_int_equal(w->order.n_dead, 2);
    assert_true(w->order.dead[0] == 2 && w->order.dead[1] == 3);
    assert_string_equal(w->event.answer, "twin");
    assert_non_null(strstr(w->event.what, "host h1 has been silent"));
    assert_non_null(strstr(w->event.then, "the twin of rank 0, 1 goes on"));
    all_say(w, SK_WORLD_READY, 1);
    crew_run(w, 1);
    w->silent_host = -1; /* it was only cut off: what still runs there has no use */
    crew_run(w, 1);
    assert_int_equal(w->kills, 2);
    assert_int_equal(w->starts, 1);
    crew_exit(w, 0, SK_EXIT_CODE, 0, 0);
    crew_exit(w, 1, SK_EXIT_CODE, 0, 0);
    crew_run(w, 1);
    assert_int_equal(crew_exit_code(w), 0);
    crew_finish(w);
}

static void nobody_starts_on_it_again(void **state)
{
    struct crew *w = begin();
    w->silent_host = 1;
    crew_run(w, 6);
    assert_int_equal(w->starts, 1);
    all_say(w, SK_WORLD_READY, 1);
    crew_exit(w, 0, SK_EXIT_SIGNAL, SIGKILL, 0);
    crew_run(w, 8);
    assert_int_equal(w->starts, 2);
    static const int want[N] = {0, 0, 2, 2};
    assert_memory_equal(w->seat, want, sizeof want);
    crew_finish(w);
}

/* The MPI's launcher ends the others' processes because of it, later than twins take over: they answer, and are not lost. */
static void a_lost_host_takes_the_twins_along(void **state)
{
    struct crew *w = begin();
    w->mute_host = w->silent_host = 1;
    crew_run(w, 6);
    assert_string_equal(w->event.answer, "twin");
    assert_non_null(strstr(w->event.then, "when all start again h2 takes the place of h1"));
    w->alive[0] = w->alive[1] = 0;
    crew_run(w, 12);
    assert_int_equal(w->starts, 2);
    assert_string_equal(w->event.node, "h1");
    static const int want[N] = {0, 0, 2, 2};
    assert_memory_equal(w->seat, want, sizeof want);
    crew_finish(w);
}

static void a_host_with_a_rank_that_is_one_process(void **state)
{
    struct crew *w = begin_partial();
    w->silent_host = 1;
    crew_run(w, 6);
    crew_run(w, 2);
    assert_int_equal(w->starts, 2);
    assert_string_equal(w->event.answer, "migration");
    assert_non_null(strstr(w->event.then, "a rank that is one process has died (run.replicate); h2 takes the place of h1"));
    crew_finish(w);
}

/* A component is asked before the twin, and knows whom it would take the place of. */
static int on_fridays(const struct saikai_loss *loss, struct saikai_treatment *each, char *why, size_t why_cap)
{
    (void)why, (void)why_cap;
    assert_int_equal(loss->n_lost, 1);
    assert_int_equal(loss->lost[0].rank, 1);
    each[0].answer = loss->lost[0].twin && loss->lost[0].copy ? SAIKAI_ANSWER_TRANSFER : SAIKAI_ANSWER_RESTART;
    return 0;
}

static void a_component_decides(void **state)
{
    static const struct saikai_recovery_protocol_ops ops = {1u << SAIKAI_ANSWER_TRANSFER | 1u << SAIKAI_ANSWER_RESTART, on_fridays};
    static const struct saikai_component part = {SAIKAI_COMPONENT_ABI, sizeof part, SAIKAI_KIND_RECOVERY_PROTOCOL, "fridays", "", &ops, sizeof ops};
    struct sk_supervisor_config c = crew_config();
    sk_recovery_protocol_kind.add(&part, 0);
    c.copies = &all_twice;
    assert_int_equal(sk_recovery_parse("process=fridays", &c.assess.plan, NULL), 0);
    for (int second = 0; second < 2; second++) {
        struct crew *w = crew_begin(&c);
        all_say(w, SK_WORLD_READY, 0);
        crew_run(w, 0.5);
        crew_exit(w, second ? 3 : 1, SK_EXIT_SIGNAL, SIGKILL, 0);
        crew_run(w, 5);
        assert_string_equal(w->event.answer, second ? "twin" : "restart");
        assert_int_equal(w->starts, second ? 1 : 2);
        crew_finish(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_twin_goes_on),
        cmocka_unit_test(a_lost_host_is_left_to_the_twins),
        cmocka_unit_test(nobody_starts_on_it_again),
        cmocka_unit_test(a_lost_host_takes_the_twins_along),
        cmocka_unit_test(a_host_with_a_rank_that_is_one_process),
        cmocka_unit_test(a_named_rank_has_a_twin),
        cmocka_unit_test(a_rank_without_one_is_a_restart),
        cmocka_unit_test(a_rank_without_one_after_a_twin_took_over),
        cmocka_unit_test(an_mpi_that_must_not_hear_of_a_death_does_not),
        cmocka_unit_test(two_ranks_one_after_the_other),
        cmocka_unit_test(both_of_a_rank),
        cmocka_unit_test(both_at_once),
        cmocka_unit_test(a_program_that_cannot_be_replicated),
        cmocka_unit_test(one_that_does_so_later),
        cmocka_unit_test(all_wait_for_each_other),
        cmocka_unit_test(all_wait_and_nobody_has_died),
        cmocka_unit_test(a_death_before_mpi_has_begun),
        cmocka_unit_test(a_death_when_its_twin_is_done),
        cmocka_unit_test(a_difference_is_told_once),
        cmocka_unit_test(a_difference_starts_the_job_again),
        cmocka_unit_test(a_difference_ends_the_job),
        cmocka_unit_test(nobody_compares),
        cmocka_unit_test(a_component_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
