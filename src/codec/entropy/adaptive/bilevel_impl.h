/* bilevel_walk.h for one instruction set: NAME(x) tells the variants apart. Contexts are the rows above and the plane behind, as they are or
 * far around, after the templates of JBIG (ITU-T T.82). */
#include "codec/entropy/adaptive/bilevel_walk.h"
#include "codec/entropy/scratch.h"

#include <string.h>

enum { BLOCK = 16, INPUTS = 4 };

struct models {
    sk_adaptive_slot above[1 << 12], behind[1 << 13], wide[1 << 14], row[1 << 10];
    sk_adaptive_slot even[2][3][3];
    struct sk_adaptive_mixer mix[3], mix_even;
};

/* A row and those that are known; what is not there is zeros. */
struct rows {
    const uint8_t *here, *up, *up2, *up3, *back, *back_up, *back_down, *back2;
    uint8_t *even; /* by block, of the row above: 0 not asked, 1 even, 2 not */
    int alone;     /* nothing is behind */
    size_t width;
};

static inline unsigned bits_of(const uint8_t *p, int n)
{
    unsigned v = 0;
    for (int i = 0; i < n; i++)
        v = v << 1 | p[i];
    return v;
}

/* Values of each row around a column, the one farthest to the left highest. */
struct around {
    unsigned left, up, up2, back, back_up, back_down; /* 4, 7, 5, 3, 3, 3 of them */
};

static inline __attribute__((always_inline)) struct around look(const struct rows *r, size_t x)
{
    return (struct around){bits_of(r->here + x - 4, 4), bits_of(r->up + x - 3, 7), bits_of(r->up2 + x - 2, 5),
                           bits_of(r->back + x - 1, 3), bits_of(r->back_up + x - 1, 3), bits_of(r->back_down + x - 1, 3)};
}

/* From column x, which has this bit, to the next. */
static inline __attribute__((always_inline)) void step(struct around *a, const struct rows *r, size_t x, int bit)
{
    a->left = (a->left << 1 | (unsigned)bit) & 15;
    a->up = (a->up << 1 | r->up[x + 4]) & 127;
    a->up2 = (a->up2 << 1 | r->up2[x + 3]) & 31;
    a->back = (a->back << 1 | r->back[x + 2]) & 7;
    a->back_up = (a->back_up << 1 | r->back_up[x + 2]) & 7;
    a->back_down = (a->back_down << 1 | r->back_down[x + 2]) & 7;
}

static inline __attribute__((always_inline)) int code_bit(struct sk_adaptive *c, struct models *m, const struct around *a,
                                                          const struct rows *r, size_t x, int bit, int decoding)
{
    unsigned left = a->left, up = a->up, up2 = a->up2, near = up >> 2 & 7, back = a->back;
    unsigned above = (left & 7) << 9 | (up >> 1 & 31) << 4 | (up2 >> 1 & 7) << 1 | (back >> 1 & 1);
    unsigned behind = back << 10 | a->back_up << 7 | a->back_down << 4 | (left & 1) << 3 | near;
    unsigned wide = left << 10 | up << 3 | (unsigned)r->up3[x] << 2 | (unsigned)r->back2[x] << 1 | (up2 >> 2 & 1);
    unsigned row = (left & 3) << 8 | up2 << 3 | near;
    unsigned alike = back == 0 || back == 7;
    alike += alike && (back & 1) == (left & 1);
    return SK_ADAPTIVE_BIT(4, c, &m->mix[alike], bit, decoding, &m->above[above], &m->behind[behind], &m->wide[wide], &m->row[row]);
}

/* Are all of these n values v? Of a whole block, as most are, in a few instructions. */
static inline __attribute__((always_inline)) int all_are(const uint8_t *p, size_t n, int v)
{
    uint64_t a, b, all = v ? 0x0101010101010101u : 0;
    if (n != BLOCK)
        return !memchr(p, !v, n);
    memcpy(&a, p, sizeof a);
    memcpy(&b, p + sizeof a, sizeof b);
    return !((a ^ all) | (b ^ all));
}

/* Is what is known around columns [x, x + n) all v? */
static inline __attribute__((always_inline)) int is_even(const struct rows *r, size_t x, size_t n, int v)
{
    return (!x || (r->up[x - 1] == v && r->here[x - 1] == v)) && (x + n >= r->width || r->up[x + n] == v) && all_are(r->up + x, n, v) &&
           (r->alone || all_are(r->back + x, n, v));
}

/* Columns [x, x + n): one bit says that they continue what is even all around them. */
static inline __attribute__((always_inline)) void code_block(struct sk_adaptive *c,
                                                             struct models *m, struct rows *r,
                                                             size_t x, size_t n, uint8_t *here,
                                                             int decoding)
{
    int v = r->up[x];
    uint8_t *state = &r->even[x / BLOCK];
    if (is_even(r, x, n, v)) {
        unsigned left = x ? state[-1] : 0;
        int even = SK_ADAPTIVE_BIT(1, c, &m->mix_even, all_are(here + x, n, v), decoding, &m->even[v][*state][left]);
        *state = even ? 1 : 2;
        if (even) {
            if (decoding)
                memset(here + x, v, n);
            return;
        }
    } else {
        *state = 0;
    }
    struct around a = look(r, x);
    for (size_t i = x; i < x + n; i++) {
        int bit = code_bit(c, m, &a, r, i, decoding ? 0 : here[i], decoding);
        if (decoding)
            here[i] = (uint8_t)bit;
        step(&a, r, i, bit);
    }
}

static inline __attribute__((always_inline)) int walk(struct sk_adaptive *coder,
                                                      const struct sk_bilevel *b, int decoding)
{
    struct sk_adaptive c = *coder; /* nothing else points to this one: it may stay in registers */
    size_t row = sk_bilevel_row_bytes(b), blocks = b->width / BLOCK + 1, slab = b->ny * row;
    struct models *m = sk_scratch_take(sizeof *m);
    uint8_t *zeros = sk_scratch_take_zeros(row + blocks);
    if (!m || !zeros) {
        sk_scratch_give(m);
        sk_scratch_give(zeros);
        return -1;
    }
    sk_adaptive_slots((sk_adaptive_slot *)m, offsetof(struct models, mix) / sizeof(sk_adaptive_slot));
    sk_adaptive_mixers(m->mix, 3, INPUTS);
    sk_adaptive_mixers(&m->mix_even, 1, 1);
    const uint8_t *none = zeros + SK_BILEVEL_EDGE;
    struct rows r = {.even = zeros + row, .width = b->width};
    for (size_t p = 0; p < b->nb * b->nz; p++)
        for (size_t y = 0; y < b->ny; y++) {
            uint8_t *here = b->bit + p * slab + y * row + SK_BILEVEL_EDGE;
            r.here = here;
            r.up = y ? here - row : none;
            r.up2 = y > 1 ? here - 2 * row : none;
            r.up3 = y > 2 ? here - 3 * row : none;
            r.alone = !p;
            r.back = p ? here - slab : none;
            r.back_up = p && y ? here - slab - row : none;
            r.back_down = p && y + 1 < b->ny ? here - slab + row : none;
            r.back2 = p > 1 ? here - 2 * slab : none;
            for (size_t x = 0; x < b->width; x += BLOCK)
                code_block(&c, m, &r, x, b->width - x < BLOCK ? b->width - x : BLOCK, here,
                           decoding);
        }
    *coder = c;
    sk_scratch_give(m);
    sk_scratch_give(zeros);
    return 0;
}

static int NAME(write)(struct sk_adaptive *c, const struct sk_bilevel *b)
{
    return walk(c, b, 0);
}

static int NAME(read)(struct sk_adaptive *c, const struct sk_bilevel *b)
{
    return walk(c, b, 1);
}

const struct sk_bilevel_kernel NAME(sk_bilevel_kernel) = {NAME(write), NAME(read)};
