/* The paper's two passes: a codec of src/codec that knows the type, then a general compressor. The
 * merged segments are one 1-D array for the first pass (section IV, step 8b). */
#include "archive/coding/part.h"

#include "base/types.h"
#include "codec/codec.h"

#include <string.h>

static struct sk_array array_of(const struct sk_part *p)
{
    struct sk_array a = {.type = p->type, .ndims = 1};
    a.dims[0] = p->size_bytes / sk_type_size(p->type);
    return a;
}

static int encode(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                  struct sk_buf *out, struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    const struct sk_codec_ops *codec = sk_codec_find(r->codec);
    struct sk_array a = array_of(p);
    struct sk_codec_options opt = {0};
    size_t cap, n = 0;
    if (!codec)
        return sk_fail(err, SAIKAI_ENOTSUP, "there is no codec '%s'", r->codec);
    sk_part_to_native(p);
    cap = codec->max_encoded(&a);
    void *first = sk_coder_room(&c->packed, cap);
    if (!first)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to encode %zu bytes", p->size_bytes);
    int rc = codec->encode(&a, p->raw, &opt, first, cap, &n, err);
    if (rc)
        return rc;
    sk_buf_put_str(out, r->codec);
    sk_buf_put_u64(out, n);
    return sk_stream_put(c, r->backend, r->level, first, n, out, err);
}

static int decode(struct sk_coder *c, struct sk_part *parts, int i, struct sk_rd *in,
                  struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    char name[32];
    sk_rd_str(in, name, sizeof name);
    uint64_t n = sk_rd_u64(in);
    const struct sk_codec_ops *codec = in->bad ? NULL : sk_codec_find(name);
    struct sk_array a = array_of(p);
    if (!codec)
        return sk_fail(err, in->bad ? SAIKAI_EDAMAGED : SAIKAI_ENOTSUP,
                       "it needs the codec '%s'; if a component has it, name that in components.load", in->bad ? "?" : name);
    if (n > codec->max_encoded(&a))
        return sk_fail(err, SAIKAI_EDAMAGED, "a part of codec '%s' is damaged", name);
    void *first = sk_coder_room(&c->packed, n);
    if (!first)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to decode %zu bytes", p->size_bytes);
    int rc = sk_stream_get(c, in, first, n, err);
    if (!rc)
        rc = codec->decode(&a, first, n, p->raw, err);
    p->native = !rc;
    return rc;
}

const struct sk_form_ops sk_form_codec = {"codec", encode, decode};
