/* The session's side of the cadence: what it measures, and whether the next generation is to be
 * protected or archived. Rank 0 keeps it; the others hear of its decisions through the poll. */
#include "lib/run/pace.h"

#include "base/clock.h"
#include "base/log.h"

#include <math.h>

/* Bytes per second, and seconds, that a checkpoint of which nothing is known is supposed to take: less than memory allows, so
 * that the first one comes rather late than too early. */
static const double supposed_speed = 1e9, supposed_least = 1e-3;

double sk_pace_cost(const struct sk_session *s)
{
    uint64_t bytes = sk_vars_bytes(&s->vars);
    if (bytes < s->resume.restored_bytes)
        bytes = s->resume.restored_bytes;
    return sk_measured_cost(&s->measured, supposed_least + (double)bytes / supposed_speed);
}

/* The answer is taken up one poll, or one long iteration, later. */
int sk_pace_is_near(const struct sk_session *s, double deadline)
{
    const struct sk_measured *m = &s->measured;
    double poll = sk_config_time(s->config, "schedule.poll"), left = deadline - sk_now();
    double tick = s->clock.tick > m->mark_tick ? (sk_now() - m->mark) / (double)(s->clock.tick - m->mark_tick) : 0;
    return sk_deadline_due(left - 2 * poll, sk_config_time(s->config, "schedule.time_margin"), sk_pace_cost(s), 2 * tick);
}

void sk_pace_start(struct sk_session *s)
{
    struct sk_level_cost p;
    sk_level_cost(&s->levels.at[SK_LEVEL_PARITY], &p);
    /* what the program does to itself leaves the memory of all nodes as it is */
    double rate = s->measured.rate, of_hosts = rate > 0 ? s->measured.host_rate / rate : 1;
    struct sk_cadence_setup setup = {
        .rate = rate,
        .local_share = 1 - of_hosts * (1 - sk_config_real(s->config, "failure.local_share")),
        .beyond_share = of_hosts * sk_config_real(s->config, "failure.beyond_share"),
        .threshold = sk_config_real(s->config, "schedule.threshold"),
        .has = {[SK_CADENCE_PROTECT] = sk_levels_has(&s->levels, SK_LEVEL_PARITY),
                [SK_CADENCE_ARCHIVE] = *s->place.prefix_root && sk_session_has_local(s)},
        .members = p.members,
        .tolerated = p.tolerated,
        .groups = p.groups,
    };
    sk_cadence_init(&s->measured.pace.cadence, &setup);
}

static void complete(struct sk_session *s, int64_t seq)
{
    struct sk_ledger_entry e, before;
    int64_t back = seq - 1 < 8 ? seq - 1 : 8;
    if (s->g->rank || sk_ledger_find(s->levels.ledger, seq, &e, NULL))
        return;
    while (back > 0 && sk_ledger_find(s->levels.ledger, seq - back, &before, NULL))
        back--;
    double interval = back ? (e.captured_at - before.captured_at) / (double)back - s->measured.pace.cost : 0;
    sk_cadence_checkpoint(&s->measured.pace.cadence, interval, s->measured.pace.cost, sk_now() - e.captured_at);
}

void sk_pace_begun(struct sk_session *s, enum sk_level_place place)
{
    int k = sk_level_traits[place].cadence;
    if (k >= 0)
        s->measured.pace.begun[k] = sk_now();
}

void sk_pace_arrived(struct sk_session *s, enum sk_level_place place, int64_t seq)
{
    struct sk_pace *p = &s->measured.pace;
    struct sk_ledger_entry e;
    int k = sk_level_traits[place].cadence;
    if (k < 0)
        complete(s, seq);
    if (k < 0 || s->g->rank || !seq || sk_ledger_find(s->levels.ledger, seq, &e, NULL))
        return;
    double now = sk_now(), held = k == SK_CADENCE_PROTECT ? p->slices - p->slices_before : 0; /* nothing else is done in slices */
    sk_cadence_done(&p->cadence, k, now - e.captured_at, now - p->begun[k], held);
    if (k == SK_CADENCE_PROTECT)
        p->slices_before = p->slices;
}

/* The candidates' time was measured from the exchange before the last one to the last one; what is
 * begun is begun just before an exchange starts, so what was idle then was idle all the time. */
void sk_pace_hear(struct sk_session *s, double tick, double cost, const struct sk_level_heard h[SK_LEVELS])
{
    struct sk_pace *p = &s->measured.pace;
    int now[SK_CADENCES] = {0}, sure = 1;
    for (int i = 0; i < SK_LEVELS; i++)
        if (sk_level_traits[i].cadence >= 0)
            now[sk_level_traits[i].cadence] = !h[i].was_idle;
    p->cost = cost;
    for (int k = 0; k < SK_CADENCES; k++)
        sure &= !p->busy[k] || now[k];
    if (sure && !s->g->rank)
        sk_cadence_ticks(&p->cadence, tick, p->busy);
    for (int k = 0; k < SK_CADENCES; k++)
        p->busy[k] = now[k];
}

double sk_pace_interval(struct sk_session *s)
{
    struct sk_cadence *c = &s->measured.pace.cadence;
    for (int i = 0; i < SK_LEVELS; i++) {
        const struct sk_level_trait *t = &sk_level_traits[i];
        if (s->g->rank || (t->cadence >= 0 && c->setup.has[t->cadence] &&
                           sk_config_time_or_auto(s->config, t->interval) != SK_CONFIG_AUTO))
            return 0;
    }
    return fmin(sk_cadence_interval(c), 1e9);
}

int sk_pace_due(struct sk_session *s, enum sk_level_place place)
{
    const struct sk_level_trait *t = &sk_level_traits[place];
    struct sk_pace *p = &s->measured.pace;
    if (s->g->rank || t->cadence < 0)
        return 0;
    int64_t last = sk_ledger_newest(s->levels.ledger, t->begun);
    double begun = p->begun[t->cadence], interval = sk_config_time_or_auto(s->config, t->interval);
    if (interval != SK_CONFIG_AUTO)
        return begun <= 0 || sk_now() - begun >= interval;
    int64_t before = p->cadence.every[t->cadence], every = sk_cadence_every(&p->cadence, t->cadence);
    if (every != before)
        sk_log(SK_LOG_INFO, "%s: every %lld checkpoints; one costs %.3g s", t->interval, (long long)every,
               sk_cadence_cost(&p->cadence, t->cadence));
    return !last || (every && sk_levels_complete(&s->levels) - last >= every);
}
