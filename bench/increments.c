/* What a program waits for when only changes are saved, or when it goes on while it is saved; each figure beside that of a
 * plain copy in the same process.
 * usage: mpiexec -n N bench_increments changes|stop MIB_PER_RANK [CASE]   (saves below store.local)
 * CASE: only the ones whose name has it, such as "blocks".
 * Prints JSON objects (rank 0). Times are the median of some rounds; "cpu" ones are processor time, which other programs
 * on the machine disturb less. */
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { ROUNDS = 9, PAGE = 4096 };

static int rank, ranks;

static void die(const char *what)
{
    fprintf(stderr, "bench_increments: rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof *v, by_value);
    return v[ROUNDS / 2];
}

/* The program's memory and what it does to it between two checkpoints. */
static uint8_t *data;
static size_t bytes;
static const char *only = ""; /* cases whose name has it */

static void write_nothing(void)
{
}

/* One page in ten, each alone. */
static void write_pages(void)
{
    for (size_t at = 0; at < bytes; at += 10 * PAGE)
        data[at + 100]++;
}

/* A tenth of the memory, in pieces of 256 KiB. */
static void write_blocks(void)
{
    for (size_t at = 0; at + (256 << 10) <= bytes; at += 10 * (256 << 10))
        for (size_t i = 0; i < 256 << 10; i += 64)
            data[at + i]++;
}

/* What programs do between checkpoints, with all their memory: what they wrote has left the caches then. */
static void compute(void)
{
    static volatile uint8_t sum;
    double end = seconds(CLOCK_MONOTONIC) + 0.1;
    do
        for (size_t at = 0; at < bytes; at += 64)
            sum = (uint8_t)(sum + data[at]);
    while (seconds(CLOCK_MONOTONIC) < end);
}

static void write_little(void)
{
    for (size_t k = 0; k < bytes / PAGE / 1000; k++)
        data[k * 7919 % (bytes / PAGE) * PAGE]++;
}

static void write_all(void)
{
    for (size_t at = 0; at < bytes; at += 64)
        data[at]++;
}

struct figures {
    double wait, wait_best, wait_cpu; /* the call: wall clock, and the program's thread */
    double all;                       /* until it is committed: wall clock */
    double all_cpu, all_cpu_mean;     /* the same: all threads; with the deltas that are folded */
    /* the call and what the program does then: wall clock, its thread */
    double delay, delay_mean, delay_cpu;
    uint64_t size;
};

static double mean(const double *v)
{
    double sum = 0;
    for (int r = 0; r < ROUNDS; r++)
        sum += v[r];
    return sum / ROUNDS;
}

/* warm_up: rounds until slots are there and the changes are tracked. */
static struct figures measure(const char *config, int warm_up, void (*before)(void), void (*after)(void))
{
    double wait[ROUNDS], wait_cpu[ROUNDS], all[ROUNDS], all_cpu[ROUNDS], delay[ROUNDS], delay_cpu[ROUNDS];
    char text[512];
    long it = 0;
    snprintf(text, sizeof text, "schedule.first=no; store.prefix=none; schedule.max_interval=0s; restart.mode=never; %s",
             config);
    if (saikai_init(MPI_COMM_WORLD, text) < 0 || saikai_protect("data", data, SAIKAI_U8, 1, &bytes) < 0 ||
        saikai_restart(&it) < 0)
        die(saikai_error_text());
    for (int r = -warm_up; r < ROUNDS; r++) {
        before();
        compute();
        MPI_Barrier(MPI_COMM_WORLD);
        double begun = seconds(CLOCK_MONOTONIC), t = begun, c = seconds(CLOCK_THREAD_CPUTIME_ID),
               p = seconds(CLOCK_PROCESS_CPUTIME_ID);
        if (saikai_checkpoint_now(++it) < 0)
            die(saikai_error_text());
        double mid = seconds(CLOCK_MONOTONIC) - t, mid_cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - c;
        after();
        t = seconds(CLOCK_MONOTONIC) - t;
        c = seconds(CLOCK_THREAD_CPUTIME_ID) - c;
        if (saikai_wait() < 0)
            die(saikai_error_text());
        p = seconds(CLOCK_PROCESS_CPUTIME_ID) - p;
        begun = seconds(CLOCK_MONOTONIC) - begun;
        if (r >= 0) {
            wait[r] = mid;
            wait_cpu[r] = mid_cpu;
            all[r] = begun;
            all_cpu[r] = p;
            delay[r] = t;
            delay_cpu[r] = c;
        }
    }
    struct saikai_status st;
    saikai_get_status(&st, sizeof st);
    if (saikai_finalize() < 0)
        die(saikai_error_text());
    struct figures f = {.all_cpu_mean = mean(all_cpu), .delay_mean = mean(delay), .size = st.bytes};
    f.wait = median(wait); /* sorts */
    f.wait_best = wait[0];
    f.wait_cpu = median(wait_cpu);
    f.all = median(all);
    f.all_cpu = median(all_cpu);
    f.delay = median(delay);
    f.delay_cpu = median(delay_cpu);
    return f;
}

static const char plain[] = "capture.tracker=full; capture.snapshot=copy";

static void changes(void)
{
    static const struct {
        const char *name;
        void (*write)(void);
    } cases[] = {{"nothing", write_nothing}, {"10 % in blocks", write_blocks}, {"10 % in single pages", write_pages}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!strstr(cases[i].name, only))
            continue;
        struct figures full = measure(plain, 3, cases[i].write, write_nothing);
        /* after the first lineage was folded its slots are there */
        struct figures delta = measure("", 14, cases[i].write, write_nothing);
        if (rank == 0)
            printf("{\"bench\": \"changes\", \"written\": \"%s\", \"ranks\": %d, \"mib_per_rank\": %zu, \"bytes\": %llu, "
                   "\"wait_ms\": %.2f, \"full_wait_ms\": %.2f, \"wait_ratio\": %.3f, \"wait_best_ratio\": %.3f, "
                   "\"wait_cpu_ratio\": %.3f, \"committed_ratio\": %.3f, \"committed_cpu_ratio\": %.3f, \"with_folding_cpu_ratio\": %.3f, "
                   "\"limit_ratio\": 0.15}\n",
                   cases[i].name, ranks, bytes >> 20, (unsigned long long)delta.size, delta.wait * 1e3, full.wait * 1e3,
                   delta.wait / full.wait, delta.wait_best / full.wait_best, delta.wait_cpu / full.wait_cpu,
                   delta.all / full.all, delta.all_cpu / full.all_cpu, delta.all_cpu_mean / full.all_cpu_mean);
    }
}

/* What the program is held up altogether: in the call, and by its writes until all is saved. */
static void stop(void)
{
    static const struct {
        const char *name;
        void (*write)(void);
    } cases[] = {{"nothing", write_nothing}, {"0.1 % of the pages", write_little}, {"everything", write_all}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!strstr(cases[i].name, only))
            continue;
        struct figures copy = measure(plain, 3, write_nothing, cases[i].write);
        /* the memory comes to huge pages meanwhile */
        struct figures snap = measure("capture.tracker=full", 25, write_nothing, cases[i].write);
        if (rank == 0)
            printf("{\"bench\": \"stop\", \"written meanwhile\": \"%s\", \"ranks\": %d, \"mib_per_rank\": %zu, "
                   "\"wait_ms\": %.2f, \"wait_best_ms\": %.2f, \"wait_cpu_ms\": %.2f, \"copy_wait_ms\": %.2f, "
                   "\"limit_ms\": 10, \"delay_ms\": %.1f, \"delay_mean_ms\": %.1f, \"delay_cpu_ms\": %.1f, "
                   "\"copy_delay_ms\": %.1f, \"copy_delay_mean_ms\": %.1f, \"copy_delay_cpu_ms\": %.1f}\n",
                   cases[i].name, ranks, bytes >> 20, snap.wait * 1e3, snap.wait_best * 1e3, snap.wait_cpu * 1e3,
                   copy.wait * 1e3, snap.delay * 1e3, snap.delay_mean * 1e3, snap.delay_cpu * 1e3, copy.delay * 1e3,
                   copy.delay_mean * 1e3, copy.delay_cpu * 1e3);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bytes = argc > 2 ? strtoul(argv[2], NULL, 10) << 20 : 0;
    const char *what = argc > 1 ? argv[1] : "";
    only = argc > 3 ? argv[3] : "";
    data = bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (data == MAP_FAILED)
        die("usage: changes|stop MIB_PER_RANK [CASE]");
    memset(data, rank + 1, bytes);
    if (!strcmp(what, "changes"))
        changes();
    else if (!strcmp(what, "stop"))
        stop();
    else
        die("usage: changes|stop MIB_PER_RANK [CASE]");
    munmap(data, bytes);
    MPI_Finalize();
    return 0;
}
