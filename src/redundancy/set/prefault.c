/* Asks the kernel for the next pages of a mapping, some megabytes at a time. */
#include "redundancy/set/prefault.h"

#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

void sk_prefault(void *map, size_t size, uint64_t end, uint64_t *done)
{
    enum { AHEAD = 2 << 20 };
    while (*done < end && *done < size) {
        size_t n = size - *done < AHEAD ? size - *done : AHEAD;
        madvise((char *)map + *done, n, MADV_POPULATE_READ);
        *done += n;
    }
}
