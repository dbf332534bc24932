/* Sparse planes and boxes of zeros and ones come back as they were, whatever is damaged stays
 * inside the geometry, and much of nothing takes a few bytes. */
#include "codec/entropy/adaptive/bilevel_walk.h"
#include "codec/entropy/adaptive/sparse_walk.h"
#include "codec/entropy/plane.h"
#include "codec/entropy/scratch.h"

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

/* Zero but once in `rare`; then small, seldom of any size. */
static int32_t number(unsigned rare)
{
    if (next() % rare)
        return 0;
    unsigned bits = next() % 8 ? 2 : (unsigned)(next() % 29);
    int32_t v = 1 + (int32_t)(next() & ((1u << bits) - 1));
    return next() & 1 ? v : -v;
}

enum { PLANES = 3, ROOM = 400000 };

static struct sk_plane random_plane(const uint8_t *mask, const uint8_t *side)
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
    p.mask = next() % 3 ? NULL : mask;
    p.n_sides = (int)(next() % 3);
    for (int s = 0; s < p.n_sides; s++) {
        p.side[s].level = side;
        p.side[s].shift = s ? 1 : -1;
        p.side[s].weight = 2;
    }
    return p;
}

static void check_plane(const struct sk_plane *p, const int32_t *q, const int32_t *back,
                        const uint8_t *level, const uint8_t *was)
{
    for (size_t row = 0; row < p->nb * p->nz * p->ny; row++) {
        size_t y = row % p->ny, z = row / p->ny % p->nz, b = row / p->ny / p->nz;
        size_t at = p->origin + b * p->sb + z * p->sz + y * p->sy;
        assert_memory_equal(back + at, q + at, p->width * sizeof *back);
        assert_memory_equal(level + at, was + at, p->width);
        assert_int_equal(back[at + p->width], 0x55555555);
    }
}

static void sparse_planes_come_back(void **unused)
{
    int32_t *q = calloc(PLANES * ROOM, sizeof *q), *back = calloc(ROOM, sizeof *back);
    uint8_t *level = calloc(PLANES + 1, ROOM), *mask = calloc(ROOM, 1), *side = calloc(ROOM, 1);
    assert_true(q && back && level && mask && side);
    for (int round = 0; round < 120; round++) {
        struct sk_plane p[PLANES];
        struct sk_plane_writer *w = sk_plane_writer_new(100);
        struct sk_plane_reader *r;
        struct sk_buf out = {0};
        unsigned rare = round % 3 ? 100 : 3;
        assert_non_null(w);
        for (size_t i = 0; i < ROOM; i++) {
            mask[i] = next() % 5 == 0;
            side[i] = next() % 20 ? 0 : (uint8_t)(next() % 20);
        }
        sk_plane_writer_keep(w, ROOM);
        memset(level, 0, (PLANES + 1) * ROOM);
        for (size_t k = 0; k < PLANES; k++) {
            p[k] = random_plane(mask, side);
            for (size_t i = 0, n = p[k].origin + p[k].nb * p[k].sb; i < n; i++)
                q[k * ROOM + i] = p[k].mask && mask[i] ? 0 : number(rare);
            sk_plane_write(w, &p[k], q + k * ROOM, level + k * ROOM);
        }
        assert_int_equal(sk_plane_writer_sparse(w, SIZE_MAX, &out), 0);
        assert_int_equal(sk_plane_reader_sparse(&r, out.data, out.len, NULL), 0);
        for (size_t k = 0; k < PLANES; k++) {
            memset(back, 0x55, ROOM * sizeof *back);
            memset(level + PLANES * ROOM, 0, ROOM);
            assert_int_equal(sk_plane_read(r, &p[k], back, level + PLANES * ROOM, NULL), 0);
            check_plane(&p[k], q + k * ROOM, back, level + PLANES * ROOM, level + k * ROOM);
        }
        assert_int_equal(sk_plane_reader_finish(r, NULL), 0);
        sk_plane_reader_free(r);
        sk_plane_writer_free(w);
        for (size_t i = 0; i < out.len; i += 1 + next() % 40)
            out.data[i] = (uint8_t)next();
        assert_int_equal(sk_plane_reader_sparse(&r, out.data, out.len, NULL), 0);
        for (size_t k = 0; k < PLANES; k++)
            assert_int_equal(sk_plane_read(r, &p[k], back, level + PLANES * ROOM, NULL), 0);
        sk_plane_reader_free(r);
        sk_buf_free(&out);
    }
    free(q);
    free(back);
    free(level);
    free(mask);
    free(side);
}

#ifdef __x86_64__
/* The values of a plane that are not zero, row by row; returns how many. */
static size_t values_of(const struct sk_plane *p, const int32_t *q, int32_t *value)
{
    size_t n = 0;
    for (size_t row = 0; row < p->nb * p->nz * p->ny; row++) {
        size_t y = row % p->ny, z = row / p->ny % p->nz, b = row / p->ny / p->nz;
        const int32_t *at = q + p->origin + b * p->sb + z * p->sz + y * p->sy;
        for (size_t x = 0; x < p->width; x++)
            if (at[x])
                value[n++] = at[x];
    }
    return n;
}

/* With AVX2 the same bits come out as without it, and are read the same, from contexts that are new to those that learn slowly. */
static void instruction_sets_do_not_differ(void **unused)
{
    const struct sk_sparse_kernel *kernel[2] = {&sk_sparse_kernel_plain, &sk_sparse_kernel_avx2};
    int32_t *q = calloc(ROOM, sizeof *q), *value = calloc(ROOM, sizeof *value), *back = calloc(ROOM, sizeof *back);
    uint8_t *level = calloc(2, ROOM), *mask = calloc(ROOM, 1), *side = calloc(ROOM, 1);
    assert_true(q && value && back && level && mask && side);
    if (!__builtin_cpu_supports("avx2"))
        skip();
    for (int round = 0; round < 24; round++) {
        struct sk_buf out[2] = {{0}, {0}};
        for (size_t i = 0; i < ROOM; i++) {
            mask[i] = next() % 5 == 0;
            side[i] = next() % 20 ? 0 : (uint8_t)(next() % 20);
        }
        struct sk_plane p = random_plane(mask, side);
        for (size_t i = 0; i < ROOM; i++)
            q[i] = p.mask && mask[i] ? 0 : number(round % 3 ? 30 : 3);
        struct sk_plane_writer *levels = sk_plane_writer_new(ROOM);
        assert_non_null(levels);
        memset(level, 0, 2 * ROOM);
        sk_plane_write(levels, &p, q, level);
        sk_plane_writer_free(levels);
        values_of(&p, q, value);
        for (int k = 0; k < 2; k++) {
            struct sk_sparse_walk w = {.most = SIZE_MAX};
            const int32_t *first = value;
            assert_int_equal(sk_sparse_models_new(&w), 0);
            sk_adaptive_encoder(&w.coder, &out[k]);
            assert_int_equal(kernel[k]->write(&w, &p, level, &first), 0);
            sk_adaptive_flush(&w.coder);
            sk_scratch_give(w.m);
        }
        assert_int_equal(out[0].len, out[1].len);
        assert_memory_equal(out[0].data, out[1].data, out[0].len);
        for (int k = 0; k < 2; k++) {
            struct sk_sparse_walk w = {.most = 0};
            assert_int_equal(sk_sparse_models_new(&w), 0);
            sk_adaptive_decoder(&w.coder, out[k].data, out[k].len);
            memset(back, 0x55, ROOM * sizeof *back);
            assert_int_equal(kernel[k]->read(&w, &p, back, level + ROOM), 0);
            assert_true(sk_adaptive_ended(&w.coder));
            check_plane(&p, q, back, level + ROOM, level);
            sk_scratch_give(w.m);
        }
        sk_buf_free(&out[0]);
        sk_buf_free(&out[1]);
    }
    free(q);
    free(value);
    free(back);
    free(level);
    free(mask);
    free(side);
}
#endif

/* What was written once is read for ever, and so all bytes are those that this format has always had: a rounding that is another one for
 * writer and reader alike would bring all values back. */
static void bytes_are_those_of_the_format(void **unused)
{
    enum { ROWS = 60, WIDTH = 200, PITCH = WIDTH + 20, ALL = (ROWS + 4) * PITCH };
    const uint64_t known[2] = {0xd7b2eb90c0afa321u, 0x6cf42b3d7d7dc074u};
    struct sk_plane p = {.nb = 1, .nz = 1, .ny = ROWS, .width = WIDTH, .sy = PITCH, .sz = ROWS * PITCH, .origin = 2 * PITCH + 8,
                         .weights = {3, 0, 3, 0, 1, 2}};
    static int32_t q[ALL];
    static uint8_t level[ALL];
    for (int set = 0; set < 2; set++) {
        struct sk_plane_writer *w = sk_plane_writer_new(ALL);
        struct sk_buf out = {0};
        uint64_t random = 1 + (uint64_t)set, hash = 14695981039346656037u; /* FNV-1a */
        assert_non_null(w);
        for (size_t i = 0; i < ALL; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            unsigned r = (unsigned)(random >> 40);
            q[i] = r % (set ? 3 : 40) ? 0 : (int32_t)(r >> 8 & 7) - (int32_t)(r >> 11 & 15);
        }
        sk_plane_writer_keep(w, ALL);
        sk_plane_write(w, &p, q, level);
        assert_int_equal(sk_plane_writer_sparse(w, SIZE_MAX, &out), 0);
        for (size_t i = 0; i < out.len; i++)
            hash = (hash ^ out.data[i]) * 1099511628211u;
        if (hash != known[set])
            fail_msg("set %d: %zu bytes of hash %#llx", set, out.len, (unsigned long long)hash);
        sk_plane_writer_free(w);
        sk_buf_free(&out);
    }
}

/* What is too long ends early, and the bytes behind `out` that it has already are no part of it. */
static void more_bytes_than_asked_for_are_none(void **unused)
{
    enum { WIDTH = 1 << 15, ROWS = 64 };
    struct sk_plane p = {.nb = 1, .nz = 1, .ny = ROWS, .width = WIDTH / ROWS - 16, .sy = WIDTH / ROWS, .origin = 8};
    int32_t *q = calloc(WIDTH + 100, sizeof *q);
    uint8_t *level = calloc(WIDTH + 100, 1);
    struct sk_plane_writer *w = sk_plane_writer_new(WIDTH);
    struct sk_buf out = {0}, again = {0};
    assert_true(q && level && w);
    for (size_t i = 0; i < WIDTH; i++)
        q[i] = number(8);
    sk_plane_writer_keep(w, WIDTH);
    sk_plane_write(w, &p, q, level);
    assert_int_equal(sk_plane_writer_sparse(w, SIZE_MAX, &out), 0);
    assert_true(out.len > 1000);
    sk_buf_put_u8(&again, 7);
    assert_int_equal(sk_plane_writer_sparse(w, out.len, &again), 0);
    assert_int_equal(again.len, out.len + 1);
    assert_memory_equal(again.data + 1, out.data, out.len);
    again.len = 1;
    assert_int_equal(sk_plane_writer_sparse(w, out.len - 1, &again), -1);
    again.len = 1;
    assert_int_equal(sk_plane_writer_sparse(w, 100, &again), -1);
    assert_true(again.len < 1000);
    sk_plane_writer_free(w);
    sk_buf_free(&out);
    sk_buf_free(&again);
    free(q);
    free(level);
}

static void too_many_values_are_not_kept(void **unused)
{
    enum { WIDTH = 1000 };
    struct sk_plane p = {.nb = 1, .nz = 1, .ny = 1, .width = WIDTH, .origin = 8};
    int32_t *q = calloc(WIDTH + 100, sizeof *q);
    uint8_t *level = calloc(WIDTH + 100, 1);
    struct sk_plane_writer *w = sk_plane_writer_new(WIDTH);
    struct sk_buf out = {0};
    assert_true(q && level && w);
    sk_plane_writer_keep(w, WIDTH / 2);
    sk_plane_write(w, &p, q, level);
    assert_int_equal(sk_plane_writer_sparse(w, SIZE_MAX, &out), 0);
    assert_true(out.len <= 4);
    for (size_t i = 0; i < WIDTH; i++)
        q[i + p.origin] = 1;
    sk_plane_write(w, &p, q, level);
    assert_int_equal(sk_plane_writer_sparse(w, SIZE_MAX, &out), -1);
    sk_plane_writer_reset(w);
    assert_int_equal(sk_plane_writer_sparse(w, SIZE_MAX, &out), -1);
    sk_plane_writer_free(w);
    sk_buf_free(&out);
    free(q);
    free(level);
}

/* Of one kind: blobs, noise, all ones. */
static int pixel(int kind, size_t z, size_t y, size_t x)
{
    size_t dx = x % 40 - 20, dy = (y + z) % 30 - 15;
    if (kind == 0)
        return (int)(dx * dx + dy * dy) < 150;
    return kind == 1 ? next() % 3 == 0 : 1;
}

static void boxes_of_bits_come_back(void **unused)
{
    for (int round = 0; round < 60; round++) {
        struct sk_bilevel b = {.nb = 1 + next() % 2, .nz = 1 + next() % 7, .ny = 1 + next() % 40,
                               .width = 1 + next() % 150};
        size_t row = sk_bilevel_row_bytes(&b), rows = b.nb * b.nz * b.ny;
        uint8_t *bits = calloc(sk_bilevel_bytes(&b), 1), *back = calloc(sk_bilevel_bytes(&b), 1);
        struct sk_buf out = {0};
        assert_true(bits && back);
        for (size_t r = 0; r < rows; r++)
            for (size_t x = 0; x < b.width; x++)
                bits[r * row + SK_BILEVEL_EDGE + x] =
                    (uint8_t)pixel(round % 3, r / b.ny, r % b.ny, x);
        b.bit = bits;
        assert_int_equal(sk_bilevel_put(&b, &out), 0);
        assert_true(round % 3 != 2 || out.len < 64);
        b.bit = back;
        assert_int_equal(sk_bilevel_get(&b, out.data, out.len), 0);
        assert_memory_equal(bits, back, rows * row);
        memset(back, 0, rows * row);
        for (size_t i = 0; i < out.len; i += 1 + next() % 9)
            out.data[i] = (uint8_t)next();
        sk_bilevel_get(&b, out.data, out.len);
        for (size_t i = 0; i < rows * row; i++)
            assert_true(back[i] < 2);
        free(bits);
        free(back);
        sk_buf_free(&out);
    }
}

#ifdef __x86_64__
/* The same of boxes of bits. */
static void instruction_sets_do_not_differ_on_bits(void **unused)
{
    const struct sk_bilevel_kernel *kernel[2] = {&sk_bilevel_kernel_plain, &sk_bilevel_kernel_avx2};
    if (!__builtin_cpu_supports("avx2"))
        skip();
    for (int round = 0; round < 12; round++) {
        struct sk_bilevel b = {.nb = 1, .nz = 1 + next() % 5, .ny = 1 + next() % 40, .width = 1 + next() % 150};
        size_t row = sk_bilevel_row_bytes(&b), rows = b.nz * b.ny;
        uint8_t *bits = calloc(sk_bilevel_bytes(&b), 1), *back = calloc(sk_bilevel_bytes(&b), 1);
        struct sk_buf out[2] = {{0}, {0}};
        assert_true(bits && back);
        for (size_t r = 0; r < rows; r++)
            for (size_t x = 0; x < b.width; x++)
                bits[r * row + SK_BILEVEL_EDGE + x] = (uint8_t)pixel(round % 3, r / b.ny, r % b.ny, x);
        for (int k = 0; k < 2; k++) {
            struct sk_adaptive c;
            b.bit = bits;
            sk_adaptive_encoder(&c, &out[k]);
            assert_int_equal(kernel[k]->write(&c, &b), 0);
            sk_adaptive_flush(&c);
        }
        assert_int_equal(out[0].len, out[1].len);
        assert_memory_equal(out[0].data, out[1].data, out[0].len);
        for (int k = 0; k < 2; k++) {
            struct sk_adaptive c;
            memset(back, 0, rows * row);
            b.bit = back;
            sk_adaptive_decoder(&c, out[k].data, out[k].len);
            assert_int_equal(kernel[k]->read(&c, &b), 0);
            assert_true(sk_adaptive_ended(&c));
            assert_memory_equal(bits, back, rows * row);
            sk_buf_free(&out[k]);
        }
        free(bits);
        free(back);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_planes_come_back),
#ifdef __x86_64__
        cmocka_unit_test(instruction_sets_do_not_differ),
        cmocka_unit_test(instruction_sets_do_not_differ_on_bits),
#endif
        cmocka_unit_test(bytes_are_those_of_the_format),
        cmocka_unit_test(too_many_values_are_not_kept),
        cmocka_unit_test(more_bytes_than_asked_for_are_none),
        cmocka_unit_test(boxes_of_bits_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
