/* How long the program computes from one candidate to the next. */
#include "lib/session/measured.h"

#include "base/clock.h"

#include <math.h>

void sk_measured_start(struct sk_measured *m)
{
    *m = (struct sk_measured){0};
    m->started_at = m->last_checkpoint_at = m->mark = m->pace.begun[SK_CADENCE_ARCHIVE] = sk_now();
}

double sk_measured_tick(const struct sk_measured *m, uint64_t tick)
{
    uint64_t ticks = m->mark_tick ? tick - m->mark_tick : 0; /* before the first tick lies the set-up */
    double t = sk_now() - m->mark - m->paused;
    return ticks && t > 0 ? t / (double)ticks : 0;
}

void sk_measured_mark(struct sk_measured *m, uint64_t tick)
{
    m->mark = sk_now();
    m->mark_tick = tick;
    m->paused = 0;
}

double sk_measured_cost(const struct sk_measured *m, double supposed)
{
    double a = m->cost_seconds, b = m->costs[0], c = m->costs[1];
    if (!(a > 0))
        return supposed;
    if (!(b > 0))
        return fmin(a, 10 * supposed);
    return c > 0 ? fmax(fmin(a, b), fmin(fmax(a, b), c)) : fmin(a, b);
}

void sk_measured_checkpoint(struct sk_measured *m, double seconds)
{
    m->costs[1] = m->costs[0];
    m->costs[0] = m->cost_seconds;
    m->cost_seconds = seconds;
}

void sk_measured_pause(struct sk_measured *m, double seconds)
{
    m->paused += seconds;
}
