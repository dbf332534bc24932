/* A histogram of the differences, and a slice of both arrays and their difference in colours, as
 * SVG files. */
#include "cli/array/compare_plot.h"

#include "base/file/io.h"
#include "base/text/output.h"
#include "base/text/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BINS = 81, BLOCK = 1024, CELLS = 96, PANEL = 260, GAP = 24, TOP = 64 };

/* ---- histogram of y - x ---- */

static void count_errors(const struct sk_array *a, const void *x, const void *y, double most,
                         double count[BINS])
{
    double u[BLOCK], v[BLOCK];
    size_t all = sk_real_count(a);
    for (size_t at = 0; at < all; at += BLOCK) {
        size_t n = all - at < BLOCK ? all - at : BLOCK;
        sk_as_doubles(a->type, x, at, n, u);
        sk_as_doubles(a->type, y, at, n, v);
        for (size_t i = 0; i < n; i++) {
            double e = (v[i] - u[i]) / most; /* -1 ... 1 */
            if (!isfinite(e))
                continue;
            int bin = (int)floor((e + 1) / 2 * BINS);
            count[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin]++;
        }
    }
}

static int plot_histogram(const char *prefix, const struct sk_array *a, const void *x,
                          const void *y, const struct sk_difference *d, struct saikai_error *err)
{
    double count[BINS] = {0}, at[2 * BINS], height[2 * BINS], top = 10;
    double most = d->max_abs > 0 && isfinite(d->max_abs) ? d->max_abs : 1;
    char path[4096], subtitle[160];
    count_errors(a, x, y, most, count);
    for (int i = 0; i < BINS; i++) { /* steps: both edges of each bin */
        at[2 * i] = most * (2.0 * i / BINS - 1);
        at[2 * i + 1] = most * (2.0 * (i + 1) / BINS - 1);
        height[2 * i] = height[2 * i + 1] = fmax(count[i], 0.5); /* 0 is the axis */
        top = fmax(top, count[i]);
    }
    snprintf(subtitle, sizeof subtitle, "%zu values; largest %.3g, mean %.3g, PSNR %.1f dB",
             d->count, d->max_abs, d->mean_abs, d->psnr);
    const struct sk_series s = {SK_SERIES_LINE, NULL, "#1f6fb2", 2 * BINS, at, height, NULL, NULL};
    const struct sk_chart c = {
        .width = 720,
        .height = 420,
        .title = "Errors",
        .subtitle = subtitle,
        .x = {SK_AXIS_LINEAR, -most, most, "B - A", NULL},
        .y = {SK_AXIS_LOG, 0.5, top * 2, "values", NULL},
        .series = &s,
        .n_series = 1,
    };
    int rc = sk_io_path(path, sizeof path, err, "%s-histogram.svg", prefix);
    return rc ? rc : sk_chart_write(&c, path, err);
}

/* ---- slice ---- */

/* The plane through the middle of all but the two fastest dimensions, thinned to at most CELLS x
 * CELLS. */
struct slice {
    size_t rows, columns; /* of the plane */
    size_t first, row_step;
    size_t cell_rows, cell_columns;
    double value[CELLS * CELLS];
};

static struct slice slice_of(const struct sk_array *a)
{
    struct slice s = {0};
    size_t parts = a->type == SAIKAI_C64 || a->type == SAIKAI_C128 ? 2 : 1, plane = 0;
    s.columns = a->ndims > 0 ? a->dims[a->ndims - 1] : 1;
    s.rows = a->ndims > 1 ? a->dims[a->ndims - 2] : 1;
    for (int i = 0; i < a->ndims - 2; i++)
        plane = plane * a->dims[i] + a->dims[i] / 2;
    s.columns *= parts;
    s.row_step = s.columns;
    s.first = plane * s.rows * s.columns;
    s.cell_rows = s.rows < CELLS ? s.rows : CELLS;
    s.cell_columns = s.columns < CELLS ? s.columns : CELLS;
    return s;
}

static void fill(struct slice *s, const struct sk_array *a, const void *x, const void *minus)
{
    for (size_t r = 0; r < s->cell_rows; r++)
        for (size_t c = 0; c < s->cell_columns; c++) {
            size_t at = s->first + r * s->rows / s->cell_rows * s->row_step +
                        c * s->columns / s->cell_columns;
            double v, w = 0;
            sk_as_doubles(a->type, x, at, 1, &v);
            if (minus)
                sk_as_doubles(a->type, minus, at, 1, &w);
            s->value[r * s->cell_columns + c] = v - w;
        }
}

/* Dark blue over green to yellow; differences blue - white - red. */
static void colour(double t, int signed_scale, char out[8])
{
    static const double ramp[2][5][3] = {
        {{44, 30, 90}, {45, 90, 140}, {40, 145, 130}, {120, 200, 80}, {250, 230, 60}},
        {{30, 70, 160}, {140, 175, 220}, {250, 250, 250}, {230, 150, 120}, {175, 30, 40}}};
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    int k = t >= 1 ? 3 : (int)(t * 4);
    double f = t * 4 - k;
    unsigned c[3];
    for (int i = 0; i < 3; i++)
        c[i] =
            (unsigned)(ramp[signed_scale][k][i] * (1 - f) + ramp[signed_scale][k + 1][i] * f) & 255;
    snprintf(out, 8, "#%02x%02x%02x", c[0], c[1], c[2]);
}

static void draw_panel(struct sk_buf *b, const struct slice *s, int panel, const char *title,
                       double low, double high, int signed_scale)
{
    double w = (double)PANEL / (double)s->cell_columns, h = (double)PANEL / (double)s->cell_rows;
    int left = GAP + panel * (PANEL + GAP);
    sk_buf_printf(b, "<text x=\"%d\" y=\"%d\">%s</text>\n", left, TOP - 8, title);
    for (size_t r = 0; r < s->cell_rows; r++)
        for (size_t c = 0; c < s->cell_columns; c++) {
            double v = s->value[r * s->cell_columns + c];
            char fill_colour[8] = "#888888"; /* not finite */
            if (isfinite(v))
                colour(high > low ? (v - low) / (high - low) : 0.5, signed_scale, fill_colour);
            sk_buf_printf(b,
                          "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
                          "fill=\"%s\"/>\n",
                          left + (double)c * w, TOP + (double)r * h, w + 0.3, h + 0.3, fill_colour);
        }
    sk_buf_printf(b, "<text x=\"%d\" y=\"%d\" fill=\"#555\">colours from %.4g to %.4g</text>\n",
                  left, TOP + PANEL + 18, low, high);
}

static int plot_slice(const char *prefix, const struct sk_array *a, const void *x, const void *y,
                      const struct sk_difference *d, struct saikai_error *err)
{
    struct sk_buf b = {0};
    char path[4096];
    struct slice *s = malloc(sizeof *s);
    if (!s)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a plot");
    *s = slice_of(a);
    double most = isfinite(d->max_abs) ? d->max_abs : 0;
    sk_buf_printf(&b,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "font-family=\"sans-serif\" font-size=\"13\" shape-rendering=\"crispEdges\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                  "<text x=\"%d\" y=\"28\" font-size=\"16\">Slice through the middle, %zu x %zu"
                  "</text>\n",
                  3 * PANEL + 4 * GAP, TOP + PANEL + 36, GAP, s->rows, s->columns);
    fill(s, a, x, NULL);
    draw_panel(&b, s, 0, "A", d->min, d->max, 0);
    fill(s, a, y, NULL);
    draw_panel(&b, s, 1, "B", d->min, d->max, 0);
    fill(s, a, y, x);
    draw_panel(&b, s, 2, "B - A", -most, most, 1);
    sk_buf_printf(&b, "</svg>\n");
    free(s);
    int rc = sk_buf_ok(&b) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a plot");
    if (!rc)
        rc = sk_io_path(path, sizeof path, err, "%s-slice.svg", prefix);
    if (!rc)
        rc = sk_output_write(path, b.data, b.len, err);
    sk_buf_free(&b);
    return rc;
}

int cli_compare_plot(const char *prefix, const struct sk_array *a, const void *x, const void *y,
                     const struct sk_difference *d, struct saikai_error *err)
{
    if (!d->count)
        return sk_fail(err, SAIKAI_EINVAL, "--svg: there are no values to plot");
    int rc = plot_histogram(prefix, a, x, y, d, err);
    return rc ? rc : plot_slice(prefix, a, x, y, d, err);
}
