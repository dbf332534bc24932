/* The next function of a name, behind the hooks: that of the layer, or of MPI. */
#include "world/hooks/hook.h"

#include "world/next/next.h"

#include <stdio.h>
#include <stdlib.h>

struct sk_hooks sk_hooks;
_Thread_local int sk_hooks_inside;

void *sk_hooks_next(const char *name)
{
    void *f = sk_next_find(name);
    if (!f) {
        fprintf(stderr, "saikai: libsaikai-hooks: this MPI has no %s\n", name);
        abort();
    }
    return f;
}
