/* Parses the arguments of a subcommand by its description, and prints its help from the same
 * description. */
#include "cli/cli.h"

#include "base/config/units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options that every subcommand has: handled here, shown by every help. */
enum { GLOBAL_CONFIG = 1, GLOBAL_SET, GLOBAL_HELP };
static const struct {
    struct cli_option o;
    int id;
} globals[] = {
    {{0, "config", CLI_TEXT, NULL, "FILE", NULL, "read FILE instead of the user's configuration"},
     GLOBAL_CONFIG},
    {{0, "set", CLI_TEXT, NULL, "SECTION.KEY=VALUE", NULL,
      "set one configuration key; may be repeated"},
     GLOBAL_SET},
    {{'h', "help", CLI_FLAG, NULL, NULL, NULL, "print this help"}, GLOBAL_HELP},
};
enum { n_globals = sizeof globals / sizeof *globals };

static void help_option(const struct cli_option *o)
{
    char left[96];
    int n = snprintf(left, sizeof left, o->letter ? "  -%c, " : "      ", o->letter);
    n += snprintf(left + n, sizeof left - (size_t)n, "--%s%s%s", o->name, o->arg ? " " : "",
                  o->arg ? o->arg : "");
    if (o->choices)
        snprintf(left + n, sizeof left - (size_t)n, "%s%s", o->arg ? ": " : " ", o->choices);
    puts(left);
    cli_wrap(stdout, 10, o->help);
}

static void help(const struct cli *cli, const struct cli_spec *spec)
{
    printf("Usage: saikai %s [OPTION...]%s%s\n\n", cli->command, *spec->operands ? " " : "",
           spec->operands);
    cli_wrap(stdout, 0, spec->about);
    puts("\nOptions:");
    for (const struct cli_option *o = spec->options; o && o->name; o++)
        help_option(o);
    for (int i = 0; i < n_globals; i++)
        help_option(&globals[i].o);
}

static int is_choice(const char *choices, const char *s)
{
    size_t n = strlen(s);
    for (const char *p = choices; n && p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
        if (!strncmp(p, s, n) && (p[n] == '|' || !p[n]))
            return 1;
    return 0;
}

static int add_to_list(struct cli_list *l, const char *value)
{
    const char **items = realloc(l->items, sizeof *items * (size_t)(l->n + 1));
    if (!items)
        return -1;
    items[l->n++] = value;
    l->items = items;
    return 0;
}

void cli_list_free(struct cli_list *l)
{
    free(l->items);
    *l = (struct cli_list){0};
}

/* Store a value; what is wrong with it, NULL: nothing. */
static const char *store(const struct cli_option *o, const char *s)
{
    char *end;
    switch (o->kind) {
    case CLI_FLAG:
        *(int *)o->out = 1;
        return NULL;
    case CLI_TEXT:
        *(const char **)o->out = s;
        return *s ? NULL : "is empty";
    case CLI_CHOICE:
        if (!is_choice(o->choices, s))
            return "is none of the choices";
        *(const char **)o->out = s;
        return NULL;
    case CLI_INT: {
        errno = 0;
        long long v = strtoll(s, &end, 10);
        if (errno || end == s || *end || v < 0)
            return "is no whole number of 0 or more";
        *(int64_t *)o->out = v;
        return NULL;
    }
    case CLI_REAL: {
        double v = strtod(s, &end);
        if (end == s || *end || !isfinite(v) || v < 0)
            return "is no number of 0 or more";
        *(double *)o->out = v;
        return NULL;
    }
    case CLI_SIZE:
        return sk_parse_size(s, o->out) ? "is no size: write for example 4GiB" : NULL;
    case CLI_TIME:
        return sk_parse_time(s, o->out) ? "is no time: write for example 30s or 1.5h" : NULL;
    case CLI_LIST:
        return add_to_list(o->out, s) ? "does not fit into memory" : NULL;
    }
    return "is of a kind that is not known";
}

struct parser {
    struct cli *cli;
    const struct cli_spec *spec;
    char **argv;
    int argc, at;
    int operands; /* found so far; moved to the front of argv */
};

static const struct cli_option *find(const struct parser *p, const char *name, size_t n,
                                     char letter, int *global)
{
    *global = 0;
    for (const struct cli_option *o = p->spec->options; o && o->name; o++)
        if (name ? strlen(o->name) == n && !strncmp(o->name, name, n)
                 : o->letter && o->letter == letter)
            return o;
    for (int i = 0; i < n_globals; i++) {
        const struct cli_option *o = &globals[i].o;
        if (name ? strlen(o->name) == n && !strncmp(o->name, name, n)
                 : o->letter && o->letter == letter) {
            *global = globals[i].id;
            return o;
        }
    }
    return NULL;
}

static int unknown_option(const struct parser *p, const char *name, size_t n)
{
    const char *names[64];
    char word[64];
    int count = 0;
    for (const struct cli_option *o = p->spec->options; o && o->name && count < 56; o++)
        names[count++] = o->name;
    for (int i = 0; i < n_globals; i++)
        names[count++] = globals[i].o.name;
    names[count] = NULL;
    snprintf(word, sizeof word, "%.*s", (int)n, name);
    const char *near = cli_closest(word, names);
    return cli_usage(p->cli, "unknown option '--%s'%s%s%s", word, near ? "; did you mean '--" : "",
                     near ? near : "", near ? "'?" : "");
}

static int take_global(struct parser *p, int id, const char *value)
{
    struct saikai_error err = {0};
    if (id == GLOBAL_HELP) {
        help(p->cli, p->spec);
        return CLI_OK;
    }
    if (id == GLOBAL_CONFIG) /* so that a program that is started reads the same file */
        return setenv("SAIKAI_CONFIG", value, 1) ? CLI_FAILED : -1;
    char name[160];
    const char *eq = strchr(value, '=');
    if (!eq || (size_t)(eq - value) >= sizeof name)
        return cli_usage(p->cli, "--set: '%s' is no setting: write SECTION.KEY=VALUE", value);
    memcpy(name, value, (size_t)(eq - value));
    name[eq - value] = 0;
    if (sk_config_set(p->cli->config, name, eq + 1, SK_FROM_COMMAND_LINE, "--set", &err))
        return cli_usage(p->cli, "%s", err.text);
    return -1;
}

/* Use option o (written as shown) with its value: attached, or the next argument. */
static int take(struct parser *p, const struct cli_option *o, int global, const char *shown,
                const char *value)
{
    if (o->kind == CLI_FLAG && value)
        return cli_usage(p->cli, "%s takes no value, but has '%s'", shown, value);
    if (o->kind != CLI_FLAG && !value) {
        if (p->at == p->argc)
            return cli_usage(p->cli, "%s needs a value: %s %s", shown, shown,
                             o->arg ? o->arg : o->choices);
        value = p->argv[p->at++];
    }
    if (global)
        return take_global(p, global, value);
    const char *bad = store(o, value);
    if (bad)
        return cli_usage(p->cli, "%s: '%s' %s%s%s", shown, value, bad, o->choices ? ": " : "",
                         o->choices ? o->choices : "");
    return -1;
}

static int take_long(struct parser *p, const char *text)
{
    char shown[80];
    int global;
    size_t n = strcspn(text, "=");
    const struct cli_option *o = find(p, text, n, 0, &global);
    if (!o)
        return unknown_option(p, text, n);
    snprintf(shown, sizeof shown, "--%s", o->name);
    return take(p, o, global, shown, text[n] ? text + n + 1 : NULL);
}

static int take_short(struct parser *p, const char *letters)
{
    for (; *letters; letters++) {
        int global;
        const struct cli_option *o = find(p, NULL, 0, *letters, &global);
        if (!o)
            return cli_usage(p->cli, "unknown option '-%c'", *letters);
        char shown[3] = {'-', *letters, 0};
        int flag = o->kind == CLI_FLAG;
        int rc = take(p, o, global, shown, flag || !letters[1] ? NULL : letters + 1);
        if (rc >= 0 || !flag)
            return rc;
    }
    return -1;
}

static int take_all(struct parser *p)
{
    while (p->at < p->argc) {
        char *s = p->argv[p->at++];
        int rc = -1;
        if (!strcmp(s, "--"))
            break;
        if (s[0] != '-' || !s[1]) {
            p->argv[p->operands++] = s;
            if (p->spec->stop_at_operand)
                break;
        } else {
            rc = s[1] == '-' ? take_long(p, s + 2) : take_short(p, s + 1);
        }
        if (rc >= 0)
            return rc;
    }
    while (p->at < p->argc)
        p->argv[p->operands++] = p->argv[p->at++];
    p->argv[p->operands] = NULL; /* a program's arguments are passed on up to here */
    return -1;
}

int cli_parse(struct cli *cli, const struct cli_spec *spec, int *argc, char ***argv)
{
    struct saikai_error err = {0};
    struct parser p = {.cli = cli, .spec = spec, .argc = *argc - 1, .argv = *argv + 1};
    int rc = take_all(&p);
    if (rc >= 0)
        return rc;
    if (p.operands < spec->min_operands)
        return cli_usage(cli, "%s is missing", spec->operands);
    if (spec->max_operands >= 0 && p.operands > spec->max_operands)
        return cli_usage(cli, "'%s' is one argument too many", p.argv[spec->max_operands]);
    int config_rc = sk_config_load(cli->config, &err);
    struct saikai_error late = {0};
    if (sk_config_settle(cli->config, &late) && !config_rc) {
        config_rc = late.code;
        err = late;
    }
    if (config_rc) {
        cli_fail(cli, &err);
        return CLI_USAGE; /* also when a file that was asked for cannot be read */
    }
    *argc = p.operands;
    *argv = p.argv;
    return -1;
}
