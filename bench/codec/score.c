/* `make score`: the error-bounded codec, as a stream with its default settings, beside other
 * compressors on arrays that nobody tuned to (unseen.h).
 *
 * usage: score [peers=DIR] [part=seen|scored] [name=SUBSTRING] [bound=R] [parameter=TEXT]
 *              [piece=BYTES] [cache=FILE] [quiet=1]
 * DIR may hold the programs sz3, qoz, sperr3d, sperr2d; zfp is used where the build found it. What
 * peers reached is kept in the cache. All get the same absolute bound: R of the range of the values
 * that are finite and no fill value. Exit code 1 when a bound of ours is broken. */
#include "base/types.h"
#include "codec/stream.h"
#include "codec/array.h"
#include "codec_peers.h"
#include "option.h"
#include "peer_cache.h"
#include "unseen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_BOUNDS = 5, N_PEERS = 5, MAX_KINDS = 32 };
static const double bounds[N_BOUNDS] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
static const char *const peers[N_PEERS] = {"zfp", "sz3", "sz2", "qoz", "sperr"};

struct settings {
    const char *peers, *part, *name, *parameter, *cache;
    double bound;
    size_t piece;
    int quiet;
    char in[64], out[64], config[64]; /* files that other programs read and write */
};

/* Sums of logarithms of a part or a kind, at each bound: against the best peer, against each. */
struct means {
    char kind[32];
    double sum[N_BOUNDS][N_PEERS + 1], least[N_BOUNDS];
    int n[N_BOUNDS][N_PEERS + 1];
};

static double value(const struct sk_array *a, const void *x, size_t i)
{
    return a->type == SAIKAI_F32 ? ((const float *)x)[i] : ((const double *)x)[i];
}

static size_t count_of(const struct sk_array *a)
{
    return sk_array_size_bytes(a) / sk_type_size(a->type);
}

/* Is it a number of the field: neither a fill value of these arrays nor NaN? */
static int is_real(double v)
{
    return isfinite(v) && v != (double)1e20f && v != 1e20 && v != -9999;
}

/* Peers lose values that are not finite, or fail: they do not take part then. */
static int all_finite(const struct sk_array *a, const void *x)
{
    for (size_t i = 0, n = count_of(a); i < n; i++)
        if (!isfinite(value(a, x, i)))
            return 0;
    return 1;
}

static double range_of(const struct sk_array *a, const void *x)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0, n = count_of(a); i < n; i++) {
        double v = value(a, x, i);
        low = is_real(v) && v < low ? v : low;
        high = is_real(v) && v > high ? v : high;
    }
    return high - low;
}

/* ---- ours ---- */

struct ours {
    double ratio, seconds, back;
    int broken;
};

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct ours run_ours(const struct settings *s, const struct sk_array *a, const void *x,
                            double bound)
{
    struct sk_stream_options opt = {.codec.bound = {SK_BOUND_ABS, bound}, .threads = 1};
    struct sk_buf b = {0};
    struct saikai_error err = {0};
    size_t size = sk_array_size_bytes(a), n = count_of(a);
    struct ours r = {.broken = 1};
    void *back = malloc(size);
    opt.codec.parameter = s->parameter;
    opt.piece_bytes = s->piece;
    double t = cpu_seconds();
    int rc = sk_stream_encode_buf("wavelet", a, x, &opt, &b, NULL, &err);
    r.seconds = cpu_seconds() - t;
    t = cpu_seconds();
    if (!rc && back)
        rc = sk_stream_decode_buf(b.data, b.len, a, back, 1, NULL, &err);
    r.back = cpu_seconds() - t;
    if (rc || !back) {
        fprintf(stderr, "%s\n", err.text);
    } else {
        r.ratio = (double)size / (double)b.len;
        r.broken = 0;
        for (size_t i = 0; i < n; i++) {
            double v = value(a, x, i), w = value(a, back, i);
            r.broken |= isfinite(v) ? !(fabs(v - w) <= bound) : memcmp(&v, &w, sizeof v) != 0;
        }
    }
    free(back);
    sk_buf_free(&b);
    return r;
}

/* ---- peers ---- */

static double size_of_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        return 0;
    double n = (double)ftell(f);
    fclose(f);
    return n;
}

/* Dimensions, the fastest first; more than `most` are joined into the slowest. */
static int dims_text(const struct sk_array *a, int most, char *out, size_t cap)
{
    size_t d[SAIKAI_MAX_DIMS] = {1}, at = 0;
    int n = 0;
    for (int k = a->ndims - 1; k >= 0; k--) {
        if (n < most)
            d[n++] = a->dims[k];
        else
            d[n - 1] *= a->dims[k];
    }
    for (int k = 0; k < n; k++)
        at += (size_t)snprintf(out + at, cap - at, "%zu ", d[k]);
    return n;
}

static int command_for(const struct settings *s, const char *peer, const struct sk_array *a,
                       double bound, char *out, size_t cap)
{
    char dims[128], config[80] = "";
    int is_float = a->type == SAIKAI_F32;
    if (!strcmp(peer, "sperr")) {
        int n = dims_text(a, 3, dims, sizeof dims);
        if (n < 2)
            return -1;
        snprintf(out, cap,
                 "%s/sperr%dd -c --ftype %d --dims %s --pwe %.17g --bitstream %s %s >/dev/null 2>&1",
                 s->peers, n, is_float ? 32 : 64, dims, bound, s->out, s->in);
        return 0;
    }
    if (!strcmp(peer, "sz2"))
        snprintf(config, sizeof config, "-c %s", s->config);
    int n = dims_text(a, 4, dims, sizeof dims), qoz = !strcmp(peer, "qoz");
    snprintf(out, cap,
             "%s/%s -%c -i %s -z %s -%d %s %s -M ABS %.17g %s >/dev/null 2>&1", s->peers,
             qoz ? "qoz" : "sz3", is_float ? 'f' : 'd', s->in, s->out, n, dims, config, bound,
             qoz ? "-q 4 -T CR" : "");
    return 0;
}

static double run_peer(const struct settings *s, const char *peer, const struct sk_array *a,
                       const void *x, double bound)
{
    char command[1024];
    size_t size = sk_array_size_bytes(a);
    if (!strcmp(peer, "zfp")) {
        void *out = malloc(2 * size + 4096);
        size_t n = out ? codec_zfp_encode(a, x, bound, out, 2 * size + 4096) : 0;
        free(out);
        return n ? (double)size / (double)n : 0;
    }
    if (!s->peers || command_for(s, peer, a, bound, command, sizeof command))
        return 0;
    FILE *f = fopen(s->in, "wb");
    if (!f)
        return 0;
    fwrite(x, 1, size, f);
    fclose(f);
    f = fopen(s->config, "w");
    if (f) {
        fprintf(f, "[GlobalSettings]\nCmprAlgo = ALGO_LORENZO_REG\n");
        fclose(f);
    }
    remove(s->out);
    if (system(command))
        return 0;
    double n = size_of_file(s->out);
    return n > 0 ? (double)size / n : 0;
}

/* What a peer reached, from the cache where it is there. */
static double ratio_of_peer(const struct settings *s, const char *peer, const struct unseen *u,
                            const void *x, int k, double bound)
{
    double ratio = peer_cache_get(s->cache, u->name, peer, bounds[k]);
    if (ratio >= 0)
        return ratio;
    ratio = run_peer(s, peer, &u->a, x, bound);
    peer_cache_put(s->cache, u->name, peer, bounds[k], ratio);
    return ratio;
}

/* ---- the table ---- */

static void add(struct means *m, int k, const double gain[N_PEERS + 1])
{
    for (int p = 0; p <= N_PEERS; p++)
        if (gain[p] > 0) {
            m->sum[k][p] += log(gain[p]);
            m->n[k][p]++;
        }
    if (gain[0] > 0 && (gain[0] < m->least[k] || m->least[k] == 0))
        m->least[k] = gain[0];
}

static struct means *means_of(struct means *list, const char *kind)
{
    int i = 0;
    while (list[i].kind[0] && strcmp(list[i].kind, kind) && i < MAX_KINDS - 1)
        i++;
    snprintf(list[i].kind, sizeof list[i].kind, "%s", kind);
    return &list[i];
}

static int score_one(const struct settings *s, const struct unseen *u, struct means *by_kind,
                     struct means *part, double times[2])
{
    void *x = unseen_make(u);
    int failures = 0;
    if (!x)
        return 1;
    double range = range_of(&u->a, x);
    int finite = all_finite(&u->a, x);
    for (int k = 0; k < N_BOUNDS; k++) {
        double gain[N_PEERS + 1] = {0}, best = 0;
        const char *who = "";
        if (s->bound > 0 && fabs(s->bound / bounds[k] - 1) > 1e-6)
            continue;
        struct ours o = run_ours(s, &u->a, x, bounds[k] * range);
        failures += o.broken;
        for (int p = 0; p < N_PEERS; p++) {
            double r = finite ? ratio_of_peer(s, peers[p], u, x, k, bounds[k] * range) : 0;
            gain[p + 1] = r > 0 ? o.ratio / r : 0;
            who = r > best ? peers[p] : who;
            best = r > best ? r : best;
        }
        gain[0] = best > 0 ? o.ratio / best : 0;
        add(means_of(by_kind, u->kind), k, gain);
        add(&part[u->scored], k, gain);
        times[0] += o.seconds;
        times[1] += o.back;
        if (!s->quiet)
            printf("%-15s %-11s %-6s %6g %10.3f %10.3f %-6s %7.3f %7.3f s%s\n", u->name, u->kind,
                   u->scored ? "scored" : "seen", bounds[k], o.ratio, best, who, gain[0], o.seconds,
                   o.broken ? " BROKEN" : "");
        fflush(stdout);
    }
    free(x);
    return failures;
}

static void print_means(const struct means *m, const char *title)
{
    printf("%-12s", title);
    for (int k = 0; k < N_BOUNDS; k++)
        if (m->n[k][0])
            printf(" %6g: %6.3f (%5.3f)", bounds[k], exp(m->sum[k][0] / m->n[k][0]), m->least[k]);
    printf("\n");
}

static void print_peers(const struct means *m)
{
    for (int p = 1; p <= N_PEERS; p++) {
        printf("  over %-6s", peers[p - 1]);
        for (int k = 0; k < N_BOUNDS; k++)
            if (m->n[k][p])
                printf(" %6g: %6.3f        ", bounds[k], exp(m->sum[k][p] / m->n[k][p]));
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    struct settings s = {.peers = option(argc, argv, "peers"),
                         .part = option(argc, argv, "part"),
                         .name = option(argc, argv, "name"),
                         .parameter = option(argc, argv, "parameter"),
                         .cache = option(argc, argv, "cache"),
                         .quiet = option(argc, argv, "quiet") != NULL};
    static struct means by_kind[MAX_KINDS], part[2];
    const char *text;
    double times[2] = {0};
    int failures = 0;
    char dir[] = "score-XXXXXX"; /* of this run alone */
    if (!mkdtemp(dir)) {
        perror("score");
        return 2;
    }
    snprintf(s.in, sizeof s.in, "%s/in", dir);
    snprintf(s.out, sizeof s.out, "%s/out", dir);
    snprintf(s.config, sizeof s.config, "%s/config", dir);
    s.bound = (text = option(argc, argv, "bound")) ? atof(text) : 0;
    s.piece = (text = option(argc, argv, "piece")) ? strtoull(text, NULL, 10) : 0;
    if (!s.quiet)
        printf("%-15s %-11s %-6s %6s %10s %10s %-6s %7s\n", "array", "kind", "part", "bound",
               "ratio", "best peer", "", "gain");
    for (int i = 0; unseen_at(i); i++) {
        const struct unseen *u = unseen_at(i);
        if ((s.name && !strstr(u->name, s.name)) ||
            (s.part && strcmp(s.part, u->scored ? "scored" : "seen")))
            continue;
        failures += score_one(&s, u, by_kind, part, times);
    }
    remove(s.in);
    remove(s.out);
    remove(s.config);
    rmdir(dir);
    printf("\nratio over the best peer, geometric mean (least):\n");
    for (int i = 0; i < MAX_KINDS && by_kind[i].kind[0]; i++)
        print_means(&by_kind[i], by_kind[i].kind);
    for (int i = 0; i < 2; i++) {
        print_means(&part[i], i ? "SCORED" : "SEEN");
        print_peers(&part[i]);
    }
    printf("processor time: %.2f s to compress, %.2f s to decompress\n", times[0], times[1]);
    if (failures)
        printf("%d results BROKEN\n", failures);
    return failures != 0;
}
