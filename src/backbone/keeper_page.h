/* The page that a rank shares with its keeper (`saikaid rank`, the parent process under `saikai
 * run`).
 *
 * The keeper makes it as a memory file and leaves its descriptor number in the environment
 * (SK_KEEPER_FD_ENV); the library maps it when it starts. There are no locks and no waiting: each
 * word has one writer, and the reader looks when it has time. Nothing here needs ZeroMQ, so the
 * library does not either. A program started without a keeper has no page, and the library goes on
 * without one. */
#ifndef SK_BACKBONE_KEEPER_PAGE_H
#define SK_BACKBONE_KEEPER_PAGE_H

#include "base/error.h"

#include <stdatomic.h>
#include <stdint.h>

#define SK_KEEPER_FD_ENV     "SAIKAI_KEEPER_FD"
#define SK_START_ENV         "SAIKAI_START" /* for the program: 1 in the first start of the job, 2 in the second … */
#define SK_KEEPER_MAGIC      0x4b414953u /* "SIAK" in memory */
#define SK_KEEPER_VERSION    3u
#define SK_KEEPER_PAGE_BYTES 4096u
#define SK_KEEPER_MARK_BYTES 2048u
#define SK_REPAIR_MOST       18 /* dead processes of one repair */

enum sk_keeper_state {
    SK_KEEPER_NONE = 0,        /* no library has mapped the page */
    SK_KEEPER_INITIALISED = 1, /* between the start and the end of the library */
    SK_KEEPER_STOPPED = 2,     /* all is saved as a signal asked for, and the program waits for its end */
    SK_KEEPER_ENDING = 3,      /* the program ends its use of the library */
    SK_KEEPER_FINALIZED = 4,
    SK_KEEPER_REFUSED = 5, /* another job has the store: it would be refused again */
    SK_KEEPER_HOPELESS = 6, /* the library cannot begin, and another start could not either */
    SK_KEEPER_UNABLE = 7,   /* the same, told to the program, which may go on without it (lib.on_error=return) */
};

enum sk_keeper_request {
    SK_REQUEST_CHECKPOINT = 1, /* checkpoint at the next candidate all ranks can agree on */
    SK_REQUEST_STOP = 2,       /* with the one above: then ask the program to stop */
    SK_REQUEST_END = 4,        /* with both: and when it does not ask, wait for the end once all is saved */
};
/* Above these bits: the signal that is the reason, 0: none. */
#define SK_REQUEST_BITS   7u
#define SK_REQUEST_SIGNAL 8

/* What a rank's layer says of itself in its keeper's page: a state in the low byte, a reason in the next, the repair above. */
enum sk_world_state {
    SK_WORLD_NONE = 0,  /* no layer */
    SK_WORLD_OUTSIDE,   /* before saikai_in_place */
    SK_WORLD_READY,     /* in it: can be repaired */
    SK_WORLD_REPAIRING, /* it has left its body */
    SK_WORLD_OVER,      /* saikai_in_place has ended */
    SK_WORLD_CANNOT     /* it cannot be repaired, for a reason */
};

enum sk_world_reason {
    SK_WORLD_FINE = 0,
    SK_WORLD_THREADS,    /* the program's threads may call MPI */
    SK_WORLD_BEFORE,     /* it communicated before saikai_in_place */
    SK_WORLD_FUNCTION,   /* it called what cannot be repaired */
    SK_WORLD_STALE,      /* it used a handle of the world before the repair */
    SK_WORLD_MPI,        /* an MPI that cannot be repaired */
    SK_WORLD_FAILED,     /* the repair did not work */
    SK_WORLD_WAITS,      /* said by the keeper: its process has looked for messages for long, and found none */
    SK_WORLD_UNSENT,     /* said by the keeper: what its process had sent before it died is still on its way to another host */
    SK_WORLD_BOUND,      /* said by the keeper: its process is inside MPI, in a call that ends with the dead one alone */
    SK_WORLD_REASONS
};

/* How the messages of two processes of a rank differ, beside what is in them: they belong to a collective operation; one of the two never sent
 * this one. */
enum sk_differ_how { SK_DIFFER_COLLECTIVE = 1, SK_DIFFER_MISSING = 2 };

#define SK_WORLD_WORD(state, reason, epoch) ((uint32_t)(state) | (uint32_t)(reason) << 8 | (uint32_t)(epoch) << 16)
#define SK_WORLD_STATE(word) ((word) & 255u)
#define SK_WORLD_REASON(word) ((word) >> 8 & 255u)
#define SK_WORLD_EPOCH(word) ((word) >> 16)

/* And the layer between program and MPI that it is to preload. */
#define SK_WORLD_LIBRARY_ENV "SAIKAI_KEEPER_WORLD"
/* For the layer: the keeper's process id; and for a process that takes the place of a dead one, the number of the repair. */
#define SK_WORLD_ENV      "SAIKAI_WORLD"
#define SK_WORLD_JOIN_ENV "SAIKAI_WORLD_JOIN"
/* How many of the processes that were started are ranks; the others are warm spares. Not set where a rank is two processes. */
#define SK_WORLD_RANKS_ENV "SAIKAI_WORLD_RANKS"
/* Set where the job has several hosts: the hosts of the processes that were started, in their order, as mpirun knows them, each with how many in
 * a row it has: n1*2,n2*1. */
#define SK_WORLD_HOSTS_ENV "SAIKAI_WORLD_HOSTS"

/* Set where the protocol logging is chosen: most bytes of messages that a rank keeps. */
#define SK_WORLD_LOG_ENV "SAIKAI_WORLD_LOG"

/* Set where the protocol replication is chosen: how many ranks there are, most bytes of messages that a process keeps, 1: messages of twins are compared,
 * 1: twins may be on other hosts, and which ranks are two processes (base/config/ranklist.h). */
#define SK_WORLD_COPIES_ENV "SAIKAI_WORLD_COPIES"

/* Set where the chosen protocol has hooks (world/hooks/hooks.h): its name and the path of its component. */
#define SK_WORLD_PROTOCOL_ENV "SAIKAI_WORLD_PROTOCOL"

/* How the start before this one ended, as far as the launcher knows. */
enum sk_last_end {
    SK_LAST_END_UNKNOWN = 0, /* or there was none */
    SK_LAST_END_BY_ITSELF,   /* the program died, failed or hung */
    SK_LAST_END_FROM_OUTSIDE /* ended by order, or its node was lost */
};
/* Variable that tells it to the keepers, as a number. */
#define SK_LAST_END_ENV "SAIKAI_KEEPER_LAST_END"

/* And another one what it has learnt of failures: failures per second of the hosts and of the program, faults and seconds of this
 * program alone, and the shape of Weibull's law, as floating-point numbers with commas. */
#define SK_LEARNT_ENV "SAIKAI_KEEPER_LEARNT"

enum { SK_WITHIN_SPARE = 2 };

struct sk_keeper_page {
    /* Written once, before the program starts. */
    uint32_t magic, version;
    uint32_t incarnation; /* 0: first start of the job; n: its n-th restart, which must resume
                             whatever restart.mode says */
    uint32_t rank;
    int64_t deadline_ms; /* end of the job's time slot on this host's monotonic clock, milliseconds;
                            0: none known */
    int64_t past_ms;     /* how long the starts before this one ran, together */
    uint64_t past_candidates; /* that the last of them reached before it died; 0: unknown */
    uint32_t past_faults;     /* that ended them */
    uint32_t last_end;        /* enum sk_last_end */
    /* What the launcher has learnt; program_rate 0: nothing, and what is above is all that is known. */
    float host_rate, program_rate; /* failures per second */
    float own_faults, own_seconds; /* of this program alone, in earlier runs and in this one */

    /* Written by the library (a cache line of its own: the first word changes at every candidate).
     */
    _Atomic uint64_t progress;          /* bumped at every candidate */
    _Atomic int64_t iteration;          /* of the newest candidate */
    _Atomic int64_t complete_iteration; /* newest generation known to be complete, -1: none */
    _Atomic uint64_t complete_count; /* generations that became complete in this process's life; the
                                        one that was restored does not count */
    _Atomic int64_t restored_iteration; /* the generation this process resumed from, -1: fresh start
                                           or not yet known */
    _Atomic uint32_t state;             /* enum sk_keeper_state */
    _Atomic uint32_t world;             /* of the layer between program and MPI: SK_WORLD_WORD */
    _Atomic uint32_t joined;            /* by the layer in a warm spare that took the place of a dead process, whose rank and
                                           repair it has set by then: as whom its keeper reports; 0: it waits */
    /* By the layer where each rank is two processes: how often it looked for messages, and how often there was something. */
    _Atomic uint32_t looks, finds;
    _Atomic uint32_t bound; /* by the layer: odd in a call of MPI's that cannot be left, another number in each */

    /* Written by the keeper; the library takes requests with sk_keeper_page_take. */
    _Atomic uint32_t requests; /* bits of enum sk_keeper_request */
    float past_lost_seconds, past_down_seconds; /* before the program starts: of past_ms, computed in vain; beside it, until
                                                   there was another start */
    /* A repair in place is wanted: its number (the last that is written), who is dead, and as whom the keepers of the new processes
     * report. */
    _Atomic uint32_t repair;
    uint32_t repair_first;
    _Atomic uint32_t repair_dead; /* written after them: what is there by then stays there while each order repeats those before */
    uint16_t repair_rank[SK_REPAIR_MOST];
    float shape; /* before the program starts: Weibull's, of the times between the faults that are expected; 0: not known */

    /* Written by the library while it restarts: the file that says that this rank was told to end, made by whoever hears of it
     * first (the program may ignore the signal, or hang). "": none is wanted. */
    char stop_mark[SK_KEEPER_MARK_BYTES];

    /* By the layer where messages of twins are compared: how many differed so far (written last), and the first of them: to which rank, with
     * which tag, which number from 0 of those with that rank and tag, at which iteration (-1: not known). */
    _Atomic uint32_t differ;
    uint32_t differ_how; /* bits of enum sk_differ_how */
    int32_t differ_to, differ_tag;
    uint64_t differ_number;
    int64_t differ_iteration;

    /* By the layer of a rank that is alone on its host, with the protocol logging: this descriptor and 1 of this process is a file that is to outlive
     * it; and by the keeper: as which descriptor of its own, and 1, it has it; 0: not yet, or it cannot. */
    uint32_t events_process;
    _Atomic uint32_t events, events_kept;
    _Atomic uint32_t within; /* by the layer: 1 from MPI_Init until MPI_Finalize is over; SK_WITHIN_SPARE in a warm spare that waits and whom nobody needs meanwhile */
};

_Static_assert(sizeof(struct sk_keeper_page) == 192 + SK_KEEPER_MARK_BYTES + 48, "the layout is shared between processes");

/* Keeper: make the page (sealed memory file of SK_KEEPER_PAGE_BYTES, without FD_CLOEXEC) and map
 * it. *fd and *page are the caller's: close and sk_keeper_page_unmap. */
int sk_keeper_page_make(uint32_t rank, uint32_t incarnation, int *fd, struct sk_keeper_page **page,
                        struct saikai_error *err);

/* Library: map the page that the environment names. Local, does not block. Returns 0 with *page =
 * NULL when there is no keeper (the variable is not set, or the descriptor is no such page any
 * more: a wrapper script may have closed it); SAIKAI_EFORMAT when keeper and library are of
 * different versions. The state is not touched. */
int sk_keeper_page_attach(struct sk_keeper_page **page, struct saikai_error *err);

/* Unmap; NULL is accepted. */
void sk_keeper_page_unmap(struct sk_keeper_page *page);

/* Library: the requests that came since the last call, cleared at once. A load when there are none.
 */
static inline uint32_t sk_keeper_page_take(struct sk_keeper_page *page)
{
    if (!atomic_load_explicit(&page->requests, memory_order_relaxed))
        return 0;
    return atomic_exchange_explicit(&page->requests, 0, memory_order_acq_rel);
}

/* Library: a candidate was reached. One writer, so no locked instruction is needed. */
static inline void sk_keeper_page_progress(struct sk_keeper_page *page, int64_t iteration)
{
    uint64_t n = atomic_load_explicit(&page->progress, memory_order_relaxed);
    atomic_store_explicit(&page->iteration, iteration, memory_order_relaxed);
    atomic_store_explicit(&page->progress, n + 1, memory_order_relaxed);
}

/* Library: the generation of this iteration became complete (every rank has it). */
static inline void sk_keeper_page_complete(struct sk_keeper_page *page, int64_t iteration)
{
    uint64_t n = atomic_load_explicit(&page->complete_count, memory_order_relaxed);
    atomic_store_explicit(&page->complete_iteration, iteration, memory_order_relaxed);
    atomic_store_explicit(&page->complete_count, n + 1, memory_order_release);
}

#endif
