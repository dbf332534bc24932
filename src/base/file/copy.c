/* Copies lines of several pages in turn, with stores that go past the caches where the processor
 * has them. */
#include "base/file/copy.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* A part is a page at most; of each, so many lines are copied in turn, and those this far ahead are
 * fetched. Measured. */
#define PART      ((size_t)4096)
#define LINE      ((size_t)64)
#define STEP      (4 * LINE)
#define AHEAD     (8 * LINE)
#define BY_MEMCPY ((size_t)64 << 20)

#ifdef __SSE2__
static void put_line(uint8_t *to, const uint8_t *from)
{
    __m128i v[4];
    memcpy(v, from, sizeof v);
    for (int i = 0; i < 4; i++)
        _mm_stream_si128((__m128i *)(void *)to + i, v[i]);
}

static void fence(void)
{
    _mm_sfence();
}
#else
static void put_line(uint8_t *to, const uint8_t *from)
{
    memcpy(to, from, LINE);
}

static void fence(void)
{
}
#endif

/* What is to be read after byte `at` of this part, which may be of the part that follows it in its
 * lane. */
static void fetch(const struct sk_gather_part *p, const struct sk_gather_part *next, size_t at)
{
    for (size_t k = at + AHEAD; k < at + AHEAD + STEP; k += LINE) {
        if (k < p->n)
            __builtin_prefetch(p->from + k);
        else if (next && k - p->n < next->n)
            __builtin_prefetch(next->from + (k - p->n));
    }
}

/* `to` is the beginning of a line. */
static void put_rest(const struct sk_gather_part *p, size_t at)
{
    for (; p->n - at >= LINE; at += LINE)
        put_line(p->to + at, p->from + at);
    memcpy(p->to + at, p->from + at, p->n - at);
}

/* Copy the first parts, one for each lane. */
static void put_parts(struct sk_gather *g)
{
    struct sk_gather_part *p = g->part;
    int n = g->parts < SK_GATHER_LANES ? g->parts : SK_GATHER_LANES;
    size_t common = PART, at = 0;
    for (int i = 0; i < n; i++)
        common = p[i].n < common ? p[i].n : common;
    for (; at + STEP <= common; at += STEP)
        for (int i = 0; i < n; i++) {
            fetch(&p[i], i + n < g->parts ? &p[i + n] : NULL, at);
            for (size_t k = at; k < at + STEP; k += LINE)
                put_line(p[i].to + k, p[i].from + k);
        }
    for (int i = 0; i < n; i++)
        put_rest(&p[i], at);
    g->parts -= n;
    memmove(p, p + n, (size_t)g->parts * sizeof *p);
}

void sk_gather_add(struct sk_gather *g, const uint8_t *from, size_t n)
{
    size_t head = -(uintptr_t)g->to % LINE;
    head = head < n ? head : n;
    memcpy(g->to, from, head);
    for (size_t at = head, part; at < n; at += part) {
        part = n - at < PART ? n - at : PART;
        g->part[g->parts++] = (struct sk_gather_part){g->to + at, from + at, part};
        if (g->parts == 2 * SK_GATHER_LANES)
            put_parts(g);
    }
    g->to += n;
}

void sk_gather_end(struct sk_gather *g)
{
    while (g->parts)
        put_parts(g);
    fence();
}

void sk_copy_past_cache(uint8_t *to, const uint8_t *from, size_t n)
{
    /* little is likely to be in a cache, or to fit into one; for much, memcpy does the same */
    if (n < SK_GATHER_LANES * PART || n >= BY_MEMCPY) {
        memcpy(to, from, n);
        return;
    }
    struct sk_gather g = {.to = to};
    sk_gather_add(&g, from, n);
    sk_gather_end(&g);
}
