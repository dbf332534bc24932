/* Samples of bytes decide which form, filter and compressor a class of them gets. */
#include "archive/plan/sample/sample_bytes.h"

#include "archive/coding/block.h"
#include "base/clock.h"
#include "base/log.h"
#include "codec/general/gzip_least.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_BYTES = 192 << 10, TOO_SMALL = 64 << 10, TOO_SMALL_TEXT = 4 << 10, PIECES = 8, MOST_PIECES = 512, STRONG = 6 };

/* Append n bytes of a segment from a place on to the sample. */
static void take(struct sk_part *sample, struct sk_ska_segment *taken, struct sk_ska_range *r, uint8_t *raw, const struct sk_ska_segment *s, uint64_t from, uint64_t n)
{
    struct sk_ska_segment *t = &taken[sample->count];
    *t = *s;
    t->offset += from;
    t->box.nx = n;
    r[sample->count++] = (struct sk_ska_range){t->file, t->offset, n, raw + sample->size_bytes};
    sample->size_bytes += n;
}

/* Pieces of two files of the class, as one part of as many segments: from four places of each, at
 * multiples of 64 bytes; of records from the beginning alone, because they are not found from
 * within. What is short, such as what lies between the variables of a file, says nothing without those that follow it. taken: of MOST_PIECES. */
static int read_pieces(struct sk_ska_plan *p, const struct sk_ska_segment *segments, size_t count,
                       int records, uint8_t *to, struct sk_ska_segment *taken, struct sk_part *sample,
                       struct saikai_error *err)
{
    enum { SHORT = 32 << 10 };
    struct sk_ska_range r[MOST_PIECES];
    *sample = (struct sk_part){.type = SAIKAI_U8, .segments = taken, .raw = to};
    for (size_t i = 0; i < 2; i++) {
        size_t first = count * (2 * i + 1) / 4, end = i ? count : count * 3 / 4, before = sample->size_bytes;
        const struct sk_ska_segment *s = &segments[first];
        uint64_t bytes = s->box.nx, places = records || bytes < SAMPLE_BYTES ? 1 : PIECES / 2,
                 most = SAMPLE_BYTES / 2 / places;
        if (i && first == count / 4)
            break;
        for (uint64_t k = 0; k < places; k++)
            take(sample, taken, r, to, s, bytes / places * k / 64 * 64, bytes < most ? bytes : most);
        for (size_t k = first + 1; k < end && sample->size_bytes - before < SHORT && sample->count < MOST_PIECES * (i + 1) / 2; k++)
            take(sample, taken, r, to, &segments[k], 0, segments[k].box.nx < SHORT ? segments[k].box.nx : SHORT);
    }
    return sk_feed_fetch(p->feed, r, sample->count, err);
}

/* Bytes that a recipe leaves of a part; all of them when it cannot. */
static size_t try_one(struct sk_coder *c, struct sk_part *part, const struct sk_recipe *r)
{
    struct sk_buf out = {0};
    c->trial = 1;
    size_t n = sk_block_encode(c, part, 1, r, &out, NULL) ? part->size_bytes : out.len;
    sk_buf_free(&out);
    return n;
}

void sk_try_bytes(struct sk_coder *c, struct sk_part *part, int filter, int level,
                  struct sk_recipe *best, size_t *least)
{
    struct sk_recipe r = *best;
    r.form = SK_FORM_BYTES;
    r.filter = filter;
    r.level = level;
    size_t n = try_one(c, part, &r);
    if (n < *least) {
        *least = n;
        *best = r;
    }
}

/* Bits that a code for single bytes takes for one of n. */
static double bits_of(const uint8_t *in, size_t n)
{
    uint32_t count[256] = {0};
    double bits = 0;
    for (size_t i = 0; i < n; i++)
        count[in[i]]++;
    for (int v = 0; v < 256; v++)
        bits -= count[v] ? count[v] * log2((double)count[v] / (double)n) : 0;
    return n ? bits / (double)n : 0;
}

/* 1: nearly all of it is so evenly spread over all values that no form finds numbers in it: it has been compressed already. */
static int is_dense(const struct sk_part *part)
{
    enum { RUN = 4 << 10, OTHERS = 8 };
    static const double FLAT = 7.88; /* of a run chance takes 0.045 of the bits, one byte of 32 that is always the same 0.09 more */
    size_t runs = part->size_bytes / RUN, flat = 0;
    for (size_t i = 0; i < runs; i++)
        flat += bits_of(part->raw + i * RUN, RUN) > FLAT;
    return flat >= runs - runs / OTHERS;
}

/* 1: a code for single bytes, as gzip makes one for each 32 KiB or so, takes more than it saves. */
static int is_random(const struct sk_part *part)
{
    static const double SAVES = 0.01, CHANCE = 184; /* bits for a byte; and what chance takes from all of them (255 / (2 ln 2)) */
    return bits_of(part->raw, part->size_bytes) > 8 - SAVES - CHANCE / (double)part->size_bytes;
}

/* About what gzip leaves, or less, of a sample of which r leaves more than it: it takes long, and a quarter of the sample mostly tells that it leaves no less, often
 * without it. 0: it may. */
static size_t no_less_by_gzip(struct sk_coder *c, const struct sk_part *part, const struct sk_recipe *plain, const struct sk_recipe *r)
{
    enum { SHARE = 4, WORDS = 64 };
    struct sk_part some = *part;
    struct sk_recipe quick = *r;
    struct sk_gzip_least least = {0};
    some.size_bytes = part->size_bytes / SHARE / WORDS * WORDS;
    some.raw += (part->size_bytes - some.size_bytes) / 2 / WORDS * WORDS;
    some.count = 0;
    quick.level = 1;
    if (r->form != SK_FORM_BYTES || some.size_bytes < TOO_SMALL / SHARE / 2)
        return 0;
    size_t by_quick = try_one(c, &some, &quick), by_gzip = (size_t)sk_gzip_least(&least, some.raw, 0, some.size_bytes);
    sk_gzip_least_free(&least);
    if (by_gzip < by_quick)
        by_gzip = try_one(c, &some, plain);
    return by_gzip >= by_quick ? (size_t)((double)by_gzip / (double)some.size_bytes * (double)part->size_bytes) : 0;
}

void sk_try_levels(struct sk_coder *c, struct sk_part *part, struct sk_recipe *best, size_t *least, size_t plain_bytes, size_t *gzipped)
{
    enum { AT_MOST = 3 }; /* times less than zstd's first level: what gzip leaves */
    int gzip = sk_backend_here(SK_BACKEND_GZIP);
    struct sk_recipe plain = {.form = SK_FORM_BYTES, .backend = gzip, .level = 6}, usual = *best;
    /* what shrinks a lot is quick to compress: spend more on it */
    usual.level = *least * 6 < part->size_bytes ? 9 : *least * 3 < part->size_bytes * 2 ? 6 : 3;
    struct sk_recipe strong = usual, other = usual;
    strong.level = 9;
    other.backend = gzip;
    other.level = 6;
    size_t by_plain = gzip < 0 ? *least : plain_bytes / AT_MOST > *least ? plain_bytes / AT_MOST : no_less_by_gzip(c, part, &plain, best), by_other;
    by_plain = !by_plain ? try_one(c, part, &plain) : by_plain < *least ? *least : by_plain;
    by_other = by_plain;
    *best = usual;
    *gzipped = by_plain;
    if (by_plain >= *least) /* the usual level is no worse than the lowest one was */
        return;
    if (usual.filter || usual.form != SK_FORM_BYTES)
        by_other = try_one(c, part, &other);
    size_t least_gzip = by_other < by_plain ? by_other : by_plain, n = try_one(c, part, &usual);
    if (n > least_gzip && usual.level < strong.level) {
        *best = strong;
        n = try_one(c, part, &strong);
    }
    if (n > least_gzip)
        *best = by_other < by_plain ? other : plain;
    *least = n > least_gzip ? least_gzip : n;
}

/* Try Fortran records on the sample: what follows one beginning is longer than a sample, so that
 * known records are trusted unless taking them apart does harm. 1: they shrink so much that nothing
 * else needs to be tried. */
static int try_records(struct sk_coder *c, struct sk_part *part, struct sk_recipe *r, size_t *least)
{
    enum { A_LOT = 12 };
    struct sk_recipe apart = *r;
    apart.form = SK_FORM_RECORDS;
    apart.level = 1;
    size_t n = try_one(c, part, &apart);
    if (n >= part->size_bytes / A_LOT) {
        sk_try_bytes(c, part, SK_FILTER_NONE, 1, r, least);
        if (n >= *least + *least / 16)
            return 0;
    }
    *least = n;
    *r = apart;
    r->level = 9;
    return n < part->size_bytes / A_LOT;
}

/* What numbers of text by column leave of a sample, and how; SIZE_MAX: it does not look like that. */
static size_t try_text(struct sk_coder *c, struct sk_part *part, struct sk_recipe *text)
{
    if (!sk_text_likely(part->raw, part->size_bytes))
        return SIZE_MAX;
    *text = (struct sk_recipe){.form = sk_text_has_labels(part->raw, part->size_bytes) ? SK_FORM_LABELLED : SK_FORM_TEXT, .backend = SK_BACKEND_ZSTD, .level = 6};
    return try_one(c, part, text);
}

/* Rows of structures, against what *r leaves of the same two pieces, by how much they must gain: of more it would take long to find them. */
static void try_rows(struct sk_coder *c, const struct sk_part *part, double gain, struct sk_recipe *r, size_t *least)
{
    size_t all = part->count > PIECES, from = all ? 0 : part->count > 3 ? 1 : part->count - 1, n = all ? part->count : part->count > 3 ? 2 : 1;
    struct sk_part some = *part;
    struct sk_recipe rows = {.form = SK_FORM_ROWS, .backend = SK_BACKEND_ZSTD, .level = STRONG};
    some.size_bytes = 0;
    for (size_t i = 0; i < from; i++)
        some.raw += part->segments[i].box.nx;
    some.segments += from;
    some.count = n;
    for (size_t i = 0; i < n; i++)
        some.size_bytes += some.segments[i].box.nx;
    rows.level = r->backend == SK_BACKEND_ZSTD ? r->level : STRONG;
    size_t with = try_one(c, &some, &rows), without = try_one(c, &some, r);
    if ((double)with >= (1 - gain) * (double)without)
        return;
    rows.level = rows.level > STRONG ? rows.level : STRONG;
    *least = (size_t)((double)*least * (double)with / (double)without);
    *r = rows;
}

/* Try forms and filters on the sample; the best one to *r. Returns its bytes; *gzipped: those of
 * gzip, many when it was not tried. */
static size_t try_all(struct sk_part *part, int text, int records, struct sk_recipe *r, size_t *gzipped)
{
    static const int filters[] = {SK_FILTER_DELTA4, SK_FILTER_SHUFFLE4, SK_FILTER_SHUFFLE8,
                                  SK_FILTER_DELTA4_SHUFFLE4, SK_FILTER_DELTA8_SHUFFLE8};
    enum { GAIN = 12, FAR = 3 };
    static const double BY_ROWS = 1.0 / 64, CLEARLY = 1.0 / 24;
    struct sk_recipe by_text = {0};
    struct sk_coder c = {0};
    size_t least = part->size_bytes, before;
    int done = records && try_records(&c, part, r, &least);
    *gzipped = SIZE_MAX;
    if (!records)
        sk_try_bytes(&c, part, SK_FILTER_NONE, 1, r, &least);
    size_t as_text = text ? try_text(&c, part, &by_text) : SIZE_MAX;
    if (r->form == SK_FORM_BYTES && as_text < least - least / FAR) { /* nothing else comes near it */
        sk_coder_free(&c);
        *r = by_text;
        return as_text;
    }
    before = least;
    for (size_t i = 0; i < sizeof filters / sizeof *filters && r->form == SK_FORM_BYTES; i++) {
        /* a change of order must gain something: it costs time and what the window would have
         * found */
        struct sk_recipe now = *r;
        size_t n = least - before / 32;
        sk_try_bytes(&c, part, filters[i], 1, &now, &n);
        if (n < least - before / 32) {
            least = n;
            *r = now;
        }
    }
    if (!records && as_text == SIZE_MAX && !r->filter && is_dense(part)) {
        sk_coder_free(&c);
        r->level = 3;
        if (least == part->size_bytes && is_random(part)) /* gzip makes it longer */
            *gzipped = part->size_bytes + 1;
        return least;
    }
    /* of what hardly shrinks more thorough a search finds little more */
    if (text && as_text == SIZE_MAX && r->form == SK_FORM_BYTES && !r->filter && least > part->size_bytes / 2) {
        try_rows(&c, part, CLEARLY, r, &least);
        done = r->form == SK_FORM_ROWS;
    }
    if (!done)
        sk_try_levels(&c, part, r, &least, records ? 0 : before, gzipped);
    /* what numbers leave hardly depends on how much there is, and a general compressor leaves less of more */
    if (r->form == SK_FORM_BYTES && as_text < least - least / GAIN) {
        by_text.level = r->backend == SK_BACKEND_ZSTD ? r->level : by_text.level;
        least = as_text;
        *r = by_text;
    }
    if (text && !sk_form_apart(r->form) && !done)
        try_rows(&c, part, BY_ROWS, r, &least);
    sk_coder_free(&c);
    return least;
}

/* Wide rows, which few of are in a piece: against what *r leaves of a longer one, from the middle of a file. */
static int try_wide(struct sk_ska_plan *p, const struct sk_ska_segment *segments, size_t count, uint8_t *sample, struct sk_recipe *r,
                    size_t *least, struct saikai_error *err)
{
    struct sk_ska_segment s = segments[count / 4];
    uint64_t bytes = s.box.nx, n = bytes < SAMPLE_BYTES ? bytes : SAMPLE_BYTES;
    struct sk_part part = {.type = SAIKAI_U8, .segments = &s, .count = 1, .raw = sample, .size_bytes = (size_t)n};
    struct sk_recipe wide = {.form = SK_FORM_WIDE, .backend = SK_BACKEND_ZSTD, .level = STRONG};
    struct sk_coder c = {0};
    s.offset += (bytes - n) / 2 / 64 * 64;
    s.box.nx = n;
    int rc = sk_feed_fetch(p->feed, &(struct sk_ska_range){s.file, s.offset, (size_t)n, sample}, 1, err);
    if (!rc && sk_rows_are_wide(sample, (size_t)n)) {
        size_t with = try_one(&c, &part, &wide), without = try_one(&c, &part, r);
        if (with < without - without / 32) {
            *least = (size_t)((double)*least * (double)with / (double)without);
            *r = wide;
        }
    }
    sk_coder_free(&c);
    return rc;
}

/* The beginning of a class to in[0, n), as far as its segments go; *got: how much that is. */
static int read_beginning(struct sk_ska_plan *p, const struct sk_ska_segment *segments, size_t count, uint8_t *in, size_t n, size_t *got, struct saikai_error *err)
{
    enum { MANY = 8192 };
    struct sk_ska_range *r = malloc(MANY * sizeof *r);
    size_t k = 0;
    *got = 0;
    for (; k < count && k < MANY && *got < n && r; k++) {
        size_t bytes = segments[k].box.nx < n - *got ? (size_t)segments[k].box.nx : n - *got;
        r[k] = (struct sk_ska_range){segments[k].file, segments[k].offset, bytes, in + *got};
        *got += bytes;
    }
    int rc = r ? sk_feed_fetch(p->feed, r, k, err) : sk_fail(err, SAIKAI_ENOMEM, "no memory for a sample");
    free(r);
    return rc;
}

/* What a quick compressor leaves of a byte of in[0, n) that comes a step or more after others. Of much, a step in the middle tells. 0: no memory. */
static double after_a_step(const uint8_t *in, size_t n, size_t distance)
{
    enum { QUICK = 1, LEAST = 256 << 10, WORDS = 64 };
    struct sk_packer packer = {0};
    size_t some = distance > LEAST ? distance : (LEAST + distance - 1) / distance * distance, stored = n;
    int backend = SK_BACKEND_ZSTD, all = 3 * some > n;
    if (!all) {
        in += (n - 2 * some) / 2 / WORDS * WORDS;
        packer.before = in;
        packer.before_bytes = some;
        in += some;
    }
    some = all ? n : some;
    uint8_t *to = malloc(sk_pack_bound(some));
    int rc = to ? sk_pack(&packer, &backend, all ? QUICK | SK_PACK_LONG : QUICK, in, some, to, &stored, NULL) : SAIKAI_ENOMEM;
    sk_packer_free(&packer);
    free(to);
    return rc ? 0 : (double)stored / (double)some;
}

int sk_try_frames(struct sk_ska_plan *p, const struct sk_ska_segment *segments, size_t count, struct sk_recipe *r, double *share, struct saikai_error *err)
{
    enum { LEAST = 64 << 10 };
    static const double LESS = 0.95, SOME = 0.125;
    uint64_t some = 0, most = p->opt.memory_bytes / 16 < SK_FRAMES_LOOKED_AT ? p->opt.memory_bytes / 16 : SK_FRAMES_LOOKED_AT;
    for (size_t i = 0; i < count && some < most; i++)
        some += segments[i].box.nx;
    some = some < most ? some : most;
    if (some < LEAST || *share < SOME)
        return 0;
    struct sk_frames_layout l;
    uint8_t *in = malloc(some);
    size_t n = 0;
    int rc = in ? read_beginning(p, segments, count, in, (size_t)some, &n, err) : sk_fail(err, SAIKAI_ENOMEM, "no memory for a sample");
    double left = !rc && sk_frames_find(in, n, &l) ? l.bits / 8 : 1;
    if (!rc && left < LESS * *share && left < LESS * after_a_step(in, n, l.distance)) {
        *r = (struct sk_recipe){.form = SK_FORM_FRAMES, .backend = SK_BACKEND_ZSTD, .level = STRONG, .steps = l};
        *share = left;
    }
    free(in);
    return rc;
}

/* A sample does not tell which of two is better that leave about the same of it. */
static void compare_with_gzip(struct sk_ska_plan *p, uint64_t all, size_t sample, size_t least,
                              size_t gzipped)
{
    if (gzipped < SIZE_MAX && least >= gzipped - gzipped / 32)
        p->near_bytes += all;
    if (gzipped < SIZE_MAX && gzipped > sample)
        p->dense_bytes += all;
}

/* Few bytes, such as the lines that have come since the archive before: all of them are the sample, and text is the only
 * other form that pays for so few. */
static int sample_few(struct sk_ska_plan *p, const struct sk_ska_segment *segments, size_t count, size_t all,
                      struct sk_recipe *recipe, struct saikai_error *err)
{
    enum { GAIN = 32 };
    struct sk_ska_range *r = malloc(count * sizeof *r);
    uint8_t *sample = malloc(all);
    struct sk_part part = {.type = SAIKAI_U8, .segments = segments, .count = count, .raw = sample, .size_bytes = all};
    struct sk_recipe text;
    struct sk_coder c = {0};
    uint8_t *to = sample;
    for (size_t i = 0; i < count && r && sample; to += segments[i++].box.nx)
        r[i] = (struct sk_ska_range){segments[i].file, segments[i].offset, segments[i].box.nx, to};
    int rc = r && sample ? sk_feed_fetch(p->feed, r, count, err) : sk_fail(err, SAIKAI_ENOMEM, "no memory for a sample");
    size_t as_text = rc ? SIZE_MAX : try_text(&c, &part, &text);
    if (as_text < SIZE_MAX) {
        size_t plain = try_one(&c, &part, recipe);
        text.level = recipe->level;
        *recipe = as_text < plain - plain / GAIN ? text : *recipe;
    }
    sk_coder_free(&c);
    free(sample);
    free(r);
    return rc;
}

int sk_sample_bytes(struct sk_ska_plan *p, uint32_t class_index,
                    const struct sk_ska_segment *segments, size_t count, struct sk_recipe *recipe,
                    struct saikai_error *err)
{
    struct sk_ska_segment taken[MOST_PIECES];
    struct sk_part part;
    uint64_t all = 0;
    double t0 = sk_now();
    *recipe = (struct sk_recipe){.form = SK_FORM_BYTES, .backend = SK_BACKEND_ZSTD, .level = 9};
    for (size_t i = 0; i < count; i++)
        all += segments[i].box.nx;
    int bytes = p->a.classes[class_index].type == SAIKAI_U8;
    /* at most a quarter of the memory is for this */
    int text = bytes && p->opt.memory_bytes / 4 >= (uint64_t)p->threads * (SK_TEXT_MEMORY + SK_ROWS_MEMORY);
    if (all < TOO_SMALL) {
        p->near_bytes += all;
        int rc = text && all >= TOO_SMALL_TEXT ? sample_few(p, segments, count, (size_t)all, recipe, err) : 0;
        p->sample_seconds += sk_now() - t0;
        return rc;
    }
    uint8_t *sample = malloc(SAMPLE_BYTES);
    if (!sample)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a sample");
    const char *form = p->scans[segments[0].file].form;
    int fortran = bytes && form && !strcmp(form, sk_reader_fortran.name);
    int rc = read_pieces(p, segments, count, fortran, sample, taken, &part, err);
    if (!rc) {
        size_t gzipped, least = try_all(&part, text, fortran, recipe, &gzipped);
        if (text && !fortran && recipe->form == SK_FORM_BYTES && sk_rows_are_wide(sample, taken[0].box.nx))
            rc = try_wide(p, segments, count, sample, recipe, &least, err);
        recipe->share = (double)least / (double)part.size_bytes;
        if (!rc && recipe->form != SK_FORM_TEXT && recipe->form != SK_FORM_LABELLED && sk_frames_likely(sample, part.size_bytes)) {
            double share = recipe->share;
            rc = sk_try_frames(p, segments, count, recipe, &share, err);
            recipe->share = share;
            least = (size_t)(share * (double)part.size_bytes);
        }
        compare_with_gzip(p, all, part.size_bytes, least, gzipped);
        sk_log(SK_LOG_DEBUG,
               "archive: %s: form %d, filter %d, backend %d, level %d, sample %zu of %zu",
               p->a.classes[class_index].key, recipe->form, recipe->filter, recipe->backend,
               recipe->level, least, part.size_bytes);
    }
    free(sample);
    p->sample_seconds += sk_now() - t0;
    return rc;
}
