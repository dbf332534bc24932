/* Arrays as codecs take them (struct sk_array). */
#ifndef SK_CODEC_ARRAY_H
#define SK_CODEC_ARRAY_H

#include "codec/codec.h"

/* Bytes of the array, (size_t)-1 when that overflows. */
size_t sk_array_size_bytes(const struct sk_array *a);

#endif
