/* saikai export: a generation as a file that other programs can open. */
#include "cli/store/export.h"

#include "base/text/output.h"
#include "base/config/units.h"
#include "base/text/shown.h"
#include "cli/progress.h"
#include "cli/store/store_dir.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
    int local, partial, global;
    const char *gen, *hdf5;
    int64_t rank; /* -1: all */
    struct cli_list variables;
};

static int write_hdf5(struct cli *cli, const struct request *r, struct cli_export *x)
{
    struct saikai_error err = {0};
    struct cli_progress bar;
    uint64_t raw = 0;
    char size[32];
    x->variables = r->variables;
    x->scope = !r->global   ? CLI_EXPORT_RANKS
               : r->partial ? CLI_EXPORT_GLOBAL_PARTIAL
                            : CLI_EXPORT_GLOBAL;
    cli_progress_begin(&bar, "exporting", x->from->bytes);
    int rc = cli_export_hdf5(r->hdf5, x, &bar, &raw, &err);
    cli_progress_end(&bar);
    if (rc)
        return cli_fail(cli, &err);
    fprintf(sk_output_is_dash(r->hdf5) ? stderr : stdout, "%s: %zu rank%s, %s\n", sk_shown(r->hdf5), x->count, x->count == 1 ? "" : "s",
           sk_format_size(size, sizeof size, raw));
    return CLI_OK;
}

/* Which containers of the generation: those of all ranks, or of one. */
static int choose(const struct request *r, const struct cli_store *s, const struct cli_gen *g,
                  size_t **item, size_t *count, struct saikai_error *err)
{
    char missing[200];
    const struct sk_content *c = g->c;
    long one = r->rank < 0 || r->rank > INT_MAX ? -1 : sk_content_find(c, (int)r->rank);
    if (r->rank >= 0 && one < 0)
        return sk_fail(err, SAIKAI_ENOENT, "%s of %s has no file of rank %lld", g->name, s->root,
                       (long long)r->rank);
    if (r->rank < 0 && !c->complete && !r->partial)
        return sk_fail(err, SAIKAI_ENOENT,
                       "%s/%s is not complete%s%s; --partial exports what there is", s->root,
                       g->name, c->nranks ? ": missing rank " : "",
                       c->nranks ? cli_missing_ranks(g, missing, sizeof missing) : "");
    size_t n = one < 0 ? c->count : 1;
    if (!n)
        return sk_fail(err, SAIKAI_ENOENT, "%s/%s holds nothing that can be exported%s%s", s->root,
                       g->name, c->troubles ? ": " : "", c->troubles ? c->trouble[0].text : "");
    *item = calloc(n, sizeof **item);
    if (!*item)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for %zu ranks", n);
    for (size_t i = 0; i < n; i++)
        (*item)[i] = one < 0 ? i : (size_t)one;
    *count = n;
    return 0;
}

static int export_store(struct cli *cli, const struct request *r, const struct cli_target *t)
{
    struct cli_store s;
    struct saikai_error err = {0};
    char source[PATH_MAX];
    size_t i = 0, *item = NULL;
    if (cli_store_load(cli, t, &s, &err))
        return cli_store_fail(cli, &err);
    struct cli_export x = {.source = source};
    int rc = cli_store_choose(&s, t, r->gen, &i, &err);
    if (!rc)
        rc = choose(r, &s, &s.gen[i], &item, &x.count, &err);
    if (rc) {
        rc = cli_store_fail(cli, &err);
    } else {
        snprintf(source, sizeof source, "%.*s/%.48s", (int)sizeof source - 64, s.root,
                 s.gen[i].name);
        x.from = s.gen[i].c;
        x.item = item;
        rc = write_hdf5(cli, r, &x);
    }
    free(item);
    cli_store_free(&s);
    return rc;
}

static int export_file(struct cli *cli, const struct request *r, const char *path)
{
    struct saikai_error err = {0};
    struct cli_export x = {.item = (size_t[]){0}, .count = 1, .source = path};
    if (sk_content_of_file(path, &x.from, &err))
        return cli_fail(cli, &err);
    int rc = write_hdf5(cli, r, &x);
    sk_content_free(x.from);
    return rc;
}

/* -1: nothing is wrong with what is asked for. */
static int check_usage(struct cli *cli, const struct request *r, const struct cli_target *t)
{
    if (!r->hdf5)
        return cli_usage(cli, "where to? Give --hdf5 OUT.h5");
    const char *odd = r->global ? "--global" : r->gen ? "--gen" : r->rank >= 0 ? "--rank" : NULL;
    if (r->global && r->rank >= 0)
        return cli_usage(cli, "--global takes the parts of all ranks: --rank does not go with it");
    return *t->file && odd
               ? cli_usage(cli, "%s is one rank's file: %s does not go with it", t->file, odd)
               : -1;
}

int cli_export(struct cli *cli, int argc, char **argv)
{
    struct request r = {.rank = -1};
    const struct cli_option options[] = {
        {0, "hdf5", CLI_TEXT, &r.hdf5, "OUT.h5", NULL, "write an HDF5 file; -: to standard output"},
        {'g', "gen", CLI_TEXT, &r.gen, "GEN", NULL,
         "which generation: its name, its iteration, or 'newest' (the default: the newest "
         "complete one)"},
        {'r', "rank", CLI_INT, &r.rank, "RANK", NULL, "only what this rank saved"},
        {'v', "variable", CLI_LIST, &r.variables, "NAME", NULL,
         "only variables of this name, which may have wildcards; may be repeated"},
        {0, "global", CLI_FLAG, &r.global, NULL, NULL,
         "one dataset for each global array, put together from the parts of all ranks (of programs "
         "that declare them: saikai_protect_global)"},
        {'p', "partial", CLI_FLAG, &r.partial, NULL, NULL,
         "export a generation that lacks ranks, without them"},
        {'l', "local", CLI_FLAG, &r.local, NULL, NULL,
         "take it from the store on this node (store.local) instead of the prefix"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "[DIR | GENERATION | FILE.skc]",
        .about = "Writes a generation as one HDF5 file: a group for each rank (/rank000000, ...) "
                 "with a dataset for each variable; iteration and number of ranks are attributes. "
                 "DIR is a store's directory, by default the key store.prefix.",
        .max_operands = 1,
        .options = options,
    };
    struct cli_target t;
    int rc = cli_target_parse(cli, &spec, &argc, &argv, &r.local, &t);
    if (rc < 0)
        rc = check_usage(cli, &r, &t);
    if (rc < 0)
        rc = *t.file ? export_file(cli, &r, t.file) : export_store(cli, &r, &t);
    cli_list_free(&r.variables);
    return rc;
}
