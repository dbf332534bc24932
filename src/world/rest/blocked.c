/* MPI calls this in each of its looks between beginning and end, and never else (opal_progress_register; Open MPI 4 and 5). It does not say what it looks for, nor whether it has found that: a call waits
 * several times, one wait after the other. So sleeps are short here, what comes by TCP ends them, and then none follows for a while. */
#include "world/rest/blocked.h"

#include "base/clock.h"
#include "world/next/next.h"
#include "world/rest/arrivals.h"
#include "world/rest/rest.h"

#include <stddef.h>

/* Of a sleep that a wait of the layer's would have. */
enum { PART = 8 };

/* With a warm spare all is over by then. */
static const double short_s = 0.02;

static _Thread_local int on; /* begins without an end */
static _Atomic int all;      /* of all threads */
static struct sk_rest rest;
static double sleeps_from;
static int is_added; /* MPI calls it */

static int look(void)
{
    if (!on || !sk_rest_is_due(&rest))
        return 0;
    double now = sk_now(), s = now < sleeps_from ? 0 : sk_rest_for(&rest, now) / PART;
    if (s > 0 && sk_arrivals_sleep(s))
        rest = (struct sk_rest){0};
    return 0;
}

/* Where nobody can take it out again it stays, and looks at a number. */
static void tell_mpi(int calls)
{
    typedef int (*tell)(int (*)(void));
    union {
        void *found;
        tell call;
    } f = {sk_next_find(calls ? "opal_progress_register" : "opal_progress_unregister")};
    if (f.call && calls != is_added && !f.call(look))
        is_added = calls;
}

void sk_blocked_begin(void)
{
    if (on++)
        return;
    rest = (struct sk_rest){0};
    sleeps_from = sk_now() + short_s;
    if (!all++)
        tell_mpi(1);
}

static void ends(void)
{
    if (!--all)
        tell_mpi(0);
}

void sk_blocked_end(void)
{
    if (!--on)
        ends();
}

void sk_blocked_end_all(void)
{
    if (on)
        ends();
    on = 0;
}
