/* Codec "predict": the default for numbers.
 *
 * Bytes: u8 mode | for RAW the array's bytes; for LZ and SHUFFLED_LZ a zstd frame; for FEW and FOLDED as in within.c; else u8 shift |
 * u64 row length of a split axis (0: none) | u8 orders[SK_AXES] | u8 flags (1 masked, 2 tame, 4 classes in
 * 32 lanes, 8 one row in segments, 16 a filter along the values, 32 zeros with signs, 64 the first step apart) | (u8 orders[SK_AXES] of the first step) | (the filter) | (u64 fill | mask) |
 * (u64 zeros | mask of those with a sign) | body. What is small already may be packed (packed.h). Whole numbers are made floating-point values first (whole.c). Complex arrays, and arrays whose last dimension has 2 to 7 values, are
 * coded one component after the other. */
#include "codec/lossless/lossless.h"

#include "base/types.h"
#include "codec/lossless/fpu.h"
#include "codec/lossless/predict/classes/wide.h"
#include "codec/lossless/within/lz.h"
#include "codec/lossless/within/packed.h"
#include "codec/lossless/predict/predict.h"
#include "codec/lossless/within/whole.h"
#include "codec/lossless/within/within.h"
#include "codec/array.h"

#include <math.h>
#include <stdlib.h>

enum { RAW = SK_PIECE_RAW, PREDICTED = SK_PIECE_PREDICTED, DIRECT = SK_PIECE_DIRECT, LZ = SK_PIECE_LZ, SHUFFLED_LZ = SK_PIECE_SHUFFLED_LZ };

/* what readers of the first version did not know: classes in 32 lanes, one long row in segments; later ones: a filter along the values, and
 * still later ones: zeros with a sign, orders of the first step of the slowest axis */
enum { MASKED = 1, TAME = 2, WIDE_CLASSES = 4, SEGMENTS = 8, ALONG = 16, SIGNED_ZEROS = 32, FIRST_APART = 64, ALL_FLAGS = 127 };

#define WELL_PREDICTED 0.1 /* share of bits left */
#define HARDLY_VARIES  12  /* times smaller */
#define WORTH_A_MASK   0.9 /* it is decoded more slowly */

static void plan_init(struct sk_plan *p, const struct sk_words *l)
{
    *p = (struct sk_plan){.word = l->word, .whole = l->whole, .kernel = sk_kernel_of(l->word)};
    sk_shape_init(&p->shape, &l->array);
}

/* The way of coding, its plan, and the values as the plan sees them: x itself, or without signs of zeros (clean), or y without its mask. */
struct job {
    struct sk_words l;
    struct sk_plan plan;
    int mode;
    const void *x, *from; /* from: x, or clean */
    uint8_t *y, *skip, *clean, *sign;
    uint64_t fill;
    int rare; /* fill is a value that is not finite, and was not frequent enough to be seen as one that fills */
    struct sk_buf signs;
    size_t zeros; /* what sign is of */
};

static void job_free(struct job *j)
{
    free(j->y);
    free(j->skip);
    free(j->clean);
    free(j->sign);
    sk_buf_free(&j->signs);
}

/* Weights add up to less than 2^12, and double holds any sum of floats. */
static void set_tame(struct job *j, uint64_t most)
{
    j->plan.tame = most < (j->l.word == 4 ? (uint64_t)0x7f800000 : (uint64_t)(0x7ff - 16) << 52);
}

/* 1: what was taken for a fill value is only more frequent than others: it stands alone, and with a mask it takes more bits than the plan without
 * one is thought to. (Of regions without data that thought is worth little: it knows nothing of contexts.) */
static int is_no_fill(const struct job *j, const struct sk_plan *plain)
{
    const size_t n = j->l.words;
    struct sk_buf mask = {0};
    size_t skipped = 0, runs = 0;
    for (size_t i = 0; i < n; i++) {
        skipped += j->skip[i];
        runs += j->skip[i] && (!i || !j->skip[i - 1]);
    }
    if (skipped > 2 * runs && !j->rare)
        return 0;
    sk_mask_put(&mask, &j->plan.shape, j->skip);
    double bits = sk_plan_cost(&j->plan, j->y, j->skip) * (double)(n - skipped) + 8 * (double)mask.len;
    sk_buf_free(&mask);
    return bits > plain->cost * (double)n * (j->rare ? WORTH_A_MASK : 1);
}

/* Signs of zeros stand in the way of a grid. 0, or -1: no memory. */
static int take_signs(struct job *j)
{
    const struct sk_words *l = &j->l;
    j->clean = malloc(l->words * l->word);
    j->from = j->clean;
    return j->clean ? sk_zeros_take(j->x, l->words, l->word, j->clean, &j->signs) : -1;
}

/* The values without what fills a part of the array, and a plan for them; or all of them, where these take no more. 0, or -1: no memory. */
static int without_fill(struct job *j)
{
    struct sk_words *l = &j->l;
    uint64_t all, most;
    const struct sk_plan plain = j->plan;
    j->skip = malloc(l->words);
    j->y = malloc(l->words * l->word);
    if (!j->skip || !j->y)
        return -1;
    sk_mask_apply(j->from, l->words, l->word, j->fill, j->skip, j->y);
    j->plan.kernel->survey(j->y, l->words, &all, &most);
    set_tame(j, most);
    j->plan.along.weights = 0;
    sk_shape_init(&j->plan.shape, &l->array);
    sk_affine_find(&j->plan, j->y);
    sk_plan_search(&j->plan, j->y);
    sk_plan_search_first(&j->plan, j->y);
    if (!is_no_fill(j, &plain))
        return 0;
    free(j->skip);
    free(j->y);
    j->skip = j->y = NULL;
    j->plan = plain;
    return 0;
}

static int prepare(struct job *j)
{
    struct sk_words *l = &j->l;
    plan_init(&j->plan, l);
    uint64_t all, most;
    int zeros = j->plan.kernel->survey(j->x, l->words, &all, &most);
    j->from = j->x;
    j->plan.shift = all ? (unsigned)__builtin_ctzll(all) : 0;
    set_tame(j, most);
    sk_affine_find(&j->plan, j->x);
    if (zeros && sk_zeros_on_grid(&j->plan, j->x) && take_signs(j))
        return -1;
    const struct sk_plan line = j->plan;
    sk_plan_search(&j->plan, j->from);
    /* where a fill value stands in the way of prediction, it is taken out */
    int varies = j->plan.cost >= WELL_PREDICTED * 8 * (double)l->word, masked = varies && sk_mask_find(j->from, l->words, l->word, &j->fill);
    if (varies && !masked && most >> (l->word == 4 ? 23 : 52) == (l->word == 4 ? 0xff : 0x7ff))
        masked = j->rare = sk_mask_not_finite(j->from, l->words, l->word, &j->fill);
    sk_plan_search_along(&j->plan, &line, j->from);
    if (!masked)
        sk_plan_search_first(&j->plan, j->from);
    return masked ? without_fill(j) : 0;
}

/* Pieces that stay large are coded for those who read them fast: the states of 32 lanes, and the first values of segments, cost some 100 bytes. */
static void set_forms(struct job *j, double bits)
{
    enum { LARGE = 128 * 1024 };
    if (j->skip || j->l.words < WIDE_LEAST || bits / 8 * (double)j->l.words < LARGE)
        return;
    j->plan.wide = 1;
    if (j->mode == PREDICTED)
        sk_shape_segments(&j->plan.shape);
}

/* Returns how many bits a value is thought to take. */
static double decide(struct job *j)
{
    double best = j->plan.cost + 8 * (double)j->signs.len / (double)j->l.words;
    j->mode = PREDICTED;
    if (!j->y && best > 4.0 * (double)j->l.word) {
        double direct = sk_direct_cost(&j->plan, j->x);
        if (direct < best) {
            j->mode = DIRECT, best = direct;
            j->plan.along.weights = j->plan.apart = 0;
            j->signs.len = 0;
            j->from = j->x;
        }
    }
    if (sk_lz_repeated(&j->l, j->x) > 0.2) {
        double plain = sk_lz_cost(&j->l, j->x, 0), shuffled = sk_lz_cost(&j->l, j->x, 1);
        double lz = plain < shuffled ? plain : shuffled;
        if (lz < 0.97 * best)
            j->mode = plain < shuffled ? LZ : SHUFFLED_LZ, best = lz;
    }
    set_forms(j, best);
    return best;
}

static void put_head(const struct job *j, struct sk_buf *b)
{
    sk_buf_put_u8(b, (uint8_t)j->mode);
    sk_buf_put_u8(b, (uint8_t)j->plan.shift);
    sk_buf_put_u64(b, j->plan.split);
    sk_buf_put(b, j->plan.orders.half, SK_AXES);
    sk_buf_put_u8(b, (uint8_t)((j->skip ? MASKED : 0) | (j->plan.tame ? TAME : 0) | (j->plan.wide ? WIDE_CLASSES : 0) |
                               (j->plan.shape.segments ? SEGMENTS : 0) | (j->plan.along.weights ? ALONG : 0) | (j->signs.len ? SIGNED_ZEROS : 0) |
                               (j->plan.apart ? FIRST_APART : 0)));
    if (j->plan.apart)
        sk_buf_put(b, j->plan.first.half, SK_AXES);
    if (j->plan.along.weights)
        sk_along_put(b, &j->plan.along);
    if (j->skip) {
        sk_buf_put_u64(b, j->fill);
        sk_mask_put(b, &j->plan.shape, j->skip);
    }
    sk_buf_put(b, j->signs.data, j->signs.len);
}

static size_t max_encoded(const struct sk_array *a)
{
    size_t n = sk_array_size_bytes(a);
    return n > SIZE_MAX / 4 ? (size_t)-1 : n + 1;
}

/* What prediction makes very small is constant for the most part, and its changes may repeat: zstd
 * is quick there and sometimes smaller by far. */
static int try_lz(const struct job *j, uint8_t *out, size_t *made)
{
    size_t bytes = j->l.words * j->l.word;
    if (*made > bytes / HARDLY_VARIES)
        return 0;
    uint8_t *tmp = malloc(*made);
    if (!tmp)
        return -1;
    /* the slower level where the quick one says that it is worth it */
    for (int level = 3; level <= 9; level += 6) {
        size_t cap = *made - 1, n = sk_lz_encode(&j->l, j->x, 0, level, tmp, cap);
        if (n >= cap)
            break;
        out[0] = LZ;
        memcpy(out + 1, tmp, n);
        *made = n + 1;
    }
    free(tmp);
    return 0;
}

/* Once it is decided how. *made is more than cap where it does not fit. */
static int encode_alone(struct job *j, int level, uint8_t *out, size_t cap, size_t *made)
{
    struct sk_buf b = {0};
    size_t bytes = j->l.words * j->l.word;
    *made = cap + 1;
    if (j->mode == LZ || j->mode == SHUFFLED_LZ) {
        out[0] = (uint8_t)j->mode;
        *made = 1 + sk_lz_encode(&j->l, j->x, j->mode == SHUFFLED_LZ, level, out + 1, cap - 1);
    } else {
        put_head(j, &b);
        const void *seen = j->y ? j->y : j->from;
        int rc = j->mode == DIRECT ? sk_direct_encode(&j->plan, seen, &b)
                                   : sk_body_encode(&j->plan, seen, j->skip, &b);
        if (!rc && b.len <= bytes) {
            memcpy(out, b.data, b.len);
            *made = b.len;
        }
        sk_buf_free(&b);
        if (rc || try_lz(j, out, made))
            return -1;
    }
    return 0;
}

static int piece_encode(const struct sk_words *l, const void *x, int level, enum sk_piece_mode most, uint8_t *out, size_t *made);
static int piece_decode(const struct sk_words *l, const uint8_t *in, size_t n, enum sk_piece_mode most, void *x);
static double piece_thought(const struct sk_words *l, const void *x);

/* Pieces in pieces are of this codec. */
static const struct sk_piece_ops piece_ops = {piece_encode, piece_decode, piece_thought};

static double piece_thought(const struct sk_words *l, const void *x)
{
    struct job j = {.l = *l, .x = x};
    double thought = prepare(&j) ? INFINITY : decide(&j) / 8 * (double)l->words;
    job_free(&j);
    return thought;
}

static int piece_encode(const struct sk_words *l, const void *x, int level, enum sk_piece_mode most, uint8_t *out, size_t *made)
{
    struct job j = {.l = *l, .x = x};
    struct sk_buf within = {0};
    size_t bytes = l->words * l->word;
    double thought = INFINITY;
    int rc = prepare(&j);
    if (!rc) {
        thought = decide(&j) / 8 * (double)l->words;
        if (sk_within_encode(&piece_ops, l, x, level, most, thought, &within))
            within.len = 0; /* without memory for that, as it is */
    }
    *made = bytes + 2;
    if (!rc && (!within.len || thought < 2 * (double)within.len)) /* the thought knows nothing of contexts */
        rc = encode_alone(&j, level, out, bytes + 1, made);
    if (!rc && within.len && within.len < *made && within.len <= bytes) {
        memcpy(out, within.data, within.len);
        *made = within.len;
    }
    if (!rc && *made > bytes) {
        out[0] = RAW;
        memcpy(out + 1, x, bytes);
        *made = bytes + 1;
    }
    sk_buf_free(&within);
    job_free(&j);
    return rc;
}

/* A piece of these values, some, on a word's boundary, with room for a byte more. 0, or -1: no memory. */
static int encode_values(const struct sk_words *l, const void *x, int level, uint8_t *out, size_t *made)
{
    size_t n = l->words * l->word;
    void *apart = l->components > 1 ? malloc(n) : NULL;
    if (apart)
        sk_words_transpose(x, apart, l->words / l->components, l->components, l->word);
    sk_fpu_state fpu = sk_fpu_enter();
    int rc = apart || l->components == 1 ? piece_encode(l, apart ? apart : x, level, SK_PIECE_FOLDED, out, made) : -1;
    sk_fpu_leave(fpu);
    if (!rc && apart && *out == RAW)
        memcpy(out + 1, x, n);
    free(apart);
    return rc;
}

static int encode_whole(const struct sk_array *a, const void *x, int level, uint8_t *out, size_t *made)
{
    struct sk_words l;
    sk_words_of(a, sk_array_size_bytes(a), &l);
    l.whole = 1;
    return l.words > SK_MOST_WORDS ? -1 : encode_values(&l, x, level, out, made);
}

static int decode_values(const struct sk_words *l, const uint8_t *in, size_t n, void *x);

static int decode_whole(const struct sk_array *a, const uint8_t *in, size_t n, void *x)
{
    struct sk_words l;
    sk_words_of(a, sk_array_size_bytes(a), &l);
    return decode_values(&l, in, n, x);
}

static const struct sk_whole_ops whole_ops = {encode_whole, decode_whole};

static int encode(const struct sk_array *a, const void *in, const struct sk_codec_options *opt,
                  void *out, size_t cap, size_t *out_size_bytes, struct saikai_error *err)
{
    size_t n = 0;
    struct sk_words l;
    const int level = opt && opt->level ? opt->level : 3, real = sk_type_is_float(a->type);
    int rc = sk_lossless_begin(a, sk_codec_predict.name, &n, err);
    if (rc)
        return rc;
    if (cap < max_encoded(a))
        return sk_fail(err, SAIKAI_ENOSPC, "codec predict: needs room for %zu bytes, not %zu",
                       max_encoded(a), cap);
    sk_words_of(a, n, &l);
    if ((real ? l.words : n / sk_type_size(a->type)) > SK_MOST_WORDS)
        return sk_fail(err, SAIKAI_ENOTSUP,
                       "codec predict: a piece of %zu bytes is too large; use smaller pieces", n);
    if (!n) {
        *(uint8_t *)out = RAW;
        *out_size_bytes = 1;
        return 0;
    }
    void *copy = NULL;
    const void *x = sk_words_aligned(in, n, real ? l.word : sk_type_size(a->type), &copy);
    if (!x)
        rc = -1;
    else if (real)
        rc = encode_values(&l, x, level, out, out_size_bytes);
    else
        rc = sk_whole_encode(&whole_ops, a, x, n, level, out, out_size_bytes);
    free(copy);
    if (!rc)
        sk_packed_make(out, out_size_bytes, n);
    return rc ? sk_fail(err, SAIKAI_ENOMEM, "codec predict: no memory for %zu bytes", n) : 0;
}

static int get_orders(struct sk_rd *r, struct sk_orders *o)
{
    const uint8_t *orders = sk_rd_bytes(r, SK_AXES);
    if (!orders)
        return -1;
    memcpy(o->half, orders, SK_AXES);
    for (int k = 0; k < SK_AXES; k++)
        if (orders[k] > SK_MAX_HALVES)
            return -1;
    return 0;
}

/* What some flags exclude, and what they bring. 0, or -1: damaged. */
static int get_forms(struct sk_plan *p, int flags, struct sk_rd *r)
{
    p->tame = (flags & TAME) != 0;
    p->wide = (flags & WIDE_CLASSES) != 0;
    p->apart = (flags & FIRST_APART) != 0;
    if ((flags & MASKED) && (flags & (WIDE_CLASSES | SEGMENTS | ALONG)))
        return -1;
    if (p->apart && ((flags & SEGMENTS) || p->shape.axes == 1 || get_orders(r, &p->first)))
        return -1;
    if ((flags & ALONG) && (p->shape.axes != 1 || sk_along_get(r, &p->along)))
        return -1;
    return (flags & SEGMENTS) && (p->orders.half[1] || sk_shape_segments(&p->shape)) ? -1 : 0;
}

/* The plan of a piece as its head tells it. 0, SAIKAI_ENOMEM, or -1: damaged. */
static int get_head(struct job *j, struct sk_rd *r)
{
    j->plan.shift = sk_rd_u8(r);
    uint64_t split = sk_rd_u64(r);
    int rc = get_orders(r, &j->plan.orders), flags = sk_rd_u8(r);
    if (rc || r->bad || j->plan.shift >= 8 * j->l.word || flags > ALL_FLAGS)
        return -1;
    if (split && (split > j->l.words || sk_shape_split(&j->plan.shape, (size_t)split)))
        return -1;
    if (get_forms(&j->plan, flags, r))
        return -1;
    if (flags & MASKED) {
        j->fill = sk_rd_u64(r);
        j->skip = malloc(j->l.words);
        rc = j->skip ? sk_mask_get(r, &j->plan.shape, j->skip) : SAIKAI_ENOMEM;
        if (rc)
            return rc;
    }
    return flags & SIGNED_ZEROS ? sk_zeros_get(r, j->l.words, &j->sign, &j->zeros) : 0;
}

static void put_fill(const struct job *j, void *x)
{
    for (size_t i = 0; i < j->l.words; i++) {
        if (!j->skip[i])
            continue;
        if (j->l.word == 4)
            ((uint32_t *)x)[i] = (uint32_t)j->fill;
        else
            ((uint64_t *)x)[i] = j->fill;
    }
}

/* A piece that was predicted, or whose exponents are apart. */
static int decode_alone(struct job *j, int mode, struct sk_rd *r, void *x)
{
    plan_init(&j->plan, &j->l);
    int rc = get_head(j, r);
    if (rc || (mode == DIRECT && (j->skip || j->sign || j->plan.apart)))
        return rc ? rc : -1;
    rc = mode == DIRECT ? sk_direct_decode(&j->plan, r, x) : sk_body_decode(&j->plan, r, j->skip, x);
    rc = !rc && r->p != r->end ? -1 : rc;
    if (!rc && j->skip)
        put_fill(j, x);
    return !rc && j->sign ? sk_zeros_put(x, j->l.words, j->l.word, j->sign, j->zeros) : rc;
}

static int piece_decode(const struct sk_words *l, const uint8_t *in, size_t n, enum sk_piece_mode most, void *x)
{
    size_t bytes = l->words * l->word;
    struct job j = {.l = *l};
    if (!n || in[0] > most)
        return -1;
    struct sk_rd r = sk_rd_init(in + 1, n - 1);
    int rc = -1;
    switch ((enum sk_piece_mode)in[0]) {
    case SK_PIECE_RAW:
        if (n != bytes + 1)
            return -1;
        memcpy(x, in + 1, bytes);
        return 0;
    case SK_PIECE_PREDICTED:
    case SK_PIECE_DIRECT:
        rc = decode_alone(&j, in[0], &r, x);
        break;
    case SK_PIECE_LZ:
    case SK_PIECE_SHUFFLED_LZ:
        rc = sk_lz_decode(l, in + 1, n - 1, in[0] == SHUFFLED_LZ, x);
        break;
    case SK_PIECE_FEW:
    case SK_PIECE_FOLDED:
        rc = sk_within_decode(&piece_ops, l, in[0], &r, x);
        break;
    }
    job_free(&j);
    return rc;
}

/* The values of a piece, some, on a word's boundary. 0, SAIKAI_ENOMEM, or -1: damaged. */
static int decode_values(const struct sk_words *l, const uint8_t *in, size_t n, void *x)
{
    const size_t bytes = l->words * l->word;
    if (n == bytes + 1 && *in == RAW) {
        memcpy(x, in + 1, bytes);
        return 0;
    }
    void *apart = l->components > 1 ? malloc(bytes) : NULL;
    if (!apart && l->components > 1)
        return SAIKAI_ENOMEM;
    sk_fpu_state fpu = sk_fpu_enter();
    int rc = piece_decode(l, in, n, SK_PIECE_FOLDED, apart ? apart : x);
    sk_fpu_leave(fpu);
    if (!rc && apart)
        sk_words_transpose(apart, x, l->components, l->words / l->components, l->word);
    free(apart);
    return rc;
}

/* One that may be packed. 0, SAIKAI_ENOMEM, or -1: damaged. */
static int decode_packed(const struct sk_array *a, const uint8_t *in, size_t n, size_t want, void *x)
{
    struct sk_words l;
    uint8_t *piece = NULL;
    size_t size = 0;
    sk_words_of(a, want, &l);
    int rc = *in == SK_PACKED ? sk_packed_open(in, n, want, &piece, &size) : 0;
    in = piece ? piece : in;
    n = piece ? size : n;
    if (!rc)
        rc = sk_type_is_float(a->type) ? decode_values(&l, in, n, x) : sk_whole_decode(&whole_ops, a, in, n, x, want);
    free(piece);
    return rc;
}

static int decode(const struct sk_array *a, const void *in, size_t n, void *out,
                  struct saikai_error *err)
{
    size_t want = 0;
    struct sk_words l;
    const int real = sk_type_is_float(a->type);
    int rc = sk_lossless_begin(a, sk_codec_predict.name, &want, err);
    if (rc)
        return rc;
    if (!n)
        return sk_fail(err, SAIKAI_EDAMAGED, "codec predict: the piece is empty");
    sk_words_of(a, want, &l);
    if (*(const uint8_t *)in == RAW && n == want + 1) {
        if (want)
            memcpy(out, (const uint8_t *)in + 1, want);
        return 0;
    }
    void *copy = NULL, *x = (void *)(uintptr_t)sk_words_aligned(out, want, real ? l.word : sk_type_size(a->type), &copy);
    if (!want)
        rc = -1;
    else if (!x)
        rc = SAIKAI_ENOMEM;
    else
        rc = decode_packed(a, in, n, want, x);
    if (copy && !rc)
        memcpy(out, copy, want);
    free(copy);
    if (rc == SAIKAI_ENOMEM)
        return sk_fail(err, rc, "codec predict: no memory for %zu bytes", want);
    return rc ? sk_fail(err, SAIKAI_EDAMAGED, "codec predict: the piece does not give %zu bytes",
                        want)
              : 0;
}

const struct sk_codec_ops sk_codec_predict = {
    .abi = SK_CODEC_ABI,
    .name = "predict",
    .description =
        "prediction in up to 4 dimensions and entropy coding; the default for numbers",
    .types = SK_TYPES_ALL,
    .max_encoded = max_encoded,
    .encode = encode,
    .decode = decode,
};
