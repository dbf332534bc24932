/* Encodes a sample with each candidate that could win, and takes the chain whose time to compress
 * and write is shortest. */
#include "codec/chooser.h"

#include "base/types.h"
#include "codec/cut.h"
#include "codec/array.h"
#include "codec/lossless/within/reach.h"
#include "codec/stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_SAMPLE ((size_t)1 << 20)
#define LEAST_SAMPLE   ((size_t)64 << 10)
#define STRIPES        4 /* parts of a sample, spread over the array */
#define LARGE_SAMPLE   ((size_t)8 << 20) /* of one part, where repeats are far apart */
#define FINAL_SAMPLE   ((size_t)4 << 20) /* of whole pieces, for those that are close */
#define MOST_PARTS     8
#define CLOSE          1.3  /* times the smallest */
#define MOST_CLOSE     16

/* Candidates where the caller names none, with a rate that no processor of today exceeds (bytes/s
 * of a thread): those that could not win even so are not tried. A candidate whose codec is not in
 * this build is left out. */
struct candidate {
    const char *chain;
    double rate;
};

static const struct candidate for_floats[] = {{"fast", 2e10},
                                              {"predict", 4e9},
                                              {"lz4", 1e11},
                                              {"shuffle+zstd:1", 2e9},
                                              {"fpc+gzip:6", 3e8},
                                              {"shuffle+zstd:9", 6e8},
                                              {"fpzip", 6e8},
                                              {"predict+zstd", 3e9},
                                              {"shuffle+gzip:9", 2e8},
                                              {"zstd:19", 6e7},
                                              {"lzma", 2e7},
                                              {"shuffle+zstd:19", 6e7},
                                              {"fpc:20+zstd:19", 6e7},
                                              {NULL, 0}};
/* Where repeats are far apart: the others have no more of them, and would take long to show it. */
static const struct candidate for_repeats[] = {{"lz4", 1e11}, {"predict", 4e9}, {"predict+zstd", 3e9}, {NULL, 0}};
static const struct candidate for_others[] = {
    {"predict", 4e9},        {"predict+zstd", 3e9},
    {"lz4", 1e11},           {"shuffle+lz4", 2e10},   {"zstd:1", 1e10},
    {"shuffle+zstd:1", 2e9}, {"shuffle+zstd:9", 6e8}, {"shuffle+zstd:19", 6e7},
    {"zstd:9", 1e9},         {"zstd:19", 6e7},        {"lzma", 2e7},
    {"shuffle+lzma", 2e7},   {NULL, 0}};
static const struct candidate for_bytes[] = {{"lz4", 1e11}, {"predict", 2e9},   {"zstd:1", 1e10}, {"zstd:3", 5e9},
                                             {"zstd:9", 1e9}, {"zstd:19", 6e7}, {"lzma", 2e7}, {NULL, 0}};
static const struct candidate lossy[] = {{"quick", 2e10}, {"wavelet", 2e9}, {NULL, 0}};

/* Some of the array: a few slabs of it as one array each. */
struct sample {
    struct sk_array array[MOST_PARTS];
    const uint8_t *data[MOST_PARTS];
    size_t size[MOST_PARTS];
    int n;
    size_t total;
};

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Some pieces, spread over the array. */
static void take_pieces(struct sample *s, const struct sk_cut *cut, const void *in, int most)
{
    *s = (struct sample){.n = cut->pieces < (uint64_t)most ? (int)cut->pieces : most};
    for (int i = 0; i < s->n; i++) {
        struct sk_cut_piece p = sk_cut_piece(cut, (uint64_t)((double)cut->pieces * (i + 0.5) / s->n));
        s->array[i] = p.array;
        s->data[i] = (const uint8_t *)in + p.offset;
        s->size[i] = p.size;
        s->total += p.size;
    }
}

/* The whole array when it is small, else pieces of it that keep their shape. -1: it has no size. */
static int take_sample(struct sample *s, const struct sk_array *a, const void *in, size_t most, int stripes)
{
    size_t total = sk_array_size_bytes(a);
    struct sk_cut cut;
    if (total == (size_t)-1)
        return -1;
    *s = (struct sample){.n = 1, .total = total};
    s->array[0] = *a;
    s->data[0] = in;
    s->size[0] = total;
    if (total <= most + most / 4)
        return 0;
    if (sk_cut_init(&cut, a, most / (size_t)stripes))
        return -1;
    take_pieces(s, &cut, in, stripes);
    return 0;
}

/* Output that stays: the first touch of fresh pages is not the codec's time. */
struct scratch {
    uint8_t *data;
    size_t cap;
};

static int make_room(struct scratch *s, size_t n)
{
    if (n == (size_t)-1 || n <= s->cap)
        return n == (size_t)-1 ? -1 : 0;
    free(s->data);
    s->data = malloc(n);
    s->cap = s->data ? n : 0;
    if (s->data)
        memset(s->data, 1, n);
    return s->data ? 0 : -1;
}

/* Encode the sample: its size and the processor's time for it. */
static int try_once(const struct sk_chain *c, const struct sample *s,
                    const struct sk_codec_options *opt, struct scratch *out, double *size,
                    double *seconds)
{
    *size = *seconds = 0;
    for (int i = 0; i < s->n; i++) {
        size_t cap = sk_chain_max_encoded(c, &s->array[i]), made = 0;
        if (make_room(out, cap))
            return -1;
        double start = cpu_seconds();
        if (sk_chain_encode(c, &s->array[i], s->data[i], opt, out->data, cap, &made, NULL))
            return -1;
        *seconds += cpu_seconds() - start;
        *size += (double)(made < s->size[i] ? made : s->size[i]);
    }
    return 0;
}

/* The better time of two where that is short. */
static int try_chain(const struct sk_chain *c, const struct sample *s,
                     const struct sk_codec_options *opt, struct scratch *out, double *size,
                     double *seconds)
{
    double again;
    if (try_once(c, s, opt, out, size, seconds))
        return -1;
    if (*seconds < 0.01 && !try_once(c, s, opt, out, size, &again) && again < *seconds)
        *seconds = again;
    return 0;
}

struct entry {
    struct sk_choice choice;
    double score;
};

struct contest {
    const struct sk_array *a;
    const struct sk_chooser_options *opt;
    struct sample sample;
    struct scratch scratch;
    double total;      /* bytes of the variable */
    double best_score; /* seconds, or bytes when only size counts */
    struct sk_choice *out;
    struct entry entry[MOST_CLOSE]; /* where only size counts: who could be the smallest */
    int n;
};

/* C + T of the whole variable; its size when there is no bandwidth. */
static double score(const struct contest *c, double size, double seconds, struct sk_choice *choice)
{
    double scale = c->total / (double)(c->sample.total ? c->sample.total : 1),
           encoded = size * scale;
    int threads = c->opt->threads > 0 ? c->opt->threads : 1;
    double n = c->opt->bandwidth;
    choice->ratio = size > 0 ? (double)c->sample.total / size : 1;
    choice->encode_rate = seconds > 0 ? (double)c->sample.total / seconds : 0;
    if (!(n > 0))
        return encoded;
    choice->n_seconds = c->total / n;
    choice->t_seconds = encoded / n;
    choice->c_seconds = seconds * scale / threads;
    return choice->t_seconds + choice->c_seconds;
}

/* A candidate by name; -1 only when `strict` and no codec has that name. */
static int enter(struct contest *c, const char *text, int strict, struct saikai_error *err)
{
    struct sk_chain chain;
    struct sk_codec_options o = {.bound = c->opt->bound, .range = c->opt->range};
    struct sk_choice choice = {.tried = c->out->tried};
    double size, seconds;
    int rc = sk_chain_parse(text, &chain, strict ? err : NULL);
    if (rc)
        return strict ? rc : 0;
    if (!sk_chain_takes(&chain, c->a->type))
        return 0;
    if (!sk_chain_lossy(&chain))
        o.bound = (struct sk_bound){0};
    if (try_chain(&chain, &c->sample, &o, &c->scratch, &size, &seconds))
        return 0;
    c->out->tried = ++choice.tried;
    double s = score(c, size, seconds, &choice);
    strcpy(choice.chain, text);
    if (c->n < MOST_CLOSE)
        c->entry[c->n++] = (struct entry){choice, s};
    if (s < c->best_score) {
        c->best_score = s;
        *c->out = choice;
    }
    return 0;
}

static void enter_all(struct contest *c, const struct candidate *list)
{
    int threads = c->opt->threads > 0 ? c->opt->threads : 1;
    for (; list->chain; list++)
        if (!(c->opt->bandwidth > 0) || c->total / list->rate / threads < c->best_score)
            enter(c, list->chain, 0, NULL);
}

static int enter_listed(struct contest *c, const char *list, struct saikai_error *err)
{
    for (const char *p = list; *p;) {
        char text[SK_CHAIN_NAME];
        size_t n = strcspn(p, " ,");
        if (n >= sizeof text)
            return sk_fail(err, SAIKAI_EINVAL, "the candidate '%.*s' is no chain: it is too long",
                           80, p);
        memcpy(text, p, n);
        text[n] = 0;
        int rc = n ? enter(c, text, 1, err) : 0;
        if (rc)
            return rc;
        p += n;
        p += strspn(p, " ,");
    }
    return 0;
}

/* The share that is left of whole pieces, as the array will be cut for this chain: all of them, or some. 1: it cannot be told. */
static double share_of_pieces(struct contest *c, const void *in, const char *text)
{
    struct sk_chain chain;
    struct sk_cut cut;
    struct sample s;
    struct sk_codec_options o = {.bound = c->opt->bound, .range = c->opt->range};
    double size, seconds;
    const struct sk_stream_options how = {.codec = o};
    size_t each = sk_stream_pieces_of(text, c->a, in, &how);
    if (sk_chain_parse(text, &chain, NULL) || sk_cut_init(&cut, c->a, each))
        return 1;
    if (!sk_chain_lossy(&chain))
        o.bound = (struct sk_bound){0};
    size_t piece = sk_cut_piece(&cut, 0).size;
    take_pieces(&s, &cut, in, piece > FINAL_SAMPLE / 2 ? 1 : (int)fmin(MOST_PARTS, (double)(FINAL_SAMPLE / piece)));
    return try_once(&chain, &s, &o, &c->scratch, &size, &seconds) ? 1 : size / (double)s.total + (double)strlen(text) / c->total; /* a frame names it */
}

/* What all of the array takes in pieces of so many bytes; more than anything where it cannot be told. */
static double all_pieces(struct contest *c, const void *in, const struct sk_chain *chain, size_t bytes)
{
    const struct sk_codec_options o = {.bound = sk_chain_lossy(chain) ? c->opt->bound : (struct sk_bound){0}, .range = c->opt->range};
    struct sk_cut cut;
    double sum = 0;
    if (sk_cut_init(&cut, c->a, bytes))
        return INFINITY;
    for (uint64_t i = 0; i < cut.pieces; i++) {
        const struct sk_cut_piece p = sk_cut_piece(&cut, i);
        const struct sample one = {.array = {p.array}, .data = {(const uint8_t *)in + p.offset}, .size = {p.size}, .n = 1, .total = p.size};
        double size, seconds;
        if (try_once(chain, &one, &o, &c->scratch, &size, &seconds))
            return INFINITY;
        sum += size;
    }
    return sum;
}

/* What is cut for the sake of threads may take more for it: an array that is not large is left whole where that is smaller. General compressors only
 * have more to refer to then; prediction is asked. */
static void choose_pieces(struct contest *c, const void *in)
{
    const double better = 0.999;
    const struct sk_stream_options how = {.codec = {.bound = c->opt->bound, .range = c->opt->range}};
    const size_t cut = sk_stream_pieces_of(c->out->chain, c->a, in, &how), whole = sk_cut_bounded_bytes(c->a);
    struct sk_chain chain;
    if (c->total <= (double)cut || c->total > (double)whole || sk_chain_parse(c->out->chain, &chain, NULL))
        return;
    const int general = !strncmp(chain.name, "zstd", 4) || !strncmp(chain.name, "lzma", 4) || !strncmp(chain.name, "shuffle", 7);
    if (general || all_pieces(c, in, &chain, whole) < better * all_pieces(c, in, &chain, cut))
        c->out->piece_bytes = whole;
}

/* Small pieces misjudge what whole ones leave, and some places what others do: those that are close to the smallest are compared once more. */
static void compare_close(struct contest *c, const void *in)
{
    const double most = CLOSE * c->best_score;
    double best = INFINITY;
    int tried = c->out->tried, close = 0;
    for (int i = 0; i < c->n; i++)
        close += c->entry[i].score <= most;
    for (int i = 0; i < c->n && close > 1; i++) {
        if (c->entry[i].score > most)
            continue;
        double share = share_of_pieces(c, in, c->entry[i].choice.chain);
        if (share < best && share < 1) {
            best = share;
            *c->out = c->entry[i].choice;
            c->out->ratio = 1 / share;
        }
    }
    c->out->tried = tried;
}

int sk_choose(const struct sk_array *a, const void *in, const struct sk_chooser_options *opt,
              struct sk_choice *out, struct saikai_error *err)
{
    static const struct sk_chooser_options standard;
    struct contest c = {.a = a, .opt = opt ? opt : &standard};
    struct sk_choice best = {0};
    size_t most = c.opt->sample_bytes ? c.opt->sample_bytes : DEFAULT_SAMPLE;
    most = most < LEAST_SAMPLE ? LEAST_SAMPLE : most;
    int far = !c.opt->candidates && sk_repeats_beyond(a, in, most / STRIPES, LARGE_SAMPLE);
    if (far && sk_array_size_bytes(a) <= 2 * most)
        most = 2 * most, far = 0; /* all of it shows it */
    if (take_sample(&c.sample, a, in, far ? LARGE_SAMPLE : most, far ? 1 : STRIPES))
        return sk_fail(err, SAIKAI_EINVAL, "an array of type %d and %d dimensions has no size",
                       a->type, a->ndims);
    c.out = &best;
    c.best_score = INFINITY;
    c.total = (double)sk_array_size_bytes(a);
    /* writing it as it is: no C, and T is N */
    strcpy(best.chain, "raw");
    c.best_score = score(&c, (double)c.sample.total, 0, &best);
    int rc = 0;
    if (c.opt->candidates)
        rc = enter_listed(&c, c.opt->candidates, err);
    else
        enter_all(&c, far                         ? for_repeats
                      : sk_type_is_float(a->type) ? for_floats
                      : sk_type_size(a->type) > 1 ? for_others
                                                  : for_bytes);
    if (!rc && !c.opt->candidates && c.opt->bound.kind != SK_BOUND_NONE &&
        sk_type_is_float(a->type))
        enter_all(&c, lossy);
    if (!rc && !(c.opt->bandwidth > 0) && c.total > 0) {
        compare_close(&c, in);
        choose_pieces(&c, in);
    }
    free(c.scratch.data);
    if (!rc)
        *out = best;
    return rc;
}

const char *sk_default_chain(int type)
{
    static const char *const bytes[] = {"zstd", "gzip", "raw"};
    struct sk_chain c;
    const char *const *names = bytes;
    if (sk_type_size(type) > 1)
        return "predict";
    while (sk_chain_parse(*names, &c, NULL))
        names++;
    return *names;
}
