/* What programs protect through the public functions: all of it comes back, and what is wrong is
 * said. */
#include "lib/api/api_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { NX = 4, NY = 5, NZ = 3 };

static struct {
    double scalar, field[NX][NY], tile[NX][NY], framed[NX + 3][NY + 1], *moving, wide[2][2 * NY];
    float positions[6];
    size_t moving_count, places;
    int streamed, kept_same;
} now, saved;

static int look(void *arg, void **data, size_t *count)
{
    (void)arg;
    *data = now.positions;
    *count = now.places;
    return 0;
}

static int resize(void *arg, size_t count, void **data)
{
    (void)arg;
    now.places = count;
    *data = now.positions;
    return count > 2;
}

static int write_stream(FILE *f, void *arg)
{
    return fprintf(f, "%d", *(int *)arg) < 0;
}

static int read_stream(FILE *f, void *arg)
{
    return fscanf(f, "%d", (int *)arg) != 1;
}

static void fill(int from)
{
    double *d = &now.field[0][0], *t = &now.tile[0][0], *f = &now.framed[0][0],
           *w = &now.wide[0][0];
    now.scalar = from;
    for (int i = 0; i < NX * NY; i++)
        d[i] = t[i] = w[i] = from + i;
    for (int i = 0; i < (NX + 3) * (NY + 1); i++)
        f[i] = from - i;
    for (size_t i = 0; i < now.moving_count; i++)
        now.moving[i] = from * (double)i;
    for (int i = 0; i < 6; i++)
        now.positions[i] = (float)(from * i);
    now.streamed = from + 1;
    now.kept_same = from + 2;
}

static int protect_all(void)
{
    const size_t dims[] = {NX, NY}, offset[] = {0, 0}, low[] = {1, 0}, high[] = {2, 1},
                 half[] = {2, NY};
    const ptrdiff_t strides[] = {(ptrdiff_t)(2 * NY * sizeof(double)),
                                 2 * (ptrdiff_t)sizeof(double)};
    CHECK(!saikai_protect("scalar", &now.scalar, SAIKAI_F64, 0, NULL));
    CHECK(!saikai_protect("field", now.field, SAIKAI_F64, 2, dims));
    CHECK(!saikai_protect_global("tile", now.tile, SAIKAI_F64, 2, dims, dims, offset));
    CHECK(!saikai_protect_global_halo("framed", now.framed, SAIKAI_F64, 2, dims, dims, offset, low,
                                      high));
    CHECK(!saikai_protect_strided("wide", now.wide, SAIKAI_F64, 2, half, strides, NULL, NULL));
    CHECK(!saikai_protect_array("moving", (void **)&now.moving, &now.moving_count, 1, SAIKAI_F64));
    CHECK(!saikai_protect_resizable("positions", look, resize, NULL, 3, SAIKAI_F32));
    CHECK(!saikai_protect_stream("streamed", write_stream, read_stream, &now.streamed));
    CHECK(!saikai_protect("same", &now.kept_same, SAIKAI_I32, 0, NULL) &&
          !saikai_replicated("same"));
    return 0;
}

static int save_all(void)
{
    now.moving_count = 7;
    now.places = 2;
    now.moving = malloc(7 * sizeof *now.moving);
    CHECK(now.moving);
    fill(10);
    saved = now;
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("restart.mode=always")) &&
          !protect_all());
    CHECK(saikai_restart(NULL) == 0 && saikai_checkpoint_at(3, 1) == 0 &&
          saikai_checkpoint_at(5, 3) == 1);
    CHECK(!saikai_finalize());
    free(now.moving);
    return 0;
}

static int bring_all_back(void)
{
    long it = -1;
    now.moving_count = 1;
    now.places = 1;
    now.moving = malloc(sizeof *now.moving);
    fill(99);
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("restart.mode=always")) &&
          !protect_all());
    CHECK(saikai_restart(&it) == 1 && it == 3 && saikai_restored_place() == 5);
    CHECK(now.scalar == saved.scalar && now.streamed == saved.streamed &&
          now.kept_same == saved.kept_same);
    CHECK(!memcmp(now.field, saved.field, sizeof now.field) &&
          !memcmp(now.tile, saved.tile, sizeof now.tile));
    for (int i = 0; i < NX + 3; i++)
        for (int j = 0; j < NY + 1; j++) {
            int ghost = i < 1 || i >= NX + 1 || j >= NY;
            CHECK(now.framed[i][j] == (ghost ? 99 - (i * (NY + 1) + j) : saved.framed[i][j]));
        }
    for (int i = 0; i < 2 * NY; i++)
        CHECK(now.wide[0][i] == (i % 2 ? 99 + i : saved.wide[0][i]) &&
              now.wide[1][i] == (i % 2 ? 99 + 2 * NY + i : saved.wide[1][i]));
    CHECK(now.moving_count == 7 && now.moving[6] == 60 && now.places == 2 &&
          !memcmp(now.positions, saved.positions, sizeof now.positions));
    FAILS(saikai_restart(&it), SAIKAI_ESTATE, "");
    CHECK(!saikai_unprotect("scalar"));
    FAILS(saikai_unprotect("scalar"), SAIKAI_ENOENT, "scalar");
    CHECK(!saikai_finalize());
    free(now.moving);
    return 0;
}

static void test_everything_comes_back(void **state)
{
    (void)state;
    api_testing_runs(save_all);
    api_testing_runs(bring_all_back);
}

static int mistakes_with_variables(void)
{
    double x[4] = {0};
    void *p = x;
    size_t n = 4, two[] = {2, 2}, zero[] = {0, 0}, beyond[] = {1, 0},
           dims9[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    char name[SAIKAI_MAX_NAME + 2];
    const ptrdiff_t strides[] = {16, 8};
    memset(name, 'n', sizeof name);
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("")));
    name[SAIKAI_MAX_NAME + 1] = 0;
    FAILS(saikai_protect(name, x, SAIKAI_F64, 1, &n), SAIKAI_EINVAL, "255 bytes");
    CHECK(strstr(api_testing_log, "saikai_protect: rank 0: the name"));
    name[SAIKAI_MAX_NAME] = 0;
    CHECK(!saikai_protect(name, x, SAIKAI_F64, 1, &n) && !saikai_unprotect(name));
    FAILS(saikai_protect(NULL, x, SAIKAI_F64, 1, &n), SAIKAI_EINVAL, "name");
    FAILS(saikai_protect("x", x, SAIKAI_F64, 1, NULL), SAIKAI_EINVAL, "dims is NULL");
    FAILS(saikai_protect("x", x, SAIKAI_F64, 9, dims9), SAIKAI_EINVAL, "'x'");
    CHECK(!saikai_protect("x", x, SAIKAI_F64, 8, dims9));
    FAILS(saikai_protect_global("x", x, SAIKAI_F64, 0, two, two, zero), SAIKAI_EINVAL,
          "1 to 8 dimensions");
    FAILS(saikai_protect_global("x", x, SAIKAI_F64, 9, dims9, dims9, dims9), SAIKAI_EINVAL,
          "1 to 8 dimensions");
    FAILS(saikai_protect_global("x", x, SAIKAI_F64, 2, NULL, two, zero), SAIKAI_EINVAL, "all told");
    FAILS(saikai_protect_global("x", x, SAIKAI_F64, 2, two, NULL, zero), SAIKAI_EINVAL, "all told");
    FAILS(saikai_protect_global("x", x, SAIKAI_F64, 2, two, two, NULL), SAIKAI_EINVAL, "all told");
    FAILS(saikai_protect_global("x", x, SAIKAI_F64, 2, two, two, beyond), SAIKAI_EINVAL, "'x'");
    FAILS(saikai_protect_global_halo("x", x, SAIKAI_F64, 2, two, two, zero, NULL, zero),
          SAIKAI_EINVAL, "halo");
    FAILS(saikai_protect_global_halo("x", x, SAIKAI_F64, 2, two, two, zero, zero, NULL),
          SAIKAI_EINVAL, "halo");
    FAILS(saikai_protect_strided("x", x, SAIKAI_F64, 2, two, NULL, NULL, NULL), SAIKAI_EINVAL,
          "strides_bytes is NULL");
    FAILS(saikai_protect_strided("x", x, SAIKAI_F64, 2, NULL, strides, NULL, NULL), SAIKAI_EINVAL,
          "dims or strides");
    FAILS(saikai_protect_strided("x", x, SAIKAI_F64, 2, two, strides, two, beyond), SAIKAI_EINVAL,
          "'x'");
    FAILS(saikai_protect_array("x", &p, &n, 0, SAIKAI_F64), SAIKAI_EINVAL, "width");
    FAILS(saikai_protect_resizable("x", look, resize, NULL, 0, SAIKAI_F64), SAIKAI_EINVAL, "width");
    FAILS(saikai_bound("x", SAIKAI_ABS, 0), SAIKAI_EINVAL, "bound");
    FAILS(saikai_bound("x", (enum saikai_bound_kind)(SAIKAI_PSNR + 1), 1), SAIKAI_EINVAL, "bound");
    FAILS(saikai_bound("x", SAIKAI_ABS, 1.0 / (n - 4)), SAIKAI_EINVAL, "bound");
    FAILS(saikai_bound("y", SAIKAI_ABS, 1), SAIKAI_EINVAL, "y");
    CHECK(!saikai_bound("x", SAIKAI_PSNR, 60) && !saikai_bound("x", SAIKAI_EXACT, 0));
    FAILS(saikai_set("x", "colour", "red"), SAIKAI_EINVAL, "colour");
    CHECK(!saikai_protect_global("g", x, SAIKAI_F64, 2, two, two, zero));
    FAILS(saikai_replicated("g"), SAIKAI_EINVAL, "part of a global array");
    FAILS(saikai_replicated("y"), SAIKAI_EINVAL, "y");
    FAILS(saikai_set_sizes("x", "halo", 3, dims9), SAIKAI_EINVAL, "halo");
    CHECK(strstr(api_testing_log, "saikai_set: rank 0"));
    FAILS(saikai_unprotect(NULL), SAIKAI_ENOENT, "");
    CHECK(saikai_refuse(NULL) == SAIKAI_EINVAL);
    return saikai_finalize();
}

static int fails_to_look(void *arg, void **data, size_t *count)
{
    *data = NULL;
    *count = 3;
    return *(int *)arg;
}

static int fails_to_write(FILE *f, void *arg)
{
    return fprintf(f, "x") < 0 ? 1 : *(int *)arg;
}

static int fails_to_read(FILE *f, void *arg)
{
    return fgetc(f) == 'x' ? *(int *)arg : 9;
}

/* What the program's own functions and pointers get wrong is found when they are used; the
 * generation before stays. */
static int functions_fail(void)
{
    struct saikai_status st;
    double x[4] = {0};
    size_t most = SIZE_MAX, big[] = {(size_t)1 << 40, (size_t)1 << 40}, one[] = {1, 1},
           zero[] = {0, 0};
    void *data = NULL;
    size_t count = 0;
    int code = 0;
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("restart.mode=always")));
    FAILS(saikai_protect("", x, SAIKAI_F64, 0, NULL), SAIKAI_EINVAL, "needs a name");
    FAILS(saikai_protect("x", NULL, SAIKAI_F64, 0, NULL), SAIKAI_EINVAL, "a pointer is NULL");
    FAILS(saikai_protect("x", x, SAIKAI_F64, 1, &most), SAIKAI_EINVAL, "larger than memory can be");
    FAILS(saikai_protect("x", x, SAIKAI_F64, -1, NULL), SAIKAI_EINVAL, "'x'");
    FAILS(saikai_protect("x", x, (enum saikai_type)0, 0, NULL), SAIKAI_EINVAL, "'x'");
    FAILS(saikai_protect_global("x", x, SAIKAI_F64, 2, one, big, zero), SAIKAI_EINVAL,
          "more than 2^64 bytes");
    FAILS(saikai_protect_array("x", NULL, &count, 1, SAIKAI_F64), SAIKAI_EINVAL, "NULL");
    FAILS(saikai_protect_array("x", &data, NULL, 1, SAIKAI_F64), SAIKAI_EINVAL, "NULL");
    FAILS(saikai_protect_stream("x", NULL, fails_to_read, NULL), SAIKAI_EINVAL, "NULL");
    FAILS(saikai_protect_stream("x", fails_to_write, NULL, NULL), SAIKAI_EINVAL, "NULL");
    FAILS(saikai_protect_resizable("x", NULL, resize, NULL, 1, SAIKAI_F64), SAIKAI_EINVAL, "NULL");
    FAILS(saikai_protect_resizable("x", look, NULL, NULL, 1, SAIKAI_F64), SAIKAI_EINVAL, "NULL");
    CHECK(!saikai_protect_stream("s", fails_to_write, fails_to_read, &code) &&
          !saikai_protect("x", x, SAIKAI_F64, 0, NULL));
    FAILS(saikai_set("s", "halo", "1:1"), SAIKAI_EINVAL, "can have no halo");
    FAILS(saikai_set("x", "codec",
                     "zstdzstdzstdzstdzstdzstdzstdzstdzstdzstdzstdzstdzstdzstdzstdzstdzstd"),
          SAIKAI_EINVAL, "'x'");
    CHECK(saikai_restart(NULL) == 0 && saikai_checkpoint(3) == 1 && !saikai_wait());
    code = 5;
    FAILS(saikai_checkpoint(6), SAIKAI_ESTATE,
          "rank 0: iteration 6 is not saved (the generation before stays): variable 's': the "
          "program's writer returned 5");
    code = 0;
    CHECK(!saikai_protect_resizable("r", fails_to_look, resize, &code, 1, SAIKAI_F64));
    FAILS(saikai_checkpoint(9), SAIKAI_EINVAL, "variable 'r': 3 elements at");
    code = 4;
    CHECK(!saikai_unprotect("s"));
    FAILS(saikai_checkpoint(12), SAIKAI_ESTATE, "variable 'r': the program's function returned 4");
    CHECK(!saikai_unprotect("r"));
    CHECK(saikai_checkpoint_now(13) == 1 && !saikai_wait() && !saikai_get_status(&st, sizeof st));
    CHECK(st.checkpoints == 5 && st.failed == 3 && st.complete_iteration == 13);
    code = 0;
    CHECK(!saikai_protect_stream("s", fails_to_write, fails_to_read, &code) &&
          saikai_checkpoint_now(14) == 1);
    return saikai_finalize();
}

/* After a restart that failed, a program that looks at errors may mend what it protects and try
 * again in another start. */
static int reader_fails(void)
{
    double x = 0;
    long it = 0;
    int code = 7;
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("restart.mode=always")));
    CHECK(!saikai_protect("x", &x, SAIKAI_F64, 0, NULL) &&
          !saikai_protect_stream("s", fails_to_write, fails_to_read, &code));
    FAILS(saikai_restart(&it), SAIKAI_ECHANGED, "variable 's': the program's reader returned 7");
    CHECK(!it);
    saikai_finalize();
    return 0;
}

static int has_another_type(void)
{
    float x = 0;
    int code = 0;
    CHECK(!saikai_init(MPI_COMM_WORLD, api_testing_settings("restart.mode=always")));
    CHECK(!saikai_protect("x", &x, SAIKAI_F32, 0, NULL) &&
          !saikai_protect_stream("s", fails_to_write, fails_to_read, &code));
    FAILS(saikai_restart(NULL), SAIKAI_ECHANGED, "'x'");
    saikai_finalize();
    return 0;
}

static void test_mistakes_with_variables(void **state)
{
    (void)state;
    api_testing_runs(mistakes_with_variables);
    api_testing_runs(functions_fail);
    api_testing_runs(reader_fails);
    api_testing_runs(has_another_type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_everything_comes_back, api_testing_make_dir,
                                        api_testing_remove_dir),
        cmocka_unit_test_setup_teardown(test_mistakes_with_variables, api_testing_make_dir,
                                        api_testing_remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
