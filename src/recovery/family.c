#include "recovery/family.h"

#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Kill and collect all children but leader; returns how many were not collected. */
static int kill_children(pid_t leader)
{
    char path[64];
    int left = 0, pid;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    while (fscanf(f, "%d", &pid) == 1)
        if (pid != leader) {
            kill(pid, SIGKILL);
            left += waitpid(pid, NULL, WNOHANG) != pid;
        }
    fclose(f);
    return left;
}

int sk_family_kill(pid_t leader, double timeout_s)
{
    if (leader > 0) {
        kill(-leader, SIGKILL);
        kill(leader, SIGKILL);
    }
    /* Orphans of those that just died arrive one generation after the other. */
    int left;
    for (double end = sk_now() + timeout_s; (left = kill_children(leader)) && sk_now() < end;)
        sk_sleep(0.002);
    return left;
}
