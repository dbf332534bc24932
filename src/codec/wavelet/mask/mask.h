/* Where the values of a piece are masked, coded: a byte for each element, 0 or 1. All local; nothing blocks. */
#ifndef SK_CODEC_WAVELET_MASK_H
#define SK_CODEC_WAVELET_MASK_H

#include "base/buf.h"
#include "base/error.h"
#include "codec/wavelet/kernel/lift.h"

#include <stddef.h>
#include <stdint.h>

/* How a mask is coded. */
enum mask_form {
    MASK_PLANE,   /* as codes of a plane: what older versions wrote */
    MASK_BILEVEL, /* bilevel.h, plane after plane */
    MASK_REPEATS  /* which planes are the same as earlier ones, and MASK_BILEVEL of the others */
};

/* Append the mask, seen in this shape, in the form that fits it, which is left in *form. SAIKAI_ENOMEM. */
int sk_piece_mask_put(const struct lift_shape *shape, const uint8_t *mask, struct sk_buf *out, enum mask_form *form, struct saikai_error *err);
/* Read one from in[0, size), which nobody vouches for. SAIKAI_ENOMEM, SAIKAI_EDAMAGED. */
int sk_piece_mask_get(const struct lift_shape *shape, enum mask_form form, const void *in, size_t size, uint8_t *mask,
                struct saikai_error *err);

#endif
