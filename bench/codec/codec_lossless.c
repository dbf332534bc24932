/* The lossless codecs on real arrays, beside the libraries that people use today, in one run.
 *
 * usage: codec_lossless DIR|unseen|seen|scored [name=SUBSTRING] [repeat=N] [megabytes=N] [json=FILE]
 *                       [peers=FOLDER] [cache=FILE] [quiet=1]
 * FOLDER may hold the programs pcodec and openzl (peers/README.md); what these, zstd -19 and xz -9 reach is kept in
 * the cache. quiet: means alone, and no speeds of threads. DIR holds index.csv (name,type,dims,…), the raw arrays and, if any, peers-lossless.csv
 * (name,codec,bytes,ratio,…). unseen: the arrays of unseen.h, which are made anew, or one part of them. Ratios and speeds are those of one thread and one piece (processor
 * time, the best of the repetitions); the last table is of whole variables in pieces by one and two
 * threads (wall-clock time, medians), each array repeated along its slowest dimension to at least
 * `megabytes`. Exit code 1 when something did not come back. */
#include "base/clock.h"
#include "base/file/io.h"
#include "base/types.h"
#include "codec/chooser.h"
#include "codec/stream.h"
#include "codec/array.h"
#include "codec_peers.h"
#include "strong_peers.h"
#include "unseen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_ARRAYS = 128, MAX_CODECS = 32, PAIRS = 7 };

struct entry {
    char name[64];
    struct sk_array a;
    void *data;
    size_t size;
    char peer[40]; /* the smallest stored one */
    double peer_ratio;
};

struct settings {
    const char *peers, *cache;
    int repeat, quiet;
    size_t least; /* bytes that threads get */
    FILE *json;
};

struct result {
    double ratio, comp,
        decomp; /* comp and decomp in MB/s; ratio 0: the codec does not take the array */
};

/* Ours and those that are codecs here; other peers are in codec_peers.c. */
static const char *const chains[] = {
    "predict", "fast",   "fpc",    "fpc:20+gzip:6", "fpzip",          "lz4",
    "zstd:3",  "zstd:9", "gzip:6", "shuffle+lz4",   "shuffle+zstd:1", "shuffle+zstd:9"};
#define N_CHAINS  ((int)(sizeof chains / sizeof *chains))
#define REFERENCE 4 /* fpzip: others are given as multiples of it */

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *option(int argc, char **argv, const char *key, const char *standard)
{
    size_t n = strlen(key);
    for (int i = 2; i < argc; i++)
        if (!strncmp(argv[i], key, n) && argv[i][n] == '=')
            return argv[i] + n + 1;
    return standard;
}

static void best_stored(const char *dir, struct entry *e)
{
    char path[4096], line[1024];
    snprintf(path, sizeof path, "%s/peers-lossless.csv", dir);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        char *name = strtok(line, ","), *codec = strtok(NULL, ",");
        strtok(NULL, ",");
        char *ratio = strtok(NULL, ",");
        if (!ratio || strcmp(name, e->name) || atof(ratio) <= e->peer_ratio)
            continue;
        e->peer_ratio = atof(ratio);
        snprintf(e->peer, sizeof e->peer, "%s", codec);
    }
    if (f)
        fclose(f);
}

static int load(const char *dir, struct entry *e, const char *only)
{
    char path[4096], line[1024];
    int n = 0;
    snprintf(path, sizeof path, "%s/index.csv", dir);
    FILE *f = fopen(path, "r");
    while (f && n < MAX_ARRAYS && fgets(line, sizeof line, f)) {
        char *name = strtok(line, ","), *type = strtok(NULL, ","), *dims = strtok(NULL, ",");
        struct saikai_error err;
        if (!dims || !strcmp(name, "name") || !strstr(name, only) || !strchr(name, '.'))
            continue;
        e[n] = (struct entry){.a.type = sk_type_parse(type)};
        e[n].a.ndims = sk_dims_parse(dims, e[n].a.dims);
        snprintf(path, sizeof path, "%s/%s", dir, name);
        snprintf(e[n].name, sizeof e[n].name, "%.*s", (int)(strrchr(name, '.') - name), name);
        if (sk_io_slurp(path, (size_t)1 << 32, &e[n].data, &e[n].size, &err))
            fprintf(stderr, "%s\n", err.text);
        else if (e[n].size == sk_array_size_bytes(&e[n].a))
            best_stored(dir, &e[n++]);
        else
            fprintf(stderr, "%s: not as large as the index says\n", path);
    }
    if (f)
        fclose(f);
    return n;
}

static int make(const char *part, struct entry *e, const char *only)
{
    const struct unseen *u;
    int n = 0;
    for (int i = 0; n < MAX_ARRAYS && (u = unseen_at(i)); i++) {
        if ((strcmp(part, "unseen") && strcmp(part, u->scored ? "scored" : "seen")) || !strstr(u->name, only))
            continue;
        e[n] = (struct entry){.a = u->a, .data = unseen_make(u), .size = sk_array_size_bytes(&u->a)};
        snprintf(e[n].name, sizeof e[n].name, "%s", u->name);
        n += e[n].data != NULL;
    }
    return n;
}

static int is_made(const char *place)
{
    return !strcmp(place, "unseen") || !strcmp(place, "seen") || !strcmp(place, "scored");
}

/* One codec on one array: a chain by name, or the peer of a number. -1: it did not come back. */
static int measure(const struct entry *e, const char *chain, int peer, int repeat, struct result *r)
{
    struct sk_chain c;
    size_t cap = 2 * e->size + 65536, n = 0;
    int rc = 0;
    *r = (struct result){0};
    if (chain && (sk_chain_parse(chain, &c, NULL) || !sk_chain_takes(&c, e->a.type)))
        return 0;
    if (!chain && codec_peers[peer].only_floats && e->a.type != SAIKAI_F32 && e->a.type != SAIKAI_F64)
        return 0;
    if (chain && sk_chain_max_encoded(&c, &e->a) > cap)
        cap = sk_chain_max_encoded(&c, &e->a);
    uint8_t *out = malloc(cap), *back = malloc(e->size);
    double comp = INFINITY, decomp = INFINITY;
    memset(out, 1, cap);
    for (int i = 0; !rc && i < repeat; i++) {
        double t0 = cpu_seconds();
        rc = chain ? sk_chain_encode(&c, &e->a, e->data, NULL, out, cap, &n, NULL)
                   : codec_peers[peer].encode(&e->a, e->data, e->size, out, cap, &n);
        double t1 = cpu_seconds();
        memset(back, 1, e->size);
        double t2 = cpu_seconds();
        if (!rc)
            rc = chain ? sk_chain_decode(&c, &e->a, out, n, back, NULL)
                       : codec_peers[peer].decode(&e->a, out, n, back, e->size);
        double t3 = cpu_seconds();
        rc = rc || memcmp(back, e->data, e->size) ? -1 : 0;
        comp = t1 - t0 < comp ? t1 - t0 : comp;
        decomp = t3 - t2 < decomp ? t3 - t2 : decomp;
    }
    free(out);
    free(back);
    if (rc) {
        fprintf(stderr, "%s: %s did not come back\n", e->name,
                chain ? chain : codec_peers[peer].name);
        return -1;
    }
    *r = (struct result){(double)e->size / (double)n, (double)e->size / comp * 1e-6,
                         (double)e->size / decomp * 1e-6};
    return 0;
}

static double mean_log(const struct result r[][MAX_CODECS], int arrays, int codec, int field,
                       int reference)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < arrays; i++) {
        const double *v = &r[i][codec].ratio, *w = &r[i][reference < 0 ? 0 : reference].ratio;
        if (v[field] > 0 && (reference < 0 || w[field] > 0))
            sum += log(v[field]) - (reference < 0 ? 0 : log(w[field])), n++;
    }
    return n ? exp(sum / n) : 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct speedup {
    double encode, decode; /* wall-clock time of one thread / of two; needs two idle processors */
    double work; /* processor time of both threads / of one, encoding: what sharing costs */
};

static double process_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The array `times` times over, as one longer one. */
static void *repeated(const struct entry *e, size_t least, struct sk_array *a)
{
    size_t times = least / e->size + 1;
    char *x = malloc(times * e->size);
    for (size_t i = 0; x && i < times; i++)
        memcpy(x + i * e->size, e->data, e->size);
    *a = e->a;
    a->dims[0] *= times;
    return x;
}

static int measure_threads(const struct entry *e, const char *chain, size_t least,
                           struct speedup *s)
{
    struct sk_array a;
    void *x = repeated(e, least, &a);
    size_t size = sk_array_size_bytes(&a);
    void *y = malloc(size);
    struct sk_buf b = {0};
    double enc[PAIRS], dec[PAIRS], work[PAIRS];
    int rc = 0;
    for (int i = -1; !rc && i < PAIRS; i++) {
        double t[2][2], cpu[2];
        for (int threads = 1; !rc && threads <= 2; threads++) {
            struct sk_stream_options opt = {.threads = threads};
            b.len = 0;
            double t0 = sk_now(), c0 = process_seconds();
            rc = sk_stream_encode_buf(chain, &a, x, &opt, &b, NULL, NULL);
            double t1 = sk_now();
            cpu[threads - 1] = process_seconds() - c0;
            rc = rc ? rc : sk_stream_decode_buf(b.data, b.len, &a, y, threads, NULL, NULL);
            t[threads - 1][0] = t1 - t0, t[threads - 1][1] = sk_now() - t1;
        }
        if (i < 0) /* pages touched for the first time */
            continue;
        enc[i] = t[0][0] / t[1][0], dec[i] = t[0][1] / t[1][1], work[i] = cpu[1] / cpu[0];
    }
    rc = rc || memcmp(x, y, size) ? -1 : 0;
    qsort(enc, PAIRS, sizeof *enc, by_size);
    qsort(dec, PAIRS, sizeof *dec, by_size);
    qsort(work, PAIRS, sizeof *work, by_size);
    *s = (struct speedup){enc[PAIRS / 2], dec[PAIRS / 2], work[PAIRS / 2]};
    sk_buf_free(&b);
    free(x);
    free(y);
    return rc;
}

static const char *name_of(int codec)
{
    return codec < N_CHAINS ? chains[codec] : codec_peers[codec - N_CHAINS].name;
}

/* Ours are the first of the chains: the others' best of this run, where none that is stored is better. */
static void best_measured(const struct result *r, int codecs, struct entry *e)
{
    enum { OURS = 2 };
    for (int c = OURS; c < codecs; c++)
        if (r[c].ratio > e->peer_ratio) {
            e->peer_ratio = r[c].ratio;
            snprintf(e->peer, sizeof e->peer, "%s", name_of(c));
        }
}

static void try_strong_peers(const struct settings *s, struct entry *e)
{
    for (int i = 0; strong_peer_name(i); i++) {
        double ratio = strong_peer_ratio(i, e->name, &e->a, e->data, s->peers, s->cache);
        if (ratio > 0 && !s->quiet)
            printf("  %-32s %9.4f\n", strong_peer_name(i), ratio);
        if (ratio > e->peer_ratio) {
            e->peer_ratio = ratio;
            snprintf(e->peer, sizeof e->peer, "%s", strong_peer_name(i));
        }
    }
}

static void print_means(const struct result r[][MAX_CODECS], int arrays, int codecs, FILE *json)
{
    printf("\ngeometric means over %d arrays       ratio   MB/s in  MB/s out | against fpzip: "
           "ratio  speed in  out\n",
           arrays);
    fprintf(json, "  \"means\": [");
    for (int c = 0; c < codecs; c++) {
        double m[3], q[3];
        for (int f = 0; f < 3; f++)
            m[f] = mean_log(r, arrays, c, f, -1), q[f] = mean_log(r, arrays, c, f, REFERENCE);
        printf("  %-30s %9.3f %9.0f %9.0f |               %6.3f  %8.2f %5.2f\n", name_of(c), m[0],
               m[1], m[2], q[0], q[1], q[2]);
        fprintf(json,
                "%s\n    {\"codec\": \"%s\", \"ratio\": %.4f, \"compress_MBps\": %.1f, "
                "\"decompress_MBps\": %.1f, ",
                c ? "," : "", name_of(c), m[0], m[1], m[2]);
        fprintf(
            json,
            "\"ratio_to_fpzip\": %.4f, \"compress_to_fpzip\": %.3f, \"decompress_to_fpzip\": %.3f}",
            q[0], q[1], q[2]);
    }
    fprintf(json, "\n  ],\n");
}

/* A geometric mean and the least. */
struct gain {
    const char *title;
    double sum, least;
    int n;
};

static void add_gain(struct gain *g, double over)
{
    if (!isfinite(over) || over <= 0)
        return;
    g->sum += log(over);
    g->least = g->n && g->least < over ? g->least : over;
    g->n++;
}

static double stream_ratio(const struct entry *e, const char *chain, size_t piece_bytes)
{
    struct sk_buf b = {0};
    const struct sk_stream_options how = {.piece_bytes = piece_bytes};
    int rc = sk_stream_encode_buf(chain, &e->a, e->data, &how, &b, NULL, NULL);
    double ratio = rc ? 0 : (double)e->size / (double)b.len;
    sk_buf_free(&b);
    return ratio;
}

/* What is taken by itself: the default, and what the chooser takes where only the size counts. */
static int print_chosen(const struct settings *s, const struct entry *e, const struct result r[][MAX_CODECS], int arrays)
{
    struct gain g[] = {{.title = "auto over the best peer of each"}, {.title = "auto over fpzip"}, {.title = "auto over the best chain of each"},
                       {.title = "the default over the best peer of each"}, {.title = "the default over fast"}, {.title = "the default over auto"}};
    int rc = 0;
    printf("\nthe chooser, for size              chain                    ratio   default   best peer\n");
    fprintf(s->json, "  \"chooser\": [");
    for (int i = 0; i < arrays; i++) {
        struct sk_choice c;
        double best = 0, chosen = sk_choose(&e[i].a, e[i].data, NULL, &c, NULL) ? 0 : stream_ratio(&e[i], c.chain, c.piece_bytes);
        double standard = stream_ratio(&e[i], sk_default_chain(e[i].a.type), 0);
        rc |= !(chosen > 0) || !(standard > 0) ? -1 : 0;
        for (int k = 0; k < N_CHAINS; k++)
            best = fmax(best, r[i][k].ratio);
        const double over[] = {chosen / e[i].peer_ratio, chosen / r[i][REFERENCE].ratio, chosen / best,
                               standard / e[i].peer_ratio, standard / stream_ratio(&e[i], "fast", 0), standard / chosen};
        for (size_t k = 0; k < sizeof g / sizeof *g; k++)
            add_gain(&g[k], over[k]);
        if (!s->quiet)
            printf("  %-32s %-20s %9.4f %9.4f %11.4f %s%s\n", e[i].name, c.chain, chosen, standard, e[i].peer_ratio,
                   e[i].peer, chosen < 0.99 * e[i].peer_ratio ? " (smaller than ours)" : "");
        fprintf(s->json, "%s\n    {\"array\": \"%s\", \"chain\": \"%s\", \"ratio\": %.4f, \"best_peer\": %.4f}",
                i ? "," : "", e[i].name, c.chain, chosen, e[i].peer_ratio);
    }
    for (size_t k = 0; k < sizeof g / sizeof *g; k++)
        if (g[k].n)
            printf("  %s: %.3f, least %.3f (%d arrays)\n", g[k].title, exp(g[k].sum / g[k].n), g[k].least, g[k].n);
    fprintf(s->json, "\n  ],\n");
    return rc;
}

static int print_threads(const struct entry *e, int arrays, size_t least, FILE *json)
{
    int rc = 0, first = 1;
    printf("\ntwo threads against one            chain         encode  decode  work\n");
    fprintf(json, "  \"threads\": [");
    for (int i = 0; i < arrays; i += 5)
        for (int c = 0; c < 2; c++) {
            struct speedup s;
            rc |= measure_threads(&e[i], chains[c], least, &s);
            printf("  %-32s %-12s %7.2f %7.2f %7.2f\n", e[i].name, chains[c], s.encode, s.decode,
                   s.work);
            fprintf(json, "%s\n    {\"array\": \"%s\", \"chain\": \"%s\", \"encode\": %.3f, ",
                    first ? "" : ",", e[i].name, chains[c], s.encode);
            fprintf(json, "\"decode\": %.3f, \"work\": %.3f}", s.decode, s.work);
            first = 0;
        }
    fprintf(json, "\n  ]\n");
    return rc;
}

static int measure_all(const struct settings *s, struct entry *e, struct result r[][MAX_CODECS], int arrays, int codecs)
{
    int rc = 0;
    fprintf(s->json, "{\n  \"arrays\": [");
    for (int i = 0; i < arrays; i++) {
        if (!s->quiet)
            printf("%s (%s, %.1f MB): ratio, MB/s in, MB/s out\n", e[i].name, sk_type_name(e[i].a.type),
                   (double)e[i].size * 1e-6);
        for (int c = 0; c < codecs; c++) {
            struct result *q = &r[i][c];
            rc |= measure(&e[i], c < N_CHAINS ? chains[c] : NULL, c - N_CHAINS, s->repeat, q);
            if (q->ratio > 0 && !s->quiet)
                printf("  %-32s %9.4f %9.0f %9.0f\n", name_of(c), q->ratio, q->comp, q->decomp);
            fprintf(s->json, "%s\n    {\"array\": \"%s\", \"codec\": \"%s\", \"ratio\": %.4f, ",
                    i + c ? "," : "", e[i].name, name_of(c), q->ratio);
            fprintf(s->json, "\"compress_MBps\": %.1f, \"decompress_MBps\": %.1f}", q->comp,
                    q->decomp);
        }
        best_measured(r[i], codecs, &e[i]);
        try_strong_peers(s, &e[i]);
        fflush(stdout);
    }
    fprintf(s->json, "\n  ],\n");
    return rc;
}

int main(int argc, char **argv)
{
    static struct entry e[MAX_ARRAYS];
    static struct result r[MAX_ARRAYS][MAX_CODECS];
    if (argc < 2) {
        fprintf(
            stderr,
            "usage: codec_lossless DIR|unseen|seen|scored [name=SUBSTRING] [repeat=N] [megabytes=N] [json=FILE] [peers=FOLDER] [cache=FILE] [quiet=1]\n");
        return 2;
    }
    const char *only = option(argc, argv, "name", "");
    int arrays = is_made(argv[1]) ? make(argv[1], e, only) : load(argv[1], e, only), codecs = N_CHAINS + n_codec_peers, rc = 0;
    struct settings s = {.peers = option(argc, argv, "peers", NULL),
                         .cache = option(argc, argv, "cache", NULL),
                         .repeat = atoi(option(argc, argv, "repeat", "5")),
                         .quiet = option(argc, argv, "quiet", NULL) != NULL,
                         .least = (size_t)atoi(option(argc, argv, "megabytes", "64")) << 20,
                         .json = fopen(option(argc, argv, "json", "/dev/null"), "w")};
    if (!arrays || !s.json || s.repeat < 1) {
        fprintf(stderr, "no arrays in %s, or a file that cannot be written\n", argv[1]);
        return 2;
    }
    rc = measure_all(&s, e, r, arrays, codecs);
    print_means(r, arrays, codecs, s.json);
    rc |= print_chosen(&s, e, r, arrays);
    if (!s.quiet)
        rc |= print_threads(e, arrays, s.least, s.json);
    else
        fprintf(s.json, "  \"threads\": []\n");
    fprintf(s.json, "}\n");
    if (fclose(s.json))
        rc = -1;
    return rc ? 1 : 0;
}
