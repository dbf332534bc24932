/* What it costs a program between two checkpoints that Saikai notes which pages it writes: the
 * examples heat and cg, with and without tracking, in turns (ABBA) in one process on one core.
 * usage: mpiexec -n 1 bench_tracking [SECONDS]      (60; saves below store.local)
 *
 * Prints a JSON object for each program. Times are processor time of the program's thread. The
 * first steps after a checkpoint, in which each page is written for the first time, are taken apart
 * from those that follow:
 * - first_ms: what tracking adds to an interval once, however long it is;
 * - steady_percent: what it adds to the rest.
 * Both are the median over the ABBA groups, with the interval in which the true median lies with 95
 * % certainty (bootstrap of the groups). slowdown_percent puts them together for checkpoints every
 * 60 s, and high is the worst that both intervals allow. Tracked is what the examples protect,
 * however much of it changes (capture.max_changed=1): all of it in each step. */
#define main heat_main
#include "../examples/heat.c"
#undef main
#define main cg_main
#include "../examples/cg.c"
#undef main

#include <sched.h>
#include <time.h>

enum { INTERVALS = 2, FIRST_STEPS = 2, STEPS = 10, GROUPS = 400, RESAMPLED = 4000 };
static const double every_seconds = 60;

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the programs: memory, and one step as the example makes it ---- */

static double *u, *v;
static struct grid grid;
static double *cg_x, *cg_r, *cg_p, *cg_q, *cg_halo, rho;

static size_t heat_begin(void)
{
    nx = ny = nz = 112;
    size_t n = (nz + 2) * ny * nx;
    array(&u, n);
    array(&v, n);
    for (size_t i = 0; i < n; i++)
        u[i] = v[i] = sin((double)i);
    return nx * ny * nz * sizeof *u;
}

static int heat_protect(void)
{
    return saikai_protect("u", &AT(u, 1, 0, 0), SAIKAI_F64, 3, (size_t[]){nz, ny, nx});
}

static void heat_step(void)
{
    step(u, v, 0, nz, 0.15);
    memcpy(&AT(u, 1, 0, 0), &AT(v, 1, 0, 0), nz * ny * nx * sizeof *u);
}

static void heat_end(void)
{
    free(u);
    free(v);
}

static void cg_start(void)
{
    for (size_t i = 0; i < cells(&grid); i++)
        cg_r[i] = cg_p[i] = sin((double)i * 0.37) + 0.5;
    rho = dot(&grid, cg_r, cg_r);
}

static size_t cg_begin(void)
{
    grid = (struct grid){.n = 96, .planes = 96};
    size_t n = cells(&grid);
    array(&cg_x, n), array(&cg_r, n), array(&cg_p, n), array(&cg_q, n);
    array(&cg_halo, 2 * grid.n * grid.n);
    cg_start();
    return 3 * n * sizeof *cg_x;
}

static int cg_protect(void)
{
    size_t dims[] = {grid.planes, grid.n, grid.n};
    int rc = saikai_protect("x", cg_x, SAIKAI_F64, 3, dims);
    rc = rc < 0 ? rc : saikai_protect("r", cg_r, SAIKAI_F64, 3, dims);
    return rc < 0 ? rc : saikai_protect("p", cg_p, SAIKAI_F64, 3, dims);
}

static void cg_step(void)
{
    size_t n = cells(&grid);
    apply(&grid, cg_p, cg_q, cg_halo);
    double alpha = rho / dot(&grid, cg_p, cg_q);
    for (size_t i = 0; i < n; i++) {
        cg_x[i] += alpha * cg_p[i];
        cg_r[i] -= alpha * cg_q[i];
    }
    double next = dot(&grid, cg_r, cg_r), beta = next / rho;
    rho = next;
    for (size_t i = 0; i < n; i++)
        cg_p[i] = cg_r[i] + beta * cg_p[i];
    if (rho < 1e-100) /* denormal numbers would take longer */
        cg_start();
}

static void cg_end(void)
{
    free(cg_x), free(cg_r), free(cg_p), free(cg_q), free(cg_halo);
}

static const struct program {
    const char *name;
    size_t (*begin)(void); /* returns the bytes that it protects */
    int (*protect)(void);
    void (*step)(void);
    void (*end)(void);
} programs[] = {
    {"heat", heat_begin, heat_protect, heat_step, heat_end},
    {"cg", cg_begin, cg_protect, cg_step, cg_end},
};

/* ---- measuring ---- */

/* Of some intervals between two checkpoints. */
struct spent {
    double first, rest;
};

static void run_steps(const struct program *p, int n, double *spent)
{
    double t = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < n; i++)
        p->step();
    *spent += seconds(CLOCK_THREAD_CPUTIME_ID) - t;
}

static struct spent session(const struct program *p, int tracked)
{
    struct spent s = {0};
    char text[256];
    long it = 0;
    snprintf(text, sizeof text,
             "schedule.first=no; schedule.max_interval=0s; store.prefix=none; restart.mode=never; "
             "capture.snapshot=copy; capture.max_changed=1; capture.tracker=%s",
             tracked ? "uffd" : "full");
    if (saikai_init(MPI_COMM_WORLD, text) < 0 || p->protect() < 0 || saikai_restart(&it) < 0)
        example_fail("bench_tracking", saikai_error_text());
    for (int i = -1; i < INTERVALS; i++) { /* the first interval warms up */
        struct spent now = {0};
        if (saikai_checkpoint_now(++it) < 0 || saikai_wait() < 0)
            example_fail("bench_tracking", saikai_error_text());
        usleep(40000); /* its threads make the next slot ready, on the same core */
        run_steps(p, FIRST_STEPS, &now.first);
        run_steps(p, STEPS, &now.rest);
        s.first += i < 0 ? 0 : now.first / INTERVALS;
        s.rest += i < 0 ? 0 : now.rest / INTERVALS;
    }
    saikai_finalize();
    return s;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *w, int n)
{
    qsort(w, (size_t)n, sizeof *w, by_value);
    return n % 2 ? w[n / 2] : (w[n / 2 - 1] + w[n / 2]) / 2;
}

struct estimate {
    double median, low, high;
};

/* The percentile bootstrap of the median. */
static struct estimate estimate(const double *of, int n)
{
    static double medians[RESAMPLED], some[GROUPS];
    uint64_t x = 1;
    for (int k = 0; k < RESAMPLED; k++) {
        for (int i = 0; i < n; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            some[i] = of[(x >> 33) % (uint64_t)n];
        }
        medians[k] = median(some, n);
    }
    memcpy(some, of, (size_t)n * sizeof *of);
    double mid = median(some, n);
    qsort(medians, RESAMPLED, sizeof *medians, by_value);
    return (struct estimate){mid, medians[RESAMPLED / 40], medians[RESAMPLED - 1 - RESAMPLED / 40]};
}

static void measure(const struct program *p, double limit)
{
    static double first[GROUPS], steady[GROUPS];
    double until = seconds(CLOCK_MONOTONIC) + limit;
    size_t size = p->begin();
    int n = 0;
    for (; n < GROUPS && (n < 5 || seconds(CLOCK_MONOTONIC) < until); n++) {
        struct spent a = session(p, 0), b = session(p, 1), b2 = session(p, 1), a2 = session(p, 0);
        first[n] = 1e3 * (b.first + b2.first - a.first - a2.first) / 2;
        steady[n] = 100 * ((b.rest + b2.rest) / (a.rest + a2.rest) - 1);
    }
    p->end();
    struct estimate f = estimate(first, n), s = estimate(steady, n);
    double once = 0.1 / every_seconds; /* percent for each millisecond */
    printf("{\"bench\": \"tracking\", \"program\": \"%s\", \"ranks\": 1, \"mib\": %.0f, "
           "\"groups\": %d, "
           "\"first_ms\": %.2f, \"first_ms_low\": %.2f, \"first_ms_high\": %.2f, \"us_per_page\": "
           "%.2f, "
           "\"steady_percent\": %.3f, \"steady_percent_low\": %.3f, \"steady_percent_high\": %.3f, "
           "\"slowdown_percent\": %.3f, \"slowdown_percent_high\": %.3f, \"limit_percent\": 1}\n",
           p->name, (double)size / (1 << 20), n, f.median, f.low, f.high,
           f.median * 1e3 / ((double)size / 4096), s.median, s.low, s.high,
           s.median + f.median * once, s.high + f.high * once);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    double limit = argc > 1 ? strtod(argv[1], NULL) : 60;
    cpu_set_t one;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &example_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &example_ranks);
    if (example_ranks != 1 || limit <= 0) {
        MPI_Finalize();
        fprintf(stderr, "usage: mpiexec -n 1 bench_tracking [SECONDS]\n");
        return 2;
    }
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    const int n = sizeof programs / sizeof *programs;
    for (int i = 0; i < n; i++)
        measure(&programs[i], limit / n);
    MPI_Finalize();
    return 0;
}
