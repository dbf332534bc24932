/* A ring whose ranks talk to each other in every way that the protocol logging keeps, and count the steps that this process computes: whoever
 * survives a fault computes none of them twice. Each rank leaves its count in COUNTS.<rank>, and rank 0 prints a hash of all.
 * usage: logged [-p PIDFILE] COUNTS STEPS [chance|setup|sync|open|lone|flood|before]
 *   chance: rank 0 receives in an order that chance decides, in all ways that there are, and the others count how often they look in vain. What
 *           chance decided is told to others at once, and compared at the end: a process that goes back must not decide anew.
 *   setup:  before saikai_restart all learn of each other in an order that chance decides, and tell it; what a rank says of it later is held against that
 *   sync:   with sends that are synchronous;   open: a receive is open at a checkpoint, which cannot be logged;   lone: in rank 2 alone;   flood: with large messages
 *   before: neighbours talk to each other between saikai_restart and the loop, which a new process alone does again */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 40, LARGE = 20000, MOST = 16 };

static int rank, ranks, chance, setup, sync_, open_, lone, flood, before;
static MPI_Request never = MPI_REQUEST_NULL; /* nobody sends that */
static long executed;

struct job {
    const char *counts;
    long steps;
};

struct state {
    int64_t hash;
    int64_t order, sent, got[MOST]; /* what chance decided at rank 0; what this rank told it; what rank 0 was told by each */
    double small[SMALL], large[LARGE];
};

static void mix_into(int64_t *hash, const void *data, size_t n)
{
    const unsigned char *p = data;
    uint64_t h = (uint64_t)*hash;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    *hash = (int64_t)h;
}

static void mix(struct state *s, const void *data, size_t n)
{
    mix_into(&s->hash, data, n);
}

/* Messages between neighbours, small and large, begun and waited for together or one after the other. */
static void neighbours(struct state *s, long it)
{
    static double from_up[LARGE], from_down[SMALL], unused;
    int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
    MPI_Request r[4];
    MPI_Status ended[4];
    MPI_Irecv(from_up, LARGE, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(from_down, SMALL, MPI_DOUBLE, down, 2, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(s->large, LARGE, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(s->small, SMALL, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, &r[3]);
    MPI_Waitall(4, r, ended);
    for (int i = 0; i < SMALL; i++)
        s->small[i] = 0.5 * s->small[i] + 0.25 * from_down[i] + (double)it;
    for (int i = 0; i < LARGE; i++)
        s->large[i] = 0.5 * (s->large[i] + from_up[i]) + 1e-3 * (double)i;
    MPI_Sendrecv_replace(s->small, SMALL, MPI_DOUBLE, up, 3, down, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if ((open_ || (lone && rank == 2)) && it == 20)
        MPI_Irecv(&unused, 1, MPI_DOUBLE, up, 99, MPI_COMM_WORLD, &never);
    if (it == 30 && never != MPI_REQUEST_NULL) {
        MPI_Cancel(&never);
        MPI_Wait(&never, MPI_STATUS_IGNORE);
    }
    if (rank && sync_ && it % 2) {
        int done = 0;
        MPI_Issend(&s->hash, 1, MPI_INT64_T, 0, 4, MPI_COMM_WORLD, &r[0]);
        while (!done)
            MPI_Test(&r[0], &done, MPI_STATUS_IGNORE);
    } else if (rank) {
        (sync_ ? MPI_Ssend : MPI_Send)(&s->hash, 1, MPI_INT64_T, 0, 4, MPI_COMM_WORLD);
    } else {
        for (int i = 1; i < ranks; i++) {
            int64_t theirs;
            MPI_Recv(&theirs, 1, MPI_INT64_T, i, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            s->small[0] += (double)(theirs & 255); /* a sum, so the order does not matter */
        }
    }
    mix(s, s->small, sizeof s->small);
}

/* Rank 0 has a message: who sent it, in which request, after how many looks. */
static void take(struct state *s, const MPI_Status *from, int request, int looks, int64_t what)
{
    int64_t event[] = {from->MPI_SOURCE, from->MPI_TAG, request, looks, what};
    mix_into(&s->order, event, sizeof event);
    s->got[from->MPI_SOURCE] += 31 * what + 7;
}

/* So many messages, in the order in which they come. */
static void take_all(struct state *s, int way, int n)
{
    static int64_t value[MOST + 1];
    MPI_Request r[MOST + 1];
    MPI_Status from[MOST + 1];
    int index[MOST + 1], looks = 0;
    for (int i = 0; i < n && way >= 2; i++)
        MPI_Irecv(&value[i], 1, MPI_INT64_T, way == 3 ? i + 1 : way == 6 && i == 1 ? 1 : MPI_ANY_SOURCE, way == 4 ? MPI_ANY_TAG : 10,
                  MPI_COMM_WORLD, &r[i]);
    for (int left = n, some = 1, done = 1; left; left -= done ? some : 0) {
        switch (way) {
        case 0:
            MPI_Recv(value, 1, MPI_INT64_T, MPI_ANY_SOURCE, left % 2 ? MPI_ANY_TAG : 10, MPI_COMM_WORLD, from);
            take(s, from, 0, 0, value[0]);
            break;
        case 1:
            MPI_Iprobe(MPI_ANY_SOURCE, 10, MPI_COMM_WORLD, &done, from);
            if (!done)
                break;
            MPI_Recv(value, 1, MPI_INT64_T, from->MPI_SOURCE, from->MPI_TAG, MPI_COMM_WORLD, from);
            take(s, from, 0, looks, value[0]);
            break;
        case 2:
            MPI_Testany(n, r, index, &done, from);
            if (done)
                take(s, from, index[0], looks, value[index[0]]);
            break;
        case 3:
        case 4:
            (left % 2 ? MPI_Waitsome : MPI_Testsome)(n, r, &some, index, from);
            for (int i = 0; i < some; i++)
                take(s, &from[i], index[i], looks, value[index[i]]);
            break;
        default:
            MPI_Waitany(n, r, index, from);
            take(s, from, index[0], 0, value[index[0]]);
        }
        looks++;
    }
}

/* In way 6 there is a receive from rank 1 behind one from anybody: rank 1 sends twice. */
static void by_chance(struct state *s, long it)
{
    int way = (int)(it % 7), done = 0, looks = 0;
    MPI_Request r;
    if (!rank) {
        take_all(s, way, way == 6 ? ranks : ranks - 1);
        for (int i = 1; i < ranks; i++)
            MPI_Send(&s->order, 1, MPI_INT64_T, i, 11, MPI_COMM_WORLD);
        return;
    }
    usleep((unsigned)(getpid() * 7919L * it % 400)); /* another process is slow at other times */
    for (int i = 0; i < (way == 6 && rank == 1 ? 2 : 1); i++) {
        int64_t told = s->sent + i;
        MPI_Send(&told, 1, MPI_INT64_T, 0, 10, MPI_COMM_WORLD);
        s->got[0] += 31 * told + 7;
    }
    MPI_Irecv(&s->order, 1, MPI_INT64_T, 0, 11, MPI_COMM_WORLD, &r);
    for (; !done; looks++)
        MPI_Test(&r, &done, MPI_STATUS_IGNORE);
    mix_into(&s->sent, &looks, sizeof looks);
}

/* As programs do that find out whose neighbours they are. */
static struct {
    int64_t order, told[MOST]; /* of this rank; of each, as that told it then */
    int wrong;
} known;

static void learn(void)
{
    static struct state s;
    static const int ways[] = {0, 1, 2, 4, 5};
    memset(&s, 0, sizeof s);
    usleep(20000u * (unsigned)(ranks - rank)); /* the last comes first, but not where all messages are there */
    for (int w = 0; w < 5; w++) {
        for (int64_t i = 0, what = 10 * rank + w; i < ranks; i++)
            if (i != rank)
                MPI_Send(&what, 1, MPI_INT64_T, (int)i, 10, MPI_COMM_WORLD);
        take_all(&s, ways[w], ranks - 1);
    }
    known.order = s.order;
    MPI_Allgather(&known.order, 1, MPI_INT64_T, known.told, 1, MPI_INT64_T, MPI_COMM_WORLD);
}

static void hold_against(void)
{
    int64_t theirs = 0;
    int down = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(&known.order, 1, MPI_INT64_T, (rank + 1) % ranks, 13, &theirs, 1, MPI_INT64_T, down, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    known.wrong |= theirs != known.told[down];
}

/* 1: what rank 0 decided is what it told the others, and what they told it is what they know. */
static int agrees(const struct state *s)
{
    int64_t mine[] = {s->order, s->got[0]}, theirs[2];
    int well = 1;
    if (rank)
        MPI_Send(mine, 2, MPI_INT64_T, 0, 12, MPI_COMM_WORLD);
    for (int i = 1; !rank && i < ranks; i++) {
        MPI_Recv(theirs, 2, MPI_INT64_T, i, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        well &= theirs[0] == s->order && theirs[1] == s->got[i];
    }
    return well;
}

static void collectives(struct state *s, long it)
{
    int root = (int)(it % ranks), counts[MOST], displs[MOST];
    int64_t one = s->hash, all[MOST] = {0}, more[MOST] = {0};
    double sum = 0, part[SMALL];
    for (int r = 0; r < ranks; r++) {
        counts[r] = r % 2 + 1;
        displs[r] = 2 * r;
    }
    MPI_Bcast(&one, 1, MPI_INT64_T, root, MPI_COMM_WORLD);
    mix(s, &one, sizeof one);
    MPI_Allreduce(&s->small[1], &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    s->small[2] = sum / (double)ranks;
    MPI_Allgather(&s->hash, 1, MPI_INT64_T, all, 1, MPI_INT64_T, MPI_COMM_WORLD);
    MPI_Alltoall(all, 1, MPI_INT64_T, more, 1, MPI_INT64_T, MPI_COMM_WORLD);
    mix(s, more, sizeof *more * (size_t)ranks);
    MPI_Gather(&s->hash, 1, MPI_INT64_T, all, 1, MPI_INT64_T, root, MPI_COMM_WORLD);
    MPI_Scatter(all, 1, MPI_INT64_T, &one, 1, MPI_INT64_T, root, MPI_COMM_WORLD);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : s->small, s->small, SMALL / 2, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
    memset(part, 0, sizeof part);
    MPI_Allgatherv(s->small, counts[rank], MPI_DOUBLE, part, counts, displs, MPI_DOUBLE, MPI_COMM_WORLD);
    mix(s, part, sizeof part);
    if (it % 5 == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    s->hash += one;
}

static void run(void *arg)
{
    static struct state s;
    const struct job *j = arg;
    long it = 0;
    memset(&s, 0, sizeof s);
    s.hash = rank + 1;
    never = MPI_REQUEST_NULL;
    MPI_Bcast(&s.hash, 1, MPI_INT64_T, 1 % ranks, MPI_COMM_WORLD); /* what the new process runs, and the others do not */
    if (setup)
        learn();
    for (int i = 0; i < SMALL; i++)
        s.small[i] = rank * 100 + i;
    for (int i = 0; i < LARGE; i++)
        s.large[i] = rank + 1e-4 * i;
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("hash", &s.hash, SAIKAI_I64, 0, NULL) < 0 ||
        saikai_protect("chance", &s.order, SAIKAI_I64, 1, (size_t[]){2 + MOST}) < 0 ||
        saikai_protect("small", s.small, SAIKAI_F64, 1, (size_t[]){SMALL}) < 0 ||
        saikai_protect("large", s.large, SAIKAI_F64, 1, (size_t[]){LARGE}) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    static double halo[LARGE]; /* as some programs fetch it once more; here nobody needs it */
    if (before)
        MPI_Sendrecv(s.large, LARGE, MPI_DOUBLE, (rank + ranks - 1) % ranks, 1, halo, LARGE, MPI_DOUBLE, (rank + 1) % ranks, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    while (it < j->steps) {
        usleep(1000);
        it++;
        executed++;
        neighbours(&s, it);
        if (chance)
            by_chance(&s, it);
        if (setup)
            hold_against();
        collectives(&s, it);
        for (int i = 0; i < flood; i++)
            MPI_Sendrecv_replace(s.large, LARGE, MPI_DOUBLE, (rank + 1) % ranks, 5, (rank + ranks - 1) % ranks, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        saikai_checkpoint(it);
    }
    mix(&s, s.large, sizeof s.large);
    int64_t all = 0;
    MPI_Reduce(&s.hash, &all, 1, MPI_INT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    int well = agrees(&s), wrong = 0;
    MPI_Reduce(&known.wrong, &wrong, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    saikai_finalize();
    if (!rank)
        printf("logged: %ld steps, hash %016llx: %s\n", j->steps, (unsigned long long)all, well && !wrong ? "verified" : "WRONG");
}

static void leave(const char *base, long number)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", base, rank);
    FILE *f = fopen(name, "w");
    if (!f)
        return;
    fprintf(f, "%ld\n", number);
    fclose(f);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 2 && !strcmp(argv[1], "-p")) {
        leave(argv[2], (long)getpid());
        argv += 2;
        argc -= 2;
    }
    if (argc < 3 || ranks > MOST)
        return 2;
    struct job j = {argv[1], strtol(argv[2], NULL, 10)};
    chance = argc > 3 && !strcmp(argv[3], "chance");
    setup = argc > 3 && !strcmp(argv[3], "setup");
    sync_ = argc > 3 && !strcmp(argv[3], "sync");
    open_ = argc > 3 && !strcmp(argv[3], "open");
    lone = argc > 3 && !strcmp(argv[3], "lone");
    flood = argc > 3 && !strcmp(argv[3], "flood");
    before = argc > 3 && !strcmp(argv[3], "before");
    saikai_in_place(run, &j);
    leave(j.counts, executed);
    MPI_Finalize();
    return 0;
}
