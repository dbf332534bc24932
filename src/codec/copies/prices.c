/* Prices follow counts of what was seen, of which older ones count for less. */
#include "codec/copies/prices.h"

#include <string.h>

enum { OFTEN = 64, MOST = 1 << 12 };

/* Of a choice that came so many times out of all; between powers of two a line, which is within a tenth of a bit. */
static uint32_t log_of(uint64_t v)
{
    unsigned whole = 63 - (unsigned)__builtin_clzll(v);
    uint64_t part = whole > 8 ? v >> (whole - 8) : v << (8 - whole);
    return whole * SK_COPIES_BIT + (uint32_t)(part - SK_COPIES_BIT);
}

static void age(uint32_t *count, size_t n, uint64_t all)
{
    for (size_t i = 0; all > MOST && i < n; i++)
        count[i] -= count[i] / 2;
}

static void price(uint32_t *out, uint32_t *count, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += 2 * count[i] + 1;
    for (size_t i = 0; i < n; i++)
        out[i] = log_of(all) - log_of(2 * (uint64_t)count[i] + 1);
    age(count, n, all);
}

/* As if a few had been seen of each small number, as many as those of its length let expect. */
static void price_number(struct sk_copies_number *out, struct sk_copies_number *count)
{
    enum { FEW = 16, UNIT = 1 << 8 };
    uint64_t all = 0;
    uint32_t class[SK_COPIES_CLASSES];
    for (size_t i = 0; i < SK_COPIES_CLASSES; i++) {
        all += count->length[i];
        class[i] = 2 * count->length[i] + 1;
    }
    uint64_t classes = 2 * all + SK_COPIES_CLASSES;
    for (uint32_t v = 0; v < SK_COPIES_EXACTLY; v++) {
        unsigned k = sk_copies_class(v);
        uint64_t expected = (uint64_t)FEW * UNIT * class[k] / (classes << k) + 1;
        out->exact[v] = log_of((all + FEW) * UNIT) - log_of((uint64_t)count->exact[v] * UNIT + expected);
    }
    for (unsigned i = 0; i < SK_COPIES_CLASSES; i++)
        out->length[i] = log_of(classes) - log_of(class[i]) + i * SK_COPIES_BIT;
    age(count->length, SK_COPIES_CLASSES, all);
    age(count->exact, SK_COPIES_EXACTLY, all);
}

static void renew(struct sk_copies_prices *p)
{
    for (int i = 0; i < SK_COPIES_AFTER; i++) {
        price(p->price.kind[i], p->seen.kind[i], SK_COPIES_KINDS);
        price_number(&p->price.copy[i], &p->seen.copy[i]);
        price_number(&p->price.distance[i], &p->seen.distance[i]);
    }
    for (int i = 0; i < 2; i++)
        price_number(&p->price.fresh[i], &p->seen.fresh[i]);
    price(p->price.byte, p->seen.byte, 256);
    price(p->price.changed, p->seen.changed, 256);
    p->steps = 0;
}

static void count(struct sk_copies_number *n, uint32_t v)
{
    n->length[sk_copies_class(v)]++;
    if (v < SK_COPIES_EXACTLY)
        n->exact[v]++;
}

void sk_copies_prices_begin(struct sk_copies_prices *p)
{
    memset(p, 0, sizeof *p);
    for (int i = 0; i < 2; i++)
        for (uint32_t v = 0; v < 8; v++)
            count(&p->seen.fresh[i], v);
    for (int i = 0; i < SK_COPIES_AFTER; i++) {
        p->seen.kind[i][SK_COPIES_SAME] = p->seen.kind[i][SK_COPIES_FAR] = 4;
        for (uint32_t v = 4; v < 64; v += 4)
            count(&p->seen.copy[i], v);
        for (int k = 8; k < 24; k++)
            p->seen.distance[i].length[k]++;
    }
    renew(p);
}

void sk_copies_prices_see(struct sk_copies_prices *p, const struct sk_copies_step *x, const uint8_t *in, uint8_t changed, struct sk_copies_state *s)
{
    struct sk_copies_table *c = &p->seen;
    uint32_t first = s->kept.distance[0];
    count(&c->fresh[s->last == SK_COPIES_SAME], x->fresh);
    c->changed[changed] += changed != 0;
    for (size_t k = changed != 0; k < x->fresh; k++)
        c->byte[in[k]]++;
    if (x->copy) {
        int last = s->last, k;
        s->fresh = x->fresh;
        k = sk_copies_state_copy(s, x->distance);
        c->kind[last < SK_COPIES_OTHER ? last : 2][k]++;
        count(&c->copy[k < SK_COPIES_OTHER ? k : 2], x->copy - 1);
        if (k == SK_COPIES_FAR)
            count(&c->distance[0], x->distance - 1);
        else if (k >= SK_COPIES_NEAR)
            count(&c->distance[1 + (k == SK_COPIES_BACK)], (k == SK_COPIES_BACK ? x->distance - first : first - x->distance) - 1);
    }
    if (++p->steps >= OFTEN)
        renew(p);
}
