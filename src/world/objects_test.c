/* The table of handles against a plain list. */
#include "world/objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { KEYS = 500, STEPS = 200000 };

static uint64_t random_number(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void agrees(const struct sk_objects *t, const uint32_t there[KEYS])
{
    size_t n = 0;
    for (uint64_t k = 0; k < KEYS; k++) {
        const struct sk_object *o = sk_objects_find(t, 64 * (k + 1));
        assert_int_equal(o != NULL, there[k] != 0);
        if (o)
            assert_int_equal(o->epoch, there[k]);
        n += there[k] != 0;
    }
    assert_int_equal(t->count, n);
}

static void holds_what_is_put_into_it(void **arg)
{
    struct sk_objects t = {0};
    uint32_t there[KEYS] = {0};
    uint64_t state = 42;
    (void)arg;
    assert_null(sk_objects_find(&t, 64));
    sk_objects_remove(&t, 64);
    for (uint32_t i = 1; i <= STEPS; i++) {
        uint64_t r = random_number(&state), k = r % KEYS;
        if (r >> 32 & 1) {
            struct sk_object *o = sk_objects_add(&t, 64 * (k + 1));
            assert_non_null(o);
            assert_int_equal(o->epoch, there[k]);
            o->epoch = there[k] = i;
        } else {
            sk_objects_remove(&t, 64 * (k + 1));
            there[k] = 0;
        }
        if (i % 5000 == 0)
            agrees(&t, there);
    }
    sk_objects_free(&t);
    assert_null(sk_objects_find(&t, 64));
}

static void a_freed_handle_may_come_again(void **arg)
{
    struct sk_objects t = {0};
    (void)arg;
    for (int i = 0; i < 1000; i++) {
        struct sk_object *o = sk_objects_add(&t, 4096);
        assert_int_equal(o->flags, 0);
        o->flags = SK_OBJECT_RECEIVES;
        sk_objects_remove(&t, 4096);
    }
    assert_int_equal(t.count, 0);
    assert_int_equal(t.slots, 64);
    sk_objects_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_what_is_put_into_it),
        cmocka_unit_test(a_freed_handle_may_come_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
