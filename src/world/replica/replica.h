/* The protocol `replication`: each rank is two processes that compute the same, and when one of them dies its twin goes on in its place: nobody
 * goes back, and nothing is saved or read.
 *
 * Process p of the start is rank p, or, from n on, the second copy of one of those that have one. Copies of the same number send to each other (the parallel
 * protocol of redMPI: Fiala et al., SC 2012; of rMPI: Ferreira et al., SC 2011), as if they were alone; so what is not replicated still meets its own kind. Each keeps
 * what it sent until the receiver's other copy has it from its own sender. When that one dies, the receiver says what it lacks, and the
 * sender's twin sends it, and all that comes later, to both (takeover.c). What chance decides, such as the source of a wildcard, is decided
 * by the lead, copy 0 as long as it lives, and told to its twin before the next message leaves (decide.c).
 *
 * A rank that is one process is as one whose second copy died before anything was sent: it receives from first copies and sends to both. What is not
 * replicated then has no world of second copies alone, and on several hosts not the same one: these leave at it (leave.c).
 *
 * Collectives are made of messages (log/collective.h), so it does not matter who was through with one.
 *
 * What holds, so that nothing is lost, had twice or waited for in vain:
 * 1. The n-th receive of a channel (source, context, tag) gets the n-th message of it, in all copies. Receives that might get the same message
 *    are given their channels in the order of the program (sk_receives_is_behind).
 * 2. What was sent is kept until the receiver's other copy has said that it has it, or is dead.
 * 3. Before a receiver says what it lacks, it takes back what it waits for from the dead: what it then lacks never comes from there.
 * 4. The decisions of a lead, that nothing was found among them, are one sequence. Its twin has a beginning of it, in which all is that the
 *    lead had decided before the newest message that left it.
 * 5. Each wait is a loop of sk_replica_wait or sk_replica_turn, and ends when whoever is waited for has died: a receive, since its message then comes from the
 *    other copy; a send, since nobody is to get it; a decision, since the twin then decides; the twin's word, since there is no twin.
 * 6. What MPI itself no longer gives out, as when one was killed while it wrote into what processes share, is found from outside: the page says
 *    how often a process has looked for messages and found some, and when all look and none has found anything for 30 s after a death,
 *    the launcher starts the job again. */
#ifndef SK_WORLD_REPLICA_H
#define SK_WORLD_REPLICA_H

#include "world/comms/members.h"
#include "world/layer.h"
#include "world/replica/channel.h"

/* A request of the program's that stands for a receive: among the flags of objects.h. */
enum { SK_OBJECT_COPIED = 1 << 16 };

/* Lanes: a communicator of MPI's each, so that MPI_ANY_TAG finds what it may. The program's first communicators have one of their own, the others
 * one together. */
enum { SK_REPLICA_PROGRAM, SK_REPLICA_COLLECTIVE, SK_REPLICA_OWN, SK_REPLICA_OTHERS = SK_REPLICA_OWN + 6, SK_REPLICA_CONTEXTS };

/* Whether this process sends what it has for a rank to a copy of that. */
enum sk_replica_feed {
    SK_FEED_NONE, /* there is nobody to send to */
    SK_FEED_KEEP, /* its own sender lives: what is sent is kept for it */
    SK_FEED_WAIT, /* that one has died, and it has yet to say what it lacks */
    SK_FEED_SEND
};

struct sk_replica_peer {
    struct sk_channels channels;
    enum sk_replica_feed feed[2]; /* by copy */
    uint64_t fresh;               /* received since this process last told the rank's other copy … */
    size_t fresh_bytes;           /* … of which channels (sk_channel.fresh) */
};

/* A receive that has not ended. */
struct sk_replica_open {
    struct sk_replica_open *next, *before;
    uint64_t order; /* of all receives */
    struct sk_channel *channel; /* NULL: not posted */
    uint64_t index, serial;     /* in its channel; of those that name no source */
    void *buf;
    MPI_Datatype type;
    int count, source, tag, context, own_type, done, rc;
    int out, taken;             /* MPI is to give it no message for a moment (message_back.c); it was taken back */
    void *piece; /* what it is received into first, as buf has gaps (gaps.c); NULL: buf */
    int n_piece;
    MPI_Comm comm;              /* the program's … */
    struct sk_members *members; /* … whose ranks and tags the program knows it by; NULL: those of the world */
    MPI_Request request; /* MPI's … */
    MPI_Request handle;  /* … and the program's, MPI_REQUEST_NULL: it waits */
    MPI_Status status;
};

struct sk_replica {
    int n, copy, processes;          /* ranks; which copy this is */
    int *second;                     /* by rank: the process that is its second copy; where there is none: `processes`, which is dead */
    int *rank;                       /* by process */
    int apart;                       /* copies may be on different hosts */
    MPI_Comm same[SK_REPLICA_CONTEXTS], all[SK_REPLICA_CONTEXTS], control; /* this copy of each rank, or its only one; all processes */
    char *dead, *left;               /* by process; left: has said that it is at its end */
    uint32_t heard;                  /* the newest order that tells of the dead */
    uint32_t looks, finds;           /* for messages; and what they brought. The keeper looks at them */
    int losses;
    int moves;                       /* a receiver gets what was sent without its sender, which may compute meanwhile */
    int crowded;                     /* small messages that MPI has had no room for so far: it sends them when it is called, and nobody rings then */
    int floods;                      /* there were too many of these once */
    int awaits;                      /* waits for what others take, which may be over by that alone */
    int compares;                    /* messages of twins are compared (compare.h) */
    int64_t iteration;               /* of the newest candidate, -1: there was none */
    struct sk_replica_peer *peer;    /* by rank */
    struct sk_replica_open *first;   /* in the order in which they were begun */
    const struct sk_copied *held;    /* that is waited for */
    uint64_t bytes, limit, serial;
};
extern struct sk_replica sk_replica;

static inline int sk_replicates(MPI_Comm c)
{
    return __builtin_expect(sk_world.replicates, 0) && c == MPI_COMM_WORLD;
}
/* 1: this process decides what chance would. */
static inline int sk_replica_leads(void)
{
    return !sk_replica.copy || sk_replica.dead[sk_world.rank];
}
static inline int sk_replica_process(int copy, int rank)
{
    return copy ? sk_replica.second[rank] : rank;
}
static inline int sk_replica_copy_of(int process)
{
    return process >= sk_replica.n;
}
/* 1: some ranks are one process. */
static inline int sk_replica_is_partial(void)
{
    return sk_replica.processes < 2 * sk_replica.n;
}
/* Something has happened in this process: it does not wait in vain. */
static inline void sk_replica_found(void)
{
    atomic_store_explicit(&sk_world.page->finds, ++sk_replica.finds, memory_order_relaxed);
}
/* The copy of a rank that this process receives from. */
static inline int sk_replica_feeder(int rank)
{
    return sk_replica.dead[sk_replica_process(sk_replica.copy, rank)] ? !sk_replica.copy : sk_replica.copy;
}
/* After MPI_Init; told: as SK_WORLD_COPIES_ENV says. */
void sk_replica_begin(const char *told);
void sk_replica_refuse(const char *what);
int sk_replica_finalize(void);

#endif
