/* A group of N ranks that are threads of one process.
 *
 * All collectives rest on one device, the exchange: every rank puts some bytes in, and when all
 * have, every rank can read what each put in. The n-th collective of a rank meets the n-th of the
 * others. A rank that waits is woken by what is for it alone: thousands of messages between many
 * ranks would else wake all of them each time. */
#include "group/loop.h"
#include "group/group.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct exchange {
    uint64_t number;
    int arrived, left;
    void **data; /* [size], malloc'ed */
    size_t *size;
    struct exchange *next;
};

struct message {
    int from, to, tag;
    size_t n;
    void *data;
    struct message *next;
};

struct world {
    pthread_mutex_t lock;
    pthread_cond_t *wake; /* [size] */
    int size, users;
    struct exchange *exchanges;
    struct message *first, **last;
};

struct loop {
    struct sk_group g;
    struct world *w;
    uint64_t collectives;    /* started by this rank */
    struct sk_request *open; /* its requests that are not finished: a rank that "crashes" leaves some */
};

struct sk_request {
    enum { RECEIVE, REDUCE } kind;
    /* RECEIVE */
    void *out;
    size_t n;
    int from, tag;
    /* REDUCE */
    struct exchange *x;
    int64_t *v;
    int count;
    enum sk_op op;
    struct sk_request *next; /* in the rank's list of open ones */
};

static struct world *world_new(int size)
{
    struct world *w = calloc(1, sizeof *w);
    pthread_cond_t *wake = calloc((size_t)size, sizeof *wake);
    if (!w || !wake) {
        free(w);
        free(wake);
        return NULL;
    }
    pthread_mutex_init(&w->lock, NULL);
    for (int i = 0; i < size; i++)
        pthread_cond_init(&wake[i], NULL);
    w->wake = wake;
    w->size = w->users = size;
    w->last = &w->first;
    return w;
}

static void exchange_free(struct exchange *x, int size)
{
    for (int i = 0; x->data && i < size; i++)
        free(x->data[i]);
    free(x->data);
    free(x->size);
    free(x);
}

static void world_leave(struct world *w)
{
    pthread_mutex_lock(&w->lock);
    int users = --w->users;
    pthread_mutex_unlock(&w->lock);
    if (users)
        return;
    for (struct exchange *x = w->exchanges, *next; x; x = next) {
        next = x->next;
        exchange_free(x, w->size);
    }
    for (struct message *m = w->first, *next; m; m = next) {
        next = m->next;
        free(m->data);
        free(m);
    }
    for (int i = 0; i < w->size; i++)
        pthread_cond_destroy(&w->wake[i]);
    free(w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static struct loop *of(struct sk_group *g)
{
    return (struct loop *)g;
}

/* Put n bytes into this rank's next collective. */
static struct exchange *join(struct loop *l, const void *in, size_t n)
{
    struct world *w = l->w;
    uint64_t number = l->collectives++;
    void *copy = malloc(n ? n : 1);
    if (!copy)
        return NULL;
    if (n)
        memcpy(copy, in, n);
    pthread_mutex_lock(&w->lock);
    struct exchange *x = w->exchanges;
    while (x && x->number != number)
        x = x->next;
    if (!x && (x = calloc(1, sizeof *x))) {
        x->number = number;
        x->data = calloc((size_t)w->size, sizeof *x->data);
        x->size = calloc((size_t)w->size, sizeof *x->size);
        if (!x->data || !x->size) {
            exchange_free(x, 0);
            x = NULL;
        } else {
            x->next = w->exchanges;
            w->exchanges = x;
        }
    }
    if (x) {
        x->data[l->g.rank] = copy;
        x->size[l->g.rank] = n;
        if (++x->arrived == w->size)
            for (int i = 0; i < w->size; i++)
                pthread_cond_broadcast(&w->wake[i]);
    } else {
        free(copy);
    }
    pthread_mutex_unlock(&w->lock);
    return x;
}

static void wait_for_all(struct loop *l, struct exchange *x)
{
    pthread_mutex_lock(&l->w->lock);
    while (x->arrived < l->w->size)
        pthread_cond_wait(&l->w->wake[l->g.rank], &l->w->lock);
    pthread_mutex_unlock(&l->w->lock);
}

static void leave(struct loop *l, struct exchange *x)
{
    struct world *w = l->w;
    pthread_mutex_lock(&w->lock);
    if (++x->left == w->size) {
        struct exchange **at = &w->exchanges;
        while (*at != x)
            at = &(*at)->next;
        *at = x->next;
        exchange_free(x, w->size);
    }
    pthread_mutex_unlock(&w->lock);
}

static int loop_allgather(struct sk_group *g, const void *in, void *out, size_t n)
{
    struct exchange *x = join(of(g), in, n);
    if (!x)
        return SAIKAI_ENOMEM;
    wait_for_all(of(g), x);
    int rc = 0;
    for (int i = 0; i < g->size; i++) {
        if (x->size[i] != n)
            rc = SAIKAI_EINVAL;
        else if (n)
            memcpy((char *)out + (size_t)i * n, x->data[i], n);
    }
    leave(of(g), x);
    return rc;
}

static int loop_barrier(struct sk_group *g)
{
    return loop_allgather(g, NULL, NULL, 0);
}

static int loop_bcast(struct sk_group *g, void *data, size_t n, int root)
{
    struct exchange *x = join(of(g), data, g->rank == root ? n : 0);
    if (!x)
        return SAIKAI_ENOMEM;
    wait_for_all(of(g), x);
    int rc = x->size[root] == n ? 0 : SAIKAI_EINVAL;
    if (!rc && g->rank != root && n)
        memcpy(data, x->data[root], n);
    leave(of(g), x);
    return rc;
}

static int64_t reduce(enum sk_op op, int64_t a, int64_t b)
{
    return op == SK_OP_SUM ? a + b : op == SK_OP_MIN ? (a < b ? a : b) : (a > b ? a : b);
}

static int finish_reduce(struct sk_group *g, struct exchange *x, int64_t *v, int count, enum sk_op op)
{
    int rc = 0;
    for (int i = 0; i < g->size; i++)
        if (x->size[i] != (size_t)count * sizeof *v)
            rc = SAIKAI_EINVAL;
    for (int k = 0; !rc && k < count; k++) {
        int64_t total = ((int64_t *)x->data[0])[k];
        for (int i = 1; i < g->size; i++)
            total = reduce(op, total, ((int64_t *)x->data[i])[k]);
        v[k] = total;
    }
    leave(of(g), x);
    return rc;
}

static int loop_allreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op)
{
    struct exchange *x = join(of(g), v, (size_t)count * sizeof *v);
    if (!x)
        return SAIKAI_ENOMEM;
    wait_for_all(of(g), x);
    return finish_reduce(g, x, v, count, op);
}

static int loop_iallreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op,
                           struct sk_request **req)
{
    struct sk_request *r = calloc(1, sizeof *r);
    if (!r)
        return SAIKAI_ENOMEM;
    *r = (struct sk_request){.kind = REDUCE, .v = v, .count = count, .op = op};
    if (!(r->x = join(of(g), v, (size_t)count * sizeof *v))) {
        free(r);
        return SAIKAI_ENOMEM;
    }
    r->next = of(g)->open;
    *req = of(g)->open = r;
    return 0;
}

static int loop_isend(struct sk_group *g, const void *data, size_t n, int to, int tag,
                      struct sk_request **req)
{
    struct world *w = of(g)->w;
    struct message *m = malloc(sizeof *m);
    void *copy = malloc(n ? n : 1);
    if (!m || !copy || to < 0 || to >= g->size) {
        free(m);
        free(copy);
        return to < 0 || to >= g->size ? SAIKAI_EINVAL : SAIKAI_ENOMEM;
    }
    if (n)
        memcpy(copy, data, n);
    *m = (struct message){g->rank, to, tag, n, copy, NULL};
    pthread_mutex_lock(&w->lock);
    *w->last = m;
    w->last = &m->next;
    pthread_cond_broadcast(&w->wake[to]);
    pthread_mutex_unlock(&w->lock);
    *req = NULL; /* the copy is on its way: done */
    return 0;
}

static int loop_irecv(struct sk_group *g, void *data, size_t n, int from, int tag,
                      struct sk_request **req)
{
    if (from < 0 || from >= g->size)
        return SAIKAI_EINVAL;
    struct sk_request *r = calloc(1, sizeof *r);
    if (!r)
        return SAIKAI_ENOMEM;
    *r = (struct sk_request){.kind = RECEIVE, .out = data, .n = n, .from = from, .tag = tag, .next = of(g)->open};
    *req = of(g)->open = r;
    return 0;
}

/* With the lock held: take the first message for this receive; 1 done, 0 not yet, negative: too long. */
static int take(struct sk_group *g, struct sk_request *r)
{
    struct world *w = of(g)->w;
    for (struct message **at = &w->first, *m; (m = *at); at = &m->next) {
        if (m->to != g->rank || m->from != r->from || m->tag != r->tag)
            continue;
        *at = m->next;
        if (!m->next)
            w->last = at;
        int rc = m->n > r->n ? SAIKAI_EINVAL : 1;
        if (rc == 1 && m->n)
            memcpy(r->out, m->data, m->n);
        free(m->data);
        free(m);
        return rc;
    }
    return 0;
}

/* With the lock held: 1 it has ended, 0 not yet, negative: it failed. */
static int look(struct sk_group *g, struct sk_request *r)
{
    return r->kind == RECEIVE ? take(g, r) : r->x->arrived == of(g)->w->size;
}

/* What look said of a request is not 0: take its result, free it. */
static int end(struct sk_group *g, struct sk_request **req, int rc)
{
    struct sk_request *r = *req;
    if (r->kind == REDUCE)
        rc = finish_reduce(g, r->x, r->v, r->count, r->op);
    struct sk_request **at = &of(g)->open;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    free(r);
    *req = NULL;
    return rc < 0 ? rc : 0;
}

static int progress(struct sk_group *g, struct sk_request **req, int block, int *done)
{
    struct world *w = of(g)->w;
    int rc;
    pthread_mutex_lock(&w->lock);
    while (!(rc = look(g, *req)) && block)
        pthread_cond_wait(&w->wake[g->rank], &w->lock);
    pthread_mutex_unlock(&w->lock);
    *done = rc != 0;
    return rc ? end(g, req, rc) : 0;
}

static int loop_some(struct sk_group *g, struct sk_request **const req[], int n, int block, int *ended)
{
    struct world *w = of(g)->w;
    int rc = 0;
    *ended = 0;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        int open = 0;
        for (int i = 0; !rc && i < n; i++) {
            int now = *req[i] ? look(g, *req[i]) : 0;
            open += *req[i] && !now;
            if (!now)
                continue;
            pthread_mutex_unlock(&w->lock); /* the end of a reduction takes it */
            rc = end(g, req[i], now);
            ++*ended;
            pthread_mutex_lock(&w->lock);
        }
        if (rc || *ended || !open || !block)
            break;
        pthread_cond_wait(&w->wake[g->rank], &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return rc;
}

static int loop_test(struct sk_group *g, struct sk_request **req, int *done)
{
    *done = 1;
    return *req ? progress(g, req, 0, done) : 0;
}

static int loop_wait(struct sk_group *g, struct sk_request **req)
{
    int done;
    return *req ? progress(g, req, 1, &done) : 0;
}

static const struct sk_group_ops loop_ops;

static struct sk_group *rank_new(struct world *w, int rank)
{
    struct loop *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->g = (struct sk_group){&loop_ops, rank, w->size, 1};
    l->w = w;
    return &l->g;
}

struct place {
    int colour, key, rank;
};

static int loop_split(struct sk_group *g, int colour, int key, struct sk_group **out)
{
    struct place mine = {colour, key, g->rank}, *all = calloc((size_t)g->size, sizeof *all);
    struct world **made = calloc((size_t)g->size, sizeof *made), *w = NULL;
    int rc = all && made ? loop_allgather(g, &mine, all, sizeof mine) : SAIKAI_ENOMEM;
    int size = 0, rank = 0, leader = g->size;
    for (int i = 0; !rc && colour >= 0 && i < g->size; i++) {
        if (all[i].colour != colour)
            continue;
        size++;
        if (i < leader)
            leader = i;
        if (all[i].key < key || (all[i].key == key && i < g->rank))
            rank++;
    }
    if (!rc && leader == g->rank)
        w = world_new(size);
    if (!rc)
        rc = loop_allgather(g, &w, made, sizeof w);
    struct sk_group *sub = NULL;
    if (!rc && colour >= 0)
        rc = made[leader] && (sub = rank_new(made[leader], rank)) ? 0 : SAIKAI_ENOMEM;
    free(all);
    free(made);
    if (!rc)
        *out = sub;
    return rc;
}

static void loop_free(struct sk_group *g)
{
    for (struct sk_request *r = of(g)->open, *next; r; r = next) {
        next = r->next;
        free(r);
    }
    world_leave(of(g)->w);
    free(g);
}

static const struct sk_group_ops loop_ops = {
    loop_barrier, loop_bcast, loop_allreduce, loop_allgather, loop_iallreduce, loop_isend,
    loop_irecv,   loop_test,  loop_wait,      loop_split,     loop_free,      loop_some,
};

struct starter {
    struct sk_group *g;
    int (*fn)(struct sk_group *g, void *arg);
    void *arg;
    int rc;
};

static void *start(void *p)
{
    struct starter *s = p;
    s->rc = s->fn(s->g, s->arg);
    return NULL;
}

int sk_loop_run(int n, int (*fn)(struct sk_group *g, void *arg), void *arg)
{
    struct world *w = n > 0 ? world_new(n) : NULL;
    struct starter *s = calloc((size_t)(n > 0 ? n : 1), sizeof *s);
    pthread_t *t = calloc((size_t)(n > 0 ? n : 1), sizeof *t);
    int rc = w && s && t ? 0 : SAIKAI_ENOMEM, started = 0;
    for (int i = 0; !rc && i < n; i++) {
        s[i] = (struct starter){rank_new(w, i), fn, arg, 0};
        if (!s[i].g)
            rc = SAIKAI_ENOMEM;
    }
    for (; !rc && started < n; started++)
        if (pthread_create(&t[started], NULL, start, &s[started]))
            break;
    if (!rc && started < n)
        rc = SAIKAI_ENOMEM; /* the ranks that run wait for ever: only a test's time limit ends them */
    for (int i = 0; i < started; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < n && s && s[i].g; i++) {
        if (!rc && s[i].rc)
            rc = s[i].rc;
        sk_group_free(s[i].g);
    }
    free(s);
    free(t);
    return rc;
}
