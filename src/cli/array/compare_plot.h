/* Plots of how two arrays differ. */
#ifndef SK_CLI_COMPARE_PLOT_H
#define SK_CLI_COMPARE_PLOT_H

#include "codec/quality/difference.h"

/* Write PREFIX-histogram.svg (how many values are how far off) and PREFIX-slice.svg (the middle
 * slice of x, of y and of y - x, coloured by value). Errors: SAIKAI_ENOMEM, or the file could not
 * be written. */
int cli_compare_plot(const char *prefix, const struct sk_array *a, const void *x, const void *y,
                     const struct sk_difference *d, struct saikai_error *err);

#endif
