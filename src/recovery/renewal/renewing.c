/* The checkpoint is asked for first and the job is ended when it is complete: so nothing is computed twice, but what comes in the moment between. */
#include "recovery/renewal/renewing.h"

#include "backbone/keeper_page.h"
#include "base/log.h"

#include <math.h>

int sk_supervisor_gait(const struct sk_supervisor *s, struct sk_gait *g)
{
    struct sk_gait all = {.slowest = INT64_MAX, .farthest = INT64_MIN};
    for (int r = 0; r < s->c.detector.n_ranks; r++) {
        struct sk_progress at = sk_detector_rank_at(s->detector, r);
        if (at.state != SK_KEEPER_INITIALISED)
            return 0;
        all.candidates = r ? all.candidates : at.progress;
        all.slowest = at.iteration < all.slowest ? at.iteration : all.slowest;
        all.farthest = at.iteration > all.farthest ? at.iteration : all.farthest;
    }
    *g = all;
    return 1;
}

/* 1: it can still be started again, and nobody wants it to end. */
static int may(const struct sk_supervisor *s)
{
    return s->place && s->c.renews && !s->stop_signal && s->restarts < s->c.retries && !sk_in_place_under_way(s->place);
}

static void ask(struct sk_supervisor *s, const struct sk_slowness *slow, int64_t complete)
{
    s->renewal = (struct sk_renewal){.asked = 1, .from = complete, .slow = *slow};
    sk_say(s, SK_LOG_NOTICE,
           "since the repair in place the program takes %.2g times as long from candidate to candidate, and has lost %.1f s by that: it is saved, and started again from there",
           1 / (1 - slow->part), slow->lost_s);
    sk_supervisor_send_to_all(s, SK_MSG_REQUEST, SK_REQUEST_CHECKPOINT);
}

int sk_supervisor_tick_renew(struct sk_supervisor *s, double now)
{
    struct sk_slowness slow;
    struct sk_gait g;
    if (!may(s) || !sk_supervisor_gait(s, &g))
        return 0;
    int64_t complete = sk_detector_progress(s->detector).complete_iteration;
    sk_slower_look(&s->slower, &g, now);
    if (!s->renewal.asked) {
        if (sk_slower_pays(&s->slower, s->c.deadline > 0 ? s->c.deadline - now : INFINITY, &slow))
            ask(s, &slow, complete);
        return 0;
    }
    if (complete <= s->renewal.from)
        return 0;
    struct sk_fault f = {&sk_fault_slower, -1, -1, (int)lround(100 * s->renewal.slow.part), s->renewal.slow.lost_s, NULL};
    sk_supervisor_clear(s, &f, now);
    return 1;
}
