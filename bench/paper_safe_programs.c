/* The programs of Jitsumoto, Nakamura, Endo and Matsuoka (2009), section 4, and how much less an
 * increment saves than the whole (their tables 3 and 4). MAT: a matrix product, of which only the
 * rows of the result that were computed since the last checkpoint change; 501 MB. LU: a sweep of
 * the kind of NPB LU (class C, 162 cubed points of 5 values: solution, residual and forcing term),
 * of which all inner points change at every step; 516 MB. The increment is found by the tracker
 * ("pages") and then, as in the paper, by comparing with the last state in memory
 * ("exact"). After the last checkpoint the base and all increments are put together and compared
 * with the memory. usage: bench_paper_safe_programs [--json] [--small] [CHECKPOINTS] */
#include "base/clock.h"
#include "base/json.h"
#include "capture/delta.h"
#include "capture/dirty.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_CHECKPOINTS 8
#define MOST_REGIONS     4

static int as_json, small;
static struct sk_json json;

struct program {
    const char *name;
    double paper_less; /* percent, of the checkpoint's size */
    size_t n, regions;
    double *v[MOST_REGIONS];
    size_t bytes[MOST_REGIONS];
    long at;
    void (*set_up)(struct program *p);
    void (*step)(struct program *p); /* from one checkpoint to the next */
};

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

static void new_region(struct program *p, size_t bytes)
{
    p->v[p->regions] = memory(bytes);
    p->bytes[p->regions++] = bytes;
}

/* ---- MAT ---- */

static void mat_set_up(struct program *p)
{
    p->n = small ? 600 : 4568;
    for (int k = 0; k < 3; k++)
        new_region(p, p->n * p->n * sizeof(double));
    for (size_t i = 0; i < p->n * p->n; i++) {
        p->v[0][i] = (double)(i % 101) / 101;
        p->v[1][i] = (double)(i % 103) / 103;
    }
}

/* Sixteen rows of the product: seconds of work on one core of the paper's time. */
static void mat_step(struct program *p)
{
    size_t n = p->n;
    for (int r = 0; r < (small ? 2 : 16); r++, p->at++) {
        size_t i = (size_t)p->at % n;
        double *c = p->v[2] + i * n;
        for (size_t k = 0; k < n; k++) {
            double a = p->v[0][i * n + k];
            const double *b = p->v[1] + k * n;
            for (size_t j = 0; j < n; j++)
                c[j] += a * b[j];
        }
    }
}

/* ---- LU ---- */

enum { U, RSD, FRCT };

/* Points in x and y are padded to an odd number, as in the benchmark. */
static size_t lu_row(const struct program *p)
{
    return (p->n / 2 * 2 + 1) * 5;
}

static size_t lu_plane(const struct program *p)
{
    return (p->n / 2 * 2 + 1) * lu_row(p);
}

static void lu_set_up(struct program *p)
{
    p->n = small ? 40 : 162;
    for (int k = 0; k < 3; k++)
        new_region(p, p->n * lu_plane(p) * sizeof(double));
    size_t n = p->n * lu_plane(p);
    for (size_t i = 0; i < n; i++) {
        p->v[U][i] = 1 + (double)(i % 977) / 977;
        p->v[FRCT][i] = (double)(i % 331) / 331 - 0.5;
    }
}

/* One pass over the inner points, forwards or backwards: each value of the residual is relaxed with
 * those of the points before it, and the five values of a point with each other. */
static void lu_sweep(struct program *p, int back)
{
    size_t n = p->n, row = lu_row(p), plane = lu_plane(p);
    ptrdiff_t s = back ? 1 : -1;
    for (size_t z = 1; z + 1 < n; z++)
        for (size_t y = 1; y + 1 < n; y++)
            for (size_t x = 1; x + 1 < n; x++) {
                size_t at = (back ? n - 1 - z : z) * plane + (back ? n - 1 - y : y) * row +
                            (back ? n - 1 - x : x) * 5;
                double *r = p->v[RSD] + at, left = 0;
                for (size_t m = 0; m < 5; m++) {
                    left = 0.1 * left + r[m];
                    r[m] = 0.8 * left +
                           0.06 * (r[(ptrdiff_t)m + s * 5] + r[(ptrdiff_t)m + s * (ptrdiff_t)row] +
                                   r[(ptrdiff_t)m + s * (ptrdiff_t)plane]);
                }
            }
}

static void lu_step(struct program *p)
{
    size_t n = p->n, row = lu_row(p), plane = lu_plane(p);
    double *u = p->v[U], *r = p->v[RSD];
    for (size_t i = 0; i < n * plane; i++)
        r[i] = -p->v[FRCT][i];
    for (size_t z = 1; z + 1 < n; z++)
        for (size_t y = 1; y + 1 < n; y++)
            for (size_t i = z * plane + y * row + 5; i < z * plane + y * row + 5 * (n - 1); i++)
                r[i] = 0.1 * (r[i] + u[i - 5] + u[i + 5] + u[i - row] + u[i + row] + u[i - plane] +
                              u[i + plane] - 6 * u[i]);
    lu_sweep(p, 0);
    lu_sweep(p, 1);
    for (size_t z = 1; z + 1 < n; z++)
        for (size_t y = 1; y + 1 < n; y++)
            for (size_t i = z * plane + y * row + 5; i < z * plane + y * row + 5 * (n - 1); i++)
                u[i] += r[i];
}

/* ---- checkpoints ---- */

struct run {
    struct sk_dirty *d;
    struct sk_memory now[MOST_REGIONS], last[MOST_REGIONS];
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

static void print_row(const struct program *p, const struct run *r, int k, double full_seconds)
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

static void run_program(struct program *p, int checkpoints)
{
    struct run r = {0};
    struct sk_ranges all = {0};
    struct sk_memory base[MOST_REGIONS];
    struct saikai_error err = {0};
    p->set_up(p);
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
    for (size_t i = 0; i < r.n; i++)
        munmap(p->v[i], p->bytes[i]);
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
    struct program programs[] = {
        {.name = "MAT", .paper_less = 99.9, .set_up = mat_set_up, .step = mat_step},
        {.name = "LU", .paper_less = 39.8, .set_up = lu_set_up, .step = lu_step},
    };
    if (as_json)
        sk_json_array(&json, NULL);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        run_program(&programs[i], checkpoints);
    int rc = 0;
    if (as_json) {
        sk_json_end(&json);
        rc = sk_json_print(&json, stdout, NULL);
        sk_json_free(&json);
    }
    return rc ? 1 : 0;
}
