/* saikai archive create: checkpoint files into one archive, once or as they come. */
#include "cli/archive/archive_create.h"

#include "archive/write/create.h"
#include "codec/codec.h"
#include "codec/general/general.h"
#include "reader/reader.h"
#include "base/file/io.h"
#include "base/file/passing.h"
#include "base/log.h"
#include "base/text/output.h"
#include "cli/archive/archive_inputs.h"
#include "cli/archive/archive_left.h"
#include "cli/archive/archive_own.h"
#include "cli/archive/archive_ranks.h"
#include "cli/archive/archive_say.h"
#include "cli/archive/archive_watch.h"
#include "cli/cli.h"
#include "cli/archive/heap.h"
#include "cli/archive/interrupt.h"
#include "cli/kinds.h"
#include "cli/mpi_group.h"

#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int describe_all(const struct cli_list *files, struct saikai_error *err)
{
    for (int i = 0; i < files->n; i++) {
        void *text = NULL;
        size_t n;
        int rc = sk_io_slurp(files->items[i], 1 << 20, &text, &n, err);
        if (!rc)
            rc = sk_raw_describe(text, files->items[i], err);
        free(text);
        if (rc)
            return rc;
    }
    return 0;
}

/* What the command line says. */
struct args {
    const char *out, *scheme, *backend, *pattern, *f64, *f32, *other;
    const char *level_text;
    int64_t threads, level, sets, chain;
    double settle;
    int no_sync, quiet, verbose;
    struct cli_archive_watch watch;
    struct cli_list descriptions, exclude;
    const char *files_from;
    int follow, null;
    int64_t writers, group;
    const char *order;
    struct sk_archive_options o;
};

static int parse_level(const char *text, int64_t *level)
{
    char *end;
    long n = strcmp(text, "best") ? strtol(text, &end, 10) : SK_PACK_LEVELS;
    if (strcmp(text, "best") && (end == text || *end || n < 1 || n > SK_PACK_LEVELS))
        return -1;
    *level = n;
    return 0;
}

/* -1, or the exit code for an expression that does not compile. */
static int check_pattern(struct cli *cli, const char *pattern)
{
    char why[160];
    regex_t re;
    int rc = regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB);
    if (!rc) {
        regfree(&re);
        return -1;
    }
    regerror(rc, &re, why, sizeof why);
    return cli_usage(cli, "--same '%s' is no regular expression: %s", pattern, why);
}

static int parse(struct cli *cli, struct args *a, int *argc, char ***argv)
{
    const struct cli_option options[] = {
        {'o', "output", CLI_TEXT, &a->out, "FILE", NULL,
         "the archive to write (required); an older one is replaced, a device or FIFO written to; -: standard output"},
        {'s', "scheme", CLI_CHOICE, &a->scheme, NULL,
         cli_forms(&sk_merge_kind, SK_AUTO),
         "how files are merged before compression; auto looks at samples of the data and decides"},
        {0, "writers", CLI_INT, &a->writers, "M", NULL,
         "under mpirun: M processes write an archive each (default: one on each node)"},
        {'g', "group", CLI_INT, &a->group, "G", NULL,
         "under mpirun: groups of G processes share a writer"},
        {0, "order", CLI_CHOICE, &a->order, NULL, "rank|node",
         "under mpirun: processes with numbers in a row share a writer, or those of a node "
         "(default "
         "rank)"},
        {'m', "memory", CLI_SIZE, &a->o.memory_bytes, "SIZE", NULL,
         "limit for buffers (default 1GiB)"},
        {'b', "merge-block", CLI_SIZE, &a->o.merge_bytes, "SIZE", NULL,
         "bytes of one turn of the block schemes (default 64KiB)"},
        {0, "unit", CLI_SIZE, &a->o.unit_bytes, "SIZE", NULL,
         "bytes that are compressed together (default: chosen from memory and data)"},
        {0, "smallest", CLI_SIZE, &a->o.first_bytes, "SIZE", NULL,
         "variables below this size skip the first pass (default 100)"},
        {'j', "threads", CLI_INT, &a->threads, "N", NULL,
         "threads that compress (default: one per processor)"},
        {0, "backend", CLI_CHOICE, &a->backend, NULL, cli_forms(&sk_backend_kind, NULL), "second pass (default: the first of them)"},
        {0, "level", CLI_TEXT, &a->level_text, "N|best", NULL, "level of the second pass, 1 to 22; best: the fewest bytes, slowly (default: chosen)"},
        {0, "codec-f64", CLI_TEXT, &a->f64, "NAME", NULL,
         "first pass for doubles in the aware schemes"},
        {0, "codec-f32", CLI_TEXT, &a->f32, "NAME", NULL,
         "first pass for floats in the aware schemes"},
        {0, "codec-other", CLI_TEXT, &a->other, "NAME", NULL,
         "first pass for all other types in the aware schemes"},
        {0, "same", CLI_TEXT, &a->pattern, "REGEX", NULL,
         "variables whose names differ only in what matches REGEX are the same (default: numbers "
         "in the group)"},
        {0, "describe", CLI_LIST, &a->descriptions, "FILE", NULL,
         "layout description of a raw format (docs/format-raw.md); may be repeated"},
        {'T', "files-from", CLI_TEXT, &a->files_from, "FILE", NULL,
         "also what is named in FILE, one name on each line; - is standard input"},
        {'0', "null", CLI_FLAG, &a->null, NULL, NULL, "names in that FILE end with a zero byte, as find -print0 writes them: they may hold newlines"},
        {0, "exclude", CLI_LIST, &a->exclude, "GLOB", NULL,
         "leave out what is called so, with or without its directory; may be repeated"},
        {'L', "dereference", CLI_FLAG, &a->follow, NULL, NULL,
         "archive what symbolic links lead to in place of the links (under mpirun always)"},
        {'w', "watch", CLI_TEXT, &a->watch.dir, "DIR", NULL,
         "archive each finished set, a directory directly below DIR, to NAME.ska in the directory "
         "given "
         "by -o; until interrupted. Under mpirun the first process does it"},
        {0, "settle", CLI_TIME, &a->settle, "TIME", NULL,
         "with --watch: a set is finished when nothing in it has changed for this long (default "
         "10s)"},
        {0, "sets", CLI_INT, &a->sets, "N", NULL, "with --watch: end after N sets"},
        {0, "previous", CLI_TEXT, &a->o.previous, "FILE|DIR", NULL,
         "the archive of the set before, in the same directory; under mpirun and with --watch the "
         "directory given by -o, for the newest in it: store what is new since; the new archive "
         "cannot be read without it"},
        {0, "chain", CLI_INT, &a->chain, "N", NULL,
         "archives that may build on each other in a row, 1 to 32 (default 8); the next one stands "
         "alone"},
        {0, "no-sync", CLI_FLAG, &a->no_sync, NULL, NULL, "do not wait for the disk"},
        {'q', "quiet", CLI_FLAG, &a->quiet, NULL, NULL, "print nothing"},
        {'v', "verbose", CLI_FLAG, &a->verbose, NULL, NULL,
         "tell what was chosen, and where the time went"},
        {0}};
    const struct cli_spec spec = {
        "-o FILE PATH... | -o DIR PATH... (under mpirun) | --watch DIR -o DIR",
        "Put checkpoint files (directories: all files below) into one archive. "
        "Every file comes back byte for byte, whatever is in it. Under mpirun each process gives "
        "the "
        "files that it sees; in PATH %r is its rank and %n its node, and patterns in quotes are "
        "expanded by each process.",
        0,
        -1,
        0,
        options};
    int code = cli_parse(cli, &spec, argc, argv);
    if (code >= 0)
        return code;
    if (!a->out)
        return cli_usage(cli, "-o FILE is missing: where to write the archive");
    const char *const codecs[] = {a->f64, a->f32, a->other};
    for (int i = 0; i < 3; i++)
        if (codecs[i] && !sk_codec_find(codecs[i]))
            return cli_usage(cli, "there is no codec '%s'", codecs[i]);
    if (a->level_text && parse_level(a->level_text, &a->level))
        return cli_usage(cli, "--level: '%s' is no level: they go from 1 to %d, or 'best'", a->level_text, SK_PACK_LEVELS);
    if (a->pattern && (code = check_pattern(cli, a->pattern)) >= 0)
        return code;
    if (a->chain < 1 || a->chain > SK_SKA_MAX_DEPTH)
        return cli_usage(cli, "--chain goes from 1 to %d", SK_SKA_MAX_DEPTH);
    if (!a->watch.dir == !(*argc || a->files_from))
        return cli_usage(cli, a->watch.dir ? "--watch takes no files"
                                           : "which files? name some, or use --watch DIR");
    return -1;
}

static void complete(struct args *a)
{
    a->o.scheme = sk_scheme_parse(a->scheme);
    a->o.backend = a->backend ? sk_backend_parse(a->backend) : 0;
    a->o.level = (int)a->level;
    a->o.threads = (int)a->threads;
    a->o.codec_f64 = a->f64;
    a->o.codec_f32 = a->f32;
    a->o.codec_other = a->other;
    a->o.pattern = a->pattern;
    a->o.no_sync = a->no_sync;
    a->o.chain = (int)a->chain;
    a->watch.out = a->out;
    a->watch.settle_s = a->settle;
    a->watch.count = (long)a->sets;
    a->watch.quiet = a->quiet;
    a->watch.previous = a->o.previous != NULL;
    a->watch.follow = a->follow;
    a->watch.exclude = &a->exclude;
}

static void drop(void *path)
{
    sk_io_unlink(path, NULL);
}

/* To a stream by way of a temporary file; a link's file in its place. */
static int create(const char *to, const struct archive_inputs *in, const struct sk_archive_options *o,
                  struct sk_archive_stats *st, struct saikai_error *err)
{
    struct sk_output out;
    char tmp[4096];
    int rc = sk_output_look(to, &out, err);
    if (!rc && out.is_stream && o->previous)
        return sk_fail(err, SAIKAI_EINVAL, "with --previous the archive lies in the directory of %s: give a file there with -o", o->previous);
    if (rc || !out.is_stream)
        return rc ? rc : sk_archive_create(out.path, in->list, in->n, o, st, err);
    struct sk_passing passing = {.drop = drop, .arg = tmp};
    sk_passing_hold();
    int fd = sk_output_temporary(tmp, err), made = -1;
    if (fd >= 0)
        sk_passing_begin(&passing);
    sk_passing_release();
    rc = fd < 0 ? fd : sk_archive_create(tmp, in->list, in->n, o, st, err);
    if (!rc && (made = sk_io_open(tmp, O_RDONLY, 0, err)) < 0)
        rc = made;
    if (!rc)
        rc = sk_output_send(made, tmp, &out, err);
    if (made >= 0)
        close(made);
    if (fd >= 0) {
        close(fd);
        sk_io_unlink(tmp, NULL);
        sk_passing_end(&passing);
    }
    return rc;
}

/* *left: what could not be read. */
static int create_once(const struct args *a, int count, char **operands, struct cli_archive_left *left, struct saikai_error *err)
{
    enum { HEAP = 64 << 20 };
    struct cli_archive_own own;
    struct archive_inputs in = {.follow = a->follow, .exclude = &a->exclude, .own = &own, .leave_out = cli_archive_leave_out, .leave_arg = left};
    struct sk_archive_options o = a->o;
    struct sk_archive_stats st;
    struct cli_progress bar;
    cli_archive_own_file(&own, a->out);
    if (o.previous)
        cli_archive_own_below(&own, o.previous);
    int rc = cli_archive_may_replace(a->out, err);
    if (!rc && a->files_from)
        rc = cli_archive_inputs_listed(a->files_from, a->null ? 0 : '\n', &in, err);
    if (!rc)
        rc = cli_archive_inputs_gather(operands, count, &in, err);
    if (!rc && !a->quiet)
        cli_archive_own_say(&own, "archive create");
    if (!rc && !in.n && !in.entry_count)
        rc = sk_fail(err, SAIKAI_ENOENT, "there is nothing to archive: %s", left->count || in.excluded ? "all that was named is left out" : "no file was named");
    o.leave_out = in.leave_out;
    o.leave_arg = left;
    o.entries = in.entries;
    o.entry_count = in.entry_count;
    if (!o.memory_bytes) /* else it is to be as little as can be */
        cli_heap_keep((size_t)HEAP);
    cli_progress_begin(&bar, "archive", 1);
    if (!a->quiet)
        cli_archive_show(&o.progress, &o.progress_arg, &bar);
    if (!rc)
        rc = create(a->out, &in, &o, &st, err);
    cli_progress_end(&bar);
    cli_archive_inputs_free(&in);
    if (!rc && !a->quiet)
        cli_archive_print_created(a->out, &st);
    if (!rc && a->verbose)
        fprintf(sk_output_is_dash(a->out) ? stderr : stdout, "  listing %.0f ms, sampling %.0f ms, in all %.0f ms\n", st.scan_seconds * 1e3,
               st.sample_seconds * 1e3, st.seconds * 1e3);
    return rc;
}

static int create_ranks(struct cli *cli, const struct args *a, int count, char **operands)
{
    struct sk_collect_options o = {.archive = a->o};
    if (a->writers && a->group)
        return cli_usage(cli, "--writers and --group say the same in two ways: give one of them");
    o.previous = a->o.previous != NULL;
    o.archive.previous = NULL;
    o.writers = (int)a->writers;
    o.group = (int)a->group;
    o.order = a->order && !strcmp(a->order, "node") ? SK_ORDER_NODE : SK_ORDER_RANK;
    struct cli_archive_named named = {.operands = operands, .count = count, .list = a->files_from, .end = a->null ? 0 : '\n', .exclude = &a->exclude};
    return cli_archive_create_ranks(cli, a->out, &named, &o, a->quiet);
}

/* One process is enough to watch: the first one does it, the others are done. */
static int watch(const struct args *a, struct saikai_error *err)
{
    return cli_mpi_rank() ? 0 : cli_archive_watch(&a->watch, &a->o, err);
}

int cli_archive_create(struct cli *cli, int argc, char **argv)
{
    struct args a = {.scheme = SK_AUTO, .settle = 10, .chain = SK_CHAIN};
    struct saikai_error err = {0};
    int code = parse(cli, &a, &argc, &argv), rc = 0;
    if (code < 0) {
        if (a.verbose)
            sk_log_set(sk_log_stderr, NULL, SK_LOG_DEBUG);
        else if (a.quiet)
            sk_log_set(NULL, NULL, -1);
        complete(&a);
        rc = describe_all(&a.descriptions, &err);
        int ranks = !a.watch.dir && (a.writers || a.group || a.order || cli_mpi_started());
        if (!rc && a.o.previous && (a.watch.dir || ranks))
            rc = cli_archive_same_dir(a.o.previous, a.out, &err);
        if (!rc && ranks) {
            code = create_ranks(cli, &a, argc, argv);
            cli_list_free(&a.descriptions);
            cli_list_free(&a.exclude);
            return code;
        }
        struct cli_interrupt interrupt = {0};
        struct cli_archive_left left = {.command = cli->command};
        if (!a.watch.dir) /* the watcher ends by itself, after the set that it is at */
            cli_interrupt_begin(&interrupt);
        if (!rc)
            rc = a.watch.dir ? watch(&a, &err) : create_once(&a, argc, argv, &left, &err);
        cli_interrupt_end(&interrupt);
        code = rc ? cli_fail(cli, &err) : cli_archive_left_say(&left, a.out);
    }
    cli_list_free(&a.descriptions);
    cli_list_free(&a.exclude);
    return code;
}
