/* Wherever memory runs out, on any rank, in a job of three ranks whose checkpoints are coded, protected by parity, stored as changes and
 * brought into archives of the prefix: no rank waits for another one for ever, each call ends in the same verdict on all ranks, and what
 * the next start gets is a checkpoint that was made, whole. */
#include "base/host/no_memory_testing.h"
#include "lib/whole/session_testing.h"

#include "base/file/io.h"
#include "group/loop.h"
#include "group/patient.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { RANKS = 3, CELLS = 6000 };

/* One start: it goes on from wherever it can, and makes checkpoints after that one. */
struct start {
    const char *settings;
    int ranks, makes, finishes; /* makes: how many checkpoints */
    int unsaved[RANKS];         /* how many of them were not, for want of memory */
    int64_t from, made;         /* where it went on, and the last one that a call said to be made, or 0 */
    struct sk_config *config[RANKS];
    struct saikai_error err[RANKS];
    int rc[RANKS];
};

/* What each cell is after an iteration; only a few change with each one. */
static double cell(int64_t it, size_t i)
{
    return (double)i + (i / 64 % 8 == 0 ? (double)it : 0);
}

static int is_of(const double *u, size_t cells, size_t offset, int64_t it)
{
    for (size_t i = 0; i < cells; i++)
        if (u[i] != cell(it, offset + i))
            return 0;
    return 1;
}

static int steps(struct sk_session *s, double *u, size_t cells, size_t offset, struct start *how, struct saikai_error *err)
{
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {cells}, .data = u, .scope = SK_SKC_GLOBAL,
                       .tile = {.global = {CELLS}, .offset = {offset}}};
    int restored = 0;
    int64_t from = 0;
    int rc = sk_vars_put(&s->vars, &v, err);
    rc = sk_group_verdict(s->g, rc, err);
    if (!rc)
        rc = sk_session_restart(s, &restored, &from, err);
    if (!rc && from && !is_of(u, cells, offset, from))
        rc = sk_fail(err, SAIKAI_EIO, "rank %d: what it got is not iteration %lld", s->g->rank, (long long)from);
    if (!s->g->rank)
        how->from = from;
    for (int k = 1; !rc && k <= how->makes; k++) {
        int64_t it = from + 10 * k;
        for (size_t i = 0; i < cells; i++)
            u[i] = cell(it, offset + i);
        rc = sk_session_candidate(s, 0, it, err);
        sk_engine_drain(s->levels.engine);
        if (rc > 0 && !s->g->rank)
            how->made = it;
        if (rc < 0 && (!strstr(err->text, "is not saved") || !strstr(err->text, "memory")))
            return rc;
        how->unsaved[s->g->rank] += rc < 0; /* here, and the program goes on */
        rc = 0;
    }
    return rc;
}

static int may_fail(struct sk_group *g, void *arg)
{
    struct start *how = arg;
    struct saikai_error *err = &how->err[g->rank];
    struct sk_session *s = NULL;
    size_t first = CELLS * (size_t)g->rank / (size_t)g->size, end = CELLS * (size_t)(g->rank + 1) / (size_t)g->size;
    double u[CELLS];
    int rc = world_session(g, how->config[g->rank], &s, err);
    if (rc)
        return how->rc[g->rank] = rc;
    rc = steps(s, u, end - first, first, how, err);
    if (!rc && how->finishes)
        return how->rc[g->rank] = sk_session_finalize(s, err);
    sk_session_abandon(s);
    return how->rc[g->rank] = rc;
}

/* What a group of ranks asks for itself: without it, a rank cannot say to the others that it has none. */
static int talk(struct sk_group *g)
{
    int64_t v = 0, all[RANKS];
    int next = (g->rank + 1) % g->size, before = (g->rank + g->size - 1) % g->size;
    struct sk_request *r = NULL, *in = NULL, *out = NULL;
    struct sk_group *half;
    int rc = sk_group_barrier(g);
    rc = rc ? rc : sk_group_bcast(g, &v, sizeof v, 0);
    rc = rc ? rc : sk_group_allreduce(g, &v, 1, SK_OP_MIN);
    rc = rc ? rc : sk_group_allgather(g, &v, all, sizeof v);
    rc = rc ? rc : sk_group_iallreduce(g, &v, 1, SK_OP_MIN, &r);
    rc = rc ? rc : sk_group_wait(g, &r);
    rc = rc ? rc : sk_group_irecv(g, all, sizeof v, before, 1, &in);
    rc = rc ? rc : sk_group_isend(g, &v, sizeof v, next, 1, &out);
    rc = rc ? rc : sk_group_wait(g, &in);
    rc = rc ? rc : sk_group_wait(g, &out);
    rc = rc ? rc : sk_group_split(g, g->rank / 2, 0, &half);
    if (!rc)
        sk_group_free(half);
    return rc;
}

static int begin_and_end(struct sk_group *g, void *arg)
{
    struct start *how = arg;
    struct sk_group *own, *patient;
    int rc = sk_group_dup(g, &own);
    rc = rc ? rc : talk(own);
    rc = rc ? rc : sk_group_patient(own, NULL, &patient, NULL);
    rc = rc ? rc : talk(patient);
    if (!rc)
        sk_group_free(patient);
    sk_config_free(how->config[g->rank]);
    return rc;
}

static int start(struct start *how, int (*program)(struct sk_group *g, void *arg), struct saikai_error *err)
{
    int on = __atomic_exchange_n(&no_memory.on, 0, __ATOMIC_ACQ_REL);
    for (int r = 0; r < how->ranks; r++)
        how->config[r] = world_config("schedule.first=no; schedule.every=10; redundancy.domain=process; restart.mode=always; %s", how->settings);
    memset(how->err, 0, sizeof how->err);
    memset(how->rc, 0, sizeof how->rc);
    memset(how->unsaved, 0, sizeof how->unsaved);
    how->from = how->made = 0;
    __atomic_store_n(&no_memory.on, on, __ATOMIC_RELEASE);
    int rc = sk_loop_run(how->ranks, program, how);
    /* the rank that had none says so, and the others that it did */
    for (int r = how->ranks - 1; r >= 0; r--)
        if (how->rc[r] && (how->rc[r] != SAIKAI_EPEER || rc == SAIKAI_EPEER)) {
            rc = how->rc[r];
            *err = how->err[r];
        }
    return rc;
}

static int run(void *arg, struct saikai_error *err)
{
    return start(arg, may_fail, err);
}

static int spared(void *arg, struct saikai_error *err)
{
    return start(arg, begin_and_end, err);
}

static int all_or_none_failed(const struct start *how)
{
    int failed = 0;
    for (int r = 0; r < how->ranks; r++)
        failed += how->rc[r] != 0;
    if (failed && failed != how->ranks)
        fail_msg("%d of %d ranks failed: %d, %d, %d", failed, how->ranks, how->rc[0], how->rc[1], how->rc[2]);
    return failed;
}

/* The next start, with all memory: it gets what was said to be made, or says what of it was not saved; and is checked itself. */
static void goes_on(void *arg)
{
    struct start *how = arg, next = {.settings = how->settings, .ranks = how->ranks};
    struct saikai_error err = {0};
    int failed = all_or_none_failed(how);
    int64_t made = how->made;
    int lost = world_says("is not saved");
    if (run(&next, &err))
        fail_msg("the next start: %s", err.text);
    if (next.from != made && !(failed || lost))
        fail_msg("%lld was made, and the next start goes on from %lld:\n%s", (long long)made, (long long)next.from, world.said);
    world_anew();
    world.said[0] = 0;
}

static int make_dir(void **state)
{
    (void)state;
    return world_begin("/dev/shm/saikai-nomem-XXXXXX", SK_LOG_NOTICE);
}

static int remove_dir(void **state)
{
    (void)state;
    return world_end();
}

/* Nothing fits into memory of the nodes; and nothing but the job's own files is ever removed. */
static atomic_int astray;
static int no_room(const char *op, const char *path)
{
    if (!strcmp(op, "unlink") && (strncmp(path, world.dir, strlen(world.dir)) || strlen(path) > 250))
        atomic_store(&astray, 1);
    return !strcmp(op, "truncate") && strstr(path, "/local/") && strstr(path, "slot-") ? ENOSPC : 0;
}

/* What does not fit there is written into the prefix while the program waits, or memory is out for that as well. */
static void what_has_no_room_goes_to_the_prefix_or_memory_is_out(void **state)
{
    (void)state;
    struct start how = {.settings = "redundancy.scheme=none; restart.tries=1000", .ranks = RANKS, .makes = 2, .finishes = 1};
    struct saikai_error err = {0};
    sk_io_hook = no_room;
    if (run(&how, &err))
        fail_msg("%s", err.text);
    world_expect("was written to the prefix while the program waited", 1);
    goes_on(&how);
    assert_true(no_memory_sweep_places(run, NULL, goes_on, &how, spared) >= 40);
    sk_io_hook = NULL;
    assert_false(atomic_load(&astray));
}

static void checkpoints_are_made_by_all_or_none(void **state)
{
    (void)state;
    static const char *const settings[] = {
        "redundancy.scheme=rs; redundancy.interval=1ms; restart.tries=1000; store.archive=aggregate",
        "redundancy.scheme=partner; redundancy.interval=1ms; restart.tries=1000; store.prefix=none; capture.tracker=hash",
    };
    for (int i = 0; i < 2; i++) {
        struct start how = {.settings = settings[i], .ranks = RANKS, .makes = 3, .finishes = 1};
        assert_true(no_memory_sweep_places(run, NULL, goes_on, &how, spared) >= 40);
    }
}

/* What is there is what it gets, or memory is out for all of them. */
static void got_all(void *arg)
{
    struct start *how = arg;
    if (!all_or_none_failed(how))
        assert_int_equal(how->from, 30);
    world.said[0] = 0;
}

/* Another number of ranks goes on from files on the nodes, parity and archives; where memory is out, nothing of them is lost. */
static void other_ranks_go_on_from_them(void **state)
{
    (void)state;
    static const char settings[] = "redundancy.scheme=xor; restart.tries=100000; store.archive=aggregate; store.final_wait=200s";
    struct saikai_error err = {0};
    struct start first = {.settings = settings, .ranks = RANKS, .makes = 3, .finishes = 1}, again = {.settings = settings, .ranks = RANKS - 1};
    for (int is_lost = 0; is_lost < 2; is_lost++) {
        if (run(&first, &err))
            fail_msg("%s", err.text);
        assert_int_equal(first.made, 30);
        if (is_lost)
            world_lose("local");
        assert_true(no_memory_sweep_places(run, NULL, got_all, &again, spared) >= 40);
        if (run(&again, &err) || again.from != 30)
            fail_msg("%lld, %s", (long long)again.from, err.text);
        world_anew();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(checkpoints_are_made_by_all_or_none, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_has_no_room_goes_to_the_prefix_or_memory_is_out, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(other_ranks_go_on_from_them, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
