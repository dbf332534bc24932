/* sparse_walk.h for one instruction set: NAME(x) tells the variants apart. One walk over the values of a plane both writes and reads
 * them, so that contexts are the same. */
#include "codec/entropy/adaptive/sparse_models.h"
#include "codec/entropy/each.h"
#include "codec/entropy/scratch.h"
#include "codec/entropy/token.h"

#include <string.h>

enum {
    BLOCK = 16,
    EDGE = 8, /* zeros on both sides of a row that is not there */
};

/* A plane while it is walked over. */
struct place {
    const struct sk_plane *p;
    unsigned set, plane;
    const uint8_t *here, *up, *up2, *back, *back2, *old; /* levels of this row and of known ones */
    const uint8_t *side[SK_PLANE_SIDES], *mask;
    const int8_t *sign_up, *sign_back;
    int8_t *sign;
    uint8_t *quiet; /* by block: what it was when it was last coded */
    unsigned run;
    int fresh; /* the block is known not to be all zero, and all of it so far was */
    const struct sk_sparse_lookup *lookup;
    /* of the models, those that the plane asks */
    sk_adaptive_slot *sum, *near, *wide, *far, *alone;
    struct sk_adaptive_mixer *mix_zero;
};

static inline unsigned lesser(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* What is known of the columns of a block, but for what stands to the left of each in its row: each of these is a part of a context. */
struct columns {
    uint16_t sum[BLOCK], wide[BLOCK];
    uint8_t near[BLOCK], far[BLOCK], most[BLOCK];
    uint8_t any[BLOCK]; /* is something near that is not zero: bit 0, and farther: bit 1 */
};

/* A level is at most SK_LEVEL_MAX, 61: four of them add up to a byte, and signed numbers, which any processor compares, hold one. */
typedef uint8_t levels_of_block __attribute__((vector_size(BLOCK)));
typedef int8_t signed_levels __attribute__((vector_size(BLOCK)));
typedef uint16_t words_of_block __attribute__((vector_size(2 * BLOCK)));
typedef int16_t signed_words __attribute__((vector_size(2 * BLOCK)));

/* Macros, since functions that take vectors depend on the instruction set. */
#define LEVELS(p)                                                                                  \
    __extension__({                                                                                \
        levels_of_block l_;                                                                        \
        memcpy(&l_, (p), sizeof l_);                                                               \
        l_;                                                                                        \
    })
#define WORDS(l)            ((words_of_block){SK_EACH_16(l, uint16_t)})
#define IF_OVER(l, n)       ((levels_of_block)((signed_levels)(l) > (n))) /* all ones where it is */
#define IF_WORD_OVER(w, n)  ((words_of_block)((signed_words)(w) > (n)))
#define FEW(l, each)        ((IF_OVER(l, 1) & (each)) + (IF_OVER(l, 3) & (each))) /* whether it is over 1, and over 3, each time so many */
#define GREATER(a, b)       (((a) & IF_OVER(a, (signed_levels)(b))) | ((b) & ~IF_OVER(a, (signed_levels)(b))))

/* What the sides add to the columns. */
struct beside {
    words_of_block sum, all, apart;
    levels_of_block most;
};

static inline __attribute__((always_inline)) void look_beside(const struct place *l, size_t from, struct beside *b)
{
    memset(b, 0, sizeof *b);
    for (int s = 0; s < l->p->n_sides; s++) {
        const uint8_t *side = l->side[s] + from;
        levels_of_block here = LEVELS(side), apart = LEVELS(side - 1) + LEVELS(side + 1);
        words_of_block level = WORDS(here);
        b->sum += (uint16_t)l->p->side[s].weight * level;
        b->all += level;
        b->apart += WORDS(apart);
        b->most = GREATER(here, b->most);
    }
}

/* There is room behind each row for the levels of a whole block. */
static void look_over(const struct place *l, size_t from, struct columns *restrict c)
{
    const struct sk_plane_weights w = l->p->weights;
    const levels_of_block up = LEVELS(l->up + from), up_left = LEVELS(l->up + from - 1), up_right = LEVELS(l->up + from + 1),
                          up_left2 = LEVELS(l->up + from - 2), up_right2 = LEVELS(l->up + from + 2),
                          back = LEVELS(l->back + from), back_left = LEVELS(l->back + from - 1),
                          back_right = LEVELS(l->back + from + 1), old = LEVELS(l->old + from), up2 = LEVELS(l->up2 + from),
                          back2 = LEVELS(l->back2 + from);
    struct beside b;
    look_beside(l, from, &b);
    words_of_block sum = b.sum + (uint16_t)w.up * WORDS(up) + (uint16_t)w.back * WORDS(back);
    if (w.up_left | w.up_right)
        sum += (uint16_t)w.up_left * WORDS(up_left) + (uint16_t)w.up_right * WORDS(up_right);
    words_of_block wide = WORDS(up + up_left + up_right + up_left2) + WORDS(up_right2 + back + back_left + back_right) +
                          (b.apart >> 1) + b.all;
    words_of_block q = (IF_WORD_OVER(b.all, 0) & 4) + (IF_WORD_OVER(b.all, 2) & 4) + (IF_WORD_OVER(b.all, 6) & 4);
    levels_of_block near = FEW(up, 48) + FEW(back, 16) + __builtin_convertvector(q, levels_of_block) +
                           (IF_OVER(up_left, 0) & 2) + (IF_OVER(up_right, 0) & 1);
    levels_of_block far = FEW(old, 72) + (IF_OVER(up2, 0) & 12) + (IF_OVER(back2, 0) & 6) + FEW(b.most, 2);
    levels_of_block most = GREATER(up, back);
    levels_of_block any = (IF_OVER(up | up_left | up_right | back | old | b.most, 0) & 1) |
                          (IF_OVER(up_left2 | up_right2 | back_left | back_right, 0) & 2);
    memcpy(c->sum, &sum, sizeof sum);
    memcpy(c->wide, &wide, sizeof wide);
    memcpy(c->near, &near, sizeof near);
    memcpy(c->far, &far, sizeof far);
    memcpy(c->most, &most, sizeof most);
    memcpy(c->any, &any, sizeof any);
}

/* Weighted levels around column i of the block, those to the left with them. */
static inline __attribute__((always_inline)) unsigned sum_at(const struct place *l, const struct columns *c, size_t i, unsigned left,
                                                             unsigned left2)
{
    const struct sk_plane_weights *w = &l->p->weights;
    return c->sum[i] + w->left * left + w->left2 * left2;
}

/* A number that is not zero, with this sum of levels around it and this greatest of them; its zero decision was made. */
static inline __attribute__((always_inline)) int32_t code_number(struct sk_adaptive *c, struct sk_sparse_models *m, struct place *l, size_t x,
                                                     unsigned sum, unsigned greatest, int32_t q, int decoding)
{
    unsigned s3 = (unsigned)((l->sign[(ptrdiff_t)x - 1] + 1) * 3 + l->sign_up[x] + 1), around = l->lookup->sum[sum] / 4,
             most = l->lookup->most[greatest];
    int negative = SK_ADAPTIVE_BIT(2, c, &m->mix_sign[l->set], q < 0, decoding,
                                   &m->sign[l->set][s3 * 3 + (unsigned)(l->sign_back[x] + 1)], &m->plane_sign[l->plane][s3]);
    uint32_t v = q < 0 ? 0u - (uint32_t)q : (uint32_t)q;
    unsigned k = 0, want = decoding ? 0 : 31u - (unsigned)__builtin_clz(v);
    for (; k < EXPONENTS - 1; k++)
        if (!SK_ADAPTIVE_BIT(3, c, &m->mix_size[l->set][lesser(k, 3)], k < want, decoding, &m->size[l->set][k][around],
                             &m->plane_size[l->plane][k], &m->class_size[most][k]))
            break;
    uint32_t got = 1;
    for (unsigned left = k; left-- > 0;) {
        int bit = (int)(v >> left & 1);
        if (k - left > 2)
            bit = sk_adaptive_split(c, 1u << 15, bit, decoding);
        else
            bit = SK_ADAPTIVE_BIT(1, c, &m->mix_rest, bit, decoding, &m->rest[l->set][k][k - left == 1 ? 0 : 1 + (got & 1)]);
        got = got << 1 | (unsigned)bit;
    }
    l->sign[x] = negative ? -1 : 1;
    return negative ? -(int32_t)got : (int32_t)got;
}

/* As calls: most values are zero, and what they need may stay in registers. */
static __attribute__((noinline)) int32_t read_number(struct sk_adaptive *c, struct sk_sparse_models *m, struct place *l, size_t x,
                                                     unsigned sum, unsigned greatest)
{
    return code_number(c, m, l, x, sum, greatest, 1, 1);
}

static __attribute__((noinline)) int32_t write_number(struct sk_adaptive *c, struct sk_sparse_models *m, struct place *l, size_t x,
                                                      unsigned sum, unsigned greatest, int32_t q)
{
    return code_number(c, m, l, x, sum, greatest, q, 0);
}

/* The levels of a block; there is room behind each row for those of a whole one. */
struct levels {
    uint64_t a, b;
};

static inline __attribute__((always_inline)) void add(struct levels *l, const uint8_t *p)
{
    struct levels more;
    memcpy(&more, p, sizeof more);
    l->a |= more.a;
    l->b |= more.b;
}

/* Is one of the first n not zero? */
static inline __attribute__((always_inline)) int any_of(const struct levels *l, size_t n)
{
    if (n == BLOCK)
        return (l->a | l->b) != 0;
    uint64_t few = ((uint64_t)1 << 8 * (n % 8)) - 1; /* little-endian, as this machine is */
    return (n < 8 ? l->a & few : l->a | (l->b & few)) != 0;
}

static inline __attribute__((always_inline)) int any(const uint8_t *p, size_t n)
{
    struct levels l = {0, 0};
    add(&l, p);
    return any_of(&l, n);
}

/* Is all zero that is known around these columns? */
static inline __attribute__((always_inline)) int is_quiet(const struct place *l, size_t x, size_t n)
{
    struct levels all = {0, 0};
    if ((x && (l->here[x - 1] | l->here[x - 2])) || (l->up + x)[-1] || l->up[x + n])
        return 0;
    add(&all, l->up + x);
    add(&all, l->back + x);
    add(&all, l->old + x);
    for (int s = 0; s < l->p->n_sides; s++)
        add(&all, l->side[s] + x);
    return !any_of(&all, n);
}

/* Says of a quiet block whether all of it is zero. */
static inline __attribute__((always_inline)) int code_quiet(struct sk_adaptive *c,
                                                            struct sk_sparse_models *m,
                                                            struct place *l, size_t block, int busy,
                                                            int decoding)
{
    unsigned left = block ? l->quiet[block - 1] : 0, above = l->quiet[block];
    unsigned run = 32u - (unsigned)__builtin_clz(l->run + 1) - 1;
    return SK_ADAPTIVE_BIT(3, c, &m->mix_quiet[l->set], busy, decoding, &m->quiet[l->plane][left], &m->above[l->set][above * 3 + left],
                           &m->run[l->set][lesser(run / 2, RUNS - 1)][above]);
}

/* Says whether value i of a block is zero, which has something near that is not. */
static inline __attribute__((always_inline)) int code_busy(struct sk_adaptive *c, struct place *l, const struct columns *columns, size_t i,
                                                           unsigned left, unsigned left2, int busy, int decoding)
{
    const struct sk_sparse_lookup *t = l->lookup;
    unsigned fresh = (unsigned)l->fresh, wide = t->wide[(columns->wide[i] + left + left2) / 2];
    return SK_ADAPTIVE_BIT(4, c, l->mix_zero + fresh * 4 + t->mix[wide], busy, decoding, l->sum + t->sum[sum_at(l, columns, i, left, left2)],
                           l->near + t->near_left[left] + columns->near[i], l->wide + wide,
                           l->far + t->far_left2[left2] + columns->far[i] + fresh);
}

/* Are n values all masked? */
static inline __attribute__((always_inline)) int all_masked(const uint8_t *mask, size_t n)
{
    if (n < BLOCK)
        return !memchr(mask, 0, n);
    levels_of_block none = (levels_of_block)(LEVELS(mask) == 0);
    struct levels l;
    memcpy(&l, &none, sizeof l);
    return !any_of(&l, BLOCK);
}

/* Zeros for n values; of a whole block, as most are, in a few instructions. */
static inline __attribute__((always_inline)) void clear(int32_t *q, uint8_t *level, size_t n)
{
    if (n == BLOCK) {
        memset(q, 0, BLOCK * sizeof *q);
        memset(level, 0, BLOCK);
    } else {
        memset(q, 0, n * sizeof *q);
        memset(level, 0, n);
    }
}

/* The columns [x, x + n); q is where the decoder writes, next what the encoder takes. */
static inline __attribute__((always_inline)) void
code_block(struct sk_adaptive *c, struct sk_sparse_models *m, struct place *l, size_t from, size_t n,
           int32_t *q, uint8_t *level, const int32_t **next, int decoding)
{
    unsigned state = 0;
    l->fresh = 0;
    if (l->mask && all_masked(l->mask + from, n)) {
        state = 2;
    } else if (is_quiet(l, from, n)) {
        int busy = code_quiet(c, m, l, from / BLOCK, decoding ? 0 : any(level + from, n), decoding);
        l->run = busy ? 0 : l->run + (l->run < 1u << 30);
        l->fresh = busy;
        state = busy ? 1 : 2;
    }
    l->quiet[from / BLOCK] = (uint8_t)state;
    if (decoding) /* what is not zero comes over it */
        clear(q + from, level + from, n);
    if (state == 2)
        return;
    struct columns columns;
    look_over(l, from, &columns);
    unsigned left = from ? l->here[from - 1] : 0, left2 = from ? l->here[from - 2] : 0;
    for (size_t i = 0; i < n; i++) {
        size_t x = from + i;
        unsigned now = 0;
        if (!l->mask || !l->mask[x]) {
            int busy = decoding ? 0 : level[x] != 0;
            if (columns.any[i] & 1 || left | left2)
                busy = code_busy(c, l, &columns, i, left, left2, busy, decoding);
            else
                busy = sk_adaptive_alone(c, l->alone + l->fresh * 2 + (columns.any[i] >> 1), busy, decoding);
            if (busy) {
                unsigned sum = sum_at(l, &columns, i, left, left2), greatest = left > columns.most[i] ? left : columns.most[i];
                int32_t v = decoding ? read_number(c, m, l, x, sum, greatest) : write_number(c, m, l, x, sum, greatest, *(*next)++);
                l->fresh = 0;
                now = decoding ? sk_level_of(v) : level[x];
                if (decoding) {
                    q[x] = v;
                    level[x] = (uint8_t)now;
                }
            }
        }
        left2 = left;
        left = now;
    }
}

/* Memory of a walk over one plane: zeros, what blocks were, and signs of two slabs. */
struct room {
    uint8_t *zeros, *quiet;
    int8_t *sign[2];
    size_t slab, row;
};

static int room_new(struct room *r, const struct sk_plane *p)
{
    size_t blocks = p->width / BLOCK + 1, zeros = p->width + BLOCK + 2 * EDGE;
    r->row = p->width + 2;
    r->slab = (p->ny + 1) * r->row;
    r->zeros = sk_scratch_take_zeros(zeros + blocks + 2 * r->slab);
    if (!r->zeros)
        return -1;
    r->quiet = r->zeros + zeros;
    r->sign[0] = (int8_t *)(r->quiet + blocks);
    r->sign[1] = r->sign[0] + r->slab;
    return 0;
}

static void place_new(struct place *l, struct sk_sparse_walk *w, const struct sk_plane *p)
{
    struct sk_sparse_models *m = w->m;
    unsigned set = (unsigned)p->set, plane = lesser(w->n_planes++, PLANES - 1);
    *l = (struct place){.p = p, .set = set, .plane = plane, .lookup = w->lookup};
    l->sum = m->sum[set];
    l->near = m->near[set];
    l->wide = m->wide[plane];
    l->far = m->far[set];
    l->alone = m->alone[plane];
    l->mix_zero = m->mix_zero[set];
}

/* Rows of a plane, as far as they are known. */
static inline __attribute__((always_inline)) void
place_at(struct place *l, const struct room *r, size_t b, size_t z, size_t y, const uint8_t *level)
{
    const struct sk_plane *p = l->p;
    size_t at = p->origin + b * p->sb + z * p->sz + y * p->sy;
    const uint8_t *here = level + at, *zeros = r->zeros + EDGE;
    int8_t *slab = r->sign[z & 1], *before = r->sign[~z & 1];
    l->here = here;
    l->up = y ? here - p->sy : zeros;
    l->up2 = y > 1 ? here - 2 * p->sy : zeros;
    l->back = z ? here - p->sz : zeros;
    l->back2 = z > 1 ? here - 2 * p->sz : zeros;
    l->old = b ? here - p->sb : zeros;
    for (int s = 0; s < p->n_sides; s++)
        l->side[s] = p->side[s].level + (ptrdiff_t)at + p->side[s].shift;
    l->mask = p->mask ? p->mask + at : NULL;
    l->sign = slab + (y + 1) * r->row + 1;
    l->sign_up = slab + y * r->row + 1;
    l->sign_back = before + (y + 1) * r->row + 1;
    l->quiet = r->quiet;
}

static inline __attribute__((always_inline)) int walk(struct sk_sparse_walk *w,
                                                      const struct sk_plane *p, int32_t *q,
                                                      uint8_t *level, const int32_t **next,
                                                      int decoding)
{
    struct room r;
    struct place l;
    struct sk_adaptive c = w->coder;
    if (room_new(&r, p))
        return -1;
    place_new(&l, w, p);
    for (size_t b = 0; b < p->nb; b++)
        for (size_t z = 0; z < p->nz; z++) {
            memset(r.sign[z & 1], 0, r.slab);
            if (!z)
                memset(r.sign[~z & 1], 0, r.slab);
            for (size_t y = 0; y < p->ny; y++) {
                if (!decoding && c.out->len > w->most)
                    break;
                size_t at = p->origin + b * p->sb + z * p->sz + y * p->sy;
                place_at(&l, &r, b, z, y, level);
                for (size_t x = 0; x < p->width; x += BLOCK)
                    code_block(&c, w->m, &l, x, p->width - x < BLOCK ? p->width - x : BLOCK,
                               decoding ? q + at : NULL, level + at, next, decoding);
            }
        }
    w->coder = c;
    sk_scratch_give(r.zeros);
    return 0;
}

static int NAME(write)(struct sk_sparse_walk *w, const struct sk_plane *p, const uint8_t *level,
                       const int32_t **next)
{
    return walk(w, p, NULL, (uint8_t *)(uintptr_t)level, next, 0);
}

static int NAME(read)(struct sk_sparse_walk *w, const struct sk_plane *p, int32_t *q, uint8_t *level)
{
    return walk(w, p, q, level, NULL, 1);
}

const struct sk_sparse_kernel NAME(sk_sparse_kernel) = {NAME(write), NAME(read)};
