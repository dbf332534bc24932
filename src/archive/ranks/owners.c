/* One owner for each file: rank 0 hears what all ranks have and says who gives what. */
#include "archive/ranks/owners.h"

#include "archive/ranks/wire/messages.h"
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

static int by_owner(const void *x, const void *y)
{
    const struct sk_file_owner *a = x, *b = y;
    int c = strcmp(a->name, b->name);
    return c ? c : a->rank - b->rank;
}

static void put_claims(struct sk_buf *out, const struct sk_feed_local *f)
{
    sk_buf_put_u32(out, (uint32_t)f->count);
    for (size_t i = 0; i < f->count; i++) {
        const struct stat *s = &f->seen[i];
        sk_buf_put_u64(out, (uint64_t)s->st_size);
        sk_buf_put_u64(out, f->inputs[i].data ? 0 : s->st_ino);
        sk_buf_put_u64(out,
                       (uint64_t)((int64_t)s->st_mtim.tv_sec * 1000000000 + s->st_mtim.tv_nsec));
        sk_buf_put(out, f->inputs[i].name, strlen(f->inputs[i].name) + 1);
    }
}

int sk_owners_read(const void *data, size_t n, int rank, struct sk_file_owner **list, size_t *count)
{
    struct sk_rd r = sk_rd_init(data, n);
    uint32_t k = sk_rd_u32(&r);
    if (r.bad || k > n)
        return SAIKAI_EDAMAGED;
    struct sk_file_owner *more = realloc(*list, (*count + k + 1) * sizeof *more);
    if (!more)
        return SAIKAI_ENOMEM;
    *list = more;
    for (uint32_t i = 0; i < k; i++) {
        struct sk_file_owner c = {.size = sk_rd_u64(&r), .rank = rank, .index = i};
        c.inode = sk_rd_u64(&r);
        c.mtime_ns = (int64_t)sk_rd_u64(&r);
        c.name = (const char *)r.p;
        const void *end = sk_rd_left(&r) ? memchr(r.p, 0, sk_rd_left(&r)) : NULL;
        if (!end)
            return SAIKAI_EDAMAGED;
        sk_rd_bytes(&r, (size_t)((const char *)end - c.name) + 1);
        (*list)[(*count)++] = c;
    }
    return 0;
}

/* keep[rank][index] = 1 for the one rank that gives a file: of those who have it, the one with the
 * fewest bytes so far. */
static int settle(struct sk_file_owner *l, size_t n, uint8_t **keep, uint64_t *bytes,
                  struct saikai_error *err)
{
    if (n)
        qsort(l, n, sizeof *l, by_owner);
    for (size_t i = 0, k; i < n; i = k) {
        size_t best = i;
        for (k = i + 1; k < n && !strcmp(l[k].name, l[i].name); k++) {
            if (!l[k].inode || l[k].inode != l[i].inode || l[k].size != l[i].size ||
                l[k].mtime_ns != l[i].mtime_ns)
                return sk_fail(err, SAIKAI_EINVAL,
                               "ranks %d and %d have different files that would both be called %s "
                               "in the archive",
                               l[i].rank, l[k].rank, l[i].name);
            if (bytes[l[k].rank] < bytes[l[best].rank])
                best = k;
        }
        keep[l[best].rank][l[best].index] = 1;
        bytes[l[best].rank] += l[best].size;
    }
    return 0;
}

/* Rank 0: hear all owners and answer them. The answer of a rank is one byte per file. */
static int judge(struct sk_group *g, const struct sk_buf *mine, uint8_t *answer,
                 struct saikai_error *err)
{
    size_t ranks = (size_t)g->size, n = 0;
    void **data = calloc(ranks, sizeof *data);
    size_t *length = calloc(ranks, sizeof *length);
    uint8_t **keep = calloc(ranks, sizeof *keep);
    uint64_t *bytes = calloc(ranks, sizeof *bytes);
    struct sk_file_owner *l = NULL;
    int rc = data && length && keep && bytes ? 0 : SAIKAI_ENOMEM, group = 0;
    for (int r = 1; r < g->size && !group; r++) {
        void *d = NULL;
        size_t k = 0;
        group = sk_message_recv(g, r, &d, &k);
        if (!group && !d)
            rc = SAIKAI_ENOMEM;
        if (!group && !rc) {
            data[r] = d;
            length[r] = k;
        } else if (!group) {
            free(d);
        }
    }
    for (int r = 0; r < g->size && !rc && !group; r++) {
        size_t before = n;
        rc = r ? sk_owners_read(data[r], length[r], r, &l, &n)
               : sk_owners_read(mine->data, mine->len, 0, &l, &n);
        if (!rc && !(keep[r] = calloc(n - before, 1)))
            rc = SAIKAI_ENOMEM;
        length[r] = n - before;
    }
    if (rc)
        sk_fail(err, rc, "no memory for the list of all ranks' files");
    else if (!group)
        rc = settle(l, n, keep, bytes, err);
    if (!group)
        group = rc = sk_group_verdict(g, rc, err);
    for (int r = 1; r < g->size && !group; r++)
        group = sk_message_send(g, r, keep[r], length[r]);
    if (!group)
        memcpy(answer, keep[0], length[0]);
    for (int r = 0; r < g->size; r++) {
        if (data)
            free(data[r]);
        if (keep)
            free(keep[r]);
    }
    free(data);
    free(length);
    free(keep);
    free(bytes);
    free(l);
    if (group && !rc)
        rc = sk_fail(err, group, "the ranks lost touch while they compared their files");
    return rc;
}

int sk_owners_settle(struct sk_group *g, const struct sk_feed_local *all, uint8_t *keep,
                     struct saikai_error *err)
{
    struct sk_buf owners = {0};
    put_claims(&owners, all);
    int rc =
        sk_buf_ok(&owners) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    rc = sk_group_verdict(g, rc, err);
    if (!rc && !g->rank) {
        rc = judge(g, &owners, keep, err);
    } else if (!rc) {
        void *answer = NULL;
        size_t n = 0;
        int group = sk_message_send(g, 0, owners.data, owners.len);
        if (!group)
            rc = sk_group_verdict(g, 0, err);
        if (!group && !rc)
            group = sk_message_recv(g, 0, &answer, &n);
        if (!group && !rc && n == all->count && answer)
            memcpy(keep, answer, n);
        else if (!group && !rc && !answer)
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
        else if (group || !rc)
            rc = sk_fail(err, group ? group : SAIKAI_EINTERNAL,
                         "the ranks lost touch while they compared their files");
        free(answer);
    }
    sk_buf_free(&owners);
    return rc;
}
