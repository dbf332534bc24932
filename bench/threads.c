/* Messages between threads: a send and its receive meet at the receiving rank, whoever comes second
 * copies, and a link of limited speed may delay it. */
#include "threads.h"

#include "base/clock.h"
#include "group/loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 64 };

/* One half of a message; it waits at the receiving rank until the other half comes. */
struct half {
    int is_send, from, tag;
    void *data;
    size_t n;
    int owner; /* rank that waits for it */
    atomic_int done;
    double due; /* not done for its owner before this time */
    int rc;
    struct half *next;
};

struct rank {
    pthread_mutex_t lock; /* of the two lists */
    struct half *first[2], **last[2];
    pthread_mutex_t sleep;
    pthread_cond_t wake;
    atomic_int sleeping;
};

struct shared {
    struct rank rank[RANKS];
    double bytes_per_second, latency; /* 0: as fast as memory */
    pthread_mutex_t links;
    double out_free[RANKS], in_free[RANKS];
};

struct fast {
    struct sk_group g;
    struct sk_group *slow; /* collectives */
    struct shared *s;
};

struct sk_request {
    struct half h;
};

static struct fast *of(struct sk_group *g)
{
    return (struct fast *)g;
}

static void finish(struct shared *s, struct half *h, int rc)
{
    struct rank *r = &s->rank[h->owner];
    h->rc = rc;
    atomic_store(&h->done, 1);
    if (atomic_load(&r->sleeping)) {
        pthread_mutex_lock(&r->sleep);
        pthread_cond_broadcast(&r->wake);
        pthread_mutex_unlock(&r->sleep);
    }
}

/* The message takes its turn on both links. */
static void pace(struct shared *s, struct half *send, struct half *recv)
{
    if (s->bytes_per_second <= 0)
        return;
    double start = sk_now();
    double *out = &s->out_free[send->owner], *in = &s->in_free[recv->owner];
    pthread_mutex_lock(&s->links);
    start = *out > start ? *out : start;
    start = *in > start ? *in : start;
    *out = *in = start + (double)send->n / s->bytes_per_second;
    send->due = *out;
    recv->due = *out + s->latency;
    pthread_mutex_unlock(&s->links);
}

/* Match with a half of the other kind, or queue. */
static void meet(struct shared *s, int to, struct half *h)
{
    struct rank *r = &s->rank[to];
    int other = !h->is_send;
    pthread_mutex_lock(&r->lock);
    struct half **at = &r->first[other], *found;
    while ((found = *at) && (found->from != h->from || found->tag != h->tag))
        at = &found->next;
    if (found) {
        *at = found->next;
        if (!*at)
            r->last[other] = at;
    } else {
        h->next = NULL;
        *r->last[h->is_send] = h;
        r->last[h->is_send] = &h->next;
    }
    pthread_mutex_unlock(&r->lock);
    if (!found)
        return;
    struct half *send = h->is_send ? h : found, *recv = h->is_send ? found : h;
    int rc = send->n > recv->n ? SAIKAI_EINVAL : 0;
    if (!rc && send->n)
        memcpy(recv->data, send->data, send->n);
    pace(s, send, recv);
    h->rc = rc;
    atomic_store(&h->done, 1);
    finish(s, found, rc);
}

static int post(struct sk_group *g, int is_send, void *data, size_t n, int from, int to, int tag,
                struct sk_request **req)
{
    struct sk_request *q = calloc(1, sizeof *q);
    if (!q)
        return SAIKAI_ENOMEM;
    q->h = (struct half){
        .is_send = is_send, .from = from, .tag = tag, .data = data, .n = n, .owner = g->rank};
    *req = q;
    meet(of(g)->s, to, &q->h);
    return 0;
}

static int fast_isend(struct sk_group *g, const void *data, size_t n, int to, int tag,
                      struct sk_request **req)
{
    return post(g, 1, (void *)data, n, g->rank, to, tag, req);
}

static int fast_irecv(struct sk_group *g, void *data, size_t n, int from, int tag,
                      struct sk_request **req)
{
    return post(g, 0, data, n, from, g->rank, tag, req);
}

static int fast_test(struct sk_group *g, struct sk_request **req, int *done)
{
    *done = !*req ||
            (atomic_load(&(*req)->h.done) && ((*req)->h.due <= 0 || (*req)->h.due <= sk_now()));
    if (!*req || !*done)
        return 0;
    int rc = (*req)->h.rc;
    free(*req);
    *req = NULL;
    return rc;
}

static int fast_wait(struct sk_group *g, struct sk_request **req)
{
    struct rank *r = &of(g)->s->rank[g->rank];
    int done;
    if (*req && !atomic_load(&(*req)->h.done)) {
        pthread_mutex_lock(&r->sleep);
        atomic_store(&r->sleeping, 1);
        while (!atomic_load(&(*req)->h.done))
            pthread_cond_wait(&r->wake, &r->sleep);
        atomic_store(&r->sleeping, 0);
        pthread_mutex_unlock(&r->sleep);
    }
    while (*req && (*req)->h.due > 0 && (*req)->h.due > sk_now())
        sk_sleep((*req)->h.due - sk_now());
    return fast_test(g, req, &done);
}

static int fast_barrier(struct sk_group *g)
{
    return sk_group_barrier(of(g)->slow);
}

static int fast_bcast(struct sk_group *g, void *data, size_t n, int root)
{
    return sk_group_bcast(of(g)->slow, data, n, root);
}

static int fast_allreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op)
{
    return sk_group_allreduce(of(g)->slow, v, count, op);
}

static int fast_allgather(struct sk_group *g, const void *in, void *out, size_t n)
{
    return sk_group_allgather(of(g)->slow, in, out, n);
}

static const struct sk_group_ops fast_ops = {
    .barrier = fast_barrier,
    .bcast = fast_bcast,
    .allreduce = fast_allreduce,
    .allgather = fast_allgather,
    .isend = fast_isend,
    .irecv = fast_irecv,
    .test = fast_test,
    .wait = fast_wait,
};

struct call {
    struct shared *s;
    int (*fn)(struct sk_group *g, void *arg);
    void *arg;
};

static int run_rank(struct sk_group *slow, void *arg)
{
    struct call *c = arg;
    struct fast f = {.g = {&fast_ops, slow->rank, slow->size, 0}, .slow = slow, .s = c->s};
    int rc = c->fn(&f.g, c->arg);
    sk_group_barrier(slow);
    return rc;
}

int sk_threads_run(int n, int (*fn)(struct sk_group *g, void *arg), void *arg)
{
    return sk_threads_run_paced(n, 0, 0, fn, arg);
}

int sk_threads_run_paced(int n, double bytes_per_second, double latency,
                         int (*fn)(struct sk_group *g, void *arg), void *arg)
{
    struct call c = {calloc(1, sizeof *c.s), fn, arg};
    if (!c.s || n > RANKS) {
        free(c.s);
        return SAIKAI_ENOMEM;
    }
    c.s->bytes_per_second = bytes_per_second;
    c.s->latency = latency;
    pthread_mutex_init(&c.s->links, NULL);
    for (int i = 0; i < n; i++) {
        struct rank *r = &c.s->rank[i];
        pthread_mutex_init(&r->lock, NULL);
        pthread_mutex_init(&r->sleep, NULL);
        pthread_cond_init(&r->wake, NULL);
        for (int k = 0; k < 2; k++)
            r->last[k] = &r->first[k];
    }
    int rc = sk_loop_run(n, run_rank, &c);
    free(c.s);
    return rc;
}
