/* Numbers of one kind after those of a part below: pieces that go on there as they do here are coded as one, whatever they are cut into, and come back
 * wherever they were. */
#include "archive/coding/block.h"

#include "codec/residual/residual.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { VALUES = 1 << 16, MOST_PIECES = 64 };
static uint32_t seed = 7;
static double uneven(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / (1 << 24) - 0.5;
}

static void put_value(void *to, size_t i, int type, double x)
{
    float y = (float)x;
    int32_t z = (int32_t)(x * 1e6);
    if (type == SAIKAI_F64)
        memcpy((uint8_t *)to + 8 * i, &x, 8);
    else
        memcpy((uint8_t *)to + 4 * i, type == SAIKAI_F32 ? (void *)&y : (void *)&z, 4);
}

/* A rough field, and how it moved on: by something smooth. Of each of MOST_PIECES pieces of its first half so many values stood before it that are gone. */
static void make(void *now, void *then, int type, size_t gone)
{
    for (size_t i = 0; i < VALUES; i++) {
        double x = uneven();
        put_value(then, i, type, x);
        put_value(now, i, type, x + 0.05 * sin(1e-3 * (double)i) + 1e-5 * uneven());
    }
    size_t width = type == SAIKAI_F64 ? 8 : 4, piece = VALUES / 2 / MOST_PIECES;
    for (size_t k = 0; k < MOST_PIECES; k++)
        memmove((uint8_t *)now + width * k * piece, (uint8_t *)now + width * k * (piece + gone), width * piece);
}

/* What a part takes that is cut into so many pieces, each of them `apart` bytes further behind the one before than it is here. */
static size_t left(uint8_t *now, uint8_t *then, int type, size_t pieces, uint64_t apart)
{
    struct sk_ska_segment s[MOST_PIECES] = {{0}};
    uint64_t places[MOST_PIECES];
    size_t width = type == SAIKAI_F64 ? 8 : 4, bytes = VALUES * width / 2;
    struct sk_part p = {.type = type, .segments = s, .count = pieces, .raw = now, .size_bytes = bytes, .native = 1},
                   below = {.type = type, .raw = then, .size_bytes = VALUES * width, .native = 1};
    const struct sk_part *const previous[] = {&below};
    const struct sk_recipe r = {.form = SK_FORM_ROWS_AFTER, .backend = SK_BACKEND_ZSTD, .level = 5};
    struct sk_coder c = {.previous = previous, .places = places};
    struct sk_buf out = {0};
    struct saikai_error err = {0};
    uint8_t *back = malloc(bytes);
    for (size_t k = 0; k < pieces; k++) {
        s[k].box = (struct sk_stencil_box){1, 1, VALUES / 2 / pieces};
        places[k] = k * (bytes / pieces + apart);
    }
    if (sk_block_encode(&c, &p, 1, &r, &out, &err))
        fail_msg("%s", err.text);
    size_t n = out.len;
    assert_true(out.data[8] == SK_FORM_ROWS_AFTER || apart);
    sk_buf_put(&out, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
    p.raw = back;
    c.previous = previous;
    assert_int_equal(sk_block_decode(&c, out.data, n, &p, 1, &err), 0);
    assert_memory_equal(back, now, bytes);
    free(back);
    sk_buf_free(&out);
    sk_coder_free(&c);
    return n;
}

static void pieces_go_on(void **state)
{
    (void)state;
    static const int types[] = {SAIKAI_F64, SAIKAI_F32, SAIKAI_I32};
    uint8_t *now = malloc(8 * VALUES), *then = malloc(8 * VALUES);
    assert_true(now && then);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        make(now, then, types[k], 0);
        size_t one = left(now, then, types[k], 1, 0), many = left(now, then, types[k], MOST_PIECES, 0), elsewhere = left(now, then, types[k], MOST_PIECES, 64);
        if (one > VALUES / 2 * (types[k] == SAIKAI_F64 ? 6u : 3u)) /* rough as they are, they take nearly all of their bytes alone */
            fail_msg("type %d: %zu bytes", types[k], one);
        if (many > one + one / 200)
            fail_msg("type %d: %zu bytes in one piece, %zu in many", types[k], one, many);
        assert_true(elsewhere > one); /* each where it says that it was, which is wrong */
        make(now, then, types[k], 64 / (types[k] == SAIKAI_F64 ? 8 : 4));
        size_t moved = left(now, then, types[k], MOST_PIECES, 64);
        if (moved > elsewhere / 10 * 9)
            fail_msg("type %d: %zu bytes of pieces that have moved, %zu of such that are not there", types[k], moved, elsewhere);
    }
    free(now);
    free(then);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_go_on)};
    return sk_backend_here(SK_BACKEND_ZSTD) < 0 ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
