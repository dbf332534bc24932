/* Where isolated values are. */
#ifndef SK_CODEC_SPIKES_FIND_H
#define SK_CODEC_SPIKES_FIND_H

#include "codec/codec.h"
#include "codec/spikes/spikes.h"

#include <stdint.h>

/* Encoder: the isolated values of an array of f32 or f64 that are worth being taken out within this bound. fill: bits of a value that is none, or
 * NULL; has_strange: some are it, or not finite. None are found where memory is out. */
void sk_spikes_find(struct sk_spikes *s, const struct sk_array *a, const void *in, double bound, const uint64_t *fill, int has_strange);
void sk_spikes_free(struct sk_spikes *s);

#endif
