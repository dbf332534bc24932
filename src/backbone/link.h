/* A keeper's or a node service's end of the link to `saikai run` (backbone/events.h). Nothing blocks: what cannot be sent is dropped,
 * and whoever needs an answer repeats. */
#ifndef SK_BACKBONE_LINK_H
#define SK_BACKBONE_LINK_H

#include "backbone/frame/frame.h"

struct sk_link;

/* A descriptor to wait for beside the messages. */
struct sk_wait {
    int fd;    /* -1: none */
    int out;   /* 0: wait until it can be read, 1: until it can be written */
    int ready; /* set by the wait */
};

/* Keeper: begin to connect; does not wait. */
int sk_link_open(const struct sk_link_settings *s, uint32_t rank, const uint8_t job[SK_KEY_BYTES],
                 struct sk_link **link, struct saikai_error *err);
void sk_link_close(struct sk_link *l); /* NULL is accepted */
/* Without a link (NULL) it waits for the descriptors alone. */
void sk_link_wait(struct sk_link *l, struct sk_wait *waits, int n, double timeout_s);
int sk_link_receive(struct sk_link *l, struct sk_message *m);
/* 0, or -1 when the queue is full (nobody has listened for long). */
int sk_link_send(struct sk_link *l, const struct sk_message *m);

/* Node service: the same for frames, under a number that was drawn for this service; waits and is closed as the others. */
int sk_link_open_service(const struct sk_link_settings *s, uint64_t id, const uint8_t job[SK_KEY_BYTES], struct sk_link **link,
                         struct saikai_error *err);
/* The same to the service that listens at this endpoint under this number, through which this one is to speak; no other one answers. */
int sk_link_open_above(const struct sk_link_settings *s, const char *endpoint, uint32_t listener, uint64_t id,
                       const uint8_t job[SK_KEY_BYTES], struct sk_link **link, struct saikai_error *err);
/* The socket, to wait for several links at once (sk_branch_wait); it stays the link's. */
void *sk_link_socket(struct sk_link *l);
/* 1: *r reads the next frame, until the next call. */
int sk_link_receive_frame(struct sk_link *l, struct sk_frame_rd *r);
/* Send what is in b, which is empty then. */
int sk_link_send_frame(struct sk_link *l, struct sk_frame *b);

/* name, an address of this host or a name for one, as an address in text. */
int sk_address_of(const char *name, char out[64], struct saikai_error *err);
/* The address of this host that host can reach, as text: the source address of the route to it. */
int sk_address_towards(const char *host, char out[64], struct saikai_error *err);

#endif
