/* Draws the measured figures as SVG files, with the axes that the paper has. */
#include "paper_small.h"

#include "base/file/io.h"
#include "base/text/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const colours[] = {"#1f6fb2", "#c8452c", "#3a8f3a", "#8a55a8",
                                      "#b07a12", "#4aa3a3", "#d0669b", "#6b6b6b",
                                      "#2b3f8c", "#9a9a2a", "#111111", "#e08a3c"};

/* The least power of ten >= v or the greatest <= v; ranges of logarithmic axes. */
static double decade(double v, int up)
{
    double e = log10(v);
    return pow(10, up ? ceil(e) : floor(e));
}

/* Figs. 8 and 10: rate or mean error of both quantisers over n. */
static int plot_sweep(const struct ps_results *r, int i, int errors, const char *dir,
                      struct saikai_error *err)
{
    double n[PS_BINS], y[2][PS_BINS], low = INFINITY, high = 0;
    char path[4096], subtitle[128];
    for (int q = 0; q < 2; q++)
        for (int k = 0; k < PS_BINS; k++) {
            const struct ps_point *p = &r->sweep[i].at[q][k];
            n[k] = 1 << k;
            y[q][k] = errors ? p->mean_error : p->rate;
            low = fmin(low, y[q][k]);
            high = fmax(high, y[q][k]);
        }
    const struct sk_series series[2] = {
        {SK_SERIES_LINE, "simple", colours[1], PS_BINS, n, y[0], NULL, NULL},
        {SK_SERIES_LINE, "spike", colours[0], PS_BINS, n, y[1], NULL, NULL},
    };
    snprintf(subtitle, sizeof subtitle, "%s, d = 64, byte codes, gzip level 6", r->field[i].name);
    struct sk_chart c = {
        .width = 640,
        .height = 400,
        .title = errors ? "Mean relative error and number of bins"
                        : "Compression rate and number of bins",
        .subtitle = subtitle,
        .x = {SK_AXIS_LOG, 1, 128, "bins n", NULL},
        .y = {SK_AXIS_LINEAR, 0, ceil(high / 10) * 10 + 10, "compressed size", " %"},
        .series = series,
        .n_series = 2,
        .legend = errors ? 1 : 0,
    };
    if (errors)
        c.y = (struct sk_axis){SK_AXIS_LOG, decade(low, 0), decade(high, 1), "mean relative error",
                               " %"};
    int rc = sk_io_path(path, sizeof path, err, "%s/paper-small-%s-%s.svg", dir,
                        errors ? "fig10" : "fig8", r->field[i].name);
    return rc ? rc : sk_chart_write(&c, path, err);
}

/* Fig. 9: ten horizontal bars. */
static int plot_bars(const struct ps_results *r, int i, const char *dir, struct saikai_error *err)
{
    enum { LEFT = 200, WIDTH = 380, TOP = 60, STEP = 26, HEIGHT = TOP + PS_BARS * STEP + 20 };
    struct sk_buf b = {0};
    char path[4096];
    sk_buf_printf(
        &b,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"%d\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
        "<text x=\"20\" y=\"24\" font-size=\"16\">What each part gains</text>\n"
        "<text x=\"20\" y=\"44\" fill=\"#555\">%s: size in percent of the original, as the "
        "paper counts (bitmap and table left out)</text>\n",
        HEIGHT, r->field[i].name);
    for (int k = 0; k < PS_BARS; k++) {
        double w = r->bars[i][k] / 100 * WIDTH;
        int y = TOP + k * STEP, whole = k < 2;
        int encoded = k == 3 || k == 5 || k == 7 || k == 9;
        sk_buf_printf(&b,
                      "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n"
                      "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"18\" fill=\"%s\"/>\n"
                      "<text x=\"%.1f\" y=\"%d\">%.2f %%</text>\n",
                      LEFT - 8, y + 14, ps_bar_names[k], LEFT, y, w,
                      whole     ? "#9a9a9a"
                      : encoded ? colours[0]
                                : colours[4],
                      LEFT + w + 6, y + 14, r->bars[i][k]);
    }
    sk_buf_printf(&b, "</svg>\n");
    int rc = sk_buf_ok(&b) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory");
    if (!rc)
        rc =
            sk_io_path(path, sizeof path, err, "%s/paper-small-fig9-%s.svg", dir, r->field[i].name);
    if (!rc)
        rc = sk_io_replace(path, b.data, b.len, err);
    sk_buf_free(&b);
    return rc;
}

/* Fig. 11: mean relative error over the steps after the restart. Exact restarts have no line. */
static int plot_restarts(const struct ps_results *r, const char *dir, struct saikai_error *err)
{
    struct sk_series series[PS_MAX_RUNS];
    double low = INFINITY, high = 0, last = 0;
    char path[4096];
    int n = 0;
    for (int i = 0; i < r->runs; i++) {
        const struct ps_run *run = &r->run[i];
        double most = 0;
        for (int k = 0; k < run->points; k++) {
            most = fmax(most, run->error[k]);
            if (run->error[k] > 0)
                low = fmin(low, run->error[k]);
        }
        if (most <= 0)
            continue;
        high = fmax(high, most);
        last = run->step[run->points - 1];
        series[n] = (struct sk_series){.kind = strncmp(run->name, "haar", 4) ? SK_SERIES_LINE
                                                                             : SK_SERIES_DASHED,
                                       .name = run->name,
                                       .colour = colours[n % 12],
                                       .n = run->points,
                                       .x = run->step,
                                       .y = run->error};
        n++;
    }
    if (!n)
        return 0;
    const struct sk_chart c = {
        .width = 820,
        .height = 520,
        .title = "Error after restarting from a lossy checkpoint",
        .subtitle = "shallow water, 128 x 128 points, depth: mean |x - x'| / (max - min)",
        .x = {SK_AXIS_LINEAR, 0, last * 1.4, "steps since the restart", NULL}, /* and the legend */
        .y = {SK_AXIS_LOG, decade(low, 0), decade(high, 1), "mean relative error, %", NULL},
        .series = series,
        .n_series = n,
        .legend = 1,
    };
    int rc = sk_io_path(path, sizeof path, err, "%s/paper-small-fig11.svg", dir);
    return rc ? rc : sk_chart_write(&c, path, err);
}

int ps_plot(const struct ps_results *r, const char *dir, struct saikai_error *err)
{
    int rc = sk_io_mkdirs(dir, err);
    for (int i = 0; i < r->fields && !rc; i++) {
        rc = plot_sweep(r, i, 0, dir, err);
        if (!rc)
            rc = plot_sweep(r, i, 1, dir, err);
        if (!rc)
            rc = plot_bars(r, i, dir, err);
    }
    return rc ? rc : plot_restarts(r, dir, err);
}
