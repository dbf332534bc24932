/* What gzip leaves of pieces, beside what an archive that is there left of the same ones: of a mixture both leave little of some pieces and much of others,
 * so that how much more one of them leaves is known from few. */
#ifndef SK_ARCHIVE_WRITE_BESIDE_H
#define SK_ARCHIVE_WRITE_BESIDE_H

#include "archive/plan/plan.h"

enum { SK_BESIDE_PIECES = 16 };

/* What the archive that a plan has been written as leaves of a byte of pieces that are spread over all files, by the blocks that they are in, of a byte of
 * all that is not in blocks, and in all. */
struct sk_beside {
    int known; /* 0: nothing, as there are too few bytes or there was no memory */
    double of[SK_BESIDE_PIECES], others, all;
};

/* total: bytes of all files; stored_bytes: of the archive, just written. */
void sk_beside_look(const struct sk_ska_plan *p, uint64_t total, uint64_t stored_bytes, struct sk_beside *b);
/* 1: gzip -6 leaves more of all files than that archive. Reads pieces of some KiB. */
int sk_beside_gzip_is_longer(struct sk_ska_plan *p, uint64_t total, const struct sk_beside *b);

#endif
