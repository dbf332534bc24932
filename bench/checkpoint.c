/* What Saikai costs a program: each figure beside what the machine allows, measured in the same process.
 * usage: mpiexec -n N bench_checkpoint calls|blocked|write|restart|init MIB_PER_RANK LOCAL_DIR
 * Prints one JSON object (rank 0). `write` leaves a generation behind without an end, as a killed job does; `restart`
 * then restores it. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <mpi.h>
#include <saikai/saikai.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int rank, ranks;

static void die(const char *what)
{
    fprintf(stderr, "bench_checkpoint: rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The slowest rank's time. */
static double slowest(double t)
{
    double all;
    MPI_Allreduce(&t, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static void begin(const char *more)
{
    if (saikai_init(MPI_COMM_WORLD, more) < 0)
        die(saikai_error_text());
}

/* Nothing is due: the price of a candidate. */
static void calls(void)
{
    enum { CALLS = 20000000, ROUNDS = 5 };
    double ns[ROUNDS];
    long it = 0;
    begin("schedule.first=no; schedule.every=1000000000");
    double x = 0;
    saikai_protect("x", &x, SAIKAI_F64, 0, NULL);
    saikai_restart(&it);
    for (int i = 0; i < 1000000; i++)
        saikai_checkpoint(++it);
    for (int r = 0; r < ROUNDS; r++) {
        double t = MPI_Wtime();
        for (int i = 0; i < CALLS; i++)
            saikai_checkpoint(++it);
        ns[r] = slowest(MPI_Wtime() - t) / CALLS * 1e9;
    }
    struct saikai_status st;
    saikai_get_status(&st, sizeof st);
    if (rank == 0)
        printf("{\"bench\": \"calls\", \"ranks\": %d, \"ns_per_call\": %.2f, \"limit_ns\": 20, \"checkpoints\": %ld}\n", ranks,
               median(ns, ROUNDS), st.checkpoints);
    saikai_finalize();
}

/* The program is held up by a plain checkpoint as long as by a copy into tmpfs pages that are there. */
static void blocked(size_t bytes, const char *dir)
{
    enum { ROUNDS = 9 };
    double copy[ROUNDS], held[ROUNDS], ratio[ROUNDS];
    char path[4096], *data = malloc(bytes), *to = MAP_FAILED;
    snprintf(path, sizeof path, "%s/bench-%d", dir, rank);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) ||
        (to = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED || !data)
        die(strerror(errno));
    unlink(path);
    memset(data, rank + 1, bytes);
    memset(to, 1, bytes);
    begin("schedule.first=no; store.prefix=none; schedule.max_interval=0s; capture.tracker=full; capture.snapshot=copy");
    long it = 0;
    if (saikai_protect("data", data, SAIKAI_U8, 1, &bytes) < 0 || saikai_restart(&it) < 0)
        die(saikai_error_text());
    for (int r = -2; r < ROUNDS; r++) { /* two rounds until slots are there */
        data[(size_t)(r + 2) * 4096] ^= 1;
        MPI_Barrier(MPI_COMM_WORLD);
        double t = MPI_Wtime();
        memcpy(to, data, bytes);
        double c = slowest(MPI_Wtime() - t);
        MPI_Barrier(MPI_COMM_WORLD);
        t = MPI_Wtime();
        if (saikai_checkpoint_now(++it) < 0)
            die(saikai_error_text());
        double h = slowest(MPI_Wtime() - t);
        if (saikai_wait() < 0)
            die(saikai_error_text());
        if (r >= 0) {
            copy[r] = c;
            held[r] = h;
            ratio[r] = h / c;
        }
    }
    double c = median(copy, ROUNDS), h = median(held, ROUNDS);
    if (rank == 0)
        printf("{\"bench\": \"blocked\", \"ranks\": %d, \"mib_per_rank\": %zu, \"memcpy_s\": %.4f, \"blocked_s\": %.4f, "
               "\"ratio\": %.3f, \"limit_ratio\": 1.15}\n",
               ranks, bytes >> 20, c, h, median(ratio, ROUNDS));
    saikai_finalize();
    munmap(to, bytes);
    close(fd);
    free(data);
}

static void fill(char *data, size_t bytes)
{
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t v = (i + (size_t)rank) * 0x9e3779b97f4a7c15u;
        memcpy(data + i, &v, 8);
    }
}

static void leave_a_generation(size_t bytes)
{
    char *data = calloc(bytes, 1);
    long it = 0;
    begin("schedule.first=no; store.prefix=none; restart.mode=never");
    fill(data, bytes);
    if (saikai_protect("data", data, SAIKAI_U8, 1, &bytes) < 0 || saikai_restart(&it) < 0 ||
        saikai_checkpoint_now(1) < 0 || saikai_wait() < 0)
        die(saikai_error_text());
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    _exit(0); /* not finished: the generation stays on offer */
}

static double read_file(const char *dir, char *to, size_t bytes)
{
    char pattern[4096];
    glob_t g;
    snprintf(pattern, sizeof pattern, "%s/saikai-*/*/gen-*/rank-%06d.skc", dir, rank);
    if (glob(pattern, 0, NULL, &g) || g.gl_pathc != 1)
        die("there is not exactly one generation to read");
    MPI_Barrier(MPI_COMM_WORLD);
    double t = MPI_Wtime();
    int fd = open(g.gl_pathv[0], O_RDONLY);
    for (size_t at = 0; at < bytes;) {
        ssize_t n = pread(fd, to + at, bytes - at, (off_t)at + 128);
        if (n <= 0)
            die("cannot read the generation");
        at += (size_t)n;
    }
    t = slowest(MPI_Wtime() - t);
    close(fd);
    globfree(&g);
    return t;
}

static void restart(size_t bytes, const char *dir)
{
    char *data = malloc(bytes), *expect = malloc(bytes);
    long it = 0;
    memset(data, 0, bytes);
    memset(expect, 0, bytes);
    fill(expect, bytes);
    double first = read_file(dir, data, bytes), second = read_file(dir, data, bytes);
    memset(data, 0, bytes);
    begin("schedule.first=no; store.prefix=none; restart.tries=1000");
    saikai_protect("data", data, SAIKAI_U8, 1, &bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double t = MPI_Wtime();
    int rc = saikai_restart(&it);
    t = slowest(MPI_Wtime() - t);
    if (rc != 1 || memcmp(data, expect, bytes))
        die(rc < 0 ? saikai_error_text() : "the wrong data was restored");
    double third = read_file(dir, data, bytes), v[3] = {first, second, third};
    double plain = median(v, 3);
    if (rank == 0)
        printf("{\"bench\": \"restart\", \"ranks\": %d, \"mib_per_rank\": %zu, \"read_s\": %.4f, \"restart_s\": %.4f, "
               "\"ratio\": %.3f, \"limit_ratio\": 1.3}\n",
               ranks, bytes >> 20, plain, t, t / plain);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    _exit(0);
}

static void init(void)
{
    double x = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double t = MPI_Wtime();
    begin(NULL);
    t = slowest(MPI_Wtime() - t);
    saikai_protect("x", &x, SAIKAI_F64, 0, NULL);
    if (rank == 0)
        printf("{\"bench\": \"init\", \"ranks\": %d, \"init_ms\": %.2f}\n", ranks, t * 1e3);
    saikai_finalize();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 10) << 20 : 0;
    const char *what = argc > 1 ? argv[1] : "", *dir = argc > 3 ? argv[3] : "/dev/shm";
    if (!strcmp(what, "calls"))
        calls();
    else if (!strcmp(what, "init"))
        init();
    else if (!strcmp(what, "blocked") && bytes)
        blocked(bytes, dir);
    else if (!strcmp(what, "write") && bytes)
        leave_a_generation(bytes);
    else if (!strcmp(what, "restart") && bytes)
        restart(bytes, dir);
    else
        die("usage: calls|blocked|write|restart|init MIB_PER_RANK LOCAL_DIR");
    MPI_Finalize();
    return 0;
}
