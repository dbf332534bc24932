/* CG: the smallest eigenvalue of a large sparse matrix with random pattern, by inverse iteration, each time with 25 steps of conjugate
 * gradients. The processes are a grid: each has a block of the matrix; vectors are cut by columns, and each row of processes has all of them.
 * Nothing but messages between two. NAS-95-020, section 2.3 (the matrix: Fig. 2.1 and its text).
 * usage: cg [-p PIDFILE] [S|W|A|B] */
#include "npb.h"

enum { STEPS = 25, MOST_STAGES = 8 };
static const uint64_t seed = 314159265;
static const double condition = 0.1;

static const struct size_class {
    char name;
    int n, nonzero, iterations;
    double shift, zeta;
} classes[] = {
    {'S', 1400, 7, 15, 10, 8.5971775078648},
    {'W', 7000, 8, 15, 12, 10.362595087124},
    {'A', 14000, 11, 15, 20, 17.130235054029},
    {'B', 75000, 13, 75, 60, 22.712745482631},
};

struct part {
    int row, column, rows, columns;   /* of processes: where this one is, and how many there are */
    int high, wide;                   /* its block of the matrix */
    int stages, partner[MOST_STAGES]; /* of sums over a row of processes */
    int transposed;                   /* who has what this one needs of a product, and the other way round */
};

struct matrix {
    int *begin, *at; /* of each row its elements */
    double *value;
};

struct element {
    int row, at;
    double value;
};

struct vectors {
    double *x, *z, *p, *q, *r, *w, *in;
};

static void cut(struct part *c, int n)
{
    int log = 0;
    while (1 << log < example_ranks)
        log++;
    c->rows = 1 << log / 2;
    c->columns = example_ranks / c->rows;
    c->row = example_rank / c->columns;
    c->column = example_rank % c->columns;
    c->high = n / c->rows;
    c->wide = n / c->columns;
    for (c->stages = 0; 1 << c->stages < c->columns; c->stages++)
        c->partner[c->stages] = c->row * c->columns + (c->column ^ 1 << c->stages);
    int f = c->columns / c->rows; /* 1 or 2 */
    c->transposed = (c->column / f * c->columns) + f * c->row + c->column % f;
}

/* A sparse vector of random places and values, no place twice. Returns how many: n_wanted. */
static int random_vector(uint64_t *state, int n, int wanted, int *at, double *value)
{
    int most = 1, count = 0;
    while (most < n)
        most *= 2;
    while (count < wanted) {
        double v = npb_random(state);
        int place = (int)(most * npb_random(state)), is_there = 0;
        for (int i = 0; i < count; i++)
            is_there |= at[i] == place;
        if (place >= n || is_there)
            continue;
        at[count] = place;
        value[count++] = v;
    }
    return count;
}

static int by_place(const void *a, const void *b)
{
    const struct element *x = a, *y = b;
    return x->row != y->row ? x->row - y->row : x->at - y->at;
}

/* Elements of the same place become one. */
static void compress(struct matrix *m, struct element *e, size_t count, int rows)
{
    qsort(e, count, sizeof *e, by_place);
    m->begin = npb_array((size_t)rows + 1, sizeof *m->begin);
    m->at = npb_array(count, sizeof *m->at);
    m->value = npb_array(count, sizeof *m->value);
    int used = 0;
    for (size_t i = 0; i < count; i++) {
        if (i && e[i].row == e[i - 1].row && e[i].at == e[i - 1].at) {
            m->value[used - 1] += e[i].value;
            continue;
        }
        m->at[used] = e[i].at;
        m->value[used++] = e[i].value;
        m->begin[e[i].row + 1] = used;
    }
    for (int r = 0; r < rows; r++)
        m->begin[r + 1] = m->begin[r + 1] ? m->begin[r + 1] : m->begin[r];
}

/* The block of the sum of n outer products of such vectors with themselves, with weights that fall from 1 to the condition. All ranks go
 * through all vectors. */
static void make_matrix(const struct size_class *c, const struct part *own, struct matrix *m)
{
    int at[32], row0 = own->row * own->high, column0 = own->column * own->wide;
    double value[32], weight = 1, ratio = pow(condition, 1.0 / c->n);
    uint64_t state = npb_times(NPB_A, seed); /* the first number is left out */
    size_t count = 0, room = 1 << 16;
    struct element *e = npb_array(room, sizeof *e);
    for (int k = 0; k < c->n; k++, weight *= ratio) {
        int n = random_vector(&state, c->n, c->nonzero, at, value), mine = 0;
        while (mine < n && at[mine] != k)
            mine++;
        at[mine] = k;
        value[mine] = 0.5;
        n = mine == n ? n + 1 : n;
        if (count + 1024 + 1 > room && !(e = realloc(e, (room *= 2) * sizeof *e)))
            example_fail("cg", "no memory");
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                if (at[i] >= row0 && at[i] < row0 + own->high && at[j] >= column0 && at[j] < column0 + own->wide)
                    e[count++] = (struct element){at[i] - row0, at[j] - column0, weight * value[j] * value[i]};
        if (k >= row0 && k < row0 + own->high && k >= column0 && k < column0 + own->wide)
            e[count++] = (struct element){k - row0, k - column0, condition - c->shift};
    }
    compress(m, e, count, own->high);
    free(e);
}

static void swap(const double *out, double *in, int n, int with, int tag)
{
    MPI_Request request;
    MPI_Irecv(in, n, MPI_DOUBLE, with, tag, MPI_COMM_WORLD, &request);
    MPI_Send(out, n, MPI_DOUBLE, with, tag, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static double dot(const struct part *c, const double *a, const double *b)
{
    double sum = 0, other;
    for (int i = 0; i < c->wide; i++)
        sum += a[i] * b[i];
    for (int s = 0; s < c->stages; s++) {
        swap(&sum, &other, 1, c->partner[s], 1);
        sum += other;
    }
    return sum;
}

/* to = A from. */
static void multiply(const struct part *c, const struct matrix *m, const struct vectors *v, const double *from, double *to)
{
    for (int r = 0; r < c->high; r++) {
        double sum = 0;
        for (int i = m->begin[r]; i < m->begin[r + 1]; i++)
            sum += m->value[i] * from[m->at[i]];
        v->w[r] = sum;
    }
    for (int s = 0; s < c->stages; s++) {
        swap(v->w, v->in, c->high, c->partner[s], 2);
        for (int r = 0; r < c->high; r++)
            v->w[r] += v->in[r];
    }
    const double *mine = v->w + (c->columns > c->rows ? c->column % 2 * c->wide : 0);
    if (c->transposed == example_rank)
        memcpy(to, mine, (size_t)c->wide * sizeof *to);
    else
        swap(mine, to, c->wide, c->transposed, 3);
}

/* z = A^-1 x, as far as 25 steps go. */
static void solve(const struct part *c, const struct matrix *m, const struct vectors *v)
{
    for (int i = 0; i < c->wide; i++) {
        v->z[i] = 0;
        v->r[i] = v->p[i] = v->x[i];
    }
    double rho = dot(c, v->r, v->r);
    for (int step = 0; step < STEPS; step++) {
        multiply(c, m, v, v->p, v->q);
        double alpha = rho / dot(c, v->p, v->q);
        for (int i = 0; i < c->wide; i++) {
            v->z[i] += alpha * v->p[i];
            v->r[i] -= alpha * v->q[i];
        }
        double before = rho;
        rho = dot(c, v->r, v->r);
        for (int i = 0; i < c->wide; i++)
            v->p[i] = v->r[i] + rho / before * v->p[i];
    }
}

static double iterate(const struct size_class *size, const struct part *c, const struct matrix *m, const struct vectors *v)
{
    solve(c, m, v);
    double xz = dot(c, v->x, v->z), zz = dot(c, v->z, v->z);
    for (int i = 0; i < c->wide; i++)
        v->x[i] = v->z[i] / sqrt(zz);
    return size->shift + 1 / xz;
}

static void body(void *arg)
{
    static double *room;
    static struct matrix m;
    struct npb_run *run = arg;
    const struct size_class *size = classes;
    struct part c;
    while (size->name != run->size)
        size++;
    cut(&c, size->n);
    free(room), free(m.begin), free(m.at), free(m.value);
    make_matrix(size, &c, &m);
    size_t n = (size_t)c.wide, high = (size_t)c.high;
    room = npb_array(5 * n + 2 * high, sizeof *room);
    struct vectors v = {room, room + n, room + 2 * n, room + 3 * n, room + 4 * n, room + 5 * n, room + 5 * n + high};
    long done = 0;
    double zeta = 0;
    for (size_t i = 0; i < n; i++)
        v.x[i] = 1;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("x", v.x, SAIKAI_F64, 1, &n) < 0 ||
        saikai_protect("zeta", &zeta, SAIKAI_F64, 0, NULL) < 0 || saikai_restart(&done) < 0)
        example_fail("cg", saikai_error_text());
    npb_clock_starts(run);
    while (done < size->iterations) {
        zeta = iterate(size, &c, &m, &v);
        saikai_checkpoint(++done);
    }
    npb_clock_stops(run);
    npb_tell(run, zeta, fabs(zeta - size->zeta) / size->zeta <= 1e-10);
    saikai_finalize();
}

int main(int argc, char **argv)
{
    return npb_main(argc, argv, "cg", 32, body);
}
