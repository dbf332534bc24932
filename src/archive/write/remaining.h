/* What of the inputs of an archive is still to be in it, while some turn out to be unreadable, change or go away. */
#ifndef SK_ARCHIVE_WRITE_REMAINING_H
#define SK_ARCHIVE_WRITE_REMAINING_H

#include "archive/plan/feed.h"

struct sk_remaining {
    const struct sk_archive_input *inputs;
    size_t count;
    struct sk_archive_options opt; /* with the entries that remain */
    struct sk_archive_input *list; /* of our own, NULL: all remain, or nothing is left out */
    struct sk_ska_entry *entries;
    int attempts;
};

/* All of them. Fails with SAIKAI_ENOMEM; to be freed after that as well. */
int sk_remaining_init(struct sk_remaining *r, const struct sk_archive_input *inputs, size_t count, const struct sk_archive_options *opt,
                      struct saikai_error *err);
/* After an attempt that failed with rc and *err: 0 where another one may succeed, because an input was left out, or has to be read once
 * more; else the code, and *err says why. feed: that of the attempt. */
int sk_remaining_again(struct sk_remaining *r, const struct sk_feed_local *feed, int rc, struct saikai_error *err);
void sk_remaining_free(struct sk_remaining *r);

#endif
