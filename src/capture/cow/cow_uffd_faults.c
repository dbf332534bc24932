/* The thread that serves the faults of a snapshot by write protection. It never waits for anybody
 * but for the short lock, never allocates and never writes memory that could be protected: else a
 * fault could wait for itself. Events (pages given back, unmapped, moved) reach it before the
 * program continues; if they hit a page whose content was not yet saved, the snapshot fails. */
#include "base/clock.h"
#include "base/host/guard.h"
#include "capture/cow/cow_uffd.h"
#include "capture/kernel.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* After this many copies aside the next ones take twice as much, up to a huge page: a program that
 * writes here and there pays little for each, one that writes everything soon pays what a plain
 * copy costs. A narrow copy splits a huge page; taking all of it instead would make a few scattered
 * writes as dear as a copy of everything. */
#define FAULTS_PER_WIDTH 64
/* A program that goes on nearby is taken to sweep: the next copy is wider at once. */
#define RUN_GAP_BYTES   (4 * SK_CHUNK_BYTES)
#define RUN_FIRST_PAGES 8
#define RUN_MOST_BYTES  (8 * SK_CHUNK_BYTES)
/* Where this part of all bytes was copied aside, everything else is soon to be. */
#define HURRY_PART 64

/* Pages that are done lose their protection, which wakes who waits for them. The kernel refuses
 * while an event is not read yet: then it is done again after reading it. Any other refusal means
 * that the pages are not protected any more (the end of the snapshot came in between), and nobody
 * waits. */
static void lift(struct sk_uffd_job *u, uintptr_t from, uintptr_t to)
{
    struct uffdio_writeprotect w = {.range = {from, to - from}, .mode = 0};
    if (ioctl(u->fd, UFFDIO_WRITEPROTECT, &w) && errno == EAGAIN)
        u->lift_again = 1;
}

static void lift_done(struct sk_uffd_job *u, size_t i, struct sk_interval b)
{
    uintptr_t a = b.from, end;
    for (;; a = end) {
        pthread_mutex_lock(&u->lock);
        int more = sk_pages_run(&u->pages, i, &a, b.to, SK_PAGE_DONE, &end);
        pthread_mutex_unlock(&u->lock);
        if (!more)
            return;
        lift(u, a, end);
    }
}

static void lift_all_done(struct sk_uffd_job *u)
{
    u->lift_again = 0;
    for (size_t i = 0; i < u->job->later.n; i++)
        lift_done(u, i, u->job->later.v[i]);
}

static int near(uintptr_t a, struct sk_interval b)
{
    return a + RUN_GAP_BYTES >= b.from && a <= b.to + RUN_GAP_BYTES;
}

/* How much to copy aside at once for a write to a. */
static size_t next_width(struct sk_uffd_job *u, uintptr_t a)
{
    size_t page = u->pages.page, wide;
    if (++u->copies % FAULTS_PER_WIDTH == 0 && page << u->width_shift < SK_CHUNK_BYTES)
        u->width_shift++;
    wide = page << u->width_shift;
    /* the helper may have taken some chunks in between */
    if (!near(a, u->run) && !near(a, u->chunk))
        u->run_bytes = 0;
    else if (u->run_bytes < RUN_FIRST_PAGES * page)
        u->run_bytes = RUN_FIRST_PAGES * page;
    else if (u->run_bytes < SK_CHUNK_BYTES)
        u->run_bytes = 8 * u->run_bytes < SK_CHUNK_BYTES ? 8 * u->run_bytes : SK_CHUNK_BYTES;
    else if (u->run_bytes < RUN_MOST_BYTES)
        u->run_bytes *= 2;
    return u->run_bytes > wide ? u->run_bytes : wide;
}

/* Copy aside [a, …) and what the program is likely to write next; *done is what may be lifted. 0:
 * the pool is full. The lock is held. */
static int set_aside_around(struct sk_uffd_job *u, size_t i, uintptr_t a, struct sk_interval *done)
{
    size_t width = next_width(u, a), more = 0;
    int backward = u->run_bytes && a < u->run.from;
    if (width > SK_CHUNK_BYTES) {
        more = width / SK_CHUNK_BYTES - 1;
        width = SK_CHUNK_BYTES;
    }
    const struct sk_interval x = u->job->later.v[i];
    struct sk_interval b = *done = sk_pages_block(&u->pages, i, a, width);
    if (u->run_bytes >= SK_CHUNK_BYTES) {
        u->hurry = u->writes_much = 1;
        sk_pages_aim(&u->pages, i, a, backward);
    }
    uint64_t *counter = &u->job->stats.touched_bytes;
    int64_t got = sk_uffd_set_aside(u, i, b, counter);
    for (u->run = b; got > 0 && more; more--) {
        if (backward ? b.from == x.from : b.to == x.to)
            break;
        b = sk_pages_block(&u->pages, i, backward ? b.from - 1 : b.to, SK_CHUNK_BYTES);
        if (sk_uffd_set_aside(u, i, b, counter) <= 0)
            break;
        *(backward ? &done->from : &done->to) = backward ? b.from : b.to;
        u->run = b;
    }
    if (u->job->stats.touched_bytes > u->job->stats.bytes / HURRY_PART)
        u->hurry = u->writes_much = 1;
    return got >= 0;
}

/* A write waits for the helper, and the program writes much: meanwhile copy aside what comes next,
 * which the helper then leaves out. The lock is held. */
static struct sk_interval help_out(struct sk_uffd_job *u, size_t i, uintptr_t a)
{
    const struct sk_interval x = u->job->later.v[i];
    struct sk_interval b = sk_pages_block(&u->pages, i, a, SK_CHUNK_BYTES);
    int backward = u->pages.backward;
    if (!u->hurry || (backward ? b.from == x.from : b.to == x.to))
        return (struct sk_interval){a, a};
    b = sk_pages_block(&u->pages, i, backward ? b.from - 1 : b.to, SK_CHUNK_BYTES);
    sk_uffd_set_aside(u, i, b, &u->job->stats.ahead_bytes);
    return b;
}

static void serve_fault(struct sk_uffd_job *u, uintptr_t a)
{
    double t = sk_now();
    a = sk_page_floor(a, u->pages.page);
    struct sk_interval b = {a, a + u->pages.page};
    size_t i = sk_pages_interval(&u->pages, a);
    if (i == u->job->later.n) { /* protected pages that were moved away */
        atomic_store(&u->broken, 1);
        lift(u, b.from, b.to);
        return;
    }
    pthread_mutex_lock(&u->lock);
    u->job->stats.faults++;
    enum sk_page_state s = sk_pages_state(&u->pages, i, a);
    int waits = s == SK_PAGE_BUSY;
    if (s == SK_PAGE_PENDING && !set_aside_around(u, i, a, &b)) {
        waits = 1;
        u->job->stats.waits++;
        if (u->n_wanted < SK_UFFD_WANTED) /* else the helper comes to it in its own order */
            u->wanted[u->n_wanted++] = a;
    }
    if (waits) {
        u->waiting++;
        u->waiting_since += t;
        b = s == SK_PAGE_BUSY ? help_out(u, i, a) : (struct sk_interval){a, a};
    }
    pthread_mutex_unlock(&u->lock);
    lift_done(u, i, b);
    if (waits)
        return;
    pthread_mutex_lock(&u->lock);
    u->job->stats.stalled_seconds += sk_now() - t;
    pthread_mutex_unlock(&u->lock);
}

/* Memory went away. Nothing is lost if all of it was saved already. */
static void see_gone(struct sk_uffd_job *u, uintptr_t from, uintptr_t to)
{
    pthread_mutex_lock(&u->lock);
    for (size_t i = 0; i < u->job->later.n; i++) {
        const struct sk_interval *x = &u->job->later.v[i];
        uintptr_t a = from > x->from ? from : x->from, b = to < x->to ? to : x->to;
        for (; a < b; a += u->pages.page)
            if (sk_pages_state(&u->pages, i, a) != SK_PAGE_DONE)
                atomic_store(&u->broken, 1);
    }
    pthread_mutex_unlock(&u->lock);
}

/* So often it is looked whether the descriptors are what they were: a snapshot does not last long. */
#define LOOK_MS 100

/* As sk_own_is, whose table is behind a lock that a writer may have whom this thread is to serve. */
static int is_there(const struct sk_uffd_job *u)
{
    struct stat st;
    return !fstat(u->fd, &st) && st.st_dev == u->was.st_dev && st.st_ino == u->was.st_ino && (st.st_mode & S_IFMT) == (u->was.st_mode & S_IFMT);
}

static void *handle(void *arg)
{
    struct sk_uffd_job *u = arg;
    struct pollfd f[2] = {{u->fd, POLLIN, 0}, {u->wake, POLLIN, 0}};
    sk_uffd_protect_shares(u, 0);
    for (;;) {
        int n = poll(f, 2, u->lift_again ? 1 : LOOK_MS);
        if (n < 0 && errno != EINTR)
            return NULL;
        struct uffd_msg m;
        if (!is_there(u)) { /* the program closed it, and nobody wakes by what it closed as well */
            atomic_store(&u->broken, 1);
            return NULL;
        }
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

int sk_uffd_start_handler(struct sk_uffd_job *u)
{
    sigset_t all, old;
    sk_guard_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    u->handling = !pthread_create(&u->handler, NULL, handle, u);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return u->handling ? 0 : -1;
}

void sk_uffd_stop_handler(struct sk_uffd_job *u)
{
    if (!u->handling)
        return;
    if (is_there(u))
        eventfd_write(u->wake, 1);
    pthread_join(u->handler, NULL);
    u->handling = 0;
}
