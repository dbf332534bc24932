/* The aggregator's messenger: threads that fetch queue what they want, one thread speaks with the
 * members, and pieces are merged where they belong as they come. */
#include "archive/ranks/pull.h"

#include "archive/ranks/wire/messages.h"
#include "archive/ranks/wire/wire.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What one member was asked for by one fetch. */
struct stream {
    struct sk_ska_range *ranges;
    size_t count;
    struct sk_buf body;
    uint8_t head[16];
    size_t told;              /* bytes of the body that have been sent */
    uint64_t total, received; /* received: whole pieces of it have been asked of the group */
    size_t range, within;     /* where the next piece goes */
    uint64_t placed;
    int sent, failed;
    struct stream *next;
};

enum { FREE, RECEIVING, FILLED };
struct piece {
    int state;
    uint64_t number; /* pieces of a member are placed in order */
    struct stream *stream;
    size_t bytes;
    uint8_t *data; /* status byte, then bytes */
};

struct member {
    struct stream *to_ask, *asked; /* queues; asked: not all pieces received */
    struct sk_request *asking, *received; /* asking: the head of a request, then its body */
    struct stream *sending;
    struct piece piece[2], *coming;
    uint64_t pieces;
};

struct sk_pull {
    struct sk_ska_feed feed;
    struct sk_group *g;
    struct sk_feed_local *own;
    uint32_t *first;
    size_t piece_bytes;
    struct member *members;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int rc; /* of the group: nobody waits any longer */
    int done, member_failed;
    int (*work)(void *arg, struct saikai_error *err);
    void *arg;
    int work_rc;
    struct saikai_error work_err;
};

/* ---- the side of the threads that fetch ---- */

static int owner_of(const struct sk_pull *p, uint32_t file)
{
    int low = 0, high = p->g->size - 1;
    while (low < high) { /* the last one that begins at or before the file */
        int mid = (low + high + 1) / 2;
        if (p->first[mid] <= file)
            low = mid;
        else
            high = mid - 1;
    }
    return low;
}

static void put_u64(uint8_t *to, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(v >> 8 * i);
}

static void append(struct stream **queue, struct stream *s)
{
    while (*queue)
        queue = &(*queue)->next;
    s->next = NULL;
    *queue = s;
}

/* Sort the ranges by owner, keeping their order, and say what each owner is asked for. */
static int divide(struct sk_pull *p, const struct sk_ska_range *r, size_t n, struct stream *streams,
                  struct sk_ska_range *sorted)
{
    size_t *start = calloc((size_t)p->g->size + 1, sizeof *start);
    if (!start)
        return SAIKAI_ENOMEM;
    for (size_t i = 0; i < n; i++)
        start[owner_of(p, r[i].file) + 1]++;
    for (int m = 0; m < p->g->size; m++) {
        streams[m] = (struct stream){.ranges = sorted + start[m], .count = 0};
        start[m + 1] += start[m];
    }
    for (size_t i = 0; i < n; i++) {
        struct stream *s = &streams[owner_of(p, r[i].file)];
        s->ranges[s->count++] = r[i];
        s->total += r[i].bytes;
    }
    free(start);
    for (int m = 1; m < p->g->size; m++) {
        struct stream *s = &streams[m];
        sk_wire_put_ranges(&s->body, s->ranges, s->count, p->first[m]);
        put_u64(s->head, SK_ASK_BYTES);
        put_u64(s->head + 8, s->body.len);
        if (!sk_buf_ok(&s->body))
            return SAIKAI_ENOMEM;
    }
    return 0;
}

/* A filled piece of one of these streams, the first of its member, or NULL. */
static struct piece *filled(struct sk_pull *p, struct stream *streams)
{
    for (int m = 1; m < p->g->size; m++) {
        struct piece *best = NULL;
        for (int i = 0; i < 2; i++) {
            struct piece *c = &p->members[m].piece[i];
            if (c->state == FILLED && c->stream == &streams[m] &&
                (!best || c->number < best->number))
                best = c;
        }
        if (best)
            return best;
    }
    return NULL;
}

static int all_done(const struct sk_pull *p, const struct stream *streams)
{
    for (int m = 1; m < p->g->size; m++) {
        const struct stream *s = &streams[m];
        if (s->total && (!s->sent || (!s->failed && s->placed < s->total)))
            return 0;
    }
    return 1;
}

static void place(struct stream *s, const uint8_t *data, size_t n)
{
    while (n) {
        const struct sk_ska_range *r = &s->ranges[s->range];
        size_t left = r->bytes - s->within, k = n < left ? n : left;
        memcpy(r->to + s->within, data, k);
        data += k;
        n -= k;
        s->placed += k;
        s->within += k;
        if (s->within == r->bytes) {
            s->range++;
            s->within = 0;
        }
    }
}

/* Merge what comes in until everything is there. The lock is held, but not while bytes are copied.
 */
static int take_pieces(struct sk_pull *p, struct stream *streams)
{
    while (!p->rc && !all_done(p, streams)) {
        struct piece *c = filled(p, streams);
        if (!c) {
            pthread_cond_wait(&p->moved, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        place(c->stream, c->data + 1, c->bytes);
        pthread_mutex_lock(&p->lock);
        c->state = FREE;
    }
    for (struct piece *c; (c = filled(p, streams));)
        c->state = FREE; /* of a stream that failed after it */
    int rc = p->rc;
    for (int m = 1; m < p->g->size; m++)
        if (streams[m].failed)
            rc = SAIKAI_EPEER;
    return rc;
}

static int fetch_remote(struct sk_pull *p, struct stream *streams, struct saikai_error *err)
{
    pthread_mutex_lock(&p->lock);
    for (int m = 1; m < p->g->size && !p->rc; m++)
        if (streams[m].total)
            append(&p->members[m].to_ask, &streams[m]);
    pthread_mutex_unlock(&p->lock);
    int local = 0;
    if (streams[0].count) /* while the others read */
        local = sk_feed_fetch(&p->own->feed, streams[0].ranges, streams[0].count, err);
    pthread_mutex_lock(&p->lock);
    int rc = take_pieces(p, streams);
    pthread_mutex_unlock(&p->lock);
    if (local)
        return local;
    return rc ? sk_fail(err, rc, "another rank could not give its files' bytes") : 0;
}

static int pull_fetch(struct sk_ska_feed *f, const struct sk_ska_range *r, size_t n,
                      struct saikai_error *err)
{
    struct sk_pull *p = (struct sk_pull *)f;
    struct stream *streams = calloc((size_t)p->g->size, sizeof *streams);
    struct sk_ska_range *sorted = calloc(n, sizeof *sorted);
    int rc = streams && sorted ? divide(p, r, n, streams, sorted) : SAIKAI_ENOMEM;
    rc = rc ? sk_fail(err, rc, "no memory to ask for a block") : fetch_remote(p, streams, err);
    for (int m = 0; streams && m < p->g->size; m++)
        sk_buf_free(&streams[m].body);
    free(streams);
    free(sorted);
    return rc;
}

/* Of a member's file it makes the hash, and answers it in place of bytes. */
static int pull_hash(struct sk_ska_feed *f, const struct sk_ska_range *r, uint64_t *hash, struct saikai_error *err)
{
    struct sk_pull *p = (struct sk_pull *)f;
    uint8_t told[8] = {0};
    int m = owner_of(p, r->file);
    if (!m)
        return sk_feed_hash(&p->own->feed, r, hash, err);
    struct sk_ska_range answer = {r->file, 0, sizeof told, told};
    struct stream *streams = calloc((size_t)p->g->size, sizeof *streams);
    if (!streams)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to ask for a hash");
    struct stream *s = &streams[m];
    *s = (struct stream){.ranges = &answer, .total = sizeof told};
    sk_wire_put_ranges(&s->body, r, 1, p->first[m]);
    put_u64(s->head, SK_ASK_HASH);
    put_u64(s->head + 8, s->body.len);
    int rc = sk_buf_ok(&s->body) ? fetch_remote(p, streams, err) : sk_fail(err, SAIKAI_ENOMEM, "no memory to ask for a hash");
    *hash = 0;
    for (int i = 7; i >= 0; i--)
        *hash = *hash << 8 | told[i];
    sk_buf_free(&s->body);
    free(streams);
    return rc;
}

static const struct sk_feed_ops pull_ops = {pull_fetch, pull_hash};

int sk_pull_new(struct sk_group *g, struct sk_feed_local *own, const uint32_t *first,
                size_t piece_bytes, struct sk_pull **out, struct saikai_error *err)
{
    struct sk_pull *p = calloc(1, sizeof *p);
    size_t n = (size_t)g->size;
    int rc = p ? 0 : SAIKAI_ENOMEM;
    if (!rc) {
        *p = (struct sk_pull){.feed = {&pull_ops, 2}, .g = g, .own = own};
        p->piece_bytes = piece_bytes;
        pthread_mutex_init(&p->lock, NULL);
        pthread_cond_init(&p->moved, NULL);
        p->members = calloc(n, sizeof *p->members);
        p->first = calloc(n + 1, sizeof *p->first);
        rc = p->members && p->first ? 0 : SAIKAI_ENOMEM;
    }
    for (size_t m = 1; m < n && !rc; m++)
        for (int i = 0; i < 2 && !rc; i++) {
            p->members[m].piece[i].data = malloc(piece_bytes + 1);
            rc = p->members[m].piece[i].data ? 0 : SAIKAI_ENOMEM;
        }
    if (rc) {
        sk_pull_free(p);
        return sk_fail(err, rc, "no memory to pull files of %d ranks", g->size);
    }
    memcpy(p->first, first, (n + 1) * sizeof *first);
    *out = p;
    return 0;
}

struct sk_ska_feed *sk_pull_feed(struct sk_pull *p)
{
    return &p->feed;
}

void sk_pull_free(struct sk_pull *p)
{
    if (!p)
        return;
    for (int m = 1; p->members && m < p->g->size; m++)
        for (int i = 0; i < 2; i++)
            free(p->members[m].piece[i].data);
    pthread_cond_destroy(&p->moved);
    pthread_mutex_destroy(&p->lock);
    free(p->members);
    free(p->first);
    free(p);
}

/* ---- the messenger; all with the lock held ---- */

static int ask(struct sk_pull *p, int m, int *moved)
{
    struct member *b = &p->members[m];
    struct stream *s = b->sending;
    if (s) {
        int done = 0, rc = sk_group_test(p->g, &b->asking, &done);
        if (rc || !done)
            return rc;
        *moved = 1;
        size_t left = s->body.len - s->told, n = left < SK_REQUEST_PIECE ? left : SK_REQUEST_PIECE;
        if (n) {
            s->told += n;
            return sk_group_isend(p->g, s->body.data + s->told - n, n, m, SK_TAG_BODY, &b->asking);
        }
        s->sent = 1;
        b->sending = NULL;
    }
    if (!(s = b->to_ask))
        return 0;
    b->to_ask = s->next;
    append(&b->asked, s);
    b->sending = s;
    *moved = 1;
    return sk_group_isend(p->g, s->head, sizeof s->head, m, SK_TAG_HEAD, &b->asking);
}

static void received(struct sk_pull *p, struct member *b)
{
    struct piece *c = b->coming;
    struct stream *s = c->stream;
    b->coming = NULL;
    c->state = c->data[0] ? FREE : FILLED;
    c->number = b->pieces++;
    s->received += c->bytes;
    s->failed = c->data[0] != 0;
    p->member_failed |= s->failed;
    if (s->failed || s->received == s->total)
        b->asked = s->next;
}

static int receive(struct sk_pull *p, int m, int *moved)
{
    struct member *b = &p->members[m];
    struct stream *s = b->asked;
    int done = 0, rc = 0;
    if (b->coming) {
        rc = sk_group_test(p->g, &b->received, &done);
        if (rc || !done)
            return rc;
        received(p, b);
        *moved = 1;
        s = b->asked;
    }
    for (int i = 0; i < 2 && s && !b->coming; i++)
        if (b->piece[i].state == FREE) {
            uint64_t left = s->total - s->received;
            b->coming = &b->piece[i];
            b->coming->state = RECEIVING;
            b->coming->stream = s;
            b->coming->bytes = left < p->piece_bytes ? (size_t)left : p->piece_bytes;
            *moved = 1;
            rc = sk_group_irecv(p->g, b->coming->data, b->coming->bytes + 1, m, SK_TAG_PIECE,
                                &b->received);
        }
    return rc;
}

static void *work(void *arg)
{
    struct sk_pull *p = arg;
    int rc = p->work(p->arg, &p->work_err);
    pthread_mutex_lock(&p->lock);
    p->work_rc = rc;
    p->done = 1;
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static int carry(struct sk_pull *p)
{
    unsigned idle = 0;
    int done = 0, rc = 0;
    while (!done && !rc) {
        int moved = 0;
        pthread_mutex_lock(&p->lock);
        for (int m = 1; m < p->g->size && !rc; m++) {
            rc = ask(p, m, &moved);
            if (!rc)
                rc = receive(p, m, &moved);
        }
        p->rc = rc;
        done = p->done;
        if (moved || rc)
            pthread_cond_broadcast(&p->moved);
        pthread_mutex_unlock(&p->lock);
        if (moved)
            idle = 0;
        else
            sk_message_relax(&idle);
    }
    return rc;
}

static int dismiss(struct sk_pull *p)
{
    uint8_t head[16] = {0};
    int rc = 0;
    for (int m = 1; m < p->g->size && !rc; m++) {
        struct sk_request *r = NULL;
        rc = sk_group_isend(p->g, head, sizeof head, m, SK_TAG_HEAD, &r);
        if (!rc)
            rc = sk_group_wait(p->g, &r);
    }
    return rc;
}

int sk_pull_run(struct sk_pull *p, int (*fn)(void *arg, struct saikai_error *err), void *arg,
                struct saikai_error *err)
{
    pthread_t t;
    p->work = fn;
    p->arg = arg;
    int group = 0, rc = sk_group_verdict(p->g, 0, err);
    if (rc)
        return rc;
    rc = pthread_create(&t, NULL, work, p);
    if (rc) {
        rc = sk_fail_errno(err, rc, "cannot start a thread");
    } else {
        group = carry(p);
        pthread_join(t, NULL);
        rc = p->work_rc;
        if (rc && err)
            *err = p->work_err;
    }
    if (!group)
        group = dismiss(p);
    if (group)
        return sk_fail(err, group, "the ranks lost touch while they made an archive");
    return rc == SAIKAI_EPEER && p->member_failed ? 0 : rc;
}
