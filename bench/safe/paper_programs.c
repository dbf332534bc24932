/* The matrix product and the LU sweep: setting up their memory, and one step of each. */
#include "paper_programs.h"

#include <sys/mman.h>

static int new_region(struct paper_program *p, size_t bytes)
{
    void *v = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (v == MAP_FAILED)
        return -1;
    p->v[p->regions] = v;
    p->bytes[p->regions++] = bytes;
    return 0;
}

/* ---- MAT ---- */

static int mat_set_up(struct paper_program *p)
{
    p->n = p->small ? 600 : 4568;
    for (int k = 0; k < 3; k++)
        if (new_region(p, p->n * p->n * sizeof(double)))
            return -1;
    for (size_t i = 0; i < p->n * p->n; i++) {
        p->v[0][i] = (double)((i + p->seed) % 101) / 101;
        p->v[1][i] = (double)((i + p->seed) % 103) / 103;
    }
    return 0;
}

/* Sixteen rows of the product: seconds of work on one core of the paper's time. */
static void mat_step(struct paper_program *p)
{
    size_t n = p->n;
    for (int r = 0; r < (p->small ? 2 : 16); r++, p->at++) {
        size_t i = (size_t)p->at % n;
        double *c = p->v[2] + i * n;
        for (size_t k = 0; k < n; k++) {
            double a = p->v[0][i * n + k];
            const double *b = p->v[1] + k * n;
            for (size_t j = 0; j < n; j++)
                c[j] += a * b[j];
        }
    }
}

/* ---- LU ---- */

enum { U, RSD, FRCT };

/* Points in x and y are padded to an odd number, as in the benchmark. */
static size_t lu_row(const struct paper_program *p)
{
    return (p->n / 2 * 2 + 1) * 5;
}

static size_t lu_plane(const struct paper_program *p)
{
    return (p->n / 2 * 2 + 1) * lu_row(p);
}

static int lu_set_up(struct paper_program *p)
{
    p->n = p->small ? 40 : 162;
    for (int k = 0; k < 3; k++)
        if (new_region(p, p->n * lu_plane(p) * sizeof(double)))
            return -1;
    size_t n = p->n * lu_plane(p);
    for (size_t i = 0; i < n; i++) {
        p->v[U][i] = 1 + (double)((i + p->seed) % 977) / 977;
        p->v[FRCT][i] = (double)((i + p->seed) % 331) / 331 - 0.5;
    }
    return 0;
}

/* One pass over the inner points, forwards or backwards: each value of the residual is relaxed with
 * those of the points before it, and the five values of a point with each other. */
static void lu_sweep(struct paper_program *p, int back)
{
    size_t n = p->n, row = lu_row(p), plane = lu_plane(p);
    ptrdiff_t s = back ? 1 : -1;
    for (size_t z = 1; z + 1 < n; z++)
        for (size_t y = 1; y + 1 < n; y++)
            for (size_t x = 1; x + 1 < n; x++) {
                size_t at = (back ? n - 1 - z : z) * plane + (back ? n - 1 - y : y) * row +
                            (back ? n - 1 - x : x) * 5;
                double *r = p->v[RSD] + at, left = 0;
                for (size_t m = 0; m < 5; m++) {
                    left = 0.1 * left + r[m];
                    r[m] = 0.8 * left +
                           0.06 * (r[(ptrdiff_t)m + s * 5] + r[(ptrdiff_t)m + s * (ptrdiff_t)row] +
                                   r[(ptrdiff_t)m + s * (ptrdiff_t)plane]);
                }
            }
}

static void lu_step(struct paper_program *p)
{
    size_t n = p->n, row = lu_row(p), plane = lu_plane(p);
    double *u = p->v[U], *r = p->v[RSD];
    for (size_t i = 0; i < n * plane; i++)
        r[i] = -p->v[FRCT][i];
    for (size_t z = 1; z + 1 < n; z++)
        for (size_t y = 1; y + 1 < n; y++)
            for (size_t i = z * plane + y * row + 5; i < z * plane + y * row + 5 * (n - 1); i++)
                r[i] = 0.1 * (r[i] + u[i - 5] + u[i + 5] + u[i - row] + u[i + row] + u[i - plane] +
                              u[i + plane] - 6 * u[i]);
    lu_sweep(p, 0);
    lu_sweep(p, 1);
    for (size_t z = 1; z + 1 < n; z++)
        for (size_t y = 1; y + 1 < n; y++)
            for (size_t i = z * plane + y * row + 5; i < z * plane + y * row + 5 * (n - 1); i++)
                u[i] += r[i];
}

int paper_program_at(int i, struct paper_program *p)
{
    static const struct paper_program programs[] = {
        {.name = "MAT", .paper_less = 99.9, .set_up = mat_set_up, .step = mat_step},
        {.name = "LU", .paper_less = 39.8, .set_up = lu_set_up, .step = lu_step},
    };
    if (i < 0 || i >= (int)(sizeof programs / sizeof *programs))
        return 0;
    *p = programs[i];
    return 1;
}

int paper_program_start(struct paper_program *p)
{
    int rc = p->set_up(p);
    if (rc)
        paper_program_free(p);
    return rc;
}

void paper_program_free(struct paper_program *p)
{
    for (size_t i = 0; i < p->regions; i++)
        munmap(p->v[i], p->bytes[i]);
    p->regions = 0;
}
