/* Decoding a block from hostile bytes, alone and after a previous part: the parts, or an error, and
 * nothing outside them is touched. */
#include "archive/coding/block.h"
#include "archive/coding/block_case.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What all parts resemble the second time: two records, the second one cut short. */
static const struct sk_part *const *some_previous(void)
{
    static uint8_t bytes[48] = {8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 0, 0, 0, 200};
    static const struct sk_ska_segment all = {.box = {1, 1, sizeof bytes}};
    static const struct sk_part part = {
        .type = SAIKAI_U8, .segments = &all, .count = 1, .raw = bytes, .size_bytes = sizeof bytes};
    static const struct sk_part *const each[CASE_PARTS] = {&part, &part, &part, &part};
    return each;
}

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
            coder.previous = again ? some_previous() : NULL;
            coder.below = again ? some_previous()[0] : NULL;
            coder.below_count = again;
            sk_block_decode(&coder, stored, left, b.parts, b.count, NULL);
        }
        free(stored);
        sk_coder_free(&coder);
    }
    case_free(&b);
    return 0;
}
