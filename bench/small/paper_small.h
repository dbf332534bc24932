/* The figures of the 2015 wavelet paper, measured: what paper_small.c measures and
 * paper_small_plot.c draws. */
#ifndef BENCH_PAPER_SMALL_H
#define BENCH_PAPER_SMALL_H

#include "base/error.h"
#include "base/text/json.h"
#include "codec/codec.h"

enum { PS_BINS = 8, PS_BARS = 10, PS_MAX_FIELDS = 8, PS_MAX_RUNS = 12, PS_MAX_POINTS = 160 };

/* One array of a model's checkpoint. */
struct ps_field {
    char name[64];
    struct sk_array array;
    double *values;
    size_t bytes;
};

/* What one way of encoding one field gave. Rates are in percent of the original (eq. 3), errors in
 * percent of the field's range (eq. 4). */
struct ps_point {
    double rate;       /* of the whole piece */
    double bands_rate; /* as the paper counts: gzip of the low and high bands only */
    double mean_error, max_error;
    double seconds, gzip_seconds;
};

struct ps_sweep { /* Figs. 8 and 10 of one field: [simple, spike][n = 2^k] */
    struct ps_point at[2][PS_BINS];
};

struct ps_run { /* one line of Fig. 11 */
    char name[48];
    double rate; /* of the checkpoint, in percent */
    int points;
    double step[PS_MAX_POINTS]; /* steps since the restart */
    double error[PS_MAX_POINTS];
};

struct ps_results {
    int fields;
    struct ps_field field[PS_MAX_FIELDS];
    struct ps_sweep sweep[PS_MAX_FIELDS];
    double bars[PS_MAX_FIELDS]
               [PS_BARS]; /* Fig. 9: rates in percent, in the order of the paper's list */
    int runs;
    struct ps_run run[PS_MAX_RUNS];
};

extern const char *const ps_bar_names[PS_BARS];

/* Figs. 8 and 10 and the ten bars of Fig. 9 of r->field[i]. */
int ps_measure_field(struct ps_results *r, int i, struct saikai_error *err);
/* Fig. 11: spin a shallow-water model up, restart it from each kind of checkpoint, and follow 1500
 * steps. */
int ps_measure_restarts(struct ps_results *r, struct saikai_error *err);
/* SVG files into dir. */
int ps_plot(const struct ps_results *r, const char *dir, struct saikai_error *err);

#endif
