/* Calls that may hang: a shared file system that does not answer. Such a call is made by a thread of its own, and waited for
 * as long as the caller has patience; a call that takes longer goes on alone, and what it uses stays its own. */
#ifndef SK_BASE_PATIENCE_H
#define SK_BASE_PATIENCE_H

#include "base/error.h"

struct sk_patience;

/* Waits `seconds` at most for each call; 0: as long as it takes, in the caller's thread. */
int sk_patience_new(double seconds, struct sk_patience **out, struct saikai_error *err);
/* Does not wait for calls that still hang. NULL is accepted. */
void sk_patience_free(struct sk_patience *p);

/* fn(arg, err) and its result, when it comes in time: arg is the caller's again. Else SAIKAI_ETIMEDOUT with a sentence about
 * `what`: then drop(arg) is called when fn returns, some day. While a call hangs, further ones fail at once in the same way
 * (arg is dropped). arg must hold everything that fn touches. drop may be free. */
int sk_patience_call(struct sk_patience *p, const char *what, int (*fn)(void *arg, struct saikai_error *err),
                     void (*drop)(void *arg), void *arg, struct saikai_error *err);
/* 1: a call hangs. */
int sk_patience_hangs(struct sk_patience *p);
/* Wait until none hangs, so many seconds at most; 0: however long that takes. */
void sk_patience_wait(struct sk_patience *p, double seconds);

#endif
