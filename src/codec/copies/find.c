/* Looks for copies: beside the last ones first, then at places that begin with the same few bytes. Where a long copy ends and goes on, nothing else is looked
 * for, so that what has hardly changed takes little more than comparing it. */
#include "codec/copies/find.h"

#include "codec/copies/finder.h"
#include "codec/copies/refine.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLACES_LOG = 22, /* of what is known and what is told together */
    LARGE_LOG = 20, /* of more than that only longer copies are looked for */
    HEADS_LOG = 19,
    SHORT = 5,
    DEEP = 4,
    SHALLOW = 1,
    RARELY = 128,
    DEEPEST = 128,
    LITERAL = 6, /* bits of a new byte, about */
};

/* Of what is known followed by what is told. */
static inline void remember(struct sk_copies_places *p, uint64_t v, size_t at)
{
    size_t s = sk_copies_slot(v, p->length, p->bits), e = at >> p->thin;
    p->next[e] = p->head[s];
    p->head[s] = (uint32_t)(e + 1);
}

/* All places of what is known, or one in as many as there is room for; of runs of one byte the beginning. */
static int know(struct sk_copies_finder *f)
{
    struct sk_copies_places *p = &f->p;
    size_t all = f->n_before + f->n;
    while (all >> p->thin > (size_t)1 << PLACES_LOG)
        p->thin++;
    p->length = all >> LARGE_LOG ? SK_COPIES_WORD : SHORT;
    for (p->bits = 10; p->bits < HEADS_LOG && (size_t)1 << p->bits < all >> p->thin; p->bits++)
        ;
    p->head = calloc((size_t)1 << p->bits, sizeof *p->head);
    p->next = malloc(((all >> p->thin) + 1) * sizeof *p->next);
    if (!p->head || !p->next)
        return -1;
    uint64_t last = 0;
    for (size_t i = 0; i + SK_COPIES_WORD <= f->n_before; i += (size_t)1 << p->thin) {
        uint64_t v = sk_copies_word(f->before + i);
        if (!i || v != last)
            remember(p, v, i);
        last = v;
    }
    return 0;
}

struct copy {
    size_t length, distance;
    int64_t gain; /* in bits, over new bytes */
};

/* Those come first that take less: of others longer ones only are better. */
static inline void consider(const struct sk_copies_finder *f, size_t at, size_t distance, int cost, struct copy *best)
{
    size_t longer = at + best->length;
    if (!distance || distance > f->n_before + at || longer >= f->n || sk_copies_byte(f, f->n_before + longer - distance) != f->in[longer])
        return;
    size_t k = sk_copies_length(f, at, f->n_before + at - distance);
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
    if (best.length >= SK_COPIES_NICE)
        return best;
    if (first && at > start)
        consider(f, at, first + (at - start), GOES_ON, &best);
    for (int k = 1; k < SK_COPIES_KEPT; k++)
        consider(f, at, f->kept.distance[k], KEPT, &best);
    if (best.length >= SK_COPIES_NICE || f->n - at < SK_COPIES_WORD)
        return best;
    if (at & (((size_t)1 << f->quiet) - 1))
        return best;
    enum { MOST_QUIET = 4, VAIN = 256 };
    int depth = !(at & (RARELY - 1)) ? DEEPEST : f->visits > DEEP ? DEEP : SHALLOW; /* a long one among many that begin alike is found sooner or later */
    size_t beside = best.distance;
    for (uint32_t e = f->p.head[sk_copies_slot(sk_copies_word(f->in + at), f->p.length, f->p.bits)]; e && depth > 0 && best.length < SK_COPIES_NICE; e = f->p.next[e - 1], depth--) {
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
    if (sk_copies_finder_room(f, f->count + 1))
        return -1;
    f->steps[f->count++] = (struct sk_copies_step){(uint32_t)fresh, (uint32_t)copy, (uint32_t)distance};
    return 0;
}

/* New bytes up to a place can be copied from there on; what is copied is known already. */
static void see(struct sk_copies_finder *f, size_t end)
{
    for (; f->seen < end && f->n - f->seen >= SK_COPIES_WORD; f->seen++)
        if (!((f->n_before + f->seen) & (((size_t)1 << f->p.thin) - 1)))
            remember(&f->p, sk_copies_word(f->in + f->seen), f->n_before + f->seen);
}

/* How far a copy may begin earlier, among the new bytes before it. */
static size_t earlier(const struct sk_copies_finder *f, size_t at, size_t start, size_t distance)
{
    size_t k = 0;
    while (at - k > start && distance <= f->n_before + at - k - 1) {
        if (sk_copies_byte(f, f->n_before + at - k - 1 - distance) != f->in[at - k - 1])
            break;
        k++;
    }
    return k;
}

static int find_from(struct sk_copies_finder *f, size_t at, size_t end)
{
    enum { LAZY = 2 * LITERAL, PATIENT = 6 };
    size_t start = at;
    while (at < end && f->count < SK_COPIES_STEPS - 1) {
        struct copy c = look(f, at, start), next;
        if (c.gain <= 0) {
            at += 1 + ((at - start) >> PATIENT); /* fewer places where nothing is found: what begins between them is found from behind */
            at = at < end ? at : end;
            see(f, at);
            continue;
        }
        while (c.length < SK_COPIES_NICE && at + 1 < end && (see(f, at + 1), (next = look(f, at + 1, start)).gain > c.gain + LAZY)) {
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
        if (sk_copies_refine(f, start, 0))
            return -1;
    }
    if (sk_copies_refine(f, start, 1))
        return -1;
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
    sk_copies_refiner_free(f->refiner);
    free(f);
}

int sk_copies_find(struct sk_copies_finder *f, size_t from, size_t to, int effort, struct sk_copies_step **out, size_t *count)
{
    f->count = 0;
    f->kept = (struct sk_copies_kept){{0}};
    f->visits = (f->n_before + f->n) / 4;
    f->quiet = f->vain = 0;
    f->seen = effort == SK_COPIES_SAMPLE ? f->n : 0;
    sk_copies_refiner_free(f->refiner);
    f->refiner = effort == SK_COPIES_SAMPLE ? NULL : sk_copies_refiner_new(from, effort == SK_COPIES_THOROUGH);
    int rc = (effort != SK_COPIES_SAMPLE && !f->refiner) || find_from(f, from, to);
    *out = rc ? NULL : f->steps;
    *count = rc ? 0 : f->count;
    return rc;
}
