/* Particles in a periodic box that is cut into slabs along x. They drift, feel a standing wave, and move from rank to
 * rank, so that every rank's arrays change their length all the time.
 * usage: particles [-p PIDFILE] [PARTICLES STEPS] */
#include "example.h"

#include <math.h>
#include <saikai/saikai.h>

enum { WIDTH = 6 }; /* position and velocity of a particle */

struct swarm {
    double *state; /* [count][WIDTH] */
    int64_t *id;   /* [count] */
    size_t count, id_count;
};

static void *grown(void *old, size_t n, size_t size)
{
    void *p = realloc(old, (n ? n : 1) * size);
    if (!p)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return p;
}

static void append(struct swarm *s, const double *state, int64_t id)
{
    if (!(s->count & (s->count + 1))) { /* room grows by doubling, at 0, 1, 3, 7 … */
        s->state = grown(s->state, 2 * s->count + 2, WIDTH * sizeof *s->state);
        s->id = grown(s->id, 2 * s->count + 2, sizeof *s->id);
    }
    memcpy(s->state + WIDTH * s->count, state, WIDTH * sizeof *state);
    s->id[s->count++] = id;
    s->id_count = s->count;
}

static int owner(double x)
{
    int r = (int)(x * example_ranks);
    return r < example_ranks ? r : example_ranks - 1;
}

static void start(struct swarm *s, long particles)
{
    for (int64_t id = 0; id < particles; id++) {
        double p[WIDTH];
        for (int k = 0; k < WIDTH; k++) {
            uint64_t h = ((uint64_t)id * WIDTH + (uint64_t)k + 1) * 0x9e3779b97f4a7c15u;
            h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
            p[k] = (double)((h ^ h >> 31) >> 11) * 0x1p-53;
        }
        for (int k = 3; k < WIDTH; k++)
            p[k] = (p[k] - 0.5) * 0.02;
        if (owner(p[0]) == example_rank)
            append(s, p, id);
    }
}

static void advance(struct swarm *s)
{
    for (size_t i = 0; i < s->count; i++) {
        double *p = s->state + WIDTH * i;
        for (int k = 0; k < 3; k++) {
            p[3 + k] -= 1e-5 * sin(2 * M_PI * p[k]);
            p[k] += p[3 + k];
            p[k] -= floor(p[k]);
        }
    }
}

/* Particles that left go to the ranks they belong to, in a fixed order. */
static void migrate(struct swarm *s)
{
    struct swarm stay = {0}, leave = {0};
    for (size_t i = 0; i < s->count; i++)
        append(owner(s->state[WIDTH * i]) == example_rank ? &stay : &leave, s->state + WIDTH * i, s->id[i]);
    int mine = (int)leave.count, *counts = grown(NULL, (size_t)example_ranks, sizeof *counts), total = 0;
    int *at = grown(NULL, (size_t)example_ranks, sizeof *at);
    MPI_Allgather(&mine, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < example_ranks; r++) {
        at[r] = total;
        total += counts[r];
    }
    double *state = grown(NULL, (size_t)total, WIDTH * sizeof *state);
    int64_t *id = grown(NULL, (size_t)total, sizeof *id);
    MPI_Datatype six;
    MPI_Type_contiguous(WIDTH, MPI_DOUBLE, &six);
    MPI_Type_commit(&six);
    MPI_Allgatherv(leave.state, mine, six, state, counts, at, six, MPI_COMM_WORLD);
    MPI_Allgatherv(leave.id, mine, MPI_INT64_T, id, counts, at, MPI_INT64_T, MPI_COMM_WORLD);
    MPI_Type_free(&six);
    for (int i = 0; i < total; i++)
        if (owner(state[WIDTH * i]) == example_rank)
            append(&stay, state + WIDTH * i, id[i]);
    free(state), free(id), free(counts), free(at), free(leave.state), free(leave.id), free(s->state), free(s->id);
    *s = stay;
}

static int simulate(long particles, long steps)
{
    struct swarm s = {0};
    long step = 0;
    start(&s, particles);
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 ||
        saikai_protect_array("state", (void **)&s.state, &s.count, WIDTH, SAIKAI_F64) < 0 ||
        saikai_protect_array("id", (void **)&s.id, &s.id_count, 1, SAIKAI_I64) < 0 || saikai_restart(&step) < 0)
        example_fail("particles", saikai_error_text());
    /* after a restart the arrays are exactly as long as they have to be: give them their spare room again */
    size_t room = 1;
    while (room <= s.count)
        room *= 2;
    s.state = grown(s.state, room, WIDTH * sizeof *s.state);
    s.id = grown(s.id, room, sizeof *s.id);
    while (step < steps) {
        advance(&s);
        migrate(&s);
        saikai_checkpoint(++step);
    }
    uint64_t sum = 0;
    long count = (long)s.count, total = 0;
    for (size_t i = 0; i < s.count; i++)
        sum ^= example_mix(s.state + WIDTH * i, WIDTH, (uint64_t)s.id[i] * WIDTH);
    sum = example_xor(sum);
    MPI_Allreduce(&count, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (example_rank == 0)
        printf("%ld particles, %ld steps: checksum %016llx, %ld particles left: %s\n", particles, steps,
               (unsigned long long)sum, total, total == particles ? "verified" : "WRONG");
    saikai_finalize();
    free(s.state), free(s.id);
    return total == particles ? 0 : 1;
}

int main(int argc, char **argv)
{
    long arguments[2] = {20000, 300};
    if (example_begin(&argc, &argv, arguments, 2) || arguments[0] < 0 || arguments[1] < 0)
        return example_usage("particles [-p PIDFILE] [PARTICLES STEPS]");
    int rc = simulate(arguments[0], arguments[1]);
    MPI_Finalize();
    return rc;
}
