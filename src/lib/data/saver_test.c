/* What is saved while the program goes on is what was there at the call, one snapshot at a time, and what does not pay is copied. */
#include "lib/data/saver.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/host/headroom.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { LARGE = 6 << 20, SMALL = 3 << 20, LITTLE = 1000 };

static uint8_t *from, *to, *beside, *beside_to;

static uint8_t *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static int make_memory(void **state)
{
    (void)state;
    from = map(LARGE);
    to = map(LARGE);
    beside = map(LITTLE);
    beside_to = map(LITTLE);
    return 0;
}

static int remove_memory(void **state)
{
    (void)state;
    return munmap(from, LARGE) | munmap(to, LARGE) | munmap(beside, LITTLE) | munmap(beside_to, LITTLE);
}

static struct sk_saver *opened(const char *form)
{
    struct sk_config *c = sk_config_new();
    struct sk_saver *sv = NULL;
    struct saikai_error err = {0};
    assert_int_equal(sk_config_set(c, "capture.snapshot", form, SK_FROM_API, "", &err), 0);
    int rc = sk_saver_open(c, &sv, &err);
    sk_config_free(c);
    if (rc == SAIKAI_ENOTSUP) {
        assert_non_null(strstr(err.text, "capture.snapshot"));
        return NULL;
    }
    assert_int_equal(rc, 0);
    return sv;
}

static int all_are(const uint8_t *p, size_t n, int value)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != value)
            return 0;
    return 1;
}

/* Save `bytes` of 1s, and a little that does not stay, and overwrite all at once. */
static int save(struct sk_saver *sv, size_t bytes, int stays)
{
    memset(from, 1, LARGE);
    memset(beside, 2, LITTLE);
    memset(to, 0, LARGE);
    memset(beside_to, 0, LITTLE);
    const struct sk_saving v[] = {{from, to, bytes, stays}, {NULL, NULL, 0, 1}, {beside, beside_to, LITTLE, 0}};
    int begun = sk_saver_begin(sv, v, 3);
    memset(from, 9, LARGE);
    memset(beside, 9, LITTLE);
    assert_true(all_are(beside_to, LITTLE, 2)); /* may be elsewhere when the call has returned */
    if (!begun)
        assert_true(all_are(to, bytes, 1));
    return begun;
}

static void finish(struct sk_saver *sv, size_t bytes)
{
    struct saikai_error err = {0};
    assert_int_equal(sk_saver_finish(sv, &err), 0);
    assert_true(all_are(to, bytes, 1) && all_are(to + bytes, LARGE - bytes, 0));
}

static void what_is_to_be_copied_is_copied(void **state)
{
    (void)state;
    struct sk_saver *sv = opened("copy");
    assert_int_equal(save(sv, LARGE, 1), 0);
    sk_saver_wait(sv); /* for nothing */
    sk_saver_wait(NULL);
    sk_saver_close(sv);
    sk_saver_close(NULL);
}

static atomic_int waited;
static void *wait_for_it(void *sv)
{
    sk_saver_wait(sv);
    waited = 1;
    return NULL;
}

static void later_writes_do_not_reach_it(void **state)
{
    (void)state;
    static const char *const forms[] = {"auto", "fork", "uffd"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct sk_saver *sv = opened(forms[i]);
        if (!sv) /* does not work here */
            continue;
        assert_int_equal(save(sv, SMALL, 1), 0); /* does not pay */
        assert_int_equal(save(sv, LARGE, 0), 0);
        assert_int_equal(save(sv, LARGE, 1), 1);
        finish(sv, LARGE);
        assert_int_equal(save(sv, LARGE - 4096, 1), 1); /* and again, of another size */
        /* one at a time: what comes meanwhile is copied, and right */
        uint8_t *other = map(LARGE), *other_to = map(LARGE);
        memset(other, 5, LARGE);
        const struct sk_saving v = {other, other_to, LARGE, 1};
        assert_int_equal(sk_saver_begin(sv, &v, 1), 0);
        assert_true(all_are(other_to, LARGE, 5));
        /* whoever wants to give memory back waits for the end */
        pthread_t t;
        waited = 0;
        assert_int_equal(pthread_create(&t, NULL, wait_for_it, sv), 0);
        sk_sleep(0.05);
        assert_int_equal(waited, 0);
        finish(sv, LARGE - 4096);
        pthread_join(t, NULL);
        assert_int_equal(waited, 1);
        munmap(other, LARGE);
        munmap(other_to, LARGE);
        assert_int_equal(save(sv, LARGE, 1), 1); /* given up on the way */
        sk_saver_close(sv);
    }
}

/* What the program overwrites meanwhile must find room. */
static void without_room_it_is_copied(void **state)
{
    (void)state;
    static const struct {
        long free_kib;
        int begins;
    } cases[] = {{LARGE >> 10, 1}, {(LARGE >> 10) - 1, 0}};
    char dir[] = "/tmp/saikai-saver-XXXXXX", path[64], text[128];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/proc", dir);
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    strcat(path, "/meminfo");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_saver *sv = opened("auto");
        int n = snprintf(text, sizeof text, "MemTotal: 6400 kB\nMemAvailable: %ld kB\n", cases[i].free_kib + 100); /* one of 64 is left to others */
        assert_int_equal(sk_io_replace(path, text, (size_t)n, NULL), 0);
        sk_headroom_look_below(dir);
        int begun = save(sv, LARGE, 1);
        sk_headroom_look_below("");
        if (begun != cases[i].begins)
            fail_msg("case %zu: begun %d", i, begun);
        if (begun)
            finish(sv, LARGE);
        sk_saver_close(sv);
    }
    assert_int_equal(sk_io_rmtree(dir, NULL), 0);
}

/* One that failed: the next eight are copied, and then it is tried again. */
static void after_a_failure_it_is_copied_for_a_while(void **state)
{
    (void)state;
    static const char *const forms[] = {"auto", "fork", "uffd"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct sk_saver *sv = opened(forms[i]);
        struct saikai_error err = {0};
        uint8_t *gone = map(LARGE);
        memset(gone, 1, LARGE);
        const struct sk_saving v = {gone, to, LARGE, 1};
        int begun = sv && sk_saver_begin(sv, &v, 1);
        munmap(gone, LARGE); /* against the rules */
        if (begun && sk_saver_finish(sv, &err)) {
            for (int k = 0; k < 8; k++)
                assert_int_equal(save(sv, LARGE, 1), 0);
            assert_int_equal(save(sv, LARGE, 1), 1);
            finish(sv, LARGE);
        }
        sk_saver_close(sv);
    }
}

/* A form that was asked for by its name and cannot be opened: it is said so, and which key says it. */
static void one_that_cannot_be_opened_is_told(void **state)
{
    (void)state;
    struct sk_config *c = sk_config_new();
    struct rlimit most, none;
    struct saikai_error err = {0};
    struct sk_saver *sv = NULL;
    assert_int_equal(sk_config_set(c, "capture.snapshot", "uffd", SK_FROM_API, "", &err), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &most), 0);
    none = (struct rlimit){0, most.rlim_max}; /* no further descriptor */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int rc = sk_saver_open(c, &sv, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &most), 0);
    assert_true(rc < 0 && !sv && err.code == rc && !strncmp(err.text, "capture.snapshot", 16));
    sk_config_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(what_is_to_be_copied_is_copied, make_memory, remove_memory),
        cmocka_unit_test_setup_teardown(later_writes_do_not_reach_it, make_memory, remove_memory),
        cmocka_unit_test_setup_teardown(without_room_it_is_copied, make_memory, remove_memory),
        cmocka_unit_test_setup_teardown(after_a_failure_it_is_copied_for_a_while, make_memory, remove_memory),
        cmocka_unit_test(one_that_cannot_be_opened_is_told),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
