/* `make score-steady`: does the error-bounded codec, as a stream with its default settings, behave as its user expects whatever the values are?
 *
 * usage: steady [bar=NAME] [part=made|seen|scored] [name=SUBSTRING] [parameter=TEXT] [peers=DIR] [json=FILE] [all=1]
 * Bars (what is printed is a quotient, or decibels, that should be at most the limit):
 *   spikes    bytes with 0.01 % of spikes by bytes without them, the same absolute bound: at most 1.25 (smooth arrays)
 *   pieces    bytes in pieces of the standard size by bytes in one piece: at most 1.10
 *   looser    bytes at a bound by bytes at the next finer one: at most 1
 *   lossless  bytes at a bound by bytes without one, chosen for size: at most 1.0005 (the frames differ)
 *   scale     bytes of the array times a power of ten by bytes of the array: at most 1.01
 *   psnr      decibels beyond those that were asked: 0 to 0.5
 *   saw       bytes by SZ3's (peers=DIR has a program sz3), of phases modulo 1: at most 1
 * Arrays are those of steady_fields.c ("made") and of unseen.h; of those that are only scored no name is printed unless a bound is broken. all=1 prints each result and not
 * only those beyond the limit. Exit code 1 where a bound is broken: an error larger than asked, or fewer decibels. */
#include "base/types.h"
#include "codec/array.h"
#include "codec/chooser.h"
#include "codec/stream.h"
#include "option.h"
#include "steady.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum bar { SPIKES, PIECES, LOOSER, LOSSLESS, SCALE, PSNR, SAW, N_BARS };
static const struct {
    const char *name;
    double limit;
} bars[N_BARS] = {{"spikes", 1.25}, {"pieces", 1.10}, {"looser", 1}, {"lossless", 1.0005}, {"scale", 1.01}, {"psnr", 0.5}, {"saw", 1}};
enum { N_BOUNDS = 5 };
static const double bounds[N_BOUNDS] = {1e-2, 1e-3, 1e-4, 1e-5, 1e-6};
enum part { MADE, SEEN, SCORED, N_PARTS };
static const char *const parts[N_PARTS] = {"made", "seen", "scored"};

struct settings {
    const char *bar, *part, *name, *parameter, *peers;
    int all;
    FILE *json;
    char in[64], out[64];
};

struct sum {
    int n, missed;
    double logs, worst;
    char who[96];
};

struct bench {
    struct settings s;
    struct sum sum[N_BARS][N_PARTS];
    int broken, results;
};

/* One array. */
struct entry {
    const struct unseen *u;
    enum part part;
    void *x;
    size_t n, size; /* values, bytes of one */
    double range;
    double bytes[N_BOUNDS]; /* at each bound; 0: failed */
};

static double get(const struct entry *e, const void *x, size_t i)
{
    return e->size == sizeof(float) ? ((const float *)x)[i] : ((const double *)x)[i];
}

static void set(const struct entry *e, void *x, size_t i, double v)
{
    if (e->size == sizeof(float))
        ((float *)x)[i] = (float)v;
    else
        ((double *)x)[i] = v;
}

/* No fill value of these arrays. */
static int is_real(double v)
{
    return isfinite(v) && v != (double)1e20f && v != 1e20 && v != -9999;
}

static double range_of(const struct entry *e)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < e->n; i++) {
        double v = get(e, e->x, i);
        low = is_real(v) && v < low ? v : low;
        high = is_real(v) && v > high ? v : high;
    }
    return high - low;
}

/* A result; `what` says what was done. */
static void note(struct bench *b, enum bar bar, const struct entry *e, const char *what, double v)
{
    struct sum *s = &b->sum[bar][e->part];
    int missed = !(v <= bars[bar].limit) || (bar == PSNR && v < 0);
    const char *name = e->part == SCORED ? "-" : e->u->name;
    s->n++;
    s->missed += missed;
    s->logs += log(fmax(v, 1e-9));
    if (v > s->worst || s->n == 1) {
        s->worst = v;
        snprintf(s->who, sizeof s->who, "%s %s", name, what);
    }
    if (e->part != SCORED && (missed || b->s.all))
        printf("%-8s %-6s %-15s %-22s %8.4f%s\n", bars[bar].name, parts[e->part], name, what, v, missed ? " missed" : "");
    if (b->s.json && e->part != SCORED)
        fprintf(b->s.json, "%s\n    {\"bar\": \"%s\", \"part\": \"%s\", \"array\": \"%s\", \"what\": \"%s\", \"value\": %.5g}",
                b->results++ ? "," : "", bars[bar].name, parts[e->part], name, what, v);
    fflush(stdout);
}

/* Bytes of x[] within a bound, 0: failed. *db: decibels that are left. Counts what is broken. */
static double bytes_of(struct bench *b, const struct entry *e, const void *x, struct sk_bound bound, size_t piece, double *db)
{
    struct sk_stream_options opt = {.codec.bound = bound, .threads = 1, .piece_bytes = piece};
    struct sk_buf out = {0};
    struct saikai_error err = {0};
    void *back = malloc(e->n * e->size);
    double sum = 0, used = 0;
    opt.codec.parameter = b->s.parameter;
    int rc = sk_stream_encode_buf("wavelet", &e->u->a, x, &opt, &out, NULL, &err), broken = 0;
    if (!rc && back)
        rc = sk_stream_decode_buf(out.data, out.len, &e->u->a, back, 1, NULL, &err);
    for (size_t i = 0; !rc && back && i < e->n; i++) {
        double v = get(e, x, i), w = get(e, back, i);
        broken |= isfinite(v) ? bound.kind == SK_BOUND_ABS && !(fabs(v - w) <= bound.value) : memcmp(&v, &w, sizeof v) != 0;
        if (is_real(v)) {
            sum += (v - w) * (v - w) / e->range / e->range;
            used++;
        }
    }
    if (db)
        *db = -10 * log10(sum / used);
    if (rc || broken || !back) {
        printf("BROKEN   %-6s %s %s\n", parts[e->part], e->u->name, rc ? err.text : "an error beyond the bound");
        b->broken++;
    }
    double bytes = rc ? 0 : (double)out.len;
    free(back);
    sk_buf_free(&out);
    return bytes;
}

static struct sk_bound within(double value)
{
    return (struct sk_bound){SK_BOUND_ABS, value};
}

static int asked(const struct bench *b, enum bar bar)
{
    return !b->s.bar || strstr(b->s.bar, bars[bar].name);
}

/* ---- the bars ---- */

enum form { ONE_SIGN, BOTH_SIGNS, CLUSTERS, N_FORMS };

/* Spikes of about this height (of the range) on one value in ten thousand, in clusters of three of ten neighbours or each by itself. */
static void add_spikes(const struct entry *e, void *x, enum form form, double height)
{
    size_t wanted = (e->n + 5000) / 10000;
    unseen_seed(77 + (uint64_t)form);
    for (size_t k = 0, at = 0; k < wanted; k++) {
        if (form != CLUSTERS || k % 3 == 0)
            at = (size_t)(unseen_uniform() * (double)e->n);
        else
            at += 1 + (size_t)(unseen_uniform() * 3);
        double h = height * e->range * (0.5 + unseen_uniform()) * (form != ONE_SIGN && unseen_uniform() < 0.5 ? -1 : 1), v;
        if (at < e->n && is_real(v = get(e, e->x, at)))
            set(e, x, at, v + h);
    }
}

static void spikes(struct bench *b, const struct entry *e)
{
    static const char *const forms[N_FORMS] = {"up", "both", "clusters"};
    static const double heights[] = {0.3, 5, 1e4};
    void *x = malloc(e->n * e->size);
    for (int form = 0; x && form < N_FORMS; form++)
        for (int k = 0; k < N_BOUNDS; k += 1 + (k > 0)) {
            char what[48];
            double h = heights[(form + k) % 3];
            memcpy(x, e->x, e->n * e->size);
            add_spikes(e, x, (enum form)form, h);
            snprintf(what, sizeof what, "%g %s %g", bounds[k], forms[form], h);
            note(b, SPIKES, e, what, bytes_of(b, e, x, within(bounds[k] * e->range), 0, NULL) / e->bytes[k]);
        }
    free(x);
}

static void scales(struct bench *b, const struct entry *e)
{
    double ten = e->size == sizeof(float) ? 34 : 300, most = 0;
    void *x = malloc(e->n * e->size);
    for (size_t i = 0; i < e->n; i++)
        most = fmax(most, fabs(get(e, e->x, i)));
    for (int sign = -1; x && sign <= 1; sign += 2) {
        double f = pow(10, sign * ten);
        /* what leaves the type, or keeps a few of its digits, is another array */
        if (!(most * f < (e->size == sizeof(float) ? 3e38 : 1e308)) || (sign < 0 && e->range < 1e-2))
            continue;
        for (size_t i = 0; i < e->n; i++)
            set(e, x, i, get(e, e->x, i) * f);
        for (int k = 0; k < N_BOUNDS; k += 2) {
            char what[64];
            snprintf(what, sizeof what, "%g times 1e%g", bounds[k], sign * ten);
            note(b, SCALE, e, what, bytes_of(b, e, x, within(bounds[k] * e->range * f), 0, NULL) / e->bytes[k]);
        }
    }
    free(x);
}

static void decibels(struct bench *b, const struct entry *e)
{
    for (int want = 30; want <= 110; want += 20) {
        char what[64];
        double db = 0;
        snprintf(what, sizeof what, "%d dB", want);
        if (bytes_of(b, e, e->x, (struct sk_bound){SK_BOUND_PSNR, want}, 0, &db) > 0 && isfinite(db)) {
            note(b, PSNR, e, what, db - want);
            b->broken += db < want - 1e-6;
        }
    }
}

static void against_sz3(struct bench *b, const struct entry *e)
{
    FILE *f = b->s.peers ? fopen(b->s.in, "wb") : NULL;
    if (!f)
        return;
    fwrite(e->x, e->size, e->n, f);
    fclose(f);
    for (int k = 0; k < N_BOUNDS; k++) {
        char command[512], what[32];
        snprintf(command, sizeof command, "%s/sz3 -%c -i %s -z %s -1 %zu -M ABS %.17g >/dev/null 2>&1", b->s.peers, e->size == sizeof(float) ? 'f' : 'd',
                 b->s.in, b->s.out, e->n, bounds[k] * e->range);
        int ok = !system(command) && (f = fopen(b->s.out, "rb"));
        if (!ok)
            continue;
        fseek(f, 0, SEEK_END);
        snprintf(what, sizeof what, "%g", bounds[k]);
        note(b, SAW, e, what, e->bytes[k] / (double)ftell(f));
        fclose(f);
    }
}

static void lossless(struct bench *b, const struct entry *e)
{
    struct sk_choice c;
    struct sk_buf out = {0};
    if (sk_choose(&e->u->a, e->x, NULL, &c, NULL) || sk_stream_encode_buf(c.chain, &e->u->a, e->x, NULL, &out, NULL, NULL))
        return;
    for (int k = 0; k < N_BOUNDS; k++) {
        char what[64];
        snprintf(what, sizeof what, "%g by %.20s", bounds[k], c.chain);
        note(b, LOSSLESS, e, what, e->bytes[k] / (double)out.len);
    }
    sk_buf_free(&out);
}

static void one(struct bench *b, const struct unseen *u, enum part part)
{
    struct entry e = {.u = u, .part = part, .size = sk_type_size(u->a.type)};
    e.n = sk_array_size_bytes(&u->a) / e.size;
    unseen_seed(5);
    e.x = unseen_make(u);
    if (!e.x)
        return;
    e.range = range_of(&e);
    for (int k = 0; k < N_BOUNDS; k++)
        e.bytes[k] = bytes_of(b, &e, e.x, within(bounds[k] * e.range), 0, NULL);
    for (int k = 0; k < N_BOUNDS; k++) {
        char what[48];
        snprintf(what, sizeof what, "%g", bounds[k]);
        if (asked(b, PIECES) && sk_stream_piece_bytes("wavelet", &u->a, &(struct sk_stream_options){.codec.bound = within(1)}) < e.n * e.size)
            note(b, PIECES, &e, what, e.bytes[k] / bytes_of(b, &e, e.x, within(bounds[k] * e.range), (size_t)1 << 30, NULL));
        if (asked(b, LOOSER) && k)
            note(b, LOOSER, &e, what, e.bytes[k - 1] / e.bytes[k]);
    }
    const int is_smooth = e.bytes[1] * 8 < 2 * (double)e.n;
    if (asked(b, SPIKES) && is_smooth)
        spikes(b, &e);
    if (asked(b, LOSSLESS))
        lossless(b, &e);
    if (asked(b, SCALE))
        scales(b, &e);
    if (asked(b, PSNR))
        decibels(b, &e);
    if (asked(b, SAW) && !strcmp(u->kind, "saw"))
        against_sz3(b, &e);
    free(e.x);
}

/* ---- all of it ---- */

static void run(struct bench *b)
{
    const struct unseen *u;
    for (int i = 0; (u = steady_at(i)); i++)
        if ((!b->s.part || !strcmp(b->s.part, parts[MADE])) && (!b->s.name || strstr(u->name, b->s.name)))
            one(b, u, MADE);
    for (int i = 0; (u = unseen_at(i)); i++)
        if ((!b->s.part || !strcmp(b->s.part, parts[u->scored ? SCORED : SEEN])) && (!b->s.name || strstr(u->name, b->s.name)))
            one(b, u, u->scored ? SCORED : SEEN);
}

static void print_sums(const struct bench *b)
{
    printf("\n%-9s %-7s %6s %6s %6s %8s %8s  %s\n", "bar", "part", "limit", "n", "missed", "mean", "worst", "");
    for (int i = 0; i < N_BARS; i++)
        for (int p = 0; p < N_PARTS; p++) {
            const struct sum *s = &b->sum[i][p];
            if (s->n)
                printf("%-9s %-7s %6g %6d %6d %8.4f %8.4f  %s\n", bars[i].name, parts[p], bars[i].limit, s->n, s->missed, exp(s->logs / s->n), s->worst, s->who);
        }
    if (b->broken)
        printf("%d results BROKEN\n", b->broken);
    if (!b->s.json)
        return;
    fprintf(b->s.json, "\n  ],\n  \"sums\": [");
    for (int i = 0, first = 1; i < N_BARS; i++)
        for (int p = 0; p < N_PARTS; p++) {
            const struct sum *s = &b->sum[i][p];
            if (!s->n)
                continue;
            fprintf(b->s.json, "%s\n    {\"bar\": \"%s\", \"part\": \"%s\", \"limit\": %g, \"n\": %d, \"missed\": %d, \"mean\": %.5g, \"worst\": %.5g}",
                    first ? "" : ",", bars[i].name, parts[p], bars[i].limit, s->n, s->missed, exp(s->logs / s->n), s->worst);
            first = 0;
        }
    fprintf(b->s.json, "\n  ],\n  \"broken\": %d\n}\n", b->broken);
}

int main(int argc, char **argv)
{
    static struct bench b;
    const char *json = option(argc, argv, "json");
    char dir[] = "steady-XXXXXX"; /* of this run alone */
    b.s = (struct settings){.bar = option(argc, argv, "bar"), .part = option(argc, argv, "part"), .name = option(argc, argv, "name"),
                            .parameter = option(argc, argv, "parameter"), .peers = option(argc, argv, "peers"), .all = option(argc, argv, "all") != NULL,
                            .json = json ? fopen(json, "w") : NULL};
    if ((json && !b.s.json) || !mkdtemp(dir)) {
        perror(json ? json : "steady");
        return 2;
    }
    snprintf(b.s.in, sizeof b.s.in, "%s/in", dir);
    snprintf(b.s.out, sizeof b.s.out, "%s/out", dir);
    if (b.s.json)
        fprintf(b.s.json, "{\n  \"results\": [");
    run(&b);
    print_sums(&b);
    remove(b.s.in);
    remove(b.s.out);
    rmdir(dir);
    if (b.s.json && fclose(b.s.json))
        return 2;
    return b.broken != 0;
}
