/* The table of transfer forms, and the choice of the fastest by their own estimates. */
#include "redundancy/code/form.h"

#include <string.h>

static const struct sk_transfer_ops *const forms[] = {&sk_transfer_pipeline, &sk_transfer_fanin,
                                                  &sk_transfer_broadcast, &sk_transfer_gather};

const struct sk_transfer_ops *sk_transfer_at(int i)
{
    return i >= 0 && i < (int)(sizeof forms / sizeof *forms) ? forms[i] : NULL;
}

SK_KIND(sk_transfer_kind, "transfer", "transfer form", struct sk_transfer_ops, sk_transfer_at, description);

const struct sk_transfer_ops *sk_transfer_find(const char *name)
{
    return sk_transfer_at(sk_kind_form(&sk_transfer_kind, name));
}

const struct sk_transfer_ops *sk_transfer_choose(const struct sk_link_costs *c, int k, int m, int spread,
                                         uint64_t stripes, uint32_t block)
{
    const struct sk_transfer_ops *best = forms[0];
    double least = best->seconds(c, k, m, spread, stripes, block);
    for (int i = 1; sk_transfer_at(i); i++) {
        double t = forms[i]->seconds(c, k, m, spread, stripes, block);
        if (t < least) {
            least = t;
            best = forms[i];
        }
    }
    return best;
}
