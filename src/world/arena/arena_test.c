/* Pieces that come and go: what they hold, and how much memory is mapped for them. */
#include "world/arena/arena.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

/* The tests are linked with these in place of the system's. */
static int is_full;
static size_t system_bytes;
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
    if (is_full) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *p = __real_mmap(at, n, prot, flags, fd, offset);
    system_bytes += p == MAP_FAILED ? 0 : n;
    return p;
}
int __real_munmap(void *at, size_t n);
int __wrap_munmap(void *at, size_t n);
int __wrap_munmap(void *at, size_t n)
{
    system_bytes -= n;
    return __real_munmap(at, n);
}

enum { PIECES = 300 };

static void *filled(struct sk_arena *a, size_t bytes, int with)
{
    void *p = sk_arena_take(a, bytes);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
    memset(p, with, bytes);
    return p;
}

static int holds(const unsigned char *p, size_t bytes, int what)
{
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != (unsigned char)what)
            return 0;
    return 1;
}

/* Of all sizes, given back in an order of its own. */
static void no_piece_touches_another(void **state)
{
    struct sk_arena a = {0};
    void *p[PIECES];
    size_t bytes[PIECES];
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < PIECES; i++) {
            bytes[i] = i % 50 ? (size_t)(i * 977 % 70000) : (size_t)SK_ARENA_PIECE - 40 + (size_t)i;
            p[i] = filled(&a, bytes[i], i + turn);
        }
        for (int i = 0; i < PIECES; i++) {
            int j = i * 7 % PIECES;
            assert_true(holds(p[j], bytes[j], j + turn));
            sk_arena_give(&a, p[j]);
        }
    }
    assert_int_equal(a.mapped, system_bytes);
    sk_arena_free(&a);
    assert_int_equal(system_bytes, 0);
}

/* What was given back is used again: as much again needs no more memory. */
static void memory_is_used_again(void **state)
{
    struct sk_arena a = {0};
    void *p[PIECES];
    size_t first = 0;
    for (int turn = 0; turn < 5; turn++) {
        for (int i = 0; i < PIECES; i++)
            p[i] = filled(&a, 60000, i);
        if (!turn)
            first = a.mapped;
        assert_int_equal(a.mapped, first);
        assert_true(a.mapped < PIECES * 60000 + 2 * SK_ARENA_CHUNK);
        for (int i = 0; i < PIECES; i++)
            sk_arena_give(&a, p[i]);
    }
    assert_int_equal(a.mapped, system_bytes);
    sk_arena_free(&a);
    assert_int_equal(system_bytes, 0);
}

/* Now large ones, now small ones: the memory of the ones goes for the others. */
static void what_is_spare_does_not_gather(void **state)
{
    struct sk_arena a = {0};
    void *p[PIECES];
    for (int turn = 0; turn < 6; turn++) {
        size_t bytes = turn % 2 ? 6 << 20 : 400000 + (size_t)turn * 1000;
        int n = turn % 2 ? 4 : 60;
        for (int i = 0; i < n; i++)
            p[i] = filled(&a, bytes, i);
        assert_true(a.mapped <= 60 * 410000 + 4 * SK_ARENA_CHUNK); /* 24 MB the one or the other, not both */
        for (int i = 0; i < n; i++)
            sk_arena_give(&a, p[i]);
    }
    sk_arena_free(&a);
    assert_int_equal(system_bytes, 0);
}

/* One piece that stays keeps its own chunk alone. */
static void a_part_is_not_kept_by_another(void **state)
{
    struct sk_arena a = {0};
    void *stays = filled(&a, 100, 1);
    sk_arena_part(&a);
    void *goes = filled(&a, 100, 2);
    assert_int_equal(a.mapped, 2 * SK_ARENA_CHUNK);
    sk_arena_give(&a, goes);
    sk_arena_part(&a);
    assert_ptr_equal(filled(&a, 100, 3), goes);
    assert_true(holds(stays, 100, 1));
    sk_arena_part(&a);
    sk_arena_part(&a); /* nothing was taken in between */
    assert_int_equal(a.mapped, 2 * SK_ARENA_CHUNK);
    sk_arena_give(&a, stays);
    sk_arena_give(&a, goes);
    sk_arena_free(&a);
    assert_int_equal(system_bytes, 0);
}

/* What MPI may still read stays where it is. */
static void what_was_not_given_back_stays(void **state)
{
    struct sk_arena a = {0};
    void *small = filled(&a, 100, 1), *large = filled(&a, 2 * SK_ARENA_PIECE, 2);
    sk_arena_give(&a, filled(&a, 3 * SK_ARENA_PIECE, 3));
    size_t all = system_bytes;
    sk_arena_free(&a);
    assert_true(system_bytes < all);
    assert_int_equal(a.mapped, 0);
    assert_true(holds(small, 100, 1));
    assert_true(holds(large, 2 * SK_ARENA_PIECE, 2));
    system_bytes = 0;
}

static void memory_runs_out(void **state)
{
    struct sk_arena a = {0};
    assert_null(sk_arena_take(&a, SIZE_MAX));
    assert_null(sk_arena_take(&a, SIZE_MAX / 2));
    is_full = 1;
    assert_null(sk_arena_take(&a, 1));
    assert_null(sk_arena_take(&a, 2 * SK_ARENA_PIECE));
    assert_int_equal(a.mapped, 0);
    is_full = 0;
    void *p = filled(&a, 1000, 1);
    is_full = 1;
    size_t more = 0;
    while (sk_arena_take(&a, 1000))
        more++;
    assert_true(more > SK_ARENA_CHUNK / 1000 / 2 && more < SK_ARENA_CHUNK / 1000); /* the chunk was used up */
    assert_null(sk_arena_take(&a, 2 * SK_ARENA_PIECE));
    assert_true(holds(p, 1000, 1));
    assert_non_null(sk_arena_take(&a, 0)); /* a rest is of use to what is smaller */
    is_full = 0;
    assert_non_null(sk_arena_take(&a, 1000));
    sk_arena_free(&a);
    system_bytes = 0; /* pieces were left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_piece_touches_another),    cmocka_unit_test(memory_is_used_again),
        cmocka_unit_test(what_is_spare_does_not_gather), cmocka_unit_test(a_part_is_not_kept_by_another),
        cmocka_unit_test(what_was_not_given_back_stays), cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
