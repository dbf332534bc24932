/* Channels by context and tag, and one list of messages for all of a rank's channels: what is sent again keeps its order across tags. */
#include "world/replica/channel.h"

#include <stdlib.h>

struct sk_channel *sk_channel_find(struct sk_channels *c, int context, int tag)
{
    if (c->last < c->n && c->at[c->last]->context == context && c->at[c->last]->tag == tag)
        return c->at[c->last];
    for (c->last = 0; c->last < c->n; c->last++)
        if (c->at[c->last]->context == context && c->at[c->last]->tag == tag)
            return c->at[c->last];
    if (!(c->n & (c->n - 1))) { /* 0, 1, 2, 4 … */
        struct sk_channel **more = realloc(c->at, sizeof *more * (c->n ? 2 * c->n : 1));
        if (!more)
            return NULL;
        c->at = more;
    }
    struct sk_channel *new = calloc(1, sizeof *new);
    if (!new)
        return NULL;
    new->context = context;
    new->tag = tag;
    return c->at[c->n++] = new;
}

struct sk_copied *sk_channel_add(struct sk_channels *c, struct sk_channel *to, size_t bytes)
{
    struct sk_copied *m = malloc(sizeof *m + bytes);
    if (!m)
        return NULL;
    *m = (struct sk_copied){.channel = to, .index = to->sent++, .bytes = bytes};
    if (c->newest)
        c->newest->next = m;
    else
        c->first = m;
    c->newest = m;
    return m;
}

int sk_channel_had(const struct sk_channel *c, uint64_t index)
{
    if (index >= c->cut)
        return 0;
    for (size_t i = 0; i < c->n_missing; i++)
        if (c->missing[i] == index)
            return 0;
    return 1;
}

int sk_channel_lacks(struct sk_channel *c, uint64_t index)
{
    uint64_t *more = realloc(c->missing, sizeof *more * (c->n_missing + 1));
    if (!more)
        return -1;
    c->missing = more;
    c->missing[c->n_missing++] = index;
    return 0;
}

void sk_channel_ack(struct sk_channels *c, struct sk_channel *of, uint64_t n)
{
    if (n > of->acked)
        of->acked = n;
    for (struct sk_copied *m = c->first; m; m = m->next)
        if (m->channel == of && m->index < n)
            m->backup = 0;
}

size_t sk_channel_sweep(struct sk_channels *c, int all, const struct sk_copied *held, int (*over)(struct sk_copied *m))
{
    struct sk_copied **at = &c->first, *before = NULL, *m;
    size_t freed = 0;
    while ((m = *at)) {
        if (m != held && !m->waited && !m->backup && over(m)) {
            *at = m->next;
            if (c->newest == m)
                c->newest = before;
            freed += m->bytes;
            if (!m->lent)
                free(m);
        } else if (all) {
            before = m;
            at = &m->next;
        } else {
            break;
        }
    }
    return freed;
}

void sk_channels_free(struct sk_channels *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->at[i]->missing);
        sk_pairing_free(&c->at[i]->pairing);
        free(c->at[i]);
    }
    free(c->at);
    for (struct sk_copied *m = c->first, *next; m; m = next) {
        next = m->next;
        free(m);
    }
    *c = (struct sk_channels){0};
}
