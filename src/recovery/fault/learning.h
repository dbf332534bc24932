/* What `saikai run` learns of failure rates: it asks the failure database before the first start, tells the ranks what is known, and
 * adds what the job saw. A database that does not answer, is full, damaged or somebody else's is told once; the job goes on without. */
#ifndef SK_RECOVERY_LEARNING_H
#define SK_RECOVERY_LEARNING_H

#include "base/config/config.h"
#include "recovery/fault/fault.h"

#include <stddef.h>

struct sk_learning;

/* program: as typed; the job is known by job.name, else by the program's file name. Asks the database, for 2 s at most. NULL: nothing is
 * learnt (memory is out; failure.database is none). now: of sk_now(). */
struct sk_learning *sk_learning_new(const struct sk_config *c, const char *program, const struct sk_hosts *h);
/* Adds what is left to add. NULL is accepted, here and below. */
void sk_learning_free(struct sk_learning *l, double now);

/* A start on the hosts that have a seat. */
void sk_learning_started(struct sk_learning *l, const struct sk_hosts *h, const int *seat, int n_ranks, double now);
/* The start ended with this fault. counts 0: before the program had done anything that a checkpoint could have kept; only what is
 * the host's fault is noted then. */
void sk_learning_fault(struct sk_learning *l, const struct sk_fault *f, const struct sk_hosts *h, int counts, double now);
/* Add to the database what is to be added, when there is a fault or an hour has passed. */
void sk_learning_tick(struct sk_learning *l, double now);

/* For the start that comes: text of the variable SK_LEARNT_ENV (backbone/keeper_page.h), "" when nothing is known. */
enum { SK_LEARNT_TEXT = 128 };
void sk_learning_print(const struct sk_learning *l, char out[SK_LEARNT_TEXT]);

#endif
