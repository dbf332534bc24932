/* Raw LZMA2 by liblzma, its contexts chosen for what the array holds (general/contexts.h): for bytes and numbers that only a general compressor
 * makes small, where one would rather wait. */
#ifdef HAVE_LZMA
#include "codec/lossless/lossless.h"
#include "codec/array.h"

#include "codec/general/strong.h"

static size_t max_encoded(const struct sk_array *a)
{
    /* chunks of 64 KiB that do not shrink have 3 bytes more each */
    size_t n = sk_array_size_bytes(a);
    return n > SIZE_MAX / 2 ? (size_t)-1 : n + n / 1024 + 64;
}

static int encode(const struct sk_array *a, const void *in, const struct sk_codec_options *opt,
                  void *out, size_t cap, size_t *out_size_bytes, struct saikai_error *err)
{
    size_t n = 0;
    int rc = sk_lossless_begin(a, sk_codec_lzma.name, &n, err);
    if (rc)
        return rc;
    *out_size_bytes = sk_strong_pack(opt ? opt->level : 0, in, n, out, cap);
    if (*out_size_bytes)
        return 0;
    return cap < max_encoded(a) ? sk_fail(err, SAIKAI_ENOSPC, "codec lzma: more than %zu bytes", cap)
                                : sk_fail(err, SAIKAI_ENOMEM, "codec lzma: no memory for %zu bytes", n);
}

static int decode(const struct sk_array *a, const void *in, size_t n, void *out,
                  struct saikai_error *err)
{
    size_t want = 0;
    int rc = sk_lossless_begin(a, sk_codec_lzma.name, &want, err);
    if (rc)
        return rc;
    rc = sk_strong_unpack(in, n, out, want);
    return rc ? sk_fail(err, (enum saikai_code)rc, rc == SAIKAI_ENOMEM ? "codec lzma: no memory for %zu bytes" : "codec lzma: does not give %zu bytes", want) : 0;
}

const struct sk_codec_ops sk_codec_lzma = {
    .abi = SK_CODEC_ABI,
    .name = "lzma",
    .description = "LZMA, level 1 to 9 (9): slow and small",
    .types = SK_TYPES_ALL,
    .max_encoded = max_encoded,
    .encode = encode,
    .decode = decode,
};
#else
typedef int sk_no_lzma;
#endif
