/* EP, "embarrassingly parallel": pairs of random numbers, those in the unit circle made normal (Marsaglia's polar method), and counted by
 * size. Nothing is communicated until the end. NAS-95-020, section 2.2.
 * usage: ep [-p PIDFILE] [S|W|A|B] */
#include "npb.h"

enum { LOG_BATCH = 16, RINGS = 10 };
static const uint64_t seed = 271828183;

static const struct size_class {
    char name;
    int log_pairs;
    double x, y; /* the sums that must come out */
} classes[] = {
    {'S', 24, -3.247834652034740e3, -6.958407078382297e3},
    {'W', 25, -2.863319731645753e3, -6.320053679109499e3},
    {'A', 28, -4.295875165629892e3, -1.580732573678431e4},
    {'B', 30, 4.033815542441498e4, -2.660669192809235e4},
};

struct sums {
    double x, y, ring[RINGS];
};

/* The pairs of one batch, which begins where its number says. */
static void batch(long number, struct sums *s)
{
    uint64_t state = npb_jump(seed, (uint64_t)number << (LOG_BATCH + 1));
    for (int i = 0; i < 1 << LOG_BATCH; i++) {
        double u = 2 * npb_random(&state) - 1, v = 2 * npb_random(&state) - 1, t = u * u + v * v;
        if (t > 1)
            continue;
        double f = sqrt(-2 * log(t) / t), x = u * f, y = v * f, most = fabs(x) > fabs(y) ? fabs(x) : fabs(y);
        s->ring[(int)most]++;
        s->x += x;
        s->y += y;
    }
}

static int is_near(double is, double should)
{
    return fabs((is - should) / should) <= 1e-8;
}

static void body(void *arg)
{
    struct npb_run *run = arg;
    const struct size_class *c = classes;
    while (c->name != run->size)
        c++;
    struct sums mine = {0}, all = {0};
    const size_t n = sizeof mine / sizeof(double);
    const long batches = 1l << (c->log_pairs - LOG_BATCH);
    long done = 0;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("sums", &mine, SAIKAI_F64, 1, &n) < 0 || saikai_restart(&done) < 0)
        example_fail("ep", saikai_error_text());
    npb_clock_starts(run);
    while (done < batches / example_ranks) {
        batch(done * example_ranks + example_rank, &mine);
        saikai_checkpoint(++done);
    }
    MPI_Allreduce(&mine, &all, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    npb_clock_stops(run);
    npb_tell(run, all.x, is_near(all.x, c->x) && is_near(all.y, c->y));
    saikai_finalize();
}

int main(int argc, char **argv)
{
    return npb_main(argc, argv, "ep", 256, body);
}
