/* Lists of messages by peer, and counts by peer and tag. */
#include "world/log/sent.h"

#include <stdlib.h>
#include <string.h>

struct sk_kept *sk_kept_new(int n_ranks)
{
    struct sk_kept *k = calloc(1, sizeof *k + sizeof *k->peer * (size_t)n_ranks);
    if (k) {
        k->n = n_ranks;
        k->in_setup = 1;
    }
    return k;
}

static void free_message(struct sk_kept *k, struct sk_kept_message *m)
{
    k->bytes -= sk_kept_whole(m->bytes);
    if (!m->lent && !m->request)
        sk_arena_give(&k->arena, m);
}

static void free_list(struct sk_kept *k, struct sk_kept_list *l)
{
    while (l->first) {
        struct sk_kept_message *m = l->first;
        l->first = m->next;
        free_message(k, m);
    }
    l->last = NULL;
}

static void drop_oldest(struct sk_kept *k)
{
    struct sk_kept_mark *m = k->oldest;
    k->oldest = m->next;
    if (!k->oldest)
        k->youngest = NULL;
    free(m);
}

void sk_kept_free(struct sk_kept *k)
{
    if (!k)
        return;
    for (int p = 0; p < k->n; p++) {
        free_list(k, &k->peer[p].setup);
        free_list(k, &k->peer[p].run);
        free(k->peer[p].channel);
        free(k->peer[p].place);
    }
    while (k->oldest)
        drop_oldest(k);
    sk_arena_free(&k->arena);
    free(k);
}

/* A hash table of numbers, twice as large as it needs to be: it is never full. */
enum { PLACES = 2 * SK_KEPT_CHANNELS };
struct sk_kept_place {
    unsigned short number[PLACES]; /* of the channel, from 1; 0: none */
};

/* Where a channel's number stands, or has to. */
static unsigned short *place_of(const struct sk_kept_peer *p, int tag)
{
    unsigned at = (unsigned)tag * 0x9e3779b1u >> 23;
    while (p->place->number[at] && p->channel[p->place->number[at] - 1].tag != tag)
        at = (at + 1) % PLACES;
    return &p->place->number[at];
}

/* Room for one more. */
static int grow(struct sk_kept_peer *p)
{
    if (p->channels == SK_KEPT_CHANNELS || (!p->place && !(p->place = calloc(1, sizeof *p->place))))
        return -1;
    if (p->channels & (p->channels - 1)) /* 0, 1, 2, 4 … */
        return 0;
    struct sk_kept_channel *c = realloc(p->channel, sizeof *c * (size_t)(p->channels ? 2 * p->channels : 1));
    if (!c)
        return -1;
    p->channel = c;
    return 0;
}

struct sk_kept_channel *sk_kept_channel(struct sk_kept *k, int peer, int tag)
{
    struct sk_kept_peer *p = &k->peer[peer];
    unsigned short *number = p->place ? place_of(p, tag) : NULL;
    if (number && *number)
        return &p->channel[*number - 1];
    if (grow(p))
        return NULL;
    p->channel[p->channels] = (struct sk_kept_channel){.tag = tag};
    *place_of(p, tag) = (unsigned short)++p->channels;
    return &p->channel[p->channels - 1];
}

static void append(struct sk_kept_list *l, struct sk_kept_message *m)
{
    if (l->last)
        l->last->next = m;
    else
        l->first = m;
    l->last = m;
}

struct sk_kept_message *sk_kept_add(struct sk_kept *k, int peer, int tag, size_t bytes)
{
    struct sk_kept_channel *c = sk_kept_channel(k, peer, tag);
    struct sk_kept_message *m = c ? sk_arena_take(&k->arena, sk_kept_whole(bytes)) : NULL;
    if (!m)
        return NULL;
    *m = (struct sk_kept_message){.index = c->sent++, .bytes = bytes, .tag = tag, .channel = (int)(c - k->peer[peer].channel)};
    append(k->in_setup ? &k->peer[peer].setup : &k->peer[peer].run, m);
    k->bytes += sk_kept_whole(bytes);
    return m;
}

int sk_kept_is_had(struct sk_kept *k, int peer, const struct sk_kept_message *m)
{
    return k->peer[peer].has_all || m->index < k->peer[peer].channel[m->channel].had;
}

int sk_kept_is_late(struct sk_kept *k, int peer, struct sk_kept_message *m)
{
    struct sk_kept_peer *p = &k->peer[peer];
    if (p->n_late == SK_KEPT_LATE || m->bytes > SK_KEPT_LATE_BYTES - p->late_bytes)
        return 0;
    m->late = 1;
    p->late[p->n_late++] = m;
    p->late_bytes += m->bytes;
    return 1;
}

void sk_kept_arrived(struct sk_kept *k, int peer, int (*ended)(struct sk_kept_message *m))
{
    struct sk_kept_peer *p = &k->peer[peer];
    int n = 0;
    for (; n < p->n_late && ended(p->late[n]); n++) {
        p->late[n]->late = 0;
        p->late_bytes -= p->late[n]->bytes;
    }
    p->n_late -= n;
    if (n)
        memmove(p->late, p->late + n, sizeof *p->late * (size_t)p->n_late);
}

void sk_kept_none_late(struct sk_kept *k)
{
    for (int peer = 0; peer < k->n; peer++) {
        struct sk_kept_peer *p = &k->peer[peer];
        while (p->n_late)
            p->late[--p->n_late]->late = 0;
        p->late_bytes = 0;
    }
}

void sk_kept_end_setup(struct sk_kept *k)
{
    k->in_setup = 0;
    sk_arena_part(&k->arena); /* what goes is not among what stays */
}

int sk_kept_set_mark(struct sk_kept *k, int64_t key, uint64_t position)
{
    size_t n = 0;
    for (int p = 0; p < k->n; p++)
        n += (size_t)k->peer[p].channels;
    struct sk_kept_mark *m = malloc(sizeof *m + n * sizeof *m->count + ((size_t)k->n + 1) * sizeof *m->first);
    if (!m)
        return -1;
    *m = (struct sk_kept_mark){.key = key, .position = position, .first = (size_t *)&m->count[n]};
    for (int p = 0; p < k->n; p++) {
        m->first[p] = m->n;
        for (int i = 0; i < k->peer[p].channels; i++) {
            const struct sk_kept_channel *c = &k->peer[p].channel[i];
            m->count[m->n++] = (struct sk_kept_count){c->sent, c->posted};
        }
    }
    m->first[k->n] = m->n;
    if (k->youngest)
        k->youngest->next = m;
    else
        k->oldest = m;
    k->youngest = m;
    return 0;
}

const struct sk_kept_mark *sk_kept_find(const struct sk_kept *k, int64_t key)
{
    const struct sk_kept_mark *m = k->oldest;
    while (m && m->key != key)
        m = m->next;
    return m;
}

struct sk_kept_count sk_kept_at(const struct sk_kept_mark *m, int peer, int channel)
{
    size_t at = m->first[peer] + (size_t)channel;
    return at < m->first[peer + 1] ? m->count[at] : (struct sk_kept_count){0, 0};
}

static void cut_list(struct sk_kept *k, int peer, const struct sk_kept_mark *mark, int (*ended)(struct sk_kept_message *m))
{
    struct sk_kept_list *l = &k->peer[peer].run, kept = {NULL, NULL};
    for (struct sk_kept_message *m = l->first, *next; m; m = next) {
        next = m->next;
        m->next = NULL;
        if (m->index >= sk_kept_at(mark, peer, m->channel).sent || m->late || !ended(m))
            append(&kept, m);
        else
            free_message(k, m);
    }
    *l = kept;
}

void sk_kept_cut(struct sk_kept *k, int64_t key, int (*ended)(struct sk_kept_message *m))
{
    const struct sk_kept_mark *mark = sk_kept_find(k, key);
    if (!mark)
        return;
    for (int p = 0; p < k->n; p++) {
        sk_kept_arrived(k, p, ended);
        cut_list(k, p, mark, ended);
    }
    while (k->oldest != mark)
        drop_oldest(k);
}

void sk_kept_forget_after(struct sk_kept *k, int64_t key)
{
    struct sk_kept_mark *m = k->oldest;
    while (m && m->key != key)
        m = m->next;
    if (!m)
        return;
    for (struct sk_kept_mark *y = m->next, *next; y; y = next) {
        next = y->next;
        free(y);
    }
    m->next = NULL;
    k->youngest = m;
}
