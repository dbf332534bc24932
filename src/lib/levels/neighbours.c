/* Ranks that see the same directory on the same host are on one node. The lowest of them leads
 * it. */
#include "lib/levels/neighbours.h"

#include "base/hash.h"
#include "base/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct place {
    uint64_t id;
    int rank;
};

static int by_id(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return SK_ORDER_BY(x->id, y->id, x->rank, y->rank);
}

static uint64_t identity(const char *host, const char *root)
{
    char text[400];
    struct stat st = {0};
    int missing = stat(root, &st);
    int n = snprintf(text, sizeof text, "%.255s %d %llu %llu", host, missing,
                     (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    return sk_hash64(text, (size_t)n);
}

int sk_neighbours(struct sk_group *g, const char *host, const char *root, int **leader,
                  struct saikai_error *err)
{
    size_t n = (size_t)g->size;
    uint64_t mine = identity(host, root), *ids = malloc(n * sizeof *ids);
    struct place *p = malloc(n * sizeof *p);
    int *v = malloc(n * sizeof *v);
    int rc = ids && p && v
                 ? 0
                 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of %d ranks", g->size);
    rc = sk_group_verdict(g, rc, err);
    if (!rc && (rc = sk_group_allgather(g, &mine, ids, sizeof mine)))
        sk_fail(err, rc, "the ranks cannot tell each other where they run");
    for (size_t i = 0; !rc && i < n; i++)
        p[i] = (struct place){ids[i], (int)i};
    if (!rc) {
        qsort(p, n, sizeof *p, by_id);
        for (size_t i = 0; i < n; i++)
            v[p[i].rank] = i && p[i].id == p[i - 1].id ? v[p[i - 1].rank] : p[i].rank;
        *leader = v;
    } else {
        free(v);
    }
    free(ids);
    free(p);
    return rc;
}
