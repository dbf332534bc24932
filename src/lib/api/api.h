/* What the files of the public functions share: a handle is a session and what an error of it means. Compiled for each MPI. */
#ifndef SK_LIB_API_H
#define SK_LIB_API_H

#include "lib/session/session.h"
#include "lib/api/strict.h"

#define API __attribute__((visibility("default")))

struct saikai {
    struct sk_session *session;
    struct sk_strictness strict;
    char *text; /* what saikai_init was given … */
    const char *mpi_of_program;
    int of_world, chose; /* … MPI_COMM_WORLD; a generation was chosen */
    struct saikai *next; /* of the open ones */
};

/* What saikai_init began; NULL: nothing. */
extern struct saikai *sk_default SK_HIDDEN;
/* The last error of this thread. */
extern __thread struct saikai_error sk_last SK_HIDDEN;

/* > 0: in a function that would go on with the session it began with. */
extern int sk_api_inside SK_HIDDEN;
/* After a restart: where this rank is in a world whose other ranks stay where they are. mine: what a survivor was at; survives: this is one.
 * 0, or a negative code. */
SK_HIDDEN int sk_rejoin_place(struct saikai *h, uint64_t mine, int survives);
/* For the layer between program and MPI: see world/world.h. */
SK_HIDDEN int sk_rejoin_able(void);
SK_HIDDEN int sk_rejoin(void);
/* Begin the session of a handle once more, in a world that was repaired. */
SK_HIDDEN int sk_reopen(struct saikai *h);
SK_HIDDEN int sk_is_only_handle(const struct saikai *h);

/* SAIKAI_ESTATE: h is NULL. */
SK_HIDDEN int sk_not_begun(void);

/* Nearly all candidates: nothing is due. */
static inline int sk_api_passes(struct saikai *h, int64_t iteration)
{
    return sk_session_passes(h->session, iteration);
}

#endif
