/* Feeds: where the bytes of the files come from while an archive is made of them. One table of
 * functions: files and memory of this process (feed.c), and those of other ranks (pull.c). */
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
    /* The hash of a range, of any length (`to` is not used), made where its bytes are. NULL: they are fetched for that. Fails as
     * fetch does. */
    int (*hash)(struct sk_ska_feed *f, const struct sk_ska_range *r, uint64_t *hash, struct saikai_error *err);
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
/* The hash of a range, of any length; `to` is not used. */
int sk_feed_hash(struct sk_ska_feed *f, const struct sk_ska_range *r, uint64_t *hash, struct saikai_error *err);

/* This process's inputs, numbered as in the list, which is used until the end. */
struct sk_feed_local {
    struct sk_ska_feed feed;
    const struct sk_archive_input *inputs;
    struct stat *seen; /* what each file was when it was listed; of memory: its size */
    size_t count;
    _Atomic uint32_t failed; /* 1 more than the number of the first input that could not be read, 0: none */
};
/* Looks at each file. Fails with SAIKAI_ENOENT, SAIKAI_EIO, SAIKAI_EINVAL (no regular file),
 * SAIKAI_ENOMEM; to be freed after a failure as well. */
int sk_feed_local_init(struct sk_feed_local *f, const struct sk_archive_input *inputs, size_t count,
                       struct saikai_error *err);
/* For who reads inputs: number i could not be read. */
void sk_feed_local_failed(struct sk_feed_local *f, size_t i);
/* SAIKAI_ECHANGED when input i, a file, is no longer what it was; SAIKAI_ENOENT, SAIKAI_EIO: it went away. */
int sk_feed_local_same(const struct sk_feed_local *f, size_t i, struct saikai_error *err);
/* The same of all of them. */
int sk_feed_local_check(const struct sk_feed_local *f, struct saikai_error *err);
void sk_feed_local_free(struct sk_feed_local *f);

#endif
