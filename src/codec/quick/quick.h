/* Codec "quick": every value within an absolute bound, at the speed of memory, for checkpoints whose time is that of writing them.
 *
 * Values become whole numbers of steps of twice the bound (less what rounding may take), those are predicted from the one before, or by
 * Lorenzo's stencil in two or three dimensions (L. Ibarria, P. Lindstrom, J. Rossignac, A. Szymczak, "Out-of-core compression and
 * decompression of large n-dimensional scalar fields", Computer Graphics Forum 22, 2003), and what is left of 128 values is packed with
 * as many bits as the largest of them needs (D. Lemire, L. Boytsov, "Decoding billions of integers per second through
 * vectorization", Software: Practice and Experience 45, 2015). A block that is all as predicted takes one byte. Each value is
 * held against its bound after rounding to its type; those that miss it, and NaN, infinities and fill values, are kept bit for bit.
 * It takes f32 and f64 and needs a bound: without one encode fails with SAIKAI_EBOUND. A PSNR is met by a bound on each value.
 *
 * A piece (little-endian):
 *   0  u8  version, 1
 *   1  u8  prediction: 0 from the centre, 1 from the value before, 2 and 3 Lorenzo's in the innermost two and three dimensions
 *   2  f64 step    10 f64 centre    18 u64 fill value (its bits)
 *   26 a byte of kind for each block of 128 values, the last one being filled up; then the blocks.
 * Kind: bits 0 to 5 the width w, 0 to 32; bit 6: some values are exact, and their bits follow; bit 7: some are the fill value. Or 255:
 * all values are exact; 254: all are the fill value. A block is, where bit 6 or 7 is set, a bitmap of 16 bytes; 16 w bytes of
 * residuals (folded: 0, -1, 1 … are 0, 1, 2 …; number i is in lane i % 4, each lane being 32 numbers of w bits, their words alternating); with
 * bit 6 the exact values. What is exact counts as what was predicted. */
#ifndef SK_CODEC_QUICK_QUICK_H
#define SK_CODEC_QUICK_QUICK_H

#include "codec/codec.h"

extern const struct sk_codec_ops sk_codec_quick;

#endif
