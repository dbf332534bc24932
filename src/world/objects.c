/* Open addressing with linear probing; what is removed is closed up behind, so that nothing gathers. */
#include "world/objects.h"

#include <stdlib.h>

static size_t place(const struct sk_objects *t, uint64_t key)
{
    return (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (t->slots - 1);
}

struct sk_object *sk_objects_find(const struct sk_objects *t, uint64_t key)
{
    if (!t->count)
        return NULL;
    for (size_t i = place(t, key); t->slot[i].key; i = (i + 1) & (t->slots - 1))
        if (t->slot[i].key == key)
            return &t->slot[i];
    return NULL;
}

static struct sk_object *put(struct sk_objects *t, const struct sk_object *o)
{
    size_t i = place(t, o->key);
    while (t->slot[i].key)
        i = (i + 1) & (t->slots - 1);
    t->slot[i] = *o;
    t->count++;
    return &t->slot[i];
}

static int grow(struct sk_objects *t)
{
    struct sk_objects new = {.slots = t->slots ? 2 * t->slots : 64};
    new.slot = calloc(new.slots, sizeof *new.slot);
    if (!new.slot)
        return -1;
    for (size_t i = 0; i < t->slots; i++)
        if (t->slot[i].key)
            put(&new, &t->slot[i]);
    free(t->slot);
    *t = new;
    return 0;
}

struct sk_object *sk_objects_add(struct sk_objects *t, uint64_t key)
{
    struct sk_object *o = sk_objects_find(t, key);
    if (o)
        return o;
    if (2 * (t->count + 1) > t->slots && grow(t))
        return NULL;
    return put(t, &(struct sk_object){.key = key});
}

void sk_objects_remove(struct sk_objects *t, uint64_t key)
{
    struct sk_object *o = sk_objects_find(t, key);
    if (!o)
        return;
    size_t mask = t->slots - 1, hole = (size_t)(o - t->slot);
    for (size_t i = (hole + 1) & mask; t->slot[i].key; i = (i + 1) & mask) {
        size_t home = place(t, t->slot[i].key);
        if (((i - home) & mask) >= ((i - hole) & mask)) { /* it may stand in the hole */
            t->slot[hole] = t->slot[i];
            hole = i;
        }
    }
    t->slot[hole] = (struct sk_object){0};
    t->count--;
}

void sk_objects_free(struct sk_objects *t)
{
    free(t->slot);
    *t = (struct sk_objects){0};
}
