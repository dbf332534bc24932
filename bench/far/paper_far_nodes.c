/* Figs. 12 and 13 of mcrEngine (Islam et al., SC'12) with nodes that only aggregate, as the paper has them: ranks and aggregators are
 * processes, files go from one to the other over TCP, and archives to a shared file system of limited bandwidth that the files which are
 * open slow down (paper_far_model.h). Measured: all times, processor times and bytes. Modelled: the bandwidth of the shared file system and
 * its contention, and the links' bandwidth. */
#include "reader/hdf5.h"
#include "reader/reader.h"
#include "bars.h"
#include "paper_far_fetch.h"
#include "limit.h"
#include "paper_far_model.h"

#include <fcntl.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RUNS = 25,
       GROUPS = 3,
       SHOWN = 4 };
static const int groups[GROUPS] = {4, 8, 16};
static const int shown[SHOWN] = {FAR_NONE_TOGETHER, FAR_AGNOSTIC, FAR_AWARE, FAR_AUTO};
static const char *const phases[2] = {"checkpoint", "restart"};
static const char *const names[SHOWN] = {"none", "agnostic", "aware", "auto"};

static struct {
    const char *root, *set, *svg;
    FILE *json;
    int runs;
    double mb_per_s, link, contention, limit;
    struct far_places at;
    char server[128];
} o = {.runs = 5, .mb_per_s = 100, .link = -1, .contention = -1, .limit = BENCH_LIMIT_S};

static struct far_files files;

/* Of several runs: medians, and means with their confidence. */
struct result {
    struct far_fetch_cost c;
    double free_mean, free_half, done_mean, done_half;
};

static struct far_server server(void)
{
    return (struct far_server){.mb_per_s = o.mb_per_s, .open_ms = 5, .contention = o.contention < 0 ? far_paper_contention(files.ranks) : o.contention};
}

static double median_of(const struct far_fetch_cost *c, int n, size_t offset)
{
    double v[MOST_RUNS];
    for (int i = 0; i < n; i++)
        memcpy(&v[i], (const char *)&c[i] + offset, sizeof v[i]);
    return far_median(v, n);
}

static void take_medians(const struct far_fetch_cost *c, int n, struct result *r)
{
    static const size_t of[] = {offsetof(struct far_fetch_cost, free_s), offsetof(struct far_fetch_cost, fetch_s),
                                offsetof(struct far_fetch_cost, done_s), offsetof(struct far_fetch_cost, ranks_cpu),
                                offsetof(struct far_fetch_cost, fetch_cpu), offsetof(struct far_fetch_cost, work_cpu)};
    double v[2][MOST_RUNS];
    r->c = c[n - 1];
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        double m = median_of(c, n, of[i]);
        memcpy((char *)&r->c + of[i], &m, sizeof m);
    }
    for (int i = 0; i < n; i++) {
        v[0][i] = c[i].free_s;
        v[1][i] = c[i].done_s;
    }
    r->free_mean = far_mean(v[0], n, &r->free_half);
    r->done_mean = far_mean(v[1], n, &r->done_half);
}

/* Ranks that write their own files to the shared file system, or read them. */
static int direct(int restart, struct far_fetch_cost *out)
{
    static const struct far_server unlimited;
    struct far_server s = server();
    struct far_cost c;
    if (far_clear(&o.at) || (restart && far_move(&files, &far_ways[FAR_NONE], files.ranks, 0, &unlimited, &o.at, &c)) ||
        far_move(&files, &far_ways[FAR_NONE], files.ranks, restart, &s, &o.at, &c))
        return -1;
    *out = (struct far_fetch_cost){.free_s = c.wall, .done_s = c.wall, .ranks_cpu = c.cpu, .bytes = c.bytes, .opened = c.opened, .at_once = c.at_once};
    return 0;
}

static int through(int restart, int way, int group, struct far_fetch_cost *out)
{
    struct far_fetch f = {.files = &files, .way = &far_ways[way], .ranks = files.ranks, .group = group, .at = &o.at};
    struct far_fetch_cost made;
    if (far_clear(&o.at) || (restart && far_fetch_move(&f, &made)))
        return -1;
    f.restart = restart;
    f.server = server();
    f.link_mb_per_s = o.link < 0 ? far_paper_link(o.mb_per_s) : o.link;
    return far_fetch_move(&f, out) || (restart && far_fetch_verify(&f)) ? -1 : 0;
}

static void note(const struct far_set *s, int phase, const char *name, int group, const struct result *r)
{
    const struct far_fetch_cost *c = &r->c;
    if (!o.json)
        return;
    fprintf(o.json,
            "{\"bench\": \"nodes\", \"set\": \"%s\", \"phase\": \"%s\", \"configuration\": \"%s\", \"ranks\": %d, \"group\": %d, \"aggregators\": %d, "
            "\"mb_per_s\": %g, \"link_mb_per_s\": %g, \"contention\": %g, \"runs\": %d, \"free_seconds\": %.6f, \"free_ci95\": %.6f, "
            "\"done_seconds\": %.6f, \"done_ci95\": %.6f, \"fetch_seconds\": %.6f, \"ranks_cpu\": %.6f, \"fetch_cpu\": %.6f, \"work_cpu\": %.6f, "
            "\"bytes_between_nodes\": %.0f, \"bytes\": %.0f, \"files_opened\": %.0f, \"files_at_once\": %d}\n",
            s->name, phases[phase], name, files.ranks, group, group ? far_writers(files.ranks, group) : 0, o.mb_per_s,
            o.link < 0 ? far_paper_link(o.mb_per_s) : o.link, server().contention, o.runs, r->free_mean, r->free_half, r->done_mean, r->done_half,
            c->fetch_s, c->ranks_cpu, c->fetch_cpu, c->work_cpu, c->fetched, c->bytes, c->opened, c->at_once);
    fflush(o.json);
}

/* Ranks by themselves, and each way with the first of the groups: what goes between nodes before (restart: after) the rest. */
static void draw(const struct far_set *s, int phase, const struct result *r, const int *measured)
{
    static const char *const who[SHOWN + 1] = {"none, N to N", "none", "agnostic", "aware", "auto"};
    struct bars b = {.unit = "s", .parts = 2, .n = 0};
    char path[512], title[128], subtitle[128];
    struct saikai_error err = {0};
    snprintf(title, sizeof title, "%s: %s with aggregator nodes", s->name, phases[phase]);
    snprintf(subtitle, sizeof subtitle, "%d ranks for one aggregator, %.0f MB/s at the file system, medians of %d runs", groups[0], o.mb_per_s, o.runs);
    b.title = title;
    b.subtitle = subtitle;
    b.part[phase] = "between nodes";
    b.part[!phase] = phase ? "read and decoded" : "compressed and written";
    b.colour[phase] = "#2a9d4a";
    b.colour[!phase] = "#1f6fb2";
    for (int i = 0; i <= SHOWN; i++) {
        if (!measured[i])
            continue;
        b.name[b.n] = who[i];
        b.value[b.n][phase] = r[i].c.fetch_s;
        b.value[b.n++][!phase] = r[i].c.done_s > r[i].c.fetch_s ? r[i].c.done_s - r[i].c.fetch_s : 0;
    }
    far_figure(path, sizeof path, o.svg, phase ? "fig13-nodes" : "fig12-nodes", s);
    if (b.n && bars_write(&b, path, &err))
        fprintf(stderr, "%s\n", err.text);
}

/* One line of the table; group 0: ranks write by themselves. base: what that took, 0: it was left out. 0, and *out; -1: this was left out. */
static int one_line(const struct far_set *s, int phase, int i, int group, double base, struct result *out)
{
    struct far_fetch_cost c[MOST_RUNS];
    struct result r;
    const char *name = group ? names[i] : "none, N to N";
    if (bench_left_out("nodes: %s, %s, %s, groups of %d", s->name, phases[phase], name, group))
        return -1;
    if (isatty(2))
        fprintf(stderr, "\r\033[K%s, %s, %s, groups of %d", s->name, phases[phase], name, group);
    for (int k = 0; k < o.runs; k++)
        if (group ? through(phase, shown[i], group, &c[k]) : direct(phase, &c[k]))
            exit(1);
    if (isatty(2))
        fputs("\r\033[K", stderr);
    take_medians(c, o.runs, &r);
    note(s, phase, name, group, &r);
    printf("| %s | %d | %d | %.3f ± %.3f | %.3f ± %.3f ", name, group, group ? far_writers(files.ranks, group) : 0, r.free_mean, r.free_half,
           r.done_mean, r.done_half);
    if (base > 0)
        printf("(%+.1f %%)", (r.done_mean / base - 1) * 100);
    printf(" | %.3f | %.3f | %.3f | %.3f | %.2f | %.2f |\n", r.c.fetch_s, r.c.ranks_cpu, r.c.fetch_cpu, r.c.work_cpu, r.c.fetched / 1e6, r.c.bytes / 1e6);
    fflush(stdout);
    *out = r;
    return 0;
}

static void one_set(const struct far_set *s)
{
    for (int phase = 0; phase < 2; phase++) {
        printf("### %s, %s: %d ranks, %.0f MB/s, links %.0f MB/s, + %.1f %% for each open file\n\n"
               "| configuration | ranks of an aggregator | aggregators | ranks are free after, s | %s after, s | messages, s | CPU s: ranks | aggregators, "
               "messages | aggregators, the rest | MB between nodes | MB at the file system |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
               s->name, phases[phase], files.ranks, o.mb_per_s, o.link < 0 ? far_paper_link(o.mb_per_s) : o.link, server().contention * 100,
               phase ? "all is back" : "archived");
        struct result kept[SHOWN + 1], other;
        int measured[SHOWN + 1] = {!one_line(s, phase, 0, 0, 0, &kept[0])};
        double base = measured[0] ? kept[0].done_mean : 0;
        for (int i = 0; i < SHOWN; i++)
            for (int g = 0; g < GROUPS; g++)
                if (!g || groups[g - 1] < files.ranks) {
                    int rc = one_line(s, phase, i, groups[g] < files.ranks ? groups[g] : files.ranks, base, g ? &other : &kept[i + 1]);
                    measured[i + 1] |= !g && !rc;
                }
        puts("");
        if (o.svg)
            draw(s, phase, kept, measured);
    }
}

static int set_up(void)
{
    far_places(&o.at);
    snprintf(o.server, sizeof o.server, "/dev/shm/paper-far-server.%ld", (long)getpid());
    int fd = open(o.server, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), rc = fd < 0 || ftruncate(fd, 4096) || far_shared_join(o.server) ? -1 : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

static int usage(void)
{
    fputs("usage: paper_far_nodes [--set NAME] [--runs N] [--bandwidth MB_PER_S] [--link MB_PER_S] [--contention PER_FILE]\n"
          "                       [--limit SECONDS] [--svg DIR] [--json FILE] CHECKPOINTS_DIR\n"
          "--bandwidth: of the shared file system; --link: of all links to aggregators, 0 as fast as they are, else as in the paper.\n",
          stderr);
    return 2;
}

static int read_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"set", 1, NULL, 's'}, {"runs", 1, NULL, 'n'}, {"bandwidth", 1, NULL, 'b'}, {"link", 1, NULL, 'k'},
        {"contention", 1, NULL, 'c'}, {"limit", 1, NULL, 'l'}, {"json", 1, NULL, 'j'}, {"svg", 1, NULL, 'v'}, {NULL, 0, NULL, 0}};
    double runs = o.runs;
    int wrong = 0;
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;)
        switch (c) {
        case 'v': o.svg = optarg; break;
        case 's': o.set = optarg; break;
        case 'n': wrong |= far_number(optarg, 1, MOST_RUNS, &runs); break;
        case 'b': wrong |= far_number(optarg, 0.1, 1e6, &o.mb_per_s); break;
        case 'k': wrong |= far_number(optarg, 0, 1e6, &o.link); break;
        case 'c': wrong |= far_number(optarg, 0, 1000, &o.contention); break;
        case 'l': wrong |= far_number(optarg, 0, 1e6, &o.limit); break;
        case 'j': wrong |= !(o.json = fopen(optarg, "a")); break;
        default: wrong = 1;
        }
    o.runs = (int)runs;
    o.root = argv[optind];
    return wrong || optind + 1 != argc ? -1 : 0;
}

int main(int argc, char **argv)
{
    int found = 0;
    sk_hdf5_asked = sk_hdf5_library;
    sk_raw_describe_shipped();
    if (read_options(argc, argv))
        return usage();
    if (set_up()) {
        fprintf(stderr, "paper_far_nodes: cannot make %s\n", o.server);
        return 1;
    }
    bench_limit(o.limit);
    puts("## With nodes that only aggregate (eq. 3; Figs. 12 and 13)\n");
    for (int s = 0; s < FAR_SETS; s++)
        if (far_sets[s].figure7 && far_is_called(&far_sets[s], o.set)) {
            found = 1;
            if (far_load(o.root, &far_sets[s], &files) && files.ranks <= FAR_RANKS)
                one_set(&far_sets[s]);
            else
                printf("Skipped: %s is not in %s.\n\n", far_sets[s].name, o.root);
        }
    bench_limit_report(stdout, o.json);
    far_remove(&o.at);
    unlink(o.server);
    if (o.json)
        fclose(o.json);
    if (!found)
        fprintf(stderr, "paper_far_nodes: --set %s: there is no such set\n", o.set);
    return found ? 0 : 2;
}
