/* A session directory is ompi.HOST.UID/pid.PID; files in it name the jobs, as smseg-JOB-N. The ranks' memory is vader_segment.HOST.UID.JOB.RANK,
 * with the job in hexadecimal digits. All jobs of an mpirun have the upper 16 bits in common, their family. */
#include "recovery/launch/remains.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 8 };

static void note(struct sk_remains *r, uint32_t job)
{
    for (int i = 0; i < r->n; i++)
        if (r->family[i] == job >> 16)
            return;
    if (r->n < (int)(sizeof r->family / sizeof *r->family))
        r->family[r->n++] = job >> 16;
}

static int is_noted(const struct sk_remains *r, uint32_t job)
{
    for (int i = 0; i < r->n; i++)
        if (r->family[i] == job >> 16)
            return 1;
    return 0;
}

/* A directory of this user's below the one that is open. */
static int open_own(int at, const char *name)
{
    struct stat st;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid())) {
        close(fd);
        return -1;
    }
    return fd;
}

/* All that is in the directory; takes the descriptor. */
static void empty(struct sk_remains *r, int fd, int depth)
{
    DIR *d = fdopendir(fd);
    if (!d) {
        close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(d));) {
        unsigned job;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (sscanf(e->d_name, "smseg-%u-", &job) == 1)
            note(r, job);
        if (!unlinkat(dirfd(d), e->d_name, 0) || errno != EISDIR || !depth)
            continue;
        int below = open_own(dirfd(d), e->d_name);
        if (below >= 0)
            empty(r, below, depth - 1);
        unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
    }
    closedir(d);
}

/* NAME is PREFIX.HOST.UID with this host's name, which the MPI cuts at the first dot unless it was told not to. Of other hosts, as containers
 * are that share the directory, the processes are not seen from here: one of the same number may live there. */
static int is_ours(const char *name, const char *prefix)
{
    char host[256] = "", own[300];
    if (gethostname(host, sizeof host - 1))
        return 0;
    for (char *dot = host + strlen(host); dot; dot = strchr(host, '.')) {
        *dot = 0;
        snprintf(own, sizeof own, "%s.%s.%u", prefix, host, (unsigned)geteuid());
        if (!strcmp(name, own))
            return 1;
    }
    return 0;
}

static void take_session(struct sk_remains *r, const char *temporary, pid_t mpirun)
{
    char session[32];
    DIR *d = opendir(temporary);
    if (!d)
        return;
    snprintf(session, sizeof session, "pid.%d", (int)mpirun);
    for (struct dirent *e; (e = readdir(d));) {
        int of_user = is_ours(e->d_name, "ompi") ? open_own(dirfd(d), e->d_name) : -1;
        int fd = of_user < 0 ? -1 : open_own(of_user, session);
        if (fd >= 0) {
            empty(r, fd, DEPTH);
            unlinkat(of_user, session, AT_REMOVEDIR);
            unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR); /* unless there are others in it */
        }
        if (of_user >= 0)
            close(of_user);
    }
    closedir(d);
}

static void take_memory(const struct sk_remains *r, const char *memory)
{
    DIR *d = r->n ? opendir(memory) : NULL;
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        char name[256];
        snprintf(name, sizeof name, "%s", e->d_name);
        char *rank = strrchr(name, '.'), *job;
        if (!rank)
            continue;
        *rank = 0;
        if (!(job = strrchr(name, '.')))
            continue;
        *job = 0;
        if (is_ours(name, "vader_segment") && is_noted(r, (uint32_t)strtoul(job + 1, NULL, 16)))
            unlinkat(dirfd(d), e->d_name, 0);
    }
    closedir(d);
}

void sk_remains_take_away(struct sk_remains *r, pid_t mpirun, const char *memory)
{
    static const char *const named[] = {"TMPDIR", "TMP", "TEMP"};
    if (mpirun <= 0 || !kill(mpirun, 0) || errno != ESRCH)
        return;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (getenv(named[i]))
            take_session(r, getenv(named[i]), mpirun);
    take_session(r, "/tmp", mpirun);
    take_memory(r, memory);
}
