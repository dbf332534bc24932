/* Each rank is two processes: what the supervisor does when one of them dies. Its end is forgiven, the others are told until they have
 * heard, and nothing else is done. */
#include "recovery/repair/transferring.h"

#include "backbone/keeper_page.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

int sk_supervisor_is_spent(const struct sk_supervisor *s, int rank)
{
    for (uint32_t i = 0; i < s->transfers.order.n_dead; i++)
        if (s->transfers.order.dead[i] == (uint32_t)rank)
            return 1;
    return 0;
}

static int is_dead(const struct sk_supervisor *s, int rank)
{
    return !sk_detector_rank_runs(s->detector, rank) && !sk_detector_rank_ended_well(s->detector, rank);
}

static const char *why_it_cannot(uint32_t world)
{
    switch (SK_WORLD_REASON(world)) {
    case SK_WORLD_FAILED: return "a process found that it cannot go on";
    case SK_WORLD_UNSENT: return "what the dead process had sent is still on its way to another host";
    default: return "the program does what cannot be replicated";
    }
}

/* NULL: the twins of all that are dead can go on. */
static const char *why_not(const struct sk_supervisor *s)
{
    int n = s->c.detector.n_ranks;
    uint32_t dead = s->transfers.order.n_dead;
    for (int r = 0; r < n; r++) {
        int twin = sk_copies_twin(s->c.copies, r);
        uint32_t world = sk_detector_rank_at(s->detector, r).world, state = SK_WORLD_STATE(world);
        if (sk_detector_rank_runs(s->detector, r) < 0 || state == SK_WORLD_NONE || state == SK_WORLD_OUTSIDE)
            return "not all processes were through MPI_Init";
        if (state == SK_WORLD_CANNOT)
            return why_it_cannot(world);
        if (!is_dead(s, r))
            continue;
        dead++;
        if (twin < 0)
            return "a rank that is one process has died (run.replicate)";
        if (is_dead(s, twin) || sk_supervisor_is_spent(s, twin))
            return "both processes of a rank have died";
    }
    return dead > SK_REPAIR_MOST ? "too many processes died" : NULL;
}

/* All that are dead, also those of whom nobody spoke yet. */
static void take(struct sk_supervisor *s, char *who, size_t cap)
{
    struct sk_message *m = &s->transfers.order;
    size_t at = 0;
    *who = 0;
    for (int r = 0; r < s->c.detector.n_ranks; r++) {
        if (!is_dead(s, r))
            continue;
        m->printed[m->n_dead] = sk_detector_rank_at(s->detector, r).printed;
        m->dead[m->n_dead++] = (uint32_t)r;
        sk_detector_forgive(s->detector, r);
        int n = snprintf(who + at, cap - at, "%s%d", at ? ", " : "", s->c.copies->rank[r]);
        at = n > 0 && at + (size_t)n < cap ? at + (size_t)n : at;
    }
    m->kind = SK_MSG_REPAIR;
    m->number++;
}

/* The processes of a host that is lost are dead, as far as anybody will ever know; where they start when all do is on another one. */
static void bury_host(struct sk_supervisor *s, int host)
{
    for (int r = 0; r < s->c.detector.n_ranks; r++)
        if (s->seat[r] == host && sk_detector_rank_runs(s->detector, r) == 1)
            sk_detector_bury(s->detector, r);
}

/* Whatever starts next does so without it; says what takes its place then. */
static void leave_host(struct sk_supervisor *s, int host, char *then, size_t cap)
{
    size_t n = strlen(then);
    int spare = sk_hosts_lose(&s->hosts, host, s->c.detector.n_ranks, s->seat);
    s->transfers.lost_host = host + 1;
    if (spare >= 0)
        snprintf(then + n, cap - n, "; when all start again %.90s takes the place of %.90s", s->hosts.host[spare].name, s->hosts.host[host].name);
}

int sk_supervisor_transfer(struct sk_supervisor *s, const struct sk_fault *f, double now)
{
    char who[64], then[400];
    int takes_host = sk_fault_means(f, SK_FAULT_TAKES_HOST);
    if (!s->c.copies || s->stop_signal || f->rank < 0 || !(takes_host || is_dead(s, f->rank)))
        return 0;
    if (takes_host)
        bury_host(s, f->host);
    const char *no = why_not(s);
    if (no) {
        snprintf(s->no_place, sizeof s->no_place, "%s", no);
        return 0;
    }
    struct sk_verdict v = sk_supervisor_assess(s, f, 0, (struct sk_means){.twins = 1}, now);
    if (v.answer != SAIKAI_ANSWER_TRANSFER) /* a component would have it otherwise */
        return 0;
    take(s, who, sizeof who);
    snprintf(then, sizeof then, "%s%sthe twin of rank %s goes on in its place", v.said, *v.said ? "; " : "", who);
    s->transfers.order_at = s->transfers.since = now;
    sk_supervisor_tick_transfer(s, now);
    if (takes_host)
        leave_host(s, f->host, then, sizeof then);
    sk_supervisor_record(s, f, &v, NULL, then);
    if (s->ops->suffer)
        s->ops->suffer(s->arg, f, &s->hosts, 1);
    s->fault = *f;
    s->past.faults++;
    return 1;
}

/* NULL: those that live go on, as far as is known. */
static const char *why_no_more(const struct sk_supervisor *s, double now)
{
    int running = 0, waiting = 0;
    for (int r = 0; r < s->c.detector.n_ranks; r++) {
        uint32_t w = sk_detector_rank_at(s->detector, r).world;
        if (!sk_detector_rank_runs(s->detector, r))
            continue;
        running++;
        waiting += SK_WORLD_REASON(w) == SK_WORLD_WAITS;
        if (SK_WORLD_STATE(w) == SK_WORLD_CANNOT)
            return why_it_cannot(w);
        if (SK_WORLD_STATE(w) == SK_WORLD_OVER && now - s->transfers.since > s->c.repair_s)
            return "the program was at its end"; /* in MPI_Finalize, for the dead */
    }
    return running && waiting == running ? "all processes wait for each other" : NULL;
}

int sk_supervisor_tick_transfer(struct sk_supervisor *s, double now)
{
    int left = 0;
    const char *no = s->transfers.order.n_dead ? why_no_more(s, now) : NULL;
    if (no) {
        snprintf(s->no_place, sizeof s->no_place, "%s", no);
        sk_supervisor_clear(s, &s->fault, now);
        return 1;
    }
    for (int r = 0; s->transfers.order_at > 0 && r < s->c.detector.n_ranks; r++) {
        if (!sk_detector_rank_runs(s->detector, r) || SK_WORLD_EPOCH(sk_detector_rank_at(s->detector, r).world) == s->transfers.order.number)
            continue;
        left = 1;
        if (now < s->transfers.order_at)
            continue;
        struct sk_message m = s->transfers.order;
        m.incarnation = s->incarnation;
        m.rank = (uint32_t)r;
        s->ops->send(s->arg, &m);
    }
    if (!left)
        s->transfers.order_at = 0;
    else if (now >= s->transfers.order_at)
        s->transfers.order_at = now + SK_REPEAT_S;
    return 0;
}
