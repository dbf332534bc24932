/* Planes come back as they were, and the loops for each instruction set give the same numbers. */
#include "codec/entropy/plane_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* A number of any size; mostly zeros and small ones when `sparse`. */
static int32_t number(int sparse)
{
    unsigned bits = (unsigned)(next() % 30);
    if (sparse && next() % 8)
        return 0;
    int32_t v = (int32_t)(next() & ((1u << (sparse ? bits % 6 : bits)) - 1));
    return next() & 1 ? v : -v;
}

static void need_avx2(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return;
#endif
    skip();
}

static void test_kernels(void **unused)
{
    enum { MOST = 70, ROOM = MOST + 64 };
    const struct plane_kernel *k[2] = {&sk_plane_kernel_plain, &sk_plane_kernel_avx2};
    need_avx2();
    for (int round = 0; round < 4000; round++) {
        int32_t q[ROOM] = {0}, back[2][ROOM];
        uint8_t level[2][ROOM] = {{0}}, token[2][ROOM] = {{0}}, large[2][ROOM] = {{0}};
        uint8_t near[3][ROOM], mask[ROOM];
        uint16_t symbol[2][ROOM] = {{0}}, sum[2][ROOM] = {{0}};
        size_t n = 1 + next() % 64, found[2];
        for (size_t i = 0; i < ROOM; i++) {
            q[i] = number(round % 3 == 0);
            mask[i] = next() % 4 == 0;
            for (int s = 0; s < 3; s++)
                near[s][i] = (uint8_t)(next() % (SK_LEVEL_MAX + 1));
        }
        struct plane_row row = {.n = 3,
                                .level = {near[0], near[1] + 1, near[2]},
                                .weight = {3, 1, 8},
                                .mask = round & 1 ? mask : NULL,
                                .first = FINE * (unsigned)(round % SK_PLANE_SETS)};
        for (int v = 0; v < 2; v++) {
            memset(back[v], 0x77, sizeof back[v]);
            k[v]->tokens(q, n, level[v], token[v]);
            k[v]->symbols(&row, 3, n, token[v], symbol[v]);
            k[v]->sums(&row, 3, n, sum[v]);
            found[v] = k[v]->values(token[v], n, back[v], level[v], large[v]);
            assert_int_equal(back[v][n], 0x77777777);
        }
        assert_memory_equal(level[0], level[1], sizeof level[0]);
        assert_memory_equal(token[0], token[1], sizeof token[0]);
        assert_memory_equal(symbol[0], symbol[1], n * sizeof **symbol);
        assert_memory_equal(sum[0], sum[1], n * sizeof **sum);
        assert_int_equal(found[0], found[1]);
        assert_memory_equal(large[0], large[1], found[0]);
        for (size_t i = 0, j = 0; i < n; i++) {
            assert_int_equal(token[0][i], sk_token_of(q[i]));
            assert_int_equal(level[0][i], sk_level_of(q[i]));
            if (token[0][i] >= SK_TOKEN_SMALL)
                assert_int_equal(large[0][j++], i);
            else
                assert_true(back[0][i] == q[i] && back[1][i] == q[i]);
        }
    }
}

/* Random geometry with room around; what is outside of the plane stays as it is. */
static struct sk_plane random_plane(uint8_t *mask)
{
    static const size_t most[4] = {3, 9, 20, 150};
    struct sk_plane p = {.nb = 1 + next() % most[0],
                         .nz = 1 + next() % most[1],
                         .ny = 1 + next() % most[2],
                         .width = 1 + next() % most[3]};
    if (next() % 4 == 0)
        p.nb = p.nz = p.ny = 1, p.width = 1 + next() % 900;
    p.sy = p.width + 4;
    p.sz = p.sy * (p.ny + 2);
    p.sb = p.sz * (p.nz + 1);
    p.origin = p.sz + 2 * p.sy + 2;
    p.set = (int)(next() % SK_PLANE_SETS);
    p.weights = (struct sk_plane_weights){3, 0, 3, 0, 1, 2};
    if (next() % 2)
        p.weights = (struct sk_plane_weights){4, 2, 3, 1, 2, 4};
    p.mask = next() % 3 ? NULL : mask;
    return p;
}

static void test_round_trip(void **unused)
{
    enum { PLANES = 3, ROOM = 400000 };
    int32_t *q = calloc(PLANES * ROOM, sizeof *q), *back = calloc(ROOM, sizeof *back);
    uint8_t *level = calloc(ROOM, 1), *mask = calloc(ROOM, 1);
    assert_true(q && back && level && mask);
    for (int round = 0; round < 200; round++) {
        struct sk_plane p[PLANES];
        struct sk_plane_writer *w = sk_plane_writer_new(100);
        struct sk_plane_reader *r;
        struct sk_buf out = {0};
        assert_non_null(w);
        for (size_t i = 0; i < ROOM; i++)
            mask[i] = next() % 5 == 0;
        if (round & 1)
            w->kernel = &sk_plane_kernel_plain;
        for (int k = 0; k < PLANES; k++) {
            p[k] = random_plane(mask);
            size_t extent = p[k].origin + p[k].nb * p[k].sb;
            for (size_t i = 0; i < extent; i++)
                q[(size_t)k * ROOM + i] =
                    p[k].mask && mask[i] ? 0 : number(round % 3 != 0 || k == 1);
            memset(level, 0, ROOM);
            sk_plane_write(w, &p[k], q + (size_t)k * ROOM, level);
        }
        assert_true(sk_plane_writer_bits(w) >= 0);
        assert_int_equal(sk_plane_writer_finish(w, &out, NULL), 0);
        sk_plane_writer_free(w);
        assert_int_equal(sk_plane_reader_new(&r, out.data, out.len, NULL), 0);
        for (int k = 0; k < PLANES; k++) {
            memset(back, 0x55, ROOM * sizeof *back);
            memset(level, 0, ROOM);
            assert_int_equal(sk_plane_read(r, &p[k], back, level, NULL), 0);
            for (size_t row = 0; row < p[k].nb * p[k].nz * p[k].ny; row++) {
                size_t y = row % p[k].ny, z = row / p[k].ny % p[k].nz, b = row / p[k].ny / p[k].nz;
                size_t at = p[k].origin + b * p[k].sb + z * p[k].sz + y * p[k].sy;
                assert_memory_equal(back + at, q + (size_t)k * ROOM + at,
                                    p[k].width * sizeof *back);
                assert_int_equal(back[at + p[k].width], 0x55555555);
            }
        }
        assert_int_equal(sk_plane_reader_finish(r, NULL), 0);
        sk_plane_reader_free(r);
        sk_buf_free(&out);
    }
    free(q);
    free(back);
    free(level);
    free(mask);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
