/* Hold of a node-local directory: a lock that the system takes back when its holders have died.
 *
 * All ranks of a job on a node hold the directory together. The first one of them takes it alone, which succeeds only when no
 * process of another start lives that had it; then it lets the others in. Whoever cleans up takes it alone, too, so that what
 * is removed is surely nobody's. The lock is on a file `lock` in the directory, which must be on a file system of this node. */
#ifndef SK_STORE_HOLD_H
#define SK_STORE_HOLD_H

#include "base/error.h"

struct sk_hold;

#define SK_HOLD_FILE "lock"

/* The first one, once for the directory, which is made; waits up to wait_s for processes that are dying. SAIKAI_EBUSY: they
 * live. */
int sk_hold_first(const char *dir, double wait_s, struct sk_hold **out, struct saikai_error *err);
/* Each of the others, when the first one has it. */
int sk_hold_join(const char *dir, struct sk_hold **out, struct saikai_error *err);
/* For good and alone, at once, if nobody has it: what is in dir may be removed. SAIKAI_EBUSY, SAIKAI_ENOENT. */
int sk_hold_alone(const char *dir, struct sk_hold **out, struct saikai_error *err);
/* A program that closes descriptors which it has not opened (closefrom) loses the lock: take it again, as sk_hold_join does. 0 also when it was
 * never lost; after a failure it is as before, and may be tried again. SAIKAI_EBUSY: another start has it by now. Quick, local, any thread. */
int sk_hold_renew(struct sk_hold *h, struct saikai_error *err);
/* For a directory that takes nothing now: nothing is held before sk_hold_renew, which makes it then. */
int sk_hold_later(const char *dir, struct sk_hold **out, struct saikai_error *err);
/* Let go; NULL is accepted. last != 0: whoever is the last one removes the files named in last (NULL-ended), the lock and, when
 * nothing else is in it, the directory. */
void sk_hold_release(struct sk_hold *h, const char *const last[]);

#endif
