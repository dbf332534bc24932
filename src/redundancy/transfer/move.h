/* Move pieces from the ranks that have them to the ranks that need them, all at the same time. */
#ifndef SK_REDUNDANCY_MOVE_H
#define SK_REDUNDANCY_MOVE_H

#include "group/group.h"

#include <stdint.h>

struct sk_move {
    int from, to;
    uint64_t size_bytes;
    /* On rank from: n bytes at offset, a pointer that stays valid, or scratch; never NULL. On rank
     * to: take them. */
    const uint8_t *(*read)(void *arg, uint64_t offset, uint32_t n, uint8_t *scratch);
    void (*write)(void *arg, uint64_t offset, uint32_t n, const uint8_t *data);
    void *arg;
};

/* Collective: every rank gives the same list (functions and arg count only where they are used) and
 * blocks until its own moves are done. SAIKAI_ENOMEM on all ranks, or the code of a group that
 * failed. */
int sk_move_all(struct sk_group *g, const struct sk_move *move, int moves,
                struct saikai_error *err);

#endif
