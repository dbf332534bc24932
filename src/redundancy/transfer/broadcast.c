/* Broadcast: each source sends its block to every sink, and each sink computes its own row from all
 * of them. One hop and the best arithmetic, for m times the volume into few nodes. Source:
 * Jitsumoto et al. 2009, section 3.1, figure 4. */
#include "redundancy/code/form.h"
#include "redundancy/code/stripe.h"

static void plan(const struct sk_stripe *s, int is_sink, int at, struct sk_act *a)
{
    *a = (struct sk_act){.keep = -1};
    if (is_sink) {
        *a = (struct sk_act){
            .keep = at, .first = at, .rows = 1, .len = sk_stripe_len(s, s->sources)};
        for (int i = 0; i < s->sources; i++)
            a->in[a->ins++] = (struct sk_transfer_message){.load = SK_LOAD_BLOCK,
                                                  .peer = s->source[i].member,
                                                  .source = i,
                                                  .len = s->source[i].len};
        return;
    }
    for (int r = 0; r < s->sinks; r++)
        a->out[a->outs++] = (struct sk_transfer_message){.load = SK_LOAD_BLOCK,
                                                .peer = s->sink[r].member,
                                                .source = at,
                                                .len = s->source[at].len};
}

static double seconds(const struct sk_link_costs *c, int k, int m, int spread, uint64_t stripes,
                      uint32_t block)
{
    double in = (double)k * block / c->bandwidth, add = (double)k * block / c->add_rate;
    double out = (double)m * block / c->bandwidth;
    double link = in > out ? in : out;
    double turn = sk_overlapped(link, add);
    if (spread) { /* each node is a sink m times and a source k times in k + m stripes */
        double even = m * in / (k + m), work = m * add / (k + m);
        turn = sk_overlapped(even, work);
    }
    return turn * (double)stripes + c->latency + in + add;
}

const struct sk_transfer_ops sk_transfer_broadcast = {
    .name = "broadcast",
    .description = "every block goes to every sink",
    .plan = plan,
    .seconds = seconds,
};
