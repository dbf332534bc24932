/* The node services that a hub has heard of: how far each one's frames are counted, and what is to be sent to it, merged. */
#ifndef SK_BACKBONE_SERVICES_H
#define SK_BACKBONE_SERVICES_H

#include "backbone/frame/frame.h"

struct sk_services;

/* So many services are many: they are not answered each time that they speak, but within this time. Where there are more than may speak in each
 * heartbeat, they are told to speak in every second one, and are answered half as often. What is new they tell at once. */
enum { SK_SERVICES_MANY = 64, SK_SERVICES_MOST = 600, SK_SERVICES_ANSWER_MS = 2000 };

/* Sends a frame to the service of this id; what cannot be sent is dropped. */
typedef void sk_services_send(void *arg, uint64_t id, const void *data, size_t n);

/* NULL: out of memory. */
struct sk_services *sk_services_new(sk_services_send *send, void *arg);
void sk_services_free(struct sk_services *t); /* NULL is accepted */
/* A frame came: the service's place in the table, from 0 on, and it may be owed an answer; -1: the frame came before, -2: out of memory. */
int sk_services_take(struct sk_services *t, uint64_t id, uint64_t serial, double now);
/* Something that it said was lost: it is asked to say all again. Frames that are missing in the count are noticed without. */
void sk_services_ask_again(struct sk_services *t, int place);
/* 1 once for each service: it is new. */
int sk_services_is_new(struct sk_services *t, int place);
/* For the next frame to it. That the launcher hears it is said by any frame, so SK_MSG_HEARD needs no entry. */
void sk_services_put(struct sk_services *t, int place, const struct sk_message *m);
/* Send what there is for each, and an answer to all that are owed one. */
void sk_services_flush(struct sk_services *t);
/* The job is over: tell all. */
void sk_services_end(struct sk_services *t);
int sk_services_count(const struct sk_services *t);
/* How many were heard lately, as of some seconds ago at most. */
int sk_services_living(const struct sk_services *t);
/* When this one was heard last. */
double sk_services_heard(const struct sk_services *t, int place);
/* However many they are, they may speak in each heartbeat: most of them will soon speak through others. */
void sk_services_keep_pace(struct sk_services *t);
/* In how many heartbeats each speaks at least once: it does not become less. */
int sk_services_pace(const struct sk_services *t);

#endif
