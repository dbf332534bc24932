/* Creates and extracts archives with all ranks that the launcher started. Patterns in the operands
 * let each rank name its own files. */
#include "cli/archive/archive_ranks.h"

#include "archive/ranks/deliver.h"
#include "base/text/counted.h"
#include "cli/archive/archive_inputs.h"
#include "cli/archive/archive_left.h"
#include "cli/archive/archive_own.h"
#include "cli/archive/archive_say.h"
#include "cli/mpi_group.h"

#include "base/text/shown.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fail_once(const struct cli *cli, const struct cli_mpi *m, const struct saikai_error *err)
{
    return m->group && m->group->rank ? CLI_FAILED : cli_fail(cli, err);
}

/* An operand with %r, %n and %% replaced. */
static int fill_in(const char *from, int rank, char *out, size_t cap, struct saikai_error *err)
{
    char host[256] = "", number[16];
    size_t n = 0;
    gethostname(host, sizeof host - 1);
    snprintf(number, sizeof number, "%d", rank);
    for (; *from; from++) {
        const char *put = NULL;
        if (*from == '%' && from[1])
            put = from[1] == 'r' ? number : from[1] == 'n' ? host : from[1] == '%' ? "%" : NULL;
        size_t k = put ? strlen(put) : 1;
        if (n + k + 1 > cap)
            return sk_fail(err, SAIKAI_EINVAL, "the name '%.80s…' is too long", out);
        memcpy(out + n, put ? put : from, k);
        n += k;
        from += put != NULL;
    }
    out[n] = 0;
    return 0;
}

static int read_list(const struct cli_archive_named *named, int rank, struct archive_inputs *in, struct saikai_error *err)
{
    char path[PATH_MAX];
    if (!strcmp(named->list, "-"))
        return sk_fail(err, SAIKAI_EINVAL, "-T -: under mpirun only one process has a standard input; name a file, with %%r in its name where each process has its own");
    int rc = fill_in(named->list, rank, path, sizeof path, err);
    return rc ? rc : cli_archive_inputs_listed(path, named->end, in, err);
}

/* A pattern that matches nothing here is no mistake: other nodes may have the files. */
static int gather(const struct cli_archive_named *named, int rank, struct archive_inputs *in, struct saikai_error *err)
{
    glob_t g = {0};
    char path[PATH_MAX];
    int rc = named->list ? read_list(named, rank, in, err) : 0, flags = 0;
    for (int i = 0; i < named->count && !rc; i++) {
        rc = fill_in(named->operands[i], rank, path, sizeof path, err);
        int pattern = strpbrk(path, "*?[") != NULL;
        int found = rc ? 0 : glob(path, flags | (pattern ? 0 : GLOB_NOCHECK), NULL, &g);
        if (found && found != GLOB_NOMATCH)
            rc = sk_fail(err, SAIKAI_EIO, "cannot look for %s", path);
        flags = GLOB_APPEND;
    }
    if (!rc)
        rc = cli_archive_inputs_gather(g.gl_pathv, (int)g.gl_pathc, in, err);
    globfree(&g);
    return rc;
}

int cli_archive_create_ranks(struct cli *cli, const char *out, const struct cli_archive_named *named,
                             const struct sk_collect_options *o, int quiet)
{
    struct saikai_error err = {0};
    struct cli_mpi m;
    struct cli_archive_own own;
    struct cli_archive_left left = {.command = cli->command};
    struct archive_inputs in = {.follow = 1, .exclude = named->exclude, .own = &own, .leave_out = cli_archive_leave_out, .leave_arg = &left};
    struct sk_archive_stats st;
    struct sk_ska_set set;
    int rc = cli_mpi_start(&m, &err);
    if (rc)
        return fail_once(cli, &m, &err);
    cli_archive_own_sets(&own, out);
    rc = gather(named, m.group->rank, &in, &err);
    if (!rc && !quiet)
        cli_archive_own_say(&own, cli->command);
    int64_t sums[] = {(int64_t)in.n, (int64_t)left.count};
    rc = sk_group_verdict(m.group, rc, &err);
    if (!rc && (rc = sk_group_allreduce(m.group, sums, 2, SK_OP_SUM)))
        sk_fail(&err, rc, "the ranks lost touch");
    if (!rc && !sums[0])
        rc = sk_fail(&err, SAIKAI_ENOENT, "no rank found a file to archive");
    if (!rc)
        rc = sk_collect_create(m.group, out, in.list, in.n, o, &st, &set, &err);
    cli_archive_inputs_free(&in);
    int code = rc ? fail_once(cli, &m, &err) : sums[1] ? CLI_PARTIAL : CLI_OK;
    left.count = (size_t)sums[1];
    if (!rc && !m.group->rank)
        cli_archive_left_say(&left, out);
    if (!rc && !m.group->rank && !quiet) {
        char name[64];
        snprintf(name, sizeof name, "set %llu of %d archive%s", (unsigned long long)set.number,
                 set.parts, set.parts == 1 ? "" : "s");
        cli_archive_print_created(name, &st);
    }
    cli_mpi_stop(&m);
    return code;
}

int cli_archive_extract_ranks(struct cli *cli, const char *path, const char *dir,
                          const struct sk_extract_options *o, int say)
{
    struct saikai_error err = {0};
    struct cli_mpi m;
    struct sk_archive_stats st = {0};
    struct sk_deliver_options d = {.extract = *o};
    char mine[PATH_MAX] = "";
    int rc = cli_mpi_start(&m, &err);
    if (rc)
        return fail_once(cli, &m, &err);
    if (dir)
        rc = fill_in(dir, m.group->rank, mine, sizeof mine, &err);
    rc = sk_group_verdict(m.group, rc, &err);
    if (!rc)
        rc = sk_collect_extract(m.group, path, dir ? mine : NULL, &d, &st, &err);
    int json = say == 2 && !m.group->rank && (!rc || rc == SAIKAI_EDAMAGED);
    int code = rc ? json ? CLI_FAILED : fail_once(cli, &m, &err) : CLI_OK;
    if (json) {
        struct sk_json j = {0};
        sk_json_object(&j, NULL);
        sk_json_text(&j, "archive", path);
        cli_archive_extracted_json(&j, &st, rc ? err.text : NULL);
        sk_json_end(&j);
        code = cli_print_json(cli, &j, code);
    }
    if (!rc && !m.group->rank && say == 1)
        printf("%s: %s %s by %s, %.0f MB/s\n", sk_shown(path), sk_counted(st.files, "file(s)"),
               dir ? "restored" : st.files == 1 ? "is good" : "are good", sk_counted((unsigned)m.group->size, "rank(s)"),
               st.seconds > 0 ? (double)st.raw_bytes / st.seconds / 1e6 : 0.0);
    cli_mpi_stop(&m);
    return code;
}
