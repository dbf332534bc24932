/* Stacked bars as an SVG file: what times are made of. */
#ifndef BENCH_BARS_H
#define BENCH_BARS_H

#include "base/error.h"

enum { BARS_MOST = 8, BARS_PARTS = 4 };

struct bars {
    const char *title, *subtitle, *unit;
    int parts;
    const char *part[BARS_PARTS], *colour[BARS_PARTS];
    int n;
    const char *name[BARS_MOST];
    double value[BARS_MOST][BARS_PARTS];
};

/* Write the file, replaced as a whole. SAIKAI_EINVAL: no bar is longer than zero; SAIKAI_ENOMEM,
 * SAIKAI_EIO. */
int bars_write(const struct bars *b, const char *path, struct saikai_error *err);

#endif
