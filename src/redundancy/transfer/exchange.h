/* All ranks give each other byte strings of different lengths. */
#ifndef SK_REDUNDANCY_EXCHANGE_H
#define SK_REDUNDANCY_EXCHANGE_H

#include "group/group.h"

#include <stdint.h>

struct sk_exchange {
    uint8_t *data;  /* [size][stride] */
    uint64_t *size; /* [group size]: bytes of each rank */
    size_t stride;
};

/* Collective, blocking. code is this rank's own result so far: when it is not 0 on some rank, or
 * memory is out there, all ranks get a negative code as from sk_group_verdict. Free with
 * sk_exchange_free, also after a failure. */
int sk_exchange(struct sk_group *g, int code, const void *data, size_t n, struct sk_exchange *x,
                struct saikai_error *err);
const uint8_t *sk_exchange_at(const struct sk_exchange *x, int rank);
void sk_exchange_free(struct sk_exchange *x);

#endif
