/* The links between `saikai run` (hub) and the keepers of its ranks (links): ZeroMQ over TCP with
 * CURVE.
 *
 * Both sides prove who they are by keys made of the run's one secret (backbone/keys.h), and all
 * traffic is encrypted. The hub accepts the keepers that it was told of, each for its own rank and
 * start, and no message twice; keepers talk to the hub of their run only. Nothing blocks: what cannot
 * be sent is dropped, and whoever needs an answer repeats. A connection that falls silent is given up
 * after a quarter of the node timeout and made anew, with short tries: TCP alone would wait up to
 * twice as long as the outage before it tries again.
 */
#ifndef SK_BACKBONE_EVENTS_H
#define SK_BACKBONE_EVENTS_H

#include "backbone/message.h"

struct sk_hub;
struct sk_link;

/* A descriptor to wait for beside the messages. */
struct sk_wait {
    int fd;    /* -1: none */
    int out;   /* 0: wait until it can be read, 1: until it can be written */
    int ready; /* set by the wait */
};

/* Launcher: listen on a free port of address, an IP address of this host, under the job key. *hub is
 * freed by sk_hub_close. */
int sk_hub_open(const char *address, double node_timeout_s, const uint8_t job[SK_KEY_BYTES],
                struct sk_hub **hub, struct saikai_error *err);
void sk_hub_close(struct sk_hub *h); /* NULL is accepted */
/* The keepers of n ranks of this start may talk to us from now on. */
int sk_hub_admit(struct sk_hub *h, uint32_t incarnation, uint32_t n, struct saikai_error *err);
/* 1: this rank's keeper of this start has been heard. */
int sk_hub_has_heard(const struct sk_hub *h, uint32_t incarnation, uint32_t rank);
/* Fill the endpoint of *s. */
int sk_hub_settings(const struct sk_hub *h, struct sk_link_settings *s, struct saikai_error *err);
/* Wait until a message or a descriptor is ready, at most timeout_s (negative: for ever). Signals
 * end it early. */
void sk_hub_wait(struct sk_hub *h, struct sk_wait *waits, int n, double timeout_s);
/* 1: *m is the next message; 0: none now. What strangers, or keepers for others, say, what comes
 * twice and what is malformed is dropped, and told now and then. */
int sk_hub_receive(struct sk_hub *h, struct sk_message *m);
/* Send to the keeper of m->rank in m->incarnation; dropped when it is not connected. */
void sk_hub_send(struct sk_hub *h, const struct sk_message *m);

/* Keeper: begin to connect; does not wait. */
int sk_link_open(const struct sk_link_settings *s, uint32_t rank, const uint8_t job[SK_KEY_BYTES],
                 struct sk_link **link, struct saikai_error *err);
void sk_link_close(struct sk_link *l); /* NULL is accepted */
/* Without a link (NULL) it waits for the descriptors alone. */
void sk_link_wait(struct sk_link *l, struct sk_wait *waits, int n, double timeout_s);
int sk_link_receive(struct sk_link *l, struct sk_message *m);
/* 0, or -1 when the queue is full (nobody has listened for long). */
int sk_link_send(struct sk_link *l, const struct sk_message *m);

/* name, an address of this host or a name for one, as an address in text. */
int sk_address_of(const char *name, char out[64], struct saikai_error *err);
/* The address of this host that host can reach, as text: the source address of the route to it. */
int sk_address_towards(const char *host, char out[64], struct saikai_error *err);

#endif
