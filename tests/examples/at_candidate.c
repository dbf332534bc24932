/* Waits until a rank under `saikai run` has reached its n-th candidate, as the page says that it shares with its keeper, and sends a
 * signal there and then: so that tests interrupt programs at a place and not at a time. SIGKILL waits for more: that a
 * generation of this start is complete, but not for longer than for the 20 n-th candidate.
 *
 * usage: at_candidate PID N SIGNAL TARGET      PID: of the rank; TARGET: who gets the signal (the rank's own PID, or another)
 *        at_candidate FILE N SIGNAL BEFORE     FILE: a path with a /, which the rank writes its PID to; BEFORE: the one that it has had so far, or
 *                                              0; the rank gets the signal. For programs that may be at their end before a shell has looked.
 * N may be +N: so many after those that it has made by now.
 * A rank that was stopped before goes on as soon as it is watched.
 * Prints "ITERATION RESTORED": of its newest candidate when it was gone, or when the signal was sent to another, and of the
 * generation that it had resumed from (-1: none); with FILE the PID after them. Exit code 1: it was not reached within 300 s, or the process is gone. */
#include "backbone/keeper_page.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct sk_keeper_page *page_of(const char *pid)
{
    char path[PATH_MAX], *entry = NULL;
    size_t cap = 0, n = strlen(SK_KEEPER_FD_ENV);
    int number = -1;
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    FILE *f = fopen(path, "re");
    while (f && getdelim(&entry, &cap, 0, f) > 0)
        if (!strncmp(entry, SK_KEEPER_FD_ENV, n) && entry[n] == '=')
            number = atoi(entry + n + 1);
    if (f)
        fclose(f);
    free(entry);
    snprintf(path, sizeof path, "/proc/%s/fd/%d", pid, number);
    int fd = number < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    void *p = fd < 0 ? MAP_FAILED : mmap(NULL, SK_KEEPER_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* The process whose number the file has, once it is another one than before; 0: none within 300 s. */
static pid_t wait_for_pid(const char *file, pid_t before)
{
    for (int i = 0; i < 300000; i++) {
        char line[32] = "";
        FILE *f = fopen(file, "re");
        const char *got = f ? fgets(line, sizeof line, f) : NULL;
        if (f)
            fclose(f);
        if (got && strchr(line, '\n') && atoi(line) > 0 && atoi(line) != before)
            return atoi(line);
        usleep(1000);
    }
    return 0;
}

int main(int argc, char **argv)
{
    char pid[16];
    if (argc != 5)
        return 2;
    int by_file = strchr(argv[1], '/') != NULL;
    pid_t rank = by_file ? wait_for_pid(argv[1], atoi(argv[4])) : atoi(argv[1]), target = by_file ? rank : atoi(argv[4]);
    snprintf(pid, sizeof pid, "%d", (int)rank);
    const struct sk_keeper_page *p = page_of(pid);
    if (!p)
        return 1;
    unsigned long long n = strtoull(argv[2], NULL, 10) + (*argv[2] == '+' ? atomic_load(&p->progress) : 0);
    kill(rank, SIGCONT);
    for (int i = 0; i < 300000 && !kill(rank, 0); i++) {
        unsigned long long at = atomic_load(&p->progress);
        int waits = atoi(argv[3]) == SIGKILL && !atomic_load(&p->complete_count) && at < 20 * n;
        if (at >= n && !waits) {
            if (kill(target, atoi(argv[3])))
                return 1;
            for (int k = 0; target == rank && atoi(argv[3]) && atoi(argv[3]) != SIGSTOP && k < 10000 && !kill(rank, 0); k++)
                usleep(1000);
            printf("%lld %lld", (long long)atomic_load(&p->iteration), (long long)atomic_load(&p->restored_iteration));
            printf(by_file ? " %d\n" : "\n", (int)rank);
            return 0;
        }
        usleep(1000);
    }
    return 1;
}
