/* Pipeline: the sums of all rows travel along the sources, each adding its block, then along the
 * sinks, each keeping its row. Every link carries the same, whatever the number of sources; latency
 * adds up only while the pipe fills. Source: Jitsumoto et al. 2009, section 3.1, figure 3. */
#include "redundancy/code/form.h"
#include "redundancy/code/stripe.h"

static void plan(const struct sk_stripe *s, int is_sink, int at, struct sk_act *a)
{
    uint32_t so_far = sk_stripe_len(s, is_sink ? s->sources : at + 1);
    *a = (struct sk_act){.keep = -1, .rows = s->sinks, .len = so_far, .adds_own = !is_sink};
    if (is_sink) {
        a->keep = a->first = at;
        a->rows = s->sinks - at;
    }
    if (is_sink || at > 0)
        a->in[a->ins++] = (struct sk_transfer_message){
            .load = SK_LOAD_SUMS,
            .peer = is_sink ? (at ? s->sink[at - 1].member : s->source[s->sources - 1].member)
                            : s->source[at - 1].member,
            .first = a->first,
            .rows = a->rows,
            .len = is_sink ? so_far : sk_stripe_len(s, at)};
    int next = at + 1 - (is_sink ? 0 : s->sources); /* sink that follows, negative: a source does */
    if (next < s->sinks)
        a->out[a->outs++] =
            (struct sk_transfer_message){.load = SK_LOAD_SUMS,
                                .peer = next < 0 ? s->source[at + 1].member : s->sink[next].member,
                                .first = next < 0 ? 0 : next,
                                .rows = next < 0 ? s->sinks : s->sinks - next,
                                .len = so_far};
}

static double seconds(const struct sk_link_costs *c, int k, int m, int spread, uint64_t stripes,
                      uint32_t block)
{
    double link = (double)m * block / c->bandwidth, add = (double)m * block / c->add_rate;
    /* computation runs under communication: the slower of the two sets the pace */
    double turn = sk_overlapped(link, add);
    /* rotated roles: of n stripes a link is the hop before a source or the first sink k times, and
     * between sinks the rest; fixed roles: each hop is busy in every stripe */
    double share = spread ? ((double)k + (m - 1) / 2.0) / (k + m) : 1;
    return share * turn * (double)stripes + (k + m - 1) * (c->latency + link + add);
}

const struct sk_transfer_ops sk_transfer_pipeline = {
    .name = "pipeline",
    .description = "sums travel from neighbour to neighbour",
    .plan = plan,
    .seconds = seconds,
};
