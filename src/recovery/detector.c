/* Keeps what was heard of each rank and host, and draws the verdict from it and from the time. */
#include "recovery/detector.h"

#include "backbone/keeper_page.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum rank_state { WAITING, RUNNING, GONE };

struct rank {
    enum rank_state state;
    int clean; /* gone, with exit code 0 */
    int host;
    double heard;
    struct sk_progress at;
};

struct sk_detector {
    struct sk_detector_config c;
    double started, last_check, moved; /* moved: when any rank last reached a candidate */
    double finished;                   /* when all had ended their use of the library; 0: not yet */
    struct sk_fault first; /* of the reports of ended programs, the one that explains the others */
    int launcher_ended, launcher_status;
    double launcher_ended_at;
    struct rank rank[];
};

/* A launcher that ended and a report that is still on its way can overtake each other by this much;
 * and a check that comes later than this was delayed by ourselves. */
static const double late_report_s = 0.3, own_gap_s = 1.0;
/* In this time a keeper answers one of several orders. */
static const double answer_s = 0.4;

struct sk_detector *sk_detector_new(const struct sk_detector_config *c, const int *seat, double now)
{
    struct sk_detector *d = calloc(1, sizeof *d + sizeof *d->rank * (size_t)c->n_ranks);
    if (!d)
        return NULL;
    d->c = *c;
    d->started = d->last_check = d->moved = now;
    for (int r = 0; r < c->n_ranks; r++)
        d->rank[r] = (struct rank){.host = seat[r],
                                   .heard = now,
                                   .at = {.complete_iteration = -1, .restored_iteration = -1}};
    return d;
}

void sk_detector_free(struct sk_detector *d)
{
    free(d);
}

static struct sk_fault fault_of_exit(const struct rank *k, const struct sk_message *m)
{
    static const enum sk_fault_kind kinds[] = {
        [SK_EXIT_CODE] = SK_FAULT_EXIT,
        [SK_EXIT_SIGNAL] = SK_FAULT_SIGNAL,
        [SK_EXIT_NO_START] = SK_FAULT_NO_START,
    };
    return (struct sk_fault){kinds[m->how], (int)m->rank, k->host, (int)m->code, 0};
}

/* The first report explains the fault, but for SIGTERM: MPI launchers send that to the others, so a
 * rank that ended in another way is the better explanation even if its report came later. */
static void blame(struct sk_detector *d, const struct sk_message *m)
{
    if (m->ordered || (m->how == SK_EXIT_CODE && !m->code))
        return;
    struct sk_fault f = fault_of_exit(&d->rank[m->rank], m);
    int first_is_echo = d->first.kind == SK_FAULT_SIGNAL && d->first.code == SIGTERM;
    int echo = f.kind == SK_FAULT_SIGNAL && f.code == SIGTERM;
    if (!d->first.kind || (first_is_echo && !echo))
        d->first = f;
}

static int all_finalized(const struct sk_detector *d)
{
    int used = 0;
    for (int r = 0; r < d->c.n_ranks; r++) {
        const struct rank *k = &d->rank[r];
        if (k->state != GONE && k->at.state != SK_KEEPER_FINALIZED)
            return 0;
        used |= k->at.state == SK_KEEPER_FINALIZED;
    }
    return used;
}

void sk_detector_heard(struct sk_detector *d, const struct sk_message *m, double now)
{
    struct rank *k = &d->rank[m->rank];
    k->heard = now;
    if (m->kind == SK_MSG_HELLO || (m->kind == SK_MSG_BEAT && k->state == WAITING)) {
        if (k->state == WAITING)
            k->state = RUNNING;
    }
    if (m->kind == SK_MSG_BEAT || m->kind == SK_MSG_EXIT) {
        if (m->at.progress != k->at.progress || m->at.state != k->at.state)
            d->moved = now;
        k->at = m->at;
    }
    if (m->kind == SK_MSG_EXIT && k->state != GONE) {
        k->state = GONE;
        k->clean = m->how == SK_EXIT_CODE && !m->code;
        blame(d, m);
    }
    if (!d->finished && all_finalized(d))
        d->finished = now;
}

void sk_detector_sits_on(struct sk_detector *d, int rank, int host)
{
    d->rank[rank].host = host;
}

void sk_detector_launcher_ended(struct sk_detector *d, int wait_status, double now)
{
    d->launcher_ended = 1;
    d->launcher_status = wait_status;
    d->launcher_ended_at = now;
}

static double silence_limit(const struct sk_detector *d)
{
    return d->c.node_timeout_s +
           d->c.heartbeat_s; /* a heartbeat is missed from the moment it was due */
}

int sk_detector_rank_silent(const struct sk_detector *d, int rank, double now)
{
    return d->rank[rank].state == RUNNING && now - d->rank[rank].heard > silence_limit(d);
}

static int host_speaks(const struct sk_detector *d, int host, double now)
{
    for (int r = 0; r < d->c.n_ranks; r++)
        if (d->rank[r].host == host && d->rank[r].state == RUNNING &&
            !sk_detector_rank_silent(d, r, now))
            return 1;
    return 0;
}

static int check_silence(const struct sk_detector *d, double now, struct sk_fault *f)
{
    for (int r = 0; r < d->c.n_ranks; r++) {
        if (!sk_detector_rank_silent(d, r, now))
            continue;
        const struct rank *k = &d->rank[r];
        enum sk_fault_kind kind =
            host_speaks(d, k->host, now) ? SK_FAULT_RANK_SILENT : SK_FAULT_NODE_LOST;
        *f = (struct sk_fault){kind, r, k->host, 0, now - k->heard};
        return 1;
    }
    return 0;
}

static int check_start(const struct sk_detector *d, double now, struct sk_fault *f)
{
    if (!(d->c.start_timeout_s > 0) || now - d->started <= d->c.start_timeout_s)
        return 0;
    for (int r = 0; r < d->c.n_ranks; r++)
        if (d->rank[r].state == WAITING) {
            *f = (struct sk_fault){SK_FAULT_LATE, r, d->rank[r].host, 0, now - d->started};
            return 1;
        }
    return 0;
}

static int any_reached(const struct sk_detector *d)
{
    for (int r = 0; r < d->c.n_ranks; r++)
        if (d->rank[r].at.progress)
            return 1;
    return 0;
}

/* A rank has begun to end its use of the library, or has ended: what follows may take as long as it likes. */
static int any_ends(const struct sk_detector *d)
{
    for (int r = 0; r < d->c.n_ranks; r++)
        if (d->rank[r].state == GONE || d->rank[r].at.state > SK_KEEPER_INITIALISED)
            return 1;
    return 0;
}

/* When a standstill is a fault if nothing moves until then; INFINITY: never. Before the first candidate lies the set-up, which has a
 * limit of its own. */
static double standstill_ends(const struct sk_detector *d)
{
    double limit = any_reached(d) ? d->c.hang_timeout_s : d->c.setup_timeout_s;
    if (!(limit > 0) || any_ends(d))
        return INFINITY;
    return (any_reached(d) ? d->moved : d->started) + limit;
}

static int check_hang(const struct sk_detector *d, double now, struct sk_fault *f)
{
    if (now <= standstill_ends(d))
        return 0;
    *f = any_reached(d) ? (struct sk_fault){SK_FAULT_HANG, -1, -1, 0, now - d->moved}
                        : (struct sk_fault){SK_FAULT_SETUP, -1, -1, 0, now - d->started};
    return 1;
}

static int count(const struct sk_detector *d, enum rank_state s)
{
    int n = 0;
    for (int r = 0; r < d->c.n_ranks; r++)
        n += d->rank[r].state == s;
    return n;
}

/* All are gone and nobody is to blame: success only if each ended well. */
static enum sk_job check_end(const struct sk_detector *d, struct sk_fault *f)
{
    for (int r = 0; r < d->c.n_ranks; r++)
        if (!d->rank[r].clean) {
            *f = (struct sk_fault){SK_FAULT_SIGNAL, r, d->rank[r].host, SIGKILL, 0};
            return SK_JOB_FAULT;
        }
    return SK_JOB_DONE;
}

/* Time in which this process itself was stopped or starved proves nothing about others. */
static void forgive_own_gap(struct sk_detector *d, double now)
{
    double before = d->last_check, gap = now - before;
    d->last_check = now;
    if (gap < own_gap_s)
        return;
    for (int r = 0; r < d->c.n_ranks; r++)
        if (d->rank[r].heard <= before)
            d->rank[r].heard += gap;
    if (d->moved <= before)
        d->moved += gap;
    d->started += gap;
}

enum sk_job sk_detector_check(struct sk_detector *d, double now, struct sk_fault *f)
{
    forgive_own_gap(d, now);
    if (d->first.kind) {
        *f = d->first;
        return SK_JOB_FAULT;
    }
    if (count(d, GONE) == d->c.n_ranks)
        return check_end(d, f);
    if (d->launcher_ended && now - d->launcher_ended_at > late_report_s) {
        *f = (struct sk_fault){SK_FAULT_LAUNCHER, -1, -1, d->launcher_status, now - d->started};
        return SK_JOB_FAULT;
    }
    if (d->finished > 0 && d->c.finish_timeout_s > 0 && now - d->finished > d->c.finish_timeout_s)
        return SK_JOB_STUCK_AT_END;
    if (check_silence(d, now, f) || check_start(d, now, f) || check_hang(d, now, f))
        return SK_JOB_FAULT;
    return SK_JOB_RUNS;
}

double sk_detector_next(const struct sk_detector *d, double now)
{
    double next = now + own_gap_s / 2; /* often enough to notice a gap of our own */
    for (int r = 0; r < d->c.n_ranks; r++)
        if (d->rank[r].state == RUNNING)
            next = fmin(next, d->rank[r].heard + silence_limit(d));
    if (d->launcher_ended)
        next = fmin(next, d->launcher_ended_at + late_report_s);
    next = fmin(next, standstill_ends(d));
    return fmax(next + 0.001, now + 0.001);
}

int sk_detector_rank_runs(const struct sk_detector *d, int rank)
{
    return d->rank[rank].state == WAITING ? -1 : d->rank[rank].state == RUNNING;
}

int sk_detector_rank_went_along(const struct sk_detector *d, int rank, double now)
{
    return d->launcher_ended && now - fmax(d->rank[rank].heard, d->launcher_ended_at) > answer_s;
}

struct sk_progress sk_detector_progress(const struct sk_detector *d)
{
    struct sk_progress p = {.complete_iteration = -1, .restored_iteration = -1};
    for (int r = 0; r < d->c.n_ranks; r++) {
        const struct sk_progress *q = &d->rank[r].at;
        if (q->complete_count > p.complete_count)
            p.complete_count = q->complete_count;
        if (q->complete_iteration > p.complete_iteration)
            p.complete_iteration = q->complete_iteration;
        if (q->restored_iteration > p.restored_iteration)
            p.restored_iteration = q->restored_iteration;
        if (q->iteration > p.iteration)
            p.iteration = q->iteration;
        if (q->progress > p.progress)
            p.progress = q->progress;
        if (q->state > p.state)
            p.state = q->state;
    }
    return p;
}

int sk_detector_all_stopped(const struct sk_detector *d)
{
    int any = 0;
    for (int r = 0; r < d->c.n_ranks; r++) {
        if (d->rank[r].state != GONE && d->rank[r].at.state != SK_KEEPER_STOPPED)
            return 0;
        any |= d->rank[r].state != GONE;
    }
    return any;
}
