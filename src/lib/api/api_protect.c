/* What survives: the variables of a handle and their attributes. Compiled once for each MPI. */
#include "lib/api/api.h"

#include "codec/quality/bound.h"
#include "lib/data/attributes.h"
#include "lib/run/questions.h"

#include <float.h>
#include <mpi.h>
#include <saikai/handle.h>
#include <stdio.h>
#include <string.h>

/* ---- what survives ---- */

static int set_name(struct sk_var *v, const char *name)
{
    if (!name || strlen(name) > SAIKAI_MAX_NAME)
        return sk_fail(&sk_last, SAIKAI_EINVAL, "the name of a variable must have 1 to %d bytes", SAIKAI_MAX_NAME);
    strcpy(v->name, name);
    return 0;
}

/* An error in what is to survive. */
static int refuse(struct saikai *h, int rc)
{
    return h ? sk_strict(h->strict, "saikai_protect", rc, &sk_last, 0) : rc;
}

static int put(struct saikai *h, const char *name, struct sk_var *v)
{
    sk_error_clear(&sk_last);
    if (!h)
        return sk_not_begun();
    int rc = set_name(v, name);
    return refuse(h, rc ? rc : sk_vars_put(sk_session_vars(h->session), v, &sk_last));
}

API int saikai_h_protect(struct saikai *h, const char *name, void *data, enum saikai_type type, int ndims, const size_t dims[])
{
    struct sk_var v = {.form = SK_VAR_FIXED, .type = (int)type, .ndims = ndims, .data = data};
    if (ndims > 0 && !dims)
        return refuse(h, sk_fail(&sk_last, SAIKAI_EINVAL, "variable '%.60s' has %d dimensions, but dims is NULL", name ? name : "", ndims));
    for (int d = 0; d < ndims && d < SAIKAI_MAX_DIMS; d++)
        v.dims[d] = dims[d];
    return put(h, name, &v);
}

/* A block of a global array into *v; low, high NULL: without a halo. */
static int describe_global(struct sk_var *v, const char *name, const size_t *dims, const size_t *global, const size_t *offset,
                           const size_t *low, const size_t *high)
{
    if (v->ndims < 1 || v->ndims > SAIKAI_MAX_DIMS || !dims || !global || !offset)
        return sk_fail(&sk_last, SAIKAI_EINVAL, "variable '%.60s': a global array needs 1 to %d dimensions, all told",
                       name ? name : "", SAIKAI_MAX_DIMS);
    v->scope = SK_SKC_GLOBAL;
    for (int d = 0; d < v->ndims; d++) {
        v->dims[d] = dims[d];
        v->tile.global[d] = global[d];
        v->tile.offset[d] = offset[d];
    }
    return low && high ? sk_var_set_halo(v, low, high, &sk_last) : 0;
}

API int saikai_h_protect_global(struct saikai *h, const char *name, void *data, enum saikai_type type, int ndims,
                                const size_t dims[], const size_t global_dims[], const size_t offset[])
{
    struct sk_var v = {.form = SK_VAR_FIXED, .type = (int)type, .ndims = ndims, .data = data};
    int rc = describe_global(&v, name, dims, global_dims, offset, NULL, NULL);
    return rc ? refuse(h, rc) : put(h, name, &v);
}

API int saikai_h_protect_global_halo(struct saikai *h, const char *name, void *data, enum saikai_type type, int ndims,
                                     const size_t dims[], const size_t global_dims[], const size_t offset[],
                                     const size_t low[], const size_t high[])
{
    struct sk_var v = {.form = SK_VAR_FIXED, .type = (int)type, .ndims = ndims, .data = data};
    if (!low || !high)
        return refuse(h, sk_fail(&sk_last, SAIKAI_EINVAL, "variable '%.60s': how wide is its halo?", name ? name : ""));
    int rc = describe_global(&v, name, dims, global_dims, offset, low, high);
    return rc ? refuse(h, rc) : put(h, name, &v);
}

API int saikai_h_protect_strided(struct saikai *h, const char *name, void *data, enum saikai_type type, int ndims,
                                 const size_t dims[], const ptrdiff_t strides_bytes[], const size_t global_dims[],
                                 const size_t offset[])
{
    struct sk_var v = {.form = SK_VAR_FIXED, .type = (int)type, .ndims = ndims, .data = data, .layout.strided = ndims > 0};
    if (ndims > 0 && (!dims || !strides_bytes))
        return refuse(h, sk_fail(&sk_last, SAIKAI_EINVAL, "variable '%.60s' has %d dimensions, but dims or strides_bytes is NULL",
                              name ? name : "", ndims));
    int rc = global_dims ? describe_global(&v, name, dims, global_dims, offset, NULL, NULL) : 0;
    for (int d = 0; !rc && d < ndims && d < SAIKAI_MAX_DIMS; d++) {
        v.dims[d] = dims[d];
        v.layout.strides[d] = strides_bytes[d];
    }
    return rc ? refuse(h, rc) : put(h, name, &v);
}

API int saikai_h_refuse(struct saikai *h, const char *sentence)
{
    return refuse(h, sk_fail(&sk_last, SAIKAI_EINVAL, "%s", sentence ? sentence : ""));
}

API int saikai_h_protect_array(struct saikai *h, const char *name, void **data, size_t *count, size_t width,
                               enum saikai_type type)
{
    struct sk_var v = {.form = SK_VAR_ARRAY, .type = (int)type, .ndims = width == 1 ? 1 : 2,
                       .dims = {0, width}, .array.pdata = data, .array.pcount = count};
    if (!width)
        return refuse(h, sk_fail(&sk_last, SAIKAI_EINVAL, "an element of '%.60s' needs a width of 1 or more", name ? name : ""));
    return put(h, name, &v);
}

API int saikai_h_protect_resizable(struct saikai *h, const char *name,
                                   int (*look)(void *arg, void **data, size_t *count),
                                   int (*resize)(void *arg, size_t count, void **data), void *arg, size_t width,
                                   enum saikai_type type)
{
    struct sk_var v = {.form = SK_VAR_ARRAY, .type = (int)type, .ndims = width == 1 ? 1 : 2,
                       .dims = {0, width}, .array.look = look, .array.resize = resize, .arg = arg};
    if (!width)
        return refuse(h, sk_fail(&sk_last, SAIKAI_EINVAL, "an element of '%.60s' needs a width of 1 or more", name ? name : ""));
    return put(h, name, &v);
}

API int saikai_h_protect_stream(struct saikai *h, const char *name, int (*write)(FILE *f, void *arg),
                                int (*read)(FILE *f, void *arg), void *arg)
{
    struct sk_var v = {.form = SK_VAR_STREAM, .type = SAIKAI_U8, .ndims = 1, .stream.write = write, .stream.read = read,
                       .arg = arg};
    return put(h, name, &v);
}

/* Not a strict call: a bound that cannot be kept loses nothing. */
API int saikai_h_bound(struct saikai *h, const char *name, enum saikai_bound_kind kind, double value)
{
    sk_error_clear(&sk_last);
    if (!h)
        return sk_not_begun();
    struct sk_bound bound = {(int)kind, value};
    if ((unsigned)kind > SAIKAI_PSNR || (kind != SAIKAI_EXACT && !(value > 0 && value <= DBL_MAX)))
        return sk_fail(&sk_last, SAIKAI_EINVAL, "variable '%.60s': bound kind %d with value %g cannot be", name ? name : "", (int)kind,
                       value);
    char text[64];
    return sk_attribute_set(sk_session_vars(h->session), name, "bound", sk_bound_format(text, sizeof text, &bound), &sk_last);
}

API int saikai_h_set(struct saikai *h, const char *name, const char *attribute, const char *value)
{
    sk_error_clear(&sk_last);
    if (!h)
        return sk_not_begun();
    return sk_strict(h->strict, "saikai_set", sk_attribute_set(sk_session_vars(h->session), name, attribute, value, &sk_last), &sk_last, 0);
}

API int saikai_h_set_sizes(struct saikai *h, const char *name, const char *attribute, size_t count, const size_t sizes[])
{
    sk_error_clear(&sk_last);
    if (!h)
        return sk_not_begun();
    return sk_strict(h->strict, "saikai_set", sk_attribute_set_sizes(sk_session_vars(h->session), name, attribute, count, sizes, &sk_last),
                     &sk_last, 0);
}

API int saikai_h_replicated(struct saikai *h, const char *name)
{
    return saikai_h_set(h, name, "replicated", "yes");
}

API int saikai_h_unprotect(struct saikai *h, const char *name)
{
    sk_error_clear(&sk_last);
    if (!h)
        return sk_not_begun();
    return sk_session_unprotect(h->session, name ? name : "", &sk_last);
}
