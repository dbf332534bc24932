/* The next function of a name, behind the hooks: that of the layer, or of MPI. */
#include "world/hooks/hook.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct sk_hooks sk_hooks;
_Thread_local int sk_hooks_inside;

void *sk_hooks_next(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (!f) {
        fprintf(stderr, "saikai: libsaikai-hooks: this MPI has no %s\n", name);
        abort();
    }
    return f;
}
