/* Kills a process group and then, generation by generation, the orphans that come to this process
 * as its children. */
#include "recovery/family.h"

#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SPARED_MAX = 64 };
/* Children that were there before, and are nobody's orphans. */
static pid_t spared[SPARED_MAX];
static int n_spared;

static FILE *open_children(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    return fopen(path, "re");
}

void sk_family_spare_present(void)
{
    FILE *f = open_children();
    int pid;
    for (n_spared = 0; f && n_spared < SPARED_MAX && fscanf(f, "%d", &pid) == 1;)
        spared[n_spared++] = pid;
    if (f)
        fclose(f);
}

int sk_family_spare(pid_t pid)
{
    if (n_spared == SPARED_MAX)
        return -1;
    spared[n_spared++] = pid;
    return 0;
}

void sk_family_unspare(pid_t pid)
{
    for (int i = n_spared - 1; i >= 0; i--)
        if (spared[i] == pid)
            spared[i] = spared[--n_spared];
}

static int is_spared(pid_t pid)
{
    for (int i = 0; i < n_spared; i++)
        if (spared[i] == pid)
            return 1;
    return 0;
}

/* Kill and collect all children but leader; returns how many were not collected. */
static int kill_children(pid_t leader)
{
    int left = 0, pid;
    FILE *f = open_children();
    if (!f)
        return 0;
    while (fscanf(f, "%d", &pid) == 1)
        if (pid != leader && !is_spared(pid)) {
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
