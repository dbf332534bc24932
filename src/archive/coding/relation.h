/* Relations: one variable of a place from others of the same place.
 *
 * A quotient of sums of products,  P = (sum c_i F_a F_b) / (sum d_j F_a F_b),  covers what codes
 * keep redundantly: a constant or slowly varying ratio, mass and charge sums, kinetic energy in a
 * total energy, temperature from energy and mean molecular weight. A column relation,  P = u F_a +
 * v F_b  with u and v fitted per column to the planes above, covers vector components that are
 * bound by a geometry that never changes, such as horizontal winds in Cartesian components.
 * Relations are found on samples (select.h) and stored with the data; evaluating one is arithmetic.
 */
#ifndef SK_ARCHIVE_CODING_RELATION_H
#define SK_ARCHIVE_CODING_RELATION_H

#include "codec/residual/stencil.h"
#include "base/buf.h"

enum sk_relation_kind {
    SK_RELATION_NONE = 0,
    SK_RELATION_QUOTIENT = 1,
    SK_RELATION_COLUMNS = 2,
    SK_RELATION_KINDS
};
enum { SK_TERMS = 6 };

struct sk_term {
    double c;
    int a, b; /* part numbers within the block, -1: the constant 1 */
};

struct sk_relation {
    int kind, num, den; /* number of terms; den 0: no division */
    struct sk_term term[SK_TERMS], under[SK_TERMS];
};

/* Another variable of the place: n values of width 32 or 64 bits. */
struct sk_field {
    const void *x;
    int width;
};

/* P[0…n-1] of a quotient from the fields' values `at` and on. fields[] is indexed by part number.
 * Local. */
void sk_relation_eval(const struct sk_relation *r, const struct sk_field *fields, size_t at,
                      size_t n, double *P);

/* Column relations: running sums of least squares, five arrays of one plane. */
size_t sk_columns_scratch(struct sk_stencil_box b);
/* P of plane z (from the sums of the planes before it). */
void sk_columns_eval(const struct sk_relation *r, const struct sk_field *fields, size_t at,
                     size_t plane, const double *sums, double *P);
/* Count plane z in, after its values x are known. */
void sk_columns_learn(const struct sk_relation *r, const struct sk_field *fields, size_t at,
                      size_t plane, const void *x, int width, double *sums);

void sk_relation_put(struct sk_buf *out, const struct sk_relation *r);
/* Read and check: part numbers must be below `parts`. 0 or SAIKAI_EDAMAGED. */
int sk_relation_get(struct sk_rd *in, struct sk_relation *r, int parts);
/* 1: the relation uses part p. */
int sk_relation_uses(const struct sk_relation *r, int p);

#endif
