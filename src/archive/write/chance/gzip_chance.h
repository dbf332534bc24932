/* Whether plain files through gzip -6 could be shorter than an archive that is there: to make them costs as much as all the rest, and
 * mostly a look at some pieces tells that they are not. */
#ifndef SK_ARCHIVE_WRITE_GZIP_CHANCE_H
#define SK_ARCHIVE_WRITE_GZIP_CHANCE_H

#include "archive/plan/plan.h"

/* 0: they are not; 1: they may be. total: bytes of all files; stored_bytes: of the archive; whole: 1 when all files as one stream through zstd
 * are known to be no shorter than that. Reads some of the files, of those that hardly shrink all. */
int sk_gzip_may_be_shorter(struct sk_ska_plan *p, uint64_t total, uint64_t stored_bytes, int whole);

#endif
