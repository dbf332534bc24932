/* Wherever memory runs out while rates are read and jobs are simulated: SAIKAI_ENOMEM, and the answer is the same as ever otherwise. */
#include "base/host/no_memory_testing.h"
#include "base/near_testing.h"
#include "base/file/io.h"
#include "schedule/failure/rates.h"
#include "schedule/learn/database.h"
#include "schedule/simulate.h"
#include "schedule/simulate_levels.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static char dir[64], path[96];

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-schedule-XXXXXX");
    int rc = !mkdtemp(dir);
    snprintf(path, sizeof path, "%s/rates", dir);
    return rc;
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static int read_rates(void *arg, struct saikai_error *err)
{
    static const char *const hosts[] = {"n7", "n8", "n200", "stranger"};
    struct sk_rates *r = NULL;
    size_t unknown = 0;
    int rc = sk_rates_open(path, 0.5, &r, err);
    if (!rc)
        rc = sk_rates_sum(r, hosts, 4, arg, &unknown, err);
    if (!rc && (sk_rates_count(r) != 200 || unknown != 1))
        rc = sk_fail(err, SAIKAI_EIO, "%zu hosts, %zu unknown", sk_rates_count(r), unknown);
    sk_rates_free(r);
    return rc;
}

static void the_sum_is_right(void *arg)
{
    double *sum = arg;
    assert_near(*sum, 0.25 + 0.25 + 0.25 + 0.5, 1e-12);
    *sum = 0;
}

static void rates_are_read_or_memory_is_out(void **state)
{
    (void)state;
    double sum = 0;
    static const char text[] = "n[1-200] 0.25/s\n";
    assert_int_equal(sk_io_replace(path, text, sizeof text - 1, NULL), 0);
    assert_true(no_memory_sweep(read_rates, the_sum_is_right, NULL, &sum) >= 6);
}

static int simulate(void *arg, struct saikai_error *err)
{
    struct sk_simulation_result out;
    struct sk_simulation s = {.costs = {.cost = 2, .latency = 2, .restart = 5}, .fleet = {.nodes = 3, .rate = 1e-5}, .work = 1e5,
                              .interval = 500, .seed = 3, .runs = 4, .max_failures = 100000};
    int rc = sk_simulate(&s, &out, err);
    if (!rc)
        *(double *)arg = out.wall;
    return rc;
}

static int simulate_levels(void *arg, struct saikai_error *err)
{
    static const struct sk_level l[2] = {{1e-5, 2, 2, 5}, {1e-6, 3, 5, 10}};
    static const int64_t every[2] = {1, 4};
    struct sk_levels_simulation s = {.levels = l, .n = 2, .interval = 500, .every = every, .work = 1e5, .seed = 3, .runs = 4,
                                     .max_failures = 100000};
    struct sk_levels_simulation_result out;
    int rc = sk_levels_simulate(&s, &out, err);
    if (!rc)
        *(double *)arg = out.overhead;
    return rc;
}

static double first; /* what was found with all memory */
static void it_is_the_same(void *arg)
{
    double *found = arg;
    first = first > 0 ? first : *found;
    assert_true(*found > 0 && *found == first);
    *found = 0;
}

static void jobs_are_simulated_or_memory_is_out(void **state)
{
    (void)state;
    double found = first = 0;
    assert_true(no_memory_sweep(simulate, it_is_the_same, NULL, &found) >= 2);
    found = first = 0;
    assert_true(no_memory_sweep(simulate_levels, it_is_the_same, NULL, &found) >= 1);
}

#ifdef HAVE_SQLITE
static int look_at_database(void *arg, struct saikai_error *err)
{
    struct sk_database *db = NULL;
    size_t n = *(size_t *)arg = 65536;
    double shape;
    int rc = sk_database_open(path, 1, 1, &db, err);
    if (!rc)
        rc = sk_database_shape(db, SK_SIDE_NODE, &shape, &n, err);
    sk_database_close(db);
    *(size_t *)arg = n;
    return rc;
}

static void nothing_was_seen(void *arg)
{
    assert_int_equal(*(size_t *)arg, 0);
}

static void the_database_is_asked_or_memory_is_out(void **state)
{
    (void)state;
    size_t n;
    assert_true(no_memory_sweep(look_at_database, nothing_was_seen, NULL, &n) >= 2);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rates_are_read_or_memory_is_out, make_dir, remove_dir),
        cmocka_unit_test(jobs_are_simulated_or_memory_is_out),
#ifdef HAVE_SQLITE
        cmocka_unit_test_setup_teardown(the_database_is_asked_or_memory_is_out, make_dir, remove_dir),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
