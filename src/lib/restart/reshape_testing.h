/* For the tests of other numbers of ranks: a little program whose ranks share an array, cut in any
 * way. */
#ifndef SK_LIB_RESHAPE_TESTING_H
#define SK_LIB_RESHAPE_TESTING_H

#include "lib/session/session.h"

/* How a program cuts its array: a grid of grid[d] tiles in each dimension; further ranks have none.
 * ranks 0: as many as there are tiles. */
struct reshape_cut {
    int ndims;
    size_t global[3];
    int grid[3];
    int ranks;
    size_t halo;
};

enum reshape_oddity {
    REGULAR,
    PRIVATE,    /* one more variable, each rank's own */
    UNEQUAL,    /* "step" is not the same on all ranks */
    HOLE,       /* the last tile is one shorter in the first dimension */
    OVERLAP,    /* tiles reach one further; all but the lowest rank have other values there */
    OVERLAPPED, /* reads that, as two ranks wrote it of ten elements: number 5 is both ranks' */
    DISAGREE,   /* rank 1 declares another global array */
    WITH_FILES, /* checkpoints have a file of the program */
    FORGOTTEN,  /* "step" is not declared replicated */
};

struct reshape_run {
    const char *config;
    struct reshape_cut cut;
    int64_t until;
    int expect; /* result of restart: 1, 0 or an error */
    int64_t expect_from;
    const char *expect_text;
    enum reshape_oddity odd;
    int nodes; /* ranks share node-local directories with rank % nodes; 0: all of them one */
    double tolerance;
    int any;    /* 1: whatever is restored must be right, of iteration 10 or 20; SAIKAI_EDAMAGED is
                   right, too */
    int finish; /* 1: finalize; 0: leave as a killed program does */
};

/* setup and teardown: a new directory; its end. */
int reshape_begin_dir(void **state);
int reshape_remove_dir(void **state);
/* One start of the program; the test fails when anything is not as r says. */
void reshape_start(struct reshape_run r);
/* Node-local directory of the first node. */
const char *reshape_local(void);
/* Both copies of one are gone. */
void reshape_remove_copies(int incarnation, int64_t it, int rank);

#endif
