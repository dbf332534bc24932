/* The lease of a store: a file `lease` in its directory names the one job that may write there.
 *
 * Whoever takes it is the only one: of many that try at once, on whichever hosts, one succeeds. A holder that has died loses
 * it. On the same system the process itself is looked at; a holder elsewhere renews the file every sixth part of the timeout, by a
 * thread of its own that needs neither MPI nor the program, and counts as dead when it has not done so for the timeout. Ages
 * are those of the file system's clock alone. */
#ifndef SK_STORE_LEASE_H
#define SK_STORE_LEASE_H

#include "store/owner.h"

struct sk_lease;

#define SK_LEASE_FILE "lease"

/* Take the lease of dir. Blocks at most about the timeout, when the holder is elsewhere and silent. SAIKAI_EBUSY: the sentence
 * names the holder and what to do. A directory that cannot be written to (read-only, full) gives a lease that holds
 * nothing: whoever else could be refused cannot write either; it is told at the level of warnings. */
int sk_lease_take(const char *dir, const struct sk_owner *self, double timeout_s, struct sk_lease **out,
                  struct saikai_error *err);
/* 1: somebody else holds it by now, which took this process for dead. */
int sk_lease_is_lost(struct sk_lease *l); /* NULL: 0 */
/* Give it back; NULL is accepted. Never blocks for long, even when the file system does. */
void sk_lease_release(struct sk_lease *l);

/* For tools: who holds dir. 1: somebody who lives, or may live; 0: nobody; *o may be filled all the same. */
int sk_lease_look(const char *dir, double timeout_s, struct sk_owner *o);

#endif
