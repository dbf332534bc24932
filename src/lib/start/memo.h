/* Where the state of a store (store/state.h) is kept: in the prefix, and beside the node-local copies, so that a job goes on
 * while the prefix is full, read-only, gone or does not answer. The newest one counts, by its incarnation; a copy that the
 * prefix could not take is marked as ahead of it. */
#ifndef SK_LIB_MEMO_H
#define SK_LIB_MEMO_H

#include "lib/session/session.h"

/* Rank 0: a restart failed, and the program may go on without: what could not be read stays for now, also at later starts. */
void sk_memo_unread(struct sk_session *s);
/* Rank 0: something of this start is where copies last: that is over. */
void sk_memo_is_safe(struct sk_session *s);
/* What the ranks find at a start. */
struct sk_memo {
    struct sk_state state; /* on rank 0 */
    int known;             /* on all ranks: 1: there is a state, and it is to be believed */
};

/* Rank 0: save s->who.state. An error only when there is no place that takes it. */
int sk_memo_save(struct sk_session *s, struct saikai_error *err);
/* Rank 0: what is in the prefix (without one, here) now: the tools may have changed it. */
int sk_memo_read(struct sk_session *s, struct sk_state *now);
/* Every rank: look for the newest state. Collective; one verdict. *away: the error with which the prefix cannot be read, on all
 * ranks; it is asked only while that is 0, and may become one. */
int sk_memo_find(struct sk_session *s, int *away, struct sk_memo *out, struct saikai_error *err);
/* Collective, after the start was counted: a copy of rank 0's state on every node. hosts: s->place.host of all ranks. */
int sk_memo_share(struct sk_session *s, const char *hosts);
/* Rank 0: the prefix takes files again. */
void sk_memo_catch_up(struct sk_session *s);
/* The node-local copies go: nothing will be resumed from. */
void sk_memo_remove_local(struct sk_session *s);

#endif
