/* Events: their limits, their line, and filters. */
#include "store/event/event.h"

#include "base/hash.h"
#include "store/event/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

static struct saikai_event example(void)
{
    struct saikai_event e;
    assert_int_equal(sk_event_begin(&e, "mw.fault", SAIKAI_EVENT_ERROR, NULL), 0);
    e.time_ms = 1700000000123;
    e.rank = 3;
    strcpy(e.host, "n\"1\\");
    strcpy(e.job, "heat");
    assert_int_equal(sk_event_take(&e, "kind=process", NULL), 0);
    assert_int_equal(sk_event_take(&e, "what=a \"b\"\n\tc\x01 ä = €", NULL), 0);
    assert_int_equal(sk_event_take(&e, "empty=", NULL), 0);
    assert_int_equal(sk_event_take(&e, "deadline=2min", NULL), 0);
    return e;
}

static void a_line_is_read_as_it_was_printed(void **state)
{
    (void)state;
    struct saikai_event e = example(), back;
    struct sk_buf line = {0};
    assert_int_equal(e.deadline_ms, 1700000120123);
    assert_string_equal(sk_event_field(&e, "what"), "a \"b\"\n\tc\x01 ä = €");
    assert_null(sk_event_field(&e, "deadline"));
    assert_int_equal(sk_event_print(&e, &line, NULL), 0);
    assert_int_equal(line.data[line.len - 1], '\n');
    assert_null(memchr(line.data, '\n', line.len - 1));
    assert_int_equal(sk_event_parse((const char *)line.data, line.len - 1, &back), 0);
    assert_memory_equal(&e, &back, sizeof e);
    /* the format, as programs read it */
    sk_buf_put_u8(&line, 0);
    assert_non_null(strstr((const char *)line.data, "{\"version\":1,\"time_ms\":1700000000123,\"space\":\"mw\",\"name\":\"fault\",\"severity\":\"error\","
                                                    "\"job\":\"heat\",\"host\":\"n\\\"1\\\\\",\"rank\":3,\"deadline_ms\":1700000120123,\"fields\":{\"kind\":\"process\","));
    sk_buf_free(&line);
}

static void every_cut_and_every_changed_byte_is_seen(void **state)
{
    (void)state;
    struct saikai_event e = example(), back;
    struct sk_buf line = {0};
    assert_int_equal(sk_event_print(&e, &line, NULL), 0);
    for (size_t n = 0; n < line.len - 1; n++)
        assert_int_equal(sk_event_parse((const char *)line.data, n, &back), SAIKAI_EDAMAGED);
    for (size_t i = 0; i < line.len - 1; i++) {
        line.data[i] ^= 1;
        assert_int_equal(sk_event_parse((const char *)line.data, line.len - 1, &back), SAIKAI_EDAMAGED);
        line.data[i] ^= 1;
    }
    sk_buf_free(&line);
}

#define HEAD "{\"version\":1,\"time_ms\":5,\"space\":\"mw\",\"name\":\"fault\",\"severity\":\"error\",\"job\":\"heat\",\"host\":\"n1\",\"rank\":3,\"deadline_ms\":7,\"fields\":"

/* The line of this object, with a right checksum; `from` in it becomes `to`. */
static int parse(const char *object, const char *from, const char *to, struct saikai_event *e)
{
    char line[SK_EVENT_LINE + 64];
    const char *at = strstr(object, from);
    assert_non_null(at);
    int n = snprintf(line, sizeof line, "%.*s%s%s", (int)(at - object), object, to, at + strlen(from));
    snprintf(line + n, sizeof line - (size_t)n, " %016llx", (unsigned long long)sk_hash64(line, (size_t)n));
    return sk_event_parse(line, strlen(line), e);
}

/* Lines that somebody else wrote: their checksum is right, and they are none all the same. */
static void what_is_no_event(void **state)
{
    (void)state;
    static const char object[] = HEAD "{\"k\":\"v\",\"l\":\"w\"}}";
    struct saikai_event e;
    char name[80], key[60], value[SAIKAI_EVENT_VALUE + 20];
    static const struct {
        const char *from, *to;
        int good;
    } cases[] = {
        {"\"v\"", "\"v\"", 1}, {":1,", ":2,", 0}, {"\"version\"", "\"Version\"", 0},
        {":5,", ":0,", 1}, {":5,", ":-1,", 0}, {":5,", ":2305843009213693951,", 1}, {":5,", ":2305843009213693952,", 0}, {":5,", ":5x,", 0}, {":5,", ":,", 0},
        {":5,", ":5-,", 0}, {":5,", ":99999999999999999999,", 0},
        {"\"mw\"", "\"hw\"", 1}, {"\"mw\"", "\"mv\"", 0}, {"\"mw\"", "\"\"", 0}, {"fault", "Fault", 0}, {"fault", "", 0}, {"error", "bad", 0},
        {":3,", ":-1,", 1}, {":3,", ":-2,", 0}, {":3,", ":2147483647,", 1}, {":3,", ":2147483648,", 0}, {":7,", ":0,", 1}, {":7,", ":-1,", 0},
        {"heat", "h\\\"e\\\\a\\n\\tt", 1}, {"heat", "h\\u001fe\\u007f", 1}, {"heat", "h\\u0020", 0}, {"heat", "h\\u0041", 0}, {"heat", "h\\u0000", 0},
        {"heat", "h\\u00g1", 0}, {"heat", "h\\u001g", 0}, {"heat", "h\\u1001", 0}, {"heat", "h\\x", 0}, {"heat", "h\\", 0}, {"heat", "h\n", 0}, {"heat", "h\x7f", 0},
        {"heat", "h\xc3\xa4", 1}, {"heat", "h\xc3", 0}, {"heat", "h\xff", 0}, {"heat", "h\xe2\x82\xac\xf0\x9f\x8e\x88", 1},
        {",\"l\":\"w\"", "", 1}, {"\"k\":\"v\",\"l\":\"w\"", "", 1}, {"\"l\":", "\"k\":", 0}, {",\"l\"", "\"l\"", 0}, {"\"l\":\"w\"", "\"l\":\"w\",", 0},
        {"\"k\":\"v\"", ",\"k\":\"v\"", 0}, {"\"l\":\"w\"", "\"rank\":\"w\"", 0}, {"\"l\":\"w\"", "\"l\":5", 0}, {"}}", "}} ", 0}, {"}}", "}", 0}, {"}}", "}}}", 0},
        {",\"fields\"", ", \"fields\"", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rc = parse(object, cases[i].from, cases[i].to, &e);
        if (rc != (cases[i].good ? 0 : SAIKAI_EDAMAGED))
            fail_msg("'%s' as '%s': %d", cases[i].from, cases[i].to, rc);
    }
    assert_int_equal(parse(object, "heat", "h\\\"e\\\\a\\n\\tt\\u001f", &e), 0);
    assert_string_equal(e.job, "h\"e\\a\n\tt\x1f");
    assert_true(e.time_ms == 5 && e.rank == 3 && e.deadline_ms == 7 && e.severity == SAIKAI_EVENT_ERROR && e.n_fields == 2);
    assert_string_equal(sk_event_field(&e, "l"), "w");
    /* as long as each may be, and longer by one */
    memset(name, 'n', sizeof name);
    name[sizeof e.name - 1] = 0;
    assert_int_equal(parse(object, "fault", name, &e), 0);
    assert_string_equal(e.name, name);
    name[sizeof e.name - 1] = 'n';
    name[sizeof e.name] = 0;
    assert_int_equal(parse(object, "fault", name, &e), SAIKAI_EDAMAGED);
    memset(key, 'k', sizeof key);
    key[SAIKAI_EVENT_KEY - 1] = 0;
    assert_int_equal(parse(HEAD "{\"~\":\"w\"}}", "~", key, &e), 0);
    assert_string_equal(sk_event_field(&e, key), "w");
    key[SAIKAI_EVENT_KEY - 1] = 'k';
    key[SAIKAI_EVENT_KEY] = 0;
    assert_int_equal(parse(HEAD "{\"~\":\"w\"}}", "~", key, &e), SAIKAI_EDAMAGED);
    memset(value, 'v', sizeof value);
    value[SAIKAI_EVENT_VALUE - 1] = 0;
    assert_int_equal(parse(HEAD "{\"k\":\"_\"}}", "_\"}", value, &e), SAIKAI_EDAMAGED); /* it does not end */
    strcpy(value + SAIKAI_EVENT_VALUE - 1, "\"}");
    assert_int_equal(parse(HEAD "{\"k\":\"_\"}}", "_\"}", value, &e), 0);
    assert_int_equal(strlen(sk_event_field(&e, "k")), SAIKAI_EVENT_VALUE - 1);
    strcpy(value + SAIKAI_EVENT_VALUE - 1, "v\"}");
    assert_int_equal(parse(HEAD "{\"k\":\"_\"}}", "_\"}", value, &e), SAIKAI_EDAMAGED);
}

/* The longest line there is has as many bytes as a line may have, and is read. */
static void the_longest_line(void **state)
{
    (void)state;
    struct saikai_event e, back;
    struct sk_buf line = {0};
    char key[8], value[SAIKAI_EVENT_VALUE];
    int longest = 0, refused = 0;
    for (int last = 1; last < SAIKAI_EVENT_VALUE; last++) {
        struct saikai_error err = {0};
        assert_int_equal(sk_event_begin(&e, "a", SAIKAI_EVENT_INFO, NULL), 0);
        memset(value, 1, sizeof value - 1); /* six bytes each */
        value[sizeof value - 1] = 0;
        sk_event_put(&e, "k", "%s", value);
        sk_event_put(&e, "l", "%s", value);
        memset(value, 'v', sizeof value - 1);
        for (int i = 0; i < 3; i++) {
            snprintf(key, sizeof key, "m%d", i);
            sk_event_put(&e, key, "%s", value);
        }
        value[last] = 0;
        sk_event_put(&e, "n", "%s", value);
        line.len = 0;
        if (!sk_event_print(&e, &line, &err)) {
            longest = (int)line.len > longest ? (int)line.len : longest;
            assert_int_equal(sk_event_parse((const char *)line.data, line.len - 1, &back), 0);
        } else {
            refused++;
            assert_non_null(strstr(err.text, "at most"));
        }
    }
    assert_int_equal(longest, SK_EVENT_LINE);
    assert_true(refused > 0);
    sk_buf_free(&line);
}

static void a_name_has_a_space_or_is_the_programs(void **state)
{
    (void)state;
    struct saikai_event e;
    struct saikai_error err = {0};
    assert_int_equal(sk_event_begin(&e, "hw.memory-error", SAIKAI_EVENT_WARNING, NULL), 0);
    assert_string_equal(e.space, "hw");
    assert_true(e.rank == -1 && e.severity == SAIKAI_EVENT_WARNING && !e.deadline_ms && !e.n_fields && !*e.host && !*e.job);
    assert_string_equal(e.name, "memory-error");
    assert_int_equal(sk_event_begin(&e, "x.y", SAIKAI_EVENT_INFO, NULL), 0);
    assert_string_equal(e.space, "app");
    assert_string_equal(e.name, "x.y");
    assert_int_equal(sk_severity_parse("fatal"), SAIKAI_EVENT_FATAL);
    assert_int_equal(sk_severity_parse("loud"), -1);
    assert_string_equal(sk_severity_name(SAIKAI_EVENT_DEBUG), "debug");
    assert_string_equal(sk_severity_name(-1), "?");
    assert_string_equal(sk_severity_name(5), "?");
    static const char *const bad[] = {"", "A", "a b", "hw.", "1a", "a\n", "hw.A", "ä",
                                      "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sk_event_begin(&e, bad[i], SAIKAI_EVENT_INFO, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_event_begin(&e, "a", 5, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_event_begin(&e, "a", -1, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_event_begin(&e, "app.notice", SAIKAI_EVENT_INFO, NULL), 0);
    assert_true(sk_event_is_notice(&e));
}

static void fields_have_limits(void **state)
{
    (void)state;
    struct saikai_event e;
    char text[400], key[16];
    static const char *const bad[] = {"", "=x", "novalue", "k k=1", "rank=1", "name=x", "ä=1", "aaaaaaaaaabbbbbbbbbbccccccccccdd=1",
                                      "deadline=soon", "deadline=-1", "deadline=1e300"};
    assert_int_equal(sk_event_begin(&e, "a", SAIKAI_EVENT_INFO, NULL), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sk_event_take(&e, bad[i], NULL), SAIKAI_EINVAL);
    assert_int_equal(e.n_fields, 0);
    assert_int_equal(sk_event_take(&e, "deadline=1e9", NULL), 0);
    assert_int_equal(e.deadline_ms, e.time_ms + 1000000000000);
    assert_int_equal(sk_event_take(&e, "deadline=0.5", NULL), 0);
    assert_int_equal(e.deadline_ms, e.time_ms + 500);
    sk_event_put(&e, "none", "%s", ""); /* it has no value: it is left out */
    assert_int_equal(e.n_fields, 0);
    snprintf(text, sizeof text, "k=%0255d", 0);
    assert_int_equal(sk_event_take(&e, text, NULL), 0);
    assert_int_equal(sk_event_take(&e, "k=2", NULL), SAIKAI_EINVAL);
    snprintf(text, sizeof text, "l=%0256d", 0);
    assert_int_equal(sk_event_take(&e, text, NULL), SAIKAI_EINVAL);
    sk_event_put(&e, "l", "%s", text);
    assert_int_equal(strlen(sk_event_field(&e, "l")), 255);
    /* cut between characters, and what is no text is made one */
    for (int i = 0; i < 300; i += 2)
        memcpy(text + i, "ä", 2);
    text[300] = 0;
    sk_event_put(&e, "m", "%s", text);
    assert_int_equal(strlen(sk_event_field(&e, "m")), 254);
    assert_int_equal(sk_event_take(&e, "n=a\xff", NULL), 0);
    assert_string_equal(sk_event_field(&e, "n"), "a?");
    for (int i = e.n_fields; i < SAIKAI_EVENT_FIELDS; i++) {
        snprintf(key, sizeof key, "k%d", i);
        sk_event_put(&e, key, "%d", i);
    }
    assert_int_equal(e.n_fields, SAIKAI_EVENT_FIELDS);
    assert_int_equal(sk_event_take(&e, "more=1", NULL), SAIKAI_EINVAL);
}

static void a_line_has_a_limit(void **state)
{
    (void)state;
    struct saikai_event e, back;
    struct sk_buf line = {0};
    char key[16], value[SAIKAI_EVENT_VALUE];
    memset(value, 1, sizeof value - 1); /* six bytes each */
    value[sizeof value - 1] = 0;
    assert_int_equal(sk_event_begin(&e, "a", SAIKAI_EVENT_INFO, NULL), 0);
    for (int i = 0; i < SAIKAI_EVENT_FIELDS; i++) {
        snprintf(key, sizeof key, "k%d", i);
        sk_event_put(&e, key, "%s", value);
        sk_buf_free(&line);
        int rc = sk_event_print(&e, &line, NULL);
        assert_int_equal(rc, i < 2 ? 0 : SAIKAI_EINVAL);
        assert_int_equal(line.len == 0, rc != 0);
        assert_true(rc || !sk_event_parse((const char *)line.data, line.len - 1, &back));
    }
    sk_buf_free(&line);
}

static int passes(const char *filter)
{
    struct saikai_event e = example();
    struct sk_filter f;
    assert_int_equal(sk_filter_parse(filter, &f, NULL), 0);
    return sk_filter_passes(&f, &e);
}

static void filters_choose(void **state)
{
    (void)state;
    struct sk_filter f;
    static const char *const yes[] = {"", "space=mw", "name=fault", "name=f*", "severity=error", "severity>=warning", "rank=3", "rank!=2",
                                      "job=heat,kind=process", "kind=p*,kind!=x*", "host=n*", "missing=", "kind=*"};
    static const char *const no[] = {"space=hw", "name=fault*x", "severity>=fatal", "rank=4", "job=heat,kind=x", "kind!=process",
                                     "missing=x", "severity!=error"};
    static const char *const bad[] = {"x", "=x", "a!x", "rank>=1", "severity>=bad", "severity=bad", "a>x=1",
                                      "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_true(passes(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(passes(no[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sk_filter_parse(bad[i], &f, NULL), SAIKAI_EINVAL);
    char text[SK_FILTER_TEXT + 1] = "kind=";
    memset(text + 5, '*', SK_FILTER_TEXT - 5);
    assert_int_equal(sk_filter_parse(text, &f, NULL), SAIKAI_EINVAL);
}

/* As many terms, and as long ones, as there may be, and one more. */
static void filters_have_limits(void **state)
{
    (void)state;
    struct sk_filter f;
    struct saikai_error err = {0};
    char text[SK_FILTER_TEXT + 8], word[SAIKAI_EVENT_VALUE + 8];
    memset(word, 'w', sizeof word);
    for (int more = 0; more < 2; more++) {
        int wanted = more ? SAIKAI_EINVAL : 0;
        snprintf(text, sizeof text, "%.*s=x", SAIKAI_EVENT_KEY - 1 + more, word);
        assert_int_equal(sk_filter_parse(text, &f, &err), wanted);
        snprintf(text, sizeof text, "k=%.*s", SAIKAI_EVENT_VALUE - 1 + more, word);
        assert_int_equal(sk_filter_parse(text, &f, &err), wanted);
        *text = 0;
        for (int i = 0; i < SK_FILTER_TERMS + more; i++)
            sprintf(text + strlen(text), "k%d=x,", i);
        assert_int_equal(sk_filter_parse(text, &f, &err), wanted);
        assert_int_equal(f.n, SK_FILTER_TERMS);
        memset(text, ',', sizeof text); /* nothing between commas is no term */
        text[SK_FILTER_TEXT - 1 + more] = 0;
        assert_int_equal(sk_filter_parse(text, &f, &err), wanted);
    }
    assert_true(passes("kind!=x") && passes("missing!=x") && !passes("missing!=") && !passes("kind!=p*") && passes("kind!=x*") && !passes("kind!=*"));
    assert_true(passes("severity>=error") && passes("severity>=debug") && passes("severity!=warning") && !passes("severity=warning"));
    assert_true(passes("rank=3*") && !passes("rank=33") && passes("rank!=-1") && passes("kind=process*") && !passes("kind=processes*"));
    assert_true(passes(",space=mw,,name=fault,") && !passes("space=mw,name=x") && !passes("name=x,space=mw"));
    assert_int_equal(sk_filter_parse("severity=error", &f, &err), 0);
    assert_true(f.n == 1 && f.term[0].least == -1 && !f.term[0].not && !f.term[0].prefix);
    assert_int_equal(sk_filter_parse("severity>=error", &f, &err), 0);
    assert_int_equal(f.term[0].least, SAIKAI_EVENT_ERROR);
    static const char *const bad[] = {"a!>=x", "!a=x", ">=x", "severity>warning", "severity!warning", "severity=*"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memset(&err, 0, sizeof err);
        assert_int_equal(sk_filter_parse(bad[i], &f, &err), SAIKAI_EINVAL);
        assert_true(strstr(err.text, bad[i]) && strstr(err.text, "is no term of a filter"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(a_line_is_read_as_it_was_printed),
        cmocka_unit_test(every_cut_and_every_changed_byte_is_seen),
        cmocka_unit_test(what_is_no_event),
        cmocka_unit_test(the_longest_line),
        cmocka_unit_test(a_name_has_a_space_or_is_the_programs),
        cmocka_unit_test(fields_have_limits),
        cmocka_unit_test(a_line_has_a_limit),
        cmocka_unit_test(filters_choose),
        cmocka_unit_test(filters_have_limits),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
