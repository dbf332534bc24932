/* Samples decide: which bytes of a family or a class are looked at, and what follows from them. */
#include "archive/plan.h"
#include "archive/relate.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANY_FIELDS = 9,
    SAMPLE_VALUES = 12000,
    SAMPLE_LEAST = 700,
    SAMPLE_MOST = 6000,
    SAMPLE_PLANES = 4
};

/* ---- families ---- */

/* A sub-box of about `most` values: a few planes of a few whole rows, `place` quarters of the way
 * into the box. Few fields are looked at more closely than many. */
static struct sk_box sub_box(struct sk_box b, size_t most, size_t place, struct sk_box *at)
{
    struct sk_box s;
    s.nz = b.nz < SAMPLE_PLANES ? b.nz : SAMPLE_PLANES;
    if (sk_box_count(b) <= most)
        s.nz = b.nz;
    most /= s.nz;
    s.nx = b.nx < most ? b.nx : most;
    if (b.ny > 1 && s.nx > most / 4)
        s.nx = b.nx < most / 4 ? b.nx : most / 4;
    s.ny = most / s.nx < b.ny ? most / s.nx : b.ny;
    *at = (struct sk_box){(b.nz - s.nz) * place / 4, (b.ny - s.ny) * place / 4,
                          (b.nx - s.nx) * place / 4};
    return s;
}

static size_t values_of(size_t fields)
{
    size_t n = (fields > MANY_FIELDS ? SAMPLE_VALUES : SAMPLE_VALUES * 3 / 4) / fields;
    return n < SAMPLE_LEAST ? SAMPLE_LEAST : n > SAMPLE_MOST ? SAMPLE_MOST : n;
}

/* The rows of a sub-box, appended to the ranges; those that follow each other are one. */
static size_t sub_box_ranges(uint32_t file, uint64_t offset, struct sk_box b, struct sk_box s,
                             struct sk_box at, size_t width, uint8_t *to, struct sk_ska_range *out)
{
    size_t n = 0, rows = s.nx == b.nx ? s.ny : 1, bytes = rows * s.nx * width;
    for (size_t z = 0; z < s.nz; z++)
        for (size_t y = 0; y < s.ny; y += rows) {
            size_t first = ((at.nz + z) * b.ny + at.ny + y) * b.nx + at.nx;
            out[n++] = (struct sk_ska_range){file, offset + first * width, bytes, to};
            to += bytes;
        }
    return n;
}

static int sample_bundle(struct sk_ska_plan *p, const struct sk_family *f,
                         const struct sk_bundle *b, int box, size_t place, struct sk_sample_set *s,
                         struct saikai_error *err)
{
    const struct sk_ska_class *c = &p->a.classes[f->classes[0]];
    struct sk_box at, sub = sub_box(b->box, values_of(f->fields), place, &at);
    size_t width = sk_type_size(c->type), n = sk_box_count(sub) * width, ranges = 0;
    struct sk_ska_range *r = malloc((size_t)s->fields * sub.nz * sub.ny * sizeof *r);
    int rc = r ? 0 : SAIKAI_ENOMEM;
    s->box[box] = sub;
    for (int i = 0; i < s->fields && !rc; i++) {
        s->values[box][i] = malloc(n);
        if (!s->values[box][i])
            rc = SAIKAI_ENOMEM;
        else
            ranges += sub_box_ranges(b->file, p->offsets[b->first + (size_t)i], b->box, sub, at,
                                     width, s->values[box][i], r + ranges);
    }
    rc = rc ? sk_fail(err, rc, "no memory for a sample") : sk_feed_fetch(p->feed, r, ranges, err);
    for (int i = 0; i < s->fields && !rc; i++)
        if (c->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
            sk_swap_elements(s->values[box][i], n, width);
    free(r);
    return rc;
}

/* The largest member at two places, and others spread over the list. */
static void pick_members(const struct sk_ska_plan *p, const struct sk_family *f, size_t *out,
                         int *n)
{
    size_t largest = 0;
    for (size_t i = 0; i < f->members; i++)
        if (sk_box_count(p->bundles[f->first + i].box) >
            sk_box_count(p->bundles[f->first + largest].box))
            largest = i;
    int twice = sk_box_count(p->bundles[f->first + largest].box) > 2 * values_of(f->fields);
    /* few fields are looked at in more members */
    size_t many = f->fields > MANY_FIELDS, m = f->members;
    size_t others[] = {largest, many ? m / 3 : m / 7, many ? m * 4 / 5 : m / 3, m * 3 / 5,
                       m * 4 / 5};
    int most = many ? 3 : 5;
    *n = 0;
    for (int i = 0; i < most; i++) {
        int seen = 0;
        for (int k = 0; k < *n; k++)
            seen |= out[k] == others[i];
        if (!seen)
            out[(*n)++] = others[i];
    }
    if (twice)
        out[(*n)++] = largest;
}

static void report(const struct sk_ska_plan *p, const struct sk_family *f, const double *bits)
{
    for (size_t i = 0; i < f->fields; i++) {
        const struct sk_recipe *r = &f->recipes[i];
        char text[256];
        int n = snprintf(text, sizeof text, "%s: %.1f bits, stencil %d",
                         p->a.classes[f->classes[f->order[i]]].key, bits[i], r->stencil);
        for (int t = 0; t < r->relation.num && n < (int)sizeof text; t++)
            n += snprintf(text + n, sizeof text - (size_t)n, " %+.6g*%d*%d", r->relation.term[t].c,
                          r->relation.term[t].a, r->relation.term[t].b);
        for (int t = 0; t < r->relation.den && n < (int)sizeof text; t++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s %+.6g*%d*%d", t ? "" : " /",
                          r->relation.under[t].c, r->relation.under[t].a, r->relation.under[t].b);
        sk_log(SK_LOG_DEBUG, "archive: part %zu, %s", i, text);
    }
}

/* Values that repeat are better left to the general compressor: try it on the samples of each
 * field. */
static int prefer_bytes(const struct sk_sample_set *s, struct sk_family *f, const double *bits)
{
    static const int filters[2][2] = {{SK_FILTER_NONE, SK_FILTER_SHUFFLE4},
                                      {SK_FILTER_NONE, SK_FILTER_SHUFFLE8}};
    struct sk_coder c = {0};
    struct sk_buf all = {0}, out = {0};
    for (int part = 0; part < s->fields; part++) {
        size_t values = 0;
        all.len = 0;
        for (int i = 0; i < s->boxes; i++) {
            size_t n = sk_box_count(s->box[i]);
            sk_buf_put(&all, s->values[i][f->order[part]], n * (size_t)(s->width / 8));
            values += n;
        }
        for (int k = 0; k < 2 && sk_buf_ok(&all) && values; k++) {
            struct sk_recipe r = {.form = SK_FORM_BYTES, .backend = SK_BACKEND_ZSTD, .level = 1};
            struct sk_part one = {
                .type = SAIKAI_U8, .count = 0, .raw = all.data, .size_bytes = all.len};
            r.filter = filters[s->width == 64][k];
            out.len = 0;
            if (!sk_block_encode(&c, &one, 1, &r, &out, NULL) &&
                8.0 * (double)out.len < 0.75 * bits[part] * (double)values) {
                f->recipes[part] = r;
                f->recipes[part].level = 3;
                break;
            }
        }
    }
    int ok = sk_buf_ok(&all) && sk_buf_ok(&out);
    sk_buf_free(&all);
    sk_buf_free(&out);
    sk_coder_free(&c);
    return ok ? 0 : SAIKAI_ENOMEM;
}

static int sample_floats(struct sk_ska_plan *p, struct sk_family *f, int type,
                         struct saikai_error *err)
{
    struct sk_sample_set s = {.fields = (int)f->fields, .width = type == SAIKAI_F64 ? 64 : 32};
    size_t members[SK_RELATE_BOXES];
    double bits[SK_RELATE_FIELDS];
    int rc = 0;
    pick_members(p, f, members, &s.boxes);
    for (int i = 0; i < s.boxes && !rc; i++)
        rc = sample_bundle(p, f, &p->bundles[f->first + members[i]], i, 1 + (size_t)i % 3, &s, err);
    if (!rc)
        rc = sk_relate(&s, p->threads, f->recipes, f->order, bits);
    if (!rc)
        rc = prefer_bytes(&s, f, bits);
    if (!rc)
        report(p, f, bits);
    for (int i = 0; i < s.boxes; i++)
        for (int k = 0; k < s.fields; k++)
            free(s.values[i][k]);
    return rc;
}

int sk_sample_family(struct sk_ska_plan *p, struct sk_family *f, struct saikai_error *err)
{
    const struct sk_ska_class *c = &p->a.classes[f->classes[0]];
    double t0 = sk_now();
    int rc = 0;
    f->recipes = calloc(f->fields, sizeof *f->recipes);
    f->order = calloc(f->fields, sizeof *f->order);
    if (!f->recipes || !f->order)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for recipes");
    if (!c->fields && (c->type == SAIKAI_F64 || c->type == SAIKAI_F32)) {
        rc = sample_floats(p, f, c->type, err);
    } else {
        f->recipes[0] =
            (struct sk_recipe){.form = SK_FORM_BYTES, .backend = SK_BACKEND_ZSTD, .level = 3};
        if (c->fields && c->type == SAIKAI_F64)
            f->recipes[0].form = SK_FORM_FIELDS;
        else if (c->type == SAIKAI_I32 || c->type == SAIKAI_U32)
            f->recipes[0].filter = SK_FILTER_DELTA4;
    }
    p->sample_seconds += sk_now() - t0;
    return rc;
}

/* ---- bytes ---- */

enum { SAMPLE_BYTES = 192 << 10, TOO_SMALL = 64 << 10 };

/* The beginnings of two files of the class, as one part of two segments. */
static int read_beginnings(struct sk_ska_plan *p, const struct sk_ska_segment *segments,
                           size_t count, uint8_t *to, struct sk_ska_segment *taken, size_t *n,
                           struct saikai_error *err)
{
    size_t picks[] = {count / 4, count * 3 / 4};
    struct sk_ska_range r[2];
    *n = 0;
    for (int i = 0; i < 2; i++) {
        const struct sk_ska_segment *s = &segments[picks[i]];
        if (i && picks[1] == picks[0])
            break;
        taken[i] = *s;
        if (taken[i].box.nx > SAMPLE_BYTES / 2)
            taken[i].box.nx = SAMPLE_BYTES / 2;
        r[i] = (struct sk_ska_range){s->file, s->offset, taken[i].box.nx, to};
        to += taken[i].box.nx;
        ++*n;
    }
    return sk_feed_fetch(p->feed, r, *n, err);
}

/* Try forms and filters on the sample; the best one to *r. Returns its bytes. */
static size_t try_all(struct sk_part *part, int records, struct sk_recipe *r)
{
    static const struct {
        int form, filter;
    } tried[] = {
        {SK_FORM_BYTES, SK_FILTER_NONE},           {SK_FORM_RECORDS, SK_FILTER_NONE},
        {SK_FORM_BYTES, SK_FILTER_DELTA4},         {SK_FORM_BYTES, SK_FILTER_SHUFFLE4},
        {SK_FORM_BYTES, SK_FILTER_SHUFFLE8},       {SK_FORM_BYTES, SK_FILTER_DELTA4_SHUFFLE4},
        {SK_FORM_BYTES, SK_FILTER_DELTA8_SHUFFLE8}};
    struct sk_coder c = {0};
    struct sk_buf out = {0};
    size_t least = part->size_bytes;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        struct sk_recipe now = *r;
        /* what follows one beginning is longer than a sample: known records are trusted */
        if (records != (tried[i].form == SK_FORM_RECORDS))
            continue;
        now.form = tried[i].form;
        now.filter = tried[i].filter;
        now.level = 1;
        out.len = 0;
        /* a change of order must gain something: it costs time and what the window would have found
         */
        if (!sk_block_encode(&c, part, 1, &now, &out, NULL) &&
            out.len < least - (i ? least / 32 : 0)) {
            least = out.len;
            r->form = now.form;
            r->filter = now.filter;
        }
    }
    sk_buf_free(&out);
    sk_coder_free(&c);
    return least;
}

int sk_sample_bytes(struct sk_ska_plan *p, uint32_t class_index,
                    const struct sk_ska_segment *segments, size_t count, struct sk_recipe *recipe,
                    struct saikai_error *err)
{
    struct sk_ska_segment taken[2];
    uint64_t all = 0;
    size_t n;
    double t0 = sk_now();
    recipe->backend = SK_BACKEND_ZSTD;
    for (size_t i = 0; i < count; i++)
        all += segments[i].box.nx;
    recipe->level = 9;
    if (all < TOO_SMALL)
        return 0;
    uint8_t *sample = malloc(SAMPLE_BYTES);
    if (!sample)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a sample");
    int rc = read_beginnings(p, segments, count, sample, taken, &n, err);
    if (!rc) {
        struct sk_part part = {.type = SAIKAI_U8, .segments = taken, .count = n, .raw = sample};
        part.size_bytes = taken[0].box.nx + (n > 1 ? taken[1].box.nx : 0);
        const char *form = p->scans[segments[0].file].form;
        int fortran = form && !strcmp(form, sk_reader_fortran.name);
        size_t least = try_all(&part, fortran, recipe);
        /* what shrinks a lot is quick to compress: spend more on it */
        recipe->level = least * 6 < part.size_bytes ? 9 : least * 3 < part.size_bytes ? 6 : 3;
        sk_log(SK_LOG_DEBUG, "archive: %s: form %d, filter %d, level %d, sample %zu of %zu",
               p->a.classes[class_index].key, recipe->form, recipe->filter, recipe->level, least,
               part.size_bytes);
    }
    free(sample);
    p->sample_seconds += sk_now() - t0;
    return rc;
}
