/* Reading what another number of ranks wrote, from files that are made by hand: every word of a header counts, the other copy stands in for one
 * that is wrong, and what cannot be is told with its file. */
#include "lib/restart/reshape.h"

#include "base/file/io.h"
#include "base/log.h"
#include "group/loop.h"
#include "lib/restart/own_part.h"
#include "lib/whole/failing/generation_testing.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { OLD = 3, NEW = 2, EACH = 4, ALL = OLD * EACH, THIS = 2, RUN = 1000 };

static const struct sk_gen gen = {THIS, 10, 1};
static char dir[64], said[8192];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    pthread_mutex_lock(&lock);
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
    pthread_mutex_unlock(&lock);
}

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-reshape-read-XXXXXX");
    sk_log_set(note, NULL, SK_LOG_INFO);
    return !mkdtemp(dir);
}

static int teardown(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

/* What one old rank's file says; as it should be, unless it is changed. */
struct file {
    struct sk_skc_header h;
    int scope, ndims, with_file;
    uint64_t offset, cells, global;
    int64_t step;
    const char *name;
};

static struct file of_rank(int rank)
{
    return (struct file){.h = {.run_id = RUN, .iteration = gen.iteration, .place = gen.place, .incarnation = gen.incarnation, .rank = (uint32_t)rank,
                               .nranks = OLD, .store = {{7}}},
                         .scope = SK_SKC_GLOBAL, .ndims = 1, .offset = (uint64_t)rank * EACH, .cells = EACH, .global = ALL, .step = 77, .name = "u"};
}

static void put(const char *below, int rank, const struct file *f)
{
    char root[96];
    double u[ALL];
    struct sk_piece p[3] = {{.type = SAIKAI_F64, .ndims = f->ndims, .size_bytes = f->cells * sizeof *u, .dims = {f->cells}, .scope = f->scope, .data = u},
                            {.name = "step", .type = SAIKAI_I64, .ndims = 0, .size_bytes = 8, .scope = SK_SKC_REPLICATED, .data = &f->step},
                            {.name = "table", .type = SAIKAI_U8, .ndims = 1, .dims = {8}, .size_bytes = 8, .kind = SK_SKC_FILE}};
    snprintf(root, sizeof root, "%s/%s", dir, below);
    strcpy(p[0].name, f->name);
    p[0].tile.global[0] = f->global;
    p[0].tile.offset[0] = f->offset;
    for (uint64_t i = 0; i < f->cells; i++)
        u[i] = (double)(f->offset + i) + 0.5;
    generation_testing_put(root, gen, rank, &f->h, p, f->with_file ? 3 : 2);
}

static void put_all(const char *below)
{
    for (int rank = 0; rank < OLD; rank++) {
        struct file f = of_rank(rank);
        put(below, rank, &f);
    }
}

static struct result {
    int rc[NEW];
    char why[NEW][600];
} result;

static int reads(struct sk_group *g, void *arg)
{
    struct sk_session s = {.g = g, .who.job.store = {{7}}};
    struct saikai_error err = {0};
    double u[ALL / NEW] = {0};
    int64_t step = 0;
    uint64_t run = 5;
    (void)arg;
    struct sk_var vars[2] = {{.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {ALL / NEW}, .data = u, .scope = SK_SKC_GLOBAL},
                             {.name = "step", .type = SAIKAI_I64, .data = &step, .scope = SK_SKC_REPLICATED}};
    vars[0].tile.global[0] = ALL;
    vars[0].tile.offset[0] = (uint64_t)(g->rank * ALL / NEW);
    snprintf(s.place.local_root, sizeof s.place.local_root, "%s/local", dir);
    snprintf(s.place.prefix_root, sizeof s.place.prefix_root, "%s/prefix", dir);
    int rc = sk_vars_put(&s.vars, &vars[0], &err);
    rc = rc ? rc : sk_vars_put(&s.vars, &vars[1], &err);
    if (rc)
        return rc;
    rc = result.rc[g->rank] = sk_reshape_read(&s, gen, &run, &err);
    snprintf(result.why[g->rank], sizeof *result.why, "%s", err.text);
    int bad = !rc && (run != RUN || step != 77 || !s.vars.v[0].restored || !s.vars.v[1].restored);
    for (int i = 0; i < ALL / NEW && !rc; i++)
        bad |= u[i] != g->rank * ALL / NEW + i + 0.5;
    bad |= rc && run != 5;
    sk_vars_free(&s.vars);
    return bad ? -1 : 0;
}

static void read_it(void)
{
    *said = 0;
    memset(&result, 0, sizeof result);
    assert_int_equal(sk_loop_run(NEW, reads, NULL), 0);
}

static void expect_read(void)
{
    read_it();
    for (int r = 0; r < NEW; r++)
        if (result.rc[r])
            fail_msg("rank %d: %d '%s'; %s", r, result.rc[r], result.why[r], said);
    assert_non_null(strstr(said, "generation of iteration 10 was written by 3 ranks: each of 2 took its part\n"));
}

/* One of the ranks says why. */
static void expect_refused(int code, const char *says)
{
    int found = 0;
    read_it();
    for (int r = 0; r < NEW; r++) {
        found |= result.rc[r] == code && strstr(result.why[r], says);
    }
    if (!found)
        fail_msg("%d '%s', %d '%s' in place of %d '%s'", result.rc[0], result.why[0], result.rc[1], result.why[1], code, says);
}

static void it_is_read_wherever_it_is(void **state)
{
    (void)state;
    put_all("local");
    expect_read();
    put_all("prefix");
    expect_read();
    char path[160];
    snprintf(path, sizeof path, "%s/local", dir);
    assert_int_equal(sk_io_rmtree(path, NULL), 0);
    expect_read();
    struct file f = of_rank(1); /* one of them here */
    put("local", 1, &f);
    snprintf(path, sizeof path, "%s/prefix/gen-0002-000000000010-1/rank-000001.skc", dir);
    assert_int_equal(unlink(path), 0);
    expect_read();
    snprintf(path, sizeof path, "%s/local", dir);
    assert_int_equal(sk_io_rmtree(path, NULL), 0);
    expect_refused(SAIKAI_ENOENT, "the file of rank 1 of gen-0002-000000000010-1 is neither in ");
    snprintf(path, sizeof path, "%s/prefix", dir);
    assert_int_equal(sk_io_rmtree(path, NULL), 0);
    expect_refused(SAIKAI_EDAMAGED, "no file of the generation tells how many ranks wrote it");
}

/* A file that is another one than it should be counts as damaged, and the other copy is read; where that is not there nothing is. */
static void each_word_of_a_header_counts(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        for (int rank = 1; rank < OLD; rank++) {
            struct file f = of_rank(rank);
            put_all("local");
            put_all("prefix");
            switch (i) {
            case 0: f.h.rank = 0; break;
            case 1: f.h.nranks = OLD + 1; break;
            case 2: f.h.iteration++; break;
            case 3: f.h.place++; break;
            case 4: f.h.incarnation--; break;
            default: f.h.store.b[0] = 8; break;
            }
            if (i == 1 && rank == 1) /* rank 1 is asked how many there were: it is rank 2's file that is strange then */
                continue;
            put("local", rank, &f);
            expect_read();
            char path[160];
            snprintf(path, sizeof path, "%s/prefix", dir);
            assert_int_equal(sk_io_rmtree(path, NULL), 0);
            expect_refused(SAIKAI_EDAMAGED, i < 5 ? "holds another generation or another rank's part" : "rank-00000");
        }
    }
    for (int rank = 0; rank < OLD; rank++) { /* of another run */
        struct file f = of_rank(rank);
        f.h.run_id = RUN + 2;
        put_all("local");
        put("local", rank, &f);
        expect_refused(SAIKAI_EDAMAGED, "the files of gen-0002-000000000010-1 are of two runs");
        f.h.run_id = RUN - 2;
        put("local", rank, &f);
        expect_refused(SAIKAI_EDAMAGED, "the files of gen-0002-000000000010-1 are of two runs");
    }
}

/* The first copy told what lies where, and cannot be read when it comes to that: the other one must be of the same block. */
static void the_other_copy_must_say_the_same(void **state)
{
    (void)state;
    char path[160];
    void *text = NULL;
    size_t n = 0;
    const double first = EACH + 0.5;
    for (int i = 0; i < 3; i++) {
        struct file f = of_rank(1);
        put_all("local");
        f.offset += i == 1;
        f.cells -= i > 0;
        put("prefix", 1, &f);
        snprintf(path, sizeof path, "%s/local/gen-0002-000000000010-1/rank-000001.skc", dir);
        assert_int_equal(sk_io_slurp(path, 1 << 20, &text, &n, NULL), 0);
        uint8_t *at = memmem(text, n, &first, sizeof first);
        assert_non_null(at);
        *at ^= 1;
        assert_int_equal(sk_io_replace(path, text, n, NULL), 0);
        free(text);
        if (i)
            expect_refused(SAIKAI_EDAMAGED, "rank-000001.skc says another thing about 'u' than its other copy");
        else
            expect_read();
    }
}

/* What the variables are is the same in all copies: it is told at once. */
static void what_another_number_of_ranks_cannot_read(void **state)
{
    (void)state;
    for (int rank = 0; rank < OLD; rank++)
        for (int i = 0; i < 6; i++) {
            struct file f = of_rank(rank);
            const char *says = NULL;
            int code = SAIKAI_ERANKS;
            switch (i) {
            case 0: f.scope = SK_SKC_OWN, f.global = f.offset = 0, says = "was written without its place in a global array: start with 3 ranks once"; break;
            case 1: f.global = ALL + 1, code = SAIKAI_ECHANGED, says = "the global array of 'u' is "; break;
            case 2: f.with_file = 1, says = "has a file of the program, 'table', which belongs to one rank: start with 3 ranks"; break;
            case 3: f.name = "w", code = SAIKAI_ECHANGED, says = "has no variable 'u': start with the program that wrote it"; break;
            case 4: f.step++, says = "variable 'step' is said to be the same on all ranks, but rank "; break;
            default: f.cells--, says = "the 3 ranks that wrote it do not cover it; start with 3 ranks"; break;
            }
            put_all("local");
            put("local", rank, &f);
            expect_refused(code, says);
        }
    put_all("local");
    expect_read();
}

/* What a rank's own file must be. */
static void a_file_of_ones_own(void **state)
{
    (void)state;
    struct sk_group g = {.rank = 1, .size = OLD};
    struct sk_session s = {.g = &g, .who.job.store = {{7}}};
    struct saikai_error err = {0};
    double x = 0;
    struct sk_var own = {.name = "x", .type = SAIKAI_F64, .data = &x};
    struct sk_container c = {.path = (char *)"file", .header = of_rank(1).h};
    assert_int_equal(sk_own_part_check(&s, &c, gen, &err), 0);
    for (int i = 0; i < 4; i++) {
        c.header = of_rank(i ? 1 : 2).h;
        c.header.iteration += i == 1;
        c.header.place += i == 2;
        c.header.incarnation += i == 3;
        assert_int_equal(sk_own_part_check(&s, &c, gen, &err), SAIKAI_EDAMAGED);
        assert_string_equal(err.text, "file holds another generation or another rank's part");
    }
    c.header = of_rank(1).h;
    c.header.nranks = 4;
    assert_int_equal(sk_own_part_check(&s, &c, gen, &err), SAIKAI_ERANKS);
    assert_string_equal(err.text, "file was written by 4 ranks, this job has 3: start it with 4, or afresh with restart.mode=never");
    assert_int_equal(sk_vars_put(&s.vars, &own, &err), 0);
    assert_int_equal(sk_own_part_check(&s, &c, gen, &err), SAIKAI_ERANKS);
    assert_string_equal(err.text, "file was written by 4 ranks, this job has 3: start it with 4, or afresh with restart.mode=never "
                                  "('x' is neither declared global nor replicated)");
    s.resume.reshapable = 1;
    assert_int_equal(sk_own_part_check(&s, &c, gen, &err), SK_OTHER_TILES);
    c.header.nranks = OLD;
    assert_int_equal(sk_own_part_check(&s, &c, gen, &err), 0);
    c.header.store.b[0] = 8; /* before all else */
    c.header.nranks = 4;
    assert_int_equal(sk_own_part_check(&s, &c, gen, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "file"));
    sk_vars_free(&s.vars);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_ones_own),
        cmocka_unit_test_setup_teardown(it_is_read_wherever_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(each_word_of_a_header_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(the_other_copy_must_say_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(what_another_number_of_ranks_cannot_read, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
