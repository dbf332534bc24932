/* Bytes told from those of the part that this one resembles: where they are copied from, and what is new. */
#include "archive/coding/part.h"

#include "codec/copies/copies.h"

static int encode(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r, struct sk_buf *out, struct saikai_error *err)
{
    const struct sk_part *e = sk_part_previous(c, i);
    return sk_copies_put(e ? e->raw : NULL, e ? e->size_bytes : 0, parts[i].raw, parts[i].size_bytes, c->copies, r->level >= SK_PACK_BEST, out, err);
}

static int decode(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in, struct saikai_error *err)
{
    const struct sk_part *e = sk_part_previous(c, i);
    size_t n = sk_rd_left(in);
    const void *p = sk_rd_bytes(in, n);
    return sk_copies_get(e ? e->raw : NULL, e ? e->size_bytes : 0, p, n, parts[i].raw, parts[i].size_bytes, err);
}

const struct sk_form_ops sk_form_copies = {"copies", encode, decode};
