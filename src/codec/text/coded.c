/* Groups contexts by what their tables would cost, and codes with one table per group. */
#include "codec/text/coded.h"

#include <math.h>
#include <stdlib.h>

typedef uint32_t counts_of[SK_SYMBOLS];

/* Bits of symbols that occur so often, and of their table. */
static double cost(const counts_of c)
{
    double sum = 0, bits = 0;
    int low = SK_SYMBOLS, high = 0;
    for (int s = 0; s < SK_SYMBOLS; s++)
        if (c[s]) {
            sum += c[s];
            bits -= c[s] * (double)log2f((float)c[s]);
            low = s < low ? s : low;
            high = s;
        }
    return sum > 0 ? bits + sum * log2(sum) + 16 + 9 * (high - low + 1) : 0;
}

static void add(counts_of to, const counts_of c)
{
    for (int s = 0; s < SK_SYMBOLS; s++)
        to[s] += c[s];
}

/* Put neighbours together, from the left. group[]: the sums; first[]: the lowest context of each. Returns how many there are. */
static int make_groups(counts_of *counts, counts_of *group, uint8_t *first)
{
    int groups = 0;
    double now = 0;
    for (int k = 0; k < SK_CODED_CONTEXTS; k++) {
        double alone = cost(counts[k]), both;
        counts_of sum;
        if (k && alone == 0)
            continue;
        if (groups) {
            memcpy(sum, group[groups - 1], sizeof sum);
            add(sum, counts[k]);
            both = cost(sum);
            if (both <= now + alone || groups == SK_MIX_GROUPS) {
                memcpy(group[groups - 1], sum, sizeof sum);
                now = both;
                continue;
            }
        }
        first[groups] = (uint8_t)k;
        memcpy(group[groups++], counts[k], sizeof sum);
        now = alone;
    }
    return groups;
}

static void fill(const uint8_t *first, int groups, uint8_t *group_of)
{
    for (int k = 0, g = 0; k < SK_CODED_CONTEXTS; k++) {
        while (g + 1 < groups && k >= first[g + 1])
            g++;
        group_of[k] = (uint8_t)g;
    }
}

struct coder {
    counts_of counts[SK_CODED_CONTEXTS], group[SK_MIX_GROUPS];
    struct sk_mix_model model[SK_MIX_GROUPS];
};

int sk_coded_put(const uint8_t *symbol, const uint8_t *context, size_t n, struct sk_buf *out)
{
    struct coder *c = calloc(1, sizeof *c);
    uint8_t first[SK_MIX_GROUPS], group_of[256] = {0};
    if (!c)
        return SAIKAI_ENOMEM;
    for (size_t i = 0; i < n; i++)
        c->counts[context[i]][symbol[i]]++;
    int groups = make_groups(c->counts, c->group, first);
    fill(first, groups, group_of);
    sk_buf_put_u8(out, (uint8_t)groups);
    sk_buf_put(out, first, (size_t)groups);
    for (int g = 0; g < groups; g++)
        sk_mix_model_put(&c->model[g], c->group[g], out);
    int rc = sk_mix_put(c->model, symbol, context, group_of, n, out);
    free(c);
    return rc ? rc : sk_buf_ok(out) ? 0 : SAIKAI_ENOMEM;
}

int sk_coded_start(struct sk_coded *c, uint32_t (*table)[SK_MIX_ONE], struct sk_rd *in)
{
    int groups = sk_rd_u8(in);
    const uint8_t *first = groups && groups <= SK_MIX_GROUPS ? sk_rd_bytes(in, (size_t)groups) : NULL;
    if (!first)
        return -1;
    for (int g = 0; g < groups; g++)
        if (g ? first[g] <= first[g - 1] : first[g])
            return -1;
    fill(first, groups, c->group_of);
    c->table = table;
    for (int g = 0; g < groups; g++)
        if (sk_mix_model_get(in, table[g]))
            return -1;
    return sk_mix_start(&c->in, in);
}
