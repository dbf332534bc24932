/* Fan-in: the sources form a binary tree; each adds its children's sums and its own block and
 * passes the sums to its parent; the root gives each sink its row. The longest way is logarithmic.
 * Inner nodes receive twice. Source: Jitsumoto et al. 2009, section 3.1, figure 5. */
#include "redundancy/code/form.h"
#include "redundancy/code/stripe.h"

/* Longest block in the subtree below source i. */
static uint32_t subtree_len(const struct sk_stripe *s, int i)
{
    if (i >= s->sources)
        return 0;
    uint32_t len = s->source[i].len;
    for (int child = 2 * i + 1; child <= 2 * i + 2; child++) {
        uint32_t below = subtree_len(s, child);
        len = below > len ? below : len;
    }
    return len;
}

static void plan(const struct sk_stripe *s, int is_sink, int at, struct sk_act *a)
{
    uint32_t len = subtree_len(s, is_sink ? 0 : at);
    *a = (struct sk_act){.keep = -1, .rows = s->sinks, .len = len, .adds_own = !is_sink};
    if (is_sink) {
        a->keep = a->first = at;
        a->rows = 1;
        a->in[a->ins++] = (struct sk_transfer_message){
            .load = SK_LOAD_SUMS, .peer = s->source[0].member, .first = at, .rows = 1, .len = len};
        return;
    }
    for (int child = 2 * at + 1; child <= 2 * at + 2 && child < s->sources; child++)
        a->in[a->ins++] = (struct sk_transfer_message){.load = SK_LOAD_SUMS,
                                              .peer = s->source[child].member,
                                              .rows = s->sinks,
                                              .len = subtree_len(s, child)};
    if (at)
        a->out[a->outs++] = (struct sk_transfer_message){.load = SK_LOAD_SUMS,
                                                .peer = s->source[(at - 1) / 2].member,
                                                .rows = s->sinks,
                                                .len = len};
    for (int r = 0; !at && r < s->sinks; r++)
        a->out[a->outs++] = (struct sk_transfer_message){
            .load = SK_LOAD_SUMS, .peer = s->sink[r].member, .first = r, .rows = 1, .len = len};
}

static double seconds(const struct sk_link_costs *c, int k, int m, int spread, uint64_t stripes,
                      uint32_t block)
{
    double link = (double)m * block / c->bandwidth, add = (double)m * block / c->add_rate;
    int children = k > 2 ? 2 : k - 1;
    double in = children * link, sums = (children + 1) * add;
    double turn = sk_overlapped(in, sums);
    /* rotated: k - 1 sums of m rows and m single rows move per stripe, over the links of k + m
     * nodes */
    double even = ((k - 1) * link + link) / (k + m);
    double work = (2.0 * k - 1) * add / (k + m);
    if (spread)
        turn = sk_overlapped(even, work);
    int depth = 1;
    for (int n = k; n > 1; n /= 2)
        depth++;
    return turn * (double)stripes + depth * (c->latency + in + sums);
}

const struct sk_transfer_ops sk_transfer_fanin = {
    .name = "fanin",
    .description = "sums meet in a binary tree",
    .plan = plan,
    .seconds = seconds,
};
