/* What a process of the protocol `replication` keeps of the messages that it sent to a rank, and the counts by which it and that rank's
 * copies know what they have of each other. Pure.
 *
 * A channel is all messages of one context and tag between two ranks. MPI keeps their order, and each receive names its source and tag by the
 * time that it is posted: the n-th of a channel gets the n-th that was sent, in all copies. So numbers need not travel with messages. */
#ifndef SK_WORLD_CHANNEL_H
#define SK_WORLD_CHANNEL_H

#include "world/replica/pairing.h"

#include <stddef.h>
#include <stdint.h>

struct sk_channel {
    int context, tag;
    uint64_t sent, posted;
    uint64_t acked;      /* the other copy of the receiver has so many */
    uint64_t cut;        /* and when its own sender died it had been given all before this one … */
    uint64_t *missing;   /* … but these, in ascending order */
    size_t n_missing;
    int fresh;           /* some were received since this process last told the sender's other copy */
    struct sk_copied *first, *newest; /* its messages, in their order */
    struct sk_pairing pairing; /* where messages are compared (compare.h) */
};

struct sk_copied {
    struct sk_copied *next, *before; /* of all to this rank */
    struct sk_copied *later;         /* of its channel */
    struct sk_channel *channel;
    uint64_t index;
    uint64_t request[2]; /* by which it is under way to a copy of the receiver, 0: it is not */
    size_t bytes;
    int backup;          /* the receiver's other copy may ask for it */
    int synchronous;     /* it is under way until it is being received; and */
    int waited;          /* a request of the program's stands for it */
    int late;            /* it is among those that the program went on without (sk_channels) */
    int lent;            /* MPI may still read it for one that is dead: it is never freed */
    _Alignas(16) char data[];
};

/* So many messages to a rank, and so many bytes, may be on their way that the program has not waited for: more is waited for, else the memory of all that a fast
 * sender has sent would be needed. */
enum { SK_LATE_MOST = 8, SK_LATE_BYTES = 1 << 20 };

/* Of one rank; begins as all 0. */
struct sk_channels {
    struct sk_channel **at;
    size_t n, last;
    struct sk_copied *first, *newest; /* in the order in which they were sent */
    struct sk_copied *late[SK_LATE_MOST];
    size_t n_late, late_bytes;
};

/* Made if need be; valid as long as the struct. NULL: no memory. */
struct sk_channel *sk_channel_find(struct sk_channels *c, int context, int tag);
/* Room for the next message of its channel. NULL: no memory. */
struct sk_copied *sk_channel_add(struct sk_channels *c, struct sk_channel *to, size_t bytes);
/* 1: the receiver's other copy had this one when its sender died. */
int sk_channel_had(const struct sk_channel *c, uint64_t index);
/* One more that it lacked of those before its cut. 0, or -1: no memory. */
int sk_channel_lacks(struct sk_channel *c, uint64_t index);
/* The other copy has the first n: they are no backup any more. */
void sk_channel_ack(struct sk_channel *of, uint64_t n);
/* Free those that are over, from the oldest of this channel (NULL: of all) to the first that is not: how many are kept behind that one costs nothing. held: one that
 * stays. Bytes freed. */
size_t sk_channel_sweep(struct sk_channels *c, struct sk_channel *of, const struct sk_copied *held, int (*over)(struct sk_copied *m));
/* The same of each channel. */
size_t sk_channel_sweep_all(struct sk_channels *c, const struct sk_copied *held, int (*over)(struct sk_copied *m));
/* 1: the program may go on without this one, which stays until sk_channel_arrived says so; 0: there are too many of them. */
int sk_channel_is_late(struct sk_channels *c, struct sk_copied *m);
/* The oldest of them, late[0], has arrived. */
void sk_channel_arrived(struct sk_channels *c);
void sk_channels_free(struct sk_channels *c);

#endif
