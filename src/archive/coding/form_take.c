/* Bytes that another block has: of the same archive, or of the one that this one builds on. What is
 * stored says where they are. */
#include "archive/coding/part.h"

#include <stdlib.h>
#include <string.h>

enum { ENTRY = 20 };

static int encode(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                  struct sk_buf *out, struct saikai_error *err)
{
    struct sk_buf list = {0};
    (void)parts, (void)i;
    for (size_t k = 0; k < r->take_count; k++) {
        sk_buf_put_u32(&list, r->takes[k].part);
        sk_buf_put_u64(&list, r->takes[k].at);
        sk_buf_put_u64(&list, r->takes[k].bytes);
    }
    sk_buf_put_u64(out, r->take_count);
    int rc = sk_buf_ok(&list) ? sk_stream_put(c, SK_BACKEND_ZSTD, 9, list.data, list.len, out, err)
                              : sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of repeats");
    sk_buf_free(&list);
    return rc;
}

/* Put the part together of what the list says. */
static int gather(const struct sk_coder *c, struct sk_part *p, const uint8_t *list, size_t n, struct saikai_error *err)
{
    struct sk_rd in = sk_rd_init(list, n);
    size_t done = 0;
    while (sk_rd_left(&in)) {
        uint32_t part = sk_rd_u32(&in);
        uint64_t at = sk_rd_u64(&in), bytes = sk_rd_u64(&in);
        const struct sk_part *from = part < (uint32_t)c->below_count ? &c->below[part] : NULL;
        if (!from || bytes > p->size_bytes - done || at > from->size_bytes || bytes > from->size_bytes - at)
            return sk_fail(err, SAIKAI_EDAMAGED, "a part takes what its source has not");
        if (bytes)
            memcpy(p->raw + done, from->raw + at, bytes);
        done += bytes;
    }
    return done == p->size_bytes ? 0 : sk_fail(err, SAIKAI_EDAMAGED, "a part takes less than it has");
}

static int decode(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in,
                  struct saikai_error *err)
{
    uint64_t count = sk_rd_u64(in);
    /* each entry stands for a byte at least, but for those that are damaged */
    if (in->bad || count > parts[i].size_bytes)
        return sk_fail(err, SAIKAI_EDAMAGED, "a list of repeats is damaged");
    uint8_t *list = malloc(count * ENTRY + 1);
    if (!list)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of repeats");
    int rc = sk_stream_get(c, in, list, count * ENTRY, err);
    if (!rc)
        rc = gather(c, &parts[i], list, count * ENTRY, err);
    free(list);
    return rc;
}

const struct sk_form_ops sk_form_take = {"take", encode, decode};
