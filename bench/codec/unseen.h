/* Arrays of many kinds that no codec was tuned to: solutions of equations computed here, spectral
 * fields, fractals, particles, whole numbers, masked and scaled ones. They are made anew by each
 * run, the same ones each time. One part of them may be looked at while a codec is worked on, the
 * other part is only scored. */
#ifndef BENCH_UNSEEN_H
#define BENCH_UNSEEN_H

#include "codec/codec.h"

struct unseen {
    const char *name, *kind;
    int scored; /* 1: nobody looks at it, it is only scored */
    struct sk_array a;
    void (*make)(const struct sk_array *a, double *x);
};

/* The i-th array, NULL past the end. */
const struct unseen *unseen_at(int i);
/* Its values in its type, to be freed; NULL: no memory. */
void *unseen_make(const struct unseen *u);

/* ---- what the makers share (unseen_fields.c, unseen_equations.c) ---- */

/* Numbers that follow from the seed alone. */
void unseen_seed(uint64_t seed);
double unseen_uniform(void);
double unseen_gauss(void);
/* A random periodic field of side[0] x side[1] x side[2] (powers of two) with this amplitude at
 * each wave number; mean 0, deviation 1. */
void unseen_spectral(const size_t side[3], double (*amplitude)(double k), double *x);

#define UNSEEN(f) void f(const struct sk_array *a, double *x);
UNSEEN(unseen_heat)
UNSEEN(unseen_burgers)
UNSEEN(unseen_burgers_rows)
UNSEEN(unseen_euler_density)
UNSEEN(unseen_euler_pressure)
UNSEEN(unseen_sod)
UNSEEN(unseen_wave)
UNSEEN(unseen_plane_waves)
UNSEEN(unseen_advection)
UNSEEN(unseen_plume)
UNSEEN(unseen_gray_scott)
UNSEEN(unseen_front)
UNSEEN(unseen_turbulence)
UNSEEN(unseen_lognormal)
UNSEEN(unseen_seismogram)
UNSEEN(unseen_walk)
UNSEEN(unseen_chirp)
UNSEEN(unseen_positions)
UNSEEN(unseen_velocities)
UNSEEN(unseen_clusters)
UNSEEN(unseen_picture)
UNSEEN(unseen_counts)
UNSEEN(unseen_detector)
UNSEEN(unseen_elevations)
UNSEEN(unseen_ridges)
UNSEEN(unseen_spikes)
UNSEEN(unseen_ocean)
UNSEEN(unseen_land)
UNSEEN(unseen_clouds)
UNSEEN(unseen_tiny)
UNSEEN(unseen_huge)
UNSEEN(unseen_decimals)
UNSEEN(unseen_packed)
UNSEEN(unseen_years)
UNSEEN(unseen_flattened)
#undef UNSEEN

#endif
