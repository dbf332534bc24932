/* saikai output: what of a prefix is at its output, carrying it there, bringing it back. */
#include "base/config/units.h"
#include "base/text/counted.h"
#include "base/text/json.h"
#include "base/text/shown.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "output/kept_there.h"
#include "output/prefix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct asked {
    int json, finished;
    const char *gen;
    struct sk_json *j;
    struct cli_progress bar;
    struct sk_prefix p;
    int shown;
};

static void progress(void *arg, const char *file, uint64_t done_bytes)
{
    struct asked *a = arg;
    (void)file;
    cli_progress_update(&a->bar, done_bytes);
}

/* ---- ls ---- */

static void list_one(struct asked *a, const struct sk_kept_gen *g, const char *dir, struct sk_id newest)
{
    char gen[48], id[SK_ID_TEXT], size[32];
    int is_of_newest = sk_id_same(g->store, newest);
    sk_gen_name(g->gen, gen);
    sk_id_print(g->store, id);
    a->shown++;
    if (a->j) {
        sk_json_object(a->j, NULL);
        sk_json_text(a->j, "directory", dir);
        sk_json_text(a->j, "store", id);
        sk_json_bool(a->j, "newest_store", is_of_newest);
        sk_json_text(a->j, "generation", gen);
        sk_json_int(a->j, "iteration", g->gen.iteration);
        sk_json_bool(a->j, "whole", g->whole);
        sk_json_uint(a->j, "files", g->files);
        sk_json_uint(a->j, "size_bytes", g->size_bytes);
        sk_json_end(a->j);
        return;
    }
    printf("%-28s %8zu %10s  %-9s %s%s\n", gen, g->files, sk_format_size(size, sizeof size, g->size_bytes), g->whole ? "whole" : "unfinished", sk_shown(dir),
           is_of_newest ? "" : " (of an earlier store)");
}

static int list_store(void *arg, const char *base, const char *dir, struct saikai_error *err)
{
    struct asked *a = arg;
    struct sk_kept_there k = {0};
    struct sk_id newest = {{0}};
    int rc = sk_kept_there_list(a->p.output, base, &k, err);
    if (!rc)
        rc = sk_kept_there_newest_store(a->p.output, base, "/tmp", &newest, err);
    if (!rc && k.n && !a->j && !a->shown)
        printf("%-28s %8s %10s  %-9s %s\n", "generation", "files", "size", "", "of");
    for (size_t i = 0; !rc && i < k.n; i++)
        list_one(a, &k.at[i], dir, newest);
    sk_kept_there_free(&k);
    return rc;
}

static int list(struct cli *cli, struct asked *a)
{
    struct saikai_error err = {0};
    struct sk_json j = {0};
    if (a->json) {
        a->j = &j;
        sk_json_object(&j, NULL);
        sk_json_text(&j, "output", a->p.output->label);
        sk_json_array(&j, "generations");
    }
    if (sk_prefix_stores_there(&a->p, list_store, a, &err)) {
        sk_json_free(&j);
        return cli_fail(cli, &err);
    }
    if (a->json) {
        sk_json_end(&j);
        sk_json_end(&j);
        return cli_print_json(cli, &j, CLI_OK);
    }
    if (!a->shown)
        printf("nothing of %s is at the output %s\n", sk_shown(a->p.dir), sk_shown(a->p.output->label));
    return CLI_OK;
}

/* ---- put ---- */

static int put(struct cli *cli, struct asked *a)
{
    struct saikai_error err = {0};
    struct sk_carried done;
    char size[32], gen[48];
    int stores;
    cli_progress_begin(&a->bar, "carrying", 0);
    int rc = sk_prefix_carry(&a->p, 0, &done, &stores, &err);
    cli_progress_end(&a->bar);
    if (!rc && !stores)
        rc = sk_fail(&err, SAIKAI_ENOENT, "%s is no prefix: no job has a store in it", a->p.dir);
    if (rc)
        return cli_fail(cli, &err);
    if (a->json) {
        struct sk_json j = {0};
        sk_json_object(&j, NULL);
        sk_json_text(&j, "output", a->p.output->label);
        sk_json_int(&j, "stores", stores);
        sk_json_int(&j, "generations", done.generations);
        sk_json_int(&j, "files", done.files);
        sk_json_uint(&j, "size_bytes", done.size_bytes);
        sk_json_int(&j, "removed", done.removed);
        sk_json_text(&j, "newest", done.newest.incarnation ? sk_gen_name(done.newest, gen) : NULL);
        sk_json_end(&j);
        return cli_print_json(cli, &j, CLI_OK);
    }
    printf("%s, %s in %s, carried to %s; %d older removed there\n", sk_counted((unsigned)done.generations, "generation(s)"),
           sk_format_size(size, sizeof size, done.size_bytes), sk_counted((unsigned)done.files, "file(s)"), sk_shown(a->p.output->label), done.removed);
    return CLI_OK;
}

/* ---- get ---- */

static void told(void *arg, const char *dir, const struct sk_brought *b)
{
    struct asked *a = arg;
    char gen[48], size[32];
    sk_gen_name(b->gen, gen);
    if (!a->j) {
        cli_progress_end(&a->bar);
        printf("%s: generation %s of job %s, %s in %s%s\n", sk_shown(dir), gen, sk_shown(b->job.name), sk_format_size(size, sizeof size, b->size_bytes),
               sk_counted((unsigned)b->files, "file(s)"),
               b->passed_over ? "; newer ones are damaged there" : "");
        return;
    }
    sk_json_object(a->j, NULL);
    sk_json_text(a->j, "directory", dir);
    sk_json_text(a->j, "job", b->job.name);
    sk_json_text(a->j, "generation", gen);
    sk_json_int(a->j, "files", b->files);
    sk_json_uint(a->j, "size_bytes", b->size_bytes);
    sk_json_int(a->j, "passed_over", b->passed_over);
    sk_json_end(a->j);
}

static int get(struct cli *cli, struct asked *a)
{
    struct saikai_error err = {0};
    struct sk_gen gen = {0};
    struct sk_json j = {0};
    if (a->gen && sk_gen_parse(a->gen, &gen))
        return cli_usage(cli, "--gen: '%s' is no name of a generation, such as 'saikai output ls' shows", a->gen);
    if (a->json) {
        a->j = &j;
        sk_json_object(&j, NULL);
        sk_json_text(&j, "output", a->p.output->label);
        sk_json_array(&j, "brought");
    }
    cli_progress_begin(&a->bar, "bringing back", 0);
    int rc = sk_prefix_bring(&a->p, 1, gen, told, &err);
    cli_progress_end(&a->bar);
    if (rc) {
        sk_json_free(&j);
        return cli_fail(cli, &err);
    }
    if (!a->json)
        return CLI_OK;
    sk_json_end(&j);
    sk_json_end(&j);
    return cli_print_json(cli, &j, CLI_OK);
}

int cli_output(struct cli *cli, int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(struct cli *, struct asked *);
    } verbs[] = {{"ls", list}, {"put", put}, {"get", get}};
    struct asked a = {0};
    struct sk_outlet o;
    struct saikai_error err = {0};
    const struct cli_option options[] = {
        {'g', "gen", CLI_TEXT, &a.gen, "GEN", NULL, "get: this generation of the prefix's own store, by name, and not the newest that is whole"},
        {0, "json", CLI_FLAG, &a.json, NULL, NULL, "print JSON"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "ls|put|get [DIR]",
        .about = "Generations of a prefix at its output (output.to): ls lists them; put carries the newest complete ones there now, and removes older ones "
                 "(output.keep); get brings the newest that is whole back into DIR, which must be empty or not there. DIR is the prefix, by default the "
                 "key store.prefix. 'saikai run' does both by itself: it carries beside the job, and brings back what is there when nothing is in the prefix.",
        .min_operands = 1,
        .max_operands = 2,
        .options = options,
    };
    int rc = cli_parse(cli, &spec, &argc, &argv);
    if (rc >= 0)
        return rc;
    if (sk_outlet_open(cli->config, &o, &err))
        return cli_fail(cli, &err);
    if (!o.method)
        return cli_usage(cli, "no output is configured: output.to=METHOD:PLACE, such as --set output.to=directory:/archive/me");
    a.p = (struct sk_prefix){.config = cli->config, .output = &o, .dir = argc > 1 ? argv[1] : sk_config_text(cli->config, "store.prefix"),
                             .progress = progress, .arg = &a};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (!strcmp(argv[0], verbs[i].name))
            return verbs[i].run(cli, &a);
    return cli_usage(cli, "'%s': write ls, put or get", argv[0]);
}
