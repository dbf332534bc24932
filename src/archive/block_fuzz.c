/* Decoding a block from hostile bytes: the parts, or an error, and nothing outside them is touched.
 */
#include "archive/block_case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct sk_coder coder;
    struct block_case b;
    struct sk_rd in = sk_rd_init(data, n);
    if (!case_read(&in, &b)) {
        size_t left = sk_rd_left(&in);
        uint8_t *stored = calloc(1, left + SK_BITS_SLACK);
        if (stored && left)
            memcpy(stored, in.p, left);
        if (stored)
            sk_block_decode(&coder, stored, left, b.parts, b.count, NULL);
        free(stored);
        sk_coder_free(&coder);
    }
    case_free(&b);
    return 0;
}
