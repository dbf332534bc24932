/* Walks a series: for each number the rule guesses, and how far the number is from the guess is coded bit by bit: whether at all, to which side,
 * the power of two, what is beside it. */
#include "codec/wavelet/series/series.h"

#include "codec/entropy/adaptive/adaptive.h"
#include "codec/entropy/scratch.h"
#include "codec/wavelet/series/rule.h"

#include <string.h>

enum {
    EXPONENTS = 27,
    SHARP = 3, /* bits below the power that have contexts of their own */
    SIDES = EXPONENTS + EXPONENTS * ((1 << SHARP) - 1),
    NODES = 512, /* at least 2 + 2 * SIDES */
    WIDTHS = 16,
    PLACES = 16,
    LENGTHS = 12,
    KINDS = 5, /* of decisions: whether, to which side, the power, below it, far below it */
    LEAST_BITS = 12,
    MOST_BITS = 22,
    MANY = 4096, /* numbers of so many kinds do not come back often */
    FEW_BITS = 16,
    STRETCHES = 2,
    FACTOR = 0x2f0b4c47,
    LONGEST = 64,
    PERIOD = 64
};
_Static_assert(NODES >= 2 + 2 * SIDES, "each decision has a node");

struct models {
    sk_adaptive_slot guess[WIDTHS * PLACES][NODES], always[NODES], rest[EXPONENTS][EXPONENTS];
    sk_adaptive_slot stretch[LENGTHS][2][KINDS]; /* what a stretch says is right or not, whatever it says */
    struct sk_adaptive_mixer mix[KINDS][LENGTHS];
    struct rule rule;
};

struct walk {
    struct sk_adaptive coder;
    struct models *models;
    sk_adaptive_slot *slots; /* of numbers before, by hash */
    uint32_t *last[STRETCHES]; /* where a stretch ended last, by hash; 0: nowhere */
    uint32_t hash[STRETCHES], out[STRETCHES]; /* sums of the last numbers times powers of FACTOR; that of what goes out */
    int bits, last_bits;
    const int32_t *k;
    size_t i;
    /* of the number at hand */
    uint32_t one, two; /* hashes of what was before */
    sk_adaptive_slot *guess;
    size_t match; /* a stretch ended there as this one does; 0: none */
    int length, agrees;
    int32_t expected; /* distance from the guess that would repeat it */
};

static uint32_t mix_hash(uint32_t a, uint32_t b)
{
    uint32_t h = (a ^ b * 0x9e3779b1u) * 0x85ebca6bu;
    return h ^ h >> 15;
}

/* Bits of a distance, in the order in which they are coded. */
struct path {
    int32_t side;  /* 0: none, 1, -1 */
    int exponent;
    uint32_t rest; /* below the power */
};

static struct path path_of(int32_t r)
{
    struct path p = {.side = (r > 0) - (r < 0)};
    if (r) {
        uint32_t m = (uint32_t)(r < 0 ? -r : r);
        p.exponent = 31 - __builtin_clz(m);
        p.rest = m - (1u << p.exponent);
    }
    return p;
}

static inline __attribute__((always_inline)) int code_bit(struct walk *w, unsigned node, int kind, int bit, int expected, int decoding)
{
    struct models *m = w->models;
    uint32_t mask = (1u << w->bits) - 1;
    int length = w->agrees ? w->length : 0;
    sk_adaptive_slot *one = &w->slots[(w->one + node * 0x9e3779b1u) >> 7 & mask], *two = &w->slots[(w->two + node * 0xc2b2ae35u) >> 7 & mask];
    sk_adaptive_slot *far = length ? &m->stretch[length][expected][kind] : &m->always[node];
    bit = SK_ADAPTIVE_BIT(4, &w->coder, &m->mix[kind][length], bit, decoding, &w->guess[node], one, two, far);
    w->agrees &= bit == expected;
    return bit;
}

/* The distance r (decoder: any), which is returned. */
static inline __attribute__((always_inline)) int32_t code_distance(struct walk *w, int32_t r, int decoding)
{
    struct path p = path_of(r), x = path_of(w->expected);
    if (!code_bit(w, 0, 0, p.side != 0, x.side != 0, decoding))
        return 0;
    int up = code_bit(w, 1, 1, p.side > 0, x.side > 0, decoding), e = 0;
    unsigned base = up ? 2 : 2 + SIDES;
    while (e < EXPONENTS - 2 && code_bit(w, base + (unsigned)e, 2, p.exponent > e, x.exponent > e, decoding))
        e++;
    uint32_t rest = 0;
    unsigned node = base + EXPONENTS + (unsigned)e * ((1 << SHARP) - 1), sharp = 1;
    for (int b = e; b-- > 0;) {
        int bit = p.rest >> b & 1, level = e - 1 - b;
        if (level < SHARP) {
            bit = code_bit(w, node + sharp - 1, 3, bit, x.rest >> b & 1, decoding);
            sharp = 2 * sharp + (unsigned)bit;
        } else {
            int expected = x.rest >> b & 1;
            sk_adaptive_slot *slot = w->agrees ? &w->models->stretch[w->length][expected][KINDS - 1] : &w->models->rest[e][b];
            bit = sk_adaptive_alone(&w->coder, slot, bit, decoding);
            w->agrees &= bit == expected;
        }
        rest = 2 * rest + (uint32_t)bit;
    }
    int32_t far = (int32_t)((1u << e) + rest);
    return up ? far : -far;
}

/* Numbers that tell where a stretch may go on as another one did: many are asked first. */
static const unsigned stretch_of[STRETCHES] = {20, 4};

/* The length of what ends at `at` and at the number at hand alike. */
static int common(const struct walk *w, size_t at)
{
    size_t n = 0;
    while (n < LONGEST && n < at && w->k[at - 1 - n] == w->k[w->i - 1 - n])
        n++;
    return (int)n;
}

/* Where did a stretch end as this one does, and how long was it? */
static void find_stretch(struct walk *w)
{
    const int32_t *k = w->k;
    if (w->match && k[w->match] == k[w->i - 1]) {
        w->match++;
        w->length += w->length < LONGEST;
    } else {
        w->match = 0;
        w->length = 0;
    }
    for (int s = 0; s < STRETCHES; s++) {
        size_t n = stretch_of[s];
        w->hash[s] = w->hash[s] * FACTOR + (uint32_t)k[w->i - 1] + 1;
        if (w->i > n)
            w->hash[s] -= w->out[s] * ((uint32_t)k[w->i - 1 - n] + 1);
        if (w->i < n)
            continue;
        uint32_t *last = &w->last[s][w->hash[s] * 0x9e3779b1u >> (32 - w->last_bits)], at = *last;
        *last = (uint32_t)w->i;
        int length = at && !w->match ? common(w, at) : 0;
        if (length >= (int)n) {
            w->match = at;
            w->length = length;
        }
    }
}

static int length_class(int n)
{
    return n < 8 ? n : n < 16 ? 8 : n < 32 ? 9 : n < LONGEST ? 10 : 11;
}

/* Is what there is of `most` bytes after i of n numbers more than its share, and what learning takes? Who is far behind in the beginning does not come in on time. */
static int is_late(size_t bytes, size_t most, size_t i, size_t n)
{
    const double learning = 0.05;
    return (double)bytes > (double)most * (learning + (double)i / (double)n) + 64;
}

/* All numbers; -1: they are not those of a series, or there would be more bytes than that. */
static inline __attribute__((always_inline)) int walk_all(struct walk *w, int32_t *k, size_t n, size_t most, int decoding)
{
    size_t before = decoding ? 0 : w->coder.out->len;
    struct rule_state state;
    int32_t greatest = w->models->rule.most;
    rule_start(&state);
    for (size_t i = 0; i < n; i++) {
        w->i = i;
        if (i)
            find_stretch(w);
        struct rule_guess g = rule_guess(&w->models->rule, &state);
        int32_t near = (int32_t)(g.value + 0.5);
        union {
            double d;
            uint64_t u;
        } width = {.d = g.width};
        int wide = (int)(width.u >> 51) - 2 * 1023 + 10, place = (int)((g.value + 0.5 - near) * PLACES);
        wide = wide < 0 ? 0 : wide < WIDTHS ? wide : WIDTHS - 1;
        w->guess = w->models->guess[wide * PLACES + (place < PLACES ? place : PLACES - 1)];
        w->one = mix_hash(1, i ? (uint32_t)k[i - 1] : 0);
        w->two = mix_hash(w->one, i > 1 ? (uint32_t)k[i - 2] : 0);
        int length = w->length;
        w->agrees = w->match != 0;
        w->expected = w->match ? k[w->match] - near : 0;
        w->length = length_class(length);
        int32_t r = code_distance(w, decoding ? 0 : k[i] - near, decoding);
        w->length = length;
        if (decoding) {
            if (near + r < 0 || near + r > greatest)
                return -1;
            k[i] = near + r;
        } else if (i % PERIOD == 0 && is_late(w->coder.out->len - before, most, i, n)) {
            return -1;
        }
        rule_learn(&state, &g, k[i]);
    }
    return 0;
}

/* Numbers of many kinds do not come back: what they say by hash is little, and need not leave the near caches. */
static int start(struct walk *w, const int32_t *k, size_t n, uint32_t greatest)
{
    const int most = greatest < MANY ? MOST_BITS : FEW_BITS;
    *w = (struct walk){.k = k, .bits = LEAST_BITS, .last_bits = LEAST_BITS};
    while (w->bits < most && (size_t)1 << w->bits < 16 * n)
        w->bits++;
    while (w->last_bits < MOST_BITS - 2 && (size_t)1 << w->last_bits < 4 * n)
        w->last_bits++;
    size_t size = (size_t)1 << w->bits;
    w->models = sk_scratch_take(sizeof *w->models);
    w->slots = sk_scratch_take(size * sizeof *w->slots);
    int ok = w->models && w->slots;
    for (int s = 0; s < STRETCHES; s++) {
        w->out[s] = 1;
        for (unsigned b = 0; b < stretch_of[s]; b++)
            w->out[s] *= FACTOR;
        w->last[s] = sk_scratch_take_zeros(sizeof **w->last << w->last_bits);
        ok = ok && w->last[s];
    }
    if (!ok)
        return -1;
    struct models *m = w->models;
    sk_adaptive_slots(m->guess[0], WIDTHS * PLACES * NODES);
    sk_adaptive_slots(m->stretch[0][0], LENGTHS * 2 * KINDS);
    sk_adaptive_slots(m->always, NODES);
    sk_adaptive_slots(m->rest[0], EXPONENTS * EXPONENTS);
    sk_adaptive_slots(w->slots, size);
    sk_adaptive_mixers(m->mix[0], KINDS * LENGTHS, 4);
    return 0;
}

static void end(struct walk *w)
{
    sk_scratch_give(w->models);
    sk_scratch_give(w->slots);
    for (int s = 0; s < STRETCHES; s++)
        sk_scratch_give(w->last[s]);
}

/* Mark what followed the same numbers before, at the last place where these stood. -1: no memory. */
static int mark_known(struct walk *w, uint8_t *known, size_t n)
{
    enum { STRETCH = 8 };
    uint32_t *table = known ? sk_scratch_take_zeros(sizeof *table << w->last_bits) : NULL;
    if (!table)
        return -1;
    memset(known, 0, n);
    for (size_t i = STRETCH; i < n; i++) {
        uint32_t h = 0;
        for (size_t b = 1; b <= STRETCH; b++)
            h = (h ^ (uint32_t)w->k[i - b]) * FACTOR;
        uint32_t *at = &table[h >> (32 - w->last_bits)];
        known[i] = *at && !memcmp(w->k + *at - STRETCH, w->k + i - STRETCH, (STRETCH + 1) * sizeof *w->k);
        *at = (uint32_t)i;
    }
    sk_scratch_give(table);
    return 0;
}

/* Coder and rule, at the beginning of a series of numbers up to `greatest`. */
static int begin(struct walk *w, int32_t greatest, size_t n, struct sk_buf *out)
{
    struct rule *rule = &w->models->rule;
    uint8_t *known = sk_scratch_take(n + 1);
    int none = mark_known(w, known, n);
    rule->most = greatest;
    if (!none)
        sk_rule_fit(rule, w->k, known, n);
    sk_scratch_give(known);
    sk_buf_put_u32(out, (uint32_t)greatest);
    sk_adaptive_encoder(&w->coder, out);
    return none;
}

int sk_series_put(const int32_t *k, size_t n, size_t most, struct sk_buf *out, struct saikai_error *err)
{
    struct walk w;
    size_t from = out->len;
    int32_t greatest = 0;
    for (size_t i = 0; i < n; i++)
        greatest = k[i] > greatest ? k[i] : greatest;
    int none = start(&w, k, n, (uint32_t)greatest) || begin(&w, greatest, n, out), rc = 0;
    if (!none) {
        rc = sk_rule_code(&w.models->rule, &w.coder, 0) || walk_all(&w, (int32_t *)(uintptr_t)k, n, most, 0) ? -1 : 0;
        if (!rc)
            sk_adaptive_flush(&w.coder);
    }
    end(&w);
    if (none || !sk_buf_ok(out))
        return sk_fail(err, SAIKAI_ENOMEM, "out of memory for a series");
    return rc || out->len - from > most ? sk_fail(err, SAIKAI_ENOSPC, "a series takes more than %zu bytes", most) : 0;
}

int sk_series_get(const void *in, size_t size, int32_t *k, size_t n, struct saikai_error *err)
{
    struct walk w;
    struct sk_rd rd = sk_rd_init(in, size);
    uint32_t greatest = sk_rd_u32(&rd);
    if (rd.bad || greatest >= SERIES_LIMIT)
        return sk_fail(err, SAIKAI_EDAMAGED, "a series is damaged");
    int none = start(&w, k, n, greatest), rc = 0;
    if (!none) {
        w.models->rule.most = (int32_t)greatest;
        sk_adaptive_decoder(&w.coder, rd.p, sk_rd_left(&rd));
        rc = sk_rule_code(&w.models->rule, &w.coder, 1) || walk_all(&w, k, n, 0, 1) || !sk_adaptive_ended(&w.coder) ? -1 : 0;
    }
    end(&w);
    if (none)
        return sk_fail(err, SAIKAI_ENOMEM, "out of memory for a series");
    return rc ? sk_fail(err, SAIKAI_EDAMAGED, "a series is damaged") : 0;
}
