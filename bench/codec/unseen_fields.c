/* Random fields and what is made of them. */
#include "unseen.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;
static uint64_t state;

void unseen_seed(uint64_t seed)
{
    state = seed * 0x9e3779b97f4a7c15u + 0x1234567u;
}

double unseen_uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

double unseen_gauss(void)
{
    double u = unseen_uniform(), v = unseen_uniform();
    return sqrt(-2 * log(u + 1e-300)) * cos(2 * pi * v);
}

static size_t count_of(const struct sk_array *a)
{
    size_t n = 1;
    for (int i = 0; i < a->ndims; i++)
        n *= a->dims[i];
    return n;
}

/* ---- spectral fields ---- */

/* In place, n a power of two; w[k] = exp(2 pi i k / n). */
static void fft(double complex *x, size_t n, const double complex *w)
{
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double complex t = x[i];
            x[i] = x[j];
            x[j] = t;
        }
    }
    for (size_t half = 1; half < n; half *= 2)
        for (size_t i = 0; i < n; i += 2 * half)
            for (size_t k = 0; k < half; k++) {
                double complex a = x[i + k], b = x[i + k + half] * w[k * (n / 2 / half)];
                x[i + k] = a + b;
                x[i + k + half] = a - b;
            }
}

static void fft_along(double complex *x, const size_t side[3], int axis)
{
    size_t n = side[axis], stride = 1;
    for (int a = 2; a > axis; a--)
        stride *= side[a];
    double complex *row = malloc(n * sizeof *row), *w = malloc(n * sizeof *w);
    for (size_t k = 0; row && w && k < n; k++)
        w[k] = cexp(2 * pi * I * (double)k / (double)n);
    for (size_t at = 0, all = side[0] * side[1] * side[2]; row && w && at < all; at++) {
        if (at / stride % n)
            continue;
        for (size_t k = 0; k < n; k++)
            row[k] = x[at + k * stride];
        fft(row, n, w);
        for (size_t k = 0; k < n; k++)
            x[at + k * stride] = row[k];
    }
    free(row);
    free(w);
}

static double wave_number(size_t i, size_t n)
{
    return i <= n / 2 ? (double)i : (double)i - (double)n;
}

void unseen_spectral(const size_t side[3], double (*amplitude)(double k), double *x)
{
    size_t n = side[0] * side[1] * side[2], i = 0;
    double complex *c = malloc(n * sizeof *c);
    double square = 0;
    if (!c)
        return;
    for (size_t z = 0; z < side[0]; z++)
        for (size_t y = 0; y < side[1]; y++)
            for (size_t u = 0; u < side[2]; u++, i++) {
                double kz = wave_number(z, side[0]), ky = wave_number(y, side[1]);
                double kx = wave_number(u, side[2]), k = sqrt(kx * kx + ky * ky + kz * kz);
                double g = unseen_gauss(), h = unseen_gauss();
                c[i] = k > 0 ? amplitude(k) * (g + I * h) : 0;
            }
    for (int a = 0; a < 3; a++)
        fft_along(c, side, a);
    for (i = 0; i < n; i++)
        square += creal(c[i]) * creal(c[i]);
    for (i = 0; i < n; i++)
        x[i] = creal(c[i]) / sqrt(square / (double)n);
    free(c);
}

/* Slopes of the spectra of fields with one, two and three dimensions. */
static double smooth_3d(double k)
{
    return exp(-0.012 * k * k);
}
static double kolmogorov_3d(double k)
{
    return pow(k, -11.0 / 6) * exp(-k / 40);
}
static double kolmogorov_2d(double k)
{
    return pow(k, -4.0 / 3) * exp(-k / 300);
}
static double terrain(double k)
{
    return pow(k, -2.1);
}
static double gentle(double k)
{
    return pow(1 + k / 2, -4);
}

/* A spectral field in the shape of the array, whose dimensions are powers of two. */
static void field(const struct sk_array *a, uint64_t seed, double (*amplitude)(double), double *x)
{
    size_t side[3] = {1, 1, 1};
    for (int i = 0; i < a->ndims; i++)
        side[i + 3 - a->ndims] = a->dims[i];
    unseen_seed(seed);
    unseen_spectral(side, amplitude, x);
}

void unseen_heat(const struct sk_array *a, double *x)
{
    field(a, 11 + (uint64_t)a->ndims + a->dims[0], smooth_3d, x);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        x[i] = 300 + 20 * x[i];
}

void unseen_turbulence(const struct sk_array *a, double *x)
{
    field(a, 21 + (uint64_t)a->ndims, a->ndims == 3 ? kolmogorov_3d : kolmogorov_2d, x);
}

void unseen_lognormal(const struct sk_array *a, double *x)
{
    field(a, 31 + a->dims[0], kolmogorov_3d, x);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        x[i] = exp(1.6 * x[i]);
}

void unseen_tiny(const struct sk_array *a, double *x)
{
    field(a, 41, kolmogorov_3d, x);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        x[i] *= 1e-30;
}

void unseen_huge(const struct sk_array *a, double *x)
{
    field(a, 42, gentle, x);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        x[i] = 1e34 * (5 + x[i]);
}

/* ---- lines ---- */

void unseen_seismogram(const struct sk_array *a, double *x)
{
    double before = 0, last = 0;
    unseen_seed(51);
    for (size_t i = 0, n = count_of(a); i < n; i++) {
        double v = 1.95 * last - 0.962 * before + unseen_gauss() * exp(-(double)(i % 40000) / 9000);
        before = last;
        x[i] = last = v;
    }
}

void unseen_walk(const struct sk_array *a, double *x)
{
    double at = 100;
    unseen_seed(52);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        x[i] = at += 0.05 * unseen_gauss();
}

void unseen_chirp(const struct sk_array *a, double *x)
{
    size_t n = count_of(a);
    for (size_t i = 0; i < n; i++) {
        double t = (double)i / (double)n;
        x[i] = sin(900 * t * t * pi) * exp(-2 * t) + 0.3 * cos(70 * t);
    }
}

/* ---- particles ---- */

/* Three coordinates each, in the order of cells. */
void unseen_positions(const struct sk_array *a, double *x)
{
    size_t n = a->dims[0], side = 32;
    unseen_seed(61);
    for (size_t i = 0; i < n; i++) {
        size_t cell = (size_t)((double)i * (double)(side * side * side) / (double)n);
        x[3 * i] = (double)(cell % side) + unseen_uniform();
        x[3 * i + 1] = (double)(cell / side % side) + unseen_uniform();
        x[3 * i + 2] = (double)(cell / side / side) + unseen_uniform();
    }
}

void unseen_velocities(const struct sk_array *a, double *x)
{
    unseen_seed(62);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        x[i] = 0.7 * unseen_gauss() + 0.3 * sin((double)i * 1e-4);
}

void unseen_clusters(const struct sk_array *a, double *x)
{
    double centre = 0, width = 1;
    unseen_seed(63);
    for (size_t i = 0, n = count_of(a); i < n; i++) {
        if (i % 900 == 0) {
            centre = 100 * unseen_uniform();
            width = 0.01 + unseen_uniform() * unseen_uniform();
        }
        x[i] = centre + width * unseen_gauss();
    }
}

/* ---- whole numbers and few digits ---- */

static double clip(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

void unseen_picture(const struct sk_array *a, double *x)
{
    field(a, 71, kolmogorov_2d, x);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        x[i] = clip(floor(128 + 50 * x[i] + 2 * unseen_gauss()), 0, 255);
}

void unseen_counts(const struct sk_array *a, double *x)
{
    field(a, 72, gentle, x);
    for (size_t i = 0, n = count_of(a); i < n; i++) {
        double rate = exp(-3 * exp(0.8 * x[i])), p = 1;
        int k = -1;
        do {
            p *= unseen_uniform();
            k++;
        } while (p > rate);
        x[i] = k;
    }
}

void unseen_detector(const struct sk_array *a, double *x)
{
    field(a, 73, gentle, x);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        x[i] = clip(floor(600 + 300 * x[i] + 9 * unseen_gauss()), 0, 4095);
}

void unseen_elevations(const struct sk_array *a, double *x)
{
    field(a, 74, terrain, x);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        x[i] = x[i] < -0.4 ? 0 : floor(900 * (x[i] + 0.4));
}

void unseen_ridges(const struct sk_array *a, double *x)
{
    field(a, 75, terrain, x);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        x[i] = floor(18000 / (0.2 + fabs(x[i]))) / 10;
}

void unseen_decimals(const struct sk_array *a, double *x)
{
    field(a, 76, gentle, x);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        x[i] = floor(1500 + 900 * x[i] + 4 * unseen_gauss()) / 100;
}

void unseen_packed(const struct sk_array *a, double *x)
{
    field(a, 77, kolmogorov_3d, x);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        x[i] = 251.37 + 0.0012207403 * floor(9000 * x[i]);
}

/* ---- with holes and spikes ---- */

void unseen_spikes(const struct sk_array *a, double *x)
{
    field(a, 81 + (uint64_t)a->ndims, smooth_3d, x);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        if (unseen_uniform() < 1e-4)
            x[i] += 3 * unseen_gauss();
}

/* Depth by latitude by longitude; land is deep where it is high. */
static void with_land(const struct sk_array *a, double fill, double *x)
{
    size_t plane = a->dims[a->ndims - 1] * a->dims[a->ndims - 2], n = count_of(a);
    struct sk_array ground = {.ndims = 2, .dims = {a->dims[a->ndims - 2], a->dims[a->ndims - 1]}};
    double *g = malloc(plane * sizeof *g);
    if (!g)
        return;
    field(&ground, 83, terrain, g);
    for (size_t i = 0; i < n; i++)
        if (g[i % plane] > 0.3 - 1.5 * (double)(i / plane) / (double)(n / plane))
            x[i] = fill;
    free(g);
}

void unseen_ocean(const struct sk_array *a, double *x)
{
    field(a, 84, kolmogorov_3d, x);
    with_land(a, 1e20, x);
}

void unseen_land(const struct sk_array *a, double *x)
{
    field(a, 85, kolmogorov_2d, x);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        x[i] = 15 + 9 * x[i];
    with_land(a, -9999, x);
}

void unseen_clouds(const struct sk_array *a, double *x)
{
    field(a, 86, gentle, x);
    for (size_t i = 0, n = count_of(a); i < n; i++)
        x[i] = x[i] > 0.2 ? 280 + 5 * x[i] : NAN;
}

/* ---- climate ---- */

void unseen_years(const struct sk_array *a, double *x)
{
    size_t plane = a->dims[1] * a->dims[2];
    struct sk_array map = {.ndims = 2, .dims = {a->dims[1], a->dims[2]}};
    double *mean = malloc(plane * sizeof *mean);
    if (!mean)
        return;
    field(&map, 91, terrain, mean);
    for (size_t t = 0; t < a->dims[0]; t++) {
        field(&map, 92 + t, gentle, x + t * plane);
        for (size_t i = 0; i < plane; i++)
            x[t * plane + i] = 285 + 15 * mean[i] + 2 * x[t * plane + i];
    }
    free(mean);
}

/* Levels of a square grid whose rows were joined. */
void unseen_flattened(const struct sk_array *a, double *x)
{
    struct sk_array cube = {.ndims = 3, .dims = {a->dims[0], 64, a->dims[1] / 64}};
    field(&cube, 95, gentle, x);
}
