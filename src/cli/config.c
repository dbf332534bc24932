/* saikai config: the settings, their values and where each came from. */
#include "cli/cli.h"
#include "cli/kinds.h"

#include "base/text/shown.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *env_name(char *out, size_t cap, const struct sk_key *k)
{
    snprintf(out, cap, "SAIKAI_%s_%s", k->section, k->key);
    for (char *p = out; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return out;
}

static int print_json(struct cli *cli, const char *section)
{
    struct sk_json j = {0};
    sk_json_array(&j, NULL);
    for (int i = 0; i < sk_config_count(); i++) {
        const struct sk_key *k = sk_config_key(i);
        char name[96], env[96], words[256], help[2048];
        if (section && strcmp(section, k->section))
            continue;
        snprintf(name, sizeof name, "%s.%s", k->section, k->key);
        sk_json_object(&j, NULL);
        sk_json_text(&j, "name", name);
        sk_json_text(&j, "value", sk_config_value_at(cli->config, i));
        sk_json_text(&j, "origin", sk_config_origin_at(cli->config, i));
        sk_json_text(&j, "default", sk_key_standard(k));
        sk_json_text(&j, "type", sk_key_kind_word(k, words, sizeof words));
        sk_json_text(&j, "environment", env_name(env, sizeof env, k));
        sk_json_text(&j, "help", sk_key_help(k, help, sizeof help));
        sk_json_end(&j);
    }
    sk_json_end(&j);
    return cli_print_json(cli, &j, CLI_OK);
}

/* The keys with their meaning. */
static void print_keys(const char *section)
{
    for (int i = 0; i < sk_config_count(); i++) {
        const struct sk_key *k = sk_config_key(i);
        char env[96], words[256], help[2048];
        if (section && strcmp(section, k->section))
            continue;
        const char *standard = sk_key_standard(k);
        printf("%s.%s (%s, default: %s; %s)\n", k->section, k->key, sk_key_kind_word(k, words, sizeof words),
               *standard ? standard : "empty", env_name(env, sizeof env, k));
        cli_wrap(stdout, 4, sk_key_help(k, help, sizeof help));
    }
}

/* A file that gives these very settings when it is read back. */
static void print_values(const struct cli *cli, const char *section, int show_origin)
{
    const char *last = "";
    for (int i = 0; i < sk_config_count(); i++) {
        const struct sk_key *k = sk_config_key(i);
        if (section && strcmp(section, k->section))
            continue;
        if (strcmp(last, k->section))
            printf("%s[%s]\n", *last ? "\n" : "", k->section);
        last = k->section;
        int n = printf("%s = %s", k->key, sk_shown(sk_config_value_at(cli->config, i)));
        if (show_origin)
            printf("%*s # %s", n < 40 ? 40 - n : 0, "", sk_shown(sk_config_origin_at(cli->config, i)));
        putchar('\n');
    }
}

/* Kinds and their forms: what keys and options may name. */
static int print_forms(struct cli *cli, int json)
{
    struct sk_json j = {0};
    const struct sk_kind *k;
    sk_json_array(&j, NULL);
    for (int i = 0; (k = sk_kind_at(i)); i++) {
        const char *name, *about = NULL;
        for (int f = 0; (name = k->form(f, &about)); f++, about = NULL) {
            sk_json_object(&j, NULL);
            sk_json_text(&j, "kind", k->name);
            sk_json_text(&j, "form", name);
            sk_json_text(&j, "about", about ? about : "");
            sk_json_end(&j);
            if (!json)
                printf("%-10s %-18s %s\n", k->name, name, about ? sk_shown(about) : "");
        }
    }
    sk_json_end(&j);
    if (json)
        return cli_print_json(cli, &j, CLI_OK);
    sk_json_free(&j);
    return CLI_OK;
}

static int known_section(const char *section)
{
    for (int i = 0; i < sk_config_count(); i++)
        if (!strcmp(section, sk_config_key(i)->section))
            return 1;
    return 0;
}

int cli_config(struct cli *cli, int argc, char **argv)
{
    int json = 0, show_origin = 0, keys = 0, forms = 0;
    const struct cli_option options[] = {
        {0, "json", CLI_FLAG, &json, NULL, NULL,
         "print JSON: value, origin, default, type and help of each key"},
        {'o', "show-origin", CLI_FLAG, &show_origin, NULL, NULL, "say where each value came from"},
        {'k', "keys", CLI_FLAG, &keys, NULL, NULL,
         "explain the keys instead of showing their values"},
        {0, "forms", CLI_FLAG, &forms, NULL, NULL,
         "list what has several forms (codecs, redundancy schemes, models …) and their names instead"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "[SECTION]",
        .about = "Shows the settings that a program started here would use, as a configuration "
                 "file. Command line, "
                 "environment (SAIKAI_SECTION_KEY), the user's file, the system's file and the "
                 "defaults count in "
                 "this order.",
        .max_operands = 1,
        .options = options,
    };
    int rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc >= 0)
        return rc;
    const char *section = argc ? argv[0] : NULL;
    if (section && !known_section(section))
        return cli_usage(cli, "there is no section '%s'; 'saikai config --keys' lists all keys",
                         section);
    if (forms)
        return print_forms(cli, json);
    if (json)
        return print_json(cli, section);
    if (keys)
        print_keys(section);
    else
        print_values(cli, section, show_origin);
    return CLI_OK;
}
