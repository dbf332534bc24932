/* No coding at all: what a piece falls back to that nothing makes smaller. */
#include "codec/lossless/lossless.h"
#include "codec/array.h"

#include "base/types.h"

#include <string.h>

static size_t max_encoded(const struct sk_array *a)
{
    return sk_array_size_bytes(a);
}

static int encode(const struct sk_array *a, const void *in, const struct sk_codec_options *opt,
                  void *out, size_t cap, size_t *out_size_bytes, struct saikai_error *err)
{
    size_t n = 0;
    int rc = sk_lossless_begin(a, sk_codec_raw.name, &n, err);
    if (rc)
        return rc;
    if (cap < n)
        return sk_fail(err, SAIKAI_ENOSPC, "codec raw: %zu bytes do not fit into %zu", n, cap);
    if (n)
        memcpy(out, in, n);
    *out_size_bytes = n;
    return 0;
}

static int decode(const struct sk_array *a, const void *in, size_t n, void *out,
                  struct saikai_error *err)
{
    size_t want = 0;
    int rc = sk_lossless_begin(a, sk_codec_raw.name, &want, err);
    if (rc)
        return rc;
    if (n != want)
        return sk_fail(err, SAIKAI_EDAMAGED, "codec raw: %zu bytes instead of %zu", n, want);
    if (n)
        memcpy(out, in, n);
    return 0;
}

const struct sk_codec_ops sk_codec_raw = {
    .abi = SK_CODEC_ABI,
    .name = "raw",
    .description = "stored as it is",
    .types = SK_TYPES_ALL,
    .max_encoded = max_encoded,
    .encode = encode,
    .decode = decode,
};
