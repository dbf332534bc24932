/* One LZ4 block by liblz4. */
#ifdef HAVE_LZ4
#include "codec/lossless/lossless.h"
#include "codec/array.h"

#include <lz4.h>
#include <lz4hc.h>

static size_t max_encoded(const struct sk_array *a)
{
    size_t n = sk_array_size_bytes(a);
    return n > LZ4_MAX_INPUT_SIZE ? (size_t)-1 : (size_t)LZ4_compressBound((int)n);
}

static int encode(const struct sk_array *a, const void *in, const struct sk_codec_options *opt,
                  void *out, size_t cap, size_t *out_size_bytes, struct saikai_error *err)
{
    size_t n = 0;
    int level = opt ? opt->level : 0;
    int rc = sk_lossless_begin(a, sk_codec_lz4.name, &n, err);
    if (rc)
        return rc;
    if (n > LZ4_MAX_INPUT_SIZE)
        return sk_fail(
            err, SAIKAI_ENOTSUP,
            "codec lz4: a piece of %zu bytes is over its limit of %d; use smaller pieces", n,
            LZ4_MAX_INPUT_SIZE);
    int room = cap > LZ4_MAX_INPUT_SIZE ? LZ4_MAX_INPUT_SIZE : (int)cap;
    int r = level > 1 ? LZ4_compress_HC(in, out, (int)n, room, level)
                      : LZ4_compress_default(in, out, (int)n, room);
    if (r <= 0)
        return sk_fail(err, SAIKAI_ENOSPC, "codec lz4: %zu bytes do not fit into %zu", n, cap);
    *out_size_bytes = (size_t)r;
    return 0;
}

static int decode(const struct sk_array *a, const void *in, size_t n, void *out,
                  struct saikai_error *err)
{
    size_t want = 0;
    char none;
    int rc = sk_lossless_begin(a, sk_codec_lz4.name, &want, err);
    if (rc)
        return rc;
    if (want > LZ4_MAX_INPUT_SIZE || n > (size_t)LZ4_compressBound((int)want))
        return sk_fail(err, SAIKAI_EDAMAGED, "codec lz4: %zu bytes cannot be %zu bytes coded", n,
                       want);
    int r = LZ4_decompress_safe(in, want ? out : &none, (int)n, (int)want);
    if (r < 0 || (size_t)r != want)
        return sk_fail(err, SAIKAI_EDAMAGED, "codec lz4: the block does not give %zu bytes", want);
    return 0;
}

const struct sk_codec_ops sk_codec_lz4 = {
    .abi = SK_CODEC_ABI,
    .name = "lz4",
    .description = "LZ4, level 1 (fast) to 12 (HC)",
    .types = SK_TYPES_ALL,
    .max_encoded = max_encoded,
    .encode = encode,
    .decode = decode,
};
#else
typedef int sk_no_lz4;
#endif
