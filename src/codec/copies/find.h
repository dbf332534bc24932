/* Looks for copies in bytes that are to be told. All local; nothing blocks. */
#ifndef SK_CODEC_COPIES_FIND_H
#define SK_CODEC_COPIES_FIND_H

#include "codec/copies/steps.h"

/* The steps that make n bytes of `in`, in *out (malloc'ed), of which the last one only may be without a copy. -1: no memory. */
int sk_copies_find(const uint8_t *before, size_t n_before, const uint8_t *in, size_t n, struct sk_copies_step **out, size_t *count);

#endif
