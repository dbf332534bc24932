/* Boxes: copies against a plain loop over all elements, gaps against a map of all cells. */
#include "base/box.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint32_t seed = 1;

static uint32_t below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return n ? (seed >> 8) % n : 0;
}

/* The number of an element of an array, or -1 behind the last. */
static int next(int ndims, const uint64_t *size, uint64_t *i)
{
    for (int d = ndims - 1; d >= 0; d--) {
        if (++i[d] < size[d])
            return 1;
        i[d] = 0;
    }
    return 0;
}

static uint64_t volume(int ndims, const uint64_t *size)
{
    uint64_t n = 1;
    for (int d = 0; d < ndims; d++)
        n *= size[d];
    return n;
}

/* One random box of a random array and memory with random gaps, moved in random steps of bytes. */
static void try_copy(size_t element)
{
    struct sk_box box = {.ndims = 1 + (int)below(4)};
    uint64_t dims[SAIKAI_MAX_DIMS], memory[SAIKAI_MAX_DIMS];
    ptrdiff_t stride[SAIKAI_MAX_DIMS], width = (ptrdiff_t)element;
    int gaps = (int)below(2);
    for (int d = 0; d < box.ndims; d++) {
        dims[d] = 1 + below(6);
        box.low[d] = below((uint32_t)dims[d]);
        box.size[d] = below(3) ? dims[d] - box.low[d] : below((uint32_t)(dims[d] - box.low[d]) + 1);
        memory[d] = box.size[d] + (gaps ? below(3) : 0);
    }
    for (int d = box.ndims - 1; d >= 0; d--) {
        stride[d] = width;
        width *= (ptrdiff_t)memory[d];
    }
    uint64_t n = volume(box.ndims, dims) * element, m = volume(box.ndims, memory) * element;
    uint8_t *array = malloc(n + 1), *block = malloc(m + 1), *want = malloc(m + 1),
            *back = malloc(n + 1);
    assert_true(array && block && want && back);
    for (uint64_t i = 0; i < n; i++)
        array[i] = (uint8_t)(1 + below(255));
    memset(block, 0, m);
    memset(want, 0, m);
    memset(back, 0, n);
    uint64_t i[SAIKAI_MAX_DIMS] = {0};
    if (volume(box.ndims, box.size)) {
        do {
            uint64_t from = 0, to = 0;
            for (int d = 0; d < box.ndims; d++) {
                from = from * dims[d] + box.low[d] + i[d];
                to += i[d] * (uint64_t)stride[d];
            }
            memcpy(want + to, array + from * element, element);
        } while (next(box.ndims, box.size, i));
    }
    struct sk_box_map map;
    sk_box_map(&map, &box, dims, element, block, gaps ? stride : NULL);
    if (!gaps)
        assert_true(sk_box_is_plain(&map) ||
                    memcmp(dims, box.size, sizeof *dims * (size_t)box.ndims));
    for (uint64_t at = 0, step; at < n; at += step) {
        step = 1 + below(20);
        step = step < n - at ? step : n - at;
        int wants = sk_box_wants(&map, at, step);
        uint8_t *exact = malloc(step);
        assert_non_null(exact);
        memcpy(exact, array + at, step);
        uint8_t *before = malloc(m + 1);
        assert_non_null(before);
        memcpy(before, block, m);
        sk_box_put(&map, at, exact, step);
        assert_true(wants || !memcmp(before, block, m));
        assert_true(!wants || memcmp(before, block, m)); /* no byte of the array is 0 */
        memset(exact, 0, step);
        sk_box_get(&map, at, exact, step);
        memcpy(back + at, exact, step);
        free(before);
        free(exact);
    }
    assert_memory_equal(block, want, m);
    /* taken back from memory: the box's bytes, and nothing else was touched */
    uint64_t in_box = 0;
    for (uint64_t k = 0; k < n; k++) {
        assert_true(!back[k] || back[k] == array[k]);
        in_box += back[k] != 0;
    }
    assert_int_equal(in_box, volume(box.ndims, box.size) * element);
    free(array);
    free(block);
    free(want);
    free(back);
}

static void test_copies_like_a_loop(void **state)
{
    (void)state;
    static const size_t elements[] = {1, 2, 4, 8, 16};
    for (int k = 0; k < 4000; k++)
        try_copy(elements[k % 5]);
}

static void test_slabs_are_one_run(void **state)
{
    (void)state;
    struct sk_box_map m;
    struct sk_box box = {3, {2, 0, 0}, {3, 5, 7}};
    sk_box_map(&m, &box, (uint64_t[]){9, 5, 7}, 8, NULL, NULL);
    assert_true(sk_box_is_plain(&m));
    assert_int_equal(m.rows, 1);
    assert_int_equal(m.row_bytes, 3 * 5 * 7 * 8);
    assert_int_equal(m.first, 2 * 5 * 7 * 8);
    assert_int_equal(sk_box_wants(&m, 0, 2 * 5 * 7 * 8), 0);
    assert_int_equal(sk_box_wants(&m, 0, 2 * 5 * 7 * 8 + 1), 1);
    assert_int_equal(sk_box_wants(&m, 5 * 5 * 7 * 8 - 1, 100), 1);
    assert_int_equal(sk_box_wants(&m, 5 * 5 * 7 * 8, 100), 0);
    box.low[2] = 1;
    box.size[2] = 6; /* a column is missing: rows of their own */
    sk_box_map(&m, &box, (uint64_t[]){9, 5, 7}, 8, NULL, NULL);
    assert_false(sk_box_is_plain(&m));
    assert_int_equal(m.rows, 15);
}

static void try_gap(void)
{
    struct sk_box whole = {.ndims = 1 + (int)below(3)}, box[12], gap;
    size_t count = below(12), covered = 0;
    uint8_t cell[8 * 8 * 8] = {0};
    for (int d = 0; d < whole.ndims; d++) {
        whole.low[d] = below(3);
        whole.size[d] = 1 + below(5);
    }
    for (size_t k = 0; k < count; k++) {
        box[k].ndims = whole.ndims;
        for (int d = 0; d < whole.ndims; d++) {
            box[k].low[d] = below(6);
            box[k].size[d] = below(8);
        }
    }
    uint64_t i[SAIKAI_MAX_DIMS] = {0}, n = 0;
    do {
        for (size_t k = 0; k < count && !cell[n]; k++) {
            int in = 1;
            for (int d = 0; d < whole.ndims; d++)
                in &= whole.low[d] + i[d] >= box[k].low[d] &&
                      whole.low[d] + i[d] < box[k].low[d] + box[k].size[d];
            cell[n] = (uint8_t)in;
        }
        covered += cell[n++];
    } while (next(whole.ndims, whole.size, i));
    int rc = sk_box_gap(&whole, box, count, &gap);
    assert_int_equal(rc, covered < n);
    if (!rc)
        return;
    struct sk_box inside; /* the gap is in whole, not empty, and nothing touches it */
    assert_true(sk_box_meet(&gap, &whole, &inside));
    assert_memory_equal(inside.size, gap.size, sizeof gap.size[0] * (size_t)gap.ndims);
    for (size_t k = 0; k < count; k++)
        assert_false(sk_box_meet(&gap, &box[k], &inside));
}

static void test_gaps_are_found(void **state)
{
    (void)state;
    for (int k = 0; k < 5000; k++)
        try_gap();
    struct sk_box none = {2, {3, 3}, {4, 0}}, gap;
    assert_int_equal(sk_box_gap(&none, NULL, 0, &gap), 0);
}

/* Many tiles in little time: a grid of 24³ with one missing, and without. */
static void test_many_tiles(void **state)
{
    (void)state;
    enum { N = 24 };
    struct sk_box whole = {3, {0}, {N * 5, N * 5, N * 5}}, gap = {0};
    struct sk_box *tile = calloc(N * N * N, sizeof *tile);
    assert_non_null(tile);
    size_t n = 0;
    for (uint64_t a = 0; a < N; a++)
        for (uint64_t b = 0; b < N; b++)
            for (uint64_t c = 0; c < N; c++)
                tile[n++] = (struct sk_box){3, {a * 5, b * 5, c * 5}, {5, 5, 5}};
    assert_int_equal(sk_box_gap(&whole, tile, n, &gap), 0);
    tile[N * N + 2 * N + 3].size[1] = 4;
    assert_int_equal(sk_box_gap(&whole, tile, n, &gap), 1);
    char text[64];
    assert_string_equal(sk_box_text(&gap, text, sizeof text), "[5:10, 14:15, 15:20]");
    assert_string_equal(sk_box_text(&gap, text, 8), "[5:10, ");
    free(tile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_like_a_loop),
        cmocka_unit_test(test_slabs_are_one_run),
        cmocka_unit_test(test_gaps_are_found),
        cmocka_unit_test(test_many_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
