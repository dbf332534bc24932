/* Builds the candidates for a field (stencils, ratios, sums, quotients, columns) and prices each by
 * encoding the samples with it. */
#include "archive/plan/sample/predictors.h"

#include "codec/residual/residual.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RATIO_STARTS = SK_SAMPLE_FIELDS, QUOTIENT_STARTS = 2 };

static double value_of(const struct sk_sample_set *s, int box, int field, size_t i)
{
    return s->width == 64 ? ((const double *)(const void *)s->values[box][field])[i]
                          : (double)((const float *)(const void *)s->values[box][field])[i];
}

/* ---- pricing ---- */

static void count_symbols(const uint8_t *symbols, struct sk_stencil_box b, size_t first_plane, uint32_t *h)
{
    size_t z0 = b.nz > first_plane ? first_plane : 0, y0 = b.ny > 1, x0 = b.ny == 1 && b.nx > 1;
    for (size_t z = z0; z < b.nz; z++)
        for (size_t y = y0; y < b.ny; y++)
            for (size_t x = x0; x < b.nx; x++)
                h[symbols[(z * b.ny + y) * b.nx + x]]++;
}

static void fields_of(const struct sk_search *f, int box, struct sk_field *fields)
{
    for (int i = 0; i < f->s->fields; i++)
        fields[i] = (struct sk_field){f->s->values[box][i], f->s->width};
}

static void encode_columns(struct sk_search *f, const struct sk_field_predictor *w, int box,
                           const struct sk_field *fields)
{
    struct sk_stencil_box b = f->s->box[box], one = {1, b.ny, b.nx};
    size_t plane = b.ny * b.nx;
    memset(f->sums, 0, sk_columns_scratch(b));
    for (size_t z = 0, at = 0; z < b.nz; z++, at += plane) {
        const uint8_t *x = f->s->values[box][w->field] + at * (size_t)(f->s->width / 8);
        uint8_t *bits = f->bits;
        if (z >= 2)
            sk_columns_eval(&w->relation, fields, at, plane, f->sums, f->P);
        sk_predict_encode(x, f->s->width, one, z >= 2 ? f->P : NULL, w->stencil, w->weights,
                          f->symbols + at, &bits, f->scratch);
        sk_columns_learn(&w->relation, fields, at, plane, x, f->s->width, f->sums);
    }
}

/* Bits per value of the samples this predictor; the borders, which have no neighbours, do not
 * count. */
static double price(struct sk_search *f, const struct sk_field_predictor *w)
{
    uint32_t h[SK_SYMBOLS] = {0};
    double n = 0;
    for (int i = 0; i < f->s->boxes; i++) {
        struct sk_field fields[SK_SAMPLE_FIELDS];
        struct sk_stencil_box b = f->s->box[i];
        uint8_t *bits = f->bits;
        fields_of(f, i, fields);
        if (w->relation.kind == SK_RELATION_COLUMNS) {
            encode_columns(f, w, i, fields);
        } else {
            int rel = w->relation.kind != SK_RELATION_NONE;
            if (rel)
                sk_relation_eval(&w->relation, fields, 0, sk_box_count(b), f->P);
            sk_predict_encode(f->s->values[i][w->field], f->s->width, b, rel ? f->P : NULL,
                              w->stencil, w->weights, f->symbols, &bits, f->scratch);
        }
        count_symbols(f->symbols, b, w->relation.kind == SK_RELATION_COLUMNS ? 2 : 1, h);
    }
    for (int i = 0; i < SK_SYMBOLS; i++)
        n += h[i];
    return n > 0 ? sk_residual_cost(h) / n : 64;
}

/* Price a predictor with each of some stencils and keep the best, if it beats the field alone. */
static double consider(struct sk_search *f, struct sk_field_predictor w, const int *stencils, int n)
{
    double best = 1e9;
    int stencil = 0;
    for (int i = 0; i < n; i++) {
        w.stencil = stencils[i];
        double bits = price(f, &w);
        if (bits < best) {
            best = bits;
            stencil = stencils[i];
        }
    }
    w.stencil = stencil;
    w.bits = best;
    w.uses = 0;
    for (int i = 0; i < f->s->fields; i++)
        w.uses |= (uint32_t)sk_relation_uses(&w.relation, i) << i;
    if (f->count < f->limit &&
        (w.relation.kind == SK_RELATION_NONE || best + 0.25 < f->alone[w.field]))
        f->predictors[f->count++] = w;
    return best;
}

static const int with_relation[] = {SK_STENCIL_NONE, SK_STENCIL_X, SK_STENCIL_XYZ}; /* stencils tried on what a relation leaves */

/* Count one sample box into the normal equations: each point weighs as much as its neighbours are
 * small, because what is coded is a relative error. */
static void add_normal(const struct sk_search *f, int box, int field,
                       double a[SK_NEIGHBOURS][SK_NEIGHBOURS], double b[SK_NEIGHBOURS])
{
    struct sk_stencil_box n = f->s->box[box];
    size_t row = n.nx, plane = n.ny * n.nx;
    for (size_t z = 1; z < n.nz; z++)
        for (size_t y = 1; y < n.ny; y++)
            for (size_t x = 1; x < n.nx; x++) {
                size_t i = z * plane + y * row + x;
                const size_t at[SK_NEIGHBOURS] = {i - plane,          i - row,       i - 1,
                                                  i - plane - row,    i - plane - 1, i - row - 1,
                                                  i - plane - row - 1};
                double v[SK_NEIGHBOURS], t = value_of(f->s, box, field, i);
                int good = t != 0 && isfinite(t);
                for (int k = 0; k < SK_NEIGHBOURS; k++) {
                    v[k] = value_of(f->s, box, field, at[k]);
                    good = good && v[k] != 0 && isfinite(v[k]);
                }
                double w = 1 / (fabs(v[0]) + fabs(v[1]) + fabs(v[2]));
                for (int k = 0; k < SK_NEIGHBOURS && good; k++) {
                    b[k] += w * w * v[k] * t;
                    for (int l = 0; l <= k; l++)
                        a[k][l] += w * w * v[k] * v[l];
                }
            }
}

static void try_fitted(struct sk_search *f, int field)
{
    static const int fitted[] = {SK_STENCIL_FITTED};
    double a[SK_NEIGHBOURS][SK_NEIGHBOURS] = {{0}};
    struct sk_field_predictor w = {.field = field};
    for (int i = 0; i < f->s->boxes; i++)
        add_normal(f, i, field, a, w.weights);
    if (sk_normal_solve(a, w.weights))
        return;
    for (int k = 0; k < SK_NEIGHBOURS; k++)
        if (!isfinite(w.weights[k]))
            return;
    double bits = consider(f, w, fitted, 1);
    f->alone[field] = bits < f->alone[field] ? bits : f->alone[field];
}

static void try_alone(struct sk_search *f, int field)
{
    static const int all[] = {SK_STENCIL_X,   SK_STENCIL_XY,   SK_STENCIL_XYZ,    SK_STENCIL_ZYX,
                              SK_STENCIL_YZX, SK_STENCIL_MEAN, SK_STENCIL_MASKED, SK_STENCIL_NONE};
    f->alone[field] = consider(f, (struct sk_field_predictor){.field = field}, all, 8);
    try_fitted(f, field);
}

static void try_ratios(struct sk_search *f, int field)
{
    for (int y = 0; y < f->s->fields; y++) {
        if (y == field)
            continue;
        struct sk_field_predictor w = {.field = field,
                                       .relation = {.kind = SK_RELATION_QUOTIENT, .num = 1}};
        w.relation.term[0] = (struct sk_term){1, y, -1};
        f->ratio[field][y] = consider(f, w, with_relation + 1, 2);
    }
}

/* ---- sums and quotients ---- */

/* Points spread over all boxes; those where the target is zero are of no use to relative errors. */
static void pick_points(struct sk_search *f)
{
    int per_box = (int)SK_MATCHING_POINTS / f->s->boxes;
    f->n_points = 0;
    for (int b = 0; b < f->s->boxes; b++) {
        size_t n = sk_box_count(f->s->box[b]);
        int k = n < (size_t)per_box ? (int)n : per_box;
        for (int i = 0; i < k; i++) {
            size_t at = (size_t)i * n / (size_t)k;
            for (int field = 0; field < f->s->fields; field++)
                f->points[field][f->n_points] = value_of(f->s, b, field, at);
            f->n_points++;
        }
    }
}

static double term_at(const struct sk_search *f, const struct sk_term *t, int i)
{
    double v = t->a >= 0 ? f->points[t->a][i] : 1;
    return t->b >= 0 ? v * f->points[t->b][i] : v;
}

/* Make one feature: a term divided by the target. */
static void add_feature(struct sk_search *f, int a, int b, const double *target, const int *use,
                        int n)
{
    struct sk_matching_pursuit *p = &f->pursuit;
    if (p->count == SK_MATCHING_FEATURES)
        return;
    struct sk_term t = {1, a, b};
    double *v = f->feature[p->count];
    for (int i = 0; i < n; i++)
        v[i] = term_at(f, &t, use[i]) / target[i];
    f->terms[p->count] = t;
    p->feature[p->count++] = v;
}

/* The points at which a target can be used. */
static int usable(const double *target, int n, int *use, double *packed)
{
    int k = 0;
    for (int i = 0; i < n; i++)
        if (target[i] != 0 && isfinite(target[i])) {
            use[k] = i;
            packed[k++] = target[i];
        }
    return k;
}

/* The terms that the pursuit holds now, as a sum. */
static int take_terms(const struct sk_search *f, struct sk_term *out)
{
    double c[SK_MATCHING_TERMS];
    sk_matching_pursuit_solve(&f->pursuit, c);
    for (int k = 0; k < f->pursuit.terms; k++) {
        out[k] = f->terms[f->pursuit.chosen[k]];
        out[k].c = c[k];
    }
    return f->pursuit.terms;
}

/* The fields by how well their ratio predicts this one. */
static int best_partners(const struct sk_search *f, int field, int *out, int max)
{
    int n = 0;
    for (int y = 0; y < f->s->fields; y++) {
        if (y == field)
            continue;
        int at = n < max ? n++ : max;
        for (; at > 0 && f->ratio[field][y] < f->ratio[field][out[at - 1]]; at--)
            if (at < max)
                out[at] = out[at - 1];
        if (at < max)
            out[at] = y;
    }
    return n;
}

/* A field as a quotient of sums of others: their terms are taken one by one, and tried whenever the rest is much smaller than before. */
static void try_sums(struct sk_search *f, int field)
{
    double target[SK_MATCHING_POINTS];
    int use[SK_MATCHING_POINTS], partners[RATIO_STARTS];
    struct sk_matching_pursuit *p = &f->pursuit;
    int starts = best_partners(f, field, partners, RATIO_STARTS);
    p->count = 0;
    p->n = usable(f->points[field], f->n_points, use, target);
    if (p->n < 24)
        return;
    for (int y = 0; y < f->s->fields; y++)
        if (y != field)
            add_feature(f, y, -1, target, use, p->n);
    for (int y = 0; y < f->s->fields; y++)
        if (y != field)
            add_feature(f, y, y, target, use, p->n);
    double least =
        1e-3; /* only a fit that is a good deal better than any before deserves its price */
    for (int i = 0; i < starts; i++) {
        struct sk_field_predictor w = {.field = field, .relation = {.kind = SK_RELATION_QUOTIENT}};
        sk_matching_pursuit_start(p);
        for (int k = 0; k < SK_MATCHING_TERMS; k++) {
            int first = partners[i] < field ? partners[i] : partners[i] - 1;
            if (sk_matching_pursuit_step(p, k ? -1 : first))
                break;
            if (k && p->rest < least / 4) {
                least = p->rest;
                w.relation.num = take_terms(f, w.relation.term);
                consider(f, w, with_relation, 3);
            }
            if (p->rest < 1e-15)
                break;
        }
    }
}

/* x = y z / (sum of terms): found as y z / x = sum of terms. */
static void try_quotients(struct sk_search *f, int field)
{
    double inverse[SK_MATCHING_POINTS], target[SK_MATCHING_POINTS];
    int use[SK_MATCHING_POINTS], partners[QUOTIENT_STARTS];
    struct sk_matching_pursuit *p = &f->pursuit;
    struct sk_field_predictor best = {.field = field};
    double least = 1e-3;
    int starts = best_partners(f, field, partners, QUOTIENT_STARTS);
    for (int i = 0; i < starts; i++)
        for (int z = 0; z < f->s->fields; z++) {
            int y = partners[i];
            if (z == field || z == y)
                continue;
            for (int k = 0; k < f->n_points; k++)
                inverse[k] = f->points[y][k] * f->points[z][k] / f->points[field][k];
            p->count = 0;
            p->n = usable(inverse, f->n_points, use, target);
            if (p->n < 24)
                continue;
            int first = -1;
            for (int j = 0; j < f->s->fields; j++)
                if (j != field && j != y) {
                    first = j == z ? p->count : first;
                    add_feature(f, j, -1, target, use, p->n);
                }
            sk_matching_pursuit_start(p);
            for (int k = 0; k < 4 && !sk_matching_pursuit_step(p, k ? -1 : first); k++)
                if (k && p->rest < least / 2) {
                    least = p->rest;
                    best.relation = (struct sk_relation){.kind = SK_RELATION_QUOTIENT, .num = 1};
                    best.relation.term[0] = (struct sk_term){1, y, z};
                    best.relation.den = take_terms(f, best.relation.under);
                }
        }
    if (best.relation.kind)
        consider(f, best, with_relation, 3);
}

/* ---- columns ---- */

/* Root mean square error, relative to the field, of plane 2 from planes 0 and 1 over some columns.
 */
static double column_error(const struct sk_search *f, int x, int a, int b)
{
    struct sk_stencil_box box = f->s->box[0];
    size_t plane = box.ny * box.nx, step = plane / 24 ? plane / 24 : 1;
    double wrong = 0, all = 0;
    for (size_t i = 0; i < plane; i += step) {
        double v[3][3];
        for (size_t z = 0; z < 3; z++) {
            v[z][0] = value_of(f->s, 0, a, i + z * plane);
            v[z][1] = value_of(f->s, 0, b, i + z * plane);
            v[z][2] = value_of(f->s, 0, x, i + z * plane);
        }
        double det = v[0][0] * v[1][1] - v[0][1] * v[1][0];
        double u = (v[0][2] * v[1][1] - v[0][1] * v[1][2]) / det,
               w = (v[0][0] * v[1][2] - v[0][2] * v[1][0]) / det;
        double e = u * v[2][0] + w * v[2][1] - v[2][2];
        if (isfinite(e)) {
            wrong += e * e;
            all += v[2][2] * v[2][2];
        }
    }
    return all > 0 ? sqrt(wrong / all) : 1;
}

static void try_columns(struct sk_search *f, int field)
{
    static const int stencils[] = {SK_STENCIL_NONE, SK_STENCIL_XY};
    if (f->s->box[0].nz < 3)
        return;
    for (int a = 0; a < f->s->fields; a++)
        for (int b = a + 1; b < f->s->fields; b++) {
            if (a == field || b == field || !(column_error(f, field, a, b) < 1e-4))
                continue;
            struct sk_field_predictor w = {.field = field,
                                           .relation = {.kind = SK_RELATION_COLUMNS, .num = 2}};
            w.relation.term[0] = (struct sk_term){1, a, -1};
            w.relation.term[1] = (struct sk_term){1, b, -1};
            consider(f, w, stencils, 2);
        }
}

/* ---- all of it ---- */

static int has_room(struct sk_search *f)
{
    size_t count = 1, scratch = 1, sums = 1;
    for (int i = 0; i < f->s->boxes; i++) {
        struct sk_stencil_box b = f->s->box[i];
        size_t n = sk_box_count(b), w = sk_predict_scratch(b), l = sk_columns_scratch(b);
        count = n > count ? n : count;
        scratch = w > scratch ? w : scratch;
        sums = l > sums ? l : sums;
    }
    f->predictors = malloc(SK_PREDICTORS * sizeof *f->predictors);
    f->points = malloc(SK_SAMPLE_FIELDS * sizeof *f->points);
    f->symbols = malloc(count);
    f->bits = malloc(sk_predict_max_bits(count, 64));
    f->P = malloc(count * sizeof(double));
    f->scratch = malloc(scratch);
    f->sums = malloc(sums);
    return f->predictors && f->points && f->symbols && f->bits && f->P && f->scratch && f->sums;
}

void sk_search_free(struct sk_search *f)
{
    if (!f)
        return;
    free(f->predictors);
    free(f->points);
    free(f->symbols);
    free(f->bits);
    free(f->P);
    free(f->scratch);
    free(f->sums);
    free(f);
}

struct sk_search *sk_search_new(const struct sk_sample_set *s)
{
    struct sk_search *f = calloc(1, sizeof *f);
    if (f)
        f->s = s;
    if (f && !has_room(f)) {
        sk_search_free(f);
        f = NULL;
    }
    return f;
}

void sk_search_try(struct sk_search *f, int field)
{
    f->limit = f->count + SK_FIELD_PREDICTORS;
    try_alone(f, field);
    if (f->s->fields == 1)
        return;
    if (!f->n_points)
        pick_points(f);
    try_ratios(f, field);
    try_sums(f, field);
    try_quotients(f, field);
    try_columns(f, field);
}
