/* Open MPI's own switch, which its parts turn as well (opal_progress_set_yield_when_idle; versions 4 and 5).
 *
 * A yield puts its process behind all that are ready, and where others compute on the same cores each of these has a whole turn first, which is
 * milliseconds. Whoever sleeps for a moment is let in again as soon as it is over. So yields are for where all wait for each other, as ranks do, and where
 * one took long the next gifts are sleeps. */
#include "world/rest/core.h"

#include "world/next/next.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

typedef bool (*sets)(bool);

/* A yield that takes longer was to somebody who computes; for so many gifts after it nobody yields. */
enum { LONG_NS = 500000, SLEEPS = 100, SLEEP_NS = 20000 };

static int keepers, sleeps;
static bool gives; /* MPI, by itself */

static sets switch_of_mpi(void)
{
    static sets found;
    static int is_known;
    if (!is_known) {
        found = (sets)sk_next_find("opal_progress_set_yield_when_idle");
        is_known = 1;
    }
    return found;
}

void sk_core_keep(void)
{
    sets set = switch_of_mpi();
    if (!keepers++ && set)
        gives = set(false);
}

void sk_core_let_go(void)
{
    sets set = switch_of_mpi();
    if (!--keepers && set)
        set(gives);
}

void sk_core_let_all_go(void)
{
    keepers = keepers > 0;
    if (keepers)
        sk_core_let_go();
}

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int sk_core_gives(void)
{
    return gives;
}

void sk_core_give(void)
{
    if (!gives)
        return;
    if (sleeps) {
        sleeps--;
        nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
        return;
    }
    long long begun = now_ns();
    sched_yield();
    sleeps = now_ns() - begun > LONG_NS ? SLEEPS : 0;
}
