/* The failure log that Los Alamos National Laboratory made public (LA-UR-05-7318): one line of a CSV file for each failure of a
 * node of its systems, with the columns System, nodes, nodenum, Prob Started, Prob Fixed and one for each kind of cause.
 * Pure: what is read is text that others wrote. */
#ifndef SK_SCHEDULE_LANL_H
#define SK_SCHEDULE_LANL_H

#include "base/error.h"

#include <stddef.h>

struct sk_lanl_record {
    int system, nodes, node;  /* nodes: of the system; 0: not told */
    double begun, ended;      /* seconds since 1970, as if the clocks there had shown UTC; ended 0: not told */
    const char *cause;        /* head of the column: "Hardware", "Software" …; "": none */
};

/* 1: the text begins as such a file does. */
int sk_lanl_recognises(const char *text, size_t n);
/* Call each for every record that can be read; a line without system, node or time is counted in *skipped (may be NULL). text[n]
 * must be writable and is changed. path is for errors. Ends early with what `each` returns if that is not 0. SAIKAI_ECONFIG: there is
 * no such head. */
int sk_lanl_parse(char *text, size_t n, const char *path,
                  int (*each)(void *arg, const struct sk_lanl_record *r, struct saikai_error *err), void *arg,
                  size_t *skipped, struct saikai_error *err);

#endif
