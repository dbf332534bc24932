/* Codes a few pieces of a part, from all over it, as all of it would be coded after the one below. */
#include "archive/write/chance/after_chance.h"

#include "archive/coding/block.h"
#include "base/types.h"

#include <string.h>

enum { LEVEL = 9, LEVEL_ROWS = 5, STRONG = 19 };

static int level_of(const struct sk_recipe *r, int usual)
{
    return (r->level & ~SK_PACK_LONG) >= SK_PACK_BEST ? STRONG : usual;
}

/* The same with a compressor that knows what to do with what comes before. */
struct sk_recipe sk_after_bytes(const struct sk_recipe *r)
{
    struct sk_recipe same = *r;
    if (r->backend != SK_BACKEND_ZSTD || (r->form != SK_FORM_BYTES && r->form != SK_FORM_RECORDS)) {
        same.backend = SK_BACKEND_ZSTD;
        same.level = level_of(r, LEVEL);
    }
    if (r->form != SK_FORM_RECORDS)
        same.form = SK_FORM_BYTES;
    if (same.form == SK_FORM_BYTES) /* what filters bring together is not what is below, nor what pieces have been asked as */
        same.filter = 0;
    return same;
}

/* As columns of numbers, of text or of rows, each after the same one below. */
struct sk_recipe sk_after_numbers(const struct sk_part *p, const struct sk_recipe *r)
{
    enum { LOOKED_AT = 64 << 10 };
    size_t n = p->size_bytes < LOOKED_AT ? p->size_bytes : LOOKED_AT;
    const uint8_t *some = p->raw + (p->size_bytes - n) / 2;
    int text = r->form == SK_FORM_TEXT || r->form == SK_FORM_LABELLED, labels = r->form == SK_FORM_LABELLED;
    if (r->form == SK_FORM_BYTES && !r->filter && p->type == SAIKAI_U8 && (text = sk_text_likely(some, n)))
        labels = sk_text_has_labels(some, n);
    return (struct sk_recipe){.form = !text ? SK_FORM_ROWS_AFTER : labels ? SK_FORM_LABELLED_AFTER : SK_FORM_TEXT_AFTER,
                              .backend = SK_BACKEND_ZSTD, .level = level_of(r, text ? LEVEL : LEVEL_ROWS)};
}

/* About what pieces from all over a part leave of all of it, after the part below: anywhere in that, since what was taken out as a
 * repeat, here or there, has moved the rest. */
double sk_after_bytes_take(struct sk_after_room *w, const struct sk_part *p, const struct sk_part *below, double *alone)
{
    enum { PIECE = 24 << 10, PIECES = 4, MOST = 32 << 20, QUICK = 3 };
    size_t n = p->size_bytes, beside = below->size_bytes < MOST ? below->size_bytes : MOST, stored, by_itself;
    const uint8_t *some = p->raw;
    int backend = SK_BACKEND_ZSTD;
    if (n > 2 * PIECES * PIECE) {
        w->piece.len = 0;
        for (size_t k = 0; k < PIECES; k++)
            sk_buf_put(&w->piece, p->raw + n / (2 * PIECES) * (2 * k + 1), PIECE);
        some = w->piece.data;
        n = w->piece.len;
    } else if (n > PIECES * PIECE) {
        some += (n - PIECES * PIECE) / 2;
        n = PIECES * PIECE;
    }
    void *to = sk_buf_ok(&w->piece) ? sk_coder_room(&w->coder.packed, sk_pack_bound(n)) : NULL;
    *alone = (double)p->size_bytes;
    if (!to || !n || !beside)
        return (double)p->size_bytes;
    if (!sk_pack(&w->coder.packer, &backend, QUICK, some, n, to, &by_itself, NULL))
        *alone = (double)by_itself / (double)n * (double)p->size_bytes;
    backend = SK_BACKEND_ZSTD;
    sk_stream_after(&w->coder, below->raw + (below->size_bytes - beside) / 2, beside);
    if (sk_pack(&w->coder.packer, &backend, QUICK, some, n, to, &stored, NULL))
        return 0;
    return (double)stored / (double)n * (double)p->size_bytes;
}

enum { LOOKS = 1024, WORD = 8, SLOT_BITS = 14, SLOTS = 1 << SLOT_BITS };

static inline uint64_t word_at(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, WORD);
    return v;
}

static inline size_t slot_of(uint64_t v)
{
    return (size_t)(v * 0x9e3779b97f4a7c15u >> (64 - SLOT_BITS));
}

/* Fill is everywhere. */
static inline int is_fill(uint64_t v)
{
    return v == (v & 0xff) * 0x0101010101010101u;
}

/* How many of the words at a thousand places of a part are below; *all: how many there are, without fill. */
static size_t found_below(const struct sk_part *p, const struct sk_part *below, size_t *all)
{
    uint64_t word[SLOTS];
    uint8_t used[SLOTS] = {0};
    uint16_t times[SLOTS] = {0};
    size_t found = 0, step = sk_type_size(below->type), each = (p->size_bytes - WORD) / LOOKS; /* numbers of one kind are there as such */
    *all = 0;
    for (size_t k = 0; k < LOOKS; k++) { /* of others in one slot the first one counts */
        uint64_t v = word_at(p->raw + each * k / step * step);
        size_t at = slot_of(v);
        if (is_fill(v) || (used[at] && word[at] != v))
            continue;
        word[at] = v;
        used[at] = 1;
        times[at]++;
        ++*all;
    }
    for (const uint8_t *b = below->raw, *end = b + below->size_bytes - WORD; b <= end && found < *all; b += step) {
        uint64_t v = word_at(b);
        if (used[slot_of(v)] && word[slot_of(v)] == v) {
            used[slot_of(v)] = 0;
            found += times[slot_of(v)];
        }
    }
    return found;
}

double sk_after_repeats(const struct sk_part *p, const struct sk_part *below)
{
    size_t all;
    return p->size_bytes < LOOKS * WORD || below->size_bytes < WORD ? 1 : (double)found_below(p, below, &all) / LOOKS;
}

int sk_after_moved(const struct sk_after_room *w, const struct sk_part *p, const struct sk_part *below)
{
    static const double MUCH = 0.5, SOME = 1.0 / 64;
    size_t width = sk_type_size(p->type), n = 0, same = 0, all, found;
    uint64_t from = 0, end = p->count ? sk_box_count(p->segments[0].box) * width : 0;
    if (p->size_bytes < LOOKS * WORD || below->size_bytes < WORD)
        return 0;
    for (size_t k = 0, i = 0; k < LOOKS; k++) {
        uint64_t at = (p->size_bytes - WORD) / LOOKS * k, v = word_at(p->raw + at);
        for (; at >= end && i + 1 < p->count; end += sk_box_count(p->segments[i].box) * width) {
            from = end;
            i++;
        }
        uint64_t there = w->places[i] + (at - from);
        same += !is_fill(v) && there <= below->size_bytes - WORD && v == word_at(below->raw + there);
        n += !is_fill(v);
    }
    double changed = n ? 1 - (double)same / (double)n : 0;
    if (changed < SOME)
        return 0;
    found = found_below(p, below, &all);
    return all && 1 - (double)found / (double)all < MUCH * changed;
}

/* A word of a line, from behind its first few bytes, which many have; 0: it has no more. */
static uint64_t line_at(const uint8_t *p, const uint8_t *end)
{
    enum { SKIP = 4 };
    if (end - p < SKIP + 2 * WORD || memchr(p, '\n', SKIP + WORD))
        return 0;
    return word_at(p + SKIP) * 31 + word_at(p + SKIP + WORD) + 1;
}

static const uint8_t *next_line(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *q = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return q ? q + 1 : end;
}

double sk_after_same_lines(const struct sk_part *p, const struct sk_part *below)
{
    uint64_t line[SLOTS];
    uint8_t used[SLOTS] = {0};
    size_t all = 0, found = 0;
    const uint8_t *end = p->raw + p->size_bytes;
    for (size_t k = 0; k < LOOKS; k++) {
        uint64_t v = line_at(next_line(p->raw + p->size_bytes / LOOKS * k, end), end);
        if (!v || used[slot_of(v)])
            continue;
        line[slot_of(v)] = v;
        used[slot_of(v)] = 1;
        all++;
    }
    end = below->raw + below->size_bytes;
    for (const uint8_t *b = below->raw; b < end; b = next_line(b, end)) {
        uint64_t v = line_at(b, end);
        if (v && used[slot_of(v)] == 1 && line[slot_of(v)] == v) {
            used[slot_of(v)] = 2;
            found++;
        }
    }
    return all ? (double)found / (double)all : 1;
}

/* What the bytes of a part from `at` on, of one segment and at most so many, take by columns; *n: how many they are. SIZE_MAX: failed. */
static size_t one_piece(struct sk_after_room *w, const struct sk_part *p, const struct sk_recipe *r, const struct sk_part *const *below, size_t at, size_t *n)
{
    enum { ALIGNED = 64 };
    size_t width = sk_type_size(p->type), k = 0, skip = at, all;
    while (k + 1 < p->count && skip >= (all = sk_box_count(p->segments[k].box) * width)) {
        skip -= all;
        k++;
    }
    all = sk_box_count(p->segments[k].box) * width;
    skip = all < *n ? 0 : skip < all - *n ? skip / ALIGNED * ALIGNED : (all - *n) / ALIGNED * ALIGNED;
    *n = all - skip < *n ? all - skip : *n;
    struct sk_ska_segment some = p->segments[k];
    struct sk_part piece = *p;
    uint64_t place = w->places[k] + skip;
    some.box = (struct sk_stencil_box){1, 1, *n / width};
    *n = *n / width * width;
    piece.segments = &some;
    piece.count = 1;
    piece.size_bytes = *n;
    for (size_t i = 0; i < k; i++)
        piece.raw += sk_box_count(p->segments[i].box) * width;
    piece.raw += skip;
    w->coder.previous = below;
    w->coder.places = &place;
    w->piece.len = 0;
    return *n && sk_block_encode(&w->coder, &piece, 1, r, &w->piece, NULL) ? SIZE_MAX : w->piece.len;
}

enum { PIECE_MOST = 40 << 10, PIECE_LEAST = 8 << 10, PIECES = 4, PLAIN_LEAST = 64 << 10 };

/* What leaves more than so much of pieces finds nothing. */
static const double NOTHING = 0.97;

/* Where the k-th piece of a part begins. */
static size_t piece_at(const struct sk_part *p, size_t k)
{
    return p->size_bytes / (2 * PIECES) * (2 * k + 1);
}

/* 1: all bytes are about as frequent in these pieces of a part, as in what has been compressed. */
static int is_flat(const struct sk_part *p, size_t piece)
{
    static const double FLAT = 1.05; /* of the least sum of squares that there can be */
    uint32_t count[256] = {0};
    double squares = 0, n = (double)(PIECES * piece);
    for (size_t k = 0; k < PIECES; k++)
        for (size_t i = 0; i < piece; i++)
            count[p->raw[piece_at(p, k) + i]]++;
    for (int i = 0; i < 256; i++)
        squares += (double)count[i] * count[i];
    return squares * 256 < FLAT * n * n;
}

static int is_text(int form)
{
    return form == SK_FORM_TEXT || form == SK_FORM_LABELLED || form == SK_FORM_TEXT_AFTER || form == SK_FORM_LABELLED_AFTER;
}

/* The same by columns, of pieces from all over the part; few bytes are all looked at, and of what has been compressed the first one. below NULL:
 * alone. */
static double about_numbers(struct sk_after_room *w, const struct sk_part *p, const struct sk_recipe *r, const struct sk_part *const *below)
{
    size_t stored = 0, seen = 0, piece = p->size_bytes / (2 * PIECES);
    if (piece < PIECE_LEAST)
        return 0;
    piece = piece < PIECE_MOST ? piece : PIECE_MOST;
    struct sk_recipe quick = *r; /* of so few bytes of numbers by their place another level leaves about the same */
    quick.level = !is_text(r->form) && (!below || r->level == LEVEL_ROWS) ? 1 : r->level;
    for (size_t k = 0; k < PIECES; k += is_text(r->form) ? 2 : 1) { /* of text, whose columns take long to choose, half of them */
        w->coder.same_rows = k > 0;
        size_t n = piece, one = one_piece(w, p, &quick, below, piece_at(p, k), &n);
        if (one == SIZE_MAX)
            return 0;
        stored += one;
        seen += n;
        if (!k && (double)stored >= NOTHING * (double)seen && is_flat(p, piece))
            break;
    }
    return seen ? (double)stored / (double)seen * (double)p->size_bytes : 0;
}

/* About what a part takes alone; 0: nobody knows. A sample does not tell how much repeats in all of it. */
static double about_alone(const struct sk_part *p, const struct sk_recipe *r)
{
    return r->form == SK_FORM_PREDICT || sk_form_apart(r->form) ? r->share * (double)p->size_bytes : 0;
}

/* 1: pieces of a part that is coded so tell what all of it takes as well as pieces by columns do. */
static int pieces_tell(const struct sk_recipe *r)
{
    return r->backend == SK_BACKEND_ZSTD && (r->form == SK_FORM_ROWS || r->form == SK_FORM_WIDE || is_text(r->form) || (r->form == SK_FORM_BYTES && r->filter));
}

/* The same pieces alone, by rows of their own: the coder goes on knowing those after the part below. */
static double about_alone_too(struct sk_after_room *w, const struct sk_part *p, const struct sk_recipe *r)
{
    struct sk_rows *known = w->coder.rows;
    w->coder.rows = NULL;
    double bytes = about_numbers(w, p, r, NULL);
    sk_rows_free(w->coder.rows);
    w->coder.rows = known;
    return bytes;
}

struct sk_after_chance sk_after_look(struct sk_after_room *w, const struct sk_part *p, const struct sk_recipe *r, int numbers,
                                     const struct sk_part *const *below)
{
    struct sk_after_chance c = {.alone = r, .alone_bytes = about_alone(p, r), .numbers = numbers};
    if (!numbers)
        return c;
    c.by = sk_after_numbers(p, r);
    c.bytes = about_numbers(w, p, &c.by, below);
    w->coder.previous = NULL;
    w->coder.places = NULL;
    if (pieces_tell(r) && !sk_after_is_clear(&c) && c.bytes < NOTHING * (double)p->size_bytes)
        c.pieces_alone = about_alone_too(w, p, r);
    if (!sk_after_is_clear(&c) && c.bytes < NOTHING * (double)p->size_bytes && p->size_bytes >= PLAIN_LEAST)
        c.plain = sk_after_bytes_take(w, p, *below, &c.plain_alone);
    return c;
}

/* Rows and text take less in all of a part than in pieces of it, which each have tables of their own; of predicted numbers as little. */
static double least_after(const struct sk_after_chance *c)
{
    static const double OF_PIECES = 0.8;
    return c->alone->form == SK_FORM_PREDICT ? c->bytes : OF_PIECES * c->bytes;
}

int sk_after_saves_too_little(const struct sk_after_chance *c, size_t count)
{
    double alone = 0, after = 0;
    for (size_t k = 0; k < count; k++) {
        if (c[k].alone_bytes <= 0 || (c[k].numbers && c[k].bytes <= 0))
            return 0;
        alone += c[k].alone_bytes;
        double least = c[k].numbers && least_after(&c[k]) < c[k].alone_bytes ? least_after(&c[k]) : c[k].alone_bytes;
        after += c[k].plain > 0 && c[k].plain < least ? c[k].plain : least;
    }
    return after > alone * (1 - SK_AFTER_SAVES + SK_AFTER_ERRS);
}

int sk_after_is_plain(const struct sk_after_chance *c, int numbers)
{
    static const double CLEARLY = 0.6, FAR_LESS = 0.5;
    double alone = c->alone_bytes > 0 && c->alone_bytes < c->plain_alone ? c->alone_bytes : c->plain_alone;
    return c->plain > 0 && c->plain < CLEARLY * alone && (!numbers || c->bytes <= 0 || c->plain < FAR_LESS * c->bytes);
}

/* Samples may err, of predictions the least. */
int sk_after_is_clear(const struct sk_after_chance *c)
{
    static const double CLEARLY = 0.92, CLEARLY_PREDICTED = 0.97, OF_SAME_PIECES = 0.97;
    if (c->bytes > 0 && c->bytes <= OF_SAME_PIECES * c->pieces_alone)
        return 1;
    return c->bytes > 0 && c->bytes <= (c->alone->form == SK_FORM_PREDICT ? CLEARLY_PREDICTED : CLEARLY) * c->alone_bytes;
}

double sk_after_alone(const struct sk_after_chance *c, size_t bytes)
{
    static const double ABOUT = 1.03, FAR_LESS = 0.9, PLAINLY = 0.7, QUICK = 0.8;
    if (c->alone_bytes <= 0 && sk_after_is_plain(c, 0) && (double)bytes < PLAINLY * c->plain_alone) /* what a quick compressor leaves is more than that */
        return QUICK * c->plain_alone;
    double as_pieces = c->bytes > 0 && (double)bytes <= ABOUT * c->bytes ? c->pieces_alone / c->bytes * (double)bytes : 0;
    if (as_pieces <= 0 && c->alone_bytes <= 0 && (double)bytes <= FAR_LESS * c->pieces_alone) /* pieces were too few to be right, not to tell so much */
        return c->pieces_alone;
    return as_pieces > c->alone_bytes ? as_pieces : c->alone_bytes;
}

int sk_after_is_hopeless(const struct sk_after_chance *c, size_t size_bytes, size_t bytes)
{
    static const double MUCH_MORE = 1.2, MORE_PREDICTED = 1.02, AS_MUCH = 0.985, AS_MUCH_TEXT = 1.02;
    if (c->pieces_alone > 0 && c->bytes >= (is_text(c->alone->form) ? AS_MUCH_TEXT : AS_MUCH) * c->pieces_alone)
        return 1;
    return c->bytes >= (c->alone->form == SK_FORM_PREDICT ? MORE_PREDICTED : MUCH_MORE) * (double)bytes || c->bytes >= NOTHING * (double)size_bytes;
}
