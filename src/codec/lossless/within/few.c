/* A hash table of the values, which is given up as soon as there are too many. */
#include "codec/lossless/within/few.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST_WORDS = 4096,
    SHARE = 8,  /* words that each value has in the mean, at least */
    BITS = 17,  /* of slots, twice as many as values */
};

#define FACTOR UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t word_at(const void *x, size_t word, size_t i)
{
    return word == 4 ? ((const uint32_t *)x)[i] : ((const uint64_t *)x)[i];
}

/* The share of words (pairs of neighbours that differ) all over the array that are equal to one before them, 2^16 values alike: one in thirty of 4096. What a value that fills
 * regions takes is left out: the others may still be many, where they are more than a few of those looked at. */
static double seen_again(const void *x, size_t n, size_t word, int pairs)
{
    enum { SLOTS_BITS = 13, FIRST = 1024, ALL = 4096, ENOUGH = 128 };
    uint32_t seen[1 << SLOTS_BITS] = {0}; /* of a word's hash what the slot does not say, and a bit: it is used */
    uint64_t fill = word_at(x, word, n / 2);
    size_t again = 0, others = 0, step = n / ALL, most = ALL;
    int votes = 0;
    for (size_t k = 0; k < 256; k++) { /* the value that most of some have, if most have one (R. Boyer and J. Moore, 1981) */
        uint64_t v = word_at(x, word, k * (n / 256));
        if (!votes)
            fill = v;
        votes += v == fill ? 1 : -1;
    }
    for (size_t k = 0; k < most; k++) {
        size_t i = k * step + (size_t)(k * FACTOR >> 40) % step;
        uint64_t w = word_at(x, word, i), next = pairs ? word_at(x, word, i + 1 < n ? i + 1 : i) : fill, h = (w + (pairs ? next * FACTOR : 0)) * FACTOR;
        uint32_t v = (uint32_t)(h >> 19) | 1;
        size_t s = (size_t)(h >> (64 - SLOTS_BITS));
        if (w == fill || next == w)
            continue;
        for (; seen[s] && seen[s] != v; s = (s + 1) & ((1 << SLOTS_BITS) - 1))
            ;
        others++;
        again += seen[s] == v;
        seen[s] = v;
        if (k % FIRST == FIRST - 1 && again < k / 512)
            most = 0; /* hardly any: so it will go on */
    }
    return others >= ENOUGH ? (double)again / (double)others : 1;
}

#define FEW    0.03 /* share that was seen again where values may be few */
#define HARDLY 0.5   /* where they are so few that their dictionary is short */
/* Of what was seen again, what was so with its neighbour: of records that come from a table the better part. */
#define TOGETHER 0.35

struct table {
    uint64_t value[1 << BITS];
    uint32_t number[1 << BITS]; /* 0: an empty slot */
};

static uint32_t *find(struct table *t, uint64_t v)
{
    size_t s = (size_t)(v * FACTOR >> (64 - BITS));
    while (t->number[s] && t->value[s] != v)
        s = (s + 1) & ((1 << BITS) - 1);
    t->value[s] = v;
    return &t->number[s];
}

/* Words as numbers in the order of the values they stand for: of negative ones all bits are turned over, of others the sign. */
static uint64_t turned(uint64_t v, size_t word)
{
    uint64_t all = word == 4 ? UINT32_MAX : UINT64_MAX, sign = all - all / 2;
    return v & sign ? ~v & all : v | sign;
}

static uint64_t turned_back(uint64_t v, size_t word)
{
    uint64_t all = word == 4 ? UINT32_MAX : UINT64_MAX, sign = all - all / 2;
    return v & sign ? v - sign : ~v & all;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The values in order, in *all (to be freed); 0: they are too many. -1: no memory. */
static int64_t collect(struct table *t, const void *x, size_t n, size_t word, uint64_t **all)
{
    size_t count = 0, most = n / SHARE < SK_FEW_MOST ? n / SHARE : SK_FEW_MOST, room = 0;
    *all = NULL;
    for (size_t i = 0; i < n; i++) {
        uint64_t v = word_at(x, word, i);
        uint32_t *number = find(t, v);
        if (*number)
            continue;
        if (count == most)
            return 0;
        if (count == room) {
            room = room ? 4 * room : 256;
            uint64_t *more = realloc(*all, room * sizeof *more);
            if (!more)
                return -1;
            *all = more;
        }
        (*all)[count++] = turned(v, word);
        *number = 1;
    }
    qsort(*all, count, sizeof **all, by_size);
    for (size_t k = 0; k < count; k++) {
        (*all)[k] = turned_back((*all)[k], word);
        *find(t, (*all)[k]) = (uint32_t)k + 1;
    }
    return (int64_t)count;
}

static inline void put(struct sk_few *f, size_t i, uint32_t number)
{
    f->number[f->wide * i] = (uint8_t)number;
    if (f->wide == 2)
        f->number[2 * i + 1] = (uint8_t)(number >> 8);
}

static inline uint32_t get(const struct sk_few *f, size_t i)
{
    return f->wide == 2 ? f->number[2 * i] | (uint32_t)f->number[2 * i + 1] << 8 : f->number[i];
}

static int fill(struct sk_few *f, struct table *t, const uint64_t *all, const void *x, size_t n, size_t word)
{
    f->wide = f->count <= 256 ? 1 : 2;
    f->value = malloc(f->count * word);
    f->number = malloc(n * f->wide);
    if (!f->value || !f->number)
        return -1;
    for (size_t k = 0; k < f->count; k++)
        if (word == 4)
            ((uint32_t *)f->value)[k] = (uint32_t)all[k];
        else
            ((uint64_t *)f->value)[k] = all[k];
    for (size_t i = 0; i < n; i++)
        put(f, i, *find(t, word_at(x, word, i)) - 1);
    return 0;
}

int sk_few_is_long(const void *x, size_t n, size_t word)
{
    double words = n < LEAST_WORDS ? 0 : seen_again(x, n, word, 0);
    return words >= FEW && words < HARDLY && seen_again(x, n, word, 1) >= TOGETHER * words;
}

int sk_few_find(struct sk_few *f, const void *x, size_t n, size_t word)
{
    uint64_t *all = NULL;
    *f = (struct sk_few){0};
    if (n < LEAST_WORDS || seen_again(x, n, word, 0) < FEW)
        return 0;
    struct table *t = calloc(1, sizeof *t);
    int64_t count = t ? collect(t, x, n, word, &all) : -1;
    f->count = count > 0 ? (size_t)count : 0;
    if (count > 0 && fill(f, t, all, x, n, word))
        count = -1;
    free(t);
    free(all);
    if (count <= 0)
        sk_few_free(f);
    return count < 0 ? -1 : count > 0;
}

void sk_few_free(struct sk_few *f)
{
    free(f->value);
    free(f->number);
    *f = (struct sk_few){0};
}

int sk_few_undo(const struct sk_few *f, void *x, size_t n, size_t word)
{
    for (size_t i = 0; i < n; i++) {
        size_t number = get(f, i);
        if (number >= f->count)
            return -1;
        if (word == 4)
            ((uint32_t *)x)[i] = ((const uint32_t *)f->value)[number];
        else
            ((uint64_t *)x)[i] = ((const uint64_t *)f->value)[number];
    }
    return 0;
}

void sk_few_to_floats(const struct sk_few *f, size_t n, float *x)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)get(f, i);
}

void sk_few_from_floats(struct sk_few *f, size_t n, const float *x)
{
    const float most = f->wide == 2 ? 65535 : 255;
    for (size_t i = 0; i < n; i++)
        put(f, i, x[i] >= 0 && x[i] < most ? (uint32_t)x[i] : (uint32_t)most);
}

static unsigned bits_of(const struct sk_few *f)
{
    unsigned bits = 0;
    while ((size_t)1 << bits < f->count)
        bits++;
    return bits;
}

size_t sk_few_packed_bytes(const struct sk_few *f, size_t n)
{
    return (n * bits_of(f) + 7) / 8;
}

void sk_few_pack(const struct sk_few *f, size_t n, uint8_t *out)
{
    unsigned bits = bits_of(f), fill = 0;
    uint32_t hold = 0;
    for (size_t i = 0; i < n; i++) {
        hold |= get(f, i) << fill;
        for (fill += bits; fill >= 8; fill -= 8, hold >>= 8)
            *out++ = (uint8_t)hold;
    }
    if (fill)
        *out = (uint8_t)hold;
}

void sk_few_unpack(struct sk_few *f, size_t n, const uint8_t *in)
{
    unsigned bits = bits_of(f), fill = 0;
    uint32_t hold = 0, mask = ((uint32_t)1 << bits) - 1;
    for (size_t i = 0; i < n; i++) {
        for (; fill < bits; fill += 8)
            hold |= (uint32_t)*in++ << fill;
        put(f, i, hold & mask);
        hold >>= bits;
        fill -= bits;
    }
}
