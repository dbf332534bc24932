/* Table III of mcrEngine: what the checkpoint sets are. */
#ifndef SK_BENCH_PAPER_FAR_TABLE_H
#define SK_BENCH_PAPER_FAR_TABLE_H

#include "paper_far_sets.h"

/* Prints it, for the sets below root that are there. f: room for one of them. */
void far_characteristics(const char *root, struct far_files *f);

#endif
