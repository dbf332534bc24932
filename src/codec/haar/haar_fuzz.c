/* Hostile pieces into the haar decoder. Input: element type (bit 0: f64), number of dimensions,
 * that many u16 dimensions, then the piece. haar_test writes the corpus: SAIKAI_WRITE_CORPUS=DIR
 * haar_test. */
#include "codec/haar/haar.h"

#include "base/types.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 2)
        return 0;
    struct sk_array a = {.type = data[0] & 1 ? SAIKAI_F64 : SAIKAI_F32, .ndims = data[1] % 5};
    size_t at = 2, count;
    for (int i = 0; i < a.ndims; i++, at += 2) {
        if (at + 2 > n)
            return 0;
        a.dims[i] = data[at] | (size_t)data[at + 1] << 8;
    }
    if (sk_dims_count(a.ndims, a.dims, &count) || count > 1u << 16)
        return 0;
    size_t bytes = count * sk_type_size(a.type);
    uint8_t *out = malloc(bytes ? bytes : 1);
    struct saikai_error err = {0};
    if (out) {
        int rc = sk_codec_haar.decode(&a, data + at, n - at, out, &err);
        if (rc && rc != SAIKAI_EDAMAGED)
            abort();
    }
    free(out);
    return 0;
}
