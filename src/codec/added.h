/* Codecs of components, behind the table of functions that all codecs have. */
#ifndef SK_CODEC_ADDED_H
#define SK_CODEC_ADDED_H

#include "codec/codec.h"

/* As the function add of struct sk_kind. */
void sk_codec_add(const struct saikai_component *c, int n);
/* The i-th that was added, NULL past the last. */
const struct sk_codec_ops *sk_codec_added_at(int i);

#endif
