/* Codes steps, both ways by the same functions. */
#include "codec/copies/copies.h"

#include "codec/copies/find.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- bits ---- */

enum { QUICK = 4, SLOW = 7, TOP = 1 << 24, NUMBER_BITS = 32, LOW = 3, PLACES = 8, KINDS = 8 };

/* A probability of zero in units of 2^-16, as two that follow what is seen at different speeds. */
struct chance {
    uint16_t quick, slow;
};

struct coder {
    struct sk_buf *out; /* NULL: it decodes */
    uint64_t low;
    uint32_t range, code;
    uint64_t pending; /* bytes that a carry may still change: one, and so many of all ones behind it */
    uint8_t held;
    const uint8_t *at, *end;
    int past; /* decoding: bytes taken from behind the end */
};

static void shift_out(struct coder *c)
{
    if (!c->pending) { /* the first one: all that is coded is less than 1 */
        c->held = (uint8_t)(c->low >> 24);
    } else if ((uint32_t)c->low < 0xff000000u || c->low >> 32) {
        uint8_t carry = (uint8_t)(c->low >> 32);
        for (; c->pending; c->pending--) {
            sk_buf_put_u8(c->out, (uint8_t)(c->held + carry));
            c->held = 0xff;
        }
        c->held = (uint8_t)(c->low >> 24);
    }
    c->pending++;
    c->low = (uint64_t)((uint32_t)c->low << 8);
}

static inline void renew(struct coder *c)
{
    while (c->range < TOP) {
        c->range <<= 8;
        if (c->out) {
            shift_out(c);
            continue;
        }
        c->past += c->at == c->end;
        c->code = c->code << 8 | (c->at < c->end ? *c->at++ : 0);
    }
}

/* Code a bit; returns it. */
static inline unsigned code_bit(struct coder *c, struct chance *p, unsigned bit)
{
    uint32_t zero = (c->range >> 16) * (((uint32_t)p->quick + p->slow) >> 1);
    if (!c->out)
        bit = c->code >= zero;
    if (bit) {
        c->low += c->out ? zero : 0;
        c->code -= c->out ? 0 : zero;
        c->range -= zero;
        p->quick = (uint16_t)(p->quick - (p->quick >> QUICK));
        p->slow = (uint16_t)(p->slow - (p->slow >> SLOW));
    } else {
        c->range = zero;
        p->quick = (uint16_t)(p->quick + ((65535 - p->quick) >> QUICK));
        p->slow = (uint16_t)(p->slow + ((65535 - p->slow) >> SLOW));
    }
    renew(c);
    return bit;
}

static inline unsigned code_even(struct coder *c, unsigned bit)
{
    c->range >>= 1;
    if (!c->out)
        bit = c->code >= c->range;
    if (bit) {
        c->low += c->out ? c->range : 0;
        c->code -= c->out ? 0 : c->range;
    }
    renew(c);
    return bit;
}

/* ---- numbers ---- */

/* How long a number is, the bits behind its first one, and those at its end. */
struct number {
    struct chance length[NUMBER_BITS], high[NUMBER_BITS][4], low[NUMBER_BITS][1 << LOW];
};

/* Below 2^32 - 1. */
static uint32_t code_number(struct coder *c, struct number *m, uint32_t v)
{
    uint64_t x = (uint64_t)v + 1, got = 1;
    int bits = 0, want = 63 - __builtin_clzll(x);
    while (bits < NUMBER_BITS - 1 && code_bit(c, &m->length[bits], bits < want))
        bits++;
    unsigned high = 1, low = 1;
    for (int k = bits - 1; k >= 0; k--) {
        unsigned bit = (unsigned)(x >> k & 1);
        if (k < LOW) {
            bit = code_bit(c, &m->low[bits][low], bit);
            low = (low << 1 | bit) & ((1 << LOW) - 1);
        } else if (high < 4) {
            bit = code_bit(c, &m->high[bits][high], bit);
            high = high << 1 | bit;
        } else {
            bit = code_even(c, bit);
        }
        got = got << 1 | bit;
    }
    return (uint32_t)(got - 1);
}

/* ---- steps ---- */

struct models {
    struct number fresh[2][PLACES], copy[3][PLACES], near[2], far;
    struct chance kind[3][KINDS];
    struct chance byte[PLACES][256], matched[512 + 256];
};

struct state {
    struct coder c;
    struct models *m;
    int by_place; /* 1: what is likely follows from the place in words of 8 bytes; 0: from the byte before */
    struct sk_copies_kept kept;
    const uint8_t *before;
    size_t n_before;
    int last; /* the kind of the last copy */
};

static struct models *models_new(void)
{
    struct models *m = malloc(sizeof *m);
    struct chance *each = (struct chance *)m;
    for (size_t i = 0; m && i < sizeof *m / sizeof *each; i++)
        each[i] = (struct chance){1 << 15, 1 << 15};
    return m;
}

static inline unsigned group_of(const struct state *s, const uint8_t *data, size_t at)
{
    return s->by_place ? at % PLACES : at ? data[at - 1] >> 5 : 0;
}

static uint8_t code_byte(struct coder *c, struct chance *p, uint8_t v)
{
    unsigned got = 1;
    while (got < 256)
        got = got << 1 | code_bit(c, &p[got], v >> 7 & 1), v = (uint8_t)(v << 1);
    return (uint8_t)got;
}

/* The byte after a copy is not the one that would have been copied; its first bits may be the same. */
static uint8_t code_matched(struct coder *c, struct chance *p, uint8_t v, uint8_t other)
{
    unsigned got = 1, with = 1;
    while (got < 256) {
        unsigned likely = other >> 7 & 1, bit = code_bit(c, &p[with ? 256 + (likely << 8) + got : got], v >> 7 & 1);
        with &= likely == bit;
        got = got << 1 | bit;
        v = (uint8_t)(v << 1);
        other = (uint8_t)(other << 1);
    }
    return (uint8_t)got;
}

static inline uint8_t byte_at(const struct state *s, const uint8_t *data, size_t from)
{
    return from < s->n_before ? s->before[from] : data[from - s->n_before];
}

/* New bytes from a place on; decoding, they are put there. */
static void code_fresh(struct state *s, uint8_t *to, const uint8_t *data, size_t at, size_t n)
{
    uint32_t distance = s->kept.distance[0];
    for (size_t end = at + n, first = at; at < end && !s->c.past; at++) {
        uint8_t v = s->c.out ? data[at] : 0;
        v = at == first && distance ? code_matched(&s->c, s->m->matched, v, byte_at(s, data, s->n_before + at - distance))
                                    : code_byte(&s->c, s->m->byte[group_of(s, data, at)], v);
        if (to)
            to[at] = v;
    }
}

/* Where a copy comes from, and how long it is. at: where it goes. */
static void code_copy(struct state *s, struct sk_copies_step *x, size_t at)
{
    struct models *m = s->m;
    unsigned kind = s->c.out ? (unsigned)sk_copies_kind(&s->kept, x->distance, x->fresh) : 0, got = 1;
    uint32_t first = s->kept.distance[0], distance = x->distance;
    for (unsigned bit = 4; bit; bit >>= 1)
        got = got << 1 | code_bit(&s->c, &m->kind[s->last < SK_COPIES_OTHER ? s->last : 2][got], kind / bit & 1);
    kind = got & 7;
    if (kind == SK_COPIES_SAME)
        distance = first;
    else if (kind == SK_COPIES_GOES_ON)
        distance = first + x->fresh;
    else if (kind < SK_COPIES_NEAR)
        distance = s->kept.distance[kind - SK_COPIES_OTHER + 1];
    else if (kind == SK_COPIES_NEAR)
        distance = first - 1 - code_number(&s->c, &m->near[0], first - 1 - distance);
    else if (kind == SK_COPIES_BACK)
        distance = first + 1 + code_number(&s->c, &m->near[1], distance - first - 1);
    else
        distance = 1 + code_number(&s->c, &m->far, distance - 1);
    s->last = (int)kind;
    x->distance = distance;
    x->copy = 1 + code_number(&s->c, &m->copy[kind == SK_COPIES_SAME ? 0 : kind == SK_COPIES_GOES_ON ? 1 : 2][s->by_place ? at % PLACES : 0], x->copy - 1);
}

static struct number *fresh_of(struct state *s, size_t at)
{
    return &s->m->fresh[s->last == SK_COPIES_SAME][s->by_place ? at % PLACES : 0];
}

/* ---- telling them ---- */

static double bits_of(uint32_t count[PLACES][256])
{
    double bits = 0;
    for (int g = 0; g < PLACES; g++) {
        double all = 0;
        for (int v = 0; v < 256; v++)
            all += count[g][v];
        for (int v = 0; v < 256; v++)
            bits -= count[g][v] ? count[g][v] * log2(count[g][v] / all) : 0;
    }
    return bits;
}

/* Whether new bytes are told better by their places. */
static int is_by_place(const struct sk_copies_step *steps, size_t count, const uint8_t *in, size_t at)
{
    uint32_t by_place[PLACES][256] = {{0}}, by_last[PLACES][256] = {{0}};
    for (size_t i = 0; i < count; at += (size_t)steps[i].fresh + steps[i].copy, i++)
        for (size_t k = at; k < at + steps[i].fresh; k++) {
            by_place[k % PLACES][in[k]]++;
            by_last[k ? in[k - 1] >> 5 : 0][in[k]]++;
        }
    return bits_of(by_place) < bits_of(by_last);
}

static void put_steps(struct state *s, struct sk_copies_step *steps, size_t count, const uint8_t *in, size_t at, size_t n)
{
    for (size_t i = 0; i < count; i++) {
        struct sk_copies_step *x = &steps[i];
        code_number(&s->c, fresh_of(s, at), x->fresh);
        code_fresh(s, NULL, in, at, x->fresh);
        at += x->fresh;
        if (at == n)
            return;
        code_copy(s, x, at);
        sk_copies_keep(&s->kept, x->distance);
        at += x->copy;
    }
}

void sk_copies_done(struct sk_copies_finder *f)
{
    sk_copies_finder_free(f);
}

int sk_copies_about(const uint8_t *before, size_t n_before, const uint8_t *in, size_t n, struct sk_copies_finder **finder, size_t *bytes, struct saikai_error *err)
{
    enum { LEAST = 512 << 10, PIECES = 32, PIECE = 2 << 10, SHARE = 64 };
    struct models *m = NULL;
    struct sk_buf out = {0};
    struct state s = {.c = {.out = &out, .range = UINT32_MAX}, .before = before, .n_before = n_before};
    size_t piece = n / (PIECES * SHARE) > PIECE ? n / (PIECES * SHARE) : PIECE, known = 0, all = 0;
    *bytes = 0;
    *finder = NULL;
    if (n > SK_COPIES_MOST || n_before > SK_COPIES_MOST - n)
        return sk_fail(err, SAIKAI_EINVAL, "too many bytes to be copies");
    int rc = sk_copies_finder_new(before, n_before, in, n, finder);
    for (size_t k = 0; k < PIECES && n >= LEAST && !rc; k++) {
        size_t at = n / (2 * PIECES) * (2 * k + 1), count = 0;
        struct sk_copies_step *steps = NULL;
        rc = (!m && !(m = models_new())) || sk_copies_find(*finder, at, at + piece, SK_COPIES_SAMPLE, &steps, &count);
        s.m = m;
        s.by_place = k ? s.by_place : !rc && is_by_place(steps, count, in, at);
        for (int again = 0; again < 2 && !rc; again++) { /* the chances are at first as they are behind as many bytes */
            s.kept = (struct sk_copies_kept){{0}};
            known = out.len;
            put_steps(&s, steps, count, in, at, at + piece);
        }
        all += out.len - known;
    }
    *bytes = (size_t)((double)all / (double)(PIECES * piece) * (double)n);
    free(m);
    sk_buf_free(&out);
    return rc ? sk_fail(err, SAIKAI_ENOMEM, "no memory to look for copies in %zu bytes", n) : 0;
}

int sk_copies_put(const uint8_t *before, size_t n_before, const uint8_t *in, size_t n, struct sk_copies_finder *finder, int thorough, struct sk_buf *out, struct saikai_error *err)
{
    struct sk_copies_finder *own = NULL;
    struct sk_copies_step *steps = NULL;
    size_t count = 0, start = out->len;
    struct models *m = NULL;
    if (n > SK_COPIES_MOST || n_before > SK_COPIES_MOST - n)
        return sk_fail(err, SAIKAI_EINVAL, "too many bytes to be copies");
    if ((!finder && sk_copies_finder_new(before, n_before, in, n, &own)) || sk_copies_find(finder ? finder : own, 0, n, thorough ? SK_COPIES_THOROUGH : SK_COPIES_USUAL, &steps, &count) || !(m = models_new())) {
        sk_copies_finder_free(own);
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to look for copies in %zu bytes", n);
    }
    struct state s = {.c = {.out = out, .range = UINT32_MAX, .pending = 0}, .m = m, .before = before, .n_before = n_before};
    s.by_place = is_by_place(steps, count, in, 0);
    sk_buf_put_u8(out, (uint8_t)s.by_place);
    put_steps(&s, steps, count, in, 0, n);
    for (int i = 0; i < 5; i++)
        shift_out(&s.c);
    sk_copies_finder_free(own);
    free(m);
    return sk_buf_ok(out) ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for %zu bytes", out->len - start);
}

/* ---- undoing it ---- */

static void copy_from(const struct state *s, uint8_t *out, size_t at, size_t distance, size_t n)
{
    size_t from = s->n_before + at - distance, known = from < s->n_before ? s->n_before - from : 0;
    known = known < n ? known : n;
    if (known)
        memcpy(out + at, s->before + from, known);
    for (size_t k = known; k < n; k++)
        out[at + k] = out[from + k - s->n_before];
}

int sk_copies_get(const uint8_t *before, size_t n_before, const uint8_t *in, size_t n_in, uint8_t *out, size_t n, struct saikai_error *err)
{
    struct models *m = n_in ? models_new() : NULL;
    if (n_in && !m)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to copy %zu bytes", n);
    struct state s = {.c = {.range = UINT32_MAX, .at = in + !!n_in, .end = in + n_in}, .m = m, .before = before, .n_before = n_before};
    size_t at = 0;
    int bad = !n_in || in[0] > 1 || n > SK_COPIES_MOST || n_before > SK_COPIES_MOST - n;
    s.by_place = n_in && in[0] == 1;
    for (int i = 0; i < 4 && !bad; i++)
        s.c.code = s.c.code << 8 | (s.c.at < s.c.end ? *s.c.at++ : 0);
    while (at < n && !bad) {
        struct sk_copies_step x = {.fresh = code_number(&s.c, fresh_of(&s, at), 0)};
        bad = x.fresh > n - at;
        if (!bad)
            code_fresh(&s, out, out, at, x.fresh);
        at += bad ? 0 : x.fresh;
        if (bad || at == n || s.c.past)
            break;
        code_copy(&s, &x, at);
        bad = !x.copy || x.copy > n - at || !x.distance || x.distance > n_before + at;
        if (bad)
            break;
        copy_from(&s, out, at, x.distance, x.copy);
        sk_copies_keep(&s.kept, x.distance);
        at += x.copy;
    }
    free(m);
    return bad || s.c.past || s.c.at != s.c.end || at != n ? sk_fail(err, SAIKAI_EDAMAGED, "copies do not make %zu bytes", n) : 0;
}
