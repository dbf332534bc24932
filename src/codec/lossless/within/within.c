/* What comes before prediction: repeats far apart are taken out, few values are numbered. */
#include "codec/lossless/within/within.h"

#include "base/error.h"
#include "base/types.h"
#include "codec/lossless/within/few.h"
#include "codec/lossless/within/fold.h"
#include "codec/lossless/within/lz.h"
#include "codec/lossless/within/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Append the piece of these words; it goes on to the end where its length is not told. */
static int put_piece(const struct sk_piece_ops *ops, const struct sk_words *l, const void *x, int level, enum sk_piece_mode most, int with_length, struct sk_buf *b)
{
    size_t made = 0;
    uint8_t *piece = malloc(l->words * l->word + 1);
    int rc = piece ? ops->encode(l, x, level, most, piece, &made) : -1;
    if (!rc) {
        if (with_length)
            sk_number_put(b, made);
        sk_buf_put(b, piece, made);
    }
    free(piece);
    return rc || !sk_buf_ok(b) ? -1 : 0;
}

/* ---- repeats ---- */

static int encode_folded(const struct sk_piece_ops *ops, const struct sk_words *l, const void *x, int level, struct sk_buf *b)
{
    struct sk_fold f;
    struct sk_words rest;
    int rc = sk_fold_find(&f, l, x);
    if (rc <= 0)
        return rc;
    sk_fold_rest(&f, l, &rest);
    void *y = malloc(rest.words * rest.word);
    if (y) {
        sk_fold_take(&f, l, x, y);
        sk_buf_put_u8(b, SK_PIECE_FOLDED);
        sk_fold_put(b, &f);
    }
    rc = y ? put_piece(ops, &rest, y, level, SK_PIECE_FEW, 0, b) : -1;
    free(y);
    sk_fold_free(&f);
    return rc;
}

static int decode_folded(const struct sk_piece_ops *ops, const struct sk_words *l, struct sk_rd *r, void *x)
{
    struct sk_fold f;
    struct sk_words rest;
    int rc = sk_fold_get(r, l, &f);
    if (rc)
        return rc;
    sk_fold_rest(&f, l, &rest);
    void *y = malloc(rest.words * rest.word);
    rc = y ? ops->decode(&rest, r->p, sk_rd_left(r), SK_PIECE_FEW, y) : SAIKAI_ENOMEM;
    if (!rc)
        sk_fold_undo(&f, l, y, x);
    free(y);
    sk_fold_free(&f);
    return rc;
}

/* ---- few values ---- */

/* One row of them. */
static struct sk_words row_of(const struct sk_words *l, size_t words)
{
    return (struct sk_words){.word = l->word, .words = words, .components = 1, .array = {.type = l->array.type, .ndims = 1, .dims = {words}}};
}

static struct sk_words bytes_of(const struct sk_few *f, size_t words)
{
    return (struct sk_words){.word = 1, .words = words * f->wide};
}

enum { NUMBERS_LZ = 0, NUMBERS_PIECE = 1, NUMBERS_PACKED = 2 };
enum { PAIRS = 6 }; /* level for numbers of two bytes */

/* Numbers are coded by zstd, or predicted as values are, in the array's own shape, or packed into as many bits as the largest has. */
static struct sk_words floats_of(const struct sk_words *l)
{
    struct sk_words all = *l;
    all.word = sizeof(float);
    all.array.type = SAIKAI_F32;
    return all;
}

/* 0, with *made more than cap: they take more. A level that takes its time gains something worth it of numbers that shrink much already, as of values, and one that takes a little
 * more of those of two bytes, whose repeats are short. */
static int code_by_lz(const struct sk_few *f, size_t words, int level, uint8_t *out, size_t cap, size_t *made)
{
    enum { HARDLY_VARIES = 12, SLOW = 9 };
    const struct sk_words bytes = bytes_of(f, words);
    level = f->wide == 2 && level < PAIRS ? PAIRS : level;
    *made = sk_lz_encode(&bytes, f->number, 0, level, out, cap);
    if (*made > bytes.words / HARDLY_VARIES || level >= SLOW)
        return 0;
    uint8_t *again = malloc(*made);
    if (!again)
        return -1;
    size_t less = sk_lz_encode(&bytes, f->number, 0, SLOW, again, *made);
    if (less < *made)
        memcpy(out, again, *made = less);
    free(again);
    return 0;
}

static int put_by_lz(const struct sk_few *f, const struct sk_words *l, int level, struct sk_buf *b)
{
    size_t cap = l->words * f->wide, made = 0;
    uint8_t *out = malloc(cap);
    int rc = out ? code_by_lz(f, l->words, level, out, cap, &made) : -1;
    if (!rc && made <= cap) {
        sk_buf_put_u8(b, NUMBERS_LZ);
        sk_buf_put(b, out, made);
    } else {
        b->len = 0; /* it was thought to take less */
    }
    free(out);
    return rc || !sk_buf_ok(b) ? -1 : 0;
}

static int put_packed(const struct sk_few *f, const struct sk_words *l, struct sk_buf *b)
{
    sk_buf_put_u8(b, NUMBERS_PACKED);
    uint8_t *out = sk_buf_extend(b, sk_few_packed_bytes(f, l->words));
    if (out)
        sk_few_pack(f, l->words, out);
    return out ? 0 : -1;
}

/* How many bytes zstd is thought to take for the numbers: by some stretches of them, as long as repeats are far apart. */
static double lz_thought(const struct sk_few *f, size_t words)
{
    enum { STRETCHES = 4, EACH = 32 << 10 };
    struct sk_words all = bytes_of(f, words), some = all;
    const size_t most = STRETCHES * EACH;
    uint8_t *in = malloc(2 * most);
    double share = 1;
    if (!in)
        return INFINITY;
    uint8_t *const out = in + most;
    const uint8_t *from = f->number;
    if (all.words > most) {
        for (size_t k = 0; k < STRETCHES; k++)
            memcpy(in + k * EACH, f->number + (all.words - EACH) / (STRETCHES - 1) * k, EACH);
        from = in;
        some.words = most;
    }
    size_t made = sk_lz_encode(&some, from, 0, f->wide == 2 ? PAIRS : 3, out, some.words);
    if (made <= some.words)
        share = (double)made / (double)some.words;
    free(in);
    return share * (double)all.words;
}

/* The numbers in the form that is thought to take the fewest bytes; *b is empty where none takes as few as most. */
static int put_numbers(const struct sk_piece_ops *ops, const struct sk_few *f, const struct sk_words *l, int level, double most, struct sk_buf *b)
{
    const struct sk_words floats = floats_of(l);
    float *x = malloc(floats.words * sizeof *x);
    int rc = x ? 0 : -1;
    if (!rc) {
        sk_few_to_floats(f, l->words, x);
        double by_lz = lz_thought(f, l->words), as_piece = ops->thought(&floats, x), packed = (double)sk_few_packed_bytes(f, l->words);
        if (fmin(fmin(by_lz, as_piece), packed) + (double)b->len > most) {
            b->len = 0;
        } else if (packed <= by_lz && packed <= as_piece) {
            rc = put_packed(f, l, b);
        } else if (by_lz < as_piece) {
            rc = put_by_lz(f, l, level, b);
        } else {
            sk_buf_put_u8(b, NUMBERS_PIECE);
            rc = put_piece(ops, &floats, x, level, SK_PIECE_SHUFFLED_LZ, 0, b);
        }
    }
    free(x);
    return rc;
}

static int encode_few(const struct sk_piece_ops *ops, const struct sk_words *l, const void *x, int level, double thought, struct sk_buf *b)
{
    struct sk_few f;
    int rc = sk_few_find(&f, x, l->words, l->word);
    if (rc <= 0)
        return rc;
    struct sk_words values = row_of(l, f.count);
    sk_buf_put_u8(b, SK_PIECE_FEW);
    sk_number_put(b, f.count);
    rc = put_piece(ops, &values, f.value, level, SK_PIECE_SHUFFLED_LZ, 1, b);
    if (!rc)
        rc = put_numbers(ops, &f, l, level, 0.97 * thought, b);
    sk_few_free(&f);
    return rc;
}

static int get_numbers(const struct sk_piece_ops *ops, const struct sk_words *l, struct sk_rd *r, struct sk_few *f)
{
    const struct sk_words numbers = bytes_of(f, l->words), floats = floats_of(l);
    int form = sk_rd_u8(r);
    if (r->bad || form > NUMBERS_PACKED || (form == NUMBERS_PACKED && sk_rd_left(r) != sk_few_packed_bytes(f, l->words)))
        return -1;
    if (form == NUMBERS_PACKED) {
        sk_few_unpack(f, l->words, r->p);
        return 0;
    }
    if (form == NUMBERS_LZ)
        return sk_lz_decode(&numbers, r->p, sk_rd_left(r), 0, f->number);
    float *x = malloc(floats.words * sizeof *x);
    int rc = x ? ops->decode(&floats, r->p, sk_rd_left(r), SK_PIECE_SHUFFLED_LZ, x) : SAIKAI_ENOMEM;
    if (!rc)
        sk_few_from_floats(f, l->words, x);
    free(x);
    return rc;
}

static int get_few(const struct sk_piece_ops *ops, const struct sk_words *l, struct sk_rd *r, struct sk_few *f)
{
    uint64_t count = sk_number_get(r), bytes = sk_number_get(r);
    if (r->bad || !count || count > SK_FEW_MOST || count > l->words || bytes > sk_rd_left(r))
        return -1;
    f->count = (size_t)count;
    f->wide = f->count <= 256 ? 1 : 2;
    f->value = malloc(f->count * l->word);
    f->number = malloc(l->words * f->wide);
    if (!f->value || !f->number)
        return SAIKAI_ENOMEM;
    struct sk_words values = row_of(l, f->count);
    int rc = ops->decode(&values, sk_rd_bytes(r, (size_t)bytes), (size_t)bytes, SK_PIECE_SHUFFLED_LZ, f->value);
    return rc ? rc : get_numbers(ops, l, r, f);
}

static int decode_few(const struct sk_piece_ops *ops, const struct sk_words *l, struct sk_rd *r, void *x)
{
    struct sk_few f = {0};
    int rc = get_few(ops, l, r, &f);
    if (!rc)
        rc = sk_few_undo(&f, x, l->words, l->word);
    sk_few_free(&f);
    return rc;
}

/* ---- either ---- */

enum { SMALL = 100 }; /* times smaller: there contexts make more of the values than a dictionary */

int sk_within_encode(const struct sk_piece_ops *ops, const struct sk_words *l, const void *x, int level, enum sk_piece_mode most, double thought, struct sk_buf *b)
{
    int rc = most >= SK_PIECE_FOLDED ? encode_folded(ops, l, x, level, b) : 0;
    if (!rc && !b->len && most >= SK_PIECE_FEW && thought > (double)(l->words * l->word) / SMALL)
        rc = encode_few(ops, l, x, level, thought, b);
    return rc;
}

int sk_within_decode(const struct sk_piece_ops *ops, const struct sk_words *l, enum sk_piece_mode mode, struct sk_rd *r, void *x)
{
    return mode == SK_PIECE_FOLDED ? decode_folded(ops, l, r, x) : decode_few(ops, l, r, x);
}
