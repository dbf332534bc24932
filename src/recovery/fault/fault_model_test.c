/* Fault models: what each takes a fault for, their order, and the words of run.recovery. */
#include "recovery/fault/fault_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { HOUR = 3600 };

static struct saikai_node nodes[3];

static struct saikai_fault process(int node, double at)
{
    return (struct saikai_fault){sizeof(struct saikai_fault), SAIKAI_FAULT_OF_PROCESS, "signal", 1, node, 9, 0, at};
}

static struct saikai_fault silence(double seconds)
{
    return (struct saikai_fault){sizeof(struct saikai_fault), SAIKAI_FAULT_OF_NODE | SAIKAI_FAULT_SILENCE, "lost-node", 1, 1, 0, seconds, 0};
}

static struct saikai_fault_view view(const struct saikai_fault *past, uint32_t n)
{
    memset(nodes, 0, sizeof nodes);
    nodes[2].state = SAIKAI_NODE_SPARE;
    return (struct saikai_fault_view){sizeof(struct saikai_fault_view), 3, n, nodes, past, 1, 3, HOUR, 0};
}

static const char *taken_for(const char *plan, struct saikai_fault f, const struct saikai_fault_view *v, int answer)
{
    struct sk_recovery_plan p;
    int got = -1;
    assert_int_equal(sk_recovery_parse(plan, &p, NULL), 0);
    const struct sk_fault_model_ops *m = sk_recovery_choose(&p, &f, v, &got);
    assert_int_equal(got, answer);
    return m ? m->name : "none";
}

static void the_usual_models(void **state)
{
    (void)state;
    struct saikai_fault_view v = view(NULL, 0);
    assert_string_equal(taken_for("", process(1, 0), &v, SAIKAI_ANSWER_RESTART), "process");
    assert_string_equal(taken_for(NULL, silence(5), &v, SAIKAI_ANSWER_MIGRATION), "physical");
    nodes[0].down = 1; /* another node than that of the fault */
    assert_string_equal(taken_for("", process(1, 0), &v, SAIKAI_ANSWER_MIGRATION), "physical");
    nodes[0].state = SAIKAI_NODE_LOST; /* long known */
    assert_string_equal(taken_for("", process(1, 0), &v, SAIKAI_ANSWER_RESTART), "process");
}

static void silence_is_the_networks_as_long_as_patience_lasts(void **state)
{
    (void)state;
    struct saikai_fault_view v = view(NULL, 0);
    v.network_patience_s = 10;
    assert_string_equal(taken_for("", silence(9.9), &v, SAIKAI_ANSWER_IGNORE), "network");
    assert_string_equal(taken_for("", silence(10), &v, SAIKAI_ANSWER_MIGRATION), "physical");
    assert_string_equal(taken_for("physical, network", silence(5), &v, SAIKAI_ANSWER_MIGRATION), "physical");
    assert_string_equal(taken_for("network = restart", silence(5), &v, SAIKAI_ANSWER_RESTART), "network");
    assert_string_equal(taken_for("network", process(1, 0), &v, SAIKAI_ANSWER_RESTART), "none");
}

static void a_node_whose_processes_die_again_and_again_is_broken(void **state)
{
    (void)state;
    struct saikai_fault past[] = {process(1, 100), process(1, 200)};
    struct saikai_fault_view v = view(past, 2);
    assert_string_equal(taken_for("", process(1, 300), &v, SAIKAI_ANSWER_MIGRATION), "repeated");
    assert_string_equal(taken_for("", process(1, 100 + HOUR + 1), &v, SAIKAI_ANSWER_RESTART), "process"); /* the first is too old */
    assert_string_equal(taken_for("", process(1, 100 + HOUR), &v, SAIKAI_ANSWER_MIGRATION), "repeated");
    assert_string_equal(taken_for("", process(0, 300), &v, SAIKAI_ANSWER_RESTART), "process"); /* of another node */
    assert_string_equal(taken_for("", process(-1, 300), &v, SAIKAI_ANSWER_RESTART), "process"); /* of none alone */
    v.spares = 0; /* nothing better is there */
    assert_string_equal(taken_for("", process(1, 300), &v, SAIKAI_ANSWER_RESTART), "process");
    v.spares = 1;
    v.repeated_faults = 0;
    assert_string_equal(taken_for("", process(1, 300), &v, SAIKAI_ANSWER_RESTART), "process");
    v.repeated_faults = 4;
    assert_string_equal(taken_for("", process(1, 300), &v, SAIKAI_ANSWER_RESTART), "process");
    v.repeated_faults = 3;
    past[0].node = 0; /* the program's own affair: it dies here and there */
    assert_string_equal(taken_for("", process(1, 300), &v, SAIKAI_ANSWER_RESTART), "process");
    past[0].node = 1;
    past[0].of = SAIKAI_FAULT_OF_NODE; /* that was no process */
    assert_string_equal(taken_for("", process(1, 300), &v, SAIKAI_ANSWER_RESTART), "process");
}

static void answers_may_be_others(void **state)
{
    (void)state;
    struct saikai_fault_view v = view(NULL, 0);
    assert_string_equal(taken_for("process=migration", process(1, 0), &v, SAIKAI_ANSWER_MIGRATION), "process");
    assert_string_equal(taken_for("physical=restart,process", silence(5), &v, SAIKAI_ANSWER_RESTART), "physical");
    assert_string_equal(taken_for("process=ignore", process(1, 0), &v, SAIKAI_ANSWER_IGNORE), "process"); /* what can be is the protocol's affair */
    assert_string_equal(taken_for("process=in-place", process(1, 0), &v, SAIKAI_ANSWER_IN_PLACE), "process");
    assert_string_equal(taken_for("physical=in-place", silence(5), &v, SAIKAI_ANSWER_IN_PLACE), "physical");
    assert_string_equal(taken_for("process=in-place", silence(5), &v, SAIKAI_ANSWER_MIGRATION), "physical"); /* a start on a host that is gone is none */
    nodes[0].down = 1;
    assert_string_equal(taken_for("network, process=in-place", process(1, 0), &v, SAIKAI_ANSWER_MIGRATION), "physical");
    assert_string_equal(taken_for("process=in-place, physical", process(1, 0), &v, SAIKAI_ANSWER_IN_PLACE), "process");
    nodes[0].down = 0;
    assert_string_equal(taken_for("process=in-place, physical=restart", silence(5), &v, SAIKAI_ANSWER_RESTART), "physical");
}

static void wrong_words_are_named(void **state)
{
    (void)state;
    struct sk_recovery_plan p = {.n = 7};
    struct saikai_error err = {0};
    assert_int_equal(sk_recovery_parse("process, weather", &p, &err), SAIKAI_ECONFIG);
    assert_int_equal(err.code, SAIKAI_ECONFIG);
    assert_string_equal(err.text, "run.recovery: unknown fault model 'weather': network, physical, repeated or process");
    assert_int_equal(sk_recovery_parse("process=pray", &p, &err), SAIKAI_ECONFIG);
    assert_string_equal(err.text, "run.recovery: unknown recovery protocol 'pray': ignore, restart, migration, in-place or twin");
    assert_int_equal(p.n, 7);
    assert_int_equal(sk_recovery_parse("process,process,process,process,process,process,process,process,process,process,process,process,"
                                       "process,process,process,process,process", &p, &err), SAIKAI_ECONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_usual_models),
        cmocka_unit_test(silence_is_the_networks_as_long_as_patience_lasts),
        cmocka_unit_test(a_node_whose_processes_die_again_and_again_is_broken),
        cmocka_unit_test(answers_may_be_others),
        cmocka_unit_test(wrong_words_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
