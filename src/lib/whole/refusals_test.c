/* What a session refuses: settings that cannot be, names of files that are none, candidates out of turn. Each with a sentence that says
 * what is wrong, and without harm to what goes on. */
#include "lib/whole/session_testing.h"

#include "base/file/io.h"
#include "lib/run/requests.h"
#include "store/form/lineage.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 2, CELLS = 20000 };

static int make_world(void **state)
{
    (void)state;
    return world_begin("/tmp/saikai-refusals-XXXXXX", SK_LOG_INFO);
}

static int remove_world(void **state)
{
    (void)state;
    return world_end();
}

/* ---- settings ---- */

struct setting {
    const char *config;
    int rc; /* 0: it is right */
    const char *says;
};

static int begin(struct sk_group *g, void *arg)
{
    const struct setting *p = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    int rc = world_session(g, world_config("%s", p->config), &s, &err);
    CHECK(p->rc ? rc < 0 && (g->rank || rc == p->rc) : !rc);
    CHECK(!rc || (!s && (g->rank || strstr(err.text, p->says))));
    return rc ? 0 : world_leave(s, 0, 0);
}

static void settings_that_cannot_be(void **state)
{
    (void)state;
    static const struct setting cases[] = {
        {"store.local=none; store.prefix=none", SAIKAI_ECONFIG, "both 'none': there is nowhere to save to"},
        {"store.archive=aggregate; far.writers=1; far.group=2", SAIKAI_ECONFIG, "far.writers and far.group say the same in two ways"},
        {"store.archive=aggregate; far.writers=1; far.group=0", 0, NULL},
        {"store.archive=aggregate; far.writers=0; far.group=2", 0, NULL},
        {"redundancy.domain=process; redundancy.block=100", SAIKAI_ECONFIG, "redundancy.block: a multiple of 64 bytes up to "},
        {"redundancy.domain=process; redundancy.block=1TiB", SAIKAI_ECONFIG, "redundancy.block: a multiple of 64 bytes up to "},
        {"redundancy.domain=process; redundancy.block=128", 0, NULL},
        {"schedule.signals=USR3", SAIKAI_ECONFIG, "schedule.signals: 'USR3' is no signal that can be used"},
        {"schedule.stop_signals=SIGKILL", SAIKAI_ECONFIG, "schedule.stop_signals: 'KILL' is no signal that can be used"},
        {"schedule.signals=sigusr1, HUP cont", 0, NULL},
        {"store.prefix=none", 0, NULL},
        {"store.local=none", 0, NULL},
        {"codec.chains=u", SAIKAI_ECONFIG, "codec.chains: 'u' is no list"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        world_anew();
        world_start(N, begin, (void *)&cases[i]);
        sk_requests_remove();
    }
}

static void a_place_that_is_none(void **state)
{
    (void)state;
    char path[128], config[160];
    snprintf(path, sizeof path, "%s/file", world.dir);
    assert_int_equal(sk_io_replace(path, "x", 1, NULL), 0);
    snprintf(config, sizeof config, "store.prefix=%s", path);
    world_start(N, begin, &(struct setting){config, SAIKAI_EIO, "file"});
    snprintf(config, sizeof config, "store.local=%s", path);
    world_start(N, begin, &(struct setting){config, SAIKAI_EIO, "file"});
}

/* ---- files of the program ---- */

static int names_files(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[4] = {0};
    char path[512], longest[SAIKAI_MAX_NAME + 2];
    static const char *const bad[] = {"", "a/b", "/etc/passwd", ".", "..", ".hidden"};
    (void)arg;
    memset(longest, 'n', sizeof longest);
    longest[SAIKAI_MAX_NAME] = 0;
    CHECK(!world_session(g, world_config("schedule.every=10; schedule.first=no; redundancy.scheme=none"), &s, &err));
    CHECK(!world_protect(s, u, 4, &err));
    CHECK(sk_session_file_path(s, "f", path, sizeof path, &err) == SAIKAI_ESTATE && strstr(err.text, "between saikai_checkpoint_begin"));
    CHECK(sk_session_files_end(s, 1, &err) == SAIKAI_ESTATE && strstr(err.text, "did not return 1"));
    CHECK(sk_session_files_begin(s, 5, &err) == 0 && sk_session_files_end(s, 1, &err) == SAIKAI_ESTATE);
    CHECK(sk_session_files_begin(s, 10, &err) == 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(sk_session_file_path(s, bad[i], path, sizeof path, &err) == SAIKAI_EINVAL && strstr(err.text, "is no plain file name"));
    CHECK(sk_session_file_path(s, "u", path, sizeof path, &err) == SAIKAI_EEXIST && strstr(err.text, "the name of a protected variable"));
    CHECK(!sk_session_file_path(s, longest, path, sizeof path, &err) && !strcmp(strrchr(path, '/') + 1, longest));
    longest[SAIKAI_MAX_NAME] = 'n';
    longest[SAIKAI_MAX_NAME + 1] = 0;
    CHECK(sk_session_file_path(s, longest, path, sizeof path, &err) == SAIKAI_EINVAL);
    CHECK(sk_session_candidate(s, 0, 11, &err) == SAIKAI_ESTATE && strstr(err.text, "saikai_checkpoint_end is missing"));
    CHECK(!sk_session_file_path(s, "f", path, sizeof path, &err) && !sk_io_replace(path, "f\n", 2, &err));
    CHECK(!sk_session_files_end(s, 1, &err) && !sk_session_wait(s, &err));
    CHECK(access(path, F_OK) && s->capture.checkpoints == 1 && !s->capture.failed);
    /* files that the program says are not valid are not saved, and the generation before stays */
    CHECK(sk_session_files_begin(s, 20, &err) == 1);
    CHECK(sk_session_files_end(s, 0, &err) == SAIKAI_ESTATE && strstr(err.text, "its files are not valid"));
    CHECK(s->capture.checkpoints == 2 && s->capture.failed == 1 && sk_ledger_iteration(s->levels.ledger, SK_LEDGER_COMPLETE) == 10);
    return world_leave(s, 0, 0);
}

static void names_of_files(void **state)
{
    (void)state;
    world_start(N, names_files, NULL);
}

/* ---- candidates ---- */

static int calls_wrongly(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[4] = {0};
    int restored = 0;
    int64_t from = 0;
    (void)arg;
    CHECK(!world_session(g, world_config("schedule.every=10; schedule.first=no; redundancy.scheme=none"), &s, &err) && !world_protect(s, u, 4, &err));
    CHECK(sk_session_candidate(s, 0, -1, &err) == SAIKAI_EINVAL && strstr(err.text, "iteration -1; 0 to "));
    CHECK(sk_session_candidate(s, 0, SK_GEN_MAX_ITERATION + 1, &err) == SAIKAI_EINVAL);
    CHECK(sk_session_candidate(s, SK_GEN_MAX_PLACE + 1, 1, &err) == SAIKAI_EINVAL && strstr(err.text, "place 64; 0 to 63"));
    CHECK(s->clock.tick == 0); /* none of these was a candidate: it may still restart */
    CHECK(!sk_session_restart(s, &restored, &from, &err) && !restored);
    CHECK(sk_session_restart(s, &restored, &from, &err) < 0 && strstr(err.text, "must be called once, before the first candidate"));
    CHECK(sk_session_candidate(s, SK_GEN_MAX_PLACE, 0, &err) == 0 && s->clock.tick == 1);
    CHECK(sk_session_candidate(s, 0, 10, &err) == 1 && !sk_session_wait(s, &err));
    CHECK(sk_session_unprotect(s, "none", &err) == SAIKAI_ENOENT && !sk_session_unprotect(s, "u", &err) && sk_session_unprotect(s, "u", &err) == SAIKAI_ENOENT);
    CHECK(sk_session_candidate(s, 0, 20, &err) == 1 && !sk_session_wait(s, &err)); /* without any variable */
    struct saikai_status st;
    memset(&st, 0x55, sizeof st);
    sk_session_status(s, &st, sizeof st.checkpoints);
    CHECK(st.checkpoints == 2 && st.failed == 0x5555555555555555);
    sk_session_status(s, &st, sizeof st);
    CHECK(st.checkpoints == 2 && st.failed == 0 && st.complete_iteration == 20 && st.advice_every == 10 && st.bytes > 0 && st.blocked_seconds > 0);
    struct { struct saikai_status st; long more; } larger; /* of a later version */
    memset(&larger, 0x55, sizeof larger);
    sk_session_status(s, &larger.st, sizeof larger);
    CHECK(larger.st.checkpoints == 2 && larger.more == 0);
    return world_leave(s, 0, 0);
}

static void candidates_out_of_turn(void **state)
{
    (void)state;
    world_start(N, calls_wrongly, NULL);
}

/* ---- what is left behind ---- */

/* Archives of generations that build on others are made of files that are gone afterwards; more writers than ranks are as many as ranks. */
static int archives_changes(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double *u = calloc(CELLS, sizeof *u);
    (void)arg;
    CHECK(u && !world_session(g, world_config("schedule.every=10; schedule.first=no; redundancy.scheme=none; capture.tracker=hash; store.archive=aggregate; "
                                              "store.keep_prefix=9; store.keep_local=9; far.writers=50"), &s, &err));
    CHECK(!world_protect(s, u, CELLS, &err));
    for (int64_t it = 10; it <= 40; it += 10) {
        struct sk_gen base = {0};
        u[it] = (double)it;
        CHECK(sk_session_candidate(s, 0, it, &err) == 1 && !world_settle(s, it));
        CHECK(!sk_lineage_base(s->place.local_root, (struct sk_gen){1, it, 0}, g->rank, &base, &err) && base.iteration == (it > 10 ? it - 10 : 0));
    }
    int left = 0;
    DIR *d = opendir(s->place.local_root);
    for (struct dirent *e; d && (e = readdir(d));)
        left += strstr(e->d_name, "full-") != NULL;
    closedir(d);
    CHECK(!left);
    free(u);
    return world_leave(s, 0, 0);
}

static int reads_archives(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double *u = calloc(CELLS, sizeof *u);
    int restored = 0;
    int64_t from = 0;
    (void)arg;
    CHECK(u && !world_session(g, world_config("redundancy.scheme=none"), &s, &err) && !world_protect(s, u, CELLS, &err));
    CHECK(!sk_session_restart(s, &restored, &from, &err) && restored && from == 40);
    for (int64_t it = 10; it <= 40; it += 10)
        CHECK(u[it] == (double)it);
    free(u);
    return world_leave(s, 0, 0);
}

static void archives_of_changes_leave_nothing_behind(void **state)
{
    (void)state;
    char path[128];
    world_start(N, archives_changes, NULL);
    snprintf(path, sizeof path, "%s/prefix/gen-0001-000000000040-0/set-000001.2-of-2.ska", world.dir);
    assert_int_equal(access(path, F_OK), 0);
    world_lose("local");
    world_start(N, reads_archives, NULL);
}

/* A generation that cannot get its name: what went wrong is the sentence of the wait, the one before stays, and the next one is full. */
static _Atomic int refuses;

static int refuse_names(const char *op, const char *path)
{
    return refuses && (!strcmp(op, "rename") || !strcmp(op, "link")) && strstr(path, "rank-000001.skc") ? ENOSPC : 0;
}

static int commits(struct sk_group *g, void *arg)
{
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double *u = calloc(CELLS, sizeof *u);
    struct sk_gen base = {0};
    struct saikai_status st;
    (void)arg;
    CHECK(u && !world_session(g, world_config("store.prefix=none; schedule.every=10; schedule.first=no; redundancy.scheme=none; capture.tracker=hash"), &s, &err));
    CHECK(!world_protect(s, u, CELLS, &err));
    CHECK(sk_session_candidate(s, 0, 10, &err) == 1 && !sk_session_wait(s, &err) && !sk_group_barrier(g));
    refuses = 1;
    CHECK(sk_session_candidate(s, 0, 20, &err) == 1);
    int rc = sk_session_wait(s, &err);
    CHECK(rc == (g->rank == 1 ? SAIKAI_ENOSPC : SAIKAI_EPEER) && strstr(err.text, "generation gen-0001-000000000020-0 is not saved: "));
    CHECK(!sk_group_barrier(g));
    refuses = 0;
    CHECK(sk_ledger_iteration(s->levels.ledger, SK_LEDGER_COMPLETE) == 10);
    u[0] = 1;
    CHECK(!sk_group_barrier(g) && sk_session_candidate(s, 0, 30, &err) == 1 && !sk_session_wait(s, &err));
    CHECK(!sk_lineage_base(s->place.local_root, (struct sk_gen){1, 30, 0}, g->rank, &base, &err) && base.iteration == (g->rank == 1 ? 0 : 20));
    sk_session_status(s, &st, sizeof st);
    CHECK(st.complete_iteration == 30 && st.checkpoints == 3 && sk_session_candidate(s, 0, 40, &err) == 1 && !sk_session_wait(s, &err));
    free(u);
    return world_leave(s, 0, 0);
}

static void a_generation_that_cannot_be_named(void **state)
{
    (void)state;
    sk_io_hook = refuse_names;
    world_start(N, commits, NULL);
    sk_io_hook = NULL;
    world_expect("rank 1: generation gen-0001-000000000020-0 is not saved: ", 1);
    world_expect("rank 0: generation", 0);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, make_world, remove_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(settings_that_cannot_be), TEST(a_place_that_is_none), TEST(names_of_files), TEST(candidates_out_of_turn),
        cmocka_unit_test(remember_open_files),
        TEST(archives_of_changes_leave_nothing_behind), TEST(a_generation_that_cannot_be_named),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
