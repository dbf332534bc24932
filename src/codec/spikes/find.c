/* Finds isolated values: where a stretch has a second difference that stands out, values that stand out are left out one after the other,
 * the farthest from what the others say first; of these remain the ones that all neighbours that are left, along each axis, agree not to
 * expect. A front is none: what stands before it and what stands behind do not agree. */
#include "codec/spikes/find.h"
#include "codec/spikes/lines.h"
#include "codec/spikes/near.h"

#include "base/types.h"

#include <stdlib.h>
#include <string.h>

enum {
    REACH = 5,     /* values beyond those that stand out which are asked */
    SIDE = 3,      /* of the other axes, to each side */
    RUN = 24,      /* values one behind the other that may stand out */
    MOST_OUT = 6,  /* that are left out in a run */
    GAP = 3,       /* values between two runs at least */
    PATIENCE = 32, /* stretches that stand out and have no isolated value */
    LEAST_PART = 200,
};

struct search {
    const struct sk_array *a;
    const void *in;
    size_t n, size;
    double bound;
    const uint64_t *fill;
    struct sk_lines lines;
    struct sk_spikes *found;
    size_t stretches, asked; /* that stood out; all */
    int over;
};

void sk_spikes_free(struct sk_spikes *s)
{
    free(s->at);
    *s = (struct sk_spikes){0};
}

static int append(struct sk_spikes *s, size_t at)
{
    if (s->n == s->room) {
        size_t room = 2 * s->room + 64;
        size_t *more = realloc(s->at, room * sizeof *more);
        if (!more)
            return -1;
        s->at = more;
        s->room = room;
    }
    s->at[s->n++] = at;
    return 0;
}

static double value_at(const struct search *s, size_t i)
{
    return sk_near_value(s->in, i, s->size);
}

static int is_number(const struct search *s, size_t i)
{
    return sk_near_is_number(s->in, i, s->size, s->fill);
}

/* What lines through a value say of it. */
struct said {
    double h, spread; /* least distance from a guess; how far the two sides of a line are from each other, of the line where that is least */
    int n;            /* guesses */
};

/* What a line says of its value `at`. At its end there is one side. */
static void ask(const struct sk_near *l, int at, struct said *r)
{
    double guess = 0, left, right, h;
    if (!sk_near_guess(l, at, &guess))
        return;
    h = fabs(l->x[at] - guess);
    r->h = !r->n || h < r->h ? h : r->h;
    if (sk_near_beyond(l, at, -1, &left) && sk_near_beyond(l, at, 1, &right)) {
        double spread = fmax(fabs(left - guess), fabs(right - guess));
        r->spread = spread < r->spread ? spread : r->spread;
    }
    r->n++;
}

/* What the axes but that of the lines say of element i. */
static void ask_across(const struct search *s, size_t i, struct said *r)
{
    size_t stride = 1;
    for (int d = s->a->ndims - 1; d >= 0; d--) {
        size_t length = s->a->dims[d], at = i / stride % length, from = at < SIDE ? 0 : at - SIDE, to = at + SIDE < length ? at + SIDE + 1 : length;
        struct sk_near l = {0};
        for (size_t k = from; d != s->lines.axis && k < to; k++, l.n++) {
            size_t e = i + k * stride - at * stride;
            l.x[l.n] = value_at(s, e);
            l.out[l.n] = !is_number(s, e);
        }
        if (d != s->lines.axis)
            ask(&l, (int)(at - from), r);
        stride *= length;
    }
}

/* Bits that it takes to leave it and to take it out, roughly: what it spoils around itself is as long as itself. */
static int is_worth(const struct search *s, double h, double spread)
{
    const double others = 8, place = 17;
    return others * log2((h + s->bound) / (spread + s->bound)) > place + log2(h / s->bound);
}

/* Is value `at` of the line, element i, one that nothing around it expects? */
static int is_isolated(const struct search *s, const struct sk_near *l, int at, size_t i)
{
    const double beyond = 4;
    struct said r = {.spread = INFINITY};
    ask(l, at, &r);
    ask_across(s, i, &r);
    return r.n && r.h > beyond * r.spread && r.h > beyond * s->bound && is_worth(s, r.h, r.spread);
}

/* Leave out what the others expect least, while that is far from it. */
static void leave_out(const struct search *s, struct sk_near *l, int from, int to)
{
    for (int k = 0; k < MOST_OUT; k++) {
        double most = 2 * s->bound, guess;
        int worst = -1;
        for (int i = from; i < to; i++)
            if (!l->out[i] && sk_near_guess(l, i, &guess) && fabs(l->x[i] - guess) > most) {
                most = fabs(l->x[i] - guess);
                worst = i;
            }
        if (worst < 0)
            return;
        l->out[worst] = 1;
    }
}

/* Values [from, to) of the line at element `line` stand out. */
static void look_at(struct search *s, size_t line, size_t from, size_t to)
{
    struct sk_near l = {0};
    size_t begin = from < REACH ? 0 : from - REACH, end = to + REACH < s->lines.length ? to + REACH : s->lines.length;
    unsigned char never[64] = {0};
    if (to - from > RUN)
        return;
    for (size_t i = begin; i < end; i++, l.n++) {
        size_t e = line + i * s->lines.stride;
        l.x[l.n] = value_at(s, e);
        l.out[l.n] = never[l.n] = !is_number(s, e);
    }
    int first = (int)(from - begin), last = (int)(to - begin);
    leave_out(s, &l, first, last);
    for (int i = first; i < last; i++) {
        size_t e = line + (begin + (size_t)i) * s->lines.stride;
        if (never[i] || !l.out[i] || is_isolated(s, &l, i, e))
            continue;
        l.out[i] = 0;
    }
    for (int i = first; i < last; i++)
        if (l.out[i] && !never[i] && append(s->found, line + (begin + (size_t)i) * s->lines.stride))
            s->over = 1;
}

static double distance_at(const struct search *s, size_t i)
{
    size_t stride = s->lines.stride;
    if (s->lines.has_strange && (!is_number(s, i) || !is_number(s, i - stride) || !is_number(s, i + stride)))
        return 0;
    double d = fabs(value_at(s, i) - 0.5 * (value_at(s, i - stride) + value_at(s, i + stride)));
    return d;
}

/* Elements [from, to) that lie beside each other, of which one stands out; with stride 1 they are of one line. */
static void look_closer(struct search *s, size_t from, size_t to)
{
    const double usual = 2, far = 3;
    double sum = 0, less = 0, used = 0, mean;
    size_t stride = s->lines.stride, n = to - from;
    for (size_t i = from; i < to; i++)
        sum += distance_at(s, i);
    mean = sum / (double)n;
    for (size_t i = from; i < to; i++) {
        double d = distance_at(s, i);
        less += d <= usual * mean ? d : 0;
        used += d <= usual * mean;
    }
    double limit = fmax(far * (used > 0 ? less / used : mean), s->bound);
    size_t whole = stride * s->lines.length;
    for (size_t i = from; i < to; i++) {
        if (!(distance_at(s, i) > limit))
            continue;
        size_t line = i / whole * whole + i % stride, at = (i - line) / stride, first = at, last = at;
        if (stride == 1) {
            for (size_t k = i; k < to && k <= line + last + GAP; k++)
                last = distance_at(s, k) > limit ? k - line : last;
            i = line + last;
        }
        /* of several lines each value by itself, when it is the greatest around */
        look_at(s, line, first ? first - (first == 1) : 0, last + 1 + (last + 2 == s->lines.length));
    }
}

/* All elements of [from, to) have neighbours along the axis. */
static void look_through(struct search *s, size_t from, size_t to)
{
    for (size_t i = from; i < to && !s->over; i += SK_LINES_STRETCH) {
        size_t end = i + SK_LINES_STRETCH < to ? i + SK_LINES_STRETCH : to;
        s->asked++;
        if (!sk_lines_stands_out(&s->lines, s->in, s->size, i, end, 2 * s->bound))
            continue;
        s->stretches++;
        look_closer(s, i, end);
        s->over |= s->stretches > PATIENCE + 8 * s->found->n && s->stretches > s->asked / 16;
    }
}

static int by_place(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* In order, each once. */
static void put_in_order(struct sk_spikes *f)
{
    size_t n = 0;
    qsort(f->at, f->n, sizeof *f->at, by_place);
    for (size_t i = 0; i < f->n; i++)
        if (!i || f->at[i] != f->at[i - 1])
            f->at[n++] = f->at[i];
    f->n = n;
}

void sk_spikes_find(struct sk_spikes *found, const struct sk_array *a, const void *in, double bound, const uint64_t *fill, int has_strange)
{
    struct search s = {.a = a, .in = in, .n = 1, .size = sk_type_size(a->type), .bound = bound, .fill = fill, .found = found};
    *found = (struct sk_spikes){0};
    if (!(bound > 0) || sk_lines_choose(&s.lines, a))
        return;
    s.lines.fill = fill;
    s.lines.has_strange = has_strange;
    for (int i = 0; i < a->ndims; i++)
        s.n *= a->dims[i];
    size_t whole = s.lines.stride * s.lines.length;
    for (size_t i = 0; i < s.n && !s.over; i += whole)
        look_through(&s, i + s.lines.stride, i + whole - s.lines.stride);
    if (found->n)
        put_in_order(found);
    if (s.over || found->n > s.n / LEAST_PART)
        found->n = 0;
}
