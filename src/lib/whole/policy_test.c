/* What a session decides by itself, over several ranks: which generations go to the prefix and are
 * protected, and when somebody outside asks for a checkpoint, or a time slot ends. All ranks must
 * decide the same at the same candidate. */
#include "lib/whole/session_testing.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 3, CELLS = 600, EVERY = 10, MOST_ROUNDS = 4, MOST = 100 };

#define SETTINGS "store.keep_prefix=100; schedule.first=no; redundancy.scheme=none; "

/* One start of a program with one variable; body(s, …) is its loop. */
struct start {
    const char *config;
    int (*body)(struct sk_group *g, struct sk_session *s, const struct start *how);
    const char *expect; /* of the body: what each of the rounds is to come to */
    int abandoned;      /* it is killed in place of coming to its end */
    int64_t resumes_from;
};

static int program(struct sk_group *g, void *arg)
{
    const struct start *how = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double *u = calloc(CELLS, sizeof *u);
    int restored = 0;
    int64_t from = 0;
    CHECK(u && !world_session(g, world_config(SETTINGS "%s", how->config), &s, &err) && !world_protect(s, u, CELLS, &err));
    CHECK(!sk_session_restart(s, &restored, &from, &err));
    CHECK(restored == (how->resumes_from > 0) && from == how->resumes_from);
    int rc = how->body ? how->body(g, s, how) : 0;
    rc = world_leave(s, rc, !how->abandoned);
    free(u);
    return rc;
}

static void run(int ranks, struct start how)
{
    world_start(ranks, program, &how);
}

static int make_dir(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-policy-XXXXXX", SK_LOG_DEBUG);
}

static int remove_dir(void **state)
{
    (void)state;
    return world_end();
}

static int is_in_prefix(int incarnation, int64_t it)
{
    int there = 1;
    for (int rank = 0; rank < N; rank++)
        there &= world_has("prefix", incarnation, it, rank);
    return there;
}

/* ---- which generations are brought where ---- */

/* Give the exchanges of the ranks the time to begin whatever they want to. */
static int settle(struct sk_group *g, struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    CHECK(!sk_session_wait(s, &err));
    for (int i = 0; i < 12; i++) {
        sk_sleep(0.001);
        sk_engine_drain(s->levels.engine);
        CHECK(sk_session_due(s, 1, it, &err) == 0);
    }
    return 0;
}

/* The same until a level has got as far as another one has. */
static int settle_until(struct sk_group *g, struct sk_session *s, int64_t it,
                        enum sk_ledger_state state, int64_t seq)
{
    struct saikai_error err = {0};
    double end = sk_now() + 100;
    int64_t now = 0;
    while (sk_ledger_newest(s->levels.ledger, state) < seq && now < end) {
        now = (int64_t)sk_now();
        CHECK(!sk_group_allreduce(g, &now, 1, SK_OP_MAX)); /* all give up together */
        sk_engine_drain(s->levels.engine);
        CHECK(sk_session_due(s, 1, it, &err) == 0);
    }
    CHECK(sk_ledger_newest(s->levels.ledger, state) >= seq);
    return 0;
}

/* Rounds of EVERY iterations; after each, the letter of the round says whether its generation comes
 * to the prefix (a), the generation is protected (p), both (b) or neither (-). */
static int rounds(struct sk_group *g, struct sk_session *s, const struct start *how)
{
    struct saikai_error err = {0};
    int64_t archived = 0, protected = 0, first = how->resumes_from;
    for (int64_t r = 1; how->expect[r - 1]; r++) {
        char expect = how->expect[r - 1];
        for (int64_t it = first + (r - 1) * EVERY + 1; it < first + r * EVERY; it++)
            CHECK(sk_session_candidate(s, 0, it, &err) == 0);
        CHECK(sk_session_candidate(s, 0, first + r * EVERY, &err) == 1);
        CHECK(!settle(g, s, first + r * EVERY));
        if (expect == 'a' || expect == 'b')
            CHECK(!settle_until(g, s, first + r * EVERY, SK_LEDGER_ARCHIVED, archived = r));
        if (expect == 'p' || expect == 'b')
            CHECK(!settle_until(g, s, first + r * EVERY, SK_LEDGER_PROTECTED, protected = r));
        CHECK(sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE) == r);
        CHECK(sk_ledger_newest(s->levels.ledger, SK_LEDGER_ARCHIVED) == archived);
        CHECK(sk_ledger_newest(s->levels.ledger, SK_LEDGER_PROTECTED) == protected);
    }
    return 0;
}

static void test_what_is_archived(void **state)
{
    (void)state;
    static const struct {
        const char *config, *rounds, *kept; /* kept: in the prefix after the end */
    } cases[] = {
        {"", "aaa", "aaa"},
        {"store.archive_every=2", "a-a-", "a-aa"}, /* the last one when the program ends */
        {"store.archive_every=2; store.archive_last=no", "a-a-", "a-a-"},
        {"store.archive_every=3", "a--a", "a--a"},
        {"store.archive_every=0", "---", "--a"},
        {"store.archive_every=0; store.archive_last=no", "---", "---"},
        {"store.archive_interval=1h", "---", "--a"}, /* counted from the start */
        {"store.archive_interval=1ms", "aaa", "aaa"},
        {"store.archive_interval=auto; failure.mtbf=10min", "a", "a"}, /* the first is measured */
        {"store.keep_prefix=2", "aaaa", "--aa"},
        {"store.local=none", "---", "aaa"}, /* what is saved is there at once */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[256];
        snprintf(config, sizeof config, "schedule.every=10; %s", cases[i].config);
        world_anew();
        run(N, (struct start){.config = config, .body = rounds, .expect = cases[i].rounds});
        for (int r = 0; cases[i].kept[r]; r++)
            if (is_in_prefix(1, (r + 1) * EVERY) != (cases[i].kept[r] == 'a'))
                fail_msg("'%s': iteration %d is%s in the prefix", config, (r + 1) * EVERY,
                         cases[i].kept[r] == 'a' ? " not" : "");
    }
}

static void test_what_is_protected(void **state)
{
    (void)state;
    static const struct {
        const char *config, *rounds;
    } cases[] = {
        {"redundancy.scheme=xor", "ppp"},
        {"redundancy.scheme=xor; redundancy.interval=1h", "p--"},
        {"redundancy.scheme=xor; redundancy.interval=1ms", "ppp"},
        {"redundancy.scheme=xor; redundancy.interval=auto; failure.mtbf=10min", "p"},
        {"redundancy.scheme=none", "---"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[256];
        snprintf(config, sizeof config,
                 "schedule.every=10; redundancy.domain=process; store.archive_every=0; %s",
                 cases[i].config);
        world_anew();
        run(N, (struct start){.config = config, .body = rounds, .expect = cases[i].rounds});
    }
}

/* Which iterations of 10, 20 … have a file of this rank in the node-local directory, as letters. */
static void stays_here(int rank, int incarnation, char out[MOST_ROUNDS + 1])
{
    for (int r = 0; r < MOST_ROUNDS; r++)
        out[r] = world_has(world_local(), incarnation, (r + 1) * EVERY, rank) ? 'l' : '-';
    out[MOST_ROUNDS] = 0;
}

/* MOST_ROUNDS rounds; then how->expect is what stays of them on the node. */
static int stays(struct sk_group *g, struct sk_session *s, const struct start *how)
{
    struct saikai_error err = {0};
    struct start quiet = *how;
    char now[MOST_ROUNDS + 1];
    quiet.expect = "----";
    if (strstr(how->config, "scheme=xor"))
        quiet.expect = "p---";
    CHECK(!rounds(g, s, &quiet));
    stays_here(g->rank, 1, now);
    if (strcmp(now, how->expect)) {
        fprintf(stderr, "rank %d: %s in place of %s\n", g->rank, now, how->expect);
        CHECK(!"what stays");
    }
    return 0;
}

static void test_what_stays_on_the_node(void **state)
{
    (void)state;
    static const struct {
        const char *config, *stays;
    } cases[] = {
        {"", "---l"},
        {"store.keep_local=2", "--ll"},
        {"store.keep_local=3", "-lll"},
        {"store.prefix=none; store.keep_prefix=2", "--ll"}, /* one place: it is all there is */
        {"store.keep_local=9", "llll"},
        {"store.keep_local=1; redundancy.scheme=xor; redundancy.interval=1h",
         "l--l"}, /* and what is protected */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[256];
        snprintf(config, sizeof config,
                 "schedule.every=10; redundancy.domain=process; store.archive_every=0; %s",
                 cases[i].config);
        world_anew();
        run(N, (struct start){.config = config, .body = stays, .expect = cases[i].stays});
    }
}

/* The restored generation is protected anew for the nodes of now, before any newer one is there. */
static int is_protected_at_once(struct sk_group *g, struct sk_session *s, const struct start *how)
{
    struct saikai_error err = {0};
    double now = 0, end = sk_now() + 100;
    int64_t late = 0;
    CHECK(sk_ledger_iteration(s->levels.ledger, SK_LEDGER_PROTECTED) == -1);
    while (sk_ledger_iteration(s->levels.ledger, SK_LEDGER_PROTECTED) < 0 && !late) {
        now = sk_now();
        late = now > end;
        CHECK(!sk_group_allreduce(g, &late, 1, SK_OP_MAX));
        CHECK(sk_session_due(s, 1, how->resumes_from, &err) == 0);
    }
    CHECK(sk_ledger_iteration(s->levels.ledger, SK_LEDGER_PROTECTED) == how->resumes_from);
    return 0;
}

static void test_the_restored_one_is_protected(void **state)
{
    (void)state;
    static const char config[] = "schedule.every=10; redundancy.domain=process; "
                                 "redundancy.scheme=xor; redundancy.interval=1h";
    run(N, (struct start){.config = config, .body = rounds, .expect = "ba", .abandoned = 1});
    run(N, (struct start){
               .config = config, .body = is_protected_at_once, .abandoned = 1, .resumes_from = 20});
}

/* ---- asked from outside ---- */

static struct sk_keeper_page *page;

/* Candidates until one saves, the same one on all ranks. 0: none did, of MOST, or, when one must,
 * in as many seconds as a test may take. */
static int64_t saved_at(struct sk_group *g, struct sk_session *s, int64_t it, int must,
                        struct saikai_error *err)
{
    double end = sk_now() + 100;
    for (int64_t i = 0; i < MOST || must; i++) {
        int64_t rc = sk_session_candidate(s, 0, ++it, err), v[3] = {rc, -rc, -(sk_now() > end)};
        sk_sleep(0.0005);
        if (rc < 0 || sk_group_allreduce(g, v, 3, SK_OP_MIN) || v[0] != -v[1])
            return -1;
        if (rc)
            return it;
        if (v[2])
            return 0;
    }
    return 0;
}

static int asked_by_the_keeper(struct sk_group *g, struct sk_session *s, const struct start *how)
{
    struct saikai_error err = {0};
    (void)how;
    CHECK(saved_at(g, s, 0, 0, &err) == 0); /* nothing is due, nobody asks */
    CHECK(!sk_group_barrier(g));
    if (g->rank == N - 1) /* whichever rank reads it: the page is shared here */
        atomic_store(&page->requests, SK_REQUEST_CHECKPOINT);
    CHECK(!sk_group_barrier(g));
    int64_t at = saved_at(g, s, MOST, 1, &err);
    CHECK(at > MOST && !s->ending.stop_agreed);
    CHECK(saved_at(g, s, at, 0, &err) == 0); /* once */
    at += MOST;
    CHECK(!sk_session_wait(s, &err));
    CHECK(!sk_group_barrier(g));
    if (g->rank == 0)
        atomic_store(&page->requests, SK_REQUEST_STOP);
    CHECK(!sk_group_barrier(g));
    at = saved_at(g, s, at, 1, &err);
    CHECK(at > 0 && s->ending.stop_agreed);
    return 0;
}

static int is_told(struct sk_group *g, struct sk_session *s, const struct start *how)
{
    struct saikai_error err = {0};
    (void)how;
    CHECK(atomic_load(&page->state) == SK_KEEPER_INITIALISED);
    CHECK(sk_session_candidate(s, 0, EVERY, &err) == 1 && !sk_session_wait(s, &err));
    CHECK(!sk_group_barrier(g));
    CHECK(atomic_load(&page->complete_iteration) == EVERY &&
          atomic_load(&page->complete_count) >= 1);
    return 0;
}

/* A page as the keeper gives it to a program, by the environment. */
static void with_page(int64_t deadline_ms, struct start how)
{
    char number[16];
    int fd;
    world_anew();
    assert_int_equal(sk_keeper_page_make(0, 0, &fd, &page, NULL), 0);
    page->deadline_ms = deadline_ms;
    snprintf(number, sizeof number, "%d", fd);
    setenv(SK_KEEPER_FD_ENV, number, 1);
    run(N, how);
    unsetenv(SK_KEEPER_FD_ENV);
    sk_keeper_page_unmap(page);
    close(fd);
}

static void test_the_keeper_asks(void **state)
{
    (void)state;
    with_page(0, (struct start){.config = "schedule.every=100000", .body = asked_by_the_keeper});
    with_page(0, (struct start){.config = "schedule.every=10", .body = is_told});
}

/* ---- the time slot ends ---- */

static int saves_once(struct sk_group *g, struct sk_session *s, const struct start *how)
{
    struct saikai_error err = {0};
    (void)how;
    int64_t at = saved_at(g, s, 0, 1, &err);
    CHECK(at > 0 && saved_at(g, s, at, 0, &err) == 0 && !s->ending.stop_agreed);
    return 0;
}

static int saves_never(struct sk_group *g, struct sk_session *s, const struct start *how)
{
    struct saikai_error err = {0};
    (void)how;
    CHECK(saved_at(g, s, 0, 0, &err) == 0);
    return 0;
}

static void slot_of_slurm(double seconds)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)(sk_wall_ms() / 1000 + (int64_t)seconds));
    setenv("SLURM_JOB_END_TIME", text, 1);
}

static void test_a_time_slot_ends(void **state)
{
    (void)state;
#define CONFIG(more) "schedule.every=100000; " more
    run(N, (struct start){.config = CONFIG(""), .body = saves_never});
    run(N, (struct start){.config = CONFIG("schedule.time_limit=50s"),
                          .body = saves_once}); /* less than a minute is left */
    run(N, (struct start){.config = CONFIG("schedule.time_limit=10h"), .body = saves_never});
    run(N, (struct start){.config = CONFIG("schedule.time_limit=10h; schedule.time_margin=11h"),
                          .body = saves_once});
    run(N, (struct start){.config = CONFIG("schedule.time_limit=100s; schedule.time_margin=1s"),
                          .body = saves_never});
    /* what takes longer to save begins earlier: two polls before */
    run(N,
        (struct start){.config = CONFIG(
                           "schedule.time_limit=100s; schedule.time_margin=1s; schedule.poll=60s"),
                       .body = saves_once});
    slot_of_slurm(50);
    run(N, (struct start){.config = CONFIG(""), .body = saves_once});
    run(N, (struct start){.config = CONFIG("schedule.time_limit=10h"),
                          .body = saves_never}); /* the user knows better */
    slot_of_slurm(36000);
    run(N, (struct start){.config = CONFIG(""), .body = saves_never});
    run(N, (struct start){.config = CONFIG("schedule.time_limit=50s"), .body = saves_once});
    setenv("SLURM_JOB_END_TIME", "soon", 1); /* means nothing */
    run(N, (struct start){.config = CONFIG(""), .body = saves_never});
    unsetenv("SLURM_JOB_END_TIME");
    int64_t now_ms = (int64_t)(sk_now() * 1e3);
    with_page(now_ms + 50000,
              (struct start){.config = CONFIG("schedule.time_limit=10h"), .body = saves_once});
    with_page(now_ms + 36000000,
              (struct start){.config = CONFIG("schedule.time_limit=50s"), .body = saves_never});
}

/* ---- what is said at the start ---- */

static void test_what_a_start_says(void **state)
{
    (void)state;
    char in_prefix[128];
    snprintf(in_prefix, sizeof in_prefix, "starting fresh in %s/prefix: nothing to resume from",
             world.dir);
    run(N, (struct start){
               .config = "schedule.every=10", .body = rounds, .expect = "aa", .abandoned = 1});
    world_expect(in_prefix, 1);
    world_expect("resuming", 0);
    assert_ptr_equal(strstr(strstr(world.said, "starting fresh") + 1, "starting fresh"),
                     NULL); /* one rank says it */
    run(N, (struct start){
               .config = "schedule.every=10", .body = rounds, .expect = "a", .resumes_from = 20});
    world_expect("job test: resuming from iteration 20 (", 1);
    world_expect("), saved ", 1);
    world_expect(" ago, in ", 1);
    world_expect("starting fresh", 0);
    assert_ptr_equal(strstr(strstr(world.said, "resuming") + 1, "resuming"), NULL);
    run(N, (struct start){.config = "schedule.every=10"}); /* that one came to its end */
    world_expect("starting fresh", 1);
    world_expect("nothing to resume from", 0);
    run(N, (struct start){.config = "restart.mode=never; store.prefix=none"});
    world_expect("starting fresh in", 1);
    world_expect("/prefix", 0);
}

static int how_often(const char *text)
{
    int n = 0;
    for (const char *at = world.said; (at = strstr(at, text)); at++)
        n++;
    return n;
}

/* How long ago: in seconds, no fewer than one, and no more than have passed. */
static void test_when_it_was_saved(void **state)
{
    (void)state;
    double began = sk_now(), seconds = 0;
    run(N, (struct start){.config = "schedule.every=10", .body = rounds, .expect = "a", .abandoned = 1});
    sk_sleep(2.2);
    run(N, (struct start){.config = "schedule.every=10", .resumes_from = 10});
    const char *at = strstr(world.said, ", saved ");
    assert_true(at && sscanf(at, ", saved %lf s ago, in ", &seconds) == 1);
    assert_true(seconds >= 2 && seconds <= sk_now() - began && seconds == (double)(int)seconds);
}

/* What dead jobs left on a node is told to those whom it concerns: the same place, or the same name. What is beyond what may stay
 * goes, and that is told, too. */
static void test_stores_that_are_no_more(void **state)
{
    (void)state;
    char elsewhere[160], gone[160];
    struct start first = {.config = "schedule.every=10", .body = rounds, .expect = "a", .abandoned = 1};
    snprintf(gone, sizeof gone, "belongs to a store that is no more in %s/prefix: not used; 'saikai clean' removes it", world.dir);
    run(N, first);
    world_expect("belongs to a store", 0); /* it is our own */
    world_lose("prefix");
    first.config = "schedule.every=10; restart.mode=never";
    run(N, first);
    assert_int_equal(how_often("belongs to a store"), 1);
    world_expect(gone, 1);
    world_lose("prefix");
    /* another place, the same name; two of them by now */
    snprintf(elsewhere, sizeof elsewhere, "store.prefix=%s/elsewhere", world.dir);
    run(N, (struct start){.config = elsewhere});
    assert_int_equal(how_often(gone), 2);
    world_lose("elsewhere");
    /* another place and name: no concern of theirs, until there is no room for it */
    snprintf(elsewhere, sizeof elsewhere, "store.prefix=%s/third; job.name=other", world.dir);
    run(N, (struct start){.config = elsewhere});
    world_expect("belongs to a store", 0);
    snprintf(elsewhere, sizeof elsewhere, "store.prefix=%s/third; job.name=other; store.orphan_size=1", world.dir);
    run(N, (struct start){.config = elsewhere});
    snprintf(gone, sizeof gone, "belongs to a store that is no more in %s/prefix: removed", world.dir);
    assert_int_equal(how_often(gone), 2);
    run(N, (struct start){.config = elsewhere});
    world_expect("belongs to a store", 0);
    assert_non_null(strstr(world_local(), "/none")); /* no directory of that name is left */
}

/* Two are named, and the others told in one line. */
static void many_stores_that_are_no_more(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        run(N, (struct start){.config = "schedule.every=10; restart.mode=never", .body = rounds, .expect = "a", .abandoned = 1});
        assert_int_equal(how_often("belongs to a store that is no more"), i < 2 ? i : 2);
        world_expect("more there (", i > 2);
        if (i > 2)
            world_expect(i == 3 ? "1 more there (" : "2 more there (", 1);
        world_lose("prefix");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_archived, make_dir, remove_dir),
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(test_what_is_protected, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_what_stays_on_the_node, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_the_restored_one_is_protected, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_the_keeper_asks, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_a_time_slot_ends, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_what_a_start_says, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_when_it_was_saved, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_stores_that_are_no_more, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(many_stores_that_are_no_more, make_dir, remove_dir),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
