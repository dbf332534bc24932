/* Kinds and their forms: what is said of them, finding a form by name, and configuration keys that
 * name one. */
#include "base/config/kind.h"

#include "base/config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

struct colour {
    const char *name, *about;
};

static const struct colour colours[] = {{"red", "as blood"}, {"green", NULL}, {"blue", "as the sea"}};

static const struct colour *colour_at(int i)
{
    return i >= 0 && i < 3 ? &colours[i] : NULL;
}

SK_KIND(colour_kind, "model", "colour", struct colour, colour_at, about);

static void test_words(void **state)
{
    (void)state;
    char out[64];
    assert_string_equal(sk_kind_words(&colour_kind, NULL, out, sizeof out), "red|green|blue");
    assert_string_equal(sk_kind_words(&colour_kind, SK_AUTO "|none", out, sizeof out), "auto|none|red|green|blue");
    assert_string_equal(sk_kind_words(&colour_kind, NULL, out, 8), "red|gre");
    assert_string_equal(sk_words_spell("a", out, sizeof out), "a");
    assert_string_equal(sk_words_spell("a|b", out, sizeof out), "a or b");
    assert_string_equal(sk_words_spell("a|b|c", out, sizeof out), "a, b or c");
    assert_string_equal(sk_words_spell("", out, sizeof out), "");
    assert_true(sk_words_have("a|bc", "bc"));
    assert_false(sk_words_have("a|bc", "b"));
    assert_false(sk_words_have("a|bc", ""));
    assert_false(sk_words_have(NULL, "a"));
    assert_string_equal(sk_kind_help(&colour_kind, out, sizeof out), "red: as blood; blue: as the sea");
}

static void test_forms(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    assert_int_equal(sk_kind_form(&colour_kind, "blue"), 2);
    assert_int_equal(sk_kind_form(&colour_kind, "blu"), -1);
    assert_int_equal(sk_kind_unknown(&colour_kind, SK_AUTO, "pink", &err), SAIKAI_EINVAL);
    assert_string_equal(err.text, "unknown colour 'pink': auto, red, green or blue");
    assert_true(sk_is_auto(NULL) && sk_is_auto("") && sk_is_auto("auto"));
    assert_false(sk_is_auto("none"));
}

/* A key that names a form takes any word until the kind is told, and its forms alone afterwards. */
static void test_keys(void **state)
{
    (void)state;
    static const struct sk_kind *const list[] = {&colour_kind, &colour_kind, NULL};
    struct sk_config *c = sk_config_new();
    struct saikai_error err = {0};
    assert_non_null(c);
    assert_int_equal(sk_config_set(c, "schedule.model", "pink", SK_FROM_API, "here", &err), 0);
    assert_null(sk_kind_find("model"));
    sk_kinds_tell(list);
    assert_ptr_equal(sk_kind_find("model"), &colour_kind);
    assert_ptr_equal(sk_kind_at(0), &colour_kind);
    assert_null(sk_kind_at(1));
    assert_int_equal(sk_config_set(c, "schedule.model", "pink", SK_FROM_API, "here", &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "red|green|blue"));
    assert_int_equal(sk_config_set(c, "schedule.model", "green", SK_FROM_API, "here", &err), 0);
    assert_string_equal(sk_config_text(c, "schedule.model"), "green");
    sk_config_free(c);
    for (int i = 0; i < sk_config_count(); i++) {
        char out[256];
        const struct sk_key *k = sk_config_key(i);
        if (strcmp(k->key, "model") || strcmp(k->section, "schedule"))
            continue;
        assert_string_equal(sk_key_choices(k, out, sizeof out), "red|green|blue");
        assert_non_null(strstr(sk_key_help(k, out, sizeof out), "blue: as the sea"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
