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

/* Continue n points linearly over the padding on both sides, which is `room` wide beyond the most
 * points that a class has; `step` between them. */
static void pad_line(T *p, size_t n, size_t most, size_t room, size_t step)
{
    T *z = p + (n - 1) * step;
    T da = n > 1 ? (T)(p[0] - p[step]) : 0, dz = n > 1 ? (T)(z[0] - *(z - step)) : 0;
    *(p - step) = p[0] + da;
    for (size_t i = 2; i <= room; i++)
        *(p - i * step) = p[0] + da + da;
    z[step] = z[0] + dz;
    T far = z[0] + dz + dz;
    for (size_t i = n + 1; i < most + room; i++)
        p[i * step] = far;
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

/* The same for `width` lines side by side. */
static void pad_lines(T *p, size_t n, size_t most, size_t room, size_t step, size_t width)
{
    if (n < 2) {
        for (size_t k = 0; k < width; k++)
            pad_line(p + k, n, most, room, step);
        return;
    }
    T *z = p + (n - 1) * step;
    ptrdiff_t s = (ptrdiff_t)step;
    pad_end(p, p + s, p - s, p - 2 * s, room - 1, -s, width);
    pad_end(z, z - s, z + s, z + 2 * s, most + room - n - 1, s, width);
}

/* The same by polynomials of a higher order: one end of lines whose last points are at p, the others `step` before them, and
 * `count` more to come behind. */
static void pad_by_order(T *p, ptrdiff_t step, size_t count, size_t width, int order)
{
    for (size_t i = 0; i < count; i++, p += step)
        for (size_t k = 0; k < width; k++)
            p[step + (ptrdiff_t)k] = (T)pad_next(p + k, step, order);
}

/* `width` lines side by side, as far as filters look. */
static void pad_axis(T *p, size_t n, size_t most, size_t room, size_t step, size_t width, int order)
{
    ptrdiff_t s = (ptrdiff_t)step;
    if (order > 1 && n > (size_t)order) {
        pad_by_order(p, -s, room, width, order);
        pad_by_order(p + (n - 1) * step, s, most + room - n, width, order);
    } else if (width == 1) {
        pad_line(p, n, most, room, step);
    } else {
        pad_lines(p, n, most, room, step, width);
    }
}

static void pad(const struct lift *l, const struct lift_level *v, unsigned c)
{
    T *d = v->data[c];
    size_t nz = sk_lift_points(v, c, 0), ny = sk_lift_points(v, c, 1), nx = sk_lift_points(v, c, 2);
    size_t room = (size_t)l->reach;
    for (size_t b = 0; b < l->shape.nb; b++) {
        T *box = d + b * v->sb + v->origin;
        if (v->active & 4)
            for (size_t z = 0; z < nz; z++)
                for (size_t y = 0; y < ny; y++)
                    pad_axis(box + z * v->sz + y * v->sy, nx, v->h[2], room, 1, 1, v->order[2]);
        if (v->active & 2)
            for (size_t z = 0; z < nz; z++)
                pad_axis(box + z * v->sz - room, ny, v->h[1], room, v->sy, v->sy, v->order[1]);
        if (v->active & 1)
            pad_axis(box - (v->pad[1] ? room * v->sy : 0) - room, nz, v->h[0], room, v->sz, v->sz,
                     v->order[0]);
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
