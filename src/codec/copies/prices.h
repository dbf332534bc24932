/* About what steps take, by those before. All local; nothing blocks. */
#ifndef SK_CODEC_COPIES_PRICES_H
#define SK_CODEC_COPIES_PRICES_H

#include "codec/copies/steps.h"

/* In parts of a bit. */
enum { SK_COPIES_BIT = 256, SK_COPIES_CLASSES = 32, SK_COPIES_AFTER = 3, SK_COPIES_EXACTLY = 64 };

/* A number is priced by how long it is, in bits, and if it is small by itself, too: programs write lines and numbers of the same lengths. */
struct sk_copies_number {
    uint32_t length[SK_COPIES_CLASSES], exact[SK_COPIES_EXACTLY];
};

struct sk_copies_table {
    struct sk_copies_number fresh[2], copy[SK_COPIES_AFTER], distance[3];
    uint32_t kind[SK_COPIES_AFTER][SK_COPIES_KINDS], byte[256], changed[256]; /* changed: a byte after a copy, by what differs from the one that would be next */
};

struct sk_copies_prices {
    struct sk_copies_table seen, price; /* how often, and what it takes */
    uint32_t steps;                     /* since the prices were made */
};

/* Where a parse is: the last distances, the kind of the last copy, new bytes since. */
struct sk_copies_state {
    struct sk_copies_kept kept;
    uint32_t fresh;
    int last;
};

/* As of steps of all sorts. */
void sk_copies_prices_begin(struct sk_copies_prices *p);

/* Take notice of a step that makes bytes from `in` on, from a state, which is that behind it then; changed: as below, of its first new byte. Prices follow now and
 * then. */
void sk_copies_prices_see(struct sk_copies_prices *p, const struct sk_copies_step *x, const uint8_t *in, uint8_t changed, struct sk_copies_state *s);

static inline unsigned sk_copies_class(uint32_t v)
{
    return 63 - (unsigned)__builtin_clzll((uint64_t)v + 1);
}

/* A copy from so far away follows: its kind, and the state is that behind it. */
static inline int sk_copies_state_copy(struct sk_copies_state *s, uint32_t distance)
{
    s->last = sk_copies_kind(&s->kept, distance, s->fresh);
    sk_copies_keep(&s->kept, distance);
    s->fresh = 0;
    return s->last;
}

static inline uint32_t sk_copies_price_number(const struct sk_copies_number *n, uint32_t v)
{
    return v < SK_COPIES_EXACTLY ? n->exact[v] : n->length[sk_copies_class(v)];
}

/* Of a copy in a state, all but its length; *kind: its own. */
static inline uint32_t sk_copies_price_from(const struct sk_copies_prices *p, const struct sk_copies_state *s, uint32_t distance, int *kind)
{
    uint32_t first = s->kept.distance[0];
    int k = *kind = sk_copies_kind(&s->kept, distance, s->fresh);
    uint32_t price = p->price.kind[s->last < SK_COPIES_OTHER ? s->last : 2][k];
    if (k == SK_COPIES_FAR)
        price += sk_copies_price_number(&p->price.distance[0], distance - 1);
    else if (k == SK_COPIES_NEAR)
        price += sk_copies_price_number(&p->price.distance[1], first - 1 - distance);
    else if (k == SK_COPIES_BACK)
        price += sk_copies_price_number(&p->price.distance[2], distance - first - 1);
    return price + p->price.fresh[k == SK_COPIES_SAME].exact[0];
}

/* What a copy's length less one takes after its kind. */
static inline const struct sk_copies_number *sk_copies_price_lengths(const struct sk_copies_prices *p, int kind)
{
    return &p->price.copy[kind < SK_COPIES_OTHER ? kind : 2];
}

/* Of a copy of so many bytes in a state. */
static inline uint32_t sk_copies_price_copy(const struct sk_copies_prices *p, const struct sk_copies_state *s, uint32_t distance, uint32_t length)
{
    int kind;
    uint32_t from = sk_copies_price_from(p, s, distance, &kind);
    return from + sk_copies_price_number(sk_copies_price_lengths(p, kind), length - 1);
}

/* Of one more new byte in a state; changed: by what it differs from the one that would be copied, 0 where that is not the question. */
static inline uint32_t sk_copies_price_fresh(const struct sk_copies_prices *p, const struct sk_copies_state *s, uint8_t v, uint8_t changed)
{
    const struct sk_copies_number *fresh = &p->price.fresh[s->last == SK_COPIES_SAME];
    return (changed ? p->price.changed[changed] : p->price.byte[v]) + sk_copies_price_number(fresh, s->fresh + 1) - sk_copies_price_number(fresh, s->fresh);
}

#endif
