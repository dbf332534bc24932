/* Looks for copies: beside the last ones first, then at places that begin with the same few bytes. Where a long copy ends and goes on, nothing else is looked
 * for, so that what has hardly changed takes little more than comparing it. */
#include "codec/copies/find.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLACES_LOG = 22, /* of what is known and what is told together */
    LARGE_LOG = 20, /* of more than that only longer copies are looked for */
    HEADS_LOG = 19,
    MOST_STEPS = 1 << 20,
    WORD = 8,
    SHORT = 5,
    DEEP = 4,
    SHALLOW = 1,
    RARELY = 128,
    DEEPEST = 128,
    NICE = 512,
    LITERAL = 6, /* bits of a new byte, about */
};

/* Places by the first bytes there: one in so many, a power of two. Entries are numbered from 1. */
struct places {
    uint32_t *head, *next;
    unsigned bits, length, thin;
};

struct sk_copies_finder {
    const uint8_t *before, *in;
    size_t n_before, n;
    struct places p;
    struct sk_copies_kept kept;
    uint64_t visits;      /* of places, that there may still be many of */
    unsigned quiet, vain; /* places are looked for at one byte in 2^quiet; so many times nothing was found */
    size_t seen;          /* of `in`, what is among the places */
    struct sk_copies_step *steps;
    size_t count, cap;
};

static inline uint64_t word_at(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, WORD);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static inline size_t slot_of(const struct places *p, uint64_t v)
{
    return (size_t)((v << (64 - 8 * p->length)) * 0x9e3779b97f4a7c15u >> (64 - p->bits));
}

/* Of what is known followed by what is told. */
static inline void remember(struct places *p, uint64_t v, size_t at)
{
    size_t s = slot_of(p, v), e = at >> p->thin;
    p->next[e] = p->head[s];
    p->head[s] = (uint32_t)(e + 1);
}

/* All places of what is known, or one in as many as there is room for; of runs of one byte the beginning. */
static int know(struct sk_copies_finder *f)
{
    struct places *p = &f->p;
    size_t all = f->n_before + f->n;
    while (all >> p->thin > (size_t)1 << PLACES_LOG)
        p->thin++;
    p->length = all >> LARGE_LOG ? WORD : SHORT;
    for (p->bits = 10; p->bits < HEADS_LOG && (size_t)1 << p->bits < all >> p->thin; p->bits++)
        ;
    p->head = calloc((size_t)1 << p->bits, sizeof *p->head);
    p->next = malloc(((all >> p->thin) + 1) * sizeof *p->next);
    if (!p->head || !p->next)
        return -1;
    uint64_t last = 0;
    for (size_t i = 0; i + WORD <= f->n_before; i += (size_t)1 << p->thin) {
        uint64_t v = word_at(f->before + i);
        if (!i || v != last)
            remember(p, v, i);
        last = v;
    }
    return 0;
}

/* How many bytes are the same, at most n. */
static inline size_t same(const uint8_t *a, const uint8_t *b, size_t n)
{
    size_t i = 0;
    for (; i + WORD <= n; i += WORD) {
        uint64_t x = word_at(a + i) ^ word_at(b + i);
        if (x)
            return i + (size_t)__builtin_ctzll(x) / 8;
    }
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* How long a copy to `at` from a place would be. What is copied from what is told may overlap; what is known ends where that begins. */
static size_t length_of(const struct sk_copies_finder *f, size_t at, size_t from)
{
    size_t left = f->n - at;
    if (from >= f->n_before)
        return same(f->in + (from - f->n_before), f->in + at, left);
    size_t some = f->n_before - from < left ? f->n_before - from : left, k = same(f->before + from, f->in + at, some);
    return k == some && some < left ? k + same(f->in, f->in + at + some, left - some) : k;
}

struct copy {
    size_t length, distance;
    int64_t gain; /* in bits, over new bytes */
};

static inline uint8_t byte_at(const struct sk_copies_finder *f, size_t from)
{
    return from < f->n_before ? f->before[from] : f->in[from - f->n_before];
}

/* Those come first that take less: of others longer ones only are better. */
static inline void consider(const struct sk_copies_finder *f, size_t at, size_t distance, int cost, struct copy *best)
{
    size_t longer = at + best->length;
    if (!distance || distance > f->n_before + at || longer >= f->n || byte_at(f, f->n_before + longer - distance) != f->in[longer])
        return;
    size_t k = length_of(f, at, f->n_before + at - distance);
    int64_t gain = (int64_t)k * LITERAL - cost;
    if (gain > best->gain)
        *best = (struct copy){k, distance, gain};
}

static int log_of(size_t v)
{
    return 64 - __builtin_clzll((uint64_t)v | 1);
}

/* The best copy to a place. start: where the last one ended. */
static struct copy look(struct sk_copies_finder *f, size_t at, size_t start)
{
    enum { SAME = 10, GOES_ON = 12, KEPT = 14, NEAR = 14, FAR = 12 };
    struct copy best = {0, 0, 0};
    uint32_t first = f->kept.distance[0];
    consider(f, at, first, SAME, &best);
    if (best.length >= NICE)
        return best;
    if (first && at > start)
        consider(f, at, first + (at - start), GOES_ON, &best);
    for (int k = 1; k < SK_COPIES_KEPT; k++)
        consider(f, at, f->kept.distance[k], KEPT, &best);
    if (best.length >= NICE || f->n - at < WORD)
        return best;
    if (at & (((size_t)1 << f->quiet) - 1))
        return best;
    enum { MOST_QUIET = 4, VAIN = 256 };
    int depth = !(at & (RARELY - 1)) ? DEEPEST : f->visits > DEEP ? DEEP : SHALLOW; /* a long one among many that begin alike is found sooner or later */
    size_t beside = best.distance;
    for (uint32_t e = f->p.head[slot_of(&f->p, word_at(f->in + at))]; e && depth > 0 && best.length < NICE; e = f->p.next[e - 1], depth--) {
        size_t distance = f->n_before + at - ((size_t)(e - 1) << f->p.thin);
        uint64_t apart = distance > first ? distance - first : first - distance;
        int far = FAR + log_of(distance), near = NEAR + 2 * log_of(apart);
        f->visits -= f->visits > 0;
        consider(f, at, distance, near < far ? near : far, &best);
    }
    if (best.distance != beside) {
        f->vain = 0;
        f->quiet -= f->quiet > 0;
    } else if (++f->vain == VAIN) { /* where hardly anything is found there are fewer looks */
        f->vain = 0;
        f->quiet += f->quiet < MOST_QUIET;
    }
    return best;
}

static int put(struct sk_copies_finder *f, size_t fresh, size_t copy, size_t distance)
{
    if (f->count == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 1024;
        struct sk_copies_step *more = realloc(f->steps, cap * sizeof *more);
        if (!more)
            return -1;
        f->steps = more;
        f->cap = cap;
    }
    f->steps[f->count++] = (struct sk_copies_step){(uint32_t)fresh, (uint32_t)copy, (uint32_t)distance};
    return 0;
}

/* New bytes up to a place can be copied from there on; what is copied is known already. */
static void see(struct sk_copies_finder *f, size_t end)
{
    for (; f->seen < end && f->n - f->seen >= WORD; f->seen++)
        if (!((f->n_before + f->seen) & (((size_t)1 << f->p.thin) - 1)))
            remember(&f->p, word_at(f->in + f->seen), f->n_before + f->seen);
}

/* How far a copy may begin earlier, among the new bytes before it. */
static size_t earlier(const struct sk_copies_finder *f, size_t at, size_t start, size_t distance)
{
    size_t k = 0;
    while (at - k > start && distance <= f->n_before + at - k - 1) {
        if (byte_at(f, f->n_before + at - k - 1 - distance) != f->in[at - k - 1])
            break;
        k++;
    }
    return k;
}

static int find_from(struct sk_copies_finder *f, size_t at, size_t end)
{
    enum { LAZY = 2 * LITERAL, PATIENT = 6 };
    size_t start = at;
    while (at < end && f->count < MOST_STEPS - 1) {
        struct copy c = look(f, at, start), next;
        if (c.gain <= 0) {
            at += 1 + ((at - start) >> PATIENT); /* fewer places where nothing is found: what begins between them is found from behind */
            at = at < end ? at : end;
            see(f, at);
            continue;
        }
        while (c.length < NICE && at + 1 < end && (see(f, at + 1), (next = look(f, at + 1, start)).gain > c.gain + LAZY)) {
            c = next;
            at++;
        }
        size_t back = earlier(f, at, start, c.distance);
        at -= back;
        c.length += back;
        c.length = c.length < end - at ? c.length : end - at;
        if (put(f, at - start, c.length, c.distance))
            return -1;
        sk_copies_keep(&f->kept, (uint32_t)c.distance);
        at += c.length;
        start = at;
        f->seen = at > f->seen ? at : f->seen;
    }
    return start < end ? put(f, end - start, 0, 0) : 0;
}

int sk_copies_finder_new(const uint8_t *before, size_t n_before, const uint8_t *in, size_t n, struct sk_copies_finder **out)
{
    struct sk_copies_finder *f = calloc(1, sizeof *f);
    if (f) {
        f->before = before;
        f->in = in;
        f->n_before = n_before;
        f->n = n;
    }
    if (f && know(f)) {
        sk_copies_finder_free(f);
        f = NULL;
    }
    *out = f;
    return f ? 0 : -1;
}

void sk_copies_finder_free(struct sk_copies_finder *f)
{
    if (!f)
        return;
    free(f->p.head);
    free(f->p.next);
    free(f->steps);
    free(f);
}

int sk_copies_find(struct sk_copies_finder *f, size_t from, size_t to, int sample, struct sk_copies_step **out, size_t *count)
{
    f->count = 0;
    f->kept = (struct sk_copies_kept){{0}};
    f->visits = (f->n_before + f->n) / 4;
    f->quiet = f->vain = 0;
    f->seen = sample ? f->n : 0;
    int rc = find_from(f, from, to);
    *out = rc ? NULL : f->steps;
    *count = rc ? 0 : f->count;
    return rc;
}
