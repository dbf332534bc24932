/* Events: their limits, their line, and filters. */
#include "store/event/event.h"

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

static void a_name_has_a_space_or_is_the_programs(void **state)
{
    (void)state;
    struct saikai_event e;
    struct saikai_error err = {0};
    assert_int_equal(sk_event_begin(&e, "hw.memory-error", SAIKAI_EVENT_WARNING, NULL), 0);
    assert_string_equal(e.space, "hw");
    assert_string_equal(e.name, "memory-error");
    assert_int_equal(sk_event_begin(&e, "x.y", SAIKAI_EVENT_INFO, NULL), 0);
    assert_string_equal(e.space, "app");
    assert_string_equal(e.name, "x.y");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(a_line_is_read_as_it_was_printed),
        cmocka_unit_test(every_cut_and_every_changed_byte_is_seen),
        cmocka_unit_test(a_name_has_a_space_or_is_the_programs),
        cmocka_unit_test(fields_have_limits),
        cmocka_unit_test(a_line_has_a_limit),
        cmocka_unit_test(filters_choose),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
