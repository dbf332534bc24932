/* Chunks that are mapped, and pieces of them. */
#include "world/arena/arena.h"

#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; before, pages come one by one */
#endif

enum { ALIGNED = 16, LARGEST_PAGE = 64 << 10, AHEAD = 256 << 10 };

struct sk_arena_chunk {
    struct sk_arena_chunk *next; /* among the spare ones */
    size_t bytes, used, pieces;  /* used: from its beginning, this head included */
    size_t there;                /* so much of it has memory behind it */
};

/* Stands before each piece. */
struct head {
    struct sk_arena_chunk *of;
} __attribute__((aligned(ALIGNED)));

static size_t up(size_t n, size_t to)
{
    return (n + to - 1) & ~(to - 1);
}

enum { FIRST = (sizeof(struct sk_arena_chunk) + ALIGNED - 1) / ALIGNED * ALIGNED };

static void clear(struct sk_arena_chunk *c)
{
    c->used = FIRST;
    c->pieces = 0;
    c->next = NULL;
}

static void unmap(struct sk_arena *a, struct sk_arena_chunk *c)
{
    a->mapped -= c->bytes;
    munmap(c, c->bytes);
}

/* What it takes from the system, it gives back of what is spare. */
static struct sk_arena_chunk *map(struct sk_arena *a, size_t bytes)
{
    for (size_t gone = 0; a->spare && gone < bytes;) {
        struct sk_arena_chunk *c = a->spare;
        a->spare = c->next;
        gone += c->bytes;
        unmap(a, c);
    }
    struct sk_arena_chunk *c = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c == MAP_FAILED)
        return NULL;
    c->bytes = bytes;
    c->there = 0;
    a->mapped += bytes;
    clear(c);
    return c;
}

/* One with so many bytes, and not many more. */
static struct sk_arena_chunk *take_chunk(struct sk_arena *a, size_t bytes)
{
    for (struct sk_arena_chunk **at = &a->spare, *c; (c = *at); at = &c->next)
        if (c->bytes >= bytes && c->bytes - bytes <= bytes / 8) {
            *at = c->next;
            c->next = NULL;
            return c;
        }
    return map(a, bytes);
}

static void give_chunk(struct sk_arena *a, struct sk_arena_chunk *c)
{
    clear(c);
    if (c == a->now)
        return;
    c->next = a->spare;
    a->spare = c;
}

/* Many pages by one call: a fault for each 4 KiB costs more than what is copied there. */
static void bring(struct sk_arena_chunk *c, size_t until)
{
    size_t to = up(until, AHEAD);
    if (to > c->bytes)
        to = c->bytes;
    madvise((char *)c + c->there, to - c->there, MADV_POPULATE_WRITE);
    c->there = to;
}

static void *cut(struct sk_arena_chunk *c, size_t whole)
{
    if (c->used + whole > c->there)
        bring(c, c->used + whole);
    struct head *h = (struct head *)((char *)c + c->used);
    h->of = c;
    c->used += whole;
    c->pieces++;
    return h + 1;
}

void *sk_arena_take(struct sk_arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 4)
        return NULL;
    size_t whole = sizeof(struct head) + up(bytes, ALIGNED);
    if (whole > SK_ARENA_PIECE) {
        struct sk_arena_chunk *own = take_chunk(a, up(FIRST + whole, LARGEST_PAGE));
        return own ? cut(own, whole) : NULL;
    }
    if (!a->now || a->now->bytes - a->now->used < whole) {
        struct sk_arena_chunk *c = take_chunk(a, SK_ARENA_CHUNK);
        if (!c)
            return NULL;
        sk_arena_part(a);
        a->now = c;
    }
    return cut(a->now, whole);
}

void sk_arena_give(struct sk_arena *a, void *piece)
{
    struct sk_arena_chunk *c = ((struct head *)piece - 1)->of;
    if (!--c->pieces)
        give_chunk(a, c);
}

void sk_arena_part(struct sk_arena *a)
{
    struct sk_arena_chunk *c = a->now;
    a->now = NULL;
    if (c && !c->pieces)
        give_chunk(a, c);
}

void sk_arena_free(struct sk_arena *a)
{
    sk_arena_part(a);
    for (struct sk_arena_chunk *c; (c = a->spare);) {
        a->spare = c->next;
        unmap(a, c);
    }
    *a = (struct sk_arena){0};
}
