/* The ranks of other nodes whose services speak through this one (backbone/frame/tree.h): through which of them each speaks, and what they
 * say, merged as that of one's own keepers is (merge.h). Pure. */
#ifndef SK_DAEMON_TREE_KIN_H
#define SK_DAEMON_TREE_KIN_H

#include "daemon/merge.h"

struct sk_kin;

/* By which way something is heard. */
struct sk_kin_way {
    int place, passed; /* of the service that says it; 1: which had it from another one */
    double said;       /* when the ranks' own service heard it, as far as that is known */
};

struct sk_kin *sk_kin_new(void);   /* NULL: out of memory */
void sk_kin_free(struct sk_kin *k); /* NULL is accepted */
/* The service at this place said m, and, for ranks in a row that live, `more` of the next ranks do as well. *again: something that it said
 * before is missing here; it is to say all again. */
enum sk_client_news sk_kin_heard(struct sk_kin *k, const struct sk_kin_way *way, const struct sk_message *m, uint32_t more, int *again);
/* Put what is new into b, after a mark that it is of others and how old the oldest of it is; where b is full, send it: each frame has the
 * mark again. So what waits on its way for a while does not make anybody live longer. */
void sk_kin_merge(struct sk_kin *k, struct sk_frame *b, double now, void (*send)(void *arg, struct sk_frame *b), void *arg);
/* The service at this place is silent: those that speak through it get time to come by another way, they live as of now. */
void sk_kin_excuse(struct sk_kin *k, int place, double now);
/* 1: there is something to be merged, for which others wait. */
int sk_kin_has_news(const struct sk_kin *k);
/* What was merged before as a whole is to be merged so again, as soon as it comes again. */
void sk_kin_repeat(struct sk_kin *k);
/* The place of the service that this rank speaks through; -1: it is not here. */
int sk_kin_find(const struct sk_kin *k, uint32_t incarnation, uint32_t rank);
/* Forget those of whom nothing was heard since then. */
void sk_kin_forget(struct sk_kin *k, double since);
int sk_kin_count(const struct sk_kin *k);

#endif
