/* What the files of the public functions share: a handle is a session and what an error of it means. Compiled for each MPI. */
#ifndef SK_LIB_API_H
#define SK_LIB_API_H

#include "lib/session.h"
#include "lib/strict.h"

#define API __attribute__((visibility("default")))

struct saikai {
    struct sk_session *session;
    struct sk_strictness strict;
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
    struct sk_session *s = h->session;
    if (!__builtin_expect(sk_session_idle(s, iteration), 1))
        return 0;
    s->tick++;
    s->last_iteration = iteration;
    if (s->page)
        sk_keeper_page_progress(s->page, iteration);
    return 1;
}

#endif
