/* Hostile pieces into the decoders that are libraries'; the first byte says which. */
#include "codec/lossless/fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const names[] = {"zstd", "lz4", "gzip", "shuffle", "raw", "lzma"};
    return n ? fuzz_codec(names[data[0] % 6], data + 1, n - 1) : 0;
}
