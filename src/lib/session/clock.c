/* Counting candidates, and when a checkpoint is due. */
#include "lib/session/clock.h"

#include "schedule/advice.h"

void sk_clock_start(struct sk_clock *c, int every)
{
    *c = (struct sk_clock){.every = every,
                           .due_tick = UINT64_MAX,
                           .now_tick = UINT64_MAX,
                           .due_iteration = INT64_MAX,
                           .last_iteration = -1,
                           .next_iteration = INT64_MIN};
}

void sk_clock_sleep(struct sk_clock *c, uint64_t origin, uint64_t asleep)
{
    c->origin = origin;
    c->slept = 0;
    c->asleep = asleep;
}

int sk_clock_sleeps(struct sk_clock *c)
{
    if (!c->asleep)
        return 0;
    c->asleep--;
    c->slept++;
    return 1;
}

int sk_clock_is_due(const struct sk_clock *c)
{
    return c->now_tick == c->tick || c->tick >= c->due_tick;
}

int sk_clock_reach(struct sk_clock *c, int64_t iteration)
{
    int64_t k = c->every;
    int due = k && iteration != c->last_iteration && iteration % k == 0 && iteration > 0;
    if (k)
        c->due_iteration = iteration - iteration % k + k;
    c->last_iteration = iteration;
    return due;
}

void sk_clock_ask(struct sk_clock *c)
{
    c->now_tick = c->tick;
}

void sk_clock_set_due(struct sk_clock *c, int64_t tick)
{
    c->due_tick = tick == SK_ADVICE_NEVER ? UINT64_MAX : (uint64_t)tick;
}

void sk_clock_plan(struct sk_clock *c, uint64_t tick)
{
    c->next_tick = tick < c->due_tick ? tick : c->due_tick;
    c->next_iteration = c->every ? c->due_iteration : INT64_MAX;
}
