/* The links between `saikai run` (hub) and the keepers of its ranks (links): ZeroMQ over TCP with
 * CURVE.
 *
 * Both sides prove who they are by keys made of the run's one secret (backbone/keys.h), and all
 * traffic is encrypted. The hub accepts the keepers that it was told of, each for its own rank and
 * start, and no message twice; keepers talk to the hub of their run only. Nothing blocks: what cannot
 * be sent is dropped, and whoever needs an answer repeats. A connection on which nothing is acknowledged is given up
 * after a quarter of the node timeout and made anew, with short tries: TCP alone would wait up to
 * twice as long as the outage before it tries again.
 *
 * The keepers of a node may speak through one service, which has a link of its own under a key of its own and speaks for all ranks
 * of its node in frames (backbone/frame/frame.h). Whoever uses the hub does not see the difference: a rank is answered by the way that it
 * was heard through last. Services may speak through other services. When one that others speak through is silent, they have half a node
 * timeout to come by themselves: their ranks are told once as living (SK_MSG_ALIVE) when it has been silent for so long.
 */
#ifndef SK_BACKBONE_EVENTS_H
#define SK_BACKBONE_EVENTS_H

#include "backbone/link.h"

struct sk_hub;

/* Launcher: listen on a free port of address, an IP address of this host, under the job key. *hub is
 * freed by sk_hub_close. */
int sk_hub_open(const char *address, double node_timeout_s, const uint8_t job[SK_KEY_BYTES],
                struct sk_hub **hub, struct saikai_error *err);
/* The services hear that the job is over. NULL is accepted. */
void sk_hub_close(struct sk_hub *h);
/* The keepers of n ranks of this start may talk to us from now on. */
int sk_hub_admit(struct sk_hub *h, uint32_t incarnation, uint32_t n, struct saikai_error *err);
/* Services of nodes are to form a tree of this arity (backbone/frame/tree.h). find: which of the job's *n hosts this one is, -1: none; where
 * there are at most as many as the arity, each service speaks to the hub as without. SAIKAI_ENOMEM. */
typedef int sk_hub_find_host(void *arg, const char *host, int *n);
int sk_hub_grow_tree(struct sk_hub *h, int arity, sk_hub_find_host *find, void *arg, struct saikai_error *err);
/* 1: this rank's keeper of this start has been heard. */
int sk_hub_has_heard(const struct sk_hub *h, uint32_t incarnation, uint32_t rank);
/* Messages that came, frames of services as one; how many services there were. For the log. */
uint64_t sk_hub_frames(const struct sk_hub *h, int *services);
/* Fill the endpoint of *s. */
int sk_hub_settings(const struct sk_hub *h, struct sk_link_settings *s, struct saikai_error *err);
/* Wait until a message or a descriptor is ready, at most timeout_s (negative: for ever). Signals
 * end it early. */
void sk_hub_wait(struct sk_hub *h, struct sk_wait *waits, int n, double timeout_s);
/* In how many heartbeats the services of the nodes speak at least once: more than 1 where there are very many. */
int sk_hub_pace(const struct sk_hub *h);
/* 1: *m is the next message; 0: none now. That ranks with numbers in a row live (SK_MSG_ALIVE) is one message, which says how many
 * they are; they need no answer. What strangers, or keepers for others, say, what comes
 * twice and what is malformed is dropped, and told now and then. */
int sk_hub_receive(struct sk_hub *h, struct sk_message *m);
/* Send to the keeper of m->rank in m->incarnation; dropped when it is not connected. What goes through a service is sent at the next
 * wait. */
void sk_hub_send(struct sk_hub *h, const struct sk_message *m);

#endif
