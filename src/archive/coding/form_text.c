/* Text that is full of numbers: the layout of all of it as one stream, and the numbers by column (src/codec/text). */
#include "archive/coding/part.h"

static int ready(struct sk_coder *c, struct saikai_error *err)
{
    if (!c->text)
        c->text = sk_text_new();
    return c->text ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for the numbers of text");
}

static int encode(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                  struct sk_buf *out, struct saikai_error *err)
{
    const struct sk_part *p = &parts[i];
    struct sk_text_packing how = {&c->packer, r->backend, r->level};
    struct sk_buf *layout = &c->symbols, *numbers = &c->bits;
    int rc = ready(c, err);
    layout->len = numbers->len = 0;
    if (!rc)
        rc = sk_text_put(c->text, &how, p->raw, p->size_bytes, layout, numbers, err);
    if (rc)
        return rc;
    sk_buf_put_u64(out, layout->len);
    rc = sk_stream_put(c, r->backend, r->level, layout->data, layout->len, out, err);
    sk_buf_put(out, numbers->data, numbers->len);
    return rc;
}

static int decode(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in,
                  struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    uint64_t n = sk_rd_u64(in);
    if (in->bad || p->type != SAIKAI_U8 || n > sk_text_layout_most(p->size_bytes))
        return sk_fail(err, SAIKAI_EDAMAGED, "a part of text is damaged");
    uint8_t *layout = sk_coder_room(&c->symbols, n);
    int rc = layout ? ready(c, err) : sk_fail(err, SAIKAI_ENOMEM, "no memory to decode text");
    if (!rc)
        rc = sk_stream_get(c, in, layout, n, err);
    return rc ? rc : sk_text_get(c->text, &c->packer, layout, n, in, p->raw, p->size_bytes, err);
}

const struct sk_form_ops sk_form_text = {"text", encode, decode};
