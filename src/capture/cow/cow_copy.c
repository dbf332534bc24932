/* Snapshots by copying everything before begin returns. */
#include "capture/cow/cow_job.h"

static int probe(struct saikai_error *err)
{
    return 0;
}

static int begin(struct sk_snapshot_job *job, struct saikai_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < job->all.n; i++)
        rc = sk_job_copy_now(job, job->all.v[i].from, job->all.v[i].to, err);
    return rc;
}

static int drain(struct sk_snapshot_job *job, struct saikai_error *err)
{
    int rc = 0;
    while (!rc && !atomic_load(&job->stop) && sk_pool_first(job->pool))
        rc = sk_job_emit_first(job, err);
    return rc;
}

static void end(struct sk_snapshot_job *job)
{
}

const struct sk_snapshot_ops sk_snapshot_copy = {
    .name = "copy",
    .description = "copy all memory before the program goes on",
    .probe = probe,
    .begin = begin,
    .drain = drain,
    .end = end,
};
