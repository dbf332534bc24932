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

/* REST_BYTES: what arrays of some MB take is not lent, since the next one would have it back at once. */
enum { HEAD = 64, BLOCKS = 16, KEPT_BYTES = 64 << 20, REST_BYTES = 32 << 20, HUGE = 2 << 20 };

struct head {
    size_t size; /* without the head */
};

/* Sizes stand here, too: what was lent to the system may have lost its head. */
struct kept {
    struct head *block[BLOCKS];
    size_t size[BLOCKS];
    uint8_t lent[BLOCKS];
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

/* Take block i from the list; the others stay in the order of their age. */
static struct head *take_out(int i)
{
    struct head *h = kept.block[i];
    size_t rest = (size_t)(--kept.n - i);
    kept.bytes -= kept.size[i];
    h->size = kept.size[i];
    memmove(&kept.block[i], &kept.block[i + 1], rest * sizeof kept.block[0]);
    memmove(&kept.size[i], &kept.size[i + 1], rest * sizeof kept.size[0]);
    memmove(&kept.lent[i], &kept.lent[i + 1], rest);
    return h;
}

/* The smallest kept block that is large enough, but not for far more. */
static struct head *find(size_t n)
{
    int best = -1;
    for (int i = 0; i < kept.n; i++)
        if (kept.size[i] >= n && kept.size[i] / 4 <= n &&
            (best < 0 || kept.size[i] < kept.size[best]))
            best = i;
    return best < 0 ? NULL : take_out(best);
}

static size_t rounded(size_t n)
{
    size_t alignment = n < HUGE ? HEAD : HUGE;
    return (n + alignment - 1) / alignment * alignment;
}

/* Large blocks are of huge pages, where the system has them: touching small ones for the first time took up to a third of the time of
 * reading an array. */
static struct head *new_block(size_t n)
{
    if (n + HEAD > SIZE_MAX - HUGE)
        return NULL;
    size_t all = rounded(n + HEAD);
    struct head *h = aligned_alloc(all < HUGE ? HEAD : HUGE, all);
    if (h && all >= HUGE)
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
    free(take_out(0));
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
    kept.block[kept.n] = h;
    kept.size[kept.n] = h->size;
    kept.lent[kept.n++] = 0;
    kept.bytes += h->size;
}

/* Lend a large block to the system, which takes its pages when it is short of some; until then they are there for the next piece. */
static int lend(int i)
{
#ifdef MADV_FREE
    size_t all = rounded(kept.size[i] + HEAD);
    return all >= HUGE && !madvise(kept.block[i], all, MADV_FREE) ? 0 : -1;
#else
    return -1;
#endif
}

void sk_scratch_rest(void)
{
    size_t held = 0;
    for (int i = 0; i < kept.n; i++)
        held += kept.lent[i] ? 0 : kept.size[i];
    for (int i = 0; held > REST_BYTES && i < kept.n;) {
        if (kept.lent[i]) {
            i++;
            continue;
        }
        held -= kept.size[i];
        if (lend(i))
            free(take_out(i));
        else
            kept.lent[i++] = 1;
    }
}
