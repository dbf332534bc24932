/* What bytes are made of: some new ones, then a copy. */
#ifndef SK_CODEC_COPIES_STEPS_H
#define SK_CODEC_COPIES_STEPS_H

#include <stddef.h>
#include <stdint.h>

/* distance: from where the copy goes to where its bytes are, in what is known followed by what is told; copy 0: the last step, without one. */
struct sk_copies_step {
    uint32_t fresh, copy, distance;
};

/* The distances that were used last, the latest first; 0: there are no more. */
enum { SK_COPIES_KEPT = 4 };
struct sk_copies_kept {
    uint32_t distance[SK_COPIES_KEPT];
};

static inline void sk_copies_keep(struct sk_copies_kept *k, uint32_t distance)
{
    int i = 0;
    while (i < SK_COPIES_KEPT - 1 && k->distance[i] != distance)
        i++;
    for (; i > 0; i--)
        k->distance[i] = k->distance[i - 1];
    k->distance[0] = distance;
}

#endif
