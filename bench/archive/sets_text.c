/* Sets of text: what solvers, particle codes and measurements print. */
#include "archive/sets.h"
#include "codec/unseen.h"

#include <math.h>
#include <stdlib.h>

/* ---- a finite-volume case in parts ---- */

static void foam_head(FILE *f, const char *class, const char *object)
{
    fprintf(f, "FoamFile\n{\n    version     2.0;\n    format      ascii;\n    class       %s;\n    object      %s;\n}\n\n", class, object);
}

static const size_t foam_side[3] = {16, 32, 32};

static int foam_vectors(const char *name, int rank, int step, int positions)
{
    FILE *f = sets_open(name, rank);
    size_t n = foam_side[0] * foam_side[1] * foam_side[2];
    double *v[3];
    if (!f)
        return -1;
    for (int d = 0; d < 3; d++)
        v[d] = sets_field((uint64_t)(100 + 10 * rank + d + 3 * positions), positions ? 0 : step, foam_side);
    foam_head(f, positions ? "vectorField" : "volVectorField", positions ? "points" : "U");
    if (!positions)
        fprintf(f, "dimensions      [0 1 -1 0 0 0 0];\n\ninternalField   nonuniform List<vector> \n");
    fprintf(f, "%zu\n(\n", n);
    for (size_t i = 0; i < n; i++) {
        double at[3] = {(double)(i % 32), (double)(i / 32 % 32), (double)(i / 1024 + 16 * (size_t)rank)};
        for (int d = 0; d < 3; d++)
            fprintf(f, "%s%.6g", d ? " " : "(", positions ? 0.01 * (at[d] + (i % 3 ? 0 : 0.1 * v[d][i])) : 2 + v[d][i] / 2);
        fprintf(f, ")\n");
    }
    fprintf(f, ")\n;\n");
    for (int d = 0; d < 3; d++)
        free(v[d]);
    return sets_close(f);
}

static int foam_scalars(const char *name, int rank, int step)
{
    FILE *f = sets_open(name, rank);
    size_t n = foam_side[0] * foam_side[1] * foam_side[2];
    double *v = sets_field((uint64_t)(150 + rank), step, foam_side);
    if (!f)
        return -1;
    foam_head(f, "volScalarField", "p");
    fprintf(f, "dimensions      [0 2 -2 0 0 0 0];\n\ninternalField   nonuniform List<scalar> \n%zu\n(\n", n);
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%.6g\n", 101325 + 40 * v[i]);
    fprintf(f, ")\n;\n\nboundaryField\n{\n    walls\n    {\n        type            zeroGradient;\n    }\n}\n");
    free(v);
    return sets_close(f);
}

/* The cells on both sides of each face of a box. */
static int foam_faces(const char *name, int rank)
{
    FILE *f = sets_open(name, rank);
    if (!f)
        return -1;
    foam_head(f, "labelList", "neighbour");
    fprintf(f, "%d\n(\n", 3 * 16 * 32 * 32);
    for (int i = 0; i < 16 * 32 * 32; i++) {
        if (i % 32 < 31)
            fprintf(f, "%d\n", i + 1);
        if (i / 32 % 32 < 31)
            fprintf(f, "%d\n", i + 32);
        if (i / 1024 < 15)
            fprintf(f, "%d\n", i + 1024);
    }
    fprintf(f, ")\n");
    return sets_close(f);
}

int sets_foam(int step)
{
    int rc = 0;
    for (int r = 0; r < SETS_RANKS; r++)
        rc |= foam_vectors("points_%d", r, step, 1) | foam_vectors("U_%d", r, step, 0) | foam_scalars("p_%d", r, step) |
              foam_faces("neighbour_%d", r);
    return rc;
}

/* ---- a mesh of triangles with values at its points ---- */

int sets_vtk(int step)
{
    const size_t side[3] = {1, 128, 128}, n = 128 * 128;
    for (int r = 0; r < SETS_RANKS; r++) {
        FILE *f = sets_open("surface_%d.vtk", r);
        double *h = sets_field((uint64_t)(200 + r), 0, side), *t = sets_field((uint64_t)(210 + r), step, side);
        if (!f)
            return -1;
        fprintf(f, "# vtk DataFile Version 3.0\nsurface\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS %zu double\n", n);
        for (size_t i = 0; i < n; i++)
            fprintf(f, "%.10g %.10g %.10g\n", (double)(i % 128) / 127, ((double)(i / 128) + 128 * r) / 127, 0.2 * h[i]);
        fprintf(f, "CELLS %d %d\n", 127 * 127 * 2, 127 * 127 * 2 * 4);
        for (int i = 0; i < 127 * 127; i++) {
            int a = i / 127 * 128 + i % 127;
            fprintf(f, "3 %d %d %d\n3 %d %d %d\n", a, a + 1, a + 128, a + 1, a + 129, a + 128);
        }
        fprintf(f, "CELL_TYPES %d\n", 127 * 127 * 2);
        for (int i = 0; i < 127 * 127 * 2; i++)
            fprintf(f, "5\n");
        fprintf(f, "POINT_DATA %zu\nSCALARS temperature double 1\nLOOKUP_TABLE default\n", n);
        for (size_t i = 0; i < n; i++)
            fprintf(f, "%.8e\n", 300 + 15 * t[i]);
        free(h);
        free(t);
        if (sets_close(f))
            return -1;
    }
    return 0;
}

/* ---- particles ---- */

int sets_dump(int step)
{
    for (int r = 0; r < SETS_RANKS; r++) {
        FILE *f = sets_open("atoms_%d.dump", r);
        if (!f)
            return -1;
        for (int frame = 0; frame < 3; frame++) {
            struct particles p = sets_particles((uint64_t)(300 + r), 10 * step + frame, 18);
            fprintf(f, "ITEM: TIMESTEP\n%d\nITEM: NUMBER OF ATOMS\n%zu\nITEM: BOX BOUNDS pp pp pp\n", (step + frame) * 100, p.count);
            for (int d = 0; d < 3; d++)
                fprintf(f, "0.0000000000000000e+00 %.16e\n", p.box);
            fprintf(f, "ITEM: ATOMS id type x y z vx vy vz\n");
            for (size_t i = 0; i < p.count; i++)
                fprintf(f, "%zu %d %g %g %g %g %g %g\n", i + 1, i % 3 ? 1 : 2, p.x[i][0], p.x[i][1], p.x[i][2], p.v[i][0], p.v[i][1],
                        p.v[i][2]);
            sets_particles_free(&p);
        }
        if (sets_close(f))
            return -1;
    }
    return 0;
}

int sets_gro(int step)
{
    for (int r = 0; r < SETS_RANKS; r++) {
        FILE *f = sets_open("conf_%d.gro", r);
        struct particles p = sets_particles((uint64_t)(310 + r), step, 26);
        if (!f)
            return -1;
        fprintf(f, "Water, step %d\n%5zu\n", step, p.count);
        for (size_t i = 0; i < p.count; i++)
            fprintf(f, "%5zu%-5s%5s%5zu%8.3f%8.3f%8.3f%8.4f%8.4f%8.4f\n", (i / 3 + 1) % 100000, "SOL",
                    i % 3 == 0 ? "OW" : i % 3 == 1 ? "HW1" : "HW2", (i + 1) % 100000, p.x[i][0], p.x[i][1], p.x[i][2], p.v[i][0],
                    p.v[i][1], p.v[i][2]);
        fprintf(f, "%10.5f%10.5f%10.5f\n", p.box, p.box, p.box);
        sets_particles_free(&p);
        if (sets_close(f))
            return -1;
    }
    return 0;
}

/* ---- logs and tables ---- */

int sets_logs(int step)
{
    for (int r = 0; r < SETS_RANKS; r++) {
        FILE *f = sets_open("run_%d.log", r);
        double temperature = 300, residual;
        unseen_seed((uint64_t)(400 + r));
        if (!f)
            return -1;
        for (int k = 0; k < 4000 + 40 * step; k++) {
            temperature += 0.3 * unseen_gauss() - 0.01 * (temperature - 300);
            residual = exp(-3 - 2 * unseen_uniform());
            fprintf(f, "Time = %.4g\n\nCourant Number mean: %.6g max: %.6g\n", 0.005 * k, 0.1 + 0.01 * unseen_uniform(), 0.4 + 0.1 * unseen_uniform());
            for (int d = 0; d < 3; d++)
                fprintf(f, "smoothSolver:  Solving for U%c, Initial residual = %.6g, Final residual = %.6g, No Iterations %d\n", 'x' + d,
                        residual, residual * 1e-4 * (1 + unseen_uniform()), 1 + (int)(4 * unseen_uniform()));
            fprintf(f, "time step continuity errors : sum local = %.6g, global = %.6g\n", 1e-9 * unseen_uniform(), 1e-11 * unseen_gauss());
            fprintf(f, "T = %.3f K  ExecutionTime = %.2f s  ClockTime = %d s\n\n", temperature, 0.31 * k + unseen_uniform(), (int)(0.32 * k));
        }
        if (sets_close(f))
            return -1;
    }
    return 0;
}

int sets_table(int step)
{
    for (int r = 0; r < SETS_RANKS; r++) {
        FILE *f = sets_open("probe_%d.csv", r);
        double v[6] = {0};
        unseen_seed((uint64_t)(410 + r));
        if (!f)
            return -1;
        fprintf(f, "time,step,pressure,temperature,ux,uy,uz,state\n");
        for (int k = 0; k < 20000 + 200 * step; k++) {
            for (int i = 0; i < 5; i++)
                v[i] = 0.995 * v[i] + 0.02 * unseen_gauss();
            fprintf(f, "%.5f,%d,%.3f,%.4f,%.6f,%.6f,%.6f,%s\n", 0.00025 * k, k, 101325 + 30 * v[0], 293.15 + v[1], 1 + v[2], v[3], v[4],
                    v[1] > 0.2 ? "hot" : "cold");
        }
        if (sets_close(f))
            return -1;
    }
    return 0;
}
