/* All that a program does by handles of its own, two beside each other: what each saves, when, and what comes back by it when the process
 * has died. There is no default one meanwhile. */
#include "lib/api/api_testing.h"

#include "base/file/io.h"
#include "base/host/fork_testing.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { DIED = 7, CELLS = 100 };

static struct saikai *a, *b;
static double x[CELLS], y[CELLS];

static int open_both(void)
{
    char text[1024];
    snprintf(text, sizeof text, "%s", api_testing_settings("job.name=a; schedule.every=3"));
    CHECK(!saikai_open(MPI_COMM_WORLD, text, &a));
    snprintf(text, sizeof text, "%s", api_testing_settings("job.name=b; schedule.every=4"));
    CHECK(!saikai_open(MPI_COMM_WORLD, text, &b) && a != b && !saikai_default());
    memset(x, 0, sizeof x);
    memset(y, 0, sizeof y);
    CHECK(!saikai_h_protect(a, "x", x, SAIKAI_F64, 1, (size_t[]){CELLS}));
    CHECK(!saikai_h_protect(b, "y", y, SAIKAI_F64, 1, (size_t[]){CELLS}));
    return 0;
}

static int first(void)
{
    struct saikai_status st;
    long it = 77;
    if (open_both())
        return -1;
    CHECK(saikai_h_restart(a, &it) == 0 && saikai_h_restart(b, &it) == 0 && it == 77);
    CHECK(saikai_h_restored_place(a) == 0);
    for (it = 1; it <= 10; it++) {
        x[7] = (double)it;
        y[7] = (double)-it;
        CHECK(saikai_h_checkpoint(a, it) == (it % 3 == 0));
        CHECK(saikai_h_checkpoint_at(b, 5, it) == (it % 4 == 0));
    }
    CHECK(!saikai_h_wait(a) && !saikai_h_wait(b));
    CHECK(!saikai_h_get_status(a, &st, sizeof st) && st.complete_iteration == 9 && st.checkpoints == 3);
    CHECK(!saikai_h_get_status(b, &st, sizeof st) && st.complete_iteration == 8 && st.checkpoints == 2);
    _exit(DIED);
}

static int second(void)
{
    char path[PATH_MAX];
    long it = 0, at = 0;
    if (open_both())
        return -1;
    CHECK(saikai_h_restart(a, &it) == 1 && it == 9 && x[7] == 9 && saikai_h_restored_place(a) == 0);
    CHECK(saikai_h_restart_from(b, NULL, &at) == 1 && at == 8 && y[7] == -8 && saikai_h_restored_place(b) == 5);
    CHECK(saikai_restored_place() == 0); /* of the default one */
    FAILS(saikai_h_checkpoint(a, 8), SAIKAI_EINVAL, "restored iteration");
    FAILS(saikai_h_checkpoint_at(b, -1, 9), SAIKAI_EINVAL, "place -1");
    FAILS(saikai_h_checkpoint_at(b, 64, 9), SAIKAI_EINVAL, "place 64");
    CHECK(saikai_h_checkpoint_at(b, 63, 9) == 0);
    x[7] = 10;
    CHECK(saikai_h_checkpoint(a, 10) == 0 && saikai_h_checkpoint_now(a, 10) == 1 && !saikai_h_should_stop(a));
    CHECK(saikai_h_checkpoint_begin(b, 10) == 0 && saikai_h_checkpoint_begin(b, 12) == 1);
    FAILS(saikai_h_file_path(a, "f", path, sizeof path), SAIKAI_ESTATE, "between");
    CHECK(!saikai_h_file_path(b, "f", path, sizeof path) && !sk_io_replace(path, "text", 4, NULL));
    CHECK(!saikai_h_checkpoint_end(b, 1) && !saikai_h_wait(a) && !saikai_h_wait(b));
    _exit(DIED);
}

static int third(void)
{
    char path[PATH_MAX], text[8] = "";
    long it = 0;
    if (open_both())
        return -1;
    CHECK(saikai_h_restart_from(a, "newest", &it) == 1 && it == 10 && x[7] == 10);
    CHECK(saikai_h_restart(b, &it) == 1 && it == 12 && y[7] == -8 && saikai_h_restored_place(b) == 0);
    FAILS(saikai_h_restored_file(a, "f", path, sizeof path), SAIKAI_ENOENT, "f");
    CHECK(!saikai_h_restored_file(b, "f", path, sizeof path));
    FILE *f = fopen(path, "r");
    CHECK(f && fread(text, 1, sizeof text, f) == 4 && !strcmp(text, "text"));
    fclose(f);
    FAILS(saikai_h_checkpoint_end(b, 1), SAIKAI_ESTATE, "saikai_checkpoint_begin");
    CHECK(!saikai_close(a));
    CHECK(saikai_h_checkpoint_at(b, 2, 13) == 0); /* the other one goes on */
    CHECK(!saikai_close(b));
    return 0;
}

/* What a process ends with that does this. */
static int ends_with(int (*body)(void))
{
    int status = 0;
    pid_t pid = sk_testing_fork();
    if (!pid) {
        alarm(100);
        _exit(api_testing_logged(body) != 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void each_handle_has_what_is_its_own(void **state)
{
    (void)state;
    assert_int_equal(ends_with(first), DIED);
    assert_int_equal(ends_with(second), DIED);
    assert_int_equal(ends_with(third), 0);
}

static int without_one(void)
{
    char path[PATH_MAX];
    long it = 7;
    struct saikai_status st;
    static const char words[] = "saikai_init was not called";
    FAILS(saikai_h_restart(NULL, &it), SAIKAI_ESTATE, words);
    FAILS(saikai_h_restart_from(NULL, NULL, &it), SAIKAI_ESTATE, words);
    FAILS(saikai_h_checkpoint(NULL, 1), SAIKAI_ESTATE, words);
    FAILS(saikai_h_checkpoint_at(NULL, 1, 1), SAIKAI_ESTATE, words);
    FAILS(saikai_h_checkpoint_now(NULL, 1), SAIKAI_ESTATE, words);
    FAILS(saikai_h_checkpoint_begin(NULL, 1), SAIKAI_ESTATE, words);
    FAILS(saikai_h_checkpoint_end(NULL, 1), SAIKAI_ESTATE, words);
    FAILS(saikai_h_file_path(NULL, "f", path, sizeof path), SAIKAI_ESTATE, words);
    FAILS(saikai_h_restored_file(NULL, "f", path, sizeof path), SAIKAI_ESTATE, words);
    FAILS(saikai_h_get_status(NULL, &st, sizeof st), SAIKAI_ESTATE, words);
    FAILS(saikai_h_wait(NULL), SAIKAI_ESTATE, words);
    FAILS(saikai_close(NULL), SAIKAI_ESTATE, words);
    CHECK(!saikai_h_restored_place(NULL) && !saikai_h_should_stop(NULL) && it == 7);
    return 0;
}

static void no_handle_is_told(void **state)
{
    (void)state;
    api_testing_runs(without_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_handle_has_what_is_its_own, api_testing_make_dir, api_testing_remove_dir),
        cmocka_unit_test_setup_teardown(no_handle_is_told, api_testing_make_dir, api_testing_remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
