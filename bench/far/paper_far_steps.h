/* Figs. 12 and 13 of mcrEngine by step: where the processor time of a checkpoint and of a restart goes, and what is left to the shared file system. */
#ifndef SK_BENCH_PAPER_FAR_STEPS_H
#define SK_BENCH_PAPER_FAR_STEPS_H

#include "paper_far_ways.h"

/* Of the configurations of Table V, in their order, each with its steps: as a table on stdout, or as stacked bars below dir. */
void far_print_steps(const struct far_set *s, int restart, const struct far_cost c[FAR_CLOCK_WAYS]);
void far_draw_steps(const struct far_set *s, int restart, const struct far_cost c[FAR_CLOCK_WAYS], const char *dir);

#endif
