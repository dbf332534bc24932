/* Wherever memory runs out while a session begins, restarts, makes a checkpoint and ends: SAIKAI_ENOMEM and a sentence, or it goes on,
 * and what was complete before is what the next start gets. */
#include "base/host/no_memory_testing.h"
#include "lib/whole/session_testing.h"

#include "base/file/io.h"
#include "group/loop.h"

#include <stdio.h>
#include <unistd.h>

enum { CELLS = 600 };

/* One start of a program of one rank: it gets `from`, and makes the checkpoint of `makes`. */
struct start {
    int64_t from, makes;
    struct sk_config *config;
    struct saikai_error *err;
};

static int may_fail(struct sk_group *g, void *arg)
{
    struct start *how = arg;
    struct sk_session *s = NULL;
    static double u[CELLS];
    int restored = 0;
    int64_t from = 0;
    int rc = world_session(g, how->config, &s, how->err);
    if (rc)
        return rc;
    rc = world_protect(s, u, CELLS, how->err);
    if (!rc)
        rc = sk_session_restart(s, &restored, &from, how->err);
    if (!rc && (from != how->from || restored != (from > 0) || (from && u[CELLS - 1] != (double)from)))
        rc = sk_fail(how->err, SAIKAI_EIO, "it goes on from %lld", (long long)from);
    for (int i = 0; i < CELLS; i++)
        u[i] = (double)how->makes;
    if (!rc && how->makes) {
        rc = sk_session_candidate(s, 0, how->makes, how->err);
        rc = rc > 0 ? 0 : rc;
    }
    if (!rc)
        sk_engine_drain(s->levels.engine);
    sk_session_abandon(s);
    return rc;
}

static int begin_and_end(struct sk_group *g, void *arg)
{
    struct start *how = arg;
    struct sk_group *own;
    struct sk_request *request;
    int64_t values[2] = {0, 0};
    int rc = sk_group_dup(g, &own);
    if (!rc && !(rc = sk_group_iallreduce(own, values, 2, SK_OP_MIN, &request)))
        rc = sk_group_wait(own, &request);
    if (!rc)
        sk_group_free(own);
    sk_config_free(how->config);
    return rc;
}

static int start(struct start *how, int (*program)(struct sk_group *g, void *arg), struct saikai_error *err)
{
    int on = __atomic_exchange_n(&no_memory.on, 0, __ATOMIC_ACQ_REL);
    how->config = world_config("schedule.first=no; schedule.every=1; redundancy.scheme=none; restart.tries=1000");
    how->err = err;
    __atomic_store_n(&no_memory.on, on, __ATOMIC_RELEASE);
    return sk_loop_run(1, program, how);
}

static int run(void *arg, struct saikai_error *err)
{
    return start(arg, may_fail, err);
}

static int spared(void *arg, struct saikai_error *err)
{
    return start(arg, begin_and_end, err);
}

static void anew(void *arg)
{
    (void)arg;
    world_anew();
}

static int make_dir(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-nomem-XXXXXX", SK_LOG_WARN);
}

static int remove_dir(void **state)
{
    (void)state;
    return world_end();
}

static void a_session_begins_or_memory_is_out(void **state)
{
    (void)state;
    struct start how = {.makes = 10};
    int failed = no_memory_sweep_places(run, NULL, anew, &how, spared);
    assert_true(failed >= 10);
}

static void a_restart_gets_what_was_there_or_memory_is_out(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct start first = {.makes = 10}, again = {.from = 10};
    assert_int_equal(run(&first, &err), 0);
    assert_true(no_memory_sweep_places(run, NULL, NULL, &again, spared) >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_restart_gets_what_was_there_or_memory_is_out, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_session_begins_or_memory_is_out, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
