/* Isolated values as bytes. */
#ifndef SK_CODEC_SPIKES_LIST_H
#define SK_CODEC_SPIKES_LIST_H

#include "base/buf.h"
#include "base/error.h"
#include "codec/spikes/spikes.h"

/* Encoder: append the list. rest: what the array without them decodes to; each comes back within `bound`, or exactly. SAIKAI_ENOMEM. */
int sk_spikes_put(const struct sk_spikes *s, const void *in, const void *rest, size_t size, double bound, struct sk_buf *out, struct saikai_error *err);

/* Hostile input: write the values of a list, which is in[0, length), over values[0, n), the decoded rest. SAIKAI_EDAMAGED. */
int sk_spikes_get(const void *in, size_t length, void *values, size_t n, size_t size, struct saikai_error *err);

#endif
