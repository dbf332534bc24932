/* Codec "haar": lossy compression of float and double arrays by one level of the Haar wavelet.
 *
 * Source: N. Sasaki, K. Sato, T. Endo, S. Matsuoka, lossy checkpoint compression based on the
 * wavelet transform (2015): transform (section 3.1), quantisation (3.2), encoding (3.3), output
 * format (3.4, Fig. 6), then gzip.
 *
 * It promises NO error bound. An encode call without a bound is therefore lossy all the same:
 * whoever asks for this codec by name asks for that. A chooser must never pick it, and with a bound
 * of any kind encode fails with SAIKAI_EBOUND.
 *
 * Parameter text: parameter.h. Arrays of more than three dimensions are taken as three (the slowest
 * ones merged). NaN and infinities are kept bit for bit beside the bands (they are left out of the
 * transform); finite values stay finite; an array of equal values comes back exactly. When the high
 * band has no more values than the table of means would, nothing is quantised.
 *
 * A piece (little-endian):
 *   0  u8  version, 1
 *   1  u8  flags: 1 body is a gzip stream, 2 body is the array itself, 4 codes are packed bits, 8
 * not all finite 2  u16 zero 4  u32 n, the length of the table of means (0: nothing is coded) 8 u64
 * size of the body before gzip 16  body Body, unless it is the array itself (c elements in all, h
 * of them in the high bands): with flag 8: bitmap of c bits, 1 where the element is not finite;
 * those elements in order bitmap of h bits, 1 where the high value is coded table: n means low
 * band: c - h values high bands, without flag 4: in order, a value or a one-byte code as the bitmap
 * says with flag 4: the values in order, then the codes, ceil(log2 n) bits each, first code in the
 * lowest bits Bitmaps are filled from the lowest bit of each byte; spare bits are zero. */
#ifndef SK_CODEC_HAAR_HAAR_H
#define SK_CODEC_HAAR_HAAR_H

#include "codec/codec.h"

extern const struct sk_codec_ops sk_codec_haar;

#endif
