/* Going on from a generation that the program chose: which one it is, what is passed over for it,
 * and what is said when it cannot be had. */
#include "lib/whole/local_testing.h"
#include "lib/session/session.h"

#include "base/file/io.h"
#include "base/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { N = 3, CELLS = 600, EVERY = 10 };

static char dir[64], last_log[16384];

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d, rank %d: %s: %s\n", __LINE__, g->rank, #x, err.text);        \
            return -1000 - __LINE__;                                                               \
        }                                                                                          \
    } while (0)

/* One start: it asks for `which` (of rank 0: of_first, when that is given), and makes so many
 * generations. */
struct start {
    const char *which, *of_first;
    int64_t from; /* what it is to get, 0: a fresh start, or the code of an error */
    const char *words;
    int generations, finishes;
};

static void log_line(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    size_t n = strlen(last_log);
    snprintf(last_log + n, sizeof last_log - n, "%s\n", line);
}

static struct sk_config *configure(void)
{
    struct sk_config *c = sk_config_new();
    char text[512];
    snprintf(text, sizeof text,
             "store.prefix=%s/prefix; store.local=%s/local; schedule.poll=1ms; schedule.signals=; "
             "job.name=test; "
             "store.fsync=no; store.keep_prefix=100; schedule.first=no; schedule.every=10; "
             "redundancy.scheme=none",
             dir, dir);
    assert_int_equal(sk_config_set_all(c, text, SK_FROM_API, NULL), 0);
    return c;
}

static int go_on(struct sk_group *g, struct sk_session *s, const double *u, const struct start *how,
                 int64_t from)
{
    struct saikai_error err = {0};
    for (int i = 0; i < CELLS; i++)
        CHECK(!from || u[i] == (double)from);
    for (int64_t it = from + 1; it <= from + EVERY * how->generations; it++) {
        for (int i = 0; i < CELLS; i++)
            ((double *)u)[i] = (double)it;
        int rc = sk_session_candidate(s, 0, it, &err);
        CHECK(rc == (it % EVERY == 0));
        if (!rc)
            continue;
        CHECK(!sk_session_wait(s, &err));
        while (sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED) < sk_ledger_count(s->levels.ledger)) {
            sk_engine_drain(s->levels.engine);
            CHECK(sk_session_due(s, 1, it, &err) == 0);
        }
    }
    return 0;
}

static int program(struct sk_group *g, void *arg)
{
    const struct start *how = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct sk_group *own;
    double *u = calloc(CELLS, sizeof *u);
    int restored = 0;
    int64_t from = 0;
    CHECK(u && !sk_group_dup(g, &own));
    CHECK(!sk_session_new(own, configure(), "program", &s, &err));
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {CELLS}, .data = u};
    CHECK(!sk_vars_put(&s->vars, &v, &err));
    int rc = sk_session_restart_from(s, !g->rank && how->of_first ? how->of_first : how->which,
                                     &restored, &from, &err);
    if (how->from < 0) {
        CHECK(rc == how->from || rc == SAIKAI_EPEER);
        CHECK(strstr(err.text, how->words) && !restored);
        rc = 0;
    } else {
        CHECK(!rc && restored == (how->from > 0) && from == how->from);
        rc = go_on(g, s, u, how, from);
    }
    if (!rc)
        rc = sk_group_barrier(g); /* rank 0 gives the lease back, and the others may still be removing what is old */
    if (rc || !how->finishes)
        sk_session_abandon(s);
    else
        rc = sk_session_finalize(s, &err);
    free(u);
    return rc;
}

static void start(struct start how)
{
    last_log[0] = 0;
    int rc = sk_loop_run(N, program, &how);
    if (rc)
        fail_msg("'%s' ended with %d (line %d):\n%s", how.which ? how.which : "", rc, -1000 - rc,
                 last_log);
}

static void says(const char *words, int is_there)
{
    if (!strstr(last_log, words) != !is_there)
        fail_msg("the log does%s say '%s':\n%s", is_there ? " not" : "", words, last_log);
}

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-chosen-XXXXXX");
    sk_log_set(log_line, NULL, SK_LOG_DEBUG);
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static void test_an_older_one(void **state)
{
    (void)state;
    start((struct start){.generations = 4});
    start((struct start){.which = "20", .from = 20});
    says("2 newer generations are passed over from now on", 1);
    start((struct start){.from = 20}); /* and stay so */
    says("passed over from now on", 0);
    start((struct start){.which = "newest", .from = 20});
    start((struct start){.which = "gen-0001-000000000030-0",
                         .from = 30});  /* choosing it takes its mark away */
    says("passed over from now on", 1); /* 40, once more */
    start((struct start){.from = 30, .generations = 1});
    start((struct start){.from = 40}); /* the one of that start */
}

/* The number of the start decides between two of one iteration. */
static void test_two_of_one_iteration(void **state)
{
    (void)state;
    start((struct start){.generations = 3});
    start((struct start){
        .which = "20", .from = 20, .generations = 2}); /* 30 and 40 of another start */
    start((struct start){.which = "30", .from = 30});
    says("1 newer generation is passed over from now on", 1);
    start((struct start){.which = "gen-0002-000000000030-0", .from = 30});
}

static void test_of_a_run_that_had_ended(void **state)
{
    (void)state;
    start((struct start){.generations = 3, .finishes = 1});
    start((struct start){.which = "30", .from = 30});
    says("passed over", 0);
    start((struct start){.from = 30}); /* the run goes on */
}

static void test_mistakes(void **state)
{
    (void)state;
    static const char *const nothing[] = {
        "soon",
        "-3",
        "1x",
        " 1",
        "99999999999999999999",
        "gen-1",
        "4398046511104",
        "00000000000000000000000000000000000000000000000000000000000020"};
    start((struct start){.generations = 3});
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        start((struct start){
            .which = nothing[i], .from = SAIKAI_EINVAL, .words = "is no generation to go on from"});
    start((struct start){
        .which = "20", .of_first = "10", .from = SAIKAI_EINVAL, .words = "different generations"});
    start((struct start){.which = "20",
                         .of_first = "newest",
                         .from = SAIKAI_EINVAL,
                         .words = "different generations"});
    start((struct start){.which = "25",
                         .from = SAIKAI_ENOENT,
                         .words = "generation iteration 25 was chosen, and is not in"});
    start((struct start){.which = "gen-0002-000000000020-0",
                         .from = SAIKAI_ENOENT,
                         .words = "generation gen-0002-000000000020-0 was"});
    start((struct start){.from = 30}); /* nothing was marked */
}

static void path_of(char path[256], int64_t it, int rank)
{
    snprintf(path, 256, "%s/prefix/gen-0001-%012lld-0/rank-%06d.skc", dir, (long long)it, rank);
}

static void test_one_that_cannot_be_had(void **state)
{
    (void)state;
    char path[256];
    start((struct start){.generations = 4});
    path_of(path, 20, 1);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0 && pwrite(fd, "damage", 6, 1000) == 6);
    close(fd);
    path_of(path, 10, 2);
    assert_int_equal(unlink(path), 0);
    start((struct start){
        .which = "20", .from = SAIKAI_EDAMAGED, .words = "is damaged (the log says where)"});
    start((struct start){.which = "10",
                         .from = SAIKAI_EDAMAGED,
                         .words = "is not whole: the parts of some ranks are missing"});
    start((struct start){.which = "30", .from = 30});
    says("1 newer generation is", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_older_one, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_two_of_one_iteration, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_of_a_run_that_had_ended, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_mistakes, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_one_that_cannot_be_had, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
