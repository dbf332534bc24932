/* Text of every kind comes back byte for byte, text of numbers shrinks, and damaged pieces are told. */
#include "codec/text/text.h"

#include "codec/residual/residual.h"
#include "codec/text/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static uint32_t seed;

static uint32_t next(void)
{
    return (seed = seed * 1664525u + 1013904223u) >> 8;
}

static double uniform(void)
{
    return next() / (double)(1 << 24);
}

/* ---- there and back ---- */

struct made {
    size_t layout, numbers;
};

static struct sk_text *work;

static void same_as(int labelled, const uint8_t *in, size_t n, struct made *size)
{
    struct sk_packer packer = {0};
    struct sk_text_packing how = {&packer, sk_backend_here(SK_BACKEND_ZSTD) < 0 ? SK_BACKEND_STORE : SK_BACKEND_ZSTD, 3};
    struct sk_buf layout = {0}, numbers = {0};
    uint8_t *out = malloc(n + 1);
    assert_non_null(out);
    sk_text_labelled(work, labelled);
    assert_int_equal(sk_text_put(work, &how, in, n, &layout, &numbers, NULL), 0);
    assert_true(layout.len <= sk_text_layout_most(n));
    size_t len = numbers.len;
    sk_buf_extend(&numbers, SK_BITS_SLACK);
    assert_true(sk_buf_ok(&numbers));
    struct sk_rd rd = sk_rd_init(numbers.data, len);
    out[n] = 0xa5;
    assert_int_equal(sk_text_get(work, &packer, layout.data, layout.len, &rd, out, n, NULL), 0);
    assert_int_equal(sk_rd_left(&rd), 0);
    assert_int_equal(out[n], 0xa5);
    if (n)
        assert_memory_equal(in, out, n);
    if (size)
        *size = (struct made){layout.len, len};
    sk_buf_free(&layout);
    sk_buf_free(&numbers);
    sk_packer_free(&packer);
    free(out);
}

/* With labels and without; *size: without. */
static void same(const uint8_t *in, size_t n, struct made *size)
{
    same_as(1, in, n, NULL);
    same_as(0, in, n, size);
}

/* A string behind what there is. */
static void add(struct sk_buf *t, const char *s)
{
    sk_buf_put(t, s, strlen(s));
}

/* ---- kinds of text ---- */

static void fixed_columns(struct sk_buf *t)
{
    for (int i = 0; i < 3000; i++)
        sk_buf_printf(t, "%d %d %.6f %.6f %.6f\n", i + 1, i % 3 + 1, 10 * uniform(), 5 - 10 * uniform(), sin(i * 0.01));
}

static void short_floats(struct sk_buf *t)
{
    for (int i = 0; i < 3000; i++)
        sk_buf_printf(t, "(%g %g %g)\n", uniform(), 1e-7 * (uniform() - 0.5), 1e9 * uniform() * (i % 50 == 0));
}

static void exponents(struct sk_buf *t)
{
    static const char *const forms[] = {"%.7e", "%.15E", "% .3e", "%+.4e", "%.0e"};
    for (int i = 0; i < 3000; i++) {
        char s[64];
        snprintf(s, sizeof s, forms[i % 5], ldexp(uniform() - 0.5, (int)(next() % 200) - 100));
        for (char *p = s; *p && i % 7 == 0; p++)
            *p = *p == 'e' ? 'D' : *p;
        sk_buf_printf(t, "%s\t", s);
        if (i % 6 == 5)
            add(t, "\r\n");
    }
}

static void odd_numbers(struct sk_buf *t)
{
    static const char *const all[] = {
        "-0",   "+0",     "-0.000", "+0.0e-00", "nan",   "-inf",  "NaN",   "Infinity", "007",    "-000.50", "00",       "1e400",    "5.",  ".5",
        "-.5",  "+.5e+3", "1.e5",   "1e",       "1e+",   "--1",   "+-1",   "1.2.3",    "1..2",   "...",     "-",        "+",        ".",   "1e12345",
        "0x1f", "1,5",    "1'000",  "a1",       "a_1b2", "1a",    "1e5e5", "12e-0003", "9d99",   "1D+0",    "-1.5E-300", "000000000000000000000001",
        "999999999999999999", "1000000000000000000", "99999999999999999999", "0.000000000000000000000000000000001", "\xc3\xa4 3 \xe2\x82\xac" "4",
        "1.0e-05", "1.0e-5", "2026-11-23T01:15:00.000Z", "10%", "#3", "\\1", "1/2", "(1)", "[1,2]", "1;2"};
    for (int i = 0; i < 4000; i++) {
        add(t, all[next() % (sizeof all / sizeof *all)]);
        add(t, i % 11 == 10 ? "\n" : i % 5 ? " " : "   ");
    }
}

static void ragged(struct sk_buf *t)
{
    for (int i = 0; i < 2000; i++) {
        int n = (int)(next() % 40);
        for (int k = 0; k < n; k++)
            sk_buf_printf(t, next() % 3 ? "%*.*f" : "%*.*g ", (int)(next() % 12), (int)(next() % 9), uniform() * 1000 - 500);
        add(t, next() % 2 ? "\n" : "\r\n");
    }
    add(t, "no end 12");
}

static void aligned_columns(struct sk_buf *t)
{
    for (int i = 0; i < 4000; i++)
        sk_buf_printf(t, "%5d%-5s%5s%5d%8.3f%8.3f%8.3f\n", i / 3 + 1, "SOL", i % 3 ? "HW1" : "OW", i % 100000, 3 * uniform(), -3 * uniform(), 300 * uniform());
}

static void binary_between(struct sk_buf *t)
{
    for (int i = 0; i < 20000; i++) {
        uint8_t b = (uint8_t)(next() % (i % 3 ? 256 : 8));
        sk_buf_put_u8(t, b);
        if (next() % 20 == 0)
            sk_buf_printf(t, "%d ", (int)next() - (1 << 23));
    }
}

static void many_digits(struct sk_buf *t)
{
    for (int i = 0; i < 50; i++) {
        for (int k = 0; k < 400; k++)
            sk_buf_put_u8(t, (uint8_t)('0' + next() % 10));
        add(t, i % 2 ? "." : "\n");
    }
}

static void separators(struct sk_buf *t)
{
    for (int i = 0; i < 5000; i++)
        sk_buf_put_u8(t, (uint8_t)(" ,;\t\n-+.\r"[next() % 9]));
}

static void one_line(struct sk_buf *t)
{
    for (int i = 0; i < 700000; i++)
        sk_buf_printf(t, "%d,", (int)(next() % 100000));
}

static void many_shapes(struct sk_buf *t)
{
    for (int i = 0; i < 2000; i++)
        sk_buf_printf(t, "%.*f %.*e\n", (int)(next() % 70), uniform(), (int)(next() % 20), ldexp(uniform(), (int)(next() % 2000) - 1000));
}

/* Pieces of many small numbers, and lines of all lengths. */
static void small_numbers(struct sk_buf *t)
{
    for (int i = 0; i < 400000; i++)
        sk_buf_printf(t, next() % 100 ? "%d " : "%d\n", (int)(next() % 10));
}

static void trajectory(struct sk_buf *t)
{
    double x[200];
    for (int i = 0; i < 200; i++)
        x[i] = 100 * uniform();
    for (int frame = 0; frame < 40; frame++) {
        sk_buf_printf(t, "ITEM: TIMESTEP\n%d\nITEM: ATOMS\n", frame * 100);
        for (int i = 0; i < 200; i++)
            sk_buf_printf(t, "%d %.5f\n", i + 1, x[i] += 0.0004 * (uniform() - 0.5));
    }
}

/* What a solver says of its steps. */
static void log_of_steps(struct sk_buf *t)
{
    double heat = 300;
    for (int i = 0; i < 2000; i++) {
        sk_buf_printf(t, "Step %d, dt = %.3g s\n", i, 1e-3 * (1 + i / 100));
        for (int d = 0; d < 3; d++)
            sk_buf_printf(t, "  residual of u%c:   %.5e -> %.5e, %d turns\n", 'x' + d, 1e-2 * uniform(), 1e-7 * uniform(), 3 + (int)(next() % 3));
        heat += uniform() - 0.5;
        sk_buf_printf(t, "mean temperature %.4f K, at most %.4f K\n\n", heat, heat + 20 * uniform());
    }
}

static void many_labels(struct sk_buf *t)
{
    for (int i = 0; i < 3000; i++)
        sk_buf_printf(t, "%*sn%c%c\1%*s%d %d\n", (int)(next() % 3), "", 'a' + (int)(next() % 8), 'a' + (int)(next() % 8), (int)(next() % 4), "",
                      (int)(next() % 1000), i);
}

/* What goes on after 1024 numbers, of which the last ones are not meant. */
static void long_lines(struct sk_buf *t)
{
    for (int line = 0; line < 6; line++) {
        sk_buf_printf(t, "line%c", 'a' + line);
        for (int i = 0; i < 2500; i++)
            sk_buf_printf(t, " %.*fe%d", (int)(next() % 60), uniform(), (int)(next() % 300));
        add(t, "\n");
    }
}

/* layout and numbers together, as a share of the text: at most this, with the layout not compressed yet; 0: it is no matter. */
static const struct {
    const char *name;
    void (*make)(struct sk_buf *t);
    double most;
} kinds[] = {
    {"fixed columns", fixed_columns, 0.55},
    {"%g", short_floats, 0.85},
    {"exponents", exponents, 0},
    {"odd numbers", odd_numbers, 0},
    {"ragged lines", ragged, 0},
    {"aligned columns", aligned_columns, 0.75},
    {"binary between", binary_between, 0},
    {"many digits", many_digits, 0},
    {"separators", separators, 0},
    {"one line", one_line, 0.75},
    {"many shapes", many_shapes, 0},
    {"small numbers", small_numbers, 0.8},
    {"trajectory", trajectory, 0.32},
    {"log", log_of_steps, 0},
    {"many labels", many_labels, 0},
    {"long lines", long_lines, 0},
};

static void test_kinds(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct sk_buf t = {0};
        struct made size;
        seed = 7;
        kinds[k].make(&t);
        assert_true(sk_buf_ok(&t));
        same(t.data, t.len, &size);
        if (kinds[k].most > 0 && (double)(size.layout + size.numbers) > kinds[k].most * (double)t.len)
            fail_msg("%s: %zu and %zu of %zu", kinds[k].name, size.layout, size.numbers, t.len);
        for (int i = 0; i < 20; i++) { /* and any part of it */
            size_t from = next() % t.len, n = next() % 3000;
            n = n < t.len - from ? n : t.len - from;
            same(t.data + from, n, NULL);
        }
        sk_buf_free(&t);
    }
}

static void test_short(void **state)
{
    static const char *const all[] = {"", "1", "-", "\n", ".", "+", " ", "\0", "\1", "e", "1\n", "1 2", "-1", "1.", "1e5", "\0\1\2\3\4", "0", "   1\n   1\n"};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        same((const uint8_t *)all[i], i == 7 ? 1 : i == 15 ? 5 : strlen(all[i]), NULL);
    for (int c = 0; c < 256; c++) {
        uint8_t b[3] = {(uint8_t)c, '7', (uint8_t)c};
        same(b, 1, NULL);
        same(b, 3, NULL);
    }
}

/* Every string of four of these characters. */
static void test_all_short_texts(void **state)
{
    static const char of[] = "01.-+e 9\nx";
    enum { N = sizeof of - 1 };
    struct sk_buf t = {0};
    (void)state;
    for (int i = 0; i < N * N * N * N; i++) {
        int v = i;
        uint8_t s[4];
        for (int k = 0; k < 4; k++, v /= N)
            s[k] = (uint8_t)of[v % N];
        struct sk_number x;
        uint8_t printed[SK_NUMBER_BYTES];
        size_t n;
        if (sk_number_parse(s, 4, &x, &n)) {
            assert_true(n <= 4 && sk_shape_is(x.shape));
            assert_int_equal(sk_number_print(&x, printed), n);
            assert_memory_equal(printed, s, n);
        } else {
            assert_in_range(n, 1, 4);
        }
        sk_buf_put(&t, s, 4);
    }
    same(t.data, t.len, NULL);
    sk_buf_free(&t);
}

/* Lines of several kinds with as many numbers have columns of their own. */
static void test_labels(void **state)
{
    struct sk_buf t = {0};
    struct made plain, labelled;
    (void)state;
    seed = 11;
    log_of_steps(&t);
    assert_true(sk_text_has_labels(t.data, t.len) && sk_text_likely(t.data, t.len));
    same_as(0, t.data, t.len, &plain);
    same_as(1, t.data, t.len, &labelled);
    assert_true(labelled.numbers < plain.numbers - plain.numbers / 12);
    t.len = 0;
    fixed_columns(&t);
    assert_false(sk_text_has_labels(t.data, t.len));
    sk_buf_free(&t);
}

/* Whatever is cut off or changed: an error, or any text, and nothing beside it. */
static void damage(void (*make)(struct sk_buf *t), int labelled)
{
    struct sk_packer packer = {0};
    struct sk_text_packing how = {&packer, sk_backend_here(SK_BACKEND_ZSTD) < 0 ? SK_BACKEND_STORE : SK_BACKEND_ZSTD, 3};
    struct sk_buf t = {0}, layout = {0}, numbers = {0};
    int told = 0;
    seed = 3;
    make(&t);
    t.len = 8000;
    sk_text_labelled(work, labelled);
    assert_int_equal(sk_text_put(work, &how, t.data, t.len, &layout, &numbers, NULL), 0);
    uint8_t *out = malloc(t.len + 1), *l = malloc(layout.len), *c = calloc(1, numbers.len + SK_BITS_SLACK);
    assert_true(out && l && c);
    for (int i = 0; i < 4000; i++) {
        size_t n = i < (int)numbers.len ? (size_t)i : numbers.len;
        memcpy(l, layout.data, layout.len);
        memcpy(c, numbers.data, numbers.len);
        if (i % 2)
            l[next() % layout.len] = (uint8_t)(next() % 12);
        else
            c[next() % numbers.len] ^= (uint8_t)(1 << next() % 8);
        struct sk_rd rd = sk_rd_init(c, i % 3 ? numbers.len : n);
        out[t.len] = 0x5a;
        int rc = sk_text_get(work, &packer, l, layout.len, &rd, out, t.len, NULL);
        assert_true(rc == 0 || rc == SAIKAI_EDAMAGED);
        assert_int_equal(out[t.len], 0x5a);
        told += rc != 0;
    }
    assert_true(told > 1000);
    free(out);
    free(l);
    free(c);
    sk_buf_free(&t);
    sk_buf_free(&layout);
    sk_buf_free(&numbers);
    sk_packer_free(&packer);
}

static void test_damage(void **state)
{
    (void)state;
    damage(fixed_columns, 0);
    damage(log_of_steps, 1);
}

static void test_likely(void **state)
{
    uint8_t bytes[4096];
    (void)state;
    struct sk_buf t = {0};
    seed = 9;
    fixed_columns(&t);
    assert_true(sk_text_likely(t.data, t.len));
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)next();
    assert_false(sk_text_likely(bytes, sizeof bytes));
    memset(bytes, 'a', sizeof bytes);
    assert_false(sk_text_likely(bytes, sizeof bytes));
    /* base64 after a label, on one line and on several: digits stand alone */
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)digits[next() % 64];
    assert_false(sk_text_likely(bytes, sizeof bytes));
    for (size_t i = 76; i < sizeof bytes; i += 77)
        bytes[i] = '\n';
    assert_false(sk_text_likely(bytes, sizeof bytes));
    /* whole numbers of one digit are very many */
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i % 3 == 1 ? (uint8_t)('0' + next() % 10) : i % 60 == 59 ? '\n' : ' ';
    assert_true(sk_text_likely(bytes, sizeof bytes));
    sk_buf_free(&t);
}

/* ---- after another text ---- */

/* There and back after another one, of which the beginning is thought to be at `at`; what is left. */
static size_t after(int labelled, const struct sk_buf *in, const struct sk_buf *before, size_t at)
{
    struct sk_packer packer = {0};
    struct sk_text_packing how = {&packer, SK_BACKEND_STORE, 0};
    struct sk_buf layout = {0}, numbers = {0};
    uint8_t *out = malloc(in->len + 1);
    assert_non_null(out);
    sk_text_labelled(work, labelled);
    sk_text_after(work, before->data, before->len, at);
    assert_int_equal(sk_text_put(work, &how, in->data, in->len, &layout, &numbers, NULL), 0);
    size_t len = numbers.len;
    sk_buf_extend(&numbers, SK_BITS_SLACK);
    assert_true(sk_buf_ok(&numbers));
    struct sk_rd rd = sk_rd_init(numbers.data, len);
    sk_text_after(work, before->data, before->len, 0);
    assert_int_equal(sk_text_get(work, &packer, layout.data, layout.len, &rd, out, in->len, NULL), 0);
    assert_int_equal(sk_rd_left(&rd), 0);
    assert_memory_equal(in->data, out, in->len);
    for (size_t k = 0; k < len; k += len / 37 + 1) { /* damage is told, or other numbers come */
        numbers.data[k] ^= (uint8_t)(1 << k % 8);
        rd = sk_rd_init(numbers.data, len);
        sk_text_after(work, before->data, k % 2 ? before->len : before->len / 5, 0);
        int rc = sk_text_get(work, &packer, layout.data, layout.len, &rd, out, in->len, NULL);
        assert_true(!rc || rc == SAIKAI_EDAMAGED || rc == SAIKAI_ENOMEM);
        numbers.data[k] ^= (uint8_t)(1 << k % 8);
    }
    sk_text_alone(work);
    sk_buf_free(&layout);
    sk_buf_free(&numbers);
    sk_packer_free(&packer);
    free(out);
    return len;
}

/* Particles in no order, that move a little from set to set; `gone` of the first ones are no more. */
static void particles(struct sk_buf *t, int set, int gone, int count)
{
    seed = 5;
    sk_buf_printf(t, "ITEM: ATOMS %d\n", count - gone);
    for (int i = 0; i < count; i++) {
        double x = 100 * uniform(), v = uniform() - 0.5, y = 1e3 * uniform();
        if (i >= gone)
            sk_buf_printf(t, "%d %.6f %.4e %.5f\n", i, x + 0.001 * v * set, v * (1 + 1e-3 * set), y + 0.25 * set);
    }
}

static void test_after(void **state)
{
    (void)state;
    struct sk_buf sets[3] = {{0}}, none = {0};
    particles(&sets[0], 0, 0, 20000);
    particles(&sets[1], 1, 0, 20000);
    particles(&sets[2], 1, 40, 20000);
    struct made alone;
    same_as(0, sets[1].data, sets[1].len, &alone);
    for (int labelled = 0; labelled < 2; labelled++) {
        size_t with = after(labelled, &sets[1], &sets[0], 0), fewer = after(labelled, &sets[2], &sets[0], 0);
        if (with > alone.numbers / 2 || fewer > alone.numbers / 2)
            fail_msg("%zu bytes after the same particles, %zu after more, %zu alone", with, fewer, alone.numbers);
        assert_true(after(labelled, &sets[0], &sets[0], 0) < alone.numbers / 50); /* nothing changed */
        after(labelled, &sets[1], &sets[0], sets[0].len / 2);                     /* it is not where it is thought to be */
        after(labelled, &sets[1], &sets[0], sets[0].len);
        after(labelled, &sets[1], &none, 0);
    }
    /* more than one piece */
    for (int i = 0; i < 3; i++)
        sets[i].len = 0;
    particles(&sets[0], 0, 0, 100000);
    particles(&sets[1], 1, 0, 100000);
    same_as(0, sets[1].data, sets[1].len, &alone);
    size_t with = after(0, &sets[1], &sets[0], 0);
    if (with > alone.numbers / 2)
        fail_msg("%zu bytes after the same pieces, %zu alone", with, alone.numbers);
    for (int i = 0; i < 3; i++)
        sk_buf_free(&sets[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short),  cmocka_unit_test(test_all_short_texts), cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_damage), cmocka_unit_test(test_likely), cmocka_unit_test(test_labels), cmocka_unit_test(test_after),
    };
    work = sk_text_new();
    int rc = work ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
    sk_text_free(work);
    return rc;
}
