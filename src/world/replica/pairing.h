/* Of one channel: the hashes of messages that one process of the rank has sent, until those of the other one are there to be compared with. Of
 * which process they are that wait changes with which is ahead. Pure. */
#ifndef SK_WORLD_PAIRING_H
#define SK_WORLD_PAIRING_H

#include <stddef.h>
#include <stdint.h>

struct sk_paired {
    uint64_t hash;
    int64_t iteration; /* at which this process sent it, -1: not known, or it is the other one's */
};

/* Begins as all 0. */
struct sk_pairing {
    struct sk_paired *at; /* a ring */
    size_t first, n, room; /* room: a power of two, or 0 */
    int theirs;           /* those that wait are the other one's */
    uint64_t compared;    /* pairs so far */
};

enum sk_pair { SK_PAIR_WAITS, SK_PAIR_ALIKE, SK_PAIR_DIFFERS, SK_PAIR_NO_MEMORY };

/* The next one of this process (theirs 0), or of the other one. Of a pair *number is its place in the channel, and *iteration is
 * where this process sent it. */
enum sk_pair sk_pairing_add(struct sk_pairing *p, int theirs, uint64_t hash, int64_t iteration, uint64_t *number, int64_t *sent_at);
void sk_pairing_free(struct sk_pairing *p);

#endif
