/* How much less an increment of the 2009 paper's programs (paper_programs.h) saves than the whole
 * (its tables 3 and 4), and what it takes of one process. The increment is found by the tracker
 * ("pages") and then, as in the paper, by comparing with the last state in memory ("exact"). After
 * the last checkpoint the base and all increments are put together and compared with the memory.
 * usage: bench_paper_safe_programs [--json] [--small] [CHECKPOINTS] */
#include "paper_programs.h"

#include "base/clock.h"
#include "base/text/json.h"
#include "capture/delta.h"
#include "capture/dirty.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_CHECKPOINTS 8

static int as_json, small;
static struct sk_json json;

static void die(const char *what, const struct saikai_error *err)
{
    fprintf(stderr, "bench_paper_safe_programs: %s: %s\n", what, err ? err->text : "failed");
    exit(1);
}

static void *memory(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        die("no memory", NULL);
    return p;
}

struct run {
    struct sk_dirty *d;
    struct sk_memory now[PAPER_REGIONS], last[PAPER_REGIONS];
    size_t n;
    uint64_t bytes, state;
    uint8_t *out;
    size_t cap;
    void *saved[MOST_CHECKPOINTS];
    struct sk_delta chain[MOST_CHECKPOINTS];
    double find, compare, write; /* seconds, sums */
    uint64_t page_bytes, exact_bytes;
};

/* A full checkpoint: everything, with a checksum, as any delta. */
static double save_all(struct run *r, const struct sk_ranges *all, uint64_t *state)
{
    struct saikai_error err = {0};
    double t = sk_now();
    if (sk_delta_encode(0, r->now, r->n, all, r->out, r->cap, state, &err))
        die("full checkpoint", &err);
    return sk_now() - t;
}

static void save_increment(struct run *r, int k)
{
    struct sk_ranges pages = {0}, exact = {0};
    struct saikai_error err = {0};
    double t0 = sk_now();
    if (sk_dirty_collect(r->d, &pages, &err))
        die("collect", &err);
    double t1 = sk_now();
    if (sk_delta_tighten(r->now, r->n, r->last, r->n, &pages, &exact, &err))
        die("compare", &err);
    double t2 = sk_now();
    size_t size = sk_delta_size(r->n, &exact);
    if (sk_delta_encode(r->state, r->now, r->n, &exact, r->out, r->cap, &r->state, &err))
        die("encode", &err);
    r->find += t1 - t0;
    r->compare += t2 - t1;
    r->write += sk_now() - t2;
    r->page_bytes += sk_delta_size(r->n, &pages);
    r->exact_bytes += size;
    r->saved[k] = malloc(size);
    if (!r->saved[k])
        die("no memory", NULL);
    memcpy(r->saved[k], r->out, size);
    if (sk_delta_open(r->saved[k], size, &r->chain[k], &err))
        die("open", &err);
    for (size_t i = 0; i < exact.n; i++) {
        const struct sk_range *x = &exact.v[i];
        memcpy(r->last[x->region].addr + x->offset, r->now[x->region].addr + x->offset,
               x->size_bytes);
    }
    sk_ranges_free(&pages);
    sk_ranges_free(&exact);
}

static void print_row(const struct paper_program *p, const struct run *r, int k,
                      double full_seconds)
{
    double all = (double)r->bytes * k, less_pages = 100 * (1 - (double)r->page_bytes / all),
           less = 100 * (1 - (double)r->exact_bytes / all),
           seconds = (r->find + r->compare + r->write) / k;
    if (as_json) {
        sk_json_object(&json, NULL);
        sk_json_text(&json, "program", p->name);
        sk_json_uint(&json, "full_bytes", r->bytes);
        sk_json_uint(&json, "increment_bytes_pages", r->page_bytes / (uint64_t)k);
        sk_json_uint(&json, "increment_bytes_exact", r->exact_bytes / (uint64_t)k);
        sk_json_real(&json, "less_percent_pages", less_pages);
        sk_json_real(&json, "less_percent", less);
        sk_json_real(&json, "paper_less_percent", p->paper_less);
        sk_json_real(&json, "full_seconds", full_seconds);
        sk_json_real(&json, "increment_seconds", seconds);
        sk_json_end(&json);
        return;
    }
    printf("%-4s full %8.2f MB %7.1f ms | increment: pages %8.2f MB (%.1f %% less), exact %8.2f MB "
           "(%.1f %% less; paper %.1f) %7.1f ms = find %.1f + compare %.1f + copy %.1f | time "
           "%+.1f %%\n",
           p->name, (double)r->bytes / 1e6, 1e3 * full_seconds, (double)r->page_bytes / k / 1e6,
           less_pages, (double)r->exact_bytes / k / 1e6, less, p->paper_less, 1e3 * seconds,
           1e3 * r->find / k, 1e3 * r->compare / k, 1e3 * r->write / k,
           100 * (seconds / full_seconds - 1));
}

static void check(struct run *r, struct sk_memory *base, int k)
{
    struct saikai_error err = {0};
    uint64_t to;
    if (sk_delta_apply(r->chain, (size_t)k, r->chain[0].from, base, r->n, base, r->n, &to, &err))
        die("apply", &err);
    for (size_t i = 0; i < r->n; i++)
        if (memcmp(base[i].addr, r->now[i].addr, r->now[i].size_bytes))
            die("base and increments are not the memory", NULL);
}

static void run_program(struct paper_program *p, int checkpoints)
{
    struct run r = {0};
    struct sk_ranges all = {0};
    struct sk_memory base[PAPER_REGIONS];
    struct saikai_error err = {0};
    if (paper_program_start(p))
        die("no memory", NULL);
    p->step(p);
    if (sk_dirty_open(NULL, &r.d, &err))
        die("tracker", &err);
    r.n = p->regions;
    for (size_t i = 0; i < r.n; i++) {
        r.now[i] = (struct sk_memory){(uint32_t)i, (uint8_t *)p->v[i], p->bytes[i]};
        r.last[i] = base[i] = r.now[i];
        r.last[i].addr = memory(p->bytes[i]);
        base[i].addr = memory(p->bytes[i]);
        r.bytes += p->bytes[i];
        if (sk_dirty_add(r.d, (uint32_t)i, p->v[i], p->bytes[i], 0, &err))
            die("tracker", &err);
    }
    r.cap = r.bytes + ((size_t)64 << 20);
    r.out = memory(r.cap);
    memset(r.out, 0, r.cap); /* pages that are already there, as in a file that is used again */
    if (sk_dirty_collect(r.d, &all, &err))
        die("collect", &err);
    double full = 0;
    save_all(&r, &all, &r.state);
    for (size_t i = 0; i < r.n; i++) {
        memcpy(r.last[i].addr, p->v[i], p->bytes[i]);
        memcpy(base[i].addr, p->v[i], p->bytes[i]);
    }
    for (int k = 0; k < checkpoints; k++) {
        uint64_t unused;
        p->step(p);
        full += save_all(&r, &all, &unused); /* for comparison, beside the increment */
        save_increment(&r, k);
    }
    print_row(p, &r, checkpoints, full / checkpoints);
    check(&r, base, checkpoints);
    for (int k = 0; k < checkpoints; k++)
        free(r.saved[k]);
    for (size_t i = 0; i < r.n; i++) {
        munmap(r.last[i].addr, p->bytes[i]);
        munmap(base[i].addr, p->bytes[i]);
    }
    sk_dirty_close(r.d);
    sk_ranges_free(&all);
    munmap(r.out, r.cap);
    paper_program_free(p);
}

int main(int argc, char **argv)
{
    int checkpoints = 3;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json"))
            as_json = 1;
        else if (!strcmp(argv[i], "--small"))
            small = 1;
        else if ((checkpoints = atoi(argv[i])) < 1 || checkpoints > MOST_CHECKPOINTS) {
            fprintf(stderr, "usage: bench_paper_safe_programs [--json] [--small] [CHECKPOINTS]\n");
            return 2;
        }
    }
    struct paper_program program;
    if (as_json)
        sk_json_array(&json, NULL);
    for (int i = 0; paper_program_at(i, &program); i++) {
        program.small = small;
        run_program(&program, checkpoints);
    }
    int rc = 0;
    if (as_json) {
        sk_json_end(&json);
        rc = sk_json_print(&json, stdout, NULL);
        sk_json_free(&json);
    }
    return rc ? 1 : 0;
}
