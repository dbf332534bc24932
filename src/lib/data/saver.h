/* Copying variables into a slot, without making the program wait where that is possible: its memory is protected, the call
 * returns, and the bytes are copied while the program goes on (capture/cow/cow.h). One snapshot at a time: while one is under way
 * the next checkpoint is a plain copy. */
#ifndef SK_LIB_SAVER_H
#define SK_LIB_SAVER_H

#include "base/config/config.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct sk_saver;

/* By the keys of [capture]. SAIKAI_ENOTSUP: the form of snapshots that was asked for does not work here. */
int sk_saver_open(const struct sk_config *c, struct sk_saver **out, struct saikai_error *err);
/* Gives up what is under way. NULL is accepted. */
void sk_saver_close(struct sk_saver *sv);

/* One piece of memory and where it goes. */
struct sk_saving {
    const void *from;
    uint8_t *to;
    size_t bytes;
    int stays; /* the program lets it where it is while it is being saved */
};

/* By the program's thread: after it, later writes to the pieces do not reach the copies any more. 1: they are being copied;
 * sk_saver_finish, by any thread, once, waits for the end. 0: all is copied. Never an error: what cannot be protected is
 * copied. */
int sk_saver_begin(struct sk_saver *sv, const struct sk_saving *v, size_t n);
int sk_saver_finish(struct sk_saver *sv, struct saikai_error *err);
/* By the program's thread, before memory that was given to begin may go: blocks until nothing is under way. */
void sk_saver_wait(struct sk_saver *sv);

#endif
