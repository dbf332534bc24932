/* Speed of coding and of rebuilding: N ranks of one machine, each with one file in memory.
 * usage: redundancy [ranks [MiB per rank [rounds [dir [scheme [form]]]]]]      defaults: 4 128 7
 * /dev/shm, all
 *
 * The ranks are threads. Built with BENCH_MPI they are processes that speak through MPI (ranks is
 * then what mpirun started): slower, as what others measure on a machine is; without the figures of
 * processor time, since MPI waits by polling.
 *
 * Aggregate throughput is data of all ranks over the time of a complete encode: sizes exchanged,
 * parity coded, hashed, written to its file and named. There are two ways of it. "files": each file
 * is mapped and hashed, as for files that somebody else wrote. "lent": as a session does it, whose
 * committer has the file mapped and took its checksum while it sealed it; mappings of parity files
 * are kept, too. Each figure is the median of the rounds. It stands beside what the machine allows
 * in the same run: memcpy on as many threads as there are cores, and the kernels alone from memory
 * to memory. */
#include "threads.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/file/io.h"
#include "redundancy/set/encode.h"
#include "redundancy/set/parity_file.h"
#include "redundancy/set/rebuild.h"
#include "redundancy/set/kept_maps.h"

#ifdef BENCH_MPI
#include "group/mpi.h"
#endif

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROUNDS = 99, MAX_RANKS = 36, BLOCK = 64 << 10 };

struct bench {
    int ranks, rounds, parity, round, lost;
    size_t bytes;
    const char *scheme, *form;
    char top[300];
    double encode[MAX_ROUNDS], rebuild[MAX_ROUNDS];
    double encode_cpu[MAX_ROUNDS], rebuild_cpu[MAX_ROUNDS];
    uint64_t sent[MAX_RANKS], most_on_link;
    const char *used;
    int lent;
    struct sk_source source[MAX_RANKS];
    struct sk_kept_maps *kept[MAX_RANKS];
    struct sk_group *group; /* of processes; NULL: ranks are threads */
};

static void run(struct bench *b, int (*fn)(struct sk_group *g, void *arg))
{
    if (b->group)
        fn(b->group, b);
    else
        sk_threads_run(b->ranks, fn, b);
}

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_size);
    return v[n / 2];
}

static void die(const struct saikai_error *err)
{
    fprintf(stderr, "redundancy: %s\n", err->text);
    exit(1);
}

static void paths(const struct bench *b, int rank, int generation, char *data, char *parity)
{
    snprintf(data, 400, "%s/rank%d/data/part", b->top, rank);
    snprintf(parity, 400, "%s/rank%d/parity%d", b->top, rank, generation);
}

static int first_rank(const struct bench *b)
{
    return b->group ? b->group->rank : 0;
}

static int end_rank(const struct bench *b)
{
    return b->group ? b->group->rank + 1 : b->ranks;
}

static void write_data(struct bench *b)
{
    char *p = malloc(b->bytes);
    for (int r = first_rank(b); r < end_rank(b); r++) {
        char data[400], parity[400], dir[400];
        struct saikai_error err = {0};
        for (size_t i = 0; i < b->bytes; i++)
            p[i] = (char)((i * 2654435761u) >> 13 ^ (size_t)r);
        snprintf(dir, sizeof dir, "%s/rank%d/data", b->top, r);
        paths(b, r, 0, data, parity);
        if (sk_io_mkdirs(dir, &err) || sk_io_replace(data, p, b->bytes, &err))
            die(&err);
    }
    free(p);
}

/* What a session has of its file when it is coded. */
static void lend(struct bench *b)
{
    for (int r = first_rank(b); r < end_rank(b); r++) {
        char data[400], parity[400];
        struct saikai_error err = {0};
        void *map = NULL;
        paths(b, r, 0, data, parity);
        int fd = sk_io_open(data, O_RDWR, 0, &err);
        if (fd < 0 || sk_io_map(fd, data, b->bytes, 1, &map, &err))
            die(&err);
        close(fd);
        b->source[r] = (struct sk_source){map, b->bytes, sk_hash64(map, b->bytes), 1};
        b->kept[r] = sk_kept_maps_new();
    }
    b->lent = 1;
}

static void take_back(struct bench *b)
{
    for (int r = first_rank(b); r < end_rank(b); r++) {
        munmap((void *)b->source[r].map, b->bytes);
        sk_kept_maps_free(b->kept[r]);
    }
    b->lent = 0;
}

/* Generations take turns at two parity files, so that the older one is written over. */
static int encode_rank(struct sk_group *g, void *arg)
{
    struct bench *b = arg;
    char data[400], parity[400], old[400];
    const char *list = data;
    struct saikai_error err = {0};
    paths(b, g->rank, b->round % 2, data, parity);
    snprintf(old, sizeof old, "%s", parity);
    struct sk_encode_params p = {
        .coding = {.scheme = b->scheme, .parity = b->parity, .form = b->form},
        .generation = (uint64_t)b->round,
        .rank = (uint32_t)g->rank,
        .files = 1,
        .path = &list,
        .source = b->lent ? &b->source[g->rank] : NULL,
        .kept = b->lent ? b->kept[g->rank] : NULL,
        .parity_path = parity,
        .recycle_path = old};
    struct sk_encode_result r;
    sk_group_barrier(g);
    double start = sk_now(), cpu = cpu_now();
    if (sk_encode(g, &p, &r, &err))
        die(&err);
    sk_group_barrier(g);
    if (!g->rank) {
        b->encode[b->round] = sk_now() - start;
        b->encode_cpu[b->round] = cpu_now() - cpu;
        b->used = r.form;
    }
    b->sent[g->rank] = r.sent_bytes;
    return 0;
}

static int rebuild_rank(struct sk_group *g, void *arg)
{
    struct bench *b = arg;
    char data[400], parity[400], dir[400];
    struct saikai_error err = {0};
    paths(b, g->rank, (b->rounds - 1) % 2, data, parity);
    snprintf(dir, sizeof dir, "%s/rank%d/data", b->top, g->rank);
    struct sk_holding h = {parity, dir, (uint32_t)g->rank};
    struct sk_claim c = {(uint32_t)g->rank, parity, dir};
    struct sk_rebuild_params p = {.generation = (uint64_t)b->rounds - 1,
                                  .holding = &h,
                                  .holdings = 1,
                                  .claim = &c,
                                  .claims = 1,
                                  .form = !strcmp(b->form, "auto") ? NULL : b->form};
    if (g->rank == b->lost) {
        unlink(data);
        unlink(parity);
    }
    sk_group_barrier(g);
    double start = sk_now(), cpu = cpu_now();
    if (sk_rebuild(g, &p, NULL, &err))
        die(&err);
    sk_group_barrier(g);
    if (!g->rank) {
        b->rebuild[b->round] = sk_now() - start;
        b->rebuild_cpu[b->round] = cpu_now() - cpu;
    }
    return 0;
}

/* ---- what the machine allows ---- */

struct worker {
    uint8_t *data, *parity;
    size_t bytes;
    int k, m;
};

static void *copy_worker(void *arg)
{
    struct worker *w = arg;
    memcpy(w->parity, w->data, w->bytes);
    return NULL;
}

static void *code_worker(void *arg)
{
    struct worker *w = arg;
    uint8_t g[SK_MAX_PARITY * SK_MAX_DATA], *out[SK_MAX_PARITY];
    const uint8_t *in[SK_MAX_DATA];
    sk_cauchy(w->k, w->m, g);
    size_t column = w->bytes / (size_t)w->k / 64 * 64;
    for (size_t at = 0; at + BLOCK <= column; at += BLOCK) {
        for (int i = 0; i < w->k; i++)
            in[i] = w->data + (size_t)i * column + at;
        for (int r = 0; r < w->m; r++)
            out[r] = w->parity + (size_t)r * column + at;
        sk_kernel_dot(BLOCK, w->k, w->m, g, in, out);
    }
    return NULL;
}

/* Bytes per second: of the clock, and of one core's time. */
struct rate {
    double wall, core;
};

static struct rate machine(struct bench *b, int k, int m, void *(*fn)(void *))
{
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    double t[MAX_ROUNDS], cpu[MAX_ROUNDS];
    struct worker w[64];
    pthread_t id[64];
    cores = cores > 64 ? 64 : cores;
    size_t room = m > k ? b->bytes * (size_t)m : b->bytes;
    for (int i = 0; i < cores; i++) {
        w[i] =
            (struct worker){aligned_alloc(64, b->bytes), aligned_alloc(64, room), b->bytes, k, m};
        memset(w[i].data, i + 1, b->bytes);
        memset(w[i].parity, 1, room);
    }
    for (int round = 0; round < b->rounds; round++) {
        double start = sk_now(), cpu_start = cpu_now();
        for (int i = 0; i < cores; i++)
            pthread_create(&id[i], NULL, fn, &w[i]);
        for (int i = 0; i < cores; i++)
            pthread_join(id[i], NULL);
        t[round] = sk_now() - start;
        cpu[round] = cpu_now() - cpu_start;
    }
    for (int i = 0; i < cores; i++) {
        free(w[i].data);
        free(w[i].parity);
    }
    double bytes = (double)cores * (double)b->bytes / 1e9;
    return (struct rate){bytes / median(t, b->rounds), bytes / median(cpu, b->rounds)};
}

static double both(double a, double b)
{
    return 1 / (1 / a + 1 / b);
}

/* Median throughput of encodes, by the clock and by processor time. */
static struct rate encode(struct bench *b)
{
    double data = (double)b->ranks * (double)b->bytes / 1e9;
    for (b->round = 0; b->round < b->rounds; b->round++)
        run(b, encode_rank);
    /* the first two rounds make the files */
    return (struct rate){data / median(b->encode + 2, b->rounds - 2),
                         data / median(b->encode_cpu + 2, b->rounds - 2)};
}

static void print_encode(const struct bench *b, const char *way, const struct rate *r,
                         const struct rate *copy, const struct rate *kernel)
{
    double most = 0;
    for (int i = 0; i < b->ranks; i++)
        most = (double)b->sent[i] > most ? (double)b->sent[i] : most;
    printf("%-7s %d  %-9s %-5s %6.2f %6.2f %6.2f  %6.2f %6.2f %6.2f  %6.3f", b->scheme, b->parity,
           b->used, way, r->wall, r->wall / copy->wall, r->wall / both(copy->wall, kernel->wall),
           r->core, r->core / copy->core, r->core / both(copy->core, kernel->core),
           most / (double)b->bytes);
}

static void measure(struct bench *b, const char *scheme, int m, const char *form,
                    const struct rate *copy)
{
    int k = strcmp(scheme, "partner") ? b->ranks - m : 1;
    b->scheme = scheme;
    b->parity = m;
    b->form = form;
    lend(b);
    struct rate lent = encode(b);
    take_back(b);
    struct rate files = encode(b);
    for (b->round = 0; b->round < b->rounds; b->round++) {
        b->lost = b->round % b->ranks;
        run(b, rebuild_rank);
    }
    double rebuilt = median(b->rebuild, b->rounds) * 1e3,
           rebuilt_cpu = median(b->rebuild_cpu, b->rounds) * 1e3;
    if (b->group) {
        if (!b->group->rank)
            printf("%-7s %d  %-9s lent %6.2f GB/s  files %6.2f GB/s  rebuild %7.1f ms\n", scheme, m,
                   b->used, lent.wall, files.wall, rebuilt);
        fflush(stdout);
        return;
    }
    struct rate kernel = machine(b, k, m, code_worker);
    print_encode(b, "lent", &lent, copy, &kernel);
    printf("\n");
    print_encode(b, "files", &files, copy, &kernel);
    printf("  %7.1f %7.1f\n", rebuilt, rebuilt_cpu);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct bench b;
    b.ranks = argc > 1 ? atoi(argv[1]) : 4;
    b.bytes = (size_t)(argc > 2 ? atoi(argv[2]) : 128) << 20;
    b.rounds = argc > 3 ? atoi(argv[3]) : 7;
    if (b.ranks < 2 || b.ranks > MAX_RANKS || b.rounds < 3 || b.rounds > MAX_ROUNDS || !b.bytes) {
        fprintf(stderr,
                "usage: redundancy [ranks [MiB per rank [rounds [dir [scheme [form]]]]]]\n");
        return 2;
    }
    long number = (long)getpid();
#ifdef BENCH_MPI
    struct saikai_error err = {0};
    if (sk_group_mpi_start(&b.group, &err) || sk_group_bcast(b.group, &number, sizeof number, 0))
        die(&err);
    b.ranks = b.group->size;
#endif
    snprintf(b.top, sizeof b.top, "%s/redundancy-bench-%ld", argc > 4 ? argv[4] : "/dev/shm",
             number);
    write_data(&b);
    struct rate copy = {0, 0};
    if (!b.group) {
        copy = machine(&b, 1, 1, copy_worker);
        printf("%d ranks x %zu MiB, median of %d; memcpy on all cores %.1f GB/s, per core's second "
               "%.1f GB\n",
               b.ranks, b.bytes >> 20, b.rounds, copy.wall, copy.core);
        printf("                            GB/s  /copy /allow   GB/cs  /copy /allow  sent/own  "
               "rebuild "
               "ms, core ms\n");
    }
    static const struct {
        const char *scheme;
        int m;
    } cases[] = {{"partner", 1}, {"xor", 1}, {"rs", 2}, {"rs", 3}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int f = -1; f < 0 || sk_transfer_at(f); f++)
            if (cases[c].m < b.ranks && (argc < 6 || !strcmp(argv[5], cases[c].scheme)) &&
                (argc < 7 || !strcmp(argv[6], f < 0 ? "auto" : sk_transfer_at(f)->name)))
                measure(&b, cases[c].scheme, cases[c].m, f < 0 ? "auto" : sk_transfer_at(f)->name,
                        &copy);
#ifdef BENCH_MPI
    sk_group_barrier(b.group);
    int first = !b.group->rank;
    sk_group_mpi_stop(b.group);
    if (!first)
        return 0;
#endif
    sk_io_rmtree(b.top, NULL);
    return 0;
}
