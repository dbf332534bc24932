/* gzip streams (RFC 1952) of one buffer, by libdeflate where it is found, else by zlib. */
#ifndef SK_CODEC_HAAR_DEFLATE_H
#define SK_CODEC_HAAR_DEFLATE_H

#include "base/error.h"

#include <stddef.h>

/* Compress in[n] at level 1-9 into out[cap]. *out_size_bytes is 0 when the stream would not fit in
 * cap. Fails with SAIKAI_ENOMEM, or SAIKAI_ENOTSUP when neither library was there at configure
 * time. */
int sk_haar_gzip(const void *in, size_t n, int level, void *out, size_t cap, size_t *out_size_bytes,
                 struct saikai_error *err);
/* Decompress a stream whose content is exactly out_size_bytes long; anything else is
 * SAIKAI_EDAMAGED. */
int sk_haar_gunzip(const void *in, size_t n, void *out, size_t out_size_bytes,
                   struct saikai_error *err);

#endif
