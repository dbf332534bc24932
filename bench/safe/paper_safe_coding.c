/* Coding time against the number of data nodes, two coding nodes: figure 6 of Jitsumoto, Nakamura,
 * Endo and Matsuoka (2009), for the pipeline that they measured and the two forms that they left
 * for later.
 *
 * 1. Measured: 8, 16 and 32 data nodes as threads of this machine, each with a link of its own that
 * is so slow (32 MB/s unless told) that the links and not the two cores set the pace; the code that
 * runs is the library's.
 * 2. Simulated with the same links, to see that the simulation is right; then with the paper's
 * network (1 Gbit/s, 501.2 MB per node) up to 10,000 nodes. Past 32 data nodes this is one chain or
 * tree through all of them, as the paper imagines it; Saikai itself forms groups of at most 36,
 * whose time is that of their own size. usage: paper_safe_coding [--mib N] [--link MB/s] [--form
 * NAME] [--block KiB] [--window STRIPES] [--json FILE] [--svg DIR] */
#include "coding_model.h"
#include "threads.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/text/json.h"
#include "base/text/svg.h"
#include "redundancy/transfer/carrier.h"
#include "redundancy/code/cost.h"
#include "redundancy/set/encode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CODING = 2, MEASURED = 3, SIMULATED = 11, BLOCK = 64 << 10 };

static const char *const form_names[CM_FORMS] = {"pipeline", "fanin", "broadcast"};
static const int measured_nodes[MEASURED] = {8, 16, 32};
static const int simulated_nodes[SIMULATED] = {8,   16,   32,   64,   128,  256,
                                               512, 1000, 2000, 5000, 10000};

struct figure {
    char top[300];
    uint64_t bytes;
    double link, latency;
    int nodes; /* of the run under way, coding nodes included */
    const char *form, *only; /* the form of the run under way, the one that is measured alone */
    int window;              /* stripes under way, 0: the library's choice */
    uint32_t wanted;         /* block, 0: the library's choice */
    double seconds;
    uint32_t block; /* that the library chose */
    uint32_t blocks[MEASURED];
    double measured[CM_FORMS][MEASURED], same[CM_FORMS][MEASURED], paper[CM_FORMS][SIMULATED];
};

static void die(const struct saikai_error *err)
{
    fprintf(stderr, "paper_safe_coding: %s\n", err->text);
    exit(1);
}

static int encode_rank(struct sk_group *g, void *arg)
{
    struct figure *f = arg;
    char data[400], parity[400];
    const char *list = data;
    struct saikai_error err = {0};
    snprintf(data, sizeof data, "%s/data%d", f->top, g->rank);
    snprintf(parity, sizeof parity, "%s/parity%d", f->top, g->rank);
    struct sk_encode_params p = {.coding = {.scheme = "rs",
                                            .parity = CODING,
                                            .placement = SK_DEDICATED,
                                            .form = f->form,
                                            .block = f->wanted,
                                            .window = f->window},
                                 .generation = 1,
                                 .rank = (uint32_t)g->rank,
                                 .files = g->rank < g->size - CODING,
                                 .path = &list,
                                 .parity_path = parity};
    struct sk_encode_result result;
    struct sk_encode *e;
    int rc = sk_encode_begin(g, &p, &e, &err);
    sk_group_barrier(g);
    double start = sk_now();
    if (!rc)
        rc = sk_encode_finish(e, &result, &err);
    if (rc)
        die(&err);
    sk_group_barrier(g);
    if (!g->rank) {
        f->seconds = sk_now() - start;
        f->block = result.block;
    }
    sk_encode_free(e);
    return 0;
}

static void write_data(const struct figure *f)
{
    struct saikai_error err = {0};
    char path[400];
    uint8_t *p = malloc(f->bytes);
    if (!p || sk_io_mkdirs(f->top, &err))
        die(&err);
    for (int i = 0; i < measured_nodes[MEASURED - 1]; i++) {
        for (uint64_t k = 0; k < f->bytes; k++)
            p[k] = (uint8_t)(k * 2654435761u >> 11) ^ (uint8_t)i;
        snprintf(path, sizeof path, "%s/data%d", f->top, i);
        if (sk_io_replace(path, p, f->bytes, &err))
            die(&err);
    }
    free(p);
}

static void measure(struct figure *f)
{
    write_data(f);
    for (int k = 0; k < CM_FORMS; k++)
        for (int i = 0; i < MEASURED; i++) {
            f->measured[k][i] = INFINITY;
            if (f->only && strcmp(f->only, form_names[k]))
                continue;
            /* other load only adds: best of three; the slowest form is not worth three */
            for (int round = 0; round < (k == CM_BROADCAST ? 1 : 3); round++) {
                f->form = form_names[k];
                sk_threads_run_paced(measured_nodes[i] + CODING, f->link, f->latency, encode_rank,
                                     f);
                f->measured[k][i] = fmin(f->measured[k][i], f->seconds);
            }
            f->blocks[i] = f->block;
        }
    sk_io_rmtree(f->top, NULL);
}

/* What one core of this machine adds and hashes. */
static void calibrate(struct cm_cluster *c)
{
    enum { TIMES = 400 };
    static uint8_t data[BLOCK], rows[CODING][BLOCK];
    static const uint8_t coef[CODING] = {1, 7};
    uint8_t *out[CODING] = {rows[0], rows[1]};
    double best = INFINITY;
    for (int round = 0; round < 5; round++) {
        double start = sk_now();
        for (int i = 0; i < TIMES; i++)
            sk_kernel_add(BLOCK, CODING, coef, data, out);
        best = fmin(best, sk_now() - start);
    }
    c->add_rate = (double)TIMES * CODING * BLOCK / best;
    c->read_rate = 5e9; /* memory, read and hashed: a cautious figure, far above any link */
}

static void simulate(struct figure *f)
{
    struct cm_cluster c = {.coding_nodes = CODING, .block = BLOCK};
    calibrate(&c);
    for (int k = 0; k < CM_FORMS; k++) {
        c.bytes_per_second = f->link;
        c.latency = f->latency;
        c.bytes = f->bytes;
        for (int i = 0; i < MEASURED; i++) {
            c.data_nodes = measured_nodes[i];
            c.block = f->blocks[i];
            c.window = f->window ? f->window : sk_carrier_window(c.block);
            f->same[k][i] = cm_seconds(&c, (enum cm_form)k);
        }
        c.bytes_per_second = 125e6;
        c.latency = 50e-6;
        c.bytes = 501200000;
        c.block = BLOCK;
        c.window = sk_carrier_window(c.block);
        for (int i = 0; i < SIMULATED; i++) {
            c.data_nodes = simulated_nodes[i];
            f->paper[k][i] = cm_seconds(&c, (enum cm_form)k);
        }
    }
}

static void print(const struct figure *f)
{
    printf("seconds of coding, %d coding nodes, %.0f MiB per node, links of %.0f MB/s\n", CODING,
           (double)f->bytes / (1 << 20), f->link / 1e6);
    printf("%-10s %18s %18s %18s   32 nodes / 8\n", "", "8 nodes", "16", "32");
    printf("%-10s %14u KiB %14u KiB %14u KiB\n", "blocks of", f->blocks[0] >> 10,
           f->blocks[1] >> 10, f->blocks[2] >> 10);
    for (int k = 0; k < CM_FORMS; k++) {
        if (f->only && strcmp(f->only, form_names[k]))
            continue;
        printf("%-10s", form_names[k]);
        for (int i = 0; i < MEASURED; i++)
            printf("  %7.2f (sim. %.2f)", f->measured[k][i], f->same[k][i]);
        printf("   %.3f (sim. %.3f)\n", f->measured[k][2] / f->measured[k][0],
               f->same[k][2] / f->same[k][0]);
    }
    printf("simulated: 501.2 MB per node, 1 Gbit/s\n%-10s", "nodes");
    for (int i = 0; i < SIMULATED; i++)
        printf(" %8d", simulated_nodes[i]);
    for (int k = 0; k < CM_FORMS; k++) {
        printf("\n%-10s", form_names[k]);
        for (int i = 0; i < SIMULATED; i++)
            printf(" %8.1f", f->paper[k][i]);
    }
    printf("\n");
}

static int write_json(const struct figure *f, const char *path, struct saikai_error *err)
{
    struct sk_buf out = {0};
    sk_buf_printf(&out, "{\"mib\":%.0f,\"link\":%.0f,\"measured_nodes\":[8,16,32]",
                  (double)f->bytes / (1 << 20), f->link);
    for (int k = 0; k < CM_FORMS; k++) {
        sk_buf_printf(&out, ",\"%s\":{\"measured\":[", form_names[k]);
        for (int i = 0; i < MEASURED; i++)
            sk_buf_printf(&out, "%s%.4f", i ? "," : "", f->measured[k][i]);
        sk_buf_printf(&out, "],\"simulated\":[");
        for (int i = 0; i < MEASURED; i++)
            sk_buf_printf(&out, "%s%.4f", i ? "," : "", f->same[k][i]);
        sk_buf_printf(&out, "],\"paper_network\":[");
        for (int i = 0; i < SIMULATED; i++)
            sk_buf_printf(&out, "%s[%d,%.4f]", i ? "," : "", simulated_nodes[i], f->paper[k][i]);
        sk_buf_printf(&out, "]}");
    }
    sk_buf_printf(&out, "}\n");
    int rc = sk_buf_ok(&out) ? sk_io_replace(path, out.data, out.len, err) : SAIKAI_ENOMEM;
    sk_buf_free(&out);
    return rc;
}

static int plot(const struct figure *f, const char *dir, struct saikai_error *err)
{
    static const char *const colours[CM_FORMS] = {"#1f6fb2", "#3a8f3a", "#c8452c"};
    double few[MEASURED], many[SIMULATED], top = 0;
    struct sk_series s[2 * CM_FORMS];
    char path[4096], subtitle[128];
    for (int i = 0; i < MEASURED; i++)
        few[i] = measured_nodes[i];
    for (int i = 0; i < SIMULATED; i++)
        many[i] = simulated_nodes[i];
    for (int k = 0; k < CM_FORMS; k++) {
        s[2 * k] = (struct sk_series){SK_SERIES_LINE, form_names[k], colours[k], MEASURED, few,
                                      f->same[k],     NULL,          NULL};
        s[2 * k + 1] = (struct sk_series){SK_SERIES_POINTS, NULL, colours[k], MEASURED, few,
                                          f->measured[k],   NULL, NULL};
        top = fmax(top, fmax(f->measured[k][2], f->same[k][2]));
    }
    snprintf(subtitle, sizeof subtitle,
             "%.0f MiB per node, links of %.0f MB/s; lines: simulated, points: measured",
             (double)f->bytes / (1 << 20), f->link / 1e6);
    struct sk_chart c = {.width = 640,
                         .height = 400,
                         .title = "Coding time and number of data nodes, two coding nodes",
                         .subtitle = subtitle,
                         .x = {SK_AXIS_LOG, 7, 40, "data nodes", NULL},
                         .y = {SK_AXIS_LINEAR, 0, ceil(top * 1.1), "coding time", " s"},
                         .series = s,
                         .n_series = 2 * CM_FORMS};
    int rc = sk_io_path(path, sizeof path, err, "%s/paper-safe-fig6.svg", dir);
    if (!rc)
        rc = sk_chart_write(&c, path, err);
    for (int k = 0; k < CM_FORMS; k++)
        s[k] = (struct sk_series){SK_SERIES_LINE, form_names[k], colours[k], SIMULATED,
                                  many,           f->paper[k],   NULL,       NULL};
    c.title = "Simulated coding time up to 10,000 data nodes";
    c.subtitle = "501.2 MB per node, 1 Gbit/s links, two coding nodes";
    c.x = (struct sk_axis){SK_AXIS_LOG, 7, 12000, "data nodes", NULL};
    c.y = (struct sk_axis){SK_AXIS_LOG, 1, 100000, "coding time", " s"};
    c.n_series = CM_FORMS;
    if (!rc)
        rc = sk_io_path(path, sizeof path, err, "%s/paper-safe-fig6-large.svg", dir);
    return rc ? rc : sk_chart_write(&c, path, err);
}

int main(int argc, char **argv)
{
    static struct figure f = {.bytes = 32 << 20, .link = 32e6, .latency = 200e-6};
    struct saikai_error err = {0};
    const char *json = NULL, *svg = NULL;
    int bad = 0;
    for (int i = 1; i < argc; i += 2) {
        bad |= i + 1 >= argc;
        if (!bad && !strcmp(argv[i], "--mib"))
            f.bytes = (uint64_t)atoi(argv[i + 1]) << 20;
        else if (!bad && !strcmp(argv[i], "--link"))
            f.link = atof(argv[i + 1]) * 1e6;
        else if (!bad && !strcmp(argv[i], "--form"))
            f.only = argv[i + 1];
        else if (!bad && !strcmp(argv[i], "--block"))
            f.wanted = (uint32_t)atoi(argv[i + 1]) << 10;
        else if (!bad && !strcmp(argv[i], "--window"))
            f.window = atoi(argv[i + 1]);
        else if (!bad && !strcmp(argv[i], "--json"))
            json = argv[i + 1];
        else if (!bad && !strcmp(argv[i], "--svg"))
            svg = argv[i + 1];
        else
            bad = 1;
    }
    if (bad || !f.bytes || f.link <= 0) {
        fprintf(stderr,
                "usage: paper_safe_coding [--mib N] [--link MB/s] [--form NAME] [--block KiB] "
                "[--window STRIPES] [--json FILE] [--svg DIR]\n");
        return 2;
    }
    snprintf(f.top, sizeof f.top, "%s/paper-safe-%ld",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (long)getpid());
    measure(&f);
    simulate(&f);
    print(&f);
    if ((json && write_json(&f, json, &err)) || (svg && plot(&f, svg, &err)))
        die(&err);
    return 0;
}
