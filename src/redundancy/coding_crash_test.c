/* Encode and rebuild die, or fail, at every input or output operation and at every message: what
 * was protected before stays protected, what is announced as protected is, and nobody waits for
 * ever. */
#include "redundancy/testing.h"

#include "base/host/fork_testing.h"
#include "base/file/io.h"
#include "base/sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A broken group leaves its transfers, and the buffers they may still use, behind. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* What is swept: every scheme and every transfer form, at once and in slices, on the nodes as they
 * were and on others, so that pieces move as well as are computed. */
static const struct way {
    const char *scheme;
    int parity;
    const char *form;
    uint64_t step; /* of the encode; 0: at once */
    int turned;    /* the rebuild's ranks run on the next nodes */
} ways[] = {{"rs", 2, "pipeline", 0, 1},  {"rs", 2, "gather", 2, 0},  {"rs", 2, "fanin", 0, 0},
            {"rs", 2, "broadcast", 0, 0}, {"xor", 1, "gather", 1, 0}, {"partner", 2, NULL, 0, 1}};
static const struct way *way;

/* Of hundreds of messages, thinned; see base/sweep.h. */
static long stride(int io)
{
    return io ? sk_sweep_stride(23, 29) : sk_sweep_stride(53, 97);
}

static int is_survivable(int losses)
{
    return losses <= way->parity;
}

/* Generations 6 and 7 are protected, 8 is written and about to be. */
static void start(struct job *j)
{
    job_make(j, way->scheme, 5, way->parity, 6000);
    j->coding.form = j->form = way->form;
    j->step = way->step;
    for (j->generation = 6; j->generation <= 8; j->generation++) {
        job_write(j);
        if (j->generation < 8)
            assert_int_equal(job_encode(j), 0);
    }
    j->generation = 8;
    j->recycle = 6;
    j->fragile = 1;
}

static void check_generation(struct job *j, uint64_t generation)
{
    j->generation = generation;
    job_lose(j, 1);
    if (is_survivable(2))
        job_lose(j, 3);
    assert_int_equal(job_rebuild(j), 0);
    assert_true(job_claims_intact(j));
}

/* Without losses a generation that is not announced either comes back whole or is refused. */
static void check_unannounced(struct job *j)
{
    int rc = job_rebuild(j);
    assert_true(rc == 0 || rc == SAIKAI_ENOENT || rc == SAIKAI_ELOST);
    if (!rc)
        assert_true(job_claims_intact(j));
}

/* Before a rebuild that is disturbed. */
static void lose_some(struct job *j)
{
    job_lose(j, 0);
    if (is_survivable(2))
        job_lose(j, 4);
    for (int i = 0; way->turned && i < j->nodes; i++)
        j->node_of[i] = (i + 1) % j->nodes;
}

static void no_leftovers(const struct job *j)
{
    for (int i = 0; i < j->nodes; i++) {
        char path[400], tmp[420];
        job_parity_path(j, i, path);
        snprintf(tmp, sizeof tmp, "%s.new", path);
        assert_int_not_equal(access(tmp, F_OK), 0);
    }
}

static int in_child(struct job *j, int (*work)(struct job *j), int io, long n)
{
    pid_t pid = sk_testing_fork();
    assert_true(pid >= 0);
    if (!pid) {
        alarm(150);
        job_break(io, n, 0);
        _exit(work(j) ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status)); /* a signal would be a hang or a crash of our own */
    return WEXITSTATUS(status);
}

static void die_in_encode(int io)
{
    for (long n = 1, died = 1; died; n += stride(io)) {
        struct job j;
        start(&j);
        int status = in_child(&j, job_encode, io, n);
        died = status == 9;
        assert_true(died || status == 0);
        if (died)
            check_unannounced(&j);
        check_generation(&j, died ? 7 : 8);
        job_remove(&j);
        assert_true(died || n > 20);
    }
}

static void die_in_rebuild(int io)
{
    for (long n = 1, died = 1; died; n += stride(io)) {
        struct job j;
        start(&j);
        j.generation = 7;
        lose_some(&j);
        int status = in_child(&j, job_rebuild, io, n);
        died = status == 9;
        assert_true(died || status == 0);
        assert_int_equal(job_rebuild(&j), 0); /* the next attempt goes through */
        assert_true(job_claims_intact(&j));
        job_remove(&j);
        assert_true(died || n > 20);
    }
}

static void fail_in_encode(int io)
{
    for (long n = 1, failed = 1; failed; n += stride(io)) {
        struct job j;
        start(&j);
        job_break(io, n, 1);
        int rc = job_encode(&j);
        failed = job_break(1, 0, 0) >= n;
        sk_io_hook = NULL;
        int announced =
            0; /* a group may break while the last verdict is told: then it holds, known to some */
        for (int i = 0; i < j.nodes; i++) {
            announced |= !j.rc[i];
            assert_true(!j.rc[i] || j.err[i].text[0]);
        }
        assert_true(!rc || !announced || !io);
        no_leftovers(&j);
        if (!announced)
            check_unannounced(&j);
        check_generation(&j, announced ? 8 : 7);
        job_remove(&j);
        assert_true(failed || n > 20);
    }
}

static void fail_in_rebuild(int io)
{
    for (long n = 1, failed = 1; failed; n += stride(io)) {
        struct job j;
        start(&j);
        j.generation = 7;
        lose_some(&j);
        job_break(io, n, 1);
        int rc = job_rebuild(&j);
        failed = job_break(1, 0, 0) >= n;
        sk_io_hook = NULL;
        int announced = 0;
        for (int i = 0; i < j.nodes; i++)
            announced |= !j.rc[i];
        assert_true(!rc || !announced || !io);
        if (announced)
            assert_true(job_claims_intact(&j));
        no_leftovers(&j);
        assert_int_equal(job_rebuild(&j), 0);
        assert_true(job_claims_intact(&j));
        job_remove(&j);
        assert_true(failed || n > 20);
    }
}

/* Input and output, then messages. */
static void sweep(void (*disturb)(int io))
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        way = &ways[i];
        disturb(1);
        disturb(0);
    }
}

static void test_die_in_encode(void **state)
{
    sweep(die_in_encode);
}

static void test_die_in_rebuild(void **state)
{
    sweep(die_in_rebuild);
}

static void test_fail_in_encode(void **state)
{
    sweep(fail_in_encode);
}

static void test_fail_in_rebuild(void **state)
{
    sweep(fail_in_rebuild);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_die_in_encode),
        cmocka_unit_test(test_die_in_rebuild),
        cmocka_unit_test(test_fail_in_encode),
        cmocka_unit_test(test_fail_in_rebuild),
    };
    sk_sweep_report(stride(1));
    sk_sweep_report(stride(0));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
