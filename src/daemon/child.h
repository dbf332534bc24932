/* The program that a keeper keeps. It gets descriptors, environment and signals as the keeper got them itself, the keeper's page, and the
 * layer between it and MPI where the launcher wants one. Local. */
#ifndef SK_DAEMON_CHILD_H
#define SK_DAEMON_CHILD_H

#include "base/error.h"

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

struct sk_child {
    const char *rank_env;  /* names the variable in which the MPI's launcher told the rank */
    uint32_t rank, repair; /* repair: that it is born in; 0: none */
    uint32_t start;        /* number of this start, from 1 */
    int page_fd;
    int output; /* the program's standard output, -1: that of this process */
    const sigset_t *mask; /* of signals, as it was before the keeper blocked some */
};

/* Starts argv[0] in a process group of its own; it is killed when this process dies. *start_errno: 0, or why it could not be executed:
 * then its process ends with 127 or 126, and is to be waited for all the same. Blocks until it is executed. */
int sk_child_start(const struct sk_child *c, char **argv, pid_t *pid, int *start_errno, struct saikai_error *err);
/* Where each rank is two processes: the other process of the rank of this one, -1: there is none; *is_second: this one is not the lead. */
int sk_child_twin(uint32_t process, int *is_second);
/* The launcher's pipes end when the program ends them: this process keeps stderr alone, for its own last words. */
void sk_child_has_streams(void);
/* The exit code of a program that came to this status of waitpid; of one that died by a signal this process dies, too, without a second
 * core file. */
int sk_child_exit_alike(int start_errno, int status);

#endif
