/* Bytes that are taken apart: what a general compressor is to shrink, as one stream, and numbers by column. Numbers of text
 * (src/codec/text), with columns for each label of a line or without, and rows, short or wide, of structures that nobody has described
 * (src/codec/rows). */
#include "archive/coding/part.h"

/* Who takes apart and puts together. */
struct apart {
    const char *what;
    /* what is needed is there */
    int (*ready)(struct sk_coder *c);
    int (*put)(struct sk_coder *c, const struct sk_part *p, const struct sk_recipe *r, struct sk_buf *stream, struct sk_buf *numbers,
               struct saikai_error *err);
    int (*get)(struct sk_coder *c, const struct sk_part *p, const uint8_t *stream, size_t n, struct sk_rd *numbers, struct saikai_error *err);
    uint64_t (*most)(uint64_t n); /* bytes of the stream of so many bytes */
};

static int encode(struct sk_coder *c, const struct apart *by, const struct sk_part *p, const struct sk_recipe *r, struct sk_buf *out,
                  struct saikai_error *err)
{
    struct sk_buf *stream = &c->symbols, *numbers = &c->bits;
    int rc = by->ready(c) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for %s", by->what);
    stream->len = numbers->len = 0;
    if (!rc)
        rc = by->put(c, p, r, stream, numbers, err);
    if (rc)
        return rc;
    sk_buf_put_u64(out, stream->len);
    rc = sk_stream_put(c, r->backend, r->level, stream->data, stream->len, out, err);
    sk_buf_put(out, numbers->data, numbers->len);
    return rc;
}

static int decode(struct sk_coder *c, const struct apart *by, struct sk_part *p, struct sk_rd *in, struct saikai_error *err)
{
    uint64_t n = sk_rd_u64(in);
    if (in->bad || p->type != SAIKAI_U8 || n > by->most(p->size_bytes))
        return sk_fail(err, SAIKAI_EDAMAGED, "a part of %s is damaged", by->what);
    uint8_t *stream = sk_coder_room(&c->symbols, n);
    int rc = stream && by->ready(c) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to decode %s", by->what);
    if (!rc)
        rc = sk_stream_get(c, in, stream, n, err);
    return rc ? rc : by->get(c, p, stream, n, in, err);
}

/* ---- text ---- */

static int text_ready(struct sk_coder *c)
{
    if (!c->text)
        c->text = sk_text_new();
    if (c->text)
        sk_text_labelled(c->text, 0);
    return c->text != NULL;
}

static int labels_ready(struct sk_coder *c)
{
    int ready = text_ready(c);
    if (ready)
        sk_text_labelled(c->text, 1);
    return ready;
}

static int put_text(struct sk_coder *c, const struct sk_part *p, const struct sk_recipe *r, struct sk_buf *layout, struct sk_buf *numbers,
                    struct saikai_error *err)
{
    struct sk_text_packing how = {&c->packer, r->backend, r->level};
    return sk_text_put(c->text, &how, p->raw, p->size_bytes, layout, numbers, err);
}

static int get_text(struct sk_coder *c, const struct sk_part *p, const uint8_t *layout, size_t n, struct sk_rd *numbers, struct saikai_error *err)
{
    return sk_text_get(c->text, &c->packer, layout, n, numbers, p->raw, p->size_bytes, err);
}

static const struct apart text = {"text", text_ready, put_text, get_text, sk_text_layout_most},
                          labelled = {"text with labels", labels_ready, put_text, get_text, sk_text_layout_most};

/* ---- rows ---- */

static int rows_ready(struct sk_coder *c)
{
    if (!c->rows)
        c->rows = sk_rows_new();
    if (c->rows)
        sk_rows_wide(c->rows, 0);
    return c->rows != NULL;
}

static int wide_ready(struct sk_coder *c)
{
    int ready = rows_ready(c);
    if (ready)
        sk_rows_wide(c->rows, 1);
    return ready;
}

/* Rows begin where a file's do: each segment has its own. */
static int put_rows(struct sk_coder *c, const struct sk_part *p, const struct sk_recipe *r, struct sk_buf *bytes, struct sk_buf *numbers,
                    struct saikai_error *err)
{
    int rc = 0;
    (void)r;
    sk_rows_begin(c->rows);
    for (size_t k = 0, at = 0; k < p->count && !rc; at += sk_box_count(p->segments[k++].box))
        rc = sk_rows_put(c->rows, p->raw + at, sk_box_count(p->segments[k].box), bytes, numbers, err);
    return rc;
}

static int get_rows(struct sk_coder *c, const struct sk_part *p, const uint8_t *bytes, size_t n, struct sk_rd *numbers, struct saikai_error *err)
{
    return sk_rows_get(c->rows, bytes, n, numbers, p->raw, p->size_bytes, err);
}

static uint64_t all_of(uint64_t n)
{
    return n;
}

static const struct apart rows = {"rows", rows_ready, put_rows, get_rows, all_of}, wide = {"wide rows", wide_ready, put_rows, get_rows, all_of};

/* ---- the forms ---- */

#define APART(name)                                                                                                                       \
    static int encode_##name(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r, struct sk_buf *out,             \
                             struct saikai_error *err)                                                                                    \
    {                                                                                                                                     \
        return encode(c, &name, &parts[i], r, out, err);                                                                                  \
    }                                                                                                                                     \
    static int decode_##name(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in, struct saikai_error *err)                \
    {                                                                                                                                     \
        return decode(c, &name, &parts[i], in, err);                                                                                      \
    }
APART(text)
APART(labelled)
APART(rows)
APART(wide)

const struct sk_form_ops sk_form_text = {"text", encode_text, decode_text}, sk_form_labelled = {"labelled", encode_labelled, decode_labelled},
                         sk_form_rows = {"rows", encode_rows, decode_rows}, sk_form_wide = {"wide rows", encode_wide, decode_wide};
