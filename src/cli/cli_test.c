/* Options of all kinds are parsed, usage errors name the argument, help shows everything, and near
 * misses are guessed. */
#include "cli/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

struct values {
    int flag;
    const char *text, *choice;
    int64_t count;
    double real, time;
    uint64_t size;
    struct cli_list list;
};

static char *captured; /* stdout and stderr of the last parse */

/* Parse the words of line with all kinds of options; the verdict of cli_parse. */
static int parse(struct values *v, const char *line, int stop, int *argc, char ***argv, char *store,
                 char *words[])
{
    struct cli cli = {"test", sk_config_new()};
    const struct cli_option options[] = {
        {'f', "flag", CLI_FLAG, &v->flag, NULL, NULL, "a flag"},
        {'t', "text", CLI_TEXT, &v->text, "TEXT", NULL, "a text"},
        {0, "choice", CLI_CHOICE, &v->choice, NULL, "a|bc", "a choice"},
        {'n', "count", CLI_INT, &v->count, "N", NULL, "a number"},
        {0, "real", CLI_REAL, &v->real, "X", NULL, "a real"},
        {0, "size", CLI_SIZE, &v->size, "SIZE", NULL, "a size"},
        {0, "time", CLI_TIME, &v->time, "TIME", NULL, "a time"},
        {'l', "list", CLI_LIST, &v->list, "ITEM", NULL, "a list"},
        {0},
    };
    const struct cli_spec spec = {"FILE...", "Tests.", 0, stop ? -1 : 2, stop, options};
    int n = 0;
    strcpy(store, line);
    words[n++] = "test";
    for (char *save, *w = strtok_r(store, " ", &save); w; w = strtok_r(NULL, " ", &save))
        words[n++] = w;
    words[n] = NULL;
    *argc = n;
    *argv = words;
    FILE *keep_out = stdout, *keep_err = stderr;
    size_t size;
    free(captured);
    stdout = stderr = open_memstream(&captured, &size);
    int rc = cli_parse(&cli, &spec, argc, argv);
    fclose(stdout);
    stdout = keep_out;
    stderr = keep_err;
    sk_config_free(cli.config);
    return rc;
}

static void test_all_kinds(void **state)
{
    (void)state;
    struct values v = {0};
    char store[512], *words[64], **argv;
    int argc;
    assert_int_equal(
        parse(
            &v,
            "one -fn5 --text=a=b --choice bc --real 2.5 two --size 4KiB --time=1min -l x --list y",
            0, &argc, &argv, store, words),
        -1);
    assert_int_equal(v.flag, 1);
    assert_int_equal(v.count, 5);
    assert_string_equal(v.text, "a=b");
    assert_string_equal(v.choice, "bc");
    assert_true(v.real == 2.5 && v.size == 4096 && v.time == 60);
    assert_int_equal(v.list.n, 2);
    assert_string_equal(v.list.items[1], "y");
    assert_int_equal(argc, 2);
    assert_string_equal(argv[0], "one");
    assert_string_equal(argv[1], "two");
    cli_list_free(&v.list);
}

static void test_where_options_end(void **state)
{
    (void)state;
    struct values v = {0};
    char store[512], *words[64], **argv;
    int argc;
    assert_int_equal(parse(&v, "-n 4 ./app -f --text x", 1, &argc, &argv, store, words), -1);
    assert_int_equal(argc, 4);
    assert_string_equal(argv[1], "-f");
    assert_int_equal(v.flag, 0);
    assert_int_equal(parse(&v, "-n 4 -- -f", 0, &argc, &argv, store, words), -1);
    assert_int_equal(argc, 1);
    assert_string_equal(argv[0], "-f");
    assert_int_equal(v.flag, 0);
}

static void test_usage_errors_name_the_argument(void **state)
{
    (void)state;
    static const struct {
        const char *line, *expect;
    } cases[] = {
        {"--cuont 5", "unknown option '--cuont'; did you mean '--count'?"},
        {"-x", "unknown option '-x'"},
        {"--count", "--count needs a value: --count N"},
        {"--count -1", "--count: '-1' is no whole number"},
        {"-n 99999999999999999999", "-n: '99999999999999999999' is no whole number"},
        {"--real nan", "'nan' is no number"},
        {"--choice b", "'b' is none of the choices: a|bc"},
        {"--size 4parsec", "'4parsec' is no size: write for example 4GiB"},
        {"--time soon", "'soon' is no time"},
        {"--flag=yes", "--flag takes no value, but has 'yes'"},
        {"a b c", "'c' is one argument too many"},
        {"--set store.keep_local", "write SECTION.KEY=VALUE"},
        {"--set store.keep_local=many", "'many' is no whole number"},
        {"--set store.keep_lokal=1", "did you mean store.keep_local?"},
        {"--config", "--config needs a value: --config FILE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct values v = {0};
        char store[512], *words[64], **argv;
        int argc;
        assert_int_equal(parse(&v, cases[i].line, 0, &argc, &argv, store, words), CLI_USAGE);
        if (!strstr(captured, cases[i].expect))
            fail_msg("'%s' says '%s', not '%s'", cases[i].line, captured, cases[i].expect);
        assert_non_null(strstr(captured, "See 'saikai help test'"));
    }
}

static void test_help_shows_everything(void **state)
{
    (void)state;
    struct values v = {0};
    char store[512], *words[64], **argv;
    int argc;
    assert_int_equal(parse(&v, "--help", 0, &argc, &argv, store, words), CLI_OK);
    static const char *const expect[] = {"Usage: saikai test",      "-f, --flag",
                                         "--choice a|bc",           "--size SIZE",
                                         "--set SECTION.KEY=VALUE", "a list"};
    for (size_t i = 0; i < sizeof expect / sizeof *expect; i++)
        assert_non_null(strstr(captured, expect[i]));
}

static void test_closest(void **state)
{
    (void)state;
    static const char *const words[] = {"config", "plan", "verify", NULL};
    assert_string_equal(cli_closest("confgi", words), "config");
    assert_string_equal(cli_closest("plna", words), "plan");
    assert_string_equal(cli_closest("Verfy", words), "verify");
    assert_null(cli_closest("xyzzy", words));
    assert_null(cli_closest("", words));
}

static void test_wrap(void **state)
{
    (void)state;
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    for (int i = 0; i < 3; i++)
        cli_wrap(f, 4,
                 "words of a sentence that is rather longer than the eighty columns of a usual "
                 "terminal line");
    fclose(f);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        assert_true(strlen(line) <= 80);
        assert_int_equal(strspn(line, " "), 4);
    }
    free(text);
}

int main(void)
{
    char config[] = "/tmp/saikai-cli-XXXXXX"; /* whoever runs the test has settings of his own */
    int fd = mkstemp(config);
    if (fd < 0 || setenv("SAIKAI_CONFIG", config, 1))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_kinds),
        cmocka_unit_test(test_where_options_end),
        cmocka_unit_test(test_usage_errors_name_the_argument),
        cmocka_unit_test(test_help_shows_everything),
        cmocka_unit_test(test_closest),
        cmocka_unit_test(test_wrap),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    free(captured);
    close(fd);
    unlink(config);
    return rc;
}
