/* The error-bounded codec on real arrays, beside what other compressors reached on them.
 *
 * usage: codec_lossy DIR [name=SUBSTRING] [bound=R] [repeat=N] [parameter=TEXT] [json=FILE]
 * DIR holds index.csv (name,type,dims,…), the raw arrays and peers-lossy.csv
 * (name,codec,bound,bytes,ratio,…,comp,decomp). Speeds are of CPU time of one thread, the best of
 * the repetitions. SZ3's are the stored ones, of another run and perhaps another machine: zfp,
 * where it was found, is measured beside ours, and its speeds divided by its stored ones say what
 * share of the stored speeds this machine reaches now. Exit code 1 when a bound is broken. */
#include "base/clock.h"
#include "base/file/io.h"
#include "base/types.h"
#include "codec_peers.h"
#include "codec/quality/measure.h"
#include "codec/stream.h"
#include "codec/wavelet/wavelet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_ARRAYS = 64, N_BOUNDS = 5 };
static const double bounds[N_BOUNDS] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6};

struct entry {
    char name[64];
    struct sk_array a;
    void *data;
    size_t size;
};

struct peer {
    double ratio, sz3_comp, sz3_decomp, zfp_comp, zfp_decomp;
    char codec[40];
};

struct result {
    double ratio, comp, decomp, worst;
    double zfp_comp, zfp_decomp; /* 0: not measured */
};

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *option(int argc, char **argv, const char *key)
{
    size_t n = strlen(key);
    for (int i = 2; i < argc; i++)
        if (!strncmp(argv[i], key, n) && argv[i][n] == '=')
            return argv[i] + n + 1;
    return NULL;
}

static int load(const char *dir, struct entry *e, const char *only)
{
    char path[4096], line[1024];
    int n = 0;
    snprintf(path, sizeof path, "%s/index.csv", dir);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    while (n < MAX_ARRAYS && fgets(line, sizeof line, f)) {
        char *name = strtok(line, ","), *type = strtok(NULL, ","), *dims = strtok(NULL, ",");
        if (!dims || !strcmp(name, "name") || (only && !strstr(name, only)))
            continue;
        snprintf(e[n].name, sizeof e[n].name, "%s", name);
        e[n].a.type = sk_type_parse(type);
        e[n].a.ndims = sk_dims_parse(dims, e[n].a.dims);
        snprintf(path, sizeof path, "%s/%s", dir, name);
        *strrchr(e[n].name, '.') = 0;
        struct saikai_error err;
        if (sk_io_slurp(path, (size_t)1 << 32, &e[n].data, &e[n].size, &err))
            fprintf(stderr, "%s\n", err.text);
        else if (e[n].size == sk_codec_wavelet.max_encoded(&e[n].a) - 64)
            n++;
    }
    fclose(f);
    return n;
}

static struct peer peer_of(const char *dir, const char *name, double bound)
{
    struct peer best = {0};
    char path[4096], line[1024];
    snprintf(path, sizeof path, "%s/peers-lossy.csv", dir);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        char who[64], codec[40];
        double b, bytes, ratio, bits, comp, decomp;
        if (sscanf(line, "%63[^,],%39[^,],%lf,%lf,%lf,%lf,%lf,%lf", who, codec, &b, &bytes, &ratio,
                   &bits, &comp, &decomp) != 8 ||
            strcmp(who, name) || fabs(b / bound - 1) > 1e-6)
            continue;
        if (ratio > best.ratio) {
            best.ratio = ratio;
            snprintf(best.codec, sizeof best.codec, "%s", codec);
        }
        if (!strcmp(codec, "SZ3-default")) {
            best.sz3_comp = comp;
            best.sz3_decomp = decomp;
        }
        if (!strcmp(codec, "zfp-accuracy")) {
            best.zfp_comp = comp;
            best.zfp_decomp = decomp;
        }
    }
    if (f)
        fclose(f);
    return best;
}

static double at(const struct entry *e, const void *p, size_t i)
{
    return e->a.type == SAIKAI_F32 ? ((const float *)p)[i] : ((const double *)p)[i];
}

/* zfp within the same bound, as often. */
static void run_zfp(const struct entry *e, double tolerance, int repeat, struct result *r)
{
    size_t cap = e->size + e->size / 2 + 4096, n = 1;
    void *out = malloc(cap), *back = malloc(e->size);
    double tc = 1e9, td = 1e9;
    for (int k = 0; out && back && n && k < repeat; k++) {
        double t0 = cpu_seconds();
        n = codec_zfp_encode(&e->a, e->data, tolerance, out, cap);
        double t1 = cpu_seconds();
        n = n ? codec_zfp_decode(&e->a, out, n, tolerance, back) : 0;
        double t2 = cpu_seconds();
        tc = t1 - t0 < tc ? t1 - t0 : tc;
        td = t2 - t1 < td ? t2 - t1 : td;
    }
    r->zfp_comp = n ? e->size / tc / 1e6 : 0;
    r->zfp_decomp = n ? e->size / td / 1e6 : 0;
    free(out);
    free(back);
}

static int run(const struct entry *e, double bound, int repeat, const char *parameter,
               struct result *r)
{
    struct saikai_error err = {0};
    struct sk_codec_options opt = {.bound = {SK_BOUND_REL, bound}, .parameter = parameter};
    size_t cap = sk_codec_wavelet.max_encoded(&e->a), n = 0;
    void *out = malloc(cap), *back = malloc(e->size);
    double tc = 1e9, td = 1e9;
    for (int k = 0; k < repeat; k++) {
        double t0 = cpu_seconds();
        if (sk_codec_wavelet.encode(&e->a, e->data, &opt, out, cap, &n, &err))
            break;
        double t1 = cpu_seconds();
        if (sk_codec_wavelet.decode(&e->a, out, n, back, &err))
            break;
        double t2 = cpu_seconds();
        tc = t1 - t0 < tc ? t1 - t0 : tc;
        td = t2 - t1 < td ? t2 - t1 : td;
    }
    if (err.code) {
        fprintf(stderr, "%s at %g: %s\n", e->name, bound, err.text);
        return -1;
    }
    double low = INFINITY, high = -INFINITY, worst = 0;
    size_t count = e->size / sk_type_size(e->a.type);
    for (size_t i = 0; i < count; i++) {
        double x = at(e, e->data, i), d = fabs(x - at(e, back, i));
        low = x < low ? x : low;
        high = x > high ? x : high;
        worst = d > worst ? d : worst;
    }
    *r = (struct result){(double)e->size / (double)n,
                         e->size / tc / 1e6,
                         e->size / td / 1e6,
                         worst / (high - low),
                         0,
                         0};
    run_zfp(e, bound * (high - low), repeat, r);
    free(out);
    free(back);
    return worst <= bound * (high - low) ? 0 : -1;
}

static void print_result(const struct entry *e, double bound, const struct result *r,
                         const struct peer *p, FILE *json, const char **separator)
{
    printf("%-20s %6g %9.3f %9.3f %-14.14s %6.3f %8.1f %6.2f %8.1f %6.2f  %5.2f %5.2f\n", e->name,
           bound, r->ratio, p->ratio, p->codec, r->ratio / p->ratio, r->comp, r->comp / p->sz3_comp,
           r->decomp, r->decomp / p->sz3_decomp, r->zfp_comp / p->zfp_comp,
           r->zfp_decomp / p->zfp_decomp);
    if (!json)
        return;
    fprintf(json,
            "%s\n{\"array\":\"%s\",\"bound\":%g,\"ratio\":%.4f,\"best_peer\":%.4f,"
            "\"peer\":\"%s\",\"comp_MBps\":%.1f,\"decomp_MBps\":%.1f,"
            "\"sz3_comp_MBps\":%.1f,\"sz3_decomp_MBps\":%.1f,\"zfp_comp_MBps\":%.1f,"
            "\"zfp_decomp_MBps\":%.1f,\"zfp_stored_comp_MBps\":%.1f,"
            "\"zfp_stored_decomp_MBps\":%.1f,\"max_rel_err\":%.6g}",
            *separator, e->name, bound, r->ratio, p->ratio, p->codec, r->comp, r->decomp,
            p->sz3_comp, p->sz3_decomp, r->zfp_comp, r->zfp_decomp, p->zfp_comp, p->zfp_decomp,
            r->worst);
    *separator = ",";
}

/* What the means are of: ratio, compression and decompression, zfp's against what is stored. */
enum { FACTORS = 5 };

static int add_factors(const struct result *r, const struct peer *p, double sum[FACTORS])
{
    if (!(p->ratio > 0 && p->sz3_comp > 0))
        return 0;
    sum[0] += log(r->ratio / p->ratio);
    sum[1] += log(r->comp / p->sz3_comp);
    sum[2] += log(r->decomp / p->sz3_decomp);
    sum[3] += log(r->zfp_comp / p->zfp_comp);
    sum[4] += log(r->zfp_decomp / p->zfp_decomp);
    return 1;
}

static void print_mean(double bound, const double sum[FACTORS], int n)
{
    double f[FACTORS];
    for (int i = 0; i < FACTORS; i++)
        f[i] = exp(sum[i] / n);
    printf("%-20s %6g %9s %9s %-14s %6.3f %8s %6.2f %8s %6.2f  %5.2f %5.2f\n", "geometric mean",
           bound, "", "", "", f[0], "", f[1], "", f[2], f[3], f[4]);
    if (f[3] > 0 && f[4] > 0)
        printf("%-20s %6g %9s %9s %-14s %6s %8s %6.2f %8s %6.2f\n", "at the stored speed", bound,
               "", "", "", "", "", f[1] / f[3], "", f[2] / f[4]);
    printf("\n");
}

/* ---- two threads ---- */

enum { ROUNDS = 5, STREAM_BYTES = 48 << 20 };

struct speedup {
    double encode, decode; /* wall-clock time of one thread / of two; needs two idle processors */
    double work;  /* processor time of both threads / of one, encoding: what sharing costs */
    double range; /* share of one thread's time before the first piece: finding the range */
    uint64_t pieces;
};

static double process_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof *v, by_size);
    return v[ROUNDS / 2];
}

/* One round: wall-clock times of both ways and processor time of encoding, with so many threads. */
static int stream_once(const struct sk_array *a, const void *in, void *back, struct sk_buf *b,
                       int threads, double t[3], struct sk_stream_info *info)
{
    struct sk_stream_options opt = {.codec.bound = {SK_BOUND_REL, 1e-3}, .threads = threads};
    b->len = 0;
    double t0 = sk_now(), c0 = process_seconds();
    int rc = sk_stream_encode_buf("wavelet", a, in, &opt, b, info, NULL);
    double t1 = sk_now();
    t[2] = process_seconds() - c0;
    rc = rc ? rc : sk_stream_decode_buf(b->data, b->len, a, back, threads, NULL, NULL);
    t[0] = t1 - t0;
    t[1] = sk_now() - t1;
    return rc;
}

/* The array again and again, as one longer one, streamed by one thread and by two. */
static int measure_threads(const struct entry *e, struct speedup *s)
{
    size_t times = STREAM_BYTES / e->size + 1, size = times * e->size;
    struct sk_array a = e->a;
    struct sk_stream_info info = {0};
    struct sk_buf b = {0};
    char *in = malloc(size), *back = malloc(size);
    double v[4][ROUNDS];
    int rc = in && back ? 0 : -1;
    a.dims[0] *= times;
    for (size_t i = 0; !rc && i < times; i++)
        memcpy(in + i * e->size, e->data, e->size);
    for (int i = -1; !rc && i < ROUNDS; i++) {
        double t[2][3], c0 = process_seconds();
        volatile double range = sk_measure_range(a.type, in, size, 1);
        double scan = process_seconds() - c0;
        rc = range < 0 || stream_once(&a, in, back, &b, 1, t[0], &info) ||
             stream_once(&a, in, back, &b, 2, t[1], &info);
        for (int k = 0; i >= 0 && k < 3; k++) /* before, pages are touched for the first time */
            v[k][i] = k < 2 ? t[0][k] / t[1][k] : t[1][k] / t[0][k];
        if (i >= 0)
            v[3][i] = scan / t[0][2];
    }
    if (!rc)
        *s = (struct speedup){median(v[0]), median(v[1]), median(v[2]), median(v[3]), info.pieces};
    sk_buf_free(&b);
    free(in);
    free(back);
    return rc;
}

static void print_threads(const struct entry *e, int n)
{
    printf("%-38s %7s %7s %7s %7s %7s\n", "two threads against one, streams, 1e-3", "encode",
           "decode", "work", "range", "pieces");
    for (int i = 0; i < n; i += 4) {
        struct speedup s;
        if (measure_threads(&e[i], &s))
            continue;
        printf("%-38s %7.2f %7.2f %7.2f %6.1f%% %7llu\n", e[i].name, s.encode, s.decode, s.work,
               100 * s.range, (unsigned long long)s.pieces);
    }
}

int main(int argc, char **argv)
{
    static struct entry e[MAX_ARRAYS];
    if (argc < 2) {
        fprintf(stderr,
                "usage: codec_lossy DIR [name=…] [bound=…] [repeat=…] [parameter=…] [json=…]\n");
        return 2;
    }
    const char *text;
    int n = load(argv[1], e, option(argc, argv, "name")), failures = 0;
    int repeat = (text = option(argc, argv, "repeat")) ? atoi(text) : 3;
    double only = (text = option(argc, argv, "bound")) ? atof(text) : 0;
    FILE *json = (text = option(argc, argv, "json")) ? fopen(text, "w") : NULL;
    const char *separator = "[";
    printf("%-20s %6s %9s %9s %-14s %6s %8s %6s %8s %6s  %s\n", "array", "bound", "ratio",
           "best peer", "", "gain", "comp", "/SZ3", "decomp", "/SZ3", "zfp now/stored");
    for (int k = 0; k < N_BOUNDS; k++) {
        if (only > 0 && fabs(only / bounds[k] - 1) > 1e-6)
            continue;
        double sum[FACTORS] = {0};
        int counted = 0;
        for (int i = 0; i < n; i++) {
            struct result r = {0};
            struct peer p = peer_of(argv[1], e[i].name, bounds[k]);
            if (run(&e[i], bounds[k], repeat, option(argc, argv, "parameter"), &r)) {
                printf("%-20s %6g BROKEN: error %g\n", e[i].name, bounds[k], r.worst);
                failures++;
                continue;
            }
            print_result(&e[i], bounds[k], &r, &p, json, &separator);
            counted += add_factors(&r, &p, sum);
        }
        if (counted)
            print_mean(bounds[k], sum, counted);
    }
    print_threads(e, n);
    if (json) {
        fprintf(json, "\n]\n");
        fclose(json);
    }
    for (int i = 0; i < n; i++)
        free(e[i].data);
    return failures != 0;
}
