/* The inner loops of the codec "fast", for words of 4 and 8 bytes and several instruction sets; all
 * give the same. */
#ifndef SK_CODEC_LOSSLESS_FAST_KERNEL_H
#define SK_CODEC_LOSSLESS_FAST_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SK_FAST_GROUP 16   /* values that share a width */
#define SK_FAST_CHUNK 2048 /* values that share a shift; a multiple of the group */
#define SK_FAST_TERMS 64

/* r[i] = m[i] + sum weight[k] * m[i - lag[k]], wrapped. */
struct sk_fast_terms {
    int n;
    int outer; /* the first so many have lags of at least `nearest` */
    int order; /* those of the same row: an order of differences, 0 to 3 */
    size_t nearest;
    size_t lag[SK_FAST_TERMS];
    int weight[SK_FAST_TERMS];
};

struct sk_fast_kernel {
    /* Order of floating-point numbers as whole numbers, and back. */
    void (*to_ordered)(const void *x, size_t n, void *m);
    void (*from_ordered)(void *x, size_t n);
    /* Differences of n values (a multiple of the group), and the bitwise or of them. */
    uint64_t (*differ)(const void *m, size_t n, const struct sk_fast_terms *t, void *r);
    /* The inverse, for any n. m may be r. */
    void (*sum)(void *m, size_t n, const struct sk_fast_terms *t, const void *r);
    /* Width of each group of r >> shift with the sign folded in; returns their sum. */
    unsigned (*widths)(const void *r, size_t n, unsigned shift, uint8_t *width);
    /* Pack groups of these widths (r is folded and shifted on the way); returns the words written.
     * Each of 16 lanes is a sequence of bits of its own; up to 32 more words than that must be
     * writable. */
    size_t (*pack)(const void *r, size_t n, unsigned shift, const uint8_t *width, void *out);
    /* The inverse. in must hold sk_fast_words(width) words. */
    void (*unpack)(const void *in, size_t n, unsigned shift, const uint8_t *width, void *r);
};

static inline uint64_t sk_fast_word(const uint8_t *p, size_t word)
{
    uint64_t v8;
    uint32_t v4;
    if (word == 4) {
        memcpy(&v4, p, 4);
        return v4;
    }
    memcpy(&v8, p, 8);
    return v8;
}

/* Words that n values in groups of these widths take. */
size_t sk_fast_words(size_t n, const uint8_t *width, size_t word);

const struct sk_fast_kernel *sk_fast_kernel_of(size_t word);
/* 0 base, 1 AVX2, 2 AVX-512; NULL when this processor or build cannot. */
const struct sk_fast_kernel *sk_fast_kernel_at(size_t word, int level);

#endif
