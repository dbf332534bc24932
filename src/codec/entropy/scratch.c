/* Blocks that a thread keeps for its next piece: the best one that fits is taken, and the memory
 * goes back when the thread ends. */
#include "codec/entropy/scratch.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A sanitizer is to see every use after the end. */
#if defined(__SANITIZE_ADDRESS__)
#define SK_KEEP 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define SK_KEEP 0
#endif
#endif
#ifndef SK_KEEP
#define SK_KEEP 1
#endif

enum { HEAD = 64, BLOCKS = 16, KEPT_BYTES = 32 << 20, REST_BYTES = 8 << 20, HUGE = 2 << 20 };

struct head {
    size_t size; /* without the head */
};

struct kept {
    struct head *block[BLOCKS];
    int n;
    size_t bytes;
};

/* What a thread keeps for its next piece; the key has it freed when the thread ends. */
static _Thread_local struct kept kept;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int have_key;

static void drop(void *arg)
{
    struct kept *k = arg;
    while (k->n)
        free(k->block[--k->n]);
    k->bytes = 0;
}

static void make_key(void)
{
    have_key = !pthread_key_create(&key, drop);
}

static struct head *head_of(void *block)
{
    return (struct head *)(void *)((uint8_t *)block - HEAD);
}

static void *body_of(struct head *h)
{
    return (uint8_t *)h + HEAD;
}

/* The smallest kept block that is large enough, but not for far more. */
static struct head *find(size_t n)
{
    int best = -1;
    for (int i = 0; i < kept.n; i++)
        if (kept.block[i]->size >= n && kept.block[i]->size / 4 <= n &&
            (best < 0 || kept.block[i]->size < kept.block[best]->size))
            best = i;
    if (best < 0)
        return NULL;
    struct head *h = kept.block[best];
    kept.block[best] = kept.block[--kept.n];
    kept.bytes -= h->size;
    return h;
}

/* Large blocks are of huge pages, where the system has them: touching small ones for the first time took up to a third of the time of
 * reading an array. */
static struct head *new_block(size_t n)
{
    size_t all = n + HEAD, alignment = all < HUGE ? HEAD : HUGE;
    if (all > SIZE_MAX - HUGE)
        return NULL;
    all = (all + alignment - 1) / alignment * alignment;
    struct head *h = aligned_alloc(alignment, all);
    if (h && alignment == HUGE)
        madvise(h, all, MADV_HUGEPAGE);
    return h;
}

void *sk_scratch_take(size_t n)
{
    if (n > SIZE_MAX - 2 * HEAD)
        return NULL;
    n = (n + HEAD - 1) / HEAD * HEAD;
    struct head *h = find(n);
    if (h)
        return body_of(h);
    h = new_block(n);
    if (!h)
        return NULL;
    h->size = n;
    return body_of(h);
}

void *sk_scratch_take_zeros(size_t n)
{
    void *p = sk_scratch_take(n);
    return p ? memset(p, 0, n) : NULL;
}

void *sk_scratch_grow(void *block, size_t used, size_t n)
{
    if (block && head_of(block)->size >= n)
        return block;
    void *p = sk_scratch_take(n);
    if (p && used)
        memcpy(p, block, used);
    if (p)
        sk_scratch_give(block);
    return p;
}

static void drop_oldest(void)
{
    kept.bytes -= kept.block[0]->size;
    free(kept.block[0]);
    memmove(&kept.block[0], &kept.block[1], (size_t)--kept.n * sizeof kept.block[0]);
}

void sk_scratch_give(void *block)
{
    if (!block)
        return;
    struct head *h = head_of(block);
    pthread_once(&once, make_key);
    if (!SK_KEEP || !have_key || h->size > KEPT_BYTES || pthread_setspecific(key, &kept)) {
        free(h);
        return;
    }
    while (kept.n && (kept.n == BLOCKS || kept.bytes + h->size > KEPT_BYTES))
        drop_oldest();
    kept.block[kept.n++] = h;
    kept.bytes += h->size;
}

void sk_scratch_rest(void)
{
    while (kept.bytes > REST_BYTES)
        drop_oldest();
}
