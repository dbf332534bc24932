/* Fuzz target: the three decoders of the container format on any bytes. The checksums of header and trailer are made
 * right first, so that what lies behind them is reached. */
#include "format/skc.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void mend(uint8_t *block, size_t bytes)
{
    uint64_t hash = sk_hash64(block, bytes - 8);
    memcpy(block + bytes - 8, &hash, 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sk_skc_header h;
    struct sk_skc_trailer t;
    struct sk_skc_index *x = NULL;
    struct saikai_error err;
    sk_skc_decode_header(data, n, &h, &err);
    sk_skc_decode_trailer(data, n, n, &t, &err);
    if (!sk_skc_decode_index(data, n, n * 4096, &x, &err)) {
        struct sk_buf b = {0};
        sk_skc_encode_index(x, &b);
        if (b.len != n || memcmp(b.data, data, n))
            abort(); /* what decodes must encode to the same bytes */
        sk_buf_free(&b);
        sk_skc_index_free(x);
    }
    uint8_t block[SK_SKC_HEADER_BYTES];
    if (n >= sizeof block) {
        memcpy(block, data, sizeof block);
        mend(block, sizeof block);
        sk_skc_decode_header(block, sizeof block, &h, &err);
        memcpy(block, data, SK_SKC_TRAILER_BYTES);
        mend(block, SK_SKC_TRAILER_BYTES);
        sk_skc_decode_trailer(block, SK_SKC_TRAILER_BYTES, n, &t, &err);
    }
    return 0;
}
