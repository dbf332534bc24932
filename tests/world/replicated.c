/* A program for the protocol replication: what each step gives depends on all messages before it, and with "chance" also on the order in
 * which messages came. Rank 0 keeps account of what it told the others, and all compare at the end: a twin that did not see the same as the
 * one before it would be found out. It does not use Saikai, but with
 * WITH_SAIKAI calls saikai_checkpoint in each step.
 * usage: replicated [-p PREFIX] STEPS [chance|scan|stuck|made|idup|init|window|where|serial|threads|flip:WHO:AT] [MICROSECONDS]
 * made: on communicators of the program's own, which live for some steps. idup: made by MPI_Comm_idup, with other numbers at some ranks. init: and there with persistent requests and sends that are buffered, of some
 * ranks alone, whose messages others receive in other ways. window: and with what is not replicated. serial: the program asks for MPI_THREAD_SERIALIZED; threads: and a second thread calls MPI. where: what is sent depends on the host, and on who
 * else is on it.
 * flip:WHO:AT turns one bit round in one process of the first start, that with the number WHO: before it sends its message with tag 1 in step AT.
 * REPLICATED_UNTIL: the last step waits until there is a file of this name, so that the program does not end before all is done to it. */
#include <mpi.h>
#include <pthread.h>
#ifdef WITH_SAIKAI
#include <saikai/saikai.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "neighbours/until.h"

enum { LARGE = 40000 };
static int rank, ranks;
static const char *prefix;
static long flip_at = -1; /* in this process */
static uint64_t *large[2];

static uint64_t mix(uint64_t a, uint64_t b)
{
    a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
    return a * 0xbf58476d1ce4e5b9u;
}

/* How far this process is, and the longest of its steps, in a file of its own. */
static void note(long step, double longest)
{
    char name[4096], text[64];
    if (!prefix)
        return;
    snprintf(name, sizeof name, "%s.%d.%ld", prefix, rank, (long)getpid());
    FILE *f = fopen(name, "w");
    snprintf(text, sizeof text, "%ld %.6f\n", step, longest);
    if (f) {
        fputs(text, f);
        fclose(f);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Neighbours, large messages, several tags, derived types, collectives. */
static uint64_t calm_step(uint64_t state, long step)
{
    int right = (rank + 1) % ranks, left = (rank - 1 + ranks) % ranks, size = step % 10 ? 1 : LARGE;
    uint64_t got[3] = {0}, out[3] = {state, mix(state, 1), mix(state, 2)}, sum = 0, sums[64];
    MPI_Request r[4];
    MPI_Status s[4];
    MPI_Datatype every_second;
    MPI_Type_vector(2, 1, 2, MPI_UINT64_T, &every_second);
    MPI_Type_commit(&every_second);
    for (int i = 0; i < size; i++)
        large[0][i] = state + (uint64_t)i;
    if (step == flip_at)
        large[0][size / 2] ^= 1u << 13;
    MPI_Irecv(&got[1], 1, MPI_UINT64_T, left, 2, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(large[1], size, MPI_UINT64_T, left, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(large[0], size, MPI_UINT64_T, right, 1, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(&out[1], 1, MPI_UINT64_T, right, 2, MPI_COMM_WORLD, &r[3]);
    MPI_Type_free(&every_second);
    MPI_Type_vector(2, 1, 2, MPI_UINT64_T, &every_second);
    MPI_Type_commit(&every_second);
    uint64_t pair[3] = {0};
    MPI_Sendrecv(out, 1, every_second, left, 3, pair, 1, every_second, right, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&every_second);
    MPI_Waitall(4, r, s);
    for (int i = 0; i < size; i++)
        state = mix(state, large[1][i]);
    state = mix(mix(mix(state, got[1]), pair[0]), pair[2]);
    MPI_Allreduce(&state, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(&state, 1, MPI_UINT64_T, sums, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++)
        sum = mix(sum, sums[i]);
    MPI_Bcast(&sum, 1, MPI_UINT64_T, (int)(step % ranks), MPI_COMM_WORLD);
    return mix(state, sum);
}

/* A receive of any tag that gets its message only when a later one of any source has got its own. */
static uint64_t odd_step(uint64_t state, long step)
{
    uint64_t a = 0, b = 0;
    MPI_Request r[2];
    if (!rank) {
        MPI_Irecv(&a, 1, MPI_UINT64_T, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(&b, 1, MPI_UINT64_T, MPI_ANY_SOURCE, 27, MPI_COMM_WORLD, &r[1]);
        MPI_Wait(&r[1], MPI_STATUS_IGNORE);
        MPI_Send(&b, 1, MPI_UINT64_T, 1, 26, MPI_COMM_WORLD);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        if (a != mix(b, 1))
            MPI_Abort(MPI_COMM_WORLD, 1);
    } else if (rank == 1) {
        MPI_Recv(&b, 1, MPI_UINT64_T, 0, 26, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        a = mix(b, 1);
        MPI_Send(&a, 1, MPI_UINT64_T, 0, step / 20 % 2 ? 27 : 29, MPI_COMM_WORLD);
    } else if (rank == 2) {
        MPI_Send(&state, 1, MPI_UINT64_T, 0, 27, MPI_COMM_WORLD);
    }
    return mix(state, b);
}

/* Communicators that are made and freed every few steps: a duplicate, halves in the order of falling ranks, a ring of the halves. Messages with the
 * same tag go over all of them at the same time, wildcards included; what is received is added up, so that no order counts. */
enum { OWN_LIFE = 7 };
static MPI_Comm own_all, own_half, own_ring;

static uint64_t received(MPI_Comm c, uint64_t *status_sum)
{
    uint64_t in = 0;
    MPI_Status s;
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, c, &s);
    MPI_Recv(&in, 1, MPI_UINT64_T, s.MPI_SOURCE, s.MPI_TAG, c, &s);
    *status_sum += (uint64_t)(100 * s.MPI_SOURCE + s.MPI_TAG);
    return in;
}

static uint64_t unseen_step(uint64_t state)
{
    static char room[4096];
    uint64_t in[2] = {0}, out[2] = {mix(state, 7), mix(state, 8)};
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks, size = sizeof room;
    MPI_Request r[2];
    MPI_Status s = {0};
    if (rank == 0) { /* to rank 1 alone */
        MPI_Send_init(&out[0], 1, MPI_UINT64_T, right, 9, own_all, &r[0]);
        MPI_Start(&r[0]);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        MPI_Request_free(&r[0]);
        MPI_Buffer_attach(room, size);
        MPI_Bsend(&out[1], 1, MPI_UINT64_T, right, 10, own_all);
        MPI_Buffer_detach(room, &size);
    } else if (rank == 1) {
        MPI_Recv_init(&in[1], 1, MPI_UINT64_T, MPI_ANY_SOURCE, 10, own_all, &r[1]);
        MPI_Start(&r[1]);
        MPI_Recv(&in[0], 1, MPI_UINT64_T, left, 9, own_all, MPI_STATUS_IGNORE);
        MPI_Wait(&r[1], &s);
        MPI_Request_free(&r[1]);
        if (s.MPI_SOURCE != left || s.MPI_TAG != 10 || !in[0] || !in[1])
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return mix(mix(state, in[0]), in[1]);
}

/* The same communicators. Two ranks have one more, so that the numbers that are free differ. */
static uint64_t duplicate(uint64_t state)
{
    uint64_t sum = 0;
    MPI_Comm two = MPI_COMM_NULL, half;
    MPI_Group all, first;
    MPI_Request r;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, (int[]){0, 1}, &first);
    if (rank < 2)
        MPI_Comm_create_group(MPI_COMM_WORLD, first, 3, &two);
    MPI_Comm_idup(MPI_COMM_WORLD, &own_all, &r);
    MPI_Allreduce(&state, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Comm_split(own_all, rank % 2, -rank, &half);
    if (rank < 2)
        MPI_Comm_free(&two);
    MPI_Comm_idup(half, &own_half, &r);
    for (int done = 0; !done;)
        MPI_Test(&r, &done, MPI_STATUS_IGNORE);
    MPI_Comm_free(&half);
    MPI_Group_free(&first);
    MPI_Group_free(&all);
    return sum;
}

static uint64_t made_step(uint64_t state, long step, const char *how)
{
    uint64_t in[3] = {0}, out[3] = {mix(state, 1), mix(state, 2), mix(state, 3)}, sum = 0, seen = 0, all[64] = {0};
    int n, me, left, right, periodic = 1;
    MPI_Request r[4];
    MPI_Status s[4];
    if (step % OWN_LIFE == 0) {
        if (!strcmp(how, "idup")) {
            state = mix(state, duplicate(state));
        } else {
            MPI_Comm_dup(MPI_COMM_WORLD, &own_all);
            MPI_Comm_split(own_all, rank % 2, -rank, &own_half);
        }
        MPI_Comm_size(own_half, &n);
        MPI_Cart_create(own_half, 1, &n, &periodic, 0, &own_ring);
    }
    MPI_Comm_size(own_half, &n);
    MPI_Comm_rank(own_half, &me);
    MPI_Irecv(&in[0], 1, MPI_UINT64_T, MPI_ANY_SOURCE, 5, own_all, &r[0]);
    MPI_Irecv(&in[1], 1, MPI_UINT64_T, (rank + ranks - 1) % ranks, MPI_ANY_TAG, MPI_COMM_WORLD, &r[1]);
    MPI_Issend(&out[0], 1, MPI_UINT64_T, (rank + 1) % ranks, 5, own_all, &r[2]);
    MPI_Isend(&out[1], 1, MPI_UINT64_T, (rank + 1) % ranks, 5, MPI_COMM_WORLD, &r[3]);
    if (me % 2 == 0 && me + 1 < n)
        MPI_Ssend(&out[2], 1, MPI_UINT64_T, me + 1, 5, own_half);
    else if (me % 2)
        sum += received(own_half, &seen);
    MPI_Waitall(4, r, s);
    sum += mix(in[0], (uint64_t)s[0].MPI_SOURCE) + mix(in[1], (uint64_t)s[1].MPI_TAG);
    MPI_Cart_shift(own_ring, 0, 1, &left, &right);
    MPI_Sendrecv(&out[2], 1, MPI_UINT64_T, right, 5, &in[2], 1, MPI_UINT64_T, left, 5, own_ring, MPI_STATUS_IGNORE);
    MPI_Allgather(&out[1], 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, own_half);
    for (int i = 0; i < n; i++)
        sum = mix(sum, all[i]);
    sum = mix(mix(sum, in[2]), seen);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, own_ring);
    MPI_Bcast(&sum, 1, MPI_UINT64_T, 0, own_all);
    if (strcmp(how, "init") == 0)
        sum = mix(sum, unseen_step(state));
    if (step % OWN_LIFE == OWN_LIFE - 1) {
        MPI_Comm_free(&own_ring);
        MPI_Comm_free(&own_half);
        MPI_Comm_free(&own_all);
    }
    return mix(state, sum);
}

static uint64_t where(uint64_t state)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int n, others;
    MPI_Comm here;
    MPI_Get_processor_name(name, &n);
    for (int i = 0; i < n; i++)
        state = mix(state, (uint64_t)name[i]);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &others);
    MPI_Comm_free(&here);
    return mix(state, (uint64_t)others);
}

/* What is not replicated: each step of memory that others write into, of all and of a communicator of the program's own, in turn. */
static uint64_t window_step(uint64_t state)
{
    static int turn;
    MPI_Comm c = ++turn % 2 || own_half == MPI_COMM_NULL ? MPI_COMM_WORLD : own_half;
    uint64_t room = 0;
    int me, n;
    MPI_Win w;
    if (c == own_half && rank % 2) /* two at the same time are too much for Open MPI 4: its files have the same name */
        return state;
    MPI_Comm_rank(c, &me);
    MPI_Comm_size(c, &n);
    MPI_Win_create(&room, sizeof room, 1, MPI_INFO_NULL, c, &w);
    MPI_Win_fence(0, w);
    MPI_Put(&state, 1, MPI_UINT64_T, (me + 1) % n, 0, 1, MPI_UINT64_T, w);
    MPI_Win_fence(0, w);
    MPI_Win_free(&w);
    return mix(state, room);
}

/* Rank 0 answers whoever comes first, in several ways; told is what it told each. */
static uint64_t master_step(uint64_t state, long step, uint64_t told[])
{
    uint64_t in[64], out;
    MPI_Request r[64];
    MPI_Status s[64];
    int at[64], n = 0, i, flag = 0, left = ranks - 1, first = 0;
    switch (step % 4) {
    case 0: /* any source, one after the other */
        for (; left; left--) {
            MPI_Recv(&in[0], 1, MPI_UINT64_T, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s[0]);
            out = state = mix(state, mix(in[0], (uint64_t)s[0].MPI_SOURCE));
            told[s[0].MPI_SOURCE] = mix(told[s[0].MPI_SOURCE], out);
            MPI_Send(&out, 1, MPI_UINT64_T, s[0].MPI_SOURCE, 8, MPI_COMM_WORLD);
        }
        return state;
    case 1: /* a probe, and then the one that was found */
        for (; left; left--) {
            for (flag = 0; !flag; first++)
                MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, &s[0]);
            MPI_Recv(&in[0], 1, MPI_UINT64_T, s[0].MPI_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            out = state = mix(state, mix(in[0], (uint64_t)s[0].MPI_SOURCE));
            told[s[0].MPI_SOURCE] = mix(told[s[0].MPI_SOURCE], out);
            MPI_Send(&out, 1, MPI_UINT64_T, s[0].MPI_SOURCE, 8, MPI_COMM_WORLD);
        }
        return mix(state, (uint64_t)first); /* how often it found nothing, too */
    default:
        break;
    }
    for (i = 1; i < ranks; i++)
        MPI_Irecv(&in[i], 1, MPI_UINT64_T, step % 8 < 4 ? i : MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &r[i - 1]);
    while (left) {
        if (step % 4 == 2) {
            MPI_Waitany(ranks - 1, r, &at[0], &s[0]);
            n = 1;
        } else {
            MPI_Testsome(ranks - 1, r, &n, at, s);
        }
        for (i = 0; i < n; i++, left--) {
            out = state = mix(state, mix(in[at[i] + 1], (uint64_t)s[i].MPI_SOURCE));
            told[s[i].MPI_SOURCE] = mix(told[s[i].MPI_SOURCE], out);
            MPI_Send(&out, 1, MPI_UINT64_T, s[i].MPI_SOURCE, 8, MPI_COMM_WORLD);
        }
        first += n == 0;
    }
    return mix(state, (uint64_t)first);
}

static uint64_t worker_step(uint64_t state, long step, uint64_t *heard)
{
    uint64_t in = 0;
    MPI_Request r;
    int done = 0;
    long tries = 0;
    MPI_Send(&state, 1, MPI_UINT64_T, 0, 7, MPI_COMM_WORLD);
    MPI_Irecv(&in, 1, MPI_UINT64_T, 0, 8, MPI_COMM_WORLD, &r);
    if (step % 3)
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    for (; !(step % 3) && !done; tries++)
        MPI_Test(&r, &done, MPI_STATUS_IGNORE);
    *heard = mix(*heard, in);
    return mix(mix(state, in), (uint64_t)tries);
}

/* One after the other, x -> a x + b: an operation that does not commute. */
static void after(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const uint64_t *f = in;
    uint64_t *g = inout;
    (void)type;
    for (int i = 0; i < *n; i++, f += 2, g += 2) {
        g[1] = f[1] * g[0] + g[1];
        g[0] = f[0] * g[0];
    }
}

/* Each against what it must be, from what all ranks tell. */

static uint64_t scans(uint64_t state)
{
    uint64_t all[64], out[2] = {state, state + 1}, in[2] = {0, 0}, parts[3 * 64], got[3] = {0}, want = 0;
    int counts[64], bad = 0;
    MPI_Op op;
    MPI_Datatype pair;
    MPI_Op_create(after, 0, &op);
    MPI_Type_contiguous(2, MPI_UINT64_T, &pair);
    MPI_Type_commit(&pair);
    MPI_Allgather(&state, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    MPI_Exscan(out, in, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int r = 0; r < rank; r++)
        want += all[r] + 1;
    bad |= rank && in[1] != want;
    MPI_Scan(MPI_IN_PLACE, out, 1, pair, op, MPI_COMM_WORLD);
    want = all[0] + 1;
    for (int r = 1; r <= rank; r++)
        want = want * all[r] + all[r] + 1;
    bad |= out[1] != want;
    for (int r = 0, k = 0; r < ranks; r++) {
        counts[r] = r % 3;
        for (int i = 0; i < counts[r]; i++)
            parts[k++] = state + (uint64_t)r;
    }
    MPI_Reduce_scatter(parts, got, counts, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    want = 0;
    for (int r = 0; r < ranks; r++)
        want += all[r] + (uint64_t)rank;
    bad |= counts[rank] && got[counts[rank] - 1] != want;
    for (int r = 0; r < ranks; r++)
        parts[r] = state + (uint64_t)r;
    MPI_Reduce_scatter_block(MPI_IN_PLACE, parts, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    bad |= parts[0] != want;
    MPI_Datatype types[64];
    int bytes[64], ones[64];
    for (int r = 0; r < ranks; r++) { /* to each what is meant for it */
        parts[r] = state + (uint64_t)r;
        bytes[r] = r * (int)sizeof *parts;
        ones[r] = 1;
        types[r] = MPI_UINT64_T;
    }
    uint64_t from[64] = {0};
    MPI_Alltoallw(parts, ones, bytes, types, from, ones, bytes, types, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; r++)
        bad |= from[r] != all[r] + (uint64_t)rank;
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    if (bad)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return want;
}

/* Which process of the start this is, that the layer does not tell. */
static void choose_flip(const char *kind, const char *start)
{
    const char *number = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    char *end;
    if (strncmp(kind, "flip:", 5) || !number || !start || strcmp(start, "1"))
        return;
    long who = strtol(kind + 5, &end, 10);
    if (*end == ':' && who == strtol(number, NULL, 10))
        flip_at = strtol(end + 1, NULL, 10);
}

/* A step by another thread than that which began MPI, while that one waits. */
static void *step_elsewhere(void *state)
{
    *(uint64_t *)state = calm_step(*(uint64_t *)state, 0);
    return NULL;
}

static uint64_t threads_step(uint64_t state)
{
    pthread_t other;
    if (pthread_create(&other, NULL, step_elsewhere, &state))
        MPI_Abort(MPI_COMM_WORLD, 1);
    pthread_join(other, NULL);
    return state;
}

static void begin(int argc, char **argv)
{
    int level;
    for (int a = 1; a < argc; a++)
        if (!strcmp(argv[a], "serial") || !strcmp(argv[a], "threads")) {
            MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
            return;
        }
    MPI_Init(&argc, &argv);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int a = 1;
    if (argc > 2 && !strcmp(argv[1], "-p")) {
        prefix = argv[2];
        a = 3;
    }
    long steps = argc > a ? strtol(argv[a], NULL, 10) : 100, pause = argc > a + 2 ? strtol(argv[a + 2], NULL, 10) : 0;
    const char *kind = argc > a + 1 ? argv[a + 1] : "", *start = getenv("SAIKAI_START");
    uint64_t state = (uint64_t)rank + 1, told[64] = {0}, heard = 0, all[64] = {0};
    double longest = 0, begun = now();
    choose_flip(kind, start);
#ifdef WITH_SAIKAI
    if (saikai_init(MPI_COMM_WORLD, "") || saikai_restart(NULL))
        MPI_Abort(MPI_COMM_WORLD, 1);
#endif
    large[0] = calloc(LARGE, sizeof **large);
    large[1] = calloc(LARGE, sizeof **large);
    if (!large[0] || !large[1] || ranks > 64 || ranks < 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (!strcmp(kind, "where"))
        state = where(state);
    for (long step = 0; step < steps; step++) {
#ifdef WITH_SAIKAI
        if (saikai_checkpoint(step) < 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
#endif
        if (step == steps - 1)
            wait_for_the_end();
        if (!strcmp(kind, "made") || !strcmp(kind, "idup") || !strcmp(kind, "init") || !strcmp(kind, "window"))
            state = made_step(state, step, kind);
        else if (strcmp(kind, "chance"))
            state = calm_step(state, step);
        else
            state = rank ? worker_step(state, step, &heard) : master_step(state, step, told);
        if (!strcmp(kind, "window"))
            state = window_step(state);
        if (!strcmp(kind, "threads") && step == 2)
            state = threads_step(state);
        if (!strcmp(kind, "chance") && step % 20 == 9 && ranks > 2)
            state = odd_step(state, step);
        if (!strcmp(kind, "chance")) /* nobody asks twice in one step */
            MPI_Barrier(MPI_COMM_WORLD);
        if (!strcmp(kind, "stuck") && step == 400 && start && !strcmp(start, "1")) /* nobody sends this */
            MPI_Recv(&heard, 1, MPI_UINT64_T, (rank + 1) % ranks, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!strcmp(kind, "scan")) {
            uint64_t sum = 0;
            MPI_Scan(&state, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
            state = mix(state, sum + scans(state));
        }
        double t = now();
        longest = step && t - begun > longest ? t - begun : longest;
        begun = t;
        if (!(step % 20))
            note(step, longest);
        if (pause)
            usleep((useconds_t)pause);
    }
    note(steps, longest);
    MPI_Gather(&heard, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    int bad = 0;
    for (int r = 1; r < ranks && !rank; r++)
        bad += all[r] != told[r];
    MPI_Reduce(rank ? &state : MPI_IN_PLACE, &state, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (!rank)
        printf("%ld steps, %016llx: %s\n", steps, strcmp(kind, "chance") ? (unsigned long long)state : 0, bad ? "WRONG" : "verified");
#ifdef WITH_SAIKAI
    saikai_finalize();
#endif
    MPI_Finalize();
    return bad != 0;
}
