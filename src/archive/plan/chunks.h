/* A file as a list of chunks, by which repeats are found (repeats.c). */
#ifndef SK_ARCHIVE_PLAN_CHUNKS_H
#define SK_ARCHIVE_PLAN_CHUNKS_H

#include "archive/plan/feed.h"

/* The next bytes of a file. */
struct sk_file_chunk {
    uint64_t hash;
    uint32_t bytes; /* at least 1 */
    uint32_t plain; /* 1: one word again and again */
};
/* All of a file, from its beginning. */
struct sk_chunks {
    struct sk_file_chunk *list;
    size_t count, cap;
};

/* Whether the same bytes stand more than once, at any distance: of places that their content chooses how many there are, and how many have
 * 64 bytes before them that stood before another one, too; what is short or all alike counts as that. Zeroed is empty. */
struct sk_marks {
    uint32_t *seen;
    size_t slots;
    uint64_t rare, all, again; /* rare: bits of a hash that are zero where it is one of those that are looked at */
};
/* Room to look through files of so many bytes in all; where there is no memory, nothing is counted. */
void sk_marks_begin(struct sk_marks *m, uint64_t bytes);
/* Give the room back; the counts stay. */
void sk_marks_end(struct sk_marks *m);

enum { SK_CHUNKS_COARSEST = 6, SK_CHUNK_MOST = (16 << 10) << SK_CHUNKS_COARSEST };

/* How coarse chunks of so many bytes in all must be, 0 to SK_CHUNKS_COARSEST, to be listed and found in
 * a sixteenth of the memory; -1: there are too many bytes. Chunks that are compared are equally coarse. */
int sk_chunks_coarse(uint64_t bytes, uint64_t memory);
/* Cut a file of the feed; marks: NULL, or those in it are counted. *window: NULL at first; room that is kept from file to file, to be freed at the
 * end. Reads the file once. Fails as the feed does, and with SAIKAI_ENOMEM. */
int sk_chunks_cut(struct sk_ska_feed *feed, uint32_t file, uint64_t bytes, int coarse, struct sk_chunks *out, struct sk_marks *marks, uint8_t **window,
                  struct saikai_error *err);
int sk_chunks_add(struct sk_chunks *c, const struct sk_file_chunk *x);
void sk_chunks_free(struct sk_chunks *c);

#endif
