/* The heap of a program that takes and gives back large buffers again and again. */
#ifndef CLI_ARCHIVE_HEAP_H
#define CLI_ARCHIVE_HEAP_H

#include <stddef.h>

/* Of the whole process, for tools alone, before threads are started: what is given back to the allocator stays with the process, threads share
 * one heap, and the next `bytes` of it are asked for in huge pages, so that the system need not find, clear and map small pages anew for each
 * buffer. What is not touched costs nothing but address space. Where the system or the C library do not do so, or address space
 * is limited (ulimit -v, -d), all stays as it was. 1: it is so. */
int cli_heap_keep(size_t bytes);

#endif
