/* A table of numbers by the hashes of names, never more than half full. */
#include "base/text/lookup.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

_Thread_local unsigned long sk_lookup_compared;

static const char *name_of(const void *array, size_t element_bytes, size_t i)
{
    return (const char *)array + i * element_bytes;
}

static int is_same(const char *a, const char *b)
{
    sk_lookup_compared++;
    return !strcmp(a, b);
}

static void put(struct sk_lookup *t, const char *name, size_t number)
{
    size_t at = (size_t)sk_hash64(name, strlen(name)) & (t->slots - 1);
    while (t->slot[at])
        at = (at + 1) & (t->slots - 1);
    t->slot[at] = (uint32_t)number + 1;
}

int sk_lookup_add(struct sk_lookup *t, const void *array, size_t element_bytes)
{
    if (t->count >= UINT32_MAX)
        return -1;
    if (2 * (t->count + 1) > t->slots) {
        struct sk_lookup more = {.slots = t->slots ? 2 * t->slots : 32};
        if (!(more.slot = calloc(more.slots, sizeof *more.slot)))
            return -1;
        for (; more.count < t->count; more.count++)
            put(&more, name_of(array, element_bytes, more.count), more.count);
        free(t->slot);
        *t = more;
    }
    put(t, name_of(array, element_bytes, t->count), t->count);
    t->count++;
    return 0;
}

ptrdiff_t sk_lookup_find(const struct sk_lookup *t, const void *array, size_t element_bytes, size_t count, const char *name)
{
    if (t->count != count) { /* it does not know all */
        for (size_t i = 0; i < count; i++)
            if (is_same(name_of(array, element_bytes, i), name))
                return (ptrdiff_t)i;
        return -1;
    }
    for (size_t at = count ? (size_t)sk_hash64(name, strlen(name)) & (t->slots - 1) : 0; count && t->slot[at]; at = (at + 1) & (t->slots - 1))
        if (is_same(name_of(array, element_bytes, t->slot[at] - 1), name))
            return (ptrdiff_t)t->slot[at] - 1;
    return -1;
}

void sk_lookup_forget(struct sk_lookup *t)
{
    free(t->slot);
    *t = (struct sk_lookup){0};
}
