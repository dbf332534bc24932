/* The lossless codecs, for the table in codec.c; everybody else asks sk_codec_find. */
#ifndef SK_CODEC_LOSSLESS_LOSSLESS_H
#define SK_CODEC_LOSSLESS_LOSSLESS_H

#include "codec/codec.h"

extern const struct sk_codec_ops sk_codec_raw;
extern const struct sk_codec_ops sk_codec_lzma; /* level 1…9, 9 */
extern const struct sk_codec_ops sk_codec_zstd; /* level 1…22, 3 */
extern const struct sk_codec_ops sk_codec_lz4;  /* level 1: fast, 2…12: LZ4 HC */
extern const struct sk_codec_ops sk_codec_gzip; /* level 1…9 (…12 with libdeflate), 6 */

extern const struct sk_codec_ops sk_codec_predict;
extern const struct sk_codec_ops sk_codec_fast;
extern const struct sk_codec_ops sk_codec_shuffle;
extern const struct sk_codec_ops sk_codec_fpc; /* level 1…24: 2^level table entries, 16 */
extern const struct sk_codec_ops sk_codec_fpzip;

/* Types: every one; floating point; real floating point. */
#define SK_TYPES_ALL 0x1ffeu
#define SK_TYPES_FLOAT                                                                             \
    ((1u << SAIKAI_F32) | (1u << SAIKAI_F64) | (1u << SAIKAI_C64) | (1u << SAIKAI_C128))

/* Refuses a bound and an array whose size overflows; *n_bytes is the array's size. */
int sk_lossless_begin(const struct sk_array *a, const char *codec, size_t *n_bytes,
                      struct saikai_error *err);

#endif
