/* The way of a keeper's messages to the launcher: through the service of its node, or by a link of its own.
 *
 * The first keeper of a node starts the service, and the others find it (daemon/meeting.h). A keeper trusts no service further than
 * it works: when the service dies the keepers join another one, which one of them starts, and when it says nothing for a third of the
 * node timeout, or one after the other dies and the launcher was not heard for so long, a keeper speaks for itself. So the launcher need
 * not know of services to tell a lost node from anything else: nobody of a lost node speaks by any way. A launcher that is silent itself
 * drives nobody away from a service that lives, before half of the orphan timeout is over: else all ranks of a large job would come to it by themselves when
 * it wakes up. Who speaks for itself looks for a service now and then, and changes over when the launcher is heard through one. */
#ifndef SK_DAEMON_WAY_H
#define SK_DAEMON_WAY_H

#include "backbone/link.h"

struct sk_way;

/* Begin, as this rank of the start that s names; does not wait for the launcher. */
int sk_way_open(const struct sk_link_settings *s, uint32_t rank, const uint8_t job[SK_KEY_BYTES], struct sk_way **w,
                struct saikai_error *err);
void sk_way_close(struct sk_way *w); /* NULL is accepted; a service that it started goes on */
/* Without a way (NULL) it waits for the descriptors alone. */
void sk_way_wait(struct sk_way *w, struct sk_wait *waits, int n, double timeout_s);
/* 1: *m is the next message; 0: none now. */
int sk_way_receive(struct sk_way *w, struct sk_message *m);
/* What cannot be sent is dropped. */
void sk_way_send(struct sk_way *w, const struct sk_message *m);
/* Take another way where this one does not work, after what there was to receive was received. 1: it is another one, on which nothing
 * has been said yet. */
int sk_way_mend(struct sk_way *w, double now);
#endif
