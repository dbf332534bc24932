/* The end that somebody asked for. */
#ifndef SK_LIB_RUN_STOP_H
#define SK_LIB_RUN_STOP_H

#include "lib/session/session.h"

/* One candidate after an end was asked for. Does not come back from a program that never asks whether it should stop. */
int sk_stop_step(struct sk_session *s, struct saikai_error *err);
/* For tests: called where the process would wait for its end. */
extern void (*sk_stop_hook)(void);

#endif
