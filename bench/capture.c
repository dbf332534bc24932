/* How long a program waits for capture: finding what changed, saving it, and snapshots without a
 * stop. All times are also given as a ratio to copying the same memory (memcpy into pages that are
 * already touched) in the same run. usage: bench_capture [--json] [--snapshots FORM] [SIZE]
 * [ROUNDS], e.g. bench_capture 1GiB 5 */
#include "base/clock.h"
#include "base/hash.h"
#include "base/text/json.h"
#include "base/config/units.h"
#include "capture/cow/cow_job.h"
#include "capture/delta.h"
#include "capture/dirty.h"
#include "capture/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static size_t size = (size_t)1 << 30;
static int rounds = 5;
static double copy_seconds; /* memcpy of all, the best */
static struct sk_json json;
static int as_json;
static const char *only; /* this form of snapshots */

static void die(const char *what, const struct saikai_error *err)
{
    fprintf(stderr, "bench_capture: %s: %s\n", what, err ? err->text : "failed");
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}

/* The median says what happens, the best one what it costs when nothing else runs; the ratio is
 * that of the best ones. */
static void time_of(const char *pages, const char *what, double *v, int n)
{
    double mid = median(v, n), best = v[0], ratio = best / copy_seconds;
    if (!as_json) {
        printf("%-6s %-78s best %8.3f  median %8.3f ms  %8.4f of memcpy\n", pages, what, 1e3 * best,
               1e3 * mid, ratio);
        fflush(stdout);
        return;
    }
    sk_json_object(&json, NULL);
    sk_json_text(&json, "pages", pages);
    sk_json_text(&json, "what", what);
    sk_json_real(&json, "best_seconds", best);
    sk_json_real(&json, "median_seconds", mid);
    sk_json_real(&json, "ratio_to_memcpy", ratio);
    sk_json_end(&json);
}

static uint8_t *memory(size_t n, int advice)
{
    uint8_t *p =
        mmap(NULL, n + SK_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        die("no memory", NULL);
    p = (uint8_t *)sk_page_ceil((uintptr_t)p, SK_CHUNK_BYTES);
    madvise(p, n, advice);
    memset(p, 1, n);
    return p;
}

/* ---- programs ---- */

enum pattern { FIRST_TENTH, EVERY_TENTH, RANDOM_TENTH };
static const char *const pattern_name[] = {"first tenth", "every tenth page", "random tenth"};

static void write_pattern(uint8_t *p, enum pattern w)
{
    static uint64_t x = 1;
    size_t pages = size / 4096;
    for (size_t i = 0; i < pages / 10; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        size_t at = w == FIRST_TENTH ? i : w == EVERY_TENTH ? 10 * i : (x >> 16) % pages;
        p[at * 4096 + 8 * (x >> 56)]++;
    }
}

static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One sweep over all memory that reads and writes each value, as a stencil does; the time by this
 * clock. */
static double sweep(uint8_t *p, double (*clock)(void))
{
    double t = clock(), *v = (double *)(void *)p, left = 0;
    for (size_t i = 1; i + 1 < size / sizeof *v; i++) {
        double x = 0.25 * left + 0.5 * v[i] + 0.25 * v[i + 1];
        left = v[i];
        v[i] = x;
    }
    return clock() - t;
}

/* ---- finding what changed ---- */

static double collect(struct sk_dirty *d, struct sk_ranges *r)
{
    struct saikai_error err = {0};
    double t = sk_now();
    if (sk_dirty_collect(d, r, &err))
        die("collect", &err);
    return sk_now() - t;
}

static struct sk_dirty *tracker(const char *form, uint8_t *p)
{
    struct saikai_error err = {0};
    struct sk_dirty_options opt = {.form = form};
    struct sk_dirty *d;
    if (sk_dirty_open(&opt, &d, &err) || sk_dirty_add(d, 0, p, size, 0, &err)) {
        fprintf(stderr, "bench_capture: %s: %s\n", form, err.text);
        return NULL;
    }
    return d;
}

static void find_changes(const char *form, const char *pages, uint8_t *p)
{
    struct sk_dirty *d = tracker(form, p);
    struct sk_ranges r = {0};
    double v[64];
    char what[128];
    if (!d)
        return;
    collect(d, &r);
    for (int w = FIRST_TENTH; w <= RANDOM_TENTH; w++) {
        for (int i = 0; i < rounds; i++) {
            write_pattern(p, (enum pattern)w);
            v[i] = collect(d, &r);
        }
        snprintf(what, sizeof what, "find changes, %s, %s written", form, pattern_name[w]);
        time_of(pages, what, v, rounds);
    }
    sk_dirty_close(d);
    sk_ranges_free(&r);
}

/* Incremental against full: both into memory that is already touched, both with a checksum. */
static void increments(const char *pages, uint8_t *p, uint8_t *out)
{
    struct sk_dirty *d = tracker("auto", p);
    struct sk_ranges r = {0};
    struct sk_memory m = {0, p, size};
    double full[64], part[64];
    uint64_t state = 1;
    struct saikai_error err = {0};
    if (!d)
        return;
    for (int i = 0; i < rounds; i++) {
        sk_dirty_forget(d, UINT32_MAX);
        double t = processor_time();
        collect(d, &r);
        if (sk_delta_encode(state, &m, 1, &r, out, size + (64 << 20), &state, &err))
            die("encode", &err);
        full[i] = processor_time() - t;
        write_pattern(p, EVERY_TENTH);
        t = processor_time();
        collect(d, &r);
        if (sk_delta_encode(state, &m, 1, &r, out, size + (64 << 20), &state, &err))
            die("encode", &err);
        part[i] = processor_time() - t;
    }
    time_of(pages, "processor time, full capture with checksum", full, rounds);
    time_of(pages, "processor time, incremental capture, every tenth page", part, rounds);
    if (!as_json)
        printf("%-6s incremental / full = %.3f\n", pages,
               median(part, rounds) / median(full, rounds));
    sk_dirty_close(d);
    sk_ranges_free(&r);
}

static void slowdown(const char *pages, uint8_t *p)
{
    double plain[64], first[64], later[64];
    struct sk_ranges r = {0};
    for (int i = 0; i < rounds; i++)
        plain[i] = sweep(p, processor_time);
    struct sk_dirty *d = tracker("uffd", p);
    if (!d)
        return;
    for (int i = 0; i < rounds; i++) {
        collect(d, &r);
        first[i] = sweep(p, processor_time);
        later[i] = sweep(p, processor_time);
    }
    time_of(pages, "processor time, sweep of all memory, not tracked", plain, rounds);
    time_of(pages, "processor time, sweep of all memory, the first after a collect", first, rounds);
    time_of(pages, "processor time, sweep of all memory, the second after a collect", later,
            rounds);
    if (!as_json)
        printf("%-6s all pages written: %.2f us per page once per checkpoint, %.2f %% of 30 s; "
               "then %+.1f %%\n",
               pages, 1e6 * (first[0] - plain[0]) / ((double)size / 4096),
               100 * (first[0] - plain[0]) / 30, 100 * (later[0] / plain[0] - 1));
    sk_dirty_close(d);
    sk_ranges_free(&r);
}

/* ---- snapshots ---- */

struct target {
    uint8_t *out;
};

static int store(void *arg, uint32_t id, uint64_t offset, const void *data, size_t n,
                 struct saikai_error *err)
{
    memcpy(((struct target *)arg)->out + offset, data, n);
    return 0;
}

/* What the program writes while it is saved. */
static void write_nothing(uint8_t *p)
{
}

static void write_little(uint8_t *p)
{
    for (size_t k = 0; k < size / 4096 / 1000; k++)
        p[(k * 7919 % (size / 4096)) * 4096]++;
}

static void write_by_sweep(uint8_t *p)
{
    sweep(p, sk_now);
}

static void write_zeros(uint8_t *p)
{
    for (size_t i = 0; i < size; i += 1 << 16)
        memset(p + i, 0, 1 << 16);
}

static void write_backwards(uint8_t *p)
{
    for (size_t i = size; i; i -= 4096)
        for (size_t k = 0; k < 4096; k += 64)
            p[i - 64 - k]++;
}

/* As many writes as there are pages, anywhere; most pages get at least one. */
static void write_anywhere(uint8_t *p)
{
    static uint64_t x = 1;
    for (size_t i = 0; i < size / 4096; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        p[(x >> 16) % size]++;
    }
}

static const struct work {
    const char *name;
    void (*run)(uint8_t *p);
} works[] = {
    {"nothing", write_nothing},
    {"0.1 % of the pages", write_little},
    {"a sweep over everything", write_by_sweep},
    {"zeros over everything", write_zeros},
    {"everything, backwards", write_backwards},
    {"as many bytes as pages, anywhere", write_anywhere},
};

/* Numbers that a sweep leaves as they are: neither too small nor too large ones, which take longer.
 */
static void make_ready(uint8_t *p)
{
    double *v = (double *)(void *)p;
    for (size_t i = 0; i < size / sizeof *v; i++)
        v[i] = 1;
}

/* The best of some, without a snapshot; the processor time of the same run. */
static double run_alone(const struct work *w, uint8_t *p, double *processor)
{
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        make_ready(p);
        double c = processor_time(), t = sk_now();
        w->run(p);
        t = sk_now() - t;
        c = processor_time() - c;
        if (t < best) {
            best = t;
            *processor = c;
        }
    }
    return best;
}

static void snapshots(const char *form, const char *pages, int sink_is_copy, uint8_t *p,
                      uint8_t *out)
{
    struct sk_snapshot_options opt = {.form = form, .sink_is_copy = sink_is_copy};
    struct sk_snapshot *s;
    struct saikai_error err = {0};
    if (sk_snapshot_open(&opt, &s, &err)) {
        fprintf(stderr, "bench_capture: %s\n", err.text);
        return;
    }
    struct sk_memory_extent piece = {p, size, 0, 0};
    struct target to = {out};
    const char *how = sink_is_copy ? " to its place" : "";
    for (size_t m = 0; m < sizeof works / sizeof *works; m++) {
        struct sk_snapshot_stats stats = {0};
        double blocked[64], all[64], own[64], alone_own = 0;
        double alone = run_alone(&works[m], p, &alone_own);
        for (int i = -1; i < rounds; i++) { /* the first one touches the pool */
            make_ready(p);
            double t = sk_now(), c = processor_time();
            if (sk_snapshot_begin(s, &piece, 1, store, &to, &err))
                die("begin", &err);
            double b = sk_now() - t;
            works[m].run(p);
            t = sk_now() - t - alone;
            c = processor_time() - c - alone_own;
            if (sk_snapshot_finish(s, &stats, &err))
                die("finish", &err);
            if (i >= 0) {
                blocked[i] = b;
                all[i] = t;
                own[i] = c;
            }
        }
        char what[160];
        if (m < 2) {
            snprintf(what, sizeof what, "snapshot by %s%s, %s: begin", form, how, works[m].name);
            time_of(pages, what, blocked, rounds);
        }
        if (m > 0) {
            snprintf(what, sizeof what, "snapshot by %s%s, %s: all that it cost", form, how,
                     works[m].name);
            time_of(pages, what, all, rounds);
            time_of(pages, "  its processor time in the program's thread", own, rounds);
            if (!as_json)
                printf("%-6s   the last one by %s: %llu faults, %.0f MiB copied aside for them, "
                       "%.0f MiB ahead, stalled %.1f ms\n",
                       pages, stats.form, (unsigned long long)stats.faults,
                       (double)stats.touched_bytes / (1 << 20),
                       (double)stats.ahead_bytes / (1 << 20), 1e3 * stats.stalled_seconds);
        }
    }
    sk_snapshot_close(s);
}

static const struct {
    const char *name;
    int sink_is_copy;
} forms[] = {{"uffd", 0}, {"uffd", 1}, {"fork", 0}, {"copy", 0}, {"auto", 0}};

static void all_of(const char *pages, int advice)
{
    uint8_t *p = memory(size, advice), *out = memory(size + (64 << 20), advice);
    double v[64];
    for (int i = 0; i < rounds; i++) {
        double t = sk_now();
        memcpy(out, p, size);
        v[i] = sk_now() - t;
    }
    median(v, rounds);
    copy_seconds = v[0];
    time_of(pages, "memcpy", v, rounds);
    for (int i = 0; i < (int)(sizeof forms / sizeof *forms); i++)
        if (!only || !strcmp(only, forms[i].name))
            snapshots(forms[i].name, pages, forms[i].sink_is_copy, p, out);
    if (only)
        goto out;
    find_changes("uffd", pages, p);
    find_changes("hash", pages, p);
    increments(pages, p, out);
    slowdown(pages, p);
out:
    munmap(p, size);
    munmap(out, size + (64 << 20));
}

int main(int argc, char **argv)
{
    int at = 1;
    if (at < argc && !strcmp(argv[at], "--json"))
        as_json = 1, at++;
    if (at + 1 < argc && !strcmp(argv[at], "--snapshots"))
        only = argv[at + 1], at += 2;
    uint64_t n;
    if (at < argc && !sk_parse_size(argv[at], &n) && n >= SK_CHUNK_BYTES)
        size = n / SK_CHUNK_BYTES * SK_CHUNK_BYTES, at++;
    if (at < argc && atoi(argv[at]) > 0 && atoi(argv[at]) <= 64)
        rounds = atoi(argv[at++]);
    if (at != argc) {
        fprintf(stderr, "usage: bench_capture [--json] [--snapshots FORM] [SIZE] [ROUNDS]\n");
        return 2;
    }
    if (as_json) {
        sk_json_object(&json, NULL);
        sk_json_uint(&json, "bytes", size);
        sk_json_array(&json, "results");
    }
    all_of("4 KiB", MADV_NOHUGEPAGE);
    all_of("huge", MADV_HUGEPAGE);
    int rc = 0;
    if (as_json) {
        sk_json_end(&json);
        sk_json_end(&json);
        rc = sk_json_print(&json, stdout, NULL);
        sk_json_free(&json);
    }
    return rc ? 1 : 0;
}
