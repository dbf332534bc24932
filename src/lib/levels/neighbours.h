/* Which ranks share a local directory: those on one node. */
#ifndef SK_LIB_NEIGHBOURS_H
#define SK_LIB_NEIGHBOURS_H

#include "group/group.h"

/* Collective, blocking. leader[r] (to be freed): the lowest rank with the same local directory as
 * rank r; found by host name and the directory's identity. SAIKAI_ENOMEM or the group's code; the
 * same verdict on all ranks. */
int sk_neighbours(struct sk_group *g, const char *host, const char *root, int **leader,
                  struct saikai_error *err);

#endif
