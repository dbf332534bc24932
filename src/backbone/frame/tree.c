/* The shape of the tree by arithmetic, and a table of hosts for what their services were told. */
#include "backbone/frame/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So long after it was told a service that still, or again, speaks to the launcher is told once more, and then twice as long after. */
static const double again_s = 10, again_most_s = 600, relay_again_s = 2;

struct block {
    int at, n;
};

/* Of the n hosts from `at` on, below one host or the launcher, the block that host i is in. Where two levels suffice, as few hosts as
 * possible have others below them. */
static struct block block_of(int at, int n, int arity, int i)
{
    if (n <= arity)
        return (struct block){i, 1};
    if ((int64_t)n <= (int64_t)arity * (arity + 1)) {
        int heads = (n - arity + arity - 1) / arity, singles = arity - heads, below = n - singles;
        if (i - at >= below)
            return (struct block){i, 1};
        n = below;
        arity = heads;
    }
    int64_t k = ((int64_t)(i - at) * arity + arity - 1) / n; /* block k begins at k n / arity, rounded down */
    while (k * n / arity > i - at)
        k--;
    while ((k + 1) * n / arity <= i - at)
        k++;
    int first = (int)(k * n / arity);
    return (struct block){at + first, (int)((k + 1) * n / arity) - first};
}

/* The block that begins with host i; *above: the host above it, -1: the launcher. */
static struct block find(int n, int arity, int i, int *above)
{
    struct block b = block_of(0, n, arity, i);
    for (*above = -1; b.at != i; b = block_of(b.at + 1, b.n - 1, arity, i))
        *above = b.at;
    return b;
}

int sk_tree_above(int n, int arity, int i)
{
    int above;
    find(n, arity, i, &above);
    return above;
}

int sk_tree_is_above(int n, int arity, int i)
{
    int above;
    return find(n, arity, i, &above).n > 1;
}

/* ---- who was told what ---- */

struct host {
    int listener; /* place of the service that told the endpoint, plus one */
    char endpoint[128];
    uint32_t number; /* … and its number */
    int below;    /* place of its service that others speak for, plus one; 0: it speaks to the launcher */
    int told;     /* listener above this host that its service was told last */
    double next, wait;
    double asked; /* when the service was asked to listen, and which one */
    int asked_place;
};

struct sk_tree {
    int arity;
    struct host *host;
    int n;
    int *at; /* host + 1 by place, 0: not known */
    int places;
};

struct sk_tree *sk_tree_new(int arity)
{
    struct sk_tree *t = calloc(1, sizeof *t);
    if (t)
        t->arity = arity;
    return t;
}

void sk_tree_free(struct sk_tree *t)
{
    if (t) {
        free(t->host);
        free(t->at);
    }
    free(t);
}

void sk_tree_sits(struct sk_tree *t, int place, int host, int n)
{
    if (host < 0 || host >= n || place < 0)
        return;
    if (n > t->n) {
        struct host *h = realloc(t->host, sizeof *h * (size_t)n);
        if (!h)
            return;
        memset(h + t->n, 0, sizeof *h * (size_t)(n - t->n));
        t->host = h;
        t->n = n;
    }
    if (place >= t->places) {
        int cap = 2 * place + 64;
        int *at = realloc(t->at, sizeof *at * (size_t)cap);
        if (!at)
            return;
        memset(at + t->places, 0, sizeof *at * (size_t)(cap - t->places));
        t->at = at;
        t->places = cap;
    }
    t->at[place] = host + 1;
    if (t->host[host].listener != place + 1) /* a host has one service: another one that listened there is gone */
        t->host[host].listener = 0;
}

int sk_tree_knows(const struct sk_tree *t, int place)
{
    return place >= 0 && place < t->places && t->at[place];
}

void sk_tree_listens(struct sk_tree *t, int place, const char *endpoint, uint32_t number)
{
    if (!sk_tree_knows(t, place))
        return;
    struct host *h = &t->host[t->at[place] - 1];
    snprintf(h->endpoint, sizeof h->endpoint, "%s", endpoint);
    h->number = number;
    h->listener = place + 1;
}

int sk_tree_went(struct sk_tree *t, int before, int now)
{
    if (!sk_tree_knows(t, before) || before == now)
        return 0;
    struct host *h = &t->host[t->at[before] - 1];
    if (h->below == before + 1)
        return 0;
    h->below = before + 1;
    return 1;
}

int sk_tree_spoke(struct sk_tree *t, int place, double now, struct sk_message *m)
{
    if (!sk_tree_knows(t, place) || t->n <= t->arity)
        return 0;
    int i = t->at[place] - 1, up = sk_tree_above(t->n, t->arity, i);
    struct host *h = &t->host[i];
    /* The listener of a host with others below it comes first: those who come to it shall find it. */
    if (h->listener != place + 1 && sk_tree_is_above(t->n, t->arity, i)) {
        if (h->asked_place == place + 1 && now - h->asked < relay_again_s)
            return 0;
        h->asked = now;
        h->asked_place = place + 1;
        *m = (struct sk_message){.kind = SK_MSG_RELAY};
        return 1;
    }
    const struct host *above = up < 0 ? NULL : &t->host[up];
    if (!above || !above->listener || !*above->endpoint)
        return 0;
    if (h->told != above->listener)
        h->next = h->wait = 0;
    if (now < h->next)
        return 0;
    h->wait = !(h->wait > 0) ? again_s : 2 * h->wait < again_most_s ? 2 * h->wait : again_most_s;
    h->next = now + h->wait;
    h->told = above->listener;
    *m = (struct sk_message){.kind = SK_MSG_PARENT, .number = above->number};
    snprintf(m->host, sizeof m->host, "%s", above->endpoint);
    return 1;
}
