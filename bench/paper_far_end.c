/* End to end, Figs. 10 to 13 of mcrEngine (Islam et al., SC'12, section VII): checkpoint files on
 * node-local memory go to a shared file system of limited bandwidth and come back, in the
 * configurations of the paper's Table V and with `auto`. Every rank is a thread.
 * usage: paper_far_end CHECKPOINTS_DIR [SVG_DIR [costs]]; with `costs` nothing is timed by the
 * clock */
#include "archive/archive.h"
#include "archive/general.h"
#include "archive/read_hdf5.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/svg.h"
#include "paper_far_sets.h"
#include "paper_far_shared.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANKS = 64, RUNS = 2, BANDWIDTHS = 5, PIECE = 1 << 20 };
static const double bandwidths[BANDWIDTHS] = {20, 50, 100, 200, 400}; /* MB/s */

/* A configuration: archives of one rank or of all, or plain copies. */
struct way {
    const char *name, *colour;
    int archive, together, scheme, backend, codecs; /* backend -1: none */
};
static const struct way ways[] = {
    {"none, N to N", "#222222", 0, 0, 0, 0, 0},
    {"gzip, N to N", "#b8860b", 1, 0, SK_SCHEME_AGNOSTIC, SK_BACKEND_GZIP, 0},
    {"none, N to 1", "#888888", 1, 1, SK_SCHEME_AGNOSTIC, -1, 0},
    {"agnostic, N to 1", "#2a9d4a", 1, 1, SK_SCHEME_AGNOSTIC, SK_BACKEND_GZIP, 0},
    {"aware, N to 1", "#1f6fb2", 1, 1, SK_SCHEME_AWARE, SK_BACKEND_GZIP, 1},
    {"auto, N to 1", "#c0392b", 1, 1, SK_SCHEME_AUTO, SK_BACKEND_ZSTD, 0},
};
enum { WAYS = sizeof ways / sizeof *ways, BASE = 0, AUTO = WAYS - 1 };

struct job {
    const struct far_files *f;
    const struct way *w;
    int rank, ranks, restore, failed; /* rank -1: all of them */
};

static char shared[128], local[128];

static int mine(const struct job *j, int i)
{
    return j->rank < 0 ? j->f->rank[i] < j->ranks : j->f->rank[i] == j->rank;
}

/* Where a file stands in one of the two directories: its path with the slashes taken out. */
static void place(char *out, size_t cap, const char *dir, const char *path)
{
    size_t n = (size_t)snprintf(out, cap, "%s/", dir);
    for (; *path && n + 1 < cap; path++)
        out[n++] = *path == '/' ? '_' : *path;
    out[n] = 0;
}

static int copy(const char *from, const char *to)
{
    int in = sk_io_open(from, O_RDONLY, 0, NULL),
        out = sk_io_open(to, O_WRONLY | O_CREAT | O_TRUNC, 0666, NULL);
    char *piece = malloc(PIECE);
    ssize_t n = in >= 0 && out >= 0 && piece ? 1 : -1;
    while (n > 0 && (n = read(in, piece, PIECE)) > 0)
        if (sk_io_write(out, to, piece, (size_t)n, NULL))
            n = -1;
    if (in >= 0)
        close(in);
    if (out >= 0)
        close(out);
    free(piece);
    return n ? -1 : 0;
}

static int plain(const struct job *j)
{
    for (int i = 0; i < j->f->n; i++) {
        char there[1024], here[1024];
        if (!mine(j, i))
            continue;
        place(there, sizeof there, shared, j->f->path[i]);
        place(here, sizeof here, local, j->f->path[i]);
        if (copy(j->restore ? there : j->f->path[i], j->restore ? here : there))
            return -1;
    }
    return 0;
}

static int packed(const struct job *j)
{
    struct saikai_error err = {0};
    char out[256];
    int threads = j->w->together ? 0 : 1, rc;
    snprintf(out, sizeof out, "%s/%d.ska", shared, j->rank);
    if (j->restore) {
        struct sk_extract_options o = {.threads = threads, .no_sync = 1};
        rc = sk_archive_extract(out, local, &o, NULL, &err);
    } else {
        struct sk_archive_input in[FAR_FILES];
        size_t n = 0;
        for (int i = 0; i < j->f->n; i++)
            if (mine(j, i))
                in[n++] =
                    (struct sk_archive_input){.path = j->f->path[i], .name = j->f->path[i] + 1};
        struct sk_archive_options o = {
            .scheme = j->w->scheme, .backend = j->w->backend, .threads = threads, .no_sync = 1};
        if (j->w->codecs) {
            o.codec_f64 = "fpc";
            o.codec_f32 = "fpzip";
            o.codec_other = "zstd";
        }
        rc = sk_archive_create(out, in, n, &o, NULL, &err);
    }
    if (rc)
        fprintf(stderr, "%s: %s\n", j->w->name, err.text);
    return rc;
}

static void *run_job(void *arg)
{
    struct job *j = arg;
    j->failed = j->w->archive ? packed(j) : plain(j);
    return NULL;
}

/* Seconds of one checkpoint or restart; negative: it failed. */
static double one(const struct far_files *f, const struct way *w, int ranks, int restore)
{
    struct job jobs[RANKS];
    pthread_t t[RANKS];
    int n = w->together ? 1 : ranks, made = 0, failed = 0;
    double t0 = sk_now();
    for (int i = 0; i < n; i++) {
        jobs[i] = (struct job){f, w, w->together ? -1 : i, ranks, restore, 0};
        if (pthread_create(&t[i], NULL, run_job, &jobs[i]))
            break;
        made++;
    }
    for (int i = 0; i < made; i++) {
        pthread_join(t[i], NULL);
        failed |= jobs[i].failed;
    }
    return failed || made < n ? -1 : sk_now() - t0;
}

/* One checkpoint or restart. */
struct cost {
    double wall, cpu, bytes, opened;
};
struct times {
    struct cost checkpoint, restart;
};

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The shortest of some runs: what others do on the machine only adds. */
static void run_once(const struct far_files *f, const struct way *w, int ranks, int restart,
                     double mb_per_s, double open_ms, struct cost *best)
{
    far_shared(shared, mb_per_s * 1e6, open_ms);
    double cpu = cpu_now(), wall = one(f, w, ranks, restart);
    cpu = cpu_now() - cpu;
    best->bytes = (double)far_shared_bytes();
    best->opened = (double)far_shared_opened();
    far_shared(NULL, 0, 0);
    if (wall < 0)
        exit(1);
    best->wall = wall < best->wall ? wall : best->wall;
    best->cpu = cpu < best->cpu ? cpu : best->cpu;
}

static struct times measure(const struct far_files *f, const struct way *w, int ranks,
                            double mb_per_s, double open_ms)
{
    struct times best = {{1e9, 1e9, 0, 0}, {1e9, 1e9, 0, 0}};
    for (int k = 0; k < RUNS; k++) {
        sk_io_rmtree(shared, NULL);
        sk_io_rmtree(local, NULL);
        if (sk_io_mkdirs(shared, NULL) || sk_io_mkdirs(local, NULL))
            exit(1);
        run_once(f, w, ranks, 0, mb_per_s, open_ms, &best.checkpoint);
        run_once(f, w, ranks, 1, mb_per_s, open_ms, &best.restart);
    }
    return best;
}

static double less(double t, double than)
{
    return (t - than) / than * 100;
}

static void draw(const char *svg, const char *what, const char *set, int restart,
                 struct times all[WAYS][BANDWIDTHS])
{
    struct sk_series series[WAYS];
    double y[WAYS][BANDWIDTHS], top = 0, low = 1e9;
    char path[512], title[128];
    struct saikai_error err = {0};
    for (int w = 0; w < WAYS; w++) {
        for (int b = 0; b < BANDWIDTHS; b++) {
            y[w][b] = restart ? all[w][b].restart.wall : all[w][b].checkpoint.wall;
            top = y[w][b] > top ? y[w][b] : top;
            low = y[w][b] < low ? y[w][b] : low;
        }
        series[w] = (struct sk_series){SK_SERIES_LINE, ways[w].name, ways[w].colour, BANDWIDTHS,
                                       bandwidths,     y[w],         NULL,           NULL};
    }
    snprintf(title, sizeof title, "%s: %s, 16 ranks", set, what);
    struct sk_chart c = {
        .width = 560, .height = 360, .title = title, .series = series, .n_series = WAYS};
    c.legend = 1;
    c.x = (struct sk_axis){SK_AXIS_LOG, bandwidths[0], bandwidths[BANDWIDTHS - 1],
                           "bandwidth of the shared file system, MB/s", NULL};
    c.y = (struct sk_axis){SK_AXIS_LOG, low / 1.2, top * 2, "seconds", NULL};
    snprintf(path, sizeof path, "%s/paper-far-fig%d-%.4s.svg", svg, restart ? 13 : 12, set);
    for (char *p = strrchr(path, '/'); *p; p++)
        *p = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
    if (sk_chart_write(&c, path, &err))
        fprintf(stderr, "%s\n", err.text);
}

static void print_times(struct times all[WAYS][BANDWIDTHS], int w, int restart)
{
    for (int b = 0; b < BANDWIDTHS; b++) {
        double t = restart ? all[w][b].restart.wall : all[w][b].checkpoint.wall,
               base = restart ? all[BASE][b].restart.wall : all[BASE][b].checkpoint.wall;
        if (w == BASE)
            printf(" %.3f s |", t);
        else
            printf(" %.3f s (%+.0f %%) |", t, less(t, base));
    }
    puts("");
    fflush(stdout);
}

/* Bytes and processor time of each configuration, and what follows from them for a shared file
 * system of each bandwidth if nothing overlaps: bytes / bandwidth + open_ms per file + processor
 * time / 2. No load of the machine spoils it. */
static void costs(const char *root, struct far_files *f, const char *svg, double open_ms)
{
    printf("\n| set | configuration | MB moved | files opened | CPU s |");
    for (int b = 0; b < BANDWIDTHS; b++)
        printf(" %.0f MB/s |", bandwidths[b]);
    puts("\n|---|---|---|---|---|---|---|---|---|---|");
    for (int s = 0; s < FAR_SETS; s++) {
        struct times all[WAYS][BANDWIDTHS];
        if (!far_sets[s].figure7 || !far_load(root, &far_sets[s], f) || f->ranks > RANKS)
            continue;
        for (int w = 0; w < WAYS; w++)
            all[w][0] = measure(f, &ways[w], f->ranks, 0, 0);
        for (int w = 0; w < WAYS; w++)
            for (int b = BANDWIDTHS - 1; b >= 0; b--) {
                struct times *t = &all[w][b];
                *t = all[w][0];
                for (int r = 0; r < 2; r++) {
                    struct cost *c = r ? &t->restart : &t->checkpoint;
                    c->wall =
                        c->bytes / bandwidths[b] / 1e6 + c->opened * open_ms / 1e3 + c->cpu / 2;
                }
            }
        for (int r = 0; r < 2; r++)
            for (int w = 0; w < WAYS; w++) {
                const struct cost *c = r ? &all[w][0].restart : &all[w][0].checkpoint;
                printf("| %s, %s | %s | %.2f | %.0f | %.2f |", far_sets[s].name,
                       r ? "restart" : "checkpoint", ways[w].name, c->bytes / 1e6, c->opened,
                       c->cpu);
                print_times(all, w, r);
            }
        if (svg && s == 0) {
            draw(svg, "checkpoint", far_sets[s].name, 0, all);
            draw(svg, "restart", far_sets[s].name, 1, all);
        }
    }
}

/* Figs. 12 and 13; Fig. 10 is the difference between agnostic and aware in it. */
static void end_to_end(const char *root, struct far_files *f, double open_ms)
{
    printf("\n| set | configuration |");
    for (int b = 0; b < BANDWIDTHS; b++)
        printf(" %.0f MB/s |", bandwidths[b]);
    puts("\n|---|---|---|---|---|---|---|");
    for (int s = 0; s < FAR_SETS; s++) {
        struct times all[WAYS][BANDWIDTHS];
        if (!far_sets[s].figure7 || !far_load(root, &far_sets[s], f) || f->ranks > RANKS)
            continue;
        for (int w = 0; w < WAYS; w++)
            for (int b = 0; b < BANDWIDTHS; b++)
                all[w][b] = measure(f, &ways[w], f->ranks, bandwidths[b], open_ms);
        for (int r = 0; r < 2; r++)
            for (int w = 0; w < WAYS; w++) {
                printf("| %s, %s | %s |", far_sets[s].name, r ? "restart" : "checkpoint",
                       ways[w].name);
                print_times(all, w, r);
            }
    }
}

/* Fig. 11: as the number of ranks grows. */
static void ranks_grow(const char *root, struct far_files *f, double mb_per_s, double open_ms)
{
    printf(
        "\n| Enzo, %.0f MB/s, %.0f ms per file | 2 ranks | 4 | 8 | 16 |\n|---|---|---|---|---|\n",
        mb_per_s, open_ms);
    if (!far_load(root, &far_sets[0], f))
        return;
    for (int restart = 0; restart < 2; restart++)
        for (int w = 0; w < WAYS; w++) {
            printf("| %s: %s |", restart ? "restart" : "checkpoint", ways[w].name);
            for (int n = 2; n <= 16; n *= 2) {
                struct times t = measure(f, &ways[w], n, mb_per_s, open_ms);
                printf(" %.3f s |", restart ? t.restart.wall : t.checkpoint.wall);
            }
            puts("");
            fflush(stdout);
        }
}

int main(int argc, char **argv)
{
    static struct far_files f;
    sk_hdf5_asked = sk_hdf5_ask_library;
    if (argc < 2) {
        fprintf(stderr, "usage: paper_far_end CHECKPOINTS_DIR [SVG_DIR [costs]]\n");
        return 2;
    }
    snprintf(shared, sizeof shared, "/dev/shm/paper-far-shared.%ld", (long)getpid());
    snprintf(local, sizeof local, "/dev/shm/paper-far-local.%ld", (long)getpid());
    const char *svg = argc > 2 ? argv[2] : NULL;
    puts("## End to end, from bytes and processor time (Figs. 10, 12, 13)");
    costs(argv[1], &f, svg, 0);
    puts("\n## The same with 5 ms per file opened");
    costs(argv[1], &f, NULL, 5);
    if (argc < 4) {
        puts("\n## End to end, measured (Figs. 10, 12, 13)");
        end_to_end(argv[1], &f, 0);
        puts("\n## Aggregation as ranks are added, measured (Fig. 11)");
        ranks_grow(argv[1], &f, 100, 5);
    }
    sk_io_rmtree(shared, NULL);
    sk_io_rmtree(local, NULL);
    return 0;
}
