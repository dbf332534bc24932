/* saikai archive: checkpoint files into one archive, and back. */
#include "archive/archive.h"
#include "archive/general.h"
#include "archive/reader.h"
#include "base/io.h"
#include "base/log.h"
#include "base/types.h"
#include "base/units.h"
#include "cli/archive_inputs.h"
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- create ---- */

void archive_print_created(const char *out, const struct sk_archive_stats *st)
{
    char raw[32], stored[32];
    printf("%s: %llu files, %llu variables, %s in %s, ratio %.3f, %.0f MB/s\n", out,
           (unsigned long long)st->files, (unsigned long long)st->variables,
           sk_format_size(raw, sizeof raw, st->raw_bytes),
           sk_format_size(stored, sizeof stored, st->stored_bytes),
           st->stored_bytes ? (double)st->raw_bytes / (double)st->stored_bytes : 0.0,
           st->seconds > 0 ? (double)st->raw_bytes / st->seconds / 1e6 : 0.0);
}

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

static int create(struct cli *cli, int argc, char **argv)
{
    const char *out = NULL, *scheme = "auto", *pattern = NULL, *backend = NULL;
    const char *f64 = NULL, *f32 = NULL, *other = NULL;
    int64_t threads = 0, level = 0;
    int64_t sets = 0;
    double settle = 10;
    int no_sync = 0, quiet = 0, verbose = 0;
    struct archive_watch watch = {0};
    struct cli_list descriptions = {0};
    struct sk_archive_options o = {0};
    const struct cli_option options[] = {
        {'o', "output", CLI_TEXT, &out, "FILE", NULL,
         "the archive to write (required); an older one is replaced"},
        {'s', "scheme", CLI_CHOICE, &scheme, NULL, "auto|agnostic|agnostic-block|aware|aware-block",
         "how files are merged before compression; auto looks at samples of the data and decides"},
        {'m', "memory", CLI_SIZE, &o.memory_bytes, "SIZE", NULL,
         "limit for buffers (default 1GiB)"},
        {'b', "merge-block", CLI_SIZE, &o.merge_bytes, "SIZE", NULL,
         "bytes of one turn of the block schemes (default 64KiB)"},
        {0, "unit", CLI_SIZE, &o.unit_bytes, "SIZE", NULL,
         "bytes that are compressed together (default: chosen from memory and data)"},
        {0, "smallest", CLI_SIZE, &o.first_bytes, "SIZE", NULL,
         "variables below this size skip the first pass (default 100)"},
        {'j', "threads", CLI_INT, &threads, "N", NULL,
         "threads that compress (default: one per processor)"},
        {0, "backend", CLI_CHOICE, &backend, NULL, "zstd|gzip", "second pass (default zstd)"},
        {0, "level", CLI_INT, &level, "N", NULL, "level of the second pass (default: chosen)"},
        {0, "codec-f64", CLI_TEXT, &f64, "NAME", NULL,
         "first pass for doubles in the aware schemes"},
        {0, "codec-f32", CLI_TEXT, &f32, "NAME", NULL,
         "first pass for floats in the aware schemes"},
        {0, "codec-other", CLI_TEXT, &other, "NAME", NULL,
         "first pass for all other types in the aware schemes"},
        {0, "same", CLI_TEXT, &pattern, "REGEX", NULL,
         "variables whose names differ only in what matches REGEX are the same (default: numbers "
         "in the group)"},
        {0, "describe", CLI_LIST, &descriptions, "FILE", NULL,
         "layout description of a raw format (docs/format-raw.md); may be repeated"},
        {'w', "watch", CLI_TEXT, &watch.dir, "DIR", NULL,
         "archive each finished set, a directory directly below DIR, to NAME.ska in the directory "
         "given "
         "by -o; until interrupted"},
        {0, "settle", CLI_TIME, &settle, "TIME", NULL,
         "with --watch: a set is finished when nothing in it has changed for this long (default "
         "10s)"},
        {0, "sets", CLI_INT, &sets, "N", NULL, "with --watch: end after N sets"},
        {0, "no-sync", CLI_FLAG, &no_sync, NULL, NULL, "do not wait for the disk"},
        {'q', "quiet", CLI_FLAG, &quiet, NULL, NULL, "print nothing"},
        {'v', "verbose", CLI_FLAG, &verbose, NULL, NULL,
         "tell what was chosen, and where the time went"},
        {0}};
    const struct cli_spec spec = {
        "-o FILE PATH... | --watch DIR -o DIR",
        "Put checkpoint files (directories: all files below) into one archive. "
        "Every file comes back byte for byte, whatever is in it.",
        0,
        -1,
        0,
        options};
    struct saikai_error err = {0};
    struct sk_archive_stats st;
    struct archive_inputs in = {0};
    int code = cli_parse(cli, &spec, &argc, &argv);
    if (code >= 0)
        goto out;
    if (!out) {
        code = cli_usage(cli, "-o FILE is missing: where to write the archive");
        goto out;
    }
    if (verbose)
        sk_log_set(sk_log_stderr, NULL, SK_LOG_DEBUG);
    o.scheme = sk_scheme_parse(scheme);
    o.backend = backend ? sk_backend_parse(backend) : 0;
    o.level = (int)level;
    o.threads = (int)threads;
    o.codec_f64 = f64;
    o.codec_f32 = f32;
    o.codec_other = other;
    o.pattern = pattern;
    o.no_sync = no_sync;
    watch.out = out;
    watch.settle_s = settle;
    watch.count = (long)sets;
    watch.quiet = quiet;
    if (!watch.dir == !argc) {
        code = cli_usage(cli, watch.dir ? "--watch takes no files"
                                        : "which files? name some, or use --watch DIR");
        goto out;
    }
    if (describe_all(&descriptions, &err))
        code = cli_fail(cli, &err);
    else if (watch.dir)
        code = archive_watch(&watch, &o, &err) ? cli_fail(cli, &err) : CLI_OK;
    else if (archive_inputs_gather(argv, argc, &in, &err) ||
             sk_archive_create(out, in.list, in.n, &o, &st, &err))
        code = cli_fail(cli, &err);
    else
        code = CLI_OK;
    if (watch.dir)
        goto out;
    if (code == CLI_OK && !quiet)
        archive_print_created(out, &st);
    if (code == CLI_OK && verbose)
        printf("  listing %.0f ms, sampling %.0f ms, in all %.0f ms\n", st.scan_seconds * 1e3,
               st.sample_seconds * 1e3, st.seconds * 1e3);
out:
    archive_inputs_free(&in);
    cli_list_free(&descriptions);
    return code;
}

/* ---- extract, verify ---- */

static int extract(struct cli *cli, int argc, char **argv)
{
    const char *dir = NULL;
    int64_t threads = 0;
    int quiet = 0, verify = !strcmp(argv[0], "verify"), no_sync = 0;
    struct sk_extract_options o = {0};
    const struct cli_option options[] = {
        {'o', "output", CLI_TEXT, &dir, "DIR", NULL,
         "restore below DIR (default: the current directory)"},
        {0, "only", CLI_TEXT, &o.only, "GLOB", NULL,
         "only files whose name in the archive matches"},
        {'m', "memory", CLI_SIZE, &o.memory_bytes, "SIZE", NULL,
         "limit for buffers (default 1GiB)"},
        {'j', "threads", CLI_INT, &threads, "N", NULL, "threads (default: one per processor)"},
        {0, "no-sync", CLI_FLAG, &no_sync, NULL, NULL, "do not wait for the disk"},
        {'q', "quiet", CLI_FLAG, &quiet, NULL, NULL, "print nothing"},
        {0}};
    const struct cli_spec spec = {
        "ARCHIVE",
        verify ? "Decode everything and compare it with the stored checksums."
               : "Restore files from an archive, checked against the stored checksums.",
        1,
        1,
        0,
        options};
    struct saikai_error err = {0};
    struct sk_archive_stats st;
    int code = cli_parse(cli, &spec, &argc, &argv);
    if (code >= 0)
        return code;
    o.threads = (int)threads;
    o.no_sync = no_sync;
    if (sk_archive_extract(argv[0], verify ? NULL : dir ? dir : ".", &o, &st, &err))
        return cli_fail(cli, &err);
    if (!quiet)
        printf("%s: %llu files %s, %.0f MB/s\n", argv[0], (unsigned long long)st.files,
               verify ? "are good" : "restored",
               st.seconds > 0 ? (double)st.raw_bytes / st.seconds / 1e6 : 0.0);
    return CLI_OK;
}

/* ---- ls ---- */

static void list_classes(const struct sk_ska *a)
{
    for (size_t c = 0; c < a->class_count; c++) {
        uint64_t bytes = 0, segments = 0;
        for (size_t p = 0; p < a->part_count; p++)
            if (a->parts[p].class == c) {
                bytes += a->parts[p].size_bytes;
                segments += a->parts[p].count;
            }
        printf("%14llu  %8llu  %s\n", (unsigned long long)bytes, (unsigned long long)segments,
               a->classes[c].key);
    }
}

static int ls(struct cli *cli, int argc, char **argv)
{
    int classes = 0;
    const struct cli_option options[] = {
        {'c', "classes", CLI_FLAG, &classes, NULL, NULL,
         "list the classes of variables (bytes, pieces, name) instead of the files"},
        {0}};
    const struct cli_spec spec = {"ARCHIVE", "List what is in an archive.", 1, 1, 0, options};
    struct saikai_error err = {0};
    struct sk_ska a = {0};
    int code = cli_parse(cli, &spec, &argc, &argv);
    if (code >= 0)
        return code;
    if (sk_archive_open(argv[0], &a, &err))
        return cli_fail(cli, &err);
    if (classes)
        list_classes(&a);
    else
        for (size_t i = 0; i < a.file_count; i++)
            printf("%14llu  %s\n", (unsigned long long)a.files[i].size_bytes, a.files[i].name);
    sk_ska_free(&a);
    return CLI_OK;
}

int cli_archive(struct cli *cli, int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(struct cli *cli, int argc, char **argv);
    } verbs[] = {{"create", create}, {"extract", extract}, {"ls", ls}, {"verify", extract}};
    const struct cli_option none[] = {{0}};
    const struct cli_spec spec = {
        "create|extract|ls|verify ...",
        "Put checkpoint files into an archive (create), restore them (extract), list them "
        "(ls), check them (verify). `saikai archive VERB --help` tells more.",
        1,
        -1,
        1,
        none};
    for (size_t i = 0; argc > 1 && i < sizeof verbs / sizeof *verbs; i++)
        if (!strcmp(argv[1], verbs[i].name)) {
            char name[32];
            snprintf(name, sizeof name, "archive %s", verbs[i].name);
            cli->command = name;
            return verbs[i].run(cli, argc - 1, argv + 1);
        }
    int code = cli_parse(cli, &spec, &argc, &argv);
    return code >= 0 ? code : cli_usage(cli, "'%s' is not create, extract, ls or verify", argv[0]);
}
