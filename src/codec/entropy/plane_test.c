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

/* The loops that this processor has. */
static int variants(const struct plane_kernel *k[3])
{
    int n = 0;
    k[n++] = &sk_plane_kernel_plain;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        k[n++] = &sk_plane_kernel_avx2;
    if (sk_plane_kernel() == &sk_plane_kernel_avx512)
        k[n++] = &sk_plane_kernel_avx512;
#endif
    return n;
}

enum { MOST = 70, ROOM = MOST + 64 };

/* What a kernel makes of numbers and of a row. */
struct made {
    int32_t back[ROOM];
    uint8_t level[ROOM], level_back[ROOM], token[ROOM];
    uint16_t symbol[ROOM], sum[ROOM];
    uint64_t large;
};

static void make(const struct plane_kernel *k, const struct plane_row *row, const int32_t *q, size_t n, struct made *m)
{
    memset(m, 0, sizeof *m);
    memset(m->back, 0x77, sizeof m->back);
    memset(m->level_back, 0x77, sizeof m->level_back);
    k->tokens(q, n, m->level, m->token);
    k->symbols(row, 3, n, m->token, m->symbol);
    k->sums(row, 3, n, m->sum);
    m->large = k->values(m->token, n, m->back, m->level_back);
    assert_true(k->large(m->token, n) == m->large);
    assert_int_equal(m->back[n], 0x77777777);
    assert_int_equal(m->level_back[n], 0x77);
}

static void is_right(const struct made *m, const int32_t *q, size_t n)
{
    assert_memory_equal(m->level, m->level_back, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(m->token[i], sk_token_of(q[i]));
        assert_int_equal(m->level[i], sk_level_of(q[i]));
        assert_int_equal(m->large >> i & 1, m->token[i] >= SK_TOKEN_SMALL);
        assert_true(m->large >> i & 1 || m->back[i] == q[i]);
    }
    assert_true(n == 64 || !(m->large >> n));
}

static void clears(const struct plane_kernel *k, struct made *m, size_t n)
{
    memset(m->back, 0x77, sizeof m->back);
    memset(m->level_back, 0x77, sizeof m->level_back);
    k->clear(m->back, m->level_back, n);
    for (size_t i = 0; i < ROOM; i++) {
        assert_int_equal(m->back[i], i < n ? 0 : 0x77777777);
        assert_int_equal(m->level_back[i], i < n ? 0 : 0x77);
    }
}

static void test_kernels(void **unused)
{
    const struct plane_kernel *k[3];
    int n_kernels = variants(k);
    for (int round = 0; round < 4000; round++) {
        static struct made m[3];
        int32_t q[ROOM] = {0};
        uint8_t near[3][ROOM], mask[ROOM];
        size_t n = 1 + next() % 64;
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
        for (int v = 0; v < n_kernels; v++) {
            make(k[v], &row, q, n, &m[v]);
            is_right(&m[v], q, n);
            assert_memory_equal(m[v].symbol, m[0].symbol, n * sizeof *m->symbol);
            assert_memory_equal(m[v].sum, m[0].sum, n * sizeof *m->sum);
            clears(k[v], &m[v], n);
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

static size_t row_at(const struct sk_plane *p, size_t row)
{
    size_t y = row % p->ny, z = row / p->ny % p->nz, b = row / p->ny / p->nz;
    return p->origin + b * p->sb + z * p->sz + y * p->sy;
}

/* Read a plane, onto zeros or onto anything, and hold it against q. */
static void read_back(struct sk_plane_reader *r, const struct sk_plane *p, int onto_zeros, const int32_t *q, int32_t *back, uint8_t *level)
{
    size_t rows = p->nb * p->nz * p->ny;
    int any = 0;
    for (size_t row = 0; onto_zeros && row < rows; row++)
        memset(back + row_at(p, row), 0, p->width * sizeof *back);
    assert_int_equal((onto_zeros ? sk_plane_read_onto_zeros : sk_plane_read)(r, p, back, level, NULL), 0);
    for (size_t row = 0; row < rows; row++) {
        size_t at = row_at(p, row);
        assert_memory_equal(back + at, q + at, p->width * sizeof *back);
        assert_int_equal(back[at + p->width], 0x55555555);
        for (size_t i = 0; i < p->width; i++) {
            assert_int_equal(level[at + i], sk_level_of(q[at + i]));
            any |= q[at + i];
        }
    }
    assert_int_equal(sk_plane_reader_busy(r) > 0, any != 0);
    assert_true(sk_plane_reader_busy(r) <= 1);
}

static void test_round_trip(void **unused)
{
    enum { PLANES = 3, EXTENT = 400000 };
    int32_t *q = calloc(PLANES * EXTENT, sizeof *q), *back = calloc(EXTENT, sizeof *back);
    uint8_t *level = calloc(EXTENT, 1), *mask = calloc(EXTENT, 1);
    assert_true(q && back && level && mask);
    for (int round = 0; round < 200; round++) {
        struct sk_plane p[PLANES];
        struct sk_plane_writer *w = sk_plane_writer_new(100);
        struct sk_plane_reader *r;
        struct sk_buf out = {0};
        assert_non_null(w);
        for (size_t i = 0; i < EXTENT; i++)
            mask[i] = next() % 5 == 0;
        if (round & 1)
            w->kernel = &sk_plane_kernel_plain;
        for (int k = 0; k < PLANES; k++) {
            p[k] = random_plane(mask);
            size_t extent = p[k].origin + p[k].nb * p[k].sb;
            for (size_t i = 0; i < extent; i++)
                q[(size_t)k * EXTENT + i] =
                    (p[k].mask && mask[i]) || (round % 5 == k && (k == 1 || i % 3000 > 2)) ? 0 : number(round % 3 != 0 || k == 1);
            memset(level, 0, EXTENT);
            sk_plane_write(w, &p[k], q + (size_t)k * EXTENT, level);
        }
        assert_true(sk_plane_writer_bits(w) >= 0);
        assert_int_equal(sk_plane_writer_finish(w, &out, NULL), 0);
        sk_plane_writer_free(w);
        assert_int_equal(sk_plane_reader_new(&r, out.data, out.len, NULL), 0);
        for (int k = 0; k < PLANES; k++) {
            memset(back, 0x55, EXTENT * sizeof *back);
            memset(level, 0, EXTENT);
            read_back(r, &p[k], (round / 2 + k) % 2, q + (size_t)k * EXTENT, back, level);
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
