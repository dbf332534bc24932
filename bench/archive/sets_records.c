/* Sets of binary files without a description: Fortran records, restart files of particles, cells and meshes, trajectories, raw
 * arrays, and netCDF's classic form. */
#include "archive/sets.h"
#include "codec/unseen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put(FILE *f, const void *p, size_t n)
{
    fwrite(p, 1, n, f);
}

/* n bytes, the highest first, as networks have them. */
static void put_big(FILE *f, uint64_t v, int n)
{
    for (int k = n; k--;)
        fputc((int)(v >> 8 * k & 255), f);
}

static void put_big_float(FILE *f, double v)
{
    float x = (float)v;
    uint32_t bits;
    memcpy(&bits, &x, 4);
    put_big(f, bits, 4);
}

/* ---- Fortran ---- */

static void record(FILE *f, const void *p, size_t bytes)
{
    uint32_t n = (uint32_t)bytes;
    put(f, &n, 4);
    put(f, p, bytes);
    put(f, &n, 4);
}

int sets_fortran(int step)
{
    const size_t side[3] = {16, 64, 64}, n = side[0] * side[1] * side[2];
    for (int r = 0; r < SETS_RANKS; r++) {
        FILE *f = sets_open("dump_%d.bin", r);
        int head[4] = {step * 50, 64, 64, 16};
        double time = 0.01 * step;
        if (!f)
            return -1;
        record(f, head, sizeof head);
        record(f, &time, sizeof time);
        for (int k = 0; k < 3; k++) {
            double *x = sets_field((uint64_t)(500 + 10 * r + k), step, side);
            record(f, x, n * sizeof *x);
            free(x);
        }
        if (sets_close(f))
            return -1;
    }
    return 0;
}

/* Coefficients of waves: complex numbers that fall off with their length. */
int sets_waves(int step)
{
    enum { WAVES = 2500, BANDS = 10 };
    static double c[WAVES][2];
    static int indices[WAVES][3];
    for (int r = 0; r < SETS_RANKS; r++) {
        FILE *f = sets_open("wfc%d.dat", r + 1);
        int head[6] = {r + 1, 1, 1, WAVES, 1, BANDS};
        if (!f)
            return -1;
        unseen_seed((uint64_t)(540 + r));
        record(f, head, sizeof head);
        for (int i = 0; i < WAVES; i++)
            for (int d = 0; d < 3; d++)
                indices[i][d] = (d == 0 ? i / 196 : d == 1 ? i / 14 % 14 : i % 14) - 7;
        record(f, indices, sizeof indices);
        for (int b = 0; b < BANDS; b++) {
            for (int i = 0; i < WAVES; i++) {
                double k2 = 0;
                for (int d = 0; d < 3; d++)
                    k2 += indices[i][d] * indices[i][d];
                for (int d = 0; d < 2; d++)
                    c[i][d] = exp(-k2 / (30 + 3 * b)) * unseen_gauss() * (1 + 1e-4 * step);
            }
            record(f, c, sizeof c);
        }
        if (sets_close(f))
            return -1;
    }
    return 0;
}

/* ---- particles ---- */

/* Each atom is a number of doubles, of which the first says how many: positions, whole numbers in disguise, velocities, bonds. */
int sets_atoms(int step)
{
    for (int r = 0; r < SETS_RANKS; r++) {
        FILE *f = sets_open("restart.%d", r);
        struct particles p = sets_particles((uint64_t)(560 + r), step, 20);
        char head[128] = "restart of atoms";
        if (!f)
            return -1;
        put(f, head, sizeof head);
        for (size_t i = 0; i < p.count; i++) {
            double x[18] = {0};
            int64_t whole[4] = {(int64_t)i + 1, i % 3 ? 1 : 2, 1, (int64_t)512 << 20 | 512 << 10 | 512};
            int n = 4, bonds = i % 3 == 0 ? 2 : 1;
            for (int d = 0; d < 3; d++)
                x[1 + d] = p.x[i][d];
            memcpy(&x[n], whole, sizeof whole);
            n += 4;
            for (int d = 0; d < 3; d++)
                x[n++] = p.v[i][d];
            x[n++] = i % 3 ? 0.4238 : -0.8476;
            for (int b = 0; b < bonds; b++) {
                int64_t to[2] = {1, (int64_t)i + b + 2};
                memcpy(&x[n], to, sizeof to);
                n += 2;
            }
            x[0] = n;
            put(f, x, (size_t)n * sizeof *x);
        }
        sets_particles_free(&p);
        if (sets_close(f))
            return -1;
    }
    return 0;
}

/* Frames of big-endian floats: positions, velocities, forces. */
int sets_trajectory(int step)
{
    for (int r = 0; r < SETS_RANKS; r++) {
        FILE *f = sets_open("part_%d.trr", r);
        if (!f)
            return -1;
        for (int frame = 0; frame < 4; frame++) {
            struct particles p = sets_particles((uint64_t)(580 + r), 10 * step + frame, 20);
            put_big(f, 1993, 4);
            put_big(f, 13, 4);
            put(f, "GMX_trn_file\0\0\0\0", 16);
            for (int k = 0; k < 7; k++)
                put_big(f, 36, 4);
            put_big(f, (uint64_t)(10 * step + frame), 4);
            put_big_float(f, 0.002 * (10 * step + frame));
            for (int d = 0; d < 9; d++)
                put_big_float(f, d % 4 ? 0 : p.box);
            for (size_t i = 0; i < p.count; i++)
                for (int d = 0; d < 3; d++)
                    put_big_float(f, p.x[i][d]);
            for (size_t i = 0; i < p.count; i++)
                for (int d = 0; d < 3; d++)
                    put_big_float(f, p.v[i][d]);
            sets_particles_free(&p);
        }
        if (sets_close(f))
            return -1;
    }
    return 0;
}

/* ---- structures and arrays ---- */

/* The cells of an adaptive grid, structure by structure. */
int sets_cells(int step)
{
    const size_t side[3] = {16, 32, 32}, n = side[0] * side[1] * side[2];
    for (int r = 0; r < SETS_RANKS; r++) {
        FILE *f = sets_open("cells.%d", r);
        double *v[5];
        if (!f)
            return -1;
        for (int k = 0; k < 5; k++)
            v[k] = sets_field((uint64_t)(600 + 10 * r + k), step, side);
        for (size_t i = 0; i < n; i++) {
            struct {
                int32_t level, parent;
                int64_t key;
                double state[5];
                float weight;
                uint8_t flags[4];
            } cell = {.level = v[0][i] > 1 ? 3 : 2, .parent = (int32_t)(i / 8), .key = (int64_t)(i * 8 + (size_t)r * n), .weight = (float)fabs(v[1][i])};
            for (int k = 0; k < 5; k++)
                cell.state[k] = (k == 0 ? exp(0.5 * v[0][i]) : v[k][i]) * (k + 1);
            cell.flags[0] = v[0][i] > 1;
            put(f, &cell, sizeof cell);
        }
        for (int k = 0; k < 5; k++)
            free(v[k]);
        if (sets_close(f))
            return -1;
    }
    return 0;
}

/* An unstructured mesh and what lives on it: coordinates, connectivity, a matrix in rows. */
int sets_mesh(int step)
{
    const size_t side[3] = {16, 32, 32};
    const int n = 16 * 32 * 32;
    for (int r = 0; r < SETS_RANKS; r++) {
        FILE *f = sets_open("mesh_%d.dat", r);
        double *bump = sets_field((uint64_t)(640 + r), 0, side), *u = sets_field((uint64_t)(650 + r), step, side);
        int cells = 15 * 31 * 31;
        if (!f)
            return -1;
        put(f, &n, sizeof n);
        put(f, &cells, sizeof cells);
        for (int i = 0; i < n; i++) {
            double at[3] = {i % 32 + 0.05 * bump[i], i / 32 % 32 + 0.05 * bump[(i + 77) % n], i / 1024};
            put(f, at, sizeof at);
        }
        for (int i = 0; i < n; i++)
            if (i % 32 < 31 && i / 32 % 32 < 31 && i / 1024 < 15) {
                int c[8] = {i, i + 1, i + 33, i + 32, i + 1024, i + 1025, i + 1057, i + 1056};
                put(f, c, sizeof c);
            }
        for (int i = 0; i < n; i++) {
            double row[4] = {6 + 0.01 * bump[i], -1, -1, u[i]};
            put(f, row, sizeof row);
        }
        free(bump);
        free(u);
        if (sets_close(f))
            return -1;
    }
    return 0;
}

/* Arrays one after another, single precision, with a frame of ghost cells, behind a short header. */
int sets_raw(int step)
{
    const size_t side[3] = {32, 32, 64}, n = side[0] * side[1] * side[2];
    for (int r = 0; r < SETS_RANKS; r++) {
        FILE *f = sets_open("state_%d.raw", r);
        int32_t head[8] = {0x5a17, 1, step, 64, 32, 32, 4, 0};
        if (!f)
            return -1;
        put(f, head, sizeof head);
        for (int k = 0; k < 4; k++) {
            double *x = sets_field((uint64_t)(700 + 10 * r + k), step, side);
            for (size_t i = 0; i < n; i++) {
                int ghost = i % 64 == 0 || i % 64 == 63 || i / 64 % 32 == 0 || i / 64 % 32 == 31;
                float v = ghost ? 0 : (float)(k == 3 ? 1e5 + 50 * x[i] : x[i]);
                put(f, &v, sizeof v);
            }
            free(x);
        }
        if (sets_close(f))
            return -1;
    }
    return 0;
}

/* ---- netCDF, classic form ---- */

static void put_name(FILE *f, const char *name)
{
    size_t n = strlen(name);
    put_big(f, n, 4);
    put(f, name, n);
    for (; n % 4; n++)
        fputc(0, f);
}

/* Variables of floats over time, height, latitude and longitude; shorts on the ground. */
int sets_classic(int step)
{
    enum { DIMENSIONS = 10, VARIABLES = 11, SHORT = 3, FLOAT = 5 };
    const size_t side[3] = {8, 64, 128}, n = side[0] * side[1] * side[2];
    static const char *const names[] = {"ta", "ua", "va", "zg", "orog"};
    static const char *const dims[] = {"lev", "lat", "lon"};
    for (int r = 0; r < SETS_RANKS; r++) {
        FILE *f = sets_open("month_%d.nc", r);
        uint64_t at = 1024;
        if (!f)
            return -1;
        put(f, "CDF\1", 4);
        put_big(f, 0, 4);
        put_big(f, DIMENSIONS, 4);
        put_big(f, 3, 4);
        for (int d = 0; d < 3; d++) {
            put_name(f, dims[d]);
            put_big(f, side[d], 4);
        }
        put_big(f, 0, 8); /* no attributes */
        put_big(f, VARIABLES, 4);
        put_big(f, 5, 4);
        for (int k = 0; k < 5; k++) {
            int flat = k == 4;
            uint64_t bytes = flat ? side[1] * side[2] * 2 : n * 4;
            put_name(f, names[k]);
            put_big(f, flat ? 2 : 3, 4);
            for (uint64_t d = flat; d < 3; d++)
                put_big(f, d, 4);
            put_big(f, 0, 8);
            put_big(f, flat ? SHORT : FLOAT, 4);
            put_big(f, bytes, 4);
            put_big(f, at, 4);
            at += bytes;
        }
        while (ftell(f) < 1024)
            fputc(0, f);
        for (int k = 0; k < 5; k++) {
            double *x = sets_field((uint64_t)(800 + 10 * r + k), k == 4 ? 0 : 12 * step, side);
            for (size_t i = 0; i < (k == 4 ? side[1] * side[2] : n); i++)
                if (k == 4)
                    put_big(f, (uint16_t)(int16_t)(x[i] > 0 ? 800 * x[i] : 0), 2);
                else
                    put_big_float(f, (double[]){270, 5, 0, 5500}[k] + (double[]){15, 8, 6, 200}[k] * x[i]);
            free(x);
        }
        if (sets_close(f))
            return -1;
    }
    return 0;
}
