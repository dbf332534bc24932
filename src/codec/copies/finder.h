/* What looks for copies, for those who see it from within: places by the bytes there, the last distances, the steps so far. */
#ifndef SK_CODEC_COPIES_FINDER_H
#define SK_CODEC_COPIES_FINDER_H

#include "codec/copies/find.h"
#include "codec/copies/prices.h"

#include <string.h>

enum {
    SK_COPIES_NICE = 512,      /* so long a copy is taken where it is found */
    SK_COPIES_STEPS = 1 << 20, /* at most so many: what follows is new */
    SK_COPIES_WORD = 8
};

/* Places by the first bytes there: one in so many, a power of two. Entries are numbered from 1. */
struct sk_copies_places {
    uint32_t *head, *next;
    unsigned bits, length, thin;
};

struct sk_copies_finder {
    const uint8_t *before, *in;
    size_t n_before, n;
    struct sk_copies_places p;
    struct sk_copies_kept kept;
    uint64_t visits;      /* of places, that there may still be many of */
    unsigned quiet, vain; /* places are looked for at one byte in 2^quiet; so many times nothing was found */
    size_t seen;          /* of `in`, what is among the places */
    struct sk_copies_step *steps;
    size_t count, cap;
    struct sk_copies_refiner *refiner; /* NULL: steps stay as they are found */
};

static inline uint64_t sk_copies_word(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, SK_COPIES_WORD);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* Room for so many steps in all. -1: no memory. */
int sk_copies_finder_room(struct sk_copies_finder *f, size_t count);

/* One of 2^bits, by the first bytes of a word. */
static inline size_t sk_copies_slot(uint64_t word, unsigned length, unsigned bits)
{
    return (size_t)((word << (64 - 8 * length)) * 0x9e3779b97f4a7c15u >> (64 - bits));
}

/* Of what is known followed by what is told. */
static inline uint8_t sk_copies_byte(const struct sk_copies_finder *f, size_t from)
{
    return from < f->n_before ? f->before[from] : f->in[from - f->n_before];
}

/* How many bytes are the same, at most n. */
static inline size_t sk_copies_same(const uint8_t *a, const uint8_t *b, size_t n)
{
    size_t i = 0;
    for (; i + SK_COPIES_WORD <= n; i += SK_COPIES_WORD) {
        uint64_t x = sk_copies_word(a + i) ^ sk_copies_word(b + i);
        if (x)
            return i + (size_t)__builtin_ctzll(x) / 8;
    }
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* How long a copy to `at` from a place would be. What is copied from what is told may overlap; what is known ends where that begins. */
static inline size_t sk_copies_length(const struct sk_copies_finder *f, size_t at, size_t from)
{
    size_t left = f->n - at;
    if (from >= f->n_before)
        return sk_copies_same(f->in + (from - f->n_before), f->in + at, left);
    size_t some = f->n_before - from < left ? f->n_before - from : left, k = sk_copies_same(f->before + from, f->in + at, some);
    return k == some && some < left ? k + sk_copies_same(f->in, f->in + at + some, left - some) : k;
}

#endif
