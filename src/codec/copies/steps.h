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

/* Where a copy comes from: the same distance as the last, where that one ended, one of the distances before, near it on either side, or anywhere. */
enum {
    SK_COPIES_SAME,
    SK_COPIES_GOES_ON,
    SK_COPIES_OTHER,
    SK_COPIES_NEAR = SK_COPIES_OTHER + SK_COPIES_KEPT - 1,
    SK_COPIES_BACK,
    SK_COPIES_FAR,
    SK_COPIES_KINDS
};

/* fresh: new bytes since the last copy. */
static inline int sk_copies_kind(const struct sk_copies_kept *kept, uint32_t distance, uint32_t fresh)
{
    uint32_t first = kept->distance[0];
    for (int k = 0; k < SK_COPIES_KEPT; k++)
        if (distance == kept->distance[k])
            return k ? SK_COPIES_OTHER + k - 1 : SK_COPIES_SAME;
    if (!first)
        return SK_COPIES_FAR;
    if (distance == first + fresh)
        return SK_COPIES_GOES_ON;
    uint32_t apart = distance > first ? distance - first : first - distance;
    return apart > distance / 16 ? SK_COPIES_FAR : distance > first ? SK_COPIES_BACK : SK_COPIES_NEAR;
}

#endif
