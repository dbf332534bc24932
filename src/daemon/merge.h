/* The keepers of a node as its service knows them, and what they say, merged. */
#ifndef SK_DAEMON_MERGE_H
#define SK_DAEMON_MERGE_H

#include "backbone/frame/frame.h"

struct sk_clients;
struct sk_client;

enum sk_client_news {
    SK_CLIENT_NOTHING = 0, /* nothing that would not wait for the next heartbeat */
    SK_CLIENT_NEWS,        /* what others should know soon */
    SK_CLIENT_URGENT       /* a program has ended, or the layer between program and MPI has moved */
};

struct sk_clients *sk_clients_new(void);       /* NULL: out of memory */
void sk_clients_free(struct sk_clients *s);    /* NULL is accepted; closes all descriptors */
int sk_clients_count(const struct sk_clients *s);

/* Somebody came, of whom nothing is known yet. fd is the table's from now on. NULL: out of memory. */
struct sk_client *sk_clients_add(struct sk_clients *s, int fd);
/* Closes its descriptor. */
void sk_clients_remove(struct sk_clients *s, struct sk_client *m);
int sk_client_fd(const struct sk_client *m);
/* 1: it said what has not been merged yet. */
int sk_client_has_news(const struct sk_client *m);
/* It said v. The first message says who it is: what it says of others later is dropped. */
enum sk_client_news sk_client_heard(struct sk_clients *s, struct sk_client *m, const struct sk_message *v);

/* Put what is new into b, in the order of the ranks; where b is full, send it. */
void sk_clients_merge(struct sk_clients *s, struct sk_frame *b, void (*send)(void *arg, struct sk_frame *b), void *arg);
/* What was merged before is to be merged again. */
void sk_clients_repeat(struct sk_clients *s);
/* The descriptor of this rank's keeper; -1: it is not here. */
int sk_clients_find(const struct sk_clients *s, uint32_t incarnation, uint32_t rank);
/* A message of this kind to each, also to those that have not said who they are. */
void sk_clients_each(struct sk_clients *s, enum sk_message_kind kind, void (*give)(void *arg, int fd, const struct sk_message *m),
                     void *arg);

#endif
