/* Snapshots by write protection: all pages are protected at once; the helper thread copies chunk
 * after chunk, lifts the protection and hands the copy on, while a second thread serves the faults
 * of pages that are written before their turn: it copies them aside and lifts their protection.
 *
 * The second thread never waits for anybody but for the short lock, never allocates and never
 * writes memory that could be protected: else a fault could wait for itself. Memory is read by
 * process_vm_readv, so memory that vanished is an error and not a crash. Events (pages given back,
 * unmapped, moved) reach the second thread before the program continues; if they hit a page whose
 * content was not yet saved, the snapshot fails. */
#include "capture/cow_job.h"
#include "capture/kernel.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum page_state {
    PENDING,
    BUSY, /* the helper copies it; lifting the protection then wakes whoever waits for it */
    DONE,
};

#define WANTED 64
/* After this many copies aside the next ones take twice as much, up to a huge page: a program that
 * writes here and there pays little for each, one that writes everything soon pays what a plain
 * copy costs (and one that sweeps at once: the width doubles as long as it goes on nearby). A
 * narrow copy splits a huge page; taking all of it instead would make a few scattered writes as
 * dear as a copy of everything. */
#define FAULTS_PER_WIDTH 64
#define RUN_GAP_BYTES    (4 * SK_CHUNK_BYTES)

struct uffd_job {
    struct sk_job *job;
    int fd, wake;
    int handling; /* the handler runs */
    pthread_t handler;
    pthread_mutex_t lock; /* of all below and of the pool */
    uint8_t *state;       /* of all pages of job->later, one after the other */
    size_t *first;        /* index of each interval's first page */
    int width_shift, copies;
    int run_shift;            /* of a program that goes on where the last copy aside ended */
    struct sk_interval run;   /* the last copy aside */
    uintptr_t wanted[WANTED]; /* pages whose writers wait since the pool is full */
    int n_wanted;
    size_t next_interval; /* everything before was looked at by the helper */
    uintptr_t next_at;
    int lift_again; /* lifting was refused for a moment: look at all pages that are done */
    atomic_int broken;
};

static size_t interval_of(const struct sk_job *job, uintptr_t a)
{
    size_t lo = 0, hi = job->later.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (job->later.v[mid].to <= a)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < job->later.n && job->later.v[lo].from <= a ? lo : job->later.n;
}

static uint8_t *state_of(const struct uffd_job *u, size_t i, uintptr_t a)
{
    return &u->state[u->first[i] + (a - u->job->later.v[i].from) / u->job->page];
}

/* The part of the aligned block of this width around a that lies in interval i. */
static struct sk_interval block_around(const struct uffd_job *u, size_t i, uintptr_t a,
                                       size_t width)
{
    const struct sk_interval *x = &u->job->later.v[i];
    uintptr_t lo = sk_page_floor(a, width), hi = lo + width;
    return (struct sk_interval){lo > x->from ? lo : x->from, hi < x->to ? hi : x->to};
}

static int read_memory(uint8_t *to, uintptr_t from, size_t n)
{
    struct iovec local = {to, n}, remote = {(void *)from, n};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n ? 0 : -1;
}

/* From the first page at or after a that has this state to the first one that has not; 0: none
 * before `to`. */
static int next_run(const struct uffd_job *u, size_t i, uintptr_t *a, uintptr_t to,
                    enum page_state s, uintptr_t *end)
{
    size_t page = u->job->page;
    while (*a < to && *state_of(u, i, *a) != s)
        *a += page;
    *end = *a;
    while (*end < to && *state_of(u, i, *end) == s)
        *end += page;
    return *a < to;
}

/* ---- the handler ---- */

/* Copy aside what is to do in the block; the lock is held. 0: the pool is full. */
static int set_aside(struct uffd_job *u, size_t i, struct sk_interval b)
{
    uintptr_t a = b.from, end;
    for (; next_run(u, i, &a, b.to, PENDING, &end); a = end) {
        uint8_t *p = sk_pool_put(u->job->pool, a, end - a);
        if (!p)
            return 0;
        if (read_memory(p, a, end - a))
            atomic_store(&u->broken, 1);
        memset(state_of(u, i, a), DONE, (end - a) / u->job->page);
        u->job->stats.touched_bytes += end - a;
    }
    return 1;
}

/* Pages that are done lose their protection, which wakes who waits for them. The kernel refuses
 * while an event is not read yet: then it is done again after reading it. Any other refusal means
 * that the pages are not protected any more (the end of the snapshot came in between), and nobody
 * waits. */
static void lift_from_handler(struct uffd_job *u, uintptr_t from, uintptr_t to)
{
    struct uffdio_writeprotect w = {.range = {from, to - from}, .mode = 0};
    if (ioctl(u->fd, UFFDIO_WRITEPROTECT, &w) && errno == EAGAIN)
        u->lift_again = 1;
}

static void lift_all_done(struct uffd_job *u)
{
    u->lift_again = 0;
    for (size_t i = 0; i < u->job->later.n; i++) {
        uintptr_t a = u->job->later.v[i].from, end;
        for (;; a = end) {
            pthread_mutex_lock(&u->lock);
            int more = next_run(u, i, &a, u->job->later.v[i].to, DONE, &end);
            pthread_mutex_unlock(&u->lock);
            if (!more)
                break;
            lift_from_handler(u, a, end);
        }
    }
}

/* How much to copy aside at once, as a power of two of pages. */
static int next_width(struct uffd_job *u, uintptr_t a)
{
    int most = 0;
    while (u->job->page << most < SK_CHUNK_BYTES)
        most++;
    if (++u->copies % FAULTS_PER_WIDTH == 0 && u->width_shift < most)
        u->width_shift++;
    /* the helper may have taken some chunks in between */
    if (a - u->run.to >= RUN_GAP_BYTES && u->run.from - a > RUN_GAP_BYTES)
        u->run_shift = 0;
    else if (u->run_shift < most)
        u->run_shift++;
    return u->run_shift > u->width_shift ? u->run_shift : u->width_shift;
}

static void serve_fault(struct uffd_job *u, uintptr_t a)
{
    a = sk_page_floor(a, u->job->page);
    struct sk_interval b = {a, a + u->job->page};
    size_t i = interval_of(u->job, a);
    if (i == u->job->later.n) { /* protected pages that were moved away */
        atomic_store(&u->broken, 1);
        lift_from_handler(u, b.from, b.to);
        return;
    }
    pthread_mutex_lock(&u->lock);
    u->job->stats.faults++;
    enum page_state s = *state_of(u, i, a);
    int done = s == DONE;
    if (s == PENDING) {
        b = block_around(u, i, a, u->job->page << next_width(u, a));
        u->run = b;
        done = set_aside(u, i, b);
        if (!done) {
            u->job->stats.waits++;
            if (u->n_wanted < WANTED) /* else the helper comes to it in its own order */
                u->wanted[u->n_wanted++] = a;
        }
    }
    pthread_mutex_unlock(&u->lock);
    if (done)
        lift_from_handler(u, b.from, b.to);
}

/* Memory went away. Nothing is lost if all of it was saved already. */
static void see_gone(struct uffd_job *u, uintptr_t from, uintptr_t to)
{
    pthread_mutex_lock(&u->lock);
    for (size_t i = 0; i < u->job->later.n; i++) {
        const struct sk_interval *x = &u->job->later.v[i];
        uintptr_t a = from > x->from ? from : x->from, b = to < x->to ? to : x->to;
        for (; a < b; a += u->job->page)
            if (*state_of(u, i, a) != DONE)
                atomic_store(&u->broken, 1);
    }
    pthread_mutex_unlock(&u->lock);
}

static void *handle(void *arg)
{
    struct uffd_job *u = arg;
    struct pollfd f[2] = {{u->fd, POLLIN, 0}, {u->wake, POLLIN, 0}};
    for (;;) {
        int n = poll(f, 2, u->lift_again ? 1 : -1);
        if (n < 0 && errno != EINTR)
            return NULL;
        struct uffd_msg m;
        while (read(u->fd, &m, sizeof m) == sizeof m) {
            if (m.event == UFFD_EVENT_PAGEFAULT)
                serve_fault(u, (uintptr_t)m.arg.pagefault.address);
            else if (m.event == UFFD_EVENT_REMOVE || m.event == UFFD_EVENT_UNMAP)
                see_gone(u, (uintptr_t)m.arg.remove.start, (uintptr_t)m.arg.remove.end);
            else if (m.event == UFFD_EVENT_REMAP)
                see_gone(u, (uintptr_t)m.arg.remap.from,
                         (uintptr_t)(m.arg.remap.from + m.arg.remap.len));
        }
        if (u->lift_again)
            lift_all_done(u);
        if (f[1].revents)
            return NULL;
    }
}

static int start_handler(struct uffd_job *u)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    u->handling = !pthread_create(&u->handler, NULL, handle, u);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return u->handling ? 0 : -1;
}

static void stop_handler(struct uffd_job *u)
{
    if (!u->handling)
        return;
    eventfd_write(u->wake, 1);
    pthread_join(u->handler, NULL);
    u->handling = 0;
}

/* ---- begin and end ---- */

static void free_uffd(struct uffd_job *u)
{
    if (!u)
        return;
    if (u->fd >= 0) {
        /* lifts all protection and wakes all; the handler is still there for events that this may
         * make */
        for (size_t i = 0; i < u->job->later.n; i++)
            sk_uffd_unregister(u->fd, u->job->later.v[i].from, u->job->later.v[i].to);
        stop_handler(u);
        close(u->fd);
    }
    if (u->wake >= 0)
        close(u->wake);
    pthread_mutex_destroy(&u->lock);
    free(u->state);
    free(u->first);
    free(u);
}

/* Register what can be; copy now what cannot, such as memory that a tracker watches. */
static int register_all(struct uffd_job *u, struct saikai_error *err)
{
    struct sk_intervals *later = &u->job->later;
    size_t kept = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < later->n; i++) {
        const struct sk_interval x = later->v[i];
        if (!sk_uffd_register(u->fd, x.from, x.to))
            later->v[kept++] = x;
        else
            rc = sk_job_copy_now(u->job, x.from, x.to, err);
    }
    later->n = kept;
    return rc;
}

static int count_pages(struct uffd_job *u, struct saikai_error *err)
{
    struct sk_job *job = u->job;
    size_t pages = 0;
    u->first = malloc((job->later.n + 1) * sizeof *u->first);
    for (size_t i = 0; u->first && i < job->later.n; i++) {
        u->first[i] = pages;
        pages += (job->later.v[i].to - job->later.v[i].from) / job->page;
    }
    u->state = calloc(pages + 1, 1);
    if (!u->first || !u->state)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a snapshot of %zu pages", pages);
    return 0;
}

static int protect_all(struct uffd_job *u, struct saikai_error *err)
{
    for (size_t i = 0; i < u->job->later.n; i++) {
        int e = sk_uffd_protect(u->fd, u->job->later.v[i].from, u->job->later.v[i].to, 1);
        if (e)
            return sk_fail(err, SAIKAI_ENOTSUP, "memory cannot be write-protected: %s",
                           strerror(-e));
    }
    return 0;
}

static int begin(struct sk_job *job, struct saikai_error *err)
{
    struct uffd_job *u = calloc(1, sizeof *u);
    if (!u)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a snapshot");
    u->job = job;
    u->wake = -1;
    pthread_mutex_init(&u->lock, NULL);
    int rc = u->fd = sk_uffd_open(SK_UFFD_SYNC, err);
    if (rc >= 0 && (u->wake = eventfd(0, EFD_CLOEXEC)) < 0)
        rc = sk_fail_errno(err, errno, "no event descriptor for a snapshot");
    if (rc >= 0)
        rc = sk_job_split(job, err);
    if (!rc)
        rc = register_all(u, err);
    if (!rc)
        rc = count_pages(u, err);
    if (!rc && start_handler(u))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no thread for a snapshot");
    if (!rc)
        rc = protect_all(u, err);
    if (rc) {
        free_uffd(u);
        return rc;
    }
    job->own = u;
    return 0;
}

static void end(struct sk_job *job)
{
    free_uffd(job->own);
    job->own = NULL;
}

/* ---- the helper ---- */

static int emit_oldest(struct uffd_job *u, struct saikai_error *err)
{
    struct sk_job *job = u->job;
    pthread_mutex_lock(&u->lock);
    const struct sk_aside a = *sk_pool_first(job->pool);
    pthread_mutex_unlock(&u->lock);
    int rc = sk_job_emit(job, a.addr, job->pool->mem + a.at, a.n, err);
    pthread_mutex_lock(&u->lock);
    sk_pool_drop_first(job->pool);
    pthread_mutex_unlock(&u->lock);
    return rc;
}

/* Copy what is to do in the chunk, lift its protection, hand the copy on. All its pages that are
 * PENDING become BUSY at once, so the handler never finds a chunk half taken. */
static int save_chunk(struct uffd_job *u, size_t i, struct sk_interval b, struct saikai_error *err)
{
    struct sk_job *job = u->job;
    struct sk_interval run[SK_CHUNK_BYTES / 4096 / 2 + 1];
    size_t n = 0;
    uintptr_t a = b.from, to;
    pthread_mutex_lock(&u->lock);
    for (; next_run(u, i, &a, b.to, PENDING, &to); a = to) {
        run[n++] = (struct sk_interval){a, to};
        memset(state_of(u, i, a), BUSY, (to - a) / job->page);
    }
    pthread_mutex_unlock(&u->lock);
    for (size_t k = 0; k < n; k++)
        if (read_memory(job->chunk + (run[k].from - b.from), run[k].from, run[k].to - run[k].from))
            atomic_store(&u->broken, 1);
    pthread_mutex_lock(&u->lock);
    for (size_t k = 0; k < n; k++)
        memset(state_of(u, i, run[k].from), DONE, (run[k].to - run[k].from) / job->page);
    pthread_mutex_unlock(&u->lock);
    if (n && sk_uffd_protect(u->fd, b.from, b.to, 0))
        atomic_store(&u->broken, 1);
    int rc = 0;
    for (size_t k = 0; !rc && k < n && !atomic_load(&u->broken); k++)
        rc = sk_job_emit(job, run[k].from, job->chunk + (run[k].from - b.from),
                         run[k].to - run[k].from, err);
    return rc;
}

/* What to do next: a page somebody waits for, the pool when it is half full, the next chunk, the
 * pool. */
enum next { CHUNK, ASIDE, NOTHING };

static enum next choose(struct uffd_job *u, size_t *i, struct sk_interval *b)
{
    struct sk_job *job = u->job;
    enum next what = NOTHING;
    pthread_mutex_lock(&u->lock);
    while (what == NOTHING && u->n_wanted) {
        uintptr_t a = u->wanted[--u->n_wanted];
        *i = interval_of(job, a);
        *b = block_around(u, *i, a, SK_CHUNK_BYTES);
        what = *state_of(u, *i, a) == PENDING ? CHUNK : NOTHING;
    }
    if (what == NOTHING && job->pool->used > job->pool->cap / 2)
        what = ASIDE;
    for (; what == NOTHING && u->next_interval < job->later.n; u->next_interval++, u->next_at = 0) {
        const struct sk_interval *x = &job->later.v[u->next_interval];
        uintptr_t a = u->next_at ? u->next_at : x->from, to;
        if (!next_run(u, u->next_interval, &a, x->to, PENDING, &to))
            continue;
        *i = u->next_interval;
        *b = block_around(u, *i, a, SK_CHUNK_BYTES);
        u->next_at = b->to;
        what = CHUNK;
        break;
    }
    if (what == NOTHING && sk_pool_first(job->pool))
        what = ASIDE;
    pthread_mutex_unlock(&u->lock);
    return what;
}

static int drain(struct sk_job *job, struct saikai_error *err)
{
    struct uffd_job *u = job->own;
    int rc = 0;
    while (!rc && !atomic_load(&job->stop) && !atomic_load(&u->broken)) {
        size_t i;
        struct sk_interval b;
        enum next what = choose(u, &i, &b);
        if (what == NOTHING)
            break;
        rc = what == CHUNK ? save_chunk(u, i, b, err) : emit_oldest(u, err);
    }
    /* nothing more can be reported once the pages are released and the handler has read all */
    for (size_t i = 0; i < job->later.n; i++)
        sk_uffd_unregister(u->fd, job->later.v[i].from, job->later.v[i].to);
    stop_handler(u);
    if (!rc && atomic_load(&u->broken))
        rc = sk_fail(err, SAIKAI_ECHANGED, "memory was unmapped or given back while it was saved");
    return rc;
}

/* ---- trial ---- */

static int probe(struct saikai_error *err)
{
    size_t n = 16 * sk_page_size();
    uint8_t *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t c = 0;
    if (p == MAP_FAILED)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a trial");
    int fd = sk_uffd_open(SK_UFFD_SYNC, err), rc = fd < 0 ? fd : 0;
    if (!rc) {
        int e = sk_uffd_register(fd, (uintptr_t)p, (uintptr_t)p + n);
        if (!e)
            e = sk_uffd_protect(fd, (uintptr_t)p, (uintptr_t)p + n, 1);
        if (!e)
            e = sk_uffd_protect(fd, (uintptr_t)p, (uintptr_t)p + n, 0);
        if (!e && read_memory(&c, (uintptr_t)p, 1))
            e = -errno;
        if (e)
            rc = sk_fail(err, SAIKAI_ENOTSUP, "a trial failed: %s", strerror(-e));
        close(fd);
    }
    munmap(p, n);
    return rc;
}

const struct sk_snapshot_ops sk_snapshot_uffd = {
    .name = "uffd",
    .description = "write-protect all pages, copy those aside that the program writes first",
    .sees_pages_only = 1,
    .fault_seconds = 15e-6,
    .probe = probe,
    .begin = begin,
    .drain = drain,
    .end = end,
};
