/* What dead jobs left in a user's node-local directory: one directory for each store, with its generations in memory.
 *
 * A directory is in use while a process of its job lives (store/owner/hold.h). Else it is wanted as long as its job may go on from
 * it: the store in the prefix is there and did not finish. */
#ifndef SK_STORE_LEFTOVERS_H
#define SK_STORE_LEFTOVERS_H

#include "base/error.h"
#include "store/owner/job.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum sk_leftover_state {
    SK_LEFTOVER_LIVES,    /* in use */
    SK_LEFTOVER_WANTED,   /* its job may go on from it */
    SK_LEFTOVER_FINISHED, /* its job ended well */
    SK_LEFTOVER_GONE,     /* its store was removed, moved away or replaced */
    SK_LEFTOVER_UNKNOWN,  /* it does not say whose it is, or the file system of its store is not there */
};

struct sk_leftover {
    char path[PATH_MAX];
    struct sk_job job; /* name "" when it is not known */
    enum sk_leftover_state state;
    uint64_t bytes;
    int unread; /* there are directories in it that cannot be read: it is larger than that */
    double age_s; /* since a file in it was written */
};

struct sk_leftovers {
    struct sk_leftover *dir; /* the youngest first */
    size_t count;
};

/* All directories below user, but the one called `own` (NULL: none). Missing is empty. Release with sk_leftovers_free. */
int sk_leftovers_scan(const char *user, const char *own, struct sk_leftovers *out, struct saikai_error *err);
void sk_leftovers_free(struct sk_leftovers *l);
/* "in use", "wanted" … */
const char *sk_leftover_state_name(enum sk_leftover_state s);
/* Remove one, unless somebody lives who has it by now: SAIKAI_EBUSY. Gone already is success. */
int sk_leftover_remove(const struct sk_leftover *d, struct saikai_error *err);

/* Those whose store is gone, beyond what is kept of them: older than age_s, or more than `most` bytes together, the youngest
 * first. drop[i] becomes 1. Returns how many. */
size_t sk_leftovers_beyond(const struct sk_leftovers *l, double age_s, uint64_t most, char *drop);

#endif
