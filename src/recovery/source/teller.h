/* How the process of a source tells events: to `saikai run`, through a pipe, and to the stores of its jobs. Bounded: of a flood a part is
 * told, and how many were left out. */
#ifndef SK_RECOVERY_TELLER_H
#define SK_RECOVERY_TELLER_H

#include "store/event/event.h"

#include <stdint.h>

/* The field that tells whether a host is well: its value is one of the two words. */
#define SK_NODE_FIELD  "node"
#define SK_NODE_UNWELL "unwell"
#define SK_NODE_WELL   "well"
#define SK_NODE_WHY    "why" /* the field with the words about it */

enum {
    SK_TELLER_BURST = 32,  /* events that are told at once … */
    SK_TELLER_EVERY_S = 10, /* … and then one in so many seconds */
    SK_TELLER_NOTICES_S = 300, /* shortest time between two notices: each makes the job save */
};

struct sk_teller;

/* source: its name, stays. prefix "none": no stores; else those there whose leases are of the `saikai run` with this number. out: the
 * pipe, which does not block. NULL: memory is out. */
struct sk_teller *sk_teller_new(const char *source, const char *prefix, uint64_t run, int out);
void sk_teller_free(struct sk_teller *t); /* NULL is accepted */

/* Tell it of this host; the field `source` is added. */
void sk_teller_tell(struct sk_teller *t, struct saikai_event *e, const char *host);
/* A host is not well, in these words, or is again (NULL). */
void sk_teller_node(struct sk_teller *t, const char *host, const char *why);
/* Ask the job for a checkpoint now, since something is wrong with this host. Seldom: what comes too soon after another one is left. */
void sk_teller_notice(struct sk_teller *t, const char *host, const char *reason);
/* So many events are left out. */
void sk_teller_drop(struct sk_teller *t, int n);

/* This source lives. */
void sk_teller_beat(struct sk_teller *t);
/* 1: nobody reads the pipe any more. */
int sk_teller_is_alone(const struct sk_teller *t);
/* Bring to the stores what they do not have yet: a job that has just begun has none. Blocks as the file system does. */
void sk_teller_flush(struct sk_teller *t);
/* How many events wait for a store, the i-th of which is *e: for tests. */
int sk_teller_waiting(const struct sk_teller *t, int i, struct saikai_event *e);

#endif
