/* The way between jobs and the server of a site's failure database: ZeroMQ over TCP with CURVE.
 *
 * One secret, in a file that its owner alone can read on each side (as backbone/keys.h has it), makes the key pairs of both: each proves by
 * its own that it has read the file, all traffic is encrypted, and CURVE's numbers refuse what was sent before. Who does not have the
 * secret is refused before anything it says is read. */
#ifndef SK_BACKBONE_RATES_LINK_H
#define SK_BACKBONE_RATES_LINK_H

#include "backbone/keys.h"
#include "backbone/rates/message.h"
#include "base/config/config.h"

struct sk_rates_peer {
    char address[256]; /* HOST:PORT, "": there is no server */
    char key_file[PATH_MAX];
};

/* As the configuration tells it (failure.server, failure.server_key). */
int sk_rates_peer_of(const struct sk_config *c, struct sk_rates_peer *out, struct saikai_error *err);

/* One question and its answer (to be freed by sk_rates_message_free), within so many seconds. SAIKAI_ETIMEDOUT: nobody answers; SAIKAI_EAUTH:
 * the key file is refused; SAIKAI_ECONFIG: the address is none, or there is no key file; SAIKAI_EIO: with the server's own sentence. Blocks. */
int sk_rates_call(const struct sk_rates_peer *p, const struct sk_rates_message *question, double seconds, struct sk_rates_message *answer,
                  struct saikai_error *err);

struct sk_rates_server;
/* Listen at the address: an address of this host and a port, 0: a free one. */
int sk_rates_server_open(const struct sk_rates_peer *p, struct sk_rates_server **out, struct saikai_error *err);
void sk_rates_server_close(struct sk_rates_server *s); /* NULL is accepted */
/* "HOST:PORT", as it is bound. */
const char *sk_rates_server_address(const struct sk_rates_server *s);
/* Wait so long for questions, and have each answered: fn fills *answer, whose id and freeing are the server's. Strangers and what is no
 * question are refused, and told now and then. Ends early by a signal. */
typedef void sk_rates_answer(void *arg, const struct sk_rates_message *question, struct sk_rates_message *answer);
void sk_rates_server_turn(struct sk_rates_server *s, double seconds, sk_rates_answer *fn, void *arg);

#endif
