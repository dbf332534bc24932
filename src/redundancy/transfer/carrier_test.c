/* Stripes through every form between ranks whose sends end only when they are received, as large messages of an MPI do: the
 * ranks take turns in one thread, so that each run is the same, and a circle of ranks that wait for one another is seen. */
#include "redundancy/transfer/carrier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RANKS = 6,
       STRIPES = 100,
       BLOCK = 64 };

/* ---- a group in which a message is there when both sides have asked for it ---- */

struct sk_request {
    int is_send, from, to, tag, ended;
    void *data;
    size_t n;
    struct sk_request *next;
};

struct queue {
    struct sk_request *first, **last;
    int met; /* messages so far */
};

struct meeting {
    struct sk_group g;
    struct queue *q;
};

static int post(struct sk_group *g, int is_send, void *data, size_t n, int peer, int tag, struct sk_request **req)
{
    struct queue *q = ((struct meeting *)g)->q;
    struct sk_request *r = calloc(1, sizeof *r);
    if (!r)
        return SAIKAI_ENOMEM;
    *r = (struct sk_request){is_send, is_send ? g->rank : peer, is_send ? peer : g->rank, tag, 0, data, n, NULL};
    *req = r;
    struct sk_request **at = &q->first;
    while (*at && ((*at)->is_send == is_send || (*at)->from != r->from || (*at)->to != r->to || (*at)->tag != tag))
        at = &(*at)->next;
    struct sk_request *other = *at;
    if (!other) {
        *q->last = r;
        q->last = &r->next;
        return 0;
    }
    *at = other->next;
    if (!*at)
        q->last = at;
    struct sk_request *send = is_send ? r : other, *receive = is_send ? other : r;
    assert_true(send->n <= receive->n);
    memcpy(receive->data, send->data, send->n);
    send->ended = receive->ended = 1;
    q->met++;
    return 0;
}

static int isend(struct sk_group *g, const void *data, size_t n, int to, int tag, struct sk_request **req)
{
    return post(g, 1, (void *)(uintptr_t)data, n, to, tag, req);
}

static int irecv(struct sk_group *g, void *data, size_t n, int from, int tag, struct sk_request **req)
{
    return post(g, 0, data, n, from, tag, req);
}

static int some(struct sk_group *g, struct sk_request **const req[], int n, int block, int *ended)
{
    (void)g;
    assert_false(block);
    *ended = 0;
    for (int i = 0; i < n; i++)
        if (*req[i] && (*req[i])->ended) {
            free(*req[i]);
            *req[i] = NULL;
            ++*ended;
        }
    return 0;
}

static const struct sk_group_ops meeting_ops = {.isend = isend, .irecv = irecv, .some = some};

/* ---- what is sent, and what has to come ---- */

struct work {
    int members, sinks;
    uint8_t data[RANKS][STRIPES][BLOCK], result[RANKS][STRIPES][BLOCK];
    int stored;
};

/* Roles rotate. Members who are neither only look on. */
static void stripe(void *arg, uint64_t t, struct sk_stripe *s)
{
    const struct work *w = arg;
    int n = w->members;
    *s = (struct sk_stripe){.sources = n - w->sinks, .sinks = w->sinks};
    for (int i = 0; i < s->sources; i++)
        s->source[i] = (struct sk_end){(int)((t + (uint64_t)i) % (uint64_t)n), BLOCK};
    for (int i = 0; i < s->sinks; i++)
        s->sink[i] = (struct sk_end){(int)((t + (uint64_t)(s->sources + i)) % (uint64_t)n), BLOCK};
    for (int i = 0; i < s->sinks * s->sources; i++)
        s->coef[i] = (uint8_t)(3 + 7 * i);
}

static const uint8_t *load(void *arg, int member, uint64_t t, uint32_t len, uint8_t *scratch)
{
    (void)len;
    (void)scratch;
    return ((struct work *)arg)->data[member][t];
}

static uint8_t *place(void *arg, int member, uint64_t t, uint32_t len, uint8_t *scratch)
{
    (void)arg;
    (void)member;
    (void)t;
    (void)len;
    return scratch;
}

static void stored(void *arg, int member, uint64_t t, uint32_t len, const uint8_t *data)
{
    struct work *w = arg;
    memcpy(w->result[member][t], data, len);
    w->stored++;
}

static const struct sk_carrier_ops work_ops = {stripe, load, place, stored};

static void check(struct work *w, const char *form)
{
    assert_int_equal(w->stored, STRIPES * w->sinks);
    for (uint64_t t = 0; t < STRIPES; t++) {
        struct sk_stripe s;
        const uint8_t *src[SK_MAX_DATA];
        uint8_t row[SK_MAX_PARITY][BLOCK], *rows[SK_MAX_PARITY];
        stripe(w, t, &s);
        for (int i = 0; i < s.sources; i++)
            src[i] = w->data[s.source[i].member][t];
        for (int i = 0; i < s.sinks; i++)
            rows[i] = row[i];
        sk_kernel_dot(BLOCK, s.sources, s.sinks, s.coef, src, rows);
        for (int i = 0; i < s.sinks; i++)
            if (memcmp(row[i], w->result[s.sink[i].member][t], BLOCK))
                fail_msg("%s, %d members, %d sinks: row %d of stripe %d is wrong", form, w->members, w->sinks, i, (int)t);
    }
}

/* `per` members on each rank. */
static void carry(const struct sk_transfer_ops *form, struct work *w, int window, int per, int in_order)
{
    struct queue q = {.last = &q.first};
    struct meeting g[RANKS];
    struct sk_carrier *c[RANKS];
    int rank_of[RANKS], done[RANKS] = {0}, all = 0, ranks = (w->members + per - 1) / per;
    w->stored = 0;
    for (int i = 0; i < RANKS; i++)
        rank_of[i] = i / per;
    for (int i = 0; i < ranks; i++) {
        g[i] = (struct meeting){{&meeting_ops, i, ranks, 0}, &q};
        struct sk_carrier_setup set = {.group = &g[i].g, .form = form, .ops = &work_ops, .arg = w, .members = w->members, .rank_of = rank_of, .stripes = STRIPES, .block = BLOCK, .max_sources = w->members - w->sinks, .max_sinks = w->sinks, .in_order = in_order, .window = window};
        assert_int_equal(sk_carrier_new(&set, &c[i], NULL), 0);
    }
    /* A message that one's step took off the way ends at the other only in its next one: two rounds without any are a circle. */
    for (int still = 0; !all && still < 3; still++) {
        int before = q.met;
        all = 1;
        for (int i = 0; i < ranks; i++) {
            assert_int_equal(sk_carrier_step(c[i], UINT64_MAX, 0, &done[i]), 0);
            all &= done[i];
        }
        still = q.met > before ? -1 : still;
    }
    if (!all)
        fail_msg("%s, %d members, %d on a rank, %d sinks, window %d, in order %d: the ranks wait for one another", form->name, w->members, per,
                 w->sinks, window, in_order);
    check(w, form->name);
    for (int i = 0; i < ranks; i++)
        sk_carrier_free(c[i]);
    assert_null(q.first);
}

static void no_ranks_wait_in_a_circle(void **state)
{
    (void)state;
    struct work *w = calloc(1, sizeof *w);
    assert_non_null(w);
    for (size_t i = 0; i < sizeof w->data; i++)
        (&w->data[0][0][0])[i] = (uint8_t)(i * i / 7 + i);
    const struct sk_transfer_ops *form;
    for (int f = 0; (form = sk_transfer_at(f)); f++)
        for (w->members = 2; w->members <= RANKS; w->members++)
            for (w->sinks = 1; w->sinks < w->members && w->sinks <= SK_MAX_PARITY; w->sinks++)
                for (int i = 0; i < 32; i++)
                    carry(form, w, 1 + i % 8, 1 + i / 8 % 2, i / 16);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_ranks_wait_in_a_circle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
