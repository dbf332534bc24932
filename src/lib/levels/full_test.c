/* Places that are full: a prefix with room for two generations and for no third one, node-local directories that take nothing from the
 * start on, and both. The job computes on, saves where there is room, and says what was let go or is missing. */
#include "lib/whole/solver_testing.h"

#include "base/file/io.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { N = 2, ENDLESS = 1000 };

/* How many generations' files of a rank the prefix takes, and whether the nodes take anything: no new directories either, or no bytes. */
static atomic_int room = ENDLESS, node_full, node_makes_directories;

static int files_of(int rank)
{
    int n = 0;
    for (int it = 10; it <= 400; it += 10)
        for (int start = 1; start <= 3; start++)
            n += world_has("prefix", start, it, rank);
    return n;
}

static int is_below(const char *path, const char *name)
{
    size_t n = strlen(world.dir), m = strlen(name);
    return !strncmp(path, world.dir, n) && path[n] == '/' && !strncmp(path + n + 1, name, m) && (path[n + 1 + m] == '/' || !path[n + 1 + m]);
}

/* Names that are opened to be made. */
static int is_new(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    return access(path, F_OK) && (strstr(name, "tmp") || !strcmp(name, "lock"));
}

static int full(const char *op, const char *path)
{
    int rank, grows = !strcmp(op, "write") || !strcmp(op, "truncate");
    const char *copy = strstr(path, "/copy-"), *direct = strstr(path, "/slot-");
    if (is_below(path, "prefix") && grows && ((copy && sscanf(copy, "/copy-%*u-%d.tmp", &rank) == 1) || (direct && sscanf(direct, "/slot-%*u-%d", &rank) == 1)))
        return files_of(rank) >= atomic_load(&room) ? ENOSPC : 0;
    if (!atomic_load(&node_full) || !is_below(path, "local"))
        return 0;
    if (!atomic_load(&node_makes_directories) && ((!strcmp(op, "mkdir") && access(path, F_OK)) || (!strcmp(op, "open") && is_new(path))))
        return ENOSPC;
    return grows ? ENOSPC : 0;
}

static int begin(void **state)
{
    atomic_store(&room, ENDLESS);
    atomic_store(&node_full, 0);
    atomic_store(&node_makes_directories, 0);
    sk_io_hook = full;
    return solver_begin(state);
}

static int end(void **state)
{
    sk_io_hook = NULL;
    return solver_end(state);
}

/* Each rank has the newest two again and again, and never fewer than one. */
static int one_is_whole(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    if (it >= 10)
        CHECK(world_has("prefix", 1, it - it % 10, s->g->rank));
    return 0;
}

static void test_a_prefix_with_room_for_two(void **state)
{
    (void)state;
    atomic_store(&room, 2);
    solve(N, (struct solve){.until = 105, .crash = 1, .settle = 1, .body = one_is_whole});
    world_expect("makes room", 1);
    world_expect("generation 1/90/0 is not archived", 0);
    world_lose("local");
    solve(N, (struct solve){.until = 205, .crash = 1, .settle = 1, .expect = 1, .expect_from = 100});
    world_lose("local");
    solve(N, (struct solve){.until = 210, .expect = 1, .expect_from = 200});
}

static int room_again(struct sk_session *s, int64_t it)
{
    (void)s;
    if (it == 65)
        atomic_store(&node_full, 0);
    return 0;
}

static void full_from_the_start(int makes_directories)
{
    atomic_store(&node_makes_directories, makes_directories);
    atomic_store(&node_full, 1);
    solve(N, (struct solve){.until = 105, .crash = 1, .settle = 1, .body = room_again}); /* each checkpoint is in the prefix */
    world_expect("takes nothing", 1);
    atomic_store(&node_full, 1);
    solve(N, (struct solve){.until = 155, .crash = 1, .settle = 1, .expect = 1, .expect_from = 100});
}

static void test_nodes_that_take_no_bytes(void **state)
{
    (void)state;
    full_from_the_start(1);
}

static void test_nodes_that_take_no_directory(void **state)
{
    (void)state;
    full_from_the_start(0);
}

/* Nothing takes anything: each checkpoint says so, the program computes on, and what is asked for when there is room again is saved. */
static int computes_on(struct sk_group *g, void *arg)
{
    (void)arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[SOLVER_CELLS] = {0};
    CHECK(!world_session(g, solver_config(""), &s, &err) && !world_protect(s, u, SOLVER_CELLS, &err));
    int restored = 1, failed = 0;
    int64_t from = 0;
    CHECK(!sk_session_restart(s, &restored, &from, &err) && !restored);
    for (int64_t it = 1; it <= 30; it++) {
        u[0] += 1;
        int rc = sk_session_candidate(s, 0, it, &err);
        CHECK(rc <= 0 && (rc == 0 || (rc == SAIKAI_ENOSPC && strstr(err.text, "/local/") && strstr(err.text, "/prefix"))));
        failed += rc < 0;
    }
    CHECK(failed >= 3 && u[0] == 30);
    CHECK(!sk_group_barrier(g));
    if (!g->rank) {
        atomic_store(&node_full, 0);
        atomic_store(&room, ENDLESS);
    }
    CHECK(!sk_group_barrier(g));
    for (int64_t it = 31; it <= 40; it++)
        CHECK(sk_session_candidate(s, 0, it, &err) >= 0);
    CHECK(!world_settle(s, 40));
    return world_leave(s, 0, 0);
}

static void test_nowhere(void **state)
{
    (void)state;
    atomic_store(&room, 0);
    atomic_store(&node_full, 1);
    world_start(N, computes_on, NULL);
    assert_true(world_has("prefix", 1, 40, 0) && world_has("prefix", 1, 40, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_prefix_with_room_for_two, begin, end),
        cmocka_unit_test_setup_teardown(test_nodes_that_take_no_bytes, begin, end),
        cmocka_unit_test_setup_teardown(test_nodes_that_take_no_directory, begin, end),
        cmocka_unit_test_setup_teardown(test_nowhere, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
