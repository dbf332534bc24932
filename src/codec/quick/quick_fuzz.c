/* Hostile pieces into the decoder of "quick"; the seeds in tests/corpus/quick_fuzz are made by quick_seeds. */
#include "codec/lossless/fuzzing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    return fuzz_codec("quick", data, n);
}
