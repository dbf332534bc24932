/* What the library does when the world below it was repaired: a body that runs once more, and a rank that stays where it is. */
#include "lib/api/api_testing.h"

#include "lib/api/api.h"
#include "world/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- a stand-in for the layer between program and MPI ---- */

static struct {
    int (*able)(void), (*rejoin)(void);
    int runs;         /* of a body; the last one is the one that comes to its end */
    int in_repair;    /* what sk_world_settle says */
    int64_t key;      /* what it was told */
    uint64_t position;
    int settled;
    int goes_on; /* whether the rank is in a repair */
    int replicates, logged;
} layer;

int saikai_world_replicates(void)
{
    return layer.replicates;
}

int saikai_world_is_logged(void)
{
    return layer.logged;
}

int saikai_world_goes_on(void)
{
    return layer.goes_on;
}

void saikai_world_on_repair(int (*able)(void), int (*rejoin)(void))
{
    layer.able = able;
    layer.rejoin = rejoin;
}

void saikai_world_in_place(void (*body)(void *), void *arg, void (*abandon)(void))
{
    for (int i = 0; i < layer.runs; i++) {
        if (i)
            abandon();
        body(arg);
    }
}

int saikai_world_settle(int64_t key, uint64_t *position)
{
    layer.key = key;
    *position = layer.position;
    return layer.in_repair;
}

void saikai_world_settled(void)
{
    layer.settled++;
}

/* ---- a body that runs once more ---- */

struct turn {
    int n, rc, restored[3];
    long it[3];
    double x[3];
};

/* Each time two candidates further than the last checkpoint, and it is left there but for the last time. */
static int body_of(struct turn *t)
{
    double x = -1;
    long it = 0;
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("")) && !saikai_protect("x", &x, SAIKAI_F64, 0, NULL));
    t->restored[t->n] = saikai_restart(&it);
    t->it[t->n] = it;
    t->x[t->n] = x;
    x = 10.0 * (double)(it + 3);
    CHECK(saikai_checkpoint_now(it + 3) == 1 && !saikai_wait());
    x = 0;
    CHECK(saikai_checkpoint(it + 4) == 0);
    return ++t->n == layer.runs ? saikai_finalize() : 0;
}

static void body(void *arg)
{
    struct turn *t = arg;
    t->rc = t->rc ? t->rc : body_of(t);
}

static int runs_once_more(void)
{
    struct turn t = {0};
    struct saikai *other;
    layer.runs = 3;
    CHECK(!saikai_open(MPI_COMM_WORLD, api_testing_settings("job.name=other"), &other)); /* abandoned with the first world */
    saikai_in_place(body, &t);
    CHECK(!t.rc && t.n == 3 && !saikai_default());
    CHECK(layer.able == sk_rejoin_able && layer.rejoin == sk_rejoin);
    CHECK(!t.restored[0] && t.x[0] == -1);
    CHECK(t.restored[1] == 1 && t.it[1] == 3 && t.x[1] == 30);
    CHECK(t.restored[2] == 1 && t.it[2] == 6 && t.x[2] == 60);
    CHECK(!saikai_open(MPI_COMM_WORLD, api_testing_settings("job.name=other"), &other) && !saikai_close(other)); /* its store is free */
    return 0;
}

static void a_body_runs_once_more(void **state)
{
    (void)state;
    api_testing_runs(runs_once_more);
}

/* ---- each rank is two processes ---- */

/* Both do the same, and neither saves anything nor goes back. */
static int saves_nothing(void)
{
    double x = 5;
    long it = 7;
    char path[128];
    layer.replicates = 1;
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("schedule.every=1")) && !saikai_protect("x", &x, SAIKAI_F64, 0, NULL));
    CHECK(saikai_restart(&it) == 0 && it == 7);
    for (int i = 1; i < 5; i++)
        CHECK(saikai_checkpoint(i) == 0);
    CHECK(saikai_checkpoint_now(5) == 1 && !saikai_wait() && !saikai_finalize());
    layer.replicates = 0;
    snprintf(path, sizeof path, "%s/prefix", api_testing_dir);
    CHECK(access(path, F_OK));
    /* where each is one process it does */
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("")) && !access(path, F_OK));
    return saikai_finalize();
}

static void replicas_save_nothing(void **state)
{
    (void)state;
    api_testing_runs(saves_nothing);
}

/* ---- a rank that stays where it is ---- */

static int is_able_only_in_the_plain_case(void)
{
    struct saikai *other;
    double x = 0;
    CHECK(!sk_rejoin_able()); /* nothing was begun */
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("")) && !saikai_protect("x", &x, SAIKAI_F64, 0, NULL));
    CHECK(!sk_rejoin_able()); /* not restarted yet: a new process would wait for that */
    CHECK(!saikai_restart(NULL) && sk_rejoin_able());
    sk_api_inside = 1;
    CHECK(!sk_rejoin_able());
    sk_api_inside = 0;
    CHECK(!saikai_open(MPI_COMM_WORLD, api_testing_settings("job.name=other"), &other) && !sk_rejoin_able());
    CHECK(!saikai_close(other) && sk_rejoin_able());
    CHECK(saikai_checkpoint_begin(1) == 0 && saikai_checkpoint_begin(2) == 0 && sk_rejoin_able());
    CHECK(saikai_checkpoint_begin(3) == 1 && !sk_rejoin_able()); /* its files are half written */
    CHECK(!saikai_checkpoint_end(1) && sk_rejoin_able());
    layer.logged = 1;
    CHECK(!saikai_bound("x", SAIKAI_ABS, 0.5) && sk_rejoin_able()); /* what was saved so far is exact */
    CHECK(saikai_checkpoint_now(4) == 1 && !sk_rejoin_able());
    CHECK(strstr(api_testing_log, "'x' is saved within abs:0.5: after a fault all ranks go back"));
    CHECK(!saikai_bound("x", SAIKAI_EXACT, 0) && saikai_checkpoint_now(5) == 1 && !sk_rejoin_able() && !saikai_finalize()); /* the newest that is complete may be either */
    layer.logged = 0;
    CHECK(!saikai_init(MPI_COMM_SELF, api_testing_settings("")) && !saikai_restart(NULL) && !sk_rejoin_able());
    return saikai_finalize();
}

static int keeps_its_data(void)
{
    double x = 1;
    long it = 0;
    struct saikai *h;
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("")) && !saikai_protect("x", &x, SAIKAI_F64, 0, NULL));
    layer.in_repair = 0;
    layer.settled = 0;
    CHECK(!saikai_restart(&it) && !layer.key && !layer.settled);
    for (it = 1; it <= 5; it++) {
        x = (double)it;
        CHECK(saikai_checkpoint(it) == (it == 3));
    }
    CHECK(!saikai_wait());
    h = saikai_default();
    uint64_t at = sk_clock_position(&h->session->clock);
    layer.in_repair = 1;
    layer.position = 3;
    CHECK(sk_rejoin_able() && !sk_rejoin());
    CHECK(saikai_default() == h && x == 5 && layer.key && layer.settled == 1);
    CHECK(sk_clock_position(&h->session->clock) == at); /* not that of the generation */
    x = 6;
    CHECK(saikai_checkpoint(6) >= 0 && saikai_checkpoint_now(7) == 1 && !saikai_wait());
    return 0;
}

/* A new process takes the place that the layer tells it. */
static int takes_its_place(void)
{
    double x = 0;
    long it = 0;
    layer.in_repair = 1;
    layer.position = 41;
    layer.settled = 0;
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("")) && !saikai_protect("x", &x, SAIKAI_F64, 0, NULL));
    CHECK(saikai_restart(&it) == 1 && it == 7 && x == 6 && layer.key && layer.settled == 1);
    CHECK(sk_clock_position(&saikai_default()->session->clock) == 41);
    layer.in_repair = 0;
    return saikai_finalize();
}

static void abandon(void *arg)
{
    (void)arg;
}

static int is_abandoned(void)
{
    int rc = keeps_its_data();
    layer.runs = 2;
    saikai_in_place(abandon, NULL);
    CHECK(!saikai_default());
    return rc ? rc : takes_its_place();
}

static void a_rank_stays_where_it_is(void **state)
{
    (void)state;
    api_testing_runs(is_able_only_in_the_plain_case);
    api_testing_runs(is_abandoned);
}

/* What a candidate cannot do while the world is repaired is no error of the program's, and nothing is saved; afterwards it is told again. */
static int hears_nothing_of_a_repair(void)
{
    double x = 1;
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("")) && !saikai_protect("x", &x, SAIKAI_F64, 0, NULL));
    CHECK(!saikai_restart(NULL) && saikai_checkpoint_now(5) == 1 && !saikai_wait());
    layer.goes_on = 1;
    CHECK(saikai_checkpoint(4) == 0 && saikai_checkpoint_now(3) == 0);
    layer.goes_on = 0;
    CHECK(saikai_checkpoint(4) == SAIKAI_EINVAL && saikai_checkpoint_now(3) == SAIKAI_EINVAL);
    CHECK(saikai_checkpoint_now(6) == 1);
    return saikai_finalize();
}

static void a_repair_is_no_error_of_a_candidate(void **state)
{
    (void)state;
    api_testing_runs(hears_nothing_of_a_repair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_body_runs_once_more, api_testing_make_dir, api_testing_remove_dir),
        cmocka_unit_test_setup_teardown(replicas_save_nothing, api_testing_make_dir, api_testing_remove_dir),
        cmocka_unit_test_setup_teardown(a_rank_stays_where_it_is, api_testing_make_dir, api_testing_remove_dir),
        cmocka_unit_test_setup_teardown(a_repair_is_no_error_of_a_candidate, api_testing_make_dir, api_testing_remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
