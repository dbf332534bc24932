/* The generation that a restart is to go on from, when somebody chose one: the program (saikai_restart_from) or its user
 * (restart.from, `saikai run --from`). */
#ifndef SK_LIB_CHOSEN_H
#define SK_LIB_CHOSEN_H

#include "lib/session/session.h"

/* Collective: note what is wanted: a generation's name, an iteration in digits, or "newest" (also NULL and ""), which is no choice.
 * SAIKAI_EINVAL: it is none of these, or the ranks want different ones. */
int sk_chosen_set(struct sk_session *s, const char *which, struct saikai_error *err);
/* 1: nothing was chosen, or this is what was. */
int sk_chosen_is(const struct sk_session *s, struct sk_gen g);
/* What is not chosen leaves the list. Returns how many stay. */
size_t sk_chosen_filter(const struct sk_session *s, int64_t *key, size_t count);

/* What kept the search from a generation that matches. */
struct sk_chosen_search {
    int partial, damaged; /* how many there are */
};
/* None was given back: which error that is. */
int sk_chosen_missing(const struct sk_session *s, const struct sk_chosen_search *found, struct saikai_error *err);
/* Collective, after s->resume.from was restored: newer[count], keys of generations of this rank, growing less, are passed over by later
 * starts, as if they were marked bad. Nothing is removed for it. */
int sk_chosen_pass_over(struct sk_session *s, const int64_t *newer, size_t count, struct saikai_error *err);

#endif
