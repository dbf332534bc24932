/* bilevel_walk.h for one instruction set: NAME(x) tells the variants apart. Contexts are the rows above and the plane behind, as they are or
 * far around, after the templates of JBIG (ITU-T T.82). */
#include "codec/entropy/adaptive/bilevel_walk.h"
#include "codec/entropy/each.h"
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

/* What is known of the columns of a block, but for what stands to the left of each in its row: each of these is a part of a context. */
struct columns {
    uint16_t above[BLOCK], behind[BLOCK], wide[BLOCK], row[BLOCK];
    uint8_t back[BLOCK]; /* what is behind and left and right of that, the one to the left highest */
};

typedef uint8_t bits_of_block __attribute__((vector_size(BLOCK)));
typedef uint16_t words_of_block __attribute__((vector_size(2 * BLOCK)));

/* Macros, since functions that take vectors depend on the instruction set. */
#define BITS(p)                                                                                    \
    __extension__({                                                                                \
        bits_of_block b_;                                                                          \
        memcpy(&b_, (p), sizeof b_);                                                               \
        b_;                                                                                        \
    })
#define THREE(p) (BITS((p)-1) << 2 | BITS(p) << 1 | BITS((p) + 1)) /* a place and those beside it */
#define WORDS(b) ((words_of_block){SK_EACH_16(b, uint16_t)})

/* There is room behind each row for a whole block. */
static inline __attribute__((always_inline)) void look_over(const struct rows *r, size_t from, struct columns *restrict c)
{
    const uint8_t *up = r->up + from, *up2 = r->up2 + from;
    const bits_of_block near = THREE(up), up_left2 = BITS(up - 2), up_right2 = BITS(up + 2), near2 = THREE(up2), up2_here = BITS(up2),
                        back_here = BITS(r->back + from), back = THREE(r->back + from), back_up = THREE(r->back_up + from),
                        back_down = THREE(r->back_down + from), up3 = BITS(r->up3 + from), back2 = BITS(r->back2 + from);
    const bits_of_block five = up_left2 << 4 | near << 1 | up_right2, seven = BITS(up - 3) << 6 | five << 1 | BITS(up + 3),
                        five2 = BITS(up2 - 2) << 4 | near2 << 1 | BITS(up2 + 2);
    const words_of_block above = WORDS(five) << 4 | WORDS(near2 << 1 | back_here),
                         behind = WORDS(back) << 10 | WORDS(back_up << 3 | back_down) << 4 | WORDS(near),
                         wide = WORDS(seven) << 3 | WORDS(up3 << 2 | back2 << 1 | up2_here), row = WORDS(five2 << 3 | near);
    memcpy(c->above, &above, sizeof above);
    memcpy(c->behind, &behind, sizeof behind);
    memcpy(c->wide, &wide, sizeof wide);
    memcpy(c->row, &row, sizeof row);
    memcpy(c->back, &back, sizeof back);
}

/* Column i of the block; of `left` the lowest bits are those before it in its row. */
static inline __attribute__((always_inline)) int code_bit(struct sk_adaptive *c, struct models *m, const struct columns *known, size_t i,
                                                          unsigned left, int bit, int decoding)
{
    unsigned back = known->back[i], alike = back == 0 || back == 7;
    alike += alike && (back & 1) == (left & 1);
    return SK_ADAPTIVE_BIT(4, c, &m->mix[alike], bit, decoding, &m->above[(left & 7) << 9 | known->above[i]],
                           &m->behind[(left & 1) << 3 | known->behind[i]], &m->wide[(left & 15) << 10 | known->wide[i]],
                           &m->row[(left & 3) << 8 | known->row[i]]);
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
    struct columns known;
    look_over(r, x, &known);
    unsigned left = 0;
    for (size_t k = 4; k > 0; k--)
        left = left << 1 | here[x - k];
    for (size_t i = 0; i < n; i++) {
        int bit = code_bit(c, m, &known, i, left, decoding ? 0 : here[x + i], decoding);
        if (decoding)
            here[x + i] = (uint8_t)bit;
        left = left << 1 | (unsigned)bit;
    }
}

static inline __attribute__((always_inline)) int walk(struct sk_adaptive *coder,
                                                      const struct sk_bilevel *b, int decoding)
{
    struct sk_adaptive c = *coder; /* nothing else points to this one: it may stay in registers */
    size_t row = sk_bilevel_row_bytes(b), blocks = b->width / BLOCK + 1, slab = b->ny * row;
    struct models *m = sk_scratch_take(sizeof *m);
    uint8_t *zeros = sk_scratch_take_zeros(row + SK_BILEVEL_ROOM + blocks);
    if (!m || !zeros) {
        sk_scratch_give(m);
        sk_scratch_give(zeros);
        return -1;
    }
    sk_adaptive_slots((sk_adaptive_slot *)m, offsetof(struct models, mix) / sizeof(sk_adaptive_slot));
    sk_adaptive_mixers(m->mix, 3, INPUTS);
    sk_adaptive_mixers(&m->mix_even, 1, 1);
    const uint8_t *none = zeros + SK_BILEVEL_EDGE;
    struct rows r = {.even = zeros + row + SK_BILEVEL_ROOM, .width = b->width};
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
