/* Lists of what was found in a file. */
#include "reader/scan.h"
#include "reader/reader.h"

#include <stdlib.h>
#include <string.h>

int sk_scan_add(struct sk_scan *scan, const struct sk_extent *e, const char *name)
{
    if (scan->count == scan->cap) {
        size_t cap = scan->cap ? 2 * scan->cap : 32;
        struct sk_extent *more = realloc(scan->extents, cap * sizeof *more);
        if (!more)
            return SAIKAI_ENOMEM;
        scan->extents = more;
        scan->cap = cap;
    }
    char *copy = strdup(name ? name : e->name ? e->name : "");
    if (!copy)
        return SAIKAI_ENOMEM;
    scan->extents[scan->count] = *e;
    scan->extents[scan->count++].name = copy;
    return 0;
}

void sk_scan_free(struct sk_scan *scan)
{
    if (!scan)
        return;
    for (size_t i = 0; i < scan->count; i++)
        free(scan->extents[i].name);
    free(scan->extents);
    *scan = (struct sk_scan){0};
}
