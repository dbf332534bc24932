/* Arrays for `make score-steady` beside those of unseen.h: small ones of many shapes, made anew by each run, the same ones each time. */
#ifndef BENCH_STEADY_H
#define BENCH_STEADY_H

#include "unseen.h"

/* The i-th array, NULL past the end. All may be looked at. */
const struct unseen *steady_at(int i);

#endif
