/* Brings an array's dimensions to the axes that prediction knows, and multiplies the operators out
 * to terms. */
#include "codec/lossless/predict/shape.h"

static void set_strides(struct sk_shape *s)
{
    s->total = 1;
    for (int k = 0; k < s->axes; k++) {
        s->stride[k] = s->total;
        s->total *= s->n[k];
    }
    for (int k = s->axes; k < SK_AXES; k++)
        s->n[k] = 1, s->stride[k] = s->total;
}

void sk_shape_init(struct sk_shape *s, const struct sk_array *a)
{
    *s = (struct sk_shape){.axes = 0};
    for (int k = a->ndims - 1; k >= 0; k--) {
        if (a->dims[k] == 1)
            continue;
        if (s->axes == SK_AXES)
            s->n[SK_AXES - 1] *= a->dims[k];
        else
            s->n[s->axes++] = a->dims[k];
    }
    if (!s->axes)
        s->n[s->axes++] = 1;
    set_strides(s);
}

int sk_shape_split(struct sk_shape *s, size_t row)
{
    if (s->axes == SK_AXES || !row || s->n[0] % row)
        return -1;
    for (int k = s->axes; k > 1; k--)
        s->n[k] = s->n[k - 1];
    s->n[1] = s->n[0] / row;
    s->n[0] = row;
    s->axes++;
    set_strides(s);
    return 0;
}

int sk_shape_segments(struct sk_shape *s)
{
    const size_t values = s->total;
    if (s->axes != 1 || values < SK_SEGMENTS * SK_SEGMENT)
        return -1;
    s->n[0] = values / SK_SEGMENTS / SK_SEGMENT_TURN * SK_SEGMENT_TURN; /* so that the last part of a segment is none of a few values, which would have no grid */
    s->n[1] = SK_SEGMENTS;
    s->axes = 2;
    set_strides(s);
    s->segments = 1;
    s->tail = values - s->total;
    s->total = values;
    return 0;
}

int sk_operator(unsigned halves, double c[4])
{
    int degree = 0;
    c[0] = 1;
    c[1] = c[2] = c[3] = 0;
    for (; halves >= 2; halves -= 2, degree++)
        for (int k = degree + 1; k > 0; k--)
            c[k] -= c[k - 1];
    if (halves) {
        degree++;
        for (int k = degree; k > 0; k--)
            c[k] -= 0.5 * c[k - 1];
    }
    return degree;
}

static unsigned limited(unsigned halves, size_t steps)
{
    return halves > 2 * steps ? 2 * (unsigned)steps : halves;
}

void sk_terms_init(struct sk_terms *t, const struct sk_shape *s, const struct sk_orders *o,
                   const size_t at[SK_AXES])
{
    double c[SK_AXES][4] = {{0}};
    int degree[SK_AXES] = {0};
    t->n = 0;
    for (int k = 1; k < SK_AXES; k++)
        degree[k] =
            k < s->axes ? sk_operator(limited(o->half[k], at[k]), c[k]) : sk_operator(0, c[k]);
    for (int a = 0; a <= degree[3]; a++)
        for (int b = 0; b <= degree[2]; b++)
            for (int d = 0; d <= degree[1]; d++) {
                if (a + b + d == 0)
                    continue;
                t->lag[t->n] =
                    (size_t)a * s->stride[3] + (size_t)b * s->stride[2] + (size_t)d * s->stride[1];
                t->weight[t->n++] = -(c[3][a] * c[2][b] * c[1][d]);
            }
}
