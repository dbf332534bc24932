/* One step of the shallow-water equations, and the state it begins with. */
#include "shallow_water.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double gravity = 9.81, coriolis = 1e-4, viscosity = 2e3, mean_depth = 1000,
                    jet_speed = 60;

static double sech2(double x)
{
    double c = cosh(x);
    return 1 / (c * c);
}

int shallow_water_new(struct shallow_water *s, size_t n)
{
    size_t points = n * n;
    double *p = calloc(3 * points, sizeof *p), *w = calloc(12 * points + n, sizeof *w);
    if (!p || !w) {
        free(p);
        free(w);
        return -1;
    }
    *s = (struct shallow_water){n, 50e3, 240, {p, p + points, p + 2 * points}, w};
    double *h = s->field[0], *u = s->field[1], *depth = w, side = (double)n;
    for (size_t j = 0; j < n; j++) { /* f u = -g dh/dy */
        double y = ((double)j + 0.5) / side;
        double jet = jet_speed * (sech2((y - 0.25) * 22) - sech2((y - 0.75) * 22));
        if (!j)
            depth[j] = mean_depth;
        for (size_t i = 0; i < n; i++)
            u[j * n + i] = jet;
        if (j + 1 < n) {
            double mid = jet_speed * (sech2((y + 0.5 / side - 0.25) * 22) -
                                      sech2((y + 0.5 / side - 0.75) * 22));
            depth[j + 1] = depth[j] - coriolis / gravity * mid * s->dx;
        }
    }
    /* to all columns, with a disturbance on one jet */
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            double x = ((double)i + 0.5) / side - 0.4, y = ((double)j + 0.5) / side - 0.27;
            h[j * n + i] = depth[j] + 20 * exp(-(x * x + y * y) * 300);
        }
    return 0;
}

void shallow_water_free(struct shallow_water *s)
{
    free(s->field[0]);
    free(s->work);
    *s = (struct shallow_water){0};
}

/* Neighbours in the periodic square. */
static inline size_t east(size_t i, size_t n)
{
    return i + 1 == n ? 0 : i + 1;
}
static inline size_t west(size_t i, size_t n)
{
    return i ? i - 1 : n - 1;
}

/* u at the west face of each cell, v at its south face, vorticity at its south-west corner. */
static void tendency(const struct shallow_water *s, double *const f[3], double *const d[3],
                     double *w)
{
    size_t n = s->n, points = n * n;
    const double *h = f[0], *u = f[1], *v = f[2];
    double *mass_u = w, *mass_v = w + points, *q = w + 2 * points, *b = w + 3 * points;
    double r = 1 / s->dx;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            size_t c = j * n + i, we = j * n + west(i, n), so = west(j, n) * n + i;
            size_t sw = west(j, n) * n + west(i, n), ea = j * n + east(i, n),
                   no = east(j, n) * n + i;
            mass_u[c] = 0.5 * (h[c] + h[we]) * u[c];
            mass_v[c] = 0.5 * (h[c] + h[so]) * v[c];
            q[c] = (coriolis + (v[c] - v[we] - u[c] + u[so]) * r) /
                   (0.25 * (h[c] + h[we] + h[so] + h[sw]));
            b[c] =
                gravity * h[c] + 0.25 * (u[c] * u[c] + u[ea] * u[ea] + v[c] * v[c] + v[no] * v[no]);
        }
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            size_t c = j * n + i, we = j * n + west(i, n), so = west(j, n) * n + i;
            size_t ea = j * n + east(i, n), no = east(j, n) * n + i;
            size_t nw = east(j, n) * n + west(i, n), se = west(j, n) * n + east(i, n);
            double lap_u = u[ea] + u[we] + u[no] + u[so] - 4 * u[c];
            double lap_v = v[ea] + v[we] + v[no] + v[so] - 4 * v[c];
            d[0][c] = -(mass_u[ea] - mass_u[c] + mass_v[no] - mass_v[c]) * r;
            d[1][c] =
                0.5 * (q[c] + q[no]) * 0.25 * (mass_v[c] + mass_v[we] + mass_v[no] + mass_v[nw]) -
                (b[c] - b[we]) * r + viscosity * r * r * lap_u;
            d[2][c] =
                -0.5 * (q[c] + q[ea]) * 0.25 * (mass_u[c] + mass_u[ea] + mass_u[so] + mass_u[se]) -
                (b[c] - b[so]) * r + viscosity * r * r * lap_v;
        }
}

/* Third order in three stages: s + dt/3 f, s + dt/2 f, s + dt f (Wicker and Skamarock 2002). */
void shallow_water_step(struct shallow_water *s)
{
    size_t points = s->n * s->n;
    double *w = s->work, *stage = w + 4 * points, *rate = w + 7 * points;
    double *const d[3] = {rate, rate + points, rate + 2 * points};
    double *const t[3] = {stage, stage + points, stage + 2 * points};
    memcpy(stage, s->field[0], 3 * points * sizeof *stage);
    for (int k = 3; k >= 1; k--) {
        tendency(s, t, d, w);
        for (size_t i = 0; i < 3 * points; i++)
            stage[i] = s->field[0][i] + s->dt / k * rate[i];
    }
    memcpy(s->field[0], stage, 3 * points * sizeof *stage);
}
