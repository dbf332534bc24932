/* Names in an array, found by hashing: to look one up costs about the same however many there are. The array stays its owner's, each of
 * its elements begins with its name (a text that ends with 0), and they are known by their numbers, so that the array may move.
 * Open addressing with linear probing (Knuth, The Art of Computer Programming 3, 6.4). Several threads may find at a time; whoever
 * changes a table has it alone. */
#ifndef SK_BASE_LOOKUP_H
#define SK_BASE_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

/* All 0 is an empty one. */
struct sk_lookup {
    uint32_t *slot; /* number + 1, 0: free */
    size_t slots, count;
};

/* The element behind those that it knows, whose name is none of theirs. -1: no memory; it knows what it knew, and sk_lookup_find of more
 * elements looks at each then, as it does when this was never called. */
int sk_lookup_add(struct sk_lookup *t, const void *array, size_t element_bytes);
/* The number of the element of array[count] with this name, -1: none. */
ptrdiff_t sk_lookup_find(const struct sk_lookup *t, const void *array, size_t element_bytes, size_t count, const char *name);
/* It knows none: when an element has left, all others are added anew. */
void sk_lookup_forget(struct sk_lookup *t);

/* For tests: so many names were compared by this thread. */
extern _Thread_local unsigned long sk_lookup_compared;

#endif
