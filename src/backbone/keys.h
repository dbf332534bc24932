/* The keys of a run: one secret, which `saikai run` leaves for the keepers in a file that its owner
 * alone can read, and what is made of it.
 *
 * Only the name of the file and a number that is drawn for each run (the nonce) travel through the
 * MPI's launcher, whose connections are open to anybody on the network. Hub and keepers make from
 * the secret and the nonce the job key, and from that the hub's own key pair and one for each rank
 * of each start: both sides prove by theirs that they have read the file.
 *
 * The file lies where all hosts see it, or each host has one of its own (sk_key_file_own); it may
 * also be the user's (run.key_file), kept on all hosts. Either way it must be a regular file of this
 * user that nobody else can read: another is refused. */
#ifndef SK_BACKBONE_KEYS_H
#define SK_BACKBONE_KEYS_H

#include "base/error.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum { SK_KEY_BYTES = 32, SK_NONCE_BYTES = 16, SK_KEY_FILE_MAX = 4096, SK_KEY_NAME_MAX = 128 };

/* Fill with random bytes from the kernel. */
int sk_key_draw(void *out, size_t n, struct saikai_error *err);

/* The job key, from what the file holds. */
void sk_key_job(const void *content, size_t n, const uint8_t nonce[SK_NONCE_BYTES],
                uint8_t job[SK_KEY_BYTES]);
/* The secret halves of the key pairs made of it. */
void sk_key_hub(const uint8_t job[SK_KEY_BYTES], uint8_t secret[SK_KEY_BYTES]);
void sk_key_rank(const uint8_t job[SK_KEY_BYTES], uint32_t incarnation, uint32_t rank,
                 uint8_t secret[SK_KEY_BYTES]);
/* That of the services of all nodes, which speak for any rank. */
void sk_key_service(const uint8_t job[SK_KEY_BYTES], uint8_t secret[SK_KEY_BYTES]);
/* That of a service which others speak through, which drew this number when it began to listen: who looks for another one at its address,
 * where that has listened before, does not reach it. */
void sk_key_relay(const uint8_t job[SK_KEY_BYTES], uint32_t number, uint8_t secret[SK_KEY_BYTES]);
/* What only those who have the job key can name: where the keepers of a node meet. */
void sk_key_meeting(const uint8_t job[SK_KEY_BYTES], uint8_t name[SK_KEY_BYTES]);
/* The same for the server of a site's failure database and who asks it, from what their key file holds. */
void sk_key_rates(const void *content, size_t n, uint8_t server[SK_KEY_BYTES], uint8_t client[SK_KEY_BYTES]);

/* The name, without a directory, of the file that this process makes for this start; out. */
const char *sk_key_file_name(const uint8_t nonce[SK_NONCE_BYTES], uint32_t incarnation, char out[SK_KEY_NAME_MAX]);
/* Write secret to a new file in dir, for this start; path[PATH_MAX] gets its name. Fails, and leaves
 * nothing, where the file system does not keep the file for its owner alone. Key files there of dead
 * runs of this host are removed, and those of runs elsewhere that are older than an hour; never that of
 * a run that is seen to live. */
int sk_key_file_write(const char *dir, const uint8_t nonce[SK_NONCE_BYTES], uint32_t incarnation,
                      const uint8_t secret[SK_KEY_BYTES], char *path, struct saikai_error *err);
/* Remove the file of a start that is over; the user's own, which has another name, stays. */
void sk_key_file_remove(const char *path, const uint8_t nonce[SK_NONCE_BYTES]);
/* Names for a host's own file of this start, the best first; NULL after the last. out[128]. */
const char *sk_key_file_own(int i, const uint8_t nonce[SK_NONCE_BYTES], uint32_t incarnation,
                            char out[128]);
/* content[SK_KEY_FILE_MAX] and *n. SAIKAI_ENOENT: it cannot be opened; SAIKAI_EAUTH: it is refused, and
 * the sentence says why. */
int sk_key_file_read(const char *path, uint8_t *content, size_t *n, struct saikai_error *err);

#endif
