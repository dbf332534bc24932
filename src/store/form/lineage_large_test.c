/* Generations that build on others with a variable that is read in several windows: boxes of it, copies, and damage in one window alone. */
#define TESTING_CELLS 2600000
#include "store/form/lineage.h"

#include "base/file/io.h"
#include "store/form/lineage_read.h"
#include "store/form/lineage_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { GENS = 3, ROWS = 10, COLUMNS = TESTING_CELLS / ROWS };
_Static_assert(TESTING_CELLS * sizeof(double) > 2 * SK_LINEAGE_WINDOW, "three windows");

static char dir[64];
static struct testing_state *before, *now;

static struct sk_gen gen(int i)
{
    return (struct sk_gen){1, 10 * (int64_t)i, 0};
}

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-lineage-XXXXXX");
    assert_non_null(mkdtemp(dir));
    before = testing_state_new();
    now = testing_state_new();
    struct testing_generation g = {.root = dir, .nranks = 1, .rank = 0};
    for (int i = 1; i <= GENS; i++) {
        testing_state_copy(before, now);
        testing_state_step(now, i);
        g.gen = gen(i);
        g.base = i == 1 ? (struct sk_gen){0} : gen(i - 1);
        assert_int_equal(testing_write(&g, before, now, i), 0);
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    testing_state_free(before);
    testing_state_free(now);
    return sk_io_rmtree(dir, NULL);
}

/* Rows [row, row + rows) of columns [column, column + columns): 0, or what reading them ended with. */
static int read_box(size_t row, size_t rows, size_t column, size_t columns)
{
    struct sk_container *c = NULL;
    struct saikai_error err = {0};
    double *out = malloc(rows * columns * sizeof *out);
    assert_non_null(out);
    assert_int_equal(sk_lineage_open(dir, gen(GENS), 0, &c, NULL), 0);
    int rc = sk_container_read_box(c, sk_skc_find(c->index, "a"), (uint64_t[]){row, column}, (uint64_t[]){rows, columns}, out, NULL, &err);
    for (size_t i = 0; !rc && i < rows; i++)
        assert_memory_equal(out + i * columns, now->a + (row + i) * COLUMNS + column, columns * sizeof *out);
    sk_container_close(c);
    free(out);
    return rc;
}

static void boxes_come_out_of_all_windows(void **state)
{
    (void)state;
    assert_int_equal(read_box(0, ROWS, 0, COLUMNS), 0);
    assert_int_equal(read_box(0, ROWS, 7, 100), 0);
    assert_int_equal(read_box(0, 1, 0, 1), 0);
    assert_int_equal(read_box(ROWS - 1, 1, COLUMNS - 1, 1), 0);
    for (size_t row = 0; row < ROWS; row++)
        assert_int_equal(read_box(row, 1, 0, COLUMNS), 0);
}

static void a_copy_holds_the_same(void **state)
{
    (void)state;
    struct sk_container *c = NULL;
    char path[96];
    snprintf(path, sizeof path, "%s/copy", dir);
    assert_int_equal(sk_lineage_open(dir, gen(GENS), 0, &c, NULL), 0);
    assert_int_equal(testing_compare(c, now), 1);
    assert_int_equal(sk_container_copy(c, path, 0, NULL), 0);
    sk_container_close(c);
    assert_int_equal(sk_container_open(path, &c, NULL), 0);
    assert_int_equal(sk_lineage_length(c), 0);
    assert_int_equal(testing_compare(c, now), 1);
    sk_container_close(c);
    unlink(path);
}

/* A flipped byte of the base costs the boxes that are in its window, and no others. */
static void damage_costs_its_window(void **state)
{
    (void)state;
    struct sk_container *c = NULL;
    char path[256];
    void *data = NULL;
    size_t n;
    assert_int_equal(sk_gen_file(dir, gen(1), 0, path, sizeof path, NULL), 0);
    assert_int_equal(sk_container_open(path, &c, NULL), 0);
    uint64_t at = c->index->chunks[sk_skc_find(c->index, "a")->first_chunk].offset;
    sk_container_close(c);
    assert_int_equal(sk_io_slurp(path, 1u << 30, &data, &n, NULL), 0);
    ((uint8_t *)data)[at + SK_LINEAGE_WINDOW + 12345] ^= 4;
    assert_int_equal(sk_io_replace(path, data, n, NULL), 0);
    assert_int_equal(read_box(0, 1, 0, COLUMNS), 0);
    assert_int_equal(read_box(ROWS - 1, 1, 0, COLUMNS), 0);
    assert_int_equal(read_box(4, 1, 0, COLUMNS), SAIKAI_EDAMAGED);
    assert_int_equal(read_box(0, ROWS, 0, 3), SAIKAI_EDAMAGED);
    ((uint8_t *)data)[at + SK_LINEAGE_WINDOW + 12345] ^= 4;
    assert_int_equal(sk_io_replace(path, data, n, NULL), 0);
    assert_int_equal(read_box(4, 1, 0, COLUMNS), 0);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test(boxes_come_out_of_all_windows),
        cmocka_unit_test(a_copy_holds_the_same),
        cmocka_unit_test(damage_costs_its_window),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
