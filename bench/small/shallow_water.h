/* A small simulation to checkpoint: the rotating shallow-water equations on a doubly periodic
 * square, two opposite jets with a small disturbance that grows into eddies.
 *
 * Vector-invariant form on the C grid with the enstrophy-conserving scheme of R. Sadourny, The
 * dynamics of finite-difference models of the shallow-water equations, J. Atmos. Sci. 32 (1975);
 * Runge-Kutta of third order in time; a little viscosity. Deterministic: the same state gives the
 * same bits. */
#ifndef BENCH_SHALLOW_WATER_H
#define BENCH_SHALLOW_WATER_H

#include <stddef.h>

/* The whole state: depth and the two velocities, each n x n, rows of constant y. */
struct shallow_water {
    size_t n;
    double dx, dt;    /* metres, seconds */
    double *field[3]; /* h, u, v: one allocation, h first */
    double *work;
};

/* The balanced jets; 0, or -1 without memory. */
int shallow_water_new(struct shallow_water *s, size_t n);
void shallow_water_free(struct shallow_water *s);
void shallow_water_step(struct shallow_water *s);

#endif
