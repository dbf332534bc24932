/* saikai archive extract and verify: files out of an archive, or only checked. */
#include "cli/archive/archive_extract.h"

#include "archive/file/set.h"
#include "archive/read/extract.h"
#include "base/log.h"
#include "base/file/io.h"
#include "base/text/counted.h"
#include "base/text/output.h"
#include "base/text/shown.h"
#include "cli/archive/archive_inputs.h"
#include "cli/archive/archive_own.h"
#include "cli/archive/archive_ranks.h"
#include "cli/archive/archive_say.h"
#include "cli/archive/archive_variable.h"
#include "cli/cli.h"
#include "cli/archive/interrupt.h"
#include "cli/mpi_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The command line, and what is told of the damage that was found: as lines at once, in JSON at the
 * end. */
struct args {
    const char *dir, *variable;
    int64_t threads;
    int verify, quiet, no_sync, json;
    struct sk_extract_options o;
    struct cli_list exclude;
    char spooled[64]; /* where standard input has been copied to; "": nowhere */
    struct sk_json j;     /* open in the list of damaged blocks */
    struct cli_list lost; /* names of damaged files, to be freed */
    int forgot;           /* no memory for a name */
};

/* What is said of the copy of standard input is said of that: the copy has no name that tells anybody anything. */
static const char *of_stdin(const char *spooled, const char *text, char to[sizeof((struct saikai_error *)0)->text])
{
    const char *at = *spooled ? strstr(text, spooled) : NULL;
    if (!at)
        return text;
    snprintf(to, sizeof((struct saikai_error *)0)->text, "%.*sstandard input%s", (int)(at - text), text, at + strlen(spooled));
    return to;
}

/* Damage is listed as it is found: each block with its reason, then the files that it costs. */
static void tell_damage(void *arg, const char *file, const char *why)
{
    struct args *a = arg;
    char text[sizeof((struct saikai_error *)0)->text];
    why = why ? of_stdin(a->spooled, why, text) : NULL;
    if (!a->json) {
        fprintf(stderr, "damaged: %s\n", sk_shown(file ? file : why));
        return;
    }
    if (!file) {
        sk_json_text(&a->j, NULL, why);
        return;
    }
    char *name = strdup(file);
    const char **items =
        name ? realloc(a->lost.items, sizeof *items * (size_t)(a->lost.n + 1)) : NULL;
    if (!items) {
        free(name);
        a->forgot = 1;
        return;
    }
    items[a->lost.n++] = name;
    a->lost.items = items;
}

/* A name pattern may be found in some archives of a set only. Damage of one archive does not keep
 * the others from being restored. */
static int extract_parts(const char *path, const char *dir, const struct sk_extract_options *o,
                         struct sk_archive_stats *sum, struct saikai_error *err)
{
    struct sk_ska_set set;
    char part[4096];
    struct saikai_error why = {0}, damage = {0};
    int rc = sk_ska_set_find(path, &set, err), found = 0, damaged = 0;
    *sum = (struct sk_archive_stats){0};
    for (int k = 0; !rc && (k < set.parts || !k); k++) {
        struct sk_archive_stats st = {0};
        rc = cli_archive_part_path(&set, path, k, part, sizeof part, err);
        if (!rc && (rc = sk_archive_extract(part, dir, o, &st, &why)))
            *err = why;
        found += !rc;
        if (rc == SAIKAI_ENOENT && (o->only || o->member_count) && (found || k + 1 < set.parts))
            rc = 0;
        if (rc == SAIKAI_EDAMAGED) {
            if (!damaged)
                damage = *err;
            damaged = rc;
            rc = 0;
        }
        sum->files += st.files;
        sum->raw_bytes += st.raw_bytes;
        sum->seconds += st.seconds;
    }
    if (!rc && damaged)
        *err = damage;
    return rc ? rc : damaged;
}

static int parse(struct cli *cli, struct args *a, int *argc, char ***argv)
{
    const struct cli_option options[] = {
        {'o', "output", CLI_TEXT, &a->dir, "DIR", NULL,
         "restore below DIR (default: the current directory); under mpirun %r in it is the rank, "
         "%n the node"},
        {0, "only", CLI_TEXT, &a->o.only, "GLOB", NULL,
         "only files whose name in the archive matches"},
        {0, "exclude", CLI_LIST, &a->exclude, "GLOB", NULL,
         "leave out what is called so, with or without its directory; may be repeated"},
        {0, "variable", CLI_TEXT, &a->variable, "NAME", NULL,
         "one variable (a glob, with or without its group) of all files into one HDF5 file, given "
         "by -o"},
        {'m', "memory", CLI_SIZE, &a->o.memory_bytes, "SIZE", NULL,
         "limit for buffers (default 1GiB)"},
        {'j', "threads", CLI_INT, &a->threads, "N", NULL, "threads (default: one per processor)"},
        {0, "no-sync", CLI_FLAG, &a->no_sync, NULL, NULL, "do not wait for the disk"},
        {0, "json", CLI_FLAG, &a->json, NULL, NULL, "print JSON: what was read, and all damage"},
        {'q', "quiet", CLI_FLAG, &a->quiet, NULL, NULL, "print nothing"},
        {0}};
    const struct cli_spec spec = {"ARCHIVE|DIR [MEMBER...]",
                                  a->verify ? "Decode everything and compare it with the stored "
                                              "checksums. '-' is an archive on standard input."
                                            : "Restore files from an archive ('-': on standard "
                                              "input), or from the newest set of a directory, "
                                              "checked against the stored checksums. Under mpirun "
                                              "each process restores its own: those that it "
                                              "gave, when there were as many. MEMBER is a file or "
                                              "directory of the archive, or a pattern: only "
                                              "these are restored. Damage costs the files that "
                                              "have bytes in the damaged block: they are listed, "
                                              "all others are restored, and the exit code is 3.",
                                  1,
                                  -1,
                                  0,
                                  options};
    int code = cli_parse(cli, &spec, argc, argv);
    if (code >= 0)
        return code;
    a->o.members = (const char *const *)(*argv + 1);
    a->o.member_count = *argc - 1;
    a->o.exclude = a->exclude.items;
    a->o.exclude_count = a->exclude.n;
    a->o.threads = (int)a->threads;
    a->o.no_sync = a->no_sync;
    a->o.sweeps = 1;
    if (a->variable && (a->verify || !a->dir))
        return cli_usage(cli, "--variable NAME goes with extract and -o FILE");
    if (a->variable && a->json)
        return cli_usage(cli, "--json does not go with --variable");
    if (cli_mpi_started() && (a->o.member_count || a->o.exclude_count))
        return cli_usage(cli, "under mpirun --only GLOB chooses files");
    return -1;
}

/* What happened, as a document of its own or as lines; the exit code. */
static int report(struct cli *cli, struct args *a, const char *archive,
                  const struct sk_archive_stats *st, int rc, const struct saikai_error *err)
{
    int code = !rc                                                ? CLI_OK
               : rc == SAIKAI_EDAMAGED && !a->verify && st->files ? CLI_PARTIAL
                                                                  : CLI_FAILED;
    if (a->json && (!rc || rc == SAIKAI_EDAMAGED)) {
        sk_json_end(&a->j);
        sk_json_array(&a->j, "damaged_files");
        for (int i = 0; i < a->lost.n; i++)
            sk_json_text(&a->j, NULL, a->lost.items[i]);
        sk_json_end(&a->j);
        cli_archive_extracted_json(&a->j, st, rc ? err->text : NULL);
        sk_json_end(&a->j);
        if (a->forgot)
            fprintf(stderr, "saikai %s: no memory for the names of all damaged files\n",
                    cli->command);
        return cli_print_json(cli, &a->j, a->forgot ? CLI_FAILED : code);
    }
    if (rc) {
        cli_fail(cli, err);
        return code;
    }
    if (!a->quiet)
        printf("%s: %s %s, %.0f MB/s\n", sk_shown(archive), sk_counted(st->files, "file(s)"),
               !a->verify ? "restored" : st->files == 1 ? "is good" : "are good",
               st->seconds > 0 ? (double)st->raw_bytes / st->seconds / 1e6 : 0.0);
    return code;
}

static int extract(struct cli *cli, struct args *a, const char *archive)
{
    struct saikai_error err = {0};
    struct sk_archive_stats st;
    struct cli_progress bar;
    const char *dir = a->verify ? NULL : a->dir ? a->dir : ".", *from = archive;
    if (sk_output_is_dash(archive)) {
        if (sk_output_spool_stdin(a->spooled, &err))
            return cli_fail(cli, &err);
        from = a->spooled;
    }
    if (cli_mpi_started())
        return cli_archive_extract_ranks(cli, archive, dir, &a->o, a->json ? 2 : !a->quiet);
    a->o.damaged = tell_damage;
    a->o.arg = a;
    if (a->json) {
        sk_json_object(&a->j, NULL);
        sk_json_text(&a->j, "archive", archive);
        sk_json_array(&a->j, "damaged_blocks");
    }
    cli_progress_begin(&bar, a->verify ? "verify" : "extract", 1);
    if (!a->quiet)
        cli_archive_show(&a->o.progress, &a->o.progress_arg, &bar);
    struct cli_interrupt interrupt;
    cli_interrupt_begin(&interrupt);
    int rc = extract_parts(from, dir, &a->o, &st, &err);
    cli_interrupt_end(&interrupt);
    cli_progress_end(&bar);
    char text[sizeof err.text];
    if (rc && of_stdin(a->spooled, err.text, text) == text)
        memcpy(err.text, text, sizeof text);
    return report(cli, a, archive, &st, rc, &err);
}

static int extract_variable(struct cli *cli, const struct args *a, const char *archive)
{
    struct cli_interrupt interrupt;
    struct saikai_error err = {0};
    char spooled[64];
    if (cli_archive_spares(a->dir, &err) || (sk_output_is_dash(archive) && sk_output_spool_stdin(spooled, &err)))
        return cli_fail(cli, &err);
    cli_interrupt_begin(&interrupt);
    int code = cli_archive_extract_variable(cli, sk_output_is_dash(archive) ? spooled : archive, a->variable, a->dir, &a->o, a->quiet, extract_parts);
    cli_interrupt_end(&interrupt);
    return code;
}

int cli_archive_extract(struct cli *cli, int argc, char **argv)
{
    struct args a = {.verify = !strcmp(argv[0], "verify")};
    int code = parse(cli, &a, &argc, &argv);
    if (code < 0 && a.quiet)
        sk_log_set(NULL, NULL, -1);
    if (code < 0)
        code = a.variable ? extract_variable(cli, &a, argv[0]) : extract(cli, &a, argv[0]);
    sk_json_free(&a.j);
    cli_list_free(&a.exclude);
    for (int i = 0; i < a.lost.n; i++)
        free((char *)a.lost.items[i]);
    cli_list_free(&a.lost);
    return code;
}
