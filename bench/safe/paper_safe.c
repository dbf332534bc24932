/* Tables 3 and 4 and figures 7 and 8 of Jitsumoto, Nakamura, Endo and Matsuoka (2009): what whole
 * checkpoints (CP) and increments (ICP) of their two programs (paper_programs.h) cost to save and
 * to code, k data nodes and two coding nodes.
 *
 * Everything is the library's: the tracker finds the changed pages, the comparison with the last
 * state makes them exact, deltas are written to node-local files in memory, and the coding runs
 * between ranks that each have a link of their own of the paper's 1 Gbit/s. The nodes are threads
 * of one machine: what a node does alone is given in time of its processor, as if each had its own;
 * coding, which waits for the links, by the clock. After the last checkpoint two nodes' increments
 * are lost and rebuilt.
 *
 * usage: paper_safe [--small] [--nodes K] [--link MB/s] [--checkpoints N] [--json FILE] [--svg DIR]
 */
#include "bars.h"
#include "paper_programs.h"
#include "threads.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/file/io.h"
#include "base/text/json.h"
#include "capture/delta.h"
#include "capture/dirty.h"
#include "redundancy/set/encode.h"
#include "redundancy/set/rebuild.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { CODING = 2, MOST_NODES = 32, MOST_CHECKPOINTS = 9, PROGRAMS = 2 };
enum kind { WHOLE, INCREMENT, KINDS };

static const char *const kind_names[KINDS] = {"CP", "ICP"};

/* Seconds, of each checkpoint. */
struct times {
    double save[MOST_CHECKPOINTS + 1], find[MOST_CHECKPOINTS + 1], code[MOST_CHECKPOINTS + 1],
        code_cpu[MOST_CHECKPOINTS + 1];
};

/* A file in memory, mapped once and used for every checkpoint. */
struct image {
    char path[400];
    int fd;
    uint8_t *map;
    size_t cap, size;
};

struct node {
    struct paper_program p;
    struct sk_dirty *tracker;
    struct sk_memory now[PAPER_REGIONS], last[PAPER_REGIONS];
    struct sk_ranges all;
    uint64_t state;
    struct image image[KINDS];
    double save[KINDS], find;
    uint64_t hash; /* of the increment that gets lost */
};

struct bench {
    char top[300];
    int k, checkpoints, small, round, program;
    double link;
    enum kind kind;
    struct node node[MOST_NODES];
    struct times t[KINDS];
    struct sk_encode_result coded[MOST_NODES + CODING];
    double started, cpu;
    /* results */
    struct row {
        const char *name;
        double paper_less;
        uint64_t bytes[KINDS], parity[KINDS];
        double save[KINDS], find, code[KINDS], code_cpu[KINDS];
    } row[PROGRAMS];
};

static void die(const char *what, const struct saikai_error *err)
{
    fprintf(stderr, "paper_safe: %s: %s\n", what, err ? err->text : "failed");
    exit(1);
}

static double cpu_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void node_path(const struct bench *b, int node, const char *name, char out[400])
{
    snprintf(out, 400, "%s/node%d/%s", b->top, node, name);
}

static void open_image(const struct bench *b, int node, const char *name, size_t cap,
                       struct image *m)
{
    void *map = NULL;
    struct saikai_error err = {0};
    node_path(b, node, name, m->path);
    m->cap = cap;
    m->fd = sk_io_open(m->path, O_RDWR | O_CREAT, 0600, &err);
    if (m->fd < 0 || ftruncate(m->fd, (off_t)cap) || sk_io_map(m->fd, m->path, cap, 1, &map, &err))
        die(m->path, &err);
    m->map = map;
}

/* Write the delta of these ranges into the file, which becomes exactly as long. */
static void write_image(struct image *m, uint64_t from, const struct node *n,
                        const struct sk_ranges *ranges, uint64_t *to)
{
    struct saikai_error err = {0};
    size_t size = sk_delta_size(n->p.regions, ranges);
    if (size > m->cap || ftruncate(m->fd, (off_t)size) ||
        sk_delta_encode(from, n->now, n->p.regions, ranges, m->map, size, to, &err))
        die(m->path, &err);
    m->size = size;
}

static int set_up(struct sk_group *g, void *arg)
{
    struct bench *b = arg;
    struct node *n = &b->node[g->rank];
    struct saikai_error err = {0};
    char dir[400];
    node_path(b, g->rank, "", dir);
    if (sk_io_mkdirs(dir, &err))
        die(dir, &err);
    if (g->rank >= b->k)
        return 0;
    if (!paper_program_at(b->program, &n->p))
        return 0;
    n->p.small = b->small;
    n->p.seed = (unsigned)g->rank * 31;
    size_t bytes = 0;
    if (paper_program_start(&n->p) || sk_dirty_open(NULL, &n->tracker, &err))
        die("set up", &err);
    n->p.step(&n->p);
    for (size_t i = 0; i < n->p.regions; i++) {
        n->now[i] = (struct sk_memory){(uint32_t)i, (uint8_t *)n->p.v[i], n->p.bytes[i]};
        n->last[i] = n->now[i];
        if (!(n->last[i].addr = malloc(n->p.bytes[i])) ||
            sk_dirty_add(n->tracker, (uint32_t)i, n->p.v[i], n->p.bytes[i], 0, &err))
            die("set up", &err);
        memcpy(n->last[i].addr, n->p.v[i], n->p.bytes[i]);
        bytes += n->p.bytes[i];
    }
    if (sk_dirty_collect(n->tracker, &n->all, &err))
        die("set up", &err);
    open_image(b, g->rank, "whole", bytes + (1 << 20), &n->image[WHOLE]);
    open_image(b, g->rank, "increment", bytes + (64 << 20), &n->image[INCREMENT]);
    write_image(&n->image[WHOLE], 0, n, &n->all, &n->state);
    return 0;
}

static int tear_down(struct sk_group *g, void *arg)
{
    struct bench *b = arg;
    struct node *n = &b->node[g->rank];
    if (g->rank >= b->k)
        return 0;
    sk_dirty_close(n->tracker);
    for (size_t i = 0; i < n->p.regions; i++)
        free(n->last[i].addr);
    for (int i = 0; i < KINDS; i++) {
        munmap(n->image[i].map, n->image[i].cap);
        close(n->image[i].fd);
    }
    sk_ranges_free(&n->all);
    paper_program_free(&n->p);
    *n = (struct node){0};
    return 0;
}

static void save_increment(struct node *n)
{
    struct sk_ranges pages = {0}, exact = {0};
    struct saikai_error err = {0};
    double start = cpu_of(CLOCK_THREAD_CPUTIME_ID);
    if (sk_dirty_collect(n->tracker, &pages, &err) ||
        sk_delta_tighten(n->now, n->p.regions, n->last, n->p.regions, &pages, &exact, &err))
        die("increment", &err);
    n->find = cpu_of(CLOCK_THREAD_CPUTIME_ID) - start;
    start += n->find;
    write_image(&n->image[INCREMENT], n->state, n, &exact, &n->state);
    n->save[INCREMENT] = cpu_of(CLOCK_THREAD_CPUTIME_ID) - start;
    start = cpu_of(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < exact.n; i++) { /* the last state follows: part of finding the next */
        const struct sk_range *x = &exact.v[i];
        memcpy(n->last[x->region].addr + x->offset, n->now[x->region].addr + x->offset,
               x->size_bytes);
    }
    n->find += cpu_of(CLOCK_THREAD_CPUTIME_ID) - start;
    sk_ranges_free(&pages);
    sk_ranges_free(&exact);
}

static int compute_and_save(struct sk_group *g, void *arg)
{
    struct bench *b = arg;
    struct node *n = &b->node[g->rank];
    uint64_t unused;
    if (g->rank >= b->k)
        return 0;
    n->p.step(&n->p);
    double start = cpu_of(CLOCK_THREAD_CPUTIME_ID);
    write_image(&n->image[WHOLE], 0, n, &n->all, &unused);
    n->save[WHOLE] = cpu_of(CLOCK_THREAD_CPUTIME_ID) - start;
    save_increment(n);
    return 0;
}

static int code(struct sk_group *g, void *arg)
{
    struct bench *b = arg;
    char parity[400];
    const char *list = b->node[g->rank % b->k].image[b->kind].path;
    struct saikai_error err = {0};
    node_path(b, g->rank, b->kind == WHOLE ? "whole.skp" : "increment.skp", parity);
    struct sk_encode_params p = {
        .coding = {.scheme = "rs", .parity = CODING, .placement = SK_DEDICATED, .form = "pipeline"},
        .generation = 1,
        .rank = (uint32_t)g->rank,
        .files = g->rank < b->k,
        .path = &list,
        .parity_path = parity,
        .recycle_path = parity};
    sk_group_barrier(g);
    if (!g->rank) {
        b->started = sk_now();
        b->cpu = cpu_of(CLOCK_PROCESS_CPUTIME_ID);
    }
    if (sk_encode(g, &p, &b->coded[g->rank], &err))
        die("coding", &err);
    sk_group_barrier(g);
    if (!g->rank) {
        b->t[b->kind].code[b->round] = sk_now() - b->started;
        b->t[b->kind].code_cpu[b->round] = cpu_of(CLOCK_PROCESS_CPUTIME_ID) - b->cpu;
    }
    return 0;
}

static uint64_t hash_file(const char *path)
{
    void *data = NULL;
    size_t n = 0;
    struct saikai_error err = {0};
    if (sk_io_slurp(path, (size_t)4 << 30, &data, &n, &err))
        die(path, &err);
    uint64_t hash = sk_hash64(data, n);
    free(data);
    return hash;
}

static int rebuild(struct sk_group *g, void *arg)
{
    struct bench *b = arg;
    char dir[400], parity[400];
    struct saikai_error err = {0};
    node_path(b, g->rank, "", dir);
    node_path(b, g->rank, "increment.skp", parity);
    struct sk_holding h = {parity, dir, (uint32_t)g->rank};
    struct sk_claim c = {(uint32_t)g->rank, parity, dir};
    struct sk_rebuild_params p = {
        .generation = 1, .holding = &h, .holdings = 1, .claim = &c, .claims = 1};
    if (sk_rebuild(g, &p, NULL, &err))
        die("rebuild", &err);
    return 0;
}

/* Two nodes lose their increments; what comes back must be what was there. */
static void lose_two(struct bench *b)
{
    char parity[400];
    for (int i = 0; i < 2; i++) {
        struct node *n = &b->node[i];
        n->hash = hash_file(n->image[INCREMENT].path);
        node_path(b, i, "increment.skp", parity);
        if (unlink(n->image[INCREMENT].path) || unlink(parity))
            die(parity, NULL);
    }
    sk_threads_run(b->k + CODING, rebuild, b);
    for (int i = 0; i < 2; i++)
        if (hash_file(b->node[i].image[INCREMENT].path) != b->node[i].hash)
            die("a rebuilt increment is not the one that was lost", NULL);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of the checkpoints after the first, whose files had to be made. */
static double median(double *v, int n)
{
    qsort(v + 1, (size_t)n, sizeof *v, by_size);
    return v[1 + n / 2];
}

/* The slowest node: all wait for it. */
static void note_slowest(struct bench *b)
{
    for (int i = 0; i < b->k; i++) {
        const struct node *n = &b->node[i];
        for (int kind = 0; kind < KINDS; kind++) {
            double *at = &b->t[kind].save[b->round];
            *at = n->save[kind] > *at ? n->save[kind] : *at;
        }
        double *at = &b->t[INCREMENT].find[b->round];
        *at = n->find > *at ? n->find : *at;
    }
}

static void summarize(struct bench *b, struct row *r)
{
    r->name = b->node[0].p.name;
    r->paper_less = b->node[0].p.paper_less;
    r->find = median(b->t[INCREMENT].find, b->checkpoints);
    for (int kind = 0; kind < KINDS; kind++) {
        r->save[kind] = median(b->t[kind].save, b->checkpoints);
        r->code[kind] = median(b->t[kind].code, b->checkpoints);
        r->code_cpu[kind] = median(b->t[kind].code_cpu, b->checkpoints);
        r->bytes[kind] = 0;
        for (int i = 0; i < b->k; i++)
            r->bytes[kind] += b->node[i].image[kind].size;
    }
}

static void run_program(struct bench *b)
{
    struct row *r = &b->row[b->program];
    int nodes = b->k + CODING;
    memset(b->t, 0, sizeof b->t);
    sk_threads_run(nodes, set_up, b);
    for (b->round = 0; b->round <= b->checkpoints; b->round++) {
        sk_threads_run(nodes, compute_and_save, b);
        note_slowest(b);
        for (int kind = 0; kind < KINDS; kind++) {
            b->kind = (enum kind)kind;
            sk_threads_run_paced(nodes, b->link, 50e-6, code, b);
            r->parity[kind] = b->coded[b->k].parity_bytes;
        }
    }
    lose_two(b);
    summarize(b, r);
    sk_threads_run(nodes, tear_down, b);
    sk_io_rmtree(b->top, NULL);
}

static double total(const struct row *r, enum kind kind)
{
    return r->save[kind] + r->code[kind] + (kind == INCREMENT ? r->find : 0);
}

static double less(double whole, double part)
{
    return 100 * (1 - part / whole);
}

static void print(const struct bench *b)
{
    printf("%d data nodes, %d coding nodes, links of %.0f MB/s, median of %d checkpoints\n", b->k,
           CODING, b->link / 1e6, b->checkpoints);
    for (int i = 0; i < PROGRAMS; i++) {
        const struct row *r = &b->row[i];
        printf("%-4s checkpoints, all nodes  %10.2f MB %10.2f MB  %5.1f %% less (paper %.1f)\n",
               r->name, (double)r->bytes[WHOLE] / 1e6, (double)r->bytes[INCREMENT] / 1e6,
               less((double)r->bytes[WHOLE], (double)r->bytes[INCREMENT]), r->paper_less);
        printf("     parity, each coding node%9.2f MB %10.2f MB  %5.1f %% less\n",
               (double)r->parity[WHOLE] / 1e6, (double)r->parity[INCREMENT] / 1e6,
               less((double)r->parity[WHOLE], (double)r->parity[INCREMENT]));
        printf("     coding                  %11.3f s %11.3f s  %5.1f %% less\n", r->code[WHOLE],
               r->code[INCREMENT], less(r->code[WHOLE], r->code[INCREMENT]));
        printf("     its processor time      %11.3f s %11.3f s\n", r->code_cpu[WHOLE],
               r->code_cpu[INCREMENT]);
        printf("     saving                  %11.3f s %11.3f s, finding what to save %.3f s\n",
               r->save[WHOLE], r->save[INCREMENT], r->find);
        printf("     together                %11.3f s %11.3f s  %5.1f %% less\n", total(r, WHOLE),
               total(r, INCREMENT), less(total(r, WHOLE), total(r, INCREMENT)));
    }
}

static void write_json(const struct bench *b, const char *path)
{
    struct sk_json j = {0};
    struct saikai_error err = {0};
    sk_json_object(&j, NULL);
    sk_json_uint(&j, "data_nodes", (uint64_t)b->k);
    sk_json_uint(&j, "coding_nodes", CODING);
    sk_json_real(&j, "link_bytes_per_second", b->link);
    sk_json_array(&j, "rows");
    for (int i = 0; i < PROGRAMS; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            const struct row *r = &b->row[i];
            sk_json_object(&j, NULL);
            sk_json_text(&j, "program", r->name);
            sk_json_text(&j, "kind", kind_names[kind]);
            sk_json_uint(&j, "checkpoint_bytes", r->bytes[kind]);
            sk_json_uint(&j, "parity_bytes", r->parity[kind]);
            sk_json_real(&j, "save_seconds", r->save[kind]);
            sk_json_real(&j, "find_seconds", kind == INCREMENT ? r->find : 0);
            sk_json_real(&j, "coding_seconds", r->code[kind]);
            sk_json_real(&j, "coding_cpu_seconds", r->code_cpu[kind]);
            sk_json_real(&j, "total_seconds", total(r, (enum kind)kind));
            sk_json_end(&j);
        }
    sk_json_end(&j);
    sk_json_end(&j);
    FILE *out = fopen(path, "w");
    if (!out || sk_json_print(&j, out, &err))
        die(path, &err);
    fclose(out);
    sk_json_free(&j);
}

static void draw(const struct bench *b, const char *dir)
{
    for (int i = 0; i < PROGRAMS; i++) {
        const struct row *r = &b->row[i];
        char path[400], subtitle[120];
        struct saikai_error err = {0};
        snprintf(path, sizeof path, "%s/paper-safe-fig%d.svg", dir, 7 + i);
        snprintf(subtitle, sizeof subtitle,
                 "whole checkpoints and increments, %d + %d nodes, %.0f MB/s links", b->k, CODING,
                 b->link / 1e6);
        struct bars bars = {.title = r->name,
                            .subtitle = subtitle,
                            .unit = "seconds",
                            .parts = 3,
                            .part = {"saving", "finding", "coding"},
                            .colour = {"#1f6fb2", "#e08a1e", "#4b9a5b"},
                            .n = KINDS};
        for (int kind = 0; kind < KINDS; kind++) {
            bars.name[kind] = kind == WHOLE ? "whole" : "increment";
            bars.value[kind][0] = r->save[kind];
            bars.value[kind][1] = kind == INCREMENT ? r->find : 0;
            bars.value[kind][2] = r->code[kind];
        }
        if (bars_write(&bars, path, &err))
            die(path, &err);
    }
}

static int usage(void)
{
    fprintf(stderr, "usage: paper_safe [--small] [--nodes K] [--link MB/s] [--checkpoints N] "
                    "[--json FILE] [--svg DIR]\n");
    return 2;
}

int main(int argc, char **argv)
{
    static struct bench b = {.k = 4, .checkpoints = 3, .link = 125e6};
    const char *json = NULL, *svg = NULL;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--small"))
            b.small = 1;
        else if (!strcmp(argv[i], "--nodes"))
            b.k = atoi(value), i++;
        else if (!strcmp(argv[i], "--link"))
            b.link = atof(value) * 1e6, i++;
        else if (!strcmp(argv[i], "--checkpoints"))
            b.checkpoints = atoi(value), i++;
        else if (!strcmp(argv[i], "--json"))
            json = value, i++;
        else if (!strcmp(argv[i], "--svg"))
            svg = value, i++;
        else
            return usage();
    }
    if (b.k < 2 || b.k > MOST_NODES || b.checkpoints < 1 || b.checkpoints > MOST_CHECKPOINTS ||
        b.link < 0)
        return usage();
    snprintf(b.top, sizeof b.top, "/dev/shm/paper-safe-%ld", (long)getpid());
    for (b.program = 0; b.program < PROGRAMS; b.program++)
        run_program(&b);
    print(&b);
    if (json)
        write_json(&b, json);
    if (svg)
        draw(&b, svg);
    return 0;
}
