/* Gather: each source sends its block to the first sink, which computes all rows in one pass and
 * gives the other sinks theirs. With rotated parity every node is the first sink in turn, and this
 * moves the least of all forms: k + m - 1 blocks per stripe. With fixed coding nodes the first one
 * is the bottleneck. */
#include "redundancy/code/form.h"
#include "redundancy/code/stripe.h"

static void plan(const struct sk_stripe *s, int is_sink, int at, struct sk_act *a)
{
    uint32_t len = sk_stripe_len(s, s->sources);
    *a = (struct sk_act){.keep = -1};
    if (!is_sink) {
        a->out[a->outs++] = (struct sk_transfer_message){.load = SK_LOAD_BLOCK,
                                                .peer = s->sink[0].member,
                                                .source = at,
                                                .len = s->source[at].len};
        return;
    }
    *a = (struct sk_act){.keep = at, .first = at, .rows = at ? 1 : s->sinks, .len = len};
    if (at) {
        a->in[a->ins++] = (struct sk_transfer_message){
            .load = SK_LOAD_SUMS, .peer = s->sink[0].member, .first = at, .rows = 1, .len = len};
        return;
    }
    for (int i = 0; i < s->sources; i++)
        a->in[a->ins++] = (struct sk_transfer_message){.load = SK_LOAD_BLOCK,
                                              .peer = s->source[i].member,
                                              .source = i,
                                              .len = s->source[i].len};
    for (int r = 1; r < s->sinks; r++)
        a->out[a->outs++] = (struct sk_transfer_message){
            .load = SK_LOAD_SUMS, .peer = s->sink[r].member, .first = r, .rows = 1, .len = len};
}

static double seconds(const struct sk_link_costs *c, int k, int m, int spread, uint64_t stripes,
                      uint32_t block)
{
    double in = (double)k * block / c->bandwidth, add = (double)k * m * block / c->add_rate;
    double turn = sk_overlapped(in, add);
    if (spread) {
        double even = ((double)k + m - 1) * block / c->bandwidth / (k + m), work = add / (k + m);
        turn = sk_overlapped(even, work);
    }
    return turn * (double)stripes + (m > 1 ? 2 : 1) * c->latency + in + add;
}

const struct sk_transfer_ops sk_transfer_gather = {
    .name = "gather",
    .description = "the first sink computes all rows",
    .plan = plan,
    .seconds = seconds,
};
