/* Reads what the files of a chain hold of a variable: the bytes of the one that has it in full, and over them the changes of those that
 * build on it. */
#include "store/form/lineage_read.h"

#include <stdlib.h>

#define DELTA_HEAD_BYTES 56u /* up to the tables; what follows them takes 8 more */

/* ---- one link ---- */

static int damaged(const struct sk_lineage_link *l, struct saikai_error *err, const char *what)
{
    return sk_fail(err, SAIKAI_EDAMAGED, "%s: its changes are damaged: %s", l->c->path, what);
}

static int load_chunk(struct sk_lineage *chain, struct sk_lineage_link *l, uint64_t i, struct saikai_error *err)
{
    if (l->loaded == i)
        return 0;
    l->loaded = UINT64_MAX;
    int rc = sk_container_read_chunk(l->c, l->var->first_chunk + i, l->chunk, chain->hasher, err);
    if (!rc)
        l->loaded = i;
    return rc;
}

/* n bytes of the changes from byte `at`, each chunk verified. */
static int read_changes(struct sk_lineage *chain, struct sk_lineage_link *l, uint64_t at, void *out, uint64_t n,
                        struct saikai_error *err)
{
    for (uint8_t *to = out; n;) {
        uint64_t i = at / l->chunk_bytes, from = at % l->chunk_bytes, part = l->chunk_bytes - from;
        int rc = load_chunk(chain, l, i, err);
        if (rc)
            return rc;
        part = part < n ? part : n;
        memcpy(to, l->chunk + from, part);
        to += part;
        at += part;
        n -= part;
    }
    return 0;
}

/* All chunks of one size, but the last, which may be shorter: as they are written. */
static int check_chunks(struct sk_lineage_link *l, struct saikai_error *err)
{
    const struct sk_skc_chunk *k = &l->c->index->chunks[l->var->first_chunk];
    if (*l->var->codec || !l->var->chunk_count || l->var->type != SAIKAI_U8)
        return damaged(l, err, "they are not plain bytes");
    l->chunk_bytes = k->raw_bytes;
    for (uint64_t i = 0; i < l->var->chunk_count; i++)
        if (k[i].raw_bytes != k[i].stored_bytes || k[i].raw_bytes > l->chunk_bytes ||
            (k[i].raw_bytes < l->chunk_bytes && i + 1 < l->var->chunk_count))
            return damaged(l, err, "their chunks have odd sizes");
    l->loaded = UINT64_MAX;
    l->chunk = malloc(l->chunk_bytes);
    return l->chunk ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to read %s", l->c->path);
}

static uint64_t number_at(const uint8_t *p)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

/* Tables of the delta: nothing is asked for that is larger than the variable. */
static int load_tables(struct sk_lineage *chain, struct sk_lineage_link *l, struct saikai_error *err)
{
    uint8_t head[DELTA_HEAD_BYTES];
    uint64_t n = l->var->raw_bytes, regions, ranges;
    if (n < DELTA_HEAD_BYTES + 8)
        return damaged(l, err, "they are truncated");
    int rc = read_changes(chain, l, 0, head, sizeof head, err);
    if (rc)
        return rc;
    uint64_t left = n - DELTA_HEAD_BYTES - 8;
    regions = number_at(head + 24);
    ranges = number_at(head + 32);
    if (regions > left / 16 || ranges > (left - regions * 16) / 24)
        return damaged(l, err, "they are truncated");
    l->payload_at = DELTA_HEAD_BYTES + regions * 16 + ranges * 24 + 8;
    l->tables = malloc(l->payload_at);
    l->at = malloc((ranges + 1) * sizeof *l->at);
    if (!l->tables || !l->at)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for %llu changes of %s", (unsigned long long)ranges, l->c->path);
    rc = read_changes(chain, l, 0, l->tables, l->payload_at, err);
    if (!rc && (rc = sk_delta_open(l->tables, n, &l->d, err)))
        sk_error_prefix(err, "%s", l->c->path);
    if (rc == SAIKAI_EFORMAT && err)
        err->code = rc = SAIKAI_EDAMAGED;
    if (rc)
        return rc;
    if (l->d.size_bytes != n)
        return damaged(l, err, "they have the wrong length");
    l->at[0] = 0;
    for (uint64_t i = 0; i < ranges; i++)
        l->at[i + 1] = l->at[i] + sk_delta_range(&l->d, i).size_bytes;
    return 0;
}

/* The delta's regions are the variables that are said to have changes, with their sizes. */
static int check_regions(const struct sk_lineage_link *l, struct saikai_error *err)
{
    uint64_t k = 0;
    for (uint32_t i = 0; i + 1 < l->c->index->var_count; i++) {
        const struct sk_skc_var *v = &l->c->index->vars[i];
        uint32_t id;
        uint64_t size;
        if (!sk_lineage_is_changed(v))
            continue;
        if (k == l->d.region_count)
            return damaged(l, err, "they miss a variable");
        sk_delta_region(&l->d, k++, &id, &size);
        if (id != i || size != v->raw_bytes)
            return damaged(l, err, "they are those of other variables");
    }
    return k == l->d.region_count ? 0 : damaged(l, err, "they have more variables than the file");
}

int sk_lineage_open_changes(struct sk_lineage *chain, struct sk_lineage_link *l, struct saikai_error *err)
{
    int rc = check_chunks(l, err);
    if (!rc)
        rc = load_tables(chain, l, err);
    return rc ? rc : check_regions(l, err);
}

/* ---- one variable ---- */

static int same_shape(const struct sk_skc_var *a, const struct sk_skc_var *b)
{
    return a->type == b->type && a->kind == b->kind && a->ndims == b->ndims && a->raw_bytes == b->raw_bytes &&
           !memcmp(a->dims, b->dims, sizeof a->dims[0] * a->ndims);
}

int sk_lineage_follow(const struct sk_lineage *chain, const struct sk_skc_var *v, struct sk_lineage_trace *t, struct saikai_error *err)
{
    t->region = calloc(chain->n, sizeof *t->region);
    if (!t->region)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to read %s", chain->link[0].c->path);
    for (t->full = 0; t->full < chain->n; t->full++) {
        const struct sk_skc_index *x = chain->link[t->full].c->index;
        t->base = t->full ? sk_skc_find(x, v->name) : v;
        if (!t->base || !same_shape(t->base, v))
            break;
        if (!sk_lineage_is_changed(t->base))
            return 0;
        t->region[t->full] = (uint32_t)(t->base - x->vars);
    }
    free(t->region);
    t->region = NULL;
    t->full = t->full < chain->n ? t->full : chain->n - 1;
    return sk_fail(err, SAIKAI_EDAMAGED, "%s does not hold variable '%.60s', which %s builds on",
                   chain->link[t->full].c->path, v->name, chain->link[0].c->path);
}

/* Bytes [lo, hi) of the full variable; a coded one can only be had whole. */
static int read_base(struct sk_lineage *chain, const struct sk_lineage_trace *t, uint64_t lo, uint64_t hi, uint8_t *out,
                     struct saikai_error *err)
{
    struct sk_container *c = chain->link[t->full].c;
    const struct sk_skc_var *v = t->base;
    if (!lo && hi == v->raw_bytes)
        return sk_container_read(c, v, out, err);
    uint8_t *whole = NULL;
    int rc = 0;
    for (uint64_t i = v->first_chunk, at = 0, n; !rc && i < v->first_chunk + v->chunk_count && at < hi; i++, at += n) {
        n = c->index->chunks[i].raw_bytes;
        if (at + n <= lo)
            continue;
        if (at >= lo && at + n <= hi) {
            rc = sk_container_read_chunk(c, i, out + (at - lo), chain->hasher, err);
            continue;
        }
        uint64_t from = at > lo ? at : lo, to = at + n < hi ? at + n : hi;
        free(whole);
        whole = malloc(n);
        rc = whole ? sk_container_read_chunk(c, i, whole, chain->hasher, err)
                   : sk_fail(err, SAIKAI_ENOMEM, "no memory to read %s", c->path);
        if (!rc)
            memcpy(out + (from - lo), whole + (from - at), to - from);
    }
    free(whole);
    return rc;
}

/* The first range of the region that ends behind byte lo, or the first of a later region. */
static uint64_t first_range(const struct sk_delta *d, uint32_t region, uint64_t lo)
{
    uint64_t first = 0, last = d->range_count;
    while (first < last) {
        uint64_t mid = first + (last - first) / 2;
        struct sk_range x = sk_delta_range(d, mid);
        if (x.region < region || (x.region == region && x.offset + x.size_bytes <= lo))
            first = mid + 1;
        else
            last = mid;
    }
    return first;
}

static int put_changes(struct sk_lineage *chain, struct sk_lineage_link *l, uint32_t region, uint64_t lo, uint64_t hi, uint8_t *out,
                       struct saikai_error *err)
{
    int rc = 0;
    for (uint64_t i = first_range(&l->d, region, lo); !rc && i < l->d.range_count; i++) {
        struct sk_range x = sk_delta_range(&l->d, i);
        if (x.region != region || x.offset >= hi)
            break;
        uint64_t from = x.offset > lo ? x.offset : lo, to = x.offset + x.size_bytes;
        to = to < hi ? to : hi;
        rc = read_changes(chain, l, l->payload_at + l->at[i] + (from - x.offset), out + (from - lo), to - from, err);
    }
    return rc;
}

int sk_lineage_read_part(struct sk_lineage *chain, const struct sk_lineage_trace *t, uint64_t lo, uint64_t hi, uint8_t *out,
                     struct saikai_error *err)
{
    int rc = read_base(chain, t, lo, hi, out, err);
    for (size_t k = t->full; !rc && k-- > 0;)
        rc = put_changes(chain, &chain->link[k], t->region[k], lo, hi, out, err);
    return rc;
}
