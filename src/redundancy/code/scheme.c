/* The table of schemes, and the layout of one period of stripes: which blocks of which member
 * belong to which stripe. */
#include "redundancy/code/scheme.h"

#include <string.h>

static const struct sk_scheme_ops *const schemes[] = {&sk_scheme_partner, &sk_scheme_xor,
                                                      &sk_scheme_rs};

const struct sk_scheme_ops *sk_scheme_at(int i)
{
    return i >= 0 && i < (int)(sizeof schemes / sizeof *schemes) ? schemes[i] : NULL;
}

SK_KIND(sk_scheme_kind, "scheme", "redundancy scheme", struct sk_scheme_ops, sk_scheme_at, description);

const struct sk_scheme_ops *sk_scheme_find(const char *name)
{
    return sk_scheme_at(sk_kind_form(&sk_scheme_kind, name));
}

static void lay_out(struct sk_code *c)
{
    memset(c->data_per_period, 0, sizeof c->data_per_period);
    memset(c->parity_per_period, 0, sizeof c->parity_per_period);
    for (int t = 0; t < c->period; t++)
        for (int i = 0; i < c->members; i++) {
            int index = 0;
            int role = c->scheme->role(c->members, c->parity, c->placement, t, i, &index);
            uint8_t *count = role == SK_ROLE_DATA ? c->data_per_period : c->parity_per_period;
            c->at[t][i].role = (uint8_t)role;
            c->at[t][i].index = (uint8_t)index;
            c->at[t][i].before = count[i];
            if (role != SK_ROLE_NONE)
                count[i]++;
        }
}

int sk_code_init(struct sk_code *c, const char *scheme, int members, int parity, int placement,
                 struct saikai_error *err)
{
    const struct sk_scheme_ops *ops = scheme ? sk_scheme_find(scheme) : NULL;
    if (!ops)
        return sk_kind_unknown(&sk_scheme_kind, NULL, scheme, err);
    if (members < 2 || members > SK_MAX_MEMBERS)
        return sk_fail(err, SAIKAI_EINVAL, "a redundancy group of %d members: 2 to %d are possible",
                       members, SK_MAX_MEMBERS);
    if (parity < 1 || parity > ops->max_parity)
        return sk_fail(err, SAIKAI_EINVAL, "scheme %s with %d parity pieces: 1 to %d are possible",
                       ops->name, parity, ops->max_parity);
    int k = placement == SK_SPREAD || placement == SK_DEDICATED
                ? ops->columns(members, parity, placement)
                : 0;
    if (k < 1 || k > SK_MAX_DATA)
        return sk_fail(err, SAIKAI_EINVAL,
                       "scheme %s cannot keep %d parity pieces of a group of %d members%s: it "
                       "needs from %d to %d",
                       ops->name, parity, members,
                       placement == SK_DEDICATED ? " on members of their own" : "", parity + 1,
                       parity + SK_MAX_DATA);
    *c = (struct sk_code){.scheme = ops,
                          .members = members,
                          .data = k,
                          .parity = parity,
                          .placement = placement,
                          .period = ops->period(members, placement)};
    ops->generator(k, parity, c->generator);
    lay_out(c);
    return 0;
}

enum sk_role sk_code_role(const struct sk_code *c, uint64_t stripe, int member, int *index)
{
    int t = (int)(stripe % (uint64_t)c->period);
    *index = c->at[t][member].index;
    return (enum sk_role)c->at[t][member].role;
}

uint64_t sk_code_block(const struct sk_code *c, uint64_t stripe, int member)
{
    uint64_t turns = stripe / (uint64_t)c->period;
    int t = (int)(stripe % (uint64_t)c->period);
    uint64_t per = c->at[t][member].role == SK_ROLE_DATA ? c->data_per_period[member]
                                                         : c->parity_per_period[member];
    return turns * per + c->at[t][member].before;
}

uint64_t sk_code_stripes(const struct sk_code *c, int member, uint64_t data_blocks)
{
    if (!data_blocks)
        return 0;
    uint64_t per = c->data_per_period[member];
    if (!per)
        return UINT64_MAX;
    uint64_t last = data_blocks - 1;
    for (int t = 0; t < c->period; t++)
        if (c->at[t][member].role == SK_ROLE_DATA && c->at[t][member].before == last % per)
            return last / per * (uint64_t)c->period + (uint64_t)t + 1;
    return UINT64_MAX;
}

uint64_t sk_code_parity_blocks(const struct sk_code *c, int member, uint64_t stripes)
{
    uint64_t n = stripes / (uint64_t)c->period * c->parity_per_period[member];
    for (int t = 0; t < (int)(stripes % (uint64_t)c->period); t++)
        n += c->at[t][member].role == SK_ROLE_PARITY;
    return n;
}
