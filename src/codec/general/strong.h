/* The strongest of the general compressors: LZMA, for those who would rather wait than store. */
#ifndef SK_CODEC_GENERAL_STRONG_H
#define SK_CODEC_GENERAL_STRONG_H

#include <stddef.h>
#include <stdint.h>

/* Bytes written to out[cap]; 0: it failed, did not fit, or this build lacks it. level: 1 to 9 as those of
 * xz, more or 0 for the last. */
size_t sk_strong_pack(int level, const void *in, size_t n, void *out, size_t cap);
/* Undo into exactly n_out bytes. Input is hostile. Fails with SAIKAI_EDAMAGED, SAIKAI_ENOMEM,
 * SAIKAI_ENOTSUP. */
int sk_strong_unpack(const void *in, size_t n, void *out, size_t n_out);

#endif
