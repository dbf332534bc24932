/* Inputs of the fuzz targets of lossless decoders: u8 element type, u8 number of dimensions (0 to
 * 3), that many u16 dimensions (slowest first), then the piece. lossless_seeds makes the corpora.
 */
#ifndef SK_CODEC_LOSSLESS_FUZZING_H
#define SK_CODEC_LOSSLESS_FUZZING_H

#include "codec/array.h"
#include "base/types.h"
#include "codec/codec.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define FUZZ_MOST_BYTES (1u << 20)

/* A hostile piece into the decoder of this codec: it may say SAIKAI_EDAMAGED, or fill the array. */
static inline int fuzz_codec(const char *name, const uint8_t *data, size_t n)
{
    const struct sk_codec_ops *ops = sk_codec_find(name);
    if (!ops || n < 2)
        return 0;
    struct sk_array a = {.type = 1 + data[0] % 12, .ndims = data[1] % 4};
    size_t at = 2;
    for (int k = 0; k < a.ndims; k++, at += 2) {
        if (at + 2 > n)
            return 0;
        a.dims[k] = data[at] | (size_t)data[at + 1] << 8;
    }
    size_t bytes = sk_array_size_bytes(&a);
    if (!(ops->types >> a.type & 1) || bytes > FUZZ_MOST_BYTES)
        return 0;
    void *out = malloc(bytes ? bytes : 1);
    struct saikai_error err = {0};
    if (out) {
        int rc = ops->decode(&a, data + at, n - at, out, &err);
        if (rc && rc != SAIKAI_EDAMAGED)
            abort();
    }
    free(out);
    return 0;
}

#endif
