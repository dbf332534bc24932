/* The programs of Jitsumoto, Nakamura, Endo and Matsuoka (2009), section 4, as memory that changes.
 * MAT: a matrix product, of which only the rows of the result that were computed since the last
 * checkpoint change; 501 MB. LU: a sweep of the kind of NPB LU (class C, 162 cubed points of 5
 * values: solution, residual and forcing term), of which all inner points change at every step;
 * 516 MB. */
#ifndef BENCH_PAPER_PROGRAMS_H
#define BENCH_PAPER_PROGRAMS_H

#include <stddef.h>

enum { PAPER_REGIONS = 3 };

struct paper_program {
    const char *name;
    double paper_less; /* percent, of the checkpoint's size: tables 3 and 4 */
    int small;         /* for a try */
    unsigned seed;     /* other data for each node */
    size_t n, regions;
    double *v[PAPER_REGIONS];
    size_t bytes[PAPER_REGIONS];
    long at;
    int (*set_up)(struct paper_program *p);
    void (*step)(struct paper_program *p); /* from one checkpoint to the next */
};

/* The i-th program, not set up; 0 past the end. */
int paper_program_at(int i, struct paper_program *p);
/* Take the memory and fill it: 0, or -1 without memory. */
int paper_program_start(struct paper_program *p);
void paper_program_free(struct paper_program *p);

#endif
