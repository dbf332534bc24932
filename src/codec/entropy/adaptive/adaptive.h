/* Bits coded with probabilities that follow what was seen: several contexts each hold one, they are
 * mixed in the logistic domain with weights that learn, after M. Mahoney, "Adaptive weighing of
 * context models for lossless data compression" (Florida Tech CS-2005-16), and what comes out
 * drives a binary arithmetic coder after J. Rissanen and G. Langdon, "Arithmetic coding" (IBM J.
 * Res. Dev. 23, 1979). No tables are stored, which suits short outputs; each bit costs some tens of
 * nanoseconds. Whole numbers only: any machine decodes the same.
 *
 * All local; nothing blocks. */
#ifndef SK_CODEC_ENTROPY_ADAPTIVE_H
#define SK_CODEC_ENTROPY_ADAPTIVE_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

enum {
    SK_ADAPTIVE_INPUTS = 4,
    SK_ADAPTIVE_LIMIT = 2815, /* logits are in units of 2^-8, at most 11 */
    SK_ADAPTIVE_STEPS = 4096, /* of probabilities that have a logit */
    SK_ADAPTIVE_COUNTS = 1024,
    SK_ADAPTIVE_MOST_WEIGHT = 8 << 16,
    SK_ADAPTIVE_STEADY = 1024, /* bits that a mixer has seen when its weights learn as slowly as they ever will */
};

/* What a context has seen: the probability of a one in units of 2^-22, and 10 bits of how often it
 * was asked. */
typedef uint32_t sk_adaptive_slot;
#define SK_ADAPTIVE_NEW ((sk_adaptive_slot)1 << 31)

struct sk_adaptive_mixer {
    int32_t weight[SK_ADAPTIVE_INPUTS]; /* 1 is 2^16 */
    int32_t seen;
};

struct sk_adaptive_tables {
    /* Constants of vectors of four, to be taken from memory: to be put together anew they take several instructions each. */
    _Alignas(16) int32_t most_weight[4], least_weight[4], most_count[4], whole[4], one[4];
    _Alignas(16) float unit[4], first_count[4];
    uint8_t shift[SK_ADAPTIVE_STEADY + 1]; /* by how many bits a mixer has seen */
    int16_t logit[SK_ADAPTIVE_STEPS];
    uint16_t probability[2 * SK_ADAPTIVE_LIMIT + 1]; /* in units of 2^-16, never 0 */
    uint16_t rate[SK_ADAPTIVE_COUNTS];
};

struct sk_adaptive {
    const struct sk_adaptive_tables *tables;
    uint64_t low, high, code;
    int decoding;
    struct sk_buf *out;     /* encoder */
    const uint8_t *at, *end; /* decoder */
    size_t past;             /* decoder: bytes taken from behind the end, zeros */
};

void sk_adaptive_encoder(struct sk_adaptive *c, struct sk_buf *out);
void sk_adaptive_decoder(struct sk_adaptive *c, const void *in, size_t n);
/* Encoder: write what is left. */
void sk_adaptive_flush(struct sk_adaptive *c);
/* Decoder: was exactly what an encoder wrote read? */
int sk_adaptive_ended(const struct sk_adaptive *c);
void sk_adaptive_slots(sk_adaptive_slot *slot, size_t n);
/* Mixers of `inputs` contexts that all count the same. */
void sk_adaptive_mixers(struct sk_adaptive_mixer *m, size_t n, int inputs);

/* The end of the part of the interval that a one has. */
static inline __attribute__((always_inline)) uint64_t sk_adaptive_middle(const struct sk_adaptive *c, uint32_t p)
{
    return c->low + ((c->high - c->low) >> 16) * p;
}

/* Shift bytes out of the interval, or in, that both of its ends have. */
static inline __attribute__((always_inline)) void sk_adaptive_shift(struct sk_adaptive *c, int decoding)
{
    while (!((c->low ^ c->high) >> 56)) {
        if (decoding) {
            int more = c->at < c->end;
            c->code = c->code << 8 | (more ? *c->at : 0);
            c->at += more;
            c->past += !more;
        } else {
            if (c->out->len < c->out->cap)
                c->out->data[c->out->len++] = (uint8_t)(c->high >> 56);
            else
                sk_buf_put_u8(c->out, (uint8_t)(c->high >> 56));
        }
        c->low <<= 8;
        c->high = c->high << 8 | 255;
    }
}

/* The part of the interval that a bit has which learns nothing. */
static inline __attribute__((always_inline)) int sk_adaptive_split(struct sk_adaptive *c,
                                                                   uint32_t p, int bit,
                                                                   int decoding)
{
    uint64_t middle = sk_adaptive_middle(c, p);
    if (decoding)
        bit = c->code <= middle;
    c->high = bit ? middle : c->high;
    c->low = bit ? c->low : middle + 1;
    sk_adaptive_shift(c, decoding);
    return bit;
}

static inline __attribute__((always_inline)) void
sk_adaptive_learn(sk_adaptive_slot *slot, int bit, const struct sk_adaptive_tables *t)
{
    uint32_t s = *slot, count = s & 1023;
    int64_t was = s >> 10, now = was + ((((int64_t)bit << 22) - was) * t->rate[count] >> 16);
    now = now < 1 ? 1 : now > (1 << 22) - 1 ? (1 << 22) - 1 : now;
    *slot = (uint32_t)now << 10 | (count + (count < SK_ADAPTIVE_COUNTS - 1));
}

/* Code one bit by one context alone, which is faster. */
static inline __attribute__((always_inline)) int
sk_adaptive_alone(struct sk_adaptive *c, sk_adaptive_slot *slot, int bit, int decoding)
{
    uint32_t p = *slot >> 16;
    uint64_t middle = sk_adaptive_middle(c, p ? p : 1);
    if (decoding ? c->code <= middle : bit) {
        c->high = middle;
        sk_adaptive_learn(slot, 1, c->tables);
        bit = 1;
    } else {
        c->low = middle + 1;
        sk_adaptive_learn(slot, 0, c->tables);
        bit = 0;
    }
    sk_adaptive_shift(c, decoding);
    return bit;
}

#ifdef __AVX2__
#define SK_ADAPTIVE_FOUR(constant)   _mm_load_si128((const __m128i *)(const void *)(constant))

/* As sk_adaptive_learn of four slots. The product of 22 and 16 bits is put together from halves; the rate is a quotient that floats
 * get as the table has it, for each count. */
static inline __attribute__((always_inline)) __m128i sk_adaptive_learn_four(__m128i slots, int bit, const struct sk_adaptive_tables *t)
{
    __m128i most = SK_ADAPTIVE_FOUR(t->most_count), counts = _mm_and_si128(slots, most), was = _mm_srli_epi32(slots, 10);
    __m128 seen = _mm_add_ps(_mm_cvtepi32_ps(counts), _mm_load_ps(t->first_count));
    __m128i rate = _mm_cvttps_epi32(_mm_div_ps(_mm_load_ps(t->unit), seen));
    rate = _mm_or_si128(rate, _mm_slli_epi32(rate, 16));
    __m128i to = bit ? _mm_sub_epi32(SK_ADAPTIVE_FOUR(t->whole), was) : was; /* what the probability is away from */
    __m128i low = _mm_mullo_epi16(to, rate), now;
    __m128i step = _mm_add_epi32(_mm_mulhi_epu16(to, rate), _mm_srli_epi32(low, 16));
    if (bit) {
        now = _mm_add_epi32(was, step);
    } else { /* down to it: by a part more, but when there is none */
        __m128i rounded = _mm_cmpeq_epi32(_mm_slli_epi32(low, 16), _mm_setzero_si128());
        now = _mm_max_epi32(_mm_sub_epi32(was, _mm_add_epi32(step, _mm_andnot_si128(rounded, SK_ADAPTIVE_FOUR(t->one)))), SK_ADAPTIVE_FOUR(t->one));
    }
    counts = _mm_sub_epi32(counts, _mm_cmpgt_epi32(most, counts));
    return _mm_or_si128(_mm_slli_epi32(now, 10), counts);
}
#endif

/* What contexts say of a bit before it is known, and what they and their weights learn of it; n of them are asked, which is a constant. */
struct sk_adaptive_asked {
    sk_adaptive_slot *slot[SK_ADAPTIVE_INPUTS];
    int32_t logit[SK_ADAPTIVE_INPUTS];
};

#ifdef __AVX2__
/* n from 2 on. */
static inline __attribute__((always_inline)) void sk_adaptive_learn_together(const struct sk_adaptive_asked *a, int n, struct sk_adaptive_mixer *m,
                                                                             int32_t miss, int shift, int bit, const struct sk_adaptive_tables *t)
{
    __m128i s = _mm_cvtsi32_si128((int)*a->slot[0]), x = _mm_cvtsi32_si128(a->logit[0]), w = _mm_loadu_si128((const __m128i *)m->weight);
    s = _mm_insert_epi32(s, (int)*a->slot[1], 1);
    x = _mm_insert_epi32(x, a->logit[1], 1);
    if (n > 2) {
        s = _mm_insert_epi32(s, (int)*a->slot[2], 2);
        x = _mm_insert_epi32(x, a->logit[2], 2);
    }
    if (n > 3) {
        s = _mm_insert_epi32(s, (int)*a->slot[3], 3);
        x = _mm_insert_epi32(x, a->logit[3], 3);
    }
    x = _mm_sra_epi32(_mm_mullo_epi32(x, _mm_set1_epi32(miss)), _mm_cvtsi32_si128(shift));
    w = _mm_max_epi32(_mm_min_epi32(_mm_add_epi32(w, x), SK_ADAPTIVE_FOUR(t->most_weight)), SK_ADAPTIVE_FOUR(t->least_weight));
    _mm_storeu_si128((__m128i *)m->weight, w);
    s = sk_adaptive_learn_four(s, bit, t);
    *a->slot[0] = (sk_adaptive_slot)_mm_cvtsi128_si32(s);
    *a->slot[1] = (sk_adaptive_slot)_mm_extract_epi32(s, 1);
    if (n > 2)
        *a->slot[2] = (sk_adaptive_slot)_mm_extract_epi32(s, 2);
    if (n > 3)
        *a->slot[3] = (sk_adaptive_slot)_mm_extract_epi32(s, 3);
}
#endif

static inline __attribute__((always_inline)) void sk_adaptive_learn_each(const struct sk_adaptive_asked *a, int n, struct sk_adaptive_mixer *m,
                                                                         int32_t miss, int shift, int bit, const struct sk_adaptive_tables *t)
{
    const int32_t most = SK_ADAPTIVE_MOST_WEIGHT;
    for (int k = 0; k < n; k++) {
        int32_t w = m->weight[k] + (a->logit[k] * miss >> shift);
        m->weight[k] = w > most ? most : w < -most ? -most : w;
        sk_adaptive_learn(a->slot[k], bit, t);
    }
}

/* The same of several at once, where the processor has the means. */
static inline __attribute__((always_inline)) void sk_adaptive_learn_all(const struct sk_adaptive_asked *a, int n, struct sk_adaptive_mixer *m,
                                                                        int32_t miss, int shift, int bit, const struct sk_adaptive_tables *t)
{
#ifdef __AVX2__
    if (n > 1) {
        sk_adaptive_learn_together(a, n, m, miss, shift, bit, t);
        return;
    }
#endif
    sk_adaptive_learn_each(a, n, m, miss, shift, bit, t);
}

/* Code one bit by the n contexts in *a. */
static inline __attribute__((always_inline)) int sk_adaptive_mix(struct sk_adaptive *c, struct sk_adaptive_asked *a, int n,
                                                                 struct sk_adaptive_mixer *m, int bit, int decoding)
{
    const struct sk_adaptive_tables *t = c->tables;
    int64_t sum = 0;
    for (int k = 0; k < n; k++) {
        int64_t logit = t->logit[*a->slot[k] >> 20];
        __asm__("" : "+r"(logit)); /* as it is: put together to a vector, it would be taken apart again */
        a->logit[k] = (int32_t)logit;
        sum += logit * m->weight[k];
    }
    sum >>= 16;
    if (__builtin_expect((uint64_t)(sum + SK_ADAPTIVE_LIMIT) > 2 * SK_ADAPTIVE_LIMIT, 0))
        sum = sum > 0 ? SK_ADAPTIVE_LIMIT : -SK_ADAPTIVE_LIMIT;
    uint32_t p = t->probability[sum + SK_ADAPTIVE_LIMIT];
    uint64_t middle = sk_adaptive_middle(c, p);
    int seen = m->seen, shift = t->shift[seen];
    m->seen = seen + (seen < SK_ADAPTIVE_STEADY);
    /* A branch, and what is learnt in both of its ways: most bits are as expected, and the processor goes on with the next before it
     * is sure of this one. */
    if (decoding ? c->code <= middle : bit) {
        c->high = middle;
        sk_adaptive_learn_all(a, n, m, 65536 - (int32_t)p, shift, 1, t);
        bit = 1;
    } else {
        c->low = middle + 1;
        sk_adaptive_learn_all(a, n, m, -(int32_t)p, shift, 0, t);
        bit = 0;
    }
    sk_adaptive_shift(c, decoding);
    return bit;
}

/* The same as calls: what a bit needs fits the registers of a processor only where nothing else is in them. */
#define SK_ADAPTIVE_SLOTS1 s0
#define SK_ADAPTIVE_SLOTS2 s0, s1
#define SK_ADAPTIVE_SLOTS3 s0, s1, s2
#define SK_ADAPTIVE_SLOTS4 s0, s1, s2, s3
#define SK_ADAPTIVE_CALLS(n, ...)                                                                                                            \
    __attribute__((noinline, unused)) static int sk_adaptive_read##n(struct sk_adaptive *c, struct sk_adaptive_mixer *m, __VA_ARGS__)        \
    {                                                                                                                                        \
        struct sk_adaptive_asked a = {.slot = {SK_ADAPTIVE_SLOTS##n}};                                                                       \
        return sk_adaptive_mix(c, &a, n, m, 0, 1);                                                                                           \
    }                                                                                                                                        \
    __attribute__((noinline, unused)) static int sk_adaptive_write##n(struct sk_adaptive *c, struct sk_adaptive_mixer *m, int bit, __VA_ARGS__) \
    {                                                                                                                                        \
        struct sk_adaptive_asked a = {.slot = {SK_ADAPTIVE_SLOTS##n}};                                                                       \
        return sk_adaptive_mix(c, &a, n, m, bit, 0);                                                                                         \
    }
SK_ADAPTIVE_CALLS(1, sk_adaptive_slot *s0)
SK_ADAPTIVE_CALLS(2, sk_adaptive_slot *s0, sk_adaptive_slot *s1)
SK_ADAPTIVE_CALLS(3, sk_adaptive_slot *s0, sk_adaptive_slot *s1, sk_adaptive_slot *s2)
SK_ADAPTIVE_CALLS(4, sk_adaptive_slot *s0, sk_adaptive_slot *s1, sk_adaptive_slot *s2, sk_adaptive_slot *s3)

/* Code one bit, n slots being asked (from 1 to 4); returns it. bit: of the encoder; decoding is c->decoding, as a constant. */
#define SK_ADAPTIVE_BIT(n, c, m, bit, decoding, ...)                                                                                        \
    ((decoding) ? sk_adaptive_read##n(c, m, __VA_ARGS__) : sk_adaptive_write##n(c, m, bit, __VA_ARGS__))

#endif
