/* Merges what the keepers of a node say. */
#include "daemon/merge.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More processes than any node runs. */
enum { MOST = 1 << 16 };

struct sk_client {
    int fd, is_known; /* is_known: it has said who it is */
    uint32_t incarnation, rank;
    struct sk_message hello, beat, exit; /* the newest of each; kind 0: there was none */
    int hello_due, beat_due, exit_due;   /* to be merged */
    int whole;                           /* the beat as a whole */
    struct sk_progress told;             /* as it was merged last as a whole */
};

struct sk_clients {
    struct sk_client **at; /* the known ones first, by start and rank */
    int n, cap;
};

struct sk_clients *sk_clients_new(void)
{
    return calloc(1, sizeof(struct sk_clients));
}

static void drop(struct sk_client *m)
{
    close(m->fd);
    free(m);
}

void sk_clients_free(struct sk_clients *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n; i++)
        drop(s->at[i]);
    free(s->at);
    free(s);
}

int sk_clients_count(const struct sk_clients *s)
{
    return s->n;
}

struct sk_client *sk_clients_add(struct sk_clients *s, int fd)
{
    if (s->n == s->cap) {
        int cap = s->cap ? 2 * s->cap : 16;
        struct sk_client **at = cap <= MOST ? realloc(s->at, sizeof *at * (size_t)cap) : NULL;
        if (!at)
            return NULL;
        s->at = at;
        s->cap = cap;
    }
    struct sk_client *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    *m = (struct sk_client){.fd = fd, .whole = 1};
    s->at[s->n++] = m;
    return m;
}

void sk_clients_remove(struct sk_clients *s, struct sk_client *m)
{
    for (int i = 0; i < s->n; i++)
        if (s->at[i] == m) {
            memmove(&s->at[i], &s->at[i + 1], sizeof *s->at * (size_t)(s->n - i - 1));
            s->n--;
            drop(m);
            return;
        }
}

int sk_client_fd(const struct sk_client *m)
{
    return m->fd;
}

int sk_client_has_news(const struct sk_client *m)
{
    return m->hello_due || m->beat_due || m->exit_due;
}

static int by_rank(const void *a, const void *b)
{
    const struct sk_client *x = *(struct sk_client *const *)a, *y = *(struct sk_client *const *)b;
    if (x->is_known != y->is_known)
        return y->is_known - x->is_known;
    if (x->incarnation != y->incarnation)
        return x->incarnation < y->incarnation ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* All of it but how far the program is, of which the furthest rank tells. */
static int says_the_same(const struct sk_progress *a, const struct sk_progress *b)
{
    return a->complete_iteration == b->complete_iteration && a->complete_count == b->complete_count &&
           a->restored_iteration == b->restored_iteration && a->state == b->state && a->world == b->world &&
           a->differ.n == b->differ.n;
}

/* What is no news, and is passed on with the next beat all the same: when its node is lost, nobody can be asked any more. */
static int has_printed(const struct sk_progress *a, const struct sk_progress *b)
{
    return a->printed.lines != b->printed.lines || a->printed.bytes != b->printed.bytes;
}

enum sk_client_news sk_client_heard(struct sk_clients *s, struct sk_client *m, const struct sk_message *v)
{
    if (v->kind != SK_MSG_HELLO && v->kind != SK_MSG_BEAT && v->kind != SK_MSG_EXIT)
        return SK_CLIENT_NOTHING;
    if (!m->is_known) {
        m->is_known = 1;
        m->incarnation = v->incarnation;
        m->rank = v->rank;
        qsort(s->at, (size_t)s->n, sizeof *s->at, by_rank);
    }
    if (v->incarnation != m->incarnation || v->rank != m->rank)
        return SK_CLIENT_NOTHING;
    switch (v->kind) {
    case SK_MSG_HELLO:
        m->hello = *v;
        m->hello_due = 1;
        return SK_CLIENT_NEWS;
    case SK_MSG_EXIT:
        m->exit = *v;
        m->exit_due = 1;
        return SK_CLIENT_URGENT;
    default: {
        const struct sk_progress *old = m->beat.kind ? &m->beat.at : NULL;
        int urgent = old && old->world != v->at.world, news = !old || !says_the_same(old, &v->at);
        m->beat = *v;
        m->beat_due = 1;
        return urgent ? SK_CLIENT_URGENT : news ? SK_CLIENT_NEWS : SK_CLIENT_NOTHING;
    }
    }
}

static int is_further(const struct sk_progress *a, const struct sk_progress *b)
{
    return a->progress != b->progress ? a->progress > b->progress : a->iteration > b->iteration;
}

/* Whose beat tells how far the program is: of the newest start the rank that is the furthest, and one that has moved where that one
 * has not. */
static void choose_whole(struct sk_clients *s)
{
    struct sk_client *furthest = NULL, *mover = NULL;
    for (int i = 0; i < s->n; i++) {
        struct sk_client *m = s->at[i];
        if (!m->beat_due)
            continue;
        if (!furthest || m->incarnation > furthest->incarnation ||
            (m->incarnation == furthest->incarnation && is_further(&m->beat.at, &furthest->beat.at)))
            furthest = m;
        if (m->beat.at.progress != m->told.progress)
            mover = m;
    }
    if (furthest && furthest->beat.at.progress == furthest->told.progress && mover)
        mover->whole = 1;
    if (furthest)
        furthest->whole = 1;
}

static void merge_beat(struct sk_client *m, struct sk_frame *b)
{
    struct sk_message alive = {.kind = SK_MSG_ALIVE, .incarnation = m->incarnation, .rank = m->rank};
    if (m->whole || !says_the_same(&m->told, &m->beat.at) || has_printed(&m->told, &m->beat.at)) {
        sk_frame_add(b, &m->beat);
        m->told = m->beat.at;
        m->whole = 0;
    } else {
        sk_frame_add(b, &alive);
    }
    m->beat_due = 0;
}

void sk_clients_merge(struct sk_clients *s, struct sk_frame *b, void (*send)(void *arg, struct sk_frame *b), void *arg)
{
    choose_whole(s);
    for (int i = 0; i < s->n; i++) {
        struct sk_client *m = s->at[i];
        if (sk_frame_is_full(b))
            send(arg, b);
        if (m->hello_due)
            sk_frame_add(b, &m->hello);
        if (m->beat_due)
            merge_beat(m, b);
        if (m->exit_due)
            sk_frame_add(b, &m->exit);
        m->hello_due = m->exit_due = 0;
    }
}

void sk_clients_repeat(struct sk_clients *s)
{
    for (int i = 0; i < s->n; i++) {
        s->at[i]->hello_due = s->at[i]->hello.kind != 0;
        s->at[i]->whole = 1;
    }
}

int sk_clients_find(const struct sk_clients *s, uint32_t incarnation, uint32_t rank)
{
    struct sk_client key = {.is_known = 1, .incarnation = incarnation, .rank = rank}, *at = &key;
    struct sk_client *const *found = bsearch(&at, s->at, (size_t)s->n, sizeof *s->at, by_rank);
    return s->n && found ? (*found)->fd : -1;
}

void sk_clients_each(struct sk_clients *s, enum sk_message_kind kind, void (*give)(void *arg, int fd, const struct sk_message *m),
                     void *arg)
{
    for (int i = 0; i < s->n; i++) {
        struct sk_message m = {.kind = kind, .incarnation = s->at[i]->incarnation, .rank = s->at[i]->rank};
        give(arg, s->at[i]->fd, &m);
    }
}
