/* A limit for how long a bench may run: what has not begun by then is left out, and said. */
#ifndef BENCH_LIMIT_H
#define BENCH_LIMIT_H

#include <stdio.h>

enum { BENCH_LIMIT_S = 1800 };

/* From now on; 0: no limit. What was left out before is forgotten. */
void bench_limit(double seconds);
/* 1: the time is over, and this (as printf makes it) is left out. */
int bench_left_out(const char *what, ...) __attribute__((format(printf, 1, 2)));
/* Say what was left out, to `out` as text and to json (NULL: nowhere) as one line for each. Returns how many. */
int bench_limit_report(FILE *out, FILE *json);

#endif
