/* Feeds: where the bytes of the files come from while an archive is made of them. One table of
 * functions: files and memory of this process (feed.c), and those of other ranks (pull.c). Whoever has a
 * file's bytes can also cut it into chunks. */
#ifndef SK_ARCHIVE_PLAN_FEED_H
#define SK_ARCHIVE_PLAN_FEED_H

#include "archive/plan/options.h"
#include "base/error.h"

#include <sys/stat.h>

/* Bytes [offset, offset + bytes) of a file, and where they go. */
struct sk_ska_range {
    uint32_t file;
    uint64_t offset;
    size_t bytes;
    uint8_t *to;
};

struct sk_ska_feed;
struct sk_feed_ops {
    /* Fill all the ranges. Blocks; several threads may fetch at the same time. Fails with
     * SAIKAI_EIO, SAIKAI_EDAMAGED (a file became shorter), SAIKAI_ENOMEM, SAIKAI_EPEER. */
    int (*fetch)(struct sk_ska_feed *f, const struct sk_ska_range *r, size_t n,
                 struct saikai_error *err);
};
struct sk_ska_feed {
    const struct sk_feed_ops *ops;
    int loaders; /* threads that should fetch blocks at the same time: 2 where asking takes time */
};

static inline int sk_feed_fetch(struct sk_ska_feed *f, const struct sk_ska_range *r, size_t n,
                                struct saikai_error *err)
{
    return f->ops->fetch(f, r, n, err);
}

/* This process's inputs, numbered as in the list, which is used until the end. */
struct sk_feed_local {
    struct sk_ska_feed feed;
    const struct sk_archive_input *inputs;
    struct stat *seen; /* what each file was when it was listed; of memory: its size */
    size_t count;
};
/* Looks at each file. Fails with SAIKAI_ENOENT, SAIKAI_EIO, SAIKAI_EINVAL (no regular file),
 * SAIKAI_ENOMEM; to be freed after a failure as well. */
int sk_feed_local_init(struct sk_feed_local *f, const struct sk_archive_input *inputs, size_t count,
                       struct saikai_error *err);
/* SAIKAI_ECHANGED when a file is no longer what it was. */
int sk_feed_local_check(const struct sk_feed_local *f, struct saikai_error *err);
void sk_feed_local_free(struct sk_feed_local *f);

/* ---- chunks.c: a file as a list of chunks, by which repeats are found (repeats.c) ---- */

/* The next bytes of a file. */
struct sk_chunk {
    uint64_t hash;
    uint32_t bytes; /* at least 1 */
    uint32_t plain; /* 1: one word again and again */
};
/* All of a file, from its beginning. */
struct sk_chunks {
    struct sk_chunk *list;
    size_t count, cap;
};

enum { SK_CHUNKS_COARSEST = 6, SK_CHUNK_MOST = (16 << 10) << SK_CHUNKS_COARSEST };

/* How coarse chunks of so many bytes in all must be, 0 to SK_CHUNKS_COARSEST, to be listed and found in
 * a sixteenth of the memory; -1: there are too many bytes. Chunks that are compared are equally coarse. */
int sk_chunks_coarse(uint64_t bytes, uint64_t memory);
/* Cut a file of the feed. Reads it once. Fails as the feed does, and with SAIKAI_ENOMEM. */
int sk_chunks_cut(struct sk_ska_feed *feed, uint32_t file, uint64_t bytes, int coarse, struct sk_chunks *out,
                  struct saikai_error *err);
int sk_chunks_add(struct sk_chunks *c, const struct sk_chunk *x);
void sk_chunks_free(struct sk_chunks *c);

#endif
