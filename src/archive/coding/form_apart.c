/* Bytes that are taken apart: what a general compressor is to shrink, as one stream, and numbers by column. Numbers of text
 * (src/codec/text), with columns for each label of a line or without, and rows, short or wide, of structures that nobody has described
 * (src/codec/rows), and steps that come again at one distance (the same). Each of the first ones also after the part of an archive before. */
#include "archive/coding/part.h"

#include "base/types.h"

/* Who takes apart and puts together. */
struct apart {
    const char *what;
    /* what is needed is there; before: the part that this one comes after, NULL where it stands alone */
    int (*ready)(struct sk_coder *c, const struct sk_part *before);
    int after, bytes; /* comes after another; is for parts of bytes only */
    int (*put)(struct sk_coder *c, const struct sk_part *p, const struct sk_part *before, const struct sk_recipe *r, struct sk_buf *stream, struct sk_buf *numbers,
               struct saikai_error *err);
    int (*get)(struct sk_coder *c, const struct sk_part *p, const uint8_t *stream, size_t n, struct sk_rd *numbers, struct saikai_error *err);
    uint64_t (*most)(uint64_t n); /* bytes of the stream of so many bytes */
    int words;                    /* 1: these are bytes of words by their place */
};

static int encode(struct sk_coder *c, const struct apart *by, const struct sk_part *p, const struct sk_part *before, const struct sk_recipe *r, struct sk_buf *out,
                  struct saikai_error *err)
{
    struct sk_buf *stream = &c->symbols, *numbers = &c->bits;
    int rc = by->ready(c, before) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for %s", by->what);
    stream->len = numbers->len = 0;
    if (!rc)
        rc = by->put(c, p, before, r, stream, numbers, err);
    if (rc)
        return rc;
    sk_buf_put_u64(out, stream->len);
    rc = sk_stream_put(c, r->backend, by->words ? sk_stream_level(c, r, stream->data, stream->len) : r->level, stream->data, stream->len, out, err);
    sk_buf_put(out, numbers->data, numbers->len);
    return rc;
}

static int decode(struct sk_coder *c, const struct apart *by, struct sk_part *p, const struct sk_part *before, struct sk_rd *in, struct saikai_error *err)
{
    uint64_t n = sk_rd_u64(in);
    if (in->bad || (by->bytes && p->type != SAIKAI_U8) || (by->after && !before) || n > by->most(p->size_bytes))
        return sk_fail(err, SAIKAI_EDAMAGED, "a part of %s is damaged", by->what);
    uint8_t *stream = sk_coder_room(&c->symbols, n);
    int rc = stream && by->ready(c, before) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to decode %s", by->what);
    if (!rc)
        rc = sk_stream_get(c, in, stream, n, err);
    return rc ? rc : by->get(c, p, stream, n, in, err);
}

/* ---- text ---- */

static int text_ready(struct sk_coder *c, const struct sk_part *before)
{
    if (!c->text)
        c->text = sk_text_new();
    if (!c->text)
        return 0;
    sk_text_labelled(c->text, 0);
    sk_text_alone(c->text);
    if (before)
        sk_text_after(c->text, before->raw, before->size_bytes, 0);
    return c->text != NULL;
}

static int labels_ready(struct sk_coder *c, const struct sk_part *before)
{
    int ready = text_ready(c, before);
    if (ready)
        sk_text_labelled(c->text, 1);
    return ready;
}

static int put_text(struct sk_coder *c, const struct sk_part *p, const struct sk_part *before, const struct sk_recipe *r, struct sk_buf *layout,
                    struct sk_buf *numbers, struct saikai_error *err)
{
    (void)before;
    struct sk_text_packing how = {&c->packer, r->backend, r->level};
    return sk_text_put(c->text, &how, p->raw, p->size_bytes, layout, numbers, err);
}

/* About where in the part below segment k, which begins at `at`, was. */
static size_t place_of(const struct sk_coder *c, size_t k, size_t at)
{
    return c->places ? (size_t)c->places[k] : at;
}

static size_t bytes_of(const struct sk_part *p, size_t k)
{
    return sk_box_count(p->segments[k].box) * sk_type_size(p->type);
}

/* Pieces begin where files do: each has its place in those before. */
static int put_text_after(struct sk_coder *c, const struct sk_part *p, const struct sk_part *before, const struct sk_recipe *r, struct sk_buf *layout,
                          struct sk_buf *numbers, struct saikai_error *err)
{
    struct sk_text_packing how = {&c->packer, r->backend, r->level};
    int rc = 0;
    for (size_t k = 0, at = 0; k < p->count && !rc; at += bytes_of(p, k++)) {
        sk_text_after(c->text, before->raw, before->size_bytes, place_of(c, k, at));
        rc = sk_text_put(c->text, &how, p->raw + at, bytes_of(p, k), layout, numbers, err);
    }
    return rc;
}

static int get_text(struct sk_coder *c, const struct sk_part *p, const uint8_t *layout, size_t n, struct sk_rd *numbers, struct saikai_error *err)
{
    return sk_text_get(c->text, &c->packer, layout, n, numbers, p->raw, p->size_bytes, err);
}

static const struct apart text = {"text", text_ready, 0, 1, put_text, get_text, sk_text_layout_most, 0},
                          labelled = {"text with labels", labels_ready, 0, 1, put_text, get_text, sk_text_layout_most, 0},
                          text_after = {"text after another", text_ready, 1, 1, put_text_after, get_text, sk_text_layout_most, 0},
                          labelled_after = {"text with labels after another", labels_ready, 1, 1, put_text_after, get_text, sk_text_layout_most, 0};

/* ---- rows ---- */

static int rows_ready(struct sk_coder *c, const struct sk_part *before)
{
    if (!c->rows)
        c->rows = sk_rows_new();
    if (!c->rows)
        return 0;
    sk_rows_wide(c->rows, 0);
    sk_rows_alone(c->rows);
    if (before)
        sk_rows_after(c->rows, before->raw, before->size_bytes, 0);
    return 1;
}

static int wide_ready(struct sk_coder *c, const struct sk_part *before)
{
    int ready = rows_ready(c, before);
    if (ready)
        sk_rows_wide(c->rows, 1);
    return ready;
}

/* Bytes of a number of a part; 0: it is bytes of nobody knows what. */
static size_t element_of(const struct sk_part *p)
{
    size_t n = sk_type_size(p->type);
    return p->type == SAIKAI_U8 ? 0 : p->type == SAIKAI_C64 || p->type == SAIKAI_C128 ? n / 2 : n;
}

/* Rows begin where a file's do: each segment has its own. Numbers of one kind go on where those that they come after do: what is short has no
 * tables of its own then. */
static int put_rows(struct sk_coder *c, const struct sk_part *p, const struct sk_part *before, const struct sk_recipe *r, struct sk_buf *bytes,
                    struct sk_buf *numbers, struct saikai_error *err)
{
    int rc = 0;
    (void)r;
    if (!before || !c->same_rows)
        sk_rows_begin(c->rows);
    else if (c->same_rows > 1)
        sk_rows_doubt(c->rows);
    if (sk_coder_room(bytes, p->size_bytes)) /* at once, as to grow it would be to copy it */
        bytes->len = 0;
    sk_rows_elements(c->rows, element_of(p));
    for (size_t k = 0, at = 0, n; k < p->count && !rc; at += n) {
        size_t place = place_of(c, k, at);
        for (n = bytes_of(p, k++); before && element_of(p) && k < p->count && place_of(c, k, at + n) == place + n;)
            n += bytes_of(p, k++);
        if (before)
            sk_rows_after(c->rows, before->raw, before->size_bytes, place);
        rc = sk_rows_put(c->rows, p->raw + at, n, bytes, numbers, err);
    }
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

static const struct apart rows = {"rows", rows_ready, 0, 1, put_rows, get_rows, all_of, 1}, wide = {"wide rows", wide_ready, 0, 1, put_rows, get_rows, all_of, 1},
                          rows_after = {"rows after others", wide_ready, 1, 0, put_rows, get_rows, all_of, 1};

/* ---- steps ---- */

static int frames_ready(struct sk_coder *c, const struct sk_part *before)
{
    (void)before;
    if (!c->frames)
        c->frames = sk_frames_new();
    return c->frames != NULL;
}

static int put_frames(struct sk_coder *c, const struct sk_part *p, const struct sk_part *before, const struct sk_recipe *r, struct sk_buf *bytes,
                      struct sk_buf *numbers, struct saikai_error *err)
{
    (void)before;
    sk_frames_known(c->frames, &r->steps);
    return sk_frames_put(c->frames, p->raw, p->size_bytes, bytes, numbers, err);
}

static int get_frames(struct sk_coder *c, const struct sk_part *p, const uint8_t *bytes, size_t n, struct sk_rd *numbers, struct saikai_error *err)
{
    return sk_frames_get(c->frames, bytes, n, numbers, p->raw, p->size_bytes, err);
}

static const struct apart frames = {"steps", frames_ready, 0, 0, put_frames, get_frames, all_of, 0};

/* ---- the forms ---- */

#define APART(name)                                                                                                                       \
    static int encode_##name(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r, struct sk_buf *out,             \
                             struct saikai_error *err)                                                                                    \
    {                                                                                                                                     \
        const struct sk_part *before = name.after ? sk_part_previous(c, i) : NULL;                                                        \
        return encode(c, &name, &parts[i], before, r, out, err);                                                                          \
    }                                                                                                                                     \
    static int decode_##name(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in, struct saikai_error *err)                \
    {                                                                                                                                     \
        const struct sk_part *before = name.after ? sk_part_previous(c, i) : NULL;                                                        \
        return decode(c, &name, &parts[i], before, in, err);                                                                              \
    }
APART(text)
APART(labelled)
APART(rows)
APART(wide)
APART(text_after)
APART(labelled_after)
APART(rows_after)
APART(frames)

const struct sk_form_ops sk_form_text = {"text", encode_text, decode_text}, sk_form_labelled = {"labelled", encode_labelled, decode_labelled},
                         sk_form_rows = {"rows", encode_rows, decode_rows}, sk_form_wide = {"wide rows", encode_wide, decode_wide},
                         sk_form_text_after = {"text after another", encode_text_after, decode_text_after},
                         sk_form_labelled_after = {"labelled after another", encode_labelled_after, decode_labelled_after},
                         sk_form_rows_after = {"rows after others", encode_rows_after, decode_rows_after}, sk_form_frames = {"steps", encode_frames, decode_frames};
