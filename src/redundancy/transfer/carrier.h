/* The carrier: takes stripes through a transfer form.
 *
 * A window of stripes is received at once, so that receives are posted early and arithmetic runs
 * while messages travel (with a window of two it is the double buffering of Jitsumoto et al. 2009,
 * section 3.1). Sources that only send are further ahead. Stripes advance in whatever order their
 * messages come. Encode and rebuild use the same carrier with other sources.
 *
 * Local functions that together are collective: every rank that holds a member runs the same
 * stripes with the same description of them. Messages use tags 0 … 32399 of the group. */
#ifndef SK_REDUNDANCY_CARRIER_H
#define SK_REDUNDANCY_CARRIER_H

#include "group/group.h"
#include "redundancy/code/form.h"

#define SK_WINDOW_MAX 16

struct sk_carrier_ops {
    /* Describe stripe t: the same on all ranks. */
    void (*stripe)(void *arg, uint64_t t, struct sk_stripe *s);
    /* The first len bytes of the local member's block of stripe t: a pointer that stays valid until
     * the stripe is done, or scratch (one block) filled with them. Asked once per stripe and
     * source, in the order of the stripes. A failure is remembered by the owner, who gives any
     * bytes instead: the other ranks must not wait for ever. */
    const uint8_t *(*load)(void *arg, int member, uint64_t t, uint32_t len, uint8_t *scratch);
    /* Where the local member's result of stripe t goes: memory of one block, or scratch. */
    uint8_t *(*place)(void *arg, int member, uint64_t t, uint32_t len, uint8_t *scratch);
    /* The result is there. In any order of stripes, but for in_order. */
    void (*stored)(void *arg, int member, uint64_t t, uint32_t len, const uint8_t *data);
};

struct sk_carrier_setup {
    struct sk_group *group;
    const struct sk_transfer_ops *form;
    const struct sk_carrier_ops *ops;
    void *arg;
    int members;
    const int *rank_of; /* [members], copied */
    uint64_t stripes;
    uint32_t block;             /* bytes, multiple of 64 */
    int max_sources, max_sinks; /* of any stripe */
    int in_order; /* 1: each member's results are stored in the order of the stripes */
    int window;   /* 0: sk_carrier_window(block) */
};

struct sk_carrier;

/* How many stripes of such blocks are best received at once: so few that they stay in the cache,
 * and of small blocks so many that a rank which gets the processor late does not stop the links. */
int sk_carrier_window(uint32_t block);

/* Local. SAIKAI_ENOMEM or SAIKAI_EINVAL; nothing is sent yet. */
int sk_carrier_new(const struct sk_carrier_setup *setup, struct sk_carrier **out,
                   struct saikai_error *err);
/* Go on until `stripes` more of them ended here, or nothing can be done without waiting (block 0).
 * *done = 1 when all stripes are through. A negative code means that the group failed and no
 * further call helps. */
int sk_carrier_step(struct sk_carrier *e, uint64_t stripes, int block, int *done);
/* Bytes sent from local members to another member so far; to[members] (may be NULL) gets them by
 * receiver. */
uint64_t sk_carrier_sent(const struct sk_carrier *e, uint64_t *to);
/* After a failure of the group the buffers of transfers under way are kept: the network may still
 * write to them. */
void sk_carrier_free(struct sk_carrier *e);

#endif
