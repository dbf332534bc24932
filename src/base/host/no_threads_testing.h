/* For tests: no thread can be started, as where a user has as many as the system allows: each would get a stack that no address space holds. */
#ifndef SK_BASE_HOST_NO_THREADS_TESTING_H
#define SK_BASE_HOST_NO_THREADS_TESTING_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* on: from now on, until it is called with 0. Needs _GNU_SOURCE. */
__attribute__((unused)) static void no_threads(int on)
{
    static pthread_attr_t before;
    pthread_attr_t none;
    if (!on) {
        assert_int_equal(pthread_setattr_default_np(&before), 0);
        return;
    }
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_getattr_default_np(&none), 0);
    assert_int_equal(pthread_attr_setstacksize(&none, SIZE_MAX >> 1 & ~(size_t)0xfffff), 0);
    assert_int_equal(pthread_setattr_default_np(&none), 0);
    pthread_attr_destroy(&none);
}

#endif
