/* What follows from where a session saves to. */
#include "lib/session/place.h"

#include <string.h>

int sk_place_is_apart(const struct sk_place *p)
{
    return *p->prefix_root && strcmp(p->prefix_root, p->local_root);
}

const char *sk_place_state_root(const struct sk_place *p)
{
    return *p->prefix_root ? p->prefix_root : p->local_root;
}
