/* A piece of the codec, while it is made or read. */
#ifndef SK_CODEC_WAVELET_PIECE_H
#define SK_CODEC_WAVELET_PIECE_H

#include "codec/codec.h"
#include "codec/wavelet/causal.h"
#include "codec/wavelet/lift.h"
#include "codec/wavelet/shape.h"
#include "codec/wavelet/special.h"

/* One byte of form, then
 *   EMPTY      nothing
 *   EXACT      exact.h
 *   CONSTANT   the value
 *   CENTRED    length of the next; centre.h's mean, the rest: pieces of other forms
 *   PREDICTED  flags; shape; bound, exponents, mean or base; factors; fill value, mask; exact
 * values; filters; codes */
enum {
    PIECE_EMPTY = 0,
    PIECE_EXACT = 1,
    PIECE_CONSTANT = 2,
    PIECE_PREDICTED = 4,
    PIECE_CENTRED = 5
};
enum { PIECE_HAS_MASK = 1, PIECE_HAS_FILL = 2, PIECE_IS_CAUSAL = 4 };
enum { PIECE_WEIGHT_BITS = 12 };

/* How to predict. */
struct plan {
    int causal;
    unsigned active;
    double alpha, beta; /* lift_set_bounds */
};

struct piece {
    const struct sk_array *a;
    const void *in; /* encoder */
    size_t n, size;
    const struct sk_codec_options *opt; /* encoder */
    double bound;
    int thorough;        /* encoder: many bits are to be saved by a little time */
    int is_part;         /* of a centred piece */
    int lowest, highest; /* exponents of most values */
    struct special special;
    struct shape shape;
    struct lift_shape lift_shape;
    size_t *b_offset;
    uint8_t *mask;
    struct plan plan;
    struct lift lift;
    struct causal causal;
};

void piece_free(struct piece *p);

/* Append the form PREDICTED to out; bound, special and shape are set. SAIKAI_ENOMEM. */
int piece_predict(struct piece *p, struct sk_buf *out, struct saikai_error *err);
/* Read a piece of any form into out. SAIKAI_EDAMAGED, SAIKAI_ENOMEM, SAIKAI_ENOTSUP. */
int piece_read(struct piece *p, struct sk_rd *in, void *out, struct saikai_error *err);
/* The number after key ("alpha=") in the codec's parameter. */
double piece_parameter(const struct piece *p, const char *key, double standard);

#endif
