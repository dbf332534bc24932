/* saikai rebuild: the files of lost nodes, from what saikai protect left on the others. */
#include "cli/protect_options.h"

#include "base/config/units.h"
#include "cli/kinds.h"

#include <stdio.h>
#include <string.h>

static int print(const struct cli *cli, const struct cli_protect *o,
                 const struct sk_protect_result *r, uint64_t bytes)
{
    char size[32], time[32];
    const struct sk_rebuild_result *b = &r->rebuilt;
    if (!o->json) {
        printf("generation %llu: files of %d of %d nodes and %d of their parity files were lost; "
               "%s rebuilt, %s\n",
               (unsigned long long)r->generation, b->lost_data, b->members, b->lost_parity,
               sk_format_size(size, sizeof size, bytes),
               sk_format_time(time, sizeof time, b->seconds));
        return CLI_OK;
    }
    struct sk_json j = {0};
    sk_json_object(&j, NULL);
    sk_json_uint(&j, "generation", r->generation);
    sk_json_uint(&j, "nodes", (uint64_t)b->members);
    sk_json_uint(&j, "lost_data", (uint64_t)b->lost_data);
    sk_json_uint(&j, "lost_parity", (uint64_t)b->lost_parity);
    sk_json_uint(&j, "rebuilt_bytes", bytes);
    sk_json_real(&j, "seconds", b->seconds);
    sk_json_end(&j);
    return cli_print_json(cli, &j, CLI_OK);
}

int cli_rebuild(struct cli *cli, int argc, char **argv)
{
    struct cli_protect o = {0};
    const struct cli_option options[] = {CLI_PROTECT_OPTIONS(o), {0}};
    const struct cli_spec spec = {.operands = "",
                                  .about = "Gives back the files of nodes that were lost since "
                                           "saikai protect. Start it with mpirun, one process "
                                           "on each node that the job has now: nodes that still "
                                           "have their files keep them, the others, spare "
                                           "nodes too, get what is missing. Every file is checked.",
                                  .options = options};
    int code = cli_parse(cli, &spec, &argc, &argv);
    if (code >= 0)
        return code;
    struct saikai_error err = {0};
    struct cli_mpi m;
    struct sk_protect_params p = {0};
    struct sk_protect_result r;
    int rc = cli_mpi_start(&m, &err);
    if (rc)
        return cli_protect_fail(cli, &m, &err);
    rc = sk_group_verdict(m.group, cli_protect_params(&o, &p, &err), &err);
    if (!rc)
        rc = sk_rebuild_files(m.group, &p, &r, &err);
    int64_t bytes = rc ? 0 : (int64_t)r.rebuilt.rebuilt_bytes;
    if (!rc)
        rc = sk_group_allreduce(m.group, &bytes, 1, SK_OP_SUM);
    code = CLI_OK;
    if (rc)
        code = cli_protect_fail(cli, &m, &err);
    else if (!m.group->rank)
        code = print(cli, &o, &r, (uint64_t)bytes);
    cli_mpi_stop(&m);
    return code;
}
