/* Hostile pieces into the decoder of "predict". */
#include "codec/lossless/fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    return fuzz_codec("predict", data, n);
}
