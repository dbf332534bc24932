/* Ending everything a process started. */
#ifndef SK_RECOVERY_FAMILY_H
#define SK_RECOVERY_FAMILY_H

#include <sys/types.h>

/* The children that this process has now were there before it (a shell that became this program may
 * have left some): they are never killed. Call once, before anything is started. */
void sk_family_spare_present(void);

/* Spare this child, too, or no more. 0, or -1: too many are spared. */
int sk_family_spare(pid_t pid);
void sk_family_unspare(pid_t pid);

/* SIGKILL to the process group of leader (when leader > 0, a child that has not been waited for)
 * and to all other children of this process, and collect those that died; leader itself is left to
 * be waited for. The caller is a child subreaper (PR_SET_CHILD_SUBREAPER): what its children leave
 * behind becomes its child and dies as well. Local; waits at most timeout_s for processes that do
 * not die at once. Returns how many other children are still there. */
int sk_family_kill(pid_t leader, double timeout_s);

#endif
