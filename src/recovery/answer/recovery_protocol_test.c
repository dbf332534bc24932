/* Recovery protocols: what those that are built in answer, how an answer that cannot be is found, and what a job does about the answers of
 * one that a component brings. */
#include "recovery/answer/treat.h"
#include "recovery/supervisor_testing.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* ---- one that does as the test says ---- */

static struct saikai_treatment want[N];
static int fails, asked;
static uint32_t n_lost;
static struct saikai_lost_process first;
static char model[32];

static int as_told(const struct saikai_loss *loss, struct saikai_treatment *each, char *why, size_t why_cap)
{
    asked++;
    n_lost = loss->n_lost;
    first = loss->lost[0];
    snprintf(model, sizeof model, "%s", loss->model);
    snprintf(why, why_cap, "%s", fails ? "no idea" : "of the moon");
    memcpy(each, want, loss->n_lost * sizeof *each);
    return fails;
}

static void load(void)
{
    static const struct saikai_recovery_protocol_ops ops = {
        1u << SAIKAI_ANSWER_IGNORE | 1u << SAIKAI_ANSWER_RESTART | 1u << SAIKAI_ANSWER_MIGRATION | 1u << SAIKAI_ANSWER_IN_PLACE, as_told};
    static const struct saikai_component told = {SAIKAI_COMPONENT_ABI, sizeof told, SAIKAI_KIND_RECOVERY_PROTOCOL, "told", "as told", &ops, sizeof ops};
    if (sk_kind_form(&sk_recovery_protocol_kind, "told") < 0)
        sk_recovery_protocol_kind.add(&told, 0);
    for (int i = 0; i < N; i++)
        want[i] = (struct saikai_treatment){SAIKAI_ANSWER_RESTART, -1};
    fails = asked = 0;
}

static struct sk_supervisor_config with(const char *recovery)
{
    struct sk_supervisor_config c = crew_config();
    load();
    assert_int_equal(sk_recovery_parse(recovery, &c.assess.plan, NULL), 0);
    return c;
}

static struct crew *begin(void)
{
    struct sk_supervisor_config c = with("physical, process=told");
    return crew_begin_with_library(&c);
}

static void die(struct crew *w, int rank)
{
    crew_exit(w, rank, SK_EXIT_SIGNAL, SIGSEGV, 0);
    crew_run(w, 5);
}

/* ---- the table ---- */

static int built_in(int form, uint32_t of, uint32_t n_nodes)
{
    struct saikai_node nodes[2] = {{.name = "a", .ranks = 2}, {.name = "b"}};
    struct saikai_fault f = {.size_bytes = sizeof f, .of = of, .kind = "signal"};
    struct saikai_fault_view v = {.size_bytes = sizeof v, .n_nodes = n_nodes, .nodes = nodes};
    struct saikai_lost_process lost[2] = {{.rank = 0, .twin = 1, .in_place = 1}, {.rank = 1, .twin = 1, .in_place = 1}};
    int32_t room[2] = {-1, -1};
    struct saikai_loss loss = {sizeof loss, 2, lost, &f, &v, room, "process"};
    struct saikai_treatment each[2];
    struct sk_treated t;
    sk_treat(sk_recovery_protocol_at(form), &loss, "", each, &t);
    assert_string_equal(t.said, "");
    assert_int_equal(each[0].answer, t.answer);
    assert_int_equal(each[1].answer, t.answer);
    return t.answer;
}

static void those_that_are_built_in(void **state)
{
    (void)state;
    assert_int_equal(built_in(SAIKAI_ANSWER_IGNORE, SAIKAI_FAULT_OF_NODE | SAIKAI_FAULT_SILENCE, 2), SAIKAI_ANSWER_IGNORE);
    assert_int_equal(built_in(SAIKAI_ANSWER_IGNORE, SAIKAI_FAULT_OF_PROCESS, 2), SAIKAI_ANSWER_RESTART); /* the dead stay dead */
    assert_int_equal(built_in(SAIKAI_ANSWER_RESTART, SAIKAI_FAULT_OF_NODE, 2), SAIKAI_ANSWER_RESTART);
    assert_int_equal(built_in(SAIKAI_ANSWER_MIGRATION, SAIKAI_FAULT_OF_PROCESS, 2), SAIKAI_ANSWER_MIGRATION);
    assert_int_equal(built_in(SAIKAI_ANSWER_MIGRATION, SAIKAI_FAULT_OF_NODE, 1), SAIKAI_ANSWER_RESTART); /* there is no other node */
    assert_int_equal(built_in(SAIKAI_ANSWER_IN_PLACE, SAIKAI_FAULT_OF_PROCESS, 1), SAIKAI_ANSWER_IN_PLACE);
    assert_int_equal(built_in(SAIKAI_ANSWER_IN_PLACE, SAIKAI_FAULT_OF_NODE, 2), SAIKAI_ANSWER_RESTART); /* a process alone is made again */
    assert_int_equal(built_in(SAIKAI_ANSWER_TRANSFER, SAIKAI_FAULT_OF_PROCESS, 1), SAIKAI_ANSWER_TRANSFER);
    assert_int_equal(built_in(SAIKAI_ANSWER_TRANSFER, SAIKAI_FAULT_OF_NODE, 2), SAIKAI_ANSWER_TRANSFER); /* each of its processes has one */
    assert_string_equal(sk_answer_name(SAIKAI_ANSWER_TRANSFER), "twin");
    assert_string_equal(sk_answer_name(SK_N_ANSWERS), "?");
}

static void a_plan_knows_what_a_component_may_answer(void **state)
{
    (void)state;
    struct sk_supervisor_config c = with("process=told");
    assert_true(sk_recovery_has(&c.assess.plan, SAIKAI_ANSWER_IN_PLACE));
    assert_false(sk_recovery_has(&c.assess.plan, SAIKAI_ANSWER_TRANSFER));
    c = with("physical, process");
    assert_false(sk_recovery_has(&c.assess.plan, SAIKAI_ANSWER_IN_PLACE));
}

/* ---- what a job makes of an answer ---- */

static void a_process_goes_to_another_node_alone(void **state)
{
    (void)state;
    struct crew *w = begin();
    want[0] = (struct saikai_treatment){SAIKAI_ANSWER_MIGRATION, 2};
    die(w, 1);
    assert_int_equal(w->starts, 2);
    assert_int_equal(n_lost, 1);
    assert_int_equal(first.rank, 1);
    assert_int_equal(first.node, 0);
    assert_int_equal(first.in_place, 0);
    assert_string_equal(model, "process");
    assert_int_equal(w->seat[0], 0);
    assert_int_equal(w->seat[1], 2);
    assert_int_equal(w->seat[2], 1);
    assert_string_equal(w->event.answer, "migration");
    assert_string_equal(w->event.then, "as recovery protocol told says: of the moon; rank 1 goes to h2");
    want[0].node = 2; /* and the other one follows: a host that all have left is a spare */
    w->at.complete_iteration = 60;
    crew_run(w, 1);
    die(w, 0);
    assert_int_equal(w->seat[0], 2);
    w->at.complete_iteration = 80;
    crew_run(w, 1);
    want[0].node = 0;
    die(w, 2);
    assert_int_equal(w->starts, 4);
    assert_int_equal(w->seat[2], 0);
    crew_finish(w);
}

static void all_that_a_node_takes_are_lost(void **state)
{
    (void)state;
    struct sk_supervisor_config c = with("physical=told, process");
    struct crew *w = crew_begin_with_library(&c);
    want[0] = (struct saikai_treatment){SAIKAI_ANSWER_MIGRATION, 2};
    want[1] = (struct saikai_treatment){SAIKAI_ANSWER_MIGRATION, 2};
    w->silent_host = 1;
    crew_run(w, 12);
    assert_int_equal(w->starts, 2);
    assert_int_equal(n_lost, 2);
    assert_int_equal(first.rank, 2);
    assert_int_equal(w->seat[0], 0);
    assert_int_equal(w->seat[1], 0);
    assert_int_equal(w->seat[2], 2);
    assert_int_equal(w->seat[3], 2);
    assert_string_equal(w->event.then, "as recovery protocol told says: of the moon; rank 2 goes to h2; rank 3 goes to h2");
    crew_finish(w);
}

/* In each case the job is started again where it was, and it is said why. */
static void refuses(struct saikai_treatment answer, const char *why)
{
    struct crew *w = begin();
    want[0] = answer;
    die(w, 1);
    assert_int_equal(w->starts, 2);
    assert_string_equal(w->event.answer, "restart");
    assert_non_null(strstr(w->event.then, "as recovery protocol told cannot decide: "));
    if (!strstr(w->event.then, why))
        print_error("%s\n", w->event.then);
    assert_non_null(strstr(w->event.then, why));
    for (int r = 0; r < N; r++)
        assert_int_equal(w->seat[r], r / 2);
    crew_finish(w);
}

static void what_cannot_be_is_a_restart(void **state)
{
    (void)state;
    refuses((struct saikai_treatment){SAIKAI_ANSWER_MIGRATION, 3}, "rank 1 was to go to node 3, and the job has 3 nodes");
    refuses((struct saikai_treatment){SAIKAI_ANSWER_MIGRATION, -2}, "rank 1 was to go to node -2");
    refuses((struct saikai_treatment){SAIKAI_ANSWER_MIGRATION, 0}, "rank 1 was to go to h0, where it was");
    refuses((struct saikai_treatment){SAIKAI_ANSWER_MIGRATION, 1}, "1 of them were to go to h1, which has room for 0");
    refuses((struct saikai_treatment){SAIKAI_ANSWER_IGNORE, -1}, "rank 1 is dead, and only silence can be ignored");
    refuses((struct saikai_treatment){SAIKAI_ANSWER_IN_PLACE, -1}, "not in place: there is no layer for it");
    refuses((struct saikai_treatment){SAIKAI_ANSWER_TRANSFER, -1}, "'twin', for rank 1, is not among the answers that it may give");
    refuses((struct saikai_treatment){17, -1}, "17, for rank 1, is no answer");
}

static void a_node_that_is_down_is_no_place_to_go(void **state)
{
    (void)state;
    struct sk_supervisor_config c = with("process=told, physical");
    struct crew *w = crew_begin_with_library(&c);
    want[0] = (struct saikai_treatment){SAIKAI_ANSWER_MIGRATION, 2};
    w->mute_host = 2; /* it answered at first */
    die(w, 1);
    assert_int_equal(w->starts, 2);
    assert_non_null(strstr(w->event.then, "rank 1 was to go to h2, which is down"));
    assert_string_equal(w->event.answer, "migration"); /* as a node is down: without the spare */
    assert_int_equal(w->seat[1], 0);
    crew_finish(w);
}

static void one_that_fails(void **state)
{
    (void)state;
    struct crew *w = begin();
    fails = -1;
    die(w, 1);
    assert_int_equal(w->starts, 2);
    assert_string_equal(w->event.answer, "restart");
    assert_string_equal(w->event.then, "as recovery protocol told cannot decide: no idea");
    crew_finish(w);
}

static void silence_is_ignored_where_it_says_so(void **state)
{
    (void)state;
    struct sk_supervisor_config c = with("physical=told, process");
    struct crew *w = crew_begin_with_library(&c);
    want[0].answer = want[1].answer = SAIKAI_ANSWER_IGNORE;
    w->silent_host = 1;
    crew_run(w, 10);
    assert_int_equal(w->starts, 1);
    assert_int_equal(w->kills, 0);
    assert_int_equal(w->events, 1);
    assert_string_equal(w->event.answer, "ignore");
    assert_string_equal(w->event.then, "as recovery protocol told says: of the moon");
    want[0].answer = SAIKAI_ANSWER_MIGRATION; /* one of them is enough */
    crew_run(w, 12);
    assert_int_equal(w->starts, 2);
    crew_finish(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_are_built_in),
        cmocka_unit_test(a_plan_knows_what_a_component_may_answer),
        cmocka_unit_test(a_process_goes_to_another_node_alone),
        cmocka_unit_test(all_that_a_node_takes_are_lost),
        cmocka_unit_test(what_cannot_be_is_a_restart),
        cmocka_unit_test(a_node_that_is_down_is_no_place_to_go),
        cmocka_unit_test(one_that_fails),
        cmocka_unit_test(silence_is_ignored_where_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
