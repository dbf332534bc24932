/* Standard input for a job that may start several times: each start reads it from the beginning.
 *
 * A regular file is opened again. What comes through a pipe or a terminal is kept, up to
 * SK_FEED_KEEP bytes, and given to the next start as well. */
#ifndef SK_RECOVERY_FEED_H
#define SK_RECOVERY_FEED_H

#include "backbone/events.h"

enum { SK_FEED_KEEP = 64 << 20, SK_FEED_WAITS = 2 };

struct sk_feed;

/* fd stays the caller's. NULL: out of memory. */
struct sk_feed *sk_feed_new(int fd);
void sk_feed_free(struct sk_feed *f); /* NULL is accepted */

/* A descriptor for the next start's standard input: the caller closes it. *incomplete is set when
 * its beginning could not be kept. Negative: failure. */
int sk_feed_start(struct sk_feed *f, int *incomplete, struct saikai_error *err);
/* Fill SK_FEED_WAITS entries of waits with what to wait for now. */
void sk_feed_waits(const struct sk_feed *f, struct sk_wait *waits);
/* Move bytes, without blocking; waits as they were filled and waited for. */
void sk_feed_pump(struct sk_feed *f, const struct sk_wait *waits);

#endif
