/* Byte shuffle: byte 0 of every element, then byte 1 of every element, and so on. Makes nothing
 * smaller by itself: "shuffle+zstd". Complex elements are two. */
#include "codec/lossless/shuffle.h"
#include "codec/lossless/lossless.h"
#include "codec/array.h"

#include "base/types.h"

#include <string.h>

#define BLOCK 1024 /* elements at a time, so that the rows of a block stay in the cache */

static size_t word_of(int type)
{
    size_t size = sk_type_size(type);
    return type == SAIKAI_C64 || type == SAIKAI_C128 ? size / 2 : size;
}

/* W is a constant where this is called, so that the compiler unrolls and vectorises. */
static inline __attribute__((always_inline)) void split(const uint8_t *in, uint8_t *out, size_t n,
                                                        size_t w)
{
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t end = n - at < BLOCK ? n : at + BLOCK;
        for (size_t b = 0; b < w; b++)
            for (size_t i = at; i < end; i++)
                out[b * n + i] = in[i * w + b];
    }
}

static inline __attribute__((always_inline)) void join(const uint8_t *in, uint8_t *out, size_t n,
                                                       size_t w)
{
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t end = n - at < BLOCK ? n : at + BLOCK;
        for (size_t i = at; i < end; i++)
            for (size_t b = 0; b < w; b++)
                out[i * w + b] = in[b * n + i];
    }
}

void sk_shuffle(const void *in, void *out, size_t n, size_t word)
{
    switch (word) {
    case 2:
        split(in, out, n, 2);
        break;
    case 4:
        split(in, out, n, 4);
        break;
    case 8:
        split(in, out, n, 8);
        break;
    default:
        memcpy(out, in, n * word);
    }
}

void sk_unshuffle(const void *in, void *out, size_t n, size_t word)
{
    switch (word) {
    case 2:
        join(in, out, n, 2);
        break;
    case 4:
        join(in, out, n, 4);
        break;
    case 8:
        join(in, out, n, 8);
        break;
    default:
        memcpy(out, in, n * word);
    }
}

static size_t max_encoded(const struct sk_array *a)
{
    return sk_array_size_bytes(a);
}

static int encode(const struct sk_array *a, const void *in, const struct sk_codec_options *opt,
                  void *out, size_t cap, size_t *out_size_bytes, struct saikai_error *err)
{
    size_t n = 0;
    int rc = sk_lossless_begin(a, sk_codec_shuffle.name, &n, err);
    if (rc)
        return rc;
    if (cap < n)
        return sk_fail(err, SAIKAI_ENOSPC, "codec shuffle: %zu bytes do not fit into %zu", n, cap);
    size_t w = word_of(a->type);
    if (n)
        sk_shuffle(in, out, n / w, w);
    *out_size_bytes = n;
    return 0;
}

static int decode(const struct sk_array *a, const void *in, size_t n, void *out,
                  struct saikai_error *err)
{
    size_t want = 0;
    int rc = sk_lossless_begin(a, sk_codec_shuffle.name, &want, err);
    if (rc)
        return rc;
    if (n != want)
        return sk_fail(err, SAIKAI_EDAMAGED, "codec shuffle: %zu bytes instead of %zu", n, want);
    size_t w = word_of(a->type);
    if (n)
        sk_unshuffle(in, out, n / w, w);
    return 0;
}

const struct sk_codec_ops sk_codec_shuffle = {
    .abi = SK_CODEC_ABI,
    .name = "shuffle",
    .description = "bytes of equal weight together; before another codec",
    .types = SK_TYPES_ALL,
    .max_encoded = max_encoded,
    .encode = encode,
    .decode = decode,
};
