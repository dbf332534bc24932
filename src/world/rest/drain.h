/* Before memory that the dead have sent to is used for something else, or again. */
#ifndef SK_WORLD_REST_DRAIN_H
#define SK_WORLD_REST_DRAIN_H

/* What has come from processes that have died is taken in, wherever it goes. Their keepers tell of a death when all that they sent has arrived on
 * this host (base/network/lastwords.h), so nothing comes after that. Waits for no process. 0, or -1: there is more after seconds. */
int sk_drain(void);

#endif
