/* Receives that are taken back while their messages come: whether it is too late for that is chance. Each rank gets four messages in each step from the one before it, into
 * receives of which two are to be taken back, and then receives what is left: so the messages come to it in their order, whatever chance decided, and the result
 * is always the same. What chance decided is told to another rank at once, and compared at the end: a process that goes back must not decide anew, and both
 * processes of a rank must decide the same.
 * usage: taken [-p PIDFILE] COUNTS STEPS        with 4 ranks
 * In a third of the steps the messages are there when receives are taken back, in a third they come later, and in a third nobody knows. */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4, MESSAGES = 4, LARGE = 12000 };
enum { DATA = 20, TOLD, GO, SYNCHRONOUS, THERE, LOST }; /* tags */
enum { BEFORE, AFTER, RACE, MOMENTS };
enum { SENDER, RECEIVER, NOBODY, RACES, AHEAD_US = 1500 }; /* who is likely to win */
enum { NAMED, LASTING, ANY_SOURCE, ANY_TAG, WAYS };

static int rank, bad, before, next;
static long executed;
static MPI_Comm own; /* a duplicate */

struct state {
    int64_t hash;
    int64_t order, sent, heard; /* what chance decided; that as it was told, and as it was heard of the next rank */
    int64_t raced[2];           /* where nobody knew: so many were too late, and taken back */
};

static void must(int holds, const char *what)
{
    if (!holds && !bad++)
        printf("rank %d: %s\n", rank, what);
}

static void mix(int64_t *hash, int64_t what)
{
    *hash = (int64_t)(((uint64_t)*hash ^ (uint64_t)what) * 0x100000001b3u + 0x9e3779b97f4a7c15u);
}

/* Another process is slow at other times, and often nobody is. */
static void dawdle(long it, int salt)
{
    uint64_t x = ((uint64_t)getpid() * 7919u + (uint64_t)it * 104729u + (uint64_t)salt * 31u) * 0x9e3779b97f4a7c15u;
    if (x >> 62)
        usleep((unsigned)(x >> 40) % 400);
}

static int64_t value(long it, int from, int i)
{
    return it * 1000 + from * 10 + i;
}

static int size(long it, int i)
{
    return it % 5 == 0 && i % 2 ? LARGE : 1;
}

static void send_all(MPI_Comm c, long it, MPI_Request r[])
{
    static int64_t out[MESSAGES][LARGE];
    for (int i = 0; i < MESSAGES; i++) {
        out[i][0] = out[i][size(it, i) - 1] = value(it, rank, i);
        MPI_Isend(out[i], size(it, i), MPI_INT64_T, next, DATA, c, &r[i]);
    }
}

/* 1: it was taken back. */
static int end(MPI_Request *r, long it)
{
    MPI_Status s;
    int done = 0, is = 0;
    if (it % 5 == 1)
        while (!done)
            MPI_Test(r, &done, &s);
    else
        MPI_Wait(r, &s);
    MPI_Test_cancelled(&s, &is);
    if (!is)
        must(s.MPI_SOURCE == before && s.MPI_TAG == DATA, "whose message it was");
    return is;
}

static int64_t in[MESSAGES][LARGE];

static void begin_all(MPI_Comm c, int way, MPI_Request r[])
{
    for (int i = 0; i < MESSAGES; i++) {
        int source = way == ANY_SOURCE && i % 3 == 0 ? MPI_ANY_SOURCE : before, tag = way == ANY_TAG && i % 3 == 0 ? MPI_ANY_TAG : DATA;
        in[i][0] = -1;
        (way == LASTING ? MPI_Recv_init : MPI_Irecv)(in[i], LARGE, MPI_INT64_T, source, tag, c, &r[i]);
    }
    if (way == LASTING)
        MPI_Startall(MESSAGES, r);
}

/* What has come is the beginning of what was sent, in its order, and what was taken back is as it was. */
static void take(struct state *s, MPI_Comm c, long it, MPI_Request r[], int moment, int way)
{
    int n = 0, tried = 0, taken = 0;
    for (int i = 0; i < MESSAGES; i++) {
        int is = end(&r[i], it), may = i % 2 == (int)(it % 2);
        tried += may;
        taken += is;
        must(may || !is, "a receive was taken back that nobody took back");
        must(in[i][0] == (is ? -1 : value(it, before, n)), "what is in a receive");
        n += !is;
        if (!is)
            mix(&s->hash, in[i][0]);
        if (may)
            mix(&s->order, is);
        if (may && moment == RACE)
            s->raced[is]++;
        if (way == LASTING)
            MPI_Request_free(&r[i]);
    }
    must(moment != AFTER || taken == tried, "not all were taken back of which there were no messages yet");
    for (; n < MESSAGES; n++) {
        MPI_Recv(in[0], LARGE, MPI_INT64_T, before, DATA, c, MPI_STATUS_IGNORE);
        must(in[0][0] == value(it, before, n) && in[0][size(it, n) - 1] == in[0][0], "what was left to receive");
        mix(&s->hash, in[0][0]);
    }
}

/* Nobody sends these: they are taken back and forgotten. And one whose message is there before that. */
static void forget(MPI_Comm c)
{
    static int64_t nothing[3];
    MPI_Request r[3];
    MPI_Irecv(&nothing[0], 1, MPI_INT64_T, next, LOST, c, &r[0]);
    MPI_Recv_init(&nothing[1], 1, MPI_INT64_T, MPI_ANY_SOURCE, LOST, c, &r[1]);
    MPI_Start(&r[1]);
    MPI_Cancel(&r[0]);
    MPI_Cancel(&r[1]);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    MPI_Probe(before, THERE, c, MPI_STATUS_IGNORE);
    MPI_Irecv(&nothing[2], 1, MPI_INT64_T, before, THERE, c, &r[2]);
    MPI_Cancel(&r[2]);
    MPI_Request_free(&r[2]);
    must(nothing[0] == 0 && nothing[1] == 0, "where nothing comes");
}

/* A message that is sent is sent. */
static void send_for_sure(MPI_Comm c, const struct state *s)
{
    MPI_Request r;
    MPI_Status status;
    int64_t theirs;
    int is = 0;
    MPI_Issend(&s->hash, 1, MPI_INT64_T, next, SYNCHRONOUS, c, &r);
    MPI_Cancel(&r);
    MPI_Recv(&theirs, 1, MPI_INT64_T, before, SYNCHRONOUS, c, MPI_STATUS_IGNORE);
    MPI_Wait(&r, &status);
    MPI_Test_cancelled(&status, &is);
    must(!is, "a message that was sent was taken back");
}

static void step(struct state *s, long it)
{
    MPI_Request r[MESSAGES], sends[MESSAGES];
    int moment = (int)(it % MOMENTS), way = (int)(it / MOMENTS % WAYS), kind = moment == RACE ? (int)(it / MOMENTS % RACES) : -1,
        sends_first = kind == SENDER || (kind == NOBODY && (rank + it) % 2);
    MPI_Comm c = it % 7 < 3 ? own : MPI_COMM_WORLD;
    int64_t told, go = it;
    int flag;
    if (moment == BEFORE || sends_first)
        send_all(c, it, sends);
    if (moment == BEFORE)
        MPI_Probe(before, DATA, c, MPI_STATUS_IGNORE);
    begin_all(c, way, r);
    if (kind == SENDER)
        usleep(AHEAD_US);
    if (kind == NOBODY)
        dawdle(it, rank);
    if (sends_first) /* MPI gives out what has come when it looks */
        MPI_Iprobe(next, LOST, c, &flag, MPI_STATUS_IGNORE);
    MPI_Cancel(&r[it % 2 + (it % 4 < 2 ? 2 : 0)]);
    MPI_Cancel(&r[it % 2 + (it % 4 < 2 ? 0 : 2)]);
    usleep(1000); /* whoever dies is likely to die while receives behind such are open */
    if (moment == AFTER) {
        MPI_Send(&go, 1, MPI_INT64_T, before, GO, c);
        MPI_Recv(&go, 1, MPI_INT64_T, next, GO, c, MPI_STATUS_IGNORE);
    }
    if (kind == RECEIVER)
        usleep(AHEAD_US);
    if (moment != BEFORE && !sends_first)
        send_all(c, it, sends);
    take(s, c, it, r, moment, way);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Wait(&sends[i], MPI_STATUS_IGNORE);
    mix(&s->sent, s->order);
    MPI_Sendrecv(&s->order, 1, MPI_INT64_T, before, TOLD, &told, 1, MPI_INT64_T, next, TOLD, c, MPI_STATUS_IGNORE);
    mix(&s->heard, told);
    MPI_Send(&s->hash, 1, MPI_INT64_T, next, THERE, c);
    forget(c);
    send_for_sure(c, s);
}

/* 1: all that was told was heard, and both happened where nobody knew. */
static int agrees(const struct state *s)
{
    int64_t theirs, raced[2];
    MPI_Sendrecv(&s->sent, 1, MPI_INT64_T, before, TOLD, &theirs, 1, MPI_INT64_T, next, TOLD, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(s->raced, raced, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    must(theirs == s->heard, "what chance decided is not what was told of it");
    must(raced[0] > 0 && raced[1] > 0, "nothing was left to chance");
    return !bad;
}

static void run(void *arg)
{
    static struct state s;
    long it = 0, steps = *(long *)arg;
    int64_t all = 0;
    memset(&s, 0, sizeof s);
    s.hash = rank + 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("state", &s, SAIKAI_I64, 1, (size_t[]){sizeof s / sizeof s.hash}) < 0 ||
        saikai_restart(&it) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    while (it < steps) {
        it++;
        executed++;
        step(&s, it);
        saikai_checkpoint(it);
    }
    int well = agrees(&s), fine = 0;
    mix(&s.hash, value(steps, rank, 0));
    MPI_Reduce(&s.hash, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&well, &fine, 1, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Comm_free(&own);
    saikai_finalize();
    if (!rank)
        printf("taken: %ld steps, hash %016llx: %s\n", steps, (unsigned long long)all, fine ? "verified" : "WRONG");
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
    next = (rank + 1) % RANKS;
    before = (rank + RANKS - 1) % RANKS;
    long steps = strtol(argv[2], NULL, 10);
    saikai_in_place(run, &steps);
    leave(argv[1], executed);
    MPI_Finalize();
    return 0;
}
