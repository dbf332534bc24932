/* The pool of a snapshot: pages copied aside, in a ring, taken out in the order in which they
 * came. */
#include "capture/cow/cow_pool.h"

struct sk_aside *sk_pool_reserve(struct sk_pool *p, uintptr_t addr, size_t n)
{
    if (p->count == p->slots)
        return NULL;
    int wrap = n > p->cap - p->head; /* runs are in one piece */
    size_t waste = wrap ? p->cap - p->head : 0;
    if (p->used + waste + n > p->cap)
        return NULL;
    size_t at = wrap ? 0 : p->head;
    struct sk_aside *a = &p->v[(p->first + p->count++) % p->slots];
    *a = (struct sk_aside){addr, n, at, waste + n, 0};
    p->head = at + n;
    p->used += waste + n;
    return a;
}

uint8_t *sk_pool_put(struct sk_pool *p, uintptr_t addr, size_t n)
{
    struct sk_aside *a = sk_pool_reserve(p, addr, n);
    if (!a)
        return NULL;
    a->filled = 1;
    return p->mem + a->at;
}

struct sk_aside *sk_pool_first(struct sk_pool *p)
{
    return p->count ? &p->v[p->first] : NULL;
}

void sk_pool_drop_first(struct sk_pool *p)
{
    const struct sk_aside *a = &p->v[p->first];
    p->used -= a->taken;
    p->first = (p->first + 1) % p->slots;
    if (!--p->count)
        p->head = p->used = 0; /* begin again with the pages that are already touched */
}

void sk_pool_clear(struct sk_pool *p)
{
    p->head = p->used = p->first = p->count = 0;
}
