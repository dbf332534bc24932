/* Opens a file with all that it builds on, and checks that they fit. */
#include "store/form/lineage.h"

#include "base/file/io.h"
#include "store/form/lineage_copy.h"
#include "store/form/lineage_read.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
        struct sk_lineage_link *l = &chain->link[i];
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

/* ---- opening ---- */

static struct sk_gen base_of(const struct sk_skc_header *h)
{
    return (struct sk_gen){h->base_incarnation, h->base_iteration, h->base_place};
}

static int check_base(const struct sk_lineage_link *l, const struct sk_container *base, struct saikai_error *err)
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
    struct sk_lineage_link *v = realloc(chain->link, (chain->n + 1) * sizeof *v);
    if (!v)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to open %s", c->path);
    chain->link = v;
    v += chain->n++;
    *v = (struct sk_lineage_link){.c = c, .var = sk_lineage_changes(c->index)};
    int is_full = !c->header.base_incarnation;
    if (is_full != !v->var)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s: its header and its index differ about what it builds on", c->path);
    return is_full ? 0 : sk_lineage_open_changes(chain, v, err);
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
    const struct sk_lineage_link *last = &chain->link[chain->n - 1];
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

static int read_whole(struct sk_container *c, const struct sk_skc_var *v, void *out, struct saikai_error *err)
{
    struct sk_lineage_trace t;
    int rc = sk_lineage_follow(c->lineage, v, &t, err);
    if (rc)
        return rc;
    rc = sk_lineage_read_part(c->lineage, &t, 0, v->raw_bytes, out, err);
    free(t.region);
    return rc;
}

int sk_lineage_read_parts(struct sk_container *c, const struct sk_skc_var *v, const struct sk_stream_parts *parts,
                          struct saikai_error *err)
{
    struct sk_lineage_trace t;
    if (!c->lineage)
        return sk_fail(err, SAIKAI_EINVAL, "%s holds only the changes of variable '%.60s': open its generation", c->path,
                       v->name);
    int rc = sk_lineage_follow(c->lineage, v, &t, err);
    if (rc)
        return rc;
    uint64_t window = *t.base->codec || v->raw_bytes < SK_LINEAGE_WINDOW ? v->raw_bytes : SK_LINEAGE_WINDOW;
    uint8_t *buf = malloc(window ? window : 1);
    if (!buf)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for variable '%.60s' of %s", v->name, c->path);
    for (uint64_t lo = 0, n; !rc && lo < v->raw_bytes; lo += n) {
        n = v->raw_bytes - lo < window ? v->raw_bytes - lo : window;
        if (!parts->wants(parts->arg, lo, n))
            continue;
        rc = sk_lineage_read_part(c->lineage, &t, lo, lo + n, buf, err);
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
        const struct sk_lineage_link *l = &c->lineage->link[i];
        uint32_t k = i ? 0 : l->c->index->var_count; /* of this file, the changes alone */
        for (; !rc && k < l->c->index->var_count + !i; k++)
            rc = sk_container_verify_var(l->c, &l->c->index->vars[k], progress, arg, err);
    }
    for (uint32_t k = 0; !rc && c->lineage && k < c->index->var_count; k++) {
        struct sk_lineage_trace t;
        if (!sk_lineage_is_changed(&c->index->vars[k]))
            continue;
        rc = sk_lineage_follow(c->lineage, &c->index->vars[k], &t, err);
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

static int verify_whole(struct sk_container *c, struct saikai_error *err)
{
    return sk_lineage_verify(c, NULL, NULL, err);
}

static const struct sk_container_whole whole = {read_whole, verify_whole, sk_lineage_copy, free_lineage};

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
