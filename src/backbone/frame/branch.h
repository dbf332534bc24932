/* The end of a node's service at which other services speak to it (backbone/frame/tree.h): ZeroMQ over TCP with CURVE, as the launcher's.
 *
 * It listens on one address, lets in whoever has the key of the services of this job and nobody else, and takes no frame twice. Nothing
 * blocks; what cannot be sent is dropped, and whoever spoke says it again. */
#ifndef SK_BACKBONE_BRANCH_H
#define SK_BACKBONE_BRANCH_H

#include "backbone/link.h"

struct sk_branch;

/* Listen on a free port of address, an IP address of this host. *b is freed by sk_branch_close. */
int sk_branch_open(const char *address, double node_timeout_s, const uint8_t job[SK_KEY_BYTES], struct sk_branch **b,
                   struct saikai_error *err);
/* All that ever spoke hear that the job is over, where over is not 0. NULL is accepted. */
void sk_branch_close(struct sk_branch *b, int over);
/* "tcp://10.0.0.1:40000"; it stays the branch's. */
const char *sk_branch_endpoint(const struct sk_branch *b);
/* What it drew, for its key (sk_key_relay). */
uint32_t sk_branch_number(const struct sk_branch *b);
/* 1: *r reads the next frame, until the next call, and *place says of which service it is. */
int sk_branch_receive(struct sk_branch *b, int *place, struct sk_frame_rd *r, double now);
/* For the next frame to this service, which is sent by the flush; also an answer to all that spoke. */
void sk_branch_put(struct sk_branch *b, int place, const struct sk_message *m);
/* It is to say all that it knows; place -1: all are. */
void sk_branch_ask_again(struct sk_branch *b, int place);
/* The job is over. */
void sk_branch_end(struct sk_branch *b);
void sk_branch_flush(struct sk_branch *b);
/* When the service at this place was heard last. */
double sk_branch_heard(const struct sk_branch *b, int place);
/* How many services spoke after this time. */
int sk_branch_living(const struct sk_branch *b, double since);
/* Wait for what comes through links (NULL among them: none) and the branch (NULL: none), and for descriptors. */
void sk_branch_wait(struct sk_branch *b, struct sk_link *const *links, int n_links, struct sk_wait *waits, int n, double timeout_s);

#endif
