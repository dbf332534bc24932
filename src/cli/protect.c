/* saikai protect: parity on other nodes for node-local files of any program. */
#include "cli/protect_options.h"

#include "base/file/io.h"
#include "base/config/units.h"
#include "cli/kinds.h"
#include "redundancy/domains.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct protection {
    struct cli_protect common;
    int64_t group, parity;
    const char *scheme, *domains;
    int dedicated;
    char **name;
    int names, room;
};

static int add_name(struct protection *o, const char *name, struct saikai_error *err)
{
    if (o->names == o->room) {
        int room = o->room ? 2 * o->room : 64;
        char **more = realloc(o->name, (size_t)room * sizeof *more);
        if (!more)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of %d files", room);
        o->name = more;
        o->room = room;
    }
    if (!(o->name[o->names] = strdup(name)))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a file name");
    o->names++;
    return 0;
}

/* The nodes' files have other names on each: patterns are expanded here, below the directory. */
static int add_pattern(struct protection *o, const char *pattern, struct saikai_error *err)
{
    char path[PATH_MAX];
    glob_t g = {0};
    size_t skip = strlen(o->common.dir) + 1;
    int rc = sk_io_path(path, sizeof path, err, "%s/%s", o->common.dir, pattern);
    if (rc)
        return rc;
    int found = glob(path, 0, NULL, &g);
    if (found == GLOB_NOMATCH && !strpbrk(pattern, "*?["))
        rc = sk_fail(err, SAIKAI_ENOENT, "%s does not exist", path);
    else if (found && found != GLOB_NOMATCH)
        rc = sk_fail(err, SAIKAI_EIO, "cannot look for %s", path);
    for (size_t i = 0; !rc && i < g.gl_pathc; i++)
        rc = add_name(o, g.gl_pathv[i] + skip, err);
    globfree(&g);
    return rc;
}

static int print(const struct cli *cli, const struct protection *o,
                 const struct sk_protect_params *p, const struct sk_protect_result *r,
                 uint64_t bytes, int ranks)
{
    char size[32], time[32];
    double s = r->encoded.seconds;
    if (!o->common.json) {
        printf("generation %llu: %s of %d nodes in %d group%s, %s with %d parit%s, %s, %s\n",
               (unsigned long long)r->generation, sk_format_size(size, sizeof size, bytes), ranks,
               r->groups, r->groups == 1 ? "" : "s", p->coding.scheme, p->coding.parity,
               p->coding.parity == 1 ? "y" : "ies", r->encoded.form,
               sk_format_time(time, sizeof time, s));
        return CLI_OK;
    }
    struct sk_json j = {0};
    sk_json_object(&j, NULL);
    sk_json_uint(&j, "generation", r->generation);
    sk_json_uint(&j, "nodes", (uint64_t)ranks);
    sk_json_uint(&j, "groups", (uint64_t)r->groups);
    sk_json_text(&j, "scheme", p->coding.scheme);
    sk_json_uint(&j, "parity", (uint64_t)p->coding.parity);
    sk_json_text(&j, "form", r->encoded.form);
    sk_json_uint(&j, "size_bytes", bytes);
    sk_json_real(&j, "seconds", s);
    sk_json_end(&j);
    return cli_print_json(cli, &j, CLI_OK);
}

static int protect(struct cli *cli, struct protection *o, int argc, char **argv)
{
    struct saikai_error err = {0};
    struct cli_mpi m;
    struct sk_protect_params p = {.coding = {.scheme = o->scheme,
                                             .parity = (int)o->parity,
                                             .placement = o->dedicated ? SK_DEDICATED : SK_SPREAD},
                                  .members = (int)o->group,
                                  .rule = o->domains};
    struct sk_protect_result r;
    int rc = cli_mpi_start(&m, &err);
    if (rc)
        return cli_protect_fail(cli, &m, &err);
    rc = cli_protect_params(&o->common, &p, &err);
    for (int i = 0; !rc && i < argc; i++)
        rc = add_pattern(o, argv[i], &err);
    p.files = o->names;
    p.name = (const char *const *)o->name;
    rc = sk_group_verdict(m.group, rc, &err);
    if (!rc)
        rc = sk_protect_files(m.group, &p, &r, &err);
    int64_t bytes = rc ? 0 : (int64_t)r.encoded.data_bytes;
    if (!rc)
        rc = sk_group_allreduce(m.group, &bytes, 1, SK_OP_SUM);
    int code = CLI_OK;
    if (rc)
        code = cli_protect_fail(cli, &m, &err);
    else if (!m.group->rank)
        code = print(cli, o, &p, &r, (uint64_t)bytes, m.group->size);
    cli_mpi_stop(&m);
    return code;
}

int cli_protect(struct cli *cli, int argc, char **argv)
{
    struct protection o = {.parity = 1, .scheme = sk_scheme_rs.name};
    const struct cli_option options[] = {
        {'g', "group", CLI_INT, &o.group, "N", NULL,
         "nodes that protect each other (default: 8, or all when fewer)"},
        {'m', "parity", CLI_INT, &o.parity, "M", NULL,
         "lost nodes of a group that are bearable, 1 to 4 (default: 1)"},
        {'s', "scheme", CLI_CHOICE, &o.scheme, "SCHEME", cli_forms(&sk_scheme_kind, NULL),
         "kind of redundancy (default: the last of them)"},
        {0, "domains", CLI_TEXT, &o.domains, "RULE", NULL,
         cli_forms_help(&sk_domain_kind, "what fails together: %s (default: the host)")},
        {0, "dedicated", CLI_FLAG, &o.dedicated, NULL, NULL,
         "the last M nodes of a group have no files and keep all parity"},
        CLI_PROTECT_OPTIONS(o.common),
        {0}};
    const struct cli_spec spec = {.operands = "FILE...",
                                  .about = "Gives node-local files of any program parity on other "
                                           "nodes, so that they survive the loss of nodes. "
                                           "Start it with mpirun, one process on each node. FILE "
                                           "is a path below the files' directory on each "
                                           "node; patterns in quotes are expanded on the nodes.",
                                  .min_operands = 1,
                                  .max_operands = -1,
                                  .options = options};
    int code = cli_parse(cli, &spec, &argc, &argv);
    if (code >= 0)
        return code;
    if (o.parity < 1 || o.parity > SK_MAX_PARITY)
        return cli_usage(cli, "--parity %lld: 1 to %d are possible", (long long)o.parity,
                         SK_MAX_PARITY);
    if (o.group && (o.group <= o.parity || o.group > SK_MAX_MEMBERS))
        return cli_usage(cli, "--group %lld: more than the parity, at most %d", (long long)o.group,
                         SK_MAX_MEMBERS);
    code = protect(cli, &o, argc, argv);
    for (int i = 0; i < o.names; i++)
        free(o.name[i]);
    free(o.name);
    return code;
}
