/* Draws stacked bars as SVG: a frame with an axis of round steps, then one bar beside the other
 * with its parts on top of each other. */
#include "bars.h"

#include "base/buf.h"
#include "base/file/io.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 640, LEFT = 150, RIGHT = 100, TOP = 104, HIGH = 34, APART = 52, BOTTOM = 48 };

static double sum(const struct bars *b, int i)
{
    double s = 0;
    for (int k = 0; k < b->parts; k++)
        s += b->value[i][k];
    return s;
}

static void label(struct sk_buf *out, double x, double y, const char *style, const char *text)
{
    sk_buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, style, text);
}

/* A round step that gives at most eight ticks. */
static double step_of(double high)
{
    double p = pow(10, floor(log10(high))), m = high / p;
    return m > 8 ? 2 * p : m > 4 ? p : m > 2 ? p / 2 : p / 4;
}

static void frame(const struct bars *b, double high, double scale, struct sk_buf *out)
{
    char text[40];
    double low_edge = TOP + b->n * APART;
    for (double at = 0; at <= high; at += step_of(high)) {
        double x = LEFT + at * scale;
        sk_buf_printf(out,
                      "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#e3e6ea\"/>\n",
                      x, TOP - 8, x, low_edge);
        snprintf(text, sizeof text, "%g", at);
        label(out, x, low_edge + 20, "text-anchor=\"middle\" font-size=\"13\" fill=\"#444b54\"",
              text);
    }
    label(out, WIDTH - RIGHT + 12, low_edge + 20, "font-size=\"13\" fill=\"#444b54\"", b->unit);
    for (int k = 0; k < b->parts; k++) {
        int x = LEFT + 110 * k;
        sk_buf_printf(out, "<rect x=\"%d\" y=\"70\" width=\"13\" height=\"13\" fill=\"%s\"/>\n", x,
                      b->colour[k]);
        label(out, x + 19, 81, "font-size=\"13\" fill=\"#444b54\"", b->part[k]);
    }
}

static void bar(const struct bars *b, int i, double scale, struct sk_buf *out)
{
    char text[40];
    double x = LEFT, y = TOP + i * APART;
    label(out, LEFT - 12, y + HIGH * 0.65, "text-anchor=\"end\" font-size=\"14\" fill=\"#16191d\"",
          b->name[i]);
    for (int k = 0; k < b->parts; k++) {
        double w = b->value[i][k] * scale;
        sk_buf_printf(out,
                      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>\n", x,
                      y, w, HIGH, b->colour[k]);
        x += w;
    }
    snprintf(text, sizeof text, "%.3g", sum(b, i));
    label(out, x + 8, y + HIGH * 0.65, "font-size=\"14\" fill=\"#16191d\"", text);
}

int bars_write(const struct bars *b, const char *path, struct saikai_error *err)
{
    struct sk_buf out = {0};
    double high = 0;
    for (int i = 0; i < b->n; i++)
        high = fmax(high, sum(b, i));
    if (!(high > 0))
        return sk_fail(err, SAIKAI_EINVAL, "%s: nothing to draw", path);
    double scale = (WIDTH - LEFT - RIGHT) / high;
    int height = TOP + b->n * APART + BOTTOM;
    sk_buf_printf(&out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"Helvetica, Arial, 'DejaVu Sans', "
                  "sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
                  WIDTH, height, WIDTH, height);
    label(&out, 24, 32, "font-size=\"19\" font-weight=\"bold\" fill=\"#16191d\"", b->title);
    label(&out, 24, 54, "font-size=\"14\" fill=\"#555d67\"", b->subtitle);
    frame(b, high, scale, &out);
    for (int i = 0; i < b->n; i++)
        bar(b, i, scale, &out);
    sk_buf_printf(&out, "</svg>\n");
    int rc = sk_buf_ok(&out) ? sk_io_replace(path, out.data, out.len, err)
                             : sk_fail(err, SAIKAI_ENOMEM, "no memory to draw %s", path);
    sk_buf_free(&out);
    return rc;
}
