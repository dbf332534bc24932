/* What the files of the public functions share: a handle is a session and what an error of it means. Compiled for each MPI. */
#ifndef SK_LIB_API_H
#define SK_LIB_API_H

#include "lib/session/session.h"
#include "lib/api/strict.h"

#define API __attribute__((visibility("default")))

struct saikai {
    struct sk_session *session;
    struct sk_strictness strict;
    struct saikai *next; /* of the open ones */
};

/* What saikai_init began; NULL: nothing. */
extern struct saikai *sk_default SK_HIDDEN;
/* The last error of this thread. */
extern __thread struct saikai_error sk_last SK_HIDDEN;

/* SAIKAI_ESTATE: h is NULL. */
SK_HIDDEN int sk_not_begun(void);

/* Nearly all candidates: nothing is due. */
static inline int sk_api_passes(struct saikai *h, int64_t iteration)
{
    return sk_session_passes(h->session, iteration);
}

#endif
