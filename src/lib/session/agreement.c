/* Starting and taking up the exchange of the ranks, and how many ticks lie between. */
#include "lib/session/agreement.h"

/* Ticks from the start of an exchange to its end at most, however fast candidates follow each other. */
static const uint64_t longest_span = 1u << 24;

void sk_agreement_start(struct sk_agreement *x)
{
    *x = (struct sk_agreement){.span = 1, .take_tick = UINT64_MAX};
}

uint64_t sk_agreement_next(const struct sk_agreement *x)
{
    return x->post_tick < x->take_tick ? x->post_tick : x->take_tick;
}

int sk_agreement_take(struct sk_agreement *x, struct sk_group *g, uint64_t tick, struct saikai_error *err)
{
    if (tick < x->take_tick)
        return 0;
    /* started `span` ticks ago by all ranks that are not further behind than that: this does not wait */
    int rc = sk_group_wait(g, &x->request);
    if (rc)
        return sk_fail(err, rc, "the ranks' exchange of measurements failed");
    x->take_tick = UINT64_MAX;
    x->post_tick = tick;
    return 1;
}

int sk_agreement_is_due(const struct sk_agreement *x, uint64_t tick)
{
    return tick >= x->post_tick;
}

int sk_agreement_post(struct sk_agreement *x, struct sk_group *g, uint64_t tick, struct saikai_error *err)
{
    x->take_tick = tick + x->span;
    x->post_tick = UINT64_MAX;
    int rc = sk_group_iallreduce(g, x->values, SK_POLL_FIELDS, SK_OP_MIN, &x->request);
    return rc ? sk_fail(err, rc, "the ranks' exchange of measurements cannot start") : 0;
}

int sk_agreement_progress(struct sk_agreement *x, struct sk_group *g)
{
    int done;
    return x->request ? sk_group_test(g, &x->request, &done) : 0;
}

void sk_agreement_plan(struct sk_agreement *x, uint64_t tick, double tick_s, double poll_s)
{
    double span = tick_s > 0 ? poll_s / tick_s : 2 * (double)x->span;
    if (!(tick_s > 0) && tick <= 2)
        return; /* the first exchange measures nothing: the second comes at once */
    uint64_t limit = 4 * x->span < longest_span ? 4 * x->span : longest_span;
    x->span = span < 1 ? 1 : span > (double)limit ? limit : (uint64_t)span;
}

void sk_agreement_shorten(struct sk_agreement *x, uint64_t most)
{
    if (x->span > most)
        x->span = most ? most : 1;
}

void sk_agreement_end(struct sk_agreement *x, struct sk_group *g)
{
    sk_group_wait(g, &x->request);
}
