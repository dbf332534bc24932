/* Merges messages into a frame, and takes frames apart. */
#include "backbone/frame/frame.h"

#include <string.h>

enum { MAGIC = 0x314e4b53 }; /* "SKN1" */
/* The longest message: a repair; beside it a hello and a sentence are short. */
enum { LONGEST = 6 + 21 + 12 + 20 * SK_MSG_DEAD_MAX };

void sk_frame_free(struct sk_frame *b)
{
    sk_buf_free(&b->out);
    b->n = 0;
}

/* Kinds that say the same of each rank. */
static int may_repeat(enum sk_message_kind kind)
{
    switch (kind) {
    case SK_MSG_HEARD:
    case SK_MSG_RELEASE:
    case SK_MSG_KILL:
    case SK_MSG_SIGNAL:
    case SK_MSG_REQUEST:
    case SK_MSG_REPAIR:
    case SK_MSG_ALIVE:
        return 1;
    default:
        return 0;
    }
}

static int follows(const struct sk_frame *b, const struct sk_message *m)
{
    const struct sk_message *l = &b->last;
    return b->n && may_repeat(m->kind) && l->kind == m->kind && l->incarnation == m->incarnation && m->rank == l->rank + b->n &&
           m->rank && l->number == m->number && l->first == m->first && l->n_dead == m->n_dead &&
           !memcmp(l->dead, m->dead, sizeof l->dead) && !memcmp(l->printed, m->printed, sizeof l->printed);
}

static void begin(struct sk_frame *b)
{
    if (b->out.len)
        return;
    sk_buf_put_u32(&b->out, MAGIC);
    sk_buf_put_u64(&b->out, 0);
}

static void write_last(struct sk_frame *b)
{
    if (!b->n)
        return;
    begin(b);
    sk_buf_put_u32(&b->out, b->n);
    size_t at = b->out.len;
    sk_buf_put_u16(&b->out, 0);
    sk_message_encode(&b->last, &b->out);
    if (sk_buf_ok(&b->out)) {
        size_t n = b->out.len - at - 2;
        b->out.data[at] = (uint8_t)n;
        b->out.data[at + 1] = (uint8_t)(n >> 8);
    }
    b->n = 0;
}

void sk_frame_add(struct sk_frame *b, const struct sk_message *m)
{
    if (follows(b, m)) {
        b->n++;
        return;
    }
    write_last(b);
    b->last = *m;
    b->n = 1;
}

int sk_frame_is_full(const struct sk_frame *b)
{
    return b->out.len + 5 * LONGEST > SK_FRAME_MAX;
}

int sk_frame_is_empty(const struct sk_frame *b)
{
    return !b->n && b->out.len <= SK_FRAME_HEAD;
}

const void *sk_frame_close(struct sk_frame *b, uint64_t serial, size_t *bytes)
{
    begin(b);
    write_last(b);
    if (!sk_buf_ok(&b->out))
        return NULL;
    for (int i = 0; i < 8; i++)
        b->out.data[4 + i] = (uint8_t)(serial >> 8 * i);
    *bytes = b->out.len;
    return b->out.data;
}

void sk_frame_clear(struct sk_frame *b)
{
    b->out.len = 0;
    b->out.failed = 0;
    b->n = 0;
}

/* ---- reading ---- */

/* 0: there is one entry more; 1: that was all; negative: it is malformed. */
static int read_entry(struct sk_frame_rd *r, struct saikai_error *err)
{
    if (!sk_rd_left(&r->rd))
        return r->rd.bad ? sk_fail(err, SAIKAI_EFORMAT, "a frame of a node's service is cut") : 1;
    uint32_t n = sk_rd_u32(&r->rd);
    size_t bytes = sk_rd_u16(&r->rd);
    const void *data = sk_rd_bytes(&r->rd, bytes);
    if (!data)
        return sk_fail(err, SAIKAI_EFORMAT, "a frame of a node's service is cut");
    int rc = sk_message_decode(data, bytes, &r->m, err);
    if (rc)
        return rc;
    if (!n || (n > 1 && !may_repeat(r->m.kind)) || n - 1 > UINT32_MAX - r->m.rank)
        return sk_fail(err, SAIKAI_EFORMAT, "an entry of kind %u for %u ranks is in a frame of a node's service", (unsigned)r->m.kind, n);
    r->left = n - 1;
    return 0;
}

int sk_frame_open(const void *data, size_t n, struct sk_frame_rd *r, struct saikai_error *err)
{
    struct sk_frame_rd all = {.rd = sk_rd_init(data, n)};
    int rc = 0;
    if (sk_rd_u32(&all.rd) != MAGIC || all.rd.bad)
        return sk_fail(err, SAIKAI_EFORMAT, "a frame of %zu bytes is of another version of Saikai", n);
    all.serial = sk_rd_u64(&all.rd);
    if (all.rd.bad || n > SK_FRAME_MAX)
        return sk_fail(err, SAIKAI_EFORMAT, "a frame of a node's service has %zu bytes", n);
    *r = all;
    while (!rc)
        rc = read_entry(&all, err);
    return rc < 0 ? rc : 0;
}

int sk_frame_next(struct sk_frame_rd *r)
{
    if (!r->left)
        return !read_entry(r, NULL);
    r->left--;
    r->m.rank++;
    return 1;
}

void sk_frame_skip(struct sk_frame_rd *r)
{
    r->left = 0;
}

void sk_frame_pass(struct sk_frame_rd *r, uint32_t n)
{
    n = n < r->left ? n : r->left;
    r->left -= n;
    r->m.rank += n;
}
