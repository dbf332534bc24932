/* Bytes that are rows of the same structure, such as arrays of structures, compound types or complex numbers, which nobody has
 * described: how long a row is and what its columns are is found in the bytes. Columns of floating-point numbers are predicted from the
 * rows before and coded as how far they are off; of others the bytes are brought together by their place, for a general compressor.
 *
 * Bytes are worked on piece by piece, so that the memory does not grow with them, and each piece has rows of its own. Any bytes come
 * back as they were. */
#ifndef SK_CODEC_ROWS_ROWS_H
#define SK_CODEC_ROWS_ROWS_H

#include "base/buf.h"
#include "base/error.h"

/* Working memory of one thread, and how large it is at most. */
#define SK_ROWS_MEMORY ((uint64_t)3 << 20)
struct sk_rows;
struct sk_rows *sk_rows_new(void); /* NULL: no memory */
void sk_rows_free(struct sk_rows *t);
/* 1: rows have up to 512 bytes, 0: up to 256; both sides must agree. At first 0. */
void sk_rows_wide(struct sk_rows *t, int wide);
/* Whether bytes look like wide rows. */
int sk_rows_are_wide(const uint8_t *in, size_t n);

/* Rows that are put or got stand alone, as at first; or they come after the past[0, n): those that are put next probably after what begins
 * there at `at`. Both sides must agree but for `at`, and the past must stay. */
void sk_rows_alone(struct sk_rows *t);
void sk_rows_after(struct sk_rows *t, const uint8_t *past, size_t n, size_t at);
/* Rows that are put after others are numbers of one kind, of so many bytes each; 0, as at first: of nobody knows what, and a mark of four bytes,
 * as before and behind a record, may be in front of them. */
void sk_rows_elements(struct sk_rows *t, size_t bytes);

/* The bytes that are put next have nothing to do with those before. */
void sk_rows_begin(struct sk_rows *t);
/* They may be rows as those before, where none are found that take less. */
void sk_rows_doubt(struct sk_rows *t);
/* Take n bytes apart: n bytes or less for a general compressor are appended to `bytes`, all the rest to `numbers`. SAIKAI_ENOMEM. */
int sk_rows_put(struct sk_rows *t, const uint8_t *in, size_t n, struct sk_buf *bytes, struct sk_buf *numbers, struct saikai_error *err);
/* Put n bytes together again of all n_bytes of the bytes and of what is read from `numbers`, which may be followed by other bytes.
 * Hostile input, with SK_BITS_SLACK bytes behind it. SAIKAI_EDAMAGED. */
int sk_rows_get(struct sk_rows *t, const uint8_t *bytes, size_t n_bytes, struct sk_rd *numbers, uint8_t *out, size_t n,
                struct saikai_error *err);

#endif
