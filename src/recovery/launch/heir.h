/* A process beside `saikai run` that takes away what that leaves when it is killed with a signal that nobody can catch: files, and processes
 * that do not end by themselves.
 *
 * It holds one end of a pair of sockets, whose other end the system closes with `saikai run`, however that ends; a signal to it, to its
 * group or by the terminal does not end it before. It has nothing else of `saikai run` open. */
#ifndef SK_RECOVERY_HEIR_H
#define SK_RECOVERY_HEIR_H

#include <sys/types.h>

struct sk_heir;

/* A child of this process. NULL: it cannot be had, and nobody will take anything away. */
struct sk_heir *sk_heir_new(void);
/* The job has come to its end, and nothing is to be taken away: waits, for a second at most, until the process has ended. NULL is accepted. */
void sk_heir_free(struct sk_heir *h);
/* Before a file of this name, which no other file has, is made in dir or in a directory above it. Does not block. NULL is accepted: nothing
 * happens. */
void sk_heir_tell(struct sk_heir *h, const char *dir, const char *name);
/* After the leader of a process group was started: 30 s after the end of `saikai run` the group gets SIGTERM, and after 40 s SIGKILL, if the
 * leader is still there. What an mpirun of Open MPI's leaves when it is killed goes then, too (remains.h). As sk_heir_tell. */
void sk_heir_tell_group(struct sk_heir *h, pid_t leader);

#endif
