/* Reading a generation that another number of ranks wrote. */
#include "lib/restart/reshape.h"

#include "base/box.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text/counted.h"
#include "base/types.h"
#include "store/form/lineage.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *sk_reshape_obstacle(const struct sk_vars *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->v[i].scope == SK_SKC_OWN)
            return l->v[i].name;
    return NULL;
}

/* ---- what the ranks declare ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct sk_var *const *)a)->name, (*(struct sk_var *const *)b)->name);
}

/* All ranks protect the same names, but not in the same order: work through them by name. */
static struct sk_var **sorted(struct sk_vars *l)
{
    struct sk_var **v = calloc(l->count + 1, sizeof *v);
    for (size_t i = 0; v && i < l->count; i++)
        v[i] = &l->v[i];
    if (v)
        qsort(v, l->count, sizeof *v, by_name);
    return v;
}

static struct sk_box box_of(const struct sk_var *v)
{
    struct sk_box b = {.ndims = v->ndims};
    for (int d = 0; d < v->ndims; d++) {
        b.low[d] = v->tile.offset[d];
        b.size[d] = v->dims[d];
    }
    return b;
}

static int warn_of_gap(struct sk_session *s, const struct sk_var *v, struct saikai_error *err)
{
    struct sk_box mine = box_of(v), *all = NULL, gap, whole = {.ndims = v->ndims};
    int rc = 0;
    if (!(all = calloc((size_t)s->g->size, sizeof *all)))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the tiles of '%.60s'", v->name);
    rc = sk_group_verdict(s->g, rc, err);
    if (!rc && (rc = sk_group_allgather(s->g, &mine, all, sizeof mine)))
        sk_fail(err, rc, "the ranks lost contact while they compared what they protect");
    memcpy(whole.size, v->tile.global, sizeof whole.size);
    if (!rc && !s->g->rank && sk_box_gap(&whole, all, (size_t)s->g->size, &gap) == 1) {
        char text[200];
        sk_log(SK_LOG_WARN,
               "the ranks' parts of '%s' leave %s of the global array to nobody: another number of "
               "ranks will not be able "
               "to restart from this",
               v->name, sk_box_text(&gap, text, sizeof text));
    }
    free(all);
    return rc;
}

/* Hash of everything about the variables that must be equal on all ranks. */
static int64_t hash_declarations(struct sk_var **v, size_t count)
{
    struct sk_buf b = {0};
    for (size_t i = 0; i < count; i++) {
        sk_buf_put_str(&b, v[i]->name);
        sk_buf_put_u32(&b, (uint32_t)v[i]->scope);
        if (v[i]->scope != SK_SKC_GLOBAL)
            continue;
        sk_buf_put_u32(&b, (uint32_t)v[i]->type);
        sk_buf_put_u32(&b, (uint32_t)v[i]->ndims);
        sk_buf_put(&b, v[i]->tile.global, sizeof v[i]->tile.global[0] * (size_t)v[i]->ndims);
    }
    int64_t hash = sk_buf_ok(&b) ? (int64_t)(sk_hash64(b.data, b.len) >> 1) : 0;
    sk_buf_free(&b);
    return hash;
}

int sk_reshape_begin(struct sk_session *s, struct saikai_error *err)
{
    struct sk_var **v = sorted(&s->vars);
    int any = 0,
        rc = v ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for %zu variables", s->vars.count);
    if ((rc = sk_group_verdict(s->g, rc, err)))
        goto out;
    for (size_t i = 0; i < s->vars.count; i++)
        any |= v[i]->scope != SK_SKC_OWN;
    int64_t mine = hash_declarations(v, s->vars.count), root = mine,
            all[2] = {-any, any && !sk_reshape_obstacle(&s->vars)};
    rc = sk_group_allreduce(s->g, all, 2, SK_OP_MIN);
    if (!rc)
        rc = sk_group_bcast(s->g, &root, sizeof root, 0);
    if (rc)
        sk_fail(err, rc, "the ranks lost contact while they compared what they protect");
    if (rc || !all[0])
        goto out;
    if (mine != root)
        rc = sk_fail(err, SAIKAI_EINVAL,
                     "rank %d protects other variables than rank 0, or declares other global "
                     "arrays for them",
                     s->g->rank);
    rc = sk_group_verdict(s->g, rc, err);
    for (size_t i = 0; !rc && i < s->vars.count; i++)
        if (v[i]->scope == SK_SKC_GLOBAL)
            rc = warn_of_gap(s, v[i], err);
    s->resume.reshapable = (int)all[1];
out:
    free(v);
    return rc;
}

/* ---- what the old ranks wrote ---- */

/* One variable in one old rank's file. */
struct part {
    struct sk_box box; /* GLOBAL */
    uint64_t hash;     /* REPLICATED: of its content, 0: unknown */
};

struct reading {
    struct sk_session *s;
    struct sk_gen gen;
    int old;           /* ranks that wrote it */
    struct sk_var **v; /* by name */
    size_t count;
    int share;          /* files that each rank looks at: ranks r, r + size, … */
    struct part *found; /* [count][share] */
    struct part *parts; /* [count][old] */
    int64_t run[2];     /* smallest run_id / 2 of the files looked at, and minus the largest */
};

/* The file of old rank `rank` in the local directory (which 0) or the prefix (1); SAIKAI_ENOENT:
 * there is none. */
static int open_part(const struct reading *r, int which, int rank, struct sk_container **out,
                     struct saikai_error *err)
{
    const char *root = which ? r->s->place.prefix_root : r->s->place.local_root;
    char path[PATH_MAX];
    struct sk_container *c = NULL;
    if (!*root || (which && !strcmp(root, r->s->place.local_root)))
        return SAIKAI_ENOENT;
    int rc = sk_gen_file(root, r->gen, rank, path, sizeof path, err);
    if (!rc && access(path, F_OK))
        rc = SAIKAI_ENOENT;
    if (!rc)
        rc = sk_lineage_open_file(path, root, &c, err);
    if (rc)
        return rc;
    const struct sk_skc_header *h = &c->header;
    rc = sk_session_check_store(r->s, h, c->path, err);
    if (!rc && ((int)h->rank != rank || (r->old && (int)h->nranks != r->old) ||
                h->iteration != r->gen.iteration || h->place != r->gen.place ||
                h->incarnation != r->gen.incarnation))
        rc = sk_fail(err, SAIKAI_EDAMAGED, "%s holds another generation or another rank's part",
                     c->path);
    if (rc)
        sk_container_close(c);
    else
        *out = c;
    return rc;
}

/* 1: another copy would say the same. */
static int is_fatal(int rc)
{
    return rc == SAIKAI_ECHANGED || rc == SAIKAI_ERANKS || rc == SAIKAI_ENOMEM;
}

/* Do something with an old rank's file, with the other copy when the first is damaged. */
static int with_part(struct reading *r, int rank,
                     int (*fn)(struct reading *, int, struct sk_container *, struct saikai_error *),
                     struct saikai_error *err)
{
    int rc = SAIKAI_ENOENT;
    for (int which = 0; which < 2; which++) {
        struct sk_container *c = NULL;
        struct saikai_error why = {0};
        int one = open_part(r, which, rank, &c, &why);
        if (one == SAIKAI_ENOENT)
            continue;
        if (!one)
            one = fn(r, rank, c, &why);
        sk_container_close(c);
        if (!one)
            return 0;
        rc = one;
        if (err)
            *err = why;
        if (is_fatal(one))
            return rc;
        sk_log(SK_LOG_WARN, "rank %d: %s", r->s->g->rank, why.text);
    }
    if (rc == SAIKAI_ENOENT) {
        char name[48];
        sk_fail(err, rc, "the file of rank %d of %s is neither in %s nor in a prefix", rank,
                sk_gen_name(r->gen, name), r->s->place.local_root);
        sk_log(SK_LOG_WARN, "rank %d: %s", r->s->g->rank, err ? err->text : "");
    }
    return rc;
}

/* Of a plain variable, whose chunks' checksums are those of its content. */
static uint64_t hash_content(const struct sk_container *c, const struct sk_skc_var *v)
{
    uint64_t h = v->raw_bytes;
    if (*v->codec)
        return 0;
    for (uint64_t i = 0; i < v->chunk_count; i++) {
        uint64_t both[2] = {h, c->index->chunks[v->first_chunk + i].hash};
        h = sk_hash64(both, sizeof both);
    }
    return h | 1;
}

static int check_global(const struct reading *r, const struct sk_var *v,
                        const struct sk_container *c, const struct sk_skc_var *s,
                        struct saikai_error *err)
{
    if (s->scope != SK_SKC_GLOBAL)
        return sk_fail(err, SAIKAI_ERANKS,
                       "variable '%.60s' of %s was written without its place in a global array: "
                       "start with %d ranks once",
                       v->name, c->path, r->old);
    int same = s->type == v->type && s->ndims == v->ndims;
    for (int d = 0; same && d < v->ndims; d++)
        same = s->tile.global[d] == v->tile.global[d];
    if (same)
        return 0;
    struct sk_box was = {.ndims = s->ndims}, is = {.ndims = v->ndims};
    char a[100], b[100];
    memcpy(was.size, s->tile.global, sizeof was.size);
    memcpy(is.size, v->tile.global, sizeof is.size);
    return sk_fail(err, SAIKAI_ECHANGED,
                   "the global array of '%.60s' is %s %s in this program but %s %s in %s: start "
                   "with the input that "
                   "wrote it, or afresh with restart.mode=never",
                   v->name, sk_type_name(v->type), sk_box_text(&is, a, sizeof a),
                   sk_type_name(s->type), sk_box_text(&was, b, sizeof b), c->path);
}

/* Where the variables of one old rank lie. */
static int survey_one(struct reading *r, int rank, struct sk_container *c, struct saikai_error *err)
{
    int at = rank / r->s->g->size, rc = 0;
    if (!rank)
        r->s->resume.inexact = sk_vars_inexact(&r->s->vars, c->index, r->s->resume.inexact_first);
    int64_t run = (int64_t)(c->header.run_id >> 1);
    r->run[0] = run < r->run[0] ? run : r->run[0];
    r->run[1] = -run < r->run[1] ? -run : r->run[1];
    for (uint32_t i = 0; i < c->index->var_count; i++)
        if (c->index->vars[i].kind == SK_SKC_FILE)
            return sk_fail(err, SAIKAI_ERANKS,
                           "%s has a file of the program, '%.60s', which belongs to one rank: "
                           "start with %d ranks",
                           c->path, c->index->vars[i].name, r->old);
        else if (rank == 0 && !sk_vars_find(&r->s->vars, c->index->vars[i].name))
            sk_log(SK_LOG_WARN, "%s has a variable '%s' that this program does not protect",
                   c->path, c->index->vars[i].name);
    for (size_t i = 0; !rc && i < r->count; i++) {
        const struct sk_var *v = r->v[i];
        const struct sk_skc_var *s = sk_skc_find(c->index, v->name);
        struct part *p = &r->found[i * (size_t)r->share + (size_t)at];
        if (!s)
            return sk_fail(
                err, SAIKAI_ECHANGED,
                "%s has no variable '%.60s': start with the program that wrote it, or afresh with "
                "restart.mode=never",
                c->path, v->name);
        if (v->scope == SK_SKC_REPLICATED) {
            p->hash = hash_content(c, s);
        } else if (!(rc = check_global(r, v, c, s, err))) {
            p->box.ndims = s->ndims;
            memcpy(p->box.low, s->tile.offset, sizeof p->box.low);
            memcpy(p->box.size, s->dims, sizeof p->box.size);
        }
    }
    return rc;
}

/* How many ranks wrote the generation: this rank's own file says it, or that of rank 0. */
static int find_old(struct reading *r, struct saikai_error *err)
{
    int64_t n = 0;
    for (int k = 0; k < 4 && !n; k++) {
        struct sk_container *c = NULL;
        if (!open_part(r, k % 2, k / 2 ? 0 : r->s->g->rank, &c, NULL))
            n = c->header.nranks;
        sk_container_close(c);
    }
    int rc = sk_group_allreduce(r->s->g, &n, 1, SK_OP_MAX);
    if (!rc && (!n || n > INT_MAX / 2))
        rc = sk_fail(err, SAIKAI_EDAMAGED,
                     "no file of the generation tells how many ranks wrote it");
    r->old = (int)n;
    return rc;
}

static int survey(struct reading *r, struct saikai_error *err)
{
    struct sk_group *g = r->s->g;
    int rc = find_old(r, err);
    if (rc)
        return rc;
    r->share = (r->old + g->size - 1) / g->size;
    r->run[0] = r->run[1] = INT64_MAX;
    size_t all = (size_t)r->share * (size_t)g->size;
    r->found = calloc(r->count * (size_t)r->share + 1, sizeof *r->found);
    r->parts = calloc(r->count * all + 1, sizeof *r->parts);
    struct part *gathered = calloc(all, sizeof *gathered);
    if (!r->found || !r->parts || !gathered)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for where %d ranks had their parts", r->old);
    for (int i = g->rank; !rc && i < r->old; i += g->size)
        rc = with_part(r, i, survey_one, err);
    int64_t fatal = -is_fatal(rc);
    int own = rc;
    rc = sk_group_verdict(g, rc, err);
    if (!rc)
        rc = sk_group_allreduce(g, r->run, 2, SK_OP_MIN);
    for (size_t i = 0; !rc && i < r->count; i++) {
        rc = sk_group_allgather(g, &r->found[i * (size_t)r->share], gathered,
                                (size_t)r->share * sizeof *gathered);
        for (int k = 0; !rc && k < r->old;
             k++) /* rank k was looked at by rank k mod size, as its (k / size)-th */
            r->parts[i * (size_t)r->old + (size_t)k] =
                gathered[k % g->size * r->share + k / g->size];
    }
    free(gathered);
    return fatal ? own : rc;
}

/* ---- reading ---- */

static const struct part *parts_of(const struct reading *r, size_t var)
{
    return &r->parts[var * (size_t)r->old];
}

/* The old ranks' tiles must hold all of this rank's. */
static int check_cover(const struct reading *r, size_t var, struct saikai_error *err)
{
    const struct sk_var *v = r->v[var];
    struct sk_box mine = box_of(v), gap, *old = calloc((size_t)r->old, sizeof *old);
    int rc = old ? 0 : SAIKAI_ENOMEM;
    for (int k = 0; !rc && k < r->old; k++)
        old[k] = parts_of(r, var)[k].box;
    if (!rc)
        rc = sk_box_gap(&mine, old, (size_t)r->old, &gap);
    free(old);
    if (rc < 0)
        return sk_fail(err, rc, "no memory for the tiles of '%.60s'", v->name);
    if (!rc)
        return 0;
    char text[200], name[48];
    return sk_fail(err, SAIKAI_ERANKS,
                   "in %s no rank saved %s of the global array of '%.60s': the %d ranks that wrote "
                   "it do not cover it; start "
                   "with %d ranks, or afresh with restart.mode=never",
                   sk_gen_name(r->gen, name), sk_box_text(&gap, text, sizeof text), v->name, r->old,
                   r->old);
}

static int check_replicated(const struct reading *r, size_t var, struct saikai_error *err)
{
    const struct part *p = parts_of(r, var);
    char name[48];
    for (int k = 1; k < r->old; k++)
        if (p[k].hash && p[0].hash && p[k].hash != p[0].hash)
            return sk_fail(err, SAIKAI_ERANKS,
                           "variable '%.60s' is said to be the same on all ranks, but rank %d of "
                           "%s has another value than "
                           "rank 0: start with %d ranks, or afresh with restart.mode=never",
                           r->v[var]->name, k, sk_gen_name(r->gen, name), r->old);
    return 0;
}

/* Whose copy of a replicated variable this rank takes: its own, and when there are more ranks than
 * before, another's.
 */
static int source_of(const struct reading *r)
{
    return r->s->g->rank % r->old;
}

static int is_needed(const struct reading *r, size_t var, int rank, struct sk_box *shared)
{
    const struct sk_var *v = r->v[var];
    if (v->scope == SK_SKC_REPLICATED)
        return rank == source_of(r);
    struct sk_box mine = box_of(v);
    return sk_box_meet(&mine, &parts_of(r, var)[rank].box, shared);
}

static int read_shared(struct reading *r, size_t var, int rank, struct sk_container *c,
                       const struct sk_box *shared, struct saikai_error *err)
{
    const struct sk_var *v = r->v[var];
    const struct sk_skc_var *s = sk_skc_find(c->index, v->name);
    const struct sk_box *old = &parts_of(r, var)[rank].box;
    ptrdiff_t strides[SAIKAI_MAX_DIMS], width = (ptrdiff_t)sk_type_size(v->type);
    uint64_t low[SAIKAI_MAX_DIMS];
    uint8_t *to = v->data;
    if (!s || s->type != v->type || s->ndims != v->ndims ||
        memcmp(s->dims, old->size, sizeof s->dims) ||
        memcmp(s->tile.offset, old->low, sizeof s->tile.offset))
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "%s says another thing about '%.60s' than its other copy", c->path, v->name);
    for (int d = v->ndims - 1; d >= 0; d--) {
        strides[d] = v->layout.strided ? v->layout.strides[d] : width;
        width *= (ptrdiff_t)v->dims[d];
        low[d] = shared->low[d] - old->low[d];
        to += (ptrdiff_t)(shared->low[d] - v->tile.offset[d]) * strides[d];
    }
    return sk_container_read_box(c, s, low, shared->size, to, strides, err);
}

static int read_one(struct reading *r, int rank, struct sk_container *c, struct saikai_error *err)
{
    struct sk_box shared;
    int rc = 0;
    for (size_t i = 0; !rc && i < r->count; i++) {
        if (!is_needed(r, i, rank, &shared))
            continue;
        rc = r->v[i]->scope == SK_SKC_REPLICATED ? sk_var_restore(r->v[i], c, err)
                                                 : read_shared(r, i, rank, c, &shared, err);
    }
    return rc;
}

static int read_all(struct reading *r, struct saikai_error *err)
{
    struct sk_box shared;
    int rc = 0;
    for (size_t i = 0; !rc && i < r->count; i++)
        rc = r->v[i]->scope == SK_SKC_REPLICATED ? check_replicated(r, i, err)
                                                 : check_cover(r, i, err);
    /* where tiles overlap, the lowest rank's is read last and stays */
    for (int rank = r->old - 1; !rc && rank >= 0; rank--) {
        int needed = 0;
        for (size_t i = 0; !needed && i < r->count; i++)
            needed = is_needed(r, i, rank, &shared);
        if (needed)
            rc = with_part(r, rank, read_one, err);
    }
    for (size_t i = 0; !rc && i < r->count; i++)
        r->v[i]->restored = 1;
    return rc;
}

int sk_reshape_read(struct sk_session *s, struct sk_gen g, uint64_t *run_id,
                    struct saikai_error *err)
{
    struct reading r = {.s = s, .gen = g, .v = sorted(&s->vars), .count = s->vars.count};
    int rc = r.v ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for %zu variables", s->vars.count);
    rc = sk_group_verdict(s->g, rc, err);
    if (!rc)
        rc = survey(&r, err);
    if (!rc && r.run[0] != -r.run[1]) {
        char name[48];
        rc = sk_fail(err, SAIKAI_EDAMAGED, "the files of %s are of two runs", sk_gen_name(g, name));
    }
    if (!rc)
        rc = read_all(&r, err);
    if (!rc) {
        *run_id = (uint64_t)r.run[0] << 1;
        if (!s->g->rank)
            sk_log(SK_LOG_INFO,
                   "generation of iteration %lld was written by %s: each of %d took its part",
                   (long long)g.iteration, sk_counted((unsigned)r.old, "rank(s)"), s->g->size);
    }
    free(r.parts);
    free(r.found);
    free(r.v);
    return rc;
}
