/* Classes in 32 lanes: every form reads the same from the same bytes, and nothing beyond them, whatever they are. */
#include "codec/lossless/predict/classes/wide.h"

#include "codec/samples.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

struct coded {
    struct sk_class_plane p;
    uint8_t *c;
    struct sk_buf b;
};

/* Kinds: one class; two, hardly ever the second; what the row before tells; all classes alike; a slow walk. */
enum { KINDS = 5 };

static void make(struct coded *d, size_t n, size_t row, size_t plane, int kind)
{
    uint64_t s = 7 + n + row;
    int walk = 60;
    *d = (struct coded){.p = {.n = n, .wide = 1}, .c = malloc(n)};
    for (size_t i = 0; i < n; i++) {
        uint64_t r = sk_sample_next(&s) >> 20;
        walk += (int)(r & 7) - (walk > 60 ? 4 : 3);
        int v = kind == 0 ? 9 : kind == 1 ? (r & 1023) == 0 : kind == 2 ? (int)(i % (row ? row : 50) * 5 % 100 + (r & 3)) : kind == 3 ? (int)(r & 127) : walk;
        d->c[i] = (uint8_t)(v < 0 ? 0 : v > 127 ? 127 : v);
    }
    sk_class_lags(&d->p, row, plane);
    sk_classes_encode(&d->p, d->c, &d->b);
    assert_true(sk_buf_ok(&d->b));
}

static void drop(struct coded *d)
{
    sk_buf_free(&d->b);
    free(d->c);
}

/* What each form says of n bytes, in a place of just that size; all must agree. */
static int read_by_all(const struct coded *d, const uint8_t *data, size_t n, size_t *left)
{
    int rc = 0;
    uint8_t *first = NULL, *bytes = malloc(n ? n : 1);
    memcpy(bytes, data, n);
    for (int level = 0; level < 2; level++) {
        wide_steps *steps = sk_wide_steps_at(level);
        if (!steps)
            continue;
        uint8_t *c = malloc(d->p.n);
        struct sk_rd r = sk_rd_init(bytes, n);
        memset(c, 0xee, d->p.n);
        int now = sk_wide_decode(&d->p, &r, c, steps);
        *left = sk_rd_left(&r);
        if (!first) {
            first = c;
            rc = now;
            continue;
        }
        assert_int_equal(now, rc);
        assert_memory_equal(c, first, d->p.n);
        free(c);
    }
    if (!rc && n == d->b.len && !memcmp(data, d->b.data, n))
        assert_memory_equal(first, d->c, d->p.n);
    free(first);
    free(bytes);
    return rc;
}

static void every_form_reads_the_same(void **state)
{
    static const size_t sizes[] = {WIDE_LEAST, WIDE_LEAST + 1, 2111, 4096, 5000, 65536 + 31, 70001};
    static const size_t rows[][2] = {{0, 0}, {3, 9}, {17, 51}, {17, 680}, {33, 700}, {64, 640}, {65, 2600}, {100, 300}, {600, 1200}, {2000, 20000}};
    struct coded d;
    size_t left;
    (void)state;
    for (size_t z = 0; z < sizeof sizes / sizeof *sizes; z++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            for (int kind = 0; kind < KINDS; kind++) {
                make(&d, sizes[z], rows[k][0], rows[k][1], kind);
                assert_int_equal(read_by_all(&d, d.b.data, d.b.len, &left), 0);
                assert_int_equal(left, 0);
                drop(&d);
            }
}

static void what_is_cut_or_changed_is_damaged_or_other_classes(void **state)
{
    struct coded d;
    size_t left, noticed = 0, tries = 0;
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        make(&d, 3000, 17, 51, kind);
        for (size_t n = 0; n < d.b.len; n += 1 + n / 7)
            assert_int_equal(read_by_all(&d, d.b.data, n, &left), -1);
        uint64_t s = 5;
        for (int k = 0; k < 300; k++) {
            uint64_t r = sk_sample_next(&s);
            size_t at = k < 200 ? (size_t)k : (size_t)(r >> 16) % d.b.len;
            if (at >= d.b.len)
                continue;
            d.b.data[at] ^= (uint8_t)(1u << (r & 7));
            noticed += read_by_all(&d, d.b.data, d.b.len, &left) != 0;
            tries++;
            d.b.data[at] ^= (uint8_t)(1u << (r & 7));
        }
        assert_int_equal(read_by_all(&d, d.b.data, d.b.len, &left), 0);
        drop(&d);
    }
    assert_true(noticed > tries / 2);
}

/* More or fewer words than the classes took. */
static void words_too_many_or_too_few_are_damage(void **state)
{
    struct coded d;
    size_t left;
    (void)state;
    make(&d, 4096, 0, 0, 3);
    struct sk_rd r = sk_rd_init(d.b.data, d.b.len);
    struct class_model m;
    sk_rd_u8(&r);
    assert_int_equal(sk_class_model_get(&m, &r), 0);
    uint8_t *at = d.b.data + (d.b.len - sk_rd_left(&r));
    uint32_t words;
    memcpy(&words, at, 4);
    for (uint32_t less = 1; less < 70; less += 3) {
        uint32_t fewer = words - less;
        memcpy(at, &fewer, 4);
        assert_int_equal(read_by_all(&d, d.b.data, d.b.len - 2 * less, &left), -1);
    }
    uint32_t more = words + 1;
    memcpy(at, &more, 4);
    sk_buf_put_u16(&d.b, 0);
    assert_int_equal(read_by_all(&d, d.b.data, d.b.len, &left), -1);
    drop(&d);
}

/* What contexts look at is there as it is with four runs: the bytes are as many, but for the states. */
static void so_many_lanes_cost_little(void **state)
{
    struct coded d;
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        make(&d, 131072, 64, 4096, kind);
        struct sk_class_plane four = {.n = d.p.n};
        struct sk_buf b = {0};
        sk_class_lags(&four, 64, 4096);
        sk_classes_encode(&four, d.c, &b);
        if (d.b.len > b.len + b.len / 200 + 100)
            fail_msg("kind %d: %zu bytes, of four runs %zu", kind, d.b.len, b.len);
        sk_buf_free(&b);
        drop(&d);
    }
}

/* Bytes that are written are kept: another hash is another format. */
static void the_bytes_are_those_of_the_first_version(void **state)
{
    static const uint64_t kept[KINDS] = {0xad6cf168a80061ff, 0x2349a86a4a5aa42f, 0x8c912df02a375a6c, 0xf9bdcbf9ce3f0ec1, 0x8d041922dbbf2ae2};
    struct coded d;
    int others = 0;
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        uint64_t h = 1469598103934665603u;
        make(&d, 5000, 17, 51, kind);
        for (size_t i = 0; i < d.b.len; i++)
            h = (h ^ d.b.data[i]) * 1099511628211u;
        if (h != kept[kind])
            print_error("kind %d: %#llx\n", kind, (unsigned long long)h);
        others += h != kept[kind];
        drop(&d);
    }
    assert_int_equal(others, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_reads_the_same),
        cmocka_unit_test(what_is_cut_or_changed_is_damaged_or_other_classes),
        cmocka_unit_test(words_too_many_or_too_few_are_damage),
        cmocka_unit_test(so_many_lanes_cost_little),
        cmocka_unit_test(the_bytes_are_those_of_the_first_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
