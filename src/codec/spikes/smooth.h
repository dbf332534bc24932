/* What takes the place of isolated values while the rest is coded. */
#ifndef SK_CODEC_SPIKES_SMOOTH_H
#define SK_CODEC_SPIKES_SMOOTH_H

#include "codec/codec.h"
#include "codec/spikes/spikes.h"

#include <stdint.h>

/* Encoder: put in their places in values[], a copy of the array, what their neighbours say. */
void sk_spikes_smooth(const struct sk_spikes *s, const struct sk_array *a, void *values, const uint64_t *fill);

#endif
