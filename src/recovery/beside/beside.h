/* Processes beside `saikai run`, forked from it: what may wait, hang or crash without anybody noticing. */
#ifndef SK_RECOVERY_BESIDE_H
#define SK_RECOVERY_BESIDE_H

#include <sys/types.h>

/* In the new process: nothing of `saikai run` stays open but its standard error and pipe, which becomes descriptor 3; it is the first of a
 * group of its own, ends by on_term when `saikai run` does, and ranks go before it. Ends the process when `saikai run` (parent) has gone already. */
void sk_beside_become(pid_t parent, int pipe, const char *name, void (*on_term)(int number));

/* In `saikai run`: 1: the process *pid is gone, whoever collected it, and *pid is 0 then. */
int sk_beside_is_gone(pid_t *pid);

/* For `saikai run`, which holds its signals back: the one that came meanwhile and asks it to end, 0: none. */
int sk_beside_pending(void);

#endif
