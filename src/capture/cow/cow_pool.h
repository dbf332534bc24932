/* The pool of a snapshot: pages copied aside until they are handed on. */
#ifndef SK_CAPTURE_COW_POOL_H
#define SK_CAPTURE_COW_POOL_H

#include <stddef.h>
#include <stdint.h>

/* Copies of memory in the order they were made: a ring of bytes and a ring of what they are. Not
 * locked. */
struct sk_pool {
    uint8_t *mem;
    size_t cap, head, used; /* used counts what a wrap wastes, too */
    struct sk_aside {
        uintptr_t addr;
        size_t n, at, taken;
        int filled;
    } * v;
    size_t slots, first, count;
};

/* Room for n <= SK_CHUNK_BYTES bytes of what was at addr; NULL: full. The caller sets `filled` when
 * the bytes are there; the entry stays where it is until it is dropped. */
struct sk_aside *sk_pool_reserve(struct sk_pool *p, uintptr_t addr, size_t n);
/* The same for who fills it before anybody else looks. */
uint8_t *sk_pool_put(struct sk_pool *p, uintptr_t addr, size_t n);
/* The oldest one, NULL: empty. */
struct sk_aside *sk_pool_first(struct sk_pool *p);
void sk_pool_drop_first(struct sk_pool *p);
void sk_pool_clear(struct sk_pool *p);

#endif
