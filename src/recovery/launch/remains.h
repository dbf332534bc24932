/* What Open MPI's mpirun leaves on this host when it is killed, and would have taken away itself: its session directory below the directory
 * for temporary files, and in /dev/shm the memory that its ranks shared. (Open MPI 4.1: orte/util/session_dir.c says how they are named.)
 */
#ifndef SK_RECOVERY_REMAINS_H
#define SK_RECOVERY_REMAINS_H

#include <stdint.h>
#include <sys/types.h>

/* Job families that a session directory told of. */
struct sk_remains {
    uint32_t family[8];
    int n;
};

/* Takes away what the mpirun of this process number, which is gone, has left below TMPDIR, TMP, TEMP or /tmp, and the segments below `memory`
 * ("/dev/shm") of the jobs that are told of there or were told of before (*r, zeroed at first): a rank that dies later than mpirun may make
 * one after that. Nothing happens when there is such a process, and nothing to what is another user's or carries another host's name. Does not
 * follow links. */
void sk_remains_take_away(struct sk_remains *r, pid_t mpirun, const char *memory);

#endif
