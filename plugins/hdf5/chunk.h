/* One chunk through a codec, with a frame that tells a reader how to undo it and whether it is
 * whole.
 *
 *   0 u32 "SKH1" | 4 u8 length of the chain's name | 5 u8[3] zero | 8 u64 bytes of the chunk
 *  16 u64 XXH3 of the chunk's encoded bytes | name | encoded bytes
 * Little-endian. */
#ifndef SAIKAI_HDF5_CHUNK_H
#define SAIKAI_HDF5_CHUNK_H

#include "codec/codec.h"

/* Encode the array in[] by chain; a chain that cannot (type, bound, out of its domain) or does not
 * make it smaller gives way to "raw". *out is to be freed. SAIKAI_ENOMEM, SAIKAI_EINVAL (no such
 * chain). */
int chunk_encode(const char *chain, const struct sk_array *a, const void *in,
                 const struct sk_codec_options *opt, void **out, size_t *out_size_bytes,
                 struct saikai_error *err);
/* The reverse; in[n] is hostile. *out, of the array's size, is to be freed. SAIKAI_EDAMAGED,
 * SAIKAI_ENOMEM. */
int chunk_decode(const struct sk_array *a, const void *in, size_t n, void **out,
                 struct saikai_error *err);

#endif
