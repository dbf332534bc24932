/* Mapped or not. */
#include "base/host/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

static char *map(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static void test_what_is_there(void **state)
{
    (void)state;
    static const char constant[5000] = {1};
    char local[100] = {0}, *heap = malloc(10);
    assert_true(sk_memory_can_be_read(constant, sizeof constant));
    assert_true(sk_memory_can_be_read(local, sizeof local));
    assert_true(sk_memory_can_be_read(heap, 10));
    assert_true(sk_memory_can_be_read(NULL, 0));
    free(heap);
}

static void test_what_is_not(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 64 * page;
    char *p = map(n);
    assert_true(sk_memory_can_be_read(p, n));
    assert_true(sk_memory_can_be_read(p + 5, n - 5));
    assert_false(sk_memory_can_be_read(NULL, 1));
    assert_false(sk_memory_can_be_read(p, SIZE_MAX));
    assert_int_equal(munmap(p + 20 * page, page), 0); /* a hole */
    assert_false(sk_memory_can_be_read(p, n));
    assert_true(sk_memory_can_be_read(p, 20 * page));
    assert_false(sk_memory_can_be_read(p, 20 * page + 1));
    assert_int_equal(mprotect(p, page, PROT_NONE), 0);
    assert_false(sk_memory_can_be_read(p, 10 * page));
    assert_int_equal(mprotect(p + 9 * page, page, PROT_NONE), 0);
    assert_false(sk_memory_can_be_read(p + page, 9 * page));
    assert_true(sk_memory_can_be_read(p + page, 8 * page));
    munmap(p, n);
    assert_false(sk_memory_can_be_read(p, n));
}

/* Large arrays go back to the system when they are freed. */
static void test_freed(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* a sanitizer keeps what is freed, and finds fault with a look at it */
#endif
    size_t n = (size_t)64 << 20;
    char *p = malloc(n);
    assert_non_null(p);
    p[0] = p[n - 1] = 1;
    volatile uintptr_t at = (uintptr_t)p; /* compilers know what becomes of a pointer that was freed */
    assert_true(sk_memory_can_be_read((void *)at, n));
    free(p);
    assert_false(sk_memory_can_be_read((void *)at, n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_there), cmocka_unit_test(test_what_is_not),
                                       cmocka_unit_test(test_freed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
