/* Smooth and rough lines, planes, boxes and series of boxes, with shocks, noise, masks, and phases that are taken modulo 1. */
#include "steady.h"

#include "base/types.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* Places in [0, 1) of value i along up to four axes; returns how many there are. */
static int place_of(const struct sk_array *a, size_t i, double x[4])
{
    for (int d = a->ndims - 1; d >= 0; d--) {
        x[d] = (double)(i % a->dims[d]) / (double)a->dims[d];
        i /= a->dims[d];
    }
    return a->ndims;
}

static size_t count_of(const struct sk_array *a)
{
    size_t n = 1;
    for (int d = 0; d < a->ndims; d++)
        n *= a->dims[d];
    return n;
}

/* A few waves and hills. */
static double smooth(const double *x, int n)
{
    double phase = 0, near = 0, product = 1;
    for (int d = 0; d < n; d++) {
        phase += (2 + d) * x[d];
        near += (x[d] - 0.4) * (x[d] - 0.4);
        product *= sin(2 * pi * (1.3 * x[d] + 0.1 * d));
    }
    return sin(2 * pi * phase / n) + 2 * exp(-20 * near) + 0.7 * product;
}

static void waves(const struct sk_array *a, double *v)
{
    double x[4];
    for (size_t i = 0, n = count_of(a); i < n; i++)
        v[i] = smooth(x, place_of(a, i, x));
}

/* The same with noise of a hundred-thousandth, as of solvers that stop early. */
static void waves_noisy(const struct sk_array *a, double *v)
{
    waves(a, v);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        v[i] += 1e-5 * unseen_gauss();
}

static void fronts(const struct sk_array *a, double *v)
{
    double x[4];
    for (size_t i = 0, n = count_of(a); i < n; i++) {
        int dims = place_of(a, i, x);
        double s = smooth(x, dims), at = 0;
        for (int d = 0; d < dims; d++)
            at += (d + 1) * x[d];
        v[i] = 0.3 * s + tanh(60 * (at - 0.5 * dims)) + (at > 0.7 * dims ? 0.8 : 0);
    }
}

/* Decaying pulses, as a detector's or a heart's. */
static void pulses(const struct sk_array *a, double *v)
{
    double height = 0;
    for (size_t i = 0, n = count_of(a); i < n; i++) {
        height *= 0.995;
        if (unseen_uniform() < 0.001)
            height += 1 + unseen_uniform();
        v[i] = height + 0.002 * unseen_gauss();
    }
}

static void noise(const struct sk_array *a, double *v)
{
    for (size_t i = 0, n = count_of(a); i < n; i++)
        v[i] = unseen_gauss();
}

/* A smooth field over a coast, and 1e20 over land. */
static void coast(const struct sk_array *a, double *v)
{
    double x[4];
    for (size_t i = 0, n = count_of(a); i < n; i++) {
        int dims = place_of(a, i, x);
        v[i] = sin(9 * x[dims - 1] + 4 * sin(5 * x[dims - 2])) > 0.6 ? (double)1e20f : smooth(x, dims);
    }
}

/* Particles in order of place, as of a sorted snapshot. */
static void sorted(const struct sk_array *a, double *v)
{
    double at = 0;
    for (size_t i = 0, n = count_of(a); i < n; i++)
        v[i] = at += -log(1 - 0.999 * unseen_uniform());
}

/* ---- phases: fractional parts of something smooth, or of steps ---- */

static void saw(const struct sk_array *a, double *v)
{
    for (size_t i = 0, n = count_of(a); i < n; i++)
        v[i] = fmod(0.0123 * (double)i, 1);
}

static void saw_fast(const struct sk_array *a, double *v)
{
    for (size_t i = 0, n = count_of(a); i < n; i++)
        v[i] = fmod(0.3819660113 * (double)i, 1);
}

static void saw_bent(const struct sk_array *a, double *v)
{
    for (size_t i = 0, n = count_of(a); i < n; i++) {
        double t = (double)i / (double)n;
        v[i] = fmod(400 * t + 900 * t * t, 1);
    }
}

static void saw_noisy(const struct sk_array *a, double *v)
{
    for (size_t i = 0, n = count_of(a); i < n; i++)
        v[i] = fmod(0.0071 * (double)i + 1e-3 * fabs(unseen_gauss()), 1);
}

static void saw_angles(const struct sk_array *a, double *v)
{
    for (size_t i = 0, n = count_of(a); i < n; i++) {
        double t = (double)i / (double)n, phase = 300 * t + 20 * sin(2 * pi * 3 * t);
        v[i] = 2 * pi * (phase - floor(phase)) - pi;
    }
}

static void saw_drift(const struct sk_array *a, double *v)
{
    double phase = 0;
    for (size_t i = 0, n = count_of(a); i < n; i++) {
        phase = fmod(phase + 0.01 + 1e-4 * unseen_gauss(), 1);
        v[i] = phase;
    }
}

#define F32(...) {.type = SAIKAI_F32, .ndims = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .dims = {__VA_ARGS__}}
#define F64(...) {.type = SAIKAI_F64, .ndims = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .dims = {__VA_ARGS__}}

static const struct unseen list[] = {
    {"waves_1d", "smooth", 0, F64(150000), waves},
    {"waves_1d_f32", "smooth", 0, F32(90000), waves},
    {"waves_2d", "smooth", 0, F64(350, 420), waves},
    {"waves_2d_f32", "smooth", 0, F32(500, 300), waves},
    {"waves_3d", "smooth", 0, F64(50, 60, 70), waves},
    {"waves_3d_f32", "smooth", 0, F32(60, 60, 60), waves},
    {"waves_4d", "smooth", 0, F32(12, 20, 26, 30), waves},
    {"solved_1d", "noisy", 0, F64(120000), waves_noisy},
    {"solved_2d", "noisy", 0, F32(300, 400), waves_noisy},
    {"solved_3d", "noisy", 0, F64(40, 50, 60), waves_noisy},
    {"fronts_1d", "shocks", 0, F64(100000), fronts},
    {"fronts_2d", "shocks", 0, F32(400, 380), fronts},
    {"fronts_3d", "shocks", 0, F64(44, 54, 64), fronts},
    {"pulses", "series", 0, F32(200000), pulses},
    {"pulses_rows", "series", 0, F64(64, 2500), pulses},
    {"noise_1d", "noise", 0, F32(100000), noise},
    {"noise_3d", "noise", 0, F64(30, 40, 50), noise},
    {"coast_2d", "holes", 0, F32(360, 480), coast},
    {"coast_3d", "holes", 0, F64(16, 100, 120), coast},
    {"sorted", "particles", 0, F64(100000), sorted},
    {"saw", "saw", 0, F64(100000), saw},
    {"saw_f32", "saw", 0, F32(100000), saw},
    {"saw_fast", "saw", 0, F64(100000), saw_fast},
    {"saw_bent", "saw", 0, F64(100000), saw_bent},
    {"saw_noisy", "saw", 0, F32(100000), saw_noisy},
    {"saw_angles", "saw", 0, F64(100000), saw_angles},
    {"saw_drift", "saw", 0, F32(150000), saw_drift},
};

const struct unseen *steady_at(int i)
{
    return i >= 0 && i < (int)(sizeof list / sizeof *list) ? &list[i] : NULL;
}
