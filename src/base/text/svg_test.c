/* Charts are well-formed XML, things are where their values say, and empty or bad ranges do no
 * harm. */
#include "base/text/svg.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char *draw(const struct sk_chart *c)
{
    struct sk_buf b = {0};
    struct saikai_error err = {0};
    if (sk_chart_draw(c, &b, &err))
        fail_msg("%s", err.text);
    sk_buf_put_u8(&b, 0);
    return (char *)b.data;
}

/* Tags open and close in order, no attribute comes twice: enough of XML for what the writer writes.
 */
static void assert_well_formed(const char *s)
{
    char open[32][32];
    int depth = 0;
    while ((s = strchr(s, '<'))) {
        const char *end = strchr(s, '>');
        assert_non_null(end);
        size_t n = strcspn(s + 1, " />");
        if (s[1] == '/') {
            assert_true(depth > 0);
            depth--;
            assert_int_equal(strncmp(s + 2, open[depth], strlen(open[depth])), 0);
        } else if (end[-1] != '/') {
            assert_true(depth < 32 && n < 32);
            memcpy(open[depth], s + 1, n);
            open[depth++][n] = 0;
        }
        char names[20][32];
        int count = 0;
        for (const char *p = s; p < end && (p = strstr(p, "=\"")) && p < end;
             p = strchr(p + 2, '"') + 1) {
            const char *from = p;
            while (from > s && from[-1] != ' ' && from[-1] != '"')
                from--;
            assert_true(count < 20 && p - from < 32 && p > from);
            snprintf(names[count], 32, "%.*s", (int)(p - from), from);
            for (int i = 0; i < count; i++)
                assert_string_not_equal(names[i], names[count]);
            count++;
        }
        s = end;
    }
    assert_int_equal(depth, 0);
}

static const double xs[] = {1, 10, 100, 1000}, ys[] = {5, NAN, 0.01, 80},
                    lows[] = {4, 1, 0.001, 70}, highs[] = {6, 2, 0.1, 300};

static void test_chart(void **state)
{
    (void)state;
    const struct sk_series series[] = {
        {SK_SERIES_LINE, "a < b & c", "#102030", 4, xs, ys, NULL, NULL},
        {SK_SERIES_DASHED, "dashed", "#405060", 4, xs, ys, NULL, NULL},
        {SK_SERIES_POINTS, "points", "#708090", 4, xs, ys, lows, highs},
    };
    const struct sk_mark mark = {100, 1, "here", "#ff0000"};
    for (int x = SK_AXIS_LINEAR; x <= SK_AXIS_LOG_TIME; x++)
        for (int y = SK_AXIS_LINEAR; y <= SK_AXIS_LOG; y++) {
            const struct sk_chart c = {
                .width = 800,
                .height = 500,
                .title = "T & t",
                .subtitle = "\"quoted\"",
                .x = {(enum sk_axis_kind)x, 0.5, 5e8, "x", NULL},
                .y = {(enum sk_axis_kind)y, 0.05, 100, "y", " %"},
                .series = series,
                .n_series = 3,
                .marks = &mark,
                .n_marks = 1,
                .legend = 0.5,
            };
            char *s = draw(&c);
            assert_well_formed(s);
            assert_non_null(strstr(s, "a &lt; b &amp; c"));
            assert_non_null(strstr(s, ">here<"));
            assert_null(strstr(s, "nan"));
            assert_null(strstr(s, "inf"));
            assert_non_null(strstr(s, x == SK_AXIS_LOG_TIME ? ">500 ms<"
                                      : x == SK_AXIS_LOG    ? ">1000<"
                                                            : ">1e+08<"));
            free(s);
        }
}

static void test_where_things_are(void **state)
{
    (void)state;
    const double x[] = {0, 10}, y[] = {0, 10};
    const struct sk_series s = {SK_SERIES_LINE, NULL, "#000000", 2, x, y, NULL, NULL};
    const struct sk_chart c = {.width = 800,
                               .height = 500,
                               .title = "",
                               .x = {SK_AXIS_LINEAR, 0, 10, "", NULL},
                               .y = {SK_AXIS_LINEAR, 0, 10, "", NULL},
                               .series = &s,
                               .n_series = 1};
    char *text = draw(&c);
    /* from the lower left corner of the plotting area to its upper right one */
    assert_non_null(strstr(text, " M84.00 436.00 L772.00 76.00"));
    free(text);
}

static void test_empty_ranges(void **state)
{
    (void)state;
    struct sk_chart c = {.width = 800,
                         .height = 500,
                         .title = "",
                         .x = {SK_AXIS_LOG, 1, 10, "", NULL},
                         .y = {SK_AXIS_LINEAR, 0, 1, "", NULL}};
    struct sk_buf b = {0};
    c.x.low = 0;
    assert_int_equal(sk_chart_draw(&c, &b, NULL), SAIKAI_EINVAL);
    c.x.low = 10;
    assert_int_equal(sk_chart_draw(&c, &b, NULL), SAIKAI_EINVAL);
    c.x.low = 1;
    c.y.high = NAN;
    assert_int_equal(sk_chart_draw(&c, &b, NULL), SAIKAI_EINVAL);
    assert_int_equal(b.len, 0);
    sk_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chart),
        cmocka_unit_test(test_where_things_are),
        cmocka_unit_test(test_empty_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
