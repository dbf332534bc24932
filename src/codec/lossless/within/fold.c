/* Repeats are found as in J. Bentley and D. McIlroy, "Data compression using long common strings" (1999): a fingerprint of every block of words is kept, and one of the
 * words around each position, rolled on from word to word (R. Karp and M. Rabin, 1987), is looked for among them. */
#include "codec/lossless/within/fold.h"

#include "codec/lossless/within/number.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 32,        /* words of a fingerprint */
    LEAST = 2 * BLOCK, /* words of a repeat: a shorter one says little more than what it takes to say so */
    CHANGES = 8,       /* of neighbours in a block at least: what stays the same is for others to tell */
    LEAST_PIECE = 4096,
    WORTH = 16, /* a share of the words */
    STEP = 32,
};

#define FACTOR UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t word_at(const uint8_t *x, size_t word, size_t i)
{
    uint32_t w4;
    uint64_t w8;
    if (word == 4) {
        memcpy(&w4, x + 4 * i, 4);
        return w4 + 1;
    }
    memcpy(&w8, x + 8 * i, 8);
    return w8 + (w8 >> 32) + 1; /* fingerprints are made of low bits, which are often zero */
}

static int changes(const uint8_t *x, size_t word, size_t i, size_t n)
{
    int all = 0;
    for (size_t k = i + 1; k < i + n; k++)
        all += memcmp(x + k * word, x + (k - 1) * word, word) != 0;
    return all;
}

static int is_same(const uint8_t *x, size_t word, size_t a, size_t b, size_t n)
{
    return !memcmp(x + a * word, x + b * word, n * word);
}

/* ---- whether to look at all ---- */

/* Of four words: one alone may stand everywhere. */
static inline uint64_t mark(const uint8_t *x, size_t word, size_t i)
{
    uint64_t h = 0;
    for (size_t k = i; k < i + 4; k++)
        h = (h + word_at(x, word, k)) * FACTOR;
    return h ^ h >> 29;
}

/* Some short stretches are kept, and every step-th word of all is looked for among theirs, so far away at least. */
static int seems_folded(const uint8_t *x, size_t n, size_t word, size_t step, size_t away)
{
    enum { STRETCHES = 8, EACH = 256, PROOF = 16, BITS = 12, ENOUGH = 16 };
    uint32_t slot[1 << BITS] = {0};
    int hits = 0;
    for (size_t s = 0; s < STRETCHES; s++) {
        size_t from = (n - EACH - PROOF) / STRETCHES * s + n / (2 * STRETCHES);
        from = from < n - EACH - PROOF ? from : n - EACH - PROOF;
        for (size_t i = from; i < from + EACH; i++)
            slot[mark(x, word, i) * FACTOR >> (64 - BITS)] = (uint32_t)i + 1;
    }
    for (size_t i = 0; i + PROOF <= n && hits < ENOUGH; i += step) {
        size_t at = slot[mark(x, word, i) * FACTOR >> (64 - BITS)];
        if (at-- && (at > i ? at - i : i - at) >= away && is_same(x, word, at, i, PROOF) && changes(x, word, i, PROOF) >= PROOF / 4)
            hits++;
    }
    return hits >= ENOUGH;
}

/* ---- where ---- */

struct finder {
    const uint8_t *x;
    size_t n, word;
    uint32_t *slot; /* position of a block + 1, by its fingerprint */
    unsigned bits;
    uint64_t out; /* FACTOR to the power of BLOCK */
};

static inline uint64_t fingerprint(const uint8_t *x, size_t word, size_t i)
{
    uint64_t h = 0;
    for (size_t k = i; k < i + BLOCK; k++)
        h = (h + word_at(x, word, k)) * FACTOR;
    return h;
}

static size_t slot_of(const struct finder *f, uint64_t h)
{
    return (size_t)((h ^ h >> 29) * FACTOR >> (64 - f->bits));
}

static int add(struct sk_fold *f, struct sk_fold_repeat r)
{
    if (f->count == f->room) {
        size_t room = f->room ? 2 * f->room : 64;
        struct sk_fold_repeat *more = realloc(f->repeat, room * sizeof *more);
        if (!more)
            return -1;
        f->repeat = more;
        f->room = room;
    }
    f->repeat[f->count++] = r;
    return 0;
}

/* From *at on, whose block has the fingerprint h: the first position whose block stood before, and where it did. n: none. Blocks on the way are kept. */
static inline __attribute__((always_inline)) size_t next_repeat(const struct finder *d, size_t word, size_t *at, uint64_t h)
{
    const uint8_t *x = d->x;
    const size_t n = d->n;
    const uint64_t out = d->out;
    uint32_t *slot = d->slot;
    for (size_t i = *at;; i++) {
        size_t s = slot_of(d, h), found = slot[s];
        if (found && is_same(x, word, found - 1, i, BLOCK)) {
            *at = i;
            return found - 1;
        }
        if (i % BLOCK == 0 && changes(x, word, i, BLOCK) >= CHANGES)
            slot[s] = (uint32_t)i + 1;
        if (i + BLOCK >= n)
            return n;
        h = (h + word_at(x, word, i + BLOCK)) * FACTOR - word_at(x, word, i) * out;
    }
}

static size_t next_of(const struct finder *d, size_t *at)
{
    return d->word == 4 ? next_repeat(d, 4, at, fingerprint(d->x, 4, *at)) : next_repeat(d, 8, at, fingerprint(d->x, 8, *at));
}

/* All repeats, each as long as it is. Returns how many words they have; -1: no memory. */
static int64_t find_all(const struct finder *d, struct sk_fold *f)
{
    size_t i = 0, done = 0, all = 0; /* done: behind the repeat before */
    while (i + BLOCK <= d->n) {
        size_t from = next_of(d, &i);
        if (from == d->n)
            break;
        size_t back = i - from, begin = i, end = i + BLOCK;
        while (begin > done && begin > back && is_same(d->x, d->word, begin - 1, begin - 1 - back, 1))
            begin--;
        while (end < d->n && is_same(d->x, d->word, end, end - back, 1))
            end++;
        i = end;
        if (end - begin < LEAST)
            continue;
        if (add(f, (struct sk_fold_repeat){begin - done, end - begin, back}))
            return -1;
        all += end - begin;
        done = end;
    }
    return (int64_t)all;
}

/* Only whole slabs of so many words each; returns how many words are left of the repeats. out may be f itself. */
static size_t trim(const struct sk_fold *f, size_t slab, struct sk_fold *out)
{
    size_t at = 0, done = 0, all = 0, count = 0;
    for (size_t i = 0; i < f->count; i++) {
        const struct sk_fold_repeat r = f->repeat[i];
        size_t from = at + r.fresh, to = from + r.words;
        at = to;
        from = (from + slab - 1) / slab * slab;
        to = to / slab * slab;
        if (from >= to || r.back % slab)
            continue;
        all += to - from;
        if (out)
            out->repeat[count] = (struct sk_fold_repeat){from - done, to - from, r.back};
        count++;
        done = to;
    }
    if (out)
        out->count = count;
    return all;
}

/* What is left keeps as many dimensions as repeats of whole slabs cost next to nothing with. */
static size_t keep_dimensions(struct sk_fold *f, const struct sk_words *l, size_t all)
{
    size_t slab = 1, best = 1, kept = all;
    f->keeps = 0;
    for (int k = l->array.ndims - 1; k > 0; k--) {
        slab *= l->array.dims[k];
        size_t left = trim(f, slab, NULL);
        if (slab < 2 || (double)left < 0.95 * (double)all)
            continue;
        best = slab;
        kept = left;
        f->keeps = l->array.ndims - k;
    }
    if (best > 1)
        trim(f, best, f);
    return kept;
}

int sk_fold_reaches(const void *x, size_t n, size_t word, size_t piece, size_t most)
{
    size_t window = n < most ? n : most;
    return piece < window && window > LEAST_PIECE && window < UINT32_MAX && seems_folded((const uint8_t *)x + (n - window) / 2 * word, window, word, 2 * STEP, piece);
}

int sk_fold_find(struct sk_fold *f, const struct sk_words *l, const void *x)
{
    *f = (struct sk_fold){0};
    if (l->words < LEAST_PIECE || l->words > UINT32_MAX / 2 || !seems_folded(x, l->words, l->word, STEP, 1))
        return 0;
    struct finder d = {.x = x, .n = l->words, .word = l->word, .out = 1, .bits = 8};
    while ((size_t)1 << d.bits < l->words / BLOCK * 2)
        d.bits++;
    for (int k = 0; k < BLOCK; k++)
        d.out *= FACTOR;
    d.out *= FACTOR;
    d.slot = calloc((size_t)1 << d.bits, sizeof *d.slot);
    int64_t all = d.slot ? find_all(&d, f) : -1;
    free(d.slot);
    if (all < 0) {
        sk_fold_free(f);
        return -1;
    }
    size_t kept = keep_dimensions(f, l, (size_t)all);
    f->rest = l->words - kept;
    if (kept >= l->words / WORTH)
        return 1;
    sk_fold_free(f);
    return 0;
}

void sk_fold_free(struct sk_fold *f)
{
    free(f->repeat);
    *f = (struct sk_fold){0};
}

/* ---- what is left ---- */

void sk_fold_rest(const struct sk_fold *f, const struct sk_words *l, struct sk_words *rest)
{
    *rest = (struct sk_words){.word = l->word, .words = f->rest, .components = 1, .whole = l->whole};
    rest->array.type = l->array.type;
    rest->array.ndims = f->keeps + 1;
    size_t slab = 1;
    for (int k = 1; k <= f->keeps; k++) {
        rest->array.dims[k] = l->array.dims[l->array.ndims - f->keeps + k - 1];
        slab *= rest->array.dims[k];
    }
    rest->array.dims[0] = f->rest / slab;
}

void sk_fold_take(const struct sk_fold *f, const struct sk_words *l, const void *x, void *y)
{
    const uint8_t *from = x;
    uint8_t *to = y, *end = to + f->rest * l->word;
    for (size_t i = 0; i < f->count; i++) {
        memcpy(to, from, f->repeat[i].fresh * l->word);
        to += f->repeat[i].fresh * l->word;
        from += (f->repeat[i].fresh + f->repeat[i].words) * l->word;
    }
    if (to < end)
        memcpy(to, from, (size_t)(end - to));
}

void sk_fold_undo(const struct sk_fold *f, const struct sk_words *l, const void *y, void *x)
{
    const uint8_t *from = y, *end = from + f->rest * l->word;
    uint8_t *to = x;
    for (size_t i = 0; i < f->count; i++) {
        size_t fresh = f->repeat[i].fresh * l->word, bytes = f->repeat[i].words * l->word, back = f->repeat[i].back * l->word;
        if (fresh)
            memcpy(to, from, fresh);
        to += fresh;
        from += fresh;
        for (size_t part; bytes; bytes -= part, to += part) { /* a repeat may go on in itself */
            part = bytes < back ? bytes : back;
            memcpy(to, to - back, part);
        }
    }
    if (from < end)
        memcpy(to, from, (size_t)(end - from));
}

/* ---- in the piece ---- */

void sk_fold_put(struct sk_buf *b, const struct sk_fold *f)
{
    sk_buf_put_u8(b, (uint8_t)f->keeps);
    sk_number_put(b, f->count);
    for (size_t i = 0; i < f->count; i++) {
        sk_number_put(b, f->repeat[i].fresh);
        sk_number_put(b, f->repeat[i].words);
        sk_number_put(b, f->repeat[i].back);
    }
}

int sk_fold_get(struct sk_rd *r, const struct sk_words *l, struct sk_fold *f)
{
    size_t at = 0, slab = 1;
    *f = (struct sk_fold){.keeps = sk_rd_u8(r), .rest = l->words};
    uint64_t count = sk_number_get(r);
    if (r->bad || f->keeps >= l->array.ndims || count > sk_rd_left(r) / 3)
        return -1;
    for (int k = 0; k < f->keeps; k++)
        slab *= l->array.dims[l->array.ndims - 1 - k];
    for (uint64_t i = 0; i < count; i++) {
        struct sk_fold_repeat e = {.fresh = sk_number_get(r)};
        e.words = sk_number_get(r);
        e.back = sk_number_get(r);
        if (r->bad || e.fresh > l->words - at || !e.words || e.words > l->words - at - e.fresh || !e.back || e.back > at + e.fresh ||
            e.fresh % slab || e.words % slab)
            goto damaged;
        at += e.fresh + e.words;
        f->rest -= e.words;
        if (add(f, e)) {
            sk_fold_free(f);
            return SAIKAI_ENOMEM;
        }
    }
    if (f->rest % slab == 0)
        return 0;
damaged:
    sk_fold_free(f);
    return -1;
}
