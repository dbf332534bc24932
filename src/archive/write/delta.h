/* Blocks of a new archive that resemble those of the previous one, stored as what is new. */
#ifndef SK_ARCHIVE_WRITE_DELTA_H
#define SK_ARCHIVE_WRITE_DELTA_H

#include "archive/plan/plan.h"
#include "archive/coding/unpack.h"

/* How many blocks may be compared with previous ones at a time, and what is left of the memory for
 * everything else: pure. threads: that compress; largest: what unpacking a block of the previous
 * archive takes at most. 0: the memory is too small for one. */
int sk_archive_delta_share(uint64_t memory_bytes, int threads, const struct sk_unpack_need *largest,
                           uint64_t *unit_bytes);

/* The least memory with which that is not 0. */
uint64_t sk_archive_delta_least(const struct sk_unpack_need *largest);

/* Whether there is memory for columns of numbers after those of a previous archive: a quarter of all of it. */
int sk_archive_delta_numbers(const struct sk_ska_plan *p);

struct sk_archive_delta;
/* The version that knows all that blocks were made of so far, 0: the one that the plan says does. NULL is accepted. After all of them. */
int sk_archive_delta_needs(const struct sk_archive_delta *g);
/* Room for `count` blocks at a time; the plan must outlive it. */
int sk_archive_delta_new(struct sk_ska_plan *p, int count, struct sk_archive_delta **out,
                         struct saikai_error *err);
void sk_archive_delta_free(struct sk_archive_delta *g);

/* Encode block i, whose parts are given, to out: after the block that it resembles, where that is clearly shorter than alone;
 * where not, the block stands alone. What a part takes alone is only found out where samples do not tell. c: of the calling thread. The
 * parts' bytes may come back in native order. From any thread; waits while all the room is taken. Fails as sk_unpack_block. */
int sk_archive_delta_encode(struct sk_archive_delta *g, size_t i, struct sk_coder *c, struct sk_part *parts, struct sk_buf *out,
                            struct saikai_error *err);

/* Encode block i, whose parts are all put together of a block of the previous archive; as bytes, alone, when
 * that one has others than its hashes said. Fails as sk_unpack_block. */
int sk_archive_delta_take(struct sk_archive_delta *g, size_t i, struct sk_part *parts, struct sk_buf *out,
                          struct saikai_error *err);

/* Open the archive that the one that will be at `out` is to build on. When there are
 * enough in a row (options) it stands alone. Fails with SAIKAI_EINVAL (in another directory), and
 * as sk_opened_new. */
int sk_ska_plan_previous(struct sk_ska_plan *p, const char *out, const char *previous,
                         struct saikai_error *err);

#endif
