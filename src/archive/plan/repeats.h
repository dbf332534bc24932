/* Repeats: bytes of the files that are there twice, or that the archive before has. They are found
 * before anything is compressed, and stored as where they are (takes.c). */
#ifndef SK_ARCHIVE_PLAN_REPEATS_H
#define SK_ARCHIVE_PLAN_REPEATS_H

#include "archive/plan/plan.h"

/* Bytes [offset, offset + bytes) of a file. Where they come from: another place of these files, which is
 * no repeat itself, or a segment of the previous archive. */
struct sk_repeat {
    uint32_t file, from_file;
    uint64_t offset, bytes, from;
    uint32_t block, part; /* block + 1 of the previous archive, and number of the part in it; 0: of these files */
    uint64_t at;          /* in that part */
};

struct sk_repeats {
    struct sk_repeat *list; /* sorted by file and offset, disjoint */
    size_t count, cap;
};

/* Look through all files; those of the previous archive by the hashes of its index. Reads everything once.
 * Repeats that begin or end within a variable are left out; variables that are repeats are marked in
 * the scans. Fails as the feed does. */
int sk_repeats_find(struct sk_ska_plan *p, struct sk_repeats *out, struct saikai_error *err);
void sk_repeats_free(struct sk_repeats *r);
/* The lists of chunks of the files are not needed any longer. */
void sk_repeats_forget_chunks(struct sk_ska_plan *p);

#endif
