/* What carries a process's events to the store and brings those of others from there: a thread, so that nobody else ever waits for a
 * disk. It looks once a second, and at once when it is told something. */
#ifndef SK_STORE_EVENT_COURIER_H
#define SK_STORE_EVENT_COURIER_H

#include "store/event/filter.h"

#include <stdint.h>

enum {
    SK_COURIER_WAITING = 64,     /* events of this process that may wait to be written */
    SK_COURIER_KEPT = 256,       /* that were read, for those who ask */
    SK_COURIER_SUBSCRIPTIONS = 8
};

struct sk_courier;

/* Events of the directory, which need not be there yet. */
int sk_courier_new(const char *dir, struct sk_courier **out, struct saikai_error *err);
/* Waits two seconds at most for what has to be written; a thread that hangs in a file system keeps what it needs. NULL is accepted. */
void sk_courier_free(struct sk_courier *c);

/* Have it written. SAIKAI_EBUSY: too many wait; SAIKAI_EINVAL: it is too long. */
int sk_courier_tell(struct sk_courier *c, const struct saikai_event *e, struct saikai_error *err);
/* The next one that passes the filter, since the first call with this text: 1, 0, or SAIKAI_EINVAL: no filter, or too many. */
int sk_courier_next(struct sk_courier *c, const char *filter, double seconds, struct saikai_event *out, struct saikai_error *err);

/* 1: a notice has come since the last call, and *deadline_ms is the soonest deadline of those that did, wall clock; 0: none has a deadline.
 * Notices of before the courier count as long as their deadline is ahead. A load when there was none. */
int sk_courier_notice(struct sk_courier *c, int64_t *deadline_ms);

#endif
