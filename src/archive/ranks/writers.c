/* Groups of processes that share a file after Islam et al., SC'12, section III-B. */
#include "archive/ranks/writers.h"

#include "archive/ranks/collect.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST = 64 };

struct seat {
    int node, rank; /* node: number of the first rank there */
};

static int by_node(const void *x, const void *y)
{
    const struct seat *a = x, *b = y;
    return a->node != b->node ? a->node - b->node : a->rank - b->rank;
}

static int nodes_of(const char *const *hosts, int ranks, struct seat *seats)
{
    int nodes = 0;
    for (int r = 0; r < ranks; r++) {
        int first = 0;
        while (strcmp(hosts[first], hosts[r]))
            first++;
        seats[r] = (struct seat){first, r};
        nodes += first == r;
    }
    return nodes;
}

int sk_writers_arrange(const char *const *hosts, int ranks, const struct sk_collect_options *o,
                       int *writer, int *place, int *writers, struct saikai_error *err)
{
    if (o->writers < 0 || o->writers > ranks || o->group < 0 || (o->writers && o->group))
        return sk_fail(err, SAIKAI_EINVAL,
                       "%d writers with groups of %d: %d ranks have 1 to %d writers, and either "
                       "writers or a group is given",
                       o->writers, o->group, ranks, ranks);
    struct seat *seats = malloc((size_t)ranks * sizeof *seats);
    if (!seats)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to arrange %d ranks", ranks);
    int nodes = nodes_of(hosts, ranks, seats), m = o->writers, per_node;
    if (!m)
        m = o->group ? (ranks + o->group - 1) / o->group : nodes;
    per_node = m == nodes && (o->order == SK_ORDER_NODE || (!o->writers && !o->group));
    if (o->order == SK_ORDER_NODE || per_node)
        qsort(seats, (size_t)ranks, sizeof *seats, by_node);
    for (int i = 0, w = -1, p = 0; i < ranks; i++) {
        int now = per_node   ? w + (!i || seats[i].node != seats[i - 1].node)
                  : o->group ? i / o->group
                             : (int)((int64_t)i * m / ranks);
        p = now == w ? p + 1 : 0;
        w = now;
        writer[seats[i].rank] = w;
        place[seats[i].rank] = p;
    }
    *writers = m;
    free(seats);
    return 0;
}

int sk_writers_form(struct sk_group *g, const struct sk_collect_options *o, struct sk_writers *out, struct saikai_error *err)
{
    char name[HOST] = "";
    size_t n = (size_t)g->size;
    char *all = malloc(n * HOST);
    const char **hosts = malloc(n * sizeof *hosts);
    int *w = malloc(n * sizeof *w), *p = malloc(n * sizeof *p);
    if (o->host)
        strncpy(name, o->host, HOST - 1);
    else
        gethostname(name, HOST - 1);
    *out = (struct sk_writers){0};
    int rc =
        all && hosts && w && p ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for %d ranks", g->size);
    rc = sk_group_verdict(g, rc, err);
    if (!rc && (rc = sk_group_allgather(g, name, all, HOST)))
        sk_fail(err, rc, "the ranks could not tell each other their nodes");
    for (size_t i = 0; i < n && !rc; i++)
        hosts[i] = all + i * HOST;
    if (!rc)
        rc = sk_group_verdict(g, sk_writers_arrange(hosts, g->size, o, w, p, &out->count, err), err);
    if (!rc) {
        out->writer = w[g->rank];
        if ((rc = sk_group_split(g, w[g->rank], p[g->rank], &out->group)))
            sk_fail(err, rc, "the ranks could not form groups");
    }
    free(all);
    free(hosts);
    free(w);
    free(p);
    return rc;
}

void sk_writers_free(struct sk_writers *w)
{
    sk_group_free(w->group);
    *w = (struct sk_writers){0};
}
