/* Snapshots by a child process: it shares all pages copy-on-write and does nothing but exist; the
 * helper thread reads its memory. */
#include "capture/cow/cow_job.h"
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

/* A fault, the copy of a page, and telling the processor of the helper thread. */
#define FAULT_SECONDS 4e-6

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
static void be_the_child(const struct sk_snapshot_job *job, int fd)
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

static int start_child(struct sk_snapshot_job *job, struct child *c, struct saikai_error *err)
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

static int begin(struct sk_snapshot_job *job, struct saikai_error *err)
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

/* The program writes much: each page costs it a fault and a copy as long as the child lives. Take
 * the rest from the child at once, so that it can go; [at, …) of interval i is the first that is
 * left. 0: the pool has no room, or reading failed: go on as before. */
static int take_all(struct sk_snapshot_job *job, const struct child *c, size_t i, uintptr_t at)
{
    uint64_t left = 0;
    for (size_t k = i; k < job->later.n; k++)
        left += job->later.v[k].to - (k == i ? at : job->later.v[k].from);
    if (left + SK_CHUNK_BYTES > job->pool->cap - job->pool->used)
        return 0;
    for (; i < job->later.n; at = ++i < job->later.n ? job->later.v[i].from : 0)
        while (at < job->later.v[i].to) {
            size_t n = job->later.v[i].to - at;
            n = n < SK_CHUNK_BYTES ? n : SK_CHUNK_BYTES;
            uint8_t *p = sk_pool_put(job->pool, at, n);
            struct iovec local = {p, n}, remote = {(void *)at, n};
            if (!p || process_vm_readv(c->pid, &local, 1, &remote, 1, 0) != (ssize_t)n) {
                sk_pool_clear(job->pool);
                return 0;
            }
            at += n;
        }
    return 1;
}

static int drain_pool(struct sk_snapshot_job *job, struct saikai_error *err)
{
    int rc = 0;
    while (!rc && !atomic_load(&job->stop) && sk_pool_first(job->pool))
        rc = sk_job_emit_first(job, err);
    return rc;
}

static int drain(struct sk_snapshot_job *job, struct saikai_error *err)
{
    struct child *c = job->own;
    uint64_t most = (uint64_t)((double)job->stats.bytes / SK_COPY_RATE / FAULT_SECONDS);
    c->faults = faults_of_others();
    int rc = drain_pool(job, err), tried = 0;
    for (size_t i = 0; !rc && i < job->later.n; i++)
        for (uintptr_t at = job->later.v[i].from; !rc && at < job->later.v[i].to;) {
            if (atomic_load(&job->stop))
                return 0;
            if (!tried && faults_of_others() - c->faults > most) {
                tried = 1;
                if (take_all(job, c, i, at)) {
                    job->stats.faults = faults_of_others() - c->faults;
                    end_child(c);
                    c->pid = -1;
                    return drain_pool(job, err);
                }
            }
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

static void end(struct sk_snapshot_job *job)
{
    struct child *c = job->own;
    if (c->pid > 0) {
        job->stats.faults = faults_of_others() - c->faults;
        end_child(c);
    }
    free(c);
    job->own = NULL;
}

/* May a child's memory be read here? Sandboxes and ptrace_scope differ. */
static int probe(struct saikai_error *err)
{
    static uint8_t seen;
    uint8_t back = 0;
    struct sk_snapshot_job job = {.page = sk_page_size()};
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
    .fault_seconds = FAULT_SECONDS,
    .probe = probe,
    .begin = begin,
    .drain = drain,
    .end = end,
};
