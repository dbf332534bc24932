/* Who may speak to a hub: the keepers of the newest starts of its job, each by a key of its own.
 *
 * A key stands for one rank of one start, so nobody speaks for another. With each goes how far its
 * messages have been counted in both directions. */
#ifndef SK_BACKBONE_GUESTS_H
#define SK_BACKBONE_GUESTS_H

#include "backbone/keys.h"

/* How many starts are remembered: keepers of older ones are strangers, and end by themselves after
 * run.orphan_timeout. */
enum { SK_GUEST_STARTS = 8 };

struct sk_guest {
    uint8_t public_key[SK_KEY_BYTES];
    uint32_t incarnation, rank;
    uint64_t heard, said; /* serial of the newest message from it, and to it; 0: none */
    uint64_t hello;       /* serial of the newest hello */
    int kin;              /* that service passed on what another one said */
    int through;          /* place of the node service that it was heard through last (services.h), plus one; 0: by itself */
};

struct sk_guests;

/* job is copied. NULL: out of memory. */
struct sk_guests *sk_guests_new(const uint8_t job[SK_KEY_BYTES]);
void sk_guests_free(struct sk_guests *g); /* NULL is accepted; forgets the keys */
/* The ranks 0 … n - 1 of this start are welcome from now on. */
int sk_guests_admit(struct sk_guests *g, uint32_t incarnation, uint32_t n, struct saikai_error *err);
/* NULL: a stranger. Valid until the next start is admitted. */
struct sk_guest *sk_guests_by_key(struct sk_guests *g, const uint8_t key[SK_KEY_BYTES]);
struct sk_guest *sk_guests_of(struct sk_guests *g, uint32_t incarnation, uint32_t rank);

/* The start that was admitted last, and how many ranks it has; 0: there was none. */
uint32_t sk_guests_newest(const struct sk_guests *g, uint32_t *n);

/* The public half of a secret key. */
int sk_key_public(const uint8_t secret[SK_KEY_BYTES], uint8_t out[SK_KEY_BYTES],
                  struct saikai_error *err);

#endif
