/* A program that closes all descriptors, as daemons and some runtimes do, and goes on: what it opens then is its own, whatever the
 * library had open under these numbers, and what is saved from then on is right. */
#include "lib/whole/solver_testing.h"

#include "base/file/io.h"
#include "store/owner/hold.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { FILES = 60, LAST = 1024 };

static int mine[FILES];

static void path_of(char path[128], int i)
{
    snprintf(path, 128, "%s/own-%d", world.dir, i);
}

/* All numbers but the standard ones; then files that take them. */
static int close_all_and_open_own(void)
{
    struct saikai_error err = {0};
    char path[128] = {0};
    for (int fd = 3; fd < LAST; fd++)
        close(fd);
    for (int i = 0; i < FILES; i++) {
        path_of(path, i);
        mine[i] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        CHECK(mine[i] >= 0 && write(mine[i], path, sizeof path) == sizeof path);
    }
    return 0;
}

/* They are open, at the place where they were, and hold what was written. */
static void own_files_are_as_they_were(void)
{
    char path[128] = {0}, text[128];
    struct stat st, named;
    for (int i = 0; i < FILES; i++) {
        path_of(path, i);
        assert_int_equal(fstat(mine[i], &st), 0);
        assert_int_equal(stat(path, &named), 0);
        assert_true(st.st_ino == named.st_ino && st.st_size == sizeof path);
        assert_int_equal(lseek(mine[i], 0, SEEK_CUR), sizeof path);
        assert_int_equal(pread(mine[i], text, sizeof text, 0), sizeof text);
        assert_string_equal(text, path);
        assert_int_equal(close(mine[i]), 0);
    }
}

static int closes_at_25(struct sk_session *s, int64_t it)
{
    (void)s;
    return it == 25 ? close_all_and_open_own() : 0;
}

static void closes(const char *config)
{
    solve(1, (struct solve){.until = 105, .crash = 1, .settle = 1, .config = config, .body = closes_at_25});
    own_files_are_as_they_were();
    solve(1, (struct solve){.until = 200, .settle = 1, .config = config, .expect = 1, .expect_from = 100});
}

static void test_files_of_the_program(void **state)
{
    (void)state;
    closes("");
    world_anew();
    closes("capture.tracker=hash");
    world_anew();
    closes("store.local=none");
    world_anew();
    closes("codec.chains=*=fast");
}

/* Coded over ranks: its files are kept open, too, from one generation to the next. All ranks are of this process, and lose theirs. */
static int closes_between(struct sk_session *s, int64_t it)
{
    if (it != 25)
        return 0;
    int rc = sk_group_barrier(s->g);
    if (!rc && !s->g->rank)
        rc = close_all_and_open_own();
    return rc ? rc : sk_group_barrier(s->g);
}

static void test_files_of_the_program_with_parity(void **state)
{
    (void)state;
    const char *config = "redundancy.scheme=xor; redundancy.domain=process; redundancy.group=3";
    solve(3, (struct solve){.until = 105, .crash = 1, .settle = 1, .config = config, .body = closes_between});
    own_files_are_as_they_were();
    solve(3, (struct solve){.until = 200, .settle = 1, .config = config, .expect = 1, .expect_from = 100});
}

/* The directory's lock was closed with the rest: it is held again, and no other start gets in. */
static int holds_again(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    struct sk_hold *other = NULL;
    CHECK(!closes_at_25(s, it));
    if (it > 25 && it % 10 == 0)
        CHECK(sk_hold_first(s->place.local_root, 0, &other, &err) == SAIKAI_EBUSY);
    return 0;
}

static void test_the_directory_is_held_again(void **state)
{
    (void)state;
    solve(1, (struct solve){.until = 105, .settle = 1, .body = holds_again});
    own_files_are_as_they_were();
}

static int begin(void **state)
{
    return solver_begin(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files_of_the_program, begin, solver_end),
        cmocka_unit_test_setup_teardown(test_files_of_the_program_with_parity, begin, solver_end),
        cmocka_unit_test_setup_teardown(test_the_directory_is_held_again, begin, solver_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
