/* Whether all files as one stream through zstd could be shorter than an archive that is there: to make it takes as long as all of
 * `zstd -3`, and of files of numbers a look at some pieces mostly tells that it is not. */
#ifndef SK_ARCHIVE_WRITE_WHOLE_CHANCE_H
#define SK_ARCHIVE_WRITE_WHOLE_CHANCE_H

#include "archive/plan/plan.h"

/* 0: it is not; 1: it may be. total: bytes of all files; stored_bytes: of the archive. What repeats far away is known from p->marks; where
 * nobody counted those, it may be. */
int sk_whole_may_be_shorter(struct sk_ska_plan *p, uint64_t total, uint64_t stored_bytes);

/* What the strongest compressor leaves of a byte that zstd leaves of some pieces of all files one after another, at its usual level; 0: there are too
 * few bytes to tell, or no memory. */
double sk_whole_strong_share(struct sk_ska_plan *p, uint64_t total);

#endif
