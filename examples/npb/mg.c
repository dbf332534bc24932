/* MG: V-cycles of multigrid for Poisson's equation on a periodic cube, with charges at the twenty points where a random field is largest and
 * smallest. Blocks with a layer of halo, which is exchanged along one axis after the other. NAS-95-020, section 2.4.
 * usage: mg [-p PIDFILE] [S|W|A|B] */
#include "npb.h"

enum { MOST_LEVELS = 9, CHARGES = 10 };
static const uint64_t seed = 314159265;

/* Weights of the centre, the six faces, twelve edges and eight corners of 3^3 points. */
static const double poisson[4] = {-8.0 / 3, 0, 1.0 / 6, 1.0 / 12}, coarser[4] = {0.5, 0.25, 0.125, 0.0625};
static const double smooth_small[4] = {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0}, smooth_large[4] = {-3.0 / 17, 1.0 / 33, -1.0 / 61, 0};

static const struct size_class {
    char name;
    int levels, iterations;
    const double *smooth;
    double norm;
} classes[] = {
    {'S', 5, 4, smooth_small, 0.5307707005734e-4},
    {'W', 7, 4, smooth_small, 0.6467329375339e-5},
    {'A', 8, 4, smooth_small, 0.2433365309069e-5},
    {'B', 8, 20, smooth_large, 0.1800564401355e-5},
};

/* The block of one level: n points along z, y and x without the halo. */
struct block {
    int n[3];
    double *u, *r;
};

struct cube {
    const struct size_class *size;
    int cuts[3], at[3]; /* of processes: how many along z, y and x, and where this one is */
    struct block level[MOST_LEVELS + 1];
    double *v, *out, *in;
};

static size_t place(const struct block *b, int z, int y, int x)
{
    return ((size_t)z * (size_t)(b->n[1] + 2) + (size_t)y) * (size_t)(b->n[2] + 2) + (size_t)x;
}

static size_t cells(const struct block *b)
{
    return (size_t)(b->n[0] + 2) * (size_t)(b->n[1] + 2) * (size_t)(b->n[2] + 2);
}

static int neighbour(const struct cube *c, int axis, int step)
{
    int at[3] = {c->at[0], c->at[1], c->at[2]};
    at[axis] = (at[axis] + step + c->cuts[axis]) % c->cuts[axis];
    return (at[0] * c->cuts[1] + at[1]) * c->cuts[2] + at[2];
}

/* Between the layer `where` across the axis, halo and all, and a buffer. */
static int layer(const struct block *b, double *a, int axis, int where, double *buffer, int is_taken)
{
    int count = 0, n[3] = {b->n[0] + 2, b->n[1] + 2, b->n[2] + 2}, from[3] = {0}, to[3] = {n[0], n[1], n[2]};
    from[axis] = where;
    to[axis] = where + 1;
    for (int z = from[0]; z < to[0]; z++)
        for (int y = from[1]; y < to[1]; y++)
            for (int x = from[2]; x < to[2]; x++, count++) {
                double *p = &a[place(b, z, y, x)];
                if (is_taken)
                    buffer[count] = *p;
                else
                    *p = buffer[count];
            }
    return count;
}

/* The halo of a, so that edges and corners are right as well. */
static void exchange(const struct cube *c, const struct block *b, double *a)
{
    for (int axis = 2; axis >= 0; axis--)
        for (int up = 0; up < 2; up++) {
            int to = neighbour(c, axis, up ? 1 : -1), from = neighbour(c, axis, up ? -1 : 1), last = b->n[axis];
            int count = layer(b, a, axis, up ? last : 1, c->out, 1);
            if (to == example_rank) {
                layer(b, a, axis, up ? 0 : last + 1, c->out, 0);
                continue;
            }
            MPI_Request request;
            MPI_Irecv(c->in, count, MPI_DOUBLE, from, 2 * axis + up, MPI_COMM_WORLD, &request);
            MPI_Send(c->out, count, MPI_DOUBLE, to, 2 * axis + up, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            layer(b, a, axis, up ? 0 : last + 1, c->in, 0);
        }
}

/* The weighted sum of the 3^3 points around p; dy, dz: to the next row and plane. */
static inline double around(const double *p, size_t dy, size_t dz, const double w[4])
{
    double faces = p[-1] + p[1], edges = 0, corners = 0;
    const double *row[4] = {p - dy, p + dy, p - dz, p + dz}, *far[4] = {p - dz - dy, p - dz + dy, p + dz - dy, p + dz + dy};
    for (int i = 0; i < 4; i++) {
        faces += row[i][0];
        edges += row[i][-1] + row[i][1] + far[i][0];
        corners += far[i][-1] + far[i][1];
    }
    return w[0] * p[0] + w[1] * faces + w[2] * edges + w[3] * corners;
}

/* to = first + sign * (weighted sums of from); first: NULL for zero. */
static void apply(const struct cube *c, const struct block *b, const double *first, double sign, const double w[4], const double *from, double *to)
{
    size_t dy = (size_t)b->n[2] + 2, dz = dy * ((size_t)b->n[1] + 2);
    for (int z = 1; z <= b->n[0]; z++)
        for (int y = 1; y <= b->n[1]; y++)
            for (int x = 1; x <= b->n[2]; x++) {
                size_t i = place(b, z, y, x);
                to[i] = (first ? first[i] : 0) + sign * around(&from[i], dy, dz, w);
            }
    exchange(c, b, to);
}

static void restrict_residual(const struct cube *c, const struct block *fine, const struct block *coarse)
{
    size_t dy = (size_t)fine->n[2] + 2, dz = dy * ((size_t)fine->n[1] + 2);
    for (int z = 1; z <= coarse->n[0]; z++)
        for (int y = 1; y <= coarse->n[1]; y++)
            for (int x = 1; x <= coarse->n[2]; x++)
                coarse->r[place(coarse, z, y, x)] = around(&fine->r[place(fine, 2 * z, 2 * y, 2 * x)], dy, dz, coarser);
    exchange(c, coarse, coarse->r);
}

/* fine u += the trilinear interpolation of coarse u. */
static void interpolate(const struct block *coarse, const struct block *fine)
{
    for (int z = 0; z <= fine->n[0] + 1; z++)
        for (int y = 0; y <= fine->n[1] + 1; y++)
            for (int x = 0; x <= fine->n[2] + 1; x++) {
                double sum = 0;
                for (int corner = 0; corner < 8; corner++)
                    sum += coarse->u[place(coarse, (z + (corner >> 2)) / 2, (y + (corner >> 1 & 1)) / 2, (x + (corner & 1)) / 2)];
                fine->u[place(fine, z, y, x)] += sum / 8;
            }
}

static void zero(const struct block *b)
{
    memset(b->u, 0, cells(b) * sizeof *b->u);
}

/* u of the finest level is improved by what the coarser ones make of its residual. */
static void cycle(const struct cube *c)
{
    int top = c->size->levels;
    const struct block *l = c->level;
    for (int k = top; k > 1; k--)
        restrict_residual(c, &l[k], &l[k - 1]);
    zero(&l[1]);
    apply(c, &l[1], l[1].u, 1, c->size->smooth, l[1].r, l[1].u);
    for (int k = 2; k <= top; k++) {
        if (k < top)
            zero(&l[k]);
        interpolate(&l[k - 1], &l[k]);
        apply(c, &l[k], k < top ? l[k].r : c->v, -1, poisson, l[k].u, l[k].r);
        apply(c, &l[k], l[k].u, 1, c->size->smooth, l[k].r, l[k].u);
    }
    apply(c, &l[top], c->v, -1, poisson, l[top].u, l[top].r);
}

struct charge {
    double value;
    long cell; /* in the whole cube, x fastest; -1: none */
};

/* Into its place among the ten, the largest first. */
static void keep(struct charge *best, struct charge new)
{
    int i = CHARGES - 1;
    if (best[i].cell >= 0 && new.value <= best[i].value)
        return;
    for (; i && (best[i - 1].cell < 0 || new.value > best[i - 1].value); i--)
        best[i] = best[i - 1];
    best[i] = new;
}

/* v: +1 where the random field is largest, -1 where it is smallest. */
static void put_charges(struct cube *c)
{
    const struct block *b = &c->level[c->size->levels];
    long side = 1l << c->size->levels;
    struct charge best[2 * CHARGES], *all = npb_array(2 * CHARGES * (size_t)example_ranks, sizeof *all);
    for (int i = 0; i < 2 * CHARGES; i++)
        best[i].cell = -1;
    for (int z = 0; z < b->n[0]; z++)
        for (int y = 0; y < b->n[1]; y++) {
            long cell = ((long)(c->at[0] * b->n[0] + z) * side + c->at[1] * b->n[1] + y) * side + (long)c->at[2] * b->n[2];
            uint64_t state = npb_jump(seed, (uint64_t)cell);
            for (int x = 0; x < b->n[2]; x++) {
                double value = npb_random(&state);
                keep(best, (struct charge){value, cell + x});
                keep(best + CHARGES, (struct charge){-value, cell + x});
            }
        }
    MPI_Allgather(best, sizeof best, MPI_BYTE, all, sizeof best, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < example_ranks; r++)
        for (int i = 0; i < 2 * CHARGES && r != example_rank; i++)
            if (all[r * 2 * CHARGES + i].cell >= 0)
                keep(best + i / CHARGES * CHARGES, all[r * 2 * CHARGES + i]);
    free(all);
    memset(c->v, 0, cells(b) * sizeof *c->v);
    for (int i = 0; i < 2 * CHARGES; i++) {
        long at[3] = {best[i].cell / side / side, best[i].cell / side % side, best[i].cell % side};
        int is_mine = 1;
        for (int k = 0; k < 3; k++) {
            at[k] -= (long)c->at[k] * b->n[k];
            is_mine &= at[k] >= 0 && at[k] < b->n[k];
        }
        if (is_mine)
            c->v[place(b, (int)at[0] + 1, (int)at[1] + 1, (int)at[2] + 1)] = i < CHARGES ? 1 : -1;
    }
    exchange(c, b, c->v);
}

static double norm(const struct cube *c)
{
    const struct block *b = &c->level[c->size->levels];
    double sum = 0, all = 0, side = (double)(1l << c->size->levels);
    for (int z = 1; z <= b->n[0]; z++)
        for (int y = 1; y <= b->n[1]; y++)
            for (int x = 1; x <= b->n[2]; x++)
                sum += b->r[place(b, z, y, x)] * b->r[place(b, z, y, x)];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(all / (side * side * side));
}

/* All memory is one piece, made anew when the body runs again. */
static void make(struct cube *c)
{
    static double *room;
    size_t need = 0, used = 0, top = (size_t)c->size->levels, face = 0;
    for (int axis = 0; axis < 3; axis++)
        c->cuts[axis] = 1;
    for (int r = 1, axis = 0; r < example_ranks; r *= 2, axis = (axis + 1) % 3)
        c->cuts[axis] *= 2;
    c->at[2] = example_rank % c->cuts[2];
    c->at[1] = example_rank / c->cuts[2] % c->cuts[1];
    c->at[0] = example_rank / c->cuts[2] / c->cuts[1];
    for (size_t k = 1; k <= top; k++) {
        for (int axis = 0; axis < 3; axis++)
            c->level[k].n[axis] = (1 << k) / c->cuts[axis];
        need += 2 * cells(&c->level[k]);
    }
    for (int axis = 0; axis < 3; axis++)
        face = cells(&c->level[top]) / (size_t)(c->level[top].n[axis] + 2) > face ? cells(&c->level[top]) / (size_t)(c->level[top].n[axis] + 2) : face;
    free(room);
    room = npb_array(need + cells(&c->level[top]) + 2 * face, sizeof *room);
    for (size_t k = 1; k <= top; k++) {
        c->level[k].u = room + used;
        c->level[k].r = c->level[k].u + cells(&c->level[k]);
        used += 2 * cells(&c->level[k]);
    }
    c->v = room + used;
    c->out = c->v + cells(&c->level[top]);
    c->in = c->out + face;
}

static void body(void *arg)
{
    struct npb_run *run = arg;
    struct cube c = {.size = classes};
    while (c.size->name != run->size)
        c.size++;
    make(&c);
    put_charges(&c);
    const struct block *top = &c.level[c.size->levels];
    size_t dims[] = {(size_t)top->n[0] + 2, (size_t)top->n[1] + 2, (size_t)top->n[2] + 2};
    long done = 0;
    apply(&c, top, c.v, -1, poisson, top->u, top->r);
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("u", top->u, SAIKAI_F64, 3, dims) < 0 ||
        saikai_protect("r", top->r, SAIKAI_F64, 3, dims) < 0 || saikai_restart(&done) < 0)
        example_fail("mg", saikai_error_text());
    npb_clock_starts(run);
    while (done < c.size->iterations) {
        cycle(&c);
        saikai_checkpoint(++done);
    }
    double result = norm(&c);
    npb_clock_stops(run);
    npb_tell(run, result, fabs(result - c.size->norm) / c.size->norm <= 1e-8);
    saikai_finalize();
}

int main(int argc, char **argv)
{
    return npb_main(argc, argv, "mg", 8, body);
}
