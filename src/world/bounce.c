/* Finds which bytes a layout covers, and copies them. */
#include "world/bounce.h"

#include <stdlib.h>
#include <string.h>

struct part {
    char *user, *copy;
    ptrdiff_t from; /* of the first byte, against the address that the program gave */
    size_t n;
    const void *given;
};

struct sk_bounce {
    struct part send, recv;
};

/* Bytes of count elements from displacement at on: *from … *to, widened. */
static void cover(MPI_Datatype type, int count, ptrdiff_t at, int in_bytes, ptrdiff_t *from, ptrdiff_t *to)
{
    MPI_Aint lb = 0, extent = 0, true_lb = 0, true_extent = 0;
    if (count <= 0)
        return;
    SK_CALL(Type_get_extent, (type, &lb, &extent));
    SK_CALL(Type_get_true_extent, (type, &true_lb, &true_extent));
    ptrdiff_t first = (in_bytes ? at : at * extent) + true_lb, last = first + (ptrdiff_t)(count - 1) * extent;
    ptrdiff_t low = first < last ? first : last, high = (first < last ? last : first) + true_extent;
    if (*from == *to) {
        *from = low;
        *to = high;
    } else {
        *from = low < *from ? low : *from;
        *to = high > *to ? high : *to;
    }
}

static void measure(const struct sk_spread *l, struct part *p)
{
    ptrdiff_t from = 0, to = 0;
    *p = (struct part){.given = l ? l->buf : NULL};
    if (!l || l->buf == MPI_IN_PLACE)
        return;
    if (!l->counts)
        cover(l->type, l->count, 0, 0, &from, &to);
    for (int i = 0, next = 0; l->counts && i < l->n_parts; next += l->counts[i++])
        cover(l->types ? l->types[i] : l->type, l->counts[i], l->displs ? l->displs[i] : next, l->types != NULL, &from, &to);
    p->from = from;
    p->n = (size_t)(to - from);
    p->user = (char *)((uintptr_t)l->buf + (uintptr_t)from); /* MPI_BOTTOM, too */
}

struct sk_bounce *sk_bounce_new(const struct sk_spread *send, const struct sk_spread *recv)
{
    struct part s, r;
    enum { ALIGNED = 64 };
    measure(send, &s);
    measure(recv, &r);
    size_t at = (sizeof(struct sk_bounce) + ALIGNED - 1) / ALIGNED * ALIGNED;
    size_t second = at + (s.n + 2 * ALIGNED - 1) / ALIGNED * ALIGNED;
    struct sk_bounce *b = malloc(second + r.n + ALIGNED);
    if (!b)
        return NULL;
    s.copy = s.user ? (char *)b + at : NULL;
    r.copy = r.user ? (char *)b + second : NULL;
    if (s.n)
        memcpy(s.copy, s.user, s.n);
    if (r.n) /* with its gaps, and what is there already, which an operation in place begins with */
        memcpy(r.copy, r.user, r.n);
    b->send = s;
    b->recv = r;
    return b;
}

static void *address(const struct part *p)
{
    return p->copy ? (void *)((uintptr_t)p->copy - (uintptr_t)p->from) : (void *)p->given;
}

const void *sk_bounce_send(const struct sk_bounce *b)
{
    return address(&b->send);
}

void *sk_bounce_recv(const struct sk_bounce *b)
{
    return address(&b->recv);
}

void sk_bounce_end(struct sk_bounce *b)
{
    if (b->recv.n)
        memcpy(b->recv.user, b->recv.copy, b->recv.n);
    free(b);
}

void sk_bounce_free(struct sk_bounce *b)
{
    free(b);
}
