/* Measures what the paper shows: size and error of a field after each quantiser, and how far a run
 * that was restarted from a lossy checkpoint strays from the one that went on. */
#include "paper_small.h"

#include "shallow_water.h"

#include "base/clock.h"
#include "codec/quality/difference.h"
#include "codec/haar/deflate.h"
#include "codec/haar/haar.h"
#include "codec/array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ps_bar_names[PS_BARS] = {
    "gzip",
    "wavelet + gzip",
    "simple n=1, not encoded",
    "simple n=1",
    "simple n=128, not encoded",
    "simple n=128",
    "spike n=1, not encoded",
    "spike n=1",
    "spike n=128, not encoded",
    "spike n=128",
};

enum { HEADER = 16, REPEATS = 3 };

static int gzip_size(const void *data, size_t n, size_t *size, double *seconds,
                     struct saikai_error *err)
{
    size_t cap = n + n / 16 + 4096;
    void *out = malloc(cap);
    if (!out)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory");
    double begun = sk_now();
    int rc = sk_haar_gzip(data, n, 6, out, cap, size, err);
    *seconds = sk_now() - begun;
    free(out);
    return rc;
}

/* Elements in the high bands of a three-dimensional array. */
static size_t high_count(const struct sk_array *a)
{
    size_t all = 1, low = 1;
    for (int i = 0; i < a->ndims; i++) {
        all *= a->dims[i];
        low *= (a->dims[i] + 1) / 2;
    }
    return all - low;
}

/* Encode f with this parameter text into piece, best time of some. */
static int encode(const struct ps_field *f, const char *parameter, uint8_t *piece, size_t cap,
                  size_t *size, double *seconds, struct saikai_error *err)
{
    struct sk_codec_options opt = {.parameter = parameter};
    *seconds = INFINITY;
    for (int k = 0; k < REPEATS; k++) {
        double begun = sk_now();
        int rc = sk_codec_haar.encode(&f->array, f->values, &opt, piece, cap, size, err);
        if (rc)
            return rc;
        *seconds = fmin(*seconds, sk_now() - begun);
    }
    return 0;
}

/* What the paper counts: its bitmap and table left out, the rest through gzip. The piece has no
 * gzip of its own. */
static int bands_size(const struct ps_field *f, const uint8_t *piece, size_t n, size_t *size,
                      double *seconds, struct saikai_error *err)
{
    uint32_t table;
    memcpy(&table, piece + 4, 4);
    size_t skip = HEADER + (high_count(&f->array) + 7) / 8 + table * sizeof(double);
    return gzip_size(piece + skip, n - skip, size, seconds, err);
}

static int measure(const struct ps_field *f, const char *parameter, struct ps_point *p,
                   struct saikai_error *err)
{
    size_t cap = sk_codec_haar.max_encoded(&f->array), n, bands;
    uint8_t *piece = malloc(cap);
    double *back = malloc(f->bytes), unpacked_seconds;
    char plain[96];
    int rc = piece && back ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory");
    if (rc)
        goto out;
    rc = encode(f, parameter, piece, cap, &n, &p->seconds, err);
    if (!rc)
        rc = sk_codec_haar.decode(&f->array, piece, n, back, err);
    if (rc)
        goto out;
    struct sk_difference d;
    sk_difference(&f->array, f->values, back, &d);
    p->rate = 100 * (double)n / (double)f->bytes;
    p->mean_error = 100 * d.mean_rel;
    p->max_error = 100 * d.max_rel;
    snprintf(plain, sizeof plain, "%s,gzip=0", parameter);
    rc = encode(f, plain, piece, cap, &n, &unpacked_seconds, err);
    if (!rc)
        rc = bands_size(f, piece, n, &bands, &p->gzip_seconds, err);
    p->gzip_seconds = fmax(0, p->seconds - unpacked_seconds);
    p->bands_rate = 100 * (double)bands / (double)f->bytes;
out:
    free(piece);
    free(back);
    return rc;
}

static int measure_bars(struct ps_results *r, int i, struct saikai_error *err)
{
    static const char *const parameters[PS_BARS] = {
        NULL,
        "quantiser=none",
        "quantiser=simple,n=1,encoding=none",
        "quantiser=simple,n=1",
        "quantiser=simple,n=128,encoding=none",
        "quantiser=simple,n=128",
        "quantiser=spike,n=1,encoding=none",
        "quantiser=spike,n=1",
        "quantiser=spike,n=128,encoding=none",
        "quantiser=spike,n=128",
    };
    const struct ps_field *f = &r->field[i];
    size_t n;
    double seconds;
    int rc = gzip_size(f->values, f->bytes, &n, &seconds, err);
    r->bars[i][0] = 100 * (double)n / (double)f->bytes;
    for (int b = 1; b < PS_BARS && !rc; b++) {
        struct ps_point p;
        rc = measure(f, parameters[b], &p, err);
        r->bars[i][b] = p.bands_rate;
    }
    return rc;
}

int ps_measure_field(struct ps_results *r, int i, struct saikai_error *err)
{
    for (int q = 0; q < 2; q++)
        for (int k = 0; k < PS_BINS; k++) {
            char parameter[64];
            snprintf(parameter, sizeof parameter, "quantiser=%s,n=%d", q ? "spike" : "simple",
                     1 << k);
            int rc = measure(&r->field[i], parameter, &r->sweep[i].at[q][k], err);
            if (rc)
                return rc;
        }
    return measure_bars(r, i, err);
}

/* ---- Fig. 11 ---- */

enum { SIDE = 128, SPIN_UP = 1000, STEPS = 1500, EVERY = 10 };

static const struct way {
    const char *name, *codec, *parameter;
    struct sk_bound bound;
} ways[] = {
    {"haar simple n=1", "haar", "quantiser=simple,n=1", {0, 0}},
    {"haar simple n=128", "haar", "quantiser=simple,n=128", {0, 0}},
    {"haar spike n=1", "haar", "quantiser=spike,n=1", {0, 0}},
    {"haar spike n=128", "haar", "quantiser=spike,n=128", {0, 0}},
    {"wavelet rel 1e-2", "wavelet", NULL, {SK_BOUND_REL, 1e-2}},
    {"wavelet rel 1e-3", "wavelet", NULL, {SK_BOUND_REL, 1e-3}},
    {"wavelet rel 1e-4", "wavelet", NULL, {SK_BOUND_REL, 1e-4}},
    {"wavelet rel 1e-6", "wavelet", NULL, {SK_BOUND_REL, 1e-6}},
    {"wavelet rel 1e-9", "wavelet", NULL, {SK_BOUND_REL, 1e-9}},
    {"lossless (zstd)", "zstd", NULL, {0, 0}},
};

/* Replace the three fields of the state by what comes back from a checkpoint of them; *rate in
 * percent. */
static int checkpoint(const struct way *w, struct shallow_water *s, double *rate,
                      struct saikai_error *err)
{
    const struct sk_codec_ops *ops = sk_codec_find(w->codec);
    struct sk_array a = {SAIKAI_F64, 2, {s->n, s->n}};
    size_t bytes = sk_array_size_bytes(&a), cap = ops->max_encoded(&a), n, total = 0;
    struct sk_codec_options opt = {.bound = w->bound, .parameter = w->parameter};
    void *piece = malloc(cap);
    int rc = piece ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory");
    for (int f = 0; f < 3 && !rc; f++) {
        rc = ops->encode(&a, s->field[f], &opt, piece, cap, &n, err);
        if (!rc)
            rc = ops->decode(&a, piece, n, s->field[f], err);
        total += n;
    }
    free(piece);
    *rate = 100 * (double)total / (double)(3 * bytes);
    return rc;
}

static double depth_error(const struct shallow_water *s, const double *reference)
{
    struct sk_array a = {SAIKAI_F64, 2, {s->n, s->n}};
    struct sk_difference d;
    sk_difference(&a, reference, s->field[0], &d);
    return 100 * d.mean_rel;
}

static int follow(const struct way *w, const double *saved, const double *reference,
                  struct ps_run *run, struct saikai_error *err)
{
    struct shallow_water s;
    size_t points = (size_t)SIDE * SIDE;
    if (shallow_water_new(&s, SIDE))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory");
    memcpy(s.field[0], saved, 3 * points * sizeof *saved);
    snprintf(run->name, sizeof run->name, "%s", w->name);
    run->points = 0;
    int rc = checkpoint(w, &s, &run->rate, err);
    for (int step = 0; step <= STEPS && !rc; step++) {
        if (step % EVERY == 0) {
            run->step[run->points] = step;
            run->error[run->points++] =
                depth_error(&s, reference + points * (size_t)(step / EVERY));
        }
        shallow_water_step(&s);
    }
    shallow_water_free(&s);
    return rc;
}

int ps_measure_restarts(struct ps_results *r, struct saikai_error *err)
{
    struct shallow_water s;
    size_t points = (size_t)SIDE * SIDE, kept = STEPS / EVERY + 1;
    if (shallow_water_new(&s, SIDE))
        return sk_fail(err, SAIKAI_ENOMEM, "no memory");
    double *saved = malloc(3 * points * sizeof *saved);
    double *reference = malloc(kept * points * sizeof *reference);
    int rc = saved && reference ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory");
    for (int step = 0; step < SPIN_UP && !rc; step++)
        shallow_water_step(&s);
    if (!rc)
        memcpy(saved, s.field[0], 3 * points * sizeof *saved);
    for (int step = 0; step <= STEPS && !rc; step++) {
        if (step % EVERY == 0)
            memcpy(reference + points * (size_t)(step / EVERY), s.field[0], points * sizeof *saved);
        shallow_water_step(&s);
    }
    r->runs = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && !rc; i++)
        if (sk_codec_find(ways[i].codec))
            rc = follow(&ways[i], saved, reference, &r->run[r->runs++], err);
    free(saved);
    free(reference);
    shallow_water_free(&s);
    return rc;
}
