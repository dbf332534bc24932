/* Hostile chunks into the decoder of the HDF5 filter. Input: element type, three u8 dimensions, the
 * chunk. The checksum is put right first, so that the codecs behind it are reached. chunk_test
 * writes the corpus: SAIKAI_WRITE_CORPUS=DIR. */
#include "chunk.h"

#include "base/hash.h"
#include "base/types.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 4 || n > 1u << 16)
        return 0;
    struct sk_array a = {.type = data[0] % 12 + 1, .ndims = 3};
    for (int i = 0; i < 3; i++)
        a.dims[i] = data[1 + i] % 64;
    uint8_t *chunk = malloc(n);
    if (!chunk)
        return 0;
    size_t size = n - 4;
    memcpy(chunk, data + 4, size);
    if (size > 24 && 24u + chunk[4] <= size) {
        uint64_t hash = sk_hash64(chunk + 24 + chunk[4], size - 24 - chunk[4]);
        memcpy(chunk + 16, &hash, 8);
    }
    void *out = NULL;
    if (!chunk_decode(&a, chunk, size, &out, NULL))
        free(out);
    free(chunk);
    return 0;
}
