/* Rows of structures that nobody has described: what a general compressor is to shrink as one stream, and the numbers by column
 * (src/codec/rows). */
#include "archive/coding/part.h"

static int ready(struct sk_coder *c, struct saikai_error *err)
{
    if (!c->rows)
        c->rows = sk_rows_new();
    return c->rows ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for rows of numbers");
}

static int encode(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                  struct sk_buf *out, struct saikai_error *err)
{
    const struct sk_part *p = &parts[i];
    struct sk_buf *bytes = &c->symbols, *numbers = &c->bits;
    int rc = ready(c, err);
    bytes->len = numbers->len = 0;
    /* rows begin where a file's do: each segment has its own */
    for (size_t k = 0, at = 0; k < p->count && !rc; at += sk_box_count(p->segments[k++].box))
        rc = sk_rows_put(c->rows, p->raw + at, sk_box_count(p->segments[k].box), bytes, numbers, err);
    if (rc)
        return rc;
    sk_buf_put_u64(out, bytes->len);
    rc = sk_stream_put(c, r->backend, r->level, bytes->data, bytes->len, out, err);
    sk_buf_put(out, numbers->data, numbers->len);
    return rc;
}

static int decode(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in,
                  struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    uint64_t n = sk_rd_u64(in);
    if (in->bad || p->type != SAIKAI_U8 || n > p->size_bytes)
        return sk_fail(err, SAIKAI_EDAMAGED, "a part of rows is damaged");
    uint8_t *bytes = sk_coder_room(&c->symbols, n);
    int rc = bytes ? ready(c, err) : sk_fail(err, SAIKAI_ENOMEM, "no memory to decode rows");
    if (!rc)
        rc = sk_stream_get(c, in, bytes, n, err);
    return rc ? rc : sk_rows_get(c->rows, bytes, n, in, p->raw, p->size_bytes, err);
}

const struct sk_form_ops sk_form_rows = {"rows", encode, decode};
