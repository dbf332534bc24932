/* Part of causal_impl.h: which neighbours predict, and what lies beside the rows. */

struct taps {
    int n, n_row; /* the first n_row are in the same row: 1, 2 … to the left */
    ptrdiff_t offset[CAUSAL_TAPS];
    double weight[CAUSAL_TAPS];
    int32_t scaled[CAUSAL_TAPS]; /* weights in 2^-WEIGHT_BITS */
    int narrow;                  /* 32 bits suffice for its sums */
};

/* What a row may look at: 1 its own, 2 also rows above, 3 also the plane behind. */
static int reach(const struct causal *c, size_t z, size_t y)
{
    if (c->shape.n[1] > 1 && !y)
        return 1;
    if (c->shape.n[1] == 1)
        return c->shape.n[0] > 1 && z ? 3 : 1;
    return c->shape.n[0] > 1 && z ? 3 : 2;
}

static void add_tap(struct taps *t, ptrdiff_t offset, double weight)
{
    t->offset[t->n] = offset;
    t->weight[t->n++] = weight;
}

static void lorenzo(const struct causal *c, int kind, struct taps *t)
{
    ptrdiff_t y = c->shape.n[1] > 1 ? (ptrdiff_t)c->sy : 0,
              z = c->shape.n[0] > 1 ? (ptrdiff_t)c->sz : 0;
    memset(t, 0, sizeof *t);
    t->n_row = 1;
    add_tap(t, -1, 1);
    if (kind >= CAUSAL_LORENZO2 && y) {
        add_tap(t, -y, 1);
        add_tap(t, -y - 1, -1);
    }
    if (kind < CAUSAL_LORENZO3 || !z)
        return;
    add_tap(t, -z, 1);
    add_tap(t, -z - 1, -1);
    if (y) {
        add_tap(t, -z - y, -1);
        add_tap(t, -z - y - 1, 1);
    }
}

/* The neighbours whose weights are fitted; weights from c->stored. */
static void fitted(const struct causal *c, struct taps *t)
{
    ptrdiff_t y = c->shape.n[1] > 1 ? (ptrdiff_t)c->sy : 0,
              z = c->shape.n[0] > 1 ? (ptrdiff_t)c->sz : 0;
    memset(t, 0, sizeof *t);
    t->n_row = y || z ? 2 : 8;
    for (int k = 1; k <= t->n_row; k++)
        add_tap(t, -k, 0);
    if (y) {
        add_tap(t, -y, 0);
        add_tap(t, -y - 1, 0);
        add_tap(t, -y + 1, 0);
        add_tap(t, -2 * y, 0);
    }
    if (z) {
        add_tap(t, -z, 0);
        add_tap(t, -z - 1, 0);
        add_tap(t, -z + 1, 0);
        if (y) {
            add_tap(t, -z - y, 0);
            add_tap(t, -z + y, 0);
            add_tap(t, -z - y - 1, 0);
            add_tap(t, -z - y + 1, 0);
        }
    }
    double rest = 1;
    for (int k = 1; k < t->n; k++) {
        t->weight[k] = c->stored[k] * (1.0 / (1 << WEIGHT_BITS));
        rest -= t->weight[k];
    }
    t->weight[0] = rest;
}

static void predictor(const struct causal *c, int kind, struct taps *t)
{
    uint64_t sum = 0;
    if (kind == CAUSAL_FITTED)
        fitted(c, t);
    else
        lorenzo(c, kind, t);
    for (int k = 0; k < t->n; k++) {
        double w = t->weight[k] * (1 << WEIGHT_BITS);
        if (fabs(w) > INT32_MAX) /* of damaged data */
            return;
        t->scaled[k] = (int32_t)w;
        sum += (uint64_t)fabs(w);
    }
    t->narrow = sum < INT32_MAX && (sum + 1) << c->bits < INT32_MAX;
}

/* Columns beside a row continue it: to the left with the row above, to the right with the last
 * value. */
static void pad_left(struct causal *c, size_t at, int above)
{
    int32_t v = above ? c->n[at - c->sy] : c->box ? c->n[at] : 0;
    for (int k = 1; k <= PAD; k++)
        c->n[at - (size_t)k] = v;
}

static void pad_right(struct causal *c, size_t at)
{
    int32_t v = c->n[at + c->shape.n[2] - 1];
    for (int k = 0; k < PAD; k++)
        c->n[at + c->shape.n[2] + (size_t)k] = v;
}

/* What rows to come see above the first row of a plane and below its last: those rows again. */
static void pad_rows(struct causal *c, size_t b, size_t z, size_t y)
{
    size_t at = place(c, b, z, y) - PAD;
    if (c->shape.n[1] > 1 && y == 0)
        memcpy(c->n + at - c->sy, c->n + at, c->sy * sizeof *c->n);
    if (c->shape.n[1] > 1 && y + 1 == c->shape.n[1] && z + 1 < c->shape.n[0])
        memcpy(c->n + at + c->sy, c->n + at, c->sy * sizeof *c->n);
}
