/* The members' side of pulling: a thread reads, the messenger sends. */
#include "archive/ranks/serve.h"

#include "archive/ranks/wire/messages.h"
#include "archive/ranks/wire/wire.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FREE, FILLED, SENDING };
#define MAX_REQUEST ((uint64_t)1 << 30)

struct order {
    struct sk_ska_range *ranges;
    size_t count;
    uint64_t total;
    int kind; /* SK_ASK_… */
    struct order *next;
};

struct piece {
    int state;
    size_t bytes; /* with the status byte */
    uint8_t *data;
    struct sk_request *sent;
};

struct server {
    struct sk_group *g;
    struct sk_feed_local *own;
    size_t piece_bytes;
    uint64_t *sizes;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    struct order *orders;
    unsigned refused; /* requests that there was no memory for: each has one answer, too */
    struct piece piece[2];
    unsigned filled, sent; /* pieces so far, used in turn */
    int stop;
    int rc; /* first failure to read: all that follows is answered by it */
    struct saikai_error err;
    /* the messenger's own */
    uint8_t head[16];
    struct sk_request *head_in, *body_in;
    struct sk_buf body; /* of the request that comes in */
    uint64_t kind; /* of it */
    uint8_t part[SK_REQUEST_PIECE];
    size_t part_bytes;
    uint64_t left; /* bytes of it that are to come */
};

/* ---- reading ---- */

/* The next ranges of an order, as many bytes as a piece holds. */
static size_t cut(struct order *o, size_t *range, size_t *within, uint8_t *to, size_t bytes,
                  struct sk_ska_range *out)
{
    size_t n = 0;
    while (bytes) {
        const struct sk_ska_range *r = &o->ranges[*range];
        size_t left = r->bytes - *within, k = bytes < left ? bytes : left;
        out[n++] = (struct sk_ska_range){r->file, r->offset + *within, k, to};
        to += k;
        bytes -= k;
        *within += k;
        if (*within == r->bytes) {
            ++*range;
            *within = 0;
        }
    }
    return n;
}

static struct piece *wait_free(struct server *s)
{
    struct piece *p = &s->piece[s->filled % 2];
    pthread_mutex_lock(&s->lock);
    while (p->state != FREE && !s->stop)
        pthread_cond_wait(&s->moved, &s->lock);
    int stop = s->stop;
    pthread_mutex_unlock(&s->lock);
    return stop ? NULL : p;
}

static void hand_over(struct server *s, struct piece *p, size_t bytes, int rc,
                      const struct saikai_error *err)
{
    pthread_mutex_lock(&s->lock);
    p->data[0] = rc != 0;
    p->bytes = rc ? 1 : bytes + 1;
    p->state = FILLED;
    s->filled++;
    if (rc && !s->rc) {
        s->rc = rc;
        s->err = *err;
    }
    pthread_mutex_unlock(&s->lock);
}

/* The hash of the order's only range in place of its bytes. */
static void answer_hash(struct server *s, struct order *o)
{
    enum { BYTES = 8 };
    uint64_t hash = 0;
    pthread_mutex_lock(&s->lock);
    struct saikai_error err = s->err;
    int rc = s->rc;
    pthread_mutex_unlock(&s->lock);
    struct piece *p = wait_free(s);
    if (!p)
        return;
    if (!rc)
        rc = sk_feed_hash(&s->own->feed, o->ranges, &hash, &err);
    for (int i = 0; i < BYTES; i++)
        p->data[1 + i] = (uint8_t)(hash >> 8 * i);
    hand_over(s, p, BYTES, rc, &err);
}

static void answer(struct server *s, struct order *o)
{
    if (o->kind == SK_ASK_HASH) {
        answer_hash(s, o);
        return;
    }
    struct sk_ska_range *ranges = calloc(o->count, sizeof *ranges);
    size_t range = 0, within = 0;
    pthread_mutex_lock(&s->lock);
    struct saikai_error err = s->err;
    int rc = s->rc;
    pthread_mutex_unlock(&s->lock);
    if (!rc && !ranges)
        rc = sk_fail(&err, SAIKAI_ENOMEM, "no memory to read for the archive");
    uint64_t left = o->total;
    do {
        struct piece *p = wait_free(s);
        size_t bytes = left < s->piece_bytes ? (size_t)left : s->piece_bytes;
        if (!p)
            break;
        if (!rc) {
            size_t n = cut(o, &range, &within, p->data + 1, bytes, ranges);
            rc = sk_feed_fetch(&s->own->feed, ranges, n, &err);
        }
        hand_over(s, p, bytes, rc, &err);
        left -= bytes;
    } while (left && !rc);
    free(ranges);
}

static void *reader(void *arg)
{
    struct server *s = arg;
    for (;;) {
        pthread_mutex_lock(&s->lock);
        while (!s->orders && !s->refused && !s->stop)
            pthread_cond_wait(&s->moved, &s->lock);
        struct order *o = s->orders, none = {0};
        int refused = !o && s->refused;
        if (o)
            s->orders = o->next;
        s->refused -= refused;
        pthread_mutex_unlock(&s->lock);
        if (!o && !refused)
            return NULL;
        answer(s, o ? o : &none);
        if (o)
            free(o->ranges);
        free(o);
    }
}

/* ---- the messenger ---- */

/* Put the request into the queue. One that is no request, and one that there is no memory for, is answered with a failure, as
 * is everything after it; in which order does not matter then. */
static void take_order(struct server *s)
{
    struct order *o = calloc(1, sizeof *o), **at;
    struct saikai_error err = {0};
    int rc = o && sk_buf_ok(&s->body) ? sk_wire_get_ranges(s->body.data, s->body.len, s->sizes, s->own->count,
                                                           &o->ranges, &o->count, &o->total)
                                      : SAIKAI_ENOMEM;
    if (!rc && s->kind == SK_ASK_HASH && o->count != 1)
        rc = SAIKAI_EDAMAGED;
    if (o)
        o->kind = rc ? SK_ASK_BYTES : (int)s->kind;
    sk_buf_free(&s->body);
    pthread_mutex_lock(&s->lock);
    if (rc && !s->rc) {
        s->rc = sk_fail(&err, rc, rc == SAIKAI_ENOMEM ? "no memory for what the writer of the archive asks for"
                                                      : "the writer asked for bytes that no file here has");
        s->err = err;
    }
    for (at = &s->orders; *at; at = &(*at)->next)
        ;
    *at = o;
    s->refused += !o;
    pthread_cond_broadcast(&s->moved);
    pthread_mutex_unlock(&s->lock);
}

static uint64_t get_u64(const uint8_t *p)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static int await_head(struct server *s)
{
    return sk_group_irecv(s->g, s->head, sizeof s->head, 0, SK_TAG_HEAD, &s->head_in);
}

static int await_part(struct server *s)
{
    s->part_bytes = s->left < sizeof s->part ? (size_t)s->left : sizeof s->part;
    return sk_group_irecv(s->g, s->part, s->part_bytes, 0, SK_TAG_BODY, &s->body_in);
}

/* *end: dismissed. */
static int listen(struct server *s, int *moved, int *end)
{
    int done = 0, rc = sk_group_test(s->g, s->left ? &s->body_in : &s->head_in, &done);
    if (rc || !done)
        return rc;
    *moved = 1;
    if (s->left) {
        sk_buf_put(&s->body, s->part, s->part_bytes);
        s->left -= s->part_bytes;
        if (s->left)
            return await_part(s);
        take_order(s);
        return await_head(s);
    }
    s->left = get_u64(s->head + 8);
    s->kind = get_u64(s->head);
    *end = s->kind == SK_ASK_NOTHING;
    if (*end)
        return 0;
    return s->kind <= SK_ASK_HASH && s->left && s->left <= MAX_REQUEST ? await_part(s) : SAIKAI_EDAMAGED;
}

/* Pieces go out in order; both may be under way. */
static int post(struct server *s, int *moved)
{
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < 2 && !rc; i++) {
        struct piece *p = &s->piece[i];
        int done = 0;
        if (p->state == SENDING)
            rc = sk_group_test(s->g, &p->sent, &done);
        if (done) {
            p->state = FREE;
            *moved = 1;
            pthread_cond_broadcast(&s->moved);
        }
    }
    struct piece *p = &s->piece[s->sent % 2];
    if (!rc && p->state == FILLED && s->sent < s->filled) {
        p->state = SENDING;
        s->sent++;
        *moved = 1;
        rc = sk_group_isend(s->g, p->data, p->bytes, 0, SK_TAG_PIECE, &p->sent);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static int carry(struct server *s)
{
    unsigned idle = 0;
    int end = 0;
    int rc = await_head(s);
    while (!rc && !end) {
        int moved = 0;
        rc = listen(s, &moved, &end);
        if (!rc)
            rc = post(s, &moved);
        if (moved)
            idle = 0;
        else
            sk_message_relax(&idle);
    }
    for (int i = 0; i < 2 && !rc; i++)
        if (s->piece[i].state == SENDING)
            rc = sk_group_wait(s->g, &s->piece[i].sent);
    return rc;
}

static int set_up(struct server *s)
{
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->moved, NULL);
    s->sizes = calloc(s->own->count, sizeof *s->sizes);
    for (int i = 0; i < 2; i++)
        s->piece[i].data = malloc(s->piece_bytes + 1);
    if (!s->sizes || !s->piece[0].data || !s->piece[1].data)
        return SAIKAI_ENOMEM;
    for (size_t i = 0; i < s->own->count; i++)
        s->sizes[i] = (uint64_t)s->own->seen[i].st_size;
    return 0;
}

static void tear_down(struct server *s)
{
    for (struct order *o = s->orders, *next; o; o = next) {
        next = o->next;
        free(o->ranges);
        free(o);
    }
    for (int i = 0; i < 2; i++)
        free(s->piece[i].data);
    sk_buf_free(&s->body);
    free(s->sizes);
    pthread_cond_destroy(&s->moved);
    pthread_mutex_destroy(&s->lock);
}

int sk_serve(struct sk_group *g, struct sk_feed_local *own, size_t piece_bytes,
             struct saikai_error *err)
{
    struct server s = {.g = g, .own = own, .piece_bytes = piece_bytes};
    pthread_t t;
    int rc = set_up(&s), started = 0;
    if (!rc) {
        started = !pthread_create(&t, NULL, reader, &s);
        rc = started ? 0 : SAIKAI_ENOMEM;
    }
    if (rc)
        sk_fail(err, rc, "no memory to give files' bytes to the writer of the archive");
    rc = sk_group_verdict(g, rc, err);
    if (!rc && (rc = carry(&s)))
        sk_fail(err, rc, "the ranks lost touch while they made an archive");
    if (started) {
        pthread_mutex_lock(&s.lock);
        s.stop = 1;
        pthread_cond_broadcast(&s.moved);
        pthread_mutex_unlock(&s.lock);
        pthread_join(t, NULL);
    }
    if (!rc && s.rc) {
        rc = s.rc;
        if (err)
            *err = s.err;
    }
    tear_down(&s);
    return rc;
}
