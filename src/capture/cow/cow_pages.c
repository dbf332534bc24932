/* A state for each page and a count of the pending ones for each chunk: finding the next run to
 * save, claiming it, and finishing it or giving it back. */
#include "capture/cow/cow_pages.h"

#include "capture/kernel.h"

#include <stdlib.h>
#include <string.h>

static size_t chunks_of(struct sk_interval x)
{
    return (sk_page_ceil(x.to, SK_CHUNK_BYTES) - sk_page_floor(x.from, SK_CHUNK_BYTES)) /
           SK_CHUNK_BYTES;
}

static size_t chunk_of(const struct sk_pages *p, size_t i, uintptr_t a)
{
    return p->first_chunk[i] +
           (sk_page_floor(a, SK_CHUNK_BYTES) - sk_page_floor(p->in->v[i].from, SK_CHUNK_BYTES)) /
               SK_CHUNK_BYTES;
}

int sk_pages_init(struct sk_pages *p, const struct sk_intervals *in, size_t page,
                  struct saikai_error *err)
{
    memset(p, 0, sizeof *p);
    p->in = in;
    p->page = page;
    size_t pages = 0, chunks = 0;
    p->first = malloc((in->n + 1) * sizeof *p->first);
    p->first_chunk = malloc((in->n + 1) * sizeof *p->first_chunk);
    if (!p->first || !p->first_chunk)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a snapshot of %zu pieces", in->n);
    for (size_t i = 0; i < in->n; i++) {
        p->first[i] = pages;
        p->first_chunk[i] = chunks;
        pages += (in->v[i].to - in->v[i].from) / page;
        chunks += chunks_of(in->v[i]);
    }
    p->first_chunk[in->n] = chunks;
    p->state = calloc(pages + 1, 1);
    p->pending = calloc(chunks + 1, sizeof *p->pending);
    if (!p->state || !p->pending)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a snapshot of %zu pages", pages);
    for (size_t i = 0; i < in->n; i++)
        for (uintptr_t a = in->v[i].from, to; a < in->v[i].to; a = to) {
            to = sk_pages_block(p, i, a, SK_CHUNK_BYTES).to;
            p->pending[chunk_of(p, i, a)] = (uint16_t)((to - a) / page);
        }
    p->left = chunks;
    return 0;
}

void sk_pages_free(struct sk_pages *p)
{
    free(p->state);
    free(p->first);
    free(p->first_chunk);
    free(p->pending);
    memset(p, 0, sizeof *p);
}

size_t sk_pages_interval(const struct sk_pages *p, uintptr_t a)
{
    size_t lo = 0, hi = p->in->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->in->v[mid].to <= a)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < p->in->n && p->in->v[lo].from <= a ? lo : p->in->n;
}

static uint8_t *state_of(const struct sk_pages *p, size_t i, uintptr_t a)
{
    return &p->state[p->first[i] + (a - p->in->v[i].from) / p->page];
}

enum sk_page_state sk_pages_state(const struct sk_pages *p, size_t i, uintptr_t a)
{
    return *state_of(p, i, a);
}

struct sk_interval sk_pages_block(const struct sk_pages *p, size_t i, uintptr_t a, size_t width)
{
    const struct sk_interval *x = &p->in->v[i];
    uintptr_t lo = sk_page_floor(a, width), hi = lo + width;
    return (struct sk_interval){lo > x->from ? lo : x->from, hi < x->to ? hi : x->to};
}

int sk_pages_run(const struct sk_pages *p, size_t i, uintptr_t *a, uintptr_t to,
                 enum sk_page_state s, uintptr_t *end)
{
    while (*a < to && *state_of(p, i, *a) != s)
        *a += p->page;
    *end = *a;
    while (*end < to && *state_of(p, i, *end) == s)
        *end += p->page;
    return *a < to;
}

size_t sk_pages_claim(struct sk_pages *p, size_t i, struct sk_interval b,
                      struct sk_interval run[SK_CHUNK_RUNS])
{
    uint16_t *pending = &p->pending[chunk_of(p, i, b.from)];
    size_t n = 0;
    uintptr_t a = b.from, end;
    if (!*pending)
        return 0;
    for (; sk_pages_run(p, i, &a, b.to, SK_PAGE_PENDING, &end); a = end) {
        size_t pages = (end - a) / p->page;
        memset(state_of(p, i, a), SK_PAGE_BUSY, pages);
        *pending = (uint16_t)(*pending - pages);
        run[n++] = (struct sk_interval){a, end};
    }
    p->left -= n && !*pending;
    return n;
}

void sk_pages_finish(struct sk_pages *p, size_t i, struct sk_interval run)
{
    memset(state_of(p, i, run.from), SK_PAGE_DONE, (run.to - run.from) / p->page);
}

void sk_pages_return(struct sk_pages *p, size_t i, struct sk_interval run)
{
    uint16_t *pending = &p->pending[chunk_of(p, i, run.from)];
    size_t pages = (run.to - run.from) / p->page;
    memset(state_of(p, i, run.from), SK_PAGE_PENDING, pages);
    p->left += !*pending;
    *pending = (uint16_t)(*pending + pages);
}

int sk_pages_next(struct sk_pages *p, size_t *i, struct sk_interval *chunk)
{
    size_t chunks = p->first_chunk[p->in->n];
    if (!p->left)
        return 0;
    while (!p->pending[p->cursor])
        p->cursor = p->backward ? (p->cursor + chunks - 1) % chunks : (p->cursor + 1) % chunks;
    size_t lo = 0, hi = p->in->n; /* the last interval whose first chunk is not behind it */
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->first_chunk[mid] <= p->cursor)
            lo = mid;
        else
            hi = mid;
    }
    uintptr_t at = sk_page_floor(p->in->v[lo].from, SK_CHUNK_BYTES) +
                   (p->cursor - p->first_chunk[lo]) * SK_CHUNK_BYTES;
    *i = lo;
    *chunk = sk_pages_block(p, lo, at, SK_CHUNK_BYTES);
    return 1;
}

void sk_pages_aim(struct sk_pages *p, size_t i, uintptr_t a, int backward)
{
    size_t chunks = p->first_chunk[p->in->n], at = chunk_of(p, i, a);
    p->backward = backward;
    p->cursor = backward ? (at + chunks - 1) % chunks : (at + 1) % chunks;
}
