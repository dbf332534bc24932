/* A table of guarded mappings and a SIGBUS handler that puts empty pages in place of lost ones.
 * Signals that are not ours go on to the handler that was there before. */
#include "base/host/guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* More mappings than a process has of this kind: one for each slot and each file of parity. The handler reads the table
 * without a lock: an entry of which it needs something is in use by the thread that it interrupted. */
enum { ENTRIES = 4096 };

static struct entry {
    _Atomic uintptr_t from, to; /* from 0: free */
    atomic_int lost;
} entries[ENTRIES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users; /* the handler is installed while there are any */
static struct sigaction before; /* changed while the handler is not the current one, or by the one that replaces it */
static size_t page_bytes = 4096;

/* The signal that this thread passed on last: where its handler's frame was. The one before may build on us in turn; one that
 * comes back has the same context and a deeper frame, while one that was left by a jump is followed by another signal. */
static _Thread_local __attribute__((tls_model("initial-exec"))) const void *passed_context, *passed_frame;

static struct entry *find(const void *p)
{
    for (int i = 0; p && i < ENTRIES; i++)
        if (atomic_load(&entries[i].from) == (uintptr_t)p)
            return &entries[i];
    return NULL;
}

void sk_guard_add(void *p, size_t n)
{
    if (!p || !n)
        return;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < ENTRIES; i++) {
        if (atomic_load(&entries[i].from))
            continue;
        atomic_store(&entries[i].lost, 0);
        atomic_store(&entries[i].to, (uintptr_t)p + n);
        atomic_store(&entries[i].from, (uintptr_t)p);
        break;
    }
    pthread_mutex_unlock(&lock);
}

void sk_guard_change(void *p, void *to, size_t n)
{
    pthread_mutex_lock(&lock);
    struct entry *e = find(p);
    if (e) {
        atomic_store(&e->to, (uintptr_t)to + n);
        atomic_store(&e->from, n ? (uintptr_t)to : 0);
    }
    pthread_mutex_unlock(&lock);
    if (!e)
        sk_guard_add(to, n);
}

void sk_guard_remove(void *p)
{
    sk_guard_change(p, NULL, 0);
}

int sk_guard_lost(const void *p)
{
    struct entry *e = find(p);
    return e && atomic_load(&e->lost);
}

/* ---- the signal ---- */

/* 1: the page is one of ours, and is there again. From it to the end: what was cut was cut to the end. */
static int replace(uintptr_t at)
{
    for (int i = 0; i < ENTRIES; i++) {
        uintptr_t from = atomic_load(&entries[i].from), to = atomic_load(&entries[i].to);
        if (!from || at < from || at >= to)
            continue;
        uintptr_t page = at & ~(uintptr_t)(page_bytes - 1);
        atomic_store(&entries[i].lost, 1);
        return mmap((void *)page, to - page, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
    }
    return 0;
}

/* What the signal does without us; the program dies of it again when the handler is back, and as it would have died. */
static void leave_to_system(int number, const siginfo_t *info)
{
    struct sigaction act = {.sa_handler = SIG_DFL};
    sigaction(number, &act, NULL);
    if (info->si_code <= 0) /* sent by a process: nothing is touched again */
        raise(number);
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    struct sigaction next = before;
    const void *frame = __builtin_frame_address(0);
    int is_info = (next.sa_flags & SA_SIGINFO) != 0, came_back = context == passed_context && frame < passed_frame;
    if (came_back || (!is_info && (next.sa_handler == SIG_DFL || (next.sa_handler == SIG_IGN && info->si_code > 0)))) {
        leave_to_system(number, info); /* one's own fault cannot be ignored */
        return;
    }
    passed_context = context;
    passed_frame = frame;
    if (next.sa_flags & SA_RESETHAND) /* the system would not call it twice */
        before = (struct sigaction){.sa_handler = SIG_DFL};
    if (is_info)
        next.sa_sigaction(number, info, context);
    else if (next.sa_handler != SIG_IGN)
        next.sa_handler(number);
}

static void on_bus(int number, siginfo_t *info, void *context)
{
    int e = errno;
    if (info->si_code <= 0 || !replace((uintptr_t)info->si_addr))
        pass_on(number, info, context);
    errno = e;
}

static int is_ours(const struct sigaction *a)
{
    return (a->sa_flags & SA_SIGINFO) && a->sa_sigaction == on_bus;
}

/* With the lock. */
static void take(void)
{
    struct sigaction now, act = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    if (sigaction(SIGBUS, NULL, &now) || is_ours(&now))
        return;
    sigemptyset(&act.sa_mask);
    before = now;
    sigaction(SIGBUS, &act, NULL);
}

void sk_guard_arm(void)
{
    pthread_mutex_lock(&lock);
    if (users)
        take();
    pthread_mutex_unlock(&lock);
}

void sk_guard_open(void)
{
    pthread_mutex_lock(&lock);
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    users++;
    take();
    pthread_mutex_unlock(&lock);
}

void sk_guard_close(void)
{
    struct sigaction now;
    pthread_mutex_lock(&lock);
    if (!--users && !sigaction(SIGBUS, NULL, &now) && is_ours(&now))
        sigaction(SIGBUS, &before, NULL);
    pthread_mutex_unlock(&lock);
}

void sk_guard_signals(sigset_t *out)
{
    sigfillset(out);
    sigdelset(out, SIGBUS);
}
