/* What a program, or a script around it, sees of its place before MPI has begun: what MPI will tell it, also where processes are started that are no
 * ranks, or second ones of a rank. */
#include "daemon/child.h"

#include "backbone/keeper_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Rank and size that the process of this number in the start sees; repair: it takes the place of that rank. */
static void sees(uint32_t process, uint32_t repair, const char *seen)
{
    char *argv[] = {"sh", "-c", "printf '%s of %s' \"$OMPI_COMM_WORLD_RANK\" \"$OMPI_COMM_WORLD_SIZE\" >&$WHERE", NULL}, text[64] = "";
    int p[2], start_errno = 0, status;
    pid_t pid;
    sigset_t none;
    sigemptyset(&none);
    assert_int_equal(pipe(p), 0);
    snprintf(text, sizeof text, "%d", p[1]);
    setenv("WHERE", text, 1);
    snprintf(text, sizeof text, "%u", repair ? 0 : process);
    setenv("OMPI_COMM_WORLD_RANK", text, 1);
    setenv("OMPI_COMM_WORLD_SIZE", repair ? "1" : "8", 1);
    struct sk_child c = {.rank_env = "OMPI_COMM_WORLD_RANK", .rank = process, .repair = repair, .start = 1, .page_fd = -1, .output = -1, .mask = &none};
    assert_int_equal(sk_child_start(&c, argv, &pid, &start_errno, NULL), 0);
    assert_int_equal(start_errno, 0);
    close(p[1]);
    memset(text, 0, sizeof text);
    assert_true(read(p[0], text, sizeof text - 1) > 0);
    close(p[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_string_equal(text, seen);
}

static void a_process_has_a_twin_where_its_rank_is_two(void **state)
{
    static const struct {
        const char *copies;
        uint32_t process;
        int twin, is_second;
    } k[] = {
        {"4 1000000 0 0 ", 0, 4, 0}, {"4 1000000 0 0 ", 3, 7, 0}, {"4 1000000 0 0 ", 6, 2, 1},
        {"5 1000000 1 0 1, 3-4", 0, -1, 0}, {"5 1000000 1 0 1, 3-4", 1, 5, 0}, {"5 1000000 1 0 1, 3-4", 4, 7, 0},
        {"5 1000000 1 0 1, 3-4", 6, 3, 1}, {"5 1000000 1 0 7", 1, -1, 0}, {"", 0, -1, 0}, {NULL, 5, -1, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof k / sizeof *k; i++) {
        int second = -1;
        unsetenv(SK_WORLD_COPIES_ENV);
        if (k[i].copies)
            setenv(SK_WORLD_COPIES_ENV, k[i].copies, 1);
        assert_int_equal(sk_child_twin(k[i].process, &second), k[i].twin);
        assert_int_equal(second, k[i].is_second);
    }
    unsetenv(SK_WORLD_COPIES_ENV);
}

static void a_program_sees_its_rank(void **state)
{
    (void)state;
    unsetenv(SK_WORLD_COPIES_ENV);
    unsetenv(SK_WORLD_RANKS_ENV);
    unsetenv(SK_WORLD_LIBRARY_ENV);
    sees(3, 0, "3 of 8");
    setenv(SK_WORLD_RANKS_ENV, "6", 1);
    sees(3, 0, "3 of 8"); /* without the layer nothing is changed */
    setenv(SK_WORLD_LIBRARY_ENV, "libm.so.6", 1); /* in the place of the layer's */
    sees(5, 0, "5 of 6"); /* the others are warm spares */
    sees(5, 2, "5 of 6"); /* spawned alone, by the survivors */
    setenv(SK_WORLD_COPIES_ENV, "4 1000000 0 0 ", 1);
    sees(2, 0, "2 of 4");
    sees(4, 0, "0 of 4");
    sees(7, 0, "3 of 4");
    setenv(SK_WORLD_COPIES_ENV, "5 1000000 1 0 1, 3-4", 1);
    sees(3, 0, "3 of 5");
    sees(5, 0, "1 of 5");
    sees(7, 0, "4 of 5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_process_has_a_twin_where_its_rank_is_two), cmocka_unit_test(a_program_sees_its_rank)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
