/* What the transfer forms have in common. */
#include "redundancy/code/stripe.h"
#include "redundancy/code/form.h"

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
