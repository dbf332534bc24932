/* Configuration: defaults, which place wins, errors that name their line, kinds of keys, mistyped
 * variables, and units. */
#include "base/config/config.h"
#include "base/config/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void test_defaults_parse(void **state)
{
    (void)state;
    struct sk_config *c = sk_config_new();
    struct saikai_error err = {0};
    /* every default must be accepted by its own key */
    for (int i = 0; i < sk_config_count(); i++) {
        char name[128];
        snprintf(name, sizeof name, "%s.%s", sk_config_key(i)->section, sk_config_key(i)->key);
        assert_int_equal(sk_config_set(c, name, sk_config_key(i)->standard, SK_FROM_API, "test", &err), 0);
    }
    assert_int_equal(sk_config_int(c, "store.keep_local"), 1);
    assert_float_equal(sk_config_time(c, "run.node_timeout"), 4, 1e-9);
    assert_int_equal(sk_config_bool(c, "store.fsync"), 1);
    sk_config_free(c);
}

static void test_precedence(void **state)
{
    (void)state;
    struct sk_config *c = sk_config_new();
    assert_int_equal(sk_config_set(c, "schedule.every", "5", SK_FROM_COMMAND_LINE, "command line", NULL), 0);
    assert_int_equal(sk_config_set(c, "schedule.every", "7", SK_FROM_ENVIRONMENT, "environment", NULL), 0);
    assert_int_equal(sk_config_int(c, "schedule.every"), 5);
    /* a bad value is an error even where it would lose */
    assert_int_equal(sk_config_set(c, "schedule.every", "x", SK_FROM_ENVIRONMENT, "environment", NULL),
                     SAIKAI_ECONFIG);
    assert_int_equal(sk_config_set_all(c, "schedule.every=9; schedule.interval = 10 min", SK_FROM_API, NULL), 0);
    assert_int_equal(sk_config_int(c, "schedule.every"), 5);
    assert_float_equal(sk_config_time(c, "schedule.interval"), 600, 1e-9);
    assert_true(sk_config_int_or_auto(c, "run.warm") == (int64_t)SK_CONFIG_AUTO);
    assert_int_equal(sk_config_set(c, "run.warm", "3", SK_FROM_API, "here", NULL), 0);
    assert_int_equal(sk_config_int_or_auto(c, "run.warm"), 3);
    sk_config_free(c);
}

/* In a file, or in quotes, no shell looks at a ~. */
static void test_a_home(void **state)
{
    (void)state;
    struct sk_config *c = sk_config_new();
    struct saikai_error err = {0};
    char *kept = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    setenv("HOME", "/home/of/it", 1);
    assert_int_equal(sk_config_set(c, "store.prefix", "~/run/store", SK_FROM_API, "here", &err), 0);
    assert_string_equal(sk_config_text(c, "store.prefix"), "/home/of/it/run/store");
    assert_int_equal(sk_config_set(c, "store.local", "~", SK_FROM_API, "here", &err), 0);
    assert_string_equal(sk_config_text(c, "store.local"), "/home/of/it");
    assert_int_equal(sk_config_set(c, "store.prefix", "./~x", SK_FROM_API, "here", &err), 0);
    assert_string_equal(sk_config_text(c, "store.prefix"), "./~x");
    assert_int_equal(sk_config_set(c, "job.name", "~/x", SK_FROM_API, "here", &err), 0);
    assert_string_equal(sk_config_text(c, "job.name"), "~/x"); /* no path */
    assert_int_equal(sk_config_set(c, "store.prefix", "~root/store", SK_FROM_API, "here", &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "store.prefix"));
    assert_non_null(strstr(err.text, "write the whole path"));
    assert_string_equal(sk_config_text(c, "store.prefix"), "./~x");
    setenv("HOME", "nowhere", 1);
    assert_int_equal(sk_config_set(c, "store.prefix", "~/store", SK_FROM_API, "here", &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "HOME"));
    if (kept)
        setenv("HOME", kept, 1);
    else
        unsetenv("HOME");
    free(kept);
    sk_config_free(c);
}

static void test_file_errors_name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expect;
    } cases[] = {
        {"[store]\nkeep_locall = 3\n", "store.keep_local"},
        {"[store]\n\nkeep_local = many\n", ":3: store.keep_local: 'many'"},
        {"[store]\nkeep_prefix = 0\n", "is no whole number of 1 to 2147483647"},
        {"[store]\nkeep_prefix = 4294967297\n", "is no whole number of 1 to 2147483647"},
        {"[schedule]\nevery = 99999999999\n", "is no whole number of 0 to 2147483647"},
        {"[store\n", ":1: '[store' is no heading"},
        {"[restart]\nmode = fast\n", "auto|never|always"},
        {"just words\n", "write key = value"},
        {"[run]\nwarm = -1\n", "is no whole number of 0 or more, nor auto"},
        {"[run]\nwarm = some\n", "is no whole number of 0 or more, nor auto"},
        {"[run]\nhang_timeout = 3 parsecs\n", "is no time"},
    };
    char path[] = "/tmp/saikai-config-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_config *c = sk_config_new();
        struct saikai_error err = {0};
        FILE *f = fopen(path, "w");
        fputs(cases[i].text, f);
        fclose(f);
        assert_int_equal(sk_config_load_file(c, path, SK_FROM_USER_FILE, &err), SAIKAI_ECONFIG);
        if (!strstr(err.text, cases[i].expect))
            fail_msg("'%s' does not say '%s'", err.text, cases[i].expect);
        sk_config_free(c);
    }
    close(fd);
    unlink(path);
}

static void test_file_comments_and_origin(void **state)
{
    (void)state;
    char path[] = "/tmp/saikai-config-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    fputs("# comment\n[store]\n  prefix = /scratch/a b  # where\n; another\n[log]\nlevel=debug\n", f);
    fclose(f);
    struct sk_config *c = sk_config_new();
    assert_int_equal(sk_config_load_file(c, path, SK_FROM_SYSTEM_FILE, NULL), 0);
    assert_string_equal(sk_config_text(c, "store.prefix"), "/scratch/a b");
    assert_string_equal(sk_config_text(c, "log.level"), "debug");
    for (int i = 0; i < sk_config_count(); i++)
        if (!strcmp(sk_config_key(i)->key, "level"))
            assert_non_null(strstr(sk_config_origin_at(c, i), ":6"));
    sk_config_free(c);
    unlink(path);
}

/* Every key has a kind with a name for programs and one for people. */
static void test_kinds_have_names(void **state)
{
    (void)state;
    int autos = 0;
    for (int i = 0; i < sk_config_count(); i++) {
        const struct sk_key *k = sk_config_key(i);
        char words[128];
        assert_non_null(sk_key_kind_word(k, words, sizeof words));
        assert_non_null(sk_key_kind_phrase(k));
        if (k->kind == SK_TIME_OR_AUTO)
            autos += !strcmp(sk_key_kind_word(k, words, sizeof words), "time|auto");
        if (k->kind == SK_CHOICE)
            assert_string_equal(sk_key_kind_word(k, words, sizeof words), k->words);
        if (k->kind == SK_INT_OR_AUTO)
            assert_string_equal(sk_key_kind_word(k, words, sizeof words), "integer|auto");
        if (!strcmp(k->key, "keep_local"))
            assert_string_equal(sk_key_kind_phrase(k), "whole number");
    }
    assert_true(autos >= 2);
}

static char told[512];

static void note(void *arg, const char *name, const char *meant)
{
    (void)arg;
    size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%s:%s ", name, meant);
}

/* What is mistyped is told, and what was meant; what is right, or not ours, is not. */
static void test_unknown_variables(void **state)
{
    (void)state;
    static const char *const set[] = {"SAIKAI_SHEDULE_EVERY", "SAIKAI_CONFIGURATION", "SAIKAI_store_prefix", "SAIKAI_STORE_PREFIX",
                                      "SAIKAI_TEST_ANYTHING", "SAIKAI_KEEPER_FD", "SAIKAI_DATA", "XSAIKAI_NO", "SAIKAIX"};
    enum { n_set = sizeof set / sizeof *set };
    char *was[n_set];
    for (int i = 0; i < n_set; i++) {
        was[i] = getenv(set[i]) ? strdup(getenv(set[i])) : NULL;
        assert_int_equal(setenv(set[i], "/x", 1), 0);
    }
    told[0] = 0;
    sk_config_unknown_variables(note, NULL);
    for (int i = 0; i < n_set; i++)
        assert_int_equal(was[i] ? setenv(set[i], was[i], 1) : unsetenv(set[i]), 0);
    assert_non_null(strstr(told, "SAIKAI_SHEDULE_EVERY:SAIKAI_SCHEDULE_EVERY "));
    assert_non_null(strstr(told, "SAIKAI_CONFIGURATION:SAIKAI_CONFIG "));
    assert_non_null(strstr(told, "SAIKAI_store_prefix:SAIKAI_STORE_PREFIX "));
    int count = 0;
    for (const char *p = told; (p = strchr(p, ' ')); p++)
        count++;
    assert_int_equal(count, 3);
    for (int i = 0; i < n_set; i++)
        free(was[i]);
}

/* All that is right is taken, and the first that is not is told. */
static void test_what_is_right_is_taken_all_the_same(void **state)
{
    (void)state;
    struct sk_config *c = sk_config_new();
    struct saikai_error err = {0};
    assert_int_equal(sk_config_set_all(c, "store.no=1; lib.on_error=return; log.level=loud", SK_FROM_API, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "store.no"));
    assert_string_equal(sk_config_text(c, "lib.on_error"), "return");
    sk_config_free(c);
}

static void test_units(void **state)
{
    (void)state;
    uint64_t u;
    double d;
    assert_int_equal(sk_parse_size("4GiB", &u), 0);
    assert_true(u == 4ull << 30);
    assert_int_equal(sk_parse_size("1.5 kB", &u), 0);
    assert_true(u == 1500);
    assert_int_equal(sk_parse_size("-1", &u), -1);
    assert_int_equal(sk_parse_size("1 2", &u), -1);
    assert_int_equal(sk_parse_size("1e30", &u), -1);
    assert_int_equal(sk_parse_time("200ms", &d), 0);
    assert_float_equal(d, 0.2, 1e-12);
    assert_int_equal(sk_parse_time("1.5h", &d), 0);
    assert_float_equal(d, 5400, 1e-9);
    assert_int_equal(sk_parse_time("", &d), -1);
    assert_int_equal(sk_parse_time("nan", &d), -1);
    char s[32];
    assert_string_equal(sk_format_size(s, sizeof s, 1536), "1.5 KiB");
    assert_string_equal(sk_format_time(s, sizeof s, 0.0042), "4.2 ms");
    assert_string_equal(sk_format_time(s, sizeof s, 600), "10 min");
    assert_string_equal(sk_format_time(s, sizeof s, 0), "0 s");
    assert_string_equal(sk_format_time(s, sizeof s, 0.9999), "1000 ms");
    assert_string_equal(sk_format_time(s, sizeof s, 5 * 31557600.0), "5 y");
    assert_string_equal(sk_format_time(s, sizeof s, 43800 * 31557600.0), "43800 y");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_parse),        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_a_home),
        cmocka_unit_test(test_file_errors_name_the_line), cmocka_unit_test(test_file_comments_and_origin),
        cmocka_unit_test(test_unknown_variables),
        cmocka_unit_test(test_what_is_right_is_taken_all_the_same), cmocka_unit_test(test_units), cmocka_unit_test(test_kinds_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
