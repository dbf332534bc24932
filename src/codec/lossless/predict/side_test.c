/* Rows restored side by side are the same bits as rows restored one after the other, whatever the classes and bits say. */
#include "codec/lossless/predict/kernel.h"

#include "codec/samples.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BEFORE = 6 }; /* rows before the first one, that terms see */

/* degree and c of the first SK_EDGE values of a row, and of the others */
struct along {
    int degree[SK_EDGE + 1];
    double c[SK_EDGE + 1][4];
};

static const struct along alongs[] = {
    {{0}, {{1}, {1}, {1}, {1}}},
    {{0, 1, 1, 1}, {{1}, {1, -1}, {1, -1}, {1, -1}}},
    {{0, 1, 2, 2}, {{1}, {1, -1}, {1, -2, 1}, {1, -1.5, 0.5}}},
    {{0, 1, 2, 3}, {{1}, {1, -1}, {1, -2, 1}, {1, -3, 3, -1}}},
};

static const struct sk_scale scales[] = {
    {0},
    {.shift = 3},
    {.ref = 280, .step = 0.25, .inverse = 4, .power = 1},
    {.decimal = 1, .step = 0.01, .inverse = 100},
    {.ref = 3, .step = 0.3, .inverse = 1 / 0.3},
    {.shift = 2, .loose = 1, .ref = 3, .step = 0.3, .inverse = 1 / 0.3},
};

struct field {
    size_t word, nx, rows;
    struct sk_terms terms;
    uint8_t *x, *class, *raw; /* x with the rows before */
};

static size_t values(const struct field *f)
{
    return (BEFORE + f->rows) * f->nx;
}

/* Mostly short residuals; one in `wide` has any class. */
static void make(struct field *f, size_t word, size_t nx, size_t rows, int terms, int kind, unsigned wide)
{
    uint64_t state = 77 + nx + rows;
    *f = (struct field){.word = word, .nx = nx, .rows = rows, .terms = {.n = terms}};
    for (int k = 0; k < terms; k++) {
        f->terms.lag[k] = (size_t)(1 + 5 * k % BEFORE) * nx;
        f->terms.weight[k] = (k % 2 ? -0.75 : 1) / (1 + k);
    }
    struct sk_array a = {word == 4 ? SAIKAI_F32 : SAIKAI_F64, 1, {values(f)}};
    f->x = malloc(values(f) * word);
    sk_sample_fill(kind, &a, f->x, 3);
    f->class = malloc(nx * rows);
    for (size_t i = 0; i < nx * rows; i++) {
        uint64_t r = sk_sample_next(&state);
        f->class[i] = (uint8_t)((r >> 32) % (r % wide ? 9 : 16 * word));
    }
    f->raw = malloc(nx * rows * 8 + 16);
    for (size_t i = 0; i < nx * rows * 8 + 16; i++)
        f->raw[i] = (uint8_t)(sk_sample_next(&state) >> 40);
}

static void drop(struct field *f)
{
    free(f->x);
    free(f->class);
    free(f->raw);
}

static void one_by_one(const struct field *f, const struct along *l, const struct sk_scale *s, uint8_t *x, struct sk_bits_in *bits)
{
    const struct sk_kernel *k = sk_kernel_at(f->word, 0);
    double *store = calloc(SK_EDGE + f->nx, sizeof *store), *v = store + SK_EDGE;
    for (size_t j = 0; j < f->rows; j++) {
        uint8_t *row = x + (BEFORE + j) * f->nx * f->word;
        const uint8_t *class = f->class + j * f->nx;
        k->sum_terms(row, f->nx, &f->terms, v);
        for (size_t i = 0; i < SK_EDGE; i++)
            k->restore(row + i * f->word, v + i, 1, l->degree[i], l->c[i], s, bits, class + i, NULL, 0);
        k->restore(row + SK_EDGE * f->word, v + SK_EDGE, f->nx - SK_EDGE, l->degree[SK_EDGE], l->c[SK_EDGE], s, bits, class + SK_EDGE, NULL,
                   0);
    }
    free(store);
}

/* 1: all values are such that no prediction from them is NaN. */
static int is_tame(const struct field *f, const uint8_t *x)
{
    for (size_t i = 0; i < values(f); i++) {
        double v = f->word == 4 ? ((const float *)x)[i] : ((const double *)x)[i];
        if (!(fabs(v) < 1e30))
            return 0;
    }
    return 1;
}

static void restored_again(const struct field *f, const struct along *l, const struct sk_scale *s, const struct sk_kernel *k, int tame,
                           const uint8_t *x, const uint8_t *raw, uint64_t end)
{
    const size_t bytes = values(f) * f->word, before = BEFORE * f->nx * f->word;
    struct sk_bits_in bits = {.p = raw};
    uint8_t *y = malloc(bytes);
    memcpy(y, f->x, before);
    memset(y + before, 0x5a, bytes - before);
    const struct sk_side side = {y + before, f->class, f->nx, f->rows, &f->terms, l->degree, l->c, s, tame};
    k->restore_rows(&side, &bits);
    assert_memory_equal(x, y, bytes);
    assert_int_equal(bits.at, end);
    free(y);
}

/* The plain bits as readers may expect them: 15 bytes are behind them, and then no memory. The pages are the caller's to unmap. */
static const uint8_t *at_the_end(const uint8_t *raw, uint64_t bits, void **pages, size_t *size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)(bits + 7) / 8 + 15;
    *size = (bytes + page - 1) / page * page + page;
    *pages = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(*pages, MAP_FAILED);
    uint8_t *end = (uint8_t *)*pages + *size - page;
    assert_int_equal(mprotect(end, page, PROT_NONE), 0);
    memcpy(end - bytes, raw, bytes);
    return end - bytes;
}

static void compare(const struct field *f, const struct along *l, const struct sk_scale *s)
{
    uint8_t *x = malloc(values(f) * f->word);
    struct sk_bits_in bits = {.p = f->raw};
    memcpy(x, f->x, values(f) * f->word);
    one_by_one(f, l, s, x, &bits);
    void *pages;
    size_t size;
    const uint8_t *raw = at_the_end(f->raw, bits.at, &pages, &size);
    for (int level = 0; level < 4; level++) {
        const struct sk_kernel *k = sk_kernel_at(f->word, level);
        if (!k)
            continue;
        assert_int_equal(k->extra(f->class, f->rows * f->nx), bits.at);
        for (int tame = 0; k->restore_rows && tame <= is_tame(f, x); tame++)
            restored_again(f, l, s, k, tame, x, raw, bits.at);
    }
    munmap(pages, size);
    free(x);
}

static void every_form_and_length_of_rows(void **state)
{
    static const size_t lengths[] = {16, 17, 27, 34, 64, 65, 66, 67, 68, 75, 131, 200, 1029};
    struct field f;
    for (size_t word = 4; word <= 8; word += 4)
        for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
            for (size_t l = 0; l < sizeof alongs / sizeof *alongs; l++)
                for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
                    make(&f, word, lengths[n], 1 + (7 * n + 5 * l + s) % 40, (int)((n + l + s) % 5) * 3, 1, n % 3 ? 50 : 1000000);
                    compare(&f, &alongs[l], &scales[s]);
                    drop(&f);
                }
}

static void every_kind_of_values(void **state)
{
    struct field f;
    for (size_t word = 4; word <= 8; word += 4)
        for (int kind = 0; kind < sk_sample_kinds(); kind++)
            for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
                make(&f, word, 90, 45, 4, kind, 20);
                compare(&f, &alongs[2], &scales[s]);
                drop(&f);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_and_length_of_rows),
        cmocka_unit_test(every_kind_of_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
