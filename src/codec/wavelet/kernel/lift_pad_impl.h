/* Part of lift_impl.h: what lies beyond the box, as far as filters reach. Along each axis of a level it is continued by
 * polynomials, of the order that predicts the next of its even points best: smooth fields want a high one, noise a low one. */

enum { PAD_LOOKS_AT = LIFT_MOST_ORDER + 3 }; /* even points side by side, to choose an order */

/* The next value after p[0], p[-step] …, by a polynomial of this order. */
static inline double pad_next(const T *p, ptrdiff_t step, int order)
{
    double a = (double)p[0], b = (double)p[-step], c = (double)p[-2 * step];
    if (order == 2)
        return 3 * (a - b) + c;
    return 4 * (a + c) - 6 * b - (double)p[-3 * step];
}

/* How far the padding beyond the points of a class is made, along each axis: before the first and behind the last. */
struct rooms {
    size_t low[LIFT_AXES], high[LIFT_AXES];
};

/* Continue points linearly from the last two, p[0] and p[-step], over `count` more, one at least. */
static void pad_line(T *p, size_t n, ptrdiff_t step, size_t count)
{
    T d = n > 1 ? (T)(p[0] - p[-step]) : 0, far = p[0] + d + d;
    p[step] = p[0] + d;
    for (size_t i = 2; i <= count; i++)
        p[(ptrdiff_t)i * step] = far;
}

/* One end of `width` lines side by side: `near` comes next to those at p, whose neighbours are at
 * `inner`; `count` more lines, `step` apart, follow it at `far`. */
static void pad_end(const T *restrict p, const T *restrict inner, T *restrict near, T *restrict far,
                    size_t count, ptrdiff_t step, size_t width)
{
    for (size_t k = 0; k < width; k++)
        near[k] = p[k] + (T)(p[k] - inner[k]);
    if (!count)
        return;
    for (size_t k = 0; k < width; k++) {
        T d = (T)(p[k] - inner[k]);
        far[k] = p[k] + d + d;
    }
    for (size_t i = 1; i < count; i++)
        memcpy(far + (ptrdiff_t)i * step, far, width * sizeof *far);
}

/* The same for `width` lines side by side, which are n points long; count is not 0. */
static void pad_lines(T *p, size_t n, ptrdiff_t step, size_t count, size_t width)
{
    if (n < 2) {
        for (size_t k = 0; k < width; k++)
            pad_line(p + k, n, step, count);
        return;
    }
    pad_end(p, p - step, p + step, p + 2 * step, count - 1, step, width);
}

/* The same by polynomials of a higher order: one end of lines whose last points are at p, the others `step` before them, and
 * `count` more to come behind. */
static void pad_by_order(T *p, ptrdiff_t step, size_t count, size_t width, int order)
{
    for (size_t i = 0; i < count; i++, p += step)
        for (size_t k = 0; k < width; k++)
            p[step + (ptrdiff_t)k] = (T)pad_next(p + k, step, order);
}

/* One end of `width` lines side by side, as far as filters look. */
static void pad_axis(T *p, size_t n, ptrdiff_t step, size_t count, size_t width, int order)
{
    if (!count)
        return;
    if (order > 1 && n > (size_t)order)
        pad_by_order(p, step, count, width, order);
    else if (width == 1)
        pad_line(p, n, step, count);
    else
        pad_lines(p, n, step, count, width);
}

static void pad(const struct lift *l, const struct lift_level *v, unsigned c, const struct rooms *r)
{
    size_t nz = sk_lift_points(v, c, 0), ny = sk_lift_points(v, c, 1), nx = sk_lift_points(v, c, 2);
    size_t row = r->low[2] + nx + r->high[2], slab = (r->low[1] + ny - 1 + r->high[1]) * v->sy + row;
    ptrdiff_t sy = (ptrdiff_t)v->sy, sz = (ptrdiff_t)v->sz;
    for (size_t b = 0; b < l->shape.nb; b++) {
        T *box = (T *)v->data[c] + b * v->sb + v->origin, *left = box - r->low[2], *before = left - r->low[1] * v->sy;
        for (size_t z = 0; z < nz && r->low[2] + r->high[2]; z++)
            for (size_t y = 0; y < ny; y++) {
                pad_axis(box + z * v->sz + y * v->sy, nx, -1, r->low[2], 1, v->order[2]);
                pad_axis(box + z * v->sz + y * v->sy + nx - 1, nx, 1, r->high[2], 1, v->order[2]);
            }
        for (size_t z = 0; z < nz && r->low[1] + r->high[1]; z++) {
            pad_axis(left + z * v->sz, ny, -sy, r->low[1], row, v->order[1]);
            pad_axis(left + z * v->sz + (ny - 1) * v->sy, ny, sy, r->high[1], row, v->order[1]);
        }
        pad_axis(before, nz, -sz, r->low[0], slab, v->order[0]);
        pad_axis(before + (nz - 1) * v->sz, nz, sz, r->high[0], slab, v->order[0]);
    }
}

/* All that there is. */
static struct rooms all_rooms(const struct lift *l, const struct lift_level *v, unsigned c)
{
    struct rooms r = {0};
    for (int a = 0; a < LIFT_AXES; a++)
        if (v->active >> a & 1) {
            r.low[a] = (size_t)l->reach;
            r.high[a] = v->h[a] + (size_t)l->reach - sk_lift_points(v, c, a);
        }
    return r;
}

/* What the filters of the level look at: each of them at its sources, in groups that count. */
static void needed_rooms(const struct lift *l, const struct lift_level *v, struct rooms room[LIFT_CLASSES])
{
    unsigned c;
    memset(room, 0, LIFT_CLASSES * sizeof *room);
    for (int k = 0; (c = sk_lift_class_at(v, k)); k++) {
        const struct lift_filter *f = &v->filter[c];
        double w[LIFT_GROUPS + 1];
        sk_lift_weights(l, f, w);
        for (int g = 0; g < f->n; g++) {
            unsigned b = (unsigned)f->group[g].source;
            size_t far = g < f->reach * f->axes ? (size_t)(g / f->axes) : 0;
            for (int a = 0; a < LIFT_AXES; a++) {
                if (w[g] == 0 || !((b ^ c) >> a & 1))
                    continue;
                size_t odd = c >> a & 1, low = far + !odd, last = sk_lift_points(v, c, a) + far + odd, n = sk_lift_points(v, b, a);
                size_t high = last > n ? last - n : 0;
                room[b].low[a] = low > room[b].low[a] ? low : room[b].low[a];
                room[b].high[a] = high > room[b].high[a] ? high : room[b].high[a];
            }
        }
    }
}

/* How well the even points of a level are continued along axis a by polynomials of each order: the logarithm of the
 * usual miss two points on, which is how far filters depend on them, over a sample. */
static void judge_orders(const struct lift *l, const struct lift_level *v, int a, double cost[LIFT_MOST_ORDER + 1])
{
    enum { SAMPLE = 96, GROUP = 4, BEFORE = LIFT_MOST_ORDER };
    const ptrdiff_t step = (ptrdiff_t)(a == 2 ? 1 : a == 1 ? v->sy : v->sz);
    const double unit = 1 / (v->bound * v->bound), most = 1e60;
    size_t n[LIFT_AXES] = {v->h[0], v->h[1], v->h[2]};
    double product[LIFT_MOST_ORDER + 1] = {0};
    n[a] -= PAD_LOOKS_AT - 1;
    size_t total = l->shape.nb * n[0] * n[1] * n[2];
    for (int k = 0; k < SAMPLE; k++) {
        size_t s = (size_t)(((double)k + 0.5) * (double)total / SAMPLE), x = s % n[2], y = s / n[2] % n[1],
               z = s / n[2] / n[1] % n[0], b = s / n[2] / n[1] / n[0];
        const T *at = (const T *)v->data[0] + v->origin + b * v->sb + z * v->sz + y * v->sy + x + BEFORE * step;
        double p = (double)at[0], q = (double)at[-step], r = (double)at[-2 * step], t = (double)at[-3 * step];
        const double next[] = {0, 3 * p - 2 * q, 6 * p - 8 * q + 3 * r, 10 * p - 20 * q + 15 * r - 4 * t};
        for (int order = 1; order <= LIFT_MOST_ORDER; order++) {
            double miss = (double)at[2 * step] - next[order], square = 1 + miss * miss * unit;
            product[order] = (k % GROUP ? product[order] : 1) * (square < most ? square : most);
            if (k % GROUP == GROUP - 1)
                cost[order] += log2(product[order]) / SAMPLE;
        }
    }
}

static void choose_orders(const struct lift *l, struct lift_level *v, int masked)
{
    const double worth = 0.1; /* bits */
    for (int a = 0; a < LIFT_AXES; a++) {
        double cost[LIFT_MOST_ORDER + 1] = {0};
        v->order[a] = 1;
        if (masked || !(v->active >> a & 1) || v->h[a] < PAD_LOOKS_AT)
            continue;
        judge_orders(l, v, a, cost);
        for (int order = 2; order <= LIFT_MOST_ORDER; order++)
            if (cost[order] < cost[v->order[a]] - worth)
                v->order[a] = order;
    }
}

static void put_orders(const struct lift_level *v, struct sk_rans_bits_out *out)
{
    for (int a = 0; a < LIFT_AXES; a++)
        if (v->active >> a & 1)
            sk_bits_put(out, (unsigned)v->order[a] - 1, LIFT_ORDER_BITS);
}

static int get_orders(struct lift_level *v, struct sk_rans_bits_in *in)
{
    for (int a = 0; a < LIFT_AXES; a++)
        if (v->active >> a & 1)
            v->order[a] = 1 + (int)sk_bits_get(in, LIFT_ORDER_BITS);
    return in->bad || v->order[0] > LIFT_MOST_ORDER || v->order[1] > LIFT_MOST_ORDER || v->order[2] > LIFT_MOST_ORDER ? -1 : 0;
}
