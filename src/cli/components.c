/* saikai components: all that has several forms, where each form comes from, and which are chosen. */
#include "cli/cli.h"

#include "base/config/component.h"
#include "base/text/shown.h"
#ifdef HAVE_ZMQ
#include "recovery/answer/recovery_protocol.h"
#include "recovery/fault/fault_model.h"
#include "world/protocol/protocol.h"
#endif

#include <stdio.h>
#include <string.h>

/* 1: the value names the form, alone or as one of several ("a=shuffle+zstd:9, b=fast"). */
static int names(const char *value, const char *form)
{
    static const char between[] = " ,=+:\t";
    for (const char *p = value; *(p += strspn(p, between)); p += strcspn(p, between))
        if (strcspn(p, between) == strlen(form) && !strncmp(p, form, strlen(form)))
            return 1;
    return 0;
}

/* The key that chooses a form without naming it, NULL: none does. run.recovery names fault models, and with each, in words or as that model has it, a
 * recovery protocol; and of parallel FT protocols nothing is the first. */
#ifdef HAVE_ZMQ
static const char *implied_by(const struct cli *cli, const struct sk_kind *kind, const char *form)
{
    struct sk_recovery_plan plan;
    if (kind == &sk_protocol_kind)
        return !*sk_config_text(cli->config, "run.protocol") && !strcmp(form, sk_protocol_at(0)->name) ? "run.protocol" : NULL;
    if (kind != &sk_recovery_protocol_kind || sk_recovery_parse(sk_config_text(cli->config, "run.recovery"), &plan, NULL))
        return NULL;
    for (int i = 0; i < plan.n; i++)
        if (!strcmp(sk_recovery_protocol_at(plan.step[i].protocol)->name, form))
            return "run.recovery";
    return NULL;
}
#else
static const char *implied_by(const struct cli *cli, const struct sk_kind *kind, const char *form)
{
    (void)cli, (void)kind, (void)form;
    return NULL;
}
#endif

/* The key that chooses this form, NULL: none does. */
static const char *chosen_by(const struct cli *cli, const struct sk_kind *kind, const char *form, char *out, size_t cap)
{
    for (int i = 0; i < sk_config_count(); i++) {
        const struct sk_key *k = sk_config_key(i);
        if (!k->form_of || strcmp(k->form_of, kind->name) || !names(sk_config_value_at(cli->config, i), form))
            continue;
        snprintf(out, cap, "%s.%s", k->section, k->key);
        return out;
    }
    return implied_by(cli, kind, form);
}

static void put(struct sk_json *j, const struct cli *cli, const struct sk_kind *kind, const char *form, const char *about)
{
    char key[96];
    const char *path = sk_component_path(kind, form), *chosen = chosen_by(cli, kind, form, key, sizeof key);
    sk_json_object(j, NULL);
    sk_json_text(j, "kind", kind->name);
    sk_json_text(j, "name", form);
    sk_json_text(j, "about", about ? about : "");
    sk_json_text(j, "from", path ? path : "built in");
    sk_json_text(j, "chosen_by", chosen ? chosen : "");
    sk_json_text(j, "components_call_it", kind->component ? kind->component : "");
    sk_json_end(j);
}

static void print(const struct cli *cli, const struct sk_kind *kind, const char *form, const char *about)
{
    char key[96];
    const char *path = sk_component_path(kind, form), *chosen = chosen_by(cli, kind, form, key, sizeof key);
    printf("%-10s %-14s %s%s%s  %s%s%s\n", kind->name, form, path ? sk_shown(path) : "built in", chosen ? "  chosen by " : "",
           chosen ? chosen : "", about && *about ? "(" : "", about ? sk_shown(about) : "", about && *about ? ")" : "");
}

int cli_components(struct cli *cli, int argc, char **argv)
{
    int json = 0;
    const struct cli_option options[] = {
        {0, "json", CLI_FLAG, &json, NULL, NULL, "print JSON"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "",
        .about = "Lists all that has several forms, such as codecs and models: kind, name, where it comes from (built in, or the shared "
                 "object of components.load), and the key that chooses it with the settings of now.",
        .options = options,
    };
    int rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc >= 0)
        return rc;
    struct sk_json j = {0};
    const struct sk_kind *kind;
    if (json)
        sk_json_array(&j, NULL);
    for (int i = 0; (kind = sk_kind_at(i)); i++) {
        const char *form, *about = NULL;
        for (int f = 0; (form = kind->form(f, &about)); f++, about = NULL)
            if (json)
                put(&j, cli, kind, form, about);
            else
                print(cli, kind, form, about);
    }
    if (!json)
        return CLI_OK;
    sk_json_end(&j);
    return cli_print_json(cli, &j, CLI_OK);
}
