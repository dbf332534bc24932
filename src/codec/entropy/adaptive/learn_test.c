/* What slots and weights learn of a bit is the same to the last unit, four at once or one by one: a stream of bits hides a
 * wrong rounding for long, since few units of a slot reach a bit. Compiled for AVX2. */
#include "codec/entropy/adaptive/adaptive.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WHOLE = 1 << 22, SHIFTS = 2, SKIPPED = 77 };

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint32_t next(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

/* Probabilities where roundings differ, if anywhere: the ends, and those whose products with a rate have nothing behind the point;
 * others at random. */
static uint32_t probability(int k)
{
    enum { ENDS = 8, MULTIPLES = 63 };
    uint32_t p = 1 + next() % (WHOLE - 1);
    if (k < ENDS)
        p = k % 2 ? WHOLE - 1 - (uint32_t)k / 2 : 1 + (uint32_t)k / 2;
    else if (k < ENDS + MULTIPLES)
        p = (uint32_t)(k - ENDS + 1) << 16;
    else if (k % 2)
        p = p >> 8 << 8;
    return p ? p : 1;
}

/* By its definition: rounded down, within the ends, and ever more slowly. */
static uint32_t learnt(uint32_t slot, int bit, const struct sk_adaptive_tables *t)
{
    int64_t count = slot & 1023, was = slot >> 10, product = ((bit ? WHOLE : 0) - was) * t->rate[count];
    int64_t step = product >= 0 ? product / 65536 : -((-product + 65535) / 65536), now = was + step;
    now = now < 1 ? 1 : now > WHOLE - 1 ? WHOLE - 1 : now;
    return (uint32_t)(now << 10 | (count < 1023 ? count + 1 : 1023));
}

static const struct sk_adaptive_tables *tables(void)
{
    static struct sk_adaptive c;
    sk_adaptive_decoder(&c, "", 0);
    return c.tables;
}

static void slots_learn_to_the_last_unit(void **unused)
{
    enum { PROBABILITIES = 160, LANES = 4 };
    const struct sk_adaptive_tables *t = tables();
    for (uint32_t count = 0; count < SK_ADAPTIVE_COUNTS; count++)
        for (int k = 0; k < PROBABILITIES; k += LANES)
            for (int bit = 0; bit < 2; bit++) {
                uint32_t slot[LANES], together[LANES];
                for (int l = 0; l < LANES; l++)
                    slot[l] = probability(k + l) << 10 | count;
                _mm_storeu_si128((__m128i *)together, sk_adaptive_learn_four(_mm_loadu_si128((const __m128i *)slot), bit, t));
                for (int l = 0; l < LANES; l++) {
                    uint32_t alone = slot[l];
                    sk_adaptive_learn(&alone, bit, t);
                    if (alone != learnt(slot[l], bit, t) || together[l] != alone)
                        fail_msg("slot %#x learns %d: %#x, together with others %#x, where it should be %#x", slot[l], bit, alone,
                                 together[l], learnt(slot[l], bit, t));
                }
            }
}

/* A mixer with weights anywhere, asked by n contexts. */
static void start(struct sk_adaptive_mixer *m, struct sk_adaptive_asked *a, sk_adaptive_slot *slot, int n)
{
    for (int k = 0; k < SK_ADAPTIVE_INPUTS; k++)
        m->weight[k] = (int32_t)(next() % (2 * SK_ADAPTIVE_MOST_WEIGHT + 1)) - SK_ADAPTIVE_MOST_WEIGHT;
    if (next() % 4 == 0)
        m->weight[next() % SK_ADAPTIVE_INPUTS] = next() % 2 ? SK_ADAPTIVE_MOST_WEIGHT : -SK_ADAPTIVE_MOST_WEIGHT;
    for (int k = 0; k < n; k++) {
        slot[k] = probability((int)(next() % 160)) << 10 | (next() & 1023);
        a->slot[k] = &slot[k];
        a->logit[k] = (int32_t)(next() % (2 * SK_ADAPTIVE_LIMIT + 1)) - SK_ADAPTIVE_LIMIT;
    }
}

static void weights_learn_to_the_last_unit(void **unused)
{
    enum { ROUNDS = 60000 };
    const struct sk_adaptive_tables *t = tables();
    for (int round = 0; round < ROUNDS; round++) {
        struct sk_adaptive_mixer m[2];
        struct sk_adaptive_asked a[2];
        sk_adaptive_slot slot[2][SK_ADAPTIVE_INPUTS];
        int n = 2 + round % 3, bit = (int)(next() & 1), shift = 14 + (int)(next() % (SHIFTS + 1));
        int32_t p = 1 + (int32_t)(next() % 65535), miss = bit ? 65536 - p : -p;
        start(&m[0], &a[0], slot[0], n);
        m[1] = m[0];
        for (int k = 0; k < n; k++) {
            slot[1][k] = slot[0][k];
            a[1].slot[k] = &slot[1][k];
            a[1].logit[k] = a[0].logit[k];
        }
        switch (n) { /* a constant, as its callers have it */
        case 2: sk_adaptive_learn_together(&a[1], 2, &m[1], miss, shift, bit, t); break;
        case 3: sk_adaptive_learn_together(&a[1], 3, &m[1], miss, shift, bit, t); break;
        default: sk_adaptive_learn_together(&a[1], 4, &m[1], miss, shift, bit, t);
        }
        sk_adaptive_learn_each(&a[0], n, &m[0], miss, shift, bit, t);
        for (int k = 0; k < n; k++) {
            assert_int_equal(m[1].weight[k], m[0].weight[k]);
            assert_int_equal(slot[1][k], slot[0][k]);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_learn_to_the_last_unit),
        cmocka_unit_test(weights_learn_to_the_last_unit),
    };
    if (!__builtin_cpu_supports("avx2"))
        return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
