/* Channels by context and tag. A message is in the list of its channel, from whose beginning it goes, and in one of all messages to the rank: what is sent again keeps
 * its order across tags. A twin may be thousands of messages behind, so nothing that is done for each of them looks at the others. */
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
    *m = (struct sk_copied){.channel = to, .index = to->sent++, .bytes = bytes, .before = c->newest};
    *(c->newest ? &c->newest->next : &c->first) = m;
    c->newest = m;
    *(to->newest ? &to->newest->later : &to->first) = m;
    to->newest = m;
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

void sk_channel_ack(struct sk_channel *of, uint64_t n)
{
    if (n > of->acked)
        of->acked = n;
    for (struct sk_copied *m = of->first; m && m->index < n; m = m->later)
        m->backup = 0;
}

/* m is the first of its channel. */
static void let_go(struct sk_channels *c, struct sk_copied *m)
{
    struct sk_channel *of = m->channel;
    of->first = m->later;
    if (of->newest == m)
        of->newest = NULL;
    *(m->before ? &m->before->next : &c->first) = m->next;
    *(m->next ? &m->next->before : &c->newest) = m->before;
    if (!m->lent)
        free(m);
}

size_t sk_channel_sweep(struct sk_channels *c, struct sk_channel *of, const struct sk_copied *held, int (*over)(struct sk_copied *m))
{
    size_t freed = 0;
    for (struct sk_copied *m; (m = of ? of->first : c->first) && m != held && !m->waited && !m->late && !m->backup && over(m);) {
        freed += m->bytes;
        let_go(c, m);
    }
    return freed;
}

size_t sk_channel_sweep_all(struct sk_channels *c, const struct sk_copied *held, int (*over)(struct sk_copied *m))
{
    size_t freed = 0;
    for (size_t i = 0; i < c->n; i++)
        freed += sk_channel_sweep(c, c->at[i], held, over);
    return freed;
}

int sk_channel_is_late(struct sk_channels *c, struct sk_copied *m)
{
    if (c->n_late == SK_LATE_MOST || m->bytes > SK_LATE_BYTES - c->late_bytes)
        return 0;
    m->late = 1;
    c->late_bytes += m->bytes;
    c->late[c->n_late++] = m;
    return 1;
}

void sk_channel_arrived(struct sk_channels *c)
{
    c->late[0]->late = 0;
    c->late_bytes -= c->late[0]->bytes;
    c->n_late--;
    for (size_t i = 0; i < c->n_late; i++)
        c->late[i] = c->late[i + 1];
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
