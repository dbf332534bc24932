/* Keeps what was heard of each rank and of the MPI's launcher. */
#include "recovery/fault/detector_watch.h"

#include "backbone/keeper_page.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>

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
        d->rank[r] = (struct sk_watched){.host = seat[r],
                                   .heard = now,
                                   .at = {.complete_iteration = -1, .restored_iteration = -1}};
    return d;
}

void sk_detector_free(struct sk_detector *d)
{
    free(d);
}

static struct sk_fault fault_of_exit(const struct sk_watched *k, const struct sk_message *m)
{
    static const struct sk_fault_ops *const kinds[] = {
        [SK_EXIT_CODE] = &sk_fault_exit,
        [SK_EXIT_SIGNAL] = &sk_fault_signal,
        [SK_EXIT_NO_START] = &sk_fault_no_start,
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
    int first_is_echo = d->first.kind == &sk_fault_signal && d->first.code == SIGTERM;
    int echo = f.kind == &sk_fault_signal && f.code == SIGTERM;
    if (!d->first.kind || (first_is_echo && !echo))
        d->first = f;
}

/* Add this rank to, or take it from, the ranks that have ended. */
static void count(struct sk_detector *d, const struct sk_watched *k, int by)
{
    int used = k->at.state == SK_KEEPER_FINALIZED;
    d->used += used * by;
    d->over += (used || k->state == SK_WATCHED_GONE) * by;
}

void sk_detector_heard(struct sk_detector *d, const struct sk_message *m, double now)
{
    struct sk_watched *k = &d->rank[m->rank];
    count(d, k, -1);
    k->heard = now;
    if (m->kind == SK_MSG_HELLO || (m->kind == SK_MSG_BEAT && k->state == SK_WATCHED_WAITING)) {
        if (k->state == SK_WATCHED_WAITING)
            k->state = SK_WATCHED_RUNNING;
    }
    if (m->kind == SK_MSG_BEAT || m->kind == SK_MSG_EXIT) {
        if (m->at.progress != k->at.progress || m->at.state != k->at.state)
            d->moved = now;
        k->at = m->at;
    }
    if (m->kind == SK_MSG_EXIT && k->state != SK_WATCHED_GONE) {
        k->state = SK_WATCHED_GONE;
        k->clean = m->how == SK_EXIT_CODE && !m->code;
        blame(d, m);
    }
    count(d, k, 1);
    if (!d->finished && d->used && d->over == d->c.n_ranks)
        d->finished = now;
}

void sk_detector_live(struct sk_detector *d, uint32_t rank, uint32_t n, double now)
{
    for (uint64_t r = rank, end = r + n; r < end && r < (uint64_t)d->c.n_ranks; r++)
        d->rank[r].heard = now;
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

double sk_detector_silence_limit(const struct sk_detector *d)
{
    return d->c.node_timeout_s +
           d->c.heartbeat_s; /* a heartbeat is missed from the moment it was due */
}

int sk_detector_rank_silent(const struct sk_detector *d, int rank, double now)
{
    return d->rank[rank].state == SK_WATCHED_RUNNING && now - d->rank[rank].heard > sk_detector_silence_limit(d);
}

int sk_detector_rank_runs(const struct sk_detector *d, int rank)
{
    return d->rank[rank].state == SK_WATCHED_WAITING ? -1 : d->rank[rank].state == SK_WATCHED_RUNNING;
}

int sk_detector_rank_went_along(const struct sk_detector *d, int rank, double now)
{
    return d->launcher_ended && now - fmax(d->rank[rank].heard, d->launcher_ended_at) > answer_s;
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
    k->clean = 0;
    k->heard = k->called = now;
    k->at.world = 0;
    count(d, k, 1);
    d->first = (struct sk_fault){0};
    d->moved = now;
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
        if (d->rank[r].state != SK_WATCHED_GONE && d->rank[r].at.state != SK_KEEPER_STOPPED)
            return 0;
        any |= d->rank[r].state != SK_WATCHED_GONE;
    }
    return any;
}
