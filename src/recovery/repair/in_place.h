/* Recovery in place: whether a fault can be repaired, what of the job is being repaired, and when that has come to its end. Pure; the
 * supervisor acts on it.
 *
 * The keeper of a process that is made again reports as a rank of its own, beyond those of the job: nobody can take its messages for
 * those of the one before. */
#ifndef SK_RECOVERY_IN_PLACE_H
#define SK_RECOVERY_IN_PLACE_H

#include "recovery/fault/detector.h"

/* How many processes of one start can be made again; then it is a restart. */
enum { SK_IN_PLACE_MOST = 64 };

struct sk_in_place;

/* spares: processes beyond the ranks, which report as the numbers after theirs; limit_s: for one repair. NULL: out of memory. */
struct sk_in_place *sk_in_place_new(int n_ranks, int spares, double limit_s);
void sk_in_place_free(struct sk_in_place *p); /* NULL is accepted */
/* A new start of the whole job. */
void sk_in_place_reset(struct sk_in_place *p);

/* As which rank a rank's keeper reports now. */
uint32_t sk_in_place_id(const struct sk_in_place *p, int rank);
/* The rank whose keeper reports as this one, -1: none, or one that was replaced. */
int sk_in_place_rank(const struct sk_in_place *p, uint32_t id);

/* NULL: all that are gone can be made again; else why not, in a few words. */
const char *sk_in_place_why_not(const struct sk_in_place *p, const struct sk_detector *d);
/* 1: those that are gone could have been left; so what stands against it may be that the others have not told where they are now. */
int sk_in_place_may_change(const struct sk_in_place *p, const struct sk_detector *d);
/* Begin: from now on the dead have new keepers, of which the order tells; who lists the dead in a few words. */
void sk_in_place_begin(struct sk_in_place *p, struct sk_detector *d, double now, struct sk_message *order, char *who, size_t cap);
int sk_in_place_under_way(const struct sk_in_place *p);
/* The order, for whoever has not heard it. */
const struct sk_message *sk_in_place_order(const struct sk_in_place *p);
int sk_in_place_has_heard(const struct sk_in_place *p, const struct sk_detector *d, int rank);
/* 1: all are in their place again, -1: it did not work, and *why says so in a few words; 0: not yet. */
int sk_in_place_look(struct sk_in_place *p, const struct sk_detector *d, double now, const char **why);
double sk_in_place_seconds(const struct sk_in_place *p, double now); /* since it began */
/* How many repairs this start has seen. */
uint32_t sk_in_place_count(const struct sk_in_place *p);
/* And how many processes were made again in them. */
uint32_t sk_in_place_made(const struct sk_in_place *p);
/* 1: there was a repair, and since then all processes wait for each other: nobody will ever go on. */
int sk_in_place_is_stuck(const struct sk_in_place *p, const struct sk_detector *d);

#endif
