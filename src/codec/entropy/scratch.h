/* Memory for the time of one coding. Pages that were never touched cost as much as coding does, so
 * each thread keeps some blocks for its next piece: at most 64 MiB, until it ends. From when it says that it is done (stream.h
 * does when a stream ends) all beyond 8 MiB is lent to the system (MADV_FREE), which takes pages back when it is short of some. All
 * local; nothing blocks. */
#ifndef SK_CODEC_ENTROPY_SCRATCH_H
#define SK_CODEC_ENTROPY_SCRATCH_H

#include <stddef.h>

/* n bytes at an address that is a multiple of 64, with anything in them; NULL when memory is out.
 * To be given back by the same thread. */
void *sk_scratch_take(size_t n);
/* The same, zeros. */
void *sk_scratch_take_zeros(size_t n);
/* The block, or another with its first `used` bytes, and n bytes large; NULL: memory is out, and
 * the block is as it was. */
void *sk_scratch_grow(void *block, size_t used, size_t n);
void sk_scratch_give(void *block); /* NULL is accepted */
/* Lend to the system what this thread keeps beyond 32 MiB. */
void sk_scratch_rest(void);

#endif
