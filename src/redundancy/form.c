#include "redundancy/form.h"

#include <string.h>

static const struct sk_form_ops *const forms[] = {&sk_form_pipeline, &sk_form_fanin,
                                                  &sk_form_broadcast, &sk_form_gather};

const struct sk_form_ops *sk_form_at(int i)
{
    return i >= 0 && i < (int)(sizeof forms / sizeof *forms) ? forms[i] : NULL;
}

const struct sk_form_ops *sk_form_find(const char *name)
{
    for (int i = 0; sk_form_at(i); i++)
        if (!strcmp(sk_form_at(i)->name, name))
            return sk_form_at(i);
    return NULL;
}

const struct sk_form_ops *sk_form_choose(const struct sk_link_costs *c, int k, int m, int spread,
                                         uint64_t stripes, uint32_t block)
{
    const struct sk_form_ops *best = forms[0];
    double least = best->seconds(c, k, m, spread, stripes, block);
    for (int i = 1; sk_form_at(i); i++) {
        double t = forms[i]->seconds(c, k, m, spread, stripes, block);
        if (t < least) {
            least = t;
            best = forms[i];
        }
    }
    return best;
}

double sk_overlapped(double a, double b)
{
    return a > b ? a + b / 4 : b + a / 4;
}

uint32_t sk_stripe_len(const struct sk_stripe *s, int n)
{
    uint32_t len = 0;
    for (int i = 0; i < n; i++)
        if (s->source[i].len > len)
            len = s->source[i].len;
    return len;
}
