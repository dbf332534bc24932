/* Arrays exactly as they are, for pieces that the transform cannot take or does not shrink: bytes
 * of equal significance together, then zstd where it was there at configure time and pays. All
 * local; nothing blocks. */
#ifndef SK_CODEC_WAVELET_EXACT_H
#define SK_CODEC_WAVELET_EXACT_H

#include "base/buf.h"
#include "base/error.h"

#include <stddef.h>

/* Append n values of `size` bytes. SAIKAI_ENOMEM. */
int sk_exact_put(struct sk_buf *out, const void *in, size_t n, size_t size, struct saikai_error *err);
/* SAIKAI_EDAMAGED, SAIKAI_ENOMEM; SAIKAI_ENOTSUP without zstd. */
int sk_exact_get(const void *in, size_t in_size, void *out, size_t n, size_t size,
              struct saikai_error *err);

#endif
