/* What a node's service does for those that speak through it (backbone/frame/tree.h): listens to them, merges what they say, and passes
 * orders on to them. */
#ifndef SK_DAEMON_TREE_RELAY_H
#define SK_DAEMON_TREE_RELAY_H

#include "backbone/frame/branch.h"
#include "daemon/merge.h"

struct sk_relay;

/* Listen on the address that leads to the launcher, on a free port. NULL: it cannot be. */
struct sk_relay *sk_relay_open(const struct sk_link_settings *s, const uint8_t job[SK_KEY_BYTES]);
/* over: the job is; all that speak through this one hear it. NULL is accepted. */
void sk_relay_close(struct sk_relay *r, int over);
const char *sk_relay_endpoint(const struct sk_relay *r);
/* What goes with the endpoint, as sk_branch_number. */
uint32_t sk_relay_number(const struct sk_relay *r);
/* NULL: there is none to wait for. */
struct sk_branch *sk_relay_branch(struct sk_relay *r);
/* Take what came; age, how long ago the launcher was heard (sk_up_age), is told to who spoke. What of it is the most urgent. */
enum sk_client_news sk_relay_listen(struct sk_relay *r, uint32_t age, double now);
/* As sk_kin_merge. */
void sk_relay_merge(struct sk_relay *r, struct sk_frame *b, double now, void (*send)(void *arg, struct sk_frame *b), void *arg);
/* An order for a rank that speaks through this service goes there with the next flush; 0: it does not speak through this one. */
int sk_relay_order(struct sk_relay *r, const struct sk_message *m);
/* What was said to the launcher may be lost; ask: also what came from others. */
void sk_relay_repeat(struct sk_relay *r, int ask, double now);
void sk_relay_end(struct sk_relay *r);
void sk_relay_flush(struct sk_relay *r);
/* 1: somebody spoke through this service within the node timeout. */
int sk_relay_is_needed(const struct sk_relay *r, double now);

#endif
