/* saikai export: a generation as a file that other programs can open. */
#include "cli/export.h"

#include "base/io.h"
#include "base/units.h"
#include "cli/progress.h"
#include "cli/store_dir.h"
#include "store/lineage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_export_open(const char *path, struct sk_container **out, struct saikai_error *err)
{
    char root[PATH_MAX]; /* what it builds on is beside its generation's directory */
    const char *slash = strrchr(path, '/');
    int rc = sk_io_path(root, sizeof root, err, "%.*s..", slash ? (int)(slash - path) + 1 : 0, path);
    return rc ? rc : sk_lineage_open_file(path, root, out, err);
}

static int list_paths(const struct cli_store *s, const struct cli_gen *g, char ***out,
                      struct saikai_error *err)
{
    char **path = calloc((size_t)g->have + 1, sizeof *path);
    int rc = path ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for %d paths", g->have);
    for (int i = 0; !rc && i < g->have; i++) {
        char p[PATH_MAX];
        rc = sk_gen_file(s->root, g->gen, g->ranks[i], p, sizeof p, err);
        if (!rc && !(path[i] = strdup(p)))
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for %d paths", g->have);
    }
    *out = path;
    return rc;
}

static void free_paths(char **path)
{
    for (size_t i = 0; path && path[i]; i++)
        free(path[i]);
    free(path);
}

static int write_hdf5(struct cli *cli, const char *out, char **paths, size_t count,
                      const char *source, enum cli_export_scope scope, uint64_t bytes)
{
    struct saikai_error err = {0};
    struct cli_progress bar;
    uint64_t raw = 0;
    char size[32];
    cli_progress_begin(&bar, "exporting", bytes);
    int rc =
        cli_export_hdf5(out, (const char *const *)paths, count, source, scope, &bar, &raw, &err);
    cli_progress_end(&bar);
    if (rc)
        return cli_fail(cli, &err);
    printf("%s: %zu rank%s, %s\n", out, count, count == 1 ? "" : "s",
           sk_format_size(size, sizeof size, raw));
    return CLI_OK;
}

static int export_store(struct cli *cli, const struct cli_target *t, const char *gen, int partial,
                        int global, const char *out)
{
    struct cli_store s;
    struct saikai_error err = {0};
    char **paths = NULL, missing[200], source[PATH_MAX];
    size_t i = 0;
    if (cli_store_load(cli, t, &s, &err))
        return cli_store_fail(cli, &err);
    int rc = cli_store_choose(&s, t, gen, &i, &err);
    const struct cli_gen *g = rc ? NULL : &s.gen[i];
    if (g && !g->complete && !partial)
        rc = sk_fail(&err, SAIKAI_ENOENT,
                     "%s/%s is not complete%s%s; --partial exports what there is", s.root, g->name,
                     g->nranks ? ": missing rank " : "",
                     g->nranks ? cli_missing_ranks(g, missing, sizeof missing) : "");
    if (!rc)
        rc = list_paths(&s, g, &paths, &err);
    if (rc) {
        rc = cli_store_fail(cli, &err);
    } else {
        snprintf(source, sizeof source, "%.*s/%.48s", (int)sizeof source - 64, s.root, g->name);
        enum cli_export_scope scope = !global   ? CLI_EXPORT_RANKS
                                      : partial ? CLI_EXPORT_GLOBAL_PARTIAL
                                                : CLI_EXPORT_GLOBAL;
        rc = write_hdf5(cli, out, paths, (size_t)g->have, source, scope, g->bytes);
    }
    free_paths(paths);
    cli_store_free(&s);
    return rc;
}

int cli_export(struct cli *cli, int argc, char **argv)
{
    int local = 0, partial = 0, global = 0;
    const char *gen = NULL, *hdf5 = NULL;
    const struct cli_option options[] = {
        {0, "hdf5", CLI_TEXT, &hdf5, "OUT.h5", NULL, "write an HDF5 file"},
        {'g', "gen", CLI_TEXT, &gen, "GEN", NULL,
         "which generation: its name, its iteration, or 'newest' (the default: the newest "
         "complete one)"},
        {0, "global", CLI_FLAG, &global, NULL, NULL,
         "one dataset for each global array, put together from the parts of all ranks (of programs "
         "that declare them: saikai_protect_global)"},
        {'p', "partial", CLI_FLAG, &partial, NULL, NULL,
         "export a generation that lacks ranks, without them"},
        {'l', "local", CLI_FLAG, &local, NULL, NULL,
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
    struct saikai_error err = {0};
    struct cli_target t;
    int rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc >= 0)
        return rc;
    if (!hdf5)
        return cli_usage(cli, "where to? Give --hdf5 OUT.h5");
    if (cli_target_find(cli, argc ? argv[0] : NULL, local, &t, &err))
        return cli_store_fail(cli, &err);
    if (!*t.file)
        return export_store(cli, &t, gen, partial, global, hdf5);
    if (global)
        return cli_usage(cli, "%s is one rank's file: --global does not go with it", t.file);
    if (gen)
        return cli_usage(cli, "%s is one rank's file: --gen does not go with it", t.file);
    return write_hdf5(cli, hdf5, (char *[]){t.file, NULL}, 1, t.file, CLI_EXPORT_RANKS, 0);
}
