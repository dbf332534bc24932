/* The bound holds for each value of random arrays of every kind, without a bound all is exact,
 * masks and scales cost little, and damage is refused. */
#include "codec/wavelet/piece.h"
#include "codec/wavelet/wavelet.h"

#include "base/types.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Random arrays of every kind at every kind of bound: the bound must hold for each value, whatever
 * the data. */

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double uniform(void)
{
    return (double)(next() >> 11) * 0x1p-53;
}

enum kind {
    SMOOTH,
    NOISE,
    STEPS,
    MASKED_BIG,
    MASKED_ZERO,
    WITH_NAN,
    CONSTANT,
    SPIKES,
    DENORMAL,
    HUGE_RANGE,
    RANDOM_BITS,
    PARTICLES,
    TILED,
    CLIMATE,
    N_KINDS
};

static double value(enum kind kind, size_t x, size_t y, size_t z, size_t i)
{
    double s = sin(0.11 * (double)x) + cos(0.07 * (double)y + 0.2 * (double)z) + 3;
    int land = sin(0.31 * (double)x) + cos(0.23 * (double)y) > 1.1;
    switch (kind) {
    case SMOOTH:
        return 250 + 30 * s;
    case NOISE:
        return uniform() + uniform() + uniform() - 1.5;
    case STEPS:
        return floor(3 * s) * 7;
    case MASKED_BIG:
        return land ? 1e20 : s;
    case MASKED_ZERO:
        return land ? 0 : 10 + s;
    case WITH_NAN:
        return land ? NAN : next() % 97 ? s : (next() & 1 ? INFINITY : -INFINITY);
    case CONSTANT:
        return 42.5;
    case SPIKES:
        return next() % 50 ? s : s * 1e6;
    case DENORMAL:
        return s * 1e-310;
    case HUGE_RANGE:
        return s * pow(10, (double)(next() % 600) - 300) * (next() & 1 ? 1 : -1);
    case PARTICLES:
        return (double)(i % 977) / 977 + 0.01 * uniform();
    case CLIMATE: /* z is the slowest in up to three dimensions */
        return 1000 * s + 0.1 * (double)(x % 7) + 30 * (uniform() + uniform());
    case TILED:
        return sin((double)(i % 12)) * (double)(i / 12 % 12);
    default:
        return 0;
    }
}

static void fill(enum kind kind, const struct sk_array *a, void *data, size_t n)
{
    size_t nx = a->dims[a->ndims - 1], ny = a->ndims > 1 ? a->dims[a->ndims - 2] : 1;
    for (size_t i = 0; i < n; i++) {
        double v = value(kind, i % nx, i / nx % ny, i / nx / ny, i);
        uint64_t bits = next();
        if (kind == RANDOM_BITS)
            memcpy((uint8_t *)data + i * sk_type_size(a->type), &bits, sk_type_size(a->type));
        else if (a->type == SAIKAI_F32)
            ((float *)data)[i] = (float)v;
        else
            ((double *)data)[i] = v;
    }
}

static double get(const struct sk_array *a, const void *p, size_t i)
{
    return a->type == SAIKAI_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static void check(const struct sk_array *a, const void *in, const void *out, size_t n,
                  const struct sk_bound *bound)
{
    double low = INFINITY, high = -INFINITY, square = 0;
    size_t size = sk_type_size(a->type), finite = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(get(a, in, i))) {
            low = fmin(low, get(a, in, i));
            high = fmax(high, get(a, in, i));
        }
    double limit = bound->kind == SK_BOUND_ABS ? bound->value : bound->value * (high - low);
    for (size_t i = 0; i < n; i++) {
        double x = get(a, in, i), y = get(a, out, i), e = fabs(x - y);
        if (!isfinite(x) || bound->kind == SK_BOUND_NONE) {
            assert_memory_equal((const uint8_t *)in + i * size, (const uint8_t *)out + i * size,
                                size);
            continue;
        }
        if (bound->kind != SK_BOUND_PSNR)
            assert_true(e <= limit);
        square += e / (high - low) * (e / (high - low));
        finite++;
    }
    if (bound->kind == SK_BOUND_PSNR && finite && high > low && high - low < 1e300)
        assert_true(-10 * log10(square / (double)finite + 1e-300) >= bound->value);
}

static size_t round_trip_at(const struct sk_array *a, const void *in, size_t n,
                            const struct sk_bound *bound, int level)
{
    struct saikai_error err = {0};
    struct sk_codec_options opt = {.bound = *bound, .level = level};
    size_t cap = sk_codec_wavelet.max_encoded(a), size = 0, bytes = n * sk_type_size(a->type);
    uint8_t *code = malloc(cap), *back = malloc(bytes + 1);
    assert_non_null(code);
    assert_non_null(back);
    if (sk_codec_wavelet.encode(a, in, &opt, code, cap, &size, &err))
        fail_msg("encode: %s", err.text);
    assert_true(size <= cap);
    back[bytes] = 0x5a;
    if (sk_codec_wavelet.decode(a, code, size, back, &err))
        fail_msg("decode: %s", err.text);
    assert_int_equal(back[bytes], 0x5a);
    check(a, in, back, n, bound);
    free(code);
    free(back);
    return size;
}

static size_t round_trip(const struct sk_array *a, const void *in, size_t n, const struct sk_bound *bound)
{
    static const int levels[] = {0, PIECE_THRIFTY_LEVEL, PIECE_BEST_LEVEL};
    return round_trip_at(a, in, n, bound, levels[next() % 3]);
}

static struct sk_array random_shape(void)
{
    struct sk_array a = {.type = next() & 1 ? SAIKAI_F32 : SAIKAI_F64,
                         .ndims = 1 + (int)(next() % 4)};
    static const size_t most[] = {3000, 70, 24, 9};
    for (int i = 0; i < a.ndims; i++)
        a.dims[i] = 1 + next() % most[a.ndims - 1];
    return a;
}

static struct sk_bound random_bound(void)
{
    struct sk_bound b = {1 + (int)(next() % 3), pow(10, -1 - 8 * uniform())};
    if (b.kind == SK_BOUND_ABS)
        b.value *= pow(10, (double)(next() % 5));
    if (b.kind == SK_BOUND_PSNR)
        b.value = 20 + 80 * uniform();
    return b;
}

static void test_bounds_hold(void **unused)
{
    for (int round = 0; round < 1500; round++) {
        struct sk_array a = random_shape();
        struct sk_bound bound = random_bound();
        size_t n;
        assert_int_equal(sk_dims_count(a.ndims, a.dims, &n), 0);
        void *in = malloc(n * sk_type_size(a.type));
        assert_non_null(in);
        fill((enum kind)(round % N_KINDS), &a, in, n);
        round_trip(&a, in, n, &bound);
        free(in);
    }
}

static void test_exact_without_bound(void **unused)
{
    struct sk_bound none = {SK_BOUND_NONE, 0}, zero = {SK_BOUND_ABS, 0};
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct sk_array a = {.type = SAIKAI_F64, .ndims = 2, .dims = {31, 57}};
        size_t n = 31 * 57;
        double *in = malloc(n * sizeof *in);
        fill((enum kind)kind, &a, in, n);
        round_trip(&a, in, n, &none);
        round_trip(&a, in, n, &zero);
        free(in);
    }
}

/* No parameter, however odd, breaks a bound. */
static void test_parameters(void **unused)
{
    static const char *const texts[] = {
        "alpha=100", "alpha=0.01", "beta=nan,alpha=-3", "plan=0",
        "plan=1",    "plan=77",    "fold=9x9",          "fold=57x31",
        "active=0",  "active=255", "fold=,,=",          "alpha=2,beta=6,plan=0,active=3"};
    struct sk_array a = {.type = SAIKAI_F32, .ndims = 2, .dims = {31, 57}};
    struct sk_bound bound = {SK_BOUND_REL, 1e-3};
    float in[31 * 57], back[31 * 57];
    uint8_t code[sizeof in + 64];
    fill(SMOOTH, &a, in, 31 * 57);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        struct sk_codec_options opt = {.bound = bound, .parameter = texts[k]};
        struct saikai_error err;
        size_t size;
        assert_int_equal(sk_codec_wavelet.encode(&a, in, &opt, code, sizeof code, &size, &err), 0);
        assert_int_equal(sk_codec_wavelet.decode(&a, code, size, back, &err), 0);
        check(&a, in, back, 31 * 57, &bound);
    }
}

static void test_empty_and_single(void **unused)
{
    struct sk_bound bound = {SK_BOUND_REL, 1e-3};
    double one = 3.25;
    struct sk_array none = {.type = SAIKAI_F64, .ndims = 2, .dims = {0, 5}};
    struct sk_array scalar = {.type = SAIKAI_F64, .ndims = 0};
    round_trip(&none, &one, 0, &bound);
    round_trip(&scalar, &one, 1, &bound);
}

/* A mask must not cost much: a masked smooth field takes at most a bit for each place more than the
 * same field whole. */
static void test_masks_are_cheap(void **unused)
{
    struct sk_array a = {.type = SAIKAI_F32, .ndims = 3, .dims = {20, 60, 80}};
    struct sk_bound bound = {SK_BOUND_ABS, 1e-3}, scaled = {SK_BOUND_ABS, 30e-3};
    size_t n = 20 * 60 * 80;
    float *in = malloc(n * sizeof *in);
    for (int level = 0; level <= PIECE_BEST_LEVEL; level += PIECE_BEST_LEVEL) {
        fill(SMOOTH, &a, in, n);
        size_t whole = round_trip_at(&a, in, n, &scaled, level);
        fill(MASKED_BIG, &a, in, n);
        size_t masked = round_trip_at(&a, in, n, &bound, level);
        assert_true(masked < whole + n / 8);
    }
    free(in);
}

/* Rows of a few values: what lies side by side may be masked, or not finite. */
static void test_short_rows(void **unused)
{
    static const size_t dims[][3] = {{1, 9000, 3}, {1, 9000, 2}, {30, 300, 3}, {3, 3000, 7}, {7, 3, 3}};
    static const enum kind kinds[] = {SMOOTH, MASKED_BIG, NOISE};
    for (int k = 0; k < 15; k++) {
        const size_t *d = dims[k % 5], n = d[0] * d[1] * d[2];
        struct sk_array a = {.type = k % 2 ? SAIKAI_F32 : SAIKAI_F64, .ndims = 3, .dims = {d[0], d[1], d[2]}};
        struct sk_bound bound = {SK_BOUND_REL, 1e-3};
        void *in = malloc(n * sizeof(double));
        assert_non_null(in);
        fill(kinds[k / 5], &a, in, n);
        for (int level = 0; level <= PIECE_BEST_LEVEL; level += PIECE_BEST_LEVEL)
            round_trip_at(&a, in, n, &bound, level);
        free(in);
    }
}

/* What a field times a power of ten takes is what the field takes. */
static void test_scale_is_free(void **unused)
{
    const double scales[] = {1e-34, 1e-30, 1, 1e34};
    struct sk_array a = {.type = SAIKAI_F32, .ndims = 3, .dims = {20, 40, 50}};
    size_t n = 20 * 40 * 50, plain = 0;
    float *in = malloc(n * sizeof *in);
    assert_non_null(in);
    for (int k = 2; k >= 0; k--) {
        struct sk_bound bound = {SK_BOUND_ABS, 1e-3 * scales[k]};
        for (size_t i = 0; i < n; i++)
            in[i] = (float)(value(SMOOTH, i % 50, i / 50 % 40, i / 2000, i) * 1e-2 * scales[k]);
        size_t size = round_trip(&a, in, n, &bound);
        plain = k == 2 ? size : plain;
        assert_true(size < plain + plain / 20 + 16);
    }
    struct sk_bound huge = {SK_BOUND_ABS, 1e31};
    for (size_t i = 0; i < n; i++)
        in[i] = (float)(value(SMOOTH, i % 50, i / 50 % 40, i / 2000, i) * 1e-2 * scales[3]);
    assert_true(round_trip(&a, in, n, &huge) < plain + plain / 20 + 16);
    free(in);
}

enum { WAVES_Z = 48, WAVES_Y = 56, WAVES_X = 64, WAVES_N = WAVES_Z * WAVES_Y * WAVES_X };

/* Plane waves in a box, to be freed. */
static double *waves_new(struct sk_array *a)
{
    double *in = calloc(WAVES_N, sizeof *in);
    assert_non_null(in);
    *a = (struct sk_array){.type = SAIKAI_F64, .ndims = 3, .dims = {WAVES_Z, WAVES_Y, WAVES_X}};
    for (size_t i = 0; i < WAVES_N; i++)
        for (int m = 0; m < 6; m++)
            in[i] += sin((0.3 + 0.11 * m) * (double)(i % WAVES_X) + (0.5 - 0.07 * m) * (double)(i / WAVES_X % WAVES_Y) -
                         (0.2 + 0.09 * m) * (double)(i / (WAVES_X * WAVES_Y)) + m);
    return in;
}

static size_t size_with(const struct sk_array *a, const double *in, const char *parameter, double bound)
{
    struct saikai_error err = {0};
    struct sk_codec_options opt = {.bound = {SK_BOUND_ABS, bound}, .parameter = parameter};
    size_t cap = sk_codec_wavelet.max_encoded(a), size = 0;
    void *code = malloc(cap);
    assert_non_null(code);
    assert_int_equal(sk_codec_wavelet.encode(a, in, &opt, code, cap, &size, &err), 0);
    free(code);
    return size;
}

/* Small fields, of which trials see edges above all: two waves, a front, noise on a slope. */
static double small_value(int kind, double x, double y, double z)
{
    static uint32_t noise = 1;
    noise = noise * 1664525u + 1013904223u;
    switch (kind) {
    case 0:
        return sin(0.31 * x + 0.2 * y - 0.1 * z) + sin(0.7 * x - 0.4 * y + 0.3 * z + 1);
    case 1:
        return tanh(0.4 * x + 3 * sin(0.1 * y) + 0.1 * z - 10) + 0.1 * sin(0.2 * x + 0.1 * z);
    default:
        return 0.02 * x - 0.01 * y * z + (noise >> 8) * 0x1p-24;
    }
}

/* Nobody who knew the plans would have done much better. */
static void test_plans_of_small_pieces(void **unused)
{
    static const size_t shapes[][3] = {{48, 56, 64}, {1, 300, 200}, {1, 1, 150000}, {10, 34, 34}};
    static const char *const plans[] = {"plan=0,reach=2,series=0", "plan=0,reach=4,series=0", "plan=1,series=0"}; /* a series is no plan */
    (void)unused;
    for (int s = 0; s < 4; s++)
        for (int kind = 0; kind < 3; kind++) {
            const size_t *d = shapes[s], n = d[0] * d[1] * d[2];
            struct sk_array a = {.type = SAIKAI_F64, .ndims = 3, .dims = {d[0], d[1], d[2]}};
            double *in = malloc(n * sizeof *in);
            assert_non_null(in);
            for (size_t i = 0; i < n; i++)
                in[i] = small_value(kind, (double)(i % d[2]), (double)(i / d[2] % d[1]), (double)(i / (d[1] * d[2])));
            for (double bound = 1e-2; bound > 1e-5; bound /= 10) {
                size_t least = SIZE_MAX, own = size_with(&a, in, NULL, bound);
                for (int k = 0; k < 3; k++) {
                    size_t size = size_with(&a, in, plans[k], bound);
                    least = size < least ? size : least;
                }
                if ((double)own > 1.25 * (double)least + 64)
                    fail_msg("kind %d, %zu x %zu x %zu, %g: %zu bytes, %zu by the best plan", kind, d[0], d[1], d[2], bound, own, least);
            }
            free(in);
        }
}

/* Long filters pay on waves, and keep the bound. */
static void test_long_filters(void **unused)
{
    struct sk_array a;
    struct sk_bound bound = {SK_BOUND_ABS, 1e-3};
    double *in = waves_new(&a);
    size_t near = size_with(&a, in, "plan=0,reach=2", 1e-3), size = size_with(&a, in, "plan=0,reach=4", 1e-3);
    assert_true(size * 6 < near * 5);
    assert_true(round_trip(&a, in, WAVES_N, &bound) <= near);
    free(in);
}

/* Within fine bounds weights are exact and the edges do not spoil what lies inside: weights of 12 bits that were fitted to
 * all points alike took a quarter more. */
static void test_edges_are_apart(void **unused)
{
    struct sk_array a;
    struct sk_bound bound = {SK_BOUND_ABS, 1e-5};
    double *in = waves_new(&a);
    assert_true(size_with(&a, in, "plan=0,reach=4", 1e-5) < WAVES_N);
    assert_true(round_trip(&a, in, WAVES_N, &bound) < WAVES_N + WAVES_N / 16);
    free(in);
}

/* What a PSNR asks for is given, and at most half a decibel more. */
static void test_psnr_is_met(void **unused)
{
    struct saikai_error err = {0};
    struct sk_array a = {.type = SAIKAI_F64, .ndims = 3, .dims = {30, 40, 50}};
    size_t n = 30 * 40 * 50, cap = sk_codec_wavelet.max_encoded(&a), size;
    double *in = malloc(n * sizeof *in), *back = malloc(n * sizeof *in);
    void *code = malloc(cap);
    assert_true(in && back && code);
    for (int kind = SMOOTH; kind <= NOISE; kind++) {
        fill((enum kind)kind, &a, in, n);
        for (int asked = 40; asked <= 100; asked += 20) {
            struct sk_codec_options opt = {.bound = {SK_BOUND_PSNR, asked}};
            double low = INFINITY, high = -INFINITY, square = 0;
            assert_int_equal(sk_codec_wavelet.encode(&a, in, &opt, code, cap, &size, &err), 0);
            assert_int_equal(sk_codec_wavelet.decode(&a, code, size, back, &err), 0);
            for (size_t i = 0; i < n; i++) {
                low = fmin(low, in[i]);
                high = fmax(high, in[i]);
                square += (in[i] - back[i]) * (in[i] - back[i]);
            }
            double got = 20 * log10((high - low) / sqrt(square / (double)n));
            if (!(got >= asked && got <= asked + 0.5))
                fail_msg("psnr %d asked for, %.3f given (kind %d)", asked, got, kind);
        }
    }
    free(in);
    free(back);
    free(code);
}

/* A fill value is no part of the range, and stays what it is. */
static void test_fill_is_out_of_range(void **unused)
{
    const double fills[] = {1e20, -9999, -1e34};
    struct saikai_error err = {0};
    struct sk_array a = {.type = SAIKAI_F32, .ndims = 3, .dims = {10, 40, 50}};
    struct sk_codec_options opt = {.bound = {SK_BOUND_REL, 1e-3}};
    size_t n = 10 * 40 * 50, cap = sk_codec_wavelet.max_encoded(&a), size;
    float *in = malloc(n * sizeof *in), *back = malloc(n * sizeof *in);
    void *code = malloc(cap);
    assert_true(in && back && code);
    for (int k = 0; k < 6; k++) {
        int every = k < 3 ? 3 : 900; /* many of them, few of them */
        for (size_t i = 0; i < n; i++)
            in[i] = i / 40 % (size_t)every == 0 ? (float)fills[k % 3] : sinf(0.01f * (float)i);
        assert_int_equal(sk_codec_wavelet.encode(&a, in, &opt, code, cap, &size, &err), 0);
        assert_int_equal(sk_codec_wavelet.decode(&a, code, size, back, &err), 0);
        for (size_t i = 0; i < n; i++)
            assert_true(in[i] == (float)fills[k % 3] ? in[i] == back[i]
                                                     : fabsf(in[i] - back[i]) <= 2e-3f);
    }
    free(in);
    free(back);
    free(code);
}

/* One rough point in ten thousand costs a quarter of a smooth field's bytes at most. */
static void test_spikes_are_cheap(void **unused)
{
    struct sk_array a = {.type = SAIKAI_F32, .ndims = 3, .dims = {48, 64, 80}};
    size_t n = 48 * 64 * 80;
    float *in = malloc(n * sizeof *in);
    assert_non_null(in);
    for (int k = 0; k < 6; k++) {
        struct sk_bound bound = {SK_BOUND_ABS, 5 * pow(10, -3 - k % 3)};
        size_t size[2];
        for (int spikes = 0; spikes < 2; spikes++) {
            for (size_t i = 0; i < n; i++)
                in[i] = (float)(value(SMOOTH, i % 80, i / 80 % 64, i / 5120, i) / 60 +
                                (spikes && i % 10007 == 17 ? 1.5 * uniform() - 0.7 : 0));
            size[spikes] = round_trip_at(&a, in, n, &bound, k < 3 ? 0 : PIECE_BEST_LEVEL);
        }
        assert_true(4 * size[1] <= 5 * size[0]);
    }
    free(in);
}

/* Particles in order of place, within a loose bound: what stays near one number for long costs next to nothing, be some of it masked or not. */
static void test_stretches_are_held(void **unused)
{
    enum { N = 60000, STRETCH = 700 };
    struct sk_array a = {.type = SAIKAI_F32, .ndims = 1, .dims = {N}};
    struct sk_bound bound = {SK_BOUND_ABS, 1};
    float *in = malloc(N * sizeof *in);
    assert_non_null(in);
    for (int masked = 0; masked < 2; masked++) {
        for (size_t i = 0; i < N; i++)
            in[i] = masked && i % 1000 < 50 ? 1e20f
                                            : (float)(fmod((double)(i / STRETCH) * 61.8, 100) + 0.4 * (uniform() + uniform() + uniform() - 1.5));
        size_t size = round_trip(&a, in, N, &bound);
        if (size > 8 * N / STRETCH)
            fail_msg("%zu bytes for %d stretches", size, N / STRETCH);
    }
    free(in);
}

enum { SIDE = 160, PLANE = SIDE * SIDE };

/* Code a plane within a bound at a level; is the code adaptive? */
static int is_adaptive(const double *x, double bound, int level, size_t *size)
{
    struct sk_array a = {.type = SAIKAI_F64, .ndims = 2, .dims = {SIDE, SIDE}};
    struct sk_codec_options opt = {.bound = {SK_BOUND_ABS, bound}, .level = level};
    struct saikai_error err;
    static double back[PLANE];
    static uint8_t code[PLANE * sizeof *back + 64];
    assert_int_equal(sk_codec_wavelet.encode(&a, x, &opt, code, sizeof code, size, &err), 0);
    assert_int_equal(sk_codec_wavelet.decode(&a, code, *size, back, &err), 0);
    check(&a, x, back, PLANE, &opt.bound);
    assert_int_equal(code[0], PIECE_EXTENDED);
    return ((code[1] | code[2] << 8) & PIECE_SPARSE) != 0;
}

/* Adaptive codes are kept where they save more than their time is worth, and at the highest level wherever they are shorter: they save
 * little of noise that is now and then beyond the bound, and much where what is not zero lies together, as along a ring. By default
 * only small pieces have them. */
static void test_time_counts(void **unused)
{
    static double noise[PLANE], ring[PLANE];
    size_t usual, best;
    state = 88172645463325252u;
    for (size_t i = 0; i < PLANE; i++) {
        noise[i] = (uniform() + uniform() + uniform() + uniform() - 2) * 0.009 + 0.01 * (double)(i / SIDE);
        ring[i] = tanh(0.3 * (hypot((double)(i % SIDE), (double)(i / SIDE)) - 100));
    }
    assert_true(is_adaptive(noise, 1e-2, PIECE_BEST_LEVEL, &best));
    assert_false(is_adaptive(noise, 1e-2, PIECE_THRIFTY_LEVEL, &usual));
    assert_false(is_adaptive(noise, 1e-2, 0, &usual));
    assert_true(usual >= best && (double)usual < PIECE_WORTH * (double)best);
    assert_true(is_adaptive(ring, 1e-3, PIECE_BEST_LEVEL, &best));
    assert_true(is_adaptive(ring, 1e-3, PIECE_THRIFTY_LEVEL, &best));
    assert_true(is_adaptive(ring, 1e-3, 0, &usual));
}

static void test_refusals(void **unused)
{
    struct saikai_error err = {0};
    struct sk_codec_options opt = {.bound = {SK_BOUND_ABS, NAN}};
    struct sk_array a = {.type = SAIKAI_I32, .ndims = 1, .dims = {8}};
    float in[64] = {0};
    uint8_t out[1024];
    size_t size = 77;
    assert_int_equal(sk_codec_wavelet.encode(&a, in, &opt, out, sizeof out, &size, &err),
                     SAIKAI_ENOTSUP);
    a.type = SAIKAI_F32;
    assert_int_equal(sk_codec_wavelet.encode(&a, in, &opt, out, sizeof out, &size, &err),
                     SAIKAI_EBOUND);
    opt.bound = (struct sk_bound){SK_BOUND_NONE, 0};
    in[3] = 1;
    assert_int_equal(sk_codec_wavelet.encode(&a, in, &opt, out, 3, &size, &err), SAIKAI_ENOSPC);
    assert_int_equal(size, 77);
}

/* Damage gives an error or an array, never a crash; with every single byte changed it is nearly
 * always seen. */
static void test_damage(void **unused)
{
    struct sk_array a = {.type = SAIKAI_F64, .ndims = 2, .dims = {40, 50}};
    struct sk_codec_options opt = {.bound = {SK_BOUND_REL, 1e-4}};
    struct saikai_error err = {0};
    static double in[2000], back[2000];
    static uint8_t code[2000 * 8 + 64];
    size_t size = 0;
    fill(SMOOTH, &a, in, 2000);
    assert_int_equal(sk_codec_wavelet.encode(&a, in, &opt, code, sizeof code, &size, &err), 0);
    for (size_t cut = 0; cut < size; cut += 7)
        assert_int_equal(sk_codec_wavelet.decode(&a, code, cut, back, &err), SAIKAI_EDAMAGED);
    for (size_t i = 0; i < size; i++) {
        code[i] ^= 0x24;
        int rc = sk_codec_wavelet.decode(&a, code, size, back, &err);
        assert_true(rc == 0 || rc == SAIKAI_EDAMAGED || rc == SAIKAI_ENOMEM);
        code[i] ^= 0x24;
    }
    assert_int_equal(sk_codec_wavelet.decode(&a, code, size, back, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds_hold),      cmocka_unit_test(test_exact_without_bound),
        cmocka_unit_test(test_empty_and_single), cmocka_unit_test(test_masks_are_cheap),
        cmocka_unit_test(test_short_rows),
        cmocka_unit_test(test_scale_is_free),    cmocka_unit_test(test_long_filters), cmocka_unit_test(test_plans_of_small_pieces), cmocka_unit_test(test_edges_are_apart),
        cmocka_unit_test(test_psnr_is_met),      cmocka_unit_test(test_fill_is_out_of_range),
        cmocka_unit_test(test_spikes_are_cheap), cmocka_unit_test(test_stretches_are_held), cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_time_counts),
        cmocka_unit_test(test_refusals),         cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
