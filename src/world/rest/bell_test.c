/* A process sleeps until another one rings, and no ring is lost. */
#include "world/rest/bell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 3, ROUNDS = 2000, FIRST = 3, MANY = 50 }; /* the first look after which it sleeps */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The system's part: others may ring just when this process falls asleep. */
static int rings_now, waits, wakes;
static unsigned rings_for = SK_BELL_SENT;
long __real_syscall(long number, _Atomic uint32_t *word, int what, uint32_t value, const struct timespec *most, void *none, int zero);
long __wrap_syscall(long number, _Atomic uint32_t *word, int what, uint32_t value, const struct timespec *most, void *none, int zero);
long __wrap_syscall(long number, _Atomic uint32_t *word, int what, uint32_t value, const struct timespec *most, void *none, int zero)
{
    waits += what == FUTEX_WAIT;
    wakes += what == FUTEX_WAKE;
    for (; what == FUTEX_WAIT && rings_now; rings_now--)
        sk_bell_ring(1, rings_for);
    return __real_syscall(number, word, what, value, most, none, zero);
}

/* Whoever looks is not woken, whoever sleeps is. */
static void those_who_sleep_are_woken(void **state)
{
    struct sk_bell_place at;
    sk_bell_make(PROCESSES, &at);
    sk_bell_hang(1, 1);
    waits = wakes = 0;
    sk_bell_ring(1, SK_BELL_SENT);
    for (unsigned vain = 0; vain < FIRST; vain++)
        sk_bell_sleep(sk_bell_rung(), vain, SK_BELL_SENT);
    assert_int_equal(waits, 0); /* the first looks follow each other */
    rings_now = 1;
    sk_bell_sleep(sk_bell_rung(), MANY, SK_BELL_SENT);
    assert_int_equal(waits, 1);
    assert_int_equal(wakes, 1);
    sk_bell_ring(1, SK_BELL_SENT);
    assert_int_equal(wakes, 1);
    sk_bell_sleep(sk_bell_rung(), MANY, SK_BELL_SENT); /* ends by itself: nobody sleeps then */
    sk_bell_ring(1, SK_BELL_SENT);
    assert_int_equal(wakes, 1);
    assert_int_equal(sk_bell_rung(), 4);
    sk_bell_hang(1, 0);
}

/* Whoever waits for a message is not woken by who has received one; and of those that ring at the same time one wakes. */
static void a_sleeper_is_woken_once_and_for_what_it_waits_for(void **state)
{
    struct sk_bell_place at;
    sk_bell_make(PROCESSES, &at);
    sk_bell_hang(1, 1);
    waits = wakes = 0;
    rings_for = SK_BELL_TAKEN;
    rings_now = 3;
    sk_bell_sleep(sk_bell_rung(), MANY, SK_BELL_SENT);
    assert_int_equal(wakes, 0);
    rings_now = 3;
    sk_bell_sleep(sk_bell_rung(), MANY, SK_BELL_SENT | SK_BELL_TAKEN);
    assert_int_equal(wakes, 1);
    rings_for = SK_BELL_SENT;
    rings_now = 3;
    sk_bell_sleep(sk_bell_rung(), MANY, SK_BELL_SENT | SK_BELL_TAKEN);
    assert_int_equal(wakes, 2);
    assert_int_equal(waits, 3);
    assert_int_equal(sk_bell_rung(), 9);
    sk_bell_hang(1, 0);
}

static void nobody_is_rung_where_there_is_no_bell(void **state)
{
    struct sk_bell_place at = {.process = (uint64_t)getpid(), .descriptor = 0, .nonce = 0};
    assert_int_equal(sk_bell_find(PROCESSES, &at), 0);
    sk_bell_hang(1, 0);
    sk_bell_ring(0, SK_BELL_SENT);
    assert_int_equal(sk_bell_rung(), 0);
    assert_int_equal(sk_bell_sleep(0, MANY, SK_BELL_SENT), 0);
}

static void memory_that_is_another_one_is_not_used(void **state)
{
    struct sk_bell_place at;
    sk_bell_make(PROCESSES, &at);
    at.nonce ^= 1;
    pid_t child = fork();
    if (!child)
        _exit(sk_bell_find(PROCESSES, &at));
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    sk_bell_hang(0, 0);
    assert_int_equal(sk_bell_sleep(0, MANY, SK_BELL_SENT), 0);
}

/* Each sleeps until the other one has rung, in turns. */
static void two_ring_each_other(void **state)
{
    struct sk_bell_place at;
    int me = 0;
    _Atomic unsigned *said = mmap(NULL, sizeof *said * 3, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(said != MAP_FAILED);
    sk_bell_make(PROCESSES, &at);
    assert_true(at.nonce != 0);
    pid_t child = fork();
    if (!child) {
        me = 2;
        if (!sk_bell_find(PROCESSES, &at))
            _exit(1);
        atomic_store(&said[2], 1);
    }
    alarm(60); /* of both */
    while (!atomic_load(&said[2])) /* before the descriptor is closed */
        usleep(100);
    sk_bell_hang(me, 1);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        atomic_store(&said[me / 2], i);
        sk_bell_ring(2 - me, SK_BELL_SENT);
        for (;;) {
            uint32_t rung = sk_bell_rung();
            if (atomic_load(&said[!me]) >= i)
                break;
            if (!sk_bell_sleep(rung, MANY, SK_BELL_SENT))
                _exit(2);
        }
    }
    if (!child)
        _exit(0);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(sk_bell_rung(), ROUNDS);
    sk_bell_hang(0, 0);
    alarm(0);
    munmap(said, sizeof *said * 3);
}

/* A ring between the look and the sleep ends it at once; without one it ends by itself. */
static void a_ring_after_the_look_is_heard(void **state)
{
    struct sk_bell_place at;
    sk_bell_make(PROCESSES, &at);
    sk_bell_hang(1, 1);
    uint32_t rung = sk_bell_rung();
    int soon = 0, late = 0;
    for (int i = 0; i < 100; i++) {
        double begun = now();
        sk_bell_ring(1, SK_BELL_SENT);
        assert_int_equal(sk_bell_sleep(rung, MANY, SK_BELL_SENT), 1);
        soon += now() - begun < 0.0005;
    }
    assert_int_equal(sk_bell_rung(), rung + 100);
    for (int i = 0; i < 20; i++) {
        double begun = now();
        assert_int_equal(sk_bell_sleep(sk_bell_rung(), MANY, SK_BELL_SENT), 1);
        late += now() - begun > 0.0007;
    }
    assert_int_equal(late, 20);
    for (late = 0; late < 5; late++) { /* where all ring the first sleep is long */
        double begun = now();
        sk_bell_sleep(sk_bell_rung(), FIRST, SK_BELL_SENT | SK_BELL_ALL);
        assert_true(now() - begun > 0.004);
    }
    assert_in_range(soon, 50, 100);
    sk_bell_hang(1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_rung_where_there_is_no_bell),
        cmocka_unit_test(memory_that_is_another_one_is_not_used),
        cmocka_unit_test(those_who_sleep_are_woken),
        cmocka_unit_test(a_sleeper_is_woken_once_and_for_what_it_waits_for),
        cmocka_unit_test(two_ring_each_other),
        cmocka_unit_test(a_ring_after_the_look_is_heard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
