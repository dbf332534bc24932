/* Events of the job (saikai/event.h): those of the program, those of Saikai itself, and the notice. Local, does not block. */
#ifndef SK_LIB_RUN_EVENTS_H
#define SK_LIB_RUN_EVENTS_H

#include "lib/session/session.h"

#include <saikai/event.h>

/* This rank's program tells an event, and asks for the next one, for which it may wait so many seconds. */
int sk_session_publish(struct sk_session *s, const char *name, int severity, const char *const fields[], struct saikai_error *err);
int sk_session_next_event(struct sk_session *s, const char *filter, double seconds, struct saikai_event *out, size_t size_bytes,
                          struct saikai_error *err);
/* What Saikai itself tells, from events.least on: of this rank, or of none alone; without fields; and, rank 0, of a generation. */
void sk_session_tell(struct sk_session *s, int of_rank, struct saikai_event *e);
void sk_session_tell_simply(struct sk_session *s, const char *name, int severity, int of_rank);
void sk_session_tell_generation(struct sk_session *s, const char *name, int64_t iteration, const char *where, int severity);
/* Rank 0 listens from now on. */
void sk_session_begin_events(struct sk_session *s);
/* Rank 0: the requests that follow from notices (bits as sk_keeper_request). */
unsigned sk_session_heed_notice(struct sk_session *s);

#endif
