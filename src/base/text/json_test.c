/* The JSON writer: nested documents, escapes and bad UTF-8, numbers that read back the same, and
 * misuse as an error. */
#include "base/text/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The printed document in a string to be freed; NULL when the writer refused it. */
static char *printed(const struct sk_json *j, int *rc)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    *rc = sk_json_print(j, f, NULL);
    fclose(f);
    return text;
}

static void test_document(void **state)
{
    (void)state;
    struct sk_json j = {0};
    sk_json_object(&j, NULL);
    sk_json_text(&j, "name", "a");
    sk_json_array(&j, "list");
    sk_json_int(&j, NULL, -3);
    sk_json_uint(&j, NULL, UINT64_MAX);
    sk_json_end(&j);
    sk_json_object(&j, "empty");
    sk_json_end(&j);
    sk_json_bool(&j, "yes", 7);
    sk_json_text(&j, "none", NULL);
    sk_json_end(&j);
    int rc;
    char *s = printed(&j, &rc);
    assert_int_equal(rc, 0);
    assert_string_equal(
        s, "{\n  \"name\": \"a\",\n  \"list\": [\n    -3,\n    18446744073709551615\n  ],\n"
           "  \"empty\": {},\n  \"yes\": true,\n  \"none\": null\n}\n");
    free(s);
    sk_json_free(&j);
}

static void test_escapes(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"quote \" back \\ slash /", "\"quote \\\" back \\\\ slash /\"\n"},
        {"\n\t\r\x01\x7f", "\"\\n\\t\\u000d\\u0001\\u007f\"\n"},
        {"\xc2\x9b" "2J\xc2\xa0", "\"\\u009b2J\xc2\xa0\"\n"},
        {"再開 é 😀", "\"再開 é 😀\"\n"},
        {"a\xff\x62", "\"a\xef\xbf\xbd\x62\"\n"},
        {"\xe5\x86", "\"\xef\xbf\xbd\xef\xbf\xbd\"\n"}, /* cut off */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"\n"}, /* too long a form of '/' */
        {"\xed\xa0\x80",
         "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n"}, /* half of a surrogate pair */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_json j = {0};
        int rc;
        sk_json_text(&j, NULL, cases[i].in);
        char *s = printed(&j, &rc);
        assert_int_equal(rc, 0);
        assert_string_equal(s, cases[i].out);
        free(s);
        sk_json_free(&j);
    }
}

static void test_reals_read_back(void **state)
{
    (void)state;
    static const double values[] = {0, 0.1, 1.0 / 3, -2.5e-308, 1.7976931348623157e308, 3.0, 1e21};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct sk_json j = {0};
        int rc;
        sk_json_real(&j, NULL, values[i]);
        char *s = printed(&j, &rc);
        assert_true(strtod(s, NULL) == values[i]);
        free(s);
        sk_json_free(&j);
    }
    struct sk_json j = {0};
    int rc;
    sk_json_array(&j, NULL);
    sk_json_real(&j, NULL, INFINITY);
    sk_json_real(&j, NULL, NAN);
    sk_json_real(&j, NULL, 0.1);
    sk_json_end(&j);
    char *s = printed(&j, &rc);
    assert_string_equal(s, "[\n  null,\n  null,\n  0.1\n]\n");
    free(s);
    sk_json_free(&j);
}

static void test_misuse_is_an_error(void **state)
{
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        struct sk_json j = {0};
        if (kind == 0)
            sk_json_object(&j, NULL); /* never closed */
        if (kind == 1)
            sk_json_end(&j);
        if (kind == 2) {
            sk_json_object(&j, NULL);
            sk_json_int(&j, NULL, 1); /* no key */
            sk_json_end(&j);
        }
        if (kind == 3) {
            sk_json_int(&j, NULL, 1);
            sk_json_int(&j, NULL, 2); /* two documents */
        }
        if (kind == 4)
            for (int i = 0; i < SK_JSON_MAX_DEPTH + 5; i++)
                sk_json_array(&j, NULL);
        int rc; /* kind 5: nothing at all */
        char *s = printed(&j, &rc);
        assert_int_equal(rc, SAIKAI_EINTERNAL);
        free(s);
        sk_json_free(&j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_reals_read_back),
        cmocka_unit_test(test_misuse_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
