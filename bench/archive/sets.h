/* Sets of files as programs of many kinds leave them, for `make score-archive`: made anew by each run, the same ones each time,
 * from fields, particles and meshes that are computed here. One part of them may be looked at while archives are worked on, the
 * other part is only scored. */
#ifndef BENCH_SETS_H
#define BENCH_SETS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SETS_RANKS = 4 };

struct made_set {
    const char *name, *kind;
    int scored; /* 1: nobody looks at it, it is only scored */
    /* Write its files below the present directory, as they are after so many steps. 0, or -1 */
    int (*make)(int step);
};

/* The file of a rank; NULL, and a message: it cannot be made. name is a format with a %d for the rank. */
FILE *sets_open(const char *name, int rank);
/* 0; -1 and a message when something was not written. */
int sets_close(FILE *f);

/* A field of side[0] x side[1] x side[2] (powers of two) with a spectrum like that of turbulence, mean 0 and deviation 1, which
 * moves on a little with each step; to be freed. Ends the program when there is no memory. */
double *sets_field(uint64_t seed, int step, const size_t side[3]);

/* Particles of a liquid: a lattice that has been shaken, and velocities; the same ones, further on, at the next step. */
struct particles {
    size_t count;
    double box, (*x)[3], (*v)[3];
};
struct particles sets_particles(uint64_t seed, int step, size_t per_side);
void sets_particles_free(struct particles *p);

#define SETS(name) int name(int step);
/* sets_text.c */
SETS(sets_foam)
SETS(sets_vtk)
SETS(sets_dump)
SETS(sets_gro)
SETS(sets_logs)
SETS(sets_table)
/* sets_records.c */
SETS(sets_fortran)
SETS(sets_waves)
SETS(sets_trajectory)
SETS(sets_atoms)
SETS(sets_cells)
SETS(sets_mesh)
SETS(sets_raw)
SETS(sets_classic)
/* sets_hdf5.c */
SETS(sets_hdf5)
SETS(sets_compound)
SETS(sets_chunks)
SETS(sets_deflated)
#undef SETS

#endif
