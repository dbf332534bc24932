/* The links between `saikai run` (hub) and the keepers of its ranks (links): ZeroMQ over TCP with
 * CURVE.
 *
 * Keys are made for each run. The hub accepts only keepers that hold the run's client key, and
 * keepers talk only to the hub whose key they were given; all traffic is encrypted. Nothing blocks:
 * what cannot be sent is dropped, and whoever needs an answer repeats. A connection that falls
 * silent is given up after a quarter of the node timeout and made anew, with short tries: TCP alone
 * would wait up to twice as long as the outage before it tries again. */
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

/* Launcher: listen on a free port of address (an IP address, or "0.0.0.0" for all). *hub is freed
 * by sk_hub_close. */
int sk_hub_open(const char *address, double node_timeout_s, struct sk_hub **hub,
                struct saikai_error *err);
void sk_hub_close(struct sk_hub *h); /* NULL is accepted */
/* Fill endpoint (reached at address) and the keys of *s. */
int sk_hub_settings(const struct sk_hub *h, const char *address, struct sk_link_settings *s,
                    struct saikai_error *err);
/* Wait until a message or a descriptor is ready, at most timeout_s (negative: for ever). Signals
 * end it early. */
void sk_hub_wait(struct sk_hub *h, struct sk_wait *waits, int n, double timeout_s);
/* 1: *m is the next message; 0: none now. Strangers and malformed messages are dropped and counted.
 */
int sk_hub_receive(struct sk_hub *h, struct sk_message *m);
/* Send to the keeper of m->rank in m->incarnation; dropped when it is not connected. */
void sk_hub_send(struct sk_hub *h, const struct sk_message *m);

/* Keeper: begin to connect; does not wait. */
int sk_link_open(const struct sk_link_settings *s, uint32_t rank, struct sk_link **link,
                 struct saikai_error *err);
void sk_link_close(struct sk_link *l); /* NULL is accepted */
void sk_link_wait(struct sk_link *l, struct sk_wait *waits, int n, double timeout_s);
int sk_link_receive(struct sk_link *l, struct sk_message *m);
/* 0, or -1 when the queue is full (nobody has listened for long). */
int sk_link_send(struct sk_link *l, const struct sk_message *m);

/* The address of this host that host can reach, as text: the source address of the route to it. */
int sk_address_towards(const char *host, char out[64], struct saikai_error *err);

#endif
