/* Finds which bytes a layout covers, and copies them. */
#include "world/bounce.h"

#include "world/view/alone.h"

#include <stdlib.h>
#include <string.h>

/* Where a block lies, in bytes from the address that the program gave. */
struct block {
    ptrdiff_t at, from; /* that of its call, and that of its first byte */
    size_t n;           /* bytes to its last one */
    int is_whole;       /* all of them are its own; else they are */
    int count;          /* so many elements … */
    MPI_Datatype type;  /* … of this type, which is ours */
};

struct part {
    char *user, *copy;
    ptrdiff_t from; /* of the first byte, against the address that the program gave */
    size_t n;
    const void *given;
};

struct sk_bounce {
    struct part send, recv;
    int n_blocks; /* of recv */
    struct block *block;
};

static struct block lie(MPI_Datatype type, int count, ptrdiff_t at, int in_bytes)
{
    MPI_Aint lb = 0, extent = 0, true_lb = 0, true_extent = 0;
    int size = 0;
    if (count <= 0)
        return (struct block){0};
    SK_CALL(Type_size, (type, &size));
    SK_CALL(Type_get_extent, (type, &lb, &extent));
    SK_CALL(Type_get_true_extent, (type, &true_lb, &true_extent));
    struct block b = {.at = in_bytes ? at : at * extent, .count = count, .type = type};
    ptrdiff_t first = b.at + true_lb, last = first + (ptrdiff_t)(count - 1) * extent;
    b.from = first < last ? first : last;
    b.n = (size_t)((first < last ? last : first) + true_extent - b.from);
    b.is_whole = size == true_extent && (count == 1 || extent == size);
    return b;
}

static struct block nth(const struct sk_spread *l, int i, ptrdiff_t next)
{
    return lie(l->types ? l->types[i] : l->type, l->counts ? l->counts[i] : l->count, l->displs ? l->displs[i] : next, l->types != NULL);
}

static int is_here(const struct sk_spread *l)
{
    return l && l->buf != MPI_IN_PLACE;
}

/* blocks: room for them, NULL: they are not asked for. */
static void measure(const struct sk_spread *l, struct part *p, struct block *blocks)
{
    ptrdiff_t from = 0, to = 0, next = 0;
    *p = (struct part){.given = l ? l->buf : NULL};
    for (int i = 0; is_here(l) && i < l->n_parts; i++) {
        struct block b = nth(l, i, next);
        ptrdiff_t end = b.from + (ptrdiff_t)b.n;
        next += l->counts ? l->counts[i] : l->count;
        if (blocks)
            blocks[i] = b;
        if (b.n && from == to)
            from = b.from, to = end;
        else if (b.n)
            from = b.from < from ? b.from : from, to = end > to ? end : to;
    }
    p->from = from;
    p->n = (size_t)(to - from);
    if (p->n)
        p->user = (char *)((uintptr_t)l->buf + (uintptr_t)from); /* MPI_BOTTOM, too */
}

/* The program may free its types before the end. */
static void keep_types(struct sk_bounce *b)
{
    for (int i = 0; i < b->n_blocks; i++)
        if (b->block[i].n && !b->block[i].is_whole && SK_CALL(Type_dup, (b->block[i].type, &b->block[i].type)))
            sk_world_fail(SK_WORLD_FAILED, "MPI cannot copy a datatype: the job is started again");
}

struct sk_bounce *sk_bounce_new(const struct sk_spread *send, const struct sk_spread *recv)
{
    struct part s, r;
    enum { ALIGNED = 64 };
    int n_blocks = is_here(recv) && recv->n_parts > 0 ? recv->n_parts : 0;
    struct block *block = malloc(sizeof *block * (size_t)(n_blocks + 1));
    if (!block)
        return NULL;
    measure(send, &s, NULL);
    measure(recv, &r, block);
    size_t at = (sizeof(struct sk_bounce) + ALIGNED - 1) / ALIGNED * ALIGNED;
    size_t second = at + (s.n + 2 * ALIGNED - 1) / ALIGNED * ALIGNED;
    struct sk_bounce *b = malloc(second + r.n + ALIGNED);
    if (!b) {
        free(block);
        return NULL;
    }
    s.copy = s.user ? (char *)b + at : NULL;
    r.copy = r.user ? (char *)b + second : NULL;
    if (s.n)
        memcpy(s.copy, s.user, s.n);
    if (r.n) /* with its gaps, and what is there already, which an operation in place begins with */
        memcpy(r.copy, r.user, r.n);
    *b = (struct sk_bounce){s, r, n_blocks, block};
    keep_types(b);
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

static void *moved(const void *p, ptrdiff_t bytes)
{
    return (void *)((uintptr_t)p + (uintptr_t)bytes);
}

static void copy_back(const struct sk_bounce *b, const struct block *k)
{
    const void *from = address(&b->recv);
    if (k->is_whole)
        memcpy(moved(b->recv.given, k->from), moved(from, k->from), k->n);
    else if (sk_alone_copy(moved(from, k->at), k->count, k->type, moved(b->recv.given, k->at), k->count, k->type))
        sk_world_fail(SK_WORLD_FAILED, "MPI cannot copy what has arrived: the job is started again");
}

void sk_bounce_end(struct sk_bounce *b)
{
    for (int i = 0; i < b->n_blocks; i++)
        if (b->block[i].n)
            copy_back(b, &b->block[i]);
    sk_bounce_free(b);
}

void sk_bounce_free(struct sk_bounce *b)
{
    for (int i = 0; i < b->n_blocks; i++)
        if (b->block[i].n && !b->block[i].is_whole)
            SK_CALL(Type_free, (&b->block[i].type));
    free(b->block);
    free(b);
}
