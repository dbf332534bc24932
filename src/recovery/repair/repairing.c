/* What the supervisor does about a fault that is repaired in place: begin, order the survivors until they have heard, and see it to its
 * end; or leave it to a restart, and say why. */
#include "recovery/repair/repairing.h"

#include "backbone/keeper_page.h"
#include "base/log.h"
#include "recovery/fault/detector_watch.h"
#include "recovery/renewal/renewing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* 1: a process of those that the MPI's launcher started is on this host, as far as is known: one that was made again is not, and a spare is. */
static int has_one_of_the_start(const struct sk_supervisor *s, int host)
{
    int n = s->c.detector.n_ranks;
    for (int r = 0; r < n; r++)
        if (s->seat[r] == host && sk_in_place_id(s->place, r) == (uint32_t)r && sk_detector_rank_runs(s->detector, r) > 0)
            return 1;
    for (int i = 0; i < s->c.warm; i++)
        if (sk_hosts_warm(s->seat, n, i) == host)
            return 1;
    return 0;
}

/* 1: the launcher of Open MPI 5 knows nothing of the job any more on the host of a dead process, and what is started there finds no way to the others. */
static int is_forgotten(const struct sk_supervisor *s)
{
    for (int r = 0; s->hosts.n > 1 && s->c.mpi_notices && r < s->c.detector.n_ranks; r++)
        if (!sk_detector_rank_runs(s->detector, r) && !has_one_of_the_start(s, s->seat[r]))
            return 1;
    return 0;
}

/* 1: processes would be started, and this program was seen to be slow with such processes. */
static int would_be_slow(const struct sk_supervisor *s)
{
    int made = (int)sk_in_place_made(s->place);
    for (int r = 0; r < s->c.detector.n_ranks; r++)
        made += !sk_detector_rank_runs(s->detector, r);
    return s->c.renews && s->slower.belief == SK_SLOWER_BY_REPAIR && made > s->c.warm;
}

/* NULL: all that are dead can be made again; else why not. */
static const char *why_not(const struct sk_supervisor *s, struct sk_barren barren)
{
    const char *no = sk_in_place_why_not(s->place, s->detector);
    if (!no && is_forgotten(s))
        no = "this version of Open MPI needs another process of the job on the host of the dead one, or a spare";
    if (!no && s->c.no_progress && barren.all >= s->c.no_progress) /* the job is not given up: a restart may do better */
        no = "the fault repeats without a newer generation";
    if (!no && s->restarts >= s->c.retries)
        no = "it was restarted often enough";
    if (!no && would_be_slow(s))
        no = "the program was slower after a repair, and as fast as ever after a restart";
    return no;
}

static int are_all_heard(const struct sk_supervisor *s)
{
    for (int r = 0; r < s->c.detector.n_ranks; r++)
        if (sk_detector_rank_runs(s->detector, r) < 0)
            return 0;
    return 1;
}

int sk_supervisor_repair(struct sk_supervisor *s, const struct sk_fault *f, double now)
{
    struct sk_progress p = sk_detector_progress(s->detector);
    struct saikai_error err = {0};
    struct sk_message order;
    struct sk_gait g = {0, INT64_MIN, INT64_MIN};
    char who[64], then[400];
    if (!s->place || s->stop_signal || !sk_fault_means(f, SK_FAULT_OF_PROCESS))
        return 0;
    struct sk_barren barren = s->best > s->place_best ? (struct sk_barren){0} : sk_barren_next(s->barren, f);
    const char *no = why_not(s, barren);
    int may_change = no && sk_in_place_may_change(s->place, s->detector);
    struct sk_verdict v = sk_supervisor_assess(s, f, 0, (struct sk_means){.in_place = !no ? 1 : may_change ? -1 : 0}, now);
    if (v.wanted != SAIKAI_ANSWER_IN_PLACE)
        return 0;
    if (may_change) { /* what is known of the others is as old as their newest beat, and one that has just come to its first words may not be heard yet */
        if (!(s->place_until > 0))
            s->place_until = now + fmax(4 * s->c.detector.heartbeat_s, are_all_heard(s) ? 0 : s->c.detector.node_timeout_s);
        if (now < s->place_until)
            return 1;
    }
    s->place_until = 0;
    if (no) {
        snprintf(s->no_place, sizeof s->no_place, "%s", no);
        return 0;
    }
    for (int r = 0; s->c.mpi_notices && r < s->c.detector.n_ranks; r++) /* when its keeper has ended, the MPI's launcher tells the survivors */
        if (!sk_detector_rank_runs(s->detector, r))
            sk_supervisor_send(s, r, s->incarnation, SK_MSG_RELEASE, 0);
    sk_supervisor_gait(s, &g);
    sk_slower_repair(&s->slower, &g);
    s->renewal = (struct sk_renewal){0};
    sk_in_place_begin(s->place, s->detector, now, &order, who, sizeof who);
    if (s->ops->admit(s->arg, s->incarnation, &order, &err)) {
        snprintf(s->no_place, sizeof s->no_place, "%.150s", err.text);
        return 0;
    }
    int several = strchr(who, ',') != NULL;
    snprintf(then, sizeof then, "%s%srank%s %s %s made again and the others stay", v.said, *v.said ? "; " : "", several ? "s" : "", who, several ? "are" : "is");
    sk_supervisor_record(s, f, &v, NULL, then);
    sk_assess_remember(s->assessor, f, now);
    if (s->ops->suffer)
        s->ops->suffer(s->arg, f, &s->hosts, p.progress || !s->uses_library);
    s->fault = *f;
    s->past.faults++;
    s->barren = barren;
    s->place_best = s->best;
    s->restarts++;
    s->order_at = now;
    return 1;
}

int sk_supervisor_tick_repair(struct sk_supervisor *s, double now)
{
    const char *why;
    if (s->place && sk_in_place_is_stuck(s->place, s->detector)) {
        snprintf(s->no_place, sizeof s->no_place, "after the repair all processes wait for each other");
        sk_supervisor_clear(s, &s->fault, now);
        return 1;
    }
    if (!s->place || !sk_in_place_under_way(s->place))
        return 0;
    int rc = sk_in_place_look(s->place, s->detector, now, &why);
    if (rc < 0) {
        snprintf(s->no_place, sizeof s->no_place, "%s", why);
        sk_supervisor_clear(s, &s->fault, now);
        return 1;
    }
    if (rc) {
        sk_say(s, SK_LOG_NOTICE, "repaired in place: all ranks are back after %.2f s", sk_in_place_seconds(s->place, now));
        return 0;
    }
    for (int r = 0; now >= s->order_at && r < s->c.detector.n_ranks; r++)
        if (!sk_in_place_has_heard(s->place, s->detector, r)) {
            struct sk_message m = *sk_in_place_order(s->place);
            m.incarnation = s->incarnation;
            m.rank = sk_in_place_id(s->place, r);
            s->ops->send(s->arg, &m);
        }
    if (now >= s->order_at)
        s->order_at = now + SK_REPEAT_S;
    return 0;
}

/* So long a rank's end, which may be why the spare has ended, may be on its way. */
static const double missed_s = 1;

/* 1: no rank has come out of MPI_Init, as far as was heard. */
static int all_begin(const struct sk_supervisor *s)
{
    for (int r = 0; r < s->c.detector.n_ranks; r++) {
        struct sk_progress at = sk_detector_rank_at(s->detector, r);
        if (SK_WORLD_STATE(at.world) != SK_WORLD_NONE || at.state != SK_KEEPER_NONE || sk_detector_rank_runs(s->detector, r) == 0)
            return 0;
    }
    return 1;
}

/* A keeper that was killed has no last word. One whose spare waits is silent as well; by then a rank is out of MPI_Init and has said so, which
 * may take it a while where there are more processes than processors. */
static void look_for_silent_spare(struct sk_supervisor *s, double now)
{
    double at = sk_detector_clock(s->detector, now), limit = 2 * sk_detector_silence_limit(s->detector);
    for (int i = 0; !s->missed.kind && i < s->spares; i++)
        if (s->spare_heard[i] > 0 && at - s->spare_heard[i] > limit && all_begin(s)) {
            s->missed = (struct sk_fault){&sk_fault_missed, -1, -1, 0, at - s->spare_heard[i], NULL};
            s->missed_at = now;
        }
}

void sk_supervisor_tick_missed(struct sk_supervisor *s, double now)
{
    look_for_silent_spare(s, now);
    struct sk_fault f = s->missed;
    char text[256];
    if (!f.kind || s->stop_signal || now - s->missed_at < missed_s)
        return;
    s->missed = (struct sk_fault){0};
    s->c.warm = 0;
    sk_fault_describe(&f, &s->hosts, s->c.program, text, sizeof text);
    sk_say(s, SK_LOG_INFO, "%s", text);
    snprintf(s->no_place, sizeof s->no_place, "nobody comes out of MPI's beginning without it");
    sk_supervisor_clear(s, &f, now);
}
