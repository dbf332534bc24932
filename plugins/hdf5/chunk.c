/* Writes and reads one chunk with its header. What a codec refuses or does not make smaller is kept
 * raw. */
#include "chunk.h"

#include "base/buf.h"
#include "base/hash.h"
#include "codec/chain.h"
#include "codec/array.h"

#include <stdlib.h>

enum { HEADER = 24, MAGIC = 0x31484b53 }; /* "SKH1" */

static void put_header(uint8_t *at, const char *name, size_t chunk, const void *data, size_t n)
{
    uint32_t magic = MAGIC;
    uint64_t size = chunk, hash = sk_hash64(data, n);
    memset(at, 0, HEADER);
    memcpy(at, &magic, 4);
    at[4] = (uint8_t)strlen(name);
    memcpy(at + 8, &size, 8);
    memcpy(at + 16, &hash, 8);
    memcpy(at + HEADER, name, strlen(name));
}

static int encode_raw(const struct sk_array *a, const void *in, uint8_t *frame, size_t *n)
{
    size_t bytes = sk_array_size_bytes(a);
    memcpy(frame + HEADER + 3, in, bytes);
    put_header(frame, "raw", bytes, frame + HEADER + 3, bytes);
    *n = HEADER + 3 + bytes;
    return 0;
}

int chunk_encode(const char *chain, const struct sk_array *a, const void *in,
                 const struct sk_codec_options *opt, void **out, size_t *out_size_bytes,
                 struct saikai_error *err)
{
    struct sk_chain c;
    int rc = sk_chain_parse(chain, &c, err);
    if (rc)
        return rc;
    size_t bytes = sk_array_size_bytes(a), cap = sk_chain_max_encoded(&c, a);
    size_t name = strlen(c.name), n = 0;
    if (cap == (size_t)-1 || cap < bytes)
        cap = bytes;
    uint8_t *frame = malloc(HEADER + SK_CHAIN_NAME + cap);
    if (!frame)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a chunk of %zu bytes", bytes);
    uint8_t *data = frame + HEADER + name;
    rc = sk_chain_takes(&c, a->type) ? sk_chain_encode(&c, a, in, opt, data, cap, &n, err)
                                     : SAIKAI_ENOTSUP;
    if (rc == SAIKAI_EINVAL || rc == SAIKAI_ENOMEM) {
        free(frame);
        return rc;
    }
    if (rc || n >= bytes) {
        encode_raw(a, in, frame, out_size_bytes);
    } else {
        put_header(frame, c.name, bytes, data, n);
        *out_size_bytes = HEADER + name + n;
    }
    *out = frame;
    return 0;
}

int chunk_decode(const struct sk_array *a, const void *in, size_t n, void **out,
                 struct saikai_error *err)
{
    struct sk_rd r = sk_rd_init(in, n);
    char name[SK_CHAIN_NAME];
    struct sk_chain c;
    size_t bytes = sk_array_size_bytes(a);
    uint32_t magic = sk_rd_u32(&r);
    size_t name_size = sk_rd_u8(&r);
    const uint8_t *zero = sk_rd_bytes(&r, 3);
    uint64_t size = sk_rd_u64(&r), hash = sk_rd_u64(&r);
    const void *text = sk_rd_bytes(&r, name_size);
    if (r.bad || magic != MAGIC || zero[0] || zero[1] || zero[2] || size != bytes || !name_size ||
        name_size >= sizeof name)
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "a chunk of %zu bytes is damaged or not written by the saikai filter", n);
    size_t left = sk_rd_left(&r);
    const void *data = sk_rd_bytes(&r, left);
    if (sk_hash64(data, left) != hash)
        return sk_fail(err, SAIKAI_EDAMAGED, "a chunk of %zu bytes is damaged (checksum)", n);
    memcpy(name, text, name_size);
    name[name_size] = 0;
    if (sk_chain_parse(name, &c, err) || !sk_chain_takes(&c, a->type))
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "a chunk needs codec '%s', which this build of saikai does not have", name);
    void *p = malloc(bytes ? bytes : 1);
    if (!p)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a chunk of %zu bytes", bytes);
    int rc = sk_chain_decode(&c, a, data, left, p, err);
    if (rc) {
        free(p);
        return rc;
    }
    *out = p;
    return 0;
}
