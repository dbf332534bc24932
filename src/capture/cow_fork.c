/* Snapshots by a child process: it shares all pages copy-on-write and does nothing but exist; the
 * helper thread reads its memory. */
#include "capture/cow_job.h"
#include "capture/kernel.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct child {
    pid_t pid;
    int fd; /* the child lives until this end is closed, be it by our death */
    uint64_t faults;
};

/* Page faults of all threads but the calling one. */
static uint64_t faults_of_others(void)
{
    struct rusage all, own;
    if (getrusage(RUSAGE_SELF, &all) || getrusage(RUSAGE_THREAD, &own))
        return 0;
    return (uint64_t)(all.ru_minflt - own.ru_minflt);
}

/* The child must not keep the program's sockets and files open: peers would not notice that the
 * program died. */
static void close_others(void)
{
#ifdef SYS_close_range
    if (!syscall(SYS_close_range, 1u, ~0u, 0u))
        return;
#endif
    struct rlimit lim;
    int n = !getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur < 65536 ? (int)lim.rlim_cur : 65536;
    for (int fd = 1; fd < n; fd++)
        close(fd);
}

/* Only system calls from here: other threads may have held any lock. */
static void be_the_child(const struct sk_job *job, int fd)
{
    char mapped = 1, c;
    dup2(fd, 0);
    close_others();
    /* memory that is not inherited (MADV_DONTFORK) cannot be read from here */
    for (size_t i = 0; i < job->later.n; i++)
        if (msync((void *)job->later.v[i].from, job->later.v[i].to - job->later.v[i].from,
                  MS_ASYNC))
            mapped = 0;
    if (write(0, &mapped, 1) == 1)
        while (read(0, &c, 1) < 0 && errno == EINTR)
            ;
    _exit(0);
}

static void end_child(struct child *c)
{
    if (c->fd >= 0)
        close(c->fd);
    kill(c->pid, SIGKILL);
    while (waitpid(c->pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
}

static int start_child(struct sk_job *job, struct child *c, struct saikai_error *err)
{
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
        return sk_fail_errno(err, errno, "no socket for a snapshot");
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all,
                    &old); /* for the child: no handler of the program runs there */
    /* No exit signal: the program's own wait() and SIGCHLD handler never see this child. */
    long pid = syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (!pid)
        be_the_child(job, fd[1]);
    int e = errno;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    close(fd[1]);
    if (pid < 0) {
        close(fd[0]);
        return sk_fail_errno(err, e, "cannot fork for a snapshot");
    }
    *c = (struct child){(pid_t)pid, fd[0], 0};
    char mapped = 0;
    ssize_t n;
    do
        n = read(fd[0], &mapped, 1);
    while (n < 0 && errno == EINTR);
    if (n == 1 && mapped)
        return 0;
    end_child(c);
    return sk_fail(err, SAIKAI_ENOTSUP, "memory to be saved is not inherited by children");
}

static int begin(struct sk_job *job, struct saikai_error *err)
{
    int rc = sk_job_split(job, err);
    struct child *c = rc ? NULL : malloc(sizeof *c);
    if (!rc && !c)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for a snapshot");
    if (!rc)
        rc = start_child(job, c, err);
    if (rc) {
        free(c);
        return rc;
    }
    job->own = c;
    return 0;
}

static int drain(struct sk_job *job, struct saikai_error *err)
{
    struct child *c = job->own;
    int rc = 0;
    c->faults = faults_of_others();
    while (!rc && !atomic_load(&job->stop) && sk_pool_first(job->pool))
        rc = sk_job_emit_first(job, err);
    for (size_t i = 0; !rc && i < job->later.n; i++)
        for (uintptr_t at = job->later.v[i].from; !rc && at < job->later.v[i].to;) {
            if (atomic_load(&job->stop))
                return 0;
            size_t n = job->later.v[i].to - at;
            n = n < SK_CHUNK_BYTES ? n : SK_CHUNK_BYTES;
            struct iovec local = {job->chunk, n}, remote = {(void *)at, n};
            ssize_t got = process_vm_readv(c->pid, &local, 1, &remote, 1, 0);
            if (got <= 0)
                return sk_fail_errno(err, got ? errno : EIO, "cannot read the snapshot");
            rc = sk_job_emit(job, at, job->chunk, (size_t)got, err);
            at += (size_t)got;
        }
    return rc;
}

static void end(struct sk_job *job)
{
    job->stats.faults = faults_of_others() - ((struct child *)job->own)->faults;
    end_child(job->own);
    free(job->own);
    job->own = NULL;
}

/* May a child's memory be read here? Sandboxes and ptrace_scope differ. */
static int probe(struct saikai_error *err)
{
    static uint8_t seen;
    uint8_t back = 0;
    struct sk_job job = {.page = sk_page_size()};
    struct child c;
    seen = 42;
    int rc = start_child(&job, &c, err);
    if (rc)
        return rc;
    seen = 1;
    struct iovec local = {&back, 1}, remote = {&seen, 1};
    if (process_vm_readv(c.pid, &local, 1, &remote, 1, 0) != 1)
        rc = sk_fail(err, SAIKAI_ENOTSUP, "the memory of a child cannot be read: %s",
                     strerror(errno));
    else if (back != 42)
        rc = sk_fail(err, SAIKAI_ENOTSUP, "the memory of a child is not what it was");
    end_child(&c);
    return rc;
}

const struct sk_snapshot_ops sk_snapshot_fork = {
    .name = "fork",
    .description = "a sleeping child process keeps the old pages",
    .sees_pages_only = 1,
    .fault_seconds = 1e-6,
    .probe = probe,
    .begin = begin,
    .drain = drain,
    .end = end,
};
