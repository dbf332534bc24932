/* What one job asks the failure database, and what it adds to that: the same in the user's own database and in that of a site, which is asked by
 * messages (backbone/rates/message.h). */
#ifndef SK_SCHEDULE_EXCHANGE_H
#define SK_SCHEDULE_EXCHANGE_H

#include "schedule/learn/database.h"

enum { SK_EXCHANGE_EVENTS = 16, SK_EXCHANGE_HOSTS = 16384 };

struct sk_exchange_host {
    char name[SK_NAME_BYTES];
    struct sk_belief seen; /* of it alone */
    double stated;         /* failures per second that somebody told; -1: nobody */
    double to_add;         /* seconds that the database does not have yet */
    int used;              /* the caller's own */
};

struct sk_rates_exchange {
    double memory;
    char job[SK_NAME_BYTES];
    double now, job_seconds;
    struct sk_belief nodes, others, seen; /* of all hosts, all other programs, this one */
    double shape;                         /* Weibull's, of the times between failures of hosts; 0: not known */
    int n_events;
    struct sk_fault_event event[SK_EXCHANGE_EVENTS];
    int n;
    struct sk_exchange_host host[];
};

/* n hosts without names; free it with free. NULL: memory is out, or there are too many. */
struct sk_rates_exchange *sk_exchange_new(int n);
struct sk_rates_exchange *sk_exchange_copy(const struct sk_rates_exchange *x);

/* Fill nodes, others, seen, shape, and of each host seen, and stated where that is -1. */
int sk_exchange_ask(struct sk_database *db, struct sk_rates_exchange *x, struct saikai_error *err);
/* What is to be added, and nothing else: hosts that were not seen are not in it, and none has a rate that is stated. NULL: memory is out. */
struct sk_rates_exchange *sk_exchange_to_add(const struct sk_rates_exchange *x);
/* Add job_seconds, events and of each host to_add and a rate that is stated, all or nothing. */
int sk_exchange_add(struct sk_database *db, const struct sk_rates_exchange *x, struct saikai_error *err);
/* The same, unless what had this id was added before: then 0, and nothing changes. */
int sk_exchange_add_once(struct sk_database *db, const struct sk_rates_exchange *x, struct sk_id id, struct saikai_error *err);

#endif
