/* For tests: a solver with one array, started again and again. What it goes on from must be what it had then. */
#ifndef SK_LIB_SOLVER_TESTING_H
#define SK_LIB_SOLVER_TESTING_H

#include "lib/whole/session_testing.h"

enum { SOLVER_CELLS = 5000 };

/* What one start does. By default a checkpoint is due every ten iterations. */
struct solve {
    const char *config;
    int64_t until;       /* iterations to reach */
    int crash;           /* 1: leave without finalize, as a killed process does */
    int expect;          /* result of restart: 1, 0 or an error */
    int64_t expect_from; /* iteration restored */
    const char *expect_text;
    int settle; /* wait after each candidate until the generation is complete and archived */
    size_t cells;
    double tolerance; /* relative to the range of values; 0: exact */
    int (*body)(struct sk_session *s, int64_t it);
    int halts; /* the session may come to its end as a signal asked for */
};

/* The test fails when anything is not as r says. */
void solve(int ranks, struct solve r);
struct sk_config *solver_config(const char *more);
/* Setup and teardown: a world whose log is read in full. */
int solver_begin(void **state);
int solver_end(void **state);

#endif
