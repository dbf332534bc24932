/* Part of lift_impl.h: predictions, which are weighted sums of neighbours, a vector of points at a time. */

/* Groups that count, by how many neighbours they have: pairs come first, then fours, then eights. */
struct summands {
    const T *src[LIFT_GROUPS];
    const ptrdiff_t *offset[LIFT_GROUPS];
    double w[LIFT_GROUPS];
    int pairs, fours, n; /* places behind the last of each */
};

/* Those of a filter at `at`, without groups of weight zero: many are where little is left to predict. */
KERNEL summands_of(const struct lift_level *v, const struct lift_filter *f, const double *w, size_t at, struct summands *s)
{
    s->pairs = s->fours = s->n = 0;
    for (int g = 0; g < f->n; g++) {
        if (w[g] == 0)
            continue;
        s->src[s->n] = (const T *)v->data[f->group[g].source] + at;
        s->offset[s->n] = f->group[g].offset;
        s->w[s->n++] = w[g];
        s->pairs += f->group[g].n == 2;
        s->fours += f->group[g].n <= 4;
    }
}

/* Sums over the groups of WIDE points from the i-th on, left in sum0, sum1 …: variables of their own, as an array of them would be
 * copied in halves. */
#define EACH_SUM(what) what(0) what(1) what(2) what(3)
#define BEGIN_SUM(k) four sum##k = {constant, constant, constant, constant};
#define ADD_PAIR(k)  sum##k += s.w[g] * (load(a + 4 * k) + load(b + 4 * k));
#define ADD_FOUR(k)                                                                                \
    sum##k += s.w[g] * ((load(a + 4 * k) + load(b + 4 * k)) +            \
                        (load(c + 4 * k) + load(d + 4 * k)));
#define BEGIN_EIGHT(k) four eight##k = {0};
#define ADD_POINT(k)   eight##k += load(a + 4 * k);
#define ADD_EIGHT(k)   sum##k += s.w[g] * eight##k;
#define SUM_GROUPS(s, i)                                                                           \
    EACH_SUM(BEGIN_SUM)                                                                            \
    int g = 0;                                                                                     \
    for (; g < (s).pairs; g++) {                                                                   \
        const T *p = (s).src[g] + (i), *a = p + (s).offset[g][0], *b = p + (s).offset[g][1];       \
        EACH_SUM(ADD_PAIR)                                                                         \
    }                                                                                              \
    for (; g < (s).fours; g++) {                                                                   \
        const T *p = (s).src[g] + (i), *a = p + (s).offset[g][0], *b = p + (s).offset[g][1],       \
                *c = p + (s).offset[g][2], *d = p + (s).offset[g][3];                              \
        EACH_SUM(ADD_FOUR)                                                                         \
    }                                                                                              \
    for (; g < (s).n; g++) {                                                                       \
        EACH_SUM(BEGIN_EIGHT)                                                                      \
        for (int j = 0; j < 8; j++) {                                                              \
            const T *a = (s).src[g] + (i) + (s).offset[g][j];                                      \
            EACH_SUM(ADD_POINT)                                                                    \
        }                                                                                          \
        EACH_SUM(ADD_EIGHT)                                                                        \
    }

/* Predictions of points at, at + 1 … of a class; a few too many, which the room behind the arrays
 * allows. */
KERNEL predict(const struct lift_level *v, const struct lift_filter *f, const double *w,
               double constant, size_t at, size_t n, double *out)
{
    struct summands s;
    summands_of(v, f, w, at, &s);
#define STORE(k) memcpy(out + i + 4 * k, &sum##k, sizeof sum##k);
    for (size_t i = 0; i < n; i += WIDE) {
        SUM_GROUPS(s, i)
        EACH_SUM(STORE)
    }
#undef STORE
}

/* The same with q steps added to each: what the points are. Those too many lie in padding or further on in the class, where they are
 * made anew. */
KERNEL restore(const struct lift_level *v, const struct lift_filter *f, const double *w, double constant,
               size_t at, size_t n, T *to, const int32_t *q, double step)
{
    struct summands s;
    summands_of(v, f, w, at, &s);
#define STORE(k)                                                                                   \
    {                                                                                              \
        four_q steps;                                                                              \
        memcpy(&steps, q + i + 4 * k, sizeof steps);                                       \
        sum##k += __builtin_convertvector(steps, four) * step;                                     \
        four_of_type y = __builtin_convertvector(sum##k, four_of_type);                            \
        memcpy(to + i + 4 * k, &y, sizeof y);                                              \
    }
    for (size_t i = 0; i < n; i += WIDE) {
        SUM_GROUPS(s, i)
        EACH_SUM(STORE)
    }
#undef STORE
}
