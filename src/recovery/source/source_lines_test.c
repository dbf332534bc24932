/* What health checks and scontrol print, as it is read. */
#include "recovery/source/health_line.h"
#include "recovery/source/slurm_node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static int line(const char *text, struct saikai_event *e, struct saikai_error *err)
{
    *err = (struct saikai_error){0};
    return sk_health_line(text, strlen(text), e, err);
}

static void events_are_read(void **state)
{
    struct saikai_event e;
    struct saikai_error err;
    (void)state;
    assert_int_equal(line("event warning fan-slow fan=3 'where=rear left'", &e, &err), 1);
    assert_string_equal(e.space, "hw");
    assert_string_equal(e.name, "fan-slow");
    assert_int_equal(e.severity, SAIKAI_EVENT_WARNING);
    assert_string_equal(sk_event_field(&e, "fan"), "3");
    assert_string_equal(sk_event_field(&e, "where"), "rear left");
    assert_int_equal(line("event fatal mw.disk-gone", &e, &err), 1);
    assert_string_equal(e.space, "mw");
    assert_int_equal(line("event info app.x.y deadline=60", &e, &err), 1);
    assert_string_equal(e.name, "x.y");
    assert_true(e.deadline_ms > 0);
    const char *const none[] = {"", "event", "events warning x", "all is well", " event warning x"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(line(none[i], &e, &err), 0);
    const char *const wrong[] = {"event warning", "event loud x", "event warning X", "event warning x =1", "event warning 'x", "event info x a=1 a=2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(line(wrong[i], &e, &err), SAIKAI_EINVAL);
        assert_true(*err.text != 0);
    }
    assert_int_equal(sk_health_line("event info a\0b", 14, &e, &err), SAIKAI_EINVAL);
}

static int code(const char *text, size_t left)
{
    size_t n = strlen(text);
    int c = sk_health_exit(text, &n);
    assert_int_equal(n, c < 0 ? strlen(text) : left);
    return c;
}

static void exit_codes_are_read(void **state)
{
    (void)state;
    assert_int_equal(code("saikai-exit 0\n", 0), 0);
    assert_int_equal(code("a\nsaikai-exit 17\n", 2), 17);
    assert_int_equal(code("a\nsaikai-exit 255", 2), 255);
    assert_int_equal(code("", 0), -1);
    assert_int_equal(code("saikai-exit \n", 0), -1);
    assert_int_equal(code("saikai-exit 1234\n", 0), -1);
    assert_int_equal(code("saikai-exit 1x\n", 0), -1);
    assert_int_equal(code("saikai-exit 0\nConnection closed\n", 0), -1);
}

static void the_last_words_are_for_people(void **state)
{
    char words[32];
    (void)state;
    const char text[] = "first\nthe fan\tstands\nevent warning fan\n\n  \n";
    sk_health_words(text, strlen(text), words, sizeof words);
    assert_string_equal(words, "the fan stands");
    sk_health_words("", 0, words, sizeof words);
    assert_string_equal(words, "");
    sk_health_words("0123456789012345678901234567890123456789", 40, words, sizeof words);
    assert_int_equal(strlen(words), 31);
}

static struct sk_slurm_node node(const char *text)
{
    struct sk_slurm_node n;
    assert_int_equal(sk_slurm_node_parse(text, strlen(text), &n), 1);
    return n;
}

static void nodes_are_read(void **state)
{
    (void)state;
    struct sk_slurm_node n = node("NodeName=n1 Arch=x86_64 CPUTot=4 State=ALLOCATED ThreadsPerCore=1 Reason=none");
    assert_string_equal(n.name, "n1");
    assert_string_equal(n.states, "");
    assert_int_equal(n.severity, 0);
    n = node("NodeName=n2 State=MIXED+DRAIN Partitions=a BootTime=x Reason=Low memory a=1 b [root@2026-01-02T03:04:05] Comment=none");
    assert_string_equal(n.states, "DRAIN");
    assert_int_equal(n.severity, SAIKAI_EVENT_WARNING);
    assert_int_equal(n.unwell, 0);
    assert_string_equal(n.reason, "Low memory");
    n = node("NodeName=n3 State=DOWN*+DRAIN Reason=Not responding [slurm@x]");
    assert_string_equal(n.states, "DOWN+NOT_RESPONDING+DRAIN");
    assert_int_equal(n.severity, SAIKAI_EVENT_ERROR);
    assert_int_equal(n.unwell, 1);
    assert_string_equal(n.reason, "Not responding [slurm@x]");
    n = node("NodeName=n4 State=ALLOCATED+FAIL");
    assert_int_equal(n.unwell, 1);
    n = node("NodeName=n5 NextState=DOWN State=IDLE+PLANNED");
    assert_string_equal(n.states, "");
    n = node("NodeName=n6 State=ALLOCATED$");
    assert_string_equal(n.states, "MAINT");
    struct sk_slurm_node none;
    const char *const bad[] = {"", "Node n1 not found", "NodeName=n1", "State=DOWN", "NodeName= State=DOWN"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sk_slurm_node_parse(bad[i], strlen(bad[i]), &none), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_read),
        cmocka_unit_test(exit_codes_are_read),
        cmocka_unit_test(the_last_words_are_for_people),
        cmocka_unit_test(nodes_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
