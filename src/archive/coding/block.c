/* Blocks: the table of forms, and the parts of a block coded by the form that each was given, or as bytes where these are shorter. */
#include "archive/coding/block.h"

#include "base/types.h"
#include "codec/residual/residual.h"

#include <stdlib.h>
#include <string.h>

static const struct sk_form_ops *const forms[SK_FORMS] = {
    &sk_form_bytes, &sk_form_predict, &sk_form_fields, &sk_form_codec, &sk_form_records, &sk_form_take, &sk_form_text, &sk_form_rows, &sk_form_labelled, &sk_form_wide,
    &sk_form_text_after, &sk_form_labelled_after, &sk_form_rows_after, &sk_form_frames, &sk_form_copies};

/* Encode part i as its bytes in the order of the file, whatever its form made of them; native order
 * stays: it is undone by the form that stores it, never here. */
static int encode_bytes(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                        struct sk_buf *out, struct saikai_error *err)
{
    struct sk_part *p = &parts[i];
    int swapped = p->native && sk_part_foreign(p);
    if (swapped)
        sk_part_swap(p);
    sk_buf_put_u64(out, 0);
    sk_buf_put_u8(out, SK_FORM_BYTES);
    int rc = sk_form_bytes.encode(c, parts, i, r, out, err);
    if (swapped)
        sk_part_swap(p);
    return rc;
}

/* Where n bytes of a part begin that have so much of the rest of it before them. */
static size_t from_of(const struct sk_part *p, double place, size_t n)
{
    enum { WORDS = 16 };
    return (size_t)((double)(p->size_bytes - n) * place) / WORDS * WORDS;
}

/* What a general compressor leaves of a byte of n such bytes; ALL: it failed. */
static const double ALL = 1e9;
static double of_place(struct sk_coder *c, const struct sk_part *p, double place, size_t n, int backend, int level)
{
    size_t stored;
    void *to = sk_coder_room(&c->packed, sk_pack_bound(n));
    if (!to || sk_pack(&c->packer, &backend, level, p->raw + from_of(p, place, n), n, to, &stored, NULL))
        return ALL;
    return (double)stored / (double)n;
}

static double of_middle(struct sk_coder *c, const struct sk_part *p, size_t n, int backend, int level)
{
    return of_place(c, p, 0.5, n, backend, level);
}

enum { LEAST_PIECE = 32 << 10, MOST_PIECE = 256 << 10 };

static size_t piece_of(const struct sk_part *p)
{
    enum { SHARE = 8 };
    size_t n = p->size_bytes / SHARE;
    return n < LEAST_PIECE ? LEAST_PIECE : n > MOST_PIECE ? MOST_PIECE : n;
}

/* The same of a piece; ALL: there are too few bytes to ask. */
static double of_piece(struct sk_coder *c, const struct sk_part *p, int backend, int level)
{
    return p->size_bytes < 2 * LEAST_PIECE ? ALL : of_middle(c, p, piece_of(p), backend, level);
}

/* The mean of that of three pieces: a file may have coordinates in one part of it, and what belongs to what in another. */
static double of_places(struct sk_coder *c, const struct sk_part *p, size_t n, int backend, int level)
{
    enum { PLACES = 3 };
    double sum = 0;
    for (int k = 0; k < PLACES; k++)
        sum += of_place(c, p, (k + 0.5) / PLACES, n, backend, level) / PLACES;
    return sum;
}

/* Whether one that leaves so much of a piece might leave less of all of it than `have`. hope: how much more it may find there. */
static int may_be_less(const struct sk_part *p, double piece, double have, double hope)
{
    return piece < hope * have / (double)p->size_bytes;
}

/* Part i as bytes by recipe r in place of what stands at `start`, where they are fewer. */
static int encode_instead(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                          size_t start, struct sk_buf *out, struct saikai_error *err)
{
    size_t end = out->len;
    int rc = encode_bytes(c, parts, i, r, out, err);
    if (rc || !sk_buf_ok(out))
        return rc;
    size_t n = out->len - end;
    if (n < end - start)
        memmove(out->data + start, out->data + end, n);
    out->len = n < end - start ? start + n : end;
    return 0;
}

/* The strongest compressor over the bytes as they are: where nothing is to be left undone, and this has not been done. */
static struct sk_recipe strongest(const struct sk_recipe *r)
{
    return (struct sk_recipe){.form = SK_FORM_BYTES, .backend = SK_BACKEND_LZMA, .level = r->level};
}

static int is_strong(const struct sk_coder *c, int i, const struct sk_recipe *r)
{
    int plain = r->form == SK_FORM_BYTES && !r->filter;
    return (r->level & ~SK_PACK_LONG) >= SK_PACK_BEST && !plain && !sk_part_previous(c, i) && r->form != SK_FORM_CODEC && r->form != SK_FORM_TAKE &&
           sk_backend_here(SK_BACKEND_LZMA) >= 0;
}

enum { FAST = 1, LIGHT = 3, THOROUGH = 19 }; /* levels of LZMA and of zstd */

/* What is left of a piece by the strongest compressor, and by zstd; quick 0: nobody has asked. */
struct pieces {
    double strong, quick, all; /* strong: of three pieces, where there are so many bytes; all: about what the strongest leaves of all; 0: nobody has asked */
    double usual, far;         /* of which: what it leaves of a piece at the level asked for, and what is left of that by what repeats far away */
};

/* Whether zstd, which leaves so much of a piece, might leave less of all of it than `have`: it may find a fifth more of what it has found there. Where that
 * is next to nothing it finds no more elsewhere, and predictions that leave a little less are not to be doubted. */
static int zstd_may_be_less(const struct sk_part *p, double piece, double have)
{
    static const double MORE = 0.2;
    return piece - MORE * (1 - piece) < have / (double)p->size_bytes;
}

/* What a form that takes apart leaves of a byte of n bytes of a part; ALL: it failed. */
static double of_form(struct sk_coder *c, const struct sk_part *p, double place, size_t n, const struct sk_recipe *r)
{
    struct sk_ska_segment all = {.box = {1, 1, n / sk_type_size(p->type)}};
    struct sk_part piece = *p;
    struct sk_buf out = {0};
    piece.raw += from_of(p, place, n);
    piece.segments = &all;
    piece.count = 1;
    piece.size_bytes = n;
    double left = forms[r->form]->encode(c, &piece, 0, r, &out, NULL) || !sk_buf_ok(&out) ? ALL : (double)out.len / (double)n;
    sk_buf_free(&out);
    return left;
}

/* Whether zstd might leave less than `have` of a part that has been taken apart. Samples have compared these two already, but of a part of several kinds a
 * piece tells less than what both leave of three. */
static int bytes_may_be_less(struct sk_coder *c, const struct sk_part *p, const struct sk_recipe *r, double have)
{
    enum { PLACES = 3 };
    static const double QUICK = 1.25, USUAL = 1.02, BESIDE = 1.1;
    size_t n = piece_of(p);
    double plain = 0, apart = 0;
    if (c->trial || !may_be_less(p, of_piece(c, p, SK_BACKEND_ZSTD, 1), have, QUICK) ||
        !may_be_less(p, of_piece(c, p, SK_BACKEND_ZSTD, r->level), have, USUAL))
        return 0;
    for (int k = 0; k < PLACES && p->size_bytes >= 2 * PLACES * n; k++) {
        double place = (k + 0.5) / PLACES;
        plain += of_place(c, p, place, n, SK_BACKEND_ZSTD, r->level);
        apart += of_form(c, p, place, n, r);
    }
    return plain <= BESIDE * apart;
}

/* Values and lines that repeat are not what predictions are for: where the bytes through zstd are fewer, they
 * take the place of what stands at `start`. */
static int try_bytes(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r, const struct pieces *seen, size_t start, struct sk_buf *out,
                     struct saikai_error *err)
{
    struct sk_recipe plain = {.form = SK_FORM_BYTES, .backend = SK_BACKEND_ZSTD, .level = r->level};
    size_t end = out->len;
    int apart = sk_form_apart(r->form);
    if ((r->form != SK_FORM_PREDICT && r->form != SK_FORM_FIELDS && !apart) || r->backend != SK_BACKEND_ZSTD || !sk_buf_ok(out) ||
        seen->strong < ALL /* the strongest one is asked, which leaves less than zstd does */ ||
        (apart && !bytes_may_be_less(c, &parts[i], r, (double)(end - start))) ||
        (!apart && !zstd_may_be_less(&parts[i], seen->quick > 0 ? seen->quick : of_piece(c, &parts[i], SK_BACKEND_ZSTD, r->level), (double)(end - start))))
        return 0;
    return encode_instead(c, parts, i, &plain, start, out, err);
}

/* About what the strongest compressor leaves of a byte of all of a part: of a piece it leaves less of a byte than of a quarter of that, and of all less again for
 * each time that it is four times as long; what repeats from further away, a quick one tells. */
static double of_all(struct sk_coder *c, const struct sk_part *p, int level, struct pieces *seen)
{
    enum { QUICK = 1, TIMES = 4 };
    size_t n = piece_of(p);
    double about = of_middle(c, p, n, SK_BACKEND_LZMA, level), middle = of_middle(c, p, n, SK_BACKEND_LZMA, FAST), less = about / of_middle(c, p, n / TIMES, SK_BACKEND_LZMA, level),
           far = of_middle(c, p, p->size_bytes, SK_BACKEND_ZSTD, QUICK | SK_PACK_LONG) / of_middle(c, p, n, SK_BACKEND_ZSTD, QUICK);
    seen->usual = about;
    seen->far = far;
    for (size_t k = n; k < p->size_bytes && less < 1; k *= TIMES)
        about *= less;
    about *= seen->strong < ALL && middle > 0 ? seen->strong / middle : 1; /* the middle is not like all of it */
    return far < 1 ? about * far : about;
}

/* What the strongest one leaves of pieces at its quickest. */
static double strong_of_pieces(struct sk_coder *c, const struct sk_part *p)
{
    enum { MANY = 16 };
    size_t n = piece_of(p);
    return p->size_bytes < MANY * n / 2 ? of_piece(c, p, SK_BACKEND_LZMA, FAST) : of_places(c, p, n, SK_BACKEND_LZMA, FAST);
}

/* The level at which zstd leaves less of pieces than LZMA does, which codes bytes that follow no others badly: digits of base 64, for one. 0: it leaves more. */
static int zstd_instead(struct sk_coder *c, int i, const struct sk_part *p, const struct sk_recipe *r)
{
    enum { LEAST = 256 << 10, PIECE = 64 << 10 };
    static const double LESS = 0.995;
    if (r->form != SK_FORM_BYTES || r->filter || r->backend != SK_BACKEND_LZMA || sk_part_previous(c, i) || p->size_bytes < LEAST || c->trial)
        return 0;
    double thorough = of_places(c, p, PIECE, SK_BACKEND_ZSTD, THOROUGH);
    if (thorough >= LESS * of_places(c, p, PIECE, SK_BACKEND_LZMA, r->level))
        return 0;
    return of_places(c, p, PIECE, SK_BACKEND_ZSTD, LIGHT) <= thorough ? LIGHT : THOROUGH | SK_PACK_LONG;
}

/* 1: bytes that have been compressed already: the strongest compressor finds no more in a piece than a quick one, which hardly finds anything, nor is there
 * anything far away. */
static int is_dense(struct sk_coder *c, int i, const struct sk_part *p, const struct sk_recipe *r)
{
    enum { QUICK = 3, FASTEST = 1 };
    static const double HARDLY = 0.97, NO_LESS = 0.999, FAR = 0.99;
    if (r->form != SK_FORM_BYTES || r->filter || r->backend != SK_BACKEND_LZMA || sk_part_previous(c, i))
        return 0;
    double quick = of_piece(c, p, SK_BACKEND_ZSTD, QUICK);
    return quick > HARDLY && quick < ALL && of_piece(c, p, SK_BACKEND_LZMA, r->level) > NO_LESS * quick &&
           of_middle(c, p, p->size_bytes, SK_BACKEND_ZSTD, FASTEST | SK_PACK_LONG) > FAR * quick;
}

/* The same, asked once of a part. */
static double of_all_once(struct sk_coder *c, const struct sk_part *p, int level, struct pieces *seen)
{
    if (seen->all <= 0)
        seen->all = of_all(c, p, level, seen);
    return seen->all;
}

/* 1: of a piece the strongest compressor leaves more than the same piece takes as rows, and nothing repeats far away: what is expected of all of the bytes is not
 * to be believed then, and they need not be coded a second time, which takes as long as the rows did. */
static int rows_are_less(struct sk_coder *c, const struct sk_part *p, const struct sk_recipe *r, const struct pieces *seen)
{
    enum { PIECES = 8 };
    static const double CLEARLY = 1.01, NEAR = 0.99;
    int rows = r->form == SK_FORM_ROWS || r->form == SK_FORM_WIDE;
    size_t n = piece_of(p);
    return rows && !c->trial && seen->all > 0 && seen->far > NEAR && p->size_bytes >= PIECES * n && seen->usual > CLEARLY * of_form(c, p, 0.5, n, r);
}

static int try_strong(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                      struct pieces *seen, size_t start, struct sk_buf *out, struct saikai_error *err)
{
    static const double SURELY = 0.97, PERHAPS = 1.25, LESS = 0.99; /* it is only about so much */
    struct sk_recipe by = strongest(r);
    double strong = seen->strong, have = (double)(out->len - start), hope = r->form == SK_FORM_FRAMES ? SURELY : PERHAPS; /* steps have been held against what repeats far away */
    if (!sk_buf_ok(out) || !may_be_less(&parts[i], strong, have, hope) ||
        (!may_be_less(&parts[i], strong, have, SURELY) && !may_be_less(&parts[i], of_all_once(c, &parts[i], by.level, seen), have, LESS)) ||
        rows_are_less(c, &parts[i], r, seen))
        return 0;
    return encode_instead(c, parts, i, &by, start, out, err);
}

/* 1: the strongest compressor leaves much less of a piece than predictions are expected to leave of all, or of all much less than rows are: these need not be
 * made. */
static int is_for_strong(struct sk_coder *c, const struct sk_part *p, const struct sk_recipe *r, struct pieces *seen)
{
    static const double MUCH_LESS = 0.85, OF_ROWS = 0.8, PERHAPS = 1.1;
    double strong = seen->strong, expected = r->share * (double)p->size_bytes;
    int rows = r->form == SK_FORM_ROWS || r->form == SK_FORM_WIDE;
    if (r->share <= 0 || (r->form != SK_FORM_PREDICT && !rows))
        return 0;
    if (!rows)
        return may_be_less(p, strong, expected, MUCH_LESS);
    return may_be_less(p, strong, expected, PERHAPS) && may_be_less(p, of_all_once(c, p, r->level, seen), expected, OF_ROWS);
}

/* The bytes first, where zstd leaves less of a piece than predictions are expected to leave of all: *done: 1 if these need not be made, as the bytes
 * take less than is expected of them. */
static int bytes_first(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r, struct pieces *seen, size_t start, int *done,
                       struct sk_buf *out, struct saikai_error *err)
{
    static const double LESS = 0.985;
    struct sk_recipe plain = {.form = SK_FORM_BYTES, .backend = SK_BACKEND_ZSTD, .level = r->level};
    double expected = r->share * (double)parts[i].size_bytes;
    *done = 0;
    if (r->form != SK_FORM_PREDICT || r->share <= 0 || r->backend != SK_BACKEND_ZSTD || seen->strong < ALL)
        return 0;
    seen->quick = of_piece(c, &parts[i], SK_BACKEND_ZSTD, r->level);
    if (!may_be_less(&parts[i], seen->quick, expected, LESS))
        return 0;
    int rc = encode_bytes(c, parts, i, &plain, out, err);
    *done = !rc && sk_buf_ok(out) && (double)(out->len - start) < LESS * expected;
    if (!*done)
        out->len = start;
    return rc;
}

static int encode_by_recipe(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r, const struct pieces *seen, size_t start,
                            struct sk_buf *out, struct saikai_error *err)
{
    static const struct sk_recipe stored = {.form = SK_FORM_BYTES};
    sk_buf_put_u64(out, 0);
    sk_buf_put_u8(out, (uint8_t)r->form);
    int rc = forms[r->form]->encode(c, parts, i, r, out, err);
    if (!rc && out->len - start > parts[i].size_bytes + 64 && r->form != SK_FORM_TAKE && memcmp(r, &stored, sizeof stored)) {
        out->len = start;
        rc = encode_bytes(c, parts, i, &stored, out, err);
    }
    return rc ? rc : try_bytes(c, parts, i, r, seen, start, out, err);
}

int sk_block_encode_part(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                         struct sk_buf *out, struct saikai_error *err)
{
    size_t start = out->len;
    struct sk_recipe by_strong = strongest(r), by_zstd = {.form = SK_FORM_BYTES, .backend = SK_BACKEND_ZSTD, .level = LIGHT};
    if (is_dense(c, i, &parts[i], r) || (by_zstd.level = zstd_instead(c, i, &parts[i], r)))
        r = &by_zstd;
    struct pieces seen = {is_strong(c, i, r) ? strong_of_pieces(c, &parts[i]) : ALL, 0, 0, 0, 0};
    if (is_for_strong(c, &parts[i], r, &seen)) {
        r = &by_strong;
        seen.strong = ALL;
    }
    int done, rc = bytes_first(c, parts, i, r, &seen, start, &done, out, err);
    if (!rc && !done)
        rc = encode_by_recipe(c, parts, i, r, &seen, start, out, err);
    if (!rc)
        rc = try_strong(c, parts, i, r, &seen, start, out, err);
    if (rc || !sk_buf_ok(out))
        return rc ? rc : sk_fail(err, SAIKAI_ENOMEM, "no memory for a block");
    uint64_t n = out->len - start - 8;
    for (int k = 0; k < 8; k++)
        out->data[start + (size_t)k] = (uint8_t)(n >> 8 * k);
    return 0;
}

int sk_block_encode(struct sk_coder *c, struct sk_part *parts, int count,
                    const struct sk_recipe *recipes, struct sk_buf *out, struct saikai_error *err)
{
    int rc = 0;
    for (int i = 0; i < count && !rc; i++)
        rc = sk_block_encode_part(c, parts, i, &recipes[i], out, err);
    return rc;
}

/* Until the first k of the block's n bytes are there, and what decoders look at behind them. */
static int await(const struct sk_coder *c, size_t k, size_t n, struct saikai_error *err)
{
    if (!c->arriving)
        return 0;
    return c->arriving->wait(c->arriving->arg,
                             k < n && n - k > SK_BITS_SLACK ? k + SK_BITS_SLACK : n, err);
}

int sk_block_decode(struct sk_coder *c, const uint8_t *stored, size_t n, struct sk_part *parts,
                    int count, struct saikai_error *err)
{
    struct sk_rd in = sk_rd_init(stored, n);
    int rc = 0;
    for (int i = 0; i < count && !rc; i++) {
        if ((rc = await(c, n - sk_rd_left(&in) + 8, n, err)))
            return rc;
        uint64_t bytes = sk_rd_u64(&in), left = sk_rd_left(&in);
        if ((rc = await(c, n - left + (bytes < left ? bytes : left), n, err)))
            return rc;
        const uint8_t *p = bytes <= left ? sk_rd_bytes(&in, bytes) : NULL;
        struct sk_rd part = sk_rd_init(p, p ? bytes : 0);
        int form = sk_rd_u8(&part);
        if (!p || part.bad || form >= SK_FORMS)
            return sk_fail(err, SAIKAI_EDAMAGED, "a block's parts do not fit into it");
        rc = forms[form]->decode(c, parts, i, &part, err);
        if (!rc && (part.bad || sk_rd_left(&part)))
            rc = sk_fail(err, SAIKAI_EDAMAGED, "a part has the wrong length");
    }
    if (!rc && sk_rd_left(&in))
        rc = sk_fail(err, SAIKAI_EDAMAGED, "a block has bytes left over");
    for (int i = 0; i < count && !rc; i++)
        if (parts[i].native && sk_part_foreign(&parts[i])) {
            sk_part_swap(&parts[i]);
            parts[i].native = 0;
        }
    return rc;
}
