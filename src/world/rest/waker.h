/* A process that has nothing to do until another one of its host wants it, and is not to cost those that compute: it sleeps in the kernel until it is woken, by
 * memory that they share, with a look now and then, since not everybody who may want it need be able to wake it. */
#ifndef SK_WORLD_REST_WAKER_H
#define SK_WORLD_REST_WAKER_H

#include <stdint.h>

struct sk_waker;

/* Where the others of its host find it. */
struct sk_waker_place {
    uint64_t process, descriptor, nonce; /* nonce 0: it cannot be woken */
};

/* By the one that is to sleep. NULL: it cannot be woken. The descriptor at->descriptor is the caller's, to be closed when all others have looked for it; the memory
 * stays until the process ends. */
struct sk_waker *sk_waker_make(struct sk_waker_place *at);
/* By each of the others, once. NULL: it is not reached from here. The memory stays until the process ends. */
struct sk_waker *sk_waker_find(const struct sk_waker_place *at);
/* How many others have found it so far. NULL: none. */
unsigned sk_waker_found(const struct sk_waker *w);
/* How often it was woken so far; asked before a look, after which it may sleep. NULL: never. */
uint32_t sk_waker_woken(const struct sk_waker *w);
/* There is something for it, or will be at once. Does not block. NULL is accepted: the sleeper then comes to look by itself. */
void sk_waker_wake(struct sk_waker *w);
/* Sleep until it has been woken more often than `woken`, or for so many seconds, or until a signal. NULL: for so long. */
void sk_waker_sleep(struct sk_waker *w, uint32_t woken, double seconds);

/* For how many seconds to sleep before the next look, when the last sign that somebody wants something is so many seconds ago: short at first, as a message follows, and
 * longer and longer up to most_s. */
double sk_waker_rest(double quiet_s, double most_s);

#endif
