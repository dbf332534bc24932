/* Samples decide: which bytes of a family or a class are looked at, and what follows from them. */
#include "archive/plan/sample/sample.h"
#include "archive/plan/sample/sample_bytes.h"
#include "archive/plan/sample/select.h"

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

/* How the general compressor must do on a sample of values to be considered, and to be chosen,
 * relative to what prediction is expected to leave. */
static const double NEAR = 0.9, CLEARLY = 0.75;

/* ---- families ---- */

/* A sub-box of about `most` values: a few planes of a few whole rows, `place` quarters of the way
 * into the box. Few fields are looked at more closely than many. */
static struct sk_stencil_box sub_box(struct sk_stencil_box b, size_t most, size_t place, struct sk_stencil_box *at)
{
    struct sk_stencil_box s;
    s.nz = b.nz < SAMPLE_PLANES ? b.nz : SAMPLE_PLANES;
    if (sk_box_count(b) <= most)
        s.nz = b.nz;
    most /= s.nz;
    s.nx = b.nx < most ? b.nx : most;
    if (b.ny > 1 && s.nx > most / 4)
        s.nx = b.nx < most / 4 ? b.nx : most / 4;
    s.ny = most / s.nx < b.ny ? most / s.nx : b.ny;
    *at = (struct sk_stencil_box){(b.nz - s.nz) * place / 4, (b.ny - s.ny) * place / 4,
                          (b.nx - s.nx) * place / 4};
    return s;
}

static size_t values_of(size_t fields)
{
    size_t n = (fields > MANY_FIELDS ? SAMPLE_VALUES : SAMPLE_VALUES * 3 / 4) / fields;
    return n < SAMPLE_LEAST ? SAMPLE_LEAST : n > SAMPLE_MOST ? SAMPLE_MOST : n;
}

/* The rows of a sub-box, appended to the ranges; those that follow each other are one. */
static size_t sub_box_ranges(uint32_t file, uint64_t offset, struct sk_stencil_box b, struct sk_stencil_box s,
                             struct sk_stencil_box at, size_t width, uint8_t *to, struct sk_ska_range *out)
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
    struct sk_stencil_box at, sub = sub_box(b->box, values_of(f->fields), place, &at);
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

struct named {
    const char *name;
    size_t member;
};

static int by_name(const void *x, const void *y)
{
    const struct named *a = x, *b = y;
    int c = strcmp(a->name, b->name);
    return c ? c : (a->member > b->member) - (a->member < b->member);
}

/* The largest member at two places, and others spread over the list: sorted by the names of their files, so that
 * it does not matter how many ranks give these. */
static int pick_members(const struct sk_ska_plan *p, const struct sk_family *f, size_t *out, int *n)
{
    size_t largest = 0, many = f->fields > MANY_FIELDS, m = f->members;
    struct named *list = malloc((m + 1) * sizeof *list);
    if (!list)
        return SAIKAI_ENOMEM;
    for (size_t i = 0; i < m; i++)
        list[i] = (struct named){p->a.files[p->bundles[f->first + i].file].name, i};
    qsort(list, m, sizeof *list, by_name);
    for (size_t i = 0; i < m; i++)
        if (sk_box_count(p->bundles[f->first + list[i].member].box) >
            sk_box_count(p->bundles[f->first + list[largest].member].box))
            largest = i;
    int twice = sk_box_count(p->bundles[f->first + list[largest].member].box) > 2 * values_of(f->fields);
    /* few fields are looked at in more members */
    size_t others[] = {largest, many ? m / 3 : m / 7, many ? m * 4 / 5 : m / 3, m * 3 / 5, m * 4 / 5};
    int most = many ? 3 : 5;
    *n = 0;
    for (int i = 0; i < most; i++) {
        int seen = 0;
        for (int k = 0; k < *n; k++)
            seen |= out[k] == list[others[i]].member;
        if (!seen)
            out[(*n)++] = list[others[i]].member;
    }
    if (twice)
        out[(*n)++] = list[largest].member;
    free(list);
    return 0;
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

/* One field's samples, box by box. */
static size_t field_bytes(const struct sk_sample_set *s, int field, struct sk_buf *out)
{
    out->len = 0;
    for (int i = 0; i < s->boxes; i++)
        sk_buf_put(out, s->values[i][field], sk_box_count(s->box[i]) * (size_t)(s->width / 8));
    return out->len;
}

/* Values that repeat are better left to the general compressor: try it on the samples of each
 * field. What it leaves must be clearly less, as it gains from a whole field but little over a
 * sample. *near: of how many fields gzip leaves no more than what was chosen. */
static int prefer_bytes(const struct sk_sample_set *s, struct sk_family *f, const double *bits,
                        int *near)
{
    static const int filters[2][2] = {{SK_FILTER_NONE, SK_FILTER_SHUFFLE4},
                                      {SK_FILTER_NONE, SK_FILTER_SHUFFLE8}};
    struct sk_coder c = {0};
    struct sk_buf all = {0};
    for (int part = 0; part < s->fields; part++) {
        size_t n = field_bytes(s, f->order[part], &all), least = n, gzipped;
        double expected = bits[part] / s->width * (double)n;
        struct sk_recipe best = {.form = SK_FORM_BYTES, .backend = SK_BACKEND_ZSTD, .level = 1};
        struct sk_part one = {.type = SAIKAI_U8, .count = 0, .raw = all.data, .size_bytes = n};
        for (int k = 0; k < 2 && sk_buf_ok(&all) && n; k++)
            sk_try_bytes(&c, &one, filters[s->width == 64][k], 1, &best, &least);
        if (!sk_buf_ok(&all) || (double)least > NEAR * expected)
            continue;
        sk_try_levels(&c, &one, &best, &least, 0, &gzipped);
        int clearly = (double)least < CLEARLY * expected;
        if (clearly)
            f->recipes[part] = best;
        *near += (double)gzipped <= (clearly ? (double)least : expected);
    }
    int ok = sk_buf_ok(&all);
    sk_buf_free(&all);
    sk_coder_free(&c);
    return ok ? 0 : SAIKAI_ENOMEM;
}

/* The members of a family of one field, as the bytes they are; NULL: no memory. */
static struct sk_ska_segment *members_of(const struct sk_ska_plan *p, const struct sk_family *f)
{
    size_t width = sk_type_size(p->a.classes[f->classes[0]].type);
    struct sk_ska_segment *s = malloc((f->members + 1) * sizeof *s);
    for (size_t i = 0; i < f->members && s; i++) {
        const struct sk_bundle *b = &p->bundles[f->first + i];
        s[i] = (struct sk_ska_segment){b->file, p->offsets[b->first], {1, 1, sk_box_count(b->box) * width}, 0};
    }
    return s;
}

/* One record after another may be the steps of a trajectory, also where they were taken for longer numbers than they are. */
static int steps_of_records(struct sk_ska_plan *p, struct sk_family *f, double share, struct saikai_error *err)
{
    struct sk_stencil_box b = p->bundles[f->first].box;
    if (f->fields > 1 || f->members < 2 || b.ny > 1 || b.nz > 1)
        return 0;
    struct sk_ska_segment *s = members_of(p, f);
    int rc = s ? sk_try_frames(p, s, f->members, &f->recipes[0], &share, err) : sk_fail(err, SAIKAI_ENOMEM, "no memory for a sample");
    if (!rc && f->recipes[0].form == SK_FORM_FRAMES)
        f->recipes[0].share = share;
    free(s);
    return rc;
}

static int sample_floats(struct sk_ska_plan *p, struct sk_family *f, int type,
                         struct saikai_error *err)
{
    struct sk_sample_set s = {.fields = (int)f->fields, .width = type == SAIKAI_F64 ? 64 : 32};
    size_t members[SK_SAMPLE_BOXES];
    double bits[SK_SAMPLE_FIELDS];
    int near = 0, rc = pick_members(p, f, members, &s.boxes);
    for (int i = 0; i < s.boxes && !rc; i++)
        rc = sample_bundle(p, f, &p->bundles[f->first + members[i]], i, 1 + (size_t)i % 3, &s, err);
    if (!rc)
        rc = sk_select_predictors(&s, p->threads, f->recipes, f->order, bits);
    if (!rc)
        rc = prefer_bytes(&s, f, bits, &near);
    for (size_t i = 0; i < f->fields && !rc; i++)
        f->recipes[i].share = f->recipes[i].form == SK_FORM_PREDICT ? bits[i] / s.width : 0;
    if (!rc)
        rc = steps_of_records(p, f, bits[0] / s.width, err);
    if (!rc)
        report(p, f, bits);
    for (size_t m = 0; m < f->members && near; m++)
        p->near_bytes +=
            (uint64_t)near * sk_box_count(p->bundles[f->first + m].box) * (uint64_t)(s.width / 8);
    for (int i = 0; i < s.boxes; i++)
        for (int k = 0; k < s.fields; k++)
            free(s.values[i][k]);
    return rc;
}

/* Variables that no prediction is for: as the bytes they are. */
static int sample_elements(struct sk_ska_plan *p, struct sk_family *f, struct saikai_error *err)
{
    struct sk_ska_segment *s = members_of(p, f);
    if (!s)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a sample");
    int rc = sk_sample_bytes(p, f->classes[0], s, f->members, &f->recipes[0], err);
    free(s);
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
    } else if (c->fields && c->type == SAIKAI_F64) {
        f->recipes[0] =
            (struct sk_recipe){.form = SK_FORM_FIELDS, .backend = SK_BACKEND_ZSTD, .level = 3};
    } else {
        rc = sample_elements(p, f, err);
    }
    p->sample_seconds += sk_now() - t0;
    return rc;
}
