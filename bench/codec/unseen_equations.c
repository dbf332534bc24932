/* Solutions of equations, computed here. */
#include "unseen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* ---- Burgers' equation by Godunov's method ---- */

static double burgers_flux(double a, double b)
{
    double l = a > 0 ? a : 0, r = b < 0 ? b : 0;
    return 0.5 * (l * l > r * r ? l * l : r * r);
}

/* One step on a ring of n cells. */
static void burgers_step(double *u, size_t n, double ratio)
{
    double first = u[0], left = burgers_flux(u[n - 1], u[0]);
    for (size_t i = 0; i < n; i++) {
        double right = burgers_flux(u[i], i + 1 < n ? u[i + 1] : first);
        u[i] -= ratio * (right - left);
        left = right;
    }
}

static void burgers_start(double *u, size_t n, int waves)
{
    unseen_seed(101);
    memset(u, 0, n * sizeof *u);
    for (int k = 1; k <= waves; k++) {
        double phase = 2 * pi * unseen_uniform(), size = unseen_gauss() / sqrt(waves);
        for (size_t i = 0; i < n; i++)
            u[i] += size * sin(2 * pi * k * (double)i / (double)n + phase);
    }
}

/* A line after shocks have formed: solved coarsely, then refined with the fluxes of the line. */
void unseen_burgers(const struct sk_array *a, double *x)
{
    size_t n = a->dims[0];
    burgers_start(x, n, 24);
    for (int step = 0; step < 2500; step++)
        burgers_step(x, n, 0.25);
}

void unseen_burgers_rows(const struct sk_array *a, double *x)
{
    size_t n = a->dims[1];
    burgers_start(x, n, 6);
    for (size_t t = 1; t < a->dims[0]; t++) {
        memcpy(x + t * n, x + (t - 1) * n, n * sizeof *x);
        burgers_step(x + t * n, n, 0.25);
    }
}

/* ---- Euler's equations, two dimensions, HLL ---- */

struct gas {
    double rho, u, v, p;
};

static void flux_of(const struct gas *g, double f[4])
{
    double e = g->p / 0.4 + 0.5 * g->rho * (g->u * g->u + g->v * g->v);
    f[0] = g->rho * g->u;
    f[1] = g->rho * g->u * g->u + g->p;
    f[2] = g->rho * g->u * g->v;
    f[3] = (e + g->p) * g->u;
}

static void state_of(const struct gas *g, double s[4])
{
    s[0] = g->rho;
    s[1] = g->rho * g->u;
    s[2] = g->rho * g->v;
    s[3] = g->p / 0.4 + 0.5 * g->rho * (g->u * g->u + g->v * g->v);
}

static struct gas gas_of(const double s[4])
{
    struct gas g = {s[0], s[1] / s[0], s[2] / s[0], 0};
    g.p = 0.4 * (s[3] - 0.5 * s[0] * (g.u * g.u + g.v * g.v));
    return g;
}

/* Along the first velocity. */
static void hll(const struct gas *l, const struct gas *r, double f[4])
{
    double cl = sqrt(1.4 * l->p / l->rho), cr = sqrt(1.4 * r->p / r->rho);
    double sl = fmin(l->u - cl, r->u - cr), sr = fmax(l->u + cl, r->u + cr);
    double fl[4], fr[4], ul[4], ur[4];
    flux_of(l, fl);
    flux_of(r, fr);
    state_of(l, ul);
    state_of(r, ur);
    for (int k = 0; k < 4; k++)
        f[k] = sl > 0   ? fl[k]
               : sr < 0 ? fr[k]
                        : (sr * fl[k] - sl * fr[k] + sl * sr * (ur[k] - ul[k])) / (sr - sl);
}

static struct gas turned(const double s[4])
{
    struct gas g = gas_of(s);
    double u = g.u;
    g.u = g.v;
    g.v = u;
    return g;
}

/* All rows along x (turn 0) or all columns along y. */
static void euler_sweep(double (*s)[4], size_t ny, size_t nx, int turn, double ratio)
{
    size_t lines = turn ? nx : ny, n = turn ? ny : nx, step = turn ? nx : 1, next = turn ? 1 : nx;
    for (size_t l = 0; l < lines; l++) {
        double before[4], f[4];
        struct gas g = turn ? turned(s[l * next]) : gas_of(s[l * next]);
        hll(&g, &g, before);
        for (size_t i = 0; i < n; i++) {
            double *here = s[l * next + i * step];
            const double *there = s[l * next + (i + 1 < n ? i + 1 : i) * step];
            struct gas right = turn ? turned(there) : gas_of(there);
            hll(&g, &right, f);
            here[0] -= ratio * (f[0] - before[0]);
            here[turn ? 2 : 1] -= ratio * (f[1] - before[1]);
            here[turn ? 1 : 2] -= ratio * (f[2] - before[2]);
            here[3] -= ratio * (f[3] - before[3]);
            memcpy(before, f, sizeof f);
            g = right;
        }
    }
}

/* Four states that meet in the middle. */
static void euler(const struct sk_array *a, const struct gas corner[4], int steps, int pressure,
                  double *x)
{
    size_t ny = a->dims[0], nx = a->dims[1];
    double(*s)[4] = malloc(ny * nx * sizeof *s);
    if (!s)
        return;
    for (size_t i = 0; i < ny * nx; i++)
        state_of(&corner[2 * (i / nx > ny / 2) + (i % nx > nx / 2)], s[i]);
    for (int t = 0; t < steps; t++) {
        euler_sweep(s, ny, nx, 0, 0.2);
        euler_sweep(s, ny, nx, 1, 0.2);
    }
    for (size_t i = 0; i < ny * nx; i++)
        x[i] = pressure ? gas_of(s[i]).p : s[i][0];
    free(s);
}

void unseen_euler_density(const struct sk_array *a, double *x)
{
    const struct gas corner[4] = {{0.138, 1.206, 1.206, 0.029},
                                  {0.5323, 0, 1.206, 0.3},
                                  {0.5323, 1.206, 0, 0.3},
                                  {1.5, 0, 0, 1.5}};
    euler(a, corner, 350, 0, x);
}

void unseen_euler_pressure(const struct sk_array *a, double *x)
{
    const struct gas corner[4] = {
        {1, 0.75, 0.5, 1}, {3, 0.75, -0.5, 1}, {2, -0.75, 0.5, 1}, {1, -0.75, -0.5, 1}};
    euler(a, corner, 300, 1, x);
}

/* Time by place. */
void unseen_sod(const struct sk_array *a, double *x)
{
    size_t n = a->dims[1];
    double(*s)[4] = malloc(n * sizeof *s);
    const struct gas left = {1, 0, 0, 1}, right = {0.125, 0, 0, 0.1};
    for (size_t i = 0; s && i < n; i++)
        state_of(i < n / 2 ? &left : &right, s[i]);
    for (size_t t = 0; s && t < a->dims[0]; t++) {
        for (size_t i = 0; i < n; i++)
            x[t * n + i] = s[i][0];
        euler_sweep(s, 1, n, 0, 0.4);
        euler_sweep(s, 1, n, 0, 0.4);
    }
    free(s);
}

/* ---- waves and transport ---- */

void unseen_wave(const struct sk_array *a, double *x)
{
    size_t ny = a->dims[0], nx = a->dims[1], n = ny * nx;
    double *old = calloc(n, sizeof *old), *next = calloc(n, sizeof *next);
    memset(x, 0, n * sizeof *x);
    for (int t = 0; old && next && t < 700; t++) {
        for (size_t y = 1; y + 1 < ny; y++)
            for (size_t i = y * nx + 1; i < y * nx + nx - 1; i++) {
                double c = i % nx > nx * 2 / 3 ? 0.1 : 0.35; /* two media */
                next[i] = 2 * x[i] - old[i] +
                          c * (x[i - 1] + x[i + 1] + x[i - nx] + x[i + nx] - 4 * x[i]);
            }
        memcpy(old, x, n * sizeof *x);
        memcpy(x, next, n * sizeof *x);
        x[ny / 3 * nx + nx / 4] += sin(0.13 * t) * exp(-1e-4 * (t - 150.0) * (t - 150.0));
    }
    free(old);
    free(next);
}

void unseen_plane_waves(const struct sk_array *a, double *x)
{
    double k[12][4];
    unseen_seed(111);
    for (int m = 0; m < 12; m++)
        for (int d = 0; d < 4; d++)
            k[m][d] = 0.25 * unseen_gauss();
    size_t i = 0;
    for (size_t z = 0; z < a->dims[0]; z++)
        for (size_t y = 0; y < a->dims[1]; y++)
            for (size_t u = 0; u < a->dims[2]; u++, i++) {
                x[i] = 0;
                for (int m = 0; m < 12; m++)
                    x[i] += sin(k[m][0] * (double)z + k[m][1] * (double)y + k[m][2] * (double)u +
                                40 * k[m][3]);
            }
}

/* Blobs that a rotating flow carries, with the diffusion of the upwind scheme. */
void unseen_advection(const struct sk_array *a, double *x)
{
    size_t ny = a->dims[0], nx = a->dims[1], n = ny * nx;
    double *old = malloc(n * sizeof *old);
    unseen_seed(121);
    for (size_t i = 0; i < n; i++)
        x[i] = (i / nx / 40 + i % nx / 40) % 3 == 0;
    for (int t = 0; old && t < 250; t++) {
        memcpy(old, x, n * sizeof *x);
        for (size_t y = 1; y + 1 < ny; y++)
            for (size_t c = 1; c + 1 < nx; c++) {
                size_t i = y * nx + c;
                double u = 0.45 * sin(pi * (double)y / (double)ny * 2);
                double v = 0.45 * sin(pi * (double)c / (double)nx * 3);
                x[i] = old[i] - (u > 0 ? u * (old[i] - old[i - 1]) : u * (old[i + 1] - old[i])) -
                       (v > 0 ? v * (old[i] - old[i - nx]) : v * (old[i + nx] - old[i]));
            }
    }
    free(old);
}

/* Time by three dimensions: puffs that drift and widen. */
void unseen_plume(const struct sk_array *a, double *x)
{
    double puff[40][4];
    unseen_seed(122);
    for (int m = 0; m < 40; m++)
        for (int d = 0; d < 4; d++)
            puff[m][d] = unseen_uniform();
    size_t i = 0;
    for (size_t t = 0; t < a->dims[0]; t++)
        for (size_t z = 0; z < a->dims[1]; z++)
            for (size_t y = 0; y < a->dims[2]; y++)
                for (size_t u = 0; u < a->dims[3]; u++, i++) {
                    x[i] = 0;
                    for (int m = 0; m < 40; m++) {
                        double w = 4 + 8 * puff[m][3] + 0.5 * (double)t;
                        double dx = (double)u - (double)a->dims[3] * puff[m][0] - 0.7 * (double)t;
                        double dy = (double)y - (double)a->dims[2] * puff[m][1];
                        double dz = (double)z - (double)a->dims[1] * puff[m][2];
                        double r = (dx * dx + dy * dy + 3 * dz * dz) / (w * w);
                        if (r < 30)
                            x[i] += exp(-r) * puff[m][3];
                    }
                }
}

/* Spots and worms of a reaction with diffusion. */
void unseen_gray_scott(const struct sk_array *a, double *x)
{
    size_t side = a->dims[0], n = side * side;
    double *u = malloc(n * sizeof *u), *nu = malloc(n * sizeof *u), *nv = malloc(n * sizeof *u);
    unseen_seed(131);
    for (size_t i = 0; u && i < n; i++) {
        u[i] = 1;
        x[i] = (i / side / 16 * 7 + i % side / 16 * 5) % 11 == 0 ? 0.5 + 0.1 * unseen_uniform() : 0;
    }
    for (int t = 0; u && nu && nv && t < 1500; t++) {
        for (size_t y = 0; y < side; y++)
            for (size_t c = 0; c < side; c++) {
                size_t i = y * side + c, l = y * side + (c + side - 1) % side;
                size_t r = y * side + (c + 1) % side, o = (y + side - 1) % side * side + c;
                size_t b = (y + 1) % side * side + c;
                double react = u[i] * x[i] * x[i];
                nu[i] = u[i] + 0.16 * (u[l] + u[r] + u[o] + u[b] - 4 * u[i]) - react +
                        0.035 * (1 - u[i]);
                nv[i] = x[i] + 0.08 * (x[l] + x[r] + x[o] + x[b] - 4 * x[i]) + react - 0.1 * x[i];
            }
        memcpy(u, nu, n * sizeof *u);
        memcpy(x, nv, n * sizeof *u);
    }
    free(u);
    free(nu);
    free(nv);
}

/* A wrinkled flame: two plateaus and a thin front. */
void unseen_front(const struct sk_array *a, double *x)
{
    size_t i = 0;
    for (size_t z = 0; z < a->dims[0]; z++)
        for (size_t y = 0; y < a->dims[1]; y++)
            for (size_t u = 0; u < a->dims[2]; u++, i++) {
                double at = 0.5 * (double)a->dims[2] +
                            6 * sin(0.21 * (double)y) * cos(0.17 * (double)z) +
                            3 * sin(0.5 * (double)y + 0.3 * (double)z);
                x[i] = 1100 + 800 * tanh(((double)u - at) / 1.7) + 0.5 * sin(0.1 * (double)(u + y));
            }
}
