/* Wherever memory runs out while variables are protected and generations are remembered: SAIKAI_ENOMEM, and what was there before
 * still is. */
#include "base/host/no_memory_testing.h"
#include "lib/data/coding.h"
#include "lib/data/saver.h"
#include "lib/data/vars.h"
#include "lib/engine/ledger.h"

#include <stdio.h>

enum { MANY = 40 };

static double values[MANY];

static int protect_many(void *arg, struct saikai_error *err)
{
    struct sk_vars *l = arg;
    int rc = 0;
    for (int i = 0; !rc && i < MANY; i++) {
        struct sk_var v = {.form = SK_VAR_FIXED, .type = SAIKAI_F64, .ndims = 1, .dims = {1}, .data = &values[i]};
        snprintf(v.name, sizeof v.name, "v%d", i);
        rc = sk_vars_put(l, &v, err);
        if (rc && (l->count != (size_t)i || sk_vars_find(l, v.name)))
            rc = sk_fail(err, SAIKAI_EIO, "%zu variables after %d", l->count, i);
    }
    return rc;
}

static void all_are_there(void *arg)
{
    struct sk_vars *l = arg;
    assert_int_equal(l->count, MANY);
    assert_int_equal(sk_vars_bytes(l), sizeof values);
}

static void let_go(void *arg)
{
    struct sk_vars *l = arg;
    sk_vars_free(l);
    *l = (struct sk_vars){0};
}

static void variables_are_protected_or_memory_is_out(void **state)
{
    (void)state;
    struct sk_vars l = {0};
    assert_true(no_memory_sweep(protect_many, all_are_there, let_go, &l) >= 2);
}

static int remember_many(void *arg, struct saikai_error *err)
{
    struct sk_ledger *l = NULL;
    const struct sk_gen before[3] = {{1, 1, 0}, {1, 2, 0}, {1, 3, 0}};
    int64_t seq = 0;
    (void)arg;
    int rc = sk_ledger_new(200, &l, err);
    if (!rc)
        rc = sk_ledger_adopt(l, before, 3, err);
    for (int64_t i = 1; !rc && i <= 300; i++) {
        rc = sk_ledger_add(l, (struct sk_gen){2, i, 0}, (double)i, &seq, err);
        if (seq != i || sk_ledger_count(l) != i)
            rc = sk_fail(err, SAIKAI_EIO, "number %lld in place of %lld", (long long)seq, (long long)i);
        if (rc == SAIKAI_ENOMEM) { /* its name alone is not known */
            struct sk_ledger_entry e;
            if (sk_ledger_find(l, i, &e, NULL) != SAIKAI_ENOENT || (i > 1 && sk_ledger_find(l, i - 1, &e, NULL)))
                rc = sk_fail(err, SAIKAI_EIO, "number %lld is not known", (long long)i);
        }
        for (int more = 0; !rc && more < 2; more++) {
            struct sk_gen g = {2, i, more};
            rc = sk_ledger_arrived(l, g, 20, err);
            if (rc == SAIKAI_ENOMEM && (sk_ledger_stays(l, sk_gen_key(g)) || (i == 1 && !more && !sk_ledger_stays(l, sk_gen_key(before[0])))))
                rc = sk_fail(err, SAIKAI_EIO, "what stays has changed");
        }
    }
    sk_ledger_free(l);
    return rc;
}

static void generations_are_remembered_or_memory_is_out(void **state)
{
    (void)state;
    assert_true(no_memory_sweep(remember_many, NULL, NULL, NULL) >= 5);
}

static int open_both(void *arg, struct saikai_error *err)
{
    struct sk_config *c = arg;
    struct sk_saver *sv = NULL;
    struct sk_coding_policy *p = NULL;
    int rc = sk_saver_open(c, &sv, err);
    if (!rc)
        rc = sk_coding_policy_new(c, &p, err);
    sk_coding_policy_free(p);
    sk_saver_close(sv);
    return rc;
}

static void a_session_begins_to_save_or_memory_is_out(void **state)
{
    (void)state;
    struct sk_config *c = sk_config_new();
    assert_true(no_memory_sweep(open_both, NULL, NULL, c) >= 2);
    sk_config_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_are_protected_or_memory_is_out),
        cmocka_unit_test(generations_are_remembered_or_memory_is_out),
        cmocka_unit_test(a_session_begins_to_save_or_memory_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
