/* saikai archive: its verbs, and the list of what is in an archive. */
#include "archive/file/previous.h"
#include "archive/file/set.h"
#include "base/log.h"
#include "base/file/io.h"
#include "base/text/json.h"
#include "base/text/output.h"
#include "base/text/shown.h"
#include "cli/archive/archive_create.h"
#include "cli/archive/archive_extract.h"
#include "cli/archive/archive_inputs.h"
#include "cli/archive/archive_say.h"
#include "cli/cli.h"
#include "reader/hdf5.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ls ---- */

/* What there is of each class, of which there may be as many as files. */
struct in_class {
    uint64_t bytes, segments;
};

static void list_class(const char *key, const struct in_class *c, struct sk_json *j)
{
    if (!j) {
        printf("%14llu  %8llu  %s\n", (unsigned long long)c->bytes, (unsigned long long)c->segments, sk_shown(key));
        return;
    }
    sk_json_object(j, NULL);
    sk_json_text(j, "name", key);
    sk_json_uint(j, "bytes", c->bytes);
    sk_json_uint(j, "pieces", c->segments);
    sk_json_end(j);
}

static int list_classes(const struct sk_ska *a, struct sk_json *j)
{
    struct in_class *of = calloc(a->class_count + 1, sizeof *of);
    if (!of)
        return SAIKAI_ENOMEM;
    for (size_t p = 0; p < a->part_count; p++) {
        of[a->parts[p].class].bytes += a->parts[p].size_bytes;
        of[a->parts[p].class].segments += a->parts[p].count;
    }
    if (j)
        sk_json_array(j, "classes");
    for (size_t c = 0; c < a->class_count; c++)
        list_class(a->classes[c].key, &of[c], j);
    if (j)
        sk_json_end(j);
    free(of);
    return 0;
}

/* Per file the bytes that its share of the blocks takes; NULL: no memory. */
static double *stored_bytes(const struct sk_ska *a)
{
    double *stored = calloc(a->file_count + 1, sizeof *stored);
    for (size_t i = 0; stored && i < a->block_count; i++) {
        const struct sk_ska_block *b = &a->blocks[i];
        double share = b->size_bytes ? (double)b->stored_bytes / (double)b->size_bytes : 0;
        for (uint32_t k = 0; k < b->count; k++) {
            const struct sk_ska_part *p = &a->parts[b->first + k];
            for (uint32_t s = 0; s < p->count; s++) {
                const struct sk_ska_segment *seg = &a->segments[p->first + s];
                stored[seg->file] += share * (double)sk_ska_segment_bytes(a, p, seg);
            }
        }
    }
    return stored;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of all that is in it, sorted; NULL: no memory. */
static const char **all_names(const struct sk_ska *a)
{
    const char **names = malloc((a->file_count + a->entry_count + 1) * sizeof *names);
    size_t n = 0;
    for (size_t i = 0; names && i < a->file_count; i++)
        names[n++] = a->files[i].name;
    for (size_t i = 0; names && i < a->entry_count; i++)
        names[n++] = a->entries[i].name;
    if (n)
        qsort(names, n, sizeof *names, by_name);
    return names;
}

/* 1: nothing lies in this directory: of n sorted names none begins with it and a slash. */
static int is_empty(const char *const *names, size_t n, const char *name)
{
    size_t length = strlen(name), low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int c = strncmp(names[mid], name, length);
        if (c < 0 || (!c && (unsigned char)names[mid][length] < '/'))
            low = mid + 1;
        else
            high = mid;
    }
    return low == n || strncmp(names[low], name, length) || names[low][length] != '/';
}

static int list_text(const struct sk_ska *a, int classes)
{
    if (classes)
        return list_classes(a, NULL);
    double *stored = stored_bytes(a);
    const char **names = all_names(a);
    for (size_t i = 0; i < a->file_count; i++) {
        double bytes = (double)a->files[i].size_bytes, kept = stored ? stored[i] : 0;
        printf("%14llu %14.0f %9.2f  %s\n", (unsigned long long)a->files[i].size_bytes, kept, kept > 0 ? bytes / kept : 1,
               sk_shown(a->files[i].name));
    }
    for (size_t i = 0; names && i < a->entry_count; i++) {
        const struct sk_ska_entry *e = &a->entries[i];
        if (e->kind == SK_ENTRY_DIRECTORY && !is_empty(names, a->file_count + a->entry_count, e->name))
            continue;
        printf("%14s %14s %9s  %s%s%s\n", "-", "-", "-", sk_shown(e->name),
               e->kind == SK_ENTRY_DIRECTORY ? "/" : e->kind == SK_ENTRY_SYMLINK ? " -> " : " = ", sk_shown(e->target));
    }
    int rc = stored && names ? 0 : SAIKAI_ENOMEM;
    free(stored);
    free(names);
    return rc;
}

/* The archives that one builds on, the next one first: told as lines, or in JSON. An earlier one
 * that is missing or another one is told, too, and ends the list. */
static void list_previous(struct sk_opened *o, struct sk_json *j)
{
    if (j)
        sk_json_array(j, "builds_on");
    while (o->a->previous) {
        struct saikai_error why = {0};
        struct sk_opened *below = NULL;
        int missing = sk_opened_previous(o, &below, &why);
        if (j) {
            sk_json_object(j, NULL);
            sk_json_text(j, "archive", o->a->previous);
            sk_json_bool(j, "there", !missing);
            if (missing)
                sk_json_text(j, "problem", why.text);
            sk_json_end(j);
        } else if (missing) {
            printf("# %s\n", sk_shown(why.text));
        } else {
            printf("# %s builds on %s\n", sk_shown(o->path), sk_shown(below->path));
        }
        if (missing)
            break;
        o = below;
    }
    if (j)
        sk_json_end(j);
}

static int list_json(struct sk_opened *o, int classes, struct sk_json *j)
{
    const struct sk_ska *a = o->a;
    int rc = 0;
    sk_json_object(j, NULL);
    sk_json_text(j, "archive", o->path);
    list_previous(o, j);
    if (classes)
        rc = list_classes(a, j);
    double *stored = stored_bytes(a);
    sk_json_array(j, "files");
    for (size_t i = 0; i < a->file_count; i++) {
        sk_json_object(j, NULL);
        sk_json_text(j, "name", a->files[i].name);
        sk_json_uint(j, "bytes", a->files[i].size_bytes);
        sk_json_uint(j, "stored", stored ? (uint64_t)(stored[i] + 0.5) : 0);
        if (a->files[i].origin)
            sk_json_uint(j, "rank", a->files[i].origin - 1);
        sk_json_end(j);
    }
    sk_json_end(j);
    rc = stored ? rc : SAIKAI_ENOMEM;
    free(stored);
    static const char *const kinds[] = {"", "directory", "symlink", "hard link"};
    sk_json_array(j, "others");
    for (size_t i = 0; i < a->entry_count; i++) {
        sk_json_object(j, NULL);
        sk_json_text(j, "name", a->entries[i].name);
        sk_json_text(j, "kind", kinds[a->entries[i].kind]);
        if (*a->entries[i].target)
            sk_json_text(j, "target", a->entries[i].target);
        sk_json_end(j);
    }
    sk_json_end(j);
    sk_json_end(j);
    return rc;
}

/* One archive of a set. */
static int list_one(const char *path, int classes, struct sk_json *j, struct saikai_error *err)
{
    struct sk_opened *o = NULL;
    int rc = sk_opened_new(path, &o, err);
    if (rc)
        return rc;
    if (!j)
        list_previous(o, NULL);
    rc = j ? list_json(o, classes, j) : list_text(o->a, classes);
    sk_opened_free(o);
    return rc ? sk_fail(err, rc, "no memory to list what is in %s", path) : 0;
}

static int ls(struct cli *cli, int argc, char **argv)
{
    int classes = 0, json = 0;
    const struct cli_option options[] = {
        {'c', "classes", CLI_FLAG, &classes, NULL, NULL,
         "list the classes of variables (bytes, pieces, name) instead of the files"},
        {0, "json", CLI_FLAG, &json, NULL, NULL, "print JSON"},
        {0}};
    const struct cli_spec spec = {
        "ARCHIVE|DIR",
        "List what is in an archive ('-': on standard input), or in the newest set of a directory, "
        "and the archives that it builds on.",
        1,
        1,
        0,
        options};
    struct saikai_error err = {0};
    struct sk_ska_set set;
    struct sk_json j = {0};
    char part[4096];
    int code = cli_parse(cli, &spec, &argc, &argv);
    if (code >= 0)
        return code;
    const char *from = argv[0];
    char spooled[64];
    if (sk_output_is_dash(from)) {
        if (sk_output_spool_stdin(spooled, &err))
            return cli_fail(cli, &err);
        from = spooled;
    }
    if (sk_ska_set_find(from, &set, &err))
        return cli_fail(cli, &err);
    sk_json_object(&j, NULL);
    sk_json_array(&j, "archives");
    for (int k = 0; k < set.parts || !k; k++)
        if (cli_archive_part_path(&set, from, k, part, sizeof part, &err) || list_one(part, classes, json ? &j : NULL, &err)) {
            sk_json_free(&j);
            return cli_fail(cli, &err);
        }
    sk_json_end(&j);
    sk_json_end(&j);
    if (json)
        return cli_print_json(cli, &j, CLI_OK);
    sk_json_free(&j);
    return CLI_OK;
}

int cli_archive(struct cli *cli, int argc, char **argv)
{
    sk_hdf5_asked = sk_hdf5_library;
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error with a sentence, after which nothing unfinished stays */
    sk_log_set(sk_log_stderr, NULL, SK_LOG_WARN); /* -v: more, -q: nothing */
    static const struct {
        const char *name;
        int (*run)(struct cli *cli, int argc, char **argv);
    } verbs[] = {{"create", cli_archive_create}, {"extract", cli_archive_extract}, {"ls", ls}, {"verify", cli_archive_extract}};
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
