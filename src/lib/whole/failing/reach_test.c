/* What is told of the newest generation that cannot be used: which it is, what is missing of it, and how far the job goes back. Files are made
 * by hand; two ranks look. */
#include "lib/restart/reach.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "base/log.h"
#include "group/loop.h"
#include "lib/whole/failing/generation_testing.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { OLD = 3, NEW = 2, THIS = 2 };

static char dir[64], said[4096];

static void note(void *arg, int level, const char *line)
{
    (void)arg;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%d %s\n", level, line);
}

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-reach-XXXXXX");
    sk_log_set(note, NULL, SK_LOG_WARN);
    return !mkdtemp(dir);
}

static int teardown(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static struct sk_gen gen_of(int64_t it)
{
    return (struct sk_gen){THIS, it, 0};
}

/* The file of an old rank, as all of them wrote it. */
static void put(const char *below, int64_t it, int rank)
{
    struct sk_skc_header h = {.iteration = it, .incarnation = THIS, .rank = (uint32_t)rank, .nranks = OLD};
    char root[96];
    snprintf(root, sizeof root, "%s/%s", dir, below);
    generation_testing_put_small(root, &h);
}

static struct question {
    int64_t taken, most, newest;
    uint32_t first; /* start whose generations count */
    int no_prefix, rc;
} question;

static int asks(struct sk_group *g, void *arg)
{
    struct question *q = arg;
    struct sk_session s = {.g = g, .who.first_incarnation = q->first};
    struct saikai_error err = {0};
    int64_t newest = -1;
    snprintf(s.place.local_root, sizeof s.place.local_root, "%s/local%d", dir, g->rank);
    if (!q->no_prefix)
        snprintf(s.place.prefix_root, sizeof s.place.prefix_root, "%s/prefix", dir);
    if (sk_io_mkdirs(s.place.local_root, NULL) || sk_patience_new(0, &s.place.patience, NULL))
        return -1;
    int rc = sk_reach_tell(&s, q->taken, q->most, &newest, &err);
    sk_patience_free(s.place.patience);
    int64_t v[2] = {newest, -newest};
    if (rc || sk_group_allreduce(g, v, 2, SK_OP_MIN) || v[0] != -v[1])
        return -1;
    if (!g->rank)
        q->newest = newest;
    return 0;
}

/* taken and most are iterations, 0: none. */
static void ask(int64_t taken, int64_t most, int64_t newest, const char *says)
{
    question.taken = taken ? sk_gen_key(gen_of(taken)) : 0;
    question.most = most ? sk_gen_key(gen_of(most)) : INT64_MAX;
    question.first = question.first ? question.first : THIS;
    *said = 0;
    assert_int_equal(sk_loop_run(NEW, asks, &question), 0);
    assert_true(question.newest == (newest ? sk_gen_key(gen_of(newest)) : 0));
    assert_string_equal(said, says);
}

#define OUT "1 generation gen-0002-000000000030-0 of iteration 30 is out of reach: "

static void what_is_missing(void **state)
{
    (void)state;
    memset(&question, 0, sizeof question);
    ask(0, 0, 0, "");
    put("local0", 30, 0);
    ask(20, 0, 30, OUT "it was written by 3 ranks, and of 2 of them (rank 1 …) no file is on these nodes or in a prefix: it was not finished, or is lost; "
                       "going back to iteration 20, 10 iterations are lost\n");
    put("local1", 30, 2);
    ask(20, 0, 30, OUT "it was written by 3 ranks, and of 1 of them (rank 1) no file is on these nodes or in a prefix: it was not finished, or is lost; "
                       "going back to iteration 20, 10 iterations are lost\n");
    ask(0, 0, 30, OUT "it was written by 3 ranks, and of 1 of them (rank 1) no file is on these nodes or in a prefix: it was not finished, or is lost; "
                      "there is no older one\n");
    /* what is taken is as new, or newer */
    ask(30, 0, 0, "");
    ask(40, 0, 0, "");
    ask(0, 29, 0, "");
    ask(0, 30, 30, OUT "it was written by 3 ranks, and of 1 of them (rank 1) no file is on these nodes or in a prefix: it was not finished, or is lost; "
                       "there is no older one\n");
    question.first = THIS + 1;
    ask(0, 0, 0, "");
    question.first = THIS;
    put("prefix", 30, 1); /* rank 0 sees it for all */
    ask(29, 0, 30, OUT "its 3 files lie in the node-local directories of other nodes than those of the ranks that need them; "
                       "going back to iteration 29, 1 iterations are lost\n");
    question.no_prefix = 1;
    ask(29, 0, 30, OUT "it was written by 3 ranks, and of 1 of them (rank 1) no file is on these nodes or in a prefix: it was not finished, or is lost; "
                       "going back to iteration 29, 1 iterations are lost\n");
    question.no_prefix = 0;
    put("prefix", 50, 0); /* the newest of both places counts */
    put("local1", 40, 0);
    ask(29, 0, 50, "1 generation gen-0002-000000000050-0 of iteration 50 is out of reach: it was written by 3 ranks, and of 2 of them (rank 1 …) no file is on "
                   "these nodes or in a prefix: it was not finished, or is lost; going back to iteration 29, 21 iterations are lost\n");
    ask(29, 49, 40, "1 generation gen-0002-000000000040-0 of iteration 40 is out of reach: it was written by 3 ranks, and of 2 of them (rank 1 …) no file is on "
                    "these nodes or in a prefix: it was not finished, or is lost; going back to iteration 29, 11 iterations are lost\n");
}

/* ---- a prefix that does not answer ---- */

static atomic_int hanging;

/* Until it is let go of: nobody is too late to see that it does not answer. */
static int hangs(const char *op, const char *path)
{
    (void)op;
    for (double end = sk_now() + 100; strstr(path, "/prefix") && atomic_load(&hanging) && sk_now() < end;)
        sk_sleep(0.001);
    return 0;
}

static int taken_then; /* an iteration */

static int asks_in_vain(struct sk_group *g, void *arg)
{
    struct sk_session s = {.g = g, .who.first_incarnation = THIS};
    struct saikai_error err = {0};
    int64_t newest = -1;
    (void)arg;
    snprintf(s.place.local_root, sizeof s.place.local_root, "%s/local%d", dir, g->rank);
    snprintf(s.place.prefix_root, sizeof s.place.prefix_root, "%s/prefix", dir);
    if (sk_patience_new(0.05, &s.place.patience, NULL))
        return -1;
    int rc = sk_reach_tell(&s, taken_then ? sk_gen_key(gen_of(taken_then)) : 0, INT64_MAX, &newest, &err), bad;
    if (taken_then)
        bad = rc || newest != sk_gen_key(gen_of(30));
    else
        bad = rc != SAIKAI_ETIMEDOUT || !strstr(err.text, "/prefix does not answer: nobody knows what is in it");
    int last = sk_group_barrier(g);
    atomic_store(&hanging, 0);
    sk_patience_wait(s.place.patience, 60);
    sk_patience_free(s.place.patience);
    bad |= last;
    if (bad)
        fprintf(stderr, "rank %d: %d '%s', %lld\n", g->rank, rc, err.text, (long long)newest);
    return bad ? -1 : 0;
}

/* With nothing to go on from it is an error; else what the nodes have is told alone. */
static void a_prefix_that_does_not_answer(void **state)
{
    (void)state;
    put("local1", 30, 0);
    put("prefix", 50, 0);
    sk_io_hook = hangs;
    for (taken_then = 0; taken_then <= 20; taken_then += 20) {
        *said = 0;
        atomic_store(&hanging, 1);
        assert_int_equal(sk_loop_run(NEW, asks_in_vain, NULL), 0);
        assert_int_equal(strstr(said, "of iteration 30 is out of reach") != NULL, taken_then > 0);
        assert_null(strstr(said, "iteration 50"));
    }
    sk_io_hook = NULL;
}

/* ---- counting ---- */

static int has(const void *arg, int rank)
{
    return ((const char *)arg)[rank] == 'x';
}

static int counts(struct sk_group *g, void *arg)
{
    static const struct {
        const char *sees[NEW];
        int64_t missing, first;
    } cases[] = {
        {{"xxxxx", "....."}, 0, 0}, {{"x.x.x", ".x.x."}, 0, 0}, {{"xx..x", "....."}, 2, 2}, {{".....", "....."}, 5, 0},
        {{"xxxx.", "....."}, 1, 4}, {{".xxxx", ".xxxx"}, 1, 0}, {{"", ""}, 0, 0},
    };
    struct sk_session s = {.g = g};
    struct saikai_error err = {0};
    (void)arg;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t missing = -1, first = -1;
        const char *mine = cases[i].sees[g->rank];
        if (sk_reach_missing(&s, (int64_t)strlen(mine), has, mine, &missing, &first, &err) || missing != cases[i].missing || first != cases[i].first) {
            fprintf(stderr, "case %zu: %lld missing, first %lld\n", i, (long long)missing, (long long)first);
            return -1;
        }
    }
    return 0;
}

static void whose_files_nobody_has(void **state)
{
    (void)state;
    assert_int_equal(sk_loop_run(NEW, counts, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_prefix_that_does_not_answer, setup, teardown),
        cmocka_unit_test(whose_files_nobody_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
