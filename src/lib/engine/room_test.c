/* Checkpoints where node-local memory does not take them: by made-up limits of a control group. The local directory is in
 * memory (/dev/shm); what does not fit is in the prefix, on each rank by itself, and every generation counts. */
#include "lib/whole/session_testing.h"

#include "base/file/io.h"
#include "base/host/headroom.h"
#include "lib/engine/room.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { N = 2, SIDE = 600, BYTES = SIDE * SIDE * 8, MIB = 1 << 20 };

static char local[64];

static void put(const char *name, const char *text)
{
    char path[256], parent[256];
    snprintf(path, sizeof path, "%s%s", world.dir, name);
    snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(sk_io_mkdirs(parent, NULL), 0);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* So many bytes can be had now, by the limit of a group; what is left to others comes on top. */
static void leave(long bytes)
{
    char text[64];
    snprintf(text, sizeof text, "%ld\n", bytes + 100L * MIB + 8L * MIB);
    put("/root/sys/fs/cgroup/memory.max", text);
}

static int make(void **state)
{
    (void)state;
    static char root[80];
    struct statfs s;
    strcpy(local, "/dev/shm/saikai-room-XXXXXX");
    if (world_begin("/tmp/saikai-room-XXXXXX", SK_LOG_NOTICE))
        return -1;
    if (statfs("/dev/shm", &s) || s.f_type != 0x01021994 || !mkdtemp(local)) {
        *local = 0;
        return 0;
    }
    snprintf(root, sizeof root, "%s/root", world.dir);
    put("/root/proc/self/cgroup", "0::/\n");
    put("/root/proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/root/sys/fs/cgroup/memory.current", "104857600\n");
    sk_headroom_look_below(root);
    return 0;
}

static int clear(void **state)
{
    (void)state;
    sk_headroom_look_below("");
    sk_log_set(NULL, NULL, 0);
    return (*local ? sk_io_rmtree(local, NULL) : 0) | world_end();
}

/* ---- the program ---- */

struct run {
    const char *config;
    int64_t until, expect_from;
    void (*at)(int64_t it); /* on rank 0, before each candidate */
    int fails;              /* captures are expected to fail */
};

static int few; /* values change */

static void step(double *u, int rank, int64_t it)
{
    for (size_t i = 0; i < (few ? 5 : SIDE * SIDE); i++)
        u[i] += (double)(it * 3 + rank) + (double)i * 1e-3;
}

/* The inner part of a larger array, so that what is saved has gaps; and one without. */
static int protect(struct sk_session *s, double *u, double *block, struct saikai_error *err)
{
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 2, .dims = {SIDE, SIDE}, .data = u};
    struct sk_var b = {.name = "block", .type = SAIKAI_F64, .ndims = 2, .dims = {100, 100}, .data = block + 102 + 1,
                       .layout.strided = 1, .layout.strides = {102 * 8, 8}};
    int rc = sk_vars_put(&s->vars, &v, err);
    return rc ? rc : sk_vars_put(&s->vars, &b, err);
}

static int compute(struct sk_session *s, double *u, double *block, int64_t from, const struct run *r)
{
    struct saikai_error err = {0};
    for (int64_t it = from; it < r->until; it++) {
        step(u, s->g->rank, it);
        for (int i = 0; i < 102 * 102; i++)
            block[i] = (double)(it + i);
        CHECK(!sk_group_barrier(s->g));
        if (r->at && !s->g->rank)
            r->at(it + 1);
        CHECK(!sk_group_barrier(s->g));
        int rc = sk_session_candidate(s, 0, it + 1, &err);
        CHECK(r->fails ? rc < 0 : rc > 0);
        if (!r->fails)
            CHECK(!sk_session_wait(s, &err));
    }
    return 0;
}

static int program(struct sk_group *g, void *arg)
{
    const struct run *r = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    static double all[N][SIDE * SIDE], right[N][SIDE * SIDE], block[N][102 * 102];
    double *u = all[g->rank];
    struct sk_config *c = world_config("store.local=%s; schedule.every=1; %s", local, r->config ? r->config : "");
    CHECK(!world_session(g, c, &s, &err));
    for (int i = 0; i < SIDE * SIDE; i++)
        right[g->rank][i] = u[i] = i;
    CHECK(!protect(s, u, block[g->rank], &err));
    int restored = 0;
    int64_t from = 0;
    CHECK(!sk_session_restart(s, &restored, &from, &err));
    CHECK(from == r->expect_from);
    for (int64_t it = 0; it < from; it++)
        step(right[g->rank], g->rank, it);
    CHECK(!memcmp(u, right[g->rank], BYTES));
    CHECK(!from || block[g->rank][102 + 1] == (double)(from - 1 + 103));
    CHECK(!from || block[g->rank][102 * 100 + 100] == (double)(from - 1 + 102 * 100 + 100));
    return world_leave(s, compute(s, u, block[g->rank], from, r), 0);
}

static void run(struct run r)
{
    world_start(N, program, &r);
}

#define NEED_MEMORY()                                                                              \
    if (!*local)                                                                                   \
    skip()

/* ---- tests ---- */

static void test_no_room_at_all(void **state)
{
    (void)state;
    NEED_MEMORY();
    leave(0);
    run((struct run){.until = 3});
    world_expect("memory.max of control group", 1);
    world_expect("was written to the prefix while the program waited", 1);
    run((struct run){.until = 7, .expect_from = 3});
    run((struct run){.config = "store.archive_every=0", .until = 12, .expect_from = 7});
    run((struct run){.until = 13, .expect_from = 12});
}

static void test_room_for_all(void **state)
{
    (void)state;
    NEED_MEMORY();
    leave(100L * MIB);
    run((struct run){.until = 4});
    world_expect("no room", 0);
}

/* Room for one slot of each: one generation here, one there, in turns; all of them can be resumed from. */
static void test_one_slot(void **state)
{
    (void)state;
    NEED_MEMORY();
    leave(0);
    for (int64_t it = 0; it < 6; it++) {
        if (it == 2)
            leave((long)BYTES + MIB);
        run((struct run){.until = it + 1, .expect_from = it});
    }
}

static void more_and_less(int64_t it)
{
    leave(it % 3 ? 0 : 100L * MIB);
}

static void test_comes_and_goes(void **state)
{
    (void)state;
    NEED_MEMORY();
    leave(0);
    run((struct run){.until = 5, .at = more_and_less});
    run((struct run){.config = "capture.tracker=full", .until = 11, .expect_from = 5, .at = more_and_less});
    run((struct run){.until = 12, .expect_from = 11});
}

static void test_nowhere(void **state)
{
    (void)state;
    NEED_MEMORY();
    leave(0);
    run((struct run){.config = "store.prefix=none", .until = 2, .fails = 1});
    world_expect("there is no prefix to write to (store.prefix)", 1);
}

/* A coded file beside the slot, a full one beside the delta, parity: what there is no room for is done without, and said. */
static void test_room_to_work(void **state)
{
    (void)state;
    NEED_MEMORY();
    leave(2L * BYTES + 4L * MIB);
    run((struct run){.config = "codec.chains=*=zstd", .until = 3});
    world_expect("is saved as it is, without codecs", 1);
    run((struct run){.config = "codec.chains=*=zstd", .until = 4, .expect_from = 3});
    leave(200L * MIB);
    run((struct run){.config = "codec.chains=*=zstd", .until = 6, .expect_from = 4});
    world_expect("without codecs", 0);
    few = 1;
    leave(8L * BYTES);
    run((struct run){.config = "capture.tracker=hash; capture.max_deltas=2; restart.mode=never", .until = 12});
    world_expect("changes are not put together", 1);
    run((struct run){.config = "capture.tracker=hash; capture.max_deltas=2", .until = 13, .expect_from = 12});
    few = 0;
}

static void test_room_for_parity(void **state)
{
    (void)state;
    NEED_MEMORY();
    leave(6L * BYTES);
    run((struct run){.config = "redundancy.domain=process; redundancy.scheme=xor", .until = 20});
    world_expect("is not protected (the one before stays so): no room", 1);
    run((struct run){.config = "redundancy.scheme=none", .until = 21, .expect_from = 20});
}

/* One rank takes its part, and not the others'. */
static void test_shares(void **state)
{
    (void)state;
    NEED_MEMORY();
    struct saikai_error err = {0};
    int lock;
    char path[128];
    leave(6L * MIB);
    assert_int_equal(sk_room_enter(local, 0, 0.5, 2 * MIB, &lock, &err), 0);
    snprintf(path, sizeof path, "%s/slot-0001-000000-0.tmp", local);
    int fd = sk_io_open(path, 66 /* O_RDWR | O_CREAT */, 0600, &err);
    assert_int_equal(sk_io_reserve(fd, path, 2 * MIB, &err), 0);
    close(fd);
    sk_room_leave(lock);
    leave(4L * MIB); /* of 6 */
    assert_int_equal(sk_room_enter(local, 0, 0.5, 2 * MIB, &lock, &err), SAIKAI_ENOSPC);
    assert_non_null(strstr(err.text, "this rank's share"));
    assert_int_equal(sk_room_enter(local, 1, 0.5, 3 * MIB, &lock, &err), 0);
    sk_room_leave(lock);
    assert_int_equal(sk_room_enter(local, 1, 0.5, 3 * MIB + 4096, &lock, &err), SAIKAI_ENOSPC);
    assert_int_equal(sk_room_enter(local, 0, 1, 4 * MIB, &lock, &err), 0);
    sk_room_leave(lock);
}

static void take(const char *name, uint64_t bytes)
{
    struct saikai_error err = {0};
    char path[160];
    snprintf(path, sizeof path, "%s/%s", local, name);
    if (strchr(name, '/')) {
        *strrchr(path, '/') = 0;
        assert_int_equal(sk_io_mkdirs(path, &err), 0);
        snprintf(path, sizeof path, "%s/%s", local, name);
    }
    int fd = sk_io_open(path, O_RDWR | O_CREAT, 0600, &err);
    assert_int_equal(sk_io_reserve(fd, path, bytes, &err), 0);
    close(fd);
}

static int may_take(int rank, double share, uint64_t bytes)
{
    struct saikai_error err = {0};
    int lock, rc = sk_room_enter(local, rank, share, bytes, &lock, &err);
    assert_true(!rc == (lock >= 0));
    sk_room_leave(lock);
    assert_true(!rc || rc == SAIKAI_ENOSPC);
    return !rc;
}

/* Generations and parity are a rank's part as slots are; what has another name is nobody's, and taken. */
static void test_whose_files_count(void **state)
{
    (void)state;
    NEED_MEMORY();
    static const char *const mine[] = {"gen-0001-000000000010-0/rank-000007.skc", "gen-0001-000000000010-0/parity-000007-0001.skp", "slot-0001-000007-0.tmp", "rank-000007.tmp"};
    static const char *const others[] = {"gen-0001-000000000010-0/rank-000070.skc", "gen-0001-000000000010-0/seven", "slot-0007-000001-7.tmp", "job"};
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++) {
        struct saikai_error err = {0};
        char text[256];
        int lock;
        take(mine[i], MIB);
        leave(3L * MIB); /* of 4; the half of it for each of two ranks */
        assert_true(may_take(7, 0.5, MIB) && !may_take(7, 0.5, MIB + 1));
        assert_true(may_take(1, 0.5, 2 * MIB) && !may_take(1, 0.5, 2 * MIB + 1));
        assert_int_equal(sk_room_enter(local, 7, 0.5, MIB + 1, &lock, &err), SAIKAI_ENOSPC);
        snprintf(text, sizeof text, "no room for %d bytes in %s: memory.max of control group / leaves %d, this rank's share is %d and it has %d", MIB + 1,
                 local, 3 * MIB, 2 * MIB, MIB);
        assert_non_null(strstr(err.text, text));
        assert_true(!sk_io_rmtree(local, NULL) && !sk_io_mkdirs(local, NULL));
        take(others[i], MIB);
        assert_true(may_take(7, 0.5, 2 * MIB) && !may_take(7, 0.5, 2 * MIB + 1));
        assert_true(may_take(7, 1, 3 * MIB) && !may_take(7, 1, 3 * MIB + 1)); /* what there is, whatever the share */
        assert_true(!sk_io_rmtree(local, NULL) && !sk_io_mkdirs(local, NULL));
    }
    assert_int_equal(sk_room_enter(local, 7, 0, 100 * MIB, &(int){0}, NULL), 0); /* no node-local directory: not counted */
}

/* What the process may not write is no matter of room. */
static void test_the_limit_of_a_file(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    struct rlimit was, less;
    int lock = 0;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    less = (struct rlimit){MIB, was.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    int fits = sk_room_enter("/nowhere", 0, 0, MIB, &lock, &err), not = sk_room_enter("/nowhere", 0, 0, MIB + 1, &lock, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(fits, 0);
    assert_true(not == SAIKAI_ENOSPC && lock == -1);
    assert_string_equal(err.text, "no file of 1048577 bytes may be written: ulimit -f allows 1048576");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make, clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_no_room_at_all), cmocka_unit_test(remember_open_files), /* after what a process opens once */
        TEST(test_room_for_all), TEST(test_one_slot), TEST(test_comes_and_goes), TEST(test_nowhere), TEST(test_shares), TEST(test_room_to_work),
        TEST(test_room_for_parity), TEST(test_whose_files_count), TEST(test_the_limit_of_a_file), cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
