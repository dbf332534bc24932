/* Lays out and draws charts: where values lie on each kind of axis, which ticks an axis gets, and
 * what is drawn on it. */
#include "base/text/svg.h"

#include "base/text/output.h"
#include "base/config/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FONT "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\""
enum { LEFT = 84, RIGHT = 28, TOP = 76, BOTTOM = 64, MOST_TICKS = 256 };

struct frame {
    const struct sk_chart *c;
    struct sk_buf *out;
    double x0, x1, y0, y1; /* pixels of the plotting area; y0 is its lower edge */
};

struct tick {
    double at;
    char label[32]; /* empty: a fine line only */
};

static void put_text(struct sk_buf *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '&')
            sk_buf_printf(out, "&amp;");
        else if (*s == '<')
            sk_buf_printf(out, "&lt;");
        else if (*s == '>')
            sk_buf_printf(out, "&gt;");
        else if ((unsigned char)*s >= 0x20)
            sk_buf_put(out, s, 1);
    }
}

static void text(struct frame *f, double x, double y, const char *style, const char *s)
{
    sk_buf_printf(f->out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, style);
    put_text(f->out, s);
    sk_buf_printf(f->out, "</text>\n");
}

static void line(struct frame *f, double x0, double y0, double x1, double y1, const char *style)
{
    sk_buf_printf(f->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x0, y0,
                  x1, y1, style);
}

/* Where in [0, 1] of the axis a value lies. */
static double place(const struct sk_axis *a, double v)
{
    if (a->kind == SK_AXIS_LINEAR)
        return (v - a->low) / (a->high - a->low);
    return v > 0 ? log(v / a->low) / log(a->high / a->low) : -INFINITY;
}

static double px(const struct frame *f, double v)
{
    return f->x0 + place(&f->c->x, v) * (f->x1 - f->x0);
}

static double py(const struct frame *f, double v)
{
    return f->y0 + place(&f->c->y, v) * (f->y1 - f->y0);
}

static int add_tick(const struct sk_axis *a, struct tick *t, int n, double at)
{
    if (n == MOST_TICKS || at < a->low * (1 - 1e-12) || at > a->high * (1 + 1e-12))
        return n;
    t[n].at = at;
    if (a->kind == SK_AXIS_LOG_TIME)
        sk_format_time(t[n].label, sizeof t[n].label, at);
    else
        snprintf(t[n].label, sizeof t[n].label, "%g%s", fabs(at) < 1e-12 * a->high ? 0 : at,
                 a->suffix ? a->suffix : "");
    return n + 1;
}

static int linear_ticks(const struct sk_axis *a, struct tick *t)
{
    double raw = (a->high - a->low) / 6, step = pow(10, floor(log10(raw)));
    step *= raw / step > 5 ? 10 : raw / step > 2 ? 5 : raw / step > 1 ? 2 : 1;
    int n = 0;
    for (double k = ceil(a->low / step); k * step <= a->high * (1 + 1e-12) && n < MOST_TICKS; k++)
        n = add_tick(a, t, n, k * step);
    return n;
}

static int log_ticks(const struct sk_axis *a, struct tick *t)
{
    double decades = log10(a->high / a->low);
    int n = 0;
    for (double d = floor(log10(a->low)); d <= log10(a->high) && n < MOST_TICKS; d++)
        for (int m = 1; m < 10; m++) {
            int labelled =
                m == 1 || (decades < 4 && (m == 2 || m == 5)) || (decades < 1 && m != 7 && m != 9);
            int before = n;
            n = add_tick(a, t, n, m * pow(10, d));
            if (n > before && !labelled)
                t[before].label[0] = 0;
        }
    return n;
}

/* Round times, those nearer than `apart` of the axis to the one before left out. */
static int time_ticks(const struct sk_axis *a, struct tick *t, double apart)
{
    static const double round_times[] = {
        1,    2,    5,     10,    20,    30,    60,     120,    300,    600,     1200,    1800,
        3600, 7200, 14400, 28800, 43200, 86400, 172800, 432000, 864000, 1728000, 4320000, 8640000,
    };
    int n = 0;
    double last = -1;
    for (double d = floor(log10(a->low)); d < 0; d++)
        for (int m = 1; m < 10; m = m == 1 ? 2 : m == 2 ? 5 : 10)
            if (place(a, m * pow(10, d)) - last >= apart && place(a, m * pow(10, d)) >= -1e-9) {
                n = add_tick(a, t, n, m * pow(10, d));
                last = place(a, m * pow(10, d));
            }
    for (size_t i = 0; i < sizeof round_times / sizeof *round_times; i++)
        if (place(a, round_times[i]) - last >= apart && place(a, round_times[i]) >= -1e-9) {
            n = add_tick(a, t, n, round_times[i]);
            last = place(a, round_times[i]);
        }
    for (double years = 1; years * 31557600 <= a->high && n < MOST_TICKS; years *= 10)
        if (place(a, years * 31557600) - last >= apart) {
            n = add_tick(a, t, n, years * 31557600);
            last = place(a, years * 31557600);
        }
    return n;
}

static int ticks(const struct sk_axis *a, struct tick *t, double apart)
{
    switch (a->kind) {
    case SK_AXIS_LINEAR:
        return linear_ticks(a, t);
    case SK_AXIS_LOG:
        return log_ticks(a, t);
    case SK_AXIS_LOG_TIME:
        return time_ticks(a, t, apart);
    }
    return 0;
}

static void draw_axes(struct frame *f)
{
    struct tick t[MOST_TICKS];
    int n = ticks(&f->c->x, t, 60 / (f->x1 - f->x0));
    for (int i = 0; i < n; i++) {
        double x = px(f, t[i].at);
        line(f, x, f->y0, x, f->y1, t[i].label[0] ? "stroke=\"#e3e6ea\"" : "stroke=\"#f1f3f5\"");
        text(f, x, f->y0 + 20, "text-anchor=\"middle\" font-size=\"13\" fill=\"#444b54\"",
             t[i].label);
    }
    n = ticks(&f->c->y, t, 40 / (f->y0 - f->y1));
    double last = INFINITY;
    for (int i = 0; i < n; i++) {
        double y = py(f, t[i].at);
        line(f, f->x0, y, f->x1, y, t[i].label[0] ? "stroke=\"#e3e6ea\"" : "stroke=\"#f1f3f5\"");
        if (!t[i].label[0] || last - y < 17)
            continue;
        text(f, f->x0 - 9, y + 4.5, "text-anchor=\"end\" font-size=\"13\" fill=\"#444b54\"",
             t[i].label);
        last = y;
    }
    line(f, f->x0, f->y0, f->x1, f->y0, "stroke=\"#7a828c\" stroke-width=\"1.2\"");
    line(f, f->x0, f->y0, f->x0, f->y1, "stroke=\"#7a828c\" stroke-width=\"1.2\"");
    text(f, (f->x0 + f->x1) / 2, f->y0 + 47,
         "text-anchor=\"middle\" font-size=\"14\" fill=\"#22272e\"", f->c->x.label);
    sk_buf_printf(f->out, "<g transform=\"translate(24 %.1f) rotate(-90)\">", (f->y0 + f->y1) / 2);
    text(f, 0, 0, "text-anchor=\"middle\" font-size=\"14\" fill=\"#22272e\"", f->c->y.label);
    sk_buf_printf(f->out, "</g>\n");
}

static void draw_line(struct frame *f, const struct sk_series *s)
{
    sk_buf_printf(f->out, "<path fill=\"none\" stroke=\"%s\" stroke-linejoin=\"round\" %s d=\"",
                  s->colour,
                  s->kind == SK_SERIES_DASHED ? "stroke-width=\"1.8\" stroke-dasharray=\"7 5\""
                                              : "stroke-width=\"2.4\"");
    int drawing = 0;
    for (int i = 0; i < s->n; i++) {
        double x = px(f, s->x[i]), y = py(f, s->y[i]);
        if (!isfinite(x) || !isfinite(y) || fabs(x) > 1e5 || fabs(y) > 1e5) {
            drawing = 0;
            continue;
        }
        sk_buf_printf(f->out, "%s%.2f %.2f", drawing ? " L" : " M", x, y);
        drawing = 1;
    }
    sk_buf_printf(f->out, "\"/>\n");
}

static void draw_points(struct frame *f, const struct sk_series *s)
{
    char style[96];
    snprintf(style, sizeof style, "stroke=\"%.20s\" stroke-width=\"1.6\"", s->colour);
    for (int i = 0; i < s->n; i++) {
        double x = px(f, s->x[i]), y = py(f, s->y[i]);
        if (!isfinite(x) || !isfinite(y) || fabs(x) > 1e5 || fabs(y) > 1e5)
            continue;
        if (s->y_low && s->y_high) {
            double low = fmin(py(f, s->y_low[i]), f->y0 + 50),
                   high = fmax(py(f, s->y_high[i]), f->y1 - 50);
            line(f, x, low, x, high, style);
            line(f, x - 4, low, x + 4, low, style);
            line(f, x - 4, high, x + 4, high, style);
        }
        sk_buf_printf(f->out,
                      "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"4\" fill=\"#ffffff\" stroke=\"%s\" "
                      "stroke-width=\"2\"/>\n",
                      x, y, s->colour);
    }
}

static void draw_mark(struct frame *f, const struct sk_mark *m)
{
    char style[96];
    double x = px(f, m->x), y = py(f, m->y);
    if (!isfinite(x) || !isfinite(y))
        return;
    snprintf(style, sizeof style, "stroke=\"%.20s\" stroke-dasharray=\"3 4\"", m->colour);
    line(f, x, f->y0, x, y, style);
    line(f, f->x0, y, x, y, style);
    sk_buf_printf(f->out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"6\" fill=\"%s\"/>\n", x, y,
                  m->colour);
    /* the white edge keeps it readable where lines pass */
    text(f, x, y - 18,
         "text-anchor=\"middle\" font-size=\"15\" font-weight=\"bold\" fill=\"#16191d\" "
         "stroke=\"#ffffff\" "
         "stroke-width=\"4\" paint-order=\"stroke\"",
         m->text);
}

/* At the upper edge of the plotting area, one line per named series. */
static void draw_legend(struct frame *f)
{
    size_t longest = 0;
    int rows = 0;
    for (int i = 0; i < f->c->n_series; i++)
        if (f->c->series[i].name) {
            size_t n = strlen(f->c->series[i].name);
            longest = n > longest ? n : longest;
            rows++;
        }
    if (!rows)
        return;
    double width = 56 + 7.1 * (double)longest,
           x = f->x0 + 10 + f->c->legend * (f->x1 - f->x0 - width - 20), y = f->y1 + 10;
    sk_buf_printf(
        f->out,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"4\" fill=\"#ffffff\" "
        "fill-opacity=\"0.9\" stroke=\"#d5d9de\"/>\n",
        x, y, width, 12 + 22 * rows);
    for (int i = 0; i < f->c->n_series; i++) {
        struct sk_series s = f->c->series[i];
        if (!s.name)
            continue;
        char style[96];
        snprintf(style, sizeof style, "stroke=\"%.20s\" stroke-width=\"2.4\"%s", s.colour,
                 s.kind == SK_SERIES_DASHED ? " stroke-dasharray=\"7 5\"" : "");
        if (s.kind == SK_SERIES_POINTS)
            sk_buf_printf(f->out,
                          "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#ffffff\" stroke=\"%s\" "
                          "stroke-width=\"2\"/>\n",
                          x + 24, y + 17, s.colour);
        else
            line(f, x + 10, y + 17, x + 38, y + 17, style);
        text(f, x + 47, y + 21.5, "font-size=\"13\" fill=\"#22272e\"", s.name);
        y += 22;
    }
}

static int bad_axis(const struct sk_axis *a)
{
    return !(a->low < a->high) || isinf(a->low) || isinf(a->high) ||
           (a->kind != SK_AXIS_LINEAR && !(a->low > 0));
}

int sk_chart_draw(const struct sk_chart *c, struct sk_buf *out, struct saikai_error *err)
{
    if (bad_axis(&c->x) || bad_axis(&c->y))
        return sk_fail(err, SAIKAI_EINVAL, "a chart needs axes with a range");
    struct frame f = {c, out, LEFT, c->width - RIGHT, c->height - BOTTOM, TOP};
    sk_buf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" " FONT ">\n"
                  "<title>",
                  c->width, c->height, c->width, c->height);
    put_text(out, c->title);
    sk_buf_printf(out, "</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n");
    text(&f, LEFT, 32, "font-size=\"19\" font-weight=\"bold\" fill=\"#16191d\"", c->title);
    text(&f, LEFT, 56, "font-size=\"14\" fill=\"#555d67\"", c->subtitle ? c->subtitle : "");
    draw_axes(&f);
    sk_buf_printf(out,
                  "<clipPath id=\"plot\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                  "height=\"%.1f\"/></clipPath>\n"
                  "<g clip-path=\"url(#plot)\">\n",
                  f.x0, f.y1, f.x1 - f.x0, f.y0 - f.y1);
    for (int i = 0; i < c->n_series; i++)
        if (c->series[i].kind != SK_SERIES_POINTS)
            draw_line(&f, &c->series[i]);
    for (int i = 0; i < c->n_marks; i++)
        draw_mark(&f, &c->marks[i]);
    for (int i = 0; i < c->n_series; i++)
        if (c->series[i].kind == SK_SERIES_POINTS)
            draw_points(&f, &c->series[i]);
    sk_buf_printf(out, "</g>\n");
    draw_legend(&f);
    sk_buf_printf(out, "</svg>\n");
    return sk_buf_ok(out) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for the chart");
}

int sk_chart_write(const struct sk_chart *c, const char *path, struct saikai_error *err)
{
    struct sk_buf out = {0};
    int rc = sk_chart_draw(c, &out, err);
    if (!rc)
        rc = sk_output_write(path, out.data, out.len, err);
    sk_buf_free(&out);
    return rc;
}
