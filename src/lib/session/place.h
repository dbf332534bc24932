/* Where a session saves to, and by what right. */
#ifndef SK_LIB_SESSION_PLACE_H
#define SK_LIB_SESSION_PLACE_H

#include "base/file/patience.h"
#include "store/owner/hold.h"
#include "store/owner/lease.h"

#include <limits.h>

struct sk_place {
    char local_root[PATH_MAX - 128], prefix_root[PATH_MAX - 128]; /* "" when there is none */
    char host[256];
    int node_ranks, nodes;        /* ranks on this node; nodes of all ranks */
    struct sk_hold *hold;         /* of the local directory, when there is one of its own */
    struct sk_lease *lease;       /* rank 0, with a prefix … */
    struct sk_id lease_token;     /* … which all ranks know */
    struct sk_patience *patience; /* for what may hang in the prefix */
    int prefix_away;              /* on all ranks: it could not be read at the start, or at the restart */
    int prefix_lost;              /* on all ranks: another job has the place by now, nothing is written there */
};

/* 1: there is a prefix, and the local directory is another one. */
int sk_place_is_apart(const struct sk_place *p);
/* Where the state file is: in the prefix, without one in the local directory. */
const char *sk_place_state_root(const struct sk_place *p);

#endif
