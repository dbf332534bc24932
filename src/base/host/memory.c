/* Asks the kernel whether a range of memory can be read, without touching it. */
#include "base/host/memory.h"

#include "base/own/own.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2] = {-1, -1}; /* of a pipe, through which one byte goes at a time */

/* 1: there is a pipe, and it is the one that was made here: a program may close all descriptors, and open files in their places. */
static int has_pipe(void)
{
    if (ends[0] >= 0 && sk_own_is(ends[0]) && sk_own_is(ends[1]))
        return 1;
    for (int i = 0; i < 2; i++)
        sk_own_close(ends[i]);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
        ends[0] = ends[1] = -1;
        return 0;
    }
    for (int i = 0; i < 2; i++)
        ends[i] = sk_own(ends[i], SK_OWN_STAYS);
    return 1;
}

/* The kernel looks, instead of us: an address that cannot be read is an error then and not a signal. */
static int can_read(const char *p)
{
    char byte;
    ssize_t n;
    if (!has_pipe())
        return 1; /* no descriptors: whether it is mapped is known all the same */
    while ((n = write(ends[1], p, 1)) < 0 && errno == EINTR)
        ;
    if (n < 0)
        return errno != EFAULT;
    while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
        ;
    return 1;
}

int sk_memory_can_be_read(const void *p, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)p & ~(uintptr_t)(page - 1), end;
    if (!bytes)
        return 1;
    if (__builtin_add_overflow((uintptr_t)p, bytes - 1, &end))
        return 0;
    /* writes nothing (Linux): it only walks the mappings */
    if (msync((void *)from, end - from + 1, MS_ASYNC) && errno == ENOMEM)
        return 0;
    pthread_mutex_lock(&lock);
    int ok = can_read(p) && can_read((const char *)end);
    pthread_mutex_unlock(&lock);
    return ok;
}
