/* For programs that die by themselves: at the n-th call, n from DIE_AT, as a fault would have it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void maybe_die(void)
{
    static int calls;
    const char *at = getenv("DIE_AT");
    if (at && ++calls == atoi(at))
        raise(SIGKILL);
}
