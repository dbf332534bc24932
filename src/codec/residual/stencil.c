/* Predicts and restores row by row: what needs no value of the row itself is done first, for the
 * whole row at once. */
#include "codec/residual/stencil.h"

#include "codec/residual/residual.h"

#include <math.h>

/* The hot loops exist for wide vectors as well; contraction is off everywhere, so both give the
 * same bits. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("arch=x86-64-v3", "default")))

#else
#define WIDE
#endif
#define INLINE static inline __attribute__((always_inline))

struct sk_stencil_box sk_box_of(int ndims, const size_t dims[])
{
    struct sk_stencil_box b = {1, 1, 1};
    size_t kept[SAIKAI_MAX_DIMS];
    int n = 0;
    for (int i = 0; i < ndims && i < SAIKAI_MAX_DIMS; i++)
        if (dims[i] != 1)
            kept[n++] = dims[i];
    if (n > 0)
        b.nx = kept[n - 1];
    if (n > 1)
        b.ny = kept[n - 2];
    for (int i = 0; i < n - 2; i++)
        b.nz *= kept[i];
    return b;
}

size_t sk_predict_max_bits(size_t n, int width)
{
    return n * (size_t)(width / 8) + SK_BITS_SLACK;
}

/* Two planes of ratios, with a column of zeros before each row and a row of zeros before each
 * plane; three rows. */
static size_t stride_of(struct sk_stencil_box b)
{
    return b.nx + 1;
}
size_t sk_predict_scratch(struct sk_stencil_box b)
{
    return (2 * (b.ny + 1) * stride_of(b) + 4 * stride_of(b)) * sizeof(double);
}

struct work {
    double *now, *before; /* planes of q; row y starts at (y + 1) * stride + 1 */
    double *base, *inverse, *guess, *other;
    size_t stride;
    const double *weights;
    double left; /* weight of the value before, for FITTED */
};

static struct work set_up(struct sk_stencil_box b, double *scratch)
{
    struct work w;
    size_t plane = (b.ny + 1) * stride_of(b);
    w.stride = stride_of(b);
    w.now = scratch;
    w.before = scratch + plane;
    w.base = scratch + 2 * plane;
    w.inverse = w.base + w.stride;
    w.guess = w.inverse + w.stride;
    w.other = w.guess + w.stride;
    memset(scratch, 0, 2 * plane * sizeof *scratch);
    return w;
}

INLINE double mean_of(double up, double back)
{
    double one = up != 0 ? up : back;
    return up != 0 && back != 0 ? 0.5 * (up + back) : one;
}

/* Masked fields: the Lorenzo part goes to base, what replaces it to other; a base of infinity says
 * "replace". */
INLINE void row_base_masked(const struct work *w, const double *up, const double *back,
                            const double *diag, size_t nx, int first_plane)
{
    for (size_t k = 0; k < nx; k++) {
        ptrdiff_t l = (ptrdiff_t)k - 1;
        int flat = back[k] != 0 && back[l] != 0;
        int deep = flat && up[k] != 0 && up[l] != 0 && diag[k] != 0 && diag[l] != 0;
        double two = back[k] - back[l],
               three = (up[k] + back[k] - diag[k]) - (up[l] + back[l] - diag[l]);
        w->base[k] = first_plane ? (flat ? two : HUGE_VAL) : (deep ? three : HUGE_VAL);
        w->other[k] = mean_of(up[k], back[k]);
    }
}

INLINE void row_base_fitted(struct work *w, const double *up, const double *back,
                            const double *diag, size_t nx, int first_plane)
{
    const double *c = w->weights;
    w->left = first_plane ? 1.0 : c[2];
    for (size_t k = 0; k < nx; k++) {
        ptrdiff_t l = (ptrdiff_t)k - 1;
        int flat = back[k] != 0 && back[l] != 0;
        int deep = flat && up[k] != 0 && up[l] != 0 && diag[k] != 0 && diag[l] != 0;
        double two = back[k] - back[l];
        double three = (c[0] * up[k] + c[1] * back[k]) + (c[3] * diag[k] + c[4] * up[l]) +
                       (c[5] * back[l] + c[6] * diag[l]);
        w->base[k] = first_plane ? (flat ? two : HUGE_VAL) : (deep ? three : HUGE_VAL);
        w->other[k] = mean_of(up[k], back[k]);
    }
}

/* The part of a row's predictions that needs no value of the row itself. */
INLINE void row_base(struct work *w, int stencil, const double *up, const double *back,
                     const double *diag, size_t nx, int first_plane)
{
    double *base = w->base;
    switch (stencil) {
    case SK_STENCIL_XY:
        for (size_t k = 0; k < nx; k++)
            base[k] = back[k] - back[(ptrdiff_t)k - 1];
        break;
    case SK_STENCIL_XYZ:
        for (size_t k = 0; k < nx; k++)
            base[k] = (up[k] + back[k] - diag[k]) -
                      (up[(ptrdiff_t)k - 1] + back[(ptrdiff_t)k - 1] - diag[(ptrdiff_t)k - 1]);
        break;
    case SK_STENCIL_ZYX:
        for (size_t k = 0; k < nx; k++)
            base[k] = up[k] != 0 ? up[k] : back[k];
        break;
    case SK_STENCIL_YZX:
        for (size_t k = 0; k < nx; k++)
            base[k] = back[k] != 0 ? back[k] : up[k];
        break;
    case SK_STENCIL_MEAN:
        for (size_t k = 0; k < nx; k++)
            base[k] = mean_of(up[k], back[k]);
        break;
    case SK_STENCIL_MASKED:
        row_base_masked(w, up, back, diag, nx, first_plane);
        break;
    case SK_STENCIL_FITTED:
        row_base_fitted(w, up, back, diag, nx, first_plane);
        break;
    default:
        for (size_t k = 0; k < nx; k++)
            base[k] = stencil == SK_STENCIL_NONE;
    }
}

/* q of one value from the base of its place and the q before it. */
INLINE double q_of(const struct work *w, int stencil, size_t k, double before)
{
    double base = w->base[k];
    switch (stencil) {
    case SK_STENCIL_X:
    case SK_STENCIL_XY:
    case SK_STENCIL_XYZ:
        return base + before;
    case SK_STENCIL_ZYX:
    case SK_STENCIL_YZX:
    case SK_STENCIL_MEAN:
        return base != 0 ? base : before;
    case SK_STENCIL_MASKED:
        if (before != 0 && base < HUGE_VAL)
            return base + before;
        return w->other[k] != 0 ? w->other[k] : before;
    case SK_STENCIL_FITTED:
        if (before != 0 && base < HUGE_VAL)
            return base + w->left * before;
        return w->other[k] != 0 ? w->other[k] : before;
    }
    return base;
}

/* A prediction that is no number would have a sign and payload that depend on the order of
 * operands: none of that may reach the integers. */
INLINE double clean(double p)
{
    return fabs(p) <= 1.7976931348623157e308 ? p : 0.0;
}

/* The same for decoding, where each value waits for the one before: a branch that is never taken
 * costs no time there, a selection does. The empty statement keeps it a branch. */
INLINE double clean_by_branch(double p)
{
    if (__builtin_expect(!(fabs(p) <= 1.7976931348623157e308), 0)) {
        __asm__ volatile("");
        p = 0.0;
    }
    return p;
}

INLINE double q_first(int related)
{
    return related ? 1.0 : 0.0;
}

INLINE void inverse_row(const double *P, double *inverse, size_t nx)
{
    for (size_t k = 0; k < nx; k++)
        inverse[k] = 1.0 / (P[k] != 0 ? P[k] : 1.0);
}

INLINE uint64_t folded(const void *x, int width, size_t i, double guess, int *zero)
{
    if (width == 64) {
        double v = ((const double *)x)[i];
        int64_t m = sk_map64(v);
        *zero = m == 0;
        return sk_fold((int64_t)((uint64_t)m - (uint64_t)sk_map64(guess)));
    }
    int32_t m = sk_map32(((const float *)x)[i]);
    *zero = m == 0;
    int32_t d = (int32_t)((uint32_t)m - (uint32_t)sk_map32((float)guess));
    return (uint32_t)sk_fold(d);
}

INLINE double value_at(const void *x, int width, size_t i)
{
    return width == 64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

INLINE void encode_row(const void *x, int width, size_t at, size_t nx, int related, const double *P,
                       const struct work *w, int stencil, double *row, int first, uint8_t *symbols,
                       struct sk_open_out *o)
{
    double *guess = w->guess;
    if (related)
        inverse_row(P, w->inverse, nx);
    for (size_t k = 0; k < nx; k++) {
        double v = value_at(x, width, at + k);
        row[k] = related ? v * w->inverse[k] : v;
    }
    double before = first ? q_first(related) : 0.0;
    guess[0] = q_of(w, stencil, 0, before);
    for (size_t k = 1; k < nx; k++)
        guess[k] = q_of(w, stencil, k, row[k - 1]);
    for (size_t k = 0; k < nx; k++)
        guess[k] = clean(related ? guess[k] * P[k] : guess[k]);
    struct sk_open_out bits = *o; /* a copy stays in registers */
    for (size_t k = 0; k < nx; k++) {
        int zero;
        uint64_t z = folded(x, width, at + k, guess[k], &zero);
        symbols[at + k] = zero ? SK_SYMBOL_ZERO : sk_residual_put(&bits, z);
    }
    *o = bits;
}

INLINE void decode_row(void *x, int width, size_t at, size_t nx, int related, const double *P,
                       const struct work *w, int stencil, double *row, int first,
                       const uint8_t *symbols, struct sk_open_in *in)
{
    if (related)
        inverse_row(P, w->inverse, nx);
    double before = first ? q_first(related) : 0.0;
    struct sk_open_in bits = *in;
    for (size_t k = 0; k < nx; k++) {
        double q = q_of(w, stencil, k, before);
        double guess = clean_by_branch(related ? q * P[k] : q), v = 0;
        uint8_t s = symbols[at + k];
        if (width == 64) {
            if (s != SK_SYMBOL_ZERO)
                v = sk_unmap64((int64_t)((uint64_t)sk_map64(guess) +
                                         (uint64_t)sk_unfold(sk_residual_get(&bits, s))));
            ((double *)x)[at + k] = v;
        } else {
            float f = 0;
            if (s != SK_SYMBOL_ZERO)
                f = sk_unmap32((int32_t)((uint32_t)sk_map32((float)guess) +
                                         (uint32_t)sk_unfold(sk_residual_get(&bits, s))));
            ((float *)x)[at + k] = f;
            v = f;
        }
        before = related ? v * w->inverse[k] : v;
        row[k] = before;
    }
    *in = bits;
}

/* Swap planes and give the rows around (z, y). */
INLINE void rows_at(struct work *w, size_t y, double **row, const double **up, const double **back,
                    const double **diag)
{
    size_t s = w->stride, at = (y + 1) * s + 1;
    *row = w->now + at;
    *up = w->before + at;
    *back = w->now + at - s;
    *diag = w->before + at - s;
}

INLINE void swap_planes(struct work *w)
{
    double *t = w->now;
    w->now = w->before;
    w->before = t;
}

INLINE void encode_box(const void *x, int width, struct sk_stencil_box b, int related, const double *P,
                       int stencil, const double *weights, uint8_t *symbols, struct sk_open_out *o,
                       double *scratch)
{
    struct work w = set_up(b, scratch);
    w.weights = weights;
    for (size_t z = 0, at = 0; z < b.nz; z++, swap_planes(&w))
        for (size_t y = 0; y < b.ny; y++, at += b.nx) {
            double *row;
            const double *up, *back, *diag;
            rows_at(&w, y, &row, &up, &back, &diag);
            row_base(&w, stencil, up, back, diag, b.nx, z == 0);
            encode_row(x, width, at, b.nx, related, related ? P + at : NULL, &w, stencil, row,
                       at == 0, symbols, o);
        }
}

INLINE void decode_box(void *x, int width, struct sk_stencil_box b, int related, const double *P,
                       int stencil, const double *weights, const uint8_t *symbols,
                       struct sk_open_in *in, double *scratch)
{
    struct work w = set_up(b, scratch);
    w.weights = weights;
    for (size_t z = 0, at = 0; z < b.nz; z++, swap_planes(&w))
        for (size_t y = 0; y < b.ny; y++, at += b.nx) {
            double *row;
            const double *up, *back, *diag;
            rows_at(&w, y, &row, &up, &back, &diag);
            row_base(&w, stencil, up, back, diag, b.nx, z == 0);
            decode_row(x, width, at, b.nx, related, related ? P + at : NULL, &w, stencil, row,
                       at == 0, symbols, in);
        }
}

/* One specialised copy of the loops per width, with and without a relation, and per kind of
 * stencil. */
#define STENCIL_CASE(s, call)                                                                      \
    case s:                                                                                        \
        call(s);                                                                                   \
        break;
#define FOR_STENCIL(call)                                                                          \
    switch (stencil) {                                                                             \
        STENCIL_CASE(SK_STENCIL_NONE, call)                                                        \
        STENCIL_CASE(SK_STENCIL_X, call)                                                           \
        STENCIL_CASE(SK_STENCIL_XY, call)                                                          \
        STENCIL_CASE(SK_STENCIL_XYZ, call)                                                         \
        STENCIL_CASE(SK_STENCIL_ZYX, call)                                                         \
        STENCIL_CASE(SK_STENCIL_YZX, call)                                                         \
        STENCIL_CASE(SK_STENCIL_MEAN, call)                                                        \
        STENCIL_CASE(SK_STENCIL_MASKED, call)                                                      \
    default:                                                                                       \
        call(SK_STENCIL_FITTED);                                                                   \
    }

#define ENCODE(name, width, relation)                                                              \
    WIDE static void name(const void *x, struct sk_stencil_box b, const double *P, int stencil,            \
                          const double *weights, uint8_t *symbols, struct sk_open_out *o,          \
                          double *scratch)                                                         \
    {                                                                                              \
        FOR_STENCIL(ENCODE_##relation##width)                                                      \
    }
#define ENCODE_P64(s) encode_box(x, 64, b, 1, P, s, weights, symbols, o, scratch)
#define ENCODE_P32(s) encode_box(x, 32, b, 1, P, s, weights, symbols, o, scratch)
#define ENCODE_N64(s) encode_box(x, 64, b, 0, NULL, s, weights, symbols, o, scratch)
#define ENCODE_N32(s) encode_box(x, 32, b, 0, NULL, s, weights, symbols, o, scratch)
ENCODE(encode_p64, 64, P)
ENCODE(encode_p32, 32, P)
ENCODE(encode_n64, 64, N)
ENCODE(encode_n32, 32, N)

#define DECODE(name, width, relation)                                                              \
    WIDE static void name(void *x, struct sk_stencil_box b, const double *P, int stencil,                  \
                          const double *weights, const uint8_t *symbols, struct sk_open_in *in,    \
                          double *scratch)                                                         \
    {                                                                                              \
        FOR_STENCIL(DECODE_##relation##width)                                                      \
    }
#define DECODE_P64(s) decode_box(x, 64, b, 1, P, s, weights, symbols, in, scratch)
#define DECODE_P32(s) decode_box(x, 32, b, 1, P, s, weights, symbols, in, scratch)
#define DECODE_N64(s) decode_box(x, 64, b, 0, NULL, s, weights, symbols, in, scratch)
#define DECODE_N32(s) decode_box(x, 32, b, 0, NULL, s, weights, symbols, in, scratch)
DECODE(decode_p64, 64, P)
DECODE(decode_p32, 32, P)
DECODE(decode_n64, 64, N)
DECODE(decode_n32, 32, N)

void sk_predict_encode(const void *x, int width, struct sk_stencil_box b, const double *P, int stencil,
                       const double *weights, uint8_t *symbols, uint8_t **bits, double *scratch)
{
    struct sk_open_out o = {*bits, 0, 0};
    if (width == 64)
        (P ? encode_p64 : encode_n64)(x, b, P, stencil, weights, symbols, &o, scratch);
    else
        (P ? encode_p32 : encode_n32)(x, b, P, stencil, weights, symbols, &o, scratch);
    *bits = sk_open_end(&o);
}

void sk_predict_decode(void *x, int width, struct sk_stencil_box b, const double *P, int stencil,
                       const double *weights, const uint8_t *symbols, const uint8_t **bits,
                       double *scratch)
{
    struct sk_open_in in = {*bits, 0};
    if (width == 64)
        (P ? decode_p64 : decode_n64)(x, b, P, stencil, weights, symbols, &in, scratch);
    else
        (P ? decode_p32 : decode_n32)(x, b, P, stencil, weights, symbols, &in, scratch);
    *bits += (in.at + 7) / 8;
}
