/* Looks files up by their names: a tree of hard links asks for as many as it has files. */
#include "archive/file/names.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *x, const void *y)
{
    const struct sk_named *a = x, *b = y;
    int c = strcmp(a->name, b->name);
    return c ? c : (a->file > b->file) - (a->file < b->file);
}

int sk_names_init(struct sk_names *n, const struct sk_ska *a)
{
    *n = (struct sk_names){calloc(a->file_count, sizeof *n->list), a->file_count};
    if (!n->list)
        return SAIKAI_ENOMEM;
    for (size_t f = 0; f < n->count; f++)
        n->list[f] = (struct sk_named){a->files[f].name, (uint32_t)f};
    if (n->count)
        qsort(n->list, n->count, sizeof *n->list, by_name);
    return 0;
}

void sk_names_free(struct sk_names *n)
{
    free(n->list);
    *n = (struct sk_names){0};
}

int64_t sk_names_find(const struct sk_names *n, const char *name)
{
    size_t low = 0, high = n->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (strcmp(n->list[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n->count && !strcmp(n->list[low].name, name) ? (int64_t)n->list[low].file : -1;
}
