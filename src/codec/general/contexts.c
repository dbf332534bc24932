/* What LZMA's bytes cost by each choice of contexts, without LZMA: a sample is cut into repeats and other bytes in a simple way, and all choices' adaptive models
 * (one bit at a time, as in the LZMA specification that comes with 7-Zip, "Literals") count along. Trying LZMA itself takes several times as long for each choice. */
#include "codec/general/contexts.h"

#include <stddef.h>
#include <string.h>

/* Text, numbers of 8 or 4 bytes with and without the byte before, pairs of them, samples of 2 bytes. */
static const struct sk_lzma_contexts choices[] = {{3, 0, 2}, {4, 0, 0}, {0, 3, 3}, {1, 3, 3}, {1, 2, 2}, {0, 4, 4}, {2, 2, 2}, {3, 1, 1}};

enum { CHOICES = sizeof choices / sizeof *choices, PLACES = 16, ONE = 2048, RATE = 5, PRICES = 128, LENGTHS = 16, HASH_LOG = 12 };

/* Probabilities of zero, of 2048, for each bit of a byte, of a length, and of whether a repeat begins here; what all has cost so far. */
struct models {
    uint16_t literal[PLACES][256], length[PLACES][LENGTHS], repeat[2][PLACES];
    uint64_t cost;
};

struct counting {
    struct models of[CHOICES];
    uint8_t price[PRICES]; /* of a bit of this probability, in sixteenths */
    uint32_t at[1 << HASH_LOG];
};

/* 16 times the binary logarithm of 1 / p, by squaring p again and again: whole numbers are the same on every machine. */
static uint8_t price_of(uint32_t p)
{
    enum { SQUARES = 4, DIGITS = 16, OF_ONE = 11 << SQUARES };
    uint32_t halvings = 0;
    for (int i = 0; i < SQUARES; i++) {
        p *= p;
        halvings *= 2;
        for (; p >> DIGITS; p >>= 1)
            halvings++;
    }
    return (uint8_t)(OF_ONE - (DIGITS - 1) - halvings); /* p is 2^15 or more now */
}

static void begin(struct counting *c)
{
    memset(c, 0, sizeof *c);
    for (uint32_t i = 0; i < PRICES; i++)
        c->price[i] = price_of(i * ONE / PRICES + ONE / PRICES / 2);
    for (int k = 0; k < CHOICES; k++) {
        uint16_t *p = (uint16_t *)&c->of[k];
        for (size_t i = 0; i < offsetof(struct models, cost) / sizeof *p; i++)
            p[i] = ONE / 2;
    }
}

static inline uint32_t bit(const struct counting *c, uint16_t *p, uint32_t v)
{
    uint32_t zero = *p;
    *p = (uint16_t)(v ? zero - (zero >> RATE) : zero + ((ONE - zero) >> RATE));
    return c->price[(v ? ONE - zero : zero) / (ONE / PRICES)];
}

/* v, of so many bits, the highest first: each in the context of those before. */
static inline uint32_t tree(const struct counting *c, uint16_t *p, uint32_t v, int bits)
{
    uint32_t node = 1, cost = 0;
    while (bits--) {
        uint32_t b = v >> bits & 1;
        cost += bit(c, &p[node], b);
        node = 2 * node + b;
    }
    return cost;
}

static void literal(struct counting *c, uint32_t place, uint32_t before, uint32_t v, int after_repeat)
{
    for (int k = 0; k < CHOICES; k++) {
        struct sk_lzma_contexts by = choices[k];
        uint32_t of = (place & ((1u << by.lp) - 1)) << by.lc | before >> (8 - by.lc);
        c->of[k].cost += bit(c, &c->of[k].repeat[after_repeat][place & ((1u << by.pb) - 1)], 0) + tree(c, c->of[k].literal[of], v, 8);
    }
}

static void repeat(struct counting *c, uint32_t place, size_t length, int after_repeat)
{
    uint32_t v = length - 2 < LENGTHS ? (uint32_t)length - 2 : LENGTHS - 1;
    for (int k = 0; k < CHOICES; k++) {
        uint32_t of = place & ((1u << choices[k].pb) - 1);
        c->of[k].cost += bit(c, &c->of[k].repeat[after_repeat][of], 1) + tree(c, c->of[k].length[of], v, 4);
    }
}

static size_t same_from(const uint8_t *in, size_t n, size_t i, size_t k)
{
    size_t same = 0;
    while (i + same < n && in[i + same] == in[k + same])
        same++;
    return same;
}

/* A piece that begins at a place divisible by PLACES. Repeats: where the last one goes on after other bytes, or what the same three bytes were followed by. */
static void count(struct counting *c, const uint8_t *in, size_t n)
{
    enum { SHORT = 3, NEAR = 2 << 10, WORST = 2 };
    size_t i = 0, back = 0;
    int after = 0;
    memset(c->at, 0, sizeof c->at);
    while (i < n) {
        size_t length = back && back <= i ? same_from(in, n, i, i - back) : 0;
        if (i + SHORT < n) {
            uint32_t *slot = &c->at[(in[i] | (uint32_t)in[i + 1] << 8 | (uint32_t)in[i + 2] << 16) * 2654435761u >> (32 - HASH_LOG)];
            size_t k = *slot, other = k ? same_from(in, n, i, k - 1) : 0;
            *slot = (uint32_t)i + 1;
            if (length < WORST && (other > SHORT || (other == SHORT && i - (k - 1) < NEAR))) {
                length = other;
                back = i - (k - 1);
            }
        }
        if (length < WORST) {
            literal(c, (uint32_t)i % PLACES, i ? in[i - 1] : 0, in[i], after);
            length = 1;
        } else {
            repeat(c, (uint32_t)i % PLACES, length, after);
        }
        after = length > 1;
        i += length;
    }
}

struct sk_lzma_contexts sk_contexts_choose(const uint8_t *in, size_t n)
{
    enum { LEAST = 16 << 10, MOST = 48 << 10, SHARE = 4, PIECES = 4 };
    struct counting c;
    size_t all = n / SHARE < LEAST ? LEAST : n / SHARE < MOST ? n / SHARE : MOST, one = all / PIECES;
    begin(&c);
    if (n <= LEAST)
        count(&c, in, n);
    else
        for (size_t k = 0; k < PIECES; k++)
            count(&c, in + (n / PIECES * k + (n / PIECES - one) / 2) / PLACES * PLACES, one);
    int best = 0;
    for (int k = 1; k < CHOICES; k++)
        if (c.of[k].cost < c.of[best].cost)
            best = k;
    return choices[best];
}
