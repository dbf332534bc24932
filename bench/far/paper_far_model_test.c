/* Contention explains what bytes do not, aggregators are counted as eq. 3 does, and the server of the
 * far benches counts the files that are open and is slower for them. */
#include "paper_far_model.h"
#include "paper_far_shared.h"

#include "base/clock.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

/* The model gives back what it was made from. */
static void contention_gives_back_the_measurement(void **state)
{
    double c = far_contention(0.87, 3.8, 15408, 32);
    double left = far_slowdown(482, c) / far_slowdown(15408, c) / 3.8;
    (void)state;
    assert_true(c > 0);
    assert_true(fabs(left - 0.13) < 1e-3);
    assert_true(fabs(far_contention(0.75, 4, 1000, 10)) < 1e-12); /* bytes explain all */
    assert_true(far_slowdown(0, c) == 1);
}

/* The paper's set on fewer ranks: as slow as its processes were. */
static void ranks_stand_for_the_processes_of_the_paper(void **state)
{
    double at16 = far_slowdown(16, far_paper_contention(16)),
           at64 = far_slowdown(64, far_paper_contention(64));
    (void)state;
    assert_true(fabs(at16 - at64) < 1e-9);
    assert_true(at16 > 1.9 && at16 < 2.3);
}

static void aggregators_are_those_of_equation_3(void **state)
{
    (void)state;
    assert_int_equal(far_aggregator_nodes(15408, 12, 32), 41); /* 40.1 */
    assert_int_equal(far_aggregator_nodes(384, 12, 32), 1);
    assert_int_equal(far_aggregator_nodes(385, 12, 32), 2);
    assert_int_equal(far_writers(16, far_span(0, 16)), 16);
    assert_int_equal(far_writers(16, far_span(1, 16)), 1);
    assert_int_equal(far_writers(15, far_span(4, 15)), 4);
}

static int open_there(const char *dir, int i)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%d", dir, i);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    unlink(path);
    return fd;
}

/* 100 KB at 10 MB/s are 10 ms; two files that are open, each with a contention of 2, make 50 of it. */
static void open_files_slow_the_server_down(void **state)
{
    static const char bytes[100000];
    char dir[] = "/tmp/paper-far-model.XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(dir));
    far_shared(dir, 10e6, 0);
    far_shared_contention(2);
    int a = open_there(dir, 0), b = open_there(dir, 1);
    double begun = sk_now();
    assert_int_equal(write(a, bytes, sizeof bytes), sizeof bytes);
    assert_true(sk_now() - begun >= 0.0499);
    close(b);
    b = open_there(dir, 2);
    assert_int_equal(far_shared_at_once(), 2); /* one after another is not at once */
    assert_int_equal(far_shared_opened(), 3);
    close(a);
    close(b);
    far_shared(NULL, 0, 0);
    assert_int_equal(rmdir(dir), 0);
}

static void a_number_is_all_of_the_text_and_within_limits(void **state)
{
    static const char *const wrong[] = {"", " ", "x", "0.1x", "-0.1", "1e9", "inf", "-inf", "nan", "0,1"};
    double v = 7;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(far_number(wrong[i], 0, 1000, &v), -1);
    assert_true(v == 7);
    assert_int_equal(far_number("0", 0, 1000, &v), 0);
    assert_true(v == 0);
    assert_int_equal(far_number("0.0685", 0, 1000, &v), 0);
    assert_true(fabs(v - 0.0685) < 1e-12);
}

/* Bytes that are handed to the server take processor time, and waiting for it takes none. */
static void steps_are_told_apart(void **state)
{
    enum { MANY = 4 << 20 };
    char dir[] = "/tmp/paper-far-steps.XXXXXX";
    double s[FAR_STEPS];
    char *bytes = calloc(1, MANY);
    (void)state;
    assert_true(bytes && mkdtemp(dir));
    far_shared(dir, MANY / 0.1, 0); /* a tenth of a second */
    far_shared_time_steps();
    int there = open_there(dir, 0), here = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_int_equal(write(there, bytes, MANY), MANY);
    far_shared_steps(s);
    assert_true(s[FAR_WRITE_SHARED] > 0 && s[FAR_WRITE_SHARED] < 0.09);
    assert_true(s[FAR_READ_NODE] == 0 && s[FAR_WRITE_NODE] == 0 && s[FAR_READ_SHARED] == 0);
    assert_int_equal(read(here, bytes, MANY), MANY);
    far_shared_steps(s);
    assert_true(s[FAR_READ_NODE] > 0 && s[FAR_READ_SHARED] == 0);
    close(there);
    close(here);
    far_shared(NULL, 0, 0);
    free(bytes);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contention_gives_back_the_measurement),
        cmocka_unit_test(ranks_stand_for_the_processes_of_the_paper),
        cmocka_unit_test(aggregators_are_those_of_equation_3),
        cmocka_unit_test(open_files_slow_the_server_down),
        cmocka_unit_test(a_number_is_all_of_the_text_and_within_limits),
        cmocka_unit_test(steps_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
