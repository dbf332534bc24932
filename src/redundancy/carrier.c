#include "redundancy/carrier.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* What one local member does in one stripe of the window. */
struct cell {
    int active, is_sink, at;
    enum { RECEIVING, SENDING, ENDED } state;
    struct sk_act act;
    const uint8_t *own;
    uint8_t *place; /* of the kept row, NULL: none */
    uint8_t *in[SK_MAX_DATA];
    uint8_t *row[SK_MAX_PARITY];
    struct sk_request *recv[SK_MAX_DATA], *send[SK_MAX_PARITY];
    uint8_t *memory;
};

struct slot {
    struct sk_stripe s;
    struct cell *cell; /* [locals] */
};

struct sk_carrier {
    struct sk_carrier_setup set;
    int rank_of[SK_MAX_MEMBERS], local[SK_MAX_MEMBERS], locals;
    uint64_t base, next; /* stripes under way: [base, next) */
    struct slot slot[SK_WINDOW_MAX];
    uint64_t sent[SK_MAX_MEMBERS];
    int failed;
};

/* Blocks of memory of a cell: one for scratch, one for each block received, and the rows of each
 * sum. */
static size_t blocks_of(const struct sk_act *a)
{
    size_t n = 1 + (size_t)a->rows;
    for (int i = 0; i < a->ins; i++)
        n += a->in[i].load == SK_LOAD_BLOCK ? 1 : (size_t)a->in[i].rows;
    return n;
}

/* The most that any end of a full stripe needs: taken at the start, so that nothing can fail
 * half-way. */
static size_t most_blocks(const struct sk_carrier_setup *set)
{
    struct sk_stripe s = {.sources = set->max_sources, .sinks = set->max_sinks};
    size_t most = 2;
    for (int i = 0; i < s.sources; i++)
        s.source[i].len = set->block;
    for (int i = 0; i < s.sources + s.sinks; i++) {
        struct sk_act a;
        int is_sink = i >= s.sources;
        set->form->plan(&s, is_sink, is_sink ? i - s.sources : i, &a);
        size_t n = blocks_of(&a);
        most = n > most ? n : most;
    }
    return most;
}

static int make_slots(struct sk_carrier *e)
{
    size_t bytes = most_blocks(&e->set) * e->set.block;
    for (int w = 0; w < e->set.window && e->locals; w++) {
        if (!(e->slot[w].cell = calloc((size_t)e->locals, sizeof *e->slot[w].cell)))
            return SAIKAI_ENOMEM;
        for (int i = 0; i < e->locals; i++)
            if (!(e->slot[w].cell[i].memory = aligned_alloc(64, bytes)))
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

void sk_carrier_free(struct sk_carrier *e)
{
    if (!e)
        return;
    for (int w = 0; w < SK_WINDOW_MAX; w++) {
        for (int i = 0; e->slot[w].cell && i < e->locals; i++)
            if (!e->failed)
                free(e->slot[w].cell[i].memory);
        free(e->slot[w].cell);
    }
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

/* In one stripe there is at most one message from one member to another. The window is shorter than
 * the number of stripes that tags tell apart, and messages of equal tag keep their order. */
static int tag_of(uint64_t t, int from, int to)
{
    enum { PAIRS = SK_MAX_MEMBERS * SK_MAX_MEMBERS, APART = 25 };
    _Static_assert((int)PAIRS * (int)APART <= 32768 && (int)APART > SK_WINDOW_MAX, "tags");
    return (int)(t % APART) * PAIRS + from * SK_MAX_MEMBERS + to;
}

static size_t bytes_of(const struct sk_message *m)
{
    return m->load == SK_LOAD_BLOCK ? m->len : (size_t)m->rows * m->len;
}

static uint8_t *take_blocks(struct sk_carrier *e, uint8_t **at, int n)
{
    uint8_t *p = *at;
    *at += (size_t)n * e->set.block;
    return p;
}

/* Rows of the sums: the first incoming sums are added to where they lie; a kept row that nobody
 * else needs is made at its final place. */
static void lay_rows(struct sk_carrier *e, struct cell *c, const struct sk_stripe *s, uint8_t **at)
{
    struct sk_act *a = &c->act;
    int sums_in = a->ins && a->in[0].load == SK_LOAD_SUMS;
    uint8_t *rows = sums_in ? c->in[0] : take_blocks(e, at, a->rows);
    for (int r = 0; r < a->rows; r++)
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
        const struct sk_message *m = &c->act.in[i];
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
        const struct sk_message *m = &c->act.out[i];
        const uint8_t *from = m->load == SK_LOAD_BLOCK ? c->own : c->row[m->first - c->act.first];
        int rc = sk_group_isend(e->set.group, from, bytes_of(m), e->rank_of[m->peer],
                                tag_of(t, member, m->peer), &c->send[i]);
        if (rc)
            return rc;
        e->sent[m->peer] += bytes_of(m);
    }
    return 0;
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
    uint8_t *at = c->memory, *scratch = take_blocks(e, &at, 1);
    for (int i = 0; i < c->act.ins; i++)
        c->in[i] = take_blocks(e, &at, c->act.in[i].load == SK_LOAD_BLOCK ? 1 : c->act.in[i].rows);
    c->place = NULL;
    if (c->is_sink)
        c->place = e->set.ops->place(e->set.arg, member, t, s->sink[c->at].len, scratch);
    lay_rows(e, c, s, &at);
    c->state = RECEIVING;
    int rc = receive(e, c, t, member);
    if (rc || c->is_sink)
        return rc;
    uint32_t own_len = s->source[c->at].len;
    c->own = e->set.ops->load(e->set.arg, member, t, own_len, scratch);
    if (c->act.adds_own && own_len < c->act.len) {
        if (c->own != scratch)
            memcpy(scratch, c->own, own_len);
        memset(scratch + own_len, 0, c->act.len - own_len);
        c->own = scratch;
    }
    return 0;
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

static int all_done(struct sk_carrier *e, struct sk_request **req, int n, int block, int *done)
{
    *done = 1;
    for (int i = 0; i < n; i++) {
        int rc = 0, one = 1;
        if (req[i] && block)
            rc = sk_group_wait(e->set.group, &req[i]);
        else if (req[i])
            rc = sk_group_test(e->set.group, &req[i], &one);
        if (rc)
            return rc;
        if (!one) {
            *done = 0;
            return 0;
        }
    }
    return 0;
}

/* 1: something changed, 0: not, negative: the group failed. */
static int advance(struct sk_carrier *e, struct slot *slot, int i, uint64_t t, int block)
{
    struct cell *c = &slot->cell[i];
    int done, changed = 0, rc;
    if (c->state == RECEIVING) {
        if ((rc = all_done(e, c->recv, c->act.ins, block, &done)))
            return rc;
        if (!done)
            return 0;
        compute(e, slot, c, t, e->local[i]);
        if ((rc = send_out(e, c, t, e->local[i])))
            return rc;
        c->state = SENDING;
        changed = 1;
        block = 0; /* one wait may be enough: see first what else goes on */
    }
    if (c->state == SENDING) {
        if ((rc = all_done(e, c->send, c->act.outs, block, &done)))
            return rc;
        if (done) {
            c->state = ENDED;
            changed = 1;
        }
    }
    return changed;
}

static int enter(struct sk_carrier *e)
{
    uint64_t t = e->next;
    struct slot *slot = &e->slot[t % (uint64_t)e->set.window];
    e->set.ops->stripe(e->set.arg, t, &slot->s);
    for (int i = 0; i < e->locals; i++) {
        int rc = enter_cell(e, slot, &slot->cell[i], t, e->local[i]);
        if (rc)
            return rc;
    }
    e->next++;
    return 0;
}

static int ended(const struct sk_carrier *e, const struct slot *slot)
{
    for (int i = 0; i < e->locals; i++)
        if (slot->cell[i].state != ENDED)
            return 0;
    return 1;
}

/* One look at every stripe of the window; with block, wait for the oldest one. Waiting for the
 * oldest cannot lock up: of all waiting ranks, one waits in the lowest stripe and nearest to its
 * sources, and what it waits for is sent. */
static int sweep(struct sk_carrier *e, int block)
{
    int changed = 0;
    for (uint64_t t = e->base; t < e->next; t++) {
        struct slot *slot = &e->slot[t % (uint64_t)e->set.window];
        for (int i = 0; i < e->locals; i++) {
            int rc = advance(e, slot, i, t, block);
            if (rc < 0)
                return rc;
            changed |= rc;
            if (block && rc)
                return 1;
        }
    }
    return changed;
}

static int step(struct sk_carrier *e, uint64_t stripes, int block, int *done)
{
    for (uint64_t stop = stripes < UINT64_MAX - e->base ? e->base + stripes : UINT64_MAX;;) {
        while (e->base < e->next && ended(e, &e->slot[e->base % (uint64_t)e->set.window]))
            e->base++;
        *done = e->base == e->set.stripes;
        if (*done || e->base >= stop)
            return 0;
        int entered = 0, rc;
        while (e->next < e->set.stripes && e->next < e->base + (uint64_t)e->set.window) {
            if ((rc = enter(e)))
                return rc;
            entered = 1;
        }
        int changed = sweep(e, 0);
        if (changed < 0)
            return changed;
        if (changed || entered)
            continue;
        if (!block)
            return 0;
        if (e->locals >
            1) /* one member here may wait, through others, for another member here: never block */
            sk_sleep(20e-6);
        else if ((rc = sweep(e, 1)) < 0)
            return rc;
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
