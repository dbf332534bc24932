/* Pieces that have another piece in them: of what is left where repeats are taken out, and of the values where these are few. */
#ifndef SK_CODEC_LOSSLESS_WITHIN_H
#define SK_CODEC_LOSSLESS_WITHIN_H

#include "base/buf.h"
#include "codec/lossless/predict/words.h"

/* First bytes of a piece. FEW: numbers of values, whose dictionary is a piece with neither of these; FOLDED: repeats taken out, a piece that may be FEW. */
enum sk_piece_mode { SK_PIECE_RAW = 0, SK_PIECE_PREDICTED, SK_PIECE_DIRECT, SK_PIECE_LZ, SK_PIECE_SHUFFLED_LZ, SK_PIECE_FEW, SK_PIECE_FOLDED };

/* The codec of pieces that may be in one. */
struct sk_piece_ops {
    /* The piece of l's words x, which lie on a word's boundary, components after each other, with modes up to most; out has room for the words and a byte. 0, or -1: no memory. */
    int (*encode)(const struct sk_words *l, const void *x, int level, enum sk_piece_mode most, uint8_t *out, size_t *made);
    /* 0, SAIKAI_ENOMEM, or -1: damaged. */
    int (*decode)(const struct sk_words *l, const uint8_t *in, size_t n, enum sk_piece_mode most, void *x);
    /* How many bytes such a piece of a mode below FEW is thought to take. No memory: more than anything. */
    double (*thought)(const struct sk_words *l, const void *x);
};

/* A piece of the mode FOLDED or FEW, whichever l's words are for, appended to b; nothing where they are for neither, or FEW is not thought to take fewer bytes than thought.
 * 0, or -1: no memory. */
int sk_within_encode(const struct sk_piece_ops *ops, const struct sk_words *l, const void *x, int level, enum sk_piece_mode most, double thought, struct sk_buf *b);
/* One whose first byte said so. 0, SAIKAI_ENOMEM, or -1: damaged. */
int sk_within_decode(const struct sk_piece_ops *ops, const struct sk_words *l, enum sk_piece_mode mode, struct sk_rd *r, void *x);

#endif
