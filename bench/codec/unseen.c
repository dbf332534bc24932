/* The list, and the values in their types. */
#include "unseen.h"

#include "base/types.h"

#include <stdlib.h>

enum { SEEN = 0, SCORED = 1 };
#define F32(...)                                                                                   \
    {                                                                                              \
        .type = SAIKAI_F32, .ndims = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .dims = {         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define F64(...)                                                                                   \
    {                                                                                              \
        .type = SAIKAI_F64, .ndims = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .dims = {         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static const struct unseen list[] = {
    {"heat_128", "diffusion", SEEN, F64(128, 128, 128), unseen_heat},
    {"heat_64", "diffusion", SCORED, F32(64, 64, 64), unseen_heat},
    {"heat_plane", "diffusion", SCORED, F64(512, 512), unseen_heat},
    {"burgers", "shocks", SEEN, F64(1 << 18), unseen_burgers},
    {"burgers_rows", "shocks", SCORED, F64(400, 1024), unseen_burgers_rows},
    {"euler_density", "shocks", SEEN, F64(320, 320), unseen_euler_density},
    {"euler_pressure", "shocks", SCORED, F32(400, 300), unseen_euler_pressure},
    {"sod", "shocks", SCORED, F64(300, 800), unseen_sod},
    {"wave", "waves", SCORED, F64(480, 640), unseen_wave},
    {"plane_waves", "waves", SEEN, F32(64, 96, 128), unseen_plane_waves},
    {"advection", "transport", SEEN, F32(400, 500), unseen_advection},
    {"plume", "transport", SCORED, F32(10, 24, 60, 70), unseen_plume},
    {"plume_f64", "transport", SEEN, F64(6, 20, 50, 60), unseen_plume},
    {"gray_scott", "patterns", SCORED, F64(256, 256), unseen_gray_scott},
    {"front", "patterns", SEEN, F32(40, 64, 100), unseen_front},
    {"front_long", "patterns", SCORED, F64(30, 50, 150), unseen_front},
    {"turbulence_3d", "turbulence", SEEN, F32(128, 128, 128), unseen_turbulence},
    {"turbulence_2d", "turbulence", SCORED, F64(512, 1024), unseen_turbulence},
    {"turbulence_f64", "turbulence", SCORED, F64(64, 64, 128), unseen_turbulence},
    {"lognormal_64", "density", SEEN, F32(64, 64, 64), unseen_lognormal},
    {"lognormal_128", "density", SCORED, F64(128, 64, 64), unseen_lognormal},
    {"seismogram", "line", SEEN, F32(1 << 18), unseen_seismogram},
    {"walk", "line", SCORED, F64(200000), unseen_walk},
    {"chirp", "line", SCORED, F32(300000), unseen_chirp},
    {"positions", "particles", SEEN, F32(120000, 3), unseen_positions},
    {"velocities", "particles", SCORED, F64(300000), unseen_velocities},
    {"clusters", "particles", SCORED, F32(300000), unseen_clusters},
    {"picture", "numbers", SEEN, F32(512, 512), unseen_picture},
    {"counts", "numbers", SCORED, F64(512, 512), unseen_counts},
    {"detector", "numbers", SCORED, F32(16, 128, 256), unseen_detector},
    {"elevations", "ground", SEEN, F32(1024, 1024), unseen_elevations},
    {"ridges", "ground", SCORED, F64(512, 1024), unseen_ridges},
    {"spikes_3d", "spikes", SEEN, F64(64, 128, 64), unseen_spikes},
    {"spikes_2d", "spikes", SCORED, F32(512, 1024), unseen_spikes},
    {"ocean", "holes", SEEN, F32(16, 256, 256), unseen_ocean},
    {"land", "holes", SCORED, F64(512, 512), unseen_land},
    {"clouds", "holes", SCORED, F32(8, 256, 256), unseen_clouds},
    {"tiny", "scaled", SEEN, F32(64, 64, 64), unseen_tiny},
    {"huge", "scaled", SCORED, F32(512, 512), unseen_huge},
    {"decimals", "numbers", SEEN, F32(32, 128, 128), unseen_decimals},
    {"packed", "numbers", SCORED, F32(32, 128, 128), unseen_packed},
    {"years", "climate", SCORED, F32(40, 64, 128), unseen_years},
    {"years_f64", "climate", SEEN, F64(24, 64, 64), unseen_years},
    {"flattened", "climate", SCORED, F64(32, 4096), unseen_flattened},
};

const struct unseen *unseen_at(int i)
{
    return i >= 0 && i < (int)(sizeof list / sizeof *list) ? &list[i] : NULL;
}

void *unseen_make(const struct unseen *u)
{
    size_t n = 1;
    for (int i = 0; i < u->a.ndims; i++)
        n *= u->a.dims[i];
    double *x = calloc(n, sizeof *x);
    float *f = u->a.type == SAIKAI_F32 ? malloc(n * sizeof *f) : NULL;
    if (x)
        u->make(&u->a, x);
    for (size_t i = 0; x && f && i < n; i++)
        f[i] = (float)x[i];
    if (u->a.type != SAIKAI_F32)
        return x;
    free(x);
    return f;
}
