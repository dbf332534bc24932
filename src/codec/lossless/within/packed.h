/* A piece that is small already, once more by zstd: what is predicted without a flaw leaves bytes that repeat.
 *
 * Bytes: u8 SK_PACKED | bytes of the piece, as a number (number.h) | a zstd frame of it. */
#ifndef SK_CODEC_LOSSLESS_PACKED_H
#define SK_CODEC_LOSSLESS_PACKED_H

#include <stddef.h>
#include <stdint.h>

enum { SK_PACKED = 7 }; /* the first byte; no mode of a piece and no form of whole numbers has it */

/* Pack the piece of *made bytes of an array of `bytes` in place where that takes fewer bytes, and try only where the piece is small beside the array, so that it costs little time. Without memory
 * the piece stays as it is. */
void sk_packed_make(uint8_t *piece, size_t *made, size_t bytes);
/* The piece in an allocated buffer, at most `most` bytes. 0, SAIKAI_ENOMEM, or -1: damaged. */
int sk_packed_open(const uint8_t *in, size_t n, size_t most, uint8_t **piece, size_t *made);

#endif
