/* The course of a snapshot, whatever its form: preparing the pieces, choosing a form, the helper
 * thread, and learning from what it cost. */
#include "capture/cow/cow.h"

#include "base/clock.h"
#include "base/file/copy.h"
#include "base/host/guard.h"
#include "base/log.h"
#include "capture/cow/cow_huge.h"
#include "capture/cow/cow_job.h"
#include "capture/kernel.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct sk_snapshot_ops *const forms[] = {&sk_snapshot_uffd, &sk_snapshot_fork,
                                                      &sk_snapshot_copy};
#define FORMS            ((int)(sizeof forms / sizeof *forms))
#define AVOID_FOR        8
#define AVOID_MOST       128
#define LEAST_POOL_BYTES ((uint64_t)8 << 20)

struct sk_snapshot {
    struct sk_snapshot_options opt;
    const struct sk_snapshot_ops *works[FORMS]; /* those to try, in this order */
    int n_works;
    int avoid[FORMS]; /* leave works[i] out of that many snapshots */
    int avoid_for;    /* twice what avoid gets the next time */
    int hurry;        /* see struct sk_snapshot_job */
    double copy_rate; /* bytes per second, the best seen */
    pid_t pid;
    struct sk_pool pool;
    struct sk_huge huge;
    /* the one under way */
    int active, threaded;
    const struct sk_snapshot_ops *ops;
    struct sk_snapshot_job job;
    pthread_t helper;
    atomic_int done;
    int rc;
    struct saikai_error err;
};

const struct sk_snapshot_ops *sk_snapshot_at(int i)
{
    return i >= 0 && i < FORMS ? forms[i] : NULL;
}

SK_KIND(sk_snapshot_kind, "snapshot", "form of snapshot", struct sk_snapshot_ops, sk_snapshot_at, description);

const struct sk_snapshot_ops *sk_snapshot_find(const char *name)
{
    return sk_snapshot_at(sk_kind_form(&sk_snapshot_kind, name));
}

int sk_snapshot_waits(const char *form)
{
    return form && sk_snapshot_find(form) == &sk_snapshot_copy;
}

/* ---- opening ---- */

int sk_snapshot_open(const struct sk_snapshot_options *opt, struct sk_snapshot **out,
                     struct saikai_error *err)
{
    struct sk_snapshot *s = calloc(1, sizeof *s);
    if (!s)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for snapshots");
    if (opt)
        s->opt = *opt;
    s->pid = getpid();
    s->copy_rate = SK_COPY_RATE;
    s->avoid_for = AVOID_FOR;
    const char *form = s->opt.form ? s->opt.form : SK_AUTO;
    int any = sk_is_auto(form);
    s->opt.form = NULL; /* the text was the caller's */
    int rc = 0;
    if (s->opt.pool_bytes && s->opt.pool_bytes < LEAST_POOL_BYTES)
        rc = sk_fail(err, SAIKAI_EINVAL, "a pool of %llu bytes: take at least 8 MiB",
                     (unsigned long long)s->opt.pool_bytes);
    else if (!any && !sk_snapshot_find(form))
        rc = sk_kind_unknown(&sk_snapshot_kind, SK_AUTO, form, err);
    for (int i = 0; !rc && i < FORMS; i++) {
        struct saikai_error why = {0};
        int named = !strcmp(form, forms[i]->name);
        if (!named && !any)
            continue;
        if (!forms[i]->probe(&why))
            s->works[s->n_works++] = forms[i];
        else if (named)
            rc = sk_fail(err, SAIKAI_ENOTSUP, "snapshots by '%s' do not work here: %s", form,
                         why.text);
        else
            sk_log(SK_LOG_INFO, "snapshots are not made by '%s': %s", forms[i]->name, why.text);
    }
    if (rc) {
        free(s);
        return rc;
    }
    *out = s;
    return 0;
}

/* ---- preparing a job ---- */

static void free_job(struct sk_snapshot_job *job)
{
    free(job->pieces);
    free(job->reach);
    free(job->all.v);
    free(job->later.v);
    free(job->chunk);
    job->pieces = NULL;
    job->reach = NULL;
    job->all.v = job->later.v = NULL;
    job->chunk = NULL;
}

static int by_address(const void *pa, const void *pb)
{
    const struct sk_memory_extent *a = pa, *b = pb;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void unite(struct sk_snapshot_job *job)
{
    struct sk_intervals *all = &job->all;
    for (size_t i = 0; i < job->n; i++) {
        uintptr_t from = (uintptr_t)job->pieces[i].addr, to = from + job->pieces[i].size_bytes;
        struct sk_interval *last = all->n ? &all->v[all->n - 1] : NULL;
        job->reach[i] = i && job->reach[i - 1] > to ? job->reach[i - 1] : to;
        if (from == to)
            continue;
        if (!last || from > last->to)
            all->v[all->n++] = (struct sk_interval){from, to};
        else if (to > last->to)
            last->to = to;
    }
    for (size_t i = 0; i < all->n; i++)
        job->stats.bytes += all->v[i].to - all->v[i].from;
}

static int prepare(struct sk_snapshot *s, const struct sk_memory_extent *v, size_t n, sk_sink_fn *sink,
                   void *arg, struct saikai_error *err)
{
    struct sk_snapshot_job *job = &s->job;
    memset(job, 0, sizeof *job);
    job->n = n;
    job->sink = sink;
    job->arg = arg;
    job->sink_is_copy = s->opt.sink_is_copy;
    job->pool = &s->pool;
    job->page = sk_page_size();
    job->hurry = s->hurry;
    job->pieces = malloc((n + 1) * sizeof *v);
    job->reach = malloc((n + 1) * sizeof *job->reach);
    job->all.v = malloc((n + 1) * sizeof *job->all.v);
    job->chunk = malloc(SK_CHUNK_BYTES);
    if (!job->pieces || !job->reach || !job->all.v || !job->chunk) {
        free_job(job);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a snapshot of %zu pieces", n);
    }
    if (n)
        memcpy(job->pieces, v, n * sizeof *v);
    qsort(job->pieces, n, sizeof *v, by_address);
    unite(job);
    return 0;
}

static void free_pool(struct sk_pool *p)
{
    if (p->mem)
        munmap(p->mem, p->cap);
    free(p->v);
    memset(p, 0, sizeof *p);
}

/* Address space for the pool; memory comes as it is touched and stays for the next time. */
static void ready_pool(struct sk_snapshot *s, uint64_t bytes, size_t pieces)
{
    struct sk_pool *p = &s->pool;
    uint64_t want = s->opt.pool_bytes
                        ? s->opt.pool_bytes
                        : bytes + bytes / 8 + LEAST_POOL_BYTES; /* wrapping wastes some */
    want = (want + SK_CHUNK_BYTES - 1) / SK_CHUNK_BYTES * SK_CHUNK_BYTES;
    size_t slots = want / 4096 + 2 * pieces + 64;
    if (p->mem && p->cap >= want && p->slots >= slots) {
        sk_pool_clear(p);
        return;
    }
    free_pool(p);
    void *mem = mmap(NULL, want, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    p->v = malloc(slots * sizeof *p->v);
    if (mem == MAP_FAILED || !p->v) {
        if (mem != MAP_FAILED)
            munmap(mem, want);
        free(p->v);
        p->v = NULL;
        return; /* without a pool nothing can be set aside: what is copied goes to the sink at once
                 */
    }
    madvise(mem, want, MADV_HUGEPAGE);
    madvise(mem, want, MADV_DONTFORK); /* of no use to a child, and fork gets cheaper */
    p->mem = mem;
    p->cap = want;
    p->slots = slots;
}

/* ---- running ---- */

static void *help(void *arg)
{
    struct sk_snapshot *s = arg;
    double t = sk_now();
    s->rc = s->ops->drain(&s->job, &s->err);
    s->ops->end(&s->job);
    s->job.stats.saving_seconds = sk_now() - t;
    atomic_store(&s->done, 1);
    return NULL;
}

static int start_helper(struct sk_snapshot *s)
{
    sigset_t all, old;
    sk_guard_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are the program's affair */
    int e = pthread_create(&s->helper, NULL, help, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return e;
}

/* The last resort, with no memory and no thread: the sink is called for everything right now. */
static int save_directly(struct sk_snapshot_job *job, struct saikai_error *err)
{
    job->sink_is_copy = 1;
    return sk_snapshot_copy.begin(job, err);
}

static int begin_with(struct sk_snapshot *s, const struct sk_snapshot_ops *ops,
                      struct saikai_error *err)
{
    struct sk_snapshot_job *job = &s->job;
    sk_pool_clear(job->pool);
    job->stats.copied_bytes = 0;
    job->protect_seconds = 0;
    free(job->later.v);
    job->later = (struct sk_intervals){0};
    int rc = ops->begin(job, err);
    job->stats.form = ops->name;
    s->ops = ops;
    return rc;
}

static int begin_any(struct sk_snapshot *s, struct saikai_error *err)
{
    const char *writer = s->opt.trust_pages ? NULL : sk_foreign_writer();
    int rc = SAIKAI_ENOTSUP;
    sk_fail(err, rc, "%s, and the form of snapshots that was asked for does not see such writes",
            writer ? writer : "no form");
    for (int i = 0; rc && i < s->n_works; i++) {
        if (writer && s->works[i]->sees_pages_only)
            continue;
        if (s->avoid[i] && s->avoid[i]--)
            continue;
        rc = begin_with(s, s->works[i], err);
    }
    if (rc == SAIKAI_ENOMEM && !s->job.sink_is_copy &&
        s->works[s->n_works - 1] == &sk_snapshot_copy) {
        s->job.stats.copied_bytes = 0;
        sk_pool_clear(s->job.pool);
        rc = save_directly(&s->job, err);
    }
    return rc;
}

/* Has this form cost the program more than a copy would have? Then a copy is made the next times,
 * for who writes that much pays even more under the other forms. */
static void learn(struct sk_snapshot *s)
{
    const struct sk_snapshot_stats *x = &s->job.stats;
    double writes = (double)x->faults * s->ops->fault_seconds + x->stalled_seconds;
    double cost = x->blocked_seconds + writes, rate = (double)x->bytes / x->blocked_seconds;
    if (s->ops == &sk_snapshot_copy && rate > s->copy_rate)
        s->copy_rate = rate;
    if (s->ops == &sk_snapshot_copy)
        return;
    int dear = cost > (double)x->bytes / s->copy_rate && writes > cost / 4;
    s->avoid_for = !dear ? AVOID_FOR : s->avoid_for < AVOID_MOST ? 2 * s->avoid_for : AVOID_MOST;
    for (int i = 0; dear && i + 1 < s->n_works; i++) /* the last one is always there */
        s->avoid[i] = s->avoid_for / 2;
}

/* In a forked child the helper does not exist and the job is the parent's. */
static void forget_after_fork(struct sk_snapshot *s)
{
    if (s->pid == getpid())
        return;
    s->pid = getpid();
    if (s->active)
        free_job(&s->job);
    s->active = 0;
    sk_huge_end(&s->huge, 1);
    s->pool.mem = NULL; /* not inherited */
    free_pool(&s->pool);
}

int sk_snapshot_begin(struct sk_snapshot *s, const struct sk_memory_extent *v, size_t n, sk_sink_fn *sink,
                      void *arg, struct saikai_error *err)
{
    forget_after_fork(s);
    if (s->active)
        return sk_fail(err, SAIKAI_ESTATE, "a snapshot is already under way");
    double t = sk_now();
    int rc = prepare(s, v, n, sink, arg, err);
    if (rc)
        return rc;
    ready_pool(s, s->job.stats.bytes, n);
    rc = begin_any(s, err);
    if (rc) {
        free_job(&s->job);
        return rc;
    }
    s->rc = 0;
    sk_error_clear(&s->err);
    atomic_store(&s->done, 0);
    s->threaded = !start_helper(s);
    if (!s->threaded)
        help(s);
    s->active = 1;
    s->job.stats.blocked_seconds = sk_now() - t;
    return 0;
}

int sk_snapshot_done(const struct sk_snapshot *s)
{
    return !s->active || atomic_load(&s->done);
}

int sk_snapshot_finish(struct sk_snapshot *s, struct sk_snapshot_stats *stats,
                       struct saikai_error *err)
{
    forget_after_fork(s);
    if (!s->active)
        return sk_fail(err, SAIKAI_ESTATE, "no snapshot is under way");
    if (s->threaded)
        pthread_join(s->helper, NULL);
    s->active = 0;
    if (s->rc && err)
        *err = s->err;
    s->hurry = s->job.hurry;
    if (!s->rc)
        learn(s);
    if (!s->rc && s->opt.huge_pages && s->job.protect_seconds > 0) {
        sk_huge_after(&s->huge, s->job.later, s->job.protect_seconds);
        s->job.later = (struct sk_intervals){0};
    }
    if (!s->rc && stats)
        *stats = s->job.stats;
    free_job(&s->job);
    return s->rc;
}

void sk_snapshot_abort(struct sk_snapshot *s)
{
    atomic_store(&s->job.stop, 1);
    sk_snapshot_finish(s, NULL, NULL);
}

void sk_snapshot_close(struct sk_snapshot *s)
{
    if (!s)
        return;
    sk_snapshot_abort(s);
    sk_huge_end(&s->huge, 0);
    free_pool(&s->pool);
    free(s);
}
