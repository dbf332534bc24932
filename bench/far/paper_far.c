/* The compression figures of mcrEngine (Islam et al., SC'12): Figs. 6 to 9, Tables III and IV, on real
 * checkpoint sets, with the paper's schemes and with `auto`. */
#include "archive/write/create.h"
#include "reader/hdf5.h"
#include "reader/reader.h"
#include "codec/general/general.h"
#include "base/clock.h"
#include "base/file/io.h"
#include "base/text/svg.h"
#include "bars.h"
#include "limit.h"
#include "paper_far_sets.h"
#include "paper_far_table.h"

#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROUPS = 5,
       TURNS = 7,
       MOST_POINTS = 64 };

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

static FILE *json;

/* run(), told where a terminal watches and noted. */
static struct result measure(const struct far_set *s, const struct far_files *f, int w, int group,
                             uint64_t block)
{
    if (isatty(2))
        fprintf(stderr, "\r\033[K%s: %s", s->name, ways[w].name);
    struct result r = run(f, &ways[w], group, block);
    if (isatty(2))
        fputs("\r\033[K", stderr);
    if (json) {
        fprintf(json,
                "{\"bench\": \"ratio\", \"set\": \"%s\", \"way\": \"%s\", \"group\": %d, "
                "\"turn_bytes\": %llu, \"ratio\": %.4f, \"seconds\": %.4f}\n",
                s->name, ways[w].name, group < f->ranks ? group : f->ranks,
                (unsigned long long)block, r.ratio, r.seconds);
        fflush(json);
    }
    return r;
}

/* ---- figures ---- */

static const char *const colours[WAYS] = {"#888888", "#b8860b", "#7a4fa3",
                                          "#1f6fb2", "#2a9d4a", "#c0392b"};

/* Ratios as lines: y[i] of the way shown[i]. */
static void draw_lines(const char *path, const char *title, int n_shown, const int *shown,
                       struct sk_axis x_axis, int n, const double *x, double y[][MOST_POINTS])
{
    struct sk_series series[WAYS];
    double top = 0;
    struct saikai_error err = {0};
    for (int i = 0; i < n_shown; i++) {
        series[i] = (struct sk_series){
            SK_SERIES_LINE, ways[shown[i]].name, colours[shown[i]], n, x, y[i], NULL, NULL};
        for (int k = 0; k < n; k++)
            top = y[i][k] > top ? y[i][k] : top;
    }
    struct sk_chart c = {
        .width = 560, .height = 340, .title = title, .series = series, .n_series = n_shown, .legend = 1};
    c.x = x_axis;
    c.y = (struct sk_axis){SK_AXIS_LINEAR, 0, top * 1.5, "compression ratio", NULL};
    if (sk_chart_write(&c, path, &err))
        fprintf(stderr, "%s\n", err.text);
}

/* Fig. 6: one bar for each way. */
static void draw_bars(const char *svg, const struct far_set *s, const double *ratio)
{
    struct bars b = {.title = s->name,
                     .subtitle = "all files of the set in one group",
                     .unit = "",
                     .parts = 1,
                     .part = {"compression ratio"},
                     .colour = {"#1f6fb2"},
                     .n = WAYS};
    char path[512];
    struct saikai_error err = {0};
    for (int w = 0; w < WAYS; w++) {
        b.name[w] = ways[w].name;
        b.value[w][0] = ratio[w];
    }
    far_figure(path, sizeof path, svg, "fig6", s);
    if (bars_write(&b, path, &err))
        fprintf(stderr, "%s\n", err.text);
}

/* Fig. 9: two sets of one run, by the numbers at the end of their names. */
static void draw_time(const char *svg, int s, double ratio[FAR_SETS][WAYS])
{
    static const int all[WAYS] = {0, 1, 2, 3, 4, 5};
    double x[2], y[WAYS][MOST_POINTS];
    char path[512];
    for (int k = 0; k < 2; k++) {
        x[k] = atof(strrchr(far_sets[s + k].name, ' '));
        for (int w = 0; w < WAYS; w++)
            y[w][k] = ratio[s + k][w];
    }
    struct sk_axis axis = {SK_AXIS_LINEAR, x[0], x[1], "number of the step or output", NULL};
    far_figure(path, sizeof path, svg, "fig9", &far_sets[s]);
    draw_lines(path, far_sets[s].name, WAYS, all, axis, 2, x, y);
}

/* ---- measuring ---- */

/* Fig. 6 (passes), Fig. 9 (the next set of a run is the next row), and the speed of each. */
static void passes(const char *root, struct far_files *f, const char *svg)
{
    double ratio[FAR_SETS][WAYS] = {{0}};
    puts("## Ratio by scheme, all files of a set in one group (Figs. 6 and 9)\n");
    printf("| set |");
    for (int w = 0; w < WAYS; w++)
        printf(" %s |", ways[w].name);
    puts(" auto over agnostic | auto, MB/s | agnostic, MB/s "
         "|\n|---|---|---|---|---|---|---|---|---|---|");
    for (int s = 0; s < FAR_SETS; s++) {
        if (!far_load(root, &far_sets[s], f) || bench_left_out("by scheme: %s", far_sets[s].name))
            continue;
        double speed[WAYS], raw = 0;
        for (int i = 0; i < f->n; i++) {
            struct stat st;
            raw += stat(f->path[i], &st) ? 0 : (double)st.st_size;
        }
        printf("| %s |", far_sets[s].name);
        for (int w = 0; w < WAYS; w++) {
            struct result best = measure(&far_sets[s], f, w, 1 << 20, 0);
            for (int k = 0; k < (w == AUTO ? 6 : 0); k++) {
                struct result r = run(f, &ways[w], 1 << 20, 0);
                best = r.seconds < best.seconds ? r : best;
            }
            ratio[s][w] = best.ratio;
            speed[w] = best.seconds > 0 ? raw / best.seconds / 1e6 : 0;
            printf(" %.3f |", best.ratio);
            fflush(stdout);
        }
        printf(" %+.1f %% | %.0f | %.0f |\n", better_by(ratio[s][AUTO], ratio[s][AGNOSTIC]),
               speed[AUTO], speed[AGNOSTIC]);
        if (svg && far_sets[s].figure7)
            draw_bars(svg, &far_sets[s], ratio[s]);
    }
    for (int s = 0; svg && s + 1 < FAR_SETS; s++)
        if (far_sets[s].figure9 && ratio[s][AUTO] > 0 && ratio[s + 1][AUTO] > 0)
            draw_time(svg, s, ratio);
}

/* Fig. 7 and Table IV. */
static void group_sizes(const char *root, struct far_files *f, const char *svg)
{
    enum { SHOWN = 4 };
    static const int shown[SHOWN] = {AGNOSTIC, AWARE, AWARE_BLOCK, AUTO};
    static const struct sk_axis axis = {SK_AXIS_LOG, 1, 16, "processes in a group", NULL};
    double gains[FAR_SETS][SHOWN][2];
    int measured[FAR_SETS] = {0};
    puts("\n## Ratio by group size (Fig. 7)\n\n| set | scheme | 1 | 2 | 4 | 8 | 16 "
         "|\n|---|---|---|---|---|---|---|");
    for (int s = 0; s < FAR_SETS; s++) {
        double x[MOST_POINTS], y[SHOWN][MOST_POINTS];
        char path[512];
        if (!far_sets[s].figure7 || !far_load(root, &far_sets[s], f) ||
            bench_left_out("by group or turn: %s", far_sets[s].name))
            continue;
        for (int w = 0; w < SHOWN; w++) {
            printf("| %s | %s |", far_sets[s].name, ways[shown[w]].name);
            for (int g = 0; g < GROUPS; g++) {
                x[g] = 1 << g;
                y[w][g] = measure(&far_sets[s], f, shown[w], 1 << g, 0).ratio;
                double gain = better_by(y[w][g], y[0][g]), *of = gains[s][w];
                of[0] = g && of[0] > gain ? of[0] : gain;
                of[1] = g && of[1] < gain ? of[1] : gain;
                printf(" %.3f |", y[w][g]);
                fflush(stdout);
            }
            puts("");
        }
        measured[s] = 1;
        far_figure(path, sizeof path, svg ? svg : "", "fig7", &far_sets[s]);
        if (svg)
            draw_lines(path, far_sets[s].name, SHOWN, shown, axis, GROUPS, x, y);
    }
    puts("\n## Relative improvement over agnostic + gzip (Table IV)\n\n| set | aware-block: best, "
         "worst | aware: best, worst | "
         "auto: best, worst |\n|---|---|---|---|");
    for (int s = 0; s < FAR_SETS; s++)
        if (measured[s])
            printf("| %s | %+.1f %%, %+.1f %% | %+.1f %%, %+.1f %% | %+.1f %%, %+.1f %% |\n",
                   far_sets[s].name, gains[s][2][0], gains[s][2][1], gains[s][1][0], gains[s][1][1],
                   gains[s][3][0], gains[s][3][1]);
}

/* Fig. 8: length of a turn of the block schemes. */
static void block_sizes(const char *root, struct far_files *f, const char *svg)
{
    enum { SHOWN = 2 };
    static const int shown[SHOWN] = {1, AWARE_BLOCK};
    static const struct sk_axis axis = {SK_AXIS_LOG, 1, 4096, "length of a turn, KiB", NULL};
    puts("\n## Ratio by length of a turn (Fig. 8)\n\n| set | scheme | 1 KiB | 4 KiB | 16 KiB | 64 "
         "KiB | 256 KiB | 1 MiB | 4 MiB |\n"
         "|---|---|---|---|---|---|---|---|---|");
    for (int s = 0; s < FAR_SETS; s++) {
        double x[MOST_POINTS], y[SHOWN][MOST_POINTS];
        char path[512];
        if (!far_sets[s].figure7 || !far_load(root, &far_sets[s], f) ||
            bench_left_out("by group or turn: %s", far_sets[s].name))
            continue;
        for (int w = 0; w < SHOWN; w++) {
            printf("| %s | %s |", far_sets[s].name, ways[shown[w]].name);
            for (int b = 0; b < TURNS; b++) {
                x[b] = 1 << 2 * b;
                y[w][b] =
                    measure(&far_sets[s], f, shown[w], 1 << 20, (uint64_t)1024 << 2 * b).ratio;
                printf(" %.3f |", y[w][b]);
                fflush(stdout);
            }
            puts("");
        }
        far_figure(path, sizeof path, svg ? svg : "", "fig8", &far_sets[s]);
        if (svg)
            draw_lines(path, far_sets[s].name, SHOWN, shown, axis, TURNS, x, y);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* The names of the folders in one, in order. Returns how many there are. */
static int folders(const char *dir, char names[][64], int most)
{
    DIR *d = opendir(dir);
    int n = 0;
    for (struct dirent *e; d && n < most && (e = readdir(d));) {
        struct stat st;
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_name[0] != '.' && strlen(e->d_name) < sizeof names[0] && !stat(path, &st) &&
            S_ISDIR(st.st_mode))
            strcpy(names[n++], e->d_name);
    }
    if (d)
        closedir(d);
    qsort(names, (size_t)n, sizeof names[0], by_name);
    return n;
}

/* A first set in which nothing moves yet would flatten all others, and is left to the table. */
static void draw_series(const char *svg, const char *run_name, int n, const double *x,
                        double y[WAYS][MOST_POINTS])
{
    static const int all[WAYS] = {0, 1, 2, 3, 4, 5};
    char path[512], title[160];
    int first = n > 2 && y[AUTO][0] > 20 * y[AUTO][1];
    snprintf(title, sizeof title, "%s: ratio from set to set", run_name);
    if (first) {
        snprintf(title, sizeof title, "%s: ratio from set to set, after the first", run_name);
        for (int w = 0; w < WAYS; w++)
            memmove(y[w], y[w] + 1, (size_t)(n - 1) * sizeof y[w][0]);
    }
    struct sk_axis axis = {SK_AXIS_LINEAR, x[first], x[n - 1], "set of the run", NULL};
    snprintf(path, sizeof path, "%s/paper-far-fig9-%s.svg", svg, run_name);
    draw_lines(path, title, WAYS, all, axis, n - first, x + first, y);
}

/* Fig. 9 of one run: how the ratio of each way moves from set to set, and its first, least and most. */
static void one_series(const char *root, const char *run_name, struct far_files *f, const char *svg)
{
    static char sets[MOST_POINTS][64];
    double x[MOST_POINTS], y[WAYS][MOST_POINTS];
    char dir[512];
    snprintf(dir, sizeof dir, "%s/%s", root, run_name);
    int n = folders(dir, sets, MOST_POINTS), shown = 0;
    printf("### %s\n\n| set |", run_name);
    for (int w = 0; w < WAYS; w++)
        printf(" %s |", ways[w].name);
    puts("\n|---|---|---|---|---|---|---|");
    for (int i = 0; i < n; i++) {
        char name[160];
        snprintf(name, sizeof name, "%.63s, %.63s", run_name, sets[i]);
        struct far_set s = {name, sets[i], "\n", 0, 0}; /* one group, whoever wrote what */
        if (!far_load(dir, &s, f) || bench_left_out("series: %s", name))
            continue;
        x[shown] = shown;
        printf("| %s |", sets[i]);
        for (int w = 0; w < WAYS; w++) {
            y[w][shown] = measure(&s, f, w, 1 << 20, 0).ratio;
            printf(" %.3f |", y[w][shown]);
            fflush(stdout);
        }
        puts("");
        shown++;
    }
    puts("");
    if (svg && shown > 1)
        draw_series(svg, run_name, shown, x, y);
}

/* Fig. 9 with as many sets as there are: each folder below dir is a run, each folder there a set. */
static void series(const char *dir, struct far_files *f, const char *svg)
{
    static char runs[MOST_POINTS][64];
    puts("\n## Ratio from set to set (Fig. 9)\n");
    if (!dir) {
        puts("Skipped: no series of sets was given (--series DIR; make: SERIES=DIR).\n");
        return;
    }
    int n = folders(dir, runs, MOST_POINTS);
    if (!n)
        printf("Skipped: %s holds no folders of runs.\n\n", dir);
    for (int r = 0; r < n; r++)
        one_series(dir, runs[r], f, svg);
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"part", 1, NULL, 'p'}, {"svg", 1, NULL, 'v'}, {"json", 1, NULL, 'j'},
        {"series", 1, NULL, 's'}, {"limit", 1, NULL, 'l'}, {NULL, 0, NULL, 0}};
    const char *svg = NULL, *part = NULL, *runs = NULL;
    double limit = BENCH_LIMIT_S;
    int wrong = 0;
    sk_hdf5_asked = sk_hdf5_library;
    sk_raw_describe_shipped();
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 'p')
            part = optarg;
        else if (c == 'v')
            svg = optarg;
        else if (c == 's')
            runs = *optarg ? optarg : NULL;
        else if (c == 'l')
            limit = atof(optarg);
        else
            wrong |= c != 'j' || !(json = fopen(optarg, "a"));
    }
    static const char *const parts[] = {"sets", "schemes", "groups", "turns", "series"};
    int known_part = !part;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        known_part |= part && !strcmp(part, parts[i]);
    if (!known_part)
        fprintf(stderr, "paper_far: --part %s: there is no such part\n", part);
    struct far_files *f = malloc(sizeof *f);
    if (wrong || !known_part || optind + 1 != argc || !f) {
        fputs("usage: paper_far [--part sets|schemes|groups|turns|series] [--series DIR] "
              "[--limit SECONDS] [--svg DIR] [--json FILE] CHECKPOINTS_DIR\n",
              stderr);
        free(f);
        return 2;
    }
    bench_limit(limit);
    far_say_missing(argv[optind], f);
    if (!part || !strcmp(part, "sets"))
        far_characteristics(argv[optind], f);
    if (!part || !strcmp(part, "schemes"))
        passes(argv[optind], f, svg);
    if (!part || !strcmp(part, "groups"))
        group_sizes(argv[optind], f, svg);
    if (!part || !strcmp(part, "turns"))
        block_sizes(argv[optind], f, svg);
    if (!part || !strcmp(part, "series"))
        series(runs, f, svg);
    bench_limit_report(stdout, json);
    free(f);
    if (json)
        fclose(json);
    return 0;
}
