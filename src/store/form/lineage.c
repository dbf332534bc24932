/* Opens a file with all that it builds on, checks that they fit, and puts variables together from
 * base and changes. */
#include "store/form/lineage.h"

#include "base/file/io.h"
#include "capture/delta.h"
#include "store/form/container_parts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DELTA_HEAD_BYTES 56u /* up to the tables; what follows them takes 8 more */
/* Variables are put together and written in parts of this size: a multiple of a chunk. */
#define WINDOW_BYTES ((uint64_t)8 * SK_SKC_CHUNK_BYTES)

/* One file of a chain. */
struct link {
    struct sk_container *c;
    const struct sk_skc_var *var; /* its changes, NULL: full */
    uint8_t *tables;              /* the delta up to its payload */
    struct sk_delta d;
    uint64_t *at;        /* where each range's bytes begin in the payload; one more for the end */
    uint64_t payload_at; /* where the payload begins in the variable */
    uint64_t chunk_bytes;
    uint8_t *chunk; /* the chunk that was read last */
    uint64_t loaded;
};

struct sk_lineage {
    struct link *link; /* newest first; the first is the container itself */
    size_t n;
    struct sk_hasher *hasher;
};

static int is_delta(const struct sk_skc_var *v)
{
    return !strcmp(v->codec, SK_LINEAGE_CODEC);
}

const struct sk_skc_var *sk_lineage_changes(const struct sk_skc_index *x)
{
    const struct sk_skc_var *last = x->var_count ? &x->vars[x->var_count - 1] : NULL;
    return last && last->kind == SK_SKC_CHANGES && !strcmp(last->name, SK_LINEAGE_VAR) ? last : NULL;
}

static void free_lineage(struct sk_lineage *chain)
{
    if (!chain)
        return;
    for (size_t i = 0; i < chain->n; i++) {
        struct link *l = &chain->link[i];
        if (i)
            sk_container_close(l->c);
        free(l->tables);
        free(l->at);
        free(l->chunk);
    }
    free(chain->link);
    sk_hasher_free(chain->hasher);
    free(chain);
}

/* ---- one link ---- */

static int damaged(const struct link *l, struct saikai_error *err, const char *what)
{
    return sk_fail(err, SAIKAI_EDAMAGED, "%s: its changes are damaged: %s", l->c->path, what);
}

static int load_chunk(struct sk_lineage *chain, struct link *l, uint64_t i, struct saikai_error *err)
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
static int read_changes(struct sk_lineage *chain, struct link *l, uint64_t at, void *out, uint64_t n,
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
static int check_chunks(struct link *l, struct saikai_error *err)
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
static int load_tables(struct sk_lineage *chain, struct link *l, struct saikai_error *err)
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
static int check_regions(const struct link *l, struct saikai_error *err)
{
    uint64_t k = 0;
    for (uint32_t i = 0; i + 1 < l->c->index->var_count; i++) {
        const struct sk_skc_var *v = &l->c->index->vars[i];
        uint32_t id;
        uint64_t size;
        if (!is_delta(v))
            continue;
        if (k == l->d.region_count)
            return damaged(l, err, "they miss a variable");
        sk_delta_region(&l->d, k++, &id, &size);
        if (id != i || size != v->raw_bytes)
            return damaged(l, err, "they are those of other variables");
    }
    return k == l->d.region_count ? 0 : damaged(l, err, "they have more variables than the file");
}

static int open_changes(struct sk_lineage *chain, struct link *l, struct saikai_error *err)
{
    int rc = check_chunks(l, err);
    if (!rc)
        rc = load_tables(chain, l, err);
    return rc ? rc : check_regions(l, err);
}

/* ---- opening ---- */

static struct sk_gen base_of(const struct sk_skc_header *h)
{
    return (struct sk_gen){h->base_incarnation, h->base_iteration, h->base_place};
}

static int check_base(const struct link *l, const struct sk_container *base, struct saikai_error *err)
{
    const struct sk_skc_header *a = &l->c->header, *b = &base->header;
    if (b->iteration != a->base_iteration || b->place != a->base_place || b->incarnation != a->base_incarnation ||
        b->rank != a->rank || b->nranks != a->nranks || b->run_id != a->run_id ||
        base->trailer.index_hash != l->d.from)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s builds on another file than %s", l->c->path, base->path);
    return 0;
}

static int add_link(struct sk_lineage *chain, struct sk_container *c, struct saikai_error *err)
{
    struct link *v = realloc(chain->link, (chain->n + 1) * sizeof *v);
    if (!v)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to open %s", c->path);
    chain->link = v;
    v += chain->n++;
    *v = (struct link){.c = c, .var = sk_lineage_changes(c->index)};
    int is_full = !c->header.base_incarnation;
    if (is_full != !v->var)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s: its header and its index differ about what it builds on", c->path);
    return is_full ? 0 : open_changes(chain, v, err);
}

/* Headers are read as they are: not every number is one of a generation. */
static int is_possible(struct sk_gen g)
{
    return g.incarnation <= SK_GEN_MAX_INCARNATION && g.iteration >= 0 && g.iteration <= SK_GEN_MAX_ITERATION &&
           g.place <= SK_GEN_MAX_PLACE;
}

/* sk_lineage_find among the files below a directory. */
static int find_file(void *root, struct sk_gen g, int rank, struct sk_container **out, struct saikai_error *err)
{
    char path[PATH_MAX];
    int rc = sk_gen_file(root, g, rank, path, sizeof path, err);
    return rc ? rc : sk_container_open(path, out, err);
}

/* Open what the last link builds on and add it. */
static int open_base(struct sk_lineage *chain, sk_lineage_find *find, void *arg, struct saikai_error *err)
{
    const struct link *last = &chain->link[chain->n - 1];
    const struct sk_skc_header *h = &last->c->header;
    struct sk_gen base = base_of(h), own = {h->incarnation, h->iteration, h->place};
    char name[48], file[32];
    struct sk_container *c = NULL;
    if (!is_possible(base) || !is_possible(own) || sk_gen_key(base) >= sk_gen_key(own) || chain->n > SK_LINEAGE_MAX)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s builds on an impossible generation", last->c->path);
    int rc = find(arg, base, (int)h->rank, &c, err);
    if (rc == SAIKAI_ENOENT)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s builds on %s/%s, which is missing", last->c->path,
                       sk_gen_name(base, name), sk_gen_file_name((int)h->rank, file));
    if (rc)
        return rc;
    if ((rc = check_base(last, c, err)) || (rc = add_link(chain, c, err)))
        if (chain->link[chain->n - 1].c != c)
            sk_container_close(c);
    return rc;
}

int sk_lineage_open_file(const char *path, const char *root, struct sk_container **out, struct saikai_error *err)
{
    struct sk_container *c = NULL;
    int rc = sk_container_open(path, &c, err);
    return rc ? rc : sk_lineage_complete(c, find_file, (void *)root, out, err); /* only read from */
}

int sk_lineage_open(const char *root, struct sk_gen g, int rank, struct sk_container **out, struct saikai_error *err)
{
    char path[PATH_MAX];
    int rc = sk_gen_file(root, g, rank, path, sizeof path, err);
    return rc ? rc : sk_lineage_open_file(path, root, out, err);
}

int sk_lineage_base(const char *root, struct sk_gen g, int rank, struct sk_gen *base, struct saikai_error *err)
{
    char path[PATH_MAX];
    uint8_t head[SK_SKC_HEADER_BYTES];
    struct sk_skc_header h;
    int rc = sk_gen_file(root, g, rank, path, sizeof path, err);
    int fd = rc ? rc : sk_io_open(path, O_RDONLY, 0, err);
    if (fd < 0)
        return fd;
    rc = sk_io_pread(fd, path, head, sizeof head, 0, err);
    close(fd);
    if (!rc && (rc = sk_skc_decode_header(head, sizeof head, &h, err)))
        sk_error_prefix(err, "%s", path);
    if (!rc)
        *base = base_of(&h);
    return rc;
}

size_t sk_lineage_length(const struct sk_container *c)
{
    return c->lineage ? c->lineage->n - 1 : 0;
}

/* ---- reading ---- */

/* Where a variable's bytes come from: whole from link `full`, then the changes of the ones before it. */
struct trace {
    size_t full;
    const struct sk_skc_var *base;
    uint32_t *region; /* its number in each link before `full` */
};

static int same_shape(const struct sk_skc_var *a, const struct sk_skc_var *b)
{
    return a->type == b->type && a->kind == b->kind && a->ndims == b->ndims && a->raw_bytes == b->raw_bytes &&
           !memcmp(a->dims, b->dims, sizeof a->dims[0] * a->ndims);
}

static int follow(const struct sk_lineage *chain, const struct sk_skc_var *v, struct trace *t, struct saikai_error *err)
{
    t->region = calloc(chain->n, sizeof *t->region);
    if (!t->region)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to read %s", chain->link[0].c->path);
    for (t->full = 0; t->full < chain->n; t->full++) {
        const struct sk_skc_index *x = chain->link[t->full].c->index;
        t->base = t->full ? sk_skc_find(x, v->name) : v;
        if (!t->base || !same_shape(t->base, v))
            break;
        if (!is_delta(t->base))
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
static int read_base(struct sk_lineage *chain, const struct trace *t, uint64_t lo, uint64_t hi, uint8_t *out,
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

static int put_changes(struct sk_lineage *chain, struct link *l, uint32_t region, uint64_t lo, uint64_t hi, uint8_t *out,
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

static int read_part(struct sk_lineage *chain, const struct trace *t, uint64_t lo, uint64_t hi, uint8_t *out,
                     struct saikai_error *err)
{
    int rc = read_base(chain, t, lo, hi, out, err);
    for (size_t k = t->full; !rc && k-- > 0;)
        rc = put_changes(chain, &chain->link[k], t->region[k], lo, hi, out, err);
    return rc;
}

static int read_whole(struct sk_container *c, const struct sk_skc_var *v, void *out, struct saikai_error *err)
{
    struct trace t;
    int rc = follow(c->lineage, v, &t, err);
    if (rc)
        return rc;
    rc = read_part(c->lineage, &t, 0, v->raw_bytes, out, err);
    free(t.region);
    return rc;
}

int sk_lineage_read_parts(struct sk_container *c, const struct sk_skc_var *v, const struct sk_stream_parts *parts,
                          struct saikai_error *err)
{
    struct trace t;
    if (!c->lineage)
        return sk_fail(err, SAIKAI_EINVAL, "%s holds only the changes of variable '%.60s': open its generation", c->path,
                       v->name);
    int rc = follow(c->lineage, v, &t, err);
    if (rc)
        return rc;
    uint64_t window = *t.base->codec || v->raw_bytes < WINDOW_BYTES ? v->raw_bytes : WINDOW_BYTES;
    uint8_t *buf = malloc(window ? window : 1);
    if (!buf)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for variable '%.60s' of %s", v->name, c->path);
    for (uint64_t lo = 0, n; !rc && lo < v->raw_bytes; lo += n) {
        n = v->raw_bytes - lo < window ? v->raw_bytes - lo : window;
        if (!parts->wants(parts->arg, lo, n))
            continue;
        rc = read_part(c->lineage, &t, lo, lo + n, buf, err);
        if (!rc)
            parts->take(parts->arg, lo, buf, n);
    }
    free(buf);
    free(t.region);
    return rc;
}

int sk_lineage_verify(struct sk_container *c, sk_container_progress *progress, void *arg, struct saikai_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && c->lineage && i < c->lineage->n; i++) {
        const struct link *l = &c->lineage->link[i];
        uint32_t k = i ? 0 : l->c->index->var_count; /* of this file, the changes alone */
        for (; !rc && k < l->c->index->var_count + !i; k++)
            rc = sk_container_verify_var(l->c, &l->c->index->vars[k], progress, arg, err);
    }
    for (uint32_t k = 0; !rc && c->lineage && k < c->index->var_count; k++) {
        struct trace t;
        if (!is_delta(&c->index->vars[k]))
            continue;
        rc = follow(c->lineage, &c->index->vars[k], &t, err);
        if (!rc)
            free(t.region);
    }
    return rc;
}

int sk_lineage_decodable(const struct sk_container *c, struct saikai_error *err)
{
    int rc = 0;
    for (size_t i = 1; !rc && c->lineage && i < c->lineage->n; i++)
        for (uint32_t k = 0; !rc && k < c->lineage->link[i].c->index->var_count; k++)
            rc = sk_container_decodable(c->lineage->link[i].c, &c->lineage->link[i].c->index->vars[k], err);
    return rc;
}

/* ---- a full container from a chain ---- */

struct copy {
    struct sk_container *from;
    int fd;
    const char *path;
    uint8_t *buf;
    struct sk_skc_index *index;
    uint64_t at;
};

static uint64_t chunks_of(uint64_t bytes)
{
    return (bytes + SK_SKC_CHUNK_BYTES - 1) / SK_SKC_CHUNK_BYTES;
}

static int copy_begin(struct copy *k, struct saikai_error *err)
{
    const struct sk_skc_index *x = k->from->index;
    struct sk_skc_index *y = k->index = calloc(1, sizeof *y);
    uint64_t chunks = 0;
    for (uint32_t i = 0; i < x->var_count; i++)
        chunks += is_delta(&x->vars[i]) ? chunks_of(x->vars[i].raw_bytes) : x->vars[i].chunk_count;
    if (y) {
        y->vars = calloc(x->var_count ? x->var_count : 1, sizeof *y->vars);
        y->chunks = calloc(chunks ? chunks : 1, sizeof *y->chunks);
    }
    k->buf = malloc(WINDOW_BYTES);
    if (!y || !y->vars || !y->chunks || !k->buf)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to copy %s", k->from->path);
    k->at = SK_SKC_HEADER_BYTES;
    return 0;
}

/* Zeros up to where the next chunk may begin. */
static int copy_pad(struct copy *k, struct saikai_error *err)
{
    static const uint8_t zeros[SK_SKC_ALIGN];
    uint64_t to = sk_container_align(k->at);
    int rc = sk_io_pwrite(k->fd, k->path, zeros, to - k->at, (off_t)k->at, err);
    k->at = to;
    return rc;
}

/* A variable that is in the file as a whole: its chunks, as they are stored. */
static int copy_stored(struct copy *k, const struct sk_skc_var *v, struct saikai_error *err)
{
    struct sk_hasher *hasher = k->from->lineage->hasher;
    int rc = 0;
    for (uint64_t i = v->first_chunk; !rc && i < v->first_chunk + v->chunk_count; i++) {
        struct sk_skc_chunk x = k->from->index->chunks[i];
        uint64_t end = k->at + x.stored_bytes;
        sk_hasher_reset(hasher);
        for (uint64_t at = x.offset, n; !rc && k->at < end; at += n, k->at += n) {
            n = end - k->at < WINDOW_BYTES ? end - k->at : WINDOW_BYTES;
            rc = sk_container_pread(k->from, at, k->buf, n, err);
            if (!rc)
                rc = sk_io_pwrite(k->fd, k->path, k->buf, n, (off_t)k->at, err);
            sk_hasher_add(hasher, k->buf, n);
        }
        if (!rc && sk_hasher_value(hasher) != x.hash)
            rc = sk_fail(err, SAIKAI_EDAMAGED, "%s: chunk %llu (variable '%.60s', offset %llu) is damaged",
                         k->from->path, (unsigned long long)i, v->name, (unsigned long long)x.offset);
        x.offset = end - x.stored_bytes;
        k->index->chunks[k->index->chunk_count++] = x;
    }
    return rc;
}

/* A variable of which the file holds changes: put together, in plain chunks. */
static int copy_changed(struct copy *k, const struct sk_skc_var *v, struct saikai_error *err)
{
    struct trace t;
    uint8_t *buf = k->buf;
    uint64_t window = WINDOW_BYTES;
    int rc = follow(k->from->lineage, v, &t, err);
    if (!rc && *t.base->codec) {
        window = v->raw_bytes;
        buf = malloc(window);
        rc = buf ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for variable '%.60s' of %s", v->name, k->from->path);
    }
    for (uint64_t lo = 0, n; !rc && lo < v->raw_bytes; lo += n) {
        n = v->raw_bytes - lo < window ? v->raw_bytes - lo : window;
        rc = read_part(k->from->lineage, &t, lo, lo + n, buf, err);
        if (!rc)
            rc = sk_io_pwrite(k->fd, k->path, buf, n, (off_t)k->at, err);
        for (uint64_t i = 0, m; !rc && i < n; i += m, k->at += m) {
            m = n - i < SK_SKC_CHUNK_BYTES ? n - i : SK_SKC_CHUNK_BYTES;
            k->index->chunks[k->index->chunk_count++] =
                (struct sk_skc_chunk){k->at, m, m, sk_hash64(buf + i, m)};
        }
    }
    if (buf != k->buf)
        free(buf);
    free(t.region);
    return rc;
}

static int copy_end(struct copy *k, struct saikai_error *err)
{
    struct sk_skc_header h = k->from->header;
    struct sk_skc_trailer t;
    uint8_t head[SK_SKC_HEADER_BYTES], tail[SK_SKC_TRAILER_BYTES];
    struct sk_buf b = {0};
    int rc = copy_pad(k, err);
    sk_skc_encode_index(k->index, &b);
    if (!rc && !sk_buf_ok(&b))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the index of %s", k->path);
    if (!rc) {
        t = (struct sk_skc_trailer){k->at + b.len + sizeof tail, k->at, b.len, sk_hash64(b.data, b.len)};
        h.base_iteration = h.base_place = h.base_incarnation = 0;
        sk_skc_encode_trailer(&t, tail);
        sk_skc_encode_header(&h, head);
        rc = sk_io_pwrite(k->fd, k->path, b.data, b.len, (off_t)k->at, err);
    }
    if (!rc)
        rc = sk_io_pwrite(k->fd, k->path, tail, sizeof tail, (off_t)(k->at + b.len), err);
    if (!rc)
        rc = sk_io_pwrite(k->fd, k->path, head, sizeof head, 0, err);
    sk_buf_free(&b);
    return rc;
}

static int copy_whole(struct sk_container *c, const char *to_path, int sync, struct saikai_error *err)
{
    struct copy k = {.from = c, .path = to_path};
    k.fd = sk_io_open(to_path, O_RDWR | O_CREAT | O_TRUNC, 0666, err);
    if (k.fd < 0)
        return k.fd;
    int rc = copy_begin(&k, err);
    for (uint32_t i = 0; !rc && i < c->index->var_count; i++) {
        const struct sk_skc_var *v = &c->index->vars[i];
        struct sk_skc_var *to = &k.index->vars[k.index->var_count++];
        uint64_t first = k.index->chunk_count;
        *to = *v;
        rc = copy_pad(&k, err);
        if (!rc)
            rc = is_delta(v) ? copy_changed(&k, v, err) : copy_stored(&k, v, err);
        if (is_delta(v))
            *to->codec = 0;
        to->first_chunk = first;
        to->chunk_count = k.index->chunk_count - first;
    }
    if (!rc)
        rc = copy_end(&k, err);
    if (!rc && sync)
        rc = sk_io_fsync(k.fd, to_path, err);
    close(k.fd);
    free(k.buf);
    sk_skc_index_free(k.index);
    if (rc)
        sk_io_unlink(to_path, NULL);
    return rc;
}

static int verify_whole(struct sk_container *c, struct saikai_error *err)
{
    return sk_lineage_verify(c, NULL, NULL, err);
}

static const struct sk_container_whole whole = {read_whole, verify_whole, copy_whole, free_lineage};

int sk_lineage_complete(struct sk_container *c, sk_lineage_find *find, void *arg, struct sk_container **out,
                        struct saikai_error *err)
{
    if (!c->header.base_incarnation && !sk_lineage_changes(c->index)) {
        *out = c;
        return 0;
    }
    struct sk_lineage *chain = calloc(1, sizeof *chain);
    int rc = 0;
    if (chain)
        chain->hasher = sk_hasher_new();
    if (!chain || !chain->hasher)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to open %s", c->path);
    if (!rc)
        rc = add_link(chain, c, err);
    while (!rc && chain->link[chain->n - 1].var)
        rc = open_base(chain, find, arg, err);
    if (rc) {
        free_lineage(chain);
        sk_container_close(c);
        return rc;
    }
    c->lineage = chain;
    c->whole = &whole;
    c->index->var_count--; /* the changes are not a variable of the program */
    *out = c;
    return 0;
}
