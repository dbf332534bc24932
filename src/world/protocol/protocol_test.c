/* The table of parallel FT protocols: what those that are built in need, and one of a component that contradicts itself. */
#include "world/protocol/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static const struct sk_protocol_ops *named(const char *name)
{
    const struct sk_protocol_ops *p = NULL;
    struct saikai_error err = {0};
    if (sk_protocol_find(name, &p, &err))
        fail_msg("%s", err.text);
    return p;
}

static void those_that_are_built_in(void **state)
{
    (void)state;
    assert_string_equal(named("")->name, "coordinated");
    for (int i = 0; sk_protocol_at(i); i++) {
        assert_ptr_equal(named(sk_protocol_at(i)->name), sk_protocol_at(i));
        assert_false(sk_protocol_has_hooks(sk_protocol_at(i)));
    }
    assert_int_equal(named("coordinated")->ops.goes_back, SAIKAI_BACK_ALL);
    assert_true(sk_protocol_needs(named("coordinated"), SAIKAI_NEEDS_LAYER | SAIKAI_NEEDS_CHECKPOINTS));
    assert_false(sk_protocol_needs(named("coordinated"), SAIKAI_NEEDS_LOG));
    assert_int_equal(named("logging")->ops.goes_back, SAIKAI_BACK_LOST);
    assert_true(sk_protocol_needs(named("logging"), SAIKAI_NEEDS_LOG));
    assert_int_equal(named("replication")->ops.goes_back, SAIKAI_BACK_NOBODY);
    assert_true(sk_protocol_needs(named("replication"), SAIKAI_NEEDS_TWINS));
    assert_false(sk_protocol_needs(named("replication"), SAIKAI_NEEDS_CHECKPOINTS));
    assert_false(sk_protocol_needs(named("none"), SAIKAI_NEEDS_LAYER));
}

static void begin(const struct saikai_world *w)
{
    (void)w;
}

static void contradictions(void **state)
{
    (void)state;
    static const struct {
        struct saikai_parallel_protocol_ops ops;
        const char *wrong; /* NULL: nothing */
    } of[] = {
        {{.needs = SAIKAI_NEEDS_LAYER, .begin = begin}, NULL},
        {{.needs = SAIKAI_NEEDS_LAYER | SAIKAI_NEEDS_LOG, .goes_back = SAIKAI_BACK_LOST}, NULL},
        {{.needs = 0}, NULL},
        {{.needs = 0, .begin = begin}, "needs SAIKAI_NEEDS_LAYER"},
        {{.needs = SAIKAI_NEEDS_LAYER, .goes_back = SAIKAI_BACK_LOST}, "the lost with _LOG"},
        {{.needs = SAIKAI_NEEDS_LAYER | SAIKAI_NEEDS_TWINS}, "nobody with _TWINS"},
        {{.needs = SAIKAI_NEEDS_TWINS, .goes_back = SAIKAI_BACK_NOBODY}, "needs SAIKAI_NEEDS_LAYER"},
        {{.goes_back = 3}, "none of SAIKAI_BACK_ALL"},
    };
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct saikai_component c = {SAIKAI_COMPONENT_ABI, sizeof c, SAIKAI_KIND_PARALLEL_PROTOCOL, names[i], "", &of[i].ops, sizeof of[i].ops};
        const struct sk_protocol_ops *p = NULL;
        struct saikai_error err = {0};
        sk_protocol_kind.add(&c, (int)i);
        assert_int_equal(sk_protocol_find(names[i], &p, &err), of[i].wrong ? SAIKAI_ECONFIG : 0);
        assert_true(of[i].wrong ? !p && strstr(err.text, of[i].wrong) != NULL : p && !strcmp(p->name, names[i]));
    }
}

static void a_word_that_is_none(void **state)
{
    (void)state;
    const struct sk_protocol_ops *p = NULL;
    struct saikai_error err = {0};
    assert_int_equal(sk_protocol_find("prayer", &p, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "run.protocol: unknown parallel FT protocol 'prayer': coordinated, logging, replication"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_that_are_built_in),
        cmocka_unit_test(contradictions),
        cmocka_unit_test(a_word_that_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
