/* libsaikai-yield.so, preloaded into the ranks of an MPICH job that has more ranks than cores:
 * MPICH waits by asking again and again without a pause, so a rank that waits keeps the one it
 * waits for from its core. Here an idle turn of UCX's progress function gives the core away, and
 * after many of them sleeps for a moment. Open MPI yields by itself. */
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { POLITE_AFTER = 20, SLEEP_AFTER = 400, SLEEP_NS = 20000 };

__attribute__((visibility("default"))) unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*progress)(void *);
    static __thread unsigned idle;
    if (!progress && !(progress = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress")))
        abort(); /* whoever calls it has it */
    unsigned done = progress(worker);
    if (done) {
        idle = 0;
    } else if (++idle > SLEEP_AFTER) {
        idle = SLEEP_AFTER;
        nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
    } else if (idle > POLITE_AFTER) {
        sched_yield();
    }
    return done;
}
