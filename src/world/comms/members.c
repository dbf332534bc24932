/* Members of communicators, and the numbers that tell their messages apart. */
#include "world/comms/members.h"

#include "world/comms/topology.h"

#include <stdlib.h>
#include <string.h>

/* ---- contexts ---- */

void sk_contexts_begin(struct sk_contexts *c)
{
    *c = (struct sk_contexts){.used = {1}};
}

void sk_contexts_unite(struct sk_contexts *c, const struct sk_contexts *other)
{
    for (int i = 0; i < SK_CONTEXT_WORDS; i++)
        c->used[i] |= other->used[i];
}

int sk_contexts_lowest_free(const struct sk_contexts *c)
{
    for (int i = 0; i < SK_CONTEXT_WORDS; i++)
        if (~c->used[i]) {
            int found = 64 * i + __builtin_ctzll(~c->used[i]);
            return found < SK_CONTEXTS ? found : -1;
        }
    return -1;
}

void sk_contexts_take(struct sk_contexts *c, int context)
{
    c->used[context / 64] |= (uint64_t)1 << (context % 64);
}

void sk_contexts_release(struct sk_contexts *c, int context)
{
    if (context)
        c->used[context / 64] &= ~((uint64_t)1 << (context % 64));
}

/* ---- members ---- */

struct sk_members *sk_members_new(int context, int n, const int *world, int n_world, int me)
{
    struct sk_members *m = malloc(sizeof *m);
    int *rank = malloc(sizeof *rank * (size_t)(n + n_world + 1));
    if (!m || !rank) {
        free(m);
        free(rank);
        return NULL;
    }
    *m = (struct sk_members){.context = context, .n = n, .rank = -1, .n_world = n_world, .world = rank, .rank_of = rank + n, .uses = 1};
    for (int r = 0; r < n_world; r++)
        m->rank_of[r] = -1;
    for (int i = 0; i < n; i++) {
        m->world[i] = world[i];
        m->rank_of[world[i]] = i;
    }
    m->rank = m->rank_of[me];
    return m;
}

struct sk_members *sk_members_all(int n_world, int me)
{
    int *all = malloc(sizeof *all * (size_t)(n_world + 1));
    for (int r = 0; all && r < n_world; r++)
        all[r] = r;
    struct sk_members *m = all ? sk_members_new(0, n_world, all, n_world, me) : NULL;
    free(all);
    return m;
}

struct sk_members *sk_members_part(const struct sk_members *of, int n, const int *world, int me)
{
    struct sk_members *m = sk_members_new(of->context, n, world, of->n_world, me);
    if (!m || !of->to)
        return m;
    m->to = malloc(sizeof *m->to * (size_t)(n + 1));
    if (!m->to) {
        sk_members_let_go(m);
        return NULL;
    }
    for (int i = 0; i < n; i++)
        m->to[i] = of->to[of->rank_of[world[i]]];
    return m;
}

struct sk_members *sk_members_both(const struct sk_members *m, int me)
{
    const struct sk_members *a = m->world[0] < m->remote->world[0] ? m : m->remote, *b = a == m ? m->remote : m;
    size_t first = (size_t)a->n, second = (size_t)b->n;
    int *list = malloc(sizeof *list * 2 * (first + second)), *to = list ? list + first + second : NULL;
    struct sk_members *both = NULL;
    if (list) {
        memcpy(list, a->world, sizeof *list * first);
        memcpy(list + first, b->world, sizeof *list * second);
        memcpy(to, a->to, sizeof *to * first);
        memcpy(to + first, b->to, sizeof *to * second);
        both = sk_members_new(m->context, a->n + b->n, list, m->n_world, me);
    }
    if (both && (both->to = malloc(sizeof *to * (first + second))))
        memcpy(both->to, to, sizeof *to * (first + second));
    free(list);
    if (both && both->to)
        return both;
    sk_members_let_go(both);
    return NULL;
}

struct sk_members *sk_members_hold(struct sk_members *m)
{
    m->uses++;
    return m;
}

void sk_members_let_go(struct sk_members *m)
{
    if (!m || --m->uses)
        return;
    sk_topology_free(m->topology);
    sk_members_let_go(m->remote);
    free(m->to);
    free(m->world);
    free(m);
}

int sk_members_clash(const struct sk_members *a, const struct sk_members *b)
{
    if (a->context == b->context)
        return 1;
    if (!a->to && !b->to)
        return 0;
    for (int i = 0; i < a->n; i++) {
        int there = b->rank_of[a->world[i]];
        if (there >= 0 && sk_members_to(a, i) == sk_members_to(b, there))
            return 1;
    }
    return 0;
}

int sk_members_compare(const struct sk_members *a, const struct sk_members *b)
{
    int same = 1;
    if (a->n != b->n)
        return SK_MEMBERS_OTHERS;
    for (int i = 0; i < a->n; i++) {
        if (a->world[i] >= b->n_world || b->rank_of[a->world[i]] < 0)
            return SK_MEMBERS_OTHERS;
        same &= a->world[i] == b->world[i];
    }
    return same ? SK_MEMBERS_SAME : SK_MEMBERS_SIMILAR;
}

struct place {
    int key, rank;
};

static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

int sk_members_split(const struct sk_members *parent, const struct sk_split *said, int me, int *out)
{
    int n = 0;
    struct place *p = said[me].colour < 0 ? NULL : malloc(sizeof *p * (size_t)parent->n);
    for (int r = 0; p && r < parent->n; r++)
        if (said[r].colour == said[me].colour)
            p[n++] = (struct place){said[r].key, r};
    if (p)
        qsort(p, (size_t)n, sizeof *p, by_key);
    for (int i = 0; i < n; i++)
        out[i] = parent->world[p[i].rank];
    free(p);
    return p || said[me].colour < 0 ? n : -1;
}
