/* Looks for copies in bytes that are to be told. All local; nothing blocks. */
#ifndef SK_CODEC_COPIES_FIND_H
#define SK_CODEC_COPIES_FIND_H

#include "codec/copies/copies.h"
#include "codec/copies/steps.h"

/* Knows places of what is known. -1: no memory. NULL is accepted by the other one. */
int sk_copies_finder_new(const uint8_t *before, size_t n_before, const uint8_t *in, size_t n, struct sk_copies_finder **out);
void sk_copies_finder_free(struct sk_copies_finder *f);

/* The steps that make bytes [from, to) of `in`, of which the last one only may be without a copy, in *out, the finder's, until the next call. effort: SK_COPIES_SAMPLE:
 * what is told is not copied from but beside the last copies; once another, nothing more is asked. -1: no memory. */
enum { SK_COPIES_SAMPLE, SK_COPIES_USUAL, SK_COPIES_THOROUGH };
int sk_copies_find(struct sk_copies_finder *f, size_t from, size_t to, int effort, struct sk_copies_step **out, size_t *count);

#endif
