/* Arrays of floating-point elements as words of 4 or 8 bytes, components apart. */
#ifndef SK_CODEC_LOSSLESS_WORDS_H
#define SK_CODEC_LOSSLESS_WORDS_H

#include "codec/codec.h"

/* Words of the largest piece: classes are counted in 32 bits. */
#define SK_MOST_WORDS ((size_t)1 << 31)

/* Complex elements have two components; so has a last dimension of 2 to 7 values its 2 to 7. */
struct sk_words {
    size_t word, words, components;
    int whole; /* all are whole numbers that a grid of step 1 holds */
    struct sk_array array; /* of words, components as the slowest dimension */
};

void sk_words_of(const struct sk_array *a, size_t bytes, struct sk_words *l);
/* rows x columns words to columns x rows: with components for columns they come apart, for rows
 * together again. */
void sk_words_transpose(const void *in, void *out, size_t rows, size_t columns, size_t word);

/* in itself when it lies on a word's boundary, else a copy that does, in *copy (to be freed); NULL:
 * no memory. */
const void *sk_words_aligned(const void *in, size_t bytes, size_t word, void **copy);

#endif
