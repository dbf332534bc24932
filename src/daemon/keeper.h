/* The keeper of one rank: the parent of the application's process under `saikai run`.
 *
 * It starts the program with descriptors, environment and signals as it got them itself, so that
 * the MPI launcher's connections reach the program; it knows at once when and how the program ended
 * and tells the launcher; it kills the program and everything it started when the launcher says so,
 * when the launcher has been silent for too long, or when its own parent is gone; and it exits as
 * the program did. */
#ifndef SK_DAEMON_KEEPER_H
#define SK_DAEMON_KEEPER_H

#include "backbone/message.h"

enum { SK_KEEPER_FAILED = 125 };

/* Which rank it keeps, and as whom it reports: the same, but for a process that takes the place of a dead one in this repair. */
struct sk_keeper_place {
    uint32_t rank, id, repair;
    int waits; /* a warm spare: it has no rank so far, and reports only as long as the ranks need it, in MPI's beginning */
};

/* Run argv[0] with its arguments under the launcher that s names. Blocks until the program is gone
 * and the launcher knows it. Returns the exit code for this process; does not return when the
 * program was killed by a signal: then this process dies by the same signal. */
int sk_keeper_run(const struct sk_link_settings *s, const struct sk_keeper_place *place, char **argv);

#endif
