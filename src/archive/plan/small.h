/* Trees of many files that have little in common but their kind, which the end of a name tells. */
#ifndef SK_ARCHIVE_PLAN_SMALL_H
#define SK_ARCHIVE_PLAN_SMALL_H

#include "archive/plan/plan.h"

/* Bytes of a file in a class. */
struct sk_small_piece {
    uint32_t class_index, file;
    uint64_t offset, bytes;
};

/* The pieces' classes, from number `first` on, are those of files' names. Where there are many of them with little in each, these become one for
 * each ending. Fails with SAIKAI_ENOMEM. */
int sk_small_merge(struct sk_ska_plan *p, size_t first, struct sk_small_piece *list, size_t n);

#endif
