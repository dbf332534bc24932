/* What is found when nothing is heard: silence of keepers, ranks that do not come, and a job that stands still. */
#include "recovery/fault/detector_watch.h"

#include "backbone/keeper_page.h"

#include <math.h>

/* Others on that host were heard lately. The keepers of a host that is lost did not all speak at the same moment before: what was heard a
 * heartbeat or two after the first of them fell silent proves nothing. */
static int host_speaks(const struct sk_detector *d, int host, double now)
{
    for (int r = 0; r < d->c.n_ranks; r++)
        if (d->rank[r].host == host && d->rank[r].state == SK_WATCHED_RUNNING && now - d->rank[r].heard < sk_detector_silence_limit(d) / 2)
            return 1;
    return 0;
}

/* By the listener's clock. */
static int is_silent(const struct sk_detector *d, int rank, double now)
{
    return d->rank[rank].state == SK_WATCHED_RUNNING && now - d->rank[rank].heard > sk_detector_silence_limit(d);
}

static enum sk_job check_silence(const struct sk_detector *d, double now, struct sk_fault *f)
{
    for (int r = 0; now > d->silent_from && r < d->c.n_ranks; r++) {
        if (!is_silent(d, r, now))
            continue;
        const struct sk_watched *k = &d->rank[r];
        const struct sk_fault_ops *kind =
            host_speaks(d, k->host, now) ? &sk_fault_silent_rank : &sk_fault_lost_node;
        *f = (struct sk_fault){kind, r, k->host, 0, now - k->heard, NULL};
        return SK_JOB_FAULT;
    }
    return SK_JOB_RUNS;
}

static double next_silence(const struct sk_detector *d)
{
    return d->silent_from;
}

const struct sk_detector_ops sk_detect_silence = {
    "silence", "keepers miss every heartbeat for run.node_timeout", check_silence, next_silence,
};

static enum sk_job check_start(const struct sk_detector *d, double now, struct sk_fault *f)
{
    if (!(d->c.start_timeout_s > 0) || now - d->started <= d->c.start_timeout_s)
        return SK_JOB_RUNS;
    for (int r = 0; d->waiting && r < d->c.n_ranks; r++) {
        if (d->rank[r].state != SK_WATCHED_WAITING || d->rank[r].is_again) /* a repair has a limit of its own, and its host is not to blame */
            continue;
        *f = (struct sk_fault){&sk_fault_late_start, r, d->rank[r].host, 0, now - d->started, NULL};
        return SK_JOB_FAULT;
    }
    return SK_JOB_RUNS;
}

const struct sk_detector_ops sk_detect_start = {
    "no-hello", "a rank's keeper says no hello within run.start_timeout", check_start, NULL,
};

/* When a standstill is a fault if nothing moves until then; INFINITY: never. Before the first candidate lies the set-up, which has a
 * limit of its own. */
static double standstill_ends(const struct sk_detector *d)
{
    double limit = d->reached ? d->c.hang_timeout_s : d->c.setup_timeout_s;
    if (!(limit > 0) || d->ending) /* what follows the use of the library, or an end, may take as long as it likes */
        return INFINITY;
    return (d->reached ? d->moved : d->started) + limit;
}

static enum sk_job check_standstill(const struct sk_detector *d, double now, struct sk_fault *f)
{
    if (now <= standstill_ends(d))
        return SK_JOB_RUNS;
    *f = d->reached ? (struct sk_fault){&sk_fault_hang, -1, -1, 0, now - d->moved, NULL}
                        : (struct sk_fault){&sk_fault_long_setup, -1, -1, 0, now - d->started, NULL};
    return SK_JOB_FAULT;
}

const struct sk_detector_ops sk_detect_standstill = {
    "standstill", "the count of candidates stands still (run.hang_timeout, run.setup_timeout)", check_standstill, standstill_ends,
};
