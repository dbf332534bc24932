/* A solver of two halves that talk through inter-communicators: made before its loop and in it, also between two ranks while the others do something else, merged
 * and duplicated. Under the protocol logging whoever survives a fault computes no step twice. What the program is told is held against what it must be.
 * usage: between [-p PIDFILE] COUNTS STEPS [collective]        with 4 ranks; collective: operations between groups, which are not logged, so all start again */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4 };

static int rank, bad, together;
static long executed;
static int64_t state;
static struct {
    MPI_Comm half, inter, one, copy, merged; /* one: rank 0 on one side, the others on the other one */
} on;

static void must(int holds, const char *what)
{
    if (!holds && !bad++)
        printf("rank %d: %s\n", rank, what);
}

static void mix(int64_t value)
{
    state = (int64_t)(((uint64_t)state ^ (uint64_t)value) * 0x100000001b3u + (uint64_t)rank);
}

static void make_all(void)
{
    MPI_Comm others;
    MPI_Comm_dup(MPI_COMM_WORLD, &on.copy);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &on.half);
    MPI_Intercomm_create(on.half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 7, &on.inter);
    MPI_Intercomm_merge(on.inter, rank < 2, &on.merged);
    MPI_Comm_split(on.copy, rank ? 1 : MPI_UNDEFINED, -rank, &others);
    if (rank)
        MPI_Intercomm_create(others, 0, rank == 3 ? on.copy : MPI_COMM_NULL, 0, 3, &on.one);
    else
        MPI_Intercomm_create(MPI_COMM_SELF, 0, on.copy, 3, 3, &on.one);
    if (rank)
        MPI_Comm_free(&others);
}

static void ask(void)
{
    int n, me, far, inter, order[RANKS], all[RANKS] = {0, 1, 2, 3};
    MPI_Group g, world;
    MPI_Comm_size(on.inter, &n);
    MPI_Comm_rank(on.inter, &me);
    MPI_Comm_remote_size(on.inter, &far);
    MPI_Comm_test_inter(on.inter, &inter);
    must(n == 2 && me == rank % 2 && far == 2 && inter, "the halves");
    MPI_Comm_test_inter(on.merged, &inter);
    must(!inter, "what was merged");
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(on.merged, &g);
    MPI_Group_translate_ranks(g, RANKS, all, world, order);
    must(order[0] == 2 && order[1] == 3 && order[2] == 0 && order[3] == 1, "the high half stands behind the low one");
    MPI_Group_free(&g);
    MPI_Comm_remote_group(on.one, &g);
    MPI_Group_size(g, &n);
    MPI_Group_translate_ranks(g, 1, all, world, order);
    must(rank ? n == 1 && order[0] == 0 : n == 3 && order[0] == 3, "the group on the other side");
    MPI_Group_free(&g);
    MPI_Group_free(&world);
}

/* With the same rank on the other side. */
static void across(MPI_Comm c, long it)
{
    int me, found = 0, tag = (int)(it % 5), count;
    int64_t mine = state, got[3] = {0}, turned = rank;
    MPI_Request r[3];
    MPI_Status s;
    MPI_Comm_rank(c, &me);
    MPI_Isend(&mine, 1, MPI_INT64_T, me, tag, c, &r[0]);
    switch (it % 4) {
    case 0: MPI_Recv(&got[0], 1, MPI_INT64_T, me, tag, c, &s); break;
    case 1: MPI_Recv(&got[0], 1, MPI_INT64_T, MPI_ANY_SOURCE, tag, c, &s); break;
    case 2:
        while (!found)
            MPI_Iprobe(MPI_ANY_SOURCE, tag, c, &found, &s);
        must(s.MPI_SOURCE == me && s.MPI_TAG == tag, "what was found from the other side");
        MPI_Recv(&got[0], 1, MPI_INT64_T, s.MPI_SOURCE, s.MPI_TAG, c, &s);
        break;
    default:
        MPI_Irecv(&got[0], 1, MPI_INT64_T, me, MPI_ANY_TAG, c, &r[1]);
        MPI_Wait(&r[1], &s);
    }
    MPI_Get_count(&s, MPI_INT64_T, &count);
    must(s.MPI_SOURCE == me && s.MPI_TAG == tag && count == 1, "whom a message from the other side is from");
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Recv_init(&got[1], 1, MPI_INT64_T, me, 50, c, &r[0]);
    MPI_Send_init(&mine, 1, MPI_INT64_T, me, 50, c, &r[1]);
    MPI_Startall(2, r);
    MPI_Waitall(2, r, (MPI_Status[2]){0});
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    MPI_Sendrecv_replace(&turned, 1, MPI_INT64_T, !me, 51, !me, 51, c, &s);
    must(got[1] == got[0] && s.MPI_SOURCE == !me && turned == (rank < 2 ? 2 : 0) + !me, "there and back between halves");
    mix(got[0]);
}

/* The others tell rank 0 in any order, which answers. */
static void one_with_others(long it)
{
    int64_t mine = it * 10 + rank, sum = 0;
    if (rank) {
        MPI_Ssend(&mine, 1, MPI_INT64_T, 0, 1, on.one);
        MPI_Recv(&sum, 1, MPI_INT64_T, 0, 2, on.one, MPI_STATUS_IGNORE);
    } else {
        int from[3] = {0};
        for (int i = 0; i < 3; i++) {
            MPI_Status s;
            MPI_Recv(&mine, 1, MPI_INT64_T, MPI_ANY_SOURCE, 1, on.one, &s);
            must(mine == it * 10 + 3 - s.MPI_SOURCE && !from[s.MPI_SOURCE]++, "any source on the other side");
            sum += mine;
        }
        for (int i = 0; i < 3; i++)
            MPI_Send(&sum, 1, MPI_INT64_T, i, 2, on.one);
    }
    must(sum == 30 * it + 6, "what rank 0 has added");
    mix(sum);
}

/* Two alone, over a bridge whose other members know nothing of it; and one that is merged and gone. */
static void pair(long it)
{
    MPI_Comm two, both;
    int64_t mine = rank, sum = 0;
    int me;
    if (rank != 1 && rank != 2)
        return;
    MPI_Intercomm_create(MPI_COMM_SELF, 0, on.copy, 3 - rank, (int)(it % 3), &two);
    MPI_Sendrecv(&mine, 1, MPI_INT64_T, 0, 4, &sum, 1, MPI_INT64_T, 0, 4, two, MPI_STATUS_IGNORE);
    must(sum == 3 - rank, "two alone");
    MPI_Intercomm_merge(two, it % 2 ? rank == 1 : 0, &both);
    MPI_Comm_free(&two);
    MPI_Comm_rank(both, &me);
    must(me == (it % 2 ? rank == 1 : rank == 2), "the order of two");
    MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, both);
    must(sum == 3, "a sum of two");
    MPI_Comm_free(&both);
}

static void duplicates(long it)
{
    MPI_Comm copy[2];
    MPI_Request r;
    int result, n;
    MPI_Comm_idup(on.inter, &copy[0], &r);
    across(on.inter, it);
    MPI_Comm_dup(on.inter, &copy[1]);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Comm_compare(copy[0], on.inter, &result);
    MPI_Comm_remote_size(copy[1], &n);
    must(result == MPI_CONGRUENT && n == 2, "a duplicate is congruent");
    MPI_Comm_compare(copy[0], on.merged, &result);
    must(result == MPI_UNEQUAL, "two groups are not one");
    across(copy[0], it + 1);
    across(copy[1], it + 2);
    MPI_Comm_free(&copy[it % 2]);
    MPI_Comm_free(&copy[!(it % 2)]);
}

static void step(long it)
{
    int64_t sum = 0, one = state;
    across(on.inter, it);
    one_with_others(it);
    pair(it);
    duplicates(it);
    MPI_Allreduce(&one, &sum, 1, MPI_INT64_T, MPI_BXOR, on.merged);
    mix(sum);
    ask();
    if (together) { /* each gets what the other half has */
        MPI_Allreduce(&one, &sum, 1, MPI_INT64_T, MPI_BXOR, on.inter);
        MPI_Barrier(on.inter);
        mix(sum);
    }
}

static void run(void *arg)
{
    long it = 0, steps = *(long *)arg;
    int64_t all = 0;
    int wrong = 0;
    state = rank + 1;
    make_all();
    ask();
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("state", &state, SAIKAI_I64, 0, NULL) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while (it < steps) {
        usleep(1000);
        it++;
        executed++;
        step(it);
        saikai_checkpoint(it);
    }
    MPI_Reduce(&state, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&bad, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    saikai_finalize();
    if (!rank)
        printf("between: %ld steps, hash %016llx: %s\n", steps, (unsigned long long)all, wrong ? "WRONG" : "verified");
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
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 2 && !strcmp(argv[1], "-p")) {
        leave(argv[2], (long)getpid());
        argv += 2;
        argc -= 2;
    }
    if (argc < 3 || ranks != RANKS)
        return 2;
    long steps = strtol(argv[2], NULL, 10);
    together = argc > 3 && !strcmp(argv[3], "collective");
    saikai_in_place(run, &steps);
    leave(argv[1], executed);
    MPI_Finalize();
    return 0;
}
