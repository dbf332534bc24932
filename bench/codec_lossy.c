/* The error-bounded codec on real arrays, beside what other compressors reached on them.
 *
 * usage: codec_lossy DIR [name=SUBSTRING] [bound=R] [repeat=N] [parameter=TEXT] [json=FILE]
 * DIR holds index.csv (name,type,dims,…), the raw arrays and peers-lossy.csv
 * (name,codec,bound,bytes,ratio,…,comp,decomp). Speeds are of CPU time of one thread, the best of
 * the repetitions. Exit code 1 when a bound is broken. */
#include "base/io.h"
#include "base/types.h"
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
    double ratio, sz3_comp, sz3_decomp;
    char codec[40];
};

struct result {
    double ratio, comp, decomp, worst;
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
    }
    if (f)
        fclose(f);
    return best;
}

static double at(const struct entry *e, const void *p, size_t i)
{
    return e->a.type == SAIKAI_F32 ? ((const float *)p)[i] : ((const double *)p)[i];
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
    *r = (struct result){(double)e->size / (double)n, e->size / tc / 1e6, e->size / td / 1e6,
                         worst / (high - low)};
    free(out);
    free(back);
    return worst <= bound * (high - low) ? 0 : -1;
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
    printf("%-20s %6s %9s %9s %-14s %6s %8s %6s %8s %6s\n", "array", "bound", "ratio", "best peer",
           "", "gain", "comp", "/SZ3", "decomp", "/SZ3");
    for (int k = 0; k < N_BOUNDS; k++) {
        if (only > 0 && fabs(only / bounds[k] - 1) > 1e-6)
            continue;
        double gain = 0, comp = 0, decomp = 0;
        int counted = 0;
        for (int i = 0; i < n; i++) {
            struct result r = {0};
            struct peer p = peer_of(argv[1], e[i].name, bounds[k]);
            if (run(&e[i], bounds[k], repeat, option(argc, argv, "parameter"), &r)) {
                printf("%-20s %6g BROKEN: error %g\n", e[i].name, bounds[k], r.worst);
                failures++;
                continue;
            }
            printf("%-20s %6g %9.3f %9.3f %-14.14s %6.3f %8.1f %6.2f %8.1f %6.2f\n", e[i].name,
                   bounds[k], r.ratio, p.ratio, p.codec, r.ratio / p.ratio, r.comp,
                   r.comp / p.sz3_comp, r.decomp, r.decomp / p.sz3_decomp);
            if (json) {
                fprintf(json,
                        "%s\n{\"array\":\"%s\",\"bound\":%g,\"ratio\":%.4f,\"best_peer\":%.4f,"
                        "\"peer\":\"%s\",\"comp_MBps\":%.1f,\"decomp_MBps\":%.1f,"
                        "\"sz3_comp_MBps\":%.1f,\"sz3_decomp_MBps\":%.1f,\"max_rel_err\":%.6g}",
                        separator, e[i].name, bounds[k], r.ratio, p.ratio, p.codec, r.comp,
                        r.decomp, p.sz3_comp, p.sz3_decomp, r.worst);
                separator = ",";
            }
            if (p.ratio > 0 && p.sz3_comp > 0) {
                gain += log(r.ratio / p.ratio);
                comp += log(r.comp / p.sz3_comp);
                decomp += log(r.decomp / p.sz3_decomp);
                counted++;
            }
        }
        if (counted)
            printf("%-20s %6g %9s %9s %-14s %6.3f %8s %6.2f %8s %6.2f\n\n", "geometric mean",
                   bounds[k], "", "", "", exp(gain / counted), "", exp(comp / counted), "",
                   exp(decomp / counted));
    }
    if (json) {
        fprintf(json, "\n]\n");
        fclose(json);
    }
    for (int i = 0; i < n; i++)
        free(e[i].data);
    return failures != 0;
}
