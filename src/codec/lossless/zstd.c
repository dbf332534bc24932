/* Zstandard frames (RFC 8878) by libzstd. */
#ifdef HAVE_ZSTD
#include "codec/lossless/lossless.h"
#include "codec/array.h"

#include "codec/general/zstd_code.h"

static size_t max_encoded(const struct sk_array *a)
{
    size_t n = sk_array_size_bytes(a);
    return n == (size_t)-1 ? n : ZSTD_compressBound(n);
}

static int encode(const struct sk_array *a, const void *in, const struct sk_codec_options *opt,
                  void *out, size_t cap, size_t *out_size_bytes, struct saikai_error *err)
{
    size_t n = 0;
    int level = opt && opt->level ? opt->level : 3;
    int rc = sk_lossless_begin(a, sk_codec_zstd.name, &n, err);
    if (rc)
        return rc;
    size_t r = ZSTD_compress(out, cap, in, n, level);
    if (ZSTD_isError(r)) {
        enum saikai_code code = cap < ZSTD_compressBound(n) ? SAIKAI_ENOSPC : SAIKAI_ENOMEM;
        return sk_fail(err, code, "codec zstd: %s", ZSTD_getErrorName(r));
    }
    *out_size_bytes = r;
    return 0;
}

static int decode(const struct sk_array *a, const void *in, size_t n, void *out,
                  struct saikai_error *err)
{
    size_t want = 0;
    int rc = sk_lossless_begin(a, sk_codec_zstd.name, &want, err);
    if (rc)
        return rc;
    size_t r = ZSTD_decompress(out, want, in, n);
    if (ZSTD_isError(r))
        return sk_fail(err, sk_zstd_code(r), "codec zstd: %s", ZSTD_getErrorName(r));
    if (r != want)
        return sk_fail(err, SAIKAI_EDAMAGED, "codec zstd: gave %zu bytes instead of %zu", r, want);
    return 0;
}

const struct sk_codec_ops sk_codec_zstd = {
    .abi = SK_CODEC_ABI,
    .name = "zstd",
    .description = "Zstandard, level 1 to 22 (3)",
    .types = SK_TYPES_ALL,
    .max_encoded = max_encoded,
    .encode = encode,
    .decode = decode,
};
#else
typedef int sk_no_zstd;
#endif
