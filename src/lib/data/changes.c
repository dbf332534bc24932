/* Follows the variables with a tracker, decides for each checkpoint which are saved as changes, and
 * writes the delta. */
#include "lib/data/changes.h"

#include "base/file/copy.h"
#include "base/log.h"
#include "capture/delta.h"
#include "capture/dirty.h"
#include "store/form/lineage.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_BYTES    ((size_t)64 << 10)
#define FIRST_REST     4
#define LONGEST_REST   64

/* What is known of a variable. */
struct watched {
    uint32_t id;
    int tracked;
    int constant; /* tracked by the program's word */
    const void *addr; /* where it is tracked */
    size_t size_bytes;
    struct sk_piece as; /* as it was in the newest generation captured */
    int based;          /* that generation has it, so that changes can build on it */
    unsigned rest;      /* checkpoints that it is left alone for */
    unsigned next_rest;
    uint64_t changed; /* bytes, at this checkpoint */
    int seen;
};

struct sk_changes {
    int off;                /* everything is saved each time */
    int trust_pages;
    double max_changed;
    struct sk_dirty *dirty; /* NULL: nothing to track was seen yet */
    struct watched *v;      /* by growing id */
    size_t n, cap;
    struct sk_ranges ranges; /* what changed, by id of the variable */
    struct sk_ranges chosen; /* what of it is saved as changes, by number of the piece */
    struct sk_memory *memory;
    size_t regions;
    struct sk_gen tip;
    int breaks;
};

int sk_changes_open(const struct sk_config *c, struct sk_changes **out, struct saikai_error *err)
{
    struct sk_changes *ch = calloc(1, sizeof *ch);
    const char *tracker = sk_config_text(c, "capture.tracker");
    struct sk_dirty_options o = {.form = tracker, .trust_pages = sk_config_bool(c, "capture.trust_pages")};
    if (!ch)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to look for changes");
    ch->off = sk_dirty_saves_all(tracker);
    ch->max_changed = sk_config_real(c, "capture.max_changed");
    ch->trust_pages = o.trust_pages;
    /* "auto" tries forms on scratch memory: only when there is something to track */
    int rc = ch->off || sk_is_auto(tracker) ? 0 : sk_dirty_open(&o, &ch->dirty, err);
    if (rc) {
        sk_error_prefix(err, "capture.tracker");
        free(ch);
        return rc;
    }
    *out = ch;
    return 0;
}

void sk_changes_close(struct sk_changes *ch)
{
    if (!ch)
        return;
    sk_dirty_close(ch->dirty);
    sk_ranges_free(&ch->ranges);
    sk_ranges_free(&ch->chosen);
    free(ch->memory);
    free(ch->v);
    free(ch);
}

/* ---- what is tracked ---- */

static struct watched *find(struct sk_changes *ch, uint32_t id)
{
    size_t lo = 0, hi = ch->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (ch->v[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < ch->n && ch->v[lo].id == id ? &ch->v[lo] : NULL;
}

/* Ids grow, and variables keep their order: a new one belongs to the end. */
static struct watched *find_or_add(struct sk_changes *ch, uint32_t id)
{
    struct watched *w = find(ch, id);
    if (w || (ch->n && ch->v[ch->n - 1].id > id))
        return w;
    if (ch->n == ch->cap) {
        size_t cap = ch->cap ? 2 * ch->cap : 16;
        struct watched *v = realloc(ch->v, cap * sizeof *v);
        if (!v)
            return NULL;
        ch->v = v;
        ch->cap = cap;
    }
    w = &ch->v[ch->n++];
    *w = (struct watched){.id = id, .next_rest = FIRST_REST};
    return w;
}

static void let_go(struct sk_changes *ch, struct watched *w)
{
    if (w->tracked && !w->constant)
        sk_dirty_remove(ch->dirty, w->id);
    w->tracked = w->based = w->constant = 0;
}

static int may_track(const struct sk_var *v, const struct sk_piece *p, const struct sk_wish *wish)
{
    return v->form != SK_VAR_STREAM && !p->strides && p->size_bytes >= LEAST_BYTES && (!wish || !*wish->chain);
}

static int open_tracker(struct sk_changes *ch)
{
    struct saikai_error why = {0};
    struct sk_dirty_options o = {.trust_pages = ch->trust_pages};
    if (!ch->dirty && sk_dirty_open(&o, &ch->dirty, &why)) {
        sk_log(SK_LOG_WARN, "all is saved each time: %s", why.text);
        ch->off = 1;
    }
    return ch->off;
}

/* Tell the tracker where the variables are now; memory of the ones that moved may already be gone. */
static void follow(struct sk_changes *ch, const struct sk_vars *vars, const struct sk_wish *wishes,
                   const struct sk_piece *p)
{
    for (size_t i = 0; i < ch->n; i++)
        ch->v[i].seen = 0;
    for (size_t i = 0; i < vars->count; i++) {
        struct watched *w = find_or_add(ch, vars->v[i].id);
        if (!w)
            continue;
        w->seen = may_track(&vars->v[i], &p[i], wishes ? &wishes[i] : NULL);
        w->rest -= w->rest > 0;
        if (w->rest || w->addr != p[i].data || w->size_bytes != p[i].size_bytes ||
            w->constant != (w->tracked && vars->v[i].constant))
            let_go(ch, w);
    }
    for (size_t i = 0; i < ch->n; i++)
        if (!ch->v[i].seen)
            let_go(ch, &ch->v[i]);
    for (size_t i = 0; i < vars->count; i++) {
        struct watched *w = find(ch, vars->v[i].id);
        struct saikai_error why = {0};
        if (!w || !w->seen || w->rest || w->tracked || (!vars->v[i].constant && open_tracker(ch)))
            continue;
        w->constant = vars->v[i].constant;
        w->tracked = w->constant || !sk_dirty_add(ch->dirty, w->id, (void *)p[i].data, p[i].size_bytes, 0, &why);
        w->addr = p[i].data;
        w->size_bytes = p[i].size_bytes;
        if (!w->tracked)
            sk_log(SK_LOG_INFO, "variable '%s' is not tracked: %s", p[i].name, why.text);
    }
}

/* ---- what is saved how ---- */

static int same_shape(const struct sk_piece *a, const struct sk_piece *b)
{
    return a->type == b->type && a->kind == b->kind && a->ndims == b->ndims && a->size_bytes == b->size_bytes &&
           !memcmp(a->dims, b->dims, sizeof a->dims[0] * (size_t)a->ndims);
}

/* times 1: not worth being a delta; 1.5: not worth being tracked. */
static int too_much(const struct sk_changes *ch, uint64_t changed, uint64_t all, double times)
{
    return (double)changed > ch->max_changed * times * (double)all;
}

static void count_changes(struct sk_changes *ch)
{
    struct watched *w = NULL;
    for (size_t i = 0; i < ch->n; i++)
        ch->v[i].changed = 0;
    for (size_t i = 0; i < ch->ranges.n; i++) {
        if (!w || w->id != ch->ranges.v[i].region)
            w = find(ch, ch->ranges.v[i].region);
        if (w)
            w->changed += ch->ranges.v[i].size_bytes;
    }
}

/* Set changes_only; returns how many bytes the pieces take that are saved as a whole, in *saved those that are not. */
static uint64_t choose(struct sk_changes *ch, const struct sk_vars *vars, struct sk_piece *p, size_t count,
                       uint64_t *saved)
{
    uint64_t whole = 0;
    *saved = 0;
    for (size_t i = 0; i < count; i++) {
        struct watched *w = i < vars->count ? find(ch, vars->v[i].id) : NULL;
        if (w && w->tracked && w->based && too_much(ch, w->changed, p[i].size_bytes, 1.5)) {
            let_go(ch, w);
            w->rest = w->next_rest;
            w->next_rest = w->next_rest < LONGEST_REST ? 2 * w->next_rest : LONGEST_REST;
        }
        p[i].changes_only = w && w->tracked && w->based && same_shape(&w->as, &p[i]) &&
                            !too_much(ch, w->changed, p[i].size_bytes, 1) && strcmp(p[i].name, SK_LINEAGE_VAR);
        if (p[i].changes_only) {
            *saved += p[i].size_bytes - w->changed;
            whole += w->changed;
        } else {
            whole += p[i].size_bytes;
        }
    }
    return whole;
}

/* Number the ranges of the chosen variables by piece, and list these. 0, or memory is out. */
static int make_tables(struct sk_changes *ch, const struct sk_vars *vars, const struct sk_piece *p)
{
    struct sk_memory *m = realloc(ch->memory, (vars->count + 1) * sizeof *m);
    size_t k = 0;
    if (!m)
        return -1;
    ch->memory = m;
    ch->regions = 0;
    sk_ranges_clear(&ch->chosen);
    for (uint32_t i = 0; i < vars->count; i++) {
        uint32_t id = vars->v[i].id;
        while (k < ch->ranges.n && ch->ranges.v[k].region < id)
            k++;
        if (!p[i].changes_only)
            continue;
        m[ch->regions++] = (struct sk_memory){i, (uint8_t *)p[i].data, p[i].size_bytes};
        for (; k < ch->ranges.n && ch->ranges.v[k].region == id; k++)
            sk_ranges_add(&ch->chosen, i, ch->ranges.v[k].offset, ch->ranges.v[k].size_bytes);
    }
    return ch->chosen.failed ? -1 : 0;
}

static void all_whole(struct sk_piece *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        p[i].changes_only = 0;
}

static int collect(struct sk_changes *ch)
{
    struct saikai_error why = {0};
    if (!sk_dirty_collect(ch->dirty, &ch->ranges, &why))
        return 0;
    sk_log(SK_LOG_WARN, "all is saved, since the changes are not known: %s", why.text);
    for (size_t i = 0; i < ch->n; i++) /* begin anew */
        let_go(ch, &ch->v[i]);
    return -1;
}

void sk_changes_look(struct sk_changes *ch, const struct sk_vars *vars, const struct sk_wish *wishes, int breaks,
                     struct sk_gen g, struct sk_piece *p, size_t count, struct sk_piece *extra, struct sk_gen *base)
{
    *base = (struct sk_gen){0};
    sk_ranges_clear(&ch->ranges);
    all_whole(p, count);
    if (ch->off)
        return;
    if (ch->breaks != breaks || !ch->tip.incarnation || sk_gen_key(ch->tip) >= sk_gen_key(g))
        for (size_t i = 0; i < ch->n; i++) /* nothing, or not this, can be built on */
            ch->v[i].based = 0;
    ch->breaks = breaks;
    follow(ch, vars, wishes, p);
    if (ch->dirty && collect(ch))
        return;
    count_changes(ch);
    uint64_t saved, whole = choose(ch, vars, p, count, &saved);
    if (too_much(ch, whole, whole + saved, 1) || make_tables(ch, vars, p) || !ch->regions) {
        all_whole(p, count);
        return;
    }
    *extra = (struct sk_piece){.name = SK_LINEAGE_VAR, .type = SAIKAI_U8, .ndims = 1, .kind = SK_SKC_CHANGES};
    extra->size_bytes = extra->dims[0] = sk_delta_size(ch->regions, &ch->chosen);
    *base = ch->tip;
}

int sk_changes_write(struct sk_changes *ch, void *out, size_t cap, struct saikai_error *err)
{
    uint8_t *to;
    const struct sk_memory *m = ch->memory;
    /* what it builds on has its checksum only when it is committed */
    int rc = sk_delta_start(0, m, ch->regions, &ch->chosen, out, cap, &to, err);
    if (rc)
        return rc;
    struct sk_gather g = {.to = to};
    for (size_t i = 0; i < ch->chosen.n; i++) {
        const struct sk_range *x = &ch->chosen.v[i];
        while (m->id != x->region)
            m++;
        sk_gather_add(&g, m->addr + x->offset, x->size_bytes);
    }
    sk_gather_end(&g);
    return 0;
}

void sk_changes_done(struct sk_changes *ch, const struct sk_vars *vars, const struct sk_piece *p, struct sk_gen g,
                     int saved)
{
    if (!saved) {
        if (ch->dirty)
            sk_dirty_return(ch->dirty, &ch->ranges);
        return;
    }
    ch->tip = g;
    for (size_t i = 0; i < vars->count; i++) {
        struct watched *w = find(ch, vars->v[i].id);
        if (!w || !w->tracked)
            continue;
        w->based = 1;
        w->as = p[i];
        if (p[i].changes_only && !too_much(ch, w->changed, p[i].size_bytes, 0.5))
            w->next_rest = FIRST_REST;
    }
}
