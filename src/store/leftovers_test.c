/* What dead jobs left on a node: whose it is, what is still wanted, and what goes. */
#include "store/leftovers.h"

#include "base/clock.h"
#include "base/file/io.h"
#include "store/owner/hold.h"
#include "store/state.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

static char dir[64], user[80];

static struct sk_id id_of(int n)
{
    struct sk_id id;
    memset(&id, n, sizeof id);
    return id;
}

static struct sk_job job_of(int id, const char *place)
{
    struct sk_job j = {.name = "job", .store = id_of(id)};
    if (place)
        snprintf(j.place, sizeof j.place, "%s/%s", dir, place);
    return j;
}

static void make(const char *name, const char *file, size_t bytes)
{
    char path[256], content[20000] = "";
    snprintf(path, sizeof path, "%s/%s", user, name);
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    if (!file)
        return;
    snprintf(path, sizeof path, "%s/%s/%s", user, name, file);
    *strrchr(path, '/') = 0;
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    snprintf(path, sizeof path, "%s/%s/%s", user, name, file);
    assert_int_equal(sk_io_replace(path, content, bytes, NULL), 0);
}

/* A node's directory of the job with this id, whose store is (or was) at `place`. */
static void left(const char *name, int id, const char *place, int unclaimed)
{
    char path[256];
    struct sk_job j = job_of(id, place);
    j.unclaimed = unclaimed;
    make(name, "gen-file", 100);
    snprintf(path, sizeof path, "%s/%s", user, name);
    assert_int_equal(sk_job_replace(path, &j, NULL), 0);
}

static void store(const char *place, int id, int finished)
{
    char path[256];
    struct sk_job j = job_of(id, place);
    struct sk_state st = {.finished = finished};
    snprintf(path, sizeof path, "%s/%s", dir, place);
    assert_int_equal(sk_io_mkdirs(path, NULL), 0);
    assert_int_equal(sk_job_replace(path, &j, NULL), 0);
    assert_int_equal(sk_state_save(path, &st, NULL), 0);
}

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-leftovers-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(user, sizeof user, "%s/user", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static struct sk_leftover *find(struct sk_leftovers *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++)
        if (!strcmp(strrchr(l->dir[i].path, '/') + 1, name))
            return &l->dir[i];
    return NULL;
}

static void test_whose_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum sk_leftover_state state;
    } expect[] = {
        {"wanted", SK_LEFTOVER_WANTED},        {"finished", SK_LEFTOVER_FINISHED},
        {"replaced", SK_LEFTOVER_GONE},        {"removed", SK_LEFTOVER_GONE},
        {"away", SK_LEFTOVER_UNKNOWN},         {"one-of-several", SK_LEFTOVER_GONE},
        {"several-away", SK_LEFTOVER_UNKNOWN}, {"unclaimed", SK_LEFTOVER_WANTED},
        {"nobodys", SK_LEFTOVER_UNKNOWN},      {"placeless", SK_LEFTOVER_UNKNOWN},
        {"x-alone", SK_LEFTOVER_WANTED},       {"y-alone", SK_LEFTOVER_FINISHED},
        {"lives", SK_LEFTOVER_LIVES},
    };
    enum { COUNT = sizeof expect / sizeof *expect };
    char path[256];
    struct sk_state over = {.finished = 1};
    struct sk_leftovers l;
    struct sk_hold *held = NULL;
    assert_int_equal(sk_leftovers_scan(user, NULL, &l, NULL), 0); /* nothing is there */
    assert_int_equal(l.count, 0);
    store("p1", 1, 0);
    store("p2", 2, 1);
    store("p3", 33, 0);
    left("wanted", 1, "p1", 0);
    left("finished", 2, "p2", 0);
    left("replaced", 3, "p3", 0);
    left("removed", 4, "p4", 0);
    left("away", 5, "not-mounted/p", 0);
    left("one-of-several", 6, "p6/jobs/a", 0);
    left("several-away", 7, "not-mounted/p/jobs/a", 0);
    left("unclaimed", 8, "p8", 1);
    make("nobodys", "gen-file", 10);
    left("placeless", 9, NULL, 0);
    left("x-alone", 10, NULL, 0);
    left("y-alone", 11, NULL, 0);
    snprintf(path, sizeof path, "%s/y-alone", user);
    assert_int_equal(sk_state_save(path, &over, NULL), 0);
    left("lives", 12, "p1", 0);
    snprintf(path, sizeof path, "%s/lives", user);
    assert_int_equal(sk_hold_first(path, 0, &held, NULL), 0);
    left("mine", 13, "p1", 0);
    make(".hidden", "file", 10);
    snprintf(path, sizeof path, "%s/a-file", user);
    assert_int_equal(sk_io_replace(path, "x", 1, NULL), 0);
    assert_int_equal(sk_leftovers_scan(user, "mine", &l, NULL), 0);
    for (int i = 0; i < COUNT; i++) {
        struct sk_leftover *d = find(&l, expect[i].name);
        if (!d || d->state != expect[i].state)
            fail_msg("%s: %s", expect[i].name, d ? sk_leftover_state_name(d->state) : "not listed");
    }
    assert_int_equal(l.count, COUNT);
    assert_string_equal(find(&l, "wanted")->job.name, "job");
    assert_string_equal(find(&l, "nobodys")->job.name, "");
    sk_hold_release(held, NULL);
    sk_leftovers_free(&l);
    assert_int_equal(l.count, 0);
    snprintf(path, sizeof path, "%s/a-file", user);
    assert_true(sk_leftovers_scan(path, NULL, &l, NULL) < 0);
}

static void states_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"in use", "wanted", "finished", "store gone", "unknown"};
    for (int s = SK_LEFTOVER_LIVES; s <= SK_LEFTOVER_UNKNOWN; s++)
        assert_string_equal(sk_leftover_state_name((enum sk_leftover_state)s), names[s]);
}

/* What cannot be judged is kept: the store says nothing sound of itself, or no place from where one could tell. And nobody looks into what is
 * another user's, nor leaves a lock where there was none. */
static void what_cannot_be_judged(void **state)
{
    (void)state;
    char path[256];
    struct sk_leftovers l;
    struct sk_job j = job_of(3, NULL);
    store("p1", 1, 0);
    left("damaged", 1, "p1", 0);
    snprintf(path, sizeof path, "%s/p1/job", dir);
    assert_int_equal(sk_io_replace(path, "x", 1, NULL), 0);
    left("relative", 2, NULL, 0);
    strcpy(j.place, "nowhere");
    snprintf(path, sizeof path, "%s/relative", user);
    assert_int_equal(sk_job_replace(path, &j, NULL), 0);
    left("top", 3, NULL, 0);
    strcpy(j.place, "/nowhere-at-all");
    snprintf(path, sizeof path, "%s/top", user);
    assert_int_equal(sk_job_replace(path, &j, NULL), 0);
    left("jobs", 4, "jobs/a", 0); /* a prefix of that name, which was not made */
    make("theirs", "file", 1);
    snprintf(path, sizeof path, "%s/theirs", user);
    int given_away = !geteuid() && !chown(path, 65534, 65534);
    assert_int_equal(sk_leftovers_scan(user, NULL, &l, NULL), 0);
    assert_int_equal(l.count, given_away ? 4 : 5);
    assert_int_equal(find(&l, "damaged")->state, SK_LEFTOVER_UNKNOWN);
    assert_int_equal(find(&l, "relative")->state, SK_LEFTOVER_UNKNOWN);
    assert_int_equal(find(&l, "top")->state, SK_LEFTOVER_UNKNOWN);
    assert_int_equal(find(&l, "jobs")->state, SK_LEFTOVER_GONE);
    for (size_t i = 0; i < l.count; i++) {
        char lock[PATH_MAX + 16];
        snprintf(lock, sizeof lock, "%s/" SK_HOLD_FILE, l.dir[i].path);
        assert_int_equal(access(lock, F_OK), -1);
    }
    sk_leftovers_free(&l);
}

/* All that is in it to a certain depth, in blocks. */
static void test_how_much(void **state)
{
    (void)state;
    static const char *const below[] = {"", "/1", "/1/2", "/1/2/3", "/1/2/3/4", "/1/2/3/4/5"};
    uint64_t blocks = 0;
    struct sk_leftovers l;
    struct stat sb;
    char path[256];
    make("deep", "1/2/3/4/5/file", 9000);
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "deep%s", below[i]);
        make(path, "file", 5000);
        snprintf(path, sizeof path, "%s/deep%s/file", user, below[i]);
        assert_int_equal(lstat(path, &sb), 0);
        blocks += i < 5 ? (uint64_t)sb.st_blocks : 0; /* what is deeper is not looked for */
        snprintf(path, sizeof path, "%s/deep%s", user, below[i]);
        assert_int_equal(lstat(path, &sb), 0);
        blocks += i ? (uint64_t)sb.st_blocks : 0;
    }
    assert_int_equal(sk_leftovers_scan(user, NULL, &l, NULL), 0);
    assert_int_equal(l.count, 1);
    assert_true(l.dir[0].bytes == 512 * blocks && blocks);
    sk_leftovers_free(&l);
}

static void set_age(const char *name, const char *file, double age_s)
{
    char path[256];
    double at = (double)sk_wall_ms() / 1000 - age_s;
    struct timespec t[2] = {{(time_t)at, 0}, {(time_t)at, 0}};
    snprintf(path, sizeof path, "%s/%s/%s", user, name, file);
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void test_how_much_and_how_old(void **state)
{
    (void)state;
    struct sk_leftovers l;
    make("old", "file", 9000);
    make("young", "sub/file", 0);
    make("older", "file", 100);
    set_age("old", "file", 5000);
    set_age("old", "", 5000);
    set_age("older", "file", 8000);
    set_age("older", "", 9000);
    assert_int_equal(sk_leftovers_scan(user, NULL, &l, NULL), 0);
    assert_int_equal(l.count, 3);
    assert_ptr_equal(find(&l, "young"), &l.dir[0]);
    assert_ptr_equal(find(&l, "old"), &l.dir[1]);
    assert_ptr_equal(find(&l, "older"), &l.dir[2]);
    for (int i = 0; i < 12; i++) { /* whatever order the directory has */
        char name[16];
        struct sk_leftovers many;
        snprintf(name, sizeof name, "more%d", i * 7 % 12);
        make(name, "file", 10);
        set_age(name, "file", 100 + i * 5 % 12 * 50);
        set_age(name, "", 100 + i * 5 % 12 * 50);
        assert_int_equal(sk_leftovers_scan(user, NULL, &many, NULL), 0);
        assert_int_equal(many.count, 4 + (size_t)i);
        for (size_t k = 1; k < many.count; k++)
            assert_true(many.dir[k - 1].age_s <= many.dir[k].age_s);
        sk_leftovers_free(&many);
    }
    assert_true(l.dir[1].age_s >= 5000 && l.dir[1].age_s < 5600 && l.dir[2].age_s >= 8000 &&
                l.dir[2].age_s < 8600);
    assert_true(l.dir[1].bytes >= 9000 && l.dir[1].bytes < 40000);
    sk_leftovers_free(&l);
}

static void test_removing(void **state)
{
    (void)state;
    struct sk_leftovers l;
    struct saikai_error err;
    struct sk_hold *held = NULL;
    char path[PATH_MAX + 16];
    left("gone", 1, "p", 0);
    make("gone", "sub/file", 10);
    left("lives", 2, "p", 0);
    left("another", 3, "p", 0);
    left("nameless", 5, "p", 0);
    make("nobodys", "file", 1);
    assert_int_equal(sk_leftovers_scan(user, NULL, &l, NULL), 0);
    assert_int_equal(l.count, 5);
    assert_int_equal(sk_leftover_remove(find(&l, "gone"), &err), 0);
    assert_int_not_equal(access(find(&l, "gone")->path, F_OK), 0);
    assert_int_equal(sk_leftover_remove(find(&l, "gone"), &err), 0); /* somebody else was quicker */
    assert_int_equal(sk_leftover_remove(find(&l, "nobodys"), &err), 0);
    assert_int_not_equal(access(find(&l, "nobodys")->path, F_OK), 0);
    assert_int_equal(sk_hold_first(find(&l, "lives")->path, 0, &held, NULL), 0);
    assert_int_equal(sk_leftover_remove(find(&l, "lives"), &err), SAIKAI_EBUSY);
    sk_hold_release(held, NULL);
    left("another", 4, "p", 0);
    assert_int_equal(sk_leftover_remove(find(&l, "another"), &err), SAIKAI_EBUSY);
    assert_non_null(strstr(err.text, "another job's meanwhile"));
    snprintf(path, sizeof path, "%s/job", find(&l, "nameless")->path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(sk_leftover_remove(find(&l, "nameless"), &err), SAIKAI_EBUSY);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/gen-file", find(&l, i ? i > 1 ? "nameless" : "another" : "lives")->path);
        assert_int_equal(access(path, F_OK), 0);
    }
    sk_leftovers_free(&l);
}

static int cannot_unlink(const char *op, const char *path)
{
    return !strcmp(op, "unlink") && strstr(path, "gen-file") ? EIO : 0;
}

/* What cannot be removed is told, and the directory still says whose it is. */
static void test_half_removed(void **state)
{
    (void)state;
    struct sk_leftovers l;
    struct saikai_error err = {0};
    left("stays", 1, "p", 0);
    assert_int_equal(sk_leftovers_scan(user, NULL, &l, NULL), 0);
    sk_io_hook = cannot_unlink;
    int rc = sk_leftover_remove(&l.dir[0], &err);
    sk_io_hook = NULL;
    assert_int_equal(rc, SAIKAI_EIO);
    assert_non_null(strstr(err.text, "gen-file"));
    sk_leftovers_free(&l);
    assert_int_equal(sk_leftovers_scan(user, NULL, &l, NULL), 0);
    assert_int_equal(l.count, 1);
    assert_string_equal(l.dir[0].job.name, "job");
    assert_int_equal(sk_leftover_remove(&l.dir[0], &err), 0);
    assert_int_not_equal(access(l.dir[0].path, F_OK), 0);
    sk_leftovers_free(&l);
}

static void test_what_is_beyond(void **state)
{
    (void)state;
    struct sk_leftover d[] = {{.state = SK_LEFTOVER_GONE, .bytes = 60, .age_s = 1},
                              {.state = SK_LEFTOVER_WANTED, .bytes = 900, .age_s = 90},
                              {.state = SK_LEFTOVER_GONE, .bytes = 41, .age_s = 2},
                              {.state = SK_LEFTOVER_GONE, .bytes = 40, .age_s = 10},
                              {.state = SK_LEFTOVER_UNKNOWN, .bytes = 1, .age_s = 90},
                              {.state = SK_LEFTOVER_GONE, .bytes = 0, .age_s = 11},
                              {.state = SK_LEFTOVER_FINISHED, .bytes = 101, .age_s = 20},
                              {.state = SK_LEFTOVER_GONE, .bytes = 101, .age_s = 1}};
    const char expect[] = {0, 0, 1, 0, 0, 1, 0, 1};
    struct sk_leftovers l = {d, sizeof d / sizeof *d};
    char drop[8];
    memset(drop, 7, sizeof drop);
    assert_int_equal(sk_leftovers_beyond(&l, 10, 100, drop), 3);
    assert_memory_equal(drop, expect, sizeof drop);
    assert_int_equal(sk_leftovers_beyond(&l, 100, 1000, drop), 0);
    assert_int_equal(sk_leftovers_beyond(&l, 0, 1000, drop), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remember_open_files),
        cmocka_unit_test_setup_teardown(test_whose_it_is, make_dir, remove_dir),
        cmocka_unit_test(states_have_names),
        cmocka_unit_test_setup_teardown(what_cannot_be_judged, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_how_much, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_how_much_and_how_old, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_removing, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_half_removed, make_dir, remove_dir),
        cmocka_unit_test(test_what_is_beyond),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
