/* Snapshots by write protection: all pages are protected at once; the helper thread copies chunk
 * after chunk, lifts the protection and hands the copy on, while a second thread serves the faults
 * of pages that are written before their turn: it copies them aside and lifts their protection.
 *
 * When the program turns out to write most of its memory, whatever it waits for is a copy that was
 * not yet made. Then the helper goes ahead of it: it first sets everything aside, in the direction
 * in which the program sweeps, and hands it on afterwards.
 *
 * Memory is read by process_vm_readv, so memory that vanished is an error and not a crash. */
#include "base/clock.h"
#include "base/own/own.h"
#include "capture/cow/cow_uffd.h"
#include "capture/kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* After a snapshot during which the program wrote much, that many begin in a hurry. */
#define HURRY_FOR 8

/* ---- begin and end ---- */

static void free_uffd(struct sk_uffd_job *u)
{
    if (!u)
        return;
    if (u->fd >= 0) {
        /* lifts all protection and wakes all; the handler is still there for events that this may
         * make */
        for (size_t i = 0; i < u->job->later.n; i++)
            sk_uffd_unregister(u->fd, u->job->later.v[i].from, u->job->later.v[i].to);
        sk_uffd_stop_handler(u);
        if (u->wake >= 0 && sk_own_is(u->fd)) /* else both were closed by the program: one eventfd looks like any other */
            close(u->wake);
        sk_own_close(u->fd);
    }
    pthread_mutex_destroy(&u->lock);
    pthread_cond_destroy(&u->filled);
    sk_pages_free(&u->pages);
    free(u);
}

/* Register what can be; copy now what cannot, such as memory that a tracker watches. */
static int register_all(struct sk_uffd_job *u, struct saikai_error *err)
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

static int protect_all(struct sk_uffd_job *u, struct saikai_error *err)
{
    sk_uffd_protect_shares(u, 1);
    pthread_mutex_lock(&u->lock);
    while (u->busy_shares) /* the handler waits for nobody meanwhile */
        pthread_cond_wait(&u->filled, &u->lock);
    int e = u->protect_errno;
    pthread_mutex_unlock(&u->lock);
    if (!e && u->refused.to)
        e = -sk_uffd_protect(u->fd, u->refused.from, u->refused.to, 1);
    return e ? sk_fail(err, SAIKAI_ENOTSUP, "memory cannot be write-protected: %s", strerror(e))
             : 0;
}

static int begin(struct sk_snapshot_job *job, struct saikai_error *err)
{
    struct sk_uffd_job *u = calloc(1, sizeof *u);
    if (!u)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a snapshot");
    u->job = job;
    if (job->hurry) { /* a narrow copy now would only be followed by the next */
        u->hurry = 1;
        while (job->page << u->width_shift < SK_CHUNK_BYTES)
            u->width_shift++;
    }
    u->wake = -1;
    pthread_mutex_init(&u->lock, NULL);
    pthread_cond_init(&u->filled, NULL);
    int rc = u->fd = sk_own(sk_uffd_open(SK_UFFD_SYNC, err), SK_OWN_GOES);
    if (rc >= 0 && (u->wake = eventfd(0, EFD_CLOEXEC)) < 0)
        rc = sk_fail_errno(err, errno, "no event descriptor for a snapshot");
    if (rc >= 0 && fstat(u->fd, &u->was))
        rc = sk_fail_errno(err, errno, "cannot look at a descriptor of a snapshot");
    if (rc >= 0)
        rc = sk_job_split(job, err);
    if (!rc)
        rc = register_all(u, err);
    if (!rc)
        rc = sk_pages_init(&u->pages, &job->later, job->page, err);
    if (!rc && sk_uffd_start_handler(u))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no thread for a snapshot");
    double t = sk_now();
    if (!rc)
        rc = protect_all(u, err);
    job->protect_seconds = sk_now() - t;
    if (rc) {
        free_uffd(u);
        return rc;
    }
    job->own = u;
    return 0;
}

static void end(struct sk_snapshot_job *job)
{
    struct sk_uffd_job *u = job->own;
    /* copies of whole chunks do not show how much is written: look again after some snapshots */
    if (job->hurry)
        job->hurry--;
    else if (u->writes_much)
        job->hurry = HURRY_FOR;
    free_uffd(u);
    job->own = NULL;
}

/* ---- the helper ---- */

static int emit_oldest(struct sk_uffd_job *u, struct saikai_error *err)
{
    struct sk_snapshot_job *job = u->job;
    pthread_mutex_lock(&u->lock);
    const struct sk_aside *a = sk_pool_first(job->pool);
    while (!a->filled)
        pthread_cond_wait(&u->filled, &u->lock);
    pthread_mutex_unlock(&u->lock);
    int rc = sk_job_emit(job, a->addr, job->pool->mem + a->at, a->n, err);
    pthread_mutex_lock(&u->lock);
    sk_pool_drop_first(job->pool);
    pthread_mutex_unlock(&u->lock);
    return rc;
}

/* Lift the protection of all pages of b that are done, and note how long that was waited for. */
static void lift_done(struct sk_uffd_job *u, size_t i, struct sk_interval b)
{
    struct sk_interval run[SK_CHUNK_RUNS];
    size_t n = 0;
    uintptr_t a = b.from, to;
    pthread_mutex_lock(&u->lock);
    for (; sk_pages_run(&u->pages, i, &a, b.to, SK_PAGE_DONE, &to); a = to)
        run[n++] = (struct sk_interval){a, to};
    pthread_mutex_unlock(&u->lock);
    for (size_t k = 0; k < n; k++)
        if (sk_uffd_protect(u->fd, run[k].from, run[k].to, 0))
            atomic_store(&u->broken, 1);
    pthread_mutex_lock(&u->lock);
    if (u->waiting)
        u->job->stats.stalled_seconds += (double)u->waiting * sk_now() - u->waiting_since;
    u->waiting = 0;
    u->waiting_since = 0;
    pthread_mutex_unlock(&u->lock);
}

/* Copy what is to do in the chunk, lift its protection, hand the copy on. */
static int save_chunk(struct sk_uffd_job *u, size_t i, struct sk_interval b,
                      struct saikai_error *err)
{
    struct sk_snapshot_job *job = u->job;
    struct sk_interval run[SK_CHUNK_RUNS];
    pthread_mutex_lock(&u->lock);
    size_t n = sk_pages_claim(&u->pages, i, b, run);
    u->chunk = b;
    pthread_mutex_unlock(&u->lock);
    for (size_t k = 0; k < n; k++)
        if (sk_uffd_read_memory(job->chunk + (run[k].from - b.from), run[k].from,
                                run[k].to - run[k].from))
            atomic_store(&u->broken, 1);
    pthread_mutex_lock(&u->lock);
    for (size_t k = 0; k < n; k++)
        sk_pages_finish(&u->pages, i, run[k]);
    pthread_mutex_unlock(&u->lock);
    if (n)
        lift_done(u, i, b);
    int rc = 0;
    for (size_t k = 0; !rc && k < n && !atomic_load(&u->broken); k++)
        rc = sk_job_emit(job, run[k].from, job->chunk + (run[k].from - b.from),
                         run[k].to - run[k].from, err);
    return rc;
}

/* Copy what is to do in the chunk and lift its protection; hand it on later. */
static int go_ahead(struct sk_uffd_job *u, size_t i, struct sk_interval b, struct saikai_error *err)
{
    pthread_mutex_lock(&u->lock);
    u->chunk = b;
    int64_t got = sk_uffd_set_aside(u, i, b, &u->job->stats.ahead_bytes);
    pthread_mutex_unlock(&u->lock);
    lift_done(u, i, b);
    return got < 0 ? emit_oldest(u, err) : 0;
}

/* What to do next: a page somebody waits for, the pool when it is full enough, the next chunk, the
 * pool. */
enum next { CHUNK, AHEAD, ASIDE, NOTHING };

static enum next choose(struct sk_uffd_job *u, size_t *i, struct sk_interval *b)
{
    struct sk_snapshot_job *job = u->job;
    enum next what = NOTHING;
    pthread_mutex_lock(&u->lock);
    /* who sets aside all that there is may fill the pool; else there is to be room for writers */
    size_t full = u->hurry && job->pool->cap >= job->stats.bytes + 2 * SK_CHUNK_BYTES
                      ? job->pool->cap - SK_CHUNK_BYTES
                      : job->pool->cap / 2;
    while (what == NOTHING && u->n_wanted) {
        uintptr_t a = u->wanted[--u->n_wanted];
        *i = sk_pages_interval(&u->pages, a);
        *b = sk_pages_block(&u->pages, *i, a, SK_CHUNK_BYTES);
        what = sk_pages_state(&u->pages, *i, a) == SK_PAGE_PENDING ? CHUNK : NOTHING;
    }
    if (what == NOTHING && sk_pool_first(job->pool) && job->pool->used > full)
        what = ASIDE;
    if (what == NOTHING && sk_pages_next(&u->pages, i, b))
        what = u->hurry ? AHEAD : CHUNK;
    if (what == NOTHING && sk_pool_first(job->pool))
        what = ASIDE;
    pthread_mutex_unlock(&u->lock);
    return what;
}

static int drain(struct sk_snapshot_job *job, struct saikai_error *err)
{
    struct sk_uffd_job *u = job->own;
    int rc = 0;
    while (!rc && !atomic_load(&job->stop) && !atomic_load(&u->broken)) {
        size_t i;
        struct sk_interval b;
        enum next what = choose(u, &i, &b);
        if (what == NOTHING)
            break;
        rc = what == CHUNK   ? save_chunk(u, i, b, err)
             : what == AHEAD ? go_ahead(u, i, b, err)
                             : emit_oldest(u, err);
    }
    /* nothing more can be reported once the pages are released and the handler has read all */
    for (size_t i = 0; i < job->later.n; i++)
        sk_uffd_unregister(u->fd, job->later.v[i].from, job->later.v[i].to);
    sk_uffd_stop_handler(u);
    if (!rc && !sk_own_is(u->fd)) /* once gone it does not come back: pages may have been written as soon as it was */
        rc = sk_fail(err, SAIKAI_ECHANGED, "the program closed descriptors that it had not opened while memory was saved");
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
        if (!e && sk_uffd_read_memory(&c, (uintptr_t)p, 1))
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
