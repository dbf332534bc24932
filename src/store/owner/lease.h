/* The lease of a store: a file `lease` in its directory names the one job that may write there.
 *
 * Whoever takes it is the only one: of many that try at once, on whichever hosts, one succeeds. A holder that has died loses
 * it. On the same system the process itself is looked at; a holder elsewhere renews the file every sixth part of the timeout, by a
 * thread of its own that needs neither MPI nor the program, and counts as dead when it has not done so for the timeout. Ages
 * are those of the file system's clock alone. Whoever lost it learns that from the file, at once where it looks before it
 * writes (sk_lease_check), else when it would renew. */
#ifndef SK_STORE_LEASE_H
#define SK_STORE_LEASE_H

#include "store/owner/job.h"
#include "store/owner/owner.h"

struct sk_lease;

#define SK_LEASE_FILE "lease"

/* Take the lease of dir. Blocks at most about the timeout, when the holder is elsewhere and silent. SAIKAI_EBUSY: the sentence
 * names the holder and what to do. A directory that cannot be written to (read-only, full) gives a lease that holds
 * nothing: whoever else could be refused cannot write either; it is told at the level of warnings. */
int sk_lease_take(const char *dir, const struct sk_owner *self, double timeout_s, struct sk_lease **out,
                  struct saikai_error *err);
/* For a dir that does not answer, or takes no files: nothing is held yet. A thread takes the lease as soon as that is possible
 * (where dir is nobody's, it becomes this job's first), or loses it when somebody else has it by then. Never blocks. */
int sk_lease_take_later(const char *dir, const struct sk_owner *self, double timeout_s, const struct sk_job *job,
                        struct sk_lease **out, struct saikai_error *err);
/* Whose dir is, which sk_lease_take does not know: where somebody removes what is in dir while the lease is held (`rm -r`, a file system
 * that is purged), dir is made this job's again. */
void sk_lease_of(struct sk_lease *l, const struct sk_job *job);
/* Which start of the job this is: while the lease was away, one that is higher may have come and gone. */
void sk_lease_begun(struct sk_lease *l, uint32_t incarnation);
/* Have the thread replace path with this text (copied) when it next renews the lease, and at the end: as long as the lease is held. Of
 * several texts for one path the newest counts. open: everybody may read it. -1: no memory, too many paths (SK_BOARD_MOST), or no lease. Never blocks for long. */
int sk_lease_post(struct sk_lease *l, const char *path, int open, const void *text, size_t bytes);
struct sk_id sk_lease_token(const struct sk_lease *l);
/* 1: somebody else holds it by now, which took this process for dead, or came while nothing was held. It stays so, and was
 * told as an error. */
int sk_lease_is_lost(struct sk_lease *l); /* NULL: 0 */
/* For any process of the job, before it changes anything in dir: 0 when the lease with this token stands there. Else a
 * sentence and SAIKAI_EBUSY: another one stands there, SAIKAI_ENOENT: none does, SAIKAI_EIO: it cannot be read. Waits so long
 * for its own, which is made again when it is missing. No token: 0. */
int sk_lease_check(const char *dir, struct sk_id token, double wait_s, struct saikai_error *err);
/* Give it back; NULL is accepted. Never blocks for long, even when the file system does. */
void sk_lease_release(struct sk_lease *l);

/* For tools: who holds dir. 1: somebody who lives, or may live; 0: nobody; *o may be filled all the same. */
int sk_lease_look(const char *dir, double timeout_s, struct sk_owner *o);

#endif
