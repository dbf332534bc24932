/* Blocks of archives read, decoded and compared with the stored hashes; what a block builds on is
 * decoded first, from the oldest archive up, so that two blocks at a time are in memory however
 * many archives build on each other. */
#ifndef SK_ARCHIVE_CODING_UNPACK_H
#define SK_ARCHIVE_CODING_UNPACK_H

#include "archive/file/previous.h"
#include "archive/coding/part.h"

/* A decoded block; zeroed is empty. */
struct sk_unpacked {
    struct sk_buf raw;
    struct sk_part *parts; /* in order */
};
void sk_unpacked_free(struct sk_unpacked *u);

/* Working memory of one thread; zeroed is empty. */
struct sk_unpacker {
    struct sk_coder coder;
    struct sk_buf stored;
    struct sk_unpacked below, spare; /* blocks of previous archives */
    const struct sk_opened *held;    /* whose block number held_block is in `below`; NULL: none */
    size_t held_block;
    const struct sk_opened *sound; /* whose block number sound_block, with those that it builds on, was read and is sound; NULL: none */
    size_t sound_block;
    const struct sk_part **alike; /* per part of a block the one below that it resembles */
};
void sk_unpacker_free(struct sk_unpacker *w);

/* Read and decode block i of an open archive into u. Fails with SAIKAI_EDAMAGED, SAIKAI_EIO,
 * SAIKAI_ENOMEM, and SAIKAI_ENOENT when an archive that it builds on is missing. */
int sk_unpack_block(struct sk_unpacker *w, struct sk_unpacked *u, struct sk_opened *o, size_t i,
                    struct saikai_error *err);

/* The same with the block's stored bytes in memory or on their way there, SK_BITS_SLACK zeros
 * behind them. Decodes what has arrived while the rest arrives. */
int sk_unpack_ready(struct sk_unpacker *w, struct sk_unpacked *u, struct sk_opened *o, size_t i,
                    const struct sk_arriving *ready, struct saikai_error *err);

/* For block i of `a`, an archive that is made: per part the one of the same class in block
 * a->blocks[i].previous of o, NULL where there is none. Belongs to w, until its next call. Decodes
 * that block unless it is what w did last. Fails as sk_unpack_block. */
int sk_unpack_alike(struct sk_unpacker *w, struct sk_opened *o, const struct sk_ska *a, size_t i,
                    const struct sk_part *const **parts, struct saikai_error *err);

/* Read the stored bytes of block i, and of all that it builds on, and compare them with their checksums, without decoding them: for who knows by
 * hashes what it has. Nothing is read again of what w read or decoded last. Fails as sk_unpack_block. */
int sk_unpack_check(struct sk_unpacker *w, struct sk_opened *o, size_t i, struct saikai_error *err);

/* The most bytes that unpacking block i takes: of a thread's working memory, and of the block.
 * Archives that it builds on are opened. Fails as sk_opened_below. */
struct sk_unpack_need {
    uint64_t work_bytes, raw_bytes;
};
int sk_unpack_need(struct sk_opened *o, size_t i, struct sk_unpack_need *n,
                   struct saikai_error *err);
/* Of each number the larger one. */
void sk_unpack_most(struct sk_unpack_need *most, const struct sk_unpack_need *n);
/* How many threads unpack at once: as many as are wanted (0: as there are processors), not more than `most`, and no more
 * than memory has room for one block each; at least one. */
int sk_unpack_threads(int wanted, int most, const struct sk_unpack_need *each, uint64_t memory);

/* For each segment of the block just unpacked whose file and class are wanted (NULL: all), in
 * order: compare it with its hash, then call take. */
int sk_unpack_each(const struct sk_unpacked *u, const char *path, const struct sk_ska *a, size_t i,
                   const uint8_t *wanted, const uint8_t *classes,
                   int (*take)(void *arg, const struct sk_ska_segment *s, const uint8_t *data,
                               size_t n, struct saikai_error *err),
                   void *arg, struct saikai_error *err);

#endif
