/* The window of numbers that predictions come from, and what a sample of the values says about how to code them. */
#include "codec/quick/piece.h"

#include "base/types.h"
#include "codec/entropy/scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROW = 8, MOST_HISTORY = 1 << 18, SAMPLE = 256, SAMPLE_BLOCKS = 24 };

int sk_quick_lags(const struct sk_array *a, int prediction, struct quick_lags *lags)
{
    *lags = (struct quick_lags){.before = prediction > 0};
    if (prediction < 2)
        return 0;
    if (a->ndims < prediction || a->dims[a->ndims - 1] < LEAST_ROW || a->dims[a->ndims - 1] > MOST_HISTORY)
        return -1;
    lags->row = a->dims[a->ndims - 1];
    if (prediction == 2)
        return 0;
    size_t rows = a->dims[a->ndims - 2];
    if (rows < 2 || rows > MOST_HISTORY / lags->row)
        return -1;
    lags->plane = rows * lags->row;
    return 0;
}

int sk_quick_window_new(struct quick_window *w, const struct quick_lags *lags)
{
    enum { LEAST = 1 << 14 };
    w->history = lags->plane + lags->row + 1;
    w->cap = 2 * w->history + LEAST;
    w->data = sk_scratch_take(w->cap * sizeof *w->data);
    if (!w->data)
        return -1;
    memset(w->data, 0, w->history * sizeof *w->data);
    w->next = w->data + w->history;
    return 0;
}

void sk_quick_window_free(struct quick_window *w)
{
    sk_scratch_give(w->data);
    w->data = NULL;
}

void sk_quick_window_advance(struct quick_window *w)
{
    w->next += QUICK_BLOCK;
    if (w->next + QUICK_BLOCK <= w->data + w->cap)
        return;
    memmove(w->data, w->next - w->history, w->history * sizeof *w->data);
    w->next = w->data + w->history;
}

static double value_at(const struct sk_array *a, const void *in, size_t i)
{
    return a->type == SAIKAI_F32 ? ((const float *)in)[i] : ((const double *)in)[i];
}

static uint64_t bits_at(const struct sk_array *a, const void *in, size_t i)
{
    size_t size = sk_type_size(a->type);
    uint64_t bits = 0;
    memcpy(&bits, (const uint8_t *)in + i * size, size); /* little-endian, as this machine is */
    return bits;
}

struct seen {
    double value;
    size_t at;
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct seen *)a)->value, y = ((const struct seen *)b)->value;
    return (x > y) - (x < y);
}

/* How many values at this end of a sorted sample are one that is far from all others: a fill value, if it is there twice. */
static size_t far_end(const struct seen *s, size_t n, int high)
{
    const double far = 1000;
    double end = high ? s[n - 1].value : s[0].value;
    size_t same = 0;
    while (same < n && (high ? s[n - 1 - same].value : s[same].value) == end)
        same++;
    if (same < 2 || same == n)
        return 0;
    double nearest = high ? s[n - 1 - same].value : s[same].value;
    double other = high ? s[0].value : s[n - 1].value;
    return fabs(end - nearest) > far * fabs(nearest - other) ? same : 0;
}

/* Centre, fill value and the largest of the other values, from some of them. */
static double look_at_values(struct quick_head *h, const struct sk_array *a, const void *in, size_t n)
{
    struct seen s[SAMPLE];
    size_t count = n < SAMPLE ? n : SAMPLE, m = 0;
    for (size_t k = 0; k < count; k++) {
        size_t i = (size_t)(((double)k + 0.5) * (double)n / (double)count);
        double v = value_at(a, in, i);
        if (isfinite(v))
            s[m++] = (struct seen){v, i};
        else
            h->fill = bits_at(a, in, i);
    }
    if (!m)
        return 0;
    qsort(s, m, sizeof *s, by_value);
    size_t high = far_end(s, m, 1), low = high ? 0 : far_end(s, m, 0);
    if (high || low)
        h->fill = bits_at(a, in, high ? s[m - 1].at : s[0].at);
    h->scale.centre = s[low + (m - high - low) / 2].value;
    return fmax(fabs(s[low].value), fabs(s[m - high - 1].value));
}

/* Twice the bound, less what arithmetic and the rounding to the values' type may take of it, up to a half. */
static void set_step(struct quick_scale *s, int type, double most)
{
    double rounding = most * (type == SAIKAI_F32 ? 0x1.1p-24 : 0x1p-50);
    s->step = 2 * (s->bound - (rounding < s->bound / 2 ? rounding : s->bound / 2));
    s->inverse = 1 / s->step;
    if (!isfinite(s->inverse) || !isfinite(s->step))
        s->step = s->inverse = 0;
}

/* Numbers of a block of the array, and the one before them. */
static void numbers_at(const struct sk_array *a, const void *in, size_t at, const struct quick_scale *s, int32_t *q)
{
    const struct quick_kernel *k = sk_quick_kernel();
    int32_t before[QUICK_BLOCK];
    if (a->type == SAIKAI_F32) {
        k->quantise_f32((const float *)in + at - 1, s, before);
        k->quantise_f32((const float *)in + at, s, q);
    } else {
        k->quantise_f64((const double *)in + at - 1, s, before);
        k->quantise_f64((const double *)in + at, s, q);
    }
    q[-1] = before[0];
}

static unsigned width_of(uint32_t all)
{
    return all ? 32u - (unsigned)__builtin_clz(all) : 0;
}

/* Widths that each prediction gives to a block at an element that has all its neighbours; lags of -1 are left out. */
static void add_widths(const struct sk_array *a, const void *in, size_t at, const struct quick_scale *s,
                       const struct quick_lags *lags, int predictions, unsigned *sum)
{
    enum { APART = QUICK_BLOCK + 4 };
    int32_t q[4 * APART];
    uint32_t folded[QUICK_BLOCK];
    const struct quick_lags *far = &lags[predictions - 1];
    for (int k = 0; k < 4; k++) { /* back and up, back, up, here; what has no row or plane is not asked for */
        size_t lag = (k & 1 ? 0 : far->row) + (k & 2 ? 0 : far->plane);
        numbers_at(a, in, at - lag, s, q + k * APART + 4);
    }
    for (int p = 0; p < predictions; p++) {
        struct quick_lags here = {lags[p].before, lags[p].row ? APART : 0, lags[p].plane ? 2 * APART : 0};
        sum[p] += width_of(sk_quick_kernel()->differ(q + 3 * APART + 4, &here, folded));
    }
}

static int choose_prediction(const struct sk_array *a, const void *in, size_t n, const struct quick_scale *s)
{
    struct quick_lags lags[QUICK_PREDICTIONS];
    unsigned sum[QUICK_PREDICTIONS] = {0};
    int predictions = 0, best = 1;
    while (predictions < QUICK_PREDICTIONS && !sk_quick_lags(a, predictions, &lags[predictions]))
        predictions++;
    size_t first = lags[predictions - 1].plane + lags[predictions - 1].row + 1;
    if (n < first + 2 * QUICK_BLOCK)
        return 1;
    size_t room = n - first - QUICK_BLOCK, blocks = room / (16 * QUICK_BLOCK) + 2;
    blocks = blocks < SAMPLE_BLOCKS ? blocks : SAMPLE_BLOCKS;
    for (size_t k = 0; k < blocks; k++)
        add_widths(a, in, first + (size_t)(((double)k + 0.5) * (double)room / (double)blocks), s, lags, predictions, sum);
    for (int p = 0; p < predictions; p++)
        best = sum[p] < sum[best] ? p : best;
    return best;
}

void sk_quick_head_choose(struct quick_head *h, const struct sk_array *a, const void *in, size_t n)
{
    double most = n ? look_at_values(h, a, in, n) : 0;
    set_step(&h->scale, a->type, most);
    h->prediction = choose_prediction(a, in, n, &h->scale);
}
