/* Hostile frames: what they say of themselves, and decoding into an array of the size that they
 * claim. */
#include "codec/lossless/fuzzing.h"
#include "codec/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sk_stream_info info;
    struct saikai_error err = {0};
    if (sk_stream_info_buf(data, n, &info, &err) || info.raw_bytes > FUZZ_MOST_BYTES)
        return 0;
    void *out = malloc(info.raw_bytes ? (size_t)info.raw_bytes : 1);
    if (out)
        sk_stream_decode_buf(data, n, &info.array, out, 1, "fuzz", &err);
    free(out);
    return 0;
}
