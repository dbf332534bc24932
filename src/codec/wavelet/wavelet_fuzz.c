/* Fuzz target: type, number of dimensions, each dimension (2 bytes), then a piece. The seeds in
 * tests/corpus/wavelet_fuzz are made by wavelet_seeds. */
#include "codec/wavelet/wavelet.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sk_array a = {.type = SAIKAI_F32};
    struct saikai_error err;
    size_t count = 1;
    if (n < 2)
        return 0;
    a.type = data[0] & 1 ? SAIKAI_F64 : SAIKAI_F32;
    a.ndims = data[1] % 5;
    data += 2;
    n -= 2;
    for (int i = 0; i < a.ndims; i++) {
        if (n < 2)
            return 0;
        a.dims[i] = (size_t)(data[0] | data[1] << 8);
        count *= a.dims[i];
        data += 2;
        n -= 2;
        if (count > 65536)
            return 0;
    }
    void *out = malloc(count * 8 + 1);
    if (out)
        sk_codec_wavelet.decode(&a, data, n, out, &err);
    free(out);
    return 0;
}
