/* Rows of all kinds come back as they were, and take less where they are rows. */
#include "codec/rows/rows.h"

#include "codec/general/general.h"
#include "codec/residual/residual.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static uint32_t lcg = 1;
static uint32_t noise(void)
{
    return (lcg = lcg * 1664525u + 1013904223u) >> 8;
}

static double uneven(void)
{
    return (double)(noise() & 0xffff) / 65536 + (double)noise() * 1e-12;
}

/* What zstd leaves of some bytes. */
static size_t zipped(const uint8_t *p, size_t n)
{
    struct sk_packer packer = {0};
    int backend = SK_BACKEND_ZSTD;
    size_t stored;
    uint8_t *to = malloc(sk_pack_bound(n));
    assert_non_null(to);
    assert_int_equal(sk_pack(&packer, &backend, 9, p, n, to, &stored, NULL), 0);
    free(to);
    sk_packer_free(&packer);
    return stored;
}

/* There and back; what is left of them. */
static size_t round_trip_as(int wide, const uint8_t *in, size_t n)
{
    struct sk_rows *t = sk_rows_new();
    struct sk_buf bytes = {0}, numbers = {0};
    struct saikai_error err = {0};
    uint8_t *out = malloc(n + 1);
    assert_non_null(t);
    assert_non_null(out);
    sk_rows_wide(t, wide);
    assert_int_equal(sk_rows_put(t, in, n, &bytes, &numbers, &err), 0);
    assert_true(bytes.len <= n);
    size_t left = numbers.len + (bytes.len ? zipped(bytes.data, bytes.len) : 0);
    sk_buf_put(&numbers, "more of others..........", 24);
    struct sk_rd rd = sk_rd_init(numbers.data, numbers.len);
    if (sk_rows_get(t, bytes.data, bytes.len, &rd, out, n, &err))
        fail_msg("%s", err.text);
    assert_int_equal(sk_rd_left(&rd), 24);
    assert_memory_equal(in, out, n);
    free(out);
    sk_buf_free(&bytes);
    sk_buf_free(&numbers);
    sk_rows_free(t);
    return left;
}

static size_t round_trip(const uint8_t *in, size_t n)
{
    round_trip_as(1, in, n);
    return round_trip_as(0, in, n);
}

static void structures(void **state)
{
    (void)state;
    enum { COUNT = 40000 };
    struct {
        double at[3];
        int64_t id;
        float mass;
        int32_t kind;
    } *b = calloc(COUNT, sizeof *b);
    assert_non_null(b);
    for (int i = 0; i < COUNT; i++) {
        for (int d = 0; d < 3; d++)
            b[i].at[d] = 10 + d + sin(0.001 * i + d) + 1e-7 * uneven();
        b[i].id = i + 1;
        b[i].mass = i % 3 ? 1.008f : 15.999f;
        b[i].kind = i % 3 ? 1 : 2;
    }
    size_t n = COUNT * sizeof *b, left = round_trip((uint8_t *)b, n);
    assert_true((double)left < 0.75 * (double)zipped((uint8_t *)b, n));
    /* behind a header that is no row, and cut in the middle of one */
    left = round_trip((uint8_t *)b + 12, n - 29);
    assert_true((double)left < 0.85 * (double)zipped((uint8_t *)b, n));
    free(b);
}

/* Structures of more than 256 bytes; that those of the pieces behind the first are the same is seen. */
static void wide_structures(void **state)
{
    (void)state;
    enum { COUNT = 6000, FIELDS = 50 };
    double(*b)[FIELDS] = calloc(COUNT, sizeof *b);
    assert_non_null(b);
    for (int i = 0; i < COUNT; i++)
        for (int f = 0; f < FIELDS; f++)
            b[i][f] = f % 3 ? pow(10, f % 5) * (2 + sin(0.001 * i + f)) + 1e-7 * uneven() : (f * 7919) % 1000;
    size_t n = COUNT * sizeof *b, left = round_trip_as(1, (uint8_t *)b, n);
    assert_true(sk_rows_are_wide((uint8_t *)b, n));
    assert_true((double)left < 0.8 * (double)round_trip_as(0, (uint8_t *)b, n));
    free(b);
}

/* A plane of complex numbers is predicted along both of its sides. */
static void complex_numbers(void **state)
{
    (void)state;
    enum { SIDE = 200 };
    double(*c)[2] = calloc(SIDE * SIDE, sizeof *c);
    assert_non_null(c);
    for (int i = 0; i < SIDE * SIDE; i++)
        for (int d = 0; d < 2; d++)
            c[i][d] = sin(0.3 * (i % SIDE) + 1.5 * d) * (3 - 1.9 * d) + cos(0.02 * (i / SIDE)) + 1e-6 * uneven();
    size_t n = SIDE * SIDE * sizeof *c, left = round_trip((uint8_t *)c, n);
    assert_true((double)left < 0.65 * (double)zipped((uint8_t *)c, n));
    free(c);
}

static void big_endian_numbers(void **state)
{
    (void)state;
    enum { COUNT = 60000 };
    uint8_t *b = malloc(COUNT * 12);
    assert_non_null(b);
    for (int i = 0; i < COUNT; i++)
        for (int d = 0; d < 3; d++) {
            float x = (float)(100 + d * 7 + sin(0.002 * i) + 1e-4 * uneven());
            uint32_t bits;
            memcpy(&bits, &x, 4);
            for (int k = 0; k < 4; k++)
                b[12 * i + 4 * d + k] = (uint8_t)(bits >> (24 - 8 * k));
        }
    size_t left = round_trip(b, COUNT * 12);
    assert_true((double)left < 0.8 * (double)zipped(b, COUNT * 12));
    free(b);
}

/* Special values, rows of every width, few bytes, noise. */
static void anything_comes_back(void **state)
{
    (void)state;
    enum { MOST = 70000 };
    static const double special[] = {0, -0.0, INFINITY, -INFINITY, NAN, 5e-324, -1e308, 1e308};
    static uint8_t b[MOST];
    for (size_t n = 0; n < 40; n++)
        round_trip(b, n);
    for (size_t width = 4; width < 300; width += 4) {
        size_t n = 9000 + noise() % 50000;
        for (size_t i = 0; i < n; i++)
            b[i] = (uint8_t)(i % width < width / 3 ? noise() : i / width * (i % width % 5));
        round_trip(b, n);
    }
    for (size_t i = 0; i + 16 <= MOST; i += 16) {
        memcpy(b + i, &special[noise() % 8], 8);
        memcpy(b + i + 8, &special[noise() % 3], 8);
    }
    round_trip(b, MOST);
    for (size_t i = 0; i < MOST; i++)
        b[i] = (uint8_t)noise();
    round_trip(b, MOST);
    memset(b, 7, MOST);
    assert_true(round_trip(b, MOST) < 600);
}

/* More than one piece, each with rows of its own. */
static void pieces(void **state)
{
    (void)state;
    enum { BYTES = (5 << 20) / 2 + 123 };
    uint8_t *b = malloc(BYTES);
    assert_non_null(b);
    for (size_t i = 0; i + 8 <= BYTES; i += 8) {
        double x = i % (i < BYTES / 2 ? 24 : 40) ? 1e5 + sin(1e-4 * (double)i) : 3;
        memcpy(b + i, &x, 8);
    }
    memset(b + BYTES / 8 * 8, 1, BYTES % 8);
    size_t left = round_trip(b, BYTES);
    assert_true(left < zipped(b, BYTES));
    free(b);
}

/* A flipped byte is told or gives other bytes, and never touches anything else. */
static void damage(void **state)
{
    (void)state;
    enum { BYTES = 30000 };
    struct sk_rows *t = sk_rows_new();
    struct sk_buf bytes = {0}, numbers = {0};
    static uint8_t in[BYTES], out[BYTES + 8];
    int told = 0;
    for (size_t i = 0; i + 8 <= BYTES; i += 8) {
        double x = i % 24 ? 1000 + sin(0.001 * (double)i) + 1e-9 * uneven() : (double)i;
        memcpy(in + i, &x, 8);
    }
    assert_int_equal(sk_rows_put(t, in, BYTES, &bytes, &numbers, NULL), 0);
    size_t n = numbers.len;
    sk_buf_put(&numbers, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
    for (size_t i = 0; i < n; i += 1 + i / 50) {
        struct saikai_error err = {0};
        struct sk_rd rd = sk_rd_init(numbers.data, n);
        numbers.data[i] ^= (uint8_t)(1 + i % 255);
        memset(out + BYTES, 0x5a, 8);
        int rc = sk_rows_get(t, bytes.data, bytes.len, &rd, out, BYTES, &err);
        assert_true(!rc || rc == SAIKAI_EDAMAGED);
        told += rc != 0;
        for (int k = 0; k < 8; k++)
            assert_int_equal(out[BYTES + k], 0x5a);
        numbers.data[i] ^= (uint8_t)(1 + i % 255);
    }
    assert_true(told > 10);
    struct sk_rd cut = sk_rd_init(numbers.data, n / 2), none = sk_rd_init(numbers.data, n);
    assert_int_equal(sk_rows_get(t, bytes.data, bytes.len, &cut, out, BYTES, NULL), SAIKAI_EDAMAGED);
    if (bytes.len)
        assert_int_equal(sk_rows_get(t, bytes.data, bytes.len - 1, &none, out, BYTES, NULL), SAIKAI_EDAMAGED);
    sk_buf_free(&bytes);
    sk_buf_free(&numbers);
    sk_rows_free(t);
}

/* ---- after others ---- */

/* There and back after past[0, n_past), where the first bytes are thought to begin at `at`; what is left of them. */
static size_t after(const uint8_t *in, size_t n, const uint8_t *past, size_t n_past, size_t at)
{
    struct sk_rows *t = sk_rows_new();
    struct sk_buf bytes = {0}, numbers = {0};
    struct saikai_error err = {0};
    uint8_t *out = malloc(n + 1);
    assert_non_null(t);
    assert_non_null(out);
    sk_rows_wide(t, 1);
    sk_rows_after(t, past, n_past, at);
    assert_int_equal(sk_rows_put(t, in, n, &bytes, &numbers, &err), 0);
    size_t left = numbers.len + (bytes.len ? zipped(bytes.data, bytes.len) : 0), len = numbers.len;
    sk_buf_extend(&numbers, SK_BITS_SLACK);
    struct sk_rd rd = sk_rd_init(numbers.data, len);
    sk_rows_after(t, past, n_past, 0);
    if (sk_rows_get(t, bytes.data, bytes.len, &rd, out, n, &err))
        fail_msg("%s", err.text);
    assert_int_equal(sk_rd_left(&rd), 0);
    assert_memory_equal(in, out, n);
    /* damage is told, or other bytes come; with less of the past, too */
    for (size_t k = 0; k < len; k += len / 61 + 1) {
        numbers.data[k] ^= (uint8_t)(1 << k % 8);
        rd = sk_rd_init(numbers.data, len);
        sk_rows_after(t, past, k % 2 ? n_past : n_past / 3, 0);
        int rc = sk_rows_get(t, bytes.data, bytes.len, &rd, out, n, NULL);
        assert_true(!rc || rc == SAIKAI_EDAMAGED);
        numbers.data[k] ^= (uint8_t)(1 << k % 8);
    }
    free(out);
    sk_buf_free(&bytes);
    sk_buf_free(&numbers);
    sk_rows_free(t);
    return left;
}

/* Noise that changes a little, in doubles and floats, with the highest byte first, too; numbers of things that stay, and some that all grow. */
static void what_changes_a_little(void **state)
{
    (void)state;
    enum { COUNT = 30000, WIDTH = 32 };
    static uint8_t sets[2][COUNT * WIDTH];
    for (int i = 0; i < COUNT; i++) {
        double x = uneven();
        float y = (float)uneven();
        uint32_t id = noise(), all = noise();
        uint64_t big;
        for (int set = 0; set < 2; set++) {
            uint8_t *p = sets[set] + i * WIDTH;
            memcpy(p, &x, 8);
            memcpy(p + 8, &y, 4);
            memcpy(p + 12, &id, 4);
            memcpy(&big, &x, 8);
            big = __builtin_bswap64(big);
            memcpy(p + 16, &big, 8);
            memcpy(p + 24, &all, 4);
            memcpy(p + 28, &id, 4);
            x += 1e-6 * uneven();
            y += 1e-3f;
            all += 7;
        }
    }
    size_t n = sizeof sets[1], alone = round_trip(sets[1], n), with = after(sets[1], n, sets[0], sizeof sets[0], 0);
    if (with > alone / 2)
        fail_msg("%zu bytes after the same rows, %zu alone", with, alone);
    assert_true(after(sets[0], n, sets[0], n, 0) < n / 400); /* nothing changed */
    after(sets[1], n, sets[0], n / 3, 64);                  /* the past is shorter, and elsewhere */
    after(sets[1], n, sets[0], n, n);                       /* or there is none */
    after(sets[1], 3, sets[0], n, 0);
}

/* A smooth field that moved: what changed at one point changed beside it; behind the mark of a record, 4 bytes off. */
static void what_changes_smoothly(void **state)
{
    (void)state;
    enum { COUNT = 60000 };
    static uint8_t sets[2][4 + 8 * COUNT];
    for (int set = 0; set < 2; set++)
        for (int i = 0; i < COUNT; i++) {
            double x = sin(i * 12.9898) * 43758.5453, v = x - floor(x) + 0.1 * set * sin(1e-3 * i);
            memcpy(sets[set] + 4 + 8 * i, &v, 8);
        }
    size_t n = sizeof sets[1], alone = round_trip(sets[1], n), with = after(sets[1], n, sets[0], n, 0);
    if (with > alone / 3 * 2)
        fail_msg("%zu bytes after the same field, %zu alone", with, alone);
}

/* Two arrays in a file, as HDF5 has them: records of which a few fields change, and pairs of numbers that all change. Each has the rows that it
 * has alone, whichever comes first. */
static void arrays_of_two_kinds(void **state)
{
    (void)state;
    enum { RECORDS = 6000, FIELDS = 9, PAIRS = 1 << 16, RECORD_BYTES = 8 * FIELDS * RECORDS, PAIR_BYTES = 16 * PAIRS, ALL = RECORD_BYTES + PAIR_BYTES };
    static double records[2][RECORDS][FIELDS], pairs[2][PAIRS][2];
    static uint8_t sets[2][ALL];
    for (int i = 0; i < RECORDS; i++)
        for (int f = 0; f < FIELDS; f++) {
            records[0][i][f] = 1 + uneven();
            records[1][i][f] = records[0][i][f] + (f < 2 ? 1e-6 * uneven() : 0);
        }
    for (int i = 0; i < PAIRS; i++)
        for (int k = 0; k < 2; k++) {
            pairs[0][i][k] = uneven() - 0.5;
            pairs[1][i][k] = pairs[0][i][k] * (1 + 0.01 * uneven());
        }
    size_t each = after((uint8_t *)records[1], RECORD_BYTES, (uint8_t *)records[0], RECORD_BYTES, 0) + after((uint8_t *)pairs[1], PAIR_BYTES, (uint8_t *)pairs[0], PAIR_BYTES, 0);
    for (int last = 0; last < 2; last++) {
        for (int set = 0; set < 2; set++) {
            memcpy(sets[set] + (last ? PAIR_BYTES : 0), records[set], RECORD_BYTES);
            memcpy(sets[set] + (last ? 0 : RECORD_BYTES), pairs[set], PAIR_BYTES);
        }
        size_t both = after(sets[1], ALL, sets[0], ALL, 0);
        if (both > each + each / 16)
            fail_msg("%zu bytes in one file, %zu in two", both, each);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structures), cmocka_unit_test(wide_structures), cmocka_unit_test(complex_numbers), cmocka_unit_test(big_endian_numbers),
        cmocka_unit_test(anything_comes_back), cmocka_unit_test(pieces), cmocka_unit_test(damage),
        cmocka_unit_test(what_changes_a_little), cmocka_unit_test(what_changes_smoothly), cmocka_unit_test(arrays_of_two_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
