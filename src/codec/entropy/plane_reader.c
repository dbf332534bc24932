#include "codec/entropy/plane_impl.h"

#include <stdlib.h>
#include <string.h>

/* Words and raw bits a block can take at most: beyond that no check is needed inside it. */
enum {
    BLOCK_WORDS = LANES * BLOCK + 1,
    BLOCK_RAW_BYTES = LANES * BLOCK * SK_TOKEN_MAX_BITS / 8 + 16
};

struct sk_plane_reader {
    const uint8_t *word, *word_end; /* 2 bytes each */
    const uint8_t *raw;
    size_t raw_size, raw_at; /* bytes, bits */
    uint32_t state[LANES];
    unsigned last_flag;
    int damaged;
    int n_models;
    uint8_t of[SK_PLANE_SETS][2 * SUM_LIMIT]; /* sum → model */
    uint8_t flag_model[2];
    uint32_t (*table)[SK_RANS_ONE];
};

static int damaged(struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_EDAMAGED, "the entropy-coded part is damaged");
}

/* Tables of one set; model_of[context - first]. Contexts past the last keep the last table, or the
 * certain zero. */
static int read_set(struct sk_plane_reader *r, struct sk_bits_in *in, unsigned contexts,
                    uint8_t *model_of)
{
    unsigned n = sk_bits_get(in, 6), next = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned last = sk_bits_get(in, 7);
        struct sk_rans_model m;
        if (in->bad || last >= contexts || last < next || r->n_models >= MAX_MODELS ||
            sk_rans_model_read(&m, in))
            return -1;
        unsigned sum = 0;
        for (int t = 0; t < SK_TOKENS; t++)
            sum += m.freq[t];
        if (sum != SK_RANS_ONE)
            return -1;
        sk_rans_table(&m, r->table[r->n_models]);
        while (next <= last)
            model_of[next++] = (uint8_t)r->n_models;
        r->n_models++;
    }
    unsigned rest = n ? (unsigned)r->n_models - 1 : 0;
    while (next < contexts)
        model_of[next++] = (uint8_t)rest;
    return in->bad ? -1 : 0;
}

static int read_tables(struct sk_plane_reader *r, struct sk_bits_in *in)
{
    /* Model 0 is the certain zero of masked places: decoding it changes nothing. */
    for (uint32_t k = 0; k < SK_RANS_ONE; k++)
        r->table[0][k] = (uint32_t)SK_RANS_ONE << 7 | k << 20;
    r->n_models = 1;
    for (unsigned s = 0; s < SK_PLANE_SETS; s++) {
        uint8_t of[FINE];
        if (read_set(r, in, FINE, of))
            return -1;
        for (unsigned k = 0; k < SUM_LIMIT; k++)
            r->of[s][k] = of[fine_of(k)];
        memset(r->of[s] + SUM_LIMIT, 0, SUM_LIMIT);
    }
    return read_set(r, in, 2, r->flag_model);
}

int sk_plane_reader_new(struct sk_plane_reader **out, const void *in, size_t n,
                        struct saikai_error *err)
{
    struct sk_plane_reader *r = calloc(1, sizeof *r);
    if (r)
        r->table = malloc((MAX_MODELS + 1) * sizeof *r->table);
    if (!r || !r->table) {
        free(r);
        return sk_fail(err, SAIKAI_ENOMEM, "out of memory for decoding");
    }
    struct sk_bits_in bits = {.p = in, .size_bits = n * 8};
    if (n >= (size_t)-1 / 8 || read_tables(r, &bits))
        goto bad;
    size_t head = (bits.at + 7) / 8;
    struct sk_rd rd = sk_rd_init((const uint8_t *)in + head, n - head);
    size_t n_words = sk_rd_u32(&rd);
    for (int l = 0; l < LANES; l++)
        r->state[l] = sk_rd_u32(&rd);
    r->word = sk_rd_bytes(&rd, n_words * 2);
    if (!r->word)
        goto bad;
    r->word_end = r->word + n_words * 2;
    r->raw = rd.p;
    r->raw_size = sk_rd_left(&rd);
    *out = r;
    return 0;
bad:
    sk_plane_reader_free(r);
    return damaged(err);
}

void sk_plane_reader_free(struct sk_plane_reader *r)
{
    if (!r)
        return;
    free(r->table);
    free(r);
}

static inline uint32_t load16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}

static inline uint64_t load64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

/* One symbol of a lane, with every check. */
static unsigned get(struct sk_plane_reader *r, unsigned lane, unsigned model)
{
    uint32_t x = r->state[lane], e = r->table[model][x & (SK_RANS_ONE - 1)];
    x = (e >> 7 & 0x1fff) * (x >> SK_RANS_BITS) + (e >> 20);
    if (x < SK_RANS_LOW) {
        if (r->word == r->word_end) {
            r->damaged = 1;
            x |= SK_RANS_LOW;
        } else {
            x = x << 16 | load16(r->word);
            r->word += 2;
        }
    }
    r->state[lane] = x;
    return e & 127;
}

static uint32_t get_raw(struct sk_plane_reader *r, unsigned n)
{
    struct sk_bits_in in = {.p = r->raw, .size_bits = r->raw_size * 8, .at = r->raw_at};
    uint32_t v = sk_bits_get(&in, n);
    r->raw_at = in.at;
    r->damaged |= in.bad;
    return v;
}

struct block {
    uint16_t sum[LANES][BLOCK];
    int32_t *q[LANES];
    uint8_t *level[LANES];
    unsigned left[LANES], left2[LANES];
    size_t lanes, n;
    unsigned w1, w2;
    const uint8_t *of;
};

static void read_block_checked(struct sk_plane_reader *r, struct block *b)
{
    const struct sk_token *tokens = sk_token_table();
    for (size_t i = 0; i < b->n; i++)
        for (size_t l = 0; l < b->lanes; l++) {
            unsigned sum = b->sum[l][i] + b->w1 * b->left[l] + b->w2 * b->left2[l];
            const struct sk_token *t = &tokens[get(r, (unsigned)l, b->of[sum])];
            b->q[l][i] = sk_token_value(t, t->bits ? get_raw(r, t->bits) : 0);
            b->level[l][i] = t->level;
            b->left2[l] = b->left[l];
            b->left[l] = t->level;
        }
}

/* The same for eight lanes, when words and raw bits for the worst case are there. */
static void read_block_fast(struct sk_plane_reader *r, struct block *b)
{
    const struct sk_token *tokens = sk_token_table();
    const uint8_t *word = r->word, *raw = r->raw;
    size_t raw_at = r->raw_at;
    uint32_t x[LANES];
    unsigned side[LANES], w1 = b->w1, w2 = b->w2;
    for (int l = 0; l < LANES; l++) {
        x[l] = r->state[l];
        side[l] = w1 * b->left[l] + w2 * b->left2[l];
    }
    for (size_t i = 0; i < b->n; i++) {
#pragma GCC unroll 8
        for (int l = 0; l < LANES; l++) {
            unsigned model = b->of[b->sum[l][i] + side[l]];
            uint32_t s = x[l], e = r->table[model][s & (SK_RANS_ONE - 1)];
            s = (e >> 7 & 0x1fff) * (s >> SK_RANS_BITS) + (e >> 20);
            uint32_t more = s << 16 | load16(word);
            word += s < SK_RANS_LOW ? 2 : 0;
            x[l] = s < SK_RANS_LOW ? more : s;
            const struct sk_token *t = &tokens[e & 127];
            uint32_t bits = (uint32_t)(load64(raw + (raw_at >> 3)) >> (raw_at & 7));
            b->q[l][i] = sk_token_value(t, bits & ((1u << t->bits) - 1));
            raw_at += t->bits;
            side[l] = w1 * t->level + w2 * b->left[l];
            b->left2[l] = b->left[l];
            b->left[l] = t->level;
            b->level[l][i] = t->level;
        }
    }
    for (int l = 0; l < LANES; l++)
        r->state[l] = x[l];
    r->word = word;
    r->raw_at = raw_at;
}

static void read_step(struct sk_plane_reader *r, const struct lanes *v, int32_t *q, uint8_t *level,
                      size_t step)
{
    struct block b = {.w1 = v->p->weights.left, .w2 = v->p->weights.left2, .of = r->of[v->p->set]};
    size_t row[LANES], origin[LANES];
    for (; b.lanes < LANES && b.lanes * v->per_lane + step < v->rows; b.lanes++) {
        row[b.lanes] = b.lanes * v->per_lane + step;
        origin[b.lanes] = row_origin(v, row[b.lanes]);
    }
    for (size_t col = 0; col < v->width; col += BLOCK) {
        b.n = v->width - col < BLOCK ? v->width - col : BLOCK;
        r->last_flag = get(r, 0, r->flag_model[r->last_flag]) != 0;
        if (!r->last_flag) {
            for (size_t l = 0; l < b.lanes; l++) {
                memset(q + origin[l] + col, 0, b.n * sizeof *q);
                memset(level + origin[l] + col, 0, b.n);
                b.left[l] = b.left2[l] = 0;
            }
            continue;
        }
        for (size_t l = 0; l < b.lanes; l++) {
            size_t at = origin[l] + col;
            sum_block(v, level, row[l], at, b.n, b.sum[l]);
            b.q[l] = q + at;
            b.level[l] = level + at;
        }
        if (b.lanes == LANES && r->word_end - r->word >= 2 * BLOCK_WORDS &&
            r->raw_at / 8 + BLOCK_RAW_BYTES <= r->raw_size)
            read_block_fast(r, &b);
        else
            read_block_checked(r, &b);
    }
}

int sk_plane_read(struct sk_plane_reader *r, const struct sk_plane *p, int32_t *q, uint8_t *level,
                  struct saikai_error *err)
{
    struct lanes v = lanes_of(p);
    if (!v.rows || !v.width)
        return 0;
    for (size_t step = 0; step < v.per_lane && !r->damaged; step++)
        read_step(r, &v, q, level, step);
    if (r->damaged)
        return damaged(err);
    if (!v.cut)
        return 0;
    struct sk_plane rest = *p;
    rest.origin += LANES * v.width;
    rest.width -= LANES * v.width;
    return sk_plane_read(r, &rest, q, level, err);
}

int sk_plane_reader_finish(struct sk_plane_reader *r, struct saikai_error *err)
{
    int ok = !r->damaged && r->word == r->word_end && (r->raw_at + 7) / 8 == r->raw_size;
    for (int l = 0; l < LANES; l++)
        ok &= r->state[l] == SK_RANS_LOW;
    return ok ? 0 : damaged(err);
}
