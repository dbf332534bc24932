/* A rank's own part of a generation: from which copy it is read, what is tried again, what another copy cannot mend, and what is known of it then. Files
 * are made by hand. */
#include "lib/restart/own_part.h"

#include "base/file/io.h"
#include "base/log.h"
#include "lib/whole/failing/generation_testing.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/host/open_files_testing.h"

enum { CELLS = 500, RANK = 2, RANKS = 3 };

static const struct sk_gen gen = {1, 10, 0};
static char dir[64], said[8192];
static double u[CELLS];
static struct sk_group group = {.rank = RANK, .size = RANKS};
static struct sk_session s;

static void note(void *arg, int level, const char *line)
{
    (void)arg;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%d %s\n", level, line);
}

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-own-part-XXXXXX");
    sk_log_set(note, NULL, SK_LOG_WARN);
    *said = 0;
    memset(u, 0, sizeof u);
    s = (struct sk_session){.g = &group, .who = {.incarnation = 7, .job.store = {{5}}}};
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {CELLS}, .data = u};
    if (!mkdtemp(dir) || !(s.config = sk_config_new()) || sk_vars_put(&s.vars, &v, NULL))
        return -1;
    snprintf(s.place.local_root, sizeof s.place.local_root, "%s/local", dir);
    snprintf(s.place.prefix_root, sizeof s.place.prefix_root, "%s/prefix", dir);
    return sk_patience_new(0, &s.place.patience, NULL);
}

static int teardown(void **state)
{
    (void)state;
    sk_io_hook = NULL;
    sk_patience_free(s.place.patience);
    sk_vars_free(&s.vars);
    sk_config_free(s.config);
    return sk_io_rmtree(dir, NULL);
}

/* A copy whose cells are `value`; cells: so many, with_more: a variable that nobody protects, and a file of the program. */
static void put(const char *below, double value, size_t cells, int with_more, const char *file)
{
    char root[96];
    double v[CELLS + 1];
    struct sk_piece p[3] = {{.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {cells}, .size_bytes = cells * sizeof *u, .data = v},
                            {.name = "other", .type = SAIKAI_U8, .ndims = 1, .dims = {16}, .size_bytes = 16},
                            {.type = SAIKAI_U8, .ndims = 1, .dims = {5}, .size_bytes = 5, .kind = SK_SKC_FILE, .data = "hello"}};
    struct sk_skc_header h = {.run_id = 77, .iteration = gen.iteration, .incarnation = gen.incarnation, .rank = RANK, .nranks = RANKS, .created_ms = 4242,
                              .store = {{5}}};
    strcpy(p[2].name, file);
    snprintf(root, sizeof root, "%s/%s", dir, below);
    for (size_t i = 0; i < cells; i++)
        v[i] = value;
    generation_testing_put(root, gen, RANK, &h, p, with_more ? 3 : 1);
}

static int reads(double value, struct saikai_error *err)
{
    uint64_t run = 0;
    *said = 0;
    memset(u, 0, sizeof u);
    s.resume.from_created_ms = 0;
    int rc = sk_own_part_read(&s, gen, &run, err);
    if (!rc)
        assert_true(u[0] == value && u[CELLS - 1] == value && run == 77 && s.resume.from_created_ms == 4242);
    return rc;
}

static void from_the_nearest_copy(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    assert_int_equal(reads(0, &err), SAIKAI_ENOENT);
    put("prefix", 2, CELLS, 0, "");
    assert_int_equal(reads(2, &err), 0);
    put("local", 1, CELLS, 0, "");
    assert_int_equal(reads(1, &err), 0);
    assert_true(s.resume.restored_bytes == sizeof u && !*said && !*s.resume.restored_files);
    snprintf(s.place.prefix_root, sizeof s.place.prefix_root, "%s", s.place.local_root);
    assert_int_equal(reads(1, &err), 0);
    *s.place.prefix_root = 0;
    assert_int_equal(reads(1, &err), 0);
    assert_string_equal(said, "");
}

/* So many opens of a copy fail; below which root. */
static int failures;
static const char *where;

static int device(const char *op, const char *path)
{
    return !strcmp(op, "open") && strstr(path, where) && strstr(path, ".skc") && failures > 0 && failures-- ? EIO : 0;
}

/* An error of the device is tried again, three times; then the other copy is read. */
static void errors_that_pass(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    put("local", 1, CELLS, 0, "");
    put("prefix", 2, CELLS, 0, "");
    where = "/local/";
    sk_io_hook = device;
    failures = 1;
    assert_int_equal(reads(1, &err), 0);
    assert_true(strstr(said, "1 rank 2: ") == said && strstr(said, "; trying again in 0.02 s\n") && !strstr(said, "0.1 s"));
    failures = 3;
    assert_int_equal(reads(1, &err), 0);
    assert_true(strstr(said, "in 0.02 s\n") && strstr(said, "in 0.1 s\n") && strstr(said, "in 0.5 s\n") && failures == 0 && !strstr(said, "copy in the prefix"));
    failures = 4;
    assert_int_equal(reads(2, &err), 0);
    assert_true(failures == 0 && strstr(said, "; trying the copy in the prefix\n"));
    where = "/";
    failures = 1000;
    assert_int_equal(reads(0, &err), SAIKAI_EIO);
    assert_true(err.code == SAIKAI_EIO && strstr(err.text, "/prefix/") && failures < 1000 - 6);
}

/* What the program has become is the same for all copies; damage is not. */
static void what_another_copy_says(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    put("local", 1, CELLS + 1, 0, "");
    put("prefix", 2, CELLS, 0, "");
    assert_int_equal(reads(0, &err), SAIKAI_ECHANGED);
    assert_true(strstr(err.text, "variable 'u'") && strstr(err.text, "/local/") && !*said);
    put("local", 1, CELLS, 0, "");
    char path[160];
    snprintf(path, sizeof path, "%s/local/gen-0001-000000000010-0/rank-000002.skc", dir);
    assert_int_equal(truncate(path, 1000), 0);
    assert_int_equal(reads(2, &err), 0);
    assert_true(strstr(said, "; trying the copy in the prefix\n") && strstr(said, path));
    snprintf(path, sizeof path, "%s/prefix/gen-0001-000000000010-0/rank-000002.skc", dir);
    assert_int_equal(truncate(path, 1000), 0);
    assert_int_equal(reads(0, &err), SAIKAI_EDAMAGED);
    assert_true(strstr(err.text, path) && strstr(said, path));
}

static int closed(const void *restored)
{
    return *(const double *)restored != 1;
}

/* Files of the program come to a folder of their own; what is not protected is told; another loop's generation is left after its name is known. */
static void what_comes_with_it(void **state)
{
    (void)state;
    struct saikai_error err = {0};
    char path[160];
    void *text = NULL;
    size_t n = 0;
    put("local", 1, CELLS, 1, "table");
    assert_int_equal(reads(1, &err), 0);
    assert_int_equal(s.resume.restored_bytes, sizeof u + 16 + 5);
    snprintf(path, sizeof path, "%s/local/restored-0007-000002", dir);
    assert_string_equal(s.resume.restored_files, path);
    strcat(path, "/table");
    assert_true(!sk_io_slurp(path, 100, &text, &n, &err) && n == 5 && !memcmp(text, "hello", 5));
    free(text);
    assert_true(strstr(said, "has a variable 'other' that this program does not protect\n") && !strstr(said, "'table'"));
    /* only the gate is read */
    assert_int_equal(unlink(path), 0);
    s.resume.gate = (struct sk_resume_gate){"u", closed};
    s.resume.restored_bytes = 3;
    assert_int_equal(reads(1, &err), 0);
    assert_true(s.resume.restored_bytes == 3 && access(path, F_OK) && !*said);
    put("local", 5, CELLS, 1, "table");
    assert_int_equal(reads(5, &err), 0);
    assert_true(s.resume.restored_bytes == sizeof u + 16 + 5 && !access(path, F_OK));
    s.resume.gate = (struct sk_resume_gate){"nobody's", closed};
    assert_int_equal(reads(5, &err), 0);
    /* a name that leads elsewhere */
    put("local", 1, CELLS, 1, "a/b");
    assert_int_equal(reads(1, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "'a/b' is no file name"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(from_the_nearest_copy),
        cmocka_unit_test(remember_open_files),
        TEST(errors_that_pass), TEST(what_another_copy_says), TEST(what_comes_with_it),
        cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
