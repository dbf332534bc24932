/* Bytes of questions and answers about failure rates. */
#include "backbone/rates/message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const uint32_t magic = 0x31464b53; /* "SKF1" */

static void put_belief(struct sk_buf *b, struct sk_belief v)
{
    sk_buf_put_f64(b, v.faults);
    sk_buf_put_f64(b, v.seconds);
}

static void put_ask(struct sk_buf *b, const struct sk_rates_exchange *x)
{
    sk_buf_put_f64(b, x->memory);
    sk_buf_put_str(b, x->job);
    sk_buf_put_u32(b, (uint32_t)x->n);
    for (int i = 0; i < x->n; i++)
        sk_buf_put_str(b, x->host[i].name);
}

static void put_told(struct sk_buf *b, const struct sk_rates_exchange *x)
{
    put_belief(b, x->nodes);
    put_belief(b, x->others);
    put_belief(b, x->seen);
    sk_buf_put_f64(b, x->shape);
    sk_buf_put_u32(b, (uint32_t)x->n);
    for (int i = 0; i < x->n; i++) {
        put_belief(b, x->host[i].seen);
        sk_buf_put_f64(b, x->host[i].stated);
    }
}

static void put_add(struct sk_buf *b, const struct sk_rates_exchange *x)
{
    sk_buf_put_f64(b, x->now);
    sk_buf_put_str(b, x->job);
    sk_buf_put_f64(b, x->job_seconds);
    sk_buf_put_u32(b, (uint32_t)x->n_events);
    for (int i = 0; i < x->n_events; i++) {
        const struct sk_fault_event *e = &x->event[i];
        sk_buf_put_f64(b, e->time);
        sk_buf_put_u8(b, (uint8_t)e->side);
        sk_buf_put_str(b, e->host);
        sk_buf_put_str(b, e->source);
        sk_buf_put_str(b, e->job);
    }
    sk_buf_put_u32(b, (uint32_t)x->n);
    for (int i = 0; i < x->n; i++) {
        sk_buf_put_str(b, x->host[i].name);
        sk_buf_put_f64(b, x->host[i].to_add);
        sk_buf_put_f64(b, x->host[i].stated);
    }
}

static void put_rows(struct sk_buf *b, const struct sk_rates_message *m)
{
    put_belief(b, m->nodes);
    put_belief(b, m->others);
    sk_buf_put_u32(b, m->n_rows);
    for (uint32_t i = 0; i < m->n_rows; i++) {
        const struct sk_rates_row *r = &m->row[i];
        sk_buf_put_u8(b, (uint8_t)r->side);
        sk_buf_put_str(b, r->name);
        sk_buf_put_f64(b, r->seconds);
        sk_buf_put_f64(b, r->faults);
        sk_buf_put_f64(b, r->newest);
        put_belief(b, r->own);
        put_belief(b, r->others);
        sk_buf_put_f64(b, r->stated);
    }
}

void sk_rates_encode(const struct sk_rates_message *m, struct sk_buf *out)
{
    sk_buf_put_u32(out, magic);
    sk_buf_put_u8(out, (uint8_t)m->kind);
    sk_buf_put(out, m->id.b, sizeof m->id.b);
    if (m->kind == SK_RATES_ASK)
        put_ask(out, m->x);
    else if (m->kind == SK_RATES_ADD)
        put_add(out, m->x);
    else if (m->kind == SK_RATES_TOLD)
        put_told(out, m->x);
    else if (m->kind == SK_RATES_ROWS)
        put_rows(out, m);
    else if (m->kind == SK_RATES_REFUSED)
        sk_buf_put_str(out, m->why);
}

/* ---- reading ---- */

/* A number of 0 or more that somebody may compute with; `least` may be -1, which stands for none. */
static double take_number(struct sk_rd *r, double least)
{
    double v = sk_rd_f64(r);
    r->bad |= !isfinite(v) || v > 1e15 || (v < 0 && v != least);
    return r->bad ? 0 : v;
}

static struct sk_belief take_belief(struct sk_rd *r)
{
    struct sk_belief b = {take_number(r, 0), 0};
    b.seconds = take_number(r, 0);
    return b;
}

/* Printable: it goes to terminals. */
static void take_text(struct sk_rd *r, char *out, size_t cap, int may_be_empty)
{
    sk_rd_str(r, out, cap);
    for (const char *p = out; !r->bad && *p; p++)
        r->bad |= (unsigned char)*p < ' ' || *p == 127;
    r->bad |= !r->bad && !may_be_empty && !*out;
}

static enum sk_side take_side(struct sk_rd *r)
{
    uint8_t side = sk_rd_u8(r);
    r->bad |= side >= SK_SIDES;
    return r->bad ? SK_SIDE_NODE : (enum sk_side)side;
}

/* How many follow, each of `least` bytes at least, so that nobody makes us reserve what they do not send. */
static uint32_t take_count(struct sk_rd *r, uint32_t most, size_t least)
{
    uint32_t n = sk_rd_u32(r);
    r->bad |= n > most || n > sk_rd_left(r) / least;
    return r->bad ? 0 : n;
}

/* Memory for n hosts, with what was read before. NULL: memory is out. */
static struct sk_rates_exchange *with_hosts(const struct sk_rates_exchange *before, uint32_t n)
{
    struct sk_rates_exchange *x = sk_exchange_new((int)n);
    if (x) {
        *x = *before;
        x->n = (int)n;
    }
    return x;
}

static int take_ask(struct sk_rd *r, struct sk_rates_exchange *before, struct sk_rates_exchange **out)
{
    before->memory = take_number(r, 0);
    take_text(r, before->job, sizeof before->job, 0);
    uint32_t n = take_count(r, SK_EXCHANGE_HOSTS, 2);
    struct sk_rates_exchange *x = *out = with_hosts(before, n);
    for (uint32_t i = 0; x && i < n; i++)
        take_text(r, x->host[i].name, sizeof x->host[i].name, 0);
    return x != NULL;
}

static int take_told(struct sk_rd *r, struct sk_rates_exchange *before, struct sk_rates_exchange **out)
{
    before->nodes = take_belief(r);
    before->others = take_belief(r);
    before->seen = take_belief(r);
    before->shape = take_number(r, 0);
    uint32_t n = take_count(r, SK_EXCHANGE_HOSTS, 24);
    struct sk_rates_exchange *x = *out = with_hosts(before, n);
    for (uint32_t i = 0; x && i < n; i++) {
        x->host[i].seen = take_belief(r);
        x->host[i].stated = take_number(r, -1);
    }
    return x != NULL;
}

static int take_add(struct sk_rd *r, struct sk_rates_exchange *before, struct sk_rates_exchange **out)
{
    before->now = take_number(r, 0);
    take_text(r, before->job, sizeof before->job, 1);
    before->job_seconds = take_number(r, 0);
    before->n_events = (int)take_count(r, SK_EXCHANGE_EVENTS, 15);
    for (int i = 0; i < before->n_events; i++) {
        struct sk_fault_event *e = &before->event[i];
        e->time = take_number(r, 0);
        e->side = take_side(r);
        take_text(r, e->host, sizeof e->host, 1);
        take_text(r, e->source, sizeof e->source, 1);
        take_text(r, e->job, sizeof e->job, 1);
    }
    r->bad |= before->job_seconds > 0 && !*before->job;
    uint32_t n = take_count(r, SK_EXCHANGE_HOSTS, 18);
    struct sk_rates_exchange *x = *out = with_hosts(before, n);
    for (uint32_t i = 0; x && i < n; i++) {
        take_text(r, x->host[i].name, sizeof x->host[i].name, 0);
        x->host[i].to_add = take_number(r, 0);
        x->host[i].stated = take_number(r, -1);
    }
    return x != NULL;
}

static int take_rows(struct sk_rd *r, struct sk_rates_message *m)
{
    m->nodes = take_belief(r);
    m->others = take_belief(r);
    m->n_rows = take_count(r, SK_RATES_ROWS_MOST, 67);
    m->row = calloc((size_t)m->n_rows + 1, sizeof *m->row);
    for (uint32_t i = 0; m->row && i < m->n_rows; i++) {
        struct sk_rates_row *row = &m->row[i];
        row->side = take_side(r);
        take_text(r, row->name, sizeof row->name, 1);
        row->seconds = take_number(r, 0);
        row->faults = take_number(r, 0);
        row->newest = take_number(r, 0);
        row->own = take_belief(r);
        row->others = take_belief(r);
        row->stated = take_number(r, -1);
    }
    return m->row != NULL;
}

int sk_rates_decode(const void *data, size_t n, struct sk_rates_message *m, struct saikai_error *err)
{
    struct sk_rd r = sk_rd_init(data, n);
    struct sk_rates_message v = {.kind = 0};
    struct sk_rates_exchange before = {.memory = 0};
    int ok = 1;
    r.bad |= sk_rd_u32(&r) != magic;
    v.kind = (enum sk_rates_kind)sk_rd_u8(&r);
    const void *id = sk_rd_bytes(&r, sizeof v.id.b);
    if (id)
        memcpy(v.id.b, id, sizeof v.id.b);
    r.bad |= v.kind < SK_RATES_ASK || v.kind >= SK_RATES_KINDS || n > SK_RATES_MESSAGE_MOST;
    if (!r.bad && v.kind == SK_RATES_ASK)
        ok = take_ask(&r, &before, &v.x);
    else if (!r.bad && v.kind == SK_RATES_TOLD)
        ok = take_told(&r, &before, &v.x);
    else if (!r.bad && v.kind == SK_RATES_ADD)
        ok = take_add(&r, &before, &v.x);
    else if (!r.bad && v.kind == SK_RATES_ROWS)
        ok = take_rows(&r, &v);
    else if (!r.bad && v.kind == SK_RATES_REFUSED)
        take_text(&r, v.why, sizeof v.why, 1);
    if (ok && !r.bad && r.p == r.end) {
        *m = v;
        return 0;
    }
    sk_rates_message_free(&v);
    return ok ? sk_fail(err, SAIKAI_EFORMAT, "%zu bytes that are no message about failure rates of this release", n)
              : sk_fail(err, SAIKAI_ENOMEM, "no memory for a message about failure rates");
}

void sk_rates_message_free(struct sk_rates_message *m)
{
    free(m->x);
    free(m->row);
    m->x = NULL;
    m->row = NULL;
}
