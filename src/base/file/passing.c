/* The list of what is to go, and its lock. */
#include "base/file/passing.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t making = PTHREAD_RWLOCK_INITIALIZER;
static struct sk_passing *all;

void sk_passing_hold(void)
{
    pthread_mutex_lock(&lock);
}

void sk_passing_release(void)
{
    pthread_mutex_unlock(&lock);
}

void sk_passing_make_begin(void)
{
    pthread_rwlock_rdlock(&making);
}

void sk_passing_make_end(void)
{
    pthread_rwlock_unlock(&making);
}

void sk_passing_begin(struct sk_passing *p)
{
    p->next = all;
    all = p;
}

void sk_passing_end(struct sk_passing *p)
{
    pthread_mutex_lock(&lock);
    struct sk_passing **at = &all;
    while (*at && *at != p)
        at = &(*at)->next;
    if (*at)
        *at = p->next;
    pthread_mutex_unlock(&lock);
}

void sk_passing_drop_all(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 2;
    pthread_mutex_timedlock(&lock, &end);
    end.tv_sec += 2;
    pthread_rwlock_timedwrlock(&making, &end);
    for (struct sk_passing *p = all; p; p = p->next)
        p->drop(p->arg);
}
