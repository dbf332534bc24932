/* How the secret of a run comes to its keepers (backbone/keys.h).
 *
 * The user's own file (run.key_file), kept on all hosts; or else one that is drawn for this run and
 * written, for its owner alone, where all hosts should see it: in the prefix, or where that will be,
 * in the working directory or the home directory (on one host, in memory). It is there only until
 * all ranks of a start have been heard. To hosts of which nobody has been heard for a while it is
 * brought by the remote shell (run.agent): they may share no file system with this one. */
#ifndef SK_RECOVERY_KEYRING_H
#define SK_RECOVERY_KEYRING_H

#include "backbone/events.h"
#include "base/config/config.h"
#include "recovery/hosts.h"
#include "recovery/launch/heir.h"

#include <signal.h>

struct sk_keyring;

/* far: ranks may run on other hosts; may_bring: by the remote shell. job gets the job key, link the
 * nonce. *k is freed by sk_keyring_free, which also removes what is left of the file. */
int sk_keyring_new(const struct sk_config *c, int far, int may_bring, struct sk_link_settings *link,
                   uint8_t job[SK_KEY_BYTES], struct sk_keyring **k, struct saikai_error *err);
void sk_keyring_free(struct sk_keyring *k); /* NULL is accepted */
/* Who removes the file when this process is killed; it must live as long as the keyring. */
void sk_keyring_set_heir(struct sk_keyring *k, struct sk_heir *heir);

/* A start begins: leave the file, and tell its name in *link. */
int sk_keyring_leave(struct sk_keyring *k, uint32_t incarnation, double now,
                     struct sk_link_settings *link, struct saikai_error *err);
/* The file of the newest start stays until the keepers of the processes that this order makes again have been heard, too. To their hosts it is
 * brought at once, if it had to be brought there before. */
void sk_keyring_expect(struct sk_keyring *k, const struct sk_message *order, const struct sk_hosts *hosts, const int *seat);
/* And until these, too: numbers beyond the ranks of the newest start, n of them from first on. n 0: none. */
void sk_keyring_await(struct sk_keyring *k, uint32_t first, uint32_t n);
/* Let time pass: remove the file when all n ranks have been heard; bring it to hosts whose ranks,
 * seated as seat says, are silent. Remote shells are started with the signal mask given, and not
 * waited for. */
void sk_keyring_tick(struct sk_keyring *k, const struct sk_hub *hub, const struct sk_hosts *hosts,
                     const int *seat, int n, double now, const sigset_t *mask);
double sk_keyring_next(const struct sk_keyring *k); /* INFINITY: nothing is due */

#endif
