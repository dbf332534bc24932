/* A thread that asks the kernel to collapse small pages to huge ones between two snapshots, where
 * this is possible and worth it. */
#include "capture/cow/cow_huge.h"

#include "base/host/guard.h"

#include "capture/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* Protecting that takes less is not worth it. */
#define WORTH_SECONDS 3e-3
#define FIRST_NEED    2
#define MOST_NEED     128
/* The kernel finds no huge page so often: memory is fragmented. */
#define MOST_REFUSED 8

static int is_wanted(void)
{
    char text[128] = "";
    FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    int known = f && fgets(text, sizeof text, f);
    if (f)
        fclose(f);
    return known && !strstr(text, "[never]") && prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0;
}

/* 1: all pages of the block are there, small, private and not the page of zeros; -1: the kernel
 * does not tell. */
static int is_full(int pagemap, uintptr_t at)
{
    struct sk_page_region found;
    struct sk_page_scan a = {
        .size = sizeof a,
        .start = at,
        .end = at + SK_CHUNK_BYTES,
        .vec = (uintptr_t)&found,
        .vec_len = 1,
        .category_mask = SK_PAGE_IS_PRESENT | SK_PAGE_IS_FILE | SK_PAGE_IS_ZERO | SK_PAGE_IS_HUGE,
        .category_inverted = SK_PAGE_IS_FILE | SK_PAGE_IS_ZERO | SK_PAGE_IS_HUGE,
        .return_mask = SK_PAGE_IS_PRESENT};
    int n = ioctl(pagemap, SK_PAGEMAP_SCAN, &a);
    if (n < 0)
        return errno == ENOTTY || errno == EINVAL ? -1 : 0;
    return n == 1 && found.start == at && found.end == at + SK_CHUNK_BYTES;
}

long sk_huge_collapse(const struct sk_intervals *v, atomic_int *stop)
{
    long done = 0, refused = 0;
    int pagemap = is_wanted() ? open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC) : -1;
    if (pagemap < 0)
        return -1;
    for (size_t i = 0; done >= 0 && i < v->n; i++) {
        uintptr_t at = sk_page_ceil(v->v[i].from, SK_CHUNK_BYTES);
        for (; at + SK_CHUNK_BYTES <= v->v[i].to && !atomic_load(stop); at += SK_CHUNK_BYTES) {
            int full = is_full(pagemap, at);
            if (full == 1 && !madvise((void *)at, SK_CHUNK_BYTES, MADV_COLLAPSE))
                done++;
            else if (full < 0 || (full && ++refused > MOST_REFUSED)) {
                done = done ? done : -1;
                goto out;
            }
        }
    }
out:
    close(pagemap);
    return done;
}

static void *work(void *arg)
{
    struct sk_huge *h = arg;
    if (sk_huge_collapse(&h->v, &h->stop) < 0)
        h->off = 1;
    atomic_store(&h->done, 1);
    return NULL;
}

static void join(struct sk_huge *h)
{
    if (h->running)
        pthread_join(h->thread, NULL);
    h->running = 0;
    free(h->v.v);
    h->v = (struct sk_intervals){0};
}

void sk_huge_after(struct sk_huge *h, struct sk_intervals v, double protect_seconds)
{
    if (h->running && atomic_load(&h->done))
        join(h);
    unsigned need = h->need ? h->need : FIRST_NEED;
    if (h->running || h->off || protect_seconds < WORTH_SECONDS || ++h->dear < need) {
        free(v.v);
        return;
    }
    h->dear = 0; /* the program's writes may take the pages apart again: rarer and rarer */
    h->need = need < MOST_NEED ? 2 * need : need;
    h->v = v;
    atomic_store(&h->stop, 0);
    atomic_store(&h->done, 0);
    sigset_t all, old;
    sk_guard_signals(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    h->running = !pthread_create(&h->thread, NULL, work, h);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!h->running)
        join(h);
}

void sk_huge_end(struct sk_huge *h, int in_child)
{
    atomic_store(&h->stop, 1);
    if (in_child)
        h->running = 0;
    join(h);
}
