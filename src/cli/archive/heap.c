/* Pages are what costs: a buffer of some megabytes that comes from mmap and goes back takes as long to be mapped and cleared as to be compressed quickly. */
#include "cli/archive/heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __GLIBC__
/* The break moves once by all of it, so that one mapping has one advice. */
static int grow(size_t bytes)
{
    enum { USUAL_PAD = 1 << 20, LARGE = 4 << 20 };
    uintptr_t page = 2 << 20, from = (uintptr_t)sbrk(0);
    mallopt(M_TOP_PAD, (int)bytes);
    void *volatile p = malloc(LARGE);
    uintptr_t to = (uintptr_t)sbrk(0);
    mallopt(M_TOP_PAD, USUAL_PAD);
    free(p);
    from = (from + page - 1) & ~(page - 1);
    return to > from && !madvise((void *)from, (to - from) & ~(page - 1), MADV_HUGEPAGE);
}

/* Address space is counted, too, by those who limit it. */
static int is_limited(void)
{
    struct rlimit all, data;
    return getrlimit(RLIMIT_AS, &all) || getrlimit(RLIMIT_DATA, &data) || all.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY;
}

int cli_heap_keep(size_t bytes)
{
    enum { OWN_MAPPING = 32 << 20, KEPT = 1 << 30, MOST = 1 << 30 };
    if (is_limited() || !mallopt(M_MMAP_THRESHOLD, OWN_MAPPING))
        return 0;
    mallopt(M_TRIM_THRESHOLD, KEPT);
    mallopt(M_ARENA_MAX, 1);
    return grow(bytes < MOST ? bytes : MOST);
}
#else
int cli_heap_keep(size_t bytes)
{
    (void)bytes;
    return 0;
}
#endif
