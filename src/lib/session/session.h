/* A session: everything between saikai_init and saikai_finalize, over any group of ranks and without MPI. The public
 * functions (api.c) are a thin skin around one session; tests run several in one process.
 *
 * How the ranks agree. Every rank calls the candidates in the same order; a *tick* counts them and is therefore the same
 * number at the same place on all ranks. Ranks exchange measurements and requests by one non-blocking reduction at a time
 * (poll.c): it is started at an agreed tick and its result taken up at an agreed later tick, about schedule.poll later.
 * All decisions follow from results that are equal on all ranks, at ticks that are equal on all ranks: nothing else has
 * to be negotiated, and every generation is complete unless writing failed. */
#ifndef SK_LIB_SESSION_H
#define SK_LIB_SESSION_H

#include "base/config/config.h"
#include "backbone/keeper_page.h"
#include "group/group.h"
#include "lib/session/capture.h"
#include "lib/session/clock.h"
#include "lib/session/ending.h"
#include "lib/session/agreement.h"
#include "lib/session/identity.h"
#include "lib/session/levels.h"
#include "lib/session/measured.h"
#include "lib/session/place.h"
#include "lib/session/resume.h"
#include "lib/data/vars.h"

struct sk_courier;

/* Each part has its header. What is done with several of them is declared below, for its begin and end, and in headers of lib/start,
 * lib/restart and lib/run. */
struct sk_session {
    struct sk_group *g;
    struct sk_config *config;
    struct sk_keeper_page *page; /* NULL without a keeper */
    struct sk_vars vars;
    struct sk_place place;
    struct sk_identity who;
    struct sk_clock clock;
    struct sk_agreement agreement;
    struct sk_measured measured;
    struct sk_levels levels;
    struct sk_capture capture;
    struct sk_resume resume;
    struct sk_ending ending;
    int silent;                /* nothing is saved, read or agreed on */
    struct sk_courier *courier; /* of events, NULL: none so far */
};

/* Collective over g (taken over, also on failure). Takes over config. */
int sk_session_new(struct sk_group *g, struct sk_config *config, const char *program,
                   struct sk_session **out, struct saikai_error *err);
/* One that saves, reads and agrees on nothing: the program goes on as if no checkpoint were due. As above. */
int sk_session_new_silent(struct sk_group *g, struct sk_config *config, struct sk_session **out, struct saikai_error *err);
/* Collective: wait for what is being written, tell the store that the run ended, free. keep_going: the program was asked
 * to stop and will be started again. */
int sk_session_finalize(struct sk_session *s, struct saikai_error *err);
/* Collective: wait until all that was captured is committed or has failed, and learn what is complete. */
int sk_session_wait(struct sk_session *s, struct saikai_error *err);
/* Collective: the same, and the newest complete generation is in the prefix where there is one apart, or it was waited for without anything
 * moving for store.final_wait; the session goes on as before. */
int sk_session_keep_safe(struct sk_session *s, struct saikai_error *err);
/* Local: free without agreement; what is not committed is lost. */
void sk_session_abandon(struct sk_session *s);

/* A candidate at which nothing is due, as nearly all are: 1, and it is counted. */
static inline int sk_session_passes(struct sk_session *s, int64_t iteration)
{
    if (!sk_clock_passes(&s->clock, iteration))
        return 0;
    if (s->page)
        sk_keeper_page_progress(s->page, iteration);
    return 1;
}

/* ---- parts shared by the files of a session ---- */

/* Restart: 0, or SAIKAI_EDAMAGED when a container is another job's. */
int sk_session_check_store(const struct sk_session *s, const struct sk_skc_header *h, const char *path,
                           struct saikai_error *err);
/* What the ledger calls a generation that is in the prefix: where there is no other place, one that is complete is there. */
enum sk_ledger_state sk_session_in_prefix(const struct sk_session *s);
/* Collective: wait for what is being written, bring the newest generation to the prefix, and give the node's memory back. */
int sk_session_wind_up(struct sk_session *s, struct saikai_error *err);
/* 1: there is a local directory of its own. */
int sk_session_has_local(const struct sk_session *s);
/* All ranks agree that the prefix is another job's by now. */
void sk_session_lose_prefix(struct sk_session *s);

#endif
