/* A buffer that is given back and taken again is not mapped anew. */
#include "cli/archive/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

enum { BYTES = 8 << 20, HEAP = 64 << 20 };

static long pages_mapped(void)
{
    struct rusage r;
    assert_int_equal(getrusage(RUSAGE_SELF, &r), 0);
    return r.ru_minflt;
}

/* Take a buffer, write all of it and give it back; how many pages were mapped for it. */
static long use(size_t bytes)
{
    long before = pages_mapped();
    char *volatile p = malloc(bytes);
    assert_non_null(p);
    memset(p, 1, bytes);
    free(p);
    return pages_mapped() - before;
}

static void buffers_are_mapped_once(void **state)
{
    enum { FEW = 64 }; /* of 2048 */
    (void)state;
    if (!cli_heap_keep(HEAP))
        skip(); /* another allocator, such as the sanitizers', or a system without huge pages */
    use(BYTES);
    assert_true(use(BYTES) < FEW);
    assert_true(use(BYTES / 2) < FEW);
    /* larger than all of it, and larger than what is in the heap at all */
    use(HEAP / 2 - 1);
    use(HEAP);
}

/* Where address space is limited, none is taken in advance. */
static void limits_are_kept(void **state)
{
    (void)state;
    static const int limits[] = {RLIMIT_AS, RLIMIT_DATA};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit was, now;
        assert_int_equal(getrlimit(limits[i], &was), 0);
        now = was;
        now.rlim_cur = (rlim_t)1 << 46; /* more than there is: only that there is one counts */
        if (was.rlim_cur != RLIM_INFINITY || setrlimit(limits[i], &now))
            continue;
        int kept = cli_heap_keep(HEAP);
        assert_int_equal(setrlimit(limits[i], &was), 0);
        assert_int_equal(kept, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits_are_kept), cmocka_unit_test(buffers_are_mapped_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
