/* Decoding a block from hostile bytes, alone and after a previous part: the parts, or an error, and
 * nothing outside them is touched. */
#include "archive/coding/block.h"
#include "archive/coding/block_case.h"

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
        for (int again = 0; stored && again < 2; again++) {
            coder.previous = again ? case_previous() : NULL;
            coder.below = again ? case_previous()[0] : NULL;
            coder.below_count = again;
            sk_block_decode(&coder, stored, left, b.parts, b.count, NULL);
        }
        free(stored);
        sk_coder_free(&coder);
    }
    case_free(&b);
    return 0;
}
