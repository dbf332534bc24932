/* Which job a start belongs to: by its name, given or made from the program; where several jobs share a prefix, where a store was copied,
 * and what a fresh start says of the jobs beside it. */
#include "lib/whole/session_testing.h"

#include "base/file/io.h"
#include "store/owner/owner.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { CELLS = 100 };

/* One start of one rank: it goes on from `from`, saves up to `until`, and ends as one that is killed. */
struct start {
    const char *program, *config;
    int64_t from, until;
    int finishes, refused; /* the error with which it does not begin */
    struct sk_job job;     /* what it found */
    char prefix[256], aside[600], why[512];
};

static int begin(struct sk_group *g, void *arg)
{
    struct start *p = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct sk_group *own;
    double u[CELLS] = {0};
    int restored = 0;
    int64_t from = 0;
    struct sk_config *c = world_config("schedule.every=10; schedule.first=no; store.archive_every=1; %s", p->config);
    CHECK(!sk_group_dup(g, &own));
    int rc = sk_session_new(own, c, p->program, &s, &err);
    snprintf(p->why, sizeof p->why, "%s", err.text);
    CHECK(rc == p->refused);
    if (rc)
        return 0;
    p->job = s->who.job;
    snprintf(p->prefix, sizeof p->prefix, "%.255s", s->place.prefix_root);
    snprintf(p->aside, sizeof p->aside, "%s", s->who.aside);
    CHECK(!world_protect(s, u, CELLS, &err) && !sk_session_restart(s, &restored, &from, &err));
    CHECK(from == p->from && restored == (p->from > 0));
    for (int64_t it = from + 10; it <= p->until; it += 10)
        CHECK(sk_session_candidate(s, 0, it, &err) == 1 && !world_settle(s, it));
    return world_leave(s, 0, p->finishes);
}

static void start(struct start *p)
{
    world_start(1, begin, p);
}

static void shell(const char *command)
{
    char whole[512];
    snprintf(whole, sizeof whole, "cd %s && %s", world.dir, command);
    assert_int_equal(system(whole), 0);
}

static int make_world(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-identity-XXXXXX", SK_LOG_INFO);
}

static int remove_world(void **state)
{
    (void)state;
    sk_io_hook = NULL;
    return chdir("/") || world_end();
}

static struct sk_job job_of(const char *below)
{
    char path[256];
    struct sk_job j;
    snprintf(path, sizeof path, "%s/%s", world.dir, below);
    assert_int_equal(sk_job_load(path, &j, NULL), 0);
    return j;
}

/* The first job has the prefix, others a directory each; every one finds its own again. */
static void jobs_share_a_prefix(void **state)
{
    (void)state;
    char path[128];
    struct start a = {.program = "p", .config = "job.name=a", .until = 20}, b = {.program = "p", .config = "job.name=b", .until = 40};
    struct start c = {.program = "p", .config = "job.name=c", .until = 10};
    start(&a);
    start(&b);
    start(&c);
    snprintf(path, sizeof path, "%s/prefix", world.dir);
    assert_string_equal(a.prefix, path);
    snprintf(path, sizeof path, "%s/prefix/jobs/b", world.dir);
    assert_string_equal(b.prefix, path);
    assert_string_equal(b.job.place, path);
    assert_false(sk_id_same(a.job.store, b.job.store) || sk_id_same(b.job.store, c.job.store));
    assert_string_equal(job_of("prefix").name, "a");
    assert_string_equal(job_of("prefix/jobs/c").name, "c");
    struct start again_a = {.program = "other", .config = "job.name=a", .from = 20}, again_b = {.program = "p", .config = "job.name=b", .from = 40};
    start(&again_b);
    start(&again_a);
    assert_true(sk_id_same(again_a.job.store, a.job.store) && sk_id_same(again_b.job.store, b.job.store));
    assert_string_equal(a.aside, ""); /* who names a job means no other one */
    shell("cp prefix/jobs/b/job prefix/jobs/c/job");
    struct start wrong = {.program = "p", .config = "job.name=c", .refused = SAIKAI_EDAMAGED};
    start(&wrong);
    assert_non_null(strstr(wrong.why, "prefix/jobs/c belongs to another job"));
}

static int nothing_is_replaced(const char *op, const char *path)
{
    return !strcmp(op, "rename") && strstr(path, "/prefix/") && !strcmp(strrchr(path, '/'), "/job") ? EIO : 0;
}

/* A job that is new says all of itself with its claim: who looks meanwhile finds it complete. Two that share a prefix do so alike. */
static void a_claim_says_all_at_once(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b"}, *const places[] = {"prefix", "prefix/jobs/b"};
    sk_io_hook = nothing_is_replaced;
    for (int i = 0; i < 2; i++) {
        char config[32], path[128];
        struct stat sb;
        snprintf(config, sizeof config, "job.name=%s", names[i]);
        struct start p = {.program = "p", .config = config, .until = 10};
        start(&p);
        snprintf(path, sizeof path, "%s/%s", world.dir, places[i]);
        struct sk_job j = job_of(places[i]);
        assert_string_equal(j.place, path);
        assert_string_equal(j.name, names[i]);
        assert_true(!stat(path, &sb) && j.inode == (uint64_t)sb.st_ino && !j.unclaimed && !j.adopted && *j.command && j.since_ms > 0);
    }
    sk_io_hook = NULL;
}

static const char *faster; /* the name of a job that is claimed just before ours */
static struct sk_id its_store;

static int somebody_is_faster(const char *op, const char *path)
{
    struct sk_job j = {.inode = 1};
    char place[PATH_MAX];
    if (strcmp(op, "link") || !faster || strcmp(strrchr(path, '/'), "/job"))
        return 0;
    snprintf(j.name, sizeof j.name, "%s", faster);
    faster = NULL; /* this comes here again */
    j.store = its_store = sk_id_random();
    snprintf(place, sizeof place, "%.*s", (int)(strrchr(path, '/') - path), path);
    strcpy(j.place, place);
    return sk_job_claim(place, &j, NULL) ? EIO : 0;
}

static int claim_fails(const char *op, const char *path)
{
    return !strcmp(op, "link") && strstr(path, "/prefix/job") ? EIO : 0;
}

/* Of two that come at the same moment one is first; the other one looks again. */
static void who_is_faster_has_it(void **state)
{
    (void)state;
    struct start a = {.program = "p", .config = "job.name=a", .until = 10}, b = {.program = "p", .config = "job.name=b", .until = 10};
    sk_io_hook = somebody_is_faster;
    faster = "other";
    start(&a); /* the prefix itself is gone: it has a directory of its own */
    assert_non_null(strstr(a.prefix, "/prefix/jobs/a"));
    assert_string_equal(job_of("prefix").name, "other");
    faster = "b";
    start(&b); /* it was this job itself */
    assert_true(strstr(b.prefix, "/prefix/jobs/b") && sk_id_same(b.job.store, its_store) && !faster);
    sk_io_hook = NULL;
}

/* What does not pass by itself is an error with the file's name, and nothing was made. */
static void a_claim_that_fails(void **state)
{
    (void)state;
    struct start a = {.program = "p", .config = "job.name=a", .refused = SAIKAI_EIO}, again = {.program = "p", .config = "job.name=a", .until = 10};
    sk_io_hook = claim_fails;
    start(&a);
    sk_io_hook = NULL;
    if (!strstr(a.why, "/prefix/job"))
        fail_msg("%s", a.why);
    shell("test ! -e prefix/job");
    start(&again);
}

static int new_place;

static int place_is_not_noted(const char *op, const char *path)
{
    return !strcmp(op, "rename") && strstr(path, "/moved/job") ? new_place : 0;
}

/* A store that was moved, and cannot say so now: while its disk is full that is found again at the next start; else it is an error. */
static void a_moved_store_that_cannot_say_so(void **state)
{
    (void)state;
    char config[128], old[128];
    struct start first = {.program = "p", .config = "job.name=a", .until = 10};
    start(&first);
    shell("mv prefix moved");
    snprintf(old, sizeof old, "%s/prefix", world.dir);
    snprintf(config, sizeof config, "job.name=a; store.prefix=%s/moved", world.dir);
    struct start full = {.program = "p", .config = config, .from = 10}, fails = {.program = "p", .config = config, .refused = SAIKAI_EIO};
    sk_io_hook = place_is_not_noted;
    new_place = EIO;
    start(&fails);
    assert_non_null(strstr(fails.why, "/moved/job"));
    new_place = EROFS;
    start(&full);
    assert_true(sk_id_same(full.job.store, first.job.store));
    assert_string_equal(full.job.place, full.prefix);
    assert_string_equal(job_of("moved").place, old);
    sk_io_hook = NULL;
    start(&full);
    assert_string_equal(job_of("moved").place, full.prefix);
}

/* Nothing is made, and nothing of it is changed. */
static void a_store_whose_job_cannot_be_read_is_not_used(void **state)
{
    (void)state;
    struct start a = {.program = "p", .config = "job.name=a", .until = 20};
    start(&a);
    shell("cp prefix/job kept && printf 'saikai-job 1\nna' >prefix/job && ls prefix >before");
    struct start wrong = {.program = "p", .config = "job.name=a", .refused = SAIKAI_EDAMAGED};
    start(&wrong);
    assert_non_null(strstr(wrong.why, "prefix/job"));
    shell("ls prefix | cmp - before && mv kept prefix/job");
    struct start again = {.program = "p", .config = "job.name=a", .from = 20};
    start(&again);
}

static void names_are_plain(void **state)
{
    (void)state;
    static const char *const bad[] = {"a/b", ".", "..", ".hidden", "a b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char config[64];
        snprintf(config, sizeof config, "job.name=%s", bad[i]);
        struct start p = {.program = "p", .config = config, .refused = SAIKAI_ECONFIG};
        start(&p);
        assert_non_null(strstr(p.why, "is no plain name of 1 to 96 characters"));
        assert_non_null(strstr(p.why, bad[i]));
    }
}

/* The name that is made says the program, as a directory can be called; other programs are other jobs. */
static void a_name_is_made_from_the_program(void **state)
{
    (void)state;
    static const char *const programs[][2] = {
        {"/usr/bin/so lver;1", "so_lver_1-"}, {".hidden", "_hidden-"}, {"a.b+c-d_E9", "a.b+c-d_E9-"}, {"./x/solver", "solver-"}};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct start p = {.program = programs[i][0], .config = "job.name="}, again = p;
        world_anew();
        start(&p);
        size_t n = strlen(programs[i][1]);
        assert_true(!strncmp(p.job.name, programs[i][1], n) && strlen(p.job.name) == n + 12);
        assert_int_equal(strspn(p.job.name + n, "0123456789abcdef"), 12);
        assert_true(sk_job_name_ok(p.job.name));
        start(&again);
        assert_string_equal(again.job.name, p.job.name);
    }
}

/* What is moved together is the same job; the same prefix used from elsewhere is another one's. */
static void what_is_moved_together_stays_the_same_job(void **state)
{
    (void)state;
    char config[256], there[128];
    struct start first = {.program = "p", .config = "job.name=; store.prefix=here", .until = 10};
    struct start moved = {.program = "p", .config = "job.name=; store.prefix=here", .from = 10};
    shell("mkdir one two");
    snprintf(there, sizeof there, "%s/one", world.dir);
    assert_int_equal(chdir(there), 0);
    start(&first);
    snprintf(there, sizeof there, "%s/three", world.dir);
    shell("mv one three");
    assert_int_equal(chdir(there), 0);
    start(&moved);
    assert_string_equal(moved.job.name, first.job.name);
    assert_true(sk_id_same(moved.job.store, first.job.store));
    assert_string_equal(moved.job.place, moved.prefix); /* and is known by its new place */
    assert_string_equal(job_of("three/here").place, moved.prefix);
    world_expect("is a copy of", 0);
    /* a prefix that is not below the directory does not move with it: the directory is a part of the name */
    snprintf(config, sizeof config, "job.name=; store.prefix=%s/common", world.dir);
    struct start p = {.program = "p", .config = config}, q = {.program = "p", .config = config};
    start(&p);
    snprintf(there, sizeof there, "%s/two", world.dir);
    assert_int_equal(chdir(there), 0);
    start(&q);
    assert_string_not_equal(p.job.name, q.job.name);
    assert_int_equal(chdir("/"), 0);
}

/* In the prefix, as by a start that was killed. */
static void leave_lease(const char *name, struct sk_id store)
{
    struct sk_owner o;
    struct sk_buf b = {0};
    char path[PATH_MAX];
    sk_owner_self(name, NULL, 0, &o);
    o.store = store;
    snprintf(path, sizeof path, "%s/prefix/" SK_LEASE_FILE, world.dir);
    assert_int_equal(sk_owner_encode(&o, &b, NULL), 0);
    assert_int_equal(sk_io_replace(path, b.data, b.len, NULL), 0);
    sk_buf_free(&b);
}

/* What says whose it is was lost, or never written by an older version: the store is the first job's that comes, and what is in it is gone on
 * from. */
static void a_store_that_does_not_say_whose_it_is(void **state)
{
    (void)state;
    struct start a = {.program = "p", .config = "job.name=a", .until = 20}, again = {.program = "p", .config = "job.name=a", .from = 20, .until = 30};
    start(&a);
    world_expect("was made by an older version", 0);
    assert_false(a.job.adopted);
    shell("rm prefix/job");
    start(&again);
    world_expect("prefix has lost the file that says whose it is: from now on it is the store of job a", 1);
    world_expect("was made by an older version", 0);
    assert_true(again.job.adopted && sk_id_same(again.job.store, a.job.store));
    again.from = 30;
    start(&again);
    world_expect("has lost the file", 0); /* once */
    again.until = 40;
    start(&again);
    /* the state, too; the lease of a start that was killed is there */
    shell("rm prefix/job prefix/state");
    leave_lease("a", a.job.store);
    again.from = 40;
    again.until = 0;
    start(&again);
    assert_true(sk_id_same(again.job.store, a.job.store));
}

/* All of the store but its generations was lost, and what the nodes had: they say of which stores they are. */
static void a_store_of_which_only_generations_are_left(void **state)
{
    (void)state;
    struct start a = {.program = "p", .config = "job.name=a", .until = 20}, again = {.program = "p", .config = "job.name=a", .from = 20, .until = 30};
    start(&a);
    shell("rm -rf local prefix/job prefix/state prefix/" SK_LEASE_FILE);
    start(&again);
    world_expect("prefix has lost the file that says whose it is: from now on it is the store of job a", 1);
    assert_int_equal(again.job.former_count, 1);
    assert_true(sk_id_same(again.job.former[0], a.job.store) && !sk_id_same(again.job.store, a.job.store));
    /* once more: generations of two stores, of which each is said once, the newest first */
    struct start third = {.program = "p", .config = "job.name=a", .from = 30};
    shell("rm -rf local prefix/job prefix/state prefix/" SK_LEASE_FILE " && printf x >prefix/gen-0002-000000000030-0/rank-000001.skc");
    start(&third);
    assert_int_equal(third.job.former_count, 2);
    assert_true(sk_id_same(third.job.former[0], again.job.store) && sk_id_same(third.job.former[1], a.job.store));
}

/* Where a lease is left that says it, another job begins beside them, and the one whose they are goes on from them. */
static void another_job_leaves_such_generations_alone(void **state)
{
    (void)state;
    struct start a = {.program = "p", .config = "job.name=a", .until = 20}, b = {.program = "p", .config = "job.name=b", .until = 10};
    struct start again = {.program = "p", .config = "job.name=a", .from = 20};
    start(&a);
    shell("rm prefix/job prefix/state");
    leave_lease("a", a.job.store);
    start(&b);
    assert_string_equal(b.prefix + strlen(b.prefix) - strlen("/prefix/jobs/b"), "/prefix/jobs/b");
    start(&again);
    assert_true(sk_id_same(again.job.store, a.job.store));
    b.from = 10;
    start(&b);
}

/* What an older version left on the node, under the name of the job alone, goes on under the new name, unless there is one already. */
static void what_a_node_has_under_an_older_name(void **state)
{
    (void)state;
    struct start first = {.program = "p", .config = "job.name=test", .until = 20}, again = first;
    start(&first);
    again.from = 20;
    again.until = 0;
    shell("cd local/saikai-$(id -u) && mv test-* test && rm -f ../../prefix/job"); /* and the store says no more whose it is */
    start(&again);
    shell("cd local/saikai-$(id -u) && test ! -e test && ls -d test-*/gen-*20-0");
    shell("cd local/saikai-$(id -u) && mkdir -p test/gen-0001-000000000090-0 && rm -f ../../prefix/job");
    start(&again);
    shell("cd local/saikai-$(id -u) && test -e test/gen-0001-000000000090-0 && ls -d test-*/gen-*20-0");
}

/* A store that was copied is a new one, which may read what it was copied with; the ids it came from stay known, the newest first. */
static void a_copied_store_is_its_own(void **state)
{
    (void)state;
    char config[2][256];
    struct start first = {.program = "p", .config = "", .until = 20};
    start(&first);
    shell("mkdir second && cp -a prefix second/prefix");
    snprintf(config[0], sizeof config[0], "store.prefix=%s/second/prefix; store.local=%s/second/local", world.dir, world.dir);
    struct start second = {.program = "p", .config = config[0], .from = 20, .until = 30};
    start(&second);
    world_expect("is a copy of", 1);
    assert_false(sk_id_same(first.job.store, second.job.store));
    assert_int_equal(second.job.former_count, 1);
    assert_true(sk_id_same(second.job.former[0], first.job.store));
    struct start again = {.program = "p", .config = config[0], .from = 30};
    start(&again);
    world_expect("is a copy of", 0); /* once */
    assert_true(sk_id_same(again.job.store, second.job.store));
    shell("mkdir third && cp -a second/prefix third/prefix");
    snprintf(config[1], sizeof config[1], "store.prefix=%s/third/prefix; store.local=%s/third/local", world.dir, world.dir);
    struct start third = {.program = "p", .config = config[1], .from = 30};
    start(&third);
    assert_int_equal(third.job.former_count, 2);
    assert_true(sk_id_same(third.job.former[0], second.job.store) && sk_id_same(third.job.former[1], first.job.store));
    struct sk_job written = job_of("third/prefix");
    assert_true(sk_id_same(written.store, third.job.store) && written.former_count == 2);
    struct start old = {.program = "p", .config = "", .from = 20};
    start(&old);
    assert_true(sk_id_same(old.job.store, first.job.store)); /* the first one has not noticed anything */
}

/* A fresh start tells of jobs of the same program, made with other arguments, that have something to go on from. */
static void a_fresh_start_looks_aside(void **state)
{
    (void)state;
    char name[64], expect[256];
    struct start with = {.program = "solver", .config = "job.name=solver-0123456789ab", .until = 30};
    struct start fresh = {.program = "solver", .config = "job.name="};
    start(&with);
    start(&fresh);
    snprintf(expect, sizeof expect, "(newest: iteration 30) are in %s/prefix: to go on from there set job.name=solver-0123456789ab", world.dir);
    if (!strstr(fresh.aside, expect) || strstr(fresh.aside, "restart.mode"))
        fail_msg("it says '%s' and not '%s'", fresh.aside, expect);
    assert_non_null(strstr(fresh.aside, "; 2 generations of '")); /* store.keep_prefix */
    world_expect("starting fresh", 1);
    world_expect(expect, 1);
    /* nothing of that when there is something of its own */
    struct start own = {.program = "solver", .config = "job.name=", .until = 10}, again = {.program = "solver", .config = "job.name=", .from = 10};
    start(&own);
    start(&again);
    assert_string_equal(again.aside, "");
    /* nor of another program, or of a longer name that begins alike */
    world_anew();
    struct start other = {.program = "p", .config = "job.name=solver2-0123456789ab", .until = 10};
    start(&other);
    start(&fresh);
    assert_string_equal(fresh.aside, "");
    snprintf(name, sizeof name, "job.name=%.12s-0123456789ab", "solver");
    struct start ended = {.program = "solver", .config = name, .until = 10, .finishes = 1};
    world_anew();
    start(&other); /* has the prefix itself */
    start(&ended);
    start(&fresh);
    snprintf(expect, sizeof expect, "1 generation of '");
    assert_non_null(strstr(fresh.aside, expect));
    assert_non_null(strstr(fresh.aside, " is in "));
    assert_non_null(strstr(fresh.aside, "/prefix/jobs/solver-0123456789ab: to go on"));
    assert_non_null(strstr(fresh.aside, " and restart.mode=always")); /* it came to its end */
}

/* Under the launcher a start goes on where the one before it was, whatever the program is called by now. */
static void a_run_finds_its_job_again(void **state)
{
    (void)state;
    struct sk_keeper_page *page;
    char number[16], above[SK_LIFE_TEXT + 24];
    struct start other = {.program = "p", .config = "job.name=other", .until = 10};
    struct start roots = {.program = "first", .config = "job.name=", .until = 10}, first = {.program = "first", .config = "job.name=", .until = 20};
    struct start second = {.program = "second", .config = "job.name=", .from = 20}, unknown = {.program = "third", .config = "job.name="};
    struct start again = {.program = "second", .config = "job.name=", .from = 10};
    int fd;
    for (int in_root = 0; in_root < 2; in_root++) {
        world_anew();
        struct start *one = in_root ? &roots : &first;
        if (!in_root)
            start(&other);
        assert_int_equal(sk_keeper_page_make(0, 0, &fd, &page, NULL), 0);
        snprintf(number, sizeof number, "%d", fd);
        setenv(SK_RUN_ENV, sk_owner_above(77, above), 1);
        setenv(SK_KEEPER_FD_ENV, number, 1);
        start(one);
        page->incarnation = 1;
        start(in_root ? &again : &second);
        assert_string_equal((in_root ? again : second).job.name, one->job.name);
        assert_string_equal((in_root ? again : second).prefix, one->prefix);
        page->incarnation = 0; /* the first start of a run has none before it */
        start(&unknown);
        assert_string_not_equal(unknown.job.name, one->job.name);
        unsetenv(SK_KEEPER_FD_ENV);
        unsetenv(SK_RUN_ENV);
        sk_keeper_page_unmap(page);
        close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_share_a_prefix, make_world, remove_world),
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(a_claim_says_all_at_once, make_world, remove_world),
        cmocka_unit_test_setup_teardown(who_is_faster_has_it, make_world, remove_world),
        cmocka_unit_test_setup_teardown(a_claim_that_fails, make_world, remove_world),
        cmocka_unit_test_setup_teardown(a_moved_store_that_cannot_say_so, make_world, remove_world),
        cmocka_unit_test_setup_teardown(a_store_whose_job_cannot_be_read_is_not_used, make_world, remove_world),
        cmocka_unit_test_setup_teardown(names_are_plain, make_world, remove_world),
        cmocka_unit_test_setup_teardown(a_name_is_made_from_the_program, make_world, remove_world),
        cmocka_unit_test_setup_teardown(what_is_moved_together_stays_the_same_job, make_world, remove_world),
        cmocka_unit_test_setup_teardown(a_store_that_does_not_say_whose_it_is, make_world, remove_world),
        cmocka_unit_test_setup_teardown(a_store_of_which_only_generations_are_left, make_world, remove_world),
        cmocka_unit_test_setup_teardown(another_job_leaves_such_generations_alone, make_world, remove_world),
        cmocka_unit_test_setup_teardown(what_a_node_has_under_an_older_name, make_world, remove_world),
        cmocka_unit_test_setup_teardown(a_copied_store_is_its_own, make_world, remove_world),
        cmocka_unit_test_setup_teardown(a_fresh_start_looks_aside, make_world, remove_world),
        cmocka_unit_test_setup_teardown(a_run_finds_its_job_again, make_world, remove_world),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
