/* saikai mark: what a restart thinks of a generation. */
#include "cli/store/store_dir.h"

#include "base/text/shown.h"

#include <stdio.h>
#include <string.h>

struct marking {
    int good, bad, local, json;
};

/* By name any generation: it may be in the memory of nodes alone. By iteration, or 'newest', one that is here or that something
 * is known against. */
static int find(const struct cli_store *s, const char *text, struct sk_gen *out, struct saikai_error *err)
{
    size_t k;
    if (!sk_gen_parse(text, out))
        return 0;
    int rc = cli_store_pick(s, text, &k, err);
    for (int i = 0; rc == SAIKAI_ENOENT && i < s->state.tried_count; i++) {
        char iteration[24];
        snprintf(iteration, sizeof iteration, "%lld", (long long)s->state.tried[i].gen.iteration);
        if (strcmp(iteration, text))
            continue;
        *out = s->state.tried[i].gen;
        return 0;
    }
    if (!rc)
        *out = s->gen[k].gen;
    return rc;
}

static int report(struct cli *cli, const struct marking *m, const struct cli_store *s, struct sk_gen g, int was)
{
    struct sk_json j = {0};
    char name[48];
    sk_gen_name(g, name);
    if (!m->json) {
        printf(m->bad      ? "%s is marked bad: restarts from %s pass it over\n"
               : was       ? "%s is good again: the next restart from %s may use it\n"
                           : "nothing is known against %s in %s\n",
               name, sk_shown(s->root));
        return CLI_OK;
    }
    sk_json_object(&j, NULL);
    sk_json_text(&j, "store", s->root);
    sk_json_text(&j, "generation", name);
    sk_json_text(&j, "mark", m->bad ? "bad" : "good");
    sk_json_bool(&j, "changed", m->bad ? !was : was);
    sk_json_end(&j);
    return cli_print_json(cli, &j, CLI_OK);
}

static int mark_in(struct cli *cli, const struct marking *m, struct cli_store *s, const char *text)
{
    struct saikai_error err = {0};
    struct sk_gen g;
    if (*s->state_problem)
        sk_fail(&err, SAIKAI_EDAMAGED, "%s", s->state_problem);
    else if (!s->has_state)
        sk_fail(&err, SAIKAI_ENOENT, "%s has no state file: nothing was ever started with this store", s->root);
    if (err.code || find(s, text, &g, &err))
        return cli_store_fail(cli, &err);
    const struct sk_tried *t = sk_state_tried(&s->state, g);
    int was = m->bad ? t && t->bad : t != NULL;
    if (sk_state_mark(&s->state, g, m->bad, &err) || sk_state_save(s->state_root, &s->state, &err))
        return cli_fail(cli, &err);
    return report(cli, m, s, g, was);
}

int cli_mark(struct cli *cli, int argc, char **argv)
{
    struct marking m = {0};
    const struct cli_option options[] = {
        {'g', "good", CLI_FLAG, &m.good, NULL, NULL,
         "forget what is known against it: the next restart may use it"},
        {'b', "bad", CLI_FLAG, &m.bad, NULL, NULL,
         "pass it over at every restart, until it is marked good"},
        {'l', "local", CLI_FLAG, &m.local, NULL, NULL,
         "in the store on this node (store.local), of a job without a prefix"},
        {0, "json", CLI_FLAG, &m.json, NULL, NULL, "print JSON"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "GENERATION [DIR]",
        .about = "Marks a generation as bad, so that restarts pass it over, or as good, so that they may "
                 "use it again. A generation is passed over by itself when the program died too often "
                 "after reading it (restart.tries): 'saikai ls' shows that. GENERATION is a name or an "
                 "iteration, DIR the store's directory, by default the key store.prefix. Mark while no "
                 "job uses the store: a job that begins meanwhile may not see it.",
        .min_operands = 1,
        .max_operands = 2,
        .options = options,
    };
    struct saikai_error err = {0};
    struct cli_target t;
    struct cli_store s;
    int rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc >= 0)
        return rc;
    if (m.good == m.bad)
        return cli_usage(cli, "say --good or --bad");
    if (cli_target_find(cli, argc > 1 ? argv[1] : NULL, m.local, &t, &err))
        return cli_store_fail(cli, &err);
    if (*t.file || t.has_gen)
        return cli_usage(cli, "'%s' is no store's directory", argv[1]);
    if (cli_store_load(cli, &t, &s, &err))
        return cli_store_fail(cli, &err);
    rc = mark_in(cli, &m, &s, argv[0]);
    cli_store_free(&s);
    return rc;
}
