/* Fortran unformatted records: the two lengths around each record become a list of their own, and
 * each record is the differences of its 32-bit words where that leaves more zero bytes (numbers of
 * cells and pointers of trees count up). A segment that stops being records is taken as it is from
 * there on. */
#include "archive/coding/part.h"

#include <string.h>

/* The length of the record at p, -1: there is none in n bytes. */
static int64_t record_at(const uint8_t *p, size_t n)
{
    uint32_t a, b;
    if (n < 8)
        return -1;
    memcpy(&a, p, 4);
    if (a > n - 8)
        return -1;
    memcpy(&b, p + 4 + a, 4);
    return a == b ? (int64_t)a : -1;
}

static size_t zero_bytes(const uint8_t *p, size_t n)
{
    size_t zeros = 0;
    for (size_t i = 0; i < n; i++)
        zeros += p[i] == 0;
    return zeros;
}

/* A record's body to `to`, as it is or as differences; returns which. */
static uint8_t put_body(const uint8_t *p, size_t n, uint8_t *to)
{
    if (n > 4 && n % 4 == 0) {
        sk_filter_do(SK_FILTER_DELTA4, p, n, to);
        if (zero_bytes(to, n) > zero_bytes(p, n) + n / 64)
            return 1;
    }
    memcpy(to, p, n);
    return 0;
}

/* A part taken apart. */
struct apart {
    struct sk_buf heads, flags;
    uint8_t *bodies;
    size_t body_bytes;
};

static void apart_free(struct apart *a)
{
    sk_buf_free(&a->heads);
    sk_buf_free(&a->flags);
}

/* The bodies go to `room`. */
static int take_apart(const struct sk_part *p, struct sk_buf *room, struct apart *a)
{
    uint8_t *to = sk_coder_room(room, p->size_bytes);
    const uint8_t *at = p->raw;
    a->bodies = to;
    for (size_t s = 0; s < p->count && to; s++) {
        size_t left = sk_box_count(p->segments[s].box), head = a->heads.len;
        uint32_t records = 0;
        sk_buf_put_u32(&a->heads, 0);
        for (int64_t n; (n = record_at(at, left)) >= 0; records++) {
            sk_buf_put_u32(&a->heads, (uint32_t)n);
            sk_buf_put_u8(&a->flags, put_body(at + 4, (size_t)n, to));
            to += n;
            at += n + 8;
            left -= (size_t)n + 8;
        }
        memcpy(to, at, left);
        to += left;
        at += left;
        if (sk_buf_ok(&a->heads))
            memcpy(a->heads.data + head, &records, 4);
    }
    a->body_bytes = to ? (size_t)(to - a->bodies) : 0;
    return to && sk_buf_ok(&a->heads) && sk_buf_ok(&a->flags) ? 0 : SAIKAI_ENOMEM;
}

/* The same of the part that part i resembles; nothing of none, or of one that is no bytes. */
static int previous_apart(struct sk_coder *c, int i, struct apart *a)
{
    const struct sk_part *e = sk_part_previous(c, i);
    return e && e->type == SAIKAI_U8 ? take_apart(e, &c->previous_bytes, a) : 0;
}

static int encode(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                  struct sk_buf *out, struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    struct apart now = {0}, before = {0};
    int rc = take_apart(p, &c->scratch, &now);
    if (!rc)
        rc = previous_apart(c, i, &before);
    if (!rc) {
        sk_buf_put_u64(out, now.heads.len);
        sk_buf_put_u64(out, now.flags.len);
        sk_stream_after(c, before.heads.data, before.heads.len);
        rc = sk_stream_put(c, r->backend, r->level, now.heads.data, now.heads.len, out, err);
    }
    if (!rc) {
        sk_stream_after(c, before.flags.data, before.flags.len);
        rc = sk_stream_put(c, r->backend, r->level, now.flags.data, now.flags.len, out, err);
    }
    if (!rc) {
        int level = before.bodies ? r->level : sk_stream_level(c, r, now.bodies, now.body_bytes);
        sk_stream_after(c, before.bodies, before.body_bytes);
        rc = sk_stream_put(c, r->backend, level, now.bodies, now.body_bytes, out, err);
    }
    apart_free(&now);
    apart_free(&before);
    return rc ? sk_fail(err, rc, "no memory to encode %zu bytes of records", p->size_bytes) : 0;
}

/* The bytes of all bodies, -1: the lists contradict the segments. */
static int64_t check_lists(const struct sk_part *p, const uint8_t *heads, size_t n_heads,
                           size_t n_flags)
{
    uint64_t bodies = 0, all = 0;
    struct sk_rd h = sk_rd_init(heads, n_heads);
    for (size_t s = 0; s < p->count; s++) {
        uint64_t left = sk_box_count(p->segments[s].box);
        uint32_t records = sk_rd_u32(&h);
        for (uint32_t k = 0; k < records; k++) {
            uint64_t n = sk_rd_u32(&h);
            if (h.bad || n + 8 > left)
                return -1;
            left -= n + 8;
            bodies += n;
        }
        bodies += left;
        all += records;
    }
    return h.bad || sk_rd_left(&h) || all != n_flags ? -1 : (int64_t)bodies;
}

static void rebuild(struct sk_part *p, const uint8_t *heads, const uint8_t *flags,
                    const uint8_t *bodies)
{
    uint8_t *to = p->raw;
    for (size_t s = 0; s < p->count; s++) {
        size_t left = sk_box_count(p->segments[s].box);
        uint32_t records, n;
        memcpy(&records, heads, 4);
        for (heads += 4; records--; heads += 4) {
            memcpy(&n, heads, 4);
            memcpy(to, &n, 4);
            sk_filter_undo(*flags++ ? SK_FILTER_DELTA4 : SK_FILTER_NONE, bodies, n, to + 4);
            memcpy(to + 4 + n, &n, 4);
            bodies += n;
            to += n + 8;
            left -= (size_t)n + 8;
        }
        memcpy(to, bodies, left);
        bodies += left;
        to += left;
    }
}

static int get_all(struct sk_coder *c, struct sk_part *p, const struct apart *before,
                   uint64_t n_heads, uint64_t n_flags, struct sk_rd *in, struct saikai_error *err)
{
    uint8_t *heads = sk_coder_room(&c->symbols, n_heads), *flags = sk_coder_room(&c->bits, n_flags);
    if (!heads || !flags)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to decode records");
    sk_stream_after(c, before->heads.data, before->heads.len);
    int rc = sk_stream_get(c, in, heads, n_heads, err);
    sk_stream_after(c, before->flags.data, before->flags.len);
    if (!rc)
        rc = sk_stream_get(c, in, flags, n_flags, err);
    if (rc)
        return rc;
    int64_t n = check_lists(p, heads, n_heads, n_flags);
    if (n < 0)
        return sk_fail(err, SAIKAI_EDAMAGED, "a part of Fortran records is damaged");
    uint8_t *bodies = sk_coder_room(&c->scratch, (size_t)n);
    if (!bodies)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to decode records");
    sk_stream_after(c, before->bodies, before->body_bytes);
    rc = sk_stream_get(c, in, bodies, (size_t)n, err);
    if (!rc)
        rebuild(p, heads, flags, bodies);
    return rc;
}

static int decode(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in,
                  struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    struct apart before = {0};
    uint64_t n_heads = sk_rd_u64(in), n_flags = sk_rd_u64(in);
    /* a record takes eight bytes at least, so that the lists are no longer than the part */
    if (in->bad || p->type != SAIKAI_U8 || n_heads > p->size_bytes / 2 + 4 * p->count ||
        n_flags > p->size_bytes / 8)
        return sk_fail(err, SAIKAI_EDAMAGED, "a part of Fortran records is damaged");
    int rc = previous_apart(c, i, &before);
    rc = rc ? sk_fail(err, rc, "no memory to decode records")
            : get_all(c, p, &before, n_heads, n_flags, in, err);
    apart_free(&before);
    return rc;
}

const struct sk_form_ops sk_form_records = {"records", encode, decode};
