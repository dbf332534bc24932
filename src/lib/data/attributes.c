/* The table of attributes, each with the function that checks and sets it. */
#include "lib/data/attributes.h"

#include "base/types.h"
#include "codec/quality/bound.h"
#include "codec/chain.h"

#include <ctype.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIZES = 2 * SAIKAI_MAX_DIMS };

static int parse_yes(const struct sk_var *v, const char *attribute, const char *value, int *yes, struct saikai_error *err)
{
    *yes = !strcmp(value, "yes");
    if (*yes || !strcmp(value, "no"))
        return 0;
    return sk_fail(err, SAIKAI_EINVAL, "variable '%.60s': %s is yes or no, not '%.40s'", v->name, attribute, value);
}

static int set_bound(struct sk_var *v, const char *value, struct saikai_error *err)
{
    struct sk_bound b = {0};
    int rc = sk_bound_parse(value, &b, err);
    if (rc) {
        sk_error_prefix(err, "variable '%.60s'", v->name);
        return rc;
    }
    if (b.kind && (!sk_type_is_float(v->type) || v->form == SK_VAR_STREAM))
        return sk_fail(err, SAIKAI_EINVAL, "variable '%.60s' is not floating point: it is always exact", v->name);
    v->bound = b;
    return 0;
}

static int set_codec(struct sk_var *v, const char *value, struct saikai_error *err)
{
    struct sk_chain chain;
    int named = strcmp(value, "default") && strcmp(value, "plain") && strcmp(value, "auto");
    int rc = named ? sk_chain_parse(value, &chain, err) : 0;
    if (rc) {
        sk_error_prefix(err, "variable '%.60s'", v->name);
        return rc;
    }
    if (strlen(value) >= sizeof v->codec)
        return sk_fail(err, SAIKAI_EINVAL, "variable '%.60s': the codec's name is too long", v->name);
    strcpy(v->codec, strcmp(value, "default") ? value : "");
    return 0;
}

static int set_constant(struct sk_var *v, const char *value, struct saikai_error *err)
{
    return parse_yes(v, "constant", value, &v->constant, err);
}

static int set_replicated(struct sk_var *v, const char *value, struct saikai_error *err)
{
    int yes, rc = parse_yes(v, "replicated", value, &yes, err);
    if (!rc && yes && v->scope == SK_SKC_GLOBAL)
        return sk_fail(err, SAIKAI_EINVAL, "variable '%.60s' is a part of a global array: it is not the same on all ranks",
                       v->name);
    if (!rc && v->scope != SK_SKC_GLOBAL)
        v->scope = yes ? SK_SKC_REPLICATED : SK_SKC_OWN;
    return rc;
}

static int set_halo_sizes(struct sk_var *v, size_t count, const size_t *sizes, struct saikai_error *err)
{
    if (v->form != SK_VAR_FIXED || v->ndims < 1 || (v->layout.strided && !v->layout.halo))
        return sk_fail(err, SAIKAI_EINVAL,
                       "variable '%.60s' can have no halo: it must be an array in C order at a fixed address", v->name);
    if (count != 2 * (size_t)v->ndims)
        return sk_fail(err, SAIKAI_EINVAL,
                       "variable '%.60s': a halo is %d sizes, those before the block in each dimension and then those behind it",
                       v->name, 2 * v->ndims);
    struct sk_var with = *v;
    if (with.data)
        with.data = (char *)with.data - v->layout.halo_bytes;
    int rc = sk_var_set_halo(&with, sizes, sizes + v->ndims, err);
    with.layout.halo = SK_HALO_SET;
    if (!rc)
        *v = with;
    return rc;
}

/* "1,1:2,2" */
static int set_halo(struct sk_var *v, const char *value, struct saikai_error *err)
{
    size_t sizes[MOST_SIZES], n = 0;
    const char *p = value;
    char *end = NULL;
    for (; n < MOST_SIZES && isdigit((unsigned char)*p); p = end + (*end != 0)) {
        sizes[n++] = (size_t)strtoull(p, &end, 10);
        char expected = n == (size_t)v->ndims ? ':' : ',';
        if (*end && *end != expected)
            break;
    }
    if (*p || !end || *end)
        return sk_fail(err, SAIKAI_EINVAL, "variable '%.60s': a halo is written as 1,1:2,2 (before in each dimension:behind), not '%.40s'",
                       v->name, value);
    return set_halo_sizes(v, n, sizes, err);
}

static const struct attribute {
    const char *name;
    int (*set)(struct sk_var *v, const char *value, struct saikai_error *err);
    int (*set_sizes)(struct sk_var *v, size_t count, const size_t *sizes, struct saikai_error *err); /* NULL: it is none */
} attributes[] = {
    {"bound", set_bound, NULL},
    {"codec", set_codec, NULL},
    {"constant", set_constant, NULL},
    {"halo", set_halo, set_halo_sizes},
    {"replicated", set_replicated, NULL},
};

static const struct attribute *find(const char *name, struct saikai_error *err)
{
    char known[200] = "";
    size_t n = sizeof attributes / sizeof *attributes, at = 0;
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(attributes[i].name, name))
            return &attributes[i];
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", attributes[i].name);
    }
    sk_fail(err, SAIKAI_EINVAL, "there is no attribute '%.40s'; this version knows %s", name, known);
    return NULL;
}

/* NULL is no name and no value. */
static int look(struct sk_vars *l, const char *name, const char *attribute, struct sk_var **v, const struct attribute **a,
                struct saikai_error *err)
{
    *a = find(attribute ? attribute : "", err);
    *v = *a ? sk_vars_find(l, name ? name : "") : NULL;
    if (!*a)
        return SAIKAI_EINVAL;
    return *v ? 0 : sk_fail(err, SAIKAI_EINVAL, "no variable '%.60s' is protected", name ? name : "");
}

int sk_attribute_set(struct sk_vars *l, const char *name, const char *attribute, const char *value, struct saikai_error *err)
{
    struct sk_var *v;
    const struct attribute *a;
    int rc = look(l, name, attribute, &v, &a, err);
    return rc ? rc : a->set(v, value ? value : "", err);
}

int sk_attribute_set_sizes(struct sk_vars *l, const char *name, const char *attribute, size_t count, const size_t *sizes,
                           struct saikai_error *err)
{
    struct sk_var *v;
    const struct attribute *a;
    int rc = look(l, name, attribute, &v, &a, err);
    if (!rc && (!a->set_sizes || !sizes))
        rc = sk_fail(err, SAIKAI_EINVAL, "attribute '%s' of variable '%.60s' is no list of sizes", a->name, v->name);
    return rc ? rc : a->set_sizes(v, count, sizes, err);
}
