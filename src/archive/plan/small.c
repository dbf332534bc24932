/* Each class is looked at, and compressed, by itself: of a few kilobytes that takes long, and finds little that repeats. */
#include "archive/plan/small.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 64, LITTLE = 64 << 10, LITTLE_MEAN = 16 << 10 };

/* The class of all whose names end alike: the key up to the name, and the ending. */
static void key_of_ending(const char *key, char *out, size_t cap)
{
    enum { ENDING = 12 };
    const char *colon = strrchr(key, ':'), *name = colon ? colon + 1 : key, *dot = strrchr(name, '.');
    snprintf(out, cap, "%.*s*%s", (int)(name - key), key, dot && strlen(dot) <= ENDING ? dot : "");
}

/* Whether a class is to be that of its ending. In the archive before it stands as one or the other, whatever it has now: of a tree of which little changed there are
 * few classes left, and one of them grows beyond LITTLE. */
static int is_small(const struct sk_ska *before, const char *key, const char *ending, uint64_t bytes, int many)
{
    if (before && sk_previous_home(before, key))
        return 0;
    return (many && bytes < LITTLE) || (before && sk_previous_home(before, ending));
}

/* New classes in place of those from `first` on; to[k]: which one the k-th of them has become. before: NULL, or the archive before; many: there are many of them. */
static int rename_classes(struct sk_ska *a, size_t first, size_t count, const uint64_t *bytes, const struct sk_ska *before, int many, uint32_t *to)
{
    struct sk_ska_class *old = malloc((count + 1) * sizeof *old);
    int rc = old ? 0 : SAIKAI_ENOMEM;
    for (size_t k = 0; k < count && !rc; k++) {
        old[k] = a->classes[first + k];
        a->classes[first + k].key = NULL;
    }
    if (!rc)
        rc = sk_ska_drop_classes(a, first);
    for (size_t k = 0; k < count && old; k++) {
        char key[1024];
        struct sk_ska_class c = old[k];
        key_of_ending(c.key, key, sizeof key);
        if (is_small(before, c.key, key, bytes[k], many))
            c.key = key;
        int at = rc ? rc : sk_ska_add_class(a, &c);
        rc = at < 0 ? at : 0;
        to[k] = rc ? 0 : (uint32_t)at;
        free(old[k].key);
    }
    free(old);
    return rc;
}

int sk_small_merge(struct sk_ska_plan *p, size_t first, struct sk_small_piece *list, size_t n)
{
    const struct sk_ska *before = p->previous ? p->previous->a : NULL;
    size_t count = p->a.class_count - first;
    uint64_t all = 0, *bytes = NULL;
    uint32_t *to = NULL;
    for (size_t i = 0; i < n; i++)
        all += list[i].bytes;
    int many = count > MANY && all / count <= LITTLE_MEAN;
    if (!many && (!before || !count))
        return 0;
    bytes = calloc(count, sizeof *bytes);
    to = malloc(count * sizeof *to);
    int rc = bytes && to ? 0 : SAIKAI_ENOMEM;
    for (size_t i = 0; i < n && !rc; i++)
        bytes[list[i].class_index - first] += list[i].bytes;
    rc = rc ? rc : rename_classes(&p->a, first, count, bytes, before, many, to);
    for (size_t i = 0; i < n && !rc; i++)
        list[i].class_index = to[list[i].class_index - first];
    free(bytes);
    free(to);
    return rc;
}
