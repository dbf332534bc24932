/* Which codec a variable gets: by the lists of the configuration, its own attribute and its type; and what is no list. */
#include "lib/data/coding.h"

#include "codec/chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static int policy(const char *chains, const char *bounds, struct sk_coding_policy **out, struct saikai_error *err)
{
    struct sk_config *c = sk_config_new();
    assert_int_equal(sk_config_set(c, "codec.chains", chains, SK_FROM_API, "", err), 0);
    assert_int_equal(sk_config_set(c, "codec.bounds", bounds, SK_FROM_API, "", err), 0);
    int rc = sk_coding_policy_new(c, out, err);
    sk_config_free(c);
    return rc;
}

/* What a variable of this name and type is to get; "": nothing. */
static const char *chain_of(const struct sk_coding_policy *p, const char *name, int type, const char *codec)
{
    static struct sk_wish w;
    int any = sk_coding_wish(p, name, type, (struct sk_bound){0}, codec, &w);
    assert_int_equal(any, *w.chain != 0);
    return w.chain;
}

static void the_first_pattern_counts(void **state)
{
    (void)state;
    struct sk_coding_policy *p = NULL;
    struct saikai_error err = {0};
    assert_int_equal(policy(" u = zstd ,v* =lz4,\tw=auto , plain?=plain,*=zstd,w=lz4,", "", &p, &err), 0);
    assert_string_equal(chain_of(p, "u", SAIKAI_U8, ""), "zstd");
    assert_string_equal(chain_of(p, "v", SAIKAI_U8, ""), "lz4");
    assert_string_equal(chain_of(p, "velocity", SAIKAI_F64, ""), "lz4");
    assert_string_equal(chain_of(p, "w", SAIKAI_U8, ""), "auto");
    assert_string_equal(chain_of(p, "plain1", SAIKAI_F64, ""), "");
    assert_string_equal(chain_of(p, "plain", SAIKAI_F64, ""), "zstd"); /* '?' is one letter */
    assert_string_equal(chain_of(p, "plain1", SAIKAI_F64, "lz4"), "lz4"); /* the variable's own word is nearer */
    assert_string_equal(chain_of(p, "u", SAIKAI_F64, "plain"), "");
    sk_coding_policy_free(p);
    assert_int_equal(policy("", "", &p, &err), 0);
    assert_string_equal(chain_of(p, "u", SAIKAI_F64, ""), "");
    assert_string_equal(chain_of(p, "u", SAIKAI_F64, "zstd"), "zstd");
    sk_coding_policy_free(p);
    sk_coding_policy_free(NULL);
}

/* A bound is for numbers with a fraction; the variable's own is nearer than the list's, and alone it asks for the codec that keeps it. */
static void bounds_are_for_floating_point(void **state)
{
    (void)state;
    struct sk_coding_policy *p = NULL;
    struct saikai_error err = {0};
    struct sk_wish w;
    const struct sk_bound none = {0}, own = {SK_BOUND_REL, 0.5};
    assert_int_equal(policy("n=zstd,z=zstd", "n=abs:2, *=rel:0.25", &p, &err), 0);
    assert_int_equal(sk_coding_wish(p, "n", SAIKAI_I32, own, "", &w), 1);
    assert_string_equal(w.chain, "zstd");
    assert_int_equal(w.bound.kind, 0);
    assert_int_equal(sk_coding_wish(p, "i", SAIKAI_I32, own, "", &w), 0);
    assert_int_equal(sk_coding_wish(p, "n", SAIKAI_F32, none, "", &w), 1);
    assert_true(w.bound.kind == SK_BOUND_ABS && w.bound.value == 2);
    assert_string_equal(w.chain, "zstd");
    assert_int_equal(sk_coding_wish(p, "x", SAIKAI_F64, none, "", &w), 1);
    assert_true(w.bound.kind == SK_BOUND_REL && w.bound.value == 0.25);
    assert_string_not_equal(w.chain, "");
    assert_string_not_equal(w.chain, "zstd");
    assert_int_equal(sk_coding_wish(p, "x", SAIKAI_F64, own, "", &w), 1);
    assert_true(w.bound.kind == SK_BOUND_REL && w.bound.value == 0.5);
    assert_int_equal(sk_coding_wish(p, "z", SAIKAI_F64, own, "lz4", &w), 1);
    assert_string_equal(w.chain, "lz4");
    sk_coding_policy_free(p);
}

static void how_it_is_coded_is_configured(void **state)
{
    (void)state;
    struct sk_coding_policy *p = NULL;
    struct saikai_error err = {0};
    struct sk_config *c = sk_config_new();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sk_config_set_all(c, i ? "codec.bandwidth=3MiB; codec.threads=5; codec.verify=yes" : "codec.verify=no", SK_FROM_API, &err), 0);
        assert_int_equal(sk_coding_policy_new(c, &p, &err), 0);
        assert_int_equal(p->verify, i);
        assert_true(!i || (p->bandwidth == 3 << 20 && p->threads == 5));
        sk_coding_policy_free(p);
    }
    sk_config_free(c);
}

static void what_is_no_list_is_refused(void **state)
{
    (void)state;
    char long_pattern[300], long_chain[SK_CHAIN_NAME + 8];
    struct saikai_error err = {0};
    memset(long_pattern, 'p', sizeof long_pattern);
    strcpy(long_pattern + 256, "=lz4");
    snprintf(long_chain, sizeof long_chain, "p=%0*d", SK_CHAIN_NAME, 0);
    const char *const bad[] = {"zstd", "=zstd", "u=", "u= ", "u=lz4,,v", "u=lz4 v=zstd", "u=no", "u,=lz4", long_pattern, long_chain};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sk_coding_policy *p = NULL;
        int rc = policy(bad[i], "", &p, &err);
        if (rc != SAIKAI_ECONFIG || p || !strstr(err.text, "codec.chains: "))
            fail_msg("'%s': %d '%s'", bad[i], rc, err.text);
    }
    struct sk_coding_policy *p = NULL;
    assert_int_equal(policy("u=lz4, v, w=lz4", "", &p, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "codec.chains: 'v, w=lz4' is no list")); /* from where it is wrong */
    assert_int_equal(policy("", "u=near", &p, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "codec.bounds: pattern 'u'"));
    assert_int_equal(policy("u=nothing", "", &p, &err), SAIKAI_ECONFIG);
    assert_non_null(strstr(err.text, "codec.chains: pattern 'u'"));
    strcpy(long_pattern + 255, "=lz4"); /* as long as one may be */
    assert_int_equal(policy(long_pattern, "", &p, &err), 0);
    long_pattern[255] = 0;
    assert_string_equal(chain_of(p, long_pattern, SAIKAI_U8, ""), "lz4");
    sk_coding_policy_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_pattern_counts),
        cmocka_unit_test(bounds_are_for_floating_point),
        cmocka_unit_test(how_it_is_coded_is_configured),
        cmocka_unit_test(what_is_no_list_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
