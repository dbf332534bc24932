/* Makes the corpora of the lossless fuzz targets: small arrays of every kind (samples.h), coded.
 * usage: lossless_seeds tests/corpus */
#include "codec/lossless/lossless.h"
#include "codec/lossless/predict/predict.h"
#include "codec/lossless/predict/words.h"
#include "codec/samples.h"
#include "codec/stream.h"
#include "codec/array.h"

#include "base/file/io.h"
#include "base/types.h"

#include <stdio.h>
#include <stdlib.h>

static int save(const char *dir, const char *target, const char *name, const struct sk_buf *b)
{
    char path[600];
    struct saikai_error err = {0};
    snprintf(path, sizeof path, "%s/%s", dir, target);
    int rc = sk_io_mkdirs(path, &err);
    snprintf(path, sizeof path, "%s/%s/%s", dir, target, name);
    rc = rc ? rc : sk_io_replace(path, b->data, b->len, &err);
    if (rc)
        fprintf(stderr, "%s\n", err.text);
    return rc;
}

static int seed(const char *dir, const char *target, const char *codec, int which,
                const struct sk_array *a, int kind)
{
    const struct sk_codec_ops *ops = sk_codec_find(codec);
    struct sk_buf b = {0};
    char name[100];
    if (!ops || !(ops->types >> a->type & 1))
        return 0;
    size_t cap = ops->max_encoded(a), made = 0;
    void *x = malloc(sk_array_size_bytes(a)), *out = malloc(cap);
    sk_sample_fill(kind, a, x, 1);
    if (ops->encode(a, x, NULL, out, cap, &made, NULL))
        return 1;
    if (which >= 0)
        sk_buf_put_u8(&b, (uint8_t)which);
    sk_buf_put_u8(&b, (uint8_t)(a->type - 1));
    sk_buf_put_u8(&b, (uint8_t)a->ndims);
    for (int k = 0; k < a->ndims; k++)
        sk_buf_put_u16(&b, (uint16_t)a->dims[k]);
    sk_buf_put(&b, out, made);
    snprintf(name, sizeof name, "%s-%s-%s-%d", codec, sk_sample_name(kind), sk_type_name(a->type),
             a->ndims);
    int rc = save(dir, target, name, &b);
    sk_buf_free(&b);
    free(x);
    free(out);
    return rc;
}

static int seed_frame(const char *dir, const char *chain, const struct sk_array *a, int kind)
{
    struct sk_stream_options opt = {.threads = 1, .piece_bytes = 512};
    if (!strcmp(chain, "wavelet"))
        opt.codec.bound = (struct sk_bound){SK_BOUND_REL, 1e-3};
    struct sk_buf b = {0};
    char name[100];
    void *x = malloc(sk_array_size_bytes(a));
    sk_sample_fill(kind, a, x, 1);
    int rc = sk_stream_encode_buf(chain, a, x, &opt, &b, NULL, NULL);
    /* the first form is in the corpus under the names without it */
    snprintf(name, sizeof name, "%s%s-%s-%s", b.len > 4 && b.data[3] == '3' ? "short-" : "", chain, sk_sample_name(kind), sk_type_name(a->type));
    rc = rc ? rc : save(dir, "frame_fuzz", name, &b);
    sk_buf_free(&b);
    free(x);
    return rc;
}

/* Forms of "predict" that it takes for large pieces, on small ones: classes in 32 lanes, of predicted values or of values as they are, and a long
 * row in segments, or with a filter along it. */
static int seed_form(const char *dir, const char *name, const struct sk_array *a, int direct, int segments, int along)
{
    enum { TAME = 2, WIDE_CLASSES = 4, SEGMENTS = 8, ALONG = 16 };
    struct sk_plan p = {.orders = {{along ? 0 : 2, segments || along ? 0 : 2, 0, 0}}, .tame = 1, .wide = 1};
    struct sk_words l;
    struct sk_buf b = {0};
    uint64_t state = 5;
    size_t n = sk_array_size_bytes(a);
    float *x = malloc(n);
    sk_words_of(a, n, &l);
    p.word = l.word;
    p.kernel = sk_kernel_of(l.word);
    sk_shape_init(&p.shape, a);
    if (segments && sk_shape_segments(&p.shape))
        return 1;
    for (size_t i = 0; i < l.words; i++) {
        uint64_t r = sk_sample_next(&state);
        x[i] = direct ? (float)r : (float)(i / 64) + (float)(r % 97 == 0);
    }
    sk_buf_put_u8(&b, (uint8_t)(a->type - 1));
    sk_buf_put_u8(&b, (uint8_t)a->ndims);
    for (int k = 0; k < a->ndims; k++)
        sk_buf_put_u16(&b, (uint16_t)a->dims[k]);
    sk_buf_put_u8(&b, direct ? 2 : 1);
    sk_buf_put_u8(&b, 0);
    sk_buf_put_u64(&b, 0);
    sk_buf_put(&b, p.orders.half, SK_AXES);
    sk_buf_put_u8(&b, (uint8_t)(TAME | WIDE_CLASSES | (segments ? SEGMENTS : 0) | (along ? ALONG : 0)));
    if (along) {
        sk_along_difference(&p.along, along);
        sk_along_put(&b, &p.along);
    }
    int rc = direct ? sk_direct_encode(&p, x, &b) : sk_body_encode(&p, x, NULL, &b);
    rc = rc ? rc : save(dir, "predict_fuzz", name, &b);
    sk_buf_free(&b);
    free(x);
    return rc;
}

/* A piece of these values, with its array before it. */
static int save_predicted(const char *dir, const char *name, const struct sk_array *a, const void *x)
{
    size_t made = 0;
    uint8_t *out = malloc(sk_codec_predict.max_encoded(a));
    struct sk_buf b = {0};
    int rc = sk_codec_predict.encode(a, x, NULL, out, sk_codec_predict.max_encoded(a), &made, NULL);
    sk_buf_put_u8(&b, (uint8_t)(a->type - 1));
    sk_buf_put_u8(&b, (uint8_t)a->ndims);
    for (int k = 0; k < a->ndims; k++)
        sk_buf_put_u16(&b, (uint16_t)a->dims[k]);
    sk_buf_put(&b, out, made);
    rc = rc ? rc : save(dir, "predict_fuzz", name, &b);
    sk_buf_free(&b);
    free(out);
    return rc;
}

/* A piece within a piece: repeats taken out, of few values or of many; few values alone. */
static int seed_within(const char *dir, const char *name, const struct sk_array *a, int few, int twice)
{
    size_t n = sk_array_size_bytes(a), words = n / 4;
    float *x = malloc(n);
    uint64_t state = 6;
    for (size_t i = 0; i < words; i++) {
        uint64_t r = sk_sample_next(&state);
        x[i] = twice && i >= words / 2 ? x[i - words / 2] : few ? (float)(r % (uint64_t)few) * 0.37f : (float)(i / 32) + (float)(r % 5);
    }
    int rc = save_predicted(dir, name, a, x);
    free(x);
    return rc;
}

/* Parts of one, and zeros of which none, all, some in a row, or some here and there have a sign. */
static int seed_grid(const char *dir, const char *name, const struct sk_array *a, int parts, int signs)
{
    enum { NO = 0, ALL = 1, IN_A_ROW = 2, HERE_AND_THERE = 3 };
    size_t n = sk_array_size_bytes(a), words = n / 8;
    double *x = malloc(n);
    uint64_t state = 9;
    for (size_t i = 0; i < words; i++) {
        uint64_t r = sk_sample_next(&state) >> 16;
        x[i] = r % 3 ? (double)(1000 + 37 * i + r % 5000) / parts : 0;
        if (x[i] == 0 && (signs == ALL || (signs == IN_A_ROW && i > words / 2) || (signs == HERE_AND_THERE && r % 2)))
            x[i] = -0.0;
    }
    int rc = save_predicted(dir, name, a, x);
    free(x);
    return rc;
}

/* What is predicted so well that it is packed. */
static int seed_packed(const char *dir, const char *name, const struct sk_array *a)
{
    size_t n = sk_array_size_bytes(a), size = sk_type_size(a->type);
    uint8_t *x = calloc(1, n);
    for (size_t i = 0; i < n / size; i++) {
        double d = (double)(i / 512) * 0.5 + (double)(i / 8 % 64) * 1e-3;
        uint64_t whole = 1000 * i + i / 700;
        memcpy(x + i * size, sk_type_is_float(a->type) ? (const void *)&d : &whole, size);
    }
    int rc = save_predicted(dir, name, a, x);
    free(x);
    return rc;
}

/* Steps of which each is as the one before, but for a few values. */
static int seed_steps(const char *dir, const char *name, const struct sk_array *a)
{
    size_t n = sk_array_size_bytes(a), words = n / 4, step = words / a->dims[0];
    float *x = malloc(n);
    uint64_t state = 10;
    for (size_t i = 0; i < words; i++) {
        uint64_t r = sk_sample_next(&state) >> 16;
        x[i] = i < step ? (float)i / 10 + (float)(r % 64) / 300 : r % 20 ? x[i - step] : (float)(r % 5000) / 7;
    }
    int rc = save_predicted(dir, name, a, x);
    free(x);
    return rc;
}

int main(int argc, char **argv)
{
    static const struct sk_array shapes[] = {{SAIKAI_F64, 3, {5, 9, 17}},
                                             {SAIKAI_F32, 2, {20, 33}},
                                             {SAIKAI_F64, 1, {400}},
                                             {SAIKAI_C64, 1, {70}}};
    static const char *const ours[] = {"predict", "fast", "fpc", "fpzip"};
    static const char *const theirs[] = {"zstd", "lz4", "gzip", "shuffle", "raw", "lzma"};
    /* a fill value is looked for in larger arrays only */
    static const struct sk_array large = {SAIKAI_F64, 3, {4, 24, 32}};
    int rc = 0;
    if (argc != 2)
        return 2;
    for (int c = 0; c < 4; c++) {
        char target[40];
        snprintf(target, sizeof target, "%s_fuzz", ours[c]);
        for (int s = 0; s < 4; s++)
            for (int kind = 0; kind < sk_sample_kinds(); kind++)
                if (s == kind % 4 || kind < 2)
                    rc |= seed(argv[1], target, ours[c], -1, &shapes[s], kind);
        rc |= seed(argv[1], target, ours[c], -1, &large, 2);
        rc |= seed(argv[1], target, ours[c], -1, &large, 10);
    }
    static const struct sk_array whole[] = {{SAIKAI_I32, 2, {20, 33}}, {SAIKAI_I64, 1, {400}}, {SAIKAI_U8, 2, {20, 33}}, {SAIKAI_U16, 2, {90, 3}}};
    for (int s = 0; s < 4; s++)
        for (int kind = 0; kind < 7; kind += 3)
            rc |= seed(argv[1], "predict_fuzz", "predict", -1, &whole[s], kind);
    for (int c = 0; c < 6; c++)
        for (int s = 0; s < 2; s++)
            rc |= seed(argv[1], "library_fuzz", theirs[c], c, &shapes[s], 6);
    rc |= seed_form(argv[1], "wide-f32-2", &(struct sk_array){SAIKAI_F32, 2, {70, 66}}, 0, 0, 0);
    rc |= seed_form(argv[1], "wide-f32-3", &(struct sk_array){SAIKAI_F32, 3, {66, 8, 9}}, 0, 0, 0);
    rc |= seed_form(argv[1], "wide-direct-f32-1", &(struct sk_array){SAIKAI_F32, 1, {2050}}, 1, 0, 0);
    rc |= seed_form(argv[1], "segments-f32-1", &(struct sk_array){SAIKAI_F32, 1, {32771}}, 0, 1, 0);
    rc |= seed_form(argv[1], "along-f32-1", &(struct sk_array){SAIKAI_F32, 1, {2055}}, 0, 0, 4);
    rc |= seed_form(argv[1], "along-segments-f32-1", &(struct sk_array){SAIKAI_F32, 1, {33001}}, 0, 1, 6);
    rc |= seed_form(argv[1], "along-8-f32-1", &(struct sk_array){SAIKAI_F32, 1, {97}}, 0, 0, 7);
    rc |= seed_within(argv[1], "few-f32-1", &(struct sk_array){SAIKAI_F32, 1, {4100}}, 12, 0);
    rc |= seed_within(argv[1], "few-500-f32-2", &(struct sk_array){SAIKAI_F32, 2, {64, 70}}, 500, 0);
    rc |= seed_within(argv[1], "few-200-f32-1", &(struct sk_array){SAIKAI_F32, 1, {5001}}, 200, 0);
    rc |= seed_within(argv[1], "folded-f32-2", &(struct sk_array){SAIKAI_F32, 2, {64, 70}}, 0, 1);
    rc |= seed_within(argv[1], "folded-few-f32-1", &(struct sk_array){SAIKAI_F32, 1, {8300}}, 7, 1);
    rc |= seed_grid(argv[1], "parts-f64-1", &(struct sk_array){SAIKAI_F64, 1, {2300}}, 60, 0);
    rc |= seed_grid(argv[1], "zeros-all-f64-2", &(struct sk_array){SAIKAI_F64, 2, {50, 40}}, 1000000, 1);
    rc |= seed_grid(argv[1], "zeros-row-f64-2", &(struct sk_array){SAIKAI_F64, 2, {50, 60}}, 10000000, 2);
    rc |= seed_grid(argv[1], "zeros-bits-f64-1", &(struct sk_array){SAIKAI_F64, 1, {1500}}, 100000, 3);
    rc |= seed_steps(argv[1], "steps-f32-3", &(struct sk_array){SAIKAI_F32, 3, {20, 30, 34}});
    rc |= seed_packed(argv[1], "again-f64-1", &(struct sk_array){SAIKAI_F64, 1, {20000}});
    rc |= seed_packed(argv[1], "again-i64-2", &(struct sk_array){SAIKAI_I64, 2, {40, 150}});
    rc |= seed_frame(argv[1], "fpc+gzip", &shapes[0], 1);
    rc |= seed_frame(argv[1], "predict", &shapes[1], 0);
    rc |= seed_frame(argv[1], "shuffle+zstd", &shapes[2], 6);
    rc |= seed_frame(argv[1], "fast", &shapes[3], 8);
    rc |= seed_frame(argv[1], "wavelet", &shapes[0], 0);
    return rc ? 1 : 0;
}
