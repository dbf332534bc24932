/* What follows the last three numbers of a series: sums fitted in cells of the last one. */
#ifndef SK_CODEC_WAVELET_RULE_H
#define SK_CODEC_WAVELET_RULE_H

#include "codec/entropy/adaptive/adaptive.h"

#include <stddef.h>
#include <stdint.h>

enum { RULE_TERMS = 5, RULE_MOST_BITS = 8, RULE_MOST = 1 << 25 /* numbers are below it */ };
#define RULE_UNIT (1.0 / 32) /* of weights, in numbers */

/* What is known of the values behind the numbers, in units of the lattice. */
struct rule_state {
    double at, width; /* the last value is thought to lie around `at`, within a half of `width` */
    double before[2]; /* the numbers before it, the last first */
};

struct rule {
    int bits;         /* cells are 2^bits */
    int32_t most;     /* numbers are at most this */
    double cell, per; /* numbers in a cell; one by this */
    int64_t units[1 << RULE_MOST_BITS][RULE_TERMS];
    double weight[1 << RULE_MOST_BITS][RULE_TERMS]; /* of 1, place in the cell (-1 to 1) and its square, the numbers before (-1 to 1) */
};

struct rule_guess {
    double value, width; /* the next one is thought to lie around it, within a half of the width */
};

/* Encoder: fit it to n numbers of at most r->most, those left out where known[] is 1, which repeats tell. Without memory it is one that says nothing. */
void sk_rule_fit(struct rule *r, const int32_t *k, const uint8_t *known, size_t n);
/* Write it, or read it, r->most being set. -1: it is none. */
int sk_rule_code(struct rule *r, struct sk_adaptive *coder, int decoding);

static inline void rule_start(struct rule_state *s)
{
    *s = (struct rule_state){.width = 1};
}

static inline struct rule_guess rule_guess(const struct rule *r, const struct rule_state *s)
{
    double at = s->at * r->per;
    int last = (1 << r->bits) - 1, c = at > 0 ? (int)at : 0;
    c = c < last ? c : last;
    const double *w = r->weight[c];
    double u = 2 * (at - c) - 1, scale = 2.0 / (1 << r->bits) * r->per; /* of a number, in halves of the range */
    double b0 = s->before[0] * scale - 1, b1 = s->before[1] * scale - 1;
    double slope = (w[1] + 2 * u * w[2]) * 2 * r->per;
    double far = w[3] * scale, farther = w[4] * scale;
    struct rule_guess g = {.value = w[0] + u * (w[1] + u * w[2]) + w[3] * b0 + w[4] * b1};
    slope = slope < 0 ? -slope : slope;
    g.width = slope * s->width + (far < 0 ? -far : far) + (farther < 0 ? -farther : farther);
    g.width = g.width < 1.0 / 32 ? 1.0 / 32 : g.width;
    g.value = g.value > 0 ? g.value < r->most ? g.value : r->most : 0; /* also when it is no number */
    return g;
}

/* What number `k` says, after the guess. */
static inline void rule_learn(struct rule_state *s, const struct rule_guess *g, int32_t k)
{
    double low = k - 0.5, high = k + 0.5, half = g->width / 2;
    double l = g->value - half > low ? g->value - half : low, h = g->value + half < high ? g->value + half : high;
    s->before[1] = s->before[0];
    s->before[0] = s->at;
    if (h - l < 1.0 / 16) { /* the rule was not right: the number alone tells */
        l = low;
        h = high;
    }
    s->at = (l + h) / 2;
    s->width = h - l;
}

#endif
