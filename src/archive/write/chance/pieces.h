/* Pieces of the files of a plan, from which it is told what compressors would leave of all of them. */
#ifndef SK_ARCHIVE_WRITE_PIECES_H
#define SK_ARCHIVE_WRITE_PIECES_H

#include "archive/plan/plan.h"

/* Up to n bytes of all files one after another, from a place on, that are in one file. 0: they cannot be read. */
size_t sk_pieces_read(struct sk_ska_plan *p, uint64_t at, size_t n, uint8_t *to);
/* 1: at least half of n bytes from a place on are a repeat of others of these files, which the archive that was made last has once. */
int sk_pieces_taken(const struct sk_ska_plan *p, uint64_t at, size_t n);
double sk_pieces_mean(const double *x, int n);
/* The mean of several less four times what chance may make of it. */
double sk_pieces_least(const double *x, int n);

#endif
