/* IS, "integer sort": ranks of random keys, ten times, with a key or two changed in between. Each rank counts its keys in buckets, the buckets
 * are dealt out so that each rank gets as many keys as another, and each counts what it got. NAS-95-020, section 2.5.
 * usage: is [-p PIDFILE] [S|W|A|B] */
#include "npb.h"

enum { ITERATIONS = 10, LOG_BUCKETS = 10, BUCKETS = 1 << LOG_BUCKETS, TESTED = 5 };
static const uint64_t seed = 314159265;

/* Five keys, by where they are, and the ranks that they must have: so many more, or fewer, as there were iterations. */
static const struct size_class {
    char name;
    int log_keys, log_most;
    long at[TESTED], rank[TESTED];
    int sign[TESTED], from; /* rank + sign (iteration - from) */
    int from_first;         /* where another one is meant for the positive */
} classes[] = {
    {'S', 16, 11, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}, {1, 1, 1, -1, -1}, 0, 0},
    {'W', 20, 16, {357773, 934767, 875723, 898999, 404505}, {1249, 11698, 1039987, 1043896, 1048018}, {1, 1, -1, -1, -1}, 0, 2},
    {'A', 23, 19, {2112377, 662041, 5336171, 3642833, 4250760}, {104, 17523, 123928, 8288932, 8388264}, {1, 1, 1, -1, -1}, 1, 1},
    {'B', 25, 21, {41869, 812306, 5102857, 18232239, 26860214}, {33422937, 10244, 59149, 33135281, 99}, {-1, 1, 1, -1, 1}, 0, 0},
};

struct sort {
    const struct size_class *size;
    long n, got, least;        /* keys of this rank; those it was sent, and the smallest that can be among them */
    int32_t *key, *sent, *own; /* as they are, by bucket, and those it was sent */
    int32_t *count;            /* of own, by value: first how many, then how many are no larger */
    long smaller;              /* keys that others got and are smaller */
    int failed;
};

static void make_keys(struct sort *s)
{
    uint64_t state = npb_jump(seed, 4 * (uint64_t)s->n * (uint64_t)example_rank);
    double quarter = (double)(1 << s->size->log_most) / 4;
    for (long i = 0; i < s->n; i++) {
        double sum = npb_random(&state);
        sum += npb_random(&state);
        sum += npb_random(&state);
        sum += npb_random(&state);
        s->key[i] = (int32_t)(quarter * sum);
    }
}

/* How many keys are in each bucket, then the tested keys, of those that have them. */
static void count_buckets(const struct sort *s, int32_t *size)
{
    int shift = s->size->log_most - LOG_BUCKETS;
    memset(size, 0, (BUCKETS + TESTED) * sizeof *size);
    for (long i = 0; i < s->n; i++)
        size[s->key[i] >> shift]++;
    for (int i = 0; i < TESTED; i++)
        if (s->size->at[i] / s->n == example_rank)
            size[BUCKETS + i] = s->key[s->size->at[i] % s->n];
}

/* send[r]: how many keys this rank has for rank r. Those of this rank are in own afterwards. */
static void deal(struct sort *s, const int32_t *mine, const int32_t *all, int *send)
{
    int shift = s->size->log_most - LOG_BUCKETS, rank = 0, *receive = npb_array(3 * (size_t)example_ranks, sizeof *receive);
    int *send_at = receive + example_ranks, *receive_at = send_at + example_ranks;
    int32_t at[BUCKETS];
    long sum = 0, before = 0;
    memset(send, 0, (size_t)example_ranks * sizeof *send);
    s->least = -1;
    for (int b = 0; b < BUCKETS; b++) {
        while (rank + 1 < example_ranks && sum >= (rank + 1) * s->n)
            rank++;
        at[b] = (int32_t)before;
        before += mine[b];
        send[rank] += mine[b];
        if (rank == example_rank && s->least < 0) {
            s->least = (long)b << shift;
            s->smaller = sum;
        }
        sum += all[b];
    }
    for (long i = 0; i < s->n; i++)
        s->sent[at[s->key[i] >> shift]++] = s->key[i];
    MPI_Alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, MPI_COMM_WORLD);
    long given = 0;
    s->got = 0;
    for (int r = 0; r < example_ranks; r++) {
        send_at[r] = (int)given;
        receive_at[r] = (int)s->got;
        given += send[r];
        s->got += receive[r];
    }
    s->own = realloc(s->own, (size_t)(s->got + 1) * sizeof *s->own);
    if (!s->own)
        example_fail("is", "no memory");
    MPI_Alltoallv(s->sent, send, send_at, MPI_INT32_T, s->own, receive, receive_at, MPI_INT32_T, MPI_COMM_WORLD);
    free(receive);
}

/* One iteration; with a check of the five. */
static void rank_keys(struct sort *s, int iteration, int *send)
{
    const struct size_class *c = s->size;
    int32_t mine[BUCKETS + TESTED], all[BUCKETS + TESTED];
    if (!example_rank) {
        s->key[iteration] = iteration;
        s->key[iteration + ITERATIONS] = (1 << c->log_most) - iteration;
    }
    count_buckets(s, mine);
    MPI_Allreduce(mine, all, BUCKETS + TESTED, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
    deal(s, mine, all, send);
    memset(s->count, 0, ((size_t)1 << c->log_most) * sizeof *s->count);
    for (long i = 0; i < s->got; i++)
        s->count[s->own[i]]++;
    for (long k = 1; k < 1l << c->log_most; k++)
        s->count[k] += s->count[k - 1];
    for (int i = 0; i < TESTED; i++) {
        long k = all[BUCKETS + i], should = c->rank[i] + c->sign[i] * (iteration - (c->sign[i] > 0 ? c->from_first : c->from));
        long below = k ? s->count[k - 1] : 0;
        int is_mine = s->least >= 0 && k >= s->least && s->count[k] > below;
        s->failed += is_mine && s->smaller + below != should;
    }
}

/* Whether all keys, put where they belong, are in order, within each rank and from one to the next. */
static int is_sorted(struct sort *s)
{
    long wrong = s->failed, all = 0, total = 0, got = s->got;
    int32_t least = INT32_MAX, most = -1, *ends = npb_array(2 * (size_t)example_ranks, sizeof *ends), before = -1;
    for (long i = 0; i < s->got; i++) {
        least = s->own[i] < least ? s->own[i] : least;
        most = s->own[i] > most ? s->own[i] : most;
    }
    int32_t end[2] = {least, most};
    MPI_Allgather(end, 2, MPI_INT32_T, ends, 2, MPI_INT32_T, MPI_COMM_WORLD);
    for (int r = 0; r < example_ranks; r++)
        if (ends[2 * r + 1] >= 0) {
            wrong += ends[2 * r] < before;
            before = ends[2 * r + 1];
        }
    free(ends);
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&got, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return !all && total == s->n * example_ranks;
}

static void body(void *arg)
{
    static struct sort s;
    struct npb_run *run = arg;
    free(s.key), free(s.sent), free(s.own), free(s.count);
    s = (struct sort){.size = classes};
    while (s.size->name != run->size)
        s.size++;
    s.n = (1l << s.size->log_keys) / example_ranks;
    size_t n = (size_t)s.n;
    s.key = npb_array(n, sizeof *s.key);
    s.sent = npb_array(n, sizeof *s.sent);
    s.count = npb_array((size_t)1 << s.size->log_most, sizeof *s.count);
    int *send = npb_array((size_t)example_ranks, sizeof *send);
    long done = 0;
    make_keys(&s);
    if (saikai_init(MPI_COMM_WORLD, NULL) < 0 || saikai_protect("keys", s.key, SAIKAI_I32, 1, &n) < 0 || saikai_restart(&done) < 0)
        example_fail("is", saikai_error_text());
    npb_clock_starts(run);
    while (done < ITERATIONS) {
        rank_keys(&s, (int)done + 1, send);
        if (++done < ITERATIONS) /* what the last one makes is looked at below, and is no part of the state */
            saikai_checkpoint(done);
    }
    npb_clock_stops(run);
    npb_tell(run, (double)s.got, is_sorted(&s));
    free(send);
    saikai_finalize();
}

int main(int argc, char **argv)
{
    return npb_main(argc, argv, "is", 256, body);
}
