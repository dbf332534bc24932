/* A solver that duplicates communicators while it does other things (MPI_Comm_idup): several at once, in a ring of pairs that would lock each other up
 * if anybody waited at the call, beside collectives and functions that make communicators, waited for in other orders than they were begun in. Numbers in use
 * differ from rank to rank. Under the protocol logging whoever survives a fault computes no step twice. What each duplicate is good for is held against
 * what it must be.
 * usage: duplicates [-p PIDFILE] COUNTS STEPS [tags]        with 4 ranks; tags: none is MPI_ANY_TAG */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "neighbours/until.h"

enum { RANKS = 4, PAIRS = 2, SOME = 3 };

static int rank, bad, keyval, names_tags;
static long executed;
static int64_t state;
static struct {
    MPI_Comm pair[PAIRS]; /* with the next rank, and with the one before */
    MPI_Comm skew, grid, early, half;
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

/* ---- what a duplicate is good for ---- */

static void exchange(MPI_Comm c, long it)
{
    int n, me, found = 0;
    MPI_Comm_size(c, &n);
    MPI_Comm_rank(c, &me);
    int next = (me + 1) % n, before = (me + n - 1) % n, tag = (int)(it % 5), any = names_tags ? tag : MPI_ANY_TAG;
    int64_t mine = state, got = 0, sum = 0, all[RANKS], should = 0, turned = me;
    MPI_Request r[2];
    MPI_Status s;
    MPI_Isend(&mine, 1, MPI_INT64_T, next, tag, c, &r[0]);
    switch (it % 4) {
    case 0: MPI_Recv(&got, 1, MPI_INT64_T, before, tag, c, &s); break;
    case 1: MPI_Recv(&got, 1, MPI_INT64_T, MPI_ANY_SOURCE, any, c, &s); break;
    case 2:
        while (!found)
            MPI_Iprobe(MPI_ANY_SOURCE, tag, c, &found, &s);
        MPI_Recv(&got, 1, MPI_INT64_T, s.MPI_SOURCE, s.MPI_TAG, c, &s);
        break;
    default:
        MPI_Irecv(&got, 1, MPI_INT64_T, before, any, c, &r[1]);
        MPI_Wait(&r[1], &s);
    }
    must(s.MPI_SOURCE == before && s.MPI_TAG == tag, "whom a message on a duplicate is from");
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT64_T, MPI_BXOR, c, &r[0]);
    MPI_Allgather(&mine, 1, MPI_INT64_T, all, 1, MPI_INT64_T, c);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        should ^= all[i];
    must(sum == should && all[before] == got && all[me] == mine, "collectives on a duplicate");
    MPI_Sendrecv_replace(&turned, 1, MPI_INT64_T, next, 3, before, 3, c, &s);
    must(turned == before, "there and back on a duplicate");
    mix(got);
    mix(sum);
}

/* Communicators made of one. */
static void make_of(MPI_Comm c, long it)
{
    int n, me;
    MPI_Comm part, copy, some;
    MPI_Group all, two;
    MPI_Comm_size(c, &n);
    MPI_Comm_rank(c, &me);
    MPI_Comm_split(c, me % 2, -me, &part);
    exchange(part, it);
    MPI_Comm_dup(part, &copy);
    MPI_Comm_free(&part);
    exchange(copy, it + 1);
    MPI_Comm_free(&copy);
    MPI_Comm_group(c, &all);
    MPI_Group_incl(all, 2, (int[]){n - 1, 0}, &two);
    if (!me || me == n - 1) {
        MPI_Comm_create_group(c, two, 5, &some);
        exchange(some, it + 2);
        MPI_Comm_free(&some);
    }
    MPI_Group_free(&two);
    MPI_Group_free(&all);
}

/* ---- begun at once ---- */

static void await(MPI_Request r[], int n, long it)
{
    int index[8], some, flag = 0, left = n;
    MPI_Status s[8];
    switch (it % 4) {
    case 0: MPI_Waitall(n, r, s); break;
    case 1:
        for (int i = n; i-- > 0;)
            MPI_Wait(&r[i], MPI_STATUS_IGNORE);
        break;
    case 2:
        for (; left > 0; left -= some)
            MPI_Waitsome(n, r, &some, index, s);
        break;
    default:
        while (!flag)
            MPI_Testall(n, r, &flag, s);
    }
}

/* Each rank has a pair with the next one and one with the one before, and half of them duplicate them in the other order. */
static void ring(long it)
{
    MPI_Comm copy[PAIRS];
    MPI_Request r[PAIRS];
    int first = (int)((it + rank) / 2 % 2);
    for (int i = 0; i < PAIRS; i++) {
        int which = i ? !first : first;
        MPI_Comm_idup(on.pair[which], &copy[which], &r[which]);
        must(copy[which] != MPI_COMM_NULL, "the handle of a duplicate");
    }
    await(r, PAIRS, it);
    for (int i = 0; i < PAIRS; i++) { /* as the pairs are: one rank after the other */
        int which = rank % 2 ? !i : i;
        exchange(copy[which], it);
        MPI_Comm_free(&copy[which]);
    }
}

/* Several of one communicator, others between them, and what makes communicators meanwhile. */
static void several(long it)
{
    MPI_Comm copy[SOME], other, grid;
    MPI_Request r[SOME + 2];
    int64_t one = rank, sum = -1, *kept = NULL;
    int there = 0, coords[2], dims[2], periods[2], result;
    static int64_t value[2];
    value[0] = it;
    MPI_Comm_set_attr(on.half, keyval, &value[0]);
    MPI_Comm_idup(on.half, &copy[0], &r[0]);
    MPI_Comm_set_attr(on.half, keyval, &value[1]);
    MPI_Comm_idup(MPI_COMM_WORLD, &copy[1], &r[1]);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &r[2]);
    MPI_Comm_dup(on.grid, &other);
    MPI_Comm_idup(MPI_COMM_WORLD, &copy[2], &r[3]);
    MPI_Comm_idup(on.grid, &grid, &r[4]);
    exchange(other, it);
    MPI_Comm_free(&other);
    await(r, SOME + 2, it + 1);
    must(sum == RANKS * (RANKS - 1) / 2, "MPI_Iallreduce beside duplicates");
    MPI_Comm_get_attr(copy[0], keyval, &kept, &there);
    must(there && kept == &value[0], "an attribute goes over when MPI_Comm_idup is called");
    MPI_Comm_compare(copy[1], MPI_COMM_WORLD, &result);
    must(result == MPI_CONGRUENT, "a duplicate is congruent");
    MPI_Cart_get(grid, 2, dims, periods, coords);
    must(dims[0] == 2 && dims[1] == 2 && periods[0] && !periods[1] && coords[0] == rank / 2, "the grid of a duplicate");
    for (int i = 0; i < SOME; i++)
        exchange(copy[i], it + i);
    exchange(grid, it);
    make_of(copy[it % 2 ? 1 : 2], it);
    for (int i = 0; i < SOME; i++)
        MPI_Comm_free(&copy[(i + it) % SOME]);
    MPI_Comm_free(&grid);
}

/* One is freed while something is under way on it, and the next one, which may have its number at some ranks alone, is used at once. */
static void freed(long it)
{
    MPI_Comm copy, next;
    MPI_Request r[4];
    int64_t one = it + rank, sum[3] = {0};
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Iallreduce(&one, &sum[0], 1, MPI_INT64_T, MPI_SUM, copy, &r[0]);
    MPI_Ibarrier(copy, &r[1]);
    MPI_Comm_free(&copy);
    MPI_Comm_idup(on.grid, &next, &r[2]);
    MPI_Wait(&r[2], MPI_STATUS_IGNORE);
    MPI_Iallreduce(&one, &sum[1], 1, MPI_INT64_T, MPI_MAX, next, &r[2]);
    MPI_Iallreduce(&one, &sum[2], 1, MPI_INT64_T, MPI_MIN, next, &r[3]);
    MPI_Comm_free(&next);
    await(r, 4, it + 3);
    must(sum[0] == RANKS * it + RANKS * (RANKS - 1) / 2 && sum[1] == it + RANKS - 1 && sum[2] == it, "collectives on what was freed");
}

static void step(long it)
{
    ring(it);
    several(it);
    freed(it);
    exchange(on.early, it);
}

/* ---- the program ---- */

static void set_up(void)
{
    MPI_Group all, two;
    MPI_Request r;
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    for (int i = 0; i < RANKS; i++) {
        MPI_Comm c;
        int mine = rank == i ? 0 : rank == (i + 1) % RANKS ? 1 : -1;
        MPI_Comm_split(MPI_COMM_WORLD, mine < 0 ? MPI_UNDEFINED : 0, 0, &c);
        if (mine >= 0)
            on.pair[mine] = c;
    }
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, (int[]){0, 1}, &two);
    on.skew = MPI_COMM_NULL;
    if (rank < 2)
        MPI_Comm_create_group(MPI_COMM_WORLD, two, 1, &on.skew);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &on.half);
    MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 2}, (int[]){1, 0}, 0, &on.grid);
    if (rank < 2)
        MPI_Comm_free(&on.skew); /* a number that is free at these alone */
    MPI_Group_free(&two);
    MPI_Group_free(&all);
    MPI_Comm_idup(MPI_COMM_WORLD, &on.early, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void run(void *arg)
{
    long it = 0, steps = *(long *)arg;
    int64_t all = 0;
    int wrong = 0;
    state = rank + 1;
    set_up();
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("state", &state, SAIKAI_I64, 0, NULL) < 0 || saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while (it < steps) {
        usleep(1000);
        if (++it == steps)
            wait_for_the_end();
        executed++;
        step(it);
        saikai_checkpoint(it);
    }
    MPI_Reduce(&state, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&bad, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    saikai_finalize();
    if (!rank)
        printf("duplicates: %ld steps, hash %016llx: %s\n", steps, (unsigned long long)all, wrong ? "WRONG" : "verified");
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
    names_tags = argc > 3;
    saikai_in_place(run, &steps);
    leave(argv[1], executed);
    MPI_Finalize();
    return 0;
}
