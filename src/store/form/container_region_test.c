/* Boxes of variables, read from plain and coded containers, against the same elements of the whole
 * variable; and that what is not needed is not read: damage elsewhere goes unnoticed, damage in it
 * does not. */
#include "store/form/container.h"
#include "store/form/coded.h"

#include "base/file/io.h"
#include "base/types.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { NZ = 70, NY = 90, NX = 110, COUNT = NZ * NY * NX };

static char dir[64], path[128];
static double *field;

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-region-XXXXXX");
    field = malloc(COUNT * sizeof *field);
    if (!mkdtemp(dir) || !field)
        return -1;
    for (int i = 0; i < COUNT; i++)
        field[i] = i * 0.5;
    snprintf(path, sizeof path, "%s/x.skc", dir);
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(field);
    return sk_io_rmtree(dir, NULL);
}

static void write_field(const char *chain)
{
    struct saikai_error err = {0};
    struct sk_skc_header h = {.nranks = 4, .rank = 1, .incarnation = 1};
    struct sk_piece p = {.name = "u",
                         .type = SAIKAI_F64,
                         .ndims = 3,
                         .dims = {NZ, NY, NX},
                         .data = field,
                         .size_bytes = COUNT * sizeof *field,
                         .scope = SK_SKC_GLOBAL,
                         .tile = {{2 * NZ, NY, NX}, {NZ, 0, 0}}};
    struct sk_coding how = {chain, {.threads = 2, .piece_bytes = 65536}};
    if (sk_container_write(path, &h, &p, &how, 1, 0, NULL, NULL, &err))
        fail_msg("%s", err.text);
}

static int read_box(const uint64_t *low, const uint64_t *size, double *to, const ptrdiff_t *strides,
                    struct saikai_error *err)
{
    struct sk_container *c = NULL;
    assert_int_equal(sk_container_open(path, &c, err), 0);
    assert_int_equal(c->header.version, SK_SKC_VERSION_SCOPE);
    assert_int_equal(c->index->vars[0].tile.offset[0], NZ);
    int rc = sk_container_read_box(c, &c->index->vars[0], low, size, to, strides, err);
    sk_container_close(c);
    return rc;
}

static void check(const uint64_t *low, const uint64_t *size, int gap)
{
    struct saikai_error err = {0};
    size_t wy = size[1] + (size_t)gap, wx = size[2] + 2 * (size_t)gap, n = (size[0] + 1) * wy * wx;
    ptrdiff_t strides[3] = {(ptrdiff_t)(wy * wx * 8), (ptrdiff_t)(wx * 8), 8};
    double *out = malloc(n * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        out[i] = -1;
    if (read_box(low, size, out, gap ? strides : NULL, &err))
        fail_msg("%s", err.text);
    size_t right = 0;
    for (size_t k = 0; k < size[0]; k++)
        for (size_t j = 0; j < size[1]; j++)
            for (size_t i = 0; i < size[2]; i++)
                right += out[(k * wy + j) * wx + i] ==
                         field[((low[0] + k) * NY + low[1] + j) * NX + low[2] + i];
    assert_int_equal(right, size[0] * size[1] * size[2]);
    for (size_t i = 0; i < n; i++)
        right -= out[i] != -1;
    assert_int_equal(right, 0); /* nothing else was touched */
    free(out);
}

static void test_boxes(void **state)
{
    (void)state;
    static const char *const chains[] = {NULL, "shuffle+zstd", "predict", "shuffle+lz4"};
    static const uint64_t boxes[][2][3] = {
        {{0, 0, 0}, {NZ, NY, NX}}, {{0, 0, 0}, {1, 1, 1}},    {{NZ - 1, NY - 1, NX - 1}, {1, 1, 1}},
        {{3, 0, 0}, {20, NY, NX}}, {{0, 40, 0}, {NZ, 7, NX}}, {{5, 6, 100}, {60, 80, 10}},
        {{9, 9, 9}, {0, 5, 5}},    {{13, 0, 1}, {1, NY, 108}}};
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        struct sk_chain chain;
        if (chains[c] && sk_chain_parse(chains[c], &chain, NULL))
            continue; /* built without it */
        write_field(chains[c]);
        for (size_t b = 0; b < sizeof boxes / sizeof *boxes; b++)
            for (int gap = 0; gap < 2; gap++)
                check(boxes[b][0], boxes[b][1], gap);
    }
    write_field(NULL);
    struct saikai_error err = {0};
    double x;
    x = 77; /* a box without elements is one, as long as it lies inside: at either end, too */
    assert_int_equal(read_box((uint64_t[]){1, 2, 3}, (uint64_t[]){0, 4, 5}, &x, NULL, &err), 0);
    assert_int_equal(read_box((uint64_t[]){1, 2, 3}, (uint64_t[]){4, 0, 5}, &x, NULL, &err), 0);
    assert_int_equal(read_box((uint64_t[]){1, 2, 3}, (uint64_t[]){4, 5, 0}, &x, NULL, &err), 0);
    assert_int_equal(read_box((uint64_t[]){NZ, NY, NX}, (uint64_t[]){0, 0, 0}, &x, NULL, &err), 0);
    assert_true(x == 77);
    assert_int_equal(read_box((uint64_t[]){0, 0, NX + 1}, (uint64_t[]){0, 1, 0}, &x, NULL, &err), SAIKAI_EINVAL);
    assert_int_equal(read_box((uint64_t[]){0, 1, 0}, (uint64_t[]){0, NY, 1}, &x, NULL, &err), SAIKAI_EINVAL);
    assert_int_equal(read_box((uint64_t[]){NZ, 0, 0}, (uint64_t[]){1, 1, 1}, &x, NULL, &err),
                     SAIKAI_EINVAL);
    assert_int_equal(
        read_box((uint64_t[]){0, 0, UINT64_MAX}, (uint64_t[]){1, 1, 2}, &x, NULL, &err),
        SAIKAI_EINVAL);
}

static void flip(off_t at)
{
    uint8_t b;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &b, 1, at), 1);
    b ^= 4;
    assert_int_equal(pwrite(fd, &b, 1, at), 1);
    close(fd);
}

static void test_only_what_is_needed(void **state)
{
    (void)state;
    static const char *const chains[] = {NULL, "predict"};
    for (int c = 0; c < 2; c++) {
        struct saikai_error err = {0};
        double x[NX];
        off_t size;
        write_field(chains[c]);
        int fd = open(path, O_RDONLY);
        size = lseek(fd, 0, SEEK_END);
        close(fd);
        flip(size / 2);
        assert_int_equal(read_box((uint64_t[]){0, 0, 0}, (uint64_t[]){1, 1, NX}, x, NULL, &err), 0);
        assert_memory_equal(x, field, sizeof x);
        assert_int_equal(
            read_box((uint64_t[]){NZ - 1, NY - 1, 0}, (uint64_t[]){1, 1, NX}, x, NULL, &err), 0);
        double *column = malloc(NZ * NY * sizeof *column);
        assert_non_null(column);
        assert_int_equal(
            read_box((uint64_t[]){0, 0, 0}, (uint64_t[]){NZ, NY, 1}, column, NULL, &err),
            SAIKAI_EDAMAGED);
        assert_non_null(strstr(err.text, path));
        assert_non_null(strstr(err.text, "u"));
        free(column);
    }
}

/* What is captured with gaps and read back with others is the same. */
static void test_gather(void **state)
{
    (void)state;
    double to[3 * 4];
    ptrdiff_t strides[2] = {NX * 8, 16};
    struct sk_piece p = {.type = SAIKAI_F64,
                         .ndims = 2,
                         .dims = {3, 4},
                         .data = field + 1,
                         .size_bytes = sizeof to,
                         .strides = strides};
    sk_container_gather(&p, to);
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 4; i++)
            assert_true(to[j * 4 + i] == field[1 + j * NX + 2 * i]);
    p.strides = NULL;
    sk_container_gather(&p, to);
    assert_memory_equal(to, field + 1, sizeof to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(test_boxes, begin, end),
        cmocka_unit_test_setup_teardown(test_only_what_is_needed, begin, end),
        cmocka_unit_test_setup_teardown(test_gather, begin, end),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
