/* Reading the blocks of an archive ahead of those who decode them, so that the file system works
 * while they do (Islam et al., SC'12, section IV-B: the pre-processor reads, the decompressors
 * follow).
 *
 * The order is the caller's. sk_preread_order sorts the long blocks to the front, those of about
 * equal length as they stand in the file: what is read last is then quickly decoded, and nobody
 * waits for a long block when everything else is done. */
#ifndef SK_ARCHIVE_READ_PREREAD_H
#define SK_ARCHIVE_READ_PREREAD_H

#include "archive/coding/part.h"

struct sk_preread;

/* A block whose stored bytes are there or on their way; SK_BITS_SLACK zeros follow them. */
struct sk_preread_block {
    size_t block;
    struct sk_arriving bytes;
};

/* blocks[0, n) of the archive that is open as fd in an order that suits. */
void sk_preread_order(const struct sk_ska *a, size_t *blocks, size_t n);

/* How many blocks of up to `packed` bytes are worth to be kept ahead, when so much of the memory is taken already. */
size_t sk_preread_ahead(uint64_t memory, uint64_t taken, uint64_t packed);

/* Begin to read: threads that keep up to `depth` blocks (1 or more). fd, path, a and blocks are the
 * caller's and stay until sk_preread_free. SAIKAI_ENOMEM. */
int sk_preread_new(int fd, const char *path, const struct sk_ska *a, const size_t *blocks, size_t n,
                   size_t depth, struct sk_preread **out, struct saikai_error *err);
/* The next block, when it has begun to arrive; any thread. 1, 0: there is none left or somebody
 * gave up. Negative: SAIKAI_EIO, SAIKAI_EDAMAGED (the archive became shorter), SAIKAI_ENOMEM, and
 * then again for everybody, also from waiting for bytes. */
int sk_preread_next(struct sk_preread *p, struct sk_preread_block *out, struct saikai_error *err);
/* The block's bytes are no longer needed. Blocks until all of them are there. */
void sk_preread_done(const struct sk_preread_block *b);
/* Nobody needs the rest. */
void sk_preread_give_up(struct sk_preread *p);
/* Ends the threads; NULL is accepted. */
void sk_preread_free(struct sk_preread *p);

#endif
