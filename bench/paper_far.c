/* The compression figures of mcrEngine (Islam et al., SC'12): Figs. 6 to 9 and Table IV, on real
 * checkpoint sets, with the paper's schemes and with `auto`. usage: paper_far CHECKPOINTS_DIR
 * [SVG_DIR] */
#include "archive/archive.h"
#include "archive/read_hdf5.h"
#include "archive/general.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/svg.h"
#include "paper_far_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZES = 5 };

/* One way to compress: the paper's schemes with gzip as the second pass (or none), and ours. */
struct way {
    const char *name;
    int scheme, codecs, backend;
};
static const struct way ways[] = {
    {"agnostic, gzip", SK_SCHEME_AGNOSTIC, 0, SK_BACKEND_GZIP},
    {"agnostic-block, gzip", SK_SCHEME_AGNOSTIC_BLOCK, 0, SK_BACKEND_GZIP},
    {"aware, one pass", SK_SCHEME_AWARE, 1, -1},
    {"aware, two passes", SK_SCHEME_AWARE, 1, SK_BACKEND_GZIP},
    {"aware-block, two passes", SK_SCHEME_AWARE_BLOCK, 1, SK_BACKEND_GZIP},
    {"auto", SK_SCHEME_AUTO, 0, SK_BACKEND_ZSTD},
};
enum { WAYS = sizeof ways / sizeof *ways, AGNOSTIC = 0, AWARE = 3, AWARE_BLOCK = 4, AUTO = 5 };

struct result {
    double ratio, seconds;
};

/* Archive the set in groups of `group` ranks, one archive each; ratio over all. */
static struct result run(const struct far_files *f, const struct way *w, int group, uint64_t block)
{
    static struct sk_archive_input in[FAR_FILES];
    char out[64];
    struct result r = {0};
    uint64_t raw = 0, stored = 0;
    struct sk_archive_options o = {.scheme = w->scheme, .merge_bytes = block, .no_sync = 1};
    o.backend = w->backend < 0 ? SK_BACKEND_STORE : w->backend;
    if (w->codecs) {
        o.codec_f64 = "fpc";
        o.codec_f32 = "fpzip";
        o.codec_other = "zstd";
    }
    if (w->backend < 0)
        o.single_pass = 1;
    snprintf(out, sizeof out, "/dev/shm/paper-far.%ld.ska", (long)getpid());
    for (int first = 0; first < f->ranks; first += group) {
        struct sk_archive_stats st;
        struct saikai_error err = {0};
        size_t n = 0;
        for (int i = 0; i < f->n; i++)
            if (f->rank[i] >= first && f->rank[i] < first + group)
                in[n++] = (struct sk_archive_input){.path = f->path[i], .name = f->path[i] + 1};
        if (!n)
            continue;
        if (sk_archive_create(out, in, n, &o, &st, &err)) {
            fprintf(stderr, "%s: %s\n", w->name, err.text);
            unlink(out);
            return r;
        }
        raw += st.raw_bytes;
        stored += st.stored_bytes;
        r.seconds += st.seconds;
    }
    unlink(out);
    r.ratio = stored ? (double)raw / (double)stored : 0;
    return r;
}

static double better_by(double ratio, double than)
{
    return than > 0 ? (ratio - than) / than * 100 : 0;
}

/* Fig. 6 (passes), Fig. 9 (the next set of a run is the next row), and the speed of each. */
static void passes(const char *root, struct far_files *f)
{
    puts("## Ratio by scheme, all files of a set in one group (Figs. 6 and 9)\n");
    printf("| set |");
    for (int w = 0; w < WAYS; w++)
        printf(" %s |", ways[w].name);
    puts(" auto over agnostic | auto, MB/s | agnostic, MB/s "
         "|\n|---|---|---|---|---|---|---|---|---|---|");
    for (int s = 0; s < FAR_SETS; s++) {
        if (!far_load(root, &far_sets[s], f))
            continue;
        double ratio[WAYS], speed[WAYS], raw = 0;
        for (int i = 0; i < f->n; i++) {
            struct stat st;
            raw += stat(f->path[i], &st) ? 0 : (double)st.st_size;
        }
        printf("| %s |", far_sets[s].name);
        for (int w = 0; w < WAYS; w++) {
            struct result best = run(f, &ways[w], 1 << 20, 0);
            for (int k = 0; k < (w == AUTO ? 6 : 0); k++) {
                struct result r = run(f, &ways[w], 1 << 20, 0);
                best = r.seconds < best.seconds ? r : best;
            }
            ratio[w] = best.ratio;
            speed[w] = best.seconds > 0 ? raw / best.seconds / 1e6 : 0;
            printf(" %.3f |", ratio[w]);
            fflush(stdout);
        }
        printf(" %+.1f %% | %.0f | %.0f |\n", better_by(ratio[AUTO], ratio[AGNOSTIC]), speed[AUTO],
               speed[AGNOSTIC]);
    }
}

/* Fig. 7 and Table IV. */
static void group_sizes(const char *root, struct far_files *f, const char *svg)
{
    static const int drawn[] = {AGNOSTIC, AWARE, AWARE_BLOCK, AUTO};
    static const char *const colours[] = {"#888888", "#1f6fb2", "#2a9d4a", "#c0392b"};
    double table[FAR_SETS][4][2];
    puts("\n## Ratio by group size (Fig. 7)\n\n| set | scheme | 1 | 2 | 4 | 8 | 16 "
         "|\n|---|---|---|---|---|---|---|");
    for (int s = 0; s < FAR_SETS; s++) {
        double x[SIZES], y[4][SIZES];
        if (!far_sets[s].figure7 || !far_load(root, &far_sets[s], f))
            continue;
        for (int w = 0; w < 4; w++) {
            printf("| %s | %s |", far_sets[s].name, ways[drawn[w]].name);
            for (int g = 0; g < SIZES; g++) {
                x[g] = 1 << g;
                y[w][g] = run(f, &ways[drawn[w]], 1 << g, 0).ratio;
                double gain = better_by(y[w][g], y[0][g]);
                table[s][w][0] = g && table[s][w][0] > gain ? table[s][w][0] : gain;
                table[s][w][1] = g && table[s][w][1] < gain ? table[s][w][1] : gain;
                printf(" %.3f |", y[w][g]);
                fflush(stdout);
            }
            puts("");
        }
        if (!svg)
            continue;
        struct sk_series series[4];
        double top = 0;
        for (int w = 0; w < 4; w++) {
            series[w] = (struct sk_series){
                SK_SERIES_LINE, ways[drawn[w]].name, colours[w], SIZES, x, y[w], NULL, NULL};
            for (int g = 0; g < SIZES; g++)
                top = y[w][g] > top ? y[w][g] : top;
        }
        struct sk_chart c = {.width = 560,
                             .height = 340,
                             .title = far_sets[s].name,
                             .series = series,
                             .n_series = 4};
        c.x = (struct sk_axis){SK_AXIS_LOG, 1, 16, "processes in a group", NULL};
        c.y = (struct sk_axis){SK_AXIS_LINEAR, 0, top * 1.25, "compression ratio", NULL};
        char path[512];
        struct saikai_error err = {0};
        snprintf(path, sizeof path, "%s/paper-far-fig7-%.4s.svg", svg, far_sets[s].dir);
        if (sk_chart_write(&c, path, &err))
            fprintf(stderr, "%s\n", err.text);
    }
    puts("\n## Relative improvement over agnostic + gzip (Table IV)\n\n| set | aware-block: best, "
         "worst | aware: best, worst | "
         "auto: best, worst |\n|---|---|---|---|");
    for (int s = 0; s < FAR_SETS; s++)
        if (far_sets[s].figure7)
            printf("| %s | %+.1f %%, %+.1f %% | %+.1f %%, %+.1f %% | %+.1f %%, %+.1f %% |\n",
                   far_sets[s].name, table[s][2][0], table[s][2][1], table[s][1][0], table[s][1][1],
                   table[s][3][0], table[s][3][1]);
}

/* Fig. 8: length of a turn of the block schemes. */
static void block_sizes(const char *root, struct far_files *f)
{
    static const int shown[] = {1, AWARE_BLOCK};
    puts("\n## Ratio by length of a turn (Fig. 8)\n\n| set | scheme | 1 KiB | 4 KiB | 16 KiB | 64 "
         "KiB | 256 KiB |\n"
         "|---|---|---|---|---|---|---|");
    for (int s = 0; s < FAR_SETS; s++) {
        if (!far_sets[s].figure7 || s == 0 || !far_load(root, &far_sets[s], f))
            continue;
        for (int w = 0; w < 2; w++) {
            printf("| %s | %s |", far_sets[s].name, ways[shown[w]].name);
            for (int b = 0; b < 5; b++)
                printf(" %.3f |", run(f, &ways[shown[w]], 1 << 20, (uint64_t)1024 << 2 * b).ratio);
            puts("");
            fflush(stdout);
        }
    }
}

int main(int argc, char **argv)
{
    sk_hdf5_asked = sk_hdf5_ask_library;
    struct far_files *f = malloc(sizeof *f);
    if (argc < 2 || !f) {
        fprintf(stderr, "usage: paper_far CHECKPOINTS_DIR [SVG_DIR]\n");
        free(f);
        return 2;
    }
    passes(argv[1], f);
    group_sizes(argv[1], f, argc > 2 ? argv[2] : NULL);
    block_sizes(argv[1], f);
    free(f);
    return 0;
}
