/* What is saved as changes and what as a whole: by how much of it changed, what it could build on, and what is left alone for a while. Blocks of
 * memory are compared with their hashes, so that the same is seen on every system; each checkpoint gives the bytes that were there. */
#include "lib/data/changes.h"

#include "capture/delta.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BLOCK = 4096, LARGEST = 32, MOST = 3, LEAST = 16 /* blocks of a variable that is tracked */ };

static _Alignas(4096) uint8_t memory[MOST][LARGEST * BLOCK];
static uint8_t kept[MOST][LARGEST * BLOCK]; /* as the checkpoints saved it, by number of the variable's memory */
static int number[MOST];                    /* whose memory a variable is, in the order of the variables */
static struct sk_vars vars;
static struct sk_changes *changes;
static struct saikai_error err;
static int64_t iteration;
static int breaks, fails;
static const struct sk_wish *wishes;

static int begin(void **state)
{
    struct sk_config *c = sk_config_new();
    int rc = sk_config_set_all(c, "capture.tracker=hash; capture.max_changed=0.5", SK_FROM_API, &err) || sk_changes_open(c, &changes, &err);
    (void)state;
    sk_config_free(c);
    iteration = breaks = fails = 0;
    wishes = NULL;
    memset(memory, 1, sizeof memory);
    return rc;
}

static int end(void **state)
{
    (void)state;
    sk_changes_close(changes);
    sk_vars_free(&vars);
    return 0;
}

static void protect(int which, size_t bytes)
{
    struct sk_var v = {.form = SK_VAR_FIXED, .type = SAIKAI_U8, .ndims = 1, .dims = {bytes}, .data = memory[which]};
    snprintf(v.name, sizeof v.name, "v%d", which);
    assert_int_equal(sk_vars_put(&vars, &v, &err), 0);
}

static void touch(int which, int from, int blocks)
{
    for (int i = 0; i < blocks; i++)
        memory[which][(from + i) * BLOCK + 5]++;
}

struct looked {
    int only[MOST];
    int64_t base; /* iteration, 0: it is full */
    size_t bytes; /* of the changes */
};

/* What the delta holds, into what was kept. */
static void take(const void *delta, size_t bytes)
{
    struct sk_delta d;
    assert_int_equal(sk_delta_open(delta, bytes, &d, &err), 0);
    const uint8_t *at = d.payload;
    for (uint64_t i = 0; i < d.range_count; i++) {
        struct sk_range r = sk_delta_range(&d, i);
        memcpy(kept[number[r.region]] + r.offset, at, r.size_bytes);
        at += r.size_bytes;
    }
}

static struct looked checkpoint(void)
{
    struct sk_piece p[MOST + 1], extra = {0};
    struct sk_gen base, g = {1, ++iteration, 0};
    struct looked l = {0};
    assert_int_equal(sk_vars_pieces(&vars, p, &err), 0);
    sk_changes_look(changes, &vars, wishes, breaks, g, p, vars.count, &extra, &base);
    for (size_t i = 0; i < vars.count; i++) {
        number[i] = vars.v[i].name[1] - '0';
        l.only[i] = p[i].changes_only;
        if (!fails && !p[i].changes_only)
            memcpy(kept[number[i]], p[i].data, p[i].size_bytes);
    }
    if (base.incarnation) {
        uint8_t *delta = malloc(extra.size_bytes);
        assert_int_equal(extra.dims[0], extra.size_bytes);
        assert_int_equal(sk_changes_write(changes, delta, extra.size_bytes, &err), 0);
        assert_int_not_equal(sk_changes_write(changes, delta, extra.size_bytes - 1, &err), 0);
        assert_int_equal(sk_changes_write(changes, delta, extra.size_bytes, &err), 0);
        sk_delta_seal(delta);
        l.base = base.iteration;
        l.bytes = extra.size_bytes;
        if (!fails)
            take(delta, extra.size_bytes);
        free(delta);
    }
    for (size_t i = 0; i < vars.count && !fails; i++)
        assert_memory_equal(kept[number[i]], p[i].data, p[i].size_bytes);
    sk_changes_done(changes, &vars, p, g, !fails);
    return l;
}

/* 1: the changes alone, on the checkpoint before. */
static int is_delta(void)
{
    struct looked l = checkpoint();
    assert_int_equal(l.base, l.only[0] ? iteration - 1 : 0);
    return l.only[0];
}

static void as_much_as_half_may_change(void **state)
{
    (void)state;
    protect(0, 20 * BLOCK);
    assert_false(is_delta()); /* there is nothing to build on */
    assert_true(is_delta());
    touch(0, 0, 10);
    assert_true(is_delta());
    touch(0, 9, 11);
    assert_false(is_delta());
    assert_true(is_delta()); /* nothing has changed */
    touch(0, 3, 15);
    assert_false(is_delta());
    touch(0, 3, 2);
    struct looked l = checkpoint(); /* it was followed all the same */
    assert_true(l.only[0] && l.bytes >= 2 * BLOCK && l.bytes < 3 * BLOCK);
}

static void little_is_saved_as_a_whole(void **state)
{
    (void)state;
    protect(0, LEAST * BLOCK);
    protect(1, LEAST * BLOCK - 1);
    checkpoint();
    touch(0, 0, 1);
    touch(1, 0, 1);
    struct looked l = checkpoint();
    assert_false(l.only[0] || l.only[1] || l.base); /* most of both would be saved anyway */
    sk_vars_remove(&vars, "v1", &err);
    assert_true(is_delta());
}

/* How many checkpoints are full until one is not again. */
static int rests(void)
{
    int n = 0;
    for (touch(0, 0, 16); !is_delta(); touch(0, 0, 6)) /* then more than a quarter */
        n++;
    return n - 1; /* without the one at which it was too much */
}

/* Each time longer, unless it has behaved meanwhile. */
static void what_mostly_changes_is_left_alone(void **state)
{
    (void)state;
    protect(0, 20 * BLOCK);
    checkpoint();
    static const int expect[] = {4, 8, 16, 32, 64, 64};
    for (size_t i = 0; i < sizeof expect / sizeof *expect; i++)
        assert_int_equal(rests(), expect[i]);
}

static void who_behaves_begins_anew(void **state)
{
    (void)state;
    protect(0, 20 * BLOCK);
    checkpoint();
    assert_int_equal(rests(), 4);
    touch(0, 0, 5); /* a quarter */
    assert_true(is_delta());
    assert_int_equal(rests(), 4);
}

/* What is not followed counts, too: in the end most of the checkpoint is changes, or all of it is full. */
static void all_together_counts(void **state)
{
    (void)state;
    protect(0, LEAST * BLOCK);
    protect(1, 2 * BLOCK); /* is too small to be followed */
    checkpoint();
    touch(0, 0, 7);
    struct looked l = checkpoint(); /* 7 and 2 of 18 */
    assert_true(l.only[0] && !l.only[1] && l.base);
    touch(0, 0, 8);
    l = checkpoint(); /* 8 and 2 of 18 */
    assert_false(l.only[0] || l.base);
    protect(1, 12 * BLOCK);
    checkpoint();
    touch(0, 0, 7);
    l = checkpoint(); /* 7 and 12 of 28 */
    assert_false(l.only[0] || l.base);
    touch(0, 0, 2);
    l = checkpoint(); /* 2 and 12 of 28 */
    assert_true(l.only[0] && l.base);
}

static void there_must_be_something_to_build_on(void **state)
{
    (void)state;
    protect(0, 20 * BLOCK);
    checkpoint();
    assert_true(is_delta());
    breaks = 1; /* the one before was not saved after all */
    assert_false(is_delta());
    assert_true(is_delta());
    iteration--; /* one that is no newer */
    assert_false(is_delta());
    assert_true(is_delta());
}

/* What was not saved is reported again, on what was saved before. */
static void a_checkpoint_that_failed(void **state)
{
    (void)state;
    protect(0, 20 * BLOCK);
    checkpoint();
    assert_true(is_delta());
    touch(0, 2, 3);
    fails = 1;
    struct looked l = checkpoint();
    assert_true(l.only[0] && l.base == iteration - 1 && l.bytes >= 3 * BLOCK);
    fails = 0;
    touch(0, 9, 1);
    l = checkpoint(); /* whose bytes are compared */
    assert_true(l.only[0] && l.base == iteration - 2 && l.bytes >= 4 * BLOCK && l.bytes < 5 * BLOCK);
}

static void as_another_variable_it_begins_anew(void **state)
{
    (void)state;
    protect(0, 20 * BLOCK);
    checkpoint();
    assert_true(is_delta());
    struct sk_var *v = sk_vars_find(&vars, "v0");
    v->type = SAIKAI_I8; /* as many bytes of another type */
    assert_false(is_delta());
    assert_true(is_delta());
    v->ndims = 2;
    v->dims[0] = 10 * BLOCK;
    v->dims[1] = 2;
    assert_false(is_delta());
    assert_true(is_delta());
    v->dims[0] = 5 * BLOCK;
    v->dims[1] = 4;
    assert_false(is_delta());
    assert_true(is_delta());
    v->dims[1] = 5; /* and more of them */
    assert_false(is_delta());
    assert_true(is_delta());
    static struct sk_wish coded = {.chain = "zstd"}, plain;
    wishes = &plain;
    assert_true(is_delta());
    wishes = &coded; /* coded as a whole */
    assert_false(is_delta());
    assert_false(is_delta());
    wishes = NULL;
    assert_false(is_delta());
    assert_true(is_delta());
}

/* Numbers of variables are not their places in a checkpoint when one has gone. */
static void several_variables(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++)
        protect(i, (size_t)(LEAST + i) * BLOCK);
    checkpoint();
    touch(0, 1, 1);
    touch(1, 15, 2);
    touch(2, 0, 1);
    touch(2, 9, 2);
    struct looked l = checkpoint();
    assert_true(l.only[0] && l.only[1] && l.only[2] && l.bytes > 6 * BLOCK && l.bytes < 7 * BLOCK);
    assert_int_equal(sk_vars_remove(&vars, "v0", &err), 0);
    touch(1, 3, 1);
    touch(2, 17, 1);
    l = checkpoint();
    assert_true(l.only[0] && l.only[1] && l.bytes > 2 * BLOCK && l.bytes < 3 * BLOCK);
    protect(0, LEAST * BLOCK); /* comes back, as a new one at the end */
    touch(2, 4, 9);
    l = checkpoint(); /* of 51 blocks 9 and 16 */
    assert_true(l.only[0] && l.only[1] && !l.only[2]);
    touch(2, 4, 10); /* of the second more than half */
    l = checkpoint();
    assert_true(l.only[0] && !l.only[1] && l.only[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(as_much_as_half_may_change),
        TEST(little_is_saved_as_a_whole),
        TEST(what_mostly_changes_is_left_alone),
        TEST(who_behaves_begins_anew),
        TEST(all_together_counts),
        TEST(there_must_be_something_to_build_on),
        TEST(a_checkpoint_that_failed),
        TEST(as_another_variable_it_begins_anew),
        TEST(several_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
