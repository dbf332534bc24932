/* Memory of the program, whose lifetime is not ours. */
#ifndef SK_BASE_MEMORY_H
#define SK_BASE_MEMORY_H

#include <stddef.h>

/* 1: all pages of [p, p + bytes) are mapped, and the first and the last can be read. What was given back to the system is found
 * so; what the allocator still has, or has given to others, cannot be. Takes about a microsecond whatever the size. */
int sk_memory_can_be_read(const void *p, size_t bytes);

#endif
