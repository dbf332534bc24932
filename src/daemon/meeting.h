/* Where the keepers of a node and its service meet: a Unix socket of messages (backbone/message.h) under an abstract name.
 *
 * The name is made of the job key, so that nobody else can take it first, and it goes with the process that listens: there is no
 * file, no directory and no lock that could be left behind or be in the way. Whoever listens is the one service of the node; hosts
 * are told apart as their networks are. Both sides look at the user of the other one by what the kernel says. */
#ifndef SK_DAEMON_MEETING_H
#define SK_DAEMON_MEETING_H

#include "backbone/message.h"

#include <sys/types.h>

enum {
    SK_MEETING_NOBODY = -1,   /* nobody is there; accepting: nobody else comes */
    SK_MEETING_STRANGER = -2, /* a process of another user is */
    SK_MEETING_BUSY = -3,     /* somebody is there already, or it is too crowded at the moment; accepting: this process has no room */
    SK_MEETING_FAILED = -4
};

/* Each a descriptor that does not block, or one of those above. */
int sk_meeting_found(const uint8_t job[SK_KEY_BYTES]);
int sk_meeting_join(const uint8_t job[SK_KEY_BYTES]);
/* *uid: of a stranger, who was sent away. */
int sk_meeting_accept(int listener, uid_t *uid);

/* 0: sent, or dropped because the other side does not read; -1: it is gone. */
int sk_meeting_send(int fd, const struct sk_message *m);
/* 1: *m is the next message; 0: none now; -1: the other side is gone, or says what is no message. */
int sk_meeting_receive(int fd, struct sk_message *m);

#endif
