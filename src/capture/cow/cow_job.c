/* What the forms of snapshots have in common: bytes that are handed on, set aside or copied at once. */
#include "capture/cow/cow_job.h"

#include "base/file/copy.h"
#include "capture/kernel.h"

#include <stdlib.h>

int sk_job_emit(struct sk_snapshot_job *job, uintptr_t addr, const uint8_t *data, size_t n,
                struct saikai_error *err)
{
    /* the first piece that it, or one before it, reaches past addr: nothing before can overlap */
    size_t first = 0, last = job->n;
    while (first < last) {
        size_t mid = first + (last - first) / 2;
        if (job->reach[mid] <= addr)
            first = mid + 1;
        else
            last = mid;
    }
    int rc = 0;
    for (size_t i = first; !rc && i < job->n; i++) {
        const struct sk_memory_extent *p = &job->pieces[i];
        uintptr_t lo = (uintptr_t)p->addr, hi = lo + p->size_bytes;
        if (lo >= addr + n)
            break;
        uintptr_t from = lo > addr ? lo : addr, to = hi < addr + n ? hi : addr + n;
        if (from < to)
            rc = job->sink(job->arg, p->id, p->offset + (from - lo), data + (from - addr),
                           to - from, err);
    }
    return rc;
}

int sk_job_copy_now(struct sk_snapshot_job *job, uintptr_t from, uintptr_t to, struct saikai_error *err)
{
    job->stats.copied_bytes += to - from;
    if (job->sink_is_copy) /* in one piece, as a plain copy would be made */
        return sk_job_emit(job, from, (const uint8_t *)from, to - from, err);
    for (uintptr_t at = from; at < to;) {
        size_t n = to - at < SK_CHUNK_BYTES ? to - at : SK_CHUNK_BYTES;
        uint8_t *p = sk_pool_put(job->pool, at, n);
        if (!p)
            return sk_fail(err, SAIKAI_ENOMEM,
                           "the pool of %zu bytes is too small for what must be copied at once",
                           job->pool->cap);
        sk_copy_past_cache(p, (const void *)at, n);
        at += n;
    }
    return 0;
}

int sk_job_emit_first(struct sk_snapshot_job *job, struct saikai_error *err)
{
    const struct sk_aside *a = sk_pool_first(job->pool);
    int rc = sk_job_emit(job, a->addr, job->pool->mem + a->at, a->n, err);
    sk_pool_drop_first(job->pool);
    return rc;
}

int sk_job_split(struct sk_snapshot_job *job, struct saikai_error *err)
{
    job->later.v = calloc(job->all.n + 1, sizeof *job->later.v);
    job->later.n = 0;
    struct sk_maps maps = {0};
    if (!job->later.v)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a snapshot");
    int rc = sk_maps_load(&maps, err);
    for (size_t i = 0; !rc && i < job->all.n; i++) {
        const struct sk_interval x = job->all.v[i];
        uintptr_t lo = sk_page_ceil(x.from, job->page), hi = sk_page_floor(x.to, job->page);
        if (x.to - x.from < SK_PROTECT_BYTES || !sk_maps_private(&maps, lo, hi)) {
            rc = sk_job_copy_now(job, x.from, x.to, err);
            continue;
        }
        rc = sk_job_copy_now(job, x.from, lo, err);
        if (!rc)
            rc = sk_job_copy_now(job, hi, x.to, err);
        job->later.v[job->later.n++] = (struct sk_interval){lo, hi};
    }
    sk_maps_free(&maps);
    return rc;
}
