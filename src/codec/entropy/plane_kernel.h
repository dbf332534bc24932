/* The loops over rows of planes, compiled for each instruction set; all give the same numbers. */
#ifndef SK_CODEC_ENTROPY_PLANE_KERNEL_H
#define SK_CODEC_ENTROPY_PLANE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum {
    PLANE_NEIGHBOURS = 12,
    PLANE_SPARE = 32, /* elements that a kernel may read behind a row, and write behind its output */
    PLANE_NO_SYMBOL = 266 << 7, /* of masked places: the context behind the last, token 0 */
};

/* What the contexts of a row are made of: levels of neighbours from column 0 on. */
struct plane_row {
    int n;
    const uint8_t *level[PLANE_NEIGHBOURS];
    uint16_t weight[PLANE_NEIGHBOURS];
    const uint8_t *mask; /* NULL, or from column 0 on */
    unsigned first;      /* context of the sum 0 */
};

struct plane_kernel {
    /* Tokens and levels of q[0, n); up to 7 zeros are written behind both. */
    void (*tokens)(const int32_t *q, size_t n, uint8_t *level, uint8_t *token);
    /* token | context << 7 of columns [col, col + n). Returns a number of contexts from the first
     * on, beyond which none occurred. */
    unsigned (*symbols)(const struct plane_row *r, size_t col, size_t n, const uint8_t *token,
                        uint16_t *symbol);
    /* Sums of columns [col, col + n) of unmasked places, PLANE_MASKED where masked. */
    void (*sums)(const struct plane_row *r, size_t col, size_t n, uint16_t *sum);
    /* The reverse of tokens, raw bits left out, for n of at most 64; nothing is written behind n. Returns which have raw bits. */
    uint64_t (*values)(const uint8_t *token, size_t n, int32_t *q, uint8_t *level);
    /* Which of n tokens, at most 64, have raw bits. */
    uint64_t (*large)(const uint8_t *token, size_t n);
    /* Zeros in n of both, at most 64. */
    void (*clear)(int32_t *q, uint8_t *level, size_t n);
};
enum { PLANE_MASKED = 1024 }; /* sums of unmasked values are below */

extern const struct plane_kernel sk_plane_kernel_plain, sk_plane_kernel_avx2, sk_plane_kernel_avx512;
/* The one for this processor. */
const struct plane_kernel *sk_plane_kernel(void);

#endif
