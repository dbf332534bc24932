/* Steps of a trajectory are found in bytes that nobody has described, take what has changed since, and come back; so does whatever is no trajectory. */
#include "codec/rows/frames.h"

#include "base/hash.h"
#include "codec/residual/residual.h"
#include "codec/rows/layout.h"
#include "codec/text/coded.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 512 << 10, SOME = 100 << 10 };
static uint8_t data[MOST], back[MOST];
static uint32_t seed;

static double noise(void)
{
    return (double)((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5;
}

static void turn(uint8_t *p, size_t width)
{
    for (size_t i = 0; i < width / 2; i++) {
        uint8_t b = p[i];
        p[i] = p[width - 1 - i];
        p[width - 1 - i] = b;
    }
}

/* A trajectory: steps of a head of so many bytes and so many points, of which each moves by chance and at a speed of its own, and all by what they have in common. Of a
 * flock the second half of the points is elsewhere in each step: alike are their x, their y, and their z, or the three numbers of each point. */
enum flock { NO_FLOCK, ALIKE_POINTS, ALIKE_NUMBERS };
struct made {
    size_t head, points, steps;
    double moves, speed, together;
    enum flock flock;
    size_t width;
    int big;
};

static size_t trajectory(const struct made *m)
{
    double *x = malloc(6 * m->points * sizeof *x), *v = x + 3 * m->points, at[3] = {0};
    size_t n = 0;
    seed = 5;
    for (size_t i = 0; i < 3 * m->points; i++) {
        x[i] = 48 + 30 * noise();
        v[i] = m->speed * noise();
    }
    for (size_t s = 0; s < m->steps; s++) {
        double all[3] = {m->together * noise(), m->together * noise(), m->together * noise()};
        memset(data + n, (int)s, m->head);
        n += m->head;
        for (size_t d = 0; d < 3 && m->flock == ALIKE_POINTS; d++)
            at[d] = 48 + 30 * noise();
        for (size_t i = 0; i < 3 * m->points; i++) {
            int flies = m->flock && i >= 3 * (m->points / 2);
            if (m->flock == ALIKE_NUMBERS && i % 3 == 0)
                at[0] = at[1] = at[2] = 48 + 30 * noise();
            x[i] += m->moves * noise() + v[i] + all[i % 3];
            double now = flies ? at[i % 3] + m->moves * noise() : x[i];
            float one = (float)now;
            memcpy(data + n, m->width == 4 ? (void *)&one : (void *)&now, m->width);
            if (m->big)
                turn(data + n, m->width);
            n += m->width;
        }
    }
    free(x);
    return n;
}

/* What is taken apart of n bytes; they come back. */
static size_t there_and_back(const uint8_t *in, size_t n)
{
    struct sk_frames *t = sk_frames_new();
    struct sk_buf bytes = {0}, numbers = {0};
    assert_non_null(t);
    assert_int_equal(sk_frames_put(t, in, n, &bytes, &numbers, NULL), 0);
    size_t all = bytes.len + numbers.len, of_numbers = numbers.len;
    sk_buf_put(&numbers, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
    struct sk_rd rd = sk_rd_init(numbers.data, of_numbers);
    memset(back, 0xa5, n);
    assert_int_equal(sk_frames_get(t, bytes.data, bytes.len, &rd, back, n, NULL), 0);
    assert_int_equal(sk_rd_left(&rd), 0);
    if (n)
        assert_memory_equal(in, back, n);
    sk_buf_free(&bytes);
    sk_buf_free(&numbers);
    sk_frames_free(t);
    return all;
}

static void steps_are_found_and_take_what_has_changed(void **state)
{
    (void)state;
    static const struct {
        struct made made;
        int kind;
        double most; /* of the bytes: noise has log2 of how far, by the numbers between, and what the first step takes */
    } cases[] = {
        {{100, 1000, 20, .moves = 0.01, .width = 4}, FLOAT4, 0.4},
        {{100, 1000, 20, .moves = 0.01, .width = 4, .big = 1}, FLOAT4_BIG, 0.4},
        {{100, 1000, 20, .moves = 1, .width = 4}, FLOAT4, 0.59},
        {{12, 700, 30, .moves = 0.01, .width = 8}, FLOAT8, 0.655},
        {{16, 700, 30, .moves = 0.0001, .width = 8, .big = 1}, FLOAT8_BIG, 0.555},
        {{100, 1000, 20, .moves = 1e-5, .speed = 0.2, .width = 4}, FLOAT4, 0.14},
        {{100, 1000, 20, .moves = 1e-5, .together = 0.5, .width = 4}, FLOAT4, 0.118},
        {{100, 1000, 20, .moves = 1e-4, .flock = ALIKE_POINTS, .width = 4}, FLOAT4, 0.192},
        {{100, 1000, 20, .moves = 1e-4, .flock = ALIKE_NUMBERS, .width = 4}, FLOAT4, 0.292},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const struct made *m = &cases[k].made;
        size_t n = trajectory(m), step = m->head + 3 * m->points * m->width;
        struct sk_frames_layout l;
        assert_true(sk_frames_likely(data, n));
        assert_true(sk_frames_find(data, n, &l));
        size_t took = there_and_back(data, n);
        if (l.distance != step || l.kind != cases[k].kind || (double)took > cases[k].most * (double)n || fabs(l.bits / 8 * (double)n - (double)took) > 0.1 * (double)took + (double)step)
            fail_msg("case %zu: distance %u of %zu, kind %d, %zu of %zu bytes (%g), %g bits", k, l.distance, step, l.kind, took, n, (double)took / (double)n, l.bits);
    }
}

/* The same steps are found again by those who know them, wherever these begin; in other bytes they are not. */
static void steps_that_are_known_are_found_again(void **state)
{
    (void)state;
    const struct made m = {12, 700, 30, .moves = 0.01, .width = 8}, other = {36, 700, 30, .moves = 0.01, .width = 8};
    size_t n = trajectory(&m), step = 12 + 3 * 700 * 8;
    struct sk_frames_layout l, known;
    assert_true(sk_frames_find(data, n, &l));
    known = l;
    assert_true(sk_frames_fit(data, n, &known));
    assert_int_equal(known.distance, step);
    assert_int_equal(known.first, l.first);
    assert_true(fabs(known.bits / l.bits - 1) < 0.02);
    assert_true(sk_frames_fit(data + 4, n - 4, &known)); /* they begin at another word */
    assert_int_equal(known.first, 4 - l.first);
    known.bits = INFINITY; /* whatever it costs */
    assert_true(sk_frames_fit(data, 2 * step, &known));
    known.bits = INFINITY;
    assert_false(sk_frames_fit(data, 2 * step - 1, &known)); /* a step that does not come again */
    n = trajectory(&other);
    known = l;
    assert_false(sk_frames_fit(data, n, &known));
    known.distance = 0;
    assert_false(sk_frames_fit(data, n, &known));
}

static void numbers_of_steps_are_told_from_other_bytes(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++)
        for (size_t width = 4; width <= 8; width += 4) {
            size_t n = trajectory(&(struct made){100, 300, 20, .moves = 0.01, .width = width, .big = big});
            assert_true(sk_frames_likely(data, n));
            assert_false(sk_frames_likely(data, 4095));
        }
    for (size_t i = 0; i < SOME; i++)
        data[i] = (uint8_t)(noise() * 256);
    assert_false(sk_frames_likely(data, SOME));
    for (size_t i = 0; i < SOME; i++)
        data[i] = (uint8_t)("0123456789 .-\n"[i * i % 14]);
    assert_false(sk_frames_likely(data, SOME));
    memset(data, 0, SOME);
    assert_false(sk_frames_likely(data, SOME));
}

static uint32_t chance(void)
{
    return (seed = seed * 1664525u + 1013904223u) >> 8;
}

/* Steps of numbers that drift, each but for the last bits at a speed of its own, made without any sum of floating point; behind them so many bytes of each step. */
static size_t drift(size_t numbers, size_t steps, size_t behind, size_t width, int big)
{
    size_t n = 0;
    for (size_t s = 0; s < steps; s++) {
        seed = 7;
        for (size_t i = 0; i < numbers; i++) {
            uint64_t high = 0x42000000u + (chance() & 0x3fffff) + s * (chance() & 0xffff) + ((i + 1) * s * 77 & 0x3f), v = width == 4 ? high : high << 30 | (s * chance());
            memcpy(data + n, &v, width);
            if (big)
                turn(data + n, width);
            n += width;
        }
        memset(data + n, (int)(3 * s), behind);
        n += behind;
    }
    return n;
}

/* What is stored of steps that are told is what archives hold: it does not change. */
static void what_is_stored_stays_as_it_is(void **state)
{
    (void)state;
    enum { NUMBERS = 180, STEPS = 9, BEHIND = 10 };
    static const uint64_t stored[][3] = {
        {0x6379f61f031005fc, 0xab6519b3e08e840c, 0xfd53f136f10e84c4},
        {0xac169d149bd93a73, 0xb93f980f28807b3c, 0xa3eb91af4f24dd00},
        {0xe3bffe216bbc8f8b, 0xf954b4fd49056a44, 0x56451ded6f9d8666},
        {0xb0c7ac3a807b34e4, 0x3b9288da7bd6efd5, 0x20c297f88ace9144},
    };
    for (int kind = FLOAT4; kind <= FLOAT8_BIG; kind++)
        for (uint8_t stride = 1; stride <= 3; stride++) {
            size_t width = (size_t)column_bytes(kind), n = drift(NUMBERS, STEPS, BEHIND, width, kind >= FLOAT4_BIG) - 7;
            struct sk_frames_layout l = {.distance = (uint32_t)(NUMBERS * width + BEHIND), .kind = (uint8_t)kind, .stride = stride, .bits = INFINITY};
            struct sk_frames *t = sk_frames_new();
            struct sk_buf bytes = {0}, numbers = {0};
            sk_frames_known(t, &l);
            assert_int_equal(sk_frames_put(t, data, n, &bytes, &numbers, NULL), 0);
            sk_buf_put(&bytes, numbers.data, numbers.len);
            uint64_t hash = sk_hash64(bytes.data, bytes.len);
            if (hash != stored[kind - FLOAT4][stride - 1])
                fail_msg("kind %d, stride %d: %zu bytes, 0x%016llx", kind, stride, bytes.len, (unsigned long long)hash);
            sk_buf_free(&bytes);
            sk_buf_free(&numbers);
            sk_frames_free(t);
        }
}

static void whatever_it_is_comes_back(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 3, 4, 7, 8, 100, 4095, 4096, 4097, 70001, 300003};
    trajectory(&(struct made){88, 500, 80, .moves = 0.01, .width = 4});
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (size_t from = 0; from < 4; from++)
            there_and_back(data + from, lengths[k]);
    for (size_t i = 0; i < SOME; i++)
        data[i] = (uint8_t)(noise() * 256);
    there_and_back(data, SOME);
    memset(data, 0, SOME);
    there_and_back(data, SOME);
    /* not a number, infinite, the least and the largest ones, again and again */
    for (size_t i = 0; i < SOME / 4; i++) {
        static const uint32_t odd[] = {0x7fc00000, 0x7f800000, 0xff800000, 0x80000000, 1, 0x807fffff, 0x7f7fffff, 0xffffffff};
        uint32_t v = odd[i % 512 * 7 % 8];
        memcpy(data + 4 * i, &v, 4);
    }
    there_and_back(data, SOME);
}

/* Every byte that is stored may be another one: it is refused, or other numbers come of it. */
static void damage_is_refused_or_gives_other_numbers(void **state)
{
    (void)state;
    size_t n = trajectory(&(struct made){20, 100, 12, .moves = 0.01, .width = 4});
    struct sk_frames *t = sk_frames_new();
    struct sk_buf bytes = {0}, numbers = {0};
    size_t refused = 0;
    assert_int_equal(sk_frames_put(t, data, n, &bytes, &numbers, NULL), 0);
    size_t of_numbers = numbers.len;
    sk_buf_put(&numbers, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
    for (size_t i = 0; i < of_numbers; i++) {
        struct sk_rd rd = sk_rd_init(numbers.data, of_numbers), cut = sk_rd_init(numbers.data, i);
        struct saikai_error err = {0};
        numbers.data[i] ^= 0x15;
        int rc = sk_frames_get(t, bytes.data, bytes.len, &rd, back, n, &err);
        assert_true(rc == 0 || (rc == SAIKAI_EDAMAGED && strstr(err.text, "damaged")));
        numbers.data[i] ^= 0x15;
        refused += rc != 0;
        assert_int_equal(sk_frames_get(t, bytes.data, bytes.len, &cut, back, n, &err), SAIKAI_EDAMAGED);
    }
    assert_true(refused > 10);
    struct sk_rd rd = sk_rd_init(numbers.data, of_numbers);
    assert_int_equal(sk_frames_get(t, bytes.data, bytes.len - 1, &rd, back, n, NULL), SAIKAI_EDAMAGED);
    sk_buf_free(&bytes);
    sk_buf_free(&numbers);
    sk_frames_free(t);
}

enum { LAYOUT = 10 }; /* bytes of the distance, where the first step begins, the kind and the stride; then pieces, with how many bytes are left open first */

static void put_number(uint8_t *p, uint32_t v)
{
    for (int k = 0; k < 4; k++)
        p[k] = (uint8_t)(v >> 8 * k);
}

static int get_back(struct sk_frames *t, const struct sk_buf *bytes, struct sk_buf *numbers, size_t n)
{
    size_t of_numbers = numbers->len;
    sk_buf_put(numbers, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
    struct sk_rd rd = sk_rd_init(numbers->data, of_numbers);
    numbers->len = of_numbers;
    return sk_frames_get(t, bytes->data, bytes->len, &rd, back, n, NULL);
}

/* Steps longer than all bytes, numbers that take more bits than there are, and symbols of none. */
static void what_nobody_writes_is_refused(void **state)
{
    (void)state;
    enum { NUMBERS = 600, WIDTH = 4 };
    size_t n = trajectory(&(struct made){20, 100, 12, .moves = 0.01, .width = WIDTH});
    struct sk_frames *t = sk_frames_new();
    struct sk_buf bytes = {0}, numbers = {0}, few = {0}, other = {0};
    assert_int_equal(sk_frames_put(t, data, n, &bytes, &numbers, NULL), 0);
    assert_int_equal(get_back(t, &bytes, &numbers, n), 0);

    struct sk_rd rd = sk_rd_init(numbers.data + LAYOUT, 4);
    uint32_t open = sk_rd_u32(&rd);
    sk_buf_put(&few, numbers.data, LAYOUT + 4 + open - 1); /* a byte fewer of the open bits */
    sk_buf_put(&few, numbers.data + LAYOUT + 4 + open, numbers.len - LAYOUT - 4 - open);
    put_number(few.data + LAYOUT, open - 1);
    assert_int_equal(get_back(t, &bytes, &few, n), SAIKAI_EDAMAGED);

    put_number(numbers.data, (uint32_t)n + 1);
    assert_int_equal(get_back(t, &bytes, &numbers, n), SAIKAI_EDAMAGED);

    uint8_t symbol[NUMBERS], context[NUMBERS];
    for (uint8_t last = 64; last <= SK_SYMBOL_ZERO; last++) {
        static const uint8_t room[8 * NUMBERS];
        other.len = 0;
        sk_buf_put_u32(&other, NUMBERS / 2 * WIDTH);
        sk_buf_put_u32(&other, 0);
        sk_buf_put_u8(&other, FLOAT4);
        sk_buf_put_u8(&other, 1);
        sk_buf_put_u32(&other, sizeof room);
        sk_buf_put(&other, room, sizeof room);
        memset(symbol, 64, sizeof symbol);
        for (unsigned i = 0, level = 0; i < NUMBERS; i++, level = (level + 2 * 64) / 2)
            context[i] = (uint8_t)(level / 2 < SK_CODED_CONTEXTS ? level / 2 : SK_CODED_CONTEXTS - 1);
        symbol[NUMBERS - 1] = last;
        assert_int_equal(sk_coded_put(symbol, context, NUMBERS, &other), 0);
        assert_int_equal(get_back(t, &(struct sk_buf){0}, &other, NUMBERS * WIDTH), last == 64 ? 0 : SAIKAI_EDAMAGED);
    }
    sk_buf_free(&bytes);
    sk_buf_free(&numbers);
    sk_buf_free(&few);
    sk_buf_free(&other);
    sk_frames_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_found_and_take_what_has_changed),
        cmocka_unit_test(steps_that_are_known_are_found_again),
        cmocka_unit_test(numbers_of_steps_are_told_from_other_bytes),
        cmocka_unit_test(what_is_stored_stays_as_it_is),
        cmocka_unit_test(whatever_it_is_comes_back),
        cmocka_unit_test(damage_is_refused_or_gives_other_numbers),
        cmocka_unit_test(what_nobody_writes_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
