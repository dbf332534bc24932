/* What a program pays for its checkpoints at a shared file system of limited bandwidth (the
 * "critical path" of mcrEngine, Islam et al., SC'12, section VII-C): an MPI program computes and
 * writes the files of a real checkpoint set, each rank those of some of the set's ranks,
 * - straight into the shared directory, all ranks at the same time (N to N, uncompressed), or
 * - with Saikai into node-local memory, from where store.archive=aggregate takes them to the shared
 *   directory behind the program: its variables as it has them in memory, or, with --files, the same
 *   files, written where Saikai says.
 * All of it is saved each time, by copying (the program changes nothing between two checkpoints: tracking
 * what changed, or copying behind its back, would be measured with less work than there is).
 * The price of a checkpoint is what the same steps take longer than without checkpoints, so that it
 * holds what the work behind the program takes away from it. */
#include "paper_far_memory.h"
#include "paper_far_sets.h"
#include "paper_far_shared.h"

#include "base/clock.h"
#include "base/file/io.h"

#include <saikai/saikai.h>

#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BANDWIDTHS = 8, MOST_RUNS = 9, CELLS = 16384, PIECE = 1 << 20, OFTEN = 4 };
static double bandwidths[MOST_BANDWIDTHS] = {20, 50, 100, 200, 400}; /* MB/s */
static int bandwidth_count = 5;
static const double step_seconds = 0.004, least_interval = 0.25, least_loop = 1;

static struct {
    const char *root, *set;
    FILE *json;
    int runs, files; /* files: Saikai saves files, not variables */
} o = {.runs = 3};

static int rank, ranks;
static char server[128], shared[128], local[128];

static void die(const char *what, const char *why)
{
    fprintf(stderr, "paper_far_program: rank %d: %s: %s\n", rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- computing ---- */

static double cells[2][CELLS];
static long sweeps = 1;

static double step(void)
{
    double sum = 0, all = 0;
    for (long k = 0; k < sweeps; k++) {
        double *to = cells[k & 1], *from = cells[!(k & 1)];
        for (int i = 1; i < CELLS - 1; i++)
            to[i] = from[i] + 0.1 * (from[i - 1] - 2 * from[i] + from[i + 1]);
        sum += to[CELLS / 2];
    }
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static double now_together(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return sk_now();
}

/* The slowest rank's. */
static double slowest(double t)
{
    double all;
    MPI_Allreduce(&t, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static void set_pace(void)
{
    for (int i = 0; i < CELLS; i++)
        cells[0][i] = cells[1][i] = i % 97;
    for (double t = 0; t < step_seconds;) {
        sweeps *= 2;
        double t0 = now_together();
        step();
        t = slowest(sk_now() - t0);
    }
    double best = 1e9;
    for (int k = 0; k < 10; k++) {
        double t0 = now_together();
        step();
        best = fmin(best, slowest(sk_now() - t0));
    }
    sweeps = (long)fmax(1, (double)sweeps * step_seconds / best);
}

/* ---- the files of this rank ---- */

struct file {
    char name[256];
    void *data;
    size_t bytes;
};
static struct file *mine;
static int mine_count;
static double all_bytes;
static struct far_vars vars;

static void forget_files(void)
{
    far_vars_free(&vars);
    for (int i = 0; i < mine_count; i++)
        free(mine[i].data);
    free(mine);
    mine = NULL;
    mine_count = 0;
}

static void read_files(const struct far_files *f, size_t root_length)
{
    struct saikai_error err = {0};
    double bytes = 0;
    mine = calloc((size_t)f->n, sizeof *mine);
    for (int i = 0; i < f->n; i++) {
        struct file *m = &mine[mine_count];
        if (f->rank[i] * ranks / f->ranks != rank)
            continue;
        if (sk_io_slurp(f->path[i], (size_t)1 << 32, &m->data, &m->bytes, &err))
            die("cannot read", err.text);
        const char *name = f->path[i] + root_length;
        far_place(m->name, sizeof m->name, ".", name + (*name == '/'));
        memmove(m->name, m->name + 2, strlen(m->name + 2) + 1);
        bytes += (double)m->bytes;
        mine_count++;
        const char *wrong = o.files ? NULL : far_vars_add(&vars, f->path[i], m->data, m->bytes);
        if (wrong)
            die(f->path[i], wrong);
    }
    MPI_Allreduce(&bytes, &all_bytes, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void write_file(const char *path, const struct file *m)
{
    struct saikai_error err = {0};
    int fd = sk_io_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666, &err), rc = fd < 0;
    for (size_t at = 0; at < m->bytes && !rc; at += PIECE) {
        size_t n = m->bytes - at < PIECE ? m->bytes - at : PIECE;
        rc = sk_io_write(fd, path, (char *)m->data + at, n, &err);
    }
    if (rc)
        die("cannot write", err.text);
    close(fd);
}

/* Into *to, as long as the file; wrong bytes end the bench. */
static void read_back(const char *path, const struct file *m, char *to)
{
    struct saikai_error err = {0};
    int fd = sk_io_open(path, O_RDONLY, 0, &err), rc = fd < 0;
    for (size_t at = 0; at < m->bytes && !rc; at += PIECE) {
        size_t n = m->bytes - at < PIECE ? m->bytes - at : PIECE;
        rc = sk_io_pread(fd, path, to + at, n, (off_t)at, &err);
    }
    if (rc)
        die("cannot read", err.text);
    close(fd);
}

static void in_shared(char *path, size_t cap, const struct file *m)
{
    snprintf(path, cap, "%s/%s", shared, m->name);
}

/* ---- the ways to run ---- */

static double plain_loop(long steps)
{
    double t0 = now_together();
    for (long i = 0; i < steps; i++)
        step();
    return slowest(now_together() - t0);
}

/* Straight to the shared directory, `count` times, at the end of every `every` steps. */
static double direct_loop(long every, int count)
{
    char path[512];
    double t0 = now_together();
    for (int k = 0; k < count; k++) {
        for (long i = 0; i < every; i++)
            step();
        for (int i = 0; i < mine_count; i++) {
            in_shared(path, sizeof path, &mine[i]);
            write_file(path, &mine[i]);
        }
    }
    return slowest(now_together() - t0);
}

static void empty(const char *dir)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank && (sk_io_rmtree(dir, NULL) || sk_io_mkdirs(dir, NULL)))
        die("cannot empty", dir);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void begin(long every, const char *mode)
{
    char config[1024];
    snprintf(config, sizeof config,
             "store.local=%s;store.prefix=%s/store;store.archive=aggregate;far.writers=1;"
             "schedule.first=no;schedule.every=%ld;schedule.poll=20ms;restart.mode=%s;"
             "capture.tracker=full;capture.snapshot=copy;job.name=paper-far",
             local, shared, every, mode);
    if (saikai_init(MPI_COMM_WORLD, config) < 0)
        die("saikai_init", saikai_error_text());
    for (size_t i = 0; i < vars.n; i++) {
        const struct far_var *v = &vars.v[i];
        if (saikai_protect(v->name, v->data, (enum saikai_type)v->type, v->ndims, v->dims) < 0)
            die("saikai_protect", saikai_error_text());
    }
}

static void save(long iteration)
{
    if (saikai_checkpoint(iteration) < 0)
        die("saikai_checkpoint", saikai_error_text());
}

static void save_files(long iteration)
{
    char path[512];
    int due = saikai_checkpoint_begin(iteration);
    if (due < 0)
        die("saikai_checkpoint_begin", saikai_error_text());
    if (!due)
        return;
    for (int i = 0; i < mine_count; i++) {
        if (saikai_file_path(mine[i].name, path, sizeof path) < 0)
            die("saikai_file_path", saikai_error_text());
        write_file(path, &mine[i]);
    }
    if (saikai_checkpoint_end(1) < 0)
        die("saikai_checkpoint_end", saikai_error_text());
}

struct session {
    double loop, end; /* seconds: of the steps, and of saikai_finalize */
    int archived;     /* generations, during the steps */
};

/* With Saikai: a checkpoint after every `every` steps. */
static struct session saikai_loop(long every, int count)
{
    struct session s = {0};
    struct saikai_status st;
    long newest = -1, first = 0;
    empty(shared);
    empty(local);
    begin(every, "never");
    if (saikai_restart(&first) < 0)
        die("saikai_restart", saikai_error_text());
    double t0 = now_together();
    for (long i = 0; i < every * count; i++) {
        step();
        (o.files ? save_files : save)(i + 1);
        if (!saikai_get_status(&st, sizeof st) && st.archived_iteration > newest) {
            newest = st.archived_iteration;
            s.archived++;
        }
    }
    double t1 = now_together();
    if (saikai_finalize() < 0)
        die("saikai_finalize", saikai_error_text());
    s.end = slowest(now_together() - t1);
    s.loop = slowest(t1 - t0);
    return s;
}

/* The restored files' bytes, compared with those of then; the seconds that comparing took. */
static double look_at_files(void)
{
    char path[512];
    double comparing = 0;
    for (int i = 0; i < mine_count; i++) {
        char *to = malloc(mine[i].bytes + 1);
        if (saikai_restored_file(mine[i].name, path, sizeof path) < 0)
            die("saikai_restored_file", saikai_error_text());
        read_back(path, &mine[i], to);
        double t0 = sk_now();
        if (memcmp(to, mine[i].data, mine[i].bytes))
            die(path, "is not what was saved");
        free(to);
        comparing += sk_now() - t0;
    }
    return comparing;
}

static double look_at_variables(void)
{
    double t0 = sk_now();
    for (size_t i = 0; i < vars.n; i++)
        if (memcmp(vars.v[i].data, vars.v[i].was, vars.v[i].bytes))
            die(vars.v[i].name, "is not what was saved");
    return sk_now() - t0;
}

/* After the loss of all that was node-local: the program has its data in memory again. */
static double saikai_again(void)
{
    long iteration = 0;
    for (size_t i = 0; i < vars.n; i++)
        memset(vars.v[i].data, 0, vars.v[i].bytes);
    empty(local);
    begin(1000000, "always");
    double t0 = now_together();
    int rc = saikai_restart(&iteration);
    if (rc != 1)
        die("saikai_restart", rc < 0 ? saikai_error_text() : "nothing was restored");
    double comparing = (o.files ? look_at_files : look_at_variables)();
    double t = slowest(now_together() - t0 - comparing);
    if (saikai_finalize() < 0)
        die("saikai_finalize", saikai_error_text());
    return t;
}

static double direct_again(void)
{
    char path[512];
    double t0 = now_together();
    for (int i = 0; i < mine_count; i++) {
        char *to = malloc(mine[i].bytes + 1);
        in_shared(path, sizeof path, &mine[i]);
        read_back(path, &mine[i], to);
        free(to);
    }
    return slowest(now_together() - t0);
}

/* ---- measuring ---- */

/* Per checkpoint, in seconds; medians of the runs. */
enum { DIRECT, SAIKAI, SAIKAI_END, SAIKAI_OFTEN, OFTEN_END, DIRECT_AGAIN, SAIKAI_AGAIN, FIGURES };
static const char *const figure_names[FIGURES] = {"direct_s",       "saikai_s",    "saikai_end_s",
                                                  "saikai_often_s", "often_end_s", "direct_again_s",
                                                  "saikai_again_s"};

struct result {
    double interval, v[FIGURES], sure; /* sure: largest minus smallest of the steps alone */
    int count, often, archived, often_archived;
};

static void throttle(double mb_per_s)
{
    MPI_Barrier(MPI_COMM_WORLD);
    far_shared(mb_per_s > 0 ? shared : NULL, mb_per_s * 1e6, 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void run_once(struct result *r, double mb_per_s, double v[FIGURES], double *alone)
{
    long every = (long)fmax(OFTEN, r->interval / step_seconds), soon = every / OFTEN;
    int direct = r->interval > 1 ? 1 : r->count;
    throttle(0);
    *alone = plain_loop(every * r->count);
    double per_step = *alone / (double)(every * r->count);
    empty(shared);
    throttle(mb_per_s);
    v[DIRECT] = (direct_loop(every, direct) - per_step * (double)(every * direct)) / direct;
    v[DIRECT_AGAIN] = direct_again();
    struct session s = saikai_loop(every, r->count);
    v[SAIKAI] = (s.loop - *alone) / r->count;
    v[SAIKAI_END] = s.end;
    r->archived = s.archived;
    v[SAIKAI_AGAIN] = saikai_again();
    s = saikai_loop(soon, r->often);
    v[SAIKAI_OFTEN] = (s.loop - per_step * (double)(soon * r->often)) / r->often;
    v[OFTEN_END] = s.end;
    r->often_archived = s.archived;
    throttle(0);
}

static struct result measure(double mb_per_s)
{
    struct result r = {0};
    double v[FIGURES][MOST_RUNS], alone[MOST_RUNS];
    r.interval = fmax(all_bytes / mb_per_s / 1e6, least_interval);
    r.count = (int)fmax(2, ceil(least_loop / r.interval));
    r.often = 2 * r.count;
    for (int k = 0; k < o.runs; k++) {
        double now[FIGURES];
        run_once(&r, mb_per_s, now, &alone[k]);
        for (int i = 0; i < FIGURES; i++)
            v[i][k] = now[i];
    }
    for (int i = 0; i < FIGURES; i++)
        r.v[i] = far_median(v[i], o.runs);
    far_median(alone, o.runs);
    r.sure = (alone[o.runs - 1] - alone[0]) / r.count;
    return r;
}

static void note(const char *set, double mb_per_s, const struct result *r)
{
    if (!o.json)
        return;
    fprintf(o.json,
            "{\"bench\": \"program\", \"set\": \"%s\", \"saves\": \"%s\", \"ranks\": %d, \"bytes\": %.0f, "
            "\"mb_per_s\": %g, \"runs\": %d, \"interval_s\": %.4f, \"checkpoints\": %d, "
            "\"archived\": %d, \"often_checkpoints\": %d, \"often_archived\": %d, "
            "\"spread_s\": %.5f",
            set, o.files ? "files" : "variables", ranks, all_bytes, mb_per_s, o.runs, r->interval, r->count, r->archived, r->often,
            r->often_archived, r->sure);
    for (int i = 0; i < FIGURES; i++)
        fprintf(o.json, ", \"%s\": %.5f", figure_names[i], r->v[i]);
    fputs("}\n", o.json);
    fflush(o.json);
}

static double less(double t, double than)
{
    return (t - than) / than * 100;
}

static void one_set(const struct far_set *s, const struct far_files *f)
{
    read_files(f, strlen(o.root) + 1 + strlen(s->dir));
    if (!rank)
        printf(
            "### %s: %.1f MB of %d ranks, %s\n\n"
            "| MB/s | a checkpoint every | N to N, waits | Saikai, waits | ± | archived | at the "
            "end | every | waits | archived | at the end | restart, N to N | restart, Saikai "
            "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
            s->name, all_bytes / 1e6, ranks, o.files ? "files" : "variables");
    for (int b = 0; b < bandwidth_count; b++) {
        if (!rank && isatty(2))
            fprintf(stderr, "\r\033[K%s, %.0f MB/s", s->name, bandwidths[b]);
        struct result r = measure(bandwidths[b]);
        const double *v = r.v;
        if (rank)
            continue;
        note(s->name, bandwidths[b], &r);
        if (isatty(2))
            fputs("\r\033[K", stderr);
        printf("| %.0f | %.2f s | %.3f s | %.3f s (%+.0f %%) | %.3f | %d of %d | %.2f s | %.2f s | "
               "%.3f s (%+.0f %%) | %d of %d | %.2f s | %.3f s | %.3f s (%+.0f %%) |\n",
               bandwidths[b], r.interval, v[DIRECT], v[SAIKAI], less(v[SAIKAI], v[DIRECT]), r.sure,
               r.archived, r.count, v[SAIKAI_END], r.interval / OFTEN, v[SAIKAI_OFTEN],
               less(v[SAIKAI_OFTEN], v[DIRECT]), r.often_archived, r.often, v[OFTEN_END],
               v[DIRECT_AGAIN], v[SAIKAI_AGAIN], less(v[SAIKAI_AGAIN], v[DIRECT_AGAIN]));
        fflush(stdout);
    }
    if (!rank)
        puts("");
    forget_files();
}

static int read_bandwidths(const char *list)
{
    char *end;
    for (bandwidth_count = 0; *list && bandwidth_count < MOST_BANDWIDTHS; list = end) {
        double v = strtod(list, &end);
        if (end == list || !(v > 0))
            return -1;
        bandwidths[bandwidth_count++] = v;
        end += *end == ',';
    }
    return *list || !bandwidth_count ? -1 : 0;
}

static int read_options(int argc, char **argv)
{
    static const struct option known[] = {{"set", 1, NULL, 's'},
                                          {"runs", 1, NULL, 'n'},
                                          {"bandwidths", 1, NULL, 'b'},
                                          {"json", 1, NULL, 'j'},
                                          {"files", 0, NULL, 'f'},
                                          {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 's')
            o.set = optarg;
        else if (c == 'n')
            o.runs = atoi(optarg);
        else if (c == 'f')
            o.files = 1;
        else if (c == 'b' && !read_bandwidths(optarg))
            continue;
        else if (c != 'j' || (!rank && !(o.json = fopen(optarg, "a"))))
            return -1;
    }
    o.root = argv[optind];
    return optind + 1 == argc && o.runs >= 1 && o.runs <= MOST_RUNS ? 0 : -1;
}

static void set_up(void)
{
    long id = (long)getpid();
    MPI_Bcast(&id, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(server, sizeof server, "/dev/shm/paper-far-server.%ld", id);
    snprintf(shared, sizeof shared, "/dev/shm/paper-far-shared.%ld", id);
    snprintf(local, sizeof local, "/dev/shm/paper-far-local.%ld", id);
    int fd = rank ? -1 : open(server, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (!rank && (fd < 0 || ftruncate(fd, 4096)))
        die("cannot make", server);
    if (fd >= 0)
        close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    if (far_shared_join(server))
        die("cannot share", server);
    far_shared(NULL, 0, 0);
    set_pace();
}

int main(int argc, char **argv)
{
    static struct far_files f;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (read_options(argc, argv)) {
        if (!rank)
            fputs("usage: mpiexec -n N paper_far_program [--set NAME] [--runs N] "
                  "[--bandwidths MB_PER_S,…] [--files] [--json FILE] CHECKPOINTS_DIR\n",
                  stderr);
        MPI_Finalize();
        return 2;
    }
    set_up();
    if (!rank)
        puts("## What a program waits for\n");
    for (int s = 0; s < FAR_SETS; s++)
        if (far_sets[s].figure7 && far_is_called(&far_sets[s], o.set) &&
            far_load(o.root, &far_sets[s], &f))
            one_set(&far_sets[s], &f);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!rank) {
        sk_io_rmtree(shared, NULL);
        sk_io_rmtree(local, NULL);
        unlink(server);
    }
    MPI_Finalize();
    return 0;
}
