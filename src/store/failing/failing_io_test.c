/* Each operation on a store's files fails once: whoever asked for it hears of it, with the code and a sentence, what was there before is
 * there, and nothing half made is left. */
#include "store/form/coded.h"
#include "store/form/container.h"
#include "store/form/lineage_testing.h"
#include "store/owner/job.h"
#include "store/slot.h"
#include "store/state.h"

#include "base/file/io.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/host/open_files_testing.h"

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-failing-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    sk_io_hook = NULL;
    return sk_io_rmtree(dir, NULL);
}

static const char *at(const char *name)
{
    static char path[8][160];
    static int turn;
    char *p = path[turn++ % 8];
    snprintf(p, 160, "%s/%s", dir, name);
    return p;
}

static int is_there(const char *name)
{
    return !access(at(name), F_OK);
}

static int same(const char *a, const char *b)
{
    void *x = NULL, *y = NULL;
    size_t n = 0, m = 0;
    int is = !sk_io_slurp(at(a), 1 << 24, &x, &n, NULL) && !sk_io_slurp(at(b), 1 << 24, &y, &m, NULL) && n == m && !memcmp(x, y, n);
    free(x);
    free(y);
    return is;
}

/* ---- the n-th operation fails ---- */

static long asked, fails;
static char failed[400]; /* which one */

static int hook(const char *op, const char *path)
{
    if (!strstr(path, dir) || ++asked != fails)
        return 0;
    snprintf(failed, sizeof failed, "%s of %s", op, path);
    return EIO;
}

/* run is asked until nothing fails any more; good is what then holds, bad what holds after each failure. passes: the names of operations
 * that may fail without being told, as " unlink ". */
static void sweep(const char *what, int (*run)(struct saikai_error *err), void (*good)(void), void (*bad)(void), const char *passes)
{
    for (fails = 1;; fails++) {
        struct saikai_error err = {0};
        char op[40];
        assert_true(fails < 1000);
        asked = 0;
        *failed = 0;
        sk_io_hook = hook;
        int rc = run(&err);
        sk_io_hook = NULL;
        if (!*failed) { /* all of it */
            if (rc)
                fail_msg("%s: %s", what, err.text);
            good();
            break;
        }
        snprintf(op, sizeof op, " %.*s ", (int)strcspn(failed, " "), failed);
        if (rc != SAIKAI_EIO && !(rc == 0 && strstr(passes, op)))
            fail_msg("%s: %ld, %s: %d, %s", what, fails, failed, rc, err.text);
        if (rc && (err.code != rc || !strstr(err.text, dir)))
            fail_msg("%s: %ld, %s: %d, '%s'", what, fails, failed, err.code, err.text);
        (rc ? bad : good)();
    }
    assert_true(fails > 2);
}

/* ---- containers ---- */

static double values[3000];
static uint8_t bytes[SK_SKC_CHUNK_BYTES + 1000];

static int write_to(const char *path, int sync, struct saikai_error *err)
{
    struct sk_piece p[] = {{.name = "values", .type = SAIKAI_F64, .ndims = 1, .dims = {3000}, .data = values, .size_bytes = sizeof values},
                           {.name = "bytes", .type = SAIKAI_U8, .ndims = 1, .dims = {sizeof bytes}, .data = bytes, .size_bytes = sizeof bytes}};
    struct sk_coding c[] = {{.chain = "predict"}, {0}};
    struct sk_skc_header h = {.run_id = 5, .iteration = 3, .incarnation = 1, .nranks = 1};
    for (int i = 0; i < 3000; i++)
        values[i] = 1 + i * 0.001;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i >> 3);
    return sk_container_write(path, &h, p, c, 2, sync, NULL, NULL, err);
}

static int write_container(struct saikai_error *err)
{
    return write_to(at("new.skc"), 1, err);
}
static void is_written(void)
{
    assert_true(same("new.skc", "c.skc"));
    assert_int_equal(unlink(at("new.skc")), 0);
}
static void is_not_there(void)
{
    assert_false(is_there("new.skc"));
}

static int copy_container(struct saikai_error *err)
{
    struct sk_container *c = NULL;
    int rc = sk_container_open(at("c.skc"), &c, err);
    if (!rc)
        rc = sk_container_copy(c, at("new.skc"), 1, err);
    sk_container_close(c);
    return rc;
}

static int read_container(struct saikai_error *err)
{
    static double v[3000];
    static uint8_t b[sizeof bytes];
    struct sk_container *c = NULL;
    int rc = sk_container_open(at("c.skc"), &c, err);
    if (!rc)
        rc = sk_container_verify(c, err);
    if (!rc)
        rc = sk_container_read(c, &c->index->vars[0], v, err);
    if (!rc)
        rc = sk_container_read(c, &c->index->vars[1], b, err);
    if (!rc)
        assert_true(!memcmp(v, values, sizeof v) && !memcmp(b, bytes, sizeof b));
    sk_container_close(c);
    return rc;
}
static void nothing(void)
{
}

static void containers_are_whole_or_not_there(void **state)
{
    (void)state;
    assert_int_equal(write_to(at("c.skc"), 0, NULL), 0);
    sweep("write", write_container, is_written, is_not_there, "");
    sweep("copy", copy_container, is_written, is_not_there, "");
    sweep("read", read_container, nothing, nothing, "");
}

/* ---- what builds on others ---- */

static struct testing_state *now;
static const struct sk_gen full = {1, 1, 0}, changed = {1, 2, 0};

static int open_and_compare(struct saikai_error *err)
{
    struct sk_container *c = NULL;
    int rc = sk_lineage_open(dir, changed, 1, &c, err);
    if (!rc)
        rc = sk_container_verify(c, err);
    sk_container_close(c);
    return rc;
}

static int copy_lineage(struct saikai_error *err)
{
    struct sk_container *c = NULL;
    int rc = sk_lineage_open(dir, changed, 1, &c, err);
    if (!rc)
        rc = sk_container_copy(c, at("new.skc"), 1, err);
    sk_container_close(c);
    return rc;
}
static void is_the_same(void)
{
    struct sk_container *c = NULL;
    assert_int_equal(sk_container_open(at("new.skc"), &c, NULL), 0);
    assert_int_equal(testing_compare(c, now), 1);
    sk_container_close(c);
    assert_int_equal(unlink(at("new.skc")), 0);
}

static void lineages_are_copied_or_not(void **state)
{
    (void)state;
    struct testing_state *first = testing_state_new();
    struct testing_generation one = {.root = dir, .gen = full, .rank = 1, .nranks = 2}, two = one;
    two.gen = changed;
    two.base = full;
    now = testing_state_new();
    testing_state_step(first, 1);
    testing_state_copy(now, first);
    for (int step = 2; step < 12; step++) /* more changes than a chunk holds */
        testing_state_step(now, step);
    assert_int_equal(testing_write(&one, NULL, first, 1), 0);
    assert_int_equal(testing_write(&two, first, now, 4), 0);
    sweep("open", open_and_compare, nothing, nothing, "");
    sweep("copy of a lineage", copy_lineage, is_the_same, is_not_there, "");
    testing_state_free(first);
    testing_state_free(now);
}

/* ---- generations, slots ---- */

static int commit(struct saikai_error *err)
{
    FILE *f = fopen(at("tmp"), "w"); /* plain: this does not count */
    fputs("content", f);
    fclose(f);
    return sk_gen_commit(dir, full, 3, at("tmp"), 1, err);
}
static void is_committed(void)
{
    void *text;
    size_t n;
    assert_int_equal(sk_io_slurp(at("gen-0001-000000000001-0/rank-000003.skc"), 100, &text, &n, NULL), 0);
    assert_true(n == 7 && !memcmp(text, "content", 7));
    free(text);
    assert_int_equal(sk_gen_remove_all(dir, full, NULL), 0);
}
static void here_or_there(void)
{
    if (is_there("gen-0001-000000000001-0/rank-000003.skc"))
        is_committed(); /* its directory could not be synced */
    else
        assert_true(is_there("tmp"));
}

static int use_slot(struct saikai_error *err)
{
    struct sk_slot *s = NULL;
    int rc = sk_slot_new(dir, 1, 3, 0, 5000, &s, err);
    if (rc)
        return rc;
    memset(s->map, 1, s->size_bytes);
    rc = sk_slot_resize(s, 9000, err);
    assert_int_equal(s->size_bytes, rc ? 5000 : 9000);
    for (size_t i = 0; i < 5000; i++)
        assert_int_equal(s->map[i], 1);
    if (!rc)
        rc = sk_slot_resize(s, 7, err);
    if (!rc)
        rc = sk_slot_commit(s, dir, full, 3, 1, err);
    if (!rc)
        rc = sk_slot_retire(s, dir, full, 3, err);
    sk_slot_free(s, 1);
    return rc;
}
static void no_slot(void)
{
    assert_false(is_there("slot-0001-000003-0.tmp"));
    sk_gen_remove_all(dir, full, NULL);
}

/* It could not be removed: a later start does. */
static void what_may_be_left(void)
{
    sk_slot_clean(dir, 2, 3, 4);
    no_slot();
}

static void generations_and_slots_are_there_or_not(void **state)
{
    (void)state;
    sweep("commit", commit, is_committed, here_or_there, "");
    sweep("slot", use_slot, what_may_be_left, no_slot, " rmdir  unlink ");
}

/* ---- state and job ---- */

static int save(struct saikai_error *err)
{
    struct sk_state s = {.incarnation = 2, .first_incarnation = 1, .run = 8};
    return sk_state_save(dir, &s, err);
}
static void old_or_new(void)
{
    struct sk_state s;
    assert_int_equal(sk_state_load(dir, &s, NULL), 0);
    assert_true(s.incarnation == 1 || s.incarnation == 2);
    s.incarnation = 1;
    assert_int_equal(sk_state_save(dir, &s, NULL), 0);
}

static int load(struct saikai_error *err)
{
    struct sk_state s = {.incarnation = 77};
    int rc = sk_state_load(dir, &s, err);
    assert_int_equal(s.incarnation, rc ? 77 : 1);
    return rc;
}

static struct sk_job job = {.name = "job", .inode = 5};

static int claim(struct saikai_error *err)
{
    return sk_job_claim(dir, &job, err);
}
static int replace(struct saikai_error *err)
{
    return sk_job_replace(dir, &job, err);
}
static int load_job(struct saikai_error *err)
{
    struct sk_job j;
    return sk_job_load(dir, &j, err);
}
static void is_the_jobs(void)
{
    struct sk_job j;
    assert_int_equal(sk_job_load(dir, &j, NULL), 0);
    assert_true(sk_id_same(j.store, job.store) && j.inode == 5);
    unlink(at("job"));
}
static void nobodys_or_the_jobs(void)
{
    if (is_there("job"))
        is_the_jobs();
}
static void stays_the_jobs(void)
{
    struct sk_job j;
    assert_int_equal(sk_job_load(dir, &j, NULL), 0);
}

static void words_are_old_or_new(void **state)
{
    (void)state;
    struct sk_state s = {.incarnation = 1, .first_incarnation = 1};
    job.store = sk_id_random();
    assert_int_equal(sk_state_save(dir, &s, NULL), 0);
    sweep("save", save, old_or_new, old_or_new, "");
    sweep("load", load, nothing, nothing, "");
    sweep("claim", claim, is_the_jobs, nobodys_or_the_jobs, " unlink ");
    assert_int_equal(claim(NULL), 0);
    sweep("replace", replace, stays_the_jobs, stays_the_jobs, "");
    sweep("job", load_job, nothing, nothing, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
        cmocka_unit_test(remember_open_files), TEST(containers_are_whole_or_not_there),      TEST(lineages_are_copied_or_not),
        TEST(generations_and_slots_are_there_or_not), TEST(words_are_old_or_new),             cmocka_unit_test(no_file_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
