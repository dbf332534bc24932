/* What the supervisor makes of what it is told of the world: by keepers, of this start or an earlier one, and of itself. */
#include "recovery/fault/detector_watch.h"
#include "recovery/repair/transferring.h"

#include <string.h>

/* A keeper of an earlier incarnation: from a host that was cut off and is back, or a start that
 * came too late. */
static void heard_from_the_past(struct sk_supervisor *s, const struct sk_message *m)
{
    sk_supervisor_send_as(s, (int)m->rank, m->incarnation, m->kind == SK_MSG_EXIT ? SK_MSG_RELEASE : SK_MSG_KILL, 0);
    int h = m->kind == SK_MSG_HELLO ? sk_hosts_find(&s->hosts, m->host) : -1;
    if (h >= 0)
        sk_hosts_return(&s->hosts, h);
}

/* An MPI that must not hear of a death takes the end of a keeper for one: after a death whoever has come to its end stays until nobody else is left. */
static int is_held(const struct sk_supervisor *s)
{
    return s->c.hides_deaths && s->transfers.order.n_dead;
}

/* The keeper of a warm spare speaks as long as all ranks need its process, in MPI's beginning; then that one waits, and nobody need know of it. What was not heard of a
 * rank may be why it has died. */
static void heard_spare(struct sk_supervisor *s, const struct sk_message *m, double now)
{
    int runs = m->incarnation == s->incarnation && s->state == RUNNING, has_died = m->how == SK_EXIT_SIGNAL || m->how == SK_EXIT_UNENDED || (m->how == SK_EXIT_CODE && m->code);
    sk_supervisor_send_as(s, (int)m->rank, m->incarnation, m->kind == SK_MSG_EXIT ? SK_MSG_RELEASE : runs ? SK_MSG_HEARD : SK_MSG_KILL, 0);
    if (runs)
        s->spare_heard[m->rank - (uint32_t)s->c.detector.n_ranks] = m->kind == SK_MSG_EXIT ? 0 : sk_detector_clock(s->detector, now);
    if (m->kind != SK_MSG_EXIT || !runs || s->missed.kind || !has_died || m->ordered || m->ended)
        return;
    s->missed = (struct sk_fault){&sk_fault_missed, -1, -1, m->how == SK_EXIT_SIGNAL ? (int)m->code : -(int)m->code, 0, NULL};
    s->missed_at = now;
}

static int is_spare(const struct sk_supervisor *s, const struct sk_message *m)
{
    int64_t rank = m->rank, n = s->c.detector.n_ranks;
    return rank >= n && rank < n + s->spares;
}

static void heard_one(struct sk_supervisor *s, const struct sk_message *told, double now)
{
    if (is_spare(s, told)) {
        heard_spare(s, told, now);
        return;
    }
    struct sk_message own = *told, *m = &own;
    int replaced = 0;
    if (s->place && told->incarnation == s->incarnation) { /* the keeper of a process that is made again, or of the one before */
        int rank = sk_in_place_rank(s->place, told->rank);
        replaced = rank < 0;
        own.rank = replaced ? told->rank : (uint32_t)rank;
    }
    if (replaced && s->detector && s->state != ENDED) {
        if (told->kind == SK_MSG_EXIT && (s->c.mpi_notices || !(s->state == RUNNING && sk_in_place_under_way(s->place))))
            sk_supervisor_send_as(s, (int)told->rank, told->incarnation, SK_MSG_RELEASE, 0);
        return;
    }
    if ((int64_t)m->rank >= s->c.detector.n_ranks || !s->detector ||
        (m->kind != SK_MSG_HELLO && m->kind != SK_MSG_BEAT && m->kind != SK_MSG_ALIVE && m->kind != SK_MSG_EXIT))
        return;
    if (m->incarnation != s->incarnation || s->state == ENDED || s->state == WAITING) {
        if (m->incarnation <= s->incarnation)
            heard_from_the_past(s, told);
        return;
    }
    int as_planned = m->kind == SK_MSG_HELLO && !strcmp(s->hosts.host[s->seat[m->rank]].name, m->host);
    int h = m->kind == SK_MSG_HELLO && !as_planned ? sk_hosts_find(&s->hosts, m->host) : -1;
    if (h >= 0 && h != s->seat[m->rank]) {
        s->seat[m->rank] = h;
        sk_detector_sits_on(s->detector, (int)m->rank, h);
    }
    int is_new = sk_detector_rank_runs(s->detector, (int)m->rank) < 0;
    sk_detector_heard(s->detector, m, now);
    if (is_new && m->kind != SK_MSG_EXIT && s->state == RUNNING && s->stop_signal && !s->saves) /* it came before there was anybody to pass it on */
        sk_supervisor_send(s, (int)m->rank, m->incarnation, SK_MSG_SIGNAL, (uint32_t)s->stop_signal);
    /* A keeper leaves with its program's exit code, and a bad one makes the MPI's launcher kill the
     * other keepers before they can report. So it has to stay until all ranks are gone. */
    int good = m->kind == SK_MSG_EXIT && m->how == SK_EXIT_CODE && !m->code, spent = sk_supervisor_is_spent(s, (int)m->rank);
    if ((good || spent) && m->kind == SK_MSG_EXIT && s->state == RUNNING && !is_held(s))
        sk_supervisor_send(s, (int)m->rank, m->incarnation, SK_MSG_RELEASE, 0);
    else if (m->kind != SK_MSG_EXIT)
        sk_supervisor_send(s, (int)m->rank, m->incarnation, s->state == CLEARING || spent ? SK_MSG_KILL : SK_MSG_HEARD, 0); /* spent: its host was taken for lost, and its twin has gone on */
}

void sk_supervisor_heard(struct sk_supervisor *s, const struct sk_message *told, double now)
{
    if (told->kind != SK_MSG_ALIVE) {
        heard_one(s, told, now);
    } else if (s->state == RUNNING && told->incarnation == s->incarnation && !s->place) {
        sk_detector_live(s->detector, told->rank, told->number, told->age_ms / 1000.0, now);
    } else {
        struct sk_message m = *told;
        for (uint32_t i = 0; i < told->number; i++, m.rank++)
            heard_one(s, &m, now);
    }
}

void sk_supervisor_deaf(struct sk_supervisor *s, double seconds)
{
    if (s->detector)
        sk_detector_deaf(s->detector, seconds);
}

void sk_supervisor_slower(struct sk_supervisor *s, int pace)
{
    if (pace <= s->pace)
        return;
    s->pace = pace;
    if (s->detector)
        sk_detector_slower(s->detector, pace);
}
