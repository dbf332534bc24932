/* Signals of the program that mean "checkpoint" and "checkpoint, then stop". Signal handlers are the process's: they are installed
 * once, by the first session, and removed after the last one; each job of the process hears of every request. */
#ifndef SK_LIB_RUN_REQUESTS_H
#define SK_LIB_RUN_REQUESTS_H

#include "lib/session/session.h"

int sk_requests_install(const struct sk_config *c, int watched, struct saikai_error *err); /* watched: by a launcher */
/* Where nothing is saved: those that ask for a checkpoint alone do not end the program, as they would without a handler; nobody hears of them. */
int sk_requests_hush(const struct sk_config *c, struct saikai_error *err);
void sk_requests_remove(void);
/* The job of this store is no more, others of the process are. */
void sk_requests_forget(struct sk_id store);
/* So many handles are open in this process: with several, none of them may end it. */
void sk_requests_share(int handles);
int sk_requests_shared(void);
/* A candidate was reached: from now on there is something to save before the program ends. */
void sk_requests_worthy(void);
/* The signal that asks for the program's end, SIGTERM when that is not known. */
int sk_requests_reason(void);
/* 1: the program has a handler of its own for this signal. */
int sk_requests_left_to_program(int number);
/* 1: a signal that is to end the program came, and a handler of its own got it. */
int sk_requests_handed_on(void);
/* End the process by the signal's default action. */
void sk_requests_die(int number);
/* The requests that this rank knows of and has not told yet: from signals, the keeper and the clock. */
unsigned sk_requests_gather(struct sk_session *s);

#endif
