/* Evaluates relations between variables point by point, learns the weights of column relations, and
 * writes and reads relations as bytes. */
#include "archive/coding/relation.h"

#include <string.h>

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define WIDE
#endif

enum { STRIP = 512 }; /* values at a time: stays in the first cache */

static void load(const struct sk_field *f, size_t at, size_t n, double *out)
{
    if (f->width == 64)
        memcpy(out, (const double *)f->x + at, n * sizeof *out);
    else
        for (size_t i = 0; i < n; i++)
            out[i] = ((const float *)f->x)[at + i];
}

WIDE static void multiply(double *restrict v, const double *restrict f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] *= f[i];
}
WIDE static void add_scaled(double *restrict sum, const double *restrict v, double c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += c * v[i];
}
WIDE static void divide(double *restrict v, const double *restrict by, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = v[i] / by[i];
}

static void sum_terms(const struct sk_term *t, int terms, const struct sk_field *fields, size_t at,
                      size_t n, double *sum)
{
    double v[STRIP], f[STRIP];
    memset(sum, 0, n * sizeof *sum);
    for (int i = 0; i < terms; i++) {
        if (t[i].a >= 0)
            load(&fields[t[i].a], at, n, v);
        else
            for (size_t k = 0; k < n; k++)
                v[k] = 1.0;
        if (t[i].b >= 0) {
            load(&fields[t[i].b], at, n, f);
            multiply(v, f, n);
        }
        add_scaled(sum, v, t[i].c, n);
    }
}

void sk_relation_eval(const struct sk_relation *r, const struct sk_field *fields, size_t at,
                      size_t n, double *P)
{
    for (size_t done = 0; done < n;) {
        size_t k = n - done < STRIP ? n - done : STRIP;
        double under[STRIP];
        sum_terms(r->term, r->num, fields, at + done, k, P + done);
        if (r->den) {
            sum_terms(r->under, r->den, fields, at + done, k, under);
            divide(P + done, under, k);
        }
        done += k;
    }
}

/* ---- columns ---- */

size_t sk_columns_scratch(struct sk_stencil_box b)
{
    return 5 * b.ny * b.nx * sizeof(double);
}

WIDE static void solve(const double *restrict s, size_t plane, size_t i0, size_t n,
                       const double *restrict a, const double *restrict b, double *restrict P)
{
    const double *aa = s + i0, *ab = aa + plane, *bb = ab + plane, *ax = bb + plane,
                 *bx = ax + plane;
    for (size_t i = 0; i < n; i++) {
        double det = aa[i] * bb[i] - ab[i] * ab[i];
        double u = ax[i] * bb[i] - bx[i] * ab[i], v = bx[i] * aa[i] - ax[i] * ab[i];
        P[i] = (u * a[i] + v * b[i]) / det;
    }
}

WIDE static void learn(double *restrict s, size_t plane, size_t i0, size_t n,
                       const double *restrict a, const double *restrict b, const double *restrict x)
{
    double *aa = s + i0, *ab = aa + plane, *bb = ab + plane, *ax = bb + plane, *bx = ax + plane;
    for (size_t i = 0; i < n; i++) {
        aa[i] += a[i] * a[i];
        ab[i] += a[i] * b[i];
        bb[i] += b[i] * b[i];
        ax[i] += a[i] * x[i];
        bx[i] += b[i] * x[i];
    }
}

void sk_columns_eval(const struct sk_relation *r, const struct sk_field *fields, size_t at,
                     size_t plane, const double *sums, double *P)
{
    double a[STRIP], b[STRIP];
    for (size_t i = 0; i < plane; i += STRIP) {
        size_t n = plane - i < STRIP ? plane - i : STRIP;
        load(&fields[r->term[0].a], at + i, n, a);
        load(&fields[r->term[1].a], at + i, n, b);
        solve(sums, plane, i, n, a, b, P + i);
    }
}

void sk_columns_learn(const struct sk_relation *r, const struct sk_field *fields, size_t at,
                      size_t plane, const void *x, int width, double *sums)
{
    double a[STRIP], b[STRIP], v[STRIP];
    struct sk_field self = {x, width};
    for (size_t i = 0; i < plane; i += STRIP) {
        size_t n = plane - i < STRIP ? plane - i : STRIP;
        load(&fields[r->term[0].a], at + i, n, a);
        load(&fields[r->term[1].a], at + i, n, b);
        load(&self, i, n, v);
        learn(sums, plane, i, n, a, b, v);
    }
}

/* ---- as bytes ---- */

static void put_terms(struct sk_buf *out, const struct sk_term *t, int n)
{
    sk_buf_put_u8(out, (uint8_t)n);
    for (int i = 0; i < n; i++) {
        sk_buf_put_f64(out, t[i].c);
        sk_buf_put_u16(out, (uint16_t)(t[i].a + 1));
        sk_buf_put_u16(out, (uint16_t)(t[i].b + 1));
    }
}

static int get_terms(struct sk_rd *in, struct sk_term *t, int *n, int parts)
{
    *n = sk_rd_u8(in);
    if (*n > SK_TERMS)
        return SAIKAI_EDAMAGED;
    for (int i = 0; i < *n; i++) {
        t[i].c = sk_rd_f64(in);
        t[i].a = sk_rd_u16(in) - 1;
        t[i].b = sk_rd_u16(in) - 1;
        if (t[i].a >= parts || t[i].b >= parts)
            return SAIKAI_EDAMAGED;
    }
    return 0;
}

void sk_relation_put(struct sk_buf *out, const struct sk_relation *r)
{
    sk_buf_put_u8(out, (uint8_t)r->kind);
    if (r->kind == SK_RELATION_NONE)
        return;
    put_terms(out, r->term, r->num);
    put_terms(out, r->under, r->den);
}

int sk_relation_get(struct sk_rd *in, struct sk_relation *r, int parts)
{
    *r = (struct sk_relation){0};
    r->kind = sk_rd_u8(in);
    if (r->kind == SK_RELATION_NONE)
        return in->bad ? SAIKAI_EDAMAGED : 0;
    if (r->kind >= SK_RELATION_KINDS || get_terms(in, r->term, &r->num, parts) ||
        get_terms(in, r->under, &r->den, parts) || in->bad)
        return SAIKAI_EDAMAGED;
    if (r->kind == SK_RELATION_COLUMNS &&
        (r->num != 2 || r->den || r->term[0].a < 0 || r->term[1].a < 0))
        return SAIKAI_EDAMAGED;
    return 0;
}

int sk_relation_uses(const struct sk_relation *r, int p)
{
    for (int i = 0; i < r->num; i++)
        if (r->term[i].a == p || r->term[i].b == p)
            return 1;
    for (int i = 0; i < r->den; i++)
        if (r->under[i].a == p || r->under[i].b == p)
            return 1;
    return 0;
}
