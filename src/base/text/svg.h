/* Charts as SVG files: axes (linear, logarithmic, logarithmic time), lines, points with error bars,
 * marked places and a legend. Everything that is drawn is given in one struct; sizes are pixels. */
#ifndef SK_BASE_SVG_H
#define SK_BASE_SVG_H

#include "base/buf.h"
#include "base/error.h"

enum sk_axis_kind {
    SK_AXIS_LINEAR,
    SK_AXIS_LOG,
    SK_AXIS_LOG_TIME, /* seconds; ticks at round times of people: 10 s, 5 min, 1 h */
};

struct sk_axis {
    enum sk_axis_kind kind;
    double low, high; /* low < high; above 0 where logarithmic */
    const char *label;
    const char *suffix; /* after each tick's number: " %"; NULL: none */
};

enum sk_series_kind { SK_SERIES_LINE, SK_SERIES_DASHED, SK_SERIES_POINTS };

struct sk_series {
    enum sk_series_kind kind;
    const char *name;   /* in the legend; NULL: not there */
    const char *colour; /* "#1f6fb2" */
    int n;
    const double *x, *y;
    const double *y_low, *y_high; /* error bars of points; NULL: none */
};

/* A place: a dot, dashed lines to both axes, and a text beside it. */
struct sk_mark {
    double x, y;
    const char *text, *colour;
};

struct sk_chart {
    int width, height;
    const char *title, *subtitle;
    struct sk_axis x, y;
    const struct sk_series *series;
    int n_series;
    const struct sk_mark *marks;
    int n_marks;
    double legend; /* where the legend stands along the upper edge: 0 left, 0.5 middle, 1 right */
};

/* Append the SVG document to *out. What lies outside the axes' ranges is cut off; points that are
 * not finite are left out. SAIKAI_EINVAL: a range is empty, SAIKAI_ENOMEM. */
int sk_chart_draw(const struct sk_chart *c, struct sk_buf *out, struct saikai_error *err);

/* sk_chart_draw into a file, replaced as a whole. */
int sk_chart_write(const struct sk_chart *c, const char *path, struct saikai_error *err);

#endif
