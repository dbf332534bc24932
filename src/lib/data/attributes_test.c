/* Attributes of variables: what each does, what is refused, and that they stay when a variable is protected anew. */
#include "lib/data/attributes.h"

#include "lib/data/changes.h"
#include "lib/session/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct saikai_error err;

static void protect(struct sk_vars *l, const char *name, double *data, int ndims, size_t dim)
{
    struct sk_var v = {.form = SK_VAR_FIXED, .type = SAIKAI_F64, .ndims = ndims, .data = data, .dims = {dim, dim}};
    strcpy(v.name, name);
    assert_int_equal(sk_vars_put(l, &v, &err), 0);
}

static void test_refuses_what_it_does_not_know(void **state)
{
    (void)state;
    struct sk_vars l = {0};
    double x;
    int n = 0;
    struct sk_var whole = {.name = "n", .form = SK_VAR_FIXED, .type = SAIKAI_I32, .data = &n};
    protect(&l, "x", &x, 0, 0);
    assert_int_equal(sk_vars_put(&l, &whole, &err), 0);
    assert_int_equal(sk_attribute_set(&l, "x", "colour", "red", &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "'colour'"));
    assert_non_null(strstr(err.text, "bound, codec, constant, halo, replicated"));
    assert_int_equal(sk_attribute_set(&l, "y", "bound", "exact", &err), SAIKAI_EINVAL);
    assert_int_equal(sk_attribute_set(&l, NULL, NULL, NULL, &err), SAIKAI_EINVAL);
    assert_int_equal(sk_attribute_set(&l, "n", "bound", "abs:1", &err), SAIKAI_EINVAL);
    assert_int_equal(sk_attribute_set(&l, "n", "bound", "exact", &err), 0);
    assert_int_equal(sk_attribute_set(&l, "x", "constant", "perhaps", &err), SAIKAI_EINVAL);
    assert_int_equal(sk_attribute_set(&l, "x", "codec", "nothing", &err), SAIKAI_EINVAL);
    assert_int_equal(sk_attribute_set(&l, "x", "halo", "", &err), SAIKAI_EINVAL);
    assert_int_equal(sk_attribute_set_sizes(&l, "x", "codec", 1, &(size_t){1}, &err), SAIKAI_EINVAL);
    sk_vars_free(&l);
}

/* What a variable is decides what can be said of it. */
static void test_attributes_fit_the_variable(void **state)
{
    (void)state;
    struct sk_vars l = {0};
    static double a[64];
    void *p = a;
    size_t n = 8;
    char name[80];
    struct sk_var block = {.name = "block", .type = SAIKAI_F64, .ndims = 1, .dims = {8}, .data = a, .scope = SK_SKC_GLOBAL, .tile.global = {16}};
    struct sk_var moves = {.name = "moves", .form = SK_VAR_ARRAY, .type = SAIKAI_F64, .ndims = 1, .array = {.pdata = &p, .pcount = &n}};
    struct sk_var gaps = {.name = "gaps", .type = SAIKAI_F64, .ndims = 1, .dims = {8}, .data = a, .layout = {.strided = 1, .strides = {16}}};
    struct sk_var nowhere = {.name = "nowhere", .type = SAIKAI_F64, .ndims = 1, .dims = {0}};
    assert_int_equal(sk_vars_put(&l, &block, &err) | sk_vars_put(&l, &moves, &err) | sk_vars_put(&l, &gaps, &err) | sk_vars_put(&l, &nowhere, &err), 0);
    /* a part of an array is not the same on all ranks */
    assert_int_equal(sk_attribute_set(&l, "block", "replicated", "yes", &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "variable 'block' is a part of a global array"));
    assert_int_equal(sk_attribute_set(&l, "block", "replicated", "no", &err), 0);
    assert_int_equal(sk_attribute_set(&l, "block", "replicated", "perhaps", &err), SAIKAI_EINVAL);
    assert_int_equal(sk_vars_find(&l, "block")->scope, SK_SKC_GLOBAL);
    assert_int_equal(sk_attribute_set(&l, "moves", "replicated", "perhaps", &err), SAIKAI_EINVAL);
    assert_int_equal(sk_vars_find(&l, "moves")->scope, SK_SKC_OWN);
    /* only what lies in one piece of memory has room around it */
    static const char *const without[] = {"moves", "gaps"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(sk_attribute_set(&l, without[i], "halo", "1:1", &err), SAIKAI_EINVAL);
        assert_non_null(strstr(err.text, "can have no halo"));
    }
    assert_int_equal(sk_attribute_set_sizes(&l, "block", "halo", 1, (size_t[]){1}, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "a halo is 2 sizes"));
    assert_int_equal(sk_attribute_set_sizes(&l, "block", "halo", 2, NULL, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "attribute 'halo' of variable 'block' is no list of sizes"));
    assert_int_equal(sk_attribute_set(&l, "nowhere", "halo", "0:2", &err), 0);
    assert_true(!sk_vars_find(&l, "nowhere")->data && sk_vars_find(&l, "nowhere")->layout.halo == SK_HALO_SET);
    /* a chain that is one, but longer than is kept */
    strcpy(name, "zstd:");
    memset(name + 5, '0', 58);
    strcpy(name + 62, "1");
    struct sk_var *v = sk_vars_find(&l, "block");
    assert_int_equal(strlen(name), sizeof v->codec - 1);
    assert_int_equal(sk_attribute_set(&l, "block", "codec", name, &err), 0);
    assert_string_equal(v->codec, name);
    strcpy(name + 62, "01");
    assert_int_equal(sk_attribute_set(&l, "block", "codec", name, &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "variable 'block': "));
    assert_int_equal(strlen(v->codec), sizeof v->codec - 1);
    for (size_t i = 0; i < 2; i++) { /* these are no chains of their own */
        static const char *const words[] = {"plain", "auto"};
        assert_int_equal(sk_attribute_set(&l, "block", "codec", words[i], &err), 0);
        assert_string_equal(v->codec, words[i]);
    }
    assert_int_equal(sk_attribute_set(&l, "block", "bound", "nothing", &err), SAIKAI_EINVAL);
    assert_non_null(strstr(err.text, "variable 'block'"));
    sk_vars_free(&l);
}

static void test_they_stay_when_a_variable_moves(void **state)
{
    (void)state;
    struct sk_vars l = {0};
    static double a[36], b[36];
    protect(&l, "u", a, 2, 4);
    assert_int_equal(sk_attribute_set(&l, "u", "bound", "rel:0.001", &err), 0);
    assert_int_equal(sk_attribute_set(&l, "u", "codec", "fpc", &err), 0);
    assert_int_equal(sk_attribute_set(&l, "u", "constant", "yes", &err), 0);
    assert_int_equal(sk_attribute_set(&l, "u", "replicated", "yes", &err), 0);
    assert_int_equal(sk_attribute_set(&l, "u", "halo", "1,1:1,1", &err), 0);
    protect(&l, "u", b, 2, 4);
    const struct sk_var *v = sk_vars_find(&l, "u");
    assert_true(v->bound.kind == SK_BOUND_REL && v->bound.value == 0.001 && !strcmp(v->codec, "fpc") && v->constant);
    assert_int_equal(v->scope, SK_SKC_REPLICATED);
    assert_ptr_equal(v->data, b + 7);
    assert_true(v->layout.strided && v->layout.strides[0] == 48 && v->layout.strides[1] == 8);
    assert_int_equal(sk_attribute_set(&l, "u", "replicated", "no", &err), 0);
    assert_int_equal(sk_attribute_set(&l, "u", "codec", "default", &err), 0);
    assert_true(v->scope == SK_SKC_OWN && !*v->codec);
    sk_vars_free(&l);
}

static void test_a_halo_is_told_from_where_memory_begins(void **state)
{
    (void)state;
    struct sk_vars l = {0};
    static double a[100];
    protect(&l, "u", a, 2, 4);
    assert_int_equal(sk_attribute_set(&l, "u", "halo", "1,2:1,0", &err), 0);
    struct sk_var *v = sk_vars_find(&l, "u");
    assert_ptr_equal(v->data, a + 6 + 2);
    assert_int_equal(sk_attribute_set_sizes(&l, "u", "halo", 4, (size_t[]){2, 2, 0, 0}, &err), 0);
    assert_ptr_equal(v->data, a + 2 * 6 + 2);
    static const char *const wrong[] = {"1", "1,1", "1:1", "1,1,1,1", "1,1:1", "1,1:1,1,1", "1,1:1,x", "1,1:1,", "-1,1:1,1", "1:1,1:1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(sk_attribute_set(&l, "u", "halo", wrong[i], &err), SAIKAI_EINVAL);
    assert_int_equal(sk_attribute_set(&l, "u", "halo", "1,18446744073709551615:1,1", &err), SAIKAI_EINVAL);
    assert_ptr_equal(v->data, a + 2 * 6 + 2); /* as before */
    sk_vars_free(&l);
}

/* What was saved once is not looked at any more, without anything that watches pages; what is no constant any more is. */
static void test_a_constant_is_saved_once(void **state)
{
    (void)state;
    enum { CELLS = 1 << 16 };
    struct sk_vars l = {0};
    struct sk_changes *ch;
    struct sk_config *c = sk_config_new();
    double *u = calloc(CELLS, sizeof *u);
    assert_true(c && u);
    assert_int_equal(sk_changes_open(c, &ch, &err), 0);
    protect(&l, "u", u, 1, CELLS);
    assert_int_equal(sk_attribute_set(&l, "u", "constant", "yes", &err), 0);
    for (int k = 1; k <= 3; k++) {
        struct sk_piece p[2], extra = {0};
        struct sk_gen base, g = {1, k, 0};
        assert_int_equal(sk_vars_pieces(&l, p, &err), 0);
        if (k == 3)
            assert_int_equal(sk_attribute_set(&l, "u", "constant", "no", &err), 0);
        sk_changes_look(ch, &l, NULL, 0, g, p, 1, &extra, &base);
        assert_int_equal(p[0].changes_only, k == 2);
        assert_int_equal(base.iteration, k == 2);
        assert_true(k != 2 || extra.size_bytes < 4096);
        sk_changes_done(ch, &l, p, g, 1);
    }
    sk_changes_close(ch);
    sk_vars_free(&l);
    sk_config_free(c);
    free(u);
}

static void test_a_codec_goes_before_the_configuration(void **state)
{
    (void)state;
    struct sk_coding_policy *p;
    struct sk_wish w;
    struct sk_config *c = sk_config_new();
    assert_int_equal(sk_config_set_all(c, "codec.chains=*=zstd", SK_FROM_API, &err), 0);
    assert_int_equal(sk_coding_policy_new(c, &p, &err), 0);
    assert_int_equal(sk_coding_wish(p, "u", SAIKAI_F64, (struct sk_bound){0}, "", &w), 1);
    assert_string_equal(w.chain, "zstd");
    assert_int_equal(sk_coding_wish(p, "u", SAIKAI_F64, (struct sk_bound){0}, "fpc", &w), 1);
    assert_string_equal(w.chain, "fpc");
    assert_int_equal(sk_coding_wish(p, "u", SAIKAI_F64, (struct sk_bound){0}, "plain", &w), 0);
    sk_coding_policy_free(p);
    sk_config_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_what_it_does_not_know),
        cmocka_unit_test(test_attributes_fit_the_variable),
        cmocka_unit_test(test_they_stay_when_a_variable_moves),
        cmocka_unit_test(test_a_halo_is_told_from_where_memory_begins),
        cmocka_unit_test(test_a_constant_is_saved_once),
        cmocka_unit_test(test_a_codec_goes_before_the_configuration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
