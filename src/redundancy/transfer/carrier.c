/* Advances the stripes of a window: enters each when there is memory, posts its messages, computes
 * when they have come, and never waits in a circle. */
#include "redundancy/transfer/carrier.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Stripes that may be under way when sources only send: few enough for their requests to be looked
 * through again and again, and no more than tags tell apart. */
enum { AHEAD = 24 };

/* What one local member does in one stripe under way. */
struct cell {
    int active, is_sink, at;
    enum { WAITING, RECEIVING, SENDING, ENDED } state; /* WAITING: for memory */
    struct sk_act act;
    const uint8_t *own;
    uint8_t *place; /* of the kept row, NULL: none */
    uint8_t *in[SK_MAX_DATA];
    uint8_t *row[SK_MAX_PARITY];
    struct sk_request *recv[SK_MAX_DATA], *send[SK_MAX_PARITY];
    uint8_t
        *scratch;    /* one block, for what the owner loads or places; its pages appear when used */
    uint8_t *memory; /* of what is received and added up, NULL: none is needed, or not yet there */
};

struct slot {
    struct sk_stripe s;
    struct cell *cell; /* [locals] */
};

/* Memory of one local member for what it receives, last used first: it is still in the cache. */
struct pool {
    uint8_t *memory[SK_WINDOW_MAX], *free[SK_WINDOW_MAX];
    int frees;
};

struct sk_carrier {
    struct sk_carrier *next_left; /* of those that failed */
    struct sk_carrier_setup set;
    int rank_of[SK_MAX_MEMBERS], local[SK_MAX_MEMBERS], locals;
    uint64_t base, next; /* stripes under way: [base, next) */
    int ahead;           /* stripes that may be under way */
    struct slot slot[AHEAD];
    struct pool *pool;         /* [locals] */
    struct sk_request ***open; /* room for all requests that can be under way */
    uint64_t sent[SK_MAX_MEMBERS];
    int failed;
};

/* Blocks of memory of a cell: one for each block received, and the rows of each sum. */
static size_t blocks_of(const struct sk_act *a)
{
    size_t n = (size_t)a->rows;
    for (int i = 0; i < a->ins; i++)
        n += a->in[i].load == SK_LOAD_BLOCK ? 1 : (size_t)a->in[i].rows;
    return n;
}

/* The most that any end of a full stripe needs: taken at the start, so that nothing can fail
 * half-way. *relays 1: there are sources that receive, too. */
static size_t most_blocks(const struct sk_carrier_setup *set, int *relays)
{
    struct sk_stripe s = {.sources = set->max_sources, .sinks = set->max_sinks};
    size_t most = 1;
    *relays = 0;
    for (int i = 0; i < s.sources; i++)
        s.source[i].len = set->block;
    for (int i = 0; i < s.sources + s.sinks; i++) {
        struct sk_act a;
        int is_sink = i >= s.sources;
        set->form->plan(&s, is_sink, is_sink ? i - s.sources : i, &a);
        size_t n = blocks_of(&a);
        most = n > most ? n : most;
        *relays |= !is_sink && a.ins;
    }
    return most;
}

static int make_slots(struct sk_carrier *e)
{
    int relays;
    size_t bytes = most_blocks(&e->set, &relays) * e->set.block;
    /* Sources that only send can do so long before somebody takes it: then ranks that share a core
     * work for long without a turn of the others. Where sums pass through sources, those that were
     * far ahead would only fill the memory of the next. */
    e->ahead = relays || e->set.window > AHEAD ? e->set.window : AHEAD;
    if (!(e->pool = calloc((size_t)e->locals + 1, sizeof *e->pool)) ||
        !(e->open =
              calloc((size_t)e->ahead * (size_t)(e->locals + 1) * (SK_MAX_DATA + SK_MAX_PARITY),
                     sizeof *e->open)))
        return SAIKAI_ENOMEM;
    for (int i = 0; i < e->locals; i++)
        for (int w = 0; w < e->set.window; w++) {
            if (!(e->pool[i].memory[w] = aligned_alloc(64, bytes)))
                return SAIKAI_ENOMEM;
            e->pool[i].free[e->pool[i].frees++] = e->pool[i].memory[w];
        }
    for (int w = 0; w < e->ahead && e->locals; w++) {
        if (!(e->slot[w].cell = calloc((size_t)e->locals, sizeof *e->slot[w].cell)))
            return SAIKAI_ENOMEM;
        for (int i = 0; i < e->locals; i++)
            if (!(e->slot[w].cell[i].scratch = aligned_alloc(64, e->set.block)))
                return SAIKAI_ENOMEM;
    }
    return 0;
}

int sk_carrier_window(uint32_t block)
{
    enum { LEAST = 4, UNDER_WAY = 256 << 10 };
    uint32_t n = UNDER_WAY / (block ? block : 1);
    return n < LEAST ? LEAST : n > SK_WINDOW_MAX ? SK_WINDOW_MAX : (int)n;
}

int sk_carrier_new(const struct sk_carrier_setup *setup, struct sk_carrier **out,
                   struct saikai_error *err)
{
    if (setup->members < 1 || setup->members > SK_MAX_MEMBERS || !setup->block ||
        setup->block % 64 || setup->window < 0 || setup->window > SK_WINDOW_MAX ||
        setup->max_sources < 1 || setup->max_sources > SK_MAX_DATA || setup->max_sinks < 1 ||
        setup->max_sinks > SK_MAX_PARITY)
        return sk_fail(err, SAIKAI_EINVAL, "coding of %d members with blocks of %u bytes",
                       setup->members, setup->block);
    struct sk_carrier *e = calloc(1, sizeof *e);
    if (!e)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for coding");
    e->set = *setup;
    if (!e->set.window)
        e->set.window = sk_carrier_window(setup->block);
    for (int i = 0; i < setup->members; i++) {
        e->rank_of[i] = setup->rank_of[i];
        if (e->rank_of[i] == setup->group->rank)
            e->local[e->locals++] = i;
    }
    e->set.rank_of = e->rank_of;
    if (make_slots(e)) {
        sk_carrier_free(e);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for coding");
    }
    *out = e;
    return 0;
}

/* What transfers that never ended may still write to stays as long as the process does. */
static void leave(struct sk_carrier *e)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct sk_carrier *all_left;
    pthread_mutex_lock(&lock);
    e->next_left = all_left;
    all_left = e;
    pthread_mutex_unlock(&lock);
}

void sk_carrier_free(struct sk_carrier *e)
{
    if (!e)
        return;
    if (e->failed) {
        leave(e);
        return;
    }
    for (int i = 0; e->pool && i < e->locals; i++)
        for (int w = 0; w < SK_WINDOW_MAX; w++)
            free(e->pool[i].memory[w]);
    for (int w = 0; w < AHEAD; w++) {
        for (int i = 0; e->slot[w].cell && i < e->locals; i++)
            free(e->slot[w].cell[i].scratch);
        free(e->slot[w].cell);
    }
    free(e->pool);
    free(e->open);
    free(e);
}

uint64_t sk_carrier_sent(const struct sk_carrier *e, uint64_t *to)
{
    uint64_t total = 0;
    for (int i = 0; i < e->set.members; i++) {
        total += e->sent[i];
        if (to)
            to[i] = e->sent[i];
    }
    return total;
}

/* In one stripe there is at most one message from one member to another. Messages of equal tag keep
 * their order, and each side posts its own in the order of the stripes. */
static int tag_of(uint64_t t, int from, int to)
{
    enum { PAIRS = SK_MAX_MEMBERS * SK_MAX_MEMBERS, APART = 25 };
    _Static_assert((int)PAIRS * (int)APART <= 32768, "tags");
    return (int)(t % APART) * PAIRS + from * SK_MAX_MEMBERS + to;
}

static size_t bytes_of(const struct sk_transfer_message *m)
{
    return m->load == SK_LOAD_BLOCK ? m->len : (size_t)m->rows * m->len;
}

static uint8_t *take_blocks(struct sk_carrier *e, uint8_t **at, int n)
{
    uint8_t *p = *at;
    if (p)
        *at += (size_t)n * e->set.block;
    return p;
}

/* Rows of the sums: the first incoming sums are added to where they lie; a kept row that nobody
 * else needs is made at its final place. */
static void lay_rows(struct sk_carrier *e, struct cell *c, const struct sk_stripe *s, uint8_t **at)
{
    struct sk_act *a = &c->act;
    int sums_in = a->ins && a->in[0].load == SK_LOAD_SUMS;
    uint8_t *rows = !*at ? c->place : sums_in ? c->in[0] : take_blocks(e, at, a->rows);
    for (int r = 0; rows && r < a->rows; r++)
        c->row[r] = rows + (size_t)r * a->len;
    if (c->place && !sums_in && a->len <= s->sink[c->at].len)
        c->row[a->keep - a->first] = c->place;
    /* one row that comes ready and stays: receive it where it stays */
    if (c->place && sums_in && a->ins == 1 && a->rows == 1 && a->len <= s->sink[c->at].len)
        c->in[0] = c->row[0] = c->place;
}

static int find_end(const struct sk_stripe *s, int member, int *is_sink, int *at)
{
    for (int i = 0; i < s->sources; i++)
        if (s->source[i].member == member) {
            *is_sink = 0;
            *at = i;
            return 1;
        }
    for (int i = 0; i < s->sinks; i++)
        if (s->sink[i].member == member) {
            *is_sink = 1;
            *at = i;
            return 1;
        }
    return 0;
}

static int receive(struct sk_carrier *e, struct cell *c, uint64_t t, int member)
{
    for (int i = 0; i < c->act.ins; i++) {
        const struct sk_transfer_message *m = &c->act.in[i];
        int rc = sk_group_irecv(e->set.group, c->in[i], bytes_of(m), e->rank_of[m->peer],
                                tag_of(t, m->peer, member), &c->recv[i]);
        if (rc)
            return rc;
    }
    return 0;
}

static int send_out(struct sk_carrier *e, struct cell *c, uint64_t t, int member)
{
    for (int i = 0; i < c->act.outs; i++) {
        const struct sk_transfer_message *m = &c->act.out[i];
        const uint8_t *from = m->load == SK_LOAD_BLOCK ? c->own : c->row[m->first - c->act.first];
        int rc = sk_group_isend(e->set.group, from, bytes_of(m), e->rank_of[m->peer],
                                tag_of(t, member, m->peer), &c->send[i]);
        if (rc)
            return rc;
        e->sent[m->peer] += bytes_of(m);
    }
    return 0;
}

/* What needs no memory of the pool: an end that only sends, and one row that comes ready and goes
 * where it stays. */
static int needs_memory(const struct cell *c, const struct sk_stripe *s)
{
    const struct sk_act *a = &c->act;
    if (!a->ins && (!a->rows || (c->place && a->rows == 1 && a->len <= s->sink[c->at].len)))
        return 0;
    return !(c->place && a->ins == 1 && a->in[0].load == SK_LOAD_SUMS && a->rows == 1 &&
             a->len <= s->sink[c->at].len);
}

static int enter_cell(struct sk_carrier *e, struct slot *slot, struct cell *c, uint64_t t,
                      int member)
{
    const struct sk_stripe *s = &slot->s;
    c->active = find_end(s, member, &c->is_sink, &c->at);
    c->state = ENDED;
    if (!c->active)
        return 0;
    if (s->sources)
        e->set.form->plan(s, c->is_sink, c->at, &c->act);
    else /* nothing to add up: the results are zero */
        c->act = (struct sk_act){.keep = c->at, .first = c->at, .rows = 1};
    c->state = WAITING;
    c->memory = NULL;
    c->place = NULL;
    if (c->is_sink)
        return 0;
    uint32_t own_len = s->source[c->at].len;
    c->own = e->set.ops->load(e->set.arg, member, t, own_len, c->scratch);
    if (c->act.adds_own && own_len < c->act.len) {
        if (c->own != c->scratch)
            memcpy(c->scratch, c->own, own_len);
        memset(c->scratch + own_len, 0, c->act.len - own_len);
        c->own = c->scratch;
    }
    return 0;
}

/* 1: the cell has its memory now, and its receives are posted; 0: others have to end first. */
static int begin_cell(struct sk_carrier *e, struct slot *slot, int i, uint64_t t)
{
    struct cell *c = &slot->cell[i];
    struct pool *pool = &e->pool[i];
    if (c->is_sink && !c->place)
        c->place =
            e->set.ops->place(e->set.arg, e->local[i], t, slot->s.sink[c->at].len, c->scratch);
    if (needs_memory(c, &slot->s)) {
        if (!pool->frees)
            return 0;
        c->memory = pool->free[--pool->frees];
    }
    uint8_t *at = c->memory;
    for (int k = 0; at && k < c->act.ins; k++)
        c->in[k] = take_blocks(e, &at, c->act.in[k].load == SK_LOAD_BLOCK ? 1 : c->act.in[k].rows);
    lay_rows(e, c, &slot->s, &at);
    c->state = RECEIVING;
    int rc = receive(e, c, t, e->local[i]);
    return rc ? rc : 1;
}

/* Incoming sums may be shorter than what this end passes on: move the rows apart and add the zeros.
 */
static void widen(uint8_t *rows, int n, uint32_t from, uint32_t to)
{
    for (int r = n - 1; from < to && r >= 0; r--) {
        memmove(rows + (size_t)r * to, rows + (size_t)r * from, from);
        memset(rows + (size_t)r * to + from, 0, to - from);
    }
}

/* Coefficients of source s for the rows of this act. */
static void column(const struct sk_stripe *s, const struct sk_act *a, int source, uint8_t *out)
{
    for (int r = 0; r < a->rows; r++)
        out[r] = s->coef[(a->first + r) * s->sources + source];
}

static void add_sums(struct cell *c, const struct sk_stripe *s)
{
    static const uint8_t one[SK_MAX_PARITY] = {1, 1, 1, 1};
    struct sk_act *a = &c->act;
    widen(c->in[0], a->rows, a->in[0].len, a->len);
    for (int i = 1; i < a->ins; i++)
        for (int r = 0; r < a->rows; r++)
            sk_kernel_add(a->in[i].len, 1, one, c->in[i] + (size_t)r * a->in[i].len, &c->row[r]);
    if (a->adds_own) {
        uint8_t coef[SK_MAX_PARITY];
        column(s, a, c->at, coef);
        sk_kernel_add(a->len, a->rows, coef, c->own, c->row);
    }
}

static void multiply_blocks(struct cell *c, const struct sk_stripe *s)
{
    struct sk_act *a = &c->act;
    const uint8_t *src[SK_MAX_DATA];
    uint8_t coef[SK_MAX_PARITY * SK_MAX_DATA];
    int n = a->adds_own ? 1 : a->ins;
    for (int i = 0; i < n; i++) {
        int source = a->adds_own ? c->at : a->in[i].source;
        src[i] = a->adds_own ? c->own : c->in[i];
        if (!a->adds_own && a->in[i].len < a->len)
            memset(c->in[i] + a->in[i].len, 0, a->len - a->in[i].len);
        for (int r = 0; r < a->rows; r++)
            coef[r * n + i] = s->coef[(a->first + r) * s->sources + source];
    }
    sk_kernel_dot(a->len, n, a->rows, coef, src, c->row);
}

static void compute(struct sk_carrier *e, struct slot *slot, struct cell *c, uint64_t t, int member)
{
    struct sk_act *a = &c->act;
    if (a->ins && a->in[0].load == SK_LOAD_SUMS)
        add_sums(c, &slot->s);
    else if (a->rows)
        multiply_blocks(c, &slot->s);
    if (a->keep < 0)
        return;
    uint32_t len = slot->s.sink[c->at].len, have = a->len < len ? a->len : len;
    uint8_t *row = c->row[a->keep - a->first];
    if (row != c->place)
        memcpy(c->place, row, have);
    if (have < len)
        memset(c->place + have, 0, len - have);
    e->set.ops->stored(e->set.arg, member, t, len, c->place);
}

static int none_open(struct sk_request *const *req, int n)
{
    for (int i = 0; i < n; i++)
        if (req[i])
            return 0;
    return 1;
}

/* End what can be ended of all that is under way; with block, wait for the first of it. */
static int take_ended(struct sk_carrier *e, int block, int *ended)
{
    int n = 0;
    for (uint64_t t = e->base; t < e->next; t++)
        for (int i = 0; i < e->locals; i++) {
            struct cell *c = &e->slot[t % (uint64_t)e->ahead].cell[i];
            for (int k = 0; c->state == RECEIVING && k < c->act.ins; k++)
                if (c->recv[k])
                    e->open[n++] = &c->recv[k];
            for (int k = 0; c->state == SENDING && k < c->act.outs; k++)
                if (c->send[k])
                    e->open[n++] = &c->send[k];
        }
    return sk_group_some(e->set.group, e->open, n, block, ended);
}

/* An older result of this member is still to come. */
static int has_older(const struct sk_carrier *e, int i, uint64_t t)
{
    for (uint64_t u = e->base; u < t; u++) {
        const struct cell *c = &e->slot[u % (uint64_t)e->ahead].cell[i];
        if (c->is_sink && (c->state == WAITING || c->state == RECEIVING))
            return 1;
    }
    return 0;
}

/* As far as it goes without another message. 1: something changed, 0: not, negative: the group
 * failed. *posted 1: receives were posted, which may have been answered at once. */
static int advance(struct sk_carrier *e, struct slot *slot, int i, uint64_t t, int *posted)
{
    struct cell *c = &slot->cell[i];
    int changed = 0, rc;
    *posted = 0;
    if (c->state == WAITING) {
        if ((rc = begin_cell(e, slot, i, t)) <= 0)
            return rc;
        *posted = c->act.ins > 0;
        changed = 1;
    }
    if (c->state == RECEIVING && none_open(c->recv, c->act.ins) &&
        !(e->set.in_order && c->is_sink && has_older(e, i, t))) {
        compute(e, slot, c, t, e->local[i]);
        if ((rc = send_out(e, c, t, e->local[i])))
            return rc;
        c->state = SENDING;
        changed = 1;
    }
    if (c->state == SENDING && none_open(c->send, c->act.outs)) {
        if (c->memory)
            e->pool[i].free[e->pool[i].frees++] = c->memory;
        c->memory = NULL;
        c->state = ENDED;
        changed = 1;
    }
    return changed;
}

static int enter(struct sk_carrier *e)
{
    uint64_t t = e->next;
    struct slot *slot = &e->slot[t % (uint64_t)e->ahead];
    e->set.ops->stripe(e->set.arg, t, &slot->s);
    e->next++;
    for (int i = 0; i < e->locals; i++) {
        struct cell *c = &slot->cell[i];
        int posted, rc = enter_cell(e, slot, c, t, e->local[i]);
        /* What only sends does it now. Not if that takes memory: an older stripe may wait for it, and the others for that one. */
        if (!rc && c->active && !c->is_sink && !c->act.ins && !needs_memory(c, &slot->s))
            rc = advance(e, slot, i, t, &posted);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int ended(const struct sk_carrier *e, const struct slot *slot)
{
    for (int i = 0; i < e->locals; i++)
        if (slot->cell[i].state != ENDED)
            return 0;
    return 1;
}

/* One look at every stripe under way, the oldest first. Receives that were just posted are looked
 * after at once, so that one stripe after the other goes through the same memory, until a look
 * finds that the others have not come so far. */
static int sweep(struct sk_carrier *e)
{
    int changed = 0, look = 1;
    for (uint64_t t = e->base; t < e->next; t++) {
        struct slot *slot = &e->slot[t % (uint64_t)e->ahead];
        for (int i = 0; i < e->locals; i++) {
            int posted, rc = advance(e, slot, i, t, &posted), some = 0;
            if (rc > 0 && posted && look) {
                int bad = take_ended(e, 0, &some), more;
                if (bad)
                    return bad;
                look = some > 0;
                more = advance(e, slot, i, t, &posted);
                rc = more < 0 ? more : rc;
            }
            if (rc < 0)
                return rc;
            changed |= rc;
        }
    }
    return changed;
}

/* Waiting cannot lock up: of all ranks' unfinished stripes take the lowest. Memory is taken in the
 * order of the stripes, so that each of its ends has its memory or will get it without waiting for
 * others, and what it waits for is sent. */
static int step(struct sk_carrier *e, uint64_t stripes, int block, int *done)
{
    for (uint64_t stop = stripes < UINT64_MAX - e->base ? e->base + stripes : UINT64_MAX;;) {
        while (e->base < e->next && ended(e, &e->slot[e->base % (uint64_t)e->ahead]))
            e->base++;
        *done = e->base == e->set.stripes;
        if (*done || e->base >= stop)
            return 0;
        int entered = 0, rc, some = 0;
        while (e->next < e->set.stripes && e->next < e->base + (uint64_t)e->ahead) {
            if ((rc = enter(e)))
                return rc;
            entered = 1;
        }
        int changed = sweep(e);
        if (changed < 0)
            return changed;
        if (changed || entered)
            continue;
        if ((rc = take_ended(e, block, &some)))
            return rc;
        if (!some && !block)
            return 0;
    }
}

int sk_carrier_step(struct sk_carrier *e, uint64_t stripes, int block, int *done)
{
    *done = 0;
    if (e->failed)
        return e->failed;
    if (!e->locals) {
        *done = 1;
        return 0;
    }
    e->failed = step(e, stripes, block, done);
    return e->failed;
}
