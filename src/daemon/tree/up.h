/* The way of a node's service to the launcher: a link to it, or to the service above this one in the tree (backbone/frame/tree.h).
 *
 * It begins with the launcher. Told of a service above, it tries that one beside, and goes over to it when it has heard through it that the
 * launcher lives; what still comes through the link before is taken for a while. When the one above is silent, or has not heard the launcher
 * for a while, it goes back to the launcher. */
#ifndef SK_DAEMON_TREE_UP_H
#define SK_DAEMON_TREE_UP_H

#include "backbone/link.h"

struct sk_up;

enum sk_up_turn {
    SK_UP_STAYS = 0,
    SK_UP_CHANGED, /* another way: what was said is to be said again */
    SK_UP_FAILED   /* there is none */
};

/* Begin to connect to the launcher. s and job stay the caller's, as long as this lives. NULL: it cannot be. */
struct sk_up *sk_up_new(const struct sk_link_settings *s, const uint8_t job[SK_KEY_BYTES], double now);
void sk_up_free(struct sk_up *u); /* NULL is accepted */
/* The links that are open, to be waited for. */
void sk_up_links(const struct sk_up *u, struct sk_link *links[2]);
/* Send what is in b, which is empty then. */
void sk_up_send(struct sk_up *u, struct sk_frame *b);
/* 1: *r reads the next frame. *heard: it shows that the launcher lives. */
int sk_up_receive(struct sk_up *u, struct sk_frame_rd *r, int *heard, double now);
/* Speak through the service that listens there under this number (sk_key_relay), if it answers. */
void sk_up_try(struct sk_up *u, const char *endpoint, uint32_t listener, double now);
/* Let time pass, at least once in each heartbeat; answer: a silence that is not longer is none. */
enum sk_up_turn sk_up_turn(struct sk_up *u, double answer, double now);
/* When the launcher was heard last, as far as that is known. */
double sk_up_heard(const struct sk_up *u);
/* How long ago that was, in milliseconds; answer: so seldom it answers, which is not counted. At most SK_MSG_AGE_MAX. */
uint32_t sk_up_age(const struct sk_up *u, double answer, double now);

#endif
