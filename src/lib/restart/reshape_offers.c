/* Which generations can be read whoever wrote them: whose files are where. */
#include "lib/restart/reach.h"
#include "lib/restart/reshape.h"

#include "base/file/patience.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks whose file of a generation was seen. */
struct presence {
    int64_t key;
    uint32_t nranks;
    uint8_t *bits; /* (nranks + 7) / 8 */
};

struct presences {
    struct presence *p;
    size_t count, cap;
};

static size_t bytes_of(uint32_t nranks)
{
    return ((size_t)nranks + 7) / 8;
}

static void free_presences(struct presences *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->p[i].bits);
    free(l->p);
}

/* The record of a generation, made when there is none. NULL: no memory. A file that says another
 * number of ranks than the first one that was looked at is damaged, or of another run: found when
 * it is read. */
static struct presence *record(struct presences *l, int64_t key, uint32_t nranks)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->p[i].key == key)
            return &l->p[i];
    if (l->count == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        struct presence *p = realloc(l->p, cap * sizeof *p);
        if (!p)
            return NULL;
        l->p = p;
        l->cap = cap;
    }
    uint8_t *bits = calloc(bytes_of(nranks), 1);
    if (!bits)
        return NULL;
    l->p[l->count] = (struct presence){key, nranks, bits};
    return &l->p[l->count++];
}

static int has(const struct presence *p, uint32_t rank)
{
    return rank < p->nranks && p->bits[rank / 8] >> rank % 8 & 1;
}

static int has_all(const struct presence *p)
{
    uint32_t n = 0;
    while (n < p->nranks && has(p, n))
        n++;
    return n == p->nranks;
}

/* How many ranks wrote g, as the first of these files says that can be opened. When none can, there
 * are at least as many as files, and the generation is found to be damaged when it is read: it must
 * not look as if it were not there. */
static uint32_t count_ranks(const char *root, struct sk_gen g, const int *ranks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sk_container *c = NULL;
        char path[PATH_MAX];
        if (sk_gen_file(root, g, ranks[i], path, sizeof path, NULL) ||
            sk_container_open(path, &c, NULL))
            continue;
        uint32_t n = c->header.nranks;
        sk_container_close(c);
        return n;
    }
    return (uint32_t)ranks[count - 1] + 1;
}

static int look_at(const char *root, struct sk_gen g, struct presences *l, struct saikai_error *err)
{
    int *ranks = NULL;
    size_t count = 0;
    int rc = sk_gen_ranks(root, g, &ranks, &count, err);
    if (rc || !count) {
        free(ranks);
        return rc;
    }
    struct presence *p = record(l, sk_gen_key(g), count_ranks(root, g, ranks, count));
    for (size_t i = 0; p && i < count; i++)
        if ((uint32_t)ranks[i] < p->nranks)
            p->bits[ranks[i] / 8] |= (uint8_t)(1u << ranks[i] % 8);
    free(ranks);
    return p ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to list the generations in %s", root);
}

static int look_through(uint32_t first_incarnation, const char *root, struct presences *l,
                        struct saikai_error *err)
{
    struct sk_gen_list list = {0};
    int rc = sk_gen_scan(root, -1, &list, err);
    for (size_t i = 0; !rc && i < list.count; i++)
        if (list.gen[i].incarnation >= first_incarnation)
            rc = look_at(root, list.gen[i], l, err);
    sk_gen_list_free(&list);
    return rc;
}

static int encode(const struct presences *l, struct sk_buf *b)
{
    for (size_t i = 0; i < l->count; i++) {
        sk_buf_put_u64(b, (uint64_t)l->p[i].key);
        sk_buf_put_u32(b, l->p[i].nranks);
        sk_buf_put(b, l->p[i].bits, bytes_of(l->p[i].nranks));
    }
    return sk_buf_ok(b) ? 0 : SAIKAI_ENOMEM;
}

static int decode(const void *data, size_t n, struct presences *l)
{
    struct sk_rd r = sk_rd_init(data, n);
    while (sk_rd_left(&r)) {
        int64_t key = (int64_t)sk_rd_u64(&r);
        uint32_t nranks = sk_rd_u32(&r);
        const void *bits = sk_rd_bytes(&r, bytes_of(nranks));
        struct presence *p = bits ? record(l, key, nranks) : NULL;
        if (!p)
            return SAIKAI_ENOMEM;
        memcpy(p->bits, bits, bytes_of(nranks));
    }
    return 0;
}

/* A look through the prefix, for a thread that may hang there. */
struct far {
    char root[PATH_MAX];
    uint32_t first_incarnation;
    struct presences found;
};

static void drop(void *arg)
{
    struct far *f = arg;
    free_presences(&f->found);
    free(f);
}

static int look_far(void *arg, struct saikai_error *err)
{
    struct far *f = arg;
    return look_through(f->first_incarnation, f->root, &f->found, err);
}

static int look_through_prefix(struct sk_session *s, struct presences *l, struct saikai_error *err)
{
    struct far *f = calloc(1, sizeof *f);
    if (!f)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to list the generations in %s", s->place.prefix_root);
    snprintf(f->root, sizeof f->root, "%s", s->place.prefix_root);
    f->first_incarnation = s->who.first_incarnation;
    int alone = !strcmp(s->place.prefix_root, s->place.local_root); /* then there is nothing else to go on with */
    int rc = alone ? look_far(f, err) : sk_patience_call(s->place.patience, s->place.prefix_root, look_far, drop, f, err);
    if (rc == SAIKAI_ETIMEDOUT && !alone)
        return rc;
    *l = f->found;
    f->found = (struct presences){0};
    drop(f);
    return rc;
}

/* What rank 0 finds in the prefix, on all ranks. */
static int share_prefix(struct sk_session *s, struct presences *l, struct saikai_error *err)
{
    struct sk_buf b = {0};
    int rc = s->g->rank ? 0 : look_through_prefix(s, l, err);
    if (!rc && !s->g->rank && encode(l, &b))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to list the generations in %s", s->place.prefix_root);
    int64_t n = (int64_t)b.len;
    rc = sk_group_verdict(s->g, rc, err);
    if (!rc && (rc = sk_group_bcast(s->g, &n, sizeof n, 0)))
        sk_fail(err, rc, "the ranks lost contact while they listed the generations");
    if (!rc) {
        if (s->g->rank && n && !sk_buf_extend(&b, (size_t)n))
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to list the generations in %s",
                         s->place.prefix_root);
        rc = sk_group_verdict(s->g, rc, err);
    }
    if (!rc && n && (rc = sk_group_bcast(s->g, b.data, (size_t)n, 0)))
        sk_fail(err, rc, "the ranks lost contact while they listed the generations");
    if (!rc && s->g->rank)
        rc = decode(b.data, (size_t)n, l);
    sk_buf_free(&b);
    return rc;
}

static int collect(struct sk_session *s, struct presences *l, struct saikai_error *err)
{
    int rc = *s->place.prefix_root ? share_prefix(s, l, err) : 0;
    if (!rc && strcmp(s->place.local_root, s->place.prefix_root) != 0)
        rc = look_through(s->who.first_incarnation, s->place.local_root, l, err);
    return sk_group_verdict(s->g, rc, err);
}

int sk_reshape_offers(struct sk_session *s, int64_t **key, size_t *count, struct saikai_error *err)
{
    struct presences l = {0};
    size_t n = 0;
    int64_t *keys = NULL;
    int rc = collect(s, &l, err);
    if (!rc && !(keys = calloc(l.count + 1, sizeof *keys)))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to list the generations");
    for (size_t i = 0; !rc && i < l.count; i++)
        if (l.p[i].nranks == (uint32_t)s->g->size ? has(&l.p[i], (uint32_t)s->g->rank)
                                                  : has_all(&l.p[i]))
            keys[n++] = l.p[i].key;
    free_presences(&l);
    rc = sk_group_verdict(s->g, rc, err);
    if (rc) {
        free(keys);
        return rc;
    }
    *key = keys;
    *count = n;
    return 0;
}

/* The newest generation that another number of ranks wrote, as one of the ranks sees it; NULL: this
 * one sees none. */
static const struct presence *newest_other(const struct sk_session *s, const struct presences *l)
{
    const struct presence *best = NULL;
    for (size_t i = 0; i < l->count; i++)
        if (l->p[i].nranks != (uint32_t)s->g->size && (!best || l->p[i].key > best->key))
            best = &l->p[i];
    return best;
}

static int sees(const void *presence, int rank)
{
    return presence && has(presence, (uint32_t)rank);
}

int sk_reshape_unreachable(struct sk_session *s, struct saikai_error *err)
{
    struct presences l = {0};
    int rc = collect(s, &l, err);
    if (rc) {
        free_presences(&l);
        return rc;
    }
    const struct presence *p = newest_other(s, &l);
    int64_t newest = p ? p->key : 0, nranks, missing = 0, first = 0;
    rc = sk_group_allreduce(s->g, &newest, 1, SK_OP_MAX);
    if (!rc && p && p->key != newest)
        p = NULL;
    nranks = !rc && p ? (int64_t)p->nranks : 0;
    if (!rc)
        rc = sk_group_allreduce(s->g, &nranks, 1, SK_OP_MAX);
    if (!rc && nranks)
        rc = sk_reach_missing(s, nranks, sees, p, &missing, &first, err);
    char name[48];
    sk_gen_name(sk_gen_of_key(newest), name);
    if (!rc && missing)
        rc = sk_fail(err, SAIKAI_ERANKS,
                     "%s was written by %lld ranks, and of %lld of them (rank %lld) no file is in "
                     "reach: start with %lld "
                     "ranks on the nodes of then, or afresh with restart.mode=never",
                     name, (long long)nranks, (long long)missing, (long long)first,
                     (long long)nranks);
    else if (!rc && nranks)
        rc = sk_fail(
            err, SAIKAI_ERANKS,
            "%s of %lld ranks is complete, but its files lie in the node-local directories of "
            "several nodes: start once with %lld ranks on these nodes, so that it reaches a "
            "prefix, or afresh with restart.mode=never",
            name, (long long)nranks, (long long)nranks);
    free_presences(&l);
    return rc;
}
