/* Damage anywhere in the local directory, also in the very moment: a restart goes back at most one interval. */
#include "lib/engine/heal/heal_testing.h"

#include "base/clock.h"
#include "lib/engine/engine_parts.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- cut in the very moment ---- */

static _Atomic int64_t cuts;
static atomic_int cutting;

/* Another thread cuts slots and generations of all kinds all the time, while they are written to and read. */
static void *cut_all_the_time(void *arg)
{
    char path[PATH_MAX];
    unsigned random = 5;
    for (const char *root = arg; atomic_load(&cutting);) {
        DIR *d = opendir(root);
        for (struct dirent *e; d && (e = readdir(d));)
            if (!strncmp(e->d_name, "slot-", 5) && snprintf(path, sizeof path, "%s/%s", root, e->d_name) > 0 &&
                !truncate(path, rand_r(&random) % 100000))
                cuts++;
        if (d)
            closedir(d);
        sk_sleep(0.0005);
    }
    return NULL;
}

static int go_on_meanwhile(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    static pthread_t thread;
    if (it == HEAL_EVERY + 5 && s->g->rank == 0) {
        atomic_store(&cutting, 1);
        CHECK(!pthread_create(&thread, NULL, cut_all_the_time, s->place.local_root));
    }
    if (it == 30 * HEAL_EVERY + 5 && s->g->rank == 0) {
        print_message("%lld cuts\n", (long long)cuts);
        CHECK(cuts > 0);
        atomic_store(&cutting, 0);
        CHECK(!pthread_join(thread, NULL));
    }
    return 0;
}

static void test_cut_while_it_is_used(void **state)
{
    (void)state;
    const char *const config[] = {"capture.tracker=full", HEAL_SCRUB, "capture.tracker=full; codec.chains=*=zstd"};
    for (int i = 0; i < 3; i++) {
        if (i) {
            heal_end(state);
            heal_begin(state);
        }
        cuts = 0;
        heal_start((struct heal_run){.until = 40 * HEAL_EVERY + 1, .from = -1, .config = config[i], .body = go_on_meanwhile, .may_fail = 1});
        heal_start((struct heal_run){.until = 0, .from = 40 * HEAL_EVERY, .config = ""});
    }
}

/* Without a prefix nothing else says whose the directory is but its generations. */
static void test_the_name_of_the_store_is_lost(void **state)
{
    (void)state;
    char path[256];
    for (int how = 0; how < 3; how++) {
        int64_t before = how * HEAL_EVERY, until = before + HEAL_EVERY;
        heal_start((struct heal_run){.until = until + 1, .from = how ? before : -1, .config = ""});
        snprintf(path, sizeof path, "%s/%s/job", world.dir, world_local());
        assert_true(how == 0 ? !unlink(path) : how == 1 ? !truncate(path, 20)
                                                        : heal_flip(path, 40));
    }
    heal_start((struct heal_run){.until = 0, .from = 3 * HEAL_EVERY, .config = ""});
}

/* ---- anywhere ---- */

static unsigned seed;

/* One of the files below the local directory: which, is up to chance. */
static int pick_file(const char *root, char out[PATH_MAX])
{
    int seen = 0;
    DIR *d = opendir(root);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[PATH_MAX], deeper[PATH_MAX];
        struct stat sb;
        if (e->d_name[0] == '.' || snprintf(path, sizeof path, "%s/%s", root, e->d_name) >= PATH_MAX || stat(path, &sb))
            continue;
        int is_dir = S_ISDIR(sb.st_mode);
        if (is_dir && !pick_file(path, deeper))
            continue;
        if (!is_dir && (!S_ISREG(sb.st_mode) || !sb.st_size || !strcmp(e->d_name, "state")))
            continue;
        if (!(rand_r(&seed) % ++seen))
            strcpy(out, is_dir ? deeper : path);
    }
    if (d)
        closedir(d);
    return seen > 0;
}

static void damage_something(const char *root)
{
    char path[PATH_MAX];
    struct stat sb;
    if (!pick_file(root, path) || stat(path, &sb))
        return;
    int how = rand_r(&seed) % 4;
    off_t at = (off_t)((uint64_t)rand_r(&seed) % (uint64_t)(sb.st_size ? sb.st_size : 1));
    if (how == 0)
        unlink(path);
    else if (how == 1 && !truncate(path, at))
        return;
    else
        heal_flip(path, at);
}

static _Atomic int64_t hit_at;

/* Damage at a random place; then what is promised: one interval, and the time of two scrubs. */
static int damage_anything(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    if (it < hit_at || it > hit_at)
        return 0;
    CHECK(!sk_group_barrier(s->g));
    if (s->g->rank == 0)
        damage_something(s->place.local_root);
    CHECK(!sk_group_barrier(s->g));
    for (int64_t passes = 0, begun = -1; begun < 0 || passes < begun + 2;) { /* two whole ones, on all ranks */
        uint64_t bytes;
        double cpu;
        sk_scrub_figures(s->levels.engine->healing.scrub, &passes, &bytes, &cpu);
        begun = begun < 0 ? passes : begun;
        int64_t v[2] = {passes, begun};
        CHECK(!sk_group_allreduce(s->g, v, 1, SK_OP_MIN));
        CHECK(!sk_group_allreduce(s->g, &v[1], 1, SK_OP_MAX));
        passes = v[0];
        begun = v[1];
        int due = sk_session_due(s, 1, it, &err);
        CHECK(due >= 0);
        if (due) {
            CHECK(sk_session_capture(s, 1, it, &err) <= 0);
            sk_session_wait(s, &err);
        }
        sk_sleep(0.002);
    }
    return 0;
}

static void test_damage_anywhere(void **state)
{
    const char *text = getenv("SAIKAI_TEST_TRIALS");
    int trials = text ? atoi(text) : 8;
    for (int k = 0; k < trials; k++) {
        if (k) {
            heal_end(state);
            heal_begin(state);
        }
        seed = 1000u + (unsigned)k;
        hit_at = HEAL_EVERY + 1 + rand_r(&seed) % (6 * HEAL_EVERY);
        int64_t until = hit_at + HEAL_EVERY + rand_r(&seed) % HEAL_EVERY; /* one interval later the program dies */
        heal_start((struct heal_run){.until = until, .from = -1, .config = HEAL_SCRUB, .body = damage_anything});
        print_message("trial %d: damage at %lld, death at %lld\n", k, (long long)hit_at, (long long)until);
        heal_start((struct heal_run){.until = 0, .from = until - HEAL_EVERY, .config = ""});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, heal_begin, heal_end)
        TEST(test_cut_while_it_is_used),
        TEST(test_the_name_of_the_store_is_lost),
        TEST(test_damage_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
