/* Work beside the program, by a thread and in slices: order, agreement, failure, giving up. */
#include "lib/levels/offpath.h"

#include "base/clock.h"
#include "group/failing_testing.h"
#include "group/loop.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { N = 4, WORKS = 5, STEPS = 3 };

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d: %s\n", __LINE__, #x);                                        \
            return -1000 - __LINE__;                                                               \
        }                                                                                          \
    } while (0)

/* What the test's program and its works share on one rank. */
struct rank {
    struct sk_group *g; /* of works */
    int begun, ended, failures;
    char order[64];
};

struct work {
    struct rank *r;
    int number, steps, fails; /* fails: 1 in begin, 2 in finish, on rank 2; 3 in its second step, on all */
    int64_t sum;
};

static int work_begin(void *arg, struct saikai_error *err)
{
    struct work *w = arg;
    w->r->begun++;
    w->sum = w->number + w->r->g->rank;
    int rc = w->fails == 1 && w->r->g->rank == 2 ? sk_fail(err, SAIKAI_EIO, "no disk") : 0;
    return sk_group_verdict(w->r->g, rc, err);
}

static int work_step(void *arg, int *done, struct saikai_error *err)
{
    struct work *w = arg;
    *done = ++w->steps == STEPS;
    return w->fails == 3 && w->steps == 2 ? sk_fail(err, SAIKAI_EIO, "no disk") : 0;
}

static int work_finish(void *arg, struct saikai_error *err)
{
    struct work *w = arg;
    int rc = sk_group_allreduce(w->r->g, &w->sum, 1, SK_OP_SUM);
    if (!rc && w->sum != N * w->number + N * (N - 1) / 2)
        rc = sk_fail(err, SAIKAI_EINTERNAL, "sum %lld", (long long)w->sum);
    if (!rc && w->fails == 2 && w->r->g->rank == 2)
        rc = sk_fail(err, SAIKAI_EIO, "no disk");
    return sk_group_verdict(w->r->g, rc, err);
}

static void work_end(void *arg, int rc, const struct saikai_error *err)
{
    struct work *w = arg;
    size_t n = strlen(w->r->order);
    snprintf(w->r->order + n, sizeof w->r->order - n, "%d%s ", w->number, rc ? "!" : "");
    w->r->failures += rc && strstr(err->text, "no disk");
    w->r->ended++;
    free(w);
}

static const struct sk_offwork_ops sums = {"a sum", work_begin, work_step, work_finish, work_end};
static const struct sk_offwork_ops sums_at_once = {"a sum", NULL, NULL, work_finish, work_end};

static const struct sk_offwork_ops sums_without_begin = {"a sum", NULL, work_step, work_finish,
                                                         work_end};

static void submit(struct sk_offpath *o, struct rank *r, int number, int fails)
{
    struct work *w = malloc(sizeof *w);
    *w = (struct work){r, number, 0, fails, number + r->g->rank};
    int64_t given = sk_offpath_submit(o, number == 3 ? &sums_at_once : &sums, w);
    assert_int_equal(given, number);
}

/* A program of many candidates; the ranks agree at every fifth, as they do by the session's poll.
 */
static int program(struct sk_group *g, void *arg)
{
    int slices = *(int *)arg, submitted = 0, known = 0;
    struct sk_offpath *o;
    struct saikai_error err = {0};
    struct rank r = {0};
    CHECK(!sk_offpath_new(g, slices, &o, &err));
    r.g = sk_offpath_group(o);
    for (int tick = 0; tick < (slices ? 4000 : 1000000) && known < WORKS; tick++) { /* a thread may wait long for its turn */
        if (sk_offpath_wants_slices(o))
            sk_offpath_slice(o, 0);
        if (tick % 5 == 4) {
            int64_t v[2] = {sk_offpath_ready(o), sk_offpath_ended(o)};
            CHECK(!sk_group_allreduce(g, v, 2, SK_OP_MIN));
            sk_offpath_agree(o, v[0]);
            CHECK(v[1] >= known);
            known = (int)v[1];
        }
        if (tick % 4 == 0 && submitted < WORKS) {
            submitted++;
            submit(o, &r, submitted, submitted == 2 ? 1 : submitted == 4 ? 2 : 0);
        }
        if (!slices)
            sk_sleep(1e-4);
    }
    CHECK(known == WORKS && r.ended == WORKS && r.begun == WORKS - 1);
    CHECK(!strcmp(r.order, "1 2! 3 4! 5 ") && r.failures == 2);
    /* what is under way at the end is waited for */
    submit(o, &r, 6, 0);
    submit(o, &r, 7, 0);
    sk_offpath_drain(o);
    CHECK(!strcmp(r.order, "1 2! 3 4! 5 6 7 ") && sk_offpath_ended(o) == 7);
    CHECK(!sk_offpath_wants_slices(o));
    sk_offpath_free(o);
    return 0;
}

static void test_by_thread(void **state)
{
    (void)state;
    int slices = 0;
    assert_int_equal(sk_loop_run(N, program, &slices), 0);
}

static void test_in_slices(void **state)
{
    (void)state;
    int slices = 1;
    assert_int_equal(sk_loop_run(N, program, &slices), 0);
}

/* A step that fails is the last one of its work, and the next work has its turn. */
static int stumbles(struct sk_group *g, void *arg)
{
    struct sk_offpath *o;
    struct rank r = {0};
    (void)arg;
    CHECK(!sk_offpath_new(g, 1, &o, NULL));
    r.g = sk_offpath_group(o);
    submit(o, &r, 1, 3);
    submit(o, &r, 2, 0);
    sk_offpath_slice(o, 10);
    CHECK(sk_offpath_ready(o) == 1 && sk_offpath_ended(o) == 0); /* that is for the ranks to agree on */
    sk_offpath_drain(o);
    CHECK(!strcmp(r.order, "1! 2 ") && r.failures == 1 && sk_offpath_ended(o) == 2);
    sk_offpath_free(o);
    return 0;
}

static void test_a_step_fails(void **state)
{
    (void)state;
    assert_int_equal(sk_loop_run(N, stumbles, NULL), 0);
}

/* It is waited for as long as the caller says, and no longer. */
static atomic_int gate;

static int waits_at_the_gate(void *arg, struct saikai_error *err)
{
    (void)err;
    while (!atomic_load(&gate))
        sk_sleep(0.001);
    return work_finish(arg, err);
}

static int waits(struct sk_group *g, void *arg)
{
    static const struct sk_offwork_ops at_the_gate = {"a gate", NULL, NULL, waits_at_the_gate, work_end};
    static const double seconds[] = {0.02, 0.3};
    struct sk_offpath *o;
    struct rank r = {0};
    (void)arg;
    CHECK(!sk_offpath_new(g, 0, &o, NULL));
    r.g = sk_offpath_group(o);
    struct work *w = malloc(sizeof *w);
    *w = (struct work){&r, 1, 0, 0, 1 + g->rank};
    sk_offpath_submit(o, &at_the_gate, w);
    for (int i = 0; i < 2; i++) {
        double begun = sk_now();
        CHECK(sk_offpath_wait(o, seconds[i]) == 0 && sk_offpath_ended(o) == 0);
        CHECK(sk_now() - begun >= seconds[i] - 1e-3 && sk_now() - begun < seconds[i] + 20);
    }
    CHECK(!sk_group_barrier(g));
    atomic_store(&gate, 1);
    CHECK(sk_offpath_wait(o, 60) == 1 && sk_offpath_ended(o) == 1 && !strcmp(r.order, "1 "));
    sk_offpath_free(o);
    return 0;
}

static void test_waiting_has_an_end(void **state)
{
    (void)state;
    atomic_store(&gate, 0);
    assert_int_equal(sk_loop_run(N, waits, NULL), 0);
}

/* Rank 0 leaves without having submitted: the others wait for it, and can be ended all the same. */
static int leaver(struct sk_group *g, void *arg)
{
    struct sk_offpath *o;
    struct rank r = {0};
    int slices = *(int *)arg;
    CHECK(!sk_offpath_new(g, slices, &o, NULL));
    r.g = sk_offpath_group(o);
    for (int i = 1; g->rank && i < 3; i++) {
        struct work *w = malloc(sizeof *w);
        *w = (struct work){&r, i, 0, 0, 0};
        sk_offpath_submit(o, &sums_without_begin, w);
        sk_offpath_slice(o, 0.001);
    }
    sk_sleep(0.01);
    sk_offpath_free(o);
    CHECK(!strcmp(r.order, g->rank ? "1! 2! " : ""));
    return 0;
}

static void test_given_up(void **state)
{
    (void)state;
    for (int slices = 0; slices < 2; slices++)
        assert_int_equal(sk_loop_run(N, leaver, &slices), 0);
}

static volatile sig_atomic_t heard;
static void hear(int number)
{
    heard = number;
}

/* No thread of the program takes the signal: it stays pending, since the thread beside the program takes none. */
static int signalled(struct sk_group *g, void *arg)
{
    struct sk_offpath *o;
    sigset_t one, pending;
    (void)arg;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    CHECK(!pthread_sigmask(SIG_UNBLOCK, &one, NULL)); /* what the new thread would take over */
    CHECK(!sk_offpath_new(g, 0, &o, NULL));
    CHECK(!pthread_sigmask(SIG_BLOCK, &one, NULL));
    CHECK(!kill(getpid(), SIGUSR1));
    sk_sleep(0.05);
    CHECK(!sigpending(&pending) && sigismember(&pending, SIGUSR1) && !heard);
    sk_offpath_free(o);
    return 0;
}

static void test_signals_are_the_programs(void **state)
{
    sigset_t one, before;
    struct sigaction old, mine = {.sa_handler = hear};
    struct timespec now = {0, 0};
    (void)state;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigaction(SIGUSR1, &mine, &old);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    assert_int_equal(sk_loop_run(1, signalled, NULL), 0);
    assert_int_equal(sigtimedwait(&one, NULL, &now), SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sigaction(SIGUSR1, &old, NULL);
}

static void test_nothing(void **state)
{
    (void)state;
    sk_offpath_free(NULL);
    sk_offpath_drain(NULL);
    sk_offpath_agree(NULL, 1);
    assert_false(sk_offpath_wants_slices(NULL));
}

/* Ranks that lose touch as it begins: all hear it, with a sentence, and nothing is left. */
struct beginning {
    int calls, slices; /* so many calls of each rank work */
    int rc[N];
    struct saikai_error err[N];
};

static int begin_it(struct sk_group *g, void *arg)
{
    struct beginning *b = arg;
    int left = b->calls, r = g->rank;
    struct failing_group front = {{&failing_ops, r, g->size, g->threads}, g, &left, 0};
    struct sk_offpath *o = NULL;
    b->rc[r] = sk_offpath_new(&front.g, b->slices, &o, &b->err[r]);
    CHECK(!b->rc[r] == (o != NULL));
    left = 1 << 20;
    if (o)
        sk_offpath_free(o);
    return 0;
}

static void test_that_cannot_begin(void **state)
{
    (void)state;
    for (int slices = 0; slices < 2; slices++)
        for (int calls = 1, failed = 1; failed; calls++) {
            struct beginning b = {.calls = calls, .slices = slices};
            assert_int_equal(sk_loop_run(N, begin_it, &b), 0);
            failed = b.rc[0] != 0;
            assert_true(failed || calls > 4);
            for (int r = 0; r < N; r++) {
                assert_int_equal(b.rc[r], failed ? SAIKAI_EMPI : 0);
                if (failed && (b.err[r].code != SAIKAI_EMPI || !*b.err[r].text))
                    fail_msg("call %d: %d '%s'", calls, b.err[r].code, b.err[r].text);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_thread),
        cmocka_unit_test(test_in_slices),
        cmocka_unit_test(test_a_step_fails),
        cmocka_unit_test(test_waiting_has_an_end),
        cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_signals_are_the_programs),
        cmocka_unit_test(test_that_cannot_begin),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
