/* Writes the sets of sets.h.
 *
 * usage: archive_sets list               one line for each: name, kind, part
 *        archive_sets NAME STEP          its files, below the present directory */
#include "archive/sets.h"
#include "codec/unseen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEEN = 0, SCORED = 1 };

static const struct made_set list[] = {
    {"foam", "text", SEEN, sets_foam},
    {"table", "text", SEEN, sets_table},
    {"dump", "text", SEEN, sets_dump},
    {"vtk", "text", SCORED, sets_vtk},
    {"gro", "text", SCORED, sets_gro},
    {"logs", "text", SCORED, sets_logs},
    {"fortran", "records", SEEN, sets_fortran},
    {"waves", "records", SCORED, sets_waves},
    {"atoms", "restart", SEEN, sets_atoms},
    {"cells", "restart", SCORED, sets_cells},
    {"mesh", "restart", SCORED, sets_mesh},
    {"raw", "restart", SCORED, sets_raw},
    {"trajectory", "restart", SCORED, sets_trajectory},
    {"classic", "netcdf", SCORED, sets_classic},
#ifdef HAVE_HDF5
    {"hdf5", "hdf5", SEEN, sets_hdf5},
    {"compound", "hdf5", SCORED, sets_compound},
    {"chunks", "hdf5", SCORED, sets_chunks},
    {"deflated", "hdf5", SCORED, sets_deflated},
#endif
};
enum { COUNT = sizeof list / sizeof *list };

FILE *sets_open(const char *name, int rank)
{
    char path[256];
    snprintf(path, sizeof path, name, rank);
    FILE *f = fopen(path, "wb");
    if (!f)
        perror(path);
    return f;
}

int sets_close(FILE *f)
{
    int bad = !f || ferror(f);
    if (f && fclose(f))
        bad = 1;
    if (bad)
        fprintf(stderr, "a file could not be written\n");
    return bad ? -1 : 0;
}

static void *needed(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(2);
    }
    return p;
}

static double turbulent(double k)
{
    return pow(1 + k, -11.0 / 6) * exp(-k / 30);
}

double *sets_field(uint64_t seed, int step, const size_t side[3])
{
    size_t n = side[0] * side[1] * side[2];
    double *x = needed(n * sizeof *x), *y = needed(n * sizeof *y), angle = 0.02 * step;
    unseen_seed(seed);
    unseen_spectral(side, turbulent, x);
    unseen_spectral(side, turbulent, y);
    for (size_t i = 0; i < n; i++)
        x[i] = cos(angle) * x[i] + sin(angle) * y[i];
    free(y);
    return x;
}

struct particles sets_particles(uint64_t seed, int step, size_t per_side)
{
    struct particles p = {.count = per_side * per_side * per_side, .box = (double)per_side * 0.31};
    p.x = needed(p.count * sizeof *p.x);
    p.v = needed(p.count * sizeof *p.v);
    unseen_seed(seed);
    for (size_t i = 0; i < p.count; i++) {
        size_t at[3] = {i / per_side / per_side, i / per_side % per_side, i % per_side};
        for (int d = 0; d < 3; d++) {
            p.v[i][d] = 0.4 * unseen_gauss();
            double x = 0.31 * ((double)at[d] + 0.5) + 0.03 * unseen_gauss() + 0.002 * step * p.v[i][d];
            p.x[i][d] = x - p.box * floor(x / p.box);
        }
    }
    return p;
}

void sets_particles_free(struct particles *p)
{
    free(p->x);
    free(p->v);
}

int main(int argc, char **argv)
{
    for (int i = 0; argc == 2 && !strcmp(argv[1], "list") && i < COUNT; i++)
        printf("%s %s %s\n", list[i].name, list[i].kind, list[i].scored ? "scored" : "seen");
    for (int i = 0; argc == 3 && i < COUNT; i++)
        if (!strcmp(argv[1], list[i].name))
            return list[i].make(atoi(argv[2])) ? 1 : 0;
    if (argc == 2 && !strcmp(argv[1], "list"))
        return 0;
    fprintf(stderr, "usage: archive_sets list | NAME STEP\n");
    return 2;
}
