/* What the parts of the program `rare` (rare.c) share: who this rank is, and how it tells what it found. */
#ifndef RARE_H
#define RARE_H

#include <mpi.h>
#include <stddef.h>

extern int rank, ranks, next, before; /* the ranks beside this one, in a ring */

/* A line with what each rank found. */
void tell(const char *what, int mine);
int class_of(int rc);
/* Of n bytes a few bits: of each `of` the first are data, and what is between them is nobody's. */
extern size_t data_of, of;
int sum_of(const void *p, size_t n);
void fill(int *p, int n, int from);
/* n ints, one of each two. */
MPI_Datatype every_second(int n);

/* The parts. */
void alone(void), gone(void), statuses(void), lasting(void), truncated(void), order(void); /* messages.c */
void bottom(void), gaps(void), operations(void), nothing(void);                            /* data.c */

#endif
