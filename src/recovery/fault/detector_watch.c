/* Keeps what was heard of each rank and of the MPI's launcher. */
#include "recovery/fault/detector_watch.h"

#include "backbone/keeper_page.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>

/* In this time a keeper answers one of several orders. */
static const double answer_s = 0.4;
/* The time is looked at more often than this, unless this process was stopped or starved. */
static const double own_gap_s = 1.0;

struct sk_detector *sk_detector_new(const struct sk_detector_config *c, const int *seat, double now)
{
    struct sk_detector *d = calloc(1, sizeof *d + sizeof *d->rank * (size_t)c->n_ranks);
    if (!d)
        return NULL;
    d->c = *c;
    d->pace = 1;
    d->started = d->looked = d->moved = now;
    d->silent_from = INFINITY;
    d->waiting = c->n_ranks;
    d->best.complete_iteration = d->best.restored_iteration = -1;
    for (int r = 0; r < c->n_ranks; r++)
        d->rank[r] = (struct sk_watched){.host = seat[r],
                                   .heard = now,
                                   .at = {.complete_iteration = -1, .restored_iteration = -1}};
    return d;
}

void sk_detector_free(struct sk_detector *d)
{
    free(d);
}

double sk_detector_clock(const struct sk_detector *d, double now)
{
    return now - d->lost;
}

void sk_detector_time(struct sk_detector *d, double now)
{
    double gap = now - d->looked;
    d->lost += gap < own_gap_s ? d->deaf : fmax(gap, d->deaf);
    d->deaf = 0;
    d->looked = now;
}

void sk_detector_deaf(struct sk_detector *d, double seconds)
{
    d->deaf += seconds;
}

void sk_detector_slower(struct sk_detector *d, int pace)
{
    d->pace = pace > d->pace ? pace : d->pace;
}

static struct sk_fault fault_of_exit(const struct sk_watched *k, const struct sk_message *m)
{
    static const struct sk_fault_ops *const kinds[] = {
        [SK_EXIT_CODE] = &sk_fault_exit,
        [SK_EXIT_SIGNAL] = &sk_fault_signal,
        [SK_EXIT_NO_START] = &sk_fault_no_start,
        [SK_EXIT_UNENDED] = &sk_fault_unended,
    };
    return (struct sk_fault){kinds[m->how], (int)m->rank, k->host, (int)m->code, 0, NULL};
}

/* How good an explanation it is, from 0. The MPI's launcher ends ranks by SIGTERM when another one has ended (by SIGKILL only together with
 * their keepers, which then report nothing), and a connection that breaks may end one by SIGPIPE. An MPI that finds a connection broken
 * makes its rank exit with a code of its own. */
static int explains(const struct sk_fault *f)
{
    if (f->kind == &sk_fault_unended || (f->kind == &sk_fault_signal && (f->code == SIGTERM || f->code == SIGPIPE)))
        return 0;
    return f->kind == &sk_fault_exit ? 1 : 2;
}

int sk_detector_is_echo(const struct sk_fault *f)
{
    return explains(f) < 2;
}

/* The first report explains the fault, but for what may only follow from another one: a rank that ended in another way is the better
 * explanation even if its report came later. */
static void blame(struct sk_detector *d, const struct sk_message *m)
{
    if (m->ordered || (m->how == SK_EXIT_CODE && !m->code))
        return;
    struct sk_fault f = fault_of_exit(&d->rank[m->rank], m);
    if (!d->first.kind) {
        d->first_at = d->rank[m->rank].heard;
        d->first_ended = m->ended && f.kind == &sk_fault_signal && f.code == SIGTERM;
    }
    if (!d->first.kind || explains(&f) > explains(&d->first))
        d->first = f;
}

/* Add this rank to, or take it from, the ranks that are counted. */
static void count(struct sk_detector *d, const struct sk_watched *k, int by)
{
    int used = k->at.state == SK_KEEPER_FINALIZED, gone = k->state == SK_WATCHED_GONE;
    d->used += used * by;
    d->over += (used || gone) * by;
    d->gone += gone * by;
    d->waiting += (k->state == SK_WATCHED_WAITING) * by;
    d->reached += (k->at.progress != 0) * by;
    d->ending += (gone || k->at.state > SK_KEEPER_INITIALISED) * by;
}

static void raise_best(struct sk_progress *p, const struct sk_progress *q)
{
    if (q->complete_count > p->complete_count)
        p->complete_count = q->complete_count;
    if (q->complete_iteration > p->complete_iteration)
        p->complete_iteration = q->complete_iteration;
    if (q->restored_iteration > p->restored_iteration)
        p->restored_iteration = q->restored_iteration;
    if (q->iteration > p->iteration)
        p->iteration = q->iteration;
    if (q->progress > p->progress)
        p->progress = q->progress;
    if (q->state > p->state)
        p->state = q->state;
}

/* 1: something in which before was the farthest is less in now. */
static int falls_back(const struct sk_progress *best, const struct sk_progress *before, const struct sk_progress *now)
{
    return (before->complete_count == best->complete_count && now->complete_count < before->complete_count) ||
           (before->complete_iteration == best->complete_iteration && now->complete_iteration < before->complete_iteration) ||
           (before->restored_iteration == best->restored_iteration && now->restored_iteration < before->restored_iteration) ||
           (before->iteration == best->iteration && now->iteration < before->iteration) ||
           (before->progress == best->progress && now->progress < before->progress) ||
           (before->state == best->state && now->state < before->state);
}

static void take_progress(struct sk_detector *d, struct sk_watched *k, const struct sk_progress *at)
{
    if (at->progress != k->at.progress || at->state != k->at.state)
        d->moved = k->heard;
    d->worn |= falls_back(&d->best, &k->at, at);
    raise_best(&d->best, at);
    k->at = *at;
}

void sk_detector_heard(struct sk_detector *d, const struct sk_message *m, double now)
{
    struct sk_watched *k = &d->rank[m->rank];
    sk_detector_time(d, now);
    count(d, k, -1);
    k->heard = fmax(k->heard, sk_detector_clock(d, now) - m->age_ms / 1000.0);
    if (k->state == SK_WATCHED_WAITING && (m->kind == SK_MSG_HELLO || m->kind == SK_MSG_BEAT)) {
        k->state = SK_WATCHED_RUNNING;
        d->silent_from = fmin(d->silent_from, k->heard + sk_detector_silence_limit(d));
    }
    if (m->kind == SK_MSG_BEAT || m->kind == SK_MSG_EXIT)
        take_progress(d, k, &m->at);
    if (m->kind == SK_MSG_EXIT && k->state != SK_WATCHED_GONE) {
        k->state = SK_WATCHED_GONE;
        k->gone_at = k->heard;
        k->clean = m->how == SK_EXIT_CODE && !m->code;
        k->left = m->how == SK_EXIT_UNENDED;
        blame(d, m);
    }
    count(d, k, 1);
    if (!d->finished && d->used && d->over == d->c.n_ranks)
        d->finished = k->heard;
}

void sk_detector_live(struct sk_detector *d, uint32_t rank, uint32_t n, double age_s, double now)
{
    sk_detector_time(d, now);
    for (uint64_t r = rank, end = r + n; r < end && r < (uint64_t)d->c.n_ranks; r++)
        d->rank[r].heard = fmax(d->rank[r].heard, sk_detector_clock(d, now) - age_s);
}

/* Whoever is heard after this look is silent later still, so nobody need be looked at before that time. */
void sk_detector_look(struct sk_detector *d, double now)
{
    double first = INFINITY;
    if (sk_detector_clock(d, now) <= d->silent_from)
        return;
    for (int r = 0; r < d->c.n_ranks; r++)
        if (d->rank[r].state == SK_WATCHED_RUNNING)
            first = fmin(first, d->rank[r].heard);
    d->silent_from = first + sk_detector_silence_limit(d);
}

void sk_detector_sits_on(struct sk_detector *d, int rank, int host)
{
    d->rank[rank].host = host;
}

void sk_detector_launcher_ended(struct sk_detector *d, int wait_status, double now)
{
    d->launcher_ended = 1;
    d->launcher_status = wait_status;
    d->launcher_ended_at = sk_detector_clock(d, now);
}

double sk_detector_silence_limit(const struct sk_detector *d)
{
    return d->c.node_timeout_s + d->c.heartbeat_s * d->pace; /* a heartbeat is missed from the moment it was due */
}

int sk_detector_rank_silent(const struct sk_detector *d, int rank, double now)
{
    return d->rank[rank].state == SK_WATCHED_RUNNING && sk_detector_clock(d, now) - d->rank[rank].heard > sk_detector_silence_limit(d);
}

int sk_detector_rank_runs(const struct sk_detector *d, int rank)
{
    return d->rank[rank].state == SK_WATCHED_WAITING ? -1 : d->rank[rank].state == SK_WATCHED_RUNNING;
}

int sk_detector_rank_went_along(const struct sk_detector *d, int rank, double now)
{
    return d->launcher_ended && sk_detector_clock(d, now) - fmax(d->rank[rank].heard, d->launcher_ended_at) > answer_s;
}

struct sk_progress sk_detector_rank_at(const struct sk_detector *d, int rank)
{
    return d->rank[rank].at;
}

int sk_detector_rank_ended_well(const struct sk_detector *d, int rank)
{
    return d->rank[rank].state == SK_WATCHED_GONE && d->rank[rank].clean;
}

void sk_detector_replaced(struct sk_detector *d, int rank, double now)
{
    struct sk_watched *k = &d->rank[rank];
    count(d, k, -1);
    k->state = SK_WATCHED_WAITING;
    k->clean = k->left = 0;
    k->is_again = 1;
    k->heard = d->moved = sk_detector_clock(d, now);
    k->at.world = 0;
    count(d, k, 1);
    d->first = (struct sk_fault){0};
}

void sk_detector_forgive(struct sk_detector *d, int rank)
{
    d->rank[rank].clean = 1;
    d->first = (struct sk_fault){0};
}

void sk_detector_bury(struct sk_detector *d, int rank)
{
    struct sk_watched *k = &d->rank[rank];
    count(d, k, -1);
    k->state = SK_WATCHED_GONE;
    k->clean = k->left = 0;
    count(d, k, 1);
}

struct sk_progress sk_detector_progress(struct sk_detector *d)
{
    if (d->worn)
        d->best = (struct sk_progress){.complete_iteration = -1, .restored_iteration = -1};
    for (int r = 0; d->worn && r < d->c.n_ranks; r++)
        raise_best(&d->best, &d->rank[r].at);
    d->worn = 0;
    return d->best;
}

int sk_detector_all_stopped(const struct sk_detector *d)
{
    int any = 0;
    for (int r = 0; r < d->c.n_ranks; r++) {
        if (d->rank[r].state != SK_WATCHED_GONE && d->rank[r].at.state != SK_KEEPER_STOPPED)
            return 0;
        any |= d->rank[r].state != SK_WATCHED_GONE;
    }
    return any;
}
