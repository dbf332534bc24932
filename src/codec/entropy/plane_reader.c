/* Reads what plane_writer.c modelled and plane_tables.c coded: tables first, then tokens block by
 * block, lane by lane. */
#include "codec/entropy/plane_impl.h"
#include "codec/entropy/scratch.h"
#include "codec/entropy/adaptive/sparse.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of words and of raw bits a block can take at most. Both are copied with this much room
 * behind them, so that no check is needed inside a block. */
enum {
    BLOCK_WORDS = 2 * (LANES * BLOCK + 2),
    BLOCK_RAW = LANES * BLOCK * SK_TOKEN_MAX_BITS / 8 + 16,
};

/* What decoding a token of a table takes: x becomes freq (x >> SK_RANS_BITS) + slot - start, and what it adds to the sums to its
 * right, beside it and one further. */
struct symbol {
    uint16_t freq, start, side, side2;
};

/* A table as bytes by slot, and symbols by token: one word by slot would be four times the size, and few fit the nearest cache. */
struct table {
    uint8_t token[SK_RANS_ONE];
    struct symbol symbol[SK_TOKENS];
};

struct sk_plane_reader {
    const struct plane_kernel *kernel;
    uint8_t *copy;
    const uint8_t *word, *word_end; /* 2 bytes each */
    const uint8_t *raw;
    size_t raw_size, raw_at; /* bytes, bits */
    uint32_t state[LANES];
    unsigned last_flag;
    int damaged;
    int onto_zeros;      /* blocks of zeros are there already */
    size_t blocks, busy; /* of the last plane: all, and those with anything but zeros */
    int n_models;
    uint32_t of[SK_PLANE_SETS][2 * SUM_LIMIT]; /* sum → where its table begins, in bytes */
    uint8_t flag_model[2];
    struct table *table;
    unsigned left, left2; /* weights that the symbols have */
    struct sk_sparse_reader *sparse; /* all else is not used then */
};

static int damaged(struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_EDAMAGED, "the entropy-coded part is damaged");
}

static void make_table(struct sk_plane_reader *r, const struct sk_rans_model *m)
{
    uint8_t *token = r->table[r->n_models].token;
    struct symbol *symbol = r->table[r->n_models++].symbol;
    for (unsigned t = 0; t < SK_TOKENS; t++) {
        symbol[t] = (struct symbol){.freq = m->freq[t], .start = m->start[t]};
        memset(token + m->start[t], (int)t, m->freq[t]);
    }
}

/* Tables of one set; model_of[context - first]. Contexts past the last keep the last table, or the
 * certain zero. */
static int read_set(struct sk_plane_reader *r, struct sk_rans_bits_in *in, unsigned contexts,
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
        make_table(r, &m);
        while (next <= last)
            model_of[next++] = (uint8_t)(r->n_models - 1);
    }
    unsigned rest = n ? (unsigned)r->n_models - 1 : 0;
    while (next < contexts)
        model_of[next++] = (uint8_t)rest;
    return in->bad ? -1 : 0;
}

static int read_tables(struct sk_plane_reader *r, struct sk_rans_bits_in *in)
{
    /* Model 0 is the certain zero of masked places: decoding it changes nothing. */
    make_table(r, &(struct sk_rans_model){.freq = {SK_RANS_ONE}});
    for (unsigned s = 0; s < SK_PLANE_SETS; s++) {
        uint8_t of[FINE];
        if (read_set(r, in, FINE, of))
            return -1;
        for (unsigned k = 0; k < SUM_LIMIT; k++)
            r->of[s][k] = of[fine_of(k)] * (uint32_t)sizeof(struct table);
        memset(r->of[s] + SUM_LIMIT, 0, SUM_LIMIT * sizeof *r->of[s]);
    }
    return read_set(r, in, 2, r->flag_model);
}

int sk_plane_reader_new(struct sk_plane_reader **out, const void *in, size_t n,
                        struct saikai_error *err)
{
    struct sk_plane_reader *r = calloc(1, sizeof *r);
    if (r) {
        r->kernel = sk_plane_kernel();
        r->table = sk_scratch_take((MAX_MODELS + 1) * sizeof *r->table);
    }
    if (!r || !r->table) {
        sk_plane_reader_free(r);
        return sk_fail(err, SAIKAI_ENOMEM, "out of memory for decoding");
    }
    struct sk_rans_bits_in bits = {.p = in, .size_bits = n * 8};
    if (n >= (size_t)-1 / 8 || read_tables(r, &bits))
        goto bad;
    size_t head = (bits.at + 7) / 8;
    struct sk_rd rd = sk_rd_init((const uint8_t *)in + head, n - head);
    size_t n_words = sk_rd_u32(&rd);
    for (int l = 0; l < LANES; l++)
        r->state[l] = sk_rd_u32(&rd);
    const uint8_t *words = sk_rd_bytes(&rd, n_words * 2);
    if (!words)
        goto bad;
    r->raw_size = sk_rd_left(&rd);
    r->copy = sk_scratch_take(n_words * 2 + BLOCK_WORDS + r->raw_size + BLOCK_RAW);
    if (!r->copy) {
        sk_plane_reader_free(r);
        return sk_fail(err, SAIKAI_ENOMEM, "out of memory for decoding");
    }
    uint8_t *end = r->copy + n_words * 2;
    memcpy(r->copy, words, n_words * 2);
    memset(end, 0, BLOCK_WORDS);
    r->word = r->copy;
    r->word_end = end;
    end += BLOCK_WORDS;
    r->raw = end;
    if (r->raw_size)
        memcpy(end, rd.p, r->raw_size);
    memset(end + r->raw_size, 0, BLOCK_RAW);
    *out = r;
    return 0;
bad:
    sk_plane_reader_free(r);
    return damaged(err);
}

int sk_plane_reader_sparse(struct sk_plane_reader **out, const void *in, size_t n,
                           struct saikai_error *err)
{
    struct sk_plane_reader *r = calloc(1, sizeof *r);
    if (r)
        r->sparse = sk_sparse_reader_new(in, n);
    if (!r || !r->sparse) {
        free(r);
        return sk_fail(err, SAIKAI_ENOMEM, "out of memory for decoding");
    }
    *out = r;
    return 0;
}

void sk_plane_reader_free(struct sk_plane_reader *r)
{
    if (!r)
        return;
    sk_sparse_reader_free(r->sparse);
    sk_scratch_give(r->table);
    sk_scratch_give(r->copy);
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

/* A symbol outside the blocks. */
static unsigned get(struct sk_plane_reader *r, unsigned lane, unsigned model)
{
    uint32_t x = r->state[lane], slot = x & (SK_RANS_ONE - 1), token = r->table[model].token[slot];
    const struct symbol *k = &r->table[model].symbol[token];
    x = k->freq * (x >> SK_RANS_BITS) + slot - k->start;
    if (x < SK_RANS_LOW) {
        x = x << 16 | load16(r->word);
        r->word += 2;
    }
    r->state[lane] = x;
    return token;
}

struct block {
    uint16_t sum[LANES][BLOCK + PLANE_SPARE];
    uint8_t token[LANES][BLOCK + PLANE_SPARE];
    size_t lanes, n;
    uint8_t last[LANES], last2[LANES]; /* tokens to the left */
    int two;                           /* the second value to the left counts, too */
    const uint32_t *of;
    uint16_t side[SK_TOKENS], side2[SK_TOKENS]; /* weighted levels of tokens */
};

/* A state that fell below the least takes the next word, number *at; *at is the next one's then. Without a branch, which nobody can
 * foretell; a compiler makes twice as many instructions of it. */
static inline __attribute__((always_inline)) uint32_t refilled(uint32_t x, const uint8_t *words, size_t *at)
{
    uint32_t more = x << 16 | load16(words + 2 * *at);
#ifdef __x86_64__
    __asm__("cmpl %[least], %[x]\n\tcmovb %[more], %[x]\n\tadcq $0, %[at]"
            : [x] "+r"(x), [at] "+r"(*at)
            : [more] "r"(more), [least] "i"(SK_RANS_LOW)
            : "cc");
    return x;
#else
    int few = x < SK_RANS_LOW;
    *at += (size_t)few;
    return few ? more : x;
#endif
}

/* Tokens of all lanes, column by column. Damaged input is noticed afterwards: there is room for the
 * worst case. */
static inline __attribute__((always_inline)) void
read_tokens(struct sk_plane_reader *r, struct block *b, size_t lanes, int two)
{
    const uint8_t *words = r->word, *tables = r->table[0].token;
    size_t at = 0;
    const uint32_t *of = b->of;
    uint32_t x[LANES];
    size_t side[LANES], side2[LANES];
    for (size_t l = 0; l < lanes; l++) {
        x[l] = r->state[l];
        side[l] = b->side[b->last[l]] + (two ? b->side2[b->last2[l]] : 0u);
        side2[l] = b->side2[b->last[l]];
    }
    for (size_t i = 0; i < b->n; i++) {
#pragma GCC unroll 8
        for (size_t l = 0; l < lanes; l++) {
            const struct table *table = (const struct table *)(const void *)(tables + of[b->sum[l][i] + side[l]]);
            uint32_t s = x[l], slot = s & (SK_RANS_ONE - 1);
            size_t token = table->token[slot];
            const struct symbol *k = &table->symbol[token];
            s = k->freq * (s >> SK_RANS_BITS) + slot - k->start;
            x[l] = refilled(s, words, &at);
            b->token[l][i] = (uint8_t)token;
            side[l] = k->side + (two ? side2[l] : 0u);
            if (two)
                side2[l] = k->side2;
        }
    }
    for (size_t l = 0; l < lanes; l++)
        r->state[l] = x[l];
    r->word = words + 2 * at;
}

/* Numbers and levels of a lane's tokens. */
static void finish_lane(struct sk_plane_reader *r, const uint8_t *token, size_t n, int32_t *q,
                        uint8_t *level)
{
    const struct sk_token *table = sk_token_table();
    size_t raw_at = r->raw_at;
    for (uint64_t large = r->kernel->values(token, n, q, level); large; large &= large - 1) {
        unsigned k = (unsigned)__builtin_ctzll(large);
        const struct sk_token *t = &table[token[k]];
        uint32_t bits = (uint32_t)(load64(r->raw + (raw_at >> 3)) >> (raw_at & 7));
        q[k] = sk_token_value(t, bits & ((1u << t->bits) - 1));
        raw_at += t->bits;
    }
    r->raw_at = raw_at;
}

static void read_block(struct sk_plane_reader *r, struct block *b)
{
    if (b->lanes == LANES && !b->two)
        read_tokens(r, b, LANES, 0);
    else if (b->lanes == LANES)
        read_tokens(r, b, LANES, 1);
    else
        read_tokens(r, b, b->lanes, b->two);
    for (size_t l = 0; l < b->lanes; l++) {
        b->last2[l] = b->n > 1 ? b->token[l][b->n - 2] : 0;
        b->last[l] = b->token[l][b->n - 1];
    }
}

static void start_plane(struct sk_plane_reader *r, const struct sk_plane *p, struct block *b)
{
    const struct sk_token *tokens = sk_token_table();
    b->of = r->of[p->set];
    b->two = p->weights.left2 != 0;
    for (unsigned t = 0; t < SK_TOKENS; t++) {
        b->side[t] = (uint16_t)(p->weights.left * tokens[t].level);
        b->side2[t] = (uint16_t)(p->weights.left2 * tokens[t].level);
    }
    if (r->left == p->weights.left && r->left2 == p->weights.left2)
        return;
    r->left = p->weights.left;
    r->left2 = p->weights.left2;
    for (int m = 0; m < r->n_models; m++)
        for (unsigned t = 0; t < SK_TOKENS; t++) {
            r->table[m].symbol[t].side = b->side[t];
            r->table[m].symbol[t].side2 = b->side2[t];
        }
}

static void read_step(struct sk_plane_reader *r, struct block *b, const struct lanes *v, int32_t *q,
                      uint8_t *level)
{
    struct plane_row row[LANES];
    int known = 0; /* rows are looked up for blocks that are not all zeros, which many planes have none of */
    b->lanes = v->active;
    memset(b->last, 0, sizeof b->last);
    memset(b->last2, 0, sizeof b->last2);
    const size_t *origin = v->origin;
    for (size_t col = 0; col < v->width; col += BLOCK) {
        b->n = v->width - col < BLOCK ? v->width - col : BLOCK;
        r->last_flag = get(r, 0, r->flag_model[r->last_flag]) != 0;
        if (r->word > r->word_end) {
            r->damaged = 1;
            return;
        }
        r->blocks++;
        r->busy += r->last_flag;
        if (!r->last_flag) {
            for (size_t l = 0; l < b->lanes; l++) {
                if (!r->onto_zeros)
                    r->kernel->clear(q + origin[l] + col, level + origin[l] + col, b->n);
                b->last[l] = b->last2[l] = 0;
            }
            continue;
        }
        for (size_t l = 0; !known && l < b->lanes; l++)
            row_of(v, l, level, &row[l]);
        known = 1;
        for (size_t l = 0; l < b->lanes; l++)
            r->kernel->sums(&row[l], col, b->n, b->sum[l]);
        read_block(r, b);
        for (size_t l = 0; l < b->lanes; l++)
            finish_lane(r, b->token[l], b->n, q + origin[l] + col, level + origin[l] + col);
        r->damaged |= r->word > r->word_end || r->raw_at > 8 * r->raw_size;
        if (r->damaged)
            return;
    }
}

static int read_plane(struct sk_plane_reader *r, const struct sk_plane *p, int32_t *q, uint8_t *level,
                      struct saikai_error *err)
{
    struct lanes v = lanes_of(p);
    if (!v.rows || !v.width)
        return 0;
    struct block b; /* not cleared: it is large, and a plane may be small */
    start_plane(r, p, &b);
    for (; v.step < v.per_lane && !r->damaged; lanes_next(&v))
        read_step(r, &b, &v, q, level);
    if (r->damaged)
        return damaged(err);
    if (!v.cut)
        return 0;
    struct sk_plane rest = *p;
    rest.origin += LANES * v.width;
    rest.width -= LANES * v.width;
    return read_plane(r, &rest, q, level, err);
}

static int read_either(struct sk_plane_reader *r, const struct sk_plane *p, int32_t *q, uint8_t *level, int onto_zeros,
                       struct saikai_error *err)
{
    if (r->sparse)
        return sk_sparse_read(r->sparse, p, q, level)
                   ? sk_fail(err, SAIKAI_ENOMEM, "out of memory for decoding")
                   : 0;
    r->onto_zeros = onto_zeros;
    r->blocks = r->busy = 0;
    return read_plane(r, p, q, level, err);
}

int sk_plane_read(struct sk_plane_reader *r, const struct sk_plane *p, int32_t *q, uint8_t *level,
                  struct saikai_error *err)
{
    return read_either(r, p, q, level, 0, err);
}

int sk_plane_read_onto_zeros(struct sk_plane_reader *r, const struct sk_plane *p, int32_t *q, uint8_t *level,
                             struct saikai_error *err)
{
    return read_either(r, p, q, level, 1, err);
}

double sk_plane_reader_busy(const struct sk_plane_reader *r)
{
    return r->sparse || !r->blocks ? 1 : (double)r->busy / (double)r->blocks;
}

int sk_plane_reader_finish(struct sk_plane_reader *r, struct saikai_error *err)
{
    if (r->sparse)
        return sk_sparse_reader_ended(r->sparse) ? 0 : damaged(err);
    int ok = !r->damaged && r->word == r->word_end && (r->raw_at + 7) / 8 == r->raw_size;
    for (int l = 0; l < LANES; l++)
        ok &= r->state[l] == SK_RANS_LOW;
    return ok ? 0 : damaged(err);
}
