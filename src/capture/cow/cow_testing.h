/* What the tests of snapshots share: a sink that checks, memory, and threads that write. */
#ifndef SK_CAPTURE_COW_TESTING_H
#define SK_CAPTURE_COW_TESTING_H

#include "base/clock.h"
#include "capture/cow/cow_job.h"
#include "capture/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static uint64_t seed = 2463534242u;

static inline uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

#define PIECES 6

struct saved {
    struct sk_memory_extent piece[PIECES];
    uint8_t *then[PIECES], *got[PIECES], *times[PIECES];
    size_t n;
    double delay;   /* of each call of the sink */
    int calls_left; /* then it fails */
};

static inline int sink(void *arg, uint32_t id, uint64_t offset, const void *data, size_t n,
                       struct saikai_error *err)
{
    struct saved *s = arg;
    if (s->calls_left-- == 0)
        return sk_fail(err, SAIKAI_ENOSPC, "the disk is full");
    memcpy(s->got[id] + (offset - 1000), data, n);
    for (size_t i = 0; i < n; i++)
        s->times[id][offset - 1000 + i]++;
    if (s->delay > 0 && n >= 65536)
        sk_sleep(s->delay);
    return 0;
}

static inline void add_piece(struct saved *s, uint8_t *addr, size_t size)
{
    size_t i = s->n++;
    s->piece[i] = (struct sk_memory_extent){addr, size, (uint32_t)i, 1000};
    s->then[i] = malloc(size);
    s->got[i] = calloc(size, 1);
    s->times[i] = calloc(size, 1);
    assert_true(s->then[i] && s->got[i] && s->times[i]);
    memcpy(s->then[i], addr, size);
}

static inline void remember(struct saved *s)
{
    for (size_t i = 0; i < s->n; i++) {
        memcpy(s->then[i], s->piece[i].addr, s->piece[i].size_bytes);
        memset(s->times[i], 0, s->piece[i].size_bytes);
    }
}

static inline void check_saved(const struct saved *s)
{
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < s->piece[i].size_bytes; k++)
            if (s->times[i][k] != 1)
                fail_msg("byte %zu of piece %zu came %d times", k, i, s->times[i][k]);
        assert_memory_equal(s->got[i], s->then[i], s->piece[i].size_bytes);
    }
}

static inline void free_saved(struct saved *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->then[i]);
        free(s->got[i]);
        free(s->times[i]);
    }
}

static inline uint8_t *map_pages(size_t n, int advice)
{
    /* aligned to huge pages, so that advice has an effect */
    uint8_t *p =
        mmap(NULL, n + SK_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    uint8_t *q = (uint8_t *)sk_page_ceil((uintptr_t)p, SK_CHUNK_BYTES);
    if (q > p)
        munmap(p, (size_t)(q - p));
    munmap(q + n, SK_CHUNK_BYTES - (size_t)(q - p));
    madvise(q, n, advice);
    return q;
}

static inline struct sk_snapshot *open_form(const char *form, uint64_t pool, int sink_is_copy)
{
    struct sk_snapshot_options opt = {
        .form = form, .pool_bytes = pool, .sink_is_copy = sink_is_copy, .trust_pages = 1};
    struct sk_snapshot *s = NULL;
    struct saikai_error err = {0};
    if (sk_snapshot_open(&opt, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

struct writer {
    uint8_t *p;
    size_t n;
    uint64_t x;
    int by_kernel;
    int turn; /* 0 or 1: two writers never write the same bytes, but the same pages, and one of them over their ends */
    atomic_int stop;
};

static inline void *write_on(void *arg)
{
    struct writer *w = arg;
    int fd[2];
    if (pipe(fd))
        return NULL;
    while (!atomic_load(&w->stop)) {
        w->x = w->x * 6364136223846793005u + 1442695040888963407u;
        size_t at = (w->x >> 20) % (w->n / 256 - 1) * 256 + (w->turn ? 64 : 192) + (w->x >> 48) % 65;
        char noise[64];
        memset(noise, (int)(w->x >> 56), sizeof noise);
        if (!w->by_kernel)
            memcpy(w->p + at, noise, sizeof noise);
        else if (write(fd[1], noise, sizeof noise) != sizeof noise ||
                 read(fd[0], w->p + at, sizeof noise) != sizeof noise)
            abort(); /* the kernel could not write: what a program must never see */
    }
    close(fd[0]);
    close(fd[1]);
    return NULL;
}

#endif
