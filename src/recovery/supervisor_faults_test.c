/* What the supervisor takes faults for and how it answers them: nodes that are left, a network that is waited for, and what is kept. */
#include "recovery/supervisor_testing.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* One node's processes die, those of the other do not: after the third fault it is left for good, although it lives. */
static void a_node_whose_process_dies_three_times_is_not_used_again(void **state)
{
    (void)state;
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    static const int before[N] = {0, 0, 1, 1}, after[N] = {0, 0, 2, 2};
    w->at.state = SK_KEEPER_INITIALISED; /* and no progress: two such faults more and the job would be given up */
    for (int i = 0; i < 3; i++) {
        assert_memory_equal(w->seat, before, sizeof before);
        crew_run(w, 1);
        crew_exit(w, 2 + i % 2, SK_EXIT_SIGNAL, SIGSEGV, 0);
        crew_run(w, 4);
        assert_int_equal(w->events, i + 1);
        assert_string_equal(w->event.model, i < 2 ? "process" : "repeated");
        assert_string_equal(w->event.answer, i < 2 ? "restart" : "migration");
        assert_string_equal(w->event.node, "h1");
        assert_string_equal(w->event.fault, "signal");
    }
    assert_int_equal(w->starts, 4);
    assert_memory_equal(w->seat, after, sizeof after);
    assert_non_null(strstr(w->event.what, "rank 2 on h1 was killed by signal 11"));
    assert_string_equal(w->event.then, "h2 takes the place of h1");
    assert_non_null(strstr(w->said, "fault model: repeated; answer: migration, h2 takes the place of h1"));
    struct sk_message m = {.kind = SK_MSG_HELLO, .incarnation = 0, .rank = 3, .host = "h1"};
    sk_supervisor_heard(w->s, &m, w->now); /* it is heard again, and still no spare */
    w->silent_host = 2;
    crew_run(w, 6);
    static const int last[N] = {0, 0, 0, 0};
    assert_memory_equal(w->seat, last, sizeof last);
    assert_string_equal(w->event.model, "physical");
    crew_finish(w);
}

/* The program's own mistake moves the job once at most, and then ends it as it did without a spare. */
static void a_program_that_dies_everywhere_is_given_up(void **state)
{
    (void)state;
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    w->at.state = SK_KEEPER_INITIALISED;
    for (int i = 0; i < 20 && crew_exit_code(w) < 0; i++) {
        crew_exit(w, 3, SK_EXIT_CODE, 3, 0);
        crew_run(w, 8);
    }
    assert_int_equal(crew_exit_code(w), 3);
    assert_int_equal(w->starts, 6);
    assert_string_equal(w->event.answer, "given-up");
    assert_non_null(strstr(w->event.then, "run.no_progress"));
    crew_finish(w);
}

/* Whoever prints dies of it again; any other fault is one as ever. */
static void what_nobody_reads_is_given_up(void **state)
{
    static const struct {
        uint32_t how, code;
        int launcher, given_up;
    } cases[] = {{SK_EXIT_SIGNAL, SIGPIPE, 0, 1}, {SK_EXIT_SIGNAL, SIGTERM, 0, 1}, {0, 0, SIGPIPE, 1}, {SK_EXIT_SIGNAL, SIGSEGV, 0, 0}, {SK_EXIT_CODE, 3, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_supervisor_config c = crew_config();
        struct crew *w = crew_begin(&c);
        w->is_unread = 1;
        if (cases[i].launcher)
            sk_supervisor_launcher_ended(w->s, w->incarnation, cases[i].launcher, w->now);
        else
            crew_exit(w, 1, cases[i].how, cases[i].code, 0);
        crew_run(w, 8);
        assert_int_equal(crew_exit_code(w), cases[i].given_up ? 128 + SIGPIPE : -1);
        assert_int_equal(w->starts, cases[i].given_up ? 1 : 2);
        assert_true(!cases[i].given_up || strstr(w->event.then, "nobody reads its output"));
        crew_finish(w);
    }
}

/* On one node, and nobody has been heard yet. */
static struct crew *crew_before_all(void)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = calloc(1, sizeof *w);
    struct sk_hosts h = {0};
    assert_int_equal(sk_hosts_add(&h, "h0", 0, NULL), 0);
    w->now = 1000;
    w->silent_host = w->mute_host = -1;
    w->obeys = 1;
    w->at = (struct sk_progress){.complete_iteration = -1, .restored_iteration = -1, .state = SK_KEEPER_INITIALISED};
    w->s = sk_supervisor_new(&c, &crew_ops, w, &h, calloc(N, sizeof(int)));
    assert_non_null(w->s);
    sk_supervisor_start(w->s, w->now);
    return w;
}

/* The launcher of an MPI may die of it before any rank was heard. */
static void what_nobody_reads_is_given_up_at_the_beginning(void **state)
{
    (void)state;
    struct crew *w = crew_before_all();
    w->is_unread = 1;
    memset(w->alive, 0, sizeof w->alive);
    sk_supervisor_launcher_ended(w->s, w->incarnation, SIGPIPE, w->now);
    crew_run(w, 8);
    assert_int_equal(crew_exit_code(w), 128 + SIGPIPE);
    assert_non_null(strstr(w->event.then, "nobody reads its output"));
    crew_finish(w);
}

/* As long as it gets on, the only node is used for ever. */
static void a_single_node_is_never_left(void **state)
{
    (void)state;
    struct crew *w = crew_before_all();
    for (int i = 0; i < 10; i++) {
        w->at.complete_iteration += 10;
        w->at.complete_count = 1;
        crew_run(w, 1);
        crew_exit(w, 1, SK_EXIT_SIGNAL, SIGKILL, 0);
        crew_run(w, 1);
        assert_int_equal(w->starts, i + 2);
        assert_string_equal(w->event.answer, "restart");
    }
    assert_int_equal(crew_exit_code(w), -1);
    crew_finish(w);
}

/* With patience a silence is no loss; when it lasts for longer, it is one. */
static void a_slow_network_is_ignored_as_long_as_patience_lasts(void **state)
{
    (void)state;
    struct sk_supervisor_config c = crew_config();
    c.assess.network_patience_s = 15;
    struct crew *w = crew_begin(&c);
    w->silent_host = 1;
    crew_run(w, 10);
    assert_int_equal(w->starts, 1);
    assert_int_equal(w->kills, 0);
    assert_int_equal(w->events, 1); /* said once */
    assert_string_equal(w->event.model, "network");
    assert_string_equal(w->event.answer, "ignore");
    assert_true(sk_supervisor_next(w->s, w->now) >= w->now + 0.05); /* without turning in circles */
    w->silent_host = -1;
    crew_run(w, 2);
    assert_non_null(strstr(w->said, "all ranks are heard again"));
    assert_int_equal(w->starts, 1);
    w->silent_host = 1;
    crew_run(w, 20);
    assert_int_equal(w->starts, 2);
    assert_int_equal(w->events, 3);
    assert_string_equal(w->event.model, "physical");
    assert_string_equal(w->event.then, "h2 takes the place of h1");
    crew_finish(w);
}

/* A rank that dies while a silence is ignored is a fault as ever. */
static void a_death_counts_while_silence_is_ignored(void **state)
{
    (void)state;
    struct sk_supervisor_config c = crew_config();
    c.assess.network_patience_s = 15;
    struct crew *w = crew_begin(&c);
    w->silent_host = 1;
    crew_run(w, 8);
    crew_exit(w, 0, SK_EXIT_SIGNAL, SIGSEGV, 0);
    crew_run(w, 8);
    assert_int_equal(w->starts, 2);
    assert_string_equal(w->event.fault, "signal");
    assert_string_equal(w->event.model, "physical"); /* by then the node answers no more */
    crew_finish(w);
}

static void a_lost_node_may_be_awaited(void **state)
{
    (void)state;
    struct sk_supervisor_config c = crew_config();
    assert_int_equal(sk_recovery_parse("physical=restart", &c.assess.plan, NULL), 0);
    struct crew *w = crew_begin(&c);
    w->silent_host = 1;
    crew_run(w, 6);
    static const int want[N] = {0, 0, 1, 1};
    assert_int_equal(w->starts, 2);
    assert_memory_equal(w->seat, want, sizeof want);
    crew_finish(w);
}

/* A node's service says it of several ranks at once; each of them is told to end. */
static void whoever_only_lives_hears_that_the_start_is_over(void **state)
{
    (void)state;
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin(&c);
    struct sk_message alive = {.kind = SK_MSG_ALIVE, .incarnation = w->incarnation, .number = N};
    sk_supervisor_heard(w->s, &alive, w->now);
    assert_int_equal(w->kills, 0);
    w->obeys = 0;
    crew_exit(w, 1, SK_EXIT_SIGNAL, SIGSEGV, 0);
    sk_supervisor_tick(w->s, w->now);
    int before = w->kills;
    assert_true(before > 0);
    sk_supervisor_heard(w->s, &alive, w->now);
    assert_int_equal(w->kills, before + N);
    crew_finish(w);
}

/* A host dies, and the MPI's launcher kills the keepers on all others without a word. */
static void a_lost_host_that_takes_the_others_along(void **state)
{
    struct sk_supervisor_config c = crew_config();
    struct crew *w = crew_begin_with_library(&c);
    for (int r = 0; r < N; r++)
        w->alive[r] = 0;
    w->mute_host = 1;
    crew_run(w, 20);
    assert_int_equal(w->starts, 2);
    assert_string_equal(w->event.node, "h1");
    assert_string_equal(w->event.answer, "migration");
    static const int seat[N] = {0, 0, 2, 2};
    assert_memory_equal(w->seat, seat, sizeof seat);
    crew_finish(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_host_that_takes_the_others_along),
        cmocka_unit_test(a_node_whose_process_dies_three_times_is_not_used_again),
        cmocka_unit_test(a_program_that_dies_everywhere_is_given_up),
        cmocka_unit_test(what_nobody_reads_is_given_up),
        cmocka_unit_test(what_nobody_reads_is_given_up_at_the_beginning),
        cmocka_unit_test(a_single_node_is_never_left),
        cmocka_unit_test(a_slow_network_is_ignored_as_long_as_patience_lasts),
        cmocka_unit_test(a_death_counts_while_silence_is_ignored),
        cmocka_unit_test(a_lost_node_may_be_awaited),
        cmocka_unit_test(whoever_only_lives_hears_that_the_start_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
