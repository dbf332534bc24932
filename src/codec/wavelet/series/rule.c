/* Fits a rule by least squares in each cell, with as many cells as pay. */
#include "codec/wavelet/series/rule.h"

#include "codec/entropy/scratch.h"

#include <math.h>
#include <string.h>

enum { SAMPLE = 1 << 16, SPAN = 64, MOST_EXPONENT = 40 };

/* Normal equations of a cell. */
struct cell {
    double a[RULE_TERMS][RULE_TERMS], b[RULE_TERMS];
    double squares, n;
};

/* What a number depends on; returns its cell. */
static int terms_of(const struct rule *r, const int32_t *k, double x[RULE_TERMS])
{
    double at = k[-1] * r->per, scale = 2.0 / (1 << r->bits) * r->per;
    int last = (1 << r->bits) - 1, c = (int)at;
    c = c < last ? c : last;
    double u = 2 * (at - c) - 1;
    x[0] = 1;
    x[1] = u;
    x[2] = u * u;
    x[3] = k[-2] * scale - 1;
    x[4] = k[-3] * scale - 1;
    return c;
}

/* Calls over all or a sample of the numbers: stretches of SPAN spread evenly. */
static size_t next_sample(size_t i, size_t n)
{
    size_t parts = n / SAMPLE;
    i++;
    return parts > 1 && i % SPAN == 3 ? i + (parts - 1) * SPAN : i;
}

/* Weights that go on as those of the cell before do. */
static void go_on(const struct rule *r, int c, int64_t units[RULE_TERMS])
{
    memset(units, 0, RULE_TERMS * sizeof *units);
    if (!c)
        return;
    const int64_t *was = r->units[c - 1];
    units[0] = was[0] + 2 * was[1] + 4 * was[2];
    units[1] = was[1] + 4 * was[2];
    for (int i = 2; i < RULE_TERMS; i++)
        units[i] = was[i];
    int64_t most = (int64_t)(r->most / RULE_UNIT);
    if (units[0] < 0 || units[0] > most) { /* not out of the range, and not far in cells without numbers */
        units[0] = units[0] < 0 ? 0 : most;
        units[1] = units[2] = 0;
    }
}

/* Weights that miss least, but are near `prior` where the numbers do not tell. */
static void solve(const struct cell *c, const double prior[RULE_TERMS], double trust, double x[RULE_TERMS])
{
    double a[RULE_TERMS][RULE_TERMS], b[RULE_TERMS];
    memcpy(a, c->a, sizeof a);
    for (int i = 0; i < RULE_TERMS; i++) {
        a[i][i] += trust;
        b[i] = c->b[i] + trust * prior[i];
    }
    for (int i = 0; i < RULE_TERMS; i++)
        for (int j = i + 1; j < RULE_TERMS; j++) {
            double f = a[j][i] / a[i][i];
            for (int m = i; m < RULE_TERMS; m++)
                a[j][m] -= f * a[i][m];
            b[j] -= f * b[i];
        }
    for (int i = RULE_TERMS; i-- > 0;) {
        double sum = b[i];
        for (int m = i + 1; m < RULE_TERMS; m++)
            sum -= a[i][m] * x[m];
        x[i] = sum / a[i][i];
    }
}

/* Sum of squares of what weights miss. */
static double misses(const struct cell *c, const int64_t units[RULE_TERMS])
{
    double sum = c->squares;
    for (int i = 0; i < RULE_TERMS; i++) {
        double row = -2 * c->b[i];
        for (int m = 0; m < RULE_TERMS; m++)
            row += c->a[i][m] * (double)units[m] * RULE_UNIT;
        sum += (double)units[i] * RULE_UNIT * row;
    }
    return sum > 0 ? sum : 0;
}

/* About the bits of what misses by so much. */
static double bits_of(const struct cell *c, double squares)
{
    const double noise = 0.25;
    return c->n > 0 ? c->n / 2 * log2(squares / c->n + noise) : 0;
}

/* The weights of a cell, and the bits that they and what they miss take: as in the cell before, or near these, or as the numbers say. */
static double fit_cell(struct rule *r, int c, const struct cell *cell)
{
    static const double trust[] = {0.05, 1e-6};
    double prior[RULE_TERMS], x[RULE_TERMS], least;
    int64_t old[RULE_TERMS], new[RULE_TERMS];
    go_on(r, c, old);
    memcpy(r->units[c], old, sizeof old);
    least = bits_of(cell, misses(cell, old));
    for (int i = 0; i < RULE_TERMS; i++)
        prior[i] = (double)old[i] * RULE_UNIT;
    for (int t = 0; t < 2 && cell->n > 0; t++) {
        double price = 0;
        int ok = 1;
        solve(cell, prior, trust[t], x);
        for (int i = 0; i < RULE_TERMS; i++) {
            ok = ok && fabs(x[i]) < 4.0 * RULE_MOST;
            new[i] = ok ? llrint(x[i] / RULE_UNIT) : 0;
            price += 1 + 2 * log2(1 + fabs((double)(new[i] - old[i])));
        }
        price += bits_of(cell, misses(cell, new));
        if (ok && price < least) {
            least = price;
            memcpy(r->units[c], new, sizeof new);
        }
    }
    return least;
}

static void set_weights(struct rule *r, int c)
{
    for (int i = 0; i < RULE_TERMS; i++)
        r->weight[c][i] = (double)r->units[c][i] * RULE_UNIT;
}

/* Returns about how many bits it takes. */
static double fit(struct rule *r, struct cell *cells, const int32_t *k, const uint8_t *known, size_t n)
{
    double bits = 0, seen = 0;
    memset(cells, 0, sizeof *cells << r->bits);
    for (size_t i = 3; i < n; i = next_sample(i, n)) {
        double x[RULE_TERMS];
        seen++;
        if (known[i])
            continue;
        struct cell *c = &cells[terms_of(r, k + i, x)];
        for (int p = 0; p < RULE_TERMS; p++) {
            for (int q = 0; q < RULE_TERMS; q++)
                c->a[p][q] += x[p] * x[q];
            c->b[p] += x[p] * k[i];
        }
        c->squares += (double)k[i] * k[i];
        c->n++;
    }
    for (int c = 0; c < 1 << r->bits; c++) {
        bits += fit_cell(r, c, &cells[c]);
        set_weights(r, c);
    }
    return bits * (double)n / (seen > 0 ? seen : 1);
}

static void set_cells(struct rule *r, int bits)
{
    r->bits = bits;
    r->per = (1 << bits) / ((double)r->most + 1);
}

void sk_rule_fit(struct rule *r, const int32_t *k, const uint8_t *known, size_t n)
{
    enum { STEP = 2 };
    struct cell *cells = sk_scratch_take(sizeof *cells << RULE_MOST_BITS);
    double least = INFINITY;
    int best = 0;
    memset(r->units, 0, sizeof r->units);
    memset(r->weight, 0, sizeof r->weight);
    set_cells(r, 0);
    for (int bits = 0; cells && bits <= RULE_MOST_BITS; bits += STEP) {
        set_cells(r, bits);
        double cost = fit(r, cells, k, known, n);
        if (cost < least) {
            least = cost;
            best = bits;
        }
    }
    if (cells && best != RULE_MOST_BITS) {
        set_cells(r, best);
        fit(r, cells, k, known, n);
    }
    sk_scratch_give(cells);
}

/* One weight beside what it would be. */
struct weights {
    sk_adaptive_slot zero[RULE_TERMS][2], sign[RULE_TERMS], exponent[RULE_TERMS][MOST_EXPONENT + 1], rest[MOST_EXPONENT + 1];
};

static int64_t code_beside(struct weights *w, int i, int before, struct sk_adaptive *coder, int64_t d, int decoding)
{
    uint64_t far = (uint64_t)(d < 0 ? -d : d), x = 1;
    int e = far ? 63 - __builtin_clzll(far) : 0, has = 0;
    if (!sk_adaptive_alone(coder, &w->zero[i][before], d != 0, decoding))
        return 0;
    int down = sk_adaptive_alone(coder, &w->sign[i], d < 0, decoding);
    while (has < MOST_EXPONENT && sk_adaptive_alone(coder, &w->exponent[i][has], e > has, decoding))
        has++;
    for (int b = has; b-- > 0;)
        x = 2 * x + (uint64_t)sk_adaptive_alone(coder, &w->rest[b], (int)(far >> b & 1), decoding);
    return down ? -(int64_t)x : (int64_t)x;
}

int sk_rule_code(struct rule *r, struct sk_adaptive *coder, int decoding)
{
    const int64_t limit = (int64_t)1 << MOST_EXPONENT;
    struct weights w;
    sk_adaptive_slot bits[1 << 4];
    int before = 0, got = 1;
    sk_adaptive_slots(w.zero[0], sizeof w / sizeof w.zero[0][0]);
    sk_adaptive_slots(bits, sizeof bits / sizeof *bits);
    for (int b = 3; b >= 0; b--)
        got = 2 * got + sk_adaptive_alone(coder, &bits[got], r->bits >> b & 1, decoding);
    if (got - 16 > RULE_MOST_BITS)
        return -1;
    set_cells(r, got - 16);
    for (int c = 0; c < 1 << r->bits; c++) {
        int64_t near[RULE_TERMS];
        go_on(r, c, near);
        for (int i = 0; i < RULE_TERMS; i++) {
            int64_t d = code_beside(&w, i, before, coder, decoding ? 0 : r->units[c][i] - near[i], decoding);
            before = d != 0;
            r->units[c][i] = near[i] + d;
            if (near[i] > limit || near[i] < -limit || d > limit || d < -limit)
                return -1;
        }
        set_weights(r, c);
    }
    return 0;
}
