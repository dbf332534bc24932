/* Bytes: a filter and a general compressor over the segments one after another. */
#include "archive/coding/part.h"

/* The bytes of the part that part i resembles, through the same filter. */
static int set_previous(struct sk_coder *c, int i, int filter, struct saikai_error *err)
{
    const struct sk_part *e = sk_part_previous(c, i);
    const void *data = e ? e->raw : NULL;
    if (!e || !e->size_bytes)
        return 0;
    if (filter) {
        void *to = sk_coder_room(&c->previous_bytes, e->size_bytes);
        if (!to)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory to filter %zu bytes", e->size_bytes);
        sk_filter_do(filter, e->raw, e->size_bytes, to);
        data = to;
    }
    sk_stream_after(c, data, e->size_bytes);
    return 0;
}

static int encode(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                  struct sk_buf *out, struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    const void *data = p->raw;
    if (r->filter && p->size_bytes) {
        void *to = sk_coder_room(&c->scratch, p->size_bytes);
        if (!to)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory to filter %zu bytes", p->size_bytes);
        sk_filter_do(r->filter, p->raw, p->size_bytes, to);
        data = to;
    }
    int rc = set_previous(c, i, r->filter, err);
    if (rc)
        return rc;
    sk_buf_put_u8(out, (uint8_t)r->filter);
    return sk_stream_put(c, r->backend, r->level, data, p->size_bytes, out, err);
}

static int decode(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in,
                  struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    int filter = sk_rd_u8(in);
    if (in->bad || filter >= SK_FILTERS)
        return sk_fail(err, SAIKAI_EDAMAGED, "an unknown filter");
    int rc = set_previous(c, i, filter, err);
    if (rc)
        return rc;
    if (!filter)
        return sk_stream_get(c, in, p->raw, p->size_bytes, err);
    void *from = sk_coder_room(&c->scratch, p->size_bytes);
    if (!from)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to filter %zu bytes", p->size_bytes);
    rc = sk_stream_get(c, in, from, p->size_bytes, err);
    if (!rc)
        sk_filter_undo(filter, from, p->size_bytes, p->raw);
    return rc;
}

const struct sk_form_ops sk_form_bytes = {"bytes", encode, decode};
