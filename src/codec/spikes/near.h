/* What the neighbours of a value along a line say of it, and how far they agree. */
#ifndef SK_CODEC_SPIKES_NEAR_H
#define SK_CODEC_SPIKES_NEAR_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A few values of a line one behind the other; those that are left out say nothing. */
struct sk_near {
    double x[64];
    unsigned char out[64];
    int n;
};

static inline double sk_near_value(const void *values, size_t i, size_t size)
{
    return size == sizeof(float) ? ((const float *)values)[i] : ((const double *)values)[i];
}

/* The value at `at` of the polynomial through m points. */
static inline double sk_near_through(const int *place, const double *x, int m, int at)
{
    double sum = 0;
    for (int i = 0; i < m; i++) {
        double f = 1;
        for (int k = 0; k < m; k++)
            f *= k == i ? 1 : (double)(at - place[k]) / (double)(place[i] - place[k]);
        sum += f * x[i];
    }
    return sum;
}

/* Up to `most` neighbours of place `at` to one side (1, -1) that are not left out. Returns how many. */
static inline int sk_near_side(const struct sk_near *l, int at, int side, int most, int *place, double *x)
{
    int m = 0;
    for (int i = at + side; i >= 0 && i < l->n && m < most; i += side)
        if (!l->out[i]) {
            place[m] = i;
            x[m++] = l->x[i];
        }
    return m;
}

/* The cubic through two neighbours at each side. Returns 0 where one has fewer. */
static inline int sk_near_between(const struct sk_near *l, int at, double *guess)
{
    int place[4];
    double x[4];
    if (sk_near_side(l, at, -1, 2, place, x) < 2 || sk_near_side(l, at, 1, 2, place + 2, x + 2) < 2)
        return 0;
    *guess = sk_near_through(place, x, 4, at);
    return 1;
}

/* The parabola through three neighbours of one side. */
static inline int sk_near_beyond(const struct sk_near *l, int at, int side, double *guess)
{
    int place[3];
    double x[3];
    if (sk_near_side(l, at, side, 3, place, x) < 3)
        return 0;
    *guess = sk_near_through(place, x, 3, at);
    return 1;
}

/* What the neighbours of both sides say, or, at an end of the line, those of one. */
static inline int sk_near_guess(const struct sk_near *l, int at, double *guess)
{
    return sk_near_between(l, at, guess) || sk_near_beyond(l, at, 1, guess) || sk_near_beyond(l, at, -1, guess);
}

/* Is element i a number of the field, and not its fill value (its bits; NULL: there is none)? */
static inline int sk_near_is_number(const void *values, size_t i, size_t size, const uint64_t *fill)
{
    uint64_t bits = 0;
    if (!isfinite(sk_near_value(values, i, size)))
        return 0;
    if (!fill)
        return 1;
    memcpy(&bits, (const uint8_t *)values + i * size, size);
    return bits != *fill;
}

#endif
