/* What a rank keeps of the messages that it sent (sender-based message logging: Johnson and Zwaenepoel 1987), and the counts by which two
 * ranks know what one of them has of the other. Pure.
 *
 * A channel is all messages with one tag between this rank and a peer: MPI keeps their order, and when a receive names its source and tag,
 * the n-th that is posted gets the n-th that was sent. Messages of the set-up, before there is a mark, stay for ever: a new process runs
 * it again. A mark is a place in the program that a new process may begin from; what was sent before the oldest one goes. */
#ifndef SK_WORLD_SENT_H
#define SK_WORLD_SENT_H

#include "world/arena/arena.h"

#include <stddef.h>
#include <stdint.h>

struct sk_kept_message {
    struct sk_kept_message *next;
    uint64_t index;   /* in its channel */
    uint64_t request; /* by which it is under way, 0: it is not */
    size_t bytes;
    int tag;
    int channel;     /* the number of its channel: that of this tag */
    char synchronous; /* it is over when it is being received */
    char lent; /* MPI may still read it for a world that is no more: it is never freed */
    char late; /* the program went on before its receiver had it */
    _Alignas(16) char data[];
};

/* So much may be late to each peer: what is sent ahead of who receives has a bound, as it has with MPI alone. */
enum { SK_KEPT_LATE = 8, SK_KEPT_LATE_BYTES = 1 << 20 };

/* What a message of so many bytes takes. */
static inline size_t sk_kept_whole(size_t bytes)
{
    return sizeof(struct sk_kept_message) + bytes;
}

struct sk_kept_channel {
    int tag;
    uint64_t sent, posted, done; /* messages sent; receives posted, and those of them that have ended */
    uint64_t had;                /* so many of those sent need not be sent, as the peer has them from the process before this one */
};

struct sk_kept_place; /* its number by its tag */

struct sk_kept_list {
    struct sk_kept_message *first, *last;
};

struct sk_kept_peer {
    struct sk_kept_list setup, run;
    struct sk_kept_channel *channel; /* in the order in which their tags came up */
    int channels;
    struct sk_kept_place *place; /* by tag, a hash table */
    int has_all; /* what this process sends it, it has: the set-up of a new process */
    int n_late;
    size_t late_bytes;
    struct sk_kept_message *late[SK_KEPT_LATE]; /* in the order in which they were sent */
};

/* Counts of a channel at a mark. */
struct sk_kept_count {
    uint64_t sent, posted;
};

struct sk_kept_mark {
    struct sk_kept_mark *next; /* the next younger one */
    int64_t key;               /* of the generation */
    uint64_t position;         /* candidates since the program's first restart */
    size_t n, *first;          /* of each peer: the first of its counts, which are in the order of its channels; and the end of all */
    struct sk_kept_count count[];
};

struct sk_kept {
    int n;            /* peers */
    int in_setup;
    uint64_t bytes;   /* of all messages that are kept, as sk_kept_whole counts */
    struct sk_arena arena;
    struct sk_kept_mark *oldest, *youngest;
    struct sk_kept_peer peer[];
};

/* Most tags between two ranks: beyond, nothing is kept. */
enum { SK_KEPT_CHANNELS = 256 };

struct sk_kept *sk_kept_new(int n_ranks); /* NULL: no memory */
/* What MPI may still read stays. */
void sk_kept_free(struct sk_kept *k); /* NULL is accepted */
/* NULL: no memory, or too many tags. Valid until the next call with a new tag. */
struct sk_kept_channel *sk_kept_channel(struct sk_kept *k, int peer, int tag);
/* Room for the next message of its channel, which is counted. NULL: no memory, or too many tags. */
struct sk_kept_message *sk_kept_add(struct sk_kept *k, int peer, int tag, size_t bytes);
/* 1: the peer has it already. */
int sk_kept_is_had(struct sk_kept *k, int peer, const struct sk_kept_message *m);

/* 1: it is late from now on; 0: too many are. */
int sk_kept_is_late(struct sk_kept *k, int peer, struct sk_kept_message *m);
/* Those of the peer that have ended, up to the first one that has not, are late no more. */
void sk_kept_arrived(struct sk_kept *k, int peer, int (*ended)(struct sk_kept_message *m));
/* None is: their world is no more. */
void sk_kept_none_late(struct sk_kept *k);

/* The set-up is over: what was sent so far stays. */
void sk_kept_end_setup(struct sk_kept *k);
/* 0, or -1: no memory. */
int sk_kept_set_mark(struct sk_kept *k, int64_t key, uint64_t position);
const struct sk_kept_mark *sk_kept_find(const struct sk_kept *k, int64_t key); /* NULL: none */
/* The counts of the channel with this number. 0 for one that there was not yet. */
struct sk_kept_count sk_kept_at(const struct sk_kept_mark *m, int peer, int channel);
/* Nothing before this mark is needed any more. What is still under way, or late, stays: ended says whether a message is not. An unknown key
 * changes nothing. */
void sk_kept_cut(struct sk_kept *k, int64_t key, int (*ended)(struct sk_kept_message *m));
/* Those younger than this mark: no new process begins there. */
void sk_kept_forget_after(struct sk_kept *k, int64_t key);

#endif
