/* Copies past the caches, of all lengths and places, give the same bytes as plain ones and write
 * nothing beside them. */
#include "base/file/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { ROOM = 400000 };

static uint8_t *from, *to;

static int set_up(void **state)
{
    uint64_t x = 1;
    from = malloc(ROOM + 64);
    to = malloc(ROOM + 64);
    for (size_t i = 0; from && i < ROOM + 64; i++)
        from[i] = (uint8_t)((x = x * 6364136223846793005u + 1442695040888963407u) >> 56);
    return !from || !to;
}

static int tear_down(void **state)
{
    free(from);
    free(to);
    return 0;
}

static void test_copy(void **state)
{
    static const size_t sizes[] = {0,     1,     63,    64,           65,    4095,
                                   16383, 16384, 16385, 65536 + 4095, 300001};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t k = 0; k < 40; k++) {
            size_t at = k % 20, at_from = k % 7, n = sizes[s];
            memset(to, 0xa5, ROOM);
            sk_copy_past_cache(to + at, from + at_from, n);
            assert_memory_equal(to + at, from + at_from, n);
            assert_int_equal(to[at + n], 0xa5);
            assert_true(!at || to[at - 1] == 0xa5);
        }
}

/* Pieces of all kinds, from anywhere: each byte of each is in its place, and nothing is written
 * beside them. */
static void test_gather(void **state)
{
    static const size_t sizes[] = {4096, 4096, 4096, 1, 8192, 70000, 63, 0, 4096, 4097, 12288, 130};
    const size_t kinds = sizeof sizes / sizeof *sizes;
    for (size_t round = 0; round < 60; round++) {
        size_t at = round % 67, n = 0, count = round % 23;
        struct sk_gather g = {.to = to + at};
        memset(to, 0xa5, ROOM);
        for (size_t i = 0; i < count; i++) {
            size_t size = round < 20 ? 4096 : sizes[(i * 5 + round) % kinds];
            sk_gather_add(&g, from + (i * 7919 + round) % 100000, size);
            n += size;
        }
        sk_gather_end(&g);
        assert_ptr_equal(g.to, to + at + n);
        for (size_t i = 0, done = 0; i < count; i++) {
            size_t size = round < 20 ? 4096 : sizes[(i * 5 + round) % kinds];
            assert_memory_equal(to + at + done, from + (i * 7919 + round) % 100000, size);
            done += size;
        }
        assert_int_equal(to[at + n], 0xa5);
        assert_true(!at || to[at - 1] == 0xa5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_gather),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
