/* What the forms of snapshots share: the job at hand, the pool of pages set aside, the table of
 * forms. */
#ifndef SK_CAPTURE_COW_JOB_H
#define SK_CAPTURE_COW_JOB_H

#include "capture/cow/cow.h"
#include "capture/cow/cow_pool.h"

#include <pthread.h>
#include <stdatomic.h>

/* The largest run that is copied or handed on at once: a huge page. */
#define SK_CHUNK_BYTES ((size_t)2 << 20)
/* Shorter intervals are copied: protecting them costs more, and splits mappings. */
#define SK_PROTECT_BYTES ((size_t)256 << 10)

/* What a plain copy is taken to reach at least, in bytes per second, when forms are compared. */
#define SK_COPY_RATE 8e9

struct sk_interval {
    uintptr_t from, to;
};

struct sk_intervals {
    struct sk_interval *v;
    size_t n;
};

struct sk_snapshot_job {
    struct sk_memory_extent *pieces; /* by address */
    uintptr_t *reach;        /* largest end of the pieces up to each */
    size_t n;
    struct sk_intervals all;   /* disjoint, ascending: the bytes of the pieces */
    struct sk_intervals later; /* whole pages that the form protects; disjoint, ascending */
    int sink_is_copy;
    sk_sink_fn *sink;
    void *arg;
    struct sk_pool *pool;
    size_t page;
    uint8_t *chunk;  /* SK_CHUNK_BYTES for the helper thread */
    int hurry;       /* > 0: the program wrote much during the last snapshots; the form renews it */
    atomic_int stop; /* give up */
    double protect_seconds; /* what begin took to protect pages, 0: it protected none */
    struct sk_snapshot_stats stats;
    void *own; /* of the form */
};

struct sk_snapshot_ops {
    const char *name, *description;
    int sees_pages_only;
    double fault_seconds; /* what a write costs the program that meets protection, beside
                             stats.stalled_seconds: for the choice */
    /* 0 when the form works on this machine; tried on scratch memory. */
    int (*probe)(struct saikai_error *err);
    /* Make the content safe: afterwards the program may write. On failure nothing is protected. */
    int (*begin)(struct sk_snapshot_job *job, struct saikai_error *err);
    /* In the helper thread: hand everything to the sink, until done or job->stop. */
    int (*drain)(struct sk_snapshot_job *job, struct saikai_error *err);
    /* Lift what is left and free. After a successful begin, once. */
    void (*end)(struct sk_snapshot_job *job);
};

extern const struct sk_snapshot_ops sk_snapshot_uffd, sk_snapshot_fork, sk_snapshot_copy;
const struct sk_snapshot_ops *sk_snapshot_at(int i); /* NULL past the end */
const struct sk_snapshot_ops *sk_snapshot_find(const char *name);

/* Hand bytes that were at addr to the sink, once for each piece that has them. */
int sk_job_emit(struct sk_snapshot_job *job, uintptr_t addr, const uint8_t *data, size_t n,
                struct saikai_error *err);
/* Copy [from, to) now: to the pool, or directly to the sink where that is as good. SAIKAI_ENOMEM:
 * the pool is full. */
int sk_job_copy_now(struct sk_snapshot_job *job, uintptr_t from, uintptr_t to, struct saikai_error *err);
/* Hand on and drop the oldest copy of the pool. */
int sk_job_emit_first(struct sk_snapshot_job *job, struct saikai_error *err);
/* Fill job->later with the whole private pages of the pieces and copy the rest now. */
int sk_job_split(struct sk_snapshot_job *job, struct saikai_error *err);

#endif
