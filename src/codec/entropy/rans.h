/* Range asymmetric numeral systems with static tables, after J. Duda, "Asymmetric numeral systems"
 * (arXiv:1311.2540, section 3): states of 32 bits, renormalised by 16 bits, probabilities in units
 * of 2^-12.
 *
 * All pure; nothing blocks. */
#ifndef SK_CODEC_ENTROPY_RANS_H
#define SK_CODEC_ENTROPY_RANS_H

#include "base/buf.h"
#include "codec/entropy/token.h"

#include <stddef.h>
#include <stdint.h>

enum { SK_RANS_BITS = 12, SK_RANS_ONE = 1 << SK_RANS_BITS, SK_RANS_LOW = 1 << 16 };

struct sk_rans_bits_out {
    struct sk_buf *out;
    uint64_t acc;
    unsigned n;
};
void sk_bits_put(struct sk_rans_bits_out *b, uint64_t value, unsigned n); /* n <= 32 */
void sk_bits_flush(struct sk_rans_bits_out *b);

struct sk_rans_bits_in {
    const uint8_t *p;
    size_t size_bits, at;
    int bad;
};
/* n <= 32 bits; zeros and bad past the end. */
uint32_t sk_bits_get(struct sk_rans_bits_in *b, unsigned n);

/* One static distribution over the tokens: frequencies that add up to SK_RANS_ONE, or all zero. */
struct sk_rans_model {
    uint16_t freq[SK_TOKENS];
    uint16_t start[SK_TOKENS];
};

/* Choose frequencies for these counts and write them; returns the bits they took. The model holds
 * what the reader will see. */
void sk_rans_model_write(struct sk_rans_model *m, const uint32_t counts[SK_TOKENS],
                         struct sk_rans_bits_out *out);
/* Read a model; -1 when the bits are no model. */
int sk_rans_model_read(struct sk_rans_model *m, struct sk_rans_bits_in *in);
/* Bits that sk_rans_model_write is about to need for these counts, roughly. */
double sk_rans_model_cost(const uint32_t counts[SK_TOKENS]);

#endif
