/* Restarts that did not come to anything: which of them count against a generation (restart.tries).
 *
 * A restart that reads a generation is noted in the state file before it begins. A start that finds the note of the one
 * before it asks how that ended: `saikai run` knows (the keeper's page), else each rank looks for the mark that it leaves
 * when it is told to end by a signal. Ended from outside: it does not count. Died by itself: it counts. Nobody knows (no
 * launcher of ours, and no signal that could be caught): it counts half. A candidate that is reached clears the generation. */
#ifndef SK_LIB_TRIES_H
#define SK_LIB_TRIES_H

#include "lib/session/session.h"

/* Local: the newest start of which this rank of the job was told to end by a signal before it reached a candidate, as its mark
 * in the local directory says, 0: none. */
int64_t sk_tries_marked(const struct sk_session *s);
/* Local: remove the marks of this rank. */
void sk_tries_clear_marks(const struct sk_session *s);
/* Rank 0, at the start, before the state is saved: judge the restart that the start before this one noted. marked: the newest
 * start that all ranks have a mark of. */
void sk_tries_judge(struct sk_session *s, int64_t marked);

/* Collective: rank 0 decides whether g may be read, and notes that it is. *allowed 0: it is passed over, and that is said. */
int sk_tries_may(struct sk_session *s, struct sk_gen g, int *allowed, struct saikai_error *err);
/* What was noted came to an end that says nothing against the generation; good 1: it is cleared. Rank 0 writes. */
void sk_tries_end(struct sk_session *s, struct sk_gen g, int good);

/* Rank 0, before the state is saved again: take over what was marked by hand while the job ran. */
void sk_tries_refresh(struct sk_session *s);

/* From now on signals that end the process leave a mark; until sk_tries_disarm. Local. */
void sk_tries_arm(struct sk_session *s);
void sk_tries_disarm(struct sk_session *s);

#endif
