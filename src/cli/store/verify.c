/* saikai verify: is everything that was saved still what was saved? */
#include "cli/store/store_dir.h"

#include "base/config/units.h"
#include "base/text/shown.h"
#include "cli/progress.h"
#include "store/form/lineage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fault {
    char *file, *variable; /* variable "": the file as a whole */
    char *text;
    int rank, lacks; /* lacks: nothing is known to be wrong, but what decodes it is not here */
};

struct verify {
    struct cli *cli;
    int json;
    struct sk_json j;
    struct cli_progress bar;
    uint64_t done; /* bytes */
    struct fault *fault;
    size_t faults, cap;
    uint64_t files, bytes; /* that were read */
    int damaged, lacking, incomplete, retired, hidden;
};

static void step(void *arg, uint64_t more)
{
    struct verify *v = arg;
    v->done += more;
    v->bytes += more;
    cli_progress_update(&v->bar, v->done);
}

static int add_fault(struct verify *v, const char *file, int rank, const char *variable, int code,
                     const char *text) /* rank -1: an archive */
{
    if (v->faults == v->cap) {
        size_t cap = v->cap ? 2 * v->cap : 16;
        struct fault *p = realloc(v->fault, cap * sizeof *p);
        if (!p)
            return SAIKAI_ENOMEM;
        v->fault = p;
        v->cap = cap;
    }
    struct fault *f = &v->fault[v->faults++];
    *f = (struct fault){strdup(file), strdup(variable), strdup(text), rank, code == SAIKAI_ENOTSUP};
    *(f->lacks ? &v->lacking : &v->damaged) = 1;
    return f->file && f->variable && f->text ? 0 : SAIKAI_ENOMEM;
}

static void drop_faults(struct verify *v, size_t down_to)
{
    while (v->faults > down_to) {
        struct fault *f = &v->fault[--v->faults];
        free(f->file);
        free(f->variable);
        free(f->text);
    }
}

/* Does the file belong where it stands? */
static int check_identity(const struct sk_container *c, const struct cli_gen *g, int rank,
                          struct saikai_error *err)
{
    const struct sk_skc_header *h = &c->header;
    if ((int)h->rank != rank || h->iteration != g->gen.iteration || h->place != g->gen.place ||
        h->incarnation != g->gen.incarnation)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s: holds rank %u of iteration %lld instead", c->path,
                       h->rank, (long long)h->iteration);
    if ((int)h->nranks != g->c->nranks || h->run_id != g->c->header.run_id)
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "%s: was written by another run than the files beside it", c->path);
    return 0;
}

/* What the container builds on: good, or this one is of no use. */
static int check_lineage(struct verify *v, struct sk_content *from, size_t k,
                         const struct sk_container *raw)
{
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    if (!raw->header.base_incarnation)
        return 0;
    int rc = sk_content_open(from, k, &c, &err);
    if (!rc)
        rc = sk_lineage_verify(c, step, v, &err);
    if (!rc)
        rc = sk_lineage_decodable(c, &err);
    sk_container_close(c);
    return rc ? add_fault(v, raw->path, from->ranks[k], "", rc, err.text) : 0;
}

/* One container; g NULL: of no generation. A fault of each variable is kept. */
static int check_container(struct verify *v, struct sk_content *from, size_t k,
                           const struct cli_gen *g)
{
    char path[PATH_MAX] = "";
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    size_t before = v->faults;
    int was_damaged = v->damaged, was_lacking = v->lacking, rank = from->ranks[k];
    uint64_t begun = v->done;
    int rc = sk_content_path(from, k, path, sizeof path, &err);
    if (!rc)
        rc = sk_content_open_alone(from, k, &c, &err);
    v->files++;
    if (rc == SAIKAI_ENOENT && g) { /* retired since the directory was read */
        v->retired++;
        return 0;
    }
    if (rc)
        return add_fault(v, path, rank, "", rc, err.text);
    if (g && check_identity(c, g, rank, &err))
        rc = add_fault(v, path, rank, "", SAIKAI_EDAMAGED, err.text);
    for (uint32_t i = 0; !rc && i < c->index->var_count; i++) {
        const struct sk_skc_var *var = &c->index->vars[i];
        int bad = sk_container_verify_var(c, var, step, v, &err);
        if (!bad)
            bad = sk_container_decodable(c, var, &err);
        if (bad)
            rc = add_fault(v, path, rank, var->name, bad, err.text);
    }
    if (!rc && g && v->faults == before)
        rc = check_lineage(v, from, k, c);
    if (v->faults > before && g && !sk_content_is_there(from, c)) {
        drop_faults(v, before);
        v->damaged = was_damaged;
        v->lacking = was_lacking;
        v->retired++;
    }
    v->done = begun + c->trailer.file_bytes;
    sk_container_close(c);
    return rc;
}

static int archive_fault(void *arg, const char *archive, const struct saikai_error *why)
{
    return add_fault(arg, archive, -1, "", why->code, why->text);
}

/* What no container has led to: archives that cannot be opened, and blocks of others. */
static int check_archives(struct verify *v, const struct cli_gen *g)
{
    struct sk_content *c = g->c;
    struct saikai_error err = {0};
    int rc = 0;
    for (size_t i = 0; !rc && i < c->troubles; i++)
        if (!c->trouble[i].missing)
            rc = add_fault(v, c->trouble[i].path, -1, "", SAIKAI_EDAMAGED, c->trouble[i].text);
    return rc ? rc : sk_content_check_rest(c, archive_fault, NULL, v, &err);
}

static void faults_json(struct verify *v, size_t from)
{
    sk_json_array(&v->j, "faults");
    for (size_t i = from; i < v->faults; i++) {
        const struct fault *f = &v->fault[i];
        sk_json_object(&v->j, NULL);
        sk_json_text(&v->j, "file", f->file);
        sk_json_int(&v->j, "rank", f->rank);
        if (*f->variable)
            sk_json_text(&v->j, "variable", f->variable);
        else
            sk_json_null(&v->j, "variable");
        sk_json_text(&v->j, "text", f->text);
        sk_json_bool(&v->j, "damaged", !f->lacks);
        sk_json_end(&v->j);
    }
    sk_json_end(&v->j);
}

static void print_faults(const struct verify *v, size_t from)
{
    for (size_t i = from; i < v->faults; i++) {
        const struct fault *f = &v->fault[i];
        if (f->rank < 0)
            printf("  %s\n", sk_shown(f->text));
        else
            printf("  rank %d%s%s%s: %s\n", f->rank, *f->variable ? ", variable '" : "",
                   sk_shown(f->variable), *f->variable ? "'" : "", sk_shown(f->text));
    }
}

static void missing_json(struct verify *v, const struct cli_gen *g)
{
    char missing[200];
    cli_missing_ranks(g, missing, sizeof missing);
    sk_json_text(&v->j, "missing_ranks", g->c->complete ? "" : missing);
    sk_json_array(&v->j, "missing_archives");
    for (size_t i = 0; i < g->c->troubles; i++)
        if (g->c->trouble[i].missing)
            sk_json_text(&v->j, NULL, g->c->trouble[i].path);
    sk_json_end(&v->j);
}

static void print_missing(const struct cli_gen *g)
{
    char missing[200];
    const struct sk_content *c = g->c;
    for (size_t i = 0; i < c->troubles; i++)
        if (c->trouble[i].missing)
            printf("  %s is missing\n", sk_shown(c->trouble[i].path));
    if (!c->complete && c->nranks)
        printf("  rank %s: the file is missing%s\n", cli_missing_ranks(g, missing, sizeof missing),
               c->troubles ? ", it was in an archive" : "");
}

static void report(struct verify *v, const struct cli_store *s, const struct cli_gen *g,
                   size_t from)
{
    char size[32];
    int whole = g->c->complete || s->local, damaged = 0, lacks = 0;
    for (size_t i = from; i < v->faults; i++)
        *(v->fault[i].lacks ? &lacks : &damaged) = 1;
    if (v->json) {
        sk_json_object(&v->j, NULL);
        cli_gen_json(&v->j, s, g);
        missing_json(v, g);
        sk_json_bool(&v->j, "good", !damaged && !lacks && whole);
        sk_json_bool(&v->j, "verifiable", !lacks);
        faults_json(v, from);
        sk_json_end(&v->j);
        return;
    }
    cli_progress_end(&v->bar);
    printf("%s: %s, %zu of %d ranks, %s\n", g->name,
           damaged ? "DAMAGED"
           : lacks ? "NOT VERIFIABLE"
           : whole ? "good"
                   : "INCOMPLETE",
           g->c->count, g->c->nranks, sk_format_size(size, sizeof size, g->c->bytes));
    if (!s->local)
        print_missing(g);
    print_faults(v, from);
    if (damaged || (!whole && g->c->troubles))
        printf("  put a good copy of the file back, or remove the generation: saikai rm %s/%s\n",
               sk_shown(s->root), g->name);
}

static int check_generation(struct verify *v, const struct cli_store *s, const struct cli_gen *g)
{
    size_t from = v->faults;
    int rc = 0;
    for (size_t i = 0; !rc && i < g->c->count; i++)
        rc = check_container(v, g->c, i, g);
    if (!rc)
        rc = check_archives(v, g);
    sk_content_rest(g->c);
    v->incomplete |= !g->c->complete && !s->local;
    report(v, s, g, from);
    return rc;
}

static int finish(struct verify *v, int rc)
{
    int bad = v->damaged || v->incomplete || v->hidden, code = bad ? CLI_FAILED : v->lacking ? CLI_PARTIAL : CLI_OK;
    char size[32];
    cli_progress_end(&v->bar);
    if (rc) {
        struct saikai_error err = {0};
        sk_fail(&err, rc, "no memory for the report");
        rc = cli_fail(v->cli, &err);
        sk_json_free(&v->j);
    } else if (v->json) {
        sk_json_uint(&v->j, "files", v->files);
        sk_json_uint(&v->j, "bytes", v->bytes);
        sk_json_int(&v->j, "retired_meanwhile", v->retired);
        sk_json_bool(&v->j, "good", !bad && !v->lacking);
        sk_json_end(&v->j);
        rc = cli_print_json(v->cli, &v->j, code);
    } else {
        if (v->files || bad) /* nothing was read: nothing is said to be good */
            printf("%llu file%s, %s: %s\n", (unsigned long long)v->files, v->files == 1 ? "" : "s",
                   sk_format_size(size, sizeof size, v->bytes),
                   v->damaged      ? "something is damaged; a restart takes another copy or an older "
                                     "generation"
                   : v->incomplete ? "nothing is damaged, but files are missing"
                   : v->hidden     ? "nothing is damaged, but what is named above could not be read"
                   : v->lacking    ? "nothing is damaged, but without what is named above not all of it can be read"
                                   : "all good");
        if (v->retired)
            printf("%d of them were retired by the program meanwhile\n", v->retired);
        rc = code;
    }
    drop_faults(v, 0);
    free(v->fault);
    return rc;
}

static int verify_file(struct verify *v, const char *path)
{
    struct sk_content *c = NULL;
    struct saikai_error err = {0};
    if (sk_content_of_file(path, &c, &err))
        return cli_fail(v->cli, &err);
    cli_progress_begin(&v->bar, path, c->bytes);
    if (v->json) {
        sk_json_object(&v->j, NULL);
        sk_json_text(&v->j, "file", path);
    }
    int rc = check_container(v, c, 0, NULL);
    sk_content_free(c);
    cli_progress_end(&v->bar);
    if (v->json)
        faults_json(v, 0);
    else
        print_faults(v, 0);
    return finish(v, rc);
}

static int verify_store(struct verify *v, const struct cli_target *t, const char *gen)
{
    struct cli_store s;
    struct saikai_error err = {0};
    size_t first = 0, last;
    int rc = 0;
    if (cli_store_load(v->cli, t, &s, &err))
        return cli_store_fail(v->cli, &err);
    v->hidden = *s.hidden && !gen && !t->has_gen;
    last = s.count;
    if ((gen || t->has_gen) && cli_store_choose(&s, t, gen, &first, &err)) {
        cli_store_free(&s);
        return cli_store_fail(v->cli, &err);
    }
    if (gen || t->has_gen)
        last = first + 1;
    uint64_t total = 0;
    for (size_t i = first; i < last; i++)
        total += s.gen[i].c->bytes;
    cli_progress_begin(&v->bar, "verifying", total);
    if (v->json) {
        sk_json_object(&v->j, NULL);
        sk_json_text(&v->j, "store", s.root);
        sk_json_array(&v->j, "generations");
    }
    for (size_t i = first; !rc && i < last; i++)
        rc = check_generation(v, &s, &s.gen[i]);
    if (v->json)
        sk_json_end(&v->j);
    else if (!s.count)
        printf("%s: no generations\n", sk_shown(s.root));
    rc = finish(v, rc);
    cli_store_free(&s);
    return rc;
}

int cli_verify(struct cli *cli, int argc, char **argv)
{
    struct verify v = {.cli = cli};
    int local = 0;
    const char *gen = NULL;
    const struct cli_option options[] = {
        {'g', "gen", CLI_TEXT, &gen, "GEN", NULL,
         "only this generation: its name, its iteration, or 'newest' for the newest complete one"},
        {'l', "local", CLI_FLAG, &local, NULL, NULL,
         "check the store on this node (store.local) instead of the prefix"},
        {0, "json", CLI_FLAG, &v.json, NULL, NULL, "print JSON"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "[DIR | GENERATION | FILE.skc]",
        .about = "Reads every chunk of every rank's file of a store, of one generation or of one "
                 "container, and compares the checksums; of archives every block. Damage is "
                 "reported with file, rank and "
                 "variable. Exit code 0: all of it is good; 1: something is damaged, or a "
                 "generation lacks ranks; 3: nothing is known to be wrong, but what decodes some of it (a component's "
                 "codec) is not here, and is named. DIR is a store's directory, by default the key "
                 "store.prefix.",
        .max_operands = 1,
        .options = options,
    };
    struct cli_target t;
    int rc = cli_target_parse(cli, &spec, &argc, &argv, &local, &t);
    if (rc >= 0)
        return rc;
    if (*t.file && gen)
        return cli_usage(cli, "%s is one rank's file: --gen does not go with it", t.file);
    return *t.file ? verify_file(&v, t.file) : verify_store(&v, &t, gen);
}
