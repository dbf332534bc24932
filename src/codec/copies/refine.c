/* Bytes as a row of places: each is come to by a new byte or a copy, from the place from which that takes least in all. */
#include "codec/copies/refine.h"

#include <stdlib.h>

enum {
    WINDOW = 4096,        /* bytes whose steps are refined at once, about, */
    MOST = 2 * WINDOW,    /* and at most */
    ENOUGH = 64,          /* so long a copy is taken where it begins */
    DEPTH = 8,            /* places that are looked at */
    SHORT_BITS = 18,
    SHORTS = 2,           /* by four bytes, and by five: the last place only */
    WORTH = 32,           /* one in so many bits is to be gained, */
    CLEARLY = 3,          /* and after the first bytes, unless few bytes are worth any time, one in so many */
    MOST_RARE = 7,
    FREE = 1 << 14,       /* the first bytes: so many, which are refined in any case, and a share of all */
    SHARE = 256
};

struct node {
    uint32_t price, from, distance; /* distance 0: a new byte */
};

struct sk_copies_refiner {
    struct sk_copies_prices prices;
    struct sk_copies_state begun;    /* at the steps that are not refined yet */
    size_t first, start;             /* the first of them, and the byte where it begins */
    int thorough;
    unsigned rare;                   /* one in 2^rare bytes is refined; */
    size_t refined, wait;            /* so many were, and are to be passed over */
    uint32_t *last[SHORTS];          /* places, numbered from 1 */
    int is_known;                    /* 1: what is known is among them, */
    size_t noted;                    /* and so much of `in` */
    uint32_t n;                      /* bytes of the row */
    struct node node[MOST + 1];
    struct sk_copies_state state[MOST + 1];
    uint32_t own[MOST];              /* the distance of the steps so far from each place on, and how many bytes are copied so */
    uint32_t length[MOST];
    struct sk_copies_step step[MOST];
};

struct sk_copies_refiner *sk_copies_refiner_new(size_t from, int thorough)
{
    struct sk_copies_refiner *r = calloc(1, sizeof *r);
    for (int k = 0; r && k < SHORTS; k++)
        if (!(r->last[k] = calloc((size_t)1 << SHORT_BITS, sizeof *r->last[k]))) {
            sk_copies_refiner_free(r);
            return NULL;
        }
    if (!r)
        return NULL;
    r->start = r->noted = from;
    r->thorough = thorough;
    sk_copies_prices_begin(&r->prices);
    return r;
}

void sk_copies_refiner_free(struct sk_copies_refiner *r)
{
    if (!r)
        return;
    for (int k = 0; k < SHORTS; k++)
        free(r->last[k]);
    free(r);
}

/* ---- where the same bytes were last ---- */

static void note(struct sk_copies_refiner *r, uint64_t word, size_t at)
{
    for (int k = 0; k < SHORTS; k++)
        r->last[k][sk_copies_slot(word, 4 + (unsigned)k, SHORT_BITS)] = (uint32_t)(at + 1);
}

/* The end of what is known, and what is told before a place but in long copies. */
static void note_until(struct sk_copies_refiner *r, const struct sk_copies_finder *f, size_t at)
{
    enum { END = 1 << 20, LONG_END = 1 << 22 };
    size_t end = r->thorough ? LONG_END : END;
    if (!r->is_known)
        for (size_t i = f->n_before > end ? f->n_before - end : 0; i + SK_COPIES_WORD <= f->n_before; i++)
            note(r, sk_copies_word(f->before + i), i);
    r->is_known = 1;
    for (; r->noted < at && f->n - r->noted >= SK_COPIES_WORD; r->noted++)
        note(r, sk_copies_word(f->in + r->noted), f->n_before + r->noted);
}

/* ---- ways on ---- */

struct way {
    size_t length, distance;
};

/* From a place of the row on, by copies from so far away, of at least so many bytes; the longest one so far follows. */
static void try(struct sk_copies_refiner *r, uint32_t i, size_t distance, size_t length, size_t least, struct way *longest)
{
    if (length < least)
        return;
    int kind;
    uint32_t base = r->node[i].price + sk_copies_price_from(&r->prices, &r->state[i], (uint32_t)distance, &kind);
    const uint32_t *lengths = sk_copies_price_lengths(&r->prices, kind)->exact;
    struct node *to = &r->node[i];
    size_t most = r->n - i < ENOUGH ? r->n - i : ENOUGH;
    for (size_t k = least; k <= length && k <= most; k++) {
        uint32_t price = base + lengths[k - 1];
        if (price < to[k].price)
            to[k] = (struct node){price, i, (uint32_t)distance};
    }
    if (length > longest->length)
        *longest = (struct way){length, distance};
}

/* By what a byte differs from the one that would be copied on to there; 0: it does not, or nothing would be. */
static uint8_t changed(const struct sk_copies_finder *f, const struct sk_copies_state *s, size_t at)
{
    size_t distance = s->fresh ? 0 : s->kept.distance[0];
    return distance && distance <= f->n_before + at ? f->in[at] ^ sk_copies_byte(f, f->n_before + at - distance) : 0;
}

/* How far a copy goes from a place, at most so far. */
static size_t reach(const struct sk_copies_finder *f, size_t at, size_t distance, size_t most)
{
    if (!distance || distance > f->n_before + at)
        return 0;
    size_t k = sk_copies_length(f, at, f->n_before + at - distance);
    return k < most ? k : most;
}

/* By places that begin alike. */
static void try_places(struct sk_copies_refiner *r, const struct sk_copies_finder *f, uint32_t i, size_t most, struct way *longest)
{
    enum { FEW = 4 };
    size_t at = r->start + i, to = f->n_before + at, found = FEW;
    uint64_t word = sk_copies_word(f->in + at);
    for (unsigned q = 0; q < SHORTS; q++) {
        uint32_t e = r->last[q][sk_copies_slot(word, FEW + q, SHORT_BITS)];
        size_t distance = e ? to - (e - 1) : 0;
        try(r, i, distance, reach(f, at, distance, most), FEW, longest);
    }
    int depth = DEPTH;
    for (uint32_t e = f->p.head[sk_copies_slot(word, f->p.length, f->p.bits)]; e && depth > 0 && found < most; e = f->p.next[e - 1], depth--) {
        size_t from = (size_t)(e - 1) << f->p.thin;
        if (from >= to || sk_copies_byte(f, from + found) != f->in[at + found])
            continue;
        size_t k = reach(f, at, to - from, most);
        if (k <= found)
            continue;
        found = k;
        try(r, i, to - from, k, FEW, longest);
    }
}

/* By all that may be copied to a place of the row, to at most so many bytes. */
static struct way go_on(struct sk_copies_refiner *r, const struct sk_copies_finder *f, uint32_t i, size_t most)
{
    const struct sk_copies_state *s = &r->state[i];
    struct way longest = {0, 0};
    size_t at = r->start + i, on = s->fresh && s->kept.distance[0] ? (size_t)s->kept.distance[0] + s->fresh : 0;
    for (int q = 0; q < SK_COPIES_KEPT && longest.length < ENOUGH; q++)
        try(r, i, s->kept.distance[q], reach(f, at, s->kept.distance[q], most), q ? 2 : 1, &longest);
    if (longest.length < ENOUGH)
        try(r, i, on, reach(f, at, on, most), 1, &longest);
    if (longest.length < ENOUGH && r->own[i])
        try(r, i, r->own[i], r->length[i], 2, &longest);
    if (longest.length < ENOUGH && f->n - at >= SK_COPIES_WORD)
        try_places(r, f, i, most, &longest);
    return longest;
}

/* ---- a row ---- */

/* The steps since the last time, as they are: what they take, and which distance goes with each of n bytes. */
static uint32_t lay_out(struct sk_copies_refiner *r, const struct sk_copies_finder *f, uint32_t n, uint32_t rest)
{
    struct sk_copies_state s = r->begun;
    const uint8_t *in = f->in + r->start;
    uint32_t price = 0, i = 0;
    for (size_t q = r->first; q < f->count; q++) {
        const struct sk_copies_step *x = &f->steps[q];
        for (; s.fresh < x->fresh; s.fresh++, i++) {
            r->own[i] = 0;
            price += sk_copies_price_fresh(&r->prices, &s, in[i], changed(f, &s, r->start + i));
        }
        uint32_t copied = x->copy < n - i ? x->copy : n - i;
        price += sk_copies_price_copy(&r->prices, &s, x->distance, copied);
        sk_copies_state_copy(&s, x->distance);
        for (uint32_t k = 0; k < copied; k++, i++) {
            r->own[i] = x->distance;
            r->length[i] = copied - k + (q + 1 == f->count ? rest : 0);
        }
    }
    return price;
}

/* What the state is at a place, from where that is come to. */
static void arrive(struct sk_copies_refiner *r, uint32_t i)
{
    const struct node *x = &r->node[i];
    struct sk_copies_state *s = &r->state[i];
    *s = r->state[x->from];
    if (x->distance)
        sk_copies_state_copy(s, x->distance);
    else
        s->fresh++;
}

/* The cheapest ways to all of n bytes' places, to the last one by a copy; a copy that is long enough is taken where it begins. */
static void walk(struct sk_copies_refiner *r, struct sk_copies_finder *f, uint32_t n, uint32_t rest)
{
    r->n = n;
    for (uint32_t i = 0; i <= n; i++)
        r->node[i].price = UINT32_MAX;
    r->node[0] = (struct node){0, 0, 0};
    r->state[0] = r->begun;
    for (uint32_t i = 0; i < n;) {
        if (i)
            arrive(r, i);
        note_until(r, f, r->start + i);
        struct way longest = go_on(r, f, i, n - i + rest);
        uint32_t so_far = r->node[i].price, price;
        if (longest.length > ENOUGH) { /* nothing before it reaches so far */
            uint32_t copied = longest.length < n - i ? (uint32_t)longest.length : n - i;
            price = so_far + sk_copies_price_copy(&r->prices, &r->state[i], (uint32_t)longest.distance, copied);
            r->node[i + copied] = (struct node){price, i, (uint32_t)longest.distance};
            i += copied;
            continue;
        }
        price = so_far + sk_copies_price_fresh(&r->prices, &r->state[i], f->in[r->start + i], changed(f, &r->state[i], r->start + i));
        if (price < r->node[i + 1].price && i + 1 < n)
            r->node[i + 1] = (struct node){price, i, 0};
        i++;
    }
}

/* The steps of the cheapest way to place n, the last ones of r->step; returns how many. */
static size_t trace(struct sk_copies_refiner *r, uint32_t n)
{
    size_t steps = 0;
    for (uint32_t i = n; i;) {
        struct sk_copies_step *x = &r->step[MOST - ++steps];
        *x = (struct sk_copies_step){0, i - r->node[i].from, r->node[i].distance};
        for (i = r->node[i].from; i && !r->node[i].distance; i = r->node[i].from)
            x->fresh++;
    }
    return steps;
}

/* Others for the steps since the last time, if they take less. */
static int replace(struct sk_copies_refiner *r, struct sk_copies_finder *f, uint32_t n, uint32_t rest)
{
    uint32_t before = lay_out(r, f, n, rest);
    walk(r, f, n, rest);
    uint32_t after = r->node[n].price;
    if (after < before && reach(f, r->start + n, r->node[n].distance, rest) == rest) {
        size_t steps = trace(r, n);
        if (sk_copies_finder_room(f, r->first + steps))
            return -1;
        memcpy(f->steps + r->first, r->step + MOST - steps, steps * sizeof *f->steps);
        f->count = r->first + steps;
        f->steps[f->count - 1].copy += rest;
    }
    r->refined += n;
    unsigned least = r->thorough || r->refined < FREE + f->n / SHARE ? WORTH : CLEARLY;
    int worth = after < before && (uint64_t)(before - after) * least >= before;
    r->rare = worth ? 0 : r->rare + (r->rare < MOST_RARE && r->refined > FREE);
    r->wait = (((size_t)1 << r->rare) - 1) * n;
    return 0;
}

int sk_copies_refine(struct sk_copies_finder *f, size_t at, int all)
{
    struct sk_copies_refiner *r = f->refiner;
    if (!r || f->count == r->first)
        return 0;
    uint32_t copy = f->steps[f->count - 1].copy, rest = copy > ENOUGH ? copy - ENOUGH : 0;
    size_t n = at - r->start - rest;
    if (!all && n < WINDOW && copy < SK_COPIES_NICE)
        return 0;
    enum { FEW = 3 };
    int rc = 0;
    if (r->wait >= n)
        r->wait -= n;
    else if (n <= MOST && r->first + MOST < SK_COPIES_STEPS && (f->count - r->first > 1 || f->steps[r->first].fresh >= FEW))
        rc = replace(r, f, (uint32_t)n, rest);
    for (size_t q = r->first, from = r->start; q < f->count; from += (size_t)f->steps[q].fresh + f->steps[q].copy, q++)
        sk_copies_prices_see(&r->prices, &f->steps[q], f->in + from, f->steps[q].fresh ? changed(f, &r->begun, from) : 0, &r->begun);
    f->kept = r->begun.kept;
    r->first = f->count;
    r->start = at;
    if (rest && r->noted < at - rest)
        r->noted = at - rest; /* what went in a long copy is where it came from */
    return rc;
}
