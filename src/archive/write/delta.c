/* Encodes a block after the one of the previous archive that it resembles: part by part, as columns of numbers after the same columns, as
 * bytes after those, or alone. Seats bound how much memory these comparisons take at a time. */
#include "archive/write/delta.h"
#include "archive/coding/block.h"
#include "archive/file/names.h"
#include "archive/write/chance/after_chance.h"

#include "codec/copies/copies.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/order.h"
#include "base/types.h"

#include <stdlib.h>
#include <string.h>

/* What one comparison at a time works with. */
struct seat {
    int taken, brief; /* brief: for no longer than it takes to decode `below` */
    size_t below;
    struct sk_unpacker unpacker;
    struct sk_after_room room;
    struct sk_buf out;
    struct sk_after_chance *chances; /* of each part of a block */
    int copies;                      /* 1: a part of the block that is made is told from copies */
    uint32_t rows_of;                /* the part, from 1 on, whose rows the coder knows from its pieces; 0: none */
};

struct sk_archive_delta {
    struct sk_ska_plan *p;
    uint32_t *was; /* of each file 1 more than the number of the one of that name before, 0: there was none */
    int numbers;   /* 1: there is memory for columns of numbers */
    int copies;    /* 1: and for looking for copies */
    int needs;     /* the version that knows what blocks were made of that come after others; 0: all do */
    int count;
    pthread_mutex_t lock;
    pthread_cond_t freed;
    struct seat seats[];
};

/* A seat holds what unpacking takes, the block below once more in the order of a filter, tables of
 * the compressor, and one block of ours filtered and packed; the rest of the pipeline holds
 * 4 × threads + 6 blocks. */
static uint64_t seat_bytes(const struct sk_unpack_need *largest)
{
    return largest->work_bytes + 2 * largest->raw_bytes + SK_PACK_TABLES;
}

uint64_t sk_archive_delta_least(const struct sk_unpack_need *largest)
{
    return (seat_bytes(largest) + 2) / 3 * 4;
}

int sk_archive_delta_share(uint64_t memory, int threads, const struct sk_unpack_need *largest,
                           uint64_t *unit)
{
    uint64_t seat = seat_bytes(largest);
    for (int n = threads; n > 0; n--)
        if ((uint64_t)n * seat <= memory / 4 * 3) {
            *unit = (memory - (uint64_t)n * seat) / (uint64_t)(4 * threads + 6 + 2 * n);
            return n;
        }
    return 0;
}

/* Which file each one was in the archive before. */
static uint32_t *find_files(const struct sk_ska *a, const struct sk_ska *before)
{
    uint32_t *was = calloc(a->file_count + 1, sizeof *was);
    struct sk_names names;
    if (sk_names_init(&names, before)) {
        free(was);
        return NULL;
    }
    for (size_t f = 0; was && f < a->file_count; f++)
        was[f] = (uint32_t)(sk_names_find(&names, a->files[f].name) + 1);
    sk_names_free(&names);
    return was;
}

/* 1: beside seats, and columns of numbers there, each of them has so much memory more. */
static int has_room(const struct sk_ska_plan *p, uint64_t more)
{
    return p->opt.memory_bytes / 4 >= (uint64_t)p->comparing * (2 * (SK_TEXT_MEMORY + SK_ROWS_MEMORY) + more);
}

int sk_archive_delta_numbers(const struct sk_ska_plan *p)
{
    return has_room(p, 0);
}

int sk_archive_delta_new(struct sk_ska_plan *p, int count, struct sk_archive_delta **out,
                         struct saikai_error *err)
{
    struct sk_archive_delta *g = calloc(1, sizeof *g + (size_t)count * sizeof *g->seats);
    if (!g)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to build on %s", p->previous->path);
    g->was = find_files(&p->a, p->previous->a);
    if (!g->was) {
        free(g);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to build on %s", p->previous->path);
    }
    g->p = p;
    g->count = count;
    g->numbers = sk_archive_delta_numbers(p);
    g->copies = has_room(p, SK_COPIES_MEMORY);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->freed, NULL);
    *out = g;
    return 0;
}

int sk_archive_delta_needs(const struct sk_archive_delta *g)
{
    return g ? g->needs : 0;
}

void sk_archive_delta_free(struct sk_archive_delta *g)
{
    if (!g)
        return;
    for (int i = 0; i < g->count; i++) {
        sk_unpacker_free(&g->seats[i].unpacker);
        sk_coder_free(&g->seats[i].room.coder);
        sk_buf_free(&g->seats[i].out);
        sk_buf_free(&g->seats[i].room.piece);
        free(g->seats[i].room.places);
        free(g->seats[i].chances);
    }
    free(g->was);
    pthread_cond_destroy(&g->freed);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

/* 1: one that decodes this block just now will soon be free. */
static int is_soon_there(const struct sk_archive_delta *g, size_t below)
{
    int soon = 0;
    for (int k = 0; k < g->count; k++)
        soon |= g->seats[k].taken && g->seats[k].brief && g->seats[k].below == below;
    return soon;
}

/* One for block i: rather the one that has decoded the block that it builds on. */
static struct seat *take_seat(struct sk_archive_delta *g, size_t i, int brief)
{
    size_t below = g->p->a.blocks[i].previous - 1;
    struct seat *s = NULL;
    pthread_mutex_lock(&g->lock);
    while (!s) {
        for (int k = 0; k < g->count && !is_soon_there(g, below); k++) {
            struct seat *free_one = &g->seats[k];
            if (!free_one->taken && (!s || (free_one->unpacker.held == g->p->previous && free_one->unpacker.held_block == below)))
                s = free_one;
        }
        if (!s)
            pthread_cond_wait(&g->freed, &g->lock);
    }
    s->taken = 1;
    s->brief = brief;
    s->below = below;
    pthread_mutex_unlock(&g->lock);
    return s;
}

static void leave_seat(struct sk_archive_delta *g, struct seat *s)
{
    pthread_mutex_lock(&g->lock);
    g->needs = s->copies ? SK_SKA_COPIES : g->needs;
    s->copies = 0;
    s->taken = 0;
    pthread_cond_broadcast(&g->freed);
    pthread_mutex_unlock(&g->lock);
}

/* ---- one part after the one below ---- */

/* 1: forms whose streams may come after those of the part below. */
static int builds(const struct sk_recipe *r)
{
    return r->form == SK_FORM_BYTES || r->form == SK_FORM_RECORDS || sk_form_apart(r->form);
}

/* The part once more by recipe r behind what is in s->out from `start` on; what is shorter stays. Nothing there: this one. */
static int encode_after(struct seat *s, struct sk_part *p, const struct sk_recipe *r, const struct sk_part *const *below, size_t start,
                        struct saikai_error *err)
{
    size_t end = s->out.len, least = end - start;
    s->room.coder.previous = below;
    s->room.coder.places = s->room.places;
    int rc = sk_block_encode(&s->room.coder, p, 1, r, &s->out, err);
    if (rc || !sk_buf_ok(&s->out))
        return rc ? rc : sk_fail(err, SAIKAI_ENOMEM, "no memory for a block");
    size_t n = s->out.len - end;
    if (least && n < least)
        memmove(s->out.data + start, s->out.data + end, n);
    s->out.len = start + (!least || n < least ? n : least);
    return 0;
}

/* In the order of the file. */
static void in_file_order(struct sk_part *p)
{
    if (p->native && sk_part_foreign(p))
        sk_part_swap(p);
    p->native = !sk_part_foreign(p);
}

/* A part alone; NULL: it need not be made so. */
struct by_itself {
    const uint8_t *data;
    size_t bytes;
};

/* Whether a part may take less as bytes after those below than it takes by now: what it has that is not below takes no less than it does alone, and rows
 * of which nothing repeats there take no less as bytes than as rows. */
static int bytes_may_be_less(struct seat *s, const struct sk_part *p, const struct sk_after_chance *c, const struct sk_part *below, double now)
{
    static const double PERHAPS = 1.1, NEARLY = 0.95, HARDLY = 1.02, CLEARLY = 0.8, SOME = 0.98;
    int text = c->by.form != SK_FORM_ROWS_AFTER, rows = c->alone->form == SK_FORM_ROWS || c->alone->form == SK_FORM_WIDE;
    double alone, after;
    if (c->numbers && c->bytes > 0 && c->alone_bytes > 0) {
        if (text && (1 - sk_after_same_lines(p, below)) * c->alone_bytes >= NEARLY * now)
            return 0;
        if (!text && c->bytes <= CLEARLY * c->alone_bytes) /* rows that stand in another order are not found by columns */
            return sk_after_moved(&s->room, p, below);
    }
    after = sk_after_bytes_take(&s->room, p, below, &alone);
    return after < (rows ? HARDLY : PERHAPS) * now && (!rows || after < SOME * alone);
}

/* 1: alone it hardly shrinks, as what has been compressed. */
static int is_dense(const struct sk_part *p, const struct by_itself *alone)
{
    static const double DENSE = 0.97;
    return alone->data && (double)alone->bytes > DENSE * (double)p->size_bytes;
}

/* Whether a part, which takes so many bytes by now, is to be made as bytes after those below, too. */
static int ask_as_bytes(struct sk_archive_delta *g, struct seat *s, const struct sk_part *p, const struct sk_after_chance *c, const struct by_itself *alone, const struct sk_part *below, size_t now)
{
    static const double CHANGED = 0.85, REPEATS = 1.0 / 64;
    const struct sk_recipe *r = c->alone;
    if (sk_after_is_plain(c, 0) || (sk_ska_plan_strong(g->p) && !is_dense(p, alone)))
        return 1;
    if (!builds(r)) /* of variables, what is somewhere else there */
        return c->numbers && sk_after_is_clear(c) && sk_after_moved(&s->room, p, below);
    /* what filters and records make of bytes is not told by a piece, but that they have been compressed already; where numbers take much less than alone, they
     * have changed, and bytes are others */
    double by_itself = alone->data ? (double)alone->bytes : sk_after_alone(c, now);
    if (is_dense(p, alone) || ((r->form == SK_FORM_RECORDS || (r->form == SK_FORM_BYTES && r->filter)) && (double)now > CHANGED * by_itself))
        return sk_after_repeats(p, below) > REPEATS;
    return bytes_may_be_less(s, p, c, below, (double)now);
}

/* A part once more as copies of bytes below, where pieces say that little of it is new: else they take long to tell what a general compressor tells sooner. Their finder
 * is the coder's then. *are: 1: it was made so. */
static int encode_copies(struct sk_archive_delta *g, struct seat *s, struct sk_part *p, const struct sk_part *const *below, size_t start, int *are, struct saikai_error *err)
{
    static const double MOSTLY_KNOWN[] = {0.25, 0.5}, HARDLY_NEW = 1.0 / 16, WORSE[] = {2, 4}; /* pieces, which begin anew, take up to twice of what all of it takes, or more where that is little */
    int strong = sk_ska_plan_strong(g->p);
    struct sk_recipe copies = {.form = SK_FORM_COPIES, .level = strong ? SK_PACK_BEST : 0};
    size_t n = s->out.len, about;
    int rc = sk_copies_about((*below)->raw, (*below)->size_bytes, p->raw, p->size_bytes, &s->room.coder.copies, &about, err);
    *are = !rc && (double)about <= MOSTLY_KNOWN[strong] * (double)p->size_bytes && (n == start || (double)about < HARDLY_NEW * (double)p->size_bytes || (double)about < WORSE[strong] * (double)(n - start));
    if (*are)
        rc = encode_after(s, p, &copies, below, start, err);
    sk_copies_done(s->room.coder.copies);
    s->room.coder.copies = NULL;
    s->copies |= *are && s->out.len != n;
    return rc;
}

/* A part as bytes after those below, where that is shorter than what it is by now: as copies from there, but for what records make of bytes and what has been compressed,
 * dense. Of plain bytes, such as text, where many short ones are found, a general compressor may leave less. */
static int encode_as_bytes(struct sk_archive_delta *g, struct seat *s, struct sk_part *p, const struct sk_recipe *r, int dense, const struct sk_part *const *below, size_t start,
                           struct saikai_error *err)
{
    struct sk_recipe by = sk_after_bytes(r);
    int can = g->copies && by.form == SK_FORM_BYTES && !dense, plain = r->form == SK_FORM_BYTES && !r->filter && p->type == SAIKAI_U8, are = 0, rc = 0;
    if (can && !plain)
        rc = encode_copies(g, s, p, below, start, &are, err);
    if (!rc && !are)
        rc = encode_after(s, p, &by, below, start, err);
    if (!rc && can && plain)
        rc = encode_copies(g, s, p, below, start, &are, err);
    return rc;
}

/* A part as what it is alone, or after the one below, whichever is shorter. known: its rows are those of its pieces, as same_rows has it. */
static int encode_part(struct sk_archive_delta *g, struct seat *s, struct sk_part *p, const struct sk_after_chance *c, const struct by_itself *alone,
                       int known, const struct sk_part *const *below, struct saikai_error *err)
{
    size_t start = s->out.len;
    const struct sk_recipe *r = c->alone;
    int rc = 0;
    if (alone->data)
        sk_buf_put(&s->out, alone->data, alone->bytes);
    if (!*below || !(*below)->size_bytes || r->form == SK_FORM_TAKE)
        return sk_buf_ok(&s->out) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a block");
    in_file_order(p);
    if (c->numbers && !sk_after_is_plain(c, 1) && (!alone->data || !sk_after_is_hopeless(c, p->size_bytes, alone->bytes))) {
        s->room.coder.same_rows = known;
        rc = encode_after(s, p, &c->by, below, start, err);
    }
    if (!rc && ask_as_bytes(g, s, p, c, alone, *below, s->out.len - start))
        rc = encode_as_bytes(g, s, p, r, is_dense(p, alone), below, start, err);
    return rc;
}

/* About what a part takes alone that has been made after the one below, as s->out has it from `start` on. Where nobody knows, it is made alone in `alone`
 * after all, and that is taken where it is shorter. */
static int expect_alone(struct seat *s, struct sk_coder *c, struct sk_part *parts, int k, const struct sk_after_chance *chance, size_t start, struct sk_buf *alone,
                        struct by_itself *by_itself, double *about, struct saikai_error *err)
{
    size_t before = alone->len, made = s->out.len - start;
    *about = by_itself->data ? (double)by_itself->bytes : sk_after_alone(chance, made);
    if (*about > 0)
        return 0;
    in_file_order(&parts[k]);
    int rc = sk_block_encode_part(c, parts, k, chance->alone, alone, err);
    if (rc)
        return rc;
    *by_itself = (struct by_itself){alone->data + before, alone->len - before};
    *about = (double)by_itself->bytes;
    if (by_itself->bytes < made) {
        s->out.len = start;
        sk_buf_put(&s->out, by_itself->data, by_itself->bytes);
    }
    return sk_buf_ok(&s->out) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a block");
}

/* ---- where things were ---- */

/* A segment of the part below, and where in it that begins. */
struct spot {
    uint32_t file;
    uint64_t offset, bytes, at;
};

static int by_spot(const void *x, const void *y)
{
    const struct spot *a = x, *b = y;
    return SK_ORDER_BY(a->file, b->file, a->offset, b->offset);
}

/* The last one of a file that does not begin behind a place; else its first one; NULL: the file has none. */
static const struct spot *spot_at(const struct spot *list, size_t n, uint32_t file, uint64_t offset)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (list[mid].file < file || (list[mid].file == file && list[mid].offset <= offset))
            low = mid + 1;
        else
            high = mid;
    }
    if (low && list[low - 1].file == file)
        return &list[low - 1];
    return low < n && list[low].file == file ? &list[low] : NULL;
}

/* Of each segment of a part about where it was in the one below: by the file's name and the place in it; of files that have another name
 * as the segment of the same number, or as the same place. */
static int find_places(struct sk_archive_delta *g, struct seat *s, const struct sk_part *p, const struct sk_part *below)
{
    struct spot *list = malloc((below->count + 1) * sizeof *list);
    uint64_t *more = realloc(s->room.places, (p->count + 1) * sizeof *more), at = 0;
    s->room.places = more ? more : s->room.places;
    if (!list || !more) {
        free(list);
        return -1;
    }
    for (size_t k = 0, width = sk_type_size(below->type); k < below->count; k++) {
        const struct sk_ska_segment *x = &below->segments[k];
        uint64_t n = sk_box_count(x->box) * width;
        list[k] = (struct spot){x->file, x->offset, n, at};
        if (below->count == p->count)
            more[k] = at;
        at += n;
    }
    if (below->count)
        qsort(list, below->count, sizeof *list, by_spot);
    at = 0;
    for (size_t k = 0, width = sk_type_size(p->type); k < p->count; k++) {
        const struct sk_ska_segment *x = &p->segments[k];
        const struct spot *was = g->was[x->file] ? spot_at(list, below->count, g->was[x->file] - 1, x->offset) : NULL;
        uint64_t into = was && x->offset > was->offset ? x->offset - was->offset : 0;
        if (was)
            more[k] = was->at + (into < was->bytes ? into : was->bytes);
        else if (below->count != p->count)
            more[k] = at;
        at += sk_box_count(x->box) * width;
    }
    free(list);
    return 0;
}

/* ---- a block ---- */

/* Looks at pieces of all parts of a block. */
static int look_at_parts(struct sk_archive_delta *g, struct seat *s, size_t i, struct sk_part *parts, const struct sk_part *const *below, struct saikai_error *err)
{
    const struct sk_ska_block *b = &g->p->a.blocks[i];
    struct sk_after_chance *more = realloc(s->chances, (b->count + 1) * sizeof *more);
    int rc = more ? 0 : SAIKAI_ENOMEM;
    s->chances = more ? more : s->chances;
    s->rows_of = 0;
    for (uint32_t k = 0; k < b->count && !rc; k++) {
        const struct sk_recipe *r = &g->p->recipes[b->first + k];
        int numbers = g->numbers && below[k] && below[k]->size_bytes && r->form != SK_FORM_TAKE;
        in_file_order(&parts[k]);
        if (numbers)
            rc = find_places(g, s, &parts[k], below[k]);
        if (rc)
            break;
        more[k] = sk_after_look(&s->room, &parts[k], r, numbers, &below[k]);
        s->rows_of = more[k].bytes > 0 ? k + 1 : s->rows_of;
    }
    return rc ? sk_fail(err, SAIKAI_ENOMEM, "no memory for a block's parts") : 0;
}

/* All parts of a block one after another in s->out. Those that have to be seen alone are it in `alone`; *expected: about what all of them
 * would take; *all_alone: 1 if they all have been seen alone. */
static int encode_parts(struct sk_archive_delta *g, struct seat *s, size_t i, struct sk_coder *c, struct sk_part *parts, const struct sk_part *const *below,
                        struct sk_buf *alone, double *expected, int *all_alone, struct saikai_error *err)
{
    const struct sk_ska_block *b = &g->p->a.blocks[i];
    int rc = 0;
    *expected = 0;
    *all_alone = 1;
    for (uint32_t k = 0; k < b->count && !rc; k++) {
        struct sk_part *p = &parts[k];
        const struct sk_after_chance *chance = &s->chances[k];
        struct by_itself by_itself = {NULL, 0};
        size_t start = alone->len, before = s->out.len;
        double about = 0;
        in_file_order(p);
        if (below[k] && find_places(g, s, p, below[k]))
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for a block's parts");
        if (!rc && !sk_after_is_clear(chance) && !sk_after_is_plain(chance, 0)) {
            rc = sk_block_encode_part(c, parts, (int)k, chance->alone, alone, err);
            by_itself = (struct by_itself){alone->data + start, alone->len - start};
        }
        if (!rc)
            rc = encode_part(g, s, p, chance, &by_itself, s->rows_of != k + 1 ? 0 : chance->pieces_alone > 0 ? 2 : 1, &below[k], err);
        if (!rc)
            rc = expect_alone(s, c, parts, (int)k, chance, before, alone, &by_itself, &about, err);
        *all_alone &= by_itself.data != NULL;
        *expected += about;
        sk_log(SK_LOG_DEBUG, "archive: block %zu, part %u, %s: %zu bytes, %.0f alone%s, about %.0f after the set before (of the same pieces alone: %.0f), %zu so far", i, k,
               g->p->a.classes[g->p->a.parts[b->first + k].class].key, p->size_bytes, by_itself.data ? (double)by_itself.bytes : chance->alone_bytes,
               by_itself.data ? "" : " about", chance->bytes, chance->pieces_alone, s->out.len);
    }
    return rc;
}

int sk_archive_delta_encode(struct sk_archive_delta *g, size_t i, struct sk_coder *c, struct sk_part *parts, struct sk_buf *out,
                            struct saikai_error *err)
{
    struct sk_ska_plan *p = g->p;
    struct sk_ska_block *b = &p->a.blocks[i];
    const struct sk_part *const *below;
    struct seat *s = take_seat(g, i, 0);
    double expected = 0;
    int all_alone = 0, worth = 0;
    int rc = sk_unpack_alike(&s->unpacker, p->previous, &p->a, i, &below, err);
    if (rc)
        sk_error_prefix(err, "cannot build on %s (without it, this archive stands alone)",
                        p->previous->path);
    s->out.len = 0;
    s->copies = 0;
    out->len = 0;
    if (!rc)
        rc = look_at_parts(g, s, i, parts, below, err);
    if (!rc && (worth = !sk_after_saves_too_little(s->chances, b->count)))
        rc = encode_parts(g, s, i, c, parts, below, out, &expected, &all_alone, err);
    s->room.coder.previous = NULL;
    s->room.coder.places = NULL;
    if (!rc && worth && (double)s->out.len < expected * (1 - SK_AFTER_SAVES + (all_alone ? 0 : SK_AFTER_ERRS))) {
        struct sk_buf other = *out;
        *out = s->out;
        s->out = other;
    } else if (!rc && worth && all_alone) {
        s->copies = 0;
        b->previous = 0;
    } else if (!rc) {
        s->copies = 0;
        b->previous = 0;
        out->len = 0;
        for (uint32_t k = 0; k < b->count; k++)
            in_file_order(&parts[k]);
        rc = sk_block_encode(c, parts, (int)b->count, &p->recipes[b->first], out, err);
    }
    leave_seat(g, s);
    return rc;
}

static int same_bytes(const struct sk_part *p, const struct sk_recipe *r, const struct sk_part *below)
{
    size_t at = 0;
    for (size_t k = 0; k < r->take_count; k++) {
        const struct sk_take *t = &r->takes[k];
        if (memcmp(p->raw + at, below[t->part].raw + t->at, t->bytes))
            return 0;
        at += t->bytes;
    }
    return 1;
}

/* How far a block below has been looked through. */
struct cursor {
    uint32_t part, segment;
    uint64_t at;
};

/* 1: the bytes of a take are whole segments of the block below, as the hashes of these say; 0: they are others, or no whole ones. Takes come in the
 * order of the bytes below. */
static int is_by_hash(const struct sk_ska *a, const struct sk_ska_block *below, const struct sk_take *t, const uint8_t *raw, struct cursor *c)
{
    const struct sk_ska_part *part = &a->parts[below->first + t->part];
    uint64_t end = t->at + t->bytes;
    if (c->part != t->part || c->at > t->at)
        *c = (struct cursor){t->part, 0, 0};
    for (; c->segment < part->count && c->at < end; c->segment++) {
        const struct sk_ska_segment *s = &a->segments[part->first + c->segment];
        uint64_t n = sk_ska_segment_bytes(a, part, s);
        if (c->at >= t->at ? n > end - c->at || sk_hash64(raw + (c->at - t->at), n) != s->hash : n > t->at - c->at)
            return 0;
        c->at += n;
    }
    return c->at == end;
}

static int same_by_hash(const struct sk_ska *a, const struct sk_ska_block *below, const struct sk_part *p, const struct sk_recipe *r)
{
    struct cursor c = {0, 0, 0};
    const uint8_t *raw = p->raw;
    for (size_t k = 0; k < r->take_count; raw += r->takes[k++].bytes)
        if (!is_by_hash(a, below, &r->takes[k], raw, &c))
            return 0;
    return 1;
}

/* Whether all parts of block i are what is below: by hashes; where these do not tell, by its bytes. */
static int is_below(struct sk_archive_delta *g, struct seat *s, size_t i, const struct sk_part *parts, int *same, struct saikai_error *err)
{
    struct sk_ska_plan *p = g->p;
    const struct sk_ska_block *b = &p->a.blocks[i];
    const struct sk_part *const *alike;
    int rc = sk_unpack_check(&s->unpacker, p->previous, b->previous - 1, err);
    *same = 1;
    for (uint32_t k = 0; k < b->count && *same && !rc; k++)
        *same = same_by_hash(p->previous->a, &p->previous->a->blocks[b->previous - 1], &parts[k], &p->recipes[b->first + k]);
    if (rc || *same)
        return rc;
    rc = sk_unpack_alike(&s->unpacker, p->previous, &p->a, i, &alike, err);
    *same = 1;
    for (uint32_t k = 0; k < b->count && !rc; k++)
        *same = *same && same_bytes(&parts[k], &p->recipes[b->first + k], s->unpacker.below.parts);
    return rc;
}

int sk_archive_delta_take(struct sk_archive_delta *g, size_t i, struct sk_part *parts, struct sk_buf *out,
                          struct saikai_error *err)
{
    struct sk_ska_plan *p = g->p;
    struct sk_ska_block *b = &p->a.blocks[i];
    struct sk_recipe plain = {.form = SK_FORM_BYTES, .backend = SK_BACKEND_ZSTD};
    const struct sk_recipe *r = &p->recipes[b->first];
    struct seat *s = take_seat(g, i, 1);
    int same, rc = is_below(g, s, i, parts, &same, err);
    if (rc)
        sk_error_prefix(err, "cannot build on %s (without it, this archive stands alone)", p->previous->path);
    if (!rc && same)
        rc = sk_block_encode(&s->room.coder, parts, (int)b->count, r, out, err);
    for (uint32_t k = 0; k < b->count && !rc && !same; k++)
        rc = sk_block_encode(&s->room.coder, parts + k, 1, &plain, out, err);
    if (!same)
        b->previous = 0;
    leave_seat(g, s);
    return rc;
}
