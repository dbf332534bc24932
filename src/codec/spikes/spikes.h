/* Isolated values that lie far from what all around them says: glitches of sensors, flags, particles in a smooth field. Whatever predicts
 * values from their neighbours pays for each of them many times, as it spoils what is predicted around it. So they are taken out, what
 * stands around takes their place for the coding of the rest, and they are written over the decoded values.
 *
 * All local; nothing blocks. */
#ifndef SK_CODEC_SPIKES_SPIKES_H
#define SK_CODEC_SPIKES_SPIKES_H

#include <stddef.h>

/* Elements in ascending order. */
struct sk_spikes {
    size_t *at, n;
    size_t room;
};

#endif
