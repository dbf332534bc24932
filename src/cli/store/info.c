/* saikai info: the variables of a generation, or of one container. */
#include "cli/store/store_dir.h"

#include "base/types.h"
#include "base/config/units.h"
#include "base/text/shown.h"
#include "codec/quality/bound.h"
#include "store/form/container.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A variable over the ranks that have it. */
struct row {
    struct sk_skc_var v; /* of the first rank */
    uint64_t raw_bytes, stored_bytes, min_bytes, max_bytes;
    double max_error; /* NaN: not measured by some rank */
    int ranks;
    int dims_differ, codecs_differ;
};

struct table {
    struct row *row;
    size_t count, cap;
    uint64_t raw_bytes, stored_bytes;
    int damaged; /* files that could not be read */
    int lacks;   /* the generation lacks files that no running job would add */
    int deltas;  /* files that hold only what changed since an older generation */
};

static int same_dims(const struct sk_skc_var *a, const struct sk_skc_var *b)
{
    return a->ndims == b->ndims && !memcmp(a->dims, b->dims, sizeof a->dims[0] * a->ndims);
}

static struct row *find_row(struct table *t, const char *name, size_t guess)
{
    if (guess < t->count && !strcmp(t->row[guess].v.name, name))
        return &t->row[guess]; /* ranks protect the same variables in the same order */
    for (size_t i = 0; i < t->count; i++)
        if (!strcmp(t->row[i].v.name, name))
            return &t->row[i];
    if (t->count == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 32;
        struct row *p = realloc(t->row, cap * sizeof *p);
        if (!p)
            return NULL;
        t->row = p;
        t->cap = cap;
    }
    struct row *r = &t->row[t->count++];
    *r = (struct row){.min_bytes = UINT64_MAX};
    return r;
}

static int add_var(struct table *t, const struct sk_container *c, size_t i,
                   struct saikai_error *err)
{
    const struct sk_skc_var *v = &c->index->vars[i];
    struct row *r = find_row(t, v->name, i);
    uint64_t stored = 0;
    if (!r)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for %zu variables", t->count);
    for (uint64_t k = 0; k < v->chunk_count; k++)
        stored += c->index->chunks[v->first_chunk + k].stored_bytes;
    if (!r->ranks++)
        r->v = *v;
    r->dims_differ |= !same_dims(&r->v, v);
    r->codecs_differ |= strcmp(r->v.codec, v->codec) != 0;
    r->raw_bytes += v->raw_bytes;
    r->stored_bytes += stored;
    r->min_bytes = v->raw_bytes < r->min_bytes ? v->raw_bytes : r->min_bytes;
    r->max_bytes = v->raw_bytes > r->max_bytes ? v->raw_bytes : r->max_bytes;
    if (!(v->max_error <= r->max_error)) /* also when it is not a number */
        r->max_error = v->max_error;
    t->raw_bytes +=
        v->kind == SK_SKC_CHANGES ? 0 : v->raw_bytes; /* of the variables that say "delta" */
    t->stored_bytes += stored;
    return 0;
}

static int add_container(struct table *t, struct sk_content *from, size_t k,
                         struct sk_skc_header *h, struct saikai_error *err)
{
    struct sk_container *c = NULL;
    int rc = sk_content_open_alone(from, k, &c, err);
    for (uint32_t i = 0; !rc && i < c->index->var_count; i++)
        rc = add_var(t, c, i, err);
    t->deltas += !rc && c->header.base_incarnation;
    if (!rc)
        *h = c->header;
    sk_container_close(c);
    return rc;
}

static int add_generation(struct table *t, const struct cli_store *s, const struct cli_gen *g,
                          int64_t only, struct saikai_error *err)
{
    int found = 0, rc = 0;
    for (size_t i = 0; i < g->c->troubles; i++) {
        fprintf(stderr, "saikai info: %s\n", sk_shown(g->c->trouble[i].text));
        t->damaged += !g->c->trouble[i].missing;
    }
    for (size_t i = 0; rc != SAIKAI_ENOMEM && i < g->c->count; i++) {
        struct sk_skc_header h;
        struct saikai_error why = {0};
        if (only >= 0 && g->c->ranks[i] != only)
            continue;
        found = 1;
        if ((rc = add_container(t, g->c, i, &h, &why))) {
            fprintf(stderr, "saikai info: %s\n", sk_shown(why.text));
            t->damaged++;
        }
    }
    sk_content_rest(g->c);
    if (rc == SAIKAI_ENOMEM)
        return sk_fail(err, rc, "no memory to read %s", g->name);
    if (!found && only >= 0)
        return sk_fail(err, SAIKAI_ENOENT, "%s of %s has no file of rank %lld", g->name, s->root,
                       (long long)only);
    return 0;
}

static const char *kind_name(int kind)
{
    if (kind == SK_SKC_CHANGES)
        return "changes";
    return kind == SK_SKC_STREAM ? "stream" : kind == SK_SKC_FILE ? "file" : "variable";
}

static char *dims_text(const struct row *r, char out[200])
{
    size_t n = 0;
    strcpy(out, "scalar");
    if (r->v.kind == SK_SKC_FILE || r->v.kind == SK_SKC_STREAM || r->v.kind == SK_SKC_CHANGES)
        return strcpy(out, kind_name(r->v.kind));
    if (r->dims_differ)
        return strcpy(out, "varies");
    for (int d = 0; d < r->v.ndims; d++)
        n += (size_t)snprintf(out + n, 200 - n, "%s%llu", d ? "x" : "",
                              (unsigned long long)r->v.dims[d]);
    return out;
}

/* What another number of ranks can do with it. */
static char *scope_text(const struct row *r, char out[200])
{
    size_t n = (size_t)sprintf(out, "%s",
                               r->v.scope == SK_SKC_REPLICATED ? "same on all ranks"
                               : r->v.scope == SK_SKC_GLOBAL   ? "part of "
                                                               : "each rank's own");
    for (int d = 0; r->v.scope == SK_SKC_GLOBAL && d < r->v.ndims; d++)
        n += (size_t)snprintf(out + n, 200 - n, "%s%llu", d ? "x" : "",
                              (unsigned long long)r->v.tile.global[d]);
    return out;
}

static char *bound_text(const struct row *r, char out[32])
{
    const char *kind = sk_bound_name(r->v.bound_kind);
    if (!r->v.bound_kind)
        return strcpy(out, "-");
    snprintf(out, 32, "%s %g", kind ? kind : "?", r->v.bound);
    return out;
}

static void print_vars(const struct table *t)
{
    int width = 8, scopes = 0;
    for (size_t i = 0; i < t->count; i++)
        scopes |= t->row[i].v.scope;
    for (size_t i = 0; i < t->count; i++)
        if ((int)strlen(sk_shown(t->row[i].v.name)) > width && strlen(sk_shown(t->row[i].v.name)) < 40)
            width = (int)strlen(sk_shown(t->row[i].v.name));
    printf("\n%-*s %-5s %-14s %6s %9s %9s %6s  %-14s %-10s %s%s\n", width, "VARIABLE", "TYPE",
           "DIMENSIONS", "RANKS", "BYTES", "STORED", "RATIO", "CODEC", "BOUND", "MAX ERROR",
           scopes ? "   SCOPE" : "");
    for (size_t i = 0; i < t->count; i++) {
        const struct row *r = &t->row[i];
        char dims[200], raw[32], stored[32], bound[32], error[32] = "exact", ratio[16] = "-",
                                                        scope[200];
        if (r->stored_bytes)
            snprintf(ratio, sizeof ratio, "%.2f", (double)r->raw_bytes / (double)r->stored_bytes);
        if (isnan(r->max_error))
            strcpy(error, "not measured");
        else if (r->max_error > 0)
            snprintf(error, sizeof error, "%.3g", r->max_error);
        printf("%-*s %-5s %-14s %6d %9s %9s %6s  %-14s %-10s %-*s%s%s\n", width, sk_shown(r->v.name),
               sk_type_name(r->v.type), dims_text(r, dims), r->ranks,
               sk_format_size(raw, sizeof raw, r->raw_bytes),
               sk_format_size(stored, sizeof stored, r->stored_bytes), ratio,
               r->codecs_differ ? "differs"
               : *r->v.codec    ? sk_shown(r->v.codec)
                                : "-",
               bound_text(r, bound), scopes ? 9 : 0, error, scopes ? "   " : "",
               scopes ? scope_text(r, scope) : "");
    }
}

static void print_when(int64_t created_ms)
{
    char text[64] = "?", age[32];
    time_t t = (time_t)(created_ms / 1000);
    struct tm tm;
    if (created_ms && localtime_r(&t, &tm))
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    printf("Written     %s (%s ago)\n", text, cli_age(created_ms, age, sizeof age));
}

static void print_sums(const struct table *t)
{
    char raw[32], stored[32];
    printf("Size        %s, stored as %s", sk_format_size(raw, sizeof raw, t->raw_bytes),
           sk_format_size(stored, sizeof stored, t->stored_bytes));
    if (t->stored_bytes)
        printf(" (ratio %.2f)", (double)t->raw_bytes / (double)t->stored_bytes);
    puts("");
    if (t->deltas)
        printf("Deltas      %d file%s: of variables with the codec 'delta' only what changed since "
               "an older generation\n",
               t->deltas, t->deltas > 1 ? "s" : "");
}

static void print_file(const char *path, const struct sk_skc_header *h, const struct table *t)
{
    printf("File        %s\nGeneration  iteration %lld, place %u, start %u\nRank        %u of %u\n",
           sk_shown(path), (long long)h->iteration, h->place, h->incarnation, h->rank, h->nranks);
    print_when(h->created_ms);
    print_sums(t);
    print_vars(t);
}

static void print_generation(const struct cli_store *s, const struct cli_gen *g,
                             const struct table *t)
{
    char state[128], missing[200], form[32], size[32];
    const struct sk_content *c = g->c;
    printf("Generation  %s in %s\nIteration   %lld, place %u, start %u\nRanks       %zu of %d\n",
           g->name, sk_shown(s->root), (long long)g->gen.iteration, g->gen.place, g->gen.incarnation,
           c->count, c->nranks);
    printf("State       %s\n", cli_gen_state(g, state, sizeof state));
    if (c->set.parts)
        printf("Form        %s, %s in the store\n", cli_gen_form(g, form, sizeof form),
               sk_format_size(size, sizeof size, c->stored_bytes));
    if (!c->complete && c->nranks)
        printf("Missing     rank %s\n", cli_missing_ranks(g, missing, sizeof missing));
    print_when(c->header.created_ms);
    print_sums(t);
    print_vars(t);
}

static void vars_json(struct sk_json *j, const struct table *t)
{
    static const char *const scopes[] = {"own", "replicated", "global"};
    sk_json_uint(j, "raw_bytes", t->raw_bytes);
    sk_json_uint(j, "stored_bytes", t->stored_bytes);
    sk_json_int(j, "unreadable_files", t->damaged);
    sk_json_int(j, "delta_files", t->deltas);
    sk_json_array(j, "variables");
    for (size_t i = 0; i < t->count; i++) {
        const struct row *r = &t->row[i];
        sk_json_object(j, NULL);
        sk_json_text(j, "name", r->v.name);
        sk_json_text(j, "kind", kind_name(r->v.kind));
        sk_json_text(j, "type", sk_type_name(r->v.type));
        sk_json_array(j, "dims");
        for (int d = 0; d < r->v.ndims; d++)
            sk_json_uint(j, NULL, r->v.dims[d]);
        sk_json_end(j);
        sk_json_text(j, "scope", r->v.scope < 3 ? scopes[r->v.scope] : "?");
        sk_json_array(j, "global_dims");
        for (int d = 0; r->v.scope == SK_SKC_GLOBAL && d < r->v.ndims; d++)
            sk_json_uint(j, NULL, r->v.tile.global[d]);
        sk_json_end(j);
        sk_json_bool(j, "dims_differ", r->dims_differ);
        sk_json_int(j, "ranks", r->ranks);
        sk_json_uint(j, "raw_bytes", r->raw_bytes);
        sk_json_uint(j, "stored_bytes", r->stored_bytes);
        sk_json_uint(j, "smallest_rank_bytes", r->min_bytes);
        sk_json_uint(j, "largest_rank_bytes", r->max_bytes);
        sk_json_text(j, "codec", r->codecs_differ ? NULL : r->v.codec);
        const char *bound_kind = sk_bound_name(r->v.bound_kind);
        sk_json_text(j, "bound_kind", bound_kind ? bound_kind : "?");
        sk_json_real(j, "bound", r->v.bound);
        sk_json_real(j, "max_error", r->max_error); /* not measured: null */
        sk_json_end(j);
    }
    sk_json_end(j);
}

static int file_json(struct cli *cli, const char *path, const struct sk_skc_header *h,
                     const struct table *t)
{
    struct sk_json j = {0};
    char run[24];
    snprintf(run, sizeof run, "%016llx", (unsigned long long)h->run_id);
    sk_json_object(&j, NULL);
    sk_json_text(&j, "file", path);
    sk_json_int(&j, "iteration", h->iteration);
    sk_json_uint(&j, "place", h->place);
    sk_json_uint(&j, "incarnation", h->incarnation);
    sk_json_uint(&j, "rank", h->rank);
    sk_json_uint(&j, "ranks", h->nranks);
    sk_json_real(&j, "created", (double)h->created_ms / 1e3);
    sk_json_text(&j, "run", run);
    vars_json(&j, t);
    sk_json_end(&j);
    return cli_print_json(cli, &j, CLI_OK);
}

static int info_file(struct cli *cli, const char *path, int json)
{
    struct table t = {0};
    struct sk_skc_header h;
    struct saikai_error err = {0};
    struct sk_content *c = NULL;
    int rc = sk_content_of_file(path, &c, &err);
    if (!rc)
        rc = add_container(&t, c, 0, &h, &err);
    sk_content_free(c);
    if (rc)
        rc = cli_fail(cli, &err);
    else if (json)
        rc = file_json(cli, path, &h, &t);
    else
        print_file(path, &h, &t);
    free(t.row);
    return rc;
}

static int info_generation(struct cli *cli, const struct cli_target *where, const char *gen,
                           int64_t rank, int json)
{
    struct cli_store s;
    struct table t = {0};
    struct saikai_error err = {0};
    size_t i;
    if (cli_store_load(cli, where, &s, &err))
        return cli_store_fail(cli, &err);
    int rc = cli_store_choose(&s, where, gen, &i, &err);
    if (!rc)
        rc = add_generation(&t, &s, &s.gen[i], rank, &err);
    if (!rc)
        t.lacks = !s.gen[i].c->complete && !cli_store_harm(cli, &s).held;
    if (rc) {
        rc = cli_store_fail(cli, &err);
    } else if (json) {
        struct sk_json j = {0};
        sk_json_object(&j, NULL);
        sk_json_text(&j, "store", s.root);
        cli_gen_json(&j, &s, &s.gen[i]);
        vars_json(&j, &t);
        sk_json_end(&j);
        rc = cli_print_json(cli, &j, t.damaged || t.lacks ? CLI_FAILED : CLI_OK);
    } else {
        print_generation(&s, &s.gen[i], &t);
        rc = t.damaged || t.lacks ? CLI_FAILED : CLI_OK;
    }
    free(t.row);
    cli_store_free(&s);
    return rc;
}

int cli_info(struct cli *cli, int argc, char **argv)
{
    int json = 0, local = 0;
    const char *gen = NULL;
    int64_t rank = -1;
    const struct cli_option options[] = {
        {'g', "gen", CLI_TEXT, &gen, "GEN", NULL,
         "which generation: its name, its iteration, or 'newest' (the default: the newest "
         "complete one)"},
        {'r', "rank", CLI_INT, &rank, "RANK", NULL, "only the variables of this rank"},
        {'l', "local", CLI_FLAG, &local, NULL, NULL,
         "look into the store on this node (store.local) instead of the prefix"},
        {0, "json", CLI_FLAG, &json, NULL, NULL, "print JSON"},
        {0},
    };
    const struct cli_spec spec = {
        .operands = "[DIR | GENERATION | FILE.skc]",
        .about = "Shows what a generation holds: its variables with type, dimensions, size, codec, "
                 "error bound and the largest error measured, summed over the ranks; or the same "
                 "of one container file. DIR is a store's directory, by default the key "
                 "store.prefix.",
        .max_operands = 1,
        .options = options,
    };
    struct cli_target t;
    int rc = cli_target_parse(cli, &spec, &argc, &argv, &local, &t);
    if (rc >= 0)
        return rc;
    if (*t.file && (gen || rank >= 0))
        return cli_usage(cli, "%s is one rank's file: --gen and --rank do not go with it", t.file);
    return *t.file ? info_file(cli, t.file, json) : info_generation(cli, &t, gen, rank, json);
}
