/* ZeroMQ is there with the first link, and not before: a process without one waits all the same, and begins quickly. */
#include "backbone/late/zmq.h"

#include "backbone/guests.h"
#include "backbone/link.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

static int is_loaded(void)
{
#ifdef SK_ZMQ_SONAME
    void *handle = dlopen(SK_ZMQ_SONAME, RTLD_NOW | RTLD_NOLOAD);
    if (handle)
        dlclose(handle);
    return handle != NULL;
#else
    return -1;
#endif
}

/* Descriptors below 0 are passed over; what is ready is so in both directions. */
static void a_process_without_a_link_waits(void **state)
{
    (void)state;
    int to[2], full[2];
    assert_int_equal(pipe(to) || pipe(full), 0);
    struct sk_wait waits[3] = {{.fd = to[0]}, {.fd = -1}, {.fd = full[1], .out = 1}};
    assert_false(is_loaded() > 0);
    sk_link_wait(NULL, waits, 3, 10);
    assert_true(!waits[0].ready && !waits[1].ready && waits[2].ready);
    waits[2].fd = -1;
    sk_link_wait(NULL, waits, 3, 0.001); /* nothing, and it comes back */
    assert_true(!waits[0].ready && !waits[1].ready && !waits[2].ready);
    assert_int_equal(write(to[1], "x", 1), 1);
    sk_link_wait(NULL, waits, 3, -1);
    assert_true(waits[0].ready && !waits[1].ready);
    assert_int_equal(close(to[1]), 0);
    assert_int_equal(read(to[0], &(char){0}, 1), 1);
    sk_link_wait(NULL, waits, 3, 1e9); /* its other end is gone */
    assert_true(waits[0].ready);
    close(to[0]);
    close(full[0]);
    close(full[1]);
    assert_false(is_loaded() > 0);
}

static void the_first_key_loads_it(void **state)
{
    (void)state;
    uint8_t secret[SK_KEY_BYTES] = {8}, known[SK_KEY_BYTES];
    assert_int_equal(sk_key_public(secret, known, NULL), 0);
    assert_true(is_loaded());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_without_a_link_waits),
        cmocka_unit_test(the_first_key_loads_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
