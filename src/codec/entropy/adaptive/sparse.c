/* One walk over the values of a plane both writes and reads them, so that contexts are the same. */
#include "codec/entropy/adaptive/sparse.h"

#include "codec/entropy/adaptive/adaptive.h"
#include "codec/entropy/scratch.h"
#include "codec/entropy/token.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 16,
    EDGE = 8,     /* zeros on both sides of a row that is not there */
    PLANES = 256, /* that have contexts of their own */
    SUMS = 88,
    NEAR = 432,
    WIDE = 12,
    FAR = 216,
    EXPONENTS = 30,
    SIZES = 22,
    CLASSES = 8,
    RUNS = 8,
};

struct models {
    sk_adaptive_slot sum[SK_PLANE_SETS][SUMS], near[SK_PLANE_SETS][NEAR], wide[PLANES][WIDE],
        far[SK_PLANE_SETS][FAR];
    sk_adaptive_slot alone[PLANES][4];
    sk_adaptive_slot quiet[PLANES][3], above[SK_PLANE_SETS][9], run[SK_PLANE_SETS][RUNS][3];
    sk_adaptive_slot sign[SK_PLANE_SETS][27], plane_sign[PLANES][9];
    sk_adaptive_slot size[SK_PLANE_SETS][EXPONENTS][SIZES], plane_size[PLANES][EXPONENTS],
        class_size[CLASSES][EXPONENTS];
    sk_adaptive_slot rest[SK_PLANE_SETS][EXPONENTS][3];
    struct sk_adaptive_mixer mix_zero[SK_PLANE_SETS][8], mix_quiet[SK_PLANE_SETS],
        mix_sign[SK_PLANE_SETS], mix_size[SK_PLANE_SETS][4], mix_rest;
};

struct walk {
    struct sk_adaptive coder;
    struct models *m;
    unsigned n_planes;
    size_t most; /* encoder: as soon as it is longer, nobody wants it */
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
};

static int models_new(struct walk *w)
{
    struct models *m = w->m = sk_scratch_take(sizeof *m);
    if (!m)
        return -1;
    sk_adaptive_slots((sk_adaptive_slot *)m, offsetof(struct models, mix_zero) / sizeof(sk_adaptive_slot));
    sk_adaptive_mixers(m->mix_zero[0], SK_PLANE_SETS * 8, 4);
    sk_adaptive_mixers(m->mix_quiet, SK_PLANE_SETS, 3);
    sk_adaptive_mixers(m->mix_sign, SK_PLANE_SETS, 2);
    sk_adaptive_mixers(m->mix_size[0], SK_PLANE_SETS * 4, 3);
    sk_adaptive_mixers(&m->mix_rest, 1, 1);
    return 0;
}

static inline unsigned sum_context(unsigned sum)
{
    if (sum < 16)
        return sum;
    return sum < 64 ? 16 + (sum - 16) / 4 : 28 + (sum - 64) / 16;
}

/* 0, 1, 2 … for |q| of 0, 1, 2, 3, then by half octaves. */
static inline unsigned class_of(unsigned level)
{
    return level < 2 ? 0 : level == 2 ? 1 : level < 9 ? level - 2 : 7;
}

static inline unsigned lesser(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static inline unsigned wide_context(unsigned sum)
{
    static const uint8_t of[] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6, 6, 6};
    return sum < 16 ? of[sum] : sum < 24 ? 7 : sum < 36 ? 8 : sum < 60 ? 9 : sum < 120 ? 10 : 11;
}

/* Levels around one value, as contexts. */
struct around {
    unsigned sum, near, wide, far, most;
};

static inline __attribute__((always_inline)) struct around look(const struct place *l, size_t x)
{
    const struct sk_plane_weights *w = &l->p->weights;
    unsigned left = x ? l->here[x - 1] : 0, left2 = x > 1 ? l->here[x - 2] : 0;
    unsigned up = l->up[x], up_left = l->up[x - 1], up_right = l->up[x + 1], back = l->back[x];
    unsigned sides = 0, most = 0, apart = 0;
    struct around a;
    a.sum = w->left * left + w->left2 * left2 + w->up * up + w->up_left * up_left +
            w->up_right * up_right + w->back * back;
    for (int s = 0; s < l->p->n_sides; s++) {
        unsigned v = l->side[s][x];
        a.sum += l->p->side[s].weight * v;
        sides += v;
        most = v > most ? v : most;
        apart += l->side[s][x - 1] + l->side[s][x + 1];
    }
    unsigned q = !sides ? 0 : sides <= 2 ? 1 : sides <= 6 ? 2 : 3;
    a.near = lesser(class_of(left), 2) * 3 + lesser(class_of(up), 2);
    a.near = (a.near * 3 + lesser(class_of(back), 2)) * 4 + q;
    a.near = (a.near * 2 + (up_left > 0)) * 2 + (up_right > 0);
    a.wide = wide_context((left + left2 + up + up_left + up_right + l->up[x - 2] + l->up[x + 2] +
                           back + l->back[x - 1] + l->back[x + 1] + apart / 2 + sides) / 2);
    a.far = lesser(class_of(l->old[x]), 2) * 3 + lesser(class_of(left2), 2);
    a.far = (a.far * 2 + (l->up2[x] > 0)) * 2 + (l->back2[x] > 0);
    a.far = (a.far * 3 + lesser(class_of(most), 2)) * 2 + (unsigned)l->fresh;
    most = left > up ? left : up;
    a.most = class_of(most > back ? most : back);
    return a;
}

/* A number that is not zero; its zero decision was made. */
static inline __attribute__((always_inline)) int32_t
code_number(struct walk *w, struct place *l, size_t x, const struct around *a, int32_t q,
            int decoding)
{
    struct models *m = w->m;
    unsigned s3 = (unsigned)((l->sign[(ptrdiff_t)x - 1] + 1) * 3 + l->sign_up[x] + 1);
    sk_adaptive_slot *sign[] = {&m->sign[l->set][s3 * 3 + (unsigned)(l->sign_back[x] + 1)],
                                &m->plane_sign[l->plane][s3]};
    int negative = sk_adaptive_bit(&w->coder, sign, 2, &m->mix_sign[l->set], q < 0, decoding);
    uint32_t v = q < 0 ? 0u - (uint32_t)q : (uint32_t)q;
    unsigned k = 0, want = decoding ? 0 : 31u - (unsigned)__builtin_clz(v);
    for (; k < EXPONENTS - 1; k++) {
        sk_adaptive_slot *size[] = {&m->size[l->set][k][sum_context(a->sum) / 4],
                                    &m->plane_size[l->plane][k], &m->class_size[a->most][k]};
        if (!sk_adaptive_bit(&w->coder, size, 3, &m->mix_size[l->set][lesser(k, 3)], k < want,
                             decoding))
            break;
    }
    uint32_t got = 1;
    for (unsigned left = k; left-- > 0;) {
        int bit = (int)(v >> left & 1);
        if (k - left > 2) {
            bit = sk_adaptive_split(&w->coder, 1u << 15, bit, decoding);
        } else {
            sk_adaptive_slot *rest[] = {&m->rest[l->set][k][k - left == 1 ? 0 : 1 + (got & 1)]};
            bit = sk_adaptive_bit(&w->coder, rest, 1, &m->mix_rest, bit, decoding);
        }
        got = got << 1 | (unsigned)bit;
    }
    l->sign[x] = negative ? -1 : 1;
    return negative ? -(int32_t)got : (int32_t)got;
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
    if ((x && (l->here[x - 1] | l->here[x - 2])) || l->up[x - 1] || l->up[x + n])
        return 0;
    add(&all, l->up + x);
    add(&all, l->back + x);
    add(&all, l->old + x);
    for (int s = 0; s < l->p->n_sides; s++)
        add(&all, l->side[s] + x);
    return !any_of(&all, n);
}

/* Says of a quiet block whether all of it is zero. */
static inline __attribute__((always_inline)) int code_quiet(struct walk *w, struct place *l,
                                                            size_t block, int busy, int decoding)
{
    struct models *m = w->m;
    unsigned left = block ? l->quiet[block - 1] : 0, above = l->quiet[block];
    unsigned run = 32u - (unsigned)__builtin_clz(l->run + 1) - 1;
    sk_adaptive_slot *slot[] = {&m->quiet[l->plane][left], &m->above[l->set][above * 3 + left],
                                &m->run[l->set][lesser(run / 2, RUNS - 1)][above]};
    return sk_adaptive_bit(&w->coder, slot, 3, &m->mix_quiet[l->set], busy, decoding);
}

/* Which values of a block have something near them that is not zero, as far as other rows tell: bit
 * 0, and farther: bit 1. */
static void look_over(const struct place *l, size_t from, uint8_t near[BLOCK])
{
    const uint8_t *up = l->up + from, *back = l->back + from, *old = l->old + from;
    uint8_t far[BLOCK];
    for (size_t i = 0; i < BLOCK; i++) {
        near[i] = up[i] | up[(ptrdiff_t)i - 1] | up[i + 1] | back[i] | old[i];
        far[i] = up[(ptrdiff_t)i - 2] | up[i + 2] | back[(ptrdiff_t)i - 1] | back[i + 1];
    }
    for (int s = 0; s < l->p->n_sides; s++) {
        const uint8_t *side = l->side[s] + from;
        for (size_t i = 0; i < BLOCK; i++)
            near[i] |= side[i];
    }
    for (size_t i = 0; i < BLOCK; i++)
        near[i] = (uint8_t)((near[i] != 0) | (far[i] != 0) << 1);
}

/* Says whether a value is zero. */
static inline __attribute__((always_inline)) int code_busy(struct walk *w, struct place *l,
                                                           const struct around *a, int busy,
                                                           int decoding)
{
    struct models *m = w->m;
    sk_adaptive_slot *slot[] = {&m->sum[l->set][sum_context(a->sum)], &m->near[l->set][a->near],
                                &m->wide[l->plane][a->wide], &m->far[l->set][a->far]};
    unsigned mix = (unsigned)l->fresh * 4 + (a->wide > 6 ? 3 : a->wide > 3 ? 2 : a->wide > 0);
    return sk_adaptive_bit(&w->coder, slot, 4, &m->mix_zero[l->set][mix], busy, decoding);
}

/* The columns [x, x + n); q is where the decoder writes, next what the encoder takes. */
static inline __attribute__((always_inline)) void code_block(struct walk *w, struct place *l,
                                                             size_t from, size_t n, int32_t *q,
                                                             uint8_t *level, const int32_t **next,
                                                             int decoding)
{
    struct models *m = w->m;
    unsigned state = 0;
    l->fresh = 0;
    if (l->mask && !memchr(l->mask + from, 0, n)) {
        state = 2;
    } else if (is_quiet(l, from, n)) {
        int busy = code_quiet(w, l, from / BLOCK, decoding ? 0 : any(level + from, n), decoding);
        l->run = busy ? 0 : l->run + (l->run < 1u << 30);
        l->fresh = busy;
        state = busy ? 1 : 2;
    }
    l->quiet[from / BLOCK] = (uint8_t)state;
    if (state == 2) {
        if (decoding) {
            memset(q + from, 0, n * sizeof *q);
            memset(level + from, 0, n);
        }
        return;
    }
    uint8_t near[BLOCK];
    look_over(l, from, near);
    for (size_t x = from; x < from + n; x++) {
        int32_t v = 0;
        if (!l->mask || !l->mask[x]) {
            int busy = decoding ? 0 : level[x] != 0, left = x && (l->here[x - 1] || (x > 1 && l->here[x - 2]));
            struct around a;
            if (near[x - from] & 1 || left) {
                a = look(l, x);
                busy = code_busy(w, l, &a, busy, decoding);
            } else {
                sk_adaptive_slot *alone = &m->alone[l->plane][l->fresh * 2 + (near[x - from] >> 1)];
                busy = sk_adaptive_alone(&w->coder, alone, busy, decoding);
                if (busy)
                    a = look(l, x);
            }
            if (busy) {
                v = code_number(w, l, x, &a, decoding ? 1 : *(*next)++, decoding);
                l->fresh = 0;
            }
        }
        if (decoding) {
            q[x] = v;
            level[x] = (uint8_t)sk_level_of(v);
        }
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

static inline __attribute__((always_inline)) int walk(struct walk *w, const struct sk_plane *p,
                                                      int32_t *q, uint8_t *level,
                                                      const int32_t **next, int decoding)
{
    struct room r;
    struct place l = {.p = p, .set = (unsigned)p->set, .plane = lesser(w->n_planes++, PLANES - 1)};
    if (room_new(&r, p))
        return -1;
    const uint8_t *zeros = r.zeros + EDGE;
    for (size_t b = 0; b < p->nb; b++)
        for (size_t z = 0; z < p->nz; z++) {
            int8_t *slab = r.sign[z & 1], *before = r.sign[~z & 1];
            memset(slab, 0, r.slab);
            if (!z)
                memset(before, 0, r.slab);
            for (size_t y = 0; y < p->ny; y++) {
                size_t at = p->origin + b * p->sb + z * p->sz + y * p->sy;
                uint8_t *here = level + at;
                if (!decoding && w->coder.out->len > w->most)
                    break;
                l.here = here;
                l.up = y ? here - p->sy : zeros;
                l.up2 = y > 1 ? here - 2 * p->sy : zeros;
                l.back = z ? here - p->sz : zeros;
                l.back2 = z > 1 ? here - 2 * p->sz : zeros;
                l.old = b ? here - p->sb : zeros;
                for (int s = 0; s < p->n_sides; s++)
                    l.side[s] = p->side[s].level + (ptrdiff_t)at + p->side[s].shift;
                l.mask = p->mask ? p->mask + at : NULL;
                l.sign = slab + (y + 1) * r.row + 1;
                l.sign_up = slab + y * r.row + 1;
                l.sign_back = before + (y + 1) * r.row + 1;
                l.quiet = r.quiet;
                for (size_t x = 0; x < p->width; x += BLOCK)
                    code_block(w, &l, x, p->width - x < BLOCK ? p->width - x : BLOCK,
                               decoding ? q + at : NULL, here, next, decoding);
            }
        }
    sk_scratch_give(r.zeros);
    return 0;
}

/* ---- the writer ---- */

void sk_sparse_start(struct sk_sparse *s, size_t most)
{
    s->n_planes = s->n_values = 0;
    s->most = most;
    s->given_up = 0;
}

void sk_sparse_free(struct sk_sparse *s)
{
    free(s->plane);
    free(s->level);
    free(s->value);
    *s = (struct sk_sparse){.given_up = 1};
}

static int more_planes(struct sk_sparse *s)
{
    if (s->n_planes < s->cap_planes)
        return 0;
    size_t cap = 2 * s->cap_planes + 32;
    struct sk_plane *plane = realloc(s->plane, cap * sizeof *plane);
    s->plane = plane ? plane : s->plane;
    const uint8_t **level = plane ? realloc(s->level, cap * sizeof *level) : NULL;
    s->level = level ? level : s->level;
    s->cap_planes = level ? cap : s->cap_planes;
    return level ? 0 : -1;
}

static int more_values(struct sk_sparse *s)
{
    if (s->n_values + BLOCK <= s->cap_values)
        return 0;
    size_t cap = 2 * s->cap_values + 1024;
    int32_t *value = realloc(s->value, cap * sizeof *value);
    s->value = value ? value : s->value;
    s->cap_values = value ? cap : s->cap_values;
    return value ? 0 : -1;
}

/* The values of a row that are not zero. -1: too many, or memory is out. */
static int add_row(struct sk_sparse *s, const int32_t *q, const uint8_t *level, size_t width)
{
    for (size_t x = 0; x < width; x += BLOCK) {
        size_t n = width - x < BLOCK ? width - x : BLOCK;
        if (!any(level + x, n))
            continue;
        if (s->n_values + n > s->most || more_values(s))
            return -1;
        int32_t *value = s->value + s->n_values;
        for (size_t i = x; i < x + n; i++) {
            *value = q[i];
            value += level[i] != 0;
        }
        s->n_values = (size_t)(value - s->value);
    }
    return 0;
}

void sk_sparse_add(struct sk_sparse *s, const struct sk_plane *p, const int32_t *q,
                   const uint8_t *level)
{
    if (s->given_up)
        return;
    s->given_up = more_planes(s);
    if (s->given_up)
        return;
    s->plane[s->n_planes] = *p;
    s->level[s->n_planes++] = level;
    for (size_t b = 0; b < p->nb; b++)
        for (size_t z = 0; z < p->nz; z++)
            for (size_t y = 0; y < p->ny && !s->given_up; y++) {
                size_t at = p->origin + b * p->sb + z * p->sz + y * p->sy;
                s->given_up = add_row(s, q + at, level + at, p->width);
            }
}

int sk_sparse_put(const struct sk_sparse *s, size_t most, struct sk_buf *out)
{
    size_t room = SIZE_MAX - out->len;
    struct walk w = {.most = out->len + (most < room ? most : room)};
    const int32_t *next = s->value;
    if (s->given_up || models_new(&w))
        return -1;
    sk_adaptive_encoder(&w.coder, out);
    int rc = 0;
    for (size_t k = 0; !rc && k < s->n_planes; k++)
        rc = walk(&w, &s->plane[k], NULL, (uint8_t *)(uintptr_t)s->level[k], &next, 0);
    sk_adaptive_flush(&w.coder);
    sk_scratch_give(w.m);
    return rc || out->len > w.most ? -1 : 0;
}

/* ---- the reader ---- */

struct sk_sparse_reader {
    struct walk walk;
};

struct sk_sparse_reader *sk_sparse_reader_new(const void *in, size_t n)
{
    struct sk_sparse_reader *r = calloc(1, sizeof *r);
    if (r && models_new(&r->walk)) {
        free(r);
        return NULL;
    }
    if (r)
        sk_adaptive_decoder(&r->walk.coder, in, n);
    return r;
}

void sk_sparse_reader_free(struct sk_sparse_reader *r)
{
    if (r)
        sk_scratch_give(r->walk.m);
    free(r);
}

int sk_sparse_read(struct sk_sparse_reader *r, const struct sk_plane *p, int32_t *q, uint8_t *level)
{
    return walk(&r->walk, p, q, level, NULL, 1);
}

int sk_sparse_reader_ended(const struct sk_sparse_reader *r)
{
    return sk_adaptive_ended(&r->walk.coder);
}
