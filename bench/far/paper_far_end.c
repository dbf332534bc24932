/* End to end by the clock, Figs. 10 to 13 of mcrEngine (Islam et al., SC'12, section VII):
 * checkpoint files on node-local memory go to a shared file system of limited bandwidth and come
 * back, in the configurations of paper_far_ways.h. */
#include "reader/hdf5.h"
#include "base/text/svg.h"
#include "limit.h"
#include "paper_far_model.h"
#include "paper_far_steps.h"
#include "paper_far_ways.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BANDWIDTHS = 5,
       MOST_RUNS = 25,
       CORES = 2,
       GROWTH = 4 };
static const double bandwidths[BANDWIDTHS] = {20, 50, 100, 200, 400}; /* MB/s */
static const char *const phases[2] = {"checkpoint", "restart"};

static struct {
    const char *root, *svg, *set, *part, *way;
    FILE *json;
    int phase, runs, done, steps;
    double limit;      /* seconds, for all of it */
    double contention; /* of each file among those of as many ranks as the set has; -1: the paper's */
    struct far_places at;
} o = {.phase = -1, .runs = 3, .limit = BENCH_LIMIT_S, .contention = -1};

static struct far_files files;

static int wants(const char *part, int phase)
{
    return (!o.part || !strcmp(o.part, part)) && (o.phase < 0 || o.phase == phase);
}

/* Everything is compared with the first. */
static int is_asked(int w)
{
    return w == FAR_NONE || !o.way || !strncmp(far_ways[w].name, o.way, strlen(o.way));
}

/* Where a terminal watches. */
static void progress(const char *set, int phase, const char *way, double mb_per_s)
{
    o.done++;
    if (isatty(2))
        fprintf(stderr, "\r\033[K%d of %d: %s, %s, %s, %.0f MB/s", o.done, o.steps, set,
                phases[phase], way, mb_per_s);
}

static void progress_ends(void)
{
    if (isatty(2))
        fputs("\r\033[K", stderr);
}

/* Medians of some runs, and between which times they were. */
static struct far_cost measure(const struct far_way *w, int ranks, int phase,
                               const struct far_server *server)
{
    static const struct far_server unlimited;
    struct far_cost c = {0};
    double wall[MOST_RUNS], cpu[MOST_RUNS], step[FAR_STEPS][MOST_RUNS];
    for (int k = 0; k < o.runs; k++) {
        struct far_cost made;
        /* a restart reads what the first run has made */
        if ((!phase || !k) &&
            (far_clear(&o.at) || (phase && far_move(&files, w, ranks, 0, &unlimited, &o.at, &made))))
            exit(1);
        if (far_move(&files, w, ranks, phase, server, &o.at, &c))
            exit(1);
        wall[k] = c.wall;
        cpu[k] = c.cpu;
        for (int i = 0; i < FAR_STEPS; i++)
            step[i][k] = c.step[i];
    }
    c.wall = c.low = c.high = far_median(wall, o.runs);
    c.mean = far_mean(wall, o.runs, &c.half);
    for (int k = 0; k < o.runs; k++) {
        c.low = wall[k] < c.low ? wall[k] : c.low;
        c.high = wall[k] > c.high ? wall[k] : c.high;
    }
    c.cpu = far_median(cpu, o.runs);
    for (int i = 0; i < FAR_STEPS; i++)
        c.step[i] = far_median(step[i], o.runs);
    return c;
}

static void note(const char *bench, const struct far_set *s, int phase, const struct far_way *w,
                 int ranks, const struct far_server *server, const struct far_cost *c)
{
    if (!o.json)
        return;
    fprintf(o.json,
            "{\"bench\": \"%s\", \"set\": \"%s\", \"phase\": \"%s\", \"configuration\": \"%s\", "
            "\"ranks\": %d, \"mb_per_s\": %g, \"open_ms\": %g, \"contention\": %g, \"runs\": %d, "
            "\"seconds\": %.6f, \"least\": %.6f, \"most\": %.6f, \"mean\": %.6f, \"ci95\": %.6f, "
            "\"cpu_seconds\": %.6f, \"cpu_steps\": [%.6f, %.6f, %.6f, %.6f], \"bytes\": %.0f, \"files_opened\": %.0f, \"files_at_once\": %d}\n",
            bench, s->name, phases[phase], w->name, ranks, server->mb_per_s, server->open_ms,
            server->contention, o.runs, c->wall, c->low, c->high, c->mean, c->half, c->cpu, c->step[0], c->step[1], c->step[2], c->step[3], c->bytes, c->opened, c->at_once);
    fflush(o.json);
}

/* ---- Figs. 10, 12 and 13 ---- */

typedef struct far_cost table[FAR_CLOCK_WAYS][BANDWIDTHS];

static double transfer(const struct far_cost *c, int b)
{
    return c->bytes / bandwidths[b] / 1e6;
}

/* The clock over what bytes and processor time come to when nothing overlaps, or when all that can
 * does: least and largest of the bandwidths. */
static void against_model(const struct far_cost *c, int overlapped)
{
    double low = 1e9, high = 0;
    for (int b = 0; b < BANDWIDTHS; b++) {
        double t = transfer(&c[b], b), p = c[b].cpu / CORES,
               model = !overlapped ? t + p
                       : t > p     ? t
                                   : p,
               x = c[b].wall / model;
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    printf(" %.2f … %.2f |", low, high);
}

static void print_table(table t)
{
    printf("| configuration | MB moved | files | CPU s |");
    for (int b = 0; b < BANDWIDTHS; b++)
        printf(" %.0f MB/s |", bandwidths[b]);
    puts(" ÷ sum | ÷ larger |\n|---|---|---|---|---|---|---|---|---|---|---|");
    for (int w = 0; w < FAR_CLOCK_WAYS; w++) {
        const struct far_cost *c = t[w];
        if (!is_asked(w))
            continue;
        printf("| %s | %.2f | %.0f | %.2f |", far_ways[w].name, c[0].bytes / 1e6, c[0].opened,
               c[BANDWIDTHS - 1].cpu);
        for (int b = 0; b < BANDWIDTHS; b++) {
            double base = t[FAR_NONE][b].wall;
            printf(" %.3f s [%.3f … %.3f] = %.3f + %.3f", c[b].wall, c[b].low, c[b].high,
                   transfer(&c[b], b), c[b].wall - transfer(&c[b], b));
            if (w == FAR_NONE)
                printf(" |");
            else
                printf(" (%+.1f %%) |", (c[b].wall - base) / base * 100);
        }
        against_model(c, 0);
        against_model(c, 1);
        puts("");
    }
    if (is_asked(FAR_AUTO))
        printf("\nBytes alone allow `auto` %+.1f %% at most.\n\n",
               (t[FAR_AUTO][0].bytes / t[FAR_NONE][0].bytes - 1) * 100);
}

/* A line through the medians, and behind it a point at each with the least and the most of the runs. */
static void with_spread(struct sk_series out[2], const struct far_way *w, int n, const double *x, const double *y, const double *low, const double *high)
{
    out[0] = (struct sk_series){SK_SERIES_LINE, w->name, w->colour, n, x, y, NULL, NULL};
    out[1] = (struct sk_series){SK_SERIES_POINTS, NULL, w->colour, n, x, y, low, high};
}

static void write_chart(struct sk_chart *c, const char *path)
{
    struct saikai_error err = {0};
    if (sk_chart_write(c, path, &err))
        fprintf(stderr, "%s\n", err.text);
}

/* Seconds against bandwidth, all configurations: of the whole (Figs. 12, 13), or of the transfer
 * alone (Fig. 10). */
static void draw(const struct far_set *s, int phase, table t)
{
    struct sk_series series[2 * FAR_CLOCK_WAYS];
    double y[FAR_CLOCK_WAYS][BANDWIDTHS], least[FAR_CLOCK_WAYS][BANDWIDTHS], most[FAR_CLOCK_WAYS][BANDWIDTHS], top = 0, low = 1e9;
    char path[512], title[128];
    for (int w = 0; w < FAR_CLOCK_WAYS; w++) {
        for (int b = 0; b < BANDWIDTHS; b++) {
            y[w][b] = t[w][b].wall;
            least[w][b] = t[w][b].low;
            most[w][b] = t[w][b].high;
            top = most[w][b] > top ? most[w][b] : top;
            low = least[w][b] < low ? least[w][b] : low;
        }
        with_spread(&series[2 * w], &far_ways[w], BANDWIDTHS, bandwidths, y[w], least[w], most[w]);
    }
    snprintf(title, sizeof title, "%s: %s, by the clock", s->name, phases[phase]);
    struct sk_chart c = {.width = 560,
                         .height = 360,
                         .title = title,
                         .series = series,
                         .n_series = 2 * FAR_CLOCK_WAYS,
                         .legend = 1};
    c.x = (struct sk_axis){SK_AXIS_LOG, bandwidths[0], bandwidths[BANDWIDTHS - 1],
                           "bandwidth of the shared file system, MB/s", NULL};
    c.y = (struct sk_axis){SK_AXIS_LOG, low / 1.2, top * 2, "seconds", NULL};
    far_figure(path, sizeof path, o.svg, phase ? "fig13" : "fig12", s);
    write_chart(&c, path);
}

/* Fig. 10: seconds of transfer alone, by the way it was compressed; shared by reads and writes. */
static void draw_transfer(const struct far_set *s, table t)
{
    static const int shown[] = {FAR_NONE_TOGETHER, FAR_AGNOSTIC, FAR_AWARE, FAR_AUTO};
    enum { SHOWN = sizeof shown / sizeof *shown };
    struct sk_series series[SHOWN];
    double y[SHOWN][BANDWIDTHS];
    char path[512], title[128];
    for (int i = 0; i < SHOWN; i++) {
        const struct far_way *w = &far_ways[shown[i]];
        for (int b = 0; b < BANDWIDTHS; b++)
            y[i][b] = transfer(&t[shown[i]][b], b);
        series[i] = (struct sk_series){SK_SERIES_LINE, w->name, w->colour, BANDWIDTHS,
                                       bandwidths, y[i], NULL, NULL};
    }
    snprintf(title, sizeof title, "%s: transfer alone", s->name);
    struct sk_chart c = {
        .width = 560, .height = 340, .title = title, .series = series, .n_series = SHOWN};
    c.legend = 1;
    c.x = (struct sk_axis){SK_AXIS_LOG, bandwidths[0], bandwidths[BANDWIDTHS - 1],
                           "bandwidth of the shared file system, MB/s", NULL};
    c.y = (struct sk_axis){SK_AXIS_LOG, y[SHOWN - 1][BANDWIDTHS - 1] / 1.2, y[0][0] * 2, "seconds",
                           NULL};
    far_figure(path, sizeof path, o.svg, "fig10", s);
    write_chart(&c, path);
}

static int chosen(const struct far_set *s)
{
    return s->figure7 && far_is_called(s, o.set);
}

static void end_to_end(void)
{
    table t;
    for (int s = 0; s < FAR_SETS; s++)
        for (int phase = 0; phase < 2; phase++) {
            const struct far_set *set = &far_sets[s];
            if (!wants("clock", phase) || !chosen(set) || !far_load(o.root, set, &files) ||
                files.ranks > FAR_RANKS || bench_left_out("by the clock: %s, %s", set->name, phases[phase]))
                continue;
            for (int w = 0; w < FAR_CLOCK_WAYS; w++)
                for (int b = 0; b < BANDWIDTHS && is_asked(w); b++) {
                    progress(set->name, phase, far_ways[w].name, bandwidths[b]);
                    struct far_server server = {.mb_per_s = bandwidths[b]};
                    t[w][b] = measure(&far_ways[w], files.ranks, phase, &server);
                    note("end", set, phase, &far_ways[w], files.ranks, &server, &t[w][b]);
                }
            progress_ends();
            printf("### %s, %s\n\n", set->name, phases[phase]);
            print_table(t);
            fflush(stdout);
            if (o.svg && !o.way)
                draw(set, phase, t);
            if (o.svg && !o.way && !phase)
                draw_transfer(set, t);
        }
}

/* By step, at a server without a limit: how long the bytes take at one is computed from them. */
static void by_step(void)
{
    static const struct far_server unlimited = {.steps = 1};
    struct far_cost c[FAR_CLOCK_WAYS];
    for (int s = 0; s < FAR_SETS; s++)
        for (int phase = 0; phase < 2; phase++) {
            const struct far_set *set = &far_sets[s];
            if (!wants("steps", phase) || !chosen(set) || !far_load(o.root, set, &files) || files.ranks > FAR_RANKS ||
                bench_left_out("by step: %s, %s", set->name, phases[phase]))
                continue;
            for (int w = 0; w < FAR_CLOCK_WAYS; w++) {
                progress(set->name, phase, far_ways[w].name, 0);
                c[w] = measure(&far_ways[w], files.ranks, phase, &unlimited);
                note("steps", set, phase, &far_ways[w], files.ranks, &unlimited, &c[w]);
            }
            progress_ends();
            far_print_steps(set, phase, c);
            if (o.svg)
                far_draw_steps(set, phase, c, o.svg);
        }
}

/* ---- Fig. 11 ---- */

/* Without compression, and `auto`: what the others compute takes longer than what they differ in here. */
static void draw_growth(int phase, struct far_cost c[FAR_WAYS][GROWTH])
{
    static const double x[GROWTH] = {2, 4, 8, 16};
    static const int shown[] = {FAR_NONE, FAR_NONE_TOGETHER, FAR_CLOCK_WAYS, FAR_AUTO, FAR_CLOCK_WAYS + 1};
    enum { SHOWN = sizeof shown / sizeof *shown };
    struct sk_series series[2 * SHOWN];
    double y[SHOWN][GROWTH], least[SHOWN][GROWTH], most[SHOWN][GROWTH], top = 0;
    char path[512], title[128];
    for (int w = 0; w < SHOWN; w++) {
        const struct far_cost *of = c[shown[w]];
        for (int i = 0; i < GROWTH; i++) {
            y[w][i] = of[i].mean;
            least[w][i] = of[i].mean - of[i].half;
            most[w][i] = of[i].mean + of[i].half;
            top = most[w][i] > top ? most[w][i] : top;
        }
        with_spread(&series[2 * w], &far_ways[shown[w]], GROWTH, x, y[w], least[w], most[w]);
    }
    snprintf(title, sizeof title, "%s: %s as ranks are added", far_sets[0].name, phases[phase]);
    struct sk_chart chart = {
        .width = 560, .height = 360, .title = title, .series = series, .n_series = 2 * SHOWN};
    chart.x = (struct sk_axis){SK_AXIS_LOG, 2, 16, "ranks", NULL};
    chart.y = (struct sk_axis){SK_AXIS_LINEAR, 0, top * 1.5, "seconds", NULL};
    snprintf(path, sizeof path, "%s/paper-far-fig11-%s.svg", o.svg, phases[phase]);
    write_chart(&chart, path);
}

/* As the number of ranks grows, at a server that also needs time for each file and that the files
 * which are open slow down, as if all ranks of the set were the processes of the paper. */
static void ranks_grow(struct far_server server)
{
    struct far_cost all[FAR_WAYS][GROWTH];
    if (!chosen(&far_sets[0]) || !far_load(o.root, &far_sets[0], &files))
        return;
    server.contention = o.contention < 0 ? far_paper_contention(files.ranks) : o.contention;
    for (int phase = 0; phase < 2; phase++) {
        if (!wants("writers", phase) || bench_left_out("as ranks are added: %s, %s", far_sets[0].name, phases[phase]))
            continue;
        printf("### %s, %s, %.0f MB/s, %.0f ms per file, contention by a model: + %.1f %% "
               "for each open file; means and 95 %% confidence\n\n| configuration | 2 ranks | 4 | 8 | "
               "16 |\n|---|---|---|---|---|\n",
               far_sets[0].name, phases[phase], server.mb_per_s, server.open_ms,
               server.contention * 100);
        for (int w = 0; w < FAR_WAYS; w++) {
            if (!is_asked(w))
                continue;
            printf("| %s |", far_ways[w].name);
            for (int i = 0; i < GROWTH; i++) {
                progress(far_sets[0].name, phase, far_ways[w].name, server.mb_per_s);
                struct far_cost c = measure(&far_ways[w], 2 << i, phase, &server);
                progress_ends();
                note("writers", &far_sets[0], phase, &far_ways[w], 2 << i, &server, &c);
                all[w][i] = c;
                printf(" %.3f ± %.3f s |", c.mean, c.half);
            }
            puts("");
            fflush(stdout);
        }
        puts("");
        if (o.svg && !o.way)
            draw_growth(phase, all);
    }
}

/* Eq. 3: computed, nothing of it is measured. */
static void aggregators(void)
{
    static const int sizes[] = {1, 4, 8, 16, 32, 64};
    puts("## Nodes that only aggregate (eq. 3, computed)\n\n| processes of a group | aggregators | "
         "nodes of 12 cores | more nodes |\n|---|---|---|---|");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int nodes = far_aggregator_nodes(FAR_PAPER_PROCESSES, FAR_PAPER_CORES, sizes[i]);
        printf("| %d | %d | %d | %+.1f %% |\n", sizes[i],
               far_writers(FAR_PAPER_PROCESSES, sizes[i]), nodes,
               nodes * 100.0 / far_writers(FAR_PAPER_PROCESSES, FAR_PAPER_CORES));
    }
    puts("");
}

static int count_steps(void)
{
    int n = 0, table_v = 0, ways = 0;
    for (int w = 0; w < FAR_WAYS; w++) {
        ways += is_asked(w);
        table_v += w < FAR_CLOCK_WAYS && is_asked(w);
    }
    for (int s = 0; s < FAR_SETS; s++)
        for (int phase = 0; phase < 2; phase++)
            n += chosen(&far_sets[s]) * (wants("clock", phase) * table_v * BANDWIDTHS + wants("steps", phase) * FAR_CLOCK_WAYS);
    for (int phase = 0; phase < 2; phase++)
        n += (chosen(&far_sets[0]) && wants("writers", phase)) * ways * GROWTH;
    return n;
}

static int usage(void)
{
    fputs("usage: paper_far_end [--part clock|steps|writers|nodes] [--set NAME] [--phase checkpoint|restart] "
          "[--way NAME]\n"
          "                     [--runs N] [--contention PER_FILE] [--limit SECONDS] [--svg DIR] [--json FILE] CHECKPOINTS_DIR\n"
          "Sets and ways are named by how their names begin; lines are added to FILE.\n",
          stderr);
    return 2;
}

static int is_one_of(const char *text, const char *const names[])
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(text, names[i]))
            return 1;
    return 0;
}

/* 1: the sets and ways that are asked for are there, and what is written can be. */
static int names_are_known(const char *json)
{
    static const char *const parts[] = {"clock", "steps", "writers", "nodes", NULL};
    int sets = 0, ways = 0;
    for (int s = 0; s < FAR_SETS; s++)
        sets += chosen(&far_sets[s]);
    for (int w = 0; w < FAR_WAYS; w++)
        ways += !o.way || !strncmp(far_ways[w].name, o.way, strlen(o.way));
    if (o.part && !is_one_of(o.part, parts))
        fprintf(stderr, "paper_far_end: --part %s: there is no such part\n", o.part);
    else if (!sets)
        fprintf(stderr, "paper_far_end: --set %s: there is no such set\n", o.set);
    else if (!ways)
        fprintf(stderr, "paper_far_end: --way %s: there is no such way\n", o.way);
    else if (json && !(o.json = fopen(json, "a")))
        fprintf(stderr, "paper_far_end: --json %s: %s\n", json, strerror(errno));
    else
        return 1;
    return 0;
}

/* 0: it is a number within these limits. */
static int number(const char *option, const char *text, double least, double most, double *to)
{
    if (!far_number(text, least, most, to))
        return 0;
    fprintf(stderr, "paper_far_end: --%s %s: not a number from %g to %g\n", option, text, least, most);
    return -1;
}

static int read_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"part", 1, NULL, 'p'},
        {"set", 1, NULL, 's'},
        {"phase", 1, NULL, 'f'},
        {"runs", 1, NULL, 'n'},
        {"svg", 1, NULL, 'v'},
        {"json", 1, NULL, 'j'},
        {"way", 1, NULL, 'w'},
        {"contention", 1, NULL, 'c'},
        {"limit", 1, NULL, 'l'},
        {NULL, 0, NULL, 0},
    };
    const char *json = NULL;
    double runs = o.runs;
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 'p')
            o.part = optarg;
        else if (c == 's')
            o.set = optarg;
        else if (c == 'f' && (!strcmp(optarg, phases[0]) || !strcmp(optarg, phases[1])))
            o.phase = !strcmp(optarg, phases[1]);
        else if (c == 'n' && !number("runs", optarg, 1, MOST_RUNS, &runs))
            o.runs = (int)runs;
        else if (c == 'w')
            o.way = optarg;
        else if (c == 'c' && !number("contention", optarg, 0, 1000, &o.contention))
            continue;
        else if (c == 'l' && !number("limit", optarg, 0, 1e6, &o.limit))
            continue;
        else if (c == 'v')
            o.svg = optarg;
        else if (c == 'j')
            json = optarg;
        else
            return -1;
    }
    o.root = argv[optind];
    return optind + 1 == argc && names_are_known(json) ? 0 : -1;
}

int main(int argc, char **argv)
{
    sk_hdf5_asked = sk_hdf5_library;
    if (read_options(argc, argv))
        return usage();
    far_places(&o.at);
    o.steps = count_steps();
    bench_limit(o.limit);
    far_say_missing(o.root, &files);
    if (!o.part || !strcmp(o.part, "clock")) {
        puts("## End to end by the clock (Figs. 10, 12 and 13)\n");
        end_to_end();
    }
    if (!o.part || !strcmp(o.part, "steps")) {
        puts("## By step (Figs. 12 and 13)\n");
        by_step();
    }
    if (!o.part || !strcmp(o.part, "writers")) {
        puts("## As ranks are added (Fig. 11)\n");
        ranks_grow((struct far_server){.mb_per_s = 100, .open_ms = 5});
    }
    if (!o.part || !strcmp(o.part, "nodes"))
        aggregators();
    bench_limit_report(stdout, o.json);
    far_remove(&o.at);
    if (o.json)
        fclose(o.json);
    return 0;
}
