/* How values are dealt to 32 lanes, and where their neighbours are then. */
#include "codec/lossless/predict/classes/wide.h"

enum { SKEW = 2, ROW = SKEW * WIDE }; /* shorter rows would end before what is above the next ones is there */

/* So many rows back. */
static struct wide_lag rows_back(const struct wide_way *w, size_t rows)
{
    size_t lanes = rows % WIDE, near = rows / WIDE * w->row + w->skew * lanes;
    return (struct wide_lag){lanes, near, lanes ? near + w->row - w->skew * WIDE : near};
}

static struct wide_lag steps_back(size_t steps)
{
    return (struct wide_lag){0, steps, steps};
}

static void choose(const struct sk_class_plane *p, struct wide_way *w)
{
    const size_t row = p->row, even = (p->n + WIDE - 1) / WIDE, plane = p->plane > row && row && p->plane % row == 0 ? p->plane : 0;
    if (row >= ROW && row <= p->n / (2 * WIDE)) {
        w->row = row;
        w->skew = SKEW;
        w->up = rows_back(w, 1);
        w->back = plane && plane <= p->n / 2 ? rows_back(w, plane / row) : w->up;
    } else if (row >= 3 && plane >= ROW && plane <= p->n / (2 * WIDE) && plane > even / 6) {
        w->row = plane;
        w->skew = SKEW;
        w->up = steps_back(row);
        w->back = rows_back(w, 1);
    } else {
        w->row = even;
        int rows = row > 3 && row <= w->row / 2;
        w->up = steps_back(rows ? row : 3);
        w->back = steps_back(rows && plane && plane <= w->row / 2 ? plane : rows ? row : 5);
    }
}

void sk_wide_way(const struct sk_class_plane *p, struct wide_way *w)
{
    *w = (struct wide_way){.n = p->n};
    choose(p, w);
    w->idle = SIZE_MAX;
    for (size_t k = 0; k < WIDE; k++) {
        /* whole rounds of all lanes, and what it has of the last one */
        size_t round = w->row * WIDE, rest = p->n % round, first = k * w->row;
        size_t last = rest <= first ? 0 : rest - first < w->row ? rest - first : w->row;
        size_t values = p->n / round * w->row + last, end = k * w->skew + values;
        w->begin[k] = (uint32_t)(k * w->skew);
        w->values[k] = (uint32_t)values;
        w->idle = end < w->idle ? end : w->idle;
        w->steps = end > w->steps ? end : w->steps;
    }
    w->busy = w->skew * (WIDE - 1);
    w->busy = w->busy < w->idle ? w->busy : w->idle;
    w->before = wide_lag_most(&w->up) + 8;
    w->back_from = wide_lag_most(&w->back);
}
